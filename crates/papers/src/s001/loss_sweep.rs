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
struct Sweep {
    error_rates: Vec<f64>,
    outcomes: Vec<Rc<[Outcome]>>,
}

impl Sweep {
    fn run(runner: &mut Runner<'_>, control: &str) -> Result<Self, Failure> {
        Self::over(runner, control, &ERROR_RATES)
    }

    fn over(runner: &mut Runner<'_>, control: &str, error_rates: &[f64]) -> Result<Self, Failure> {
        let case =
            |p: &f64| Case::new("s001").set("link.wireless.loss.rate", p).set("flow.video.control", control);
        let outcomes = runner.run(&error_rates.iter().map(case).collect::<Vec<_>>())?;
        Ok(Self { error_rates: error_rates.to_vec(), outcomes })
    }

    /// A number of the flow at each error rate, one a seed.
    fn of(
        &self,
        name: &'static str,
        get: impl Fn(&FlowSummary) -> Option<f64>,
    ) -> Result<Vec<Vec<f64>>, Failure> {
        let one =
            |outcome: &Outcome| outcome.summary.flows.first().and_then(&get).ok_or(Failure::Absent(name));
        self.outcomes.iter().map(|outcomes| outcomes.iter().map(one).collect()).collect()
    }

    /// What arrives, kbit/s, as the paper draws it.
    fn throughput(&self) -> Result<Vec<Vec<f64>>, Failure> {
        self.of("received_bps", |flow| Some(flow.received_bps? / 1e3))
    }

    /// What arrives, as a part of what the hop lets through.
    fn utilisation(&self) -> Result<Vec<Vec<f64>>, Failure> {
        let mut rates = self.of("received_bps", |flow| flow.received_bps)?;
        for (rates, p) in rates.iter_mut().zip(&self.error_rates) {
            rates.iter_mut().for_each(|rate| *rate /= HOP * (1.0 - p));
        }
        Ok(rates)
    }

    /// Values by error rate.
    fn at(&self, values: Vec<Vec<f64>>) -> impl Iterator<Item = (f64, Vec<f64>)> {
        self.error_rates.iter().copied().zip(values)
    }

    /// Connections held at most; a flow that never opened a second has one.
    fn most_connections(&self) -> Result<Vec<Vec<f64>>, Failure> {
        self.of("subflows", |flow| Some(flow.subflows.map_or(1.0, |subflows| subflows.max)))
    }

    /// The mean over time of those that are held.
    fn mean_connections(&self) -> Result<Vec<Vec<f64>>, Failure> {
        self.of("subflows", |flow| Some(flow.subflows.map_or(1.0, |subflows| subflows.mean)))
    }

    fn loss(&self) -> Result<Vec<Vec<f64>>, Failure> {
        self.of("loss_ratio", |flow| flow.loss_ratio)
    }

    /// ms.
    fn round_trip_time(&self) -> Result<Vec<Vec<f64>>, Failure> {
        self.of("path_rtt_ms", |flow| Some(flow.path_rtt_ms?.mean))
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
    let held = sweep.mean_connections()?;
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
    let mut figure = connections_of(&sweep)?;
    figure.curves.extend([
        figure::line("n_opt", ERROR_RATES[1..].iter().map(|&p| (p, optimum(p)))),
        figure::printed([(0.04, 4.0)]),
    ]);
    Ok(Results { checks, figures: vec![figure], parameters: parameters(MULTFRC), ..Results::default() })
}

fn connections_of(sweep: &Sweep) -> Result<Figure, Failure> {
    let curves = vec![
        figure::of_seeds("most held", sweep.at(sweep.most_connections()?)),
        figure::of_seeds("mean over time", sweep.at(sweep.mean_connections()?)),
    ];
    Ok(figure("MULTFRC's connections", "connections", curves))
}

pub(super) fn connections_at(runner: &mut Runner<'_>, p: f64) -> Result<Vec<Figure>, Failure> {
    Ok(vec![connections_of(&Sweep::over(runner, MULTFRC, &[p])?)?])
}

pub(super) fn end_to_end_loss(runner: &mut Runner<'_>) -> Result<Results, Failure> {
    let sweep = Sweep::run(runner, MULTFRC)?;
    let loss = sweep.loss()?;
    let mut checks: Vec<Check> = at(&loss)
        .map(|(p, values)| {
            // The hop's own losses are random: three standard deviations of 100 000 packets lie below.
            let least = p - 3.0 * (p * (1.0 - p) / 1e5).sqrt();
            Check::seeds(format!("loss at {p}"), "", &values, Tolerance::within(least, p + 0.02))
        })
        .collect();
    let rises = loss.windows(2).filter(|pair| mean(&pair[1]) > mean(&pair[0])).count();
    checks.push(Check::count("rises from point to point", rises, 5, 5));
    let mut figure = loss_of(&sweep)?;
    figure.curves.push(figure::line("the hop's own", ERROR_RATES.map(|p| (p, p))));
    Ok(Results { checks, figures: vec![figure], parameters: parameters(MULTFRC), ..Results::default() })
}

fn loss_of(sweep: &Sweep) -> Result<Figure, Failure> {
    let curves = vec![figure::of_seeds("end to end", sweep.at(sweep.loss()?))];
    Ok(figure("MULTFRC's end-to-end loss", "loss ratio", curves))
}

pub(super) fn end_to_end_loss_at(runner: &mut Runner<'_>, p: f64) -> Result<Vec<Figure>, Failure> {
    Ok(vec![loss_of(&Sweep::over(runner, MULTFRC, &[p])?)?])
}

pub(super) fn multfrc_throughput(runner: &mut Runner<'_>) -> Result<Results, Failure> {
    let sweep = Sweep::run(runner, MULTFRC)?;
    let utilisation = sweep.utilisation()?;
    let held = sweep.mean_connections()?;
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
    let mut figure = multfrc_throughput_of(&sweep)?;
    figure.curves.extend([
        figure::line("floor(n_opt)/n_opt", ERROR_RATES[1..].iter().map(|&p| (p, floor(p) * limit_kbps(p)))),
        figure::line("B_w (1 - p_w)", ERROR_RATES.map(|p| (p, limit_kbps(p)))),
    ]);
    let remarks = vec![format!(
        "The deepest dip is at {}, the paper's at 0.02. floor(n_opt)/n_opt is what a law carries that stops before any \
         queue. MULTFRC goes on until the mean queueing delay is above what it tolerates, so that more connections fit \
         than n_opt; it then swings between that number and one less. Without any tolerance it never opens a second \
         connection, for a mean is never below the least.",
        ERROR_RATES[dip]
    )];
    Ok(Results {
        checks,
        figures: vec![figure],
        parameters: parameters(MULTFRC),
        remarks,
        ..Results::default()
    })
}

fn multfrc_throughput_of(sweep: &Sweep) -> Result<Figure, Failure> {
    let curves = vec![figure::of_seeds("ours", sweep.at(sweep.throughput()?))];
    Ok(figure("MULTFRC's throughput", "throughput, kbit/s", curves))
}

pub(super) fn multfrc_throughput_at(runner: &mut Runner<'_>, p: f64) -> Result<Vec<Figure>, Failure> {
    Ok(vec![multfrc_throughput_of(&Sweep::over(runner, MULTFRC, &[p])?)?])
}

/// What the hop lets through at most, kbit/s.
fn limit_kbps(p: f64) -> f64 {
    HOP * (1.0 - p) / 1e3
}

pub(super) fn ctfrc_round_trip(runner: &mut Runner<'_>) -> Result<Results, Failure> {
    let sweep = Sweep::run(runner, CTFRC)?;
    let rtt = sweep.round_trip_time()?;
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
    let mut figure = round_trip_of(&sweep)?;
    figure.curves.push(figure::line("least", ERROR_RATES.map(|p| (p, LEAST_RTT * 1e3))));
    let remarks = vec![
        "Without losses only the queue ends TFRC's growth: the point at 0 is reported and not checked."
            .to_owned(),
    ];
    Ok(Results {
        checks,
        figures: vec![figure],
        parameters: parameters(CTFRC),
        remarks,
        ..Results::default()
    })
}

fn round_trip_of(sweep: &Sweep) -> Result<Figure, Failure> {
    let curves = vec![figure::of_seeds("mean", sweep.at(sweep.round_trip_time()?))];
    Ok(figure("CTFRC's round-trip time", "round-trip time, ms", curves))
}

pub(super) fn ctfrc_round_trip_at(runner: &mut Runner<'_>, p: f64) -> Result<Vec<Figure>, Failure> {
    Ok(vec![round_trip_of(&Sweep::over(runner, CTFRC, &[p])?)?])
}

pub(super) fn ctfrc_throughput(runner: &mut Runner<'_>) -> Result<Results, Failure> {
    let sweeps = [Sweep::run(runner, CTFRC)?, Sweep::run(runner, MULTFRC)?];
    let [ctfrc, multfrc] = [sweeps[0].utilisation()?, sweeps[1].utilisation()?];
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
    for ((p, values), most) in at(&multfrc).zip(sweeps[1].most_connections()?).skip(1) {
        let floor = (optimum(p).floor().max(1.0) / optimum(p)).min(1.0);
        let what = format!("MULTFRC's utilisation at {p}, {:.1} connections at most", mean(&most));
        checks.push(Check::seeds(what, "", &values, Tolerance::at_least(floor - 0.1)));
    }
    let mut figure = both_throughputs_of(&sweeps)?;
    figure.curves.push(figure::line("B_w (1 - p_w)", ERROR_RATES.map(|p| (p, limit_kbps(p)))));
    Ok(Results { checks, figures: vec![figure], parameters: parameters(CTFRC), ..Results::default() })
}

fn both_throughputs_of([ctfrc, multfrc]: &[Sweep; 2]) -> Result<Figure, Failure> {
    let curves = vec![
        figure::of_seeds("CTFRC", ctfrc.at(ctfrc.throughput()?)),
        figure::of_seeds("MULTFRC", multfrc.at(multfrc.throughput()?)),
    ];
    Ok(figure("CTFRC's throughput and MULTFRC's", "throughput, kbit/s", curves))
}

pub(super) fn ctfrc_throughput_at(runner: &mut Runner<'_>, p: f64) -> Result<Vec<Figure>, Failure> {
    let sweeps = [Sweep::over(runner, CTFRC, &[p])?, Sweep::over(runner, MULTFRC, &[p])?];
    Ok(vec![both_throughputs_of(&sweeps)?])
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
