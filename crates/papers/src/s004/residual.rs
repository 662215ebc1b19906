//! Losses that remain after the cell's retries: NADA beside controllers that distinguish them from congestion.

use super::cell::{STATIONS, each};
use crate::figure::{self, Figure};
use crate::results::{Check, Results};
use crate::runner::{Case, Failure, Runner};
use crate::tolerance::Tolerance;
use crate::trace::{flow, mean};
use seaway_lab::Outcome;
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
    /// Payload of frames that could be shown, kbit/s.
    delivered: Vec<Vec<f64>>,
    /// From capture to display, p95, ms.
    delay: Vec<Vec<f64>>,
    /// Over the network alone, p95, ms.
    path: Vec<Vec<f64>>,
}

impl Sweep {
    fn run(runner: &mut Runner<'_>, control: &str) -> Result<Self, Failure> {
        let outcomes = runner.run(&RESIDUAL.map(|residual| case(control, residual)))?;
        let over = |name, of: fn(&FlowSummary) -> Option<f64>| -> Result<Vec<Vec<f64>>, Failure> {
            let one = |outcome: &Outcome| -> Result<f64, Failure> {
                let station =
                    |station| of(flow(outcome, &format!("video-{station}"))?).ok_or(Failure::Absent(name));
                Ok(mean(&STATIONS.map(station).into_iter().collect::<Result<Vec<f64>, Failure>>()?))
            };
            outcomes.iter().map(|outcomes| outcomes.iter().map(one).collect()).collect()
        };
        Ok(Self {
            delivered: over("goodput_bps", |flow| Some(flow.goodput_bps? / 1e3))?,
            delay: over("delay_ms", |flow| Some(flow.delay_ms?.p95))?,
            path: over("path_delay_ms", |flow| Some(flow.path_delay_ms?.p95))?,
        })
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
    let ours = Sweep::run(runner, OURS)?;
    let mut checks = Vec::new();
    let mut curves = vec![figure::of_seeds(OURS, RESIDUAL.into_iter().zip(ours.delivered.clone()))];
    for control in NADA {
        let nada = Sweep::run(runner, control)?;
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
        curves.push(figure::of_seeds(control, RESIDUAL.into_iter().zip(nada.delivered)));
    }
    checks.extend(reported(OURS, &ours));
    let (beside, _) = runner.beside(|runner| {
        let mut checks = Vec::new();
        for control in OTHERS {
            let other = Sweep::run(runner, control)?;
            let what = format!("delivered by {control}, all losses together");
            checks.push(Check::seeds(what, "kbit/s", &other.together(), any));
        }
        Ok((checks, Vec::new()))
    })?;
    checks.extend(beside);
    let title = "Delivered to a station".to_owned();
    Ok(Results {
        checks,
        figures: vec![Figure { title, x: "loss after retries", y: "delivered, kbit/s", curves, ..Figure::default() }],
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
