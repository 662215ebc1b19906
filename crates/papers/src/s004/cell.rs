//! Five stations of a cell, each with a video under NADA.

use crate::figure::{self, Figure};
use crate::results::{Check, Results};
use crate::runner::{Case, Failure, Runner};
use crate::tolerance::Tolerance;
use crate::trace::{Trace, between, binned, flow, mean, scaled, trace};
use seaway_lab::Outcome;
use seaway_media::encoder::{Ladder, LadderRule};
use seaway_media::{FrameRate, PictureSize};
use seaway_quality::fairness::jain;
use seaway_units::{Bitrate, TimeDelta};

pub(super) const STATIONS: [usize; 5] = [0, 1, 2, 3, 4];
/// Stations 1, 2 and 4 at 30 m; 0 and 3 further away.
const NEAR: [usize; 3] = [1, 2, 4];
const FAR: [usize; 2] = [0, 3];
/// The largest rate, and the fixed video's, kbit/s.
const LARGEST: f64 = 1500.0;
const FIXED: f64 = 2000.0;
/// Length of a run, s.
const END: f64 = 300.0;

/// A key of all five flows changed.
pub(super) fn each(case: Case, key: &str, value: &str) -> Case {
    STATIONS.iter().fold(case, |case, station| case.set(&format!("flow.video-{station}.{key}"), value))
}

/// A clip that was coded once: of figure 8, and one of 720 rows that the largest rate would carry.
pub(super) const OF_2000: &str = "{ kind = \"cbr\", rate = \"2 Mbit/s\", fps = 30 }";
pub(super) const OF_1500: &str = "{ kind = \"cbr\", rate = \"1.5 Mbit/s\", fps = 30 }";

fn fixed(case: Case, source: &str) -> Case {
    each(case, "source", source)
}

fn case(scenario: &'static str) -> Case {
    Case::new(scenario).with_series()
}

fn of(outcome: &Outcome, station: usize, name: &str) -> Trace {
    scaled(trace(outcome, &format!("video-{station}"), name), 1e-3)
}

fn received(outcome: &Outcome, station: usize) -> Result<f64, Failure> {
    let flow = flow(outcome, &format!("video-{station}"))?;
    Ok(flow.received_bps.ok_or(Failure::Absent("received_bps"))? / 1e3)
}

fn sent(outcome: &Outcome, station: usize) -> Result<f64, Failure> {
    let flow = flow(outcome, &format!("video-{station}"))?;
    Ok(flow.sent_bps.ok_or(Failure::Absent("sent_bps"))? / 1e3)
}

/// The mean over those stations of a number, one a seed.
fn over(
    outcomes: &[Outcome],
    stations: &[usize],
    number: impl Fn(&Outcome, usize) -> Result<f64, Failure>,
) -> Result<Vec<f64>, Failure> {
    let one = |outcome: &Outcome| -> Result<f64, Failure> {
        let values: Result<Vec<f64>, Failure> =
            stations.iter().map(|&station| number(outcome, station)).collect();
        Ok(mean(&values?))
    };
    outcomes.iter().map(one).collect()
}

/// The mean of the reference rate from then on.
fn reference(from: f64) -> impl Fn(&Outcome, usize) -> Result<f64, Failure> {
    move |outcome, station| Ok(mean(&between(&of(outcome, station, "reference_rate"), from, END)))
}

/// When the largest rate is reached; the end where it is not.
fn ramp(outcome: &Outcome, station: usize) -> Result<f64, Failure> {
    let rates = of(outcome, station, "reference_rate");
    Ok(rates.into_iter().find(|(_, rate)| *rate >= 0.98 * LARGEST).map_or(END, |(time, _)| time))
}

fn figures(title: &str, outcome: &Outcome) -> Vec<Figure> {
    let draw = |name: &'static str, what: &str| {
        let curve = |station: &usize| {
            figure::line(format!("STA {station}"), binned(&of(outcome, *station, name), 2.0))
        };
        let curves = STATIONS.iter().map(curve).collect();
        Figure {
            title: format!("{title}: {what}"),
            x: "time, s",
            y: "rate, kbit/s",
            curves,
            ..Figure::default()
        }
    };
    vec![draw("reference_rate", "calculated rate"), draw("received_rate", "receive rate")]
}

fn result(title: &str, case: &Case, outcomes: &[Outcome], checks: Vec<Check>) -> Results {
    let parameters = vec![("command", case.command())];
    Results {
        checks,
        figures: figures(title, &outcomes[0]),
        parameters,
        remarks: Vec::new(),
        substitute: None,
    }
}

pub(super) fn best_case(runner: &mut Runner<'_>) -> Result<Results, Failure> {
    let case = case("s004-best-case");
    let outcomes = runner.run(std::slice::from_ref(&case))?.remove(0);
    let mut checks = Vec::new();
    for station in STATIONS {
        let rates = over(&outcomes, &[station], reference(60.0))?;
        let what = format!("mean rate after 60 s, STA {station}");
        checks
            .push(Check::seeds(what, "kbit/s", &rates, Tolerance::at_least(0.95 * LARGEST)).printed(LARGEST));
    }
    let (mut index, mut losses) = (Vec::new(), Vec::new());
    for outcome in &*outcomes {
        let rates: Result<Vec<f64>, Failure> =
            STATIONS.iter().map(|&station| received(outcome, station)).collect();
        index.push(jain(&rates?).ok_or(Failure::Absent("received_bps"))?);
        losses.extend(outcome.summary.flows.iter().filter_map(|flow| flow.loss_ratio));
    }
    checks.push(Check::seeds("Jain's index", "", &index, Tolerance::at_least(0.99)));
    checks.push(Check::seeds("loss", "", &losses, Tolerance::at_most(0.001)));
    let part = over(&outcomes, &STATIONS, |outcome, station| {
        Ok(received(outcome, station)? / sent(outcome, station)?)
    })?;
    checks.push(Check::seeds("received over sent", "", &part, Tolerance::at_least(0.999)).printed(1.0));
    let rates = over(&outcomes, &STATIONS, received)?;
    checks.push(Check::seeds("receive rate", "kbit/s", &rates, Tolerance::at_least(0.0)).reported());
    Ok(result("5 m", &case, &outcomes, checks))
}

/// Of what is sent to a station, what arrives.
fn delivered(outcome: &Outcome, station: usize) -> Result<f64, Failure> {
    Ok(received(outcome, station)? / sent(outcome, station)?)
}

/// How much later than at 5 m the near stations reach the largest rate: in how many seeds at least three times as late.
fn slow_ramp(there: &[Outcome], at_5_m: &[Outcome]) -> Result<Vec<Check>, Failure> {
    let [slow, quick] = [over(there, &NEAR, ramp)?, over(at_5_m, &NEAR, ramp)?];
    let slower = slow.iter().zip(&quick).filter(|(slow, quick)| **slow >= 3.0 * **quick).count();
    let any = Tolerance::at_least(0.0);
    Ok(vec![
        Check::count(
            "seeds in which the largest rate takes three times as long as at 5 m",
            slower,
            3,
            slow.len(),
        ),
        Check::seeds("time of near stations to the largest rate; 300 s: never", "s", &slow, any)
            .printed(150.0)
            .reported(),
        Check::seeds("the same at 5 m", "s", &quick, any).reported(),
    ])
}

/// Packets of 500 B to stations at 30 and 51.7 m.
fn of_500_b() -> Case {
    each(case("s004-distance"), "packet", "500 B")
}

/// The same of a clip of 2 Mbit/s.
fn clip_in_500_b() -> Case {
    each(fixed(case("s004-distance"), OF_2000), "packet", "500 B")
}

/// With the far stations at a distance of the reader's own, m: the case's figures, and the pictures' rows where they are adapted.
fn far_at(runner: &mut Runner<'_>, case: Case, metres: f64, adapts: bool) -> Result<Vec<Figure>, Failure> {
    let case = case
        .set("wlan.cell.station.sta0.at", format_args!("[\"{metres} m\", \"0 m\"]"))
        .set("wlan.cell.station.sta3.at", format_args!("[\"0 m\", \"-{metres} m\"]"));
    let outcomes = runner.run(&[case])?.remove(0);
    let title = format!("Stations 0 and 3 at {metres} m");
    let mut drawn = figures(&title, &outcomes[0]);
    drawn.extend(adapts.then(|| resolutions(&title, &outcomes[0])));
    Ok(drawn)
}

pub(super) fn starved_at(runner: &mut Runner<'_>, metres: f64) -> Result<Vec<Figure>, Failure> {
    far_at(runner, case("s004-distance"), metres, false)
}

pub(super) fn small_packets_at(runner: &mut Runner<'_>, metres: f64) -> Result<Vec<Figure>, Failure> {
    far_at(runner, of_500_b(), metres, false)
}

pub(super) fn adaptive_at(runner: &mut Runner<'_>, metres: f64) -> Result<Vec<Figure>, Failure> {
    far_at(runner, case("s004-distance"), metres, true)
}

pub(super) fn late_upgrade_at(runner: &mut Runner<'_>, metres: f64) -> Result<Vec<Figure>, Failure> {
    far_at(runner, of_500_b(), metres, true)
}

pub(super) fn larger_limit_at(runner: &mut Runner<'_>, metres: f64) -> Result<Vec<Figure>, Failure> {
    far_at(runner, each(clip_in_500_b(), "rate.max", "4 Mbit/s"), metres, false)
}

pub(super) fn deficit_at(runner: &mut Runner<'_>, metres: f64) -> Result<Vec<Figure>, Failure> {
    far_at(runner, fixed(case("s004-distance"), OF_1500), metres, false)
}

pub(super) fn wide_channel_at(runner: &mut Runner<'_>, metres: f64) -> Result<Vec<Figure>, Failure> {
    far_at(runner, fixed(case("s004-80mhz"), OF_1500), metres, false)
}

pub(super) fn starved(runner: &mut Runner<'_>) -> Result<Results, Failure> {
    let cases = [case("s004-distance"), case("s004-best-case")];
    let outcomes = runner.run(&cases)?;
    let end = over(&outcomes[0], &NEAR, reference(END - 30.0))?;
    let far = over(&outcomes[0], &FAR, delivered)?;
    let mut checks = vec![
        Check::seeds("near stations in the last 30 s", "kbit/s", &end, Tolerance::at_least(0.9 * LARGEST))
            .printed(LARGEST),
        Check::seeds("far stations, received over sent", "", &far, Tolerance::at_most(0.05)).printed(0.0),
    ];
    checks.extend(slow_ramp(&outcomes[0], &outcomes[1])?);
    let mut result = result("30 and 51.7 m", &cases[0], &outcomes[0], checks);
    result.remarks.push(
        "The slow ramp of the near stations is no loss of theirs. The access point repeats packets that the far ones \
         cannot receive until they are too old, and the packets behind them are late: the near ones stay far below the \
         largest rate to the end. A recovery after 150 s needs the far stations to lose their association, and with \
         assoc=frames they keep it: their beacons arrive."
            .to_owned(),
    );
    Ok(result)
}

pub(super) fn small_packets(runner: &mut Runner<'_>) -> Result<Results, Failure> {
    let cases = [of_500_b(), case("s004-distance")];
    let outcomes = runner.run(&cases)?;
    let [small, large] = [over(&outcomes[0], &FAR, delivered)?, over(&outcomes[1], &FAR, delivered)?];
    let more = small.iter().zip(&large).filter(|(small, large)| small > large).count();
    let any = Tolerance::at_least(0.0);
    let checks = vec![
        Check::count(
            "seeds in which a larger part of 500 B arrives than of 1000 B",
            more,
            small.len(),
            small.len(),
        ),
        Check::seeds("sent to far stations", "kbit/s", &over(&outcomes[0], &FAR, sent)?, any)
            .printed(200.0)
            .reported(),
        Check::seeds("received by far stations", "kbit/s", &over(&outcomes[0], &FAR, received)?, any)
            .printed(10.0)
            .reported(),
        Check::seeds("received over sent, 500 B", "", &small, any).printed(0.05).reported(),
        Check::seeds("received over sent, 1000 B", "", &large, any).printed(0.0).reported(),
    ];
    Ok(result("30 and 51.7 m, 500 B", &cases[0], &outcomes[0], checks))
}

/// Rows of the pictures over time, by ns3-rmcat's rule.
fn rows(outcome: &Outcome, station: usize) -> Trace {
    let (Ok(source), Some(fps)) = (PictureSize::new(1280, 720), FrameRate::new(30, 1)) else {
        return Trace::new();
    };
    let rates = trace(outcome, &format!("video-{station}"), "encoder_rate");
    let first = rates.first().map_or(0.0, |point| point.1);
    let mut ladder =
        Ladder::new(source, fps, LadderRule::NS3_RMCAT).starting_at(Bitrate::from_bps_f64(first));
    let height = |(time, rate): (f64, f64)| {
        // A step may follow each picture; there are three between two readings.
        let rate = Bitrate::from_bps_f64(rate);
        let step = |ladder: &mut Ladder| ladder.choose(TimeDelta::from_secs_f64(time), rate).height();
        let heights = [step(&mut ladder), step(&mut ladder), step(&mut ladder)];
        (time, f64::from(heights[2]))
    };
    rates.into_iter().map(height).collect()
}

fn resolutions(title: &str, outcome: &Outcome) -> Figure {
    let curve = |station: &usize| figure::line(format!("STA {station}"), rows(outcome, *station));
    let curves = STATIONS.iter().map(curve).collect();
    Figure {
        title: format!("{title}: resolution"),
        x: "time, s",
        y: "rows of pictures",
        curves,
        ..Figure::default()
    }
}

/// The part of a station's run at pictures of so many rows at most.
fn part_at_most(outcome: &Outcome, station: usize, most: f64) -> Result<f64, Failure> {
    let rows = rows(outcome, station);
    Ok(rows.iter().filter(|point| point.1 <= most).count() as f64 / rows.len() as f64)
}

pub(super) fn adaptive(runner: &mut Runner<'_>) -> Result<Results, Failure> {
    let case = case("s004-distance");
    let outcomes = runner.run(std::slice::from_ref(&case))?.remove(0);
    let mut least = Vec::new();
    for outcome in &*outcomes {
        let spans = STATIONS.iter().flat_map(|&station| binned(&of(outcome, station, "received_rate"), 10.0));
        least.push(spans.map(|(_, rate)| rate).fold(f64::INFINITY, f64::min));
    }
    let any = Tolerance::at_least(0.0);
    let far = over(&outcomes, &FAR, delivered)?;
    let low = over(&outcomes, &NEAR, |outcome, station| part_at_most(outcome, station, 240.0))?;
    let checks = vec![
        Check::value(
            "least of any station in any 10 s, all seeds",
            "kbit/s",
            least.iter().copied().fold(f64::INFINITY, f64::min),
            Tolerance::at_least(f64::MIN_POSITIVE),
        ),
        Check::seeds(
            "near stations' rate",
            "kbit/s",
            &over(&outcomes, &NEAR, reference(0.0))?,
            Tolerance::at_most(0.5 * LARGEST),
        ),
        Check::seeds("near stations: part of the time at 90 to 240 rows", "", &low, Tolerance::at_least(0.5)),
        Check::seeds("far stations, received over sent", "", &far, Tolerance::at_most(0.2)).printed(0.2),
        Check::seeds("sent to far stations", "kbit/s", &over(&outcomes, &FAR, sent)?, any)
            .printed(200.0)
            .reported(),
        Check::seeds("received by far stations", "kbit/s", &over(&outcomes, &FAR, received)?, any)
            .printed(40.0)
            .reported(),
    ];
    let title = "30 and 51.7 m, adaptive";
    let mut result = result(title, &case, &outcomes, checks);
    result.figures.push(resolutions(title, &outcomes[0]));
    Ok(result)
}

/// Frames a second.
const FPS: f64 = 30.0;

pub(super) fn late_upgrade(runner: &mut Runner<'_>) -> Result<Results, Failure> {
    let case = of_500_b();
    let outcomes = runner.run(std::slice::from_ref(&case))?.remove(0);
    let quarter = |from: f64| {
        move |outcome: &Outcome, station: usize| {
            Ok(mean(&between(&rows(outcome, station), from, from + END / 4.0)))
        }
    };
    let mut checks = Vec::new();
    for station in NEAR {
        let first = over(&outcomes, &[station], quarter(0.0))?;
        let last = over(&outcomes, &[station], quarter(END * 0.75))?;
        let change: Vec<f64> = last.iter().zip(&first).map(|(last, first)| last - first).collect();
        let what = format!("rows of the last quarter less those of the first, STA {station}");
        checks.push(Check::seeds(what, "", &change, Tolerance::at_least(0.0)));
        let end = over(&outcomes, &[station], |outcome, station| {
            Ok(mean(&between(&rows(outcome, station), END - 10.0, END)))
        })?;
        let what = format!("rows at the end, STA {station}");
        checks.push(Check::seeds(what, "", &end, Tolerance::within(180.0, 240.0)).printed(240.0));
        let lower = over(&outcomes, &[station], |outcome, station| {
            let end = rows(outcome, station).last().map_or(f64::NAN, |point| point.1);
            Ok(part_at_most(outcome, station, end - 1.0)? * END * FPS)
        })?;
        let what = format!("frames before with fewer rows than at the end, STA {station}");
        checks.push(Check::seeds(what, "", &lower, Tolerance::at_least(2000.0)));
    }
    let title = "30 and 51.7 m, adaptive, 500 B";
    let mut result = result(title, &case, &outcomes, checks);
    result.figures.push(resolutions(title, &outcomes[0]));
    Ok(result)
}

pub(super) fn larger_limit(runner: &mut Runner<'_>) -> Result<Results, Failure> {
    let small = clip_in_500_b();
    let cases = [each(small.clone(), "rate.max", "4 Mbit/s"), small];
    let outcomes = runner.run(&cases)?;
    let goodput = |outcome: &Outcome, station: usize| {
        let flow = flow(outcome, &format!("video-{station}"))?;
        Ok(flow.goodput_bps.ok_or(Failure::Absent("goodput_bps"))? / 1e3)
    };
    let near = over(&outcomes[0], &NEAR, goodput)?;
    let [with, without] = [over(&outcomes[0], &FAR, received)?, over(&outcomes[1], &FAR, received)?];
    let gain = mean(&with) / mean(&without) - 1.0;
    let [with_near, without_near] =
        [over(&outcomes[0], &NEAR, received)?, over(&outcomes[1], &NEAR, received)?];
    let any = Tolerance::at_least(0.0);
    let checks = vec![
        Check::seeds("near stations", "kbit/s", &near, Tolerance::at_most(FIXED)).printed(1800.0),
        Check::value("far stations' gain over a limit of 1500 kbit/s", "", gain, Tolerance::at_most(0.1))
            .printed(0.0),
        Check::seeds("near stations' rate with 4000 kbit/s at most", "kbit/s", &with_near, any).reported(),
        Check::seeds("near stations' rate with 1500 kbit/s at most", "kbit/s", &without_near, any).reported(),
    ];
    Ok(result("30 and 51.7 m, at most 4000 kbit/s", &cases[0], &outcomes[0], checks))
}

pub(super) fn deficit(runner: &mut Runner<'_>) -> Result<Results, Failure> {
    let cases = [fixed(case("s004-distance"), OF_1500), case("s004-best-case")];
    let outcomes = runner.run(&cases)?;
    let rates = over(&outcomes[0], &NEAR, received)?;
    let end = over(&outcomes[0], &NEAR, reference(END - 30.0))?;
    let mut checks = vec![
        Check::seeds(
            "received by near stations, of the clip's rate",
            "",
            &rates.iter().map(|rate| rate / LARGEST).collect::<Vec<_>>(),
            Tolerance::at_most(0.97),
        ),
        Check::seeds(
            "near stations' calculated rate in the last 30 s",
            "kbit/s",
            &end,
            Tolerance::at_least(0.9 * LARGEST),
        )
        .printed(LARGEST),
    ];
    checks.extend(slow_ramp(&outcomes[0], &outcomes[1])?);
    Ok(result("30 and 51.7 m, 720p", &cases[0], &outcomes[0], checks))
}

pub(super) fn wide_channel(runner: &mut Runner<'_>) -> Result<Results, Failure> {
    let cases = [fixed(case("s004-80mhz"), OF_1500), fixed(case("s004-distance"), OF_1500)];
    let outcomes = runner.run(&cases)?;
    let wide = &outcomes[0];
    // Of the near stations together, in spans of 5 s.
    let decline = |outcome: &Outcome| {
        let all: Vec<Trace> =
            NEAR.iter().map(|&station| binned(&of(outcome, station, "reference_rate"), 5.0)).collect();
        let sums: Trace = (0..all[0].len())
            .map(|index| (all[0][index].0, all.iter().map(|one| one[index].1).sum()))
            .collect();
        let peak = sums
            .iter()
            .copied()
            .fold((0.0, 0.0), |best: (f64, f64), point| if point.1 > best.1 { point } else { best });
        let after: Vec<f64> = sums.iter().filter(|point| point.0 > peak.0).map(|point| point.1).collect();
        (peak, if after.is_empty() { 1.0 } else { mean(&after) / peak.1 })
    };
    let declines: Vec<((f64, f64), f64)> = wide.iter().map(decline).collect();
    let strong = declines.iter().filter(|(_, part)| *part <= 0.5).count();
    let all = |outcomes: &[Outcome]| over(outcomes, &STATIONS, received);
    let ratio = mean(&all(wide)?) / mean(&all(&outcomes[1])?);
    let any = Tolerance::at_least(0.0);
    let checks = vec![
        Check::count(
            "seeds in which the rate after the peak is at most half of it",
            strong,
            3,
            declines.len(),
        ),
        Check::value("aggregate over that of 20 MHz", "", ratio, Tolerance::at_most(1.5)),
        Check::seeds("time of the peak", "s", &declines.iter().map(|one| one.0.0).collect::<Vec<_>>(), any)
            .printed(40.0)
            .reported(),
        Check::seeds(
            "near stations' peak",
            "kbit/s",
            &declines.iter().map(|one| one.0.1 / 3.0).collect::<Vec<_>>(),
            any,
        )
        .printed(LARGEST)
        .reported(),
        Check::seeds("after the peak, of it", "", &declines.iter().map(|one| one.1).collect::<Vec<_>>(), any)
            .reported(),
    ];
    let mut result = result("80 MHz, 30 and 51.7 m", &cases[0], wide, checks);
    result.remarks.push(
        "At 30 m and 80 MHz 97 of 100 packets of 1000 B are lost at each transmission: the near stations lose a sixth or \
         more for good from the first second, and NADA never leaves its least rate. The decline stands, the peak before \
         it does not. The channel does not change with time, and nearer by \
         2 m nothing is lost: with the far ones at 60 m the near reach 1500 kbit/s within 10 s and stay there to 28 m, swing \
         between 1000 and 1400 at 28.5 m, and stay below 200 from 29 m on; without preamble detection they climb to 700 to \
         950 kbit/s and stay there. A peak that falls to half needs a channel that becomes worse, which no parameter gives."
            .to_owned(),
    );
    Ok(result)
}

pub(super) fn random_plan(runner: &mut Runner<'_>) -> Result<Results, Failure> {
    let case = fixed(case("s004-random-plan"), OF_1500);
    let outcomes = runner.run(std::slice::from_ref(&case))?.remove(0);
    let mut index = Vec::new();
    for outcome in &*outcomes {
        let rates: Result<Vec<f64>, Failure> =
            STATIONS.iter().map(|&station| received(outcome, station)).collect();
        index.push(jain(&rates?).ok_or(Failure::Absent("received_bps"))?);
    }
    let rates = over(&outcomes, &STATIONS, received)?;
    let checks = vec![
        Check::seeds("Jain's index", "", &index, Tolerance::at_least(0.98)),
        Check::seeds(
            "received, of the clip's rate",
            "",
            &rates.iter().map(|rate| rate / LARGEST).collect::<Vec<_>>(),
            Tolerance::at_most(0.97),
        ),
    ];
    Ok(result("Random plan, 80 MHz", &case, &outcomes, checks))
}
