//! The numbers that are compared.

use super::Comparison;
use serde::Serialize;
use serde_json::Value;
use std::fmt;

/// A number of all controllers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Row {
    pub(super) label: &'static str,
    pub(super) unit: &'static str,
    /// Which is better: `more`, `less`, or neither.
    pub(super) better: &'static str,
    /// In the order of the controllers; absent where it does not apply.
    pub(super) cells: Vec<Option<Cell>>,
}

/// A mean and half the width of its 95 % interval, absent from a single run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct Cell {
    pub(super) mean: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ci95: Option<f64>,
}

/// A number: its label, unit, which is better, its place in the summary of the flow, and what it is multiplied by.
type Metric = (&'static str, &'static str, &'static str, &'static str, f64);

const METRICS: &[Metric] = &[
    ("PSNR of what was seen", "dB", "more", "/psnr_db/value", 1.0),
    ("Rate received", "bit/s", "more", "/received_bps", 1.0),
    ("Pictures displayed", "", "more", "/frames/displayed", 1.0),
    ("Freezes", "", "less", "/freezes/count", 1.0),
    ("Frozen", "s", "less", "/freezes/total_s", 1.0),
    ("Capture to display, median", "ms", "less", "/delay_ms/p50", 1.0),
    ("Capture to display, 95 %", "ms", "less", "/delay_ms/p95", 1.0),
    ("Queueing, 95 %", "ms", "less", "/queue_delay_ms/p95", 1.0),
    ("Packets lost", "%", "less", "/loss_ratio", 100.0),
    ("Lost after repair", "%", "less", "/residual_loss_ratio", 100.0),
    ("Variation of the rate", "%", "less", "/rate_cov/received", 100.0),
    ("Changes of the rate", "", "", "/decisions", 1.0),
];

/// All rows that apply to any controller.
pub(super) fn rows(comparison: &Comparison) -> Vec<Row> {
    let flows: Vec<(Value, Value)> = comparison
        .contenders
        .iter()
        .map(|contender| {
            let (mean, ci95) = contender.combined();
            let flow = |document: Value| flow(&document, &comparison.flow).cloned().unwrap_or_default();
            // An interval is of no use without its flow's place, which only the mean names.
            let place = place(&mean, &comparison.flow);
            let interval = place.and_then(|place| ci95["flows"].get(place).cloned()).unwrap_or_default();
            (flow(mean), interval)
        })
        .collect();
    let row = |&(label, unit, better, pointer, factor): &Metric| {
        let number = |document: &Value| document.pointer(pointer).and_then(Value::as_f64).map(|n| n * factor);
        let cells =
            flows.iter().map(|(mean, interval)| Some(Cell { mean: number(mean)?, ci95: number(interval) }));
        Row { label, unit, better, cells: cells.collect() }
    };
    METRICS.iter().map(row).filter(|row| row.cells.iter().any(Option::is_some)).collect()
}

fn place(summary: &Value, flow: &str) -> Option<usize> {
    summary["flows"].as_array()?.iter().position(|candidate| candidate["name"] == flow)
}

fn flow<'a>(summary: &'a Value, flow: &str) -> Option<&'a Value> {
    summary["flows"].get(place(summary, flow)?)
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = if self.mean.abs() >= 1000.0 { 0 } else { 2 };
        write!(f, "{:.digits$}", self.mean)?;
        match self.ci95 {
            Some(half) => write!(f, " ± {half:.digits$}"),
            None => Ok(()),
        }
    }
}
