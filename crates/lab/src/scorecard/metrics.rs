//! The scores of a run, computed from its summary.

use crate::scenario::{CellKind, Scenario};
use seaway_report::score::Score;
use seaway_report::summary::{FlowSummary, LinkSummary, Summary};

/// The scores of a run of `scenario`.
pub(super) fn score(scenario: &Scenario, summary: &Summary) -> Score {
    let settled = settled(scenario, summary);
    let mean = |of: fn(&FlowSummary) -> Option<f64>| mean(summary, of);
    Score {
        utilisation: utilisation(scenario, summary).map(|part| part * 100.0),
        received: mean(|flow| flow.received_bps.map(|rate| rate * 1e-6)),
        queue_p50: mean(|flow| flow.queue_delay_ms.map(|delay| delay.p50)),
        queue_p95: mean(|flow| flow.queue_delay_ms.map(|delay| delay.p95)),
        loss: mean(|flow| flow.loss_ratio.map(|part| part * 100.0)),
        jain: summary.fairness.as_ref().map(|fairness| fairness.jain),
        settled: settled.map(|part| part * 100.0),
        convergence: settled.and_then(|_| mean(|flow| flow.convergence_s)),
        freezes: mean(|flow| {
            let freezes = flow.freezes.filter(|_| flow.measured_s > 0.0)?;
            Some(freezes.count as f64 * 60.0 / flow.measured_s)
        }),
        frozen: mean(|flow| {
            let freezes = flow.freezes.filter(|_| flow.measured_s > 0.0)?;
            Some(freezes.total_s * 100.0 / flow.measured_s)
        }),
        delay_p95: mean(|flow| flow.delay_ms.map(|delay| delay.p95)),
        psnr: mean(|flow| flow.psnr_db.filter(|psnr| psnr.kind == MODELLED).map(|psnr| psnr.value)),
    }
}

/// How PSNR is found: from the sizes and the quality of a pre-encoded ladder.
pub(super) const MODELLED: &str = "modelled";

/// The mean over the media flows that have the number.
fn mean(summary: &Summary, of: impl Fn(&FlowSummary) -> Option<f64>) -> Option<f64> {
    let media = summary.flows.iter().filter(|flow| flow.kind == "media");
    let numbers: Vec<f64> = media.filter_map(of).collect();
    (!numbers.is_empty()).then(|| numbers.iter().sum::<f64>() / numbers.len() as f64)
}

/// The utilisation of the busiest link or cell. The queues of a cell share it; a cell with two channels counts each
/// direction by itself.
pub(super) fn utilisation(scenario: &Scenario, summary: &Summary) -> Option<f64> {
    let cell_of = |link: &LinkSummary| {
        let is_of = |name: &str| link.name.strip_prefix(name).is_some_and(|rest| rest.starts_with('/'));
        scenario.cells.iter().find(|cell| is_of(&cell.name))
    };
    let links = summary.links.iter().filter(|link| cell_of(link).is_none());
    let mut busiest = links.map(|link| link.utilisation).fold(0.0, f64::max);
    for cell in &scenario.cells {
        let is_shared = matches!(cell.kind, CellKind::Wlan(_));
        for direction in ["/up", "/down"] {
            let of = |link: &&LinkSummary| {
                cell_of(link).is_some_and(|own| own.name == cell.name)
                    && (is_shared || link.name.ends_with(direction))
            };
            busiest = f64::max(busiest, summary.links.iter().filter(of).map(|link| link.utilisation).sum());
        }
    }
    (!summary.links.is_empty()).then_some(busiest)
}

/// The part of the media flows that converged to their fair share, which is not defined in a cell.
fn settled(scenario: &Scenario, summary: &Summary) -> Option<f64> {
    if !scenario.cells.is_empty() {
        return None;
    }
    mean(summary, |flow| Some(f64::from(u8::from(flow.convergence_s.is_some()))))
}
