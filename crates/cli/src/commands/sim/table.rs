//! A report for a reader: one line a flow, a link, an expectation.

use seaway_report::summary::{FlowSummary, LinkSummary};
use seaway_report::{Aggregate, Summary};
use seaway_units::Bitrate;
use serde_json::Value;
use std::fmt::Write as _;
use std::io::Write;

/// One run.
pub(super) fn summary(out: &mut impl Write, summary: &Summary) -> std::io::Result<()> {
    let Summary { scenario, seed, simulated_s, events, .. } = summary;
    writeln!(out, "{scenario}, seed {seed}: {simulated_s} s simulated, {events} events\n")?;
    let header = ["flow", "control", "sent", "received", "loss", "RTT p50", "RTT p95", "queueing p95"];
    rows(out, header, summary.flows.iter().map(flow))?;
    writeln!(out)?;
    let header = ["link", "utilisation", "drops queue", "aqm", "channel", "queue mean", "max"];
    rows(out, header, summary.links.iter().map(link))?;
    if let Some(fairness) = &summary.fairness {
        writeln!(out, "\nJain's index of {} flows: {:.3}", fairness.over.len(), fairness.jain)?;
    }
    for expectation in &summary.expect {
        let number = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| value.to_string());
        let (min, value, max) = (number(expectation.min), number(expectation.value), number(expectation.max));
        let verdict = if expectation.held { "held" } else { "MISSED" };
        writeln!(out, "{verdict}: {min} <= {} = {value} <= {max}", expectation.of)?;
    }
    Ok(())
}

/// Several runs: mean and half the width of the 95 % interval.
pub(super) fn aggregate(out: &mut impl Write, aggregate: &Aggregate) -> std::io::Result<()> {
    let seeds: Vec<_> = aggregate.runs.iter().map(|run| run.seed.to_string()).collect();
    let name = aggregate.runs.first().map_or("", |run| run.scenario.as_str());
    writeln!(out, "{name}, seeds {}: mean ± half the 95 % interval\n", seeds.join(" "))?;
    let cells = |list: &str, columns: &[(&str, f64, usize)]| -> Vec<Vec<String>> {
        let (means, intervals) = (&aggregate.mean[list], &aggregate.ci95[list]);
        let count = means.as_array().map_or(0, Vec::len);
        let row = |index: usize| {
            let cell = |&(path, scale, digits): &(&str, f64, usize)| {
                with_interval(&means[index], &intervals[index], path, scale, digits)
            };
            let name = means[index]["name"].as_str().unwrap_or_default().to_owned();
            std::iter::once(name).chain(columns.iter().map(cell)).collect()
        };
        (0..count).map(row).collect()
    };
    let columns = [
        ("/sent_bps", 1e-6, 3),
        ("/received_bps", 1e-6, 3),
        ("/loss_ratio", 1e2, 2),
        ("/rtt_ms/p50", 1.0, 1),
        ("/rtt_ms/p95", 1.0, 1),
        ("/queue_delay_ms/p95", 1.0, 1),
    ];
    let header = ["flow", "sent Mbit/s", "received", "loss %", "RTT p50 ms", "p95", "queueing p95 ms"];
    rows(out, header, cells("flows", &columns).into_iter().map(fixed))?;
    writeln!(out)?;
    let columns = [("/utilisation", 1e2, 2), ("/drops/queue", 1.0, 1), ("/drops/channel", 1.0, 1)];
    let header = ["link", "utilisation %", "drops queue", "channel"];
    rows(out, header, cells("links", &columns).into_iter().map(fixed))?;
    if let Some(jain) = aggregate.mean.pointer("/fairness/jain").and_then(Value::as_f64) {
        writeln!(out, "\nJain's index: {jain:.3}")?;
    }
    for (index, expectation) in aggregate.runs.first().iter().flat_map(|run| &run.expect).enumerate() {
        let held = aggregate.runs.iter().filter(|run| run.expect[index].held).count();
        writeln!(out, "held in {held} of {} runs: {}", aggregate.runs.len(), expectation.of)?;
    }
    Ok(())
}

fn fixed<const N: usize>(cells: Vec<String>) -> [String; N] {
    let mut cells = cells.into_iter();
    std::array::from_fn(|_| cells.next().unwrap_or_default())
}

fn with_interval(mean: &Value, interval: &Value, path: &str, scale: f64, digits: usize) -> String {
    let number = |value: &Value| value.pointer(path).and_then(Value::as_f64).map(|value| value * scale);
    match (number(mean), number(interval)) {
        (Some(mean), Some(interval)) => format!("{mean:.digits$} ± {interval:.digits$}"),
        (Some(mean), None) => format!("{mean:.digits$}"),
        (None, _) => String::new(),
    }
}

fn flow(flow: &FlowSummary) -> [String; 8] {
    let rtt = flow.rtt_ms.or(flow.path_rtt_ms);
    [
        flow.name.clone(),
        flow.control.clone().unwrap_or_else(|| flow.kind.to_owned()),
        rate(flow.sent_bps),
        rate(flow.received_bps),
        flow.loss_ratio.map_or_else(String::new, percent),
        millis(rtt.map(|rtt| rtt.p50)),
        millis(rtt.map(|rtt| rtt.p95)),
        millis(flow.queue_delay_ms.map(|delay| delay.p95)),
    ]
}

fn link(link: &LinkSummary) -> [String; 7] {
    [
        link.name.clone(),
        percent(link.utilisation),
        link.drops.queue.to_string(),
        link.drops.aqm.to_string(),
        link.drops.channel.to_string(),
        format!("{:.1}", link.queue.mean),
        link.queue.max.to_string(),
    ]
}

fn rate(bps: Option<f64>) -> String {
    bps.map_or_else(String::new, |bps| format!("{:.3}", Bitrate::from_bps_f64(bps)))
}

fn millis(value: Option<f64>) -> String {
    value.map_or_else(String::new, |value| format!("{value:.1} ms"))
}

fn percent(ratio: f64) -> String {
    format!("{:.2} %", ratio * 100.0)
}

/// Columns as wide as their widest cell; the first to the left, the others to the right.
fn rows<const N: usize>(
    out: &mut impl Write,
    header: [&str; N],
    body: impl Iterator<Item = [String; N]>,
) -> std::io::Result<()> {
    let rows: Vec<[String; N]> = std::iter::once(header.map(str::to_owned)).chain(body).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; N] = std::array::from_fn(width);
    for row in &rows {
        let mut line = format!("{:width$}", row[0], width = widths[0]);
        for (cell, width) in row.iter().zip(widths).skip(1) {
            // Writing to a String does not fail.
            let _ = write!(line, "  {cell:>width$}");
        }
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}
