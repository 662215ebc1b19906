//! Every controller forgets what was odd: `seaway_testkit::battery::forgetting`.

use seaway_control::Registry;
use seaway_testkit::battery::forgetting::{Network, TRUTH, hours_of_steps, remembered};
use seaway_testkit::{build, variants};
use seaway_units::{DataSize, Ecn, TimeDelta};

const TWO_FORMS: &str = "it has two forms on the new path. One that comes from the short path keeps a full queue and loses nothing: 3.0 Mbit/s, \
     245 ms, 0.02 % lost instead of 2.9 Mbit/s, 210 ms, 1 %";
const OUTSIDE_TAU: &str = "the law is made for round trips up to TAU, 500 ms, and beside RMAX of 45 times the capacity its queue makes \
     them longer. From below it rests in a queue of 0.5 s. From above it fills the queue of 1 s, losses have that delay count for nothing \
     (equation 1), and as their penalty decays the rate trebles in two seconds, into the next burst of loss (equations 5 to 7): 31 % are \
     lost instead of 4 %";

/// What a controller remembers by its own law: its name, what happened, and why.
const KEPT: &[(&str, &str, &str)] = &[
    ("nada", "capacity down", OUTSIDE_TAU),
    ("nada(side=sender, ploss_clock=packet)", "capacity down", OUTSIDE_TAU),
    ("nada(variant=draft)", "capacity down", OUTSIDE_TAU),
    (
        "nada(variant=draft)",
        "longer route",
        "its base delay is forgotten after 500 ms without a packet alone, as in ns3-rmcat",
    ),
    ("nada(variant=draft)", "longer route, noticed", "ns3-rmcat knows no such signal"),
    ("scream(version=1)", "longer route", "the base delay is that of 500 s"),
    ("ctfrc", "longer route", TWO_FORMS),
    ("ctfrc", "longer route, noticed", "as the other form of it: 2.8 Mbit/s, 199 ms, 1.6 %"),
    ("ctfrc(discriminate=oracle)", "longer route", TWO_FORMS),
    ("ctfrc(discriminate=oracle)", "longer route, noticed", "as ctfrc"),
    ("ctfrc(form=aio, rtt_min=average)", "longer route", TWO_FORMS),
    ("ctfrc(form=aio, rtt_min=average)", "longer route, noticed", TWO_FORMS),
    ("multfrc(form=lerd, discriminate=biaz)", "longer route", TWO_FORMS),
    ("multfrc(form=lerd, discriminate=biaz)", "longer route, noticed", TWO_FORMS),
    (
        "gcc(variant=draft)",
        "capacity up for a while",
        "on this path it stays below 2.8 Mbit/s without a queue, or beyond 3 in a full one",
    ),
    (
        "vtp(discriminate=trend)",
        "capacity down",
        "a queue that stays full does not rise: no congestion to Trend",
    ),
];

/// LDA and LDA+ step once in five seconds.
fn truth(name: &str) -> TimeDelta {
    if name.starts_with("lda") { TRUTH * 5 } else { TRUTH }
}

/// What is remembered and not in `KEPT`, and what is there and not remembered.
fn assert_forgets<'a>(names: impl IntoIterator<Item = &'a str>, network: Network) {
    let mut wrong = Vec::new();
    for name in names {
        let make = || build(name, DataSize::from_bytes(1000), Ecn::Ect1);
        let found = remembered(network, truth(name), &make);
        let kept: Vec<_> = KEPT.iter().filter(|(kept, ..)| *kept == name).map(|(_, what, _)| *what).collect();
        let unexpected = found.iter().filter(|one| !kept.contains(&one.disturbance.name()));
        wrong.extend(unexpected.map(|one| format!("{name} {one}")));
        let forgotten = kept.iter().filter(|what| !found.iter().any(|one| one.disturbance.name() == **what));
        wrong.extend(forgotten.map(|what| format!("{name} forgets \"{what}\", which is in the list")));
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
    assert_forgets(names(0), Network::PLAIN);
}

#[test]
fn the_other_controllers_forget() {
    assert_forgets(names(1), Network::PLAIN);
}

/// Losses of the channel, which each scheme has to distinguish from those of the queue before and after.
#[test]
fn discriminators_forget() {
    let schemes = ["biaz", "mbiaz", "spike", "vtp", "zigzag", "zbs", "trend", "oracle"];
    let specs: Vec<_> = schemes.iter().map(|scheme| format!("tfrc(discriminate={scheme})")).collect();
    assert_forgets(specs.iter().map(String::as_str), Network::PLAIN);
}

#[test]
fn discriminators_of_vtp_forget() {
    let schemes = ["biaz", "mbiaz", "spike", "zigzag", "zbs", "trend"];
    let specs: Vec<_> = schemes.iter().map(|scheme| format!("vtp(discriminate={scheme})")).collect();
    assert_forgets(specs.iter().map(String::as_str), Network::PLAIN);
}

#[test]
#[ignore = "minutes: `make validate`"]
fn variants_forget() {
    assert_forgets(
        variants::VARIANTS.iter().copied().filter(|name| !name.starts_with("fixed")),
        Network::PLAIN,
    );
}

/// The last hour is as the second.
fn assert_same_hours(hours: usize) {
    let mut wrong = Vec::new();
    for name in names(0).chain(names(1)) {
        let outcomes = hours_of_steps(hours, &|| build(name, DataSize::from_bytes(1000), Ecn::Ect1));
        let (second, last) = (outcomes[1], outcomes[hours - 1]);
        let ratio = last.rate.as_bps_f64() / second.rate.as_bps_f64();
        // LDA steps once in five seconds: its hours differ more.
        let tolerance = if name.starts_with("lda") { 0.1 } else { 0.05 };
        let is_lossier = last.loss > second.loss + 0.02;
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
