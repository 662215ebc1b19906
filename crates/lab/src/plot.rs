//! The time series of a run as a plot: one panel for each quantity, one time axis, and the causes of rate changes below.

use crate::series::{Reading, Series};
use seaway_control::Decision;
use seaway_report::plot::{Axis, Bars, Content, Curve, Panel, Plot, Point, Theme};
use std::collections::BTreeMap;

/// A quantity: its title, its unit, the factor to that unit, and the series that it shows.
struct Quantity {
    title: &'static str,
    unit: &'static str,
    scale: f64,
    names: &'static [&'static str],
}

const QUANTITIES: &[Quantity] = &[
    Quantity { title: "Rate received", unit: "Mbit/s", scale: 1e-6, names: &["received_rate", "capacity"] },
    Quantity { title: "Rate the controller aims at", unit: "Mbit/s", scale: 1e-6, names: &["target_rate"] },
    Quantity { title: "Queue of each link", unit: "packets", scale: 1.0, names: &["queue"] },
    Quantity { title: "Round-trip time", unit: "ms", scale: 1.0, names: &["rtt"] },
    Quantity { title: "Packets lost in 0.1 s", unit: "packets", scale: 1.0, names: &["lost"] },
    Quantity { title: "Receiver's buffer", unit: "kB", scale: 1e-3, names: &["receiver_buffer"] },
    Quantity { title: "PSNR of the picture on screen", unit: "dB", scale: 1.0, names: &["psnr"] },
    Quantity { title: "SSIM", unit: "", scale: 1.0, names: &["ssim"] },
    Quantity { title: "MS-SSIM", unit: "", scale: 1.0, names: &["ms_ssim"] },
    Quantity { title: "VMAF", unit: "", scale: 1.0, names: &["vmaf"] },
    Quantity { title: "Pictures repeated", unit: "", scale: 1.0, names: &["held"] },
];

/// More curves than this in a panel are not drawn.
const MOST_CURVES: usize = 14;
/// The most frequent causes have a row, and the run is cut into spans of time for their bars.
const MOST_CAUSES: usize = 10;
const SPANS: usize = 250;

/// The size of a plot, and where it is shown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlotStyle {
    /// The width without the legend, pixels.
    pub width: f64,
    /// The height of a panel, pixels.
    pub panel_height: f64,
    /// Where it is shown.
    pub theme: Theme,
}

impl Default for PlotStyle {
    fn default() -> Self {
        Self { width: 810.0, panel_height: 200.0, theme: Theme::Auto }
    }
}

/// Draws the series and the decisions of each flow as an SVG document. Quantities without a value above zero have no
/// panel.
pub fn svg(series: &Series, decisions: &[(String, Vec<Decision>)], title: &str, style: PlotStyle) -> String {
    let PlotStyle { width, panel_height, theme } = style;
    let end = series.readings().last().map_or(1.0, |reading| reading.at.as_secs_f64());
    let mut colours = BTreeMap::new();
    let mut panels: Vec<Panel> =
        QUANTITIES.iter().filter_map(|quantity| panel(quantity, series, end, &mut colours)).collect();
    let causes = causes(decisions);
    if !causes.is_empty() {
        let several = causes.iter().any(|cause| cause.subject != causes[0].subject);
        let row = |cause: &Cause<'_>| Bars {
            name: if several { format!("{}: {}", cause.subject, cause.rule) } else { cause.rule.to_owned() },
            colour: colours.get(cause.subject).copied().unwrap_or(0),
            spans: bars(&cause.at, end),
        };
        panels.push(Panel {
            title: "Causes of rate changes".to_owned(),
            x: seconds(end),
            y: Axis { label: String::new(), range: (0.0, 1.0), ..Axis::default() },
            content: Content::Bars(causes.iter().map(row).collect()),
        });
    }
    Plot { title: title.to_owned(), width, panel_height, panels }.themed_svg(theme)
}

fn seconds(end: f64) -> Axis {
    Axis { label: "s".to_owned(), range: (0.0, end.max(f64::MIN_POSITIVE)), ..Axis::default() }
}

/// The curve of a flow or link. Its capacity has a label of its own.
struct Line<'s> {
    subject: &'s str,
    is_capacity: bool,
    points: Vec<Point>,
}

/// The panel of a quantity, where it has a value above zero. Each flow and link has one colour in all panels.
fn panel<'s>(
    quantity: &Quantity,
    series: &'s Series,
    end: f64,
    colours: &mut BTreeMap<&'s str, usize>,
) -> Option<Panel> {
    let mut lines = lines(quantity, series);
    let left_out = lines.len().saturating_sub(MOST_CURVES);
    lines.truncate(MOST_CURVES);
    let top = top(&lines);
    lines.retain(|line| line.points.iter().any(|point| point.y <= top));
    if lines.is_empty() {
        return None;
    }
    let capacity = if lines.iter().any(|line| line.is_capacity) { ", and capacity" } else { "" };
    let more = if left_out > 0 { format!(" ({left_out} more not drawn)") } else { String::new() };
    let curve = |line: Line<'s>| {
        let next = colours.len();
        let suffix = if line.is_capacity { " (capacity)" } else { "" };
        Curve {
            name: format!("{}{suffix}", line.subject),
            colour: *colours.entry(line.subject).or_insert(next),
            points: line.points,
            is_line: true,
        }
    };
    Some(Panel {
        title: format!("{}{capacity}{more}", quantity.title),
        x: seconds(end),
        y: Axis { label: quantity.unit.to_owned(), range: (0.0, top * 1.08), ..Axis::default() },
        content: Content::Curves(lines.into_iter().map(curve).collect()),
    })
}

/// The series of a quantity with a value above zero, first by name, then by flow or link.
fn lines<'s>(quantity: &Quantity, series: &'s Series) -> Vec<Line<'s>> {
    let mut found: BTreeMap<(usize, usize), Line<'s>> = BTreeMap::new();
    let mut subjects: BTreeMap<&str, usize> = BTreeMap::new();
    for Reading { at, flow, name, value, .. } in series.readings() {
        let Some(rank) = quantity.names.iter().position(|known| *known == name) else { continue };
        let next = subjects.len();
        let order = *subjects.entry(flow).or_insert(next);
        let is_capacity = name == "capacity";
        if is_capacity && flow.ends_with("/back") {
            continue;
        }
        let line = found.entry((rank, order));
        let line = line.or_insert_with(|| Line { subject: flow, is_capacity, points: Vec::new() });
        line.points.push(Point { x: at.as_secs_f64(), y: value * quantity.scale, ci95: 0.0 });
    }
    found.into_values().filter(|line| line.points.iter().any(|point| point.y > 0.0)).collect()
}

/// The highest value. A capacity far above the other curves does not flatten them.
fn top(lines: &[Line<'_>]) -> f64 {
    let highest = |is_counted: fn(&Line<'_>) -> bool| {
        let counted = lines.iter().filter(|line| is_counted(line));
        counted.flat_map(|line| &line.points).map(|point| point.y).fold(0.0, f64::max)
    };
    let (all, without) = (highest(|_| true), highest(|line| !line.is_capacity));
    if without > 0.0 { all.min(without * 2.5) } else { all }
}

/// A rule that changed a flow's rate, and when.
struct Cause<'s> {
    subject: &'s str,
    rule: &'static str,
    at: Vec<f64>,
}

/// The most frequent causes, in order of their first time.
fn causes(decisions: &[(String, Vec<Decision>)]) -> Vec<Cause<'_>> {
    let mut causes: Vec<Cause<'_>> = Vec::new();
    for (subject, Decision { at, cause, .. }) in
        decisions.iter().flat_map(|(subject, all)| all.iter().map(move |decision| (subject, decision)))
    {
        let at = at.as_secs_f64();
        match causes.iter_mut().find(|known| known.subject == subject && known.rule == *cause) {
            Some(known) => known.at.push(at),
            None => causes.push(Cause { subject, rule: cause, at: vec![at] }),
        }
    }
    causes.sort_by_key(|cause| std::cmp::Reverse(cause.at.len()));
    causes.truncate(MOST_CAUSES);
    let first = |cause: &Cause<'_>| cause.at.first().copied().unwrap_or_default();
    causes.sort_by(|one, other| first(one).total_cmp(&first(other)));
    causes
}

/// The spans of time with an event; adjacent ones are joined.
fn bars(at: &[f64], end: f64) -> Vec<(f64, f64)> {
    let width = end / SPANS as f64;
    let mut bars: Vec<(f64, f64)> = Vec::new();
    for at in at {
        let from = (at / width).floor() * width;
        match bars.last_mut() {
            Some((_, to)) if from < *to + width / 2.0 => *to = to.max(from + width),
            _ => bars.push((from, from + width)),
        }
    }
    bars
}

#[cfg(test)]
mod tests {
    use super::*;
    use seaway_units::Timestamp;

    #[test]
    fn neighbouring_decisions_are_one_bar() {
        assert_eq!(bars(&[0.1, 0.3, 1.1, 7.0], 250.0), [(0.0, 2.0), (7.0, 8.0)]);
    }

    #[test]
    fn many_lines_stay_apart() {
        let mut series = Series::default();
        let flows: Vec<_> =
            (0..MOST_CURVES + 3).map(|flow| series.subject(&format!("flow-{flow}"))).collect();
        for second in 0..3 {
            for &flow in &flows {
                series.push(
                    Timestamp::from_nanos(second * 1_000_000_000),
                    flow,
                    "received_rate",
                    1e6,
                    "bit/s",
                );
            }
        }
        let mut colours = BTreeMap::new();
        panel(&QUANTITIES[0], &series, 2.0, &mut colours).unwrap();
        assert_eq!(colours.into_values().collect::<std::collections::BTreeSet<_>>().len(), MOST_CURVES);
        // The names do not overlap.
        let document = svg(&series, &[], "many", PlotStyle::default());
        let row = |name: &str| -> f64 {
            let before = document.split(&format!(">{name}<")).next().unwrap();
            before.rsplit(" y=\"").next().unwrap().split('"').next().unwrap().parse().unwrap()
        };
        let rows: Vec<f64> = (0..MOST_CURVES).map(|flow| row(&format!("flow-{flow}"))).collect();
        assert!(rows.windows(2).all(|pair| pair[1] - pair[0] >= 10.0), "{rows:?}");
        assert!(!document.contains("capacity"), "none was read");
        assert!(document.contains("(3 more not drawn)"));
    }

    #[test]
    fn a_panel_for_each_quantity_that_was_read() {
        let mut series = Series::default();
        let [flow, link] = ["video", "bottleneck"].map(|name| series.subject(name));
        for second in 0..2000 {
            let at = Timestamp::from_nanos(second * 1_000_000_000);
            series.push(at, flow, "received_rate", 1e6, "bit/s");
            series.push(at, link, "capacity", 2e6, "bit/s");
            series.push(at, link, "queue", 0.0, "packets");
        }
        let decision = |second: u64, cause| Decision {
            at: Timestamp::from_nanos(second * 1_000_000_000),
            cause,
            signal: seaway_control::Gauge::new("loss_event_rate", 0.01, ""),
            threshold: 0.0,
            before: seaway_units::Bitrate::from_mbps(2),
            after: seaway_units::Bitrate::from_mbps(1),
            phase: "congestion avoidance",
        };
        let mut decided: Vec<_> = (0..1999).map(|second| decision(second, "equation")).collect();
        decided.push(decision(1999, "loss event"));
        let decisions = vec![("video".to_owned(), decided)];
        let document = svg(&series, &decisions, "a title", PlotStyle::default());
        assert!(document.starts_with("<svg") && document.trim_end().ends_with("</svg>"));
        for expected in [
            "a title",
            "Rate received, and capacity",
            "video",
            "bottleneck (capacity)",
            "Causes of rate changes",
            "loss event",
        ] {
            assert!(document.contains(expected), "{expected}");
        }
        assert!(!document.contains("Queue of each link"), "a panel of nothing but zeros");
        assert!(document.len() < 100_000, "{} octets", document.len());
        assert!(svg(&Series::default(), &[], "nothing", PlotStyle::default()).contains("nothing"));
    }
}
