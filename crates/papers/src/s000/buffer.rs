//! The receiver's buffer under both types of control.

use crate::figure::{self, Figure};
use crate::results::{Check, Results};
use crate::runner::{Case, Failure, Runner};
use crate::tolerance::Tolerance;
use crate::trace::{between, binned, correlation, deviation, flow, mean, pairs_that, scaled, time_of, trace};
use seaway_lab::Outcome;
use seaway_quality::statistics::percentile;
use seaway_report::plot::Curve;
use std::rc::Rc;

/// The law of [`super::readings`], and the one that it is compared with.
pub(super) const TYPE_1: &str = "buffer-type1(gamma=adverse, rtt=ms)";
pub(super) const TYPE_2: &str = "buffer-type2(rtt=ms)";
/// Section 4.4's rule for the constants, reported beside the rows.
const LITERAL: &str = "buffer-type1(gamma=literal, rtt=ms)";
/// IP bits of a packet of the testbed, and its payload in octets.
const PACKET_BITS: f64 = 12_000.0;
const PAYLOAD: f64 = 1436.0;
/// Thresholds as parts of the buffer (`B_L`, `B_H`).
const LOW: f64 = 0.2;
const HIGH: f64 = 0.9;
/// Length of a run of figures 9 to 12, s.
const END: f64 = 30.0;

/// The scenario of figures 9 to 12 with that control and buffer.
fn case(control: &str, buffer: u32) -> Case {
    Case::new("s000-buffer")
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
    vec![Figure { title: title.to_owned(), x: "time, s", y, curves, ..Figure::default() }]
}

/// Means are taken over this time, s.
const SPAN: f64 = 1.0;

pub(super) fn level_and_rate(runner: &mut Runner<'_>) -> Result<Results, Failure> {
    let case = case(TYPE_1, 16_384);
    let outcomes = runner.run(std::slice::from_ref(&case))?;
    let changes = |points: &[(f64, f64)]| -> Vec<f64> {
        points.windows(2).map(|pair| (pair[1].1 - pair[0].1).abs()).collect()
    };
    let pairs = |outcome: &Outcome| -> Vec<(f64, f64)> {
        // The level is known from the first packet on, the rate before.
        let (levels, rates) =
            (changes(&binned(&levels(outcome), SPAN)), changes(&binned(&rates(outcome), SPAN)));
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
            "correlation of the changes of rate and level from second to second",
            "",
            &correlations,
            Tolerance::at_least(0.5),
        )],
        figures: over_time("The rate follows the level", "level, kB; rate, packets/s", curves),
        parameters: vec![("command", case.command())],
        remarks: vec!["At 6.4 packets a second a shorter span shows single packets.".to_owned()],
        substitute: None,
    })
}

/// The first instant at which the level is at or above that part of the buffer, s.
fn reached(outcome: &Outcome, part: f64, size: u32) -> Option<f64> {
    let level = part * f64::from(size);
    levels(outcome).into_iter().find(|point| point.1 >= level).map(|point| point.0)
}

/// Entries into the overflow state after the first (Eq. 10: above `B_H`), and the part of the run that was spent in it.
fn entries(outcome: &Outcome, size: u32) -> (f64, f64) {
    let is_over: Vec<bool> = levels(outcome).iter().map(|point| point.1 > HIGH * f64::from(size)).collect();
    let entered = is_over.windows(2).filter(|pair| !pair[0] && pair[1]).count();
    let inside = is_over.iter().filter(|is_over| **is_over).count();
    (entered.saturating_sub(1) as f64, inside as f64 / is_over.len() as f64)
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    percentile(&sorted, 50.0).unwrap_or(f64::NAN)
}

/// Ten, as the paper's own.
const RUNS: u16 = 10;

/// What each control does with 16 384 B: entries after the first fill, part of the time, packets refused; one a seed.
struct Overflows {
    outcomes: Rc<[Outcome]>,
    entries: Vec<f64>,
    inside: Vec<f64>,
    refused: Vec<f64>,
}

impl Overflows {
    fn run(runner: &mut Runner<'_>, cases: &[Case]) -> Result<Vec<Self>, Failure> {
        let of = |outcomes: Rc<[Outcome]>| -> Result<Self, Failure> {
            let refused =
                |outcome: &Outcome| Some(flow(outcome, "video").ok()?.buffer?.refused_events as f64);
            let refused: Option<Vec<f64>> = outcomes.iter().map(refused).collect();
            let (entries, inside) = outcomes.iter().map(|outcome| entries(outcome, 16_384)).unzip();
            Ok(Self { entries, inside, refused: refused.ok_or(Failure::Absent("buffer"))?, outcomes })
        };
        runner.run(cases)?.into_iter().map(of).collect()
    }
}

pub(super) fn overflows(runner: &mut Runner<'_>) -> Result<Results, Failure> {
    let cases = [TYPE_1, TYPE_2].map(|control| case(control, 16_384).seeds(RUNS));
    let runs = Overflows::run(runner, &cases)?;
    let [one, two] = &runs[..] else { return Err(Failure::Absent("run")) };
    let times = median(&two.entries) / median(&one.entries).max(1.0);
    let any = Tolerance::at_least(0.0);
    let mut checks = vec![
        Check::value("type I, median of ten seeds", "entries", median(&one.entries), Tolerance::at_most(1.0))
            .printed(0.0),
        Check::value("type II, median", "entries", median(&two.entries), Tolerance::at_least(5.0))
            .printed(11.0),
        Check::value("type II over type I, where that has at least one", "", times, Tolerance::at_least(5.0)),
        Check::seeds("type I: part of the time in overflow", "", &one.inside, Tolerance::at_most(0.04)),
    ];
    for (name, run) in [("type I", one), ("type II", two)] {
        let what = format!("{name}: packets refused");
        checks.push(Check::seeds(what, "", &run.refused, any).reported());
    }
    let (beside, _) = runner.beside(|runner| {
        let literal = Overflows::run(runner, &[case(LITERAL, 16_384).seeds(RUNS)])?;
        let what = "type I with the constants of section 4.4, median";
        Ok((vec![Check::value(what, "entries", median(&literal[0].entries), any)], Vec::new()))
    })?;
    checks.extend(beside);
    let curves = [("type I", one), ("type II", two)];
    let curves =
        curves.map(|(name, run)| figure::line(name, scaled(levels(&run.outcomes[0]), 1e-3))).to_vec();
    Ok(Results {
        checks,
        figures: over_time("Occupancy of 16 384 B", "level, kB", curves),
        parameters: vec![("command", cases[0].command())],
        remarks: vec![
            "An entry into the overflow state is a rise above 90 % after the first fill, at readings 0.1 s apart."
                .to_owned(),
        ],
        substitute: None,
    })
}

/// Peak to peak of the rate from the first entry into overflow, and its deviation, packets a second.
fn swing(outcome: &Outcome, size: u32) -> (f64, f64) {
    let from = reached(outcome, HIGH, size).unwrap_or(f64::INFINITY);
    let rates = between(&rates(outcome), from + 0.05, END);
    let most = rates.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let least = rates.iter().copied().fold(f64::INFINITY, f64::min);
    (most - least, deviation(&rates))
}

/// When the paper's type II begins to oscillate, s: `(B_H - B_L) / (4 x 1024 B/s)` for 32 768 B.
const OSCILLATES_AT: f64 = 5.6;

pub(super) fn oscillation(runner: &mut Runner<'_>) -> Result<Results, Failure> {
    const SIZE: u32 = 32_768;
    let mut cases = Vec::from([TYPE_1, TYPE_2].map(|control| case(control, SIZE)));
    // TCP beside nothing, as the paper's dotted curve.
    cases.push(Case::new("s000-tcp").with_series());
    let outcomes = runner.run(&cases)?;
    let swings: Vec<Vec<(f64, f64)>> =
        outcomes[..2].iter().map(|outcomes| each(outcomes, |outcome| swing(outcome, SIZE))).collect();
    let ratios: Vec<f64> = swings[0].iter().zip(&swings[1]).map(|(one, two)| one.0 / two.0).collect();
    let fill = each(&outcomes[1], |outcome| {
        let [low, high] = [LOW, HIGH].map(|part| reached(outcome, part, SIZE).unwrap_or(f64::NAN));
        high - low
    });
    let any = Tolerance::at_least(0.0);
    let mut checks = vec![
        Check::seeds("peak to peak of the rate, type I over type II", "", &ratios, Tolerance::at_most(0.5)),
        Check::seeds(
            "from the beginning of playback to overflow",
            "s",
            &fill,
            Tolerance::about(OSCILLATES_AT, 0.2),
        )
        .printed(OSCILLATES_AT),
    ];
    for (name, swings) in ["type I", "type II"].iter().zip(&swings) {
        let (peaks, deviations): (Vec<f64>, Vec<f64>) = swings.iter().copied().unzip();
        checks.push(Check::seeds(format!("peak to peak, {name}"), "packets/s", &peaks, any).reported());
        checks.push(Check::seeds(format!("deviation, {name}"), "packets/s", &deviations, any).reported());
    }
    let mut curves: Vec<Curve> = ["type I", "type II"]
        .iter()
        .zip(&outcomes)
        .map(|(name, outcomes)| figure::line(*name, rates(&outcomes[0])))
        .collect();
    let mut figures = over_time("Sending rate with 32 768 B", "rate, packets/s", curves.clone());
    // TCP sends at the rate of the hop, hundreds of times as fast: on axes of its own.
    let tcp = binned(&scaled(trace(&outcomes[2][0], "download", "received_rate"), 1.0 / PACKET_BITS), 0.5);
    curves = vec![figure::line("no control (TCP Reno, 1500 B)", between_times(&tcp, 0.0, END))];
    figures.extend(over_time("Sending rate without control", "rate, packets/s", curves));
    Ok(Results {
        checks,
        figures,
        parameters: vec![("command", cases[0].command()), ("no control", cases[2].command())],
        remarks: vec![
            "Both types reach the overflow state at the server's largest rate. Type I has then halved its rate in a \
             few round-trip times, type II takes twice as many: the first fall is most of what each swings."
                .to_owned(),
        ],
        substitute: None,
    })
}

fn between_times(trace: &[(f64, f64)], from: f64, to: f64) -> Vec<(f64, f64)> {
    trace.iter().copied().filter(|(time, _)| (from..to).contains(time)).collect()
}

const SIZES: [u32; 3] = [8_192, 16_384, 32_768];
/// The player takes twice as much from this time after playback began, s.
const STEP_AFTER: f64 = 20.0;

/// Figure 12's text has changes; the player's consumption doubles.
fn stepped(size: u32) -> Case {
    case(TYPE_1, size)
        .set("duration", "60 s")
        .set("flow.video.receiver.consume_then", "{ after = \"20 s\", rate = \"16.384 kbit/s\" }")
}

/// From the step until the level is back at its threshold, s.
fn reaction(outcome: &Outcome, size: u32) -> f64 {
    let Some(step) = reached(outcome, LOW, size).map(|begun| begun + STEP_AFTER) else { return f64::NAN };
    let after: Vec<(f64, f64)> = between_times(&levels(outcome), step, 60.0);
    let least = after.iter().copied().fold((step, f64::INFINITY), |a, b| if b.1 < a.1 { b } else { a });
    let back = after.iter().find(|point| point.0 > least.0 && point.1 >= (HIGH - 0.02) * f64::from(size));
    back.map_or(f64::INFINITY, |point| point.0 - step)
}

pub(super) fn sizes(runner: &mut Runner<'_>) -> Result<Results, Failure> {
    let outcomes = runner.run(&SIZES.map(stepped))?;
    let mut reactions = Vec::new();
    let mut deviations = Vec::new();
    for (outcomes, size) in outcomes.iter().zip(SIZES) {
        reactions.push(each(outcomes, |outcome| reaction(outcome, size)));
        deviations.push(each(outcomes, |outcome| deviation(&between(&rates(outcome), 0.0, 60.0))));
    }
    let ordered = |values: &[Vec<f64>], holds: fn(f64, f64) -> bool| {
        pairs_that(&values.iter().map(|values| mean(values)).collect::<Vec<_>>(), holds)
    };
    let mut checks = vec![
        Check::count("a smaller buffer is smoother", ordered(&deviations, |a, b| b > a), 2, 2),
        Check::count(
            "a smaller buffer takes longer to settle again",
            ordered(&reactions, |a, b| b < a),
            2,
            2,
        ),
    ];
    let any = Tolerance::at_least(0.0);
    for ((size, reactions), deviations) in SIZES.iter().zip(&reactions).zip(&deviations) {
        checks.push(Check::seeds(format!("deviation, {size} B"), "packets/s", deviations, any).reported());
        let what = format!("from the step to the level before, {size} B");
        checks.push(Check::seeds(what, "s", reactions, any).reported());
    }
    let figures = rates_of(SIZES.iter().copied().zip(&outcomes));
    let parameters = vec![("command", stepped(SIZES[0]).command())];
    Ok(Results { checks, figures, parameters, ..Results::default() })
}

/// Rates over time by the size of the buffer, of the first seed.
fn rates_of<'o>(outcomes: impl Iterator<Item = (u32, &'o Rc<[Outcome]>)>) -> Vec<Figure> {
    let curves = outcomes.map(|(size, outcomes)| figure::line(format!("{size} B"), rates(&outcomes[0])));
    over_time("Sending rate with several buffers, type I", "rate, packets/s", curves.collect())
}

pub(super) fn sizes_at(runner: &mut Runner<'_>, size: f64) -> Result<Vec<Figure>, Failure> {
    let size = size as u32;
    let outcomes = runner.run(&[stepped(size)])?;
    Ok(rates_of([size].into_iter().zip(&outcomes)))
}

/// The testbed's rates with that control and buffer.
fn testbed(control: &str, buffer: u32) -> Case {
    Case::new("s000-testbed")
        .set("flow.video.control", control)
        .set("flow.video.receiver.buffer", format_args!("{buffer} B"))
        .with_series()
}

pub(super) fn transfer(runner: &mut Runner<'_>) -> Result<Results, Failure> {
    const BUFFERS: [u32; 4] = [4_096, 8_192, 16_384, 32_768];
    let times = times_at(runner, &BUFFERS)?;
    let means: Vec<f64> = times.iter().map(|(_, times)| mean(times)).collect();
    let mut checks =
        vec![Check::count("a larger buffer shortens it", pairs_that(&means, |a, b| b < a), 3, 3)];
    checks.extend(times.iter().map(|(size, times)| {
        Check::seeds(format!("time of 100 kB with {size} B"), "s", times, Tolerance::at_least(0.0)).reported()
    }));
    let parameters = vec![("command", testbed(TYPE_1, BUFFERS[0]).command())];
    Ok(Results { checks, figures: vec![times_of(times)], parameters, ..Results::default() })
}

/// What a transfer takes with each of these buffers, s, one a seed.
fn times_at(runner: &mut Runner<'_>, buffers: &[u32]) -> Result<Vec<(f64, Vec<f64>)>, Failure> {
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
    let outcomes = runner.run(&buffers.iter().map(|&size| testbed(TYPE_1, size)).collect::<Vec<_>>())?;
    let sizes = buffers.iter().copied().map(f64::from);
    Ok(sizes.zip(outcomes.iter().map(|outcomes| each(outcomes, time))).collect())
}

fn times_of(times: Vec<(f64, Vec<f64>)>) -> Figure {
    Figure {
        title: "Time of a transfer against the receiver's buffer".into(),
        x: "receiver's buffer, B",
        y: "time of the transfer, s",
        curves: vec![figure::of_seeds("100 kB", times)],
        ..Figure::default()
    }
}

pub(super) fn transfer_at(runner: &mut Runner<'_>, size: f64) -> Result<Vec<Figure>, Failure> {
    Ok(vec![times_of(times_at(runner, &[size as u32])?)])
}

/// Time of a packet on the first link, and what is downloaded: packets (as [`super::arithmetic`]).
const PACKET_TIME: f64 = 5.0;
const DOWNLOAD: f64 = 667.0;
const TYPE_1_PACKET_TIME: &str = "buffer-type1(gamma=adverse, rtt=ms, packet_time=5 ms)";

pub(super) fn download(runner: &mut Runner<'_>) -> Result<Results, Failure> {
    const PAUSES: [f64; 7] = [1.0, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0];
    let case = |pause: f64| {
        // The rate whose pause that is, and no other.
        let rate = format!("{} bit/s", (PACKET_BITS * 1e3 / (PACKET_TIME + pause)).round());
        testbed(TYPE_1_PACKET_TIME, 16_384).set(
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
        figures: vec![Figure {
            title,
            x: "pause, ms",
            y: "time of the download, s",
            curves,
            ..Figure::default()
        }],
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
        figures: over_time("Occupancy while 20 frames/s are played", "level, kB", curves),
        parameters: vec![("command", case.command())],
        remarks: vec![
            "Frames are of one size and decoded at once; the handheld's decoder is what lost frames there."
                .to_owned(),
        ],
        substitute: None,
    })
}
