//! The numbers that are compared.

use super::Comparison;
use seaway_quality::statistics::Estimate;
use seaway_report::{Metric, Scope, metric};
use serde::Serialize;
use serde_json::Value;

/// A number of all controllers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Row {
    #[serde(flatten)]
    pub(super) metric: Metric,
    /// In the order of the controllers; absent where it does not apply.
    pub(super) cells: Vec<Option<Estimate>>,
}

/// The metrics of a flow that are compared, in this order.
const SHOWN: &[&str] = &[
    "psnr_db.value",
    "received_bps",
    "frames.displayed",
    "freezes.count",
    "freezes.total_s",
    "delay_ms.p50",
    "delay_ms.p95",
    "queue_delay_ms.p95",
    "loss_ratio",
    "residual_loss_ratio",
    "rate_cov.received",
    "decisions",
];

/// The metrics of a flow that are compared, in order.
pub fn flow_metrics() -> impl Iterator<Item = Metric> {
    SHOWN.iter().filter_map(|key| Scope::Flow.metric(key))
}

/// The rows that apply to any controller.
pub(super) fn rows(comparison: &Comparison) -> Vec<Row> {
    let flows: Vec<(Value, Value)> = comparison
        .candidates
        .iter()
        .map(|candidate| {
            let (mean, ci95) = candidate.mean_and_ci95();
            // The interval of a text is absent, so only the mean has names.
            let index = metric::index_of(&mean, "flows", &comparison.flow);
            let flow =
                |document: &Value| index.map(|index| document["flows"][index].clone()).unwrap_or_default();
            (flow(&mean), flow(&ci95))
        })
        .collect();
    let row = |metric: Metric| {
        let factor = metric.unit().display().1;
        let number = |document: &Value| metric.value(document).map(|number| number * factor);
        let cell = |(mean, ci95): &(Value, Value)| Some(Estimate { mean: number(mean)?, ci95: number(ci95) });
        let cells: Vec<_> = flows.iter().map(cell).collect();
        cells.iter().any(Option::is_some).then_some(Row { metric, cells })
    };
    flow_metrics().filter_map(row).collect()
}

/// The mean and its interval, for a person to read.
pub(super) fn text(cell: &Estimate) -> String {
    let digits = if cell.mean.abs() >= 1000.0 { 0 } else { 2 };
    let interval = cell.ci95.map_or_else(String::new, |half| format!(" ± {half:.digits$}"));
    format!("{:.digits$}{interval}", cell.mean)
}
