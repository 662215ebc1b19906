//! Two flows between the same hosts.

use crate::figure::{self, Figure};
use crate::results::{Check, Results};
use crate::runner::{Case, Failure, Runner};
use crate::tolerance::Tolerance;
use crate::trace::{binned, scaled, trace};
use seaway_lab::Outcome;
use seaway_quality::fairness::jain;

/// A pair, what the paper printed for it in kbit/s, and its scenario.
struct Pair {
    scenario: &'static str,
    names: &'static str,
    printed: [f64; 2],
}

const PAIRS: [Pair; 4] = [
    Pair { scenario: "s002-tcp-tcp", names: "TCP/TCP", printed: [292.0, 342.0] },
    Pair { scenario: "s002-tcp-udp", names: "TCP/UDP", printed: [205.0, 810.0] },
    Pair { scenario: "s002-tcp-window", names: "TCP/ours", printed: [112.0, 129.0] },
    Pair { scenario: "s002-window-window", names: "ours/ours", printed: [243.0, 258.0] },
];

/// What both flows received, kbit/s, one pair a seed.
fn rates(outcomes: &[Outcome]) -> Result<Vec<[f64; 2]>, Failure> {
    let of = |outcome: &Outcome| {
        let rate = |index: usize| outcome.summary.flows.get(index).and_then(|flow| flow.received_bps);
        Some([rate(0)? / 1e3, rate(1)? / 1e3])
    };
    outcomes.iter().map(|outcome| of(outcome).ok_or(Failure::Absent("received_bps"))).collect()
}

fn difference([first, second]: &[f64; 2]) -> f64 {
    (second - first).abs() / first
}

pub(super) fn table(runner: &mut Runner<'_>) -> Result<Results, Failure> {
    let outcomes = runner.run(&PAIRS.map(|pair| Case::new(pair.scenario)))?;
    let mut result = Results::default();
    for (pair, outcomes) in PAIRS.iter().zip(&outcomes) {
        let rates = rates(outcomes)?;
        result.checks.push(sharing(pair, &rates));
        for (index, place) in ["first", "second"].iter().enumerate() {
            let values: Vec<f64> = rates.iter().map(|rates| rates[index]).collect();
            let what = format!("{}, {place}", pair.names);
            let check = Check::seeds(what, "kbit/s", &values, Tolerance::at_least(0.0));
            result.checks.push(check.printed(pair.printed[index]).reported());
        }
        let loss = |outcome: &Outcome| outcome.summary.flows.first()?.loss_ratio;
        let losses: Option<Vec<f64>> = outcomes.iter().map(loss).collect();
        let losses = losses.ok_or(Failure::Absent("loss_ratio"))?;
        let what = format!("{}, loss of the first", pair.names);
        result.checks.push(Check::seeds(what, "", &losses, Tolerance::within(0.008, 0.023)).reported());
    }
    result.parameters = vec![("scenarios", PAIRS.map(|pair| pair.scenario).join(", "))];
    Ok(result)
}

/// Differences for those that should share; TCP's part beside what does not.
fn sharing(pair: &Pair, rates: &[[f64; 2]]) -> Check {
    let differences: Vec<f64> = rates.iter().map(difference).collect();
    let difference = |most: f64| {
        let what = format!("{}, difference", pair.names);
        let [first, second] = pair.printed;
        Check::seeds(what, "", &differences, Tolerance::at_most(most)).printed((second - first).abs() / first)
    };
    match pair.names {
        "TCP/UDP" => {
            let parts: Vec<f64> = rates.iter().map(|[tcp, udp]| tcp / (tcp + udp)).collect();
            let [tcp, udp] = pair.printed;
            Check::seeds("TCP/UDP, TCP's part", "", &parts, Tolerance::within(0.15, 0.25))
                .printed(tcp / (tcp + udp))
        }
        "ours/ours" => difference(0.1),
        _ => difference(0.2),
    }
}

pub(super) fn tcp_pair(runner: &mut Runner<'_>) -> Result<Results, Failure> {
    let outcomes = runner.run(&[Case::new("s002-tcp-tcp").with_series()])?;
    let rates = rates(&outcomes[0])?;
    let index: Vec<f64> = rates.iter().filter_map(|rates| jain(rates)).collect();
    let rate = |flow| scaled(binned(&trace(&outcomes[0][0], flow, "received_rate"), 5.0), 1e-3);
    let curves = ["first", "second"].map(|flow| figure::line(flow, rate(flow)));
    Ok(Results {
        checks: vec![Check::seeds("Jain's index", "", &index, Tolerance::at_least(0.95))],
        figures: vec![Figure {
            title: "Two TCP flows".into(),
            x: "time, s",
            y: "throughput, kbit/s",
            curves: curves.to_vec(),
            ..Figure::default()
        }],
        parameters: vec![("scenario", "s002-tcp-tcp".into())],
        remarks: Vec::new(),
        substitute: None,
    })
}
