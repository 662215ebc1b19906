//! Losses that remain after the cell's retries: NADA beside controllers that distinguish them from congestion.

use super::cell::{STATIONS, each};
use crate::figure::{self, Figure};
use crate::results::{Check, Results};
use crate::runner::{Case, Failure, Runner};
use crate::tolerance::Tolerance;
use crate::trace::{flow, mean};
use seaway_lab::Outcome;
use seaway_report::plot::Curve;
use seaway_report::summary::FlowSummary;

/// Set directly, as S004-C1 asks: by distance the whole range lies within a metre.
const RESIDUAL: [f64; 5] = [0.01, 0.02, 0.03, 0.05, 0.1];
/// What discriminates: TFRC that leaves out what ZBS takes for the channel's.
pub(super) const OURS: &str = "tfrc(discriminate=zbs)";
/// The paper's, and the RFC's.
pub(super) const NADA: [&str; 2] = ["nada(variant=draft)", "nada"];
/// Reported, not checked.
const OTHERS: [&str; 2] = ["tfrc(discriminate=spike)", "vtp"];

fn case(control: &str, residual: f64) -> Case {
    let case = Case::new("s004-best-case").set("duration", "70 s").set("warmup", "10 s");
    let loss = format!("{{ kind = \"independent\", rate = {residual} }}");
    each(case.set("link.wired.loss", loss), "control", control)
}

/// What one control does at each residual loss, one value a seed: means over the stations.
struct Sweep {
    residual: Vec<f64>,
    /// Payload of frames that could be shown, kbit/s.
    delivered: Vec<Vec<f64>>,
    /// From capture to display, p95, ms.
    delay: Vec<Vec<f64>>,
    /// Over the network alone, p95, ms.
    path: Vec<Vec<f64>>,
}

impl Sweep {
    fn run(runner: &mut Runner<'_>, control: &str, residual: &[f64]) -> Result<Self, Failure> {
        let cases: Vec<Case> = residual.iter().map(|&residual| case(control, residual)).collect();
        let outcomes = runner.run(&cases)?;
        let over = |name, of: fn(&FlowSummary) -> Option<f64>| -> Result<Vec<Vec<f64>>, Failure> {
            let one = |outcome: &Outcome| -> Result<f64, Failure> {
                let station =
                    |station| of(flow(outcome, &format!("video-{station}"))?).ok_or(Failure::Absent(name));
                Ok(mean(&STATIONS.map(station).into_iter().collect::<Result<Vec<f64>, Failure>>()?))
            };
            outcomes.iter().map(|outcomes| outcomes.iter().map(one).collect()).collect()
        };
        Ok(Self {
            residual: residual.to_vec(),
            delivered: over("goodput_bps", |flow| Some(flow.goodput_bps? / 1e3))?,
            delay: over("delay_ms", |flow| Some(flow.delay_ms?.p95))?,
            path: over("path_delay_ms", |flow| Some(flow.path_delay_ms?.p95))?,
        })
    }

    fn curve(&self, control: &str) -> Curve {
        figure::of_seeds(control, self.residual.iter().copied().zip(self.delivered.clone()))
    }

    /// Of stations at all residual losses together, one a seed.
    fn together(&self) -> Vec<f64> {
        (0..self.delivered[0].len()).map(|seed| self.delivered.iter().map(|at| at[seed]).sum()).collect()
    }
}

fn means(values: &[Vec<f64>]) -> Vec<f64> {
    values.iter().map(|values| mean(values)).collect()
}

fn ratios(ours: &[f64], theirs: &[f64]) -> Vec<f64> {
    ours.iter().zip(theirs).map(|(ours, theirs)| ours / theirs).collect()
}

pub(super) fn conclusion(runner: &mut Runner<'_>) -> Result<Results, Failure> {
    let any = Tolerance::at_least(0.0);
    let ours = Sweep::run(runner, OURS, &RESIDUAL)?;
    let mut checks = Vec::new();
    let mut curves = vec![ours.curve(OURS)];
    for control in NADA {
        let nada = Sweep::run(runner, control, &RESIDUAL)?;
        let ratio = ratios(&ours.together(), &nada.together());
        checks.push(Check::seeds(
            format!("delivered to stations with 1 to 10 %, over {control}"),
            "",
            &ratio,
            Tolerance::at_least(1.5),
        ));
        let delays = ratios(&means(&ours.delay), &means(&nada.delay));
        let no_later = delays.into_iter().filter(|ratio| *ratio <= 1.0);
        let what = format!("losses at which the delay (p95) is not above that of {control}");
        checks.push(Check::count(what, no_later.count(), RESIDUAL.len(), RESIDUAL.len()));
        for (index, residual) in RESIDUAL.iter().enumerate() {
            let ratio = ratios(&ours.delivered[index], &nada.delivered[index]);
            checks.push(Check::seeds(format!("at {residual}, over {control}"), "", &ratio, any).reported());
        }
        checks.extend(reported(control, &nada));
        curves.push(nada.curve(control));
    }
    checks.extend(reported(OURS, &ours));
    let (beside, _) = runner.beside(|runner| {
        let mut checks = Vec::new();
        for control in OTHERS {
            let other = Sweep::run(runner, control, &RESIDUAL)?;
            let what = format!("delivered by {control}, all losses together");
            checks.push(Check::seeds(what, "kbit/s", &other.together(), any));
        }
        Ok((checks, Vec::new()))
    })?;
    checks.extend(beside);
    Ok(Results {
        checks,
        figures: vec![delivered(curves)],
        parameters: vec![("command", case(OURS, RESIDUAL[1]).command())],
        remarks: vec![
            "At 1 % NADA itself has nearly its largest rate, so that no control can deliver half as much again there; the \
             claim is of stations with all these losses together. From capture to display NADA's frames wait in the \
             sender, for each loss asks for a key frame; over the network alone its packets take 2 ms, for it spaces \
             them, and TFRC's 4 to 6."
                .to_owned(),
        ],
        substitute: None,
    })
}

fn delivered(curves: Vec<Curve>) -> Figure {
    let title = "Delivered to a station".to_owned();
    Figure { title, x: "loss after retries", y: "delivered, kbit/s", curves, ..Figure::default() }
}

pub(super) fn conclusion_at(runner: &mut Runner<'_>, residual: f64) -> Result<Vec<Figure>, Failure> {
    let curve = |control| Ok(Sweep::run(runner, control, &[residual])?.curve(control));
    let curves = [OURS, NADA[0], NADA[1]].into_iter().map(curve).collect::<Result<_, Failure>>()?;
    Ok(vec![delivered(curves)])
}

fn reported(control: &str, sweep: &Sweep) -> Vec<Check> {
    let any = Tolerance::at_least(0.0);
    let ends = [0, RESIDUAL.len() - 1];
    let rows = ends.map(|index| {
        let at = RESIDUAL[index];
        [("capture to display, p95", &sweep.delay[index]), ("over the network, p95", &sweep.path[index])].map(
            |(what, values)| Check::seeds(format!("{control} at {at}: {what}"), "ms", values, any).reported(),
        )
    });
    rows.into_iter().flatten().collect()
}
