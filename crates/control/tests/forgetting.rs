//! Every controller forgets what was odd: `seaway_testkit::battery::forgetting`.

use seaway_control::{ControllerPair, Registry};
use seaway_testkit::battery::forgetting::{
    Disturbance, Network, Remembered, TRUTH, disturbed, hours_of_steps, remembered, undisturbed,
    undisturbed_at_length,
};
use seaway_testkit::{build, variants};
use seaway_units::{Bitrate, DataSize, Ecn, TimeDelta};

/// Why a controller remembers something by its own law, as a claim that the tests check.
#[derive(Debug, Clone, Copy)]
enum Why {
    /// It is no memory: flows that never had another network rest there too, at another age or from another start.
    RestsThere,
    /// It is no memory: at one connection it is this controller, which has the same.
    Is(&'static str),
    /// Its law says how long: after this it is forgotten.
    Until(TimeDelta),
    /// Its law forbids it for ever; a test of that equation is named beside.
    Law,
}

/// Equation 1 of RFC 8698 counts a long queue for nothing while losses are recent: at a tenth of the capacity the law rests at a queue of
/// 0.45 s without loss, and at a full one with losses (`nada::equation::tests::a_link_has_two_rest_points`).
const WARPED: Why = Why::RestsThere;
/// S001 takes the least round-trip time so far: 160 ms are above `(1 + gamma)` times 60 ms without any queue, so `n` stays 1
/// (`multfrc::count::tests::a_longer_route_keeps_one_connection`).
const LEAST_SO_FAR: Why = Why::Is("tfrc");
/// Two forms on this path, as `n` goes from 1 to 2 by a doubled rate: a burst of losses and a drained queue, time and again, at 2.75 to 2.96 Mbit/s in spans
/// of two minutes of undisturbed flows; or one connection and TFRC's own queue of 85 ms, where `gamma` tolerates 64.
const TWO_FORMS: Why = Why::RestsThere;

/// How bad it may be at worst: Mbit/s, mean round-trip time in ms, % lost. Measured, and a fiftieth more, where it is no cycle.
type Worst = [f64; 3];

/// A controller's name, what happened, why it is remembered, and how bad it is.
type Kept = (&'static str, &'static str, Why, Worst);

/// What is remembered over [`Network::PLAIN`].
const KEPT: &[Kept] = &[
    ("nada", "capacity down", WARPED, [0.294, 1095.0, 15.0]),
    ("nada(side=sender, ploss_clock=packet)", "capacity down", WARPED, [0.294, 1095.0, 20.1]),
    ("nada(variant=draft)", "capacity down", WARPED, [0.294, 920.0, 34.3]),
    // ns3-rmcat forgets its base delay after 500 ms without a packet alone (`nada::draft::tests::the_base_delay_is_kept_until_a_pause`).
    ("nada(variant=draft)", "longer route", Why::Law, [2.65, 166.0, 0.1]),
    // Its base delay is the least of 500 s.
    ("scream(version=1)", "longer route", Why::Until(TimeDelta::from_secs(600)), [2.94, 224.0, 3.5]),
    ("ctfrc", "longer route", LEAST_SO_FAR, [2.94, 250.0, 0.1]),
    ("ctfrc", "longer route, noticed", TWO_FORMS, [2.7, 250.0, 2.0]),
    ("ctfrc(discriminate=oracle)", "longer route", LEAST_SO_FAR, [2.94, 250.0, 0.1]),
    ("ctfrc(discriminate=oracle)", "longer route, noticed", TWO_FORMS, [2.7, 250.0, 2.0]),
    ("ctfrc(form=aio, rtt_min=average)", "longer route", LEAST_SO_FAR, [2.94, 250.0, 0.1]),
    // The least of averages over a queue that stands is a full queue (`multfrc::count::tests::least_of_samples_or_averages`).
    ("ctfrc(form=aio, rtt_min=average)", "longer route, noticed", Why::Law, [2.94, 250.0, 0.5]),
    ("multfrc(form=lerd, discriminate=biaz)", "longer route", LEAST_SO_FAR, [2.94, 250.0, 0.1]),
    ("multfrc(form=lerd, discriminate=biaz)", "longer route, noticed", TWO_FORMS, [2.7, 250.0, 2.0]),
    // It is better meanwhile: 7 % less rate without a queue or a loss, and not 4 to 9 % of loss. From 2 to 10 % of loss the draft keeps its rate.
    (
        "gcc(variant=draft)",
        "capacity up for a while",
        Why::Until(TimeDelta::from_secs(1200)),
        [2.74, 66.0, 0.1],
    ),
    // A full queue does not rise: no congestion to Trend, until a gap ends on a rise.
    (
        "vtp(discriminate=trend)",
        "capacity down",
        Why::Until(TimeDelta::from_secs(1200)),
        [0.287, 352.0, 13.7],
    ),
];

/// The same over [`Network::JITTERED`].
const KEPT_WITH_JITTER: &[Kept] = &[
    ("nada", "capacity down", WARPED, [0.294, 1105.0, 15.0]),
    // Its queue is 45 ms at 3 Mbit/s, and from 50 on it is warped while losses are recent: with arrivals at random it passes over that edge after
    // a loss, and as losses then come at equal intervals, seven of them without one seldom pass: in an hour it comes and goes, at 0 to 1.7 % of
    // loss. At 40 ms it is forgotten (`nada_forgets_where_no_queue_is_warped`).
    ("nada", "longer route for a while", Why::Law, [2.89, 121.0, 1.8]),
    ("nada", "outage", Why::Law, [2.89, 121.0, 1.8]),
    ("ctfrc", "longer route", LEAST_SO_FAR, [2.94, 250.0, 0.1]),
    ("ctfrc", "longer route, noticed", Why::Is("tfrc"), [2.94, 250.0, 0.1]),
];

/// LDA and LDA+ step once in five seconds.
fn truth(name: &str) -> TimeDelta {
    if name.starts_with("lda") { TRUTH * 5 } else { TRUTH }
}

/// The controller that `name` stands for.
fn make(name: &str) -> impl Fn() -> ControllerPair {
    move || build(name, DataSize::from_bytes(1000), Ecn::Ect1)
}

/// Whether what is remembered is no worse than the list says.
fn is_within(found: &Remembered, [rate, rtt, loss]: Worst) -> bool {
    let outcome = &found.outcome;
    outcome.rate.as_bps_f64() >= 1e6 * rate && 1e3 * outcome.rtt <= rtt && 100.0 * outcome.loss <= loss
}

/// Whether the reason for what is remembered holds.
fn holds(why: Why, name: &str, network: Network, found: &Remembered) -> bool {
    let last = found.disturbance.last(network);
    match why {
        Why::Law => true,
        Why::RestsThere => {
            let others = undisturbed_at_length(last, truth(name), &make(name));
            found.outcome.is_no_worse(&others, &last)
        }
        Why::Is(other) => {
            let others = undisturbed(last, truth(other), &make(other));
            found.outcome.is_no_worse(&others, &last)
        }
        Why::Until(truth) => {
            let outcome = disturbed(found.disturbance, network, truth, &make(name));
            outcome.is_no_worse(&undisturbed(last, truth, &make(name)), &last)
        }
    }
}

/// What is remembered without a reason that holds, and what is in the list and not remembered.
fn assert_forgets<'a>(names: impl IntoIterator<Item = &'a str>, network: Network, list: &[Kept]) {
    let mut wrong = Vec::new();
    for name in names {
        let found = remembered(network, truth(name), &make(name));
        let kept: Vec<_> = list.iter().filter(|(kept, ..)| *kept == name).collect();
        for one in &found {
            match kept.iter().find(|(_, what, ..)| one.disturbance.name() == *what) {
                Some((.., worst)) if !is_within(one, *worst) => {
                    wrong.push(format!("{name} {one}: worse than {worst:?}"));
                }
                Some((.., why, _)) if holds(*why, name, network, one) => {}
                Some((.., why, _)) => wrong.push(format!("{name} {one}: not because of {why:?}")),
                None => wrong.push(format!("{name} {one}")),
            }
        }
        let forgotten =
            kept.iter().filter(|(_, what, ..)| !found.iter().any(|one| one.disturbance.name() == *what));
        wrong.extend(
            forgotten.map(|(_, what, ..)| format!("{name} forgets \"{what}\", which is in the list")),
        );
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// All names but `fixed`, which uses no feedback, in two parts so that two cores share them.
fn names(part: usize) -> impl Iterator<Item = &'static str> {
    let registry = Registry::builtin();
    let all: Vec<_> = registry.controllers().iter().map(|info| info.name).collect();
    all.into_iter().filter(|name| *name != "fixed").skip(part).step_by(2)
}

#[test]
fn controllers_forget() {
    assert_forgets(names(0), Network::PLAIN, KEPT);
}

#[test]
fn the_other_controllers_forget() {
    assert_forgets(names(1), Network::PLAIN, KEPT);
}

/// Losses of the channel, which each scheme has to distinguish from those of the queue before and after.
#[test]
fn discriminators_forget() {
    let schemes = ["biaz", "mbiaz", "spike", "vtp", "zigzag", "zbs", "trend", "oracle"];
    let specs: Vec<_> = schemes.iter().map(|scheme| format!("tfrc(discriminate={scheme})")).collect();
    assert_forgets(specs.iter().map(String::as_str), Network::PLAIN, KEPT);
}

#[test]
fn discriminators_of_vtp_forget() {
    let schemes = ["biaz", "mbiaz", "spike", "zigzag", "zbs", "trend"];
    let specs: Vec<_> = schemes.iter().map(|scheme| format!("vtp(discriminate={scheme})")).collect();
    assert_forgets(specs.iter().map(String::as_str), Network::PLAIN, KEPT);
}

/// The edge of what `nada` remembers. The queue that balances a rate is XREF·RMAX/r (RFC 8698 equation 6), and from QTH, 50 ms, on it is warped while
/// losses are recent. Up to 40 ms everything is forgotten, with jitter too.
#[test]
fn nada_forgets_where_no_queue_is_warped() {
    for network in [Network::PLAIN, Network::JITTERED] {
        // 40 ms at a tenth of the capacity, 300 kbit/s.
        assert_forgets(["nada"], Network { most: Bitrate::from_kbps(1200), ..network }, &[]);
        // 40 ms at a quarter, which is more than the change to a tenth has.
        let network = Network { most: Bitrate::from_mbps(3), ..network };
        let last = Network { rate: network.rate / 4, ..network };
        let fall = Disturbance::Change("capacity down", last, false);
        let outcome = disturbed(fall, network, TRUTH, &make("nada"));
        let others = undisturbed(last, TRUTH, &make("nada"));
        assert!(outcome.is_no_worse(&others, &last), "{outcome}; undisturbed: {}", others[0]);
    }
    // 40 ms at 3 Mbit/s.
    let network = Network { most: Bitrate::from_mbps(12), ..Network::JITTERED };
    let found = remembered(network, TRUTH, &make("nada"));
    let kept: Vec<_> = found.iter().map(|one| one.disturbance.name()).collect();
    assert_eq!(kept, ["capacity down"]);
}

#[test]
#[ignore = "minutes: `make validate`"]
fn variants_forget() {
    assert_forgets(
        variants::VARIANTS.iter().copied().filter(|name| !name.starts_with("fixed")),
        Network::PLAIN,
        KEPT,
    );
}

#[test]
#[ignore = "minutes: `make validate`"]
fn all_forget_with_jitter() {
    assert_forgets(names(0).chain(names(1)), Network::JITTERED, KEPT_WITH_JITTER);
}

/// The last hour is as the second. Prints both (`--nocapture`).
#[expect(clippy::print_stdout, reason = "the results show the table")]
fn assert_same_hours(hours: usize) {
    let mut wrong = Vec::new();
    println!(
        "| controller | rate of hour 2, kbit/s | of hour {hours} | ratio | loss of hour 2 | of hour {hours} |"
    );
    println!("| --- | --- | --- | --- | --- | --- |");
    for name in names(0).chain(names(1)) {
        let outcomes = hours_of_steps(hours, &make(name));
        let (second, last) = (outcomes[1], outcomes[hours - 1]);
        let ratio = last.rate.as_bps_f64() / second.rate.as_bps_f64();
        // LDA steps once in five seconds: its hours differ more.
        let tolerance = if name.starts_with("lda") { 0.1 } else { 0.05 };
        let is_lossier = last.loss > second.loss + 0.02;
        println!(
            "| `{name}` | {:.1} | {:.1} | {ratio:.3} | {:.2}% | {:.2}% |",
            second.rate.as_bps_f64() / 1e3,
            last.rate.as_bps_f64() / 1e3,
            second.loss * 100.0,
            last.loss * 100.0
        );
        if (ratio - 1.0).abs() > tolerance || is_lossier {
            wrong.push(format!("{name}: {last} in the last hour, {second} in the second"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn three_hours_of_steps() {
    assert_same_hours(3);
}

#[test]
#[ignore = "minutes: `make validate`"]
fn a_hundred_hours_of_steps() {
    assert_same_hours(100);
}
