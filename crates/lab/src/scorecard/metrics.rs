//! The numbers of a scorecard, made of a run's summary.

use crate::scenario::{CellKind, Scenario};
use crate::summary::{FlowSummary, LinkSummary, Summary};
use serde::Serialize;

/// A number that is scored.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Metric {
    /// Its name in documents.
    pub key: &'static str,
    /// Its name for a person.
    pub label: &'static str,
    /// Its unit; empty for a pure number.
    pub unit: &'static str,
    /// Which is better: `more` or `less`.
    pub better: &'static str,
    /// How it is found: `decoded` or `modelled` pictures; absent where it is counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<&'static str>,
    /// What it says.
    pub about: &'static str,
    #[serde(skip)]
    pub(super) of: fn(&Run<'_>) -> Option<f64>,
}

/// A run and what it was a run of.
#[derive(Debug, Clone, Copy)]
pub(super) struct Run<'a> {
    pub(super) scenario: &'a Scenario,
    pub(super) summary: &'a Summary,
}

impl<'a> Run<'a> {
    fn media(&self) -> impl Iterator<Item = &'a FlowSummary> + use<'a> {
        self.summary.flows.iter().filter(|flow| flow.kind == "media")
    }

    /// The mean over the media flows that have the number.
    fn mean(&self, of: impl Fn(&FlowSummary) -> Option<f64>) -> Option<f64> {
        let numbers: Vec<f64> = self.media().filter_map(of).collect();
        (!numbers.is_empty()).then(|| numbers.iter().sum::<f64>() / numbers.len() as f64)
    }

    /// The busiest medium: a link, or a cell (each way apart where it has two channels), whose queues share it.
    fn utilisation(&self) -> Option<f64> {
        let cells = &self.scenario.cells;
        let cell_of = |link: &LinkSummary| {
            let is_of = |name: &str| link.name.strip_prefix(name).is_some_and(|rest| rest.starts_with('/'));
            cells.iter().find(|cell| is_of(&cell.name))
        };
        let links = self.summary.links.iter().filter(|link| cell_of(link).is_none());
        let mut busiest = links.map(|link| link.utilisation).fold(0.0, f64::max);
        for cell in cells {
            let is_shared = matches!(cell.kind, CellKind::Wlan(_));
            for way in ["/up", "/down"] {
                let of = |link: &&LinkSummary| {
                    cell_of(link).is_some_and(|own| own.name == cell.name)
                        && (is_shared || link.name.ends_with(way))
                };
                busiest = f64::max(
                    busiest,
                    self.summary.links.iter().filter(of).map(|link| link.utilisation).sum(),
                );
            }
        }
        (!self.summary.links.is_empty()).then_some(busiest)
    }

    /// The part of the media flows that found their share.
    fn settled(&self) -> Option<f64> {
        // In a cell nobody knows what a fair share is.
        if !self.scenario.cells.is_empty() {
            return None;
        }
        self.mean(|flow| Some(f64::from(u8::from(flow.convergence_s.is_some()))))
    }
}

const fn counted(
    key: &'static str,
    label: &'static str,
    unit: &'static str,
    better: &'static str,
    about: &'static str,
    of: fn(&Run<'_>) -> Option<f64>,
) -> Metric {
    Metric { key, label, unit, better, kind: None, about, of }
}

/// All of them, in the order they are shown.
pub const METRICS: &[Metric] = &[
    counted(
        "utilisation",
        "Utilisation",
        "%",
        "more",
        "busy time of the busiest link or cell, weighed by its rate where that varies (RFC 8867 section 4.1)",
        |run| run.utilisation().map(|part| part * 100.0),
    ),
    counted(
        "received",
        "Received",
        "Mbit/s",
        "more",
        "IP bits received a second, mean of the media flows",
        |run| run.mean(|flow| flow.received_bps.map(|rate| rate * 1e-6)),
    ),
    counted(
        "queue_p50",
        "Queueing, median",
        "ms",
        "less",
        "waiting in all queues on the way there, per packet: median, mean of the media flows",
        |run| run.mean(|flow| flow.queue_delay_ms.map(|spread| spread.p50)),
    ),
    counted(
        "queue_p95",
        "Queueing, 95 %",
        "ms",
        "less",
        "the same: 95 of 100 packets wait no longer",
        |run| run.mean(|flow| flow.queue_delay_ms.map(|spread| spread.p95)),
    ),
    counted(
        "loss",
        "Lost",
        "%",
        "less",
        "packets lost over those whose fate is known, before repair, mean of the media flows",
        |run| run.mean(|flow| flow.loss_ratio.map(|part| part * 100.0)),
    ),
    counted(
        "jain",
        "Jain's index",
        "",
        "more",
        "of the rates received by media and TCP flows; 1 is even (RFC 5166)",
        |run| run.summary.fairness.as_ref().map(|fairness| fairness.jain),
    ),
    counted(
        "settled",
        "Found their share",
        "%",
        "more",
        "media flows that kept within a tenth of their fair share for 5 s at any time; not in cells",
        |run| run.settled().map(|part| part * 100.0),
    ),
    counted("convergence", "Convergence", "s", "less", "how long after their start those did", |run| {
        run.settled().and_then(|_| run.mean(|flow| flow.convergence_s))
    }),
    counted(
        "freezes",
        "Freezes",
        "/min",
        "less",
        "gaps between pictures of 3 usual ones, and 150 ms above one, at least (webrtc-stats); mean of the media flows",
        |run| {
            run.mean(|flow| {
                let freezes = flow.freezes.filter(|_| flow.measured_s > 0.0)?;
                Some(freezes.count as f64 * 60.0 / flow.measured_s)
            })
        },
    ),
    counted(
        "frozen",
        "Frozen",
        "%",
        "less",
        "part of the time that a picture stood too long, mean of the media flows",
        |run| {
            run.mean(|flow| {
                let freezes = flow.freezes.filter(|_| flow.measured_s > 0.0)?;
                Some(freezes.total_s * 100.0 / flow.measured_s)
            })
        },
    ),
    counted(
        "delay_p95",
        "Capture to display, 95 %",
        "ms",
        "less",
        "from the camera to the screen, for 95 of 100 pictures shown; mean of the media flows",
        |run| run.mean(|flow| flow.delay_ms.map(|spread| spread.p95)),
    ),
    Metric {
        key: "psnr",
        label: "PSNR",
        unit: "dB",
        better: "more",
        kind: Some("modelled"),
        about: "luma, of what stood on the screen against what was captured, from the sizes and the quality of the \
                pre-encoded ladder; mean of the media flows",
        of: |run| run.mean(|flow| flow.psnr_db.filter(|psnr| psnr.kind == "modelled").map(|psnr| psnr.value)),
    },
];
