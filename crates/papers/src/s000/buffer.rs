//! The receiver's buffer under both types of control.

use crate::figure::{self, Figure};
use crate::results::{Check, Results};
use crate::runner::{Case, Failure, Runner};
use crate::tolerance::Tolerance;
use crate::trace::{between, correlation, deviation, flow, mean, pairs_that, scaled, time_of, trace};
use seaway_lab::Outcome;
use seaway_quality::statistics::percentile;
use seaway_report::plot::Curve;
use std::rc::Rc;

const TYPE_1: &str = "buffer-type1";
const ADVERSE: &str = "buffer-type1(gamma=adverse)";
const TYPE_2: &str = "buffer-type2";
/// At most in, bit/s: 10.7 S a second.
const FASTEST: f64 = 128_400.0;
/// A packet (`S`), IP bits, and its payload in octets.
const PACKET_BITS: f64 = 12_000.0;
const PAYLOAD: f64 = 1436.0;

/// The testbed's rates with that control and buffer, at a round-trip time of 25 ms.
fn case(control: &str, buffer: u32) -> Case {
    Case::new("s000-testbed")
        .set("duration", "30 s")
        .set("link.backhaul.delay", "8.28 ms")
        .set("flow.video.control", control)
        .set("flow.video.receiver.buffer", format_args!("{buffer} B"))
        .with_series()
}

fn levels(outcome: &Outcome) -> Vec<(f64, f64)> {
    trace(outcome, "video", "receiver_buffer")
}

/// Packets a second (`T`).
fn rates(outcome: &Outcome) -> Vec<(f64, f64)> {
    trace(outcome, "video", "packet_rate")
}

fn each<T>(outcomes: &Rc<[Outcome]>, of: impl Fn(&Outcome) -> T) -> Vec<T> {
    outcomes.iter().map(of).collect()
}

fn over_time(title: &str, y: &'static str, curves: Vec<Curve>) -> Vec<Figure> {
    vec![Figure { title: title.to_owned(), x: "s", y, curves }]
}

pub(super) fn level_and_rate(runner: &mut Runner<'_>) -> Result<Results, Failure> {
    let case = case(TYPE_1, 16_384);
    let outcomes = runner.run(std::slice::from_ref(&case))?;
    let changes = |points: &[(f64, f64)]| -> Vec<f64> {
        points.windows(2).map(|pair| (pair[1].1 - pair[0].1).abs()).collect()
    };
    let pairs = |outcome: &Outcome| -> Vec<(f64, f64)> {
        // The level is known from the first packet on, the rate before.
        let (levels, rates) = (changes(&levels(outcome)), changes(&rates(outcome)));
        levels.into_iter().rev().zip(rates.into_iter().rev()).collect()
    };
    let correlations = each(&outcomes[0], |outcome| correlation(&pairs(outcome)));
    let first = &outcomes[0][0];
    let curves = vec![
        figure::line("level, kB", scaled(levels(first), 1e-3)),
        figure::line("rate, packets/s", rates(first)),
    ];
    Ok(Results {
        checks: vec![Check::seeds(
            "correlation of the changes of rate and level in 0.1 s",
            "",
            &correlations,
            Tolerance::at_least(0.5),
        )],
        figures: over_time("The rate follows the level", "kB, packets/s", curves),
        parameters: vec![("command", case.command())],
        remarks: vec!["Readings are 0.1 s apart, four round-trip times.".to_owned()],
        substitute: None,
    })
}

pub(super) fn overflows(runner: &mut Runner<'_>) -> Result<Results, Failure> {
    let ours = [TYPE_1, TYPE_2, ADVERSE].map(|control| case(control, 16_384).seeds(10));
    // The ends of what the paper prints, 20 and 30 ms.
    let ends = ["5.78 ms", "10.78 ms"].map(|delay| {
        [TYPE_1, TYPE_2].map(|control| case(control, 16_384).set("link.backhaul.delay", delay).seeds(10))
    });
    let cases: Vec<Case> = ours.into_iter().chain(ends.into_iter().flatten()).collect();
    let outcomes = runner.run(&cases)?;
    let mut refused = Vec::new();
    for outcomes in &outcomes {
        let count = |outcome: &Outcome| Some(flow(outcome, "video").ok()?.buffer?.refused_events as f64);
        let counts: Option<Vec<f64>> = outcomes.iter().map(count).collect();
        refused.push(counts.ok_or(Failure::Absent("buffer"))?);
    }
    let median = |counts: &[f64]| {
        let mut sorted = counts.to_vec();
        sorted.sort_by(f64::total_cmp);
        percentile(&sorted, 50.0).unwrap_or(f64::NAN)
    };
    let most = |counts: &[f64]| counts.iter().copied().fold(0.0, f64::max);
    let least = |counts: &[f64]| counts.iter().copied().fold(f64::INFINITY, f64::min);
    let [one, two, adverse] = [&refused[0], &refused[1], &refused[2]];
    let mut checks = vec![
        Check::value("type I, median of ten seeds", "overflows", median(one), Tolerance::at_most(0.0))
            .printed(0.0),
        Check::value("type I, most", "overflows", most(one), Tolerance::at_most(2.0)).printed(0.0),
        Check::value("type II, least", "overflows", least(two), Tolerance::at_least(3.0)).printed(11.0),
        Check::seeds("type II, mean", "overflows", two, Tolerance::at_least(3.0)).printed(11.0).reported(),
        Check::value(
            "type I with gamma=adverse, median",
            "overflows",
            median(adverse),
            Tolerance::at_most(0.0),
        )
        .reported(),
        Check::value("type I with gamma=adverse, most", "overflows", most(adverse), Tolerance::at_most(2.0))
            .reported(),
    ];
    for (rtt, refused) in [20, 30].into_iter().zip(refused[3..].chunks(2)) {
        let reported =
            |what: String, value, tolerance| Check::value(what, "overflows", value, tolerance).reported();
        checks.push(reported(
            format!("type I at {rtt} ms, most"),
            most(&refused[0]),
            Tolerance::at_most(2.0),
        ));
        checks.push(reported(
            format!("type II at {rtt} ms, least"),
            least(&refused[1]),
            Tolerance::at_least(3.0),
        ));
    }
    let curves = ["type I", "type II"]
        .iter()
        .zip(&outcomes)
        .map(|(name, outcomes)| figure::line(*name, scaled(levels(&outcomes[0]), 1e-3)));
    Ok(Results {
        checks,
        figures: over_time("Occupancy of 16 384 B", "kB", curves.collect()),
        parameters: vec![("command", cases[0].command())],
        remarks: vec![
            "The testbed's rates alone do not decide it: where the round-trip time is below 23 ms neither type overflows, \
             above 28 ms type I with gamma=adverse does as often as type II; the literal rule never does from 20 to 30 ms."
                .to_owned(),
        ],
        substitute: None,
    })
}

/// Where figure 11's text looks from, s.
const OSCILLATES_FROM: f64 = 5.6;

pub(super) fn oscillation(runner: &mut Runner<'_>) -> Result<Results, Failure> {
    let cases = [TYPE_1, TYPE_2, ADVERSE].map(|control| case(control, 32_768));
    let outcomes = runner.run(&cases)?;
    let deviations: Vec<Vec<f64>> = outcomes
        .iter()
        .map(|outcomes| each(outcomes, |outcome| deviation(&between(&rates(outcome), OSCILLATES_FROM, 30.0))))
        .collect();
    let ratios: Vec<f64> = deviations[0].iter().zip(&deviations[1]).map(|(one, two)| one / two).collect();
    let mut checks = vec![Check::seeds(
        "deviation of the rate, type I over type II",
        "",
        &ratios,
        Tolerance::at_most(0.5),
    )];
    for (name, deviations) in ["type I", "type II", "type I with gamma=adverse"].iter().zip(&deviations) {
        let what = format!("deviation of the rate after 5.6 s, {name}");
        checks.push(Check::seeds(what, "packets/s", deviations, Tolerance::at_least(0.0)).reported());
    }
    let curves = ["type I", "type II"].iter().zip(&outcomes);
    let curves = curves.map(|(name, outcomes)| figure::line(*name, rates(&outcomes[0])));
    Ok(Results {
        checks,
        figures: over_time("Sending rate with 32 768 B", "packets/s", curves.collect()),
        parameters: vec![("command", cases[0].command())],
        remarks: vec![
            "Both laws are relays with one threshold at 90 %: once there, each falls by a constant factor a round-trip \
             time above it and rises by a packet a round-trip time below, so both swing between their bounds. Type I \
             cuts harder while the level falls, which makes its swing no smaller. No Reading of its steps changes that."
                .to_owned(),
        ],
        substitute: None,
    })
}

const SIZES: [u32; 3] = [8_192, 16_384, 32_768];
/// Eq. 15 with round-trip times in milliseconds.
const TYPE_1_MS: &str = "buffer-type1(rtt=ms)";

/// How soon and how steadily type I moves with each size of the buffer.
struct Sizes {
    outcomes: Vec<Rc<[Outcome]>>,
    /// Time to half the largest rate, s.
    reactions: Vec<f64>,
    /// Of the rate over the whole run, packets a second.
    deviations: Vec<f64>,
}

impl Sizes {
    fn run(runner: &mut Runner<'_>, control: &str) -> Result<Self, Failure> {
        let outcomes = runner.run(&SIZES.map(|size| case(control, size)))?;
        let reaction = |outcome: &Outcome| {
            let reached = |&(_, rate): &(f64, f64)| rate >= 0.5 * FASTEST / PACKET_BITS;
            rates(outcome).into_iter().find(reached).map_or(f64::INFINITY, |(time, _)| time)
        };
        let deviation_of = |outcome: &Outcome| deviation(&between(&rates(outcome), 0.0, 30.0));
        Ok(Self {
            reactions: outcomes.iter().map(|outcomes| mean(&each(outcomes, reaction))).collect(),
            deviations: outcomes.iter().map(|outcomes| mean(&each(outcomes, deviation_of))).collect(),
            outcomes,
        })
    }

    fn checks(&self, of: &str) -> [Check; 2] {
        let (sooner, smoother) =
            (pairs_that(&self.reactions, |a, b| b < a), pairs_that(&self.deviations, |a, b| b > a));
        [
            Check::count(format!("a larger buffer reacts sooner{of}"), sooner, 2, 2),
            Check::count(format!("a smaller buffer is smoother{of}"), smoother, 2, 2),
        ]
    }
}

pub(super) fn sizes(runner: &mut Runner<'_>) -> Result<Results, Failure> {
    let runs = Sizes::run(runner, TYPE_1_MS)?;
    let mut checks = Vec::from(runs.checks(""));
    for ((size, outcomes), deviation) in SIZES.iter().zip(&runs.outcomes).zip(&runs.deviations) {
        let reported =
            |what: String, value| Check::value(what, "packets/s", value, Tolerance::at_least(0.0)).reported();
        let most = |outcome: &Outcome| rates(outcome).iter().map(|point| point.1).fold(0.0, f64::max);
        checks.push(reported(format!("most that is reached, {size} B"), mean(&each(outcomes, most))));
        checks.push(reported(format!("deviation, {size} B"), *deviation));
    }
    checks.extend(Sizes::run(runner, TYPE_1)?.checks(", Eq. 15 in seconds").map(Check::reported));
    let curves = SIZES.iter().zip(&runs.outcomes);
    let curves = curves.map(|(size, outcomes)| figure::line(format!("{size} B"), rates(&outcomes[0])));
    Ok(Results {
        checks,
        figures: over_time("Sending rate with several buffers, type I", "packets/s", curves.collect()),
        parameters: vec![("command", case(TYPE_1_MS, SIZES[0]).command())],
        remarks: vec![
            "A small buffer leaves its lowest state, in which the rate is multiplied, after a packet or two, and grows \
             slowly from then on. With Eq. 15 in seconds a stable buffer adds a packet a round-trip time, which is faster \
             than any multiplication here: the rate is at its bound before the size can matter."
                .to_owned(),
        ],
        substitute: None,
    })
}

pub(super) fn transfer(runner: &mut Runner<'_>) -> Result<Results, Failure> {
    const BUFFERS: [u32; 4] = [4_096, 8_192, 16_384, 32_768];
    let cases = BUFFERS.map(|size| case(TYPE_1, size).set("duration", "60 s"));
    let outcomes = runner.run(&cases)?;
    // Figure 7 names no file: 100 kB.
    let time = |outcome: &Outcome| {
        // What the buffer refuses has not been transferred.
        let mut came = 0.0;
        let taken = trace(outcome, "video", "received_rate")
            .into_iter()
            .rev()
            .zip(trace(outcome, "video", "receiver_refused").into_iter().rev());
        let taken: Vec<_> = taken.collect();
        let reached = taken.into_iter().rev().find(|&((_, rate), (_, refused))| {
            came += rate * 0.1 / PACKET_BITS * PAYLOAD;
            came - refused >= 100e3
        });
        reached.map_or(f64::INFINITY, |((time, _), _)| time)
    };
    let times: Vec<(f64, Vec<f64>)> = BUFFERS
        .iter()
        .zip(&outcomes)
        .map(|(size, outcomes)| (f64::from(*size), each(outcomes, time)))
        .collect();
    let means: Vec<f64> = times.iter().map(|(_, times)| mean(times)).collect();
    let mut checks =
        vec![Check::count("a larger buffer shortens it", pairs_that(&means, |a, b| b < a), 3, 3)];
    checks.extend(times.iter().map(|(size, times)| {
        Check::seeds(format!("time of 100 kB with {size} B"), "s", times, Tolerance::at_least(0.0)).reported()
    }));
    let title = "Time of a transfer against the receiver's buffer".into();
    let curves = vec![figure::of_seeds("100 kB", times)];
    Ok(Results {
        checks,
        figures: vec![Figure { title, x: "B", y: "s", curves }],
        parameters: vec![("command", cases[0].command())],
        remarks: Vec::new(),
        substitute: None,
    })
}

/// Time of a packet on the first link, and what is downloaded: packets (as [`super::arithmetic`]).
const PACKET_TIME: f64 = 5.0;
const DOWNLOAD: f64 = 667.0;

pub(super) fn download(runner: &mut Runner<'_>) -> Result<Results, Failure> {
    const PAUSES: [f64; 7] = [1.0, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0];
    let case = |pause: f64| {
        // The rate whose pause that is, and no other.
        let rate = format!("{} bit/s", (PACKET_BITS * 1e3 / (PACKET_TIME + pause)).round());
        case("buffer-type1(packet_time=5 ms)", 16_384).set("duration", "40 s").set(
            "flow.video.rate",
            format_args!("{{ min = \"{rate}\", start = \"{rate}\", max = \"{rate}\" }}"),
        )
    };
    let cases = PAUSES.map(case);
    let outcomes = runner.run(&cases)?;
    let mut checks = Vec::new();
    let mut times = Vec::new();
    for (pause, outcomes) in PAUSES.iter().zip(&outcomes) {
        let exact = DOWNLOAD * (PACKET_TIME + pause) / 1e3;
        let taken = each(outcomes, |outcome| {
            let sent = trace(outcome, "video", "sent_rate");
            let begun = sent.iter().find(|(_, rate)| *rate > 0.0).map_or(0.0, |&(time, _)| time - 0.1);
            time_of(&sent, DOWNLOAD * PACKET_BITS).unwrap_or(f64::INFINITY) - begun
        });
        let what = format!("time at a pause of {pause} ms; n (t(S) + IPD) = {exact:.2} s");
        checks.push(Check::seeds(what, "s", &taken, Tolerance::about_part(exact, 0.03)));
        times.push((*pause, taken));
    }
    let means: Vec<f64> = times.iter().map(|(_, times)| mean(times)).collect();
    checks.push(Check::count("grows with the pause", pairs_that(&means, |a, b| b > a), 6, 6));
    let exact =
        figure::line("n (t(S) + IPD)", PAUSES.map(|pause| (pause, DOWNLOAD * (PACKET_TIME + pause) / 1e3)));
    let curves = vec![figure::of_seeds("1 MB by the controller", times), exact];
    let title = "Time of a download against the pause".into();
    Ok(Results {
        checks,
        figures: vec![Figure { title, x: "pause, ms", y: "s", curves }],
        parameters: vec![("command", cases[4].command())],
        remarks: vec!["Figure 4 names no file: 1 MB, 667 packets.".to_owned()],
        substitute: None,
    })
}

pub(super) fn prototype(runner: &mut Runner<'_>) -> Result<Results, Failure> {
    let case = Case::new("s000-testbed")
        .set("flow.video.rate.max", "426.3 kbit/s")
        .set("flow.video.source", "{ kind = \"cbr\", rate = \"64 kbit/s\", fps = 20 }")
        .set("flow.video.receiver.consume", "64 kbit/s")
        .with_series();
    let outcomes = runner.run(std::slice::from_ref(&case))?;
    let (mut shown, mut refused, mut late, mut rtt) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for outcome in &*outcomes[0] {
        let flow = flow(outcome, "video")?;
        let frames = flow.frames.ok_or(Failure::Absent("frames"))?;
        shown.push(frames.displayed as f64 / frames.captured as f64);
        refused.push(flow.buffer.ok_or(Failure::Absent("buffer"))?.refused_events as f64);
        late.push(flow.delay_ms.ok_or(Failure::Absent("delay_ms"))?.p95);
        rtt.push(flow.rtt_ms.ok_or(Failure::Absent("rtt_ms"))?.mean);
    }
    let checks = vec![
        Check::seeds("overflows", "", &refused, Tolerance::at_most(0.0)).printed(0.0),
        Check::seeds("part of the frames that are shown", "", &shown, Tolerance::at_least(0.8))
            .printed(16.35 / 20.0),
        Check::seeds(
            "from capture to display, p95: less than a frame's time",
            "ms",
            &late,
            Tolerance::at_most(50.0),
        ),
        Check::seeds("round-trip time", "ms", &rtt, Tolerance::about(19.0, 3.0)).printed(19.0).reported(),
    ];
    let curves = vec![figure::line("level", scaled(levels(&outcomes[0][0]), 1e-3))];
    Ok(Results {
        checks,
        figures: over_time("Occupancy while 20 frames/s are played", "kB", curves),
        parameters: vec![("command", case.command())],
        remarks: vec![
            "Frames are of one size and decoded at once; the handheld's decoder is what lost frames there."
                .to_owned(),
        ],
        substitute: None,
    })
}
