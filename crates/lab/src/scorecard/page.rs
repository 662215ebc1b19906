//! The page of a scorecard.

use super::{CurveAxis, Scorecard, kind};
use seaway_quality::statistics::Estimate;
use seaway_report::page::{Page, escaped};
use seaway_report::plot::{self, Axis, Content, Curve, Panel, Plot, Point};
use seaway_report::{Metric, Scope};
use serde_json::json;
use std::cmp::Ordering;

pub(super) fn page(card: &Scorecard, command: &str) -> String {
    let count = |number: usize, of: &str| format!("{number} {of}{}", if number == 1 { "" } else { "s" });
    let seeds = match card.seeds {
        1 => format!("seed {}", card.first_seed),
        seeds => format!("{seeds} seeds from {}", card.first_seed),
    };
    Page {
        kind: "scorecard",
        title: "Rate controllers side by side",
        about: "Live video over networks that lose packets, delay them or change, in the simulator. Every controller has \
                the same networks, the same video and the same repair.",
        facts: &[
            count(card.controls.len(), "controller"),
            count(card.cases.len(), "case"),
            seeds,
            "video: a pre-encoded ladder; quality is modelled".to_owned(),
        ],
        body: &include_str!("page/body.html").replace("{{curves}}", &curves(card)),
        style: &[include_str!("page/page.css"), &plot::style()].join("\n"),
        scripts: &[include_str!("page/page.js")],
        data: &json!({ "card": card }),
        note: "",
        command,
    }
    .html()
}

/// The scores that have curves.
const SHOWN: [&str; 4] = ["psnr", "frozen", "utilisation", "queue_p95"];

/// A plot for each curve and score.
fn curves(card: &Scorecard) -> String {
    let scores = Scope::Score.metrics();
    let plot = |curve: &CurveAxis, key: &str| -> Option<String> {
        let row = scores.iter().position(|metric| metric.key() == key)?;
        let svg = plot(card, curve, row, &scores[row]).fragment();
        let name = curve.name;
        Some(format!("<div class=\"plot card\" data-curve=\"{name}\" data-metric=\"{key}\">{svg}</div>"))
    };
    let plots = card.curves.iter().map(|curve| {
        let plots: String = SHOWN.iter().filter_map(|key| plot(curve, key)).collect();
        format!("<h3>{}</h3>\n<div class=\"plots\">{plots}</div>\n", escaped(curve.label))
    });
    plots.collect()
}

/// A score of all controllers along a curve. The points are evenly spaced, since most changes at small losses.
fn plot(card: &Scorecard, curve: &CurveAxis, row: usize, metric: &Metric) -> Plot {
    let mut cases: Vec<_> = card.cases.iter().filter(|case| case.curve == Some(curve.name)).collect();
    cases.sort_by(|one, other| one.x.partial_cmp(&other.x).unwrap_or(Ordering::Equal));
    let points = |control: usize| {
        let estimates = cases.iter().map(move |case| case.scores[control].as_ref()?.0[row]).enumerate();
        let point =
            |(x, of): (usize, Estimate)| Point { x: x as f64, y: of.mean, ci95: of.ci95.unwrap_or(0.0) };
        estimates.filter_map(|(x, estimate)| Some((x, estimate?))).map(point).collect()
    };
    // The choice of controllers is the legend.
    let of = |colour| Curve { name: String::new(), colour, points: points(colour), is_line: true };
    let curves: Vec<Curve> = (0..card.controls.len()).map(of).collect();
    let means = || curves.iter().flat_map(|curve| &curve.points).map(|point| point.y);
    let key = metric.key();
    // The axis of PSNR need not begin at zero.
    let low = if key == "psnr" { (means().fold(100.0, f64::min) / 5.0).floor() * 5.0 } else { 0.0 };
    let high = means().fold(if key == "utilisation" { 100.0 } else { low + 1e-9 }, f64::max);
    let panel = Panel {
        title: [&metric.label(), kind(&key).unwrap_or_default()].join(" "),
        x: Axis {
            label: format!("{}, {}", curve.label, curve.unit),
            range: (-0.3, cases.len() as f64 - 0.7),
            marks: cases.iter().filter_map(|case| case.x).map(|x| x.to_string()).collect(),
        },
        y: Axis {
            label: metric.unit().symbol().to_owned(),
            range: (low, high + (high - low) * 0.04),
            ..Axis::default()
        },
        content: Content::Curves(curves),
    };
    Plot { title: String::new(), width: 400.0, panel_height: 250.0, panels: vec![panel] }
}
