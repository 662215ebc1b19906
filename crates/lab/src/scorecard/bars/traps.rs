//! Conditions in which rate controllers and their applications failed in the field, each as a network.
//!
//! A packet emulator that segmentation offload deceives is a trap as well; this simulator handles packets one by one.

use super::Row;
use super::network::Network;
use super::quantity::Quantity::{Lost, QueueP95, Received, RoundTripP95, Utilisation};

const LINK: &str = "acceptance-link";
const TIMID: &str = "fixed(rate=500 kbit/s)";
const GREEDY: &str = "fixed(rate=20 Mbit/s)";

pub(super) fn rows() -> Vec<Row> {
    vec![
        Row::new("one report", "a quarter of 22 packets lost in one report, every 5 s", [one_report()]),
        Row::new("changing loss", "random loss of 10 % that comes and goes", [changing_loss()]),
        Row::new("way back", "a fifth of the feedback is lost", [way_back()]),
        Row::new("slow way back", "feedback on a hundredth of the rate", [slow_way_back()]),
        Row::new("limited source", "an encoder of at most 4 Mbit/s on 3, 12 and 3 Mbit/s", limited_source()),
        Row::new(
            "careful encoder",
            "an encoder below its target, after 5 s at 0.2 Mbit/s",
            careful_encoder(),
        ),
        Row::new("pause", "no data for 20 s, then as much as before", pause()),
        Row::new("outage", "nothing is served for 5 s", outage()),
        Row::new("another route", "the path becomes longer at 20 s", another_route()),
        Row::new("bloat", "twice the capacity offered to half a second of queue", [bloat()]),
        Row::new("small jitter", "10 ms each way with jitter of 5 ms", [small_jitter()]),
        Row::new("policer", "a token bucket of 5 Mbit/s without a queue", [policer()]),
        Row::new("drift", "a receiver's clock that is 200 ppm off", drift()),
    ]
}

fn link(name: &str, changes: &[&str]) -> Network {
    changes.iter().fold(Network::new(name, LINK), |network, change| network.set(*change))
}

/// 22 packets of 1200 B are what 2.1 Mbit/s send in 100 ms.
fn one_report() -> Network {
    let steps = "steps = [['0 s', 0], ['4.9 s', 0.25]], period = '5 s'";
    link("one bad report", &["link.bottleneck.rate=2.1 Mbit/s"])
        .set(format!("link.bottleneck.loss={{ kind = 'steps', {steps} }}"))
        .bars([Utilisation.at_least(95.0, "nada")])
}

fn changing_loss() -> Network {
    let steps = "steps = [['0 s', 0], ['10 s', 0.1]], period = '20 s'";
    link("10 % for 10 s of 20", &[])
        .set(format!("link.bottleneck.loss={{ kind = 'steps', {steps} }}"))
        .bars([Utilisation.at_least(90.0, "gcc"), QueueP95.at_most(20.0, GREEDY)])
}

fn way_back() -> Network {
    link("20 % of feedback lost", &[])
        .set(
            "link.bottleneck.reverse={ rate = '100 Mbit/s', queue = { kind = 'drop-tail', packets = 1000 }, \
             loss = { kind = 'independent', rate = 0.2 } }",
        )
        .bars([Utilisation.at_least(95.0, TIMID), QueueP95.at_most(20.0, GREEDY)])
}

fn slow_way_back() -> Network {
    link("feedback on 100 kbit/s", &[])
        .set("link.bottleneck.reverse={ rate = '100 kbit/s', queue = { kind = 'drop-tail', time = '200 ms' } }")
        .bars([Utilisation.at_least(80.0, TIMID), QueueP95.at_most(40.0, GREEDY)])
}

/// The rise is answered within 2 s, the fall within two round trips and a frame.
fn limited_source() -> Vec<Network> {
    let source = |name: &str, from: &str, to: &str| {
        link(name, &["flow.video.source={ kind = 'frames' }", "flow.video.rate.max=4 Mbit/s"])
            .set("link.bottleneck.rate=3 Mbit/s")
            .set("link.bottleneck.steps=[['20 s', '12 Mbit/s'], ['40 s', '3 Mbit/s']]")
            .set(format!("warmup={from}"))
            .set(format!("duration={to}"))
    };
    vec![
        source("the rise", "22 s", "40 s").bars([Received.at_least(3.6, TIMID)]),
        source("the fall", "40.24 s", "60 s").bars([QueueP95.at_most(50.0, "fixed(rate=4 Mbit/s)")]),
    ]
}

/// At 0.2 Mbit/s a frame is one packet. Nothing waits then, and no queue shows that more would fit.
fn careful_encoder() -> Vec<Network> {
    let steps = "[['20 s', '0.2 Mbit/s'], ['25 s', '0.8 Mbit/s']]";
    let source = "flow.video.source={ kind = 'frames', model = 'periodic', undershoot = 0.15 }";
    let network =
        link("15 % below it", &["link.bottleneck.rate=3 Mbit/s", "warmup=30 s", "duration=40 s", source]);
    vec![
        network
            .set(format!("link.bottleneck.steps={steps}"))
            .bars([Received.at_least(0.6, TIMID), QueueP95.at_most(60.0, GREEDY)]),
    ]
}

fn pause() -> Vec<Network> {
    let paused = |name: &str, from: &str, to: &str| {
        link(name, &["flow.video.pause=[['20 s', '40 s']]"])
            .set(format!("warmup={from}"))
            .set(format!("duration={to}"))
    };
    vec![
        paused("2 s after it", "42 s", "60 s").bars([Utilisation.at_least(95.0, TIMID)]),
        paused("from its end", "40 s", "50 s").bars([QueueP95.at_most(40.0, GREEDY)]),
    ]
}

fn outage() -> Vec<Network> {
    let out = |name: &str, from: &str, to: &str| {
        link(name, &["link.bottleneck.outage=[['20 s', '25 s']]"])
            .set(format!("warmup={from}"))
            .set(format!("duration={to}"))
    };
    vec![
        out("3 s after it", "28 s", "60 s")
            .bars([Utilisation.at_least(95.0, TIMID), QueueP95.at_most(20.0, GREEDY)]),
        // Were it served at the rate of before, 200 ms of queue would be lost over and over.
        out("over it", "19 s", "30 s").bars([Lost.at_most(5.0, GREEDY)]),
    ]
}

/// The delay is longer by a step, which is no queue. 8 and 14 ms are less than a queue that other flows would be suspected of.
fn another_route() -> Vec<Network> {
    [8, 14, 40, 100]
        .map(|step| {
            let longer = 25 + step;
            link(&format!("longer by {step} ms"), &["warmup=20 s", "duration=40 s"])
                .set(format!("link.bottleneck.delay_steps=[['20 s', '{longer} ms']]"))
                .bars([Utilisation.at_least(95.0, "gcc"), QueueP95.at_most(20.0, GREEDY)])
        })
        .into()
}

fn bloat() -> Network {
    link("10 Mbit/s on 5", &["link.bottleneck.rate=5 Mbit/s", "link.bottleneck.delay=50 ms"])
        .set("flow.video.source={ kind = 'cbr', rate = '10 Mbit/s', fps = 25 }")
        .set("link.bottleneck.queue={ kind = 'drop-tail', time = '500 ms' }")
        .bars([Utilisation.at_least(95.0, TIMID), RoundTripP95.at_most(120.0, "tfrc")])
}

fn small_jitter() -> Network {
    link("10 ± 5 ms", &["link.bottleneck.delay=10 ms"])
        .set("link.bottleneck.jitter={ kind = 'rfc8868', std = '5 ms' }")
        .bars([Utilisation.at_least(95.0, TIMID), QueueP95.at_most(20.0, "tfrc")])
}

fn policer() -> Network {
    link("policed to 5 Mbit/s", &[])
        .set("link.bottleneck.policer={ rate = '5 Mbit/s', burst = '30 kB' }")
        .bars([Received.at_least(4.5, TIMID), Lost.at_most(3.0, GREEDY)])
}

fn drift() -> Vec<Network> {
    [200, -200]
        .map(|ppm| {
            link(&format!("{ppm} ppm"), &["duration=180 s"])
                .set(format!("flow.video.drift_ppm={ppm}"))
                .bars([Utilisation.at_least(97.0, TIMID), QueueP95.at_most(20.0, "tfrc")])
        })
        .into()
}
