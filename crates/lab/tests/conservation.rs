//! Packet conservation in random scenarios: every packet arrives, is dropped, or is still in a queue. The run itself
//! asserts it in debug builds. The same scenario again gives the same summary, with and without time series.

use proptest::prelude::*;
use seaway_lab::scenario::{Scenario, Text};
use seaway_lab::{RunOptions, run};
use seaway_units::TimeDelta;
use std::fmt::Write;
use std::ops::ControlFlow;

/// A link of a chain: its rate in kbit/s, its delay in ms, its queue, its loss, its outage.
fn link() -> impl Strategy<Value = String> {
    let queue = prop_oneof![
        (1..60u32).prop_map(|packets| format!("{{ kind = \"drop-tail\", packets = {packets} }}")),
        (50..500u32).prop_map(|time| format!("{{ kind = \"drop-tail\", time = \"{time} ms\" }}")),
        Just("{ kind = \"codel\" }".to_owned()),
        Just("{ kind = \"pie\" }".to_owned()),
        Just("{ kind = \"dualpi2\" }".to_owned()),
    ];
    let loss = prop_oneof![
        Just(String::new()),
        (0.0..0.3f64).prop_map(|rate| format!("loss = {{ kind = \"independent\", rate = {rate:.3} }}\n")),
        (0.01..0.2f64, 1.5..6.0f64).prop_map(|(mean, burst)| {
            format!("loss = {{ kind = \"gilbert-elliott\", mean = {mean:.3}, burst = {burst:.1} }}\n")
        }),
    ];
    let extra = prop_oneof![
        Just(""),
        Just("jitter = { kind = \"rfc8868\", std = \"5 ms\" }\n"),
        Just("outage = [[\"1 s\", \"1.5 s\"]]\n"),
        Just("steps = [[\"1 s\", \"300 kbit/s\"], [\"2 s\", \"5 Mbit/s\"]]\n"),
    ];
    (200..20_000u32, 0..80u32, queue, loss, extra).prop_map(|(rate, delay, queue, loss, extra)| {
        format!(
            "both = true\nrate = \"{rate} kbit/s\"\ndelay = \"{delay} ms\"\nqueue = {queue}\n{loss}{extra}"
        )
    })
}

/// A flow along the chain or against it.
fn flow() -> impl Strategy<Value = String> {
    let media = (
        prop_oneof![Just("fixed"), Just("tfrc")],
        prop_oneof![
            Just("{ kind = \"saturated\" }"),
            Just("{ kind = \"frames\" }"),
            Just("{ kind = \"frames\", model = \"periodic\" }"),
            Just("{ kind = \"cbr\", rate = \"400 kbit/s\" }"),
        ],
        any::<bool>(),
    )
        .prop_map(|(control, source, repair)| {
            let repair = if repair { "repair = { retransmit = true }\n" } else { "" };
            format!("kind = \"media\"\ncontrol = \"{control}\"\nsource = {source}\n{repair}")
        });
    let udp = (10..3000u32).prop_map(|rate| format!("kind = \"udp\"\nrate = \"{rate} kbit/s\"\n"));
    let tcp = (
        prop_oneof![Just("reno"), Just("newreno"), Just("sack"), Just("cubic")],
        prop_oneof![
            Just(""),
            Just("size = \"50 kB\"\n"),
            Just("size = { uniform = [\"3 kB\", \"9 kB\"] }\nidle = \"200 ms\"\nstarts_idle = true\n"),
            Just("delayed_ack = true\n"),
        ],
    )
        .prop_map(|(algorithm, extra)| format!("kind = \"tcp\"\nalgorithm = \"{algorithm}\"\n{extra}"));
    let times = prop_oneof![
        Just(""),
        Just("start = { uniform = [\"0 s\", \"1 s\"] }\nstop = \"2.5 s\"\n"),
        Just("pause = [[\"1 s\", \"2 s\"]]\n"),
    ];
    (prop_oneof![media, udp, tcp], times, 1..3u32)
        .prop_map(|(kind, times, count)| format!("{kind}{times}count = {count}\n"))
}

/// A cell behind the chain of links, whose base is the chain's last node: its keys, and the list of its stations.
fn cell() -> impl Strategy<Value = Option<(&'static str, String)>> {
    let wimax = (
        prop_oneof![
            Just("rate = \"2 Mbit/s\"\n"),
            Just("modulation = \"16-qam-1/2\"\norder = \"cyclic\"\n"),
            Just("symbols = [14, 33]\npacking = true\ncrc = true\nvisit = 2\n"),
            Just("grants = \"dynamic\"\n"),
            Just("grants = \"dynamic\"\npolling = { nrtps = \"100 ms\", map_relevance = 1 }\n"),
        ],
        prop_oneof![Just(""), Just("downlink = \"shared\"\n"), Just("downlink = { fixed = \"6 ms\" }\n")],
        prop_oneof![Just(0.0), Just(0.002)],
    )
        .prop_map(|(grants, downlink, loss)| ("wimax", format!("{grants}{downlink}slot_loss = {loss}\n")));
    let cellular = (
        prop_oneof![Just(""), Just("background = { intensity = 7.0 }\n")],
        prop_oneof![Just(""), Just("harq = { error = 0.3, attempts = 2, residual = \"lost\" }\n")],
        prop_oneof![Just(""), Just("queue = { kind = \"codel\" }\n"), Just("queue = { packets = 20 }\n")],
        500..20_000u32,
    )
        .prop_map(|(background, harq, queue, rate)| {
            let rate = format!("downlink = \"{rate} kbit/s\"\nuplink = \"{rate} kbit/s\"\n");
            ("cellular", format!("{rate}speed = \"30 km/h\"\n{background}{harq}{queue}"))
        });
    let wlan = (
        prop_oneof![
            Just("standard = \"802.11b\"\n"),
            Just("standard = \"802.11g\"\nrate = \"24 Mbit/s\"\n"),
            Just("standard = \"802.11n\"\nmcs = 11\nrts = \"500 B\"\n"),
            Just("standard = \"802.11ac\"\nmcs = 4\nguard = \"short\"\nerror = \"nist\"\n"),
            Just("standard = \"802.11ac\"\nmcs = \"ideal\"\nwidth = \"80 MHz\"\n"),
            Just("standard = \"802.11ac\"\nmcs = 4\npreamble_detection = false\n"),
            Just("standard = \"802.11ac\"\nmcs = 4\nassoc = \"frames\"\n"),
            Just("standard = \"802.11g\"\nassoc = \"frames\"\n"),
        ],
        (1..60u32, 1..60u32),
    )
        .prop_map(|(keys, (a, b))| {
            let stations = format!("[{{ name = \"s0\", at = [\"{a} m\", \"0 m\"] }}, {{ name = \"s1\", at = [\"0 m\", \"-{b} m\"] }}]");
            ("wlan", format!("{keys}station = {stations}\n"))
        });
    prop_oneof![Just(None), wimax.prop_map(Some), cellular.prop_map(Some), wlan.prop_map(Some)]
}

fn scenario() -> impl Strategy<Value = String> {
    let flows = prop::collection::vec((flow(), any::<bool>()), 1..4);
    let links = prop::collection::vec(link(), 1..4);
    (links, cell(), flows, any::<u32>()).prop_map(|(links, cell, flows, seed)| {
        let mut text =
            format!("schema = 1\nname = \"random\"\nduration = \"3 s\"\nwarmup = \"0.5 s\"\nseed = {seed}\n");
        let last = links.len();
        for (index, link) in links.iter().enumerate() {
            let ends = format!("name = \"l{index}\"\nfrom = \"n{index}\"\nto = \"n{}\"", index + 1);
            let _ = write!(text, "[[link]]\n{ends}\n{link}");
        }
        if let Some((kind, keys)) = &cell {
            let names = "[{ name = \"s0\" }, { name = \"s1\" }]";
            let (base, stations) = match *kind {
                "wimax" => ("base", format!("station = {names}\n")),
                "cellular" => ("base", format!("user = {names}\n")),
                _ => ("ap", String::new()),
            };
            let _ = write!(text, "[[{kind}]]\nname = \"cell\"\n{base} = {{ name = \"n{last}\" }}\n");
            let _ = write!(text, "{stations}{keys}");
        }
        for (index, (flow, against)) in flows.iter().enumerate() {
            let far = if cell.is_some() { format!("s{}", index % 2) } else { format!("n{last}") };
            let (from, to) = if *against { (far.as_str(), "n0") } else { ("n0", far.as_str()) };
            let service = match &cell {
                Some(("wimax", _)) => ["", "service = \"rtps\"\n", "service = \"nrtps\"\n"][index % 3],
                _ => "",
            };
            let _ = write!(
                text,
                "[[flow]]\nname = \"f{index}\"\nfrom = \"{from}\"\nto = \"{to}\"\n{service}{flow}"
            );
        }
        text
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn random_scenarios_conserve_packets(text in scenario()) {
        let scenario = Scenario::parse(Text::alone("random", &text), &[])
            .map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
        let mut last = TimeDelta::ZERO;
        let mut once = |series| {
            let options = RunOptions { series, ..RunOptions::default() };
            run(&scenario, options, &mut |now| {
                assert!(now > last || last == scenario.duration, "time ran back");
                last = now;
                ControlFlow::Continue(())
            })
        };
        let (first, again) = (once(false), once(true));
        prop_assert_eq!(first.unwrap().summary, again.unwrap().summary);
    }
}
