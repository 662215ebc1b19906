//! One flow over the lossy hop, at each error rate.

use crate::figure::{self, Figure};
use crate::results::{Check, Results};
use crate::runner::{Case, Failure, Runner};
use crate::tolerance::Tolerance;
use crate::trace::mean;
use seaway_control::tfrc::Equation;
use seaway_lab::Outcome;
use seaway_report::plot::Curve;
use seaway_report::summary::FlowSummary;
use std::rc::Rc;

/// Error rates of the hop (`p_w`).
const ERROR_RATES: [f64; 6] = [0.0, 0.01, 0.02, 0.03, 0.04, 0.05];
/// The hop (`B_w`), bit/s.
const HOP: f64 = 1e6;
/// Bits of a packet, and the round-trip time without queueing, s.
const PACKET_BITS: f64 = 760.0 * 8.0;
const LEAST_RTT: f64 = 0.168;

/// S001's equation; `k` is the square root of 1.5.
const SIMPLE: Equation = Equation::Simple { k: 1.224_744_871_391_589 };

/// The two laws and the queueing delay that each tolerates ([`super::readings`]).
pub(super) const MULTFRC: &str = "multfrc(equation=simple, gamma=0.2)";
pub(super) const CTFRC: &str = "ctfrc(equation=simple, gamma=0.36)";
/// A flow that overfills the hop.
pub(super) const OVERFILLS: &str = "fixed(rate=1.2 Mbit/s)";

/// What a seed gave, for each error rate.
struct Sweep(Vec<Rc<[Outcome]>>);

impl Sweep {
    fn run(runner: &mut Runner<'_>, control: &str) -> Result<Self, Failure> {
        let case =
            |p: &f64| Case::new("s001").set("link.wireless.loss.rate", p).set("flow.video.control", control);
        Ok(Self(runner.run(&ERROR_RATES.iter().map(case).collect::<Vec<_>>())?))
    }

    /// A number of the flow at each error rate, one a seed.
    fn of(
        &self,
        name: &'static str,
        get: impl Fn(&FlowSummary) -> Option<f64>,
    ) -> Result<Vec<Vec<f64>>, Failure> {
        let one =
            |outcome: &Outcome| outcome.summary.flows.first().and_then(&get).ok_or(Failure::Absent(name));
        self.0.iter().map(|outcomes| outcomes.iter().map(one).collect()).collect()
    }

    /// What arrives, as a part of what the hop lets through.
    fn utilisation(&self) -> Result<Vec<Vec<f64>>, Failure> {
        let mut rates = self.of("received_bps", |flow| flow.received_bps)?;
        for (rates, p) in rates.iter_mut().zip(ERROR_RATES) {
            rates.iter_mut().for_each(|rate| *rate /= HOP * (1.0 - p));
        }
        Ok(rates)
    }

    /// Connections held at most; a flow that never opened a second has one.
    fn most_connections(&self) -> Result<Vec<Vec<f64>>, Failure> {
        self.of("subflows", |flow| Some(flow.subflows.map_or(1.0, |subflows| subflows.max)))
    }
}

fn at(values: &[Vec<f64>]) -> impl Iterator<Item = (f64, Vec<f64>)> {
    ERROR_RATES.into_iter().zip(values.iter().cloned())
}

fn figure(title: &str, y: &'static str, curves: Vec<Curve>) -> Figure {
    Figure { title: title.to_owned(), x: "error rate of the hop", y, curves, ..Figure::default() }
}

fn parameters(control: &str) -> Vec<(&'static str, String)> {
    vec![
        ("scenario", "s001".to_owned()),
        ("control", control.to_owned()),
        ("error rates", ERROR_RATES.map(|p| p.to_string()).join(", ")),
    ]
}

/// Connections that fill the hop exactly (`n_opt`). What one gets is known to the equation by its loss *events*:
/// losses within a round-trip time are one, so `p_e = 1 / (1/p_w + W)` with `W` packets in flight.
fn optimum(p: f64) -> f64 {
    let rate_of_one =
        |event_rate: f64| SIMPLE.packet_rate(event_rate, LEAST_RTT, 4.0 * LEAST_RTT) * PACKET_BITS;
    let mut rate = rate_of_one(p);
    for _ in 0..100 {
        let in_flight = rate * LEAST_RTT / PACKET_BITS;
        rate = rate_of_one(1.0 / (1.0 / p + in_flight));
    }
    HOP / rate
}

pub(super) fn goodput_limit(runner: &mut Runner<'_>) -> Result<Results, Failure> {
    let utilisation = Sweep::run(runner, OVERFILLS)?.utilisation()?;
    let check = |(p, values): (f64, Vec<f64>)| {
        Check::seeds(format!("part of B_w (1 - p_w) at {p}"), "", &values, Tolerance::about(1.0, 0.02))
            .printed(1.0)
    };
    Ok(Results {
        checks: at(&utilisation).map(check).collect(),
        parameters: parameters(OVERFILLS),
        ..Results::default()
    })
}

pub(super) fn connections(runner: &mut Runner<'_>) -> Result<Results, Failure> {
    let sweep = Sweep::run(runner, MULTFRC)?;
    let most = sweep.most_connections()?;
    let held = sweep.of("subflows", |flow| Some(flow.subflows.map_or(1.0, |subflows| subflows.mean)))?;
    let mut checks: Vec<Check> = at(&most)
        .filter(|(p, _)| *p > 0.0)
        .map(|(p, values)| {
            let floor = optimum(p).floor().max(1.0);
            let what = format!("connections at {p}; n_opt is {:.2}", optimum(p));
            Check::seeds(what, "", &values, Tolerance::about(floor, 1.0))
        })
        .collect();
    checks[3] = checks[3].clone().printed(4.0);
    let known: Vec<f64> = most[4].clone();
    checks.push(Check::seeds("connections at 0.04", "", &known, Tolerance::within(4.0, 5.0)).printed(4.0));
    checks.extend(at(&held).map(|(p, values)| {
        Check::seeds(format!("connections over time at {p}"), "", &values, Tolerance::at_least(1.0))
            .reported()
    }));
    let curves = vec![
        figure::of_seeds("most held", at(&most)),
        figure::of_seeds("mean over time", at(&held)),
        figure::line("n_opt", ERROR_RATES[1..].iter().map(|&p| (p, optimum(p)))),
        figure::printed([(0.04, 4.0)]),
    ];
    let figures = vec![figure("MULTFRC's connections", "connections", curves)];
    Ok(Results { checks, figures, parameters: parameters(MULTFRC), remarks: Vec::new(), substitute: None })
}

pub(super) fn end_to_end_loss(runner: &mut Runner<'_>) -> Result<Results, Failure> {
    let loss = Sweep::run(runner, MULTFRC)?.of("loss_ratio", |flow| flow.loss_ratio)?;
    let mut checks: Vec<Check> = at(&loss)
        .map(|(p, values)| {
            // The hop's own losses are random: three standard deviations of 100 000 packets lie below.
            let least = p - 3.0 * (p * (1.0 - p) / 1e5).sqrt();
            Check::seeds(format!("loss at {p}"), "", &values, Tolerance::within(least, p + 0.02))
        })
        .collect();
    let rises = loss.windows(2).filter(|pair| mean(&pair[1]) > mean(&pair[0])).count();
    checks.push(Check::count("rises from point to point", rises, 5, 5));
    let curves = vec![
        figure::of_seeds("end to end", at(&loss)),
        figure::line("the hop's own", ERROR_RATES.map(|p| (p, p))),
    ];
    let figures = vec![figure("MULTFRC's end-to-end loss", "loss ratio", curves)];
    Ok(Results { checks, figures, parameters: parameters(MULTFRC), remarks: Vec::new(), substitute: None })
}

pub(super) fn multfrc_throughput(runner: &mut Runner<'_>) -> Result<Results, Failure> {
    let sweep = Sweep::run(runner, MULTFRC)?;
    let utilisation = sweep.utilisation()?;
    let held = sweep.of("subflows", |flow| Some(flow.subflows.map_or(1.0, |subflows| subflows.mean)))?;
    let carried = |p: f64, connections: f64| (connections / optimum(p)).min(1.0);
    let floor = |p: f64| carried(p, optimum(p).floor().max(1.0));
    let mut checks = vec![Check::seeds("utilisation at 0", "", &utilisation[0], Tolerance::about(1.0, 0.1))];
    checks.extend(at(&utilisation).skip(1).map(|(p, values)| {
        let what = format!("utilisation at {p} beside floor(n_opt)/n_opt");
        Check::seeds(what, "", &values, Tolerance::about(floor(p), 0.1))
    }));
    for ((p, values), held) in at(&utilisation).zip(&held).skip(1) {
        let what = format!("the same beside the {:.2} connections held on average", mean(held));
        checks
            .push(Check::seeds(what, "", &values, Tolerance::about(carried(p, mean(held)), 0.1)).reported());
    }
    let dip = (1..6).min_by(|&a, &b| mean(&utilisation[a]).total_cmp(&mean(&utilisation[b]))).unwrap_or(1);
    let curves = vec![
        figure::of_seeds("ours", in_kbps(&utilisation)),
        figure::line("floor(n_opt)/n_opt", ERROR_RATES[1..].iter().map(|&p| (p, floor(p) * limit_kbps(p)))),
        figure::line("B_w (1 - p_w)", ERROR_RATES.map(|p| (p, limit_kbps(p)))),
    ];
    let remarks = vec![format!(
        "The deepest dip is at {}, the paper's at 0.02. floor(n_opt)/n_opt is what a law carries that stops before any \
         queue. MULTFRC goes on until the mean queueing delay is above what it tolerates, so that more connections fit \
         than n_opt; it then swings between that number and one less. Without any tolerance it never opens a second \
         connection, for a mean is never below the least.",
        ERROR_RATES[dip]
    )];
    let figures = vec![figure("MULTFRC's throughput", "throughput, kbit/s", curves)];
    Ok(Results { checks, figures, parameters: parameters(MULTFRC), remarks, substitute: None })
}

/// What the hop lets through at most, kbit/s.
fn limit_kbps(p: f64) -> f64 {
    HOP * (1.0 - p) / 1e3
}

/// Utilisation as the paper draws it.
fn in_kbps(utilisation: &[Vec<f64>]) -> impl Iterator<Item = (f64, Vec<f64>)> {
    at(utilisation).map(|(p, values)| (p, values.iter().map(|value| value * limit_kbps(p)).collect()))
}

pub(super) fn ctfrc_round_trip(runner: &mut Runner<'_>) -> Result<Results, Failure> {
    let rtt = Sweep::run(runner, CTFRC)?.of("path_rtt_ms", |flow| Some(flow.path_rtt_ms?.mean))?;
    let lossy: Vec<f64> = rtt[1..].iter().map(|values| mean(values)).collect();
    let (least, most) =
        lossy.iter().fold((f64::MAX, 0.0_f64), |(least, most), &rtt| (least.min(rtt), most.max(rtt)));
    let spread = (most - least) / mean(&lossy);
    let mut checks = vec![Check::value("spread over the lossy points", "", spread, Tolerance::at_most(0.1))];
    checks.extend(at(&rtt).map(|(p, values)| {
        let check =
            Check::seeds(format!("mean at {p}"), "ms", &values, Tolerance::at_most(1.3 * LEAST_RTT * 1e3));
        if p > 0.0 { check } else { check.reported() }
    }));
    let curves = vec![
        figure::of_seeds("mean", at(&rtt)),
        figure::line("least", ERROR_RATES.map(|p| (p, LEAST_RTT * 1e3))),
    ];
    let figures = vec![figure("CTFRC's round-trip time", "round-trip time, ms", curves)];
    let remarks = vec![
        "Without losses only the queue ends TFRC's growth: the point at 0 is reported and not checked."
            .to_owned(),
    ];
    Ok(Results { checks, figures, parameters: parameters(CTFRC), remarks, substitute: None })
}

pub(super) fn ctfrc_throughput(runner: &mut Runner<'_>) -> Result<Results, Failure> {
    let ctfrc = Sweep::run(runner, CTFRC)?.utilisation()?;
    let multfrc = Sweep::run(runner, MULTFRC)?.utilisation()?;
    let means = || ctfrc.iter().zip(&multfrc).map(|(ours, theirs)| (mean(ours), mean(theirs)));
    let above = means().filter(|(ours, theirs)| ours > theirs).count();
    let least = means().map(|(ours, theirs)| ours / theirs).fold(f64::INFINITY, f64::min);
    let mut checks = vec![
        Check::count("points where CTFRC is above MULTFRC", above, 4, 6),
        Check::value("least ratio of CTFRC to MULTFRC", "", least, Tolerance::at_least(0.98)),
    ];
    checks.extend(at(&ctfrc).map(|(p, values)| {
        Check::seeds(format!("CTFRC's utilisation at {p}"), "", &values, Tolerance::at_least(0.95))
    }));
    // A weak opponent proves nothing: MULTFRC must carry what its whole connections can, as in figure 4c.
    for ((p, values), most) in at(&multfrc).zip(Sweep::run(runner, MULTFRC)?.most_connections()?).skip(1) {
        let floor = (optimum(p).floor().max(1.0) / optimum(p)).min(1.0);
        let what = format!("MULTFRC's utilisation at {p}, {:.1} connections at most", mean(&most));
        checks.push(Check::seeds(what, "", &values, Tolerance::at_least(floor - 0.1)));
    }
    let curves = vec![
        figure::of_seeds("CTFRC", in_kbps(&ctfrc)),
        figure::of_seeds("MULTFRC", in_kbps(&multfrc)),
        figure::line("B_w (1 - p_w)", ERROR_RATES.map(|p| (p, limit_kbps(p)))),
    ];
    let figures = vec![figure("CTFRC's throughput and MULTFRC's", "throughput, kbit/s", curves)];
    Ok(Results { checks, figures, parameters: parameters(CTFRC), remarks: Vec::new(), substitute: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// MULTFRC's oracle: the column of loss events by Eq. 2.
    #[test]
    fn optimum_of_the_sheet() {
        for (p, n) in [(0.01, 2.12), (0.02, 2.93), (0.03, 3.52), (0.04, 3.99), (0.05, 4.40)] {
            assert!((optimum(p) - n).abs() < 0.01, "{p}: {}", optimum(p));
        }
    }
}
