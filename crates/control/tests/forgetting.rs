//! Every controller forgets what was odd: `seaway_testkit::battery::forgetting`.

use seaway_control::{ControllerPair, Registry};
use seaway_testkit::battery::forgetting::{
    Network, Remembered, TRUTH, disturbed, hours_of_steps, remembered, undisturbed, undisturbed_at_length,
};
use seaway_testkit::{build, variants};
use seaway_units::{DataSize, Ecn, TimeDelta};

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
/// Two forms on this path, as `n` goes from 1 to 2 by a doubled rate: a burst of losses and a drained queue, time and again, or one connection and
/// TFRC's own queue of 85 ms, where `gamma` tolerates 64.
const TWO_FORMS: Why = Why::RestsThere;

/// What is remembered over [`Network::PLAIN`]: a controller's name, what happened, and why.
const KEPT: &[(&str, &str, Why)] = &[
    ("nada", "capacity down", WARPED),
    ("nada(side=sender, ploss_clock=packet)", "capacity down", WARPED),
    ("nada(variant=draft)", "capacity down", WARPED),
    // ns3-rmcat forgets its base delay after 500 ms without a packet alone (`nada::draft::tests::the_base_delay_is_kept_until_a_pause`).
    ("nada(variant=draft)", "longer route", Why::Law),
    // Its base delay is the least of 500 s.
    ("scream(version=1)", "longer route", Why::Until(TimeDelta::from_secs(600))),
    ("ctfrc", "longer route", LEAST_SO_FAR),
    ("ctfrc", "longer route, noticed", TWO_FORMS),
    ("ctfrc(discriminate=oracle)", "longer route", LEAST_SO_FAR),
    ("ctfrc(discriminate=oracle)", "longer route, noticed", TWO_FORMS),
    ("ctfrc(form=aio, rtt_min=average)", "longer route", LEAST_SO_FAR),
    // The least of averages over a queue that stands is a full queue (`multfrc::count::tests::least_of_samples_or_averages`).
    ("ctfrc(form=aio, rtt_min=average)", "longer route, noticed", Why::Law),
    ("multfrc(form=lerd, discriminate=biaz)", "longer route", LEAST_SO_FAR),
    ("multfrc(form=lerd, discriminate=biaz)", "longer route, noticed", TWO_FORMS),
    // It is better meanwhile: 7 % less rate without a queue or a loss, and not 4 to 9 % of loss. From 2 to 10 % of loss the draft keeps its rate.
    ("gcc(variant=draft)", "capacity up for a while", Why::Until(TimeDelta::from_secs(1200))),
    // A full queue does not rise: no congestion to Trend, until a gap ends on a rise.
    ("vtp(discriminate=trend)", "capacity down", Why::Until(TimeDelta::from_secs(1200))),
];

/// The same over [`Network::JITTERED`].
const KEPT_WITH_JITTER: &[(&str, &str, Why)] = &[
    ("nada", "capacity down", WARPED),
    // Its queue is 45 ms at 3 Mbit/s, and from 50 on it is warped while losses are recent: with arrivals at random it passes over that edge after
    // a loss, and as losses then come at equal intervals, seven of them without one never pass.
    ("nada", "longer route for a while", Why::Law),
    ("nada", "outage", Why::Law),
    ("ctfrc", "longer route", LEAST_SO_FAR),
    ("ctfrc", "longer route, noticed", Why::Is("tfrc")),
];

/// LDA and LDA+ step once in five seconds.
fn truth(name: &str) -> TimeDelta {
    if name.starts_with("lda") { TRUTH * 5 } else { TRUTH }
}

/// The controller that `name` stands for.
fn make(name: &str) -> impl Fn() -> ControllerPair {
    move || build(name, DataSize::from_bytes(1000), Ecn::Ect1)
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
fn assert_forgets<'a>(
    names: impl IntoIterator<Item = &'a str>,
    network: Network,
    list: &[(&str, &str, Why)],
) {
    let mut wrong = Vec::new();
    for name in names {
        let found = remembered(network, truth(name), &make(name));
        let kept: Vec<_> = list.iter().filter(|(kept, ..)| *kept == name).collect();
        for one in &found {
            match kept.iter().find(|(_, what, _)| one.disturbance.name() == *what) {
                Some((.., why)) if holds(*why, name, network, one) => {}
                Some((.., why)) => wrong.push(format!("{name} {one}: not because of {why:?}")),
                None => wrong.push(format!("{name} {one}")),
            }
        }
        let forgotten =
            kept.iter().filter(|(_, what, _)| !found.iter().any(|one| one.disturbance.name() == *what));
        wrong
            .extend(forgotten.map(|(_, what, _)| format!("{name} forgets \"{what}\", which is in the list")));
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
