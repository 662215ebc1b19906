//! The path whose capacity varies, with and without adaptation.

use crate::figure::{self, Figure};
use crate::results::{Check, Results};
use crate::runner::{Case, Failure, Runner};
use crate::tolerance::Tolerance;
use crate::trace::{Trace, trace};
use seaway_lab::Outcome;
use seaway_report::plot::Curve;
use std::collections::BTreeSet;

/// The scenario, adapting or not.
fn case(adapts: bool) -> Case {
    let case = Case::new("s002-internet").with_series();
    if adapts { case } else { case.set("flow.video.policy", "pd(floor=1)") }
}

/// A quantity of the flow over time.
fn readings(outcome: &Outcome, name: &str) -> Trace {
    trace(outcome, "video", name)
}

/// Seconds in which the queue was full and refused frames.
fn overflows(outcome: &Outcome) -> f64 {
    let (mut seconds, mut refused) = (BTreeSet::new(), 0.0);
    for (time, total) in readings(outcome, "frames_skipped") {
        if total > refused {
            seconds.insert(time as u64);
        }
        refused = total;
    }
    seconds.len() as f64
}

fn level(name: &str, outcome: &Outcome) -> Curve {
    figure::line(name, readings(outcome, "backlog").into_iter().map(|(time, level)| (time, level / 1e3)))
}

pub(super) fn adaptation(runner: &mut Runner<'_>) -> Result<Results, Failure> {
    let outcomes = runner.run(&[case(true)])?;
    let counts: Vec<f64> = outcomes[0].iter().map(overflows).collect();
    let first = &outcomes[0][0];
    let kilobits = |points: Vec<(f64, f64)>| points.into_iter().map(|(time, rate)| (time, rate / 1e3));
    let rate = figure::line("the source's rate", kilobits(readings(first, "encoder_rate")));
    let figures = vec![
        Figure {
            title: "Rate".into(),
            x: "time, s",
            y: "rate, kbit/s",
            curves: vec![rate],
            ..Figure::default()
        },
        Figure {
            title: "Send queue".into(),
            x: "time, s",
            y: "waiting, kB",
            curves: vec![level("occupancy", first)],
            ..Figure::default()
        },
    ];
    Ok(Results {
        checks: vec![Check::seeds("overflows", "", &counts, Tolerance::at_most(0.0)).printed(0.0)],
        figures,
        parameters: vec![("scenario", "s002-internet".into())],
        remarks: Vec::new(),
        substitute: None,
    })
}

pub(super) fn without_adaptation(runner: &mut Runner<'_>) -> Result<Results, Failure> {
    let outcomes = runner.run(&[case(true), case(false)])?;
    let count = |index: usize| outcomes[index].iter().map(overflows).collect::<Vec<f64>>();
    let curves = vec![level("adapting", &outcomes[0][0]), level("at 250 kbit/s", &outcomes[1][0])];
    Ok(Results {
        checks: vec![
            Check::seeds("overflows with adaptation", "", &count(0), Tolerance::at_most(0.0)),
            Check::seeds("overflows without", "", &count(1), Tolerance::at_least(3.0)),
        ],
        figures: vec![Figure {
            title: "Send queue".into(),
            x: "time, s",
            y: "waiting, kB",
            curves,
            ..Figure::default()
        }],
        parameters: vec![("scenario", "s002-internet".into())],
        remarks: Vec::new(),
        substitute: None,
    })
}
