//! The time series as a picture: one panel a quantity, one time axis for all, and why rates changed below them.

use crate::series::{Reading, Series};
use plotters::coord::Shift;
use plotters::prelude::*;
use seaway_control::Decision;
use std::collections::BTreeMap;

/// A line of a panel: its label, whose it is, and its points.
struct Line<'s> {
    label: String,
    subject: &'s str,
    points: Vec<(f64, f64)>,
}

/// A panel: its title, its unit, how readings become that unit, and which readings it shows.
struct Panel {
    title: &'static str,
    unit: &'static str,
    scale: f64,
    names: &'static [&'static str],
}

const PANELS: &[Panel] = &[
    Panel { title: "Rate received", unit: "Mbit/s", scale: 1e-6, names: &["received_rate", "capacity"] },
    Panel { title: "Rate the controller aims at", unit: "Mbit/s", scale: 1e-6, names: &["target_rate"] },
    Panel { title: "Queue of each link", unit: "packets", scale: 1.0, names: &["queue"] },
    Panel { title: "Round-trip time", unit: "ms", scale: 1.0, names: &["rtt"] },
    Panel { title: "Packets lost in 0.1 s", unit: "packets", scale: 1.0, names: &["lost"] },
    Panel { title: "Receiver's buffer", unit: "kB", scale: 1e-3, names: &["receiver_buffer"] },
    Panel { title: "PSNR of what was on the screen", unit: "dB", scale: 1.0, names: &["psnr"] },
    Panel { title: "SSIM", unit: "", scale: 1.0, names: &["ssim"] },
    Panel { title: "MS-SSIM", unit: "", scale: 1.0, names: &["ms_ssim"] },
    Panel { title: "VMAF", unit: "", scale: 1.0, names: &["vmaf"] },
    Panel { title: "Pictures held", unit: "", scale: 1.0, names: &["held"] },
];

/// Okabe and Ito's colours, which the colour-blind tell apart.
pub const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(0, 0, 0),
];

/// More lines than this in a panel show nothing any more.
const MOST_LINES: usize = 14;
/// Points of a line; beyond that, neighbours are averaged.
const MOST_POINTS: usize = 160;
/// Causes in the panel of decisions, the most frequent; and into how many spans of time they fall.
const MOST_CAUSES: usize = 10;
const SPANS: usize = 250;
const WIDTH: u32 = 1000;
const HEIGHT: u32 = 200;
/// Room for the legend at the right.
const LEGEND: i32 = 190;

/// Draws the series and the decisions of each flow as an SVG document. Quantities that were not read, or never above
/// zero, have no panel.
///
/// # Errors
/// What the drawing library has to say; there is no I/O.
pub fn svg(series: &Series, decisions: &[(String, Vec<Decision>)], title: &str) -> Result<String, String> {
    let panels: Vec<(&Panel, Lines<'_>)> = PANELS
        .iter()
        .map(|panel| (panel, lines(series, panel)))
        .filter(|(_, lines)| !lines.drawn.is_empty())
        .collect();
    let causes = causes(decisions);
    let colours = colours(&panels);
    let end = series.readings().last().map_or(1.0, |reading| reading.at.as_secs_f64());
    let mut document = String::new();
    {
        let count = panels.len() + usize::from(!causes.is_empty());
        let height = HEIGHT * count.max(1) as u32 + 30;
        let root = SVGBackend::with_string(&mut document, (WIDTH, height)).into_drawing_area();
        let failed = |error: DrawingAreaErrorKind<_>| error.to_string();
        root.fill(&WHITE).map_err(failed)?;
        let rest = root.titled(title, ("sans-serif", 18)).map_err(failed)?;
        let areas = rest.split_evenly((count.max(1), 1));
        for (area, (panel, lines)) in areas.iter().zip(&panels) {
            let (left, right) = area.split_horizontally(WIDTH as i32 - LEGEND);
            draw(&left, panel, lines, &colours, end).map_err(failed)?;
            legend(&right, &lines.drawn, &colours).map_err(failed)?;
        }
        if let (Some(area), false) = (areas.last(), causes.is_empty()) {
            draw_causes(area, &causes, &colours, end).map_err(failed)?;
        }
        root.present().map_err(failed)?;
    }
    Ok(compact(&document))
}

/// The same picture in half the octets: what is SVG's default is left out, what all texts share stands once.
fn compact(document: &str) -> String {
    const SHARED: &str = " font-family=\"sans-serif\"";
    let mut compact = document.replace(SHARED, "").replacen("<svg", &format!("<svg{SHARED}"), 1);
    for default in [" opacity=\"1\"", " stroke-width=\"1\"", " stroke=\"none\""] {
        compact = compact.replace(default, "");
    }
    for size in [18.0, 14.0, 11.0] {
        // Pixels that the library turned into points, to sixteen digits.
        let points = size / 1.24;
        compact = compact.replace(&format!("\"{points}\""), &format!("\"{points:.1}\""));
    }
    compact = compact.replace(" fill=\"#000000\"", "");
    compact.replace(">\n", ">").replace("\n<", "<")
}

/// What a panel draws of a series.
struct Lines<'s> {
    drawn: Vec<Line<'s>>,
    /// More would not be told apart.
    left_out: usize,
}

fn lines<'s>(series: &'s Series, panel: &Panel) -> Lines<'s> {
    let mut found: BTreeMap<(usize, usize), Line<'s>> = BTreeMap::new();
    let mut subjects: BTreeMap<&str, usize> = BTreeMap::new();
    for Reading { at, flow, name, value, .. } in series.readings() {
        let Some(rank) = panel.names.iter().position(|known| *known == name) else { continue };
        let next = subjects.len();
        let order = *subjects.entry(flow).or_insert(next);
        if name == "capacity" && flow.ends_with("/back") {
            continue;
        }
        let line = found.entry((rank, order)).or_insert_with(|| {
            let label = if name == "capacity" { format!("{flow} (capacity)") } else { flow.to_owned() };
            Line { label, subject: flow, points: Vec::new() }
        });
        line.points.push((at.as_secs_f64(), value * panel.scale));
    }
    let is_above_zero = |line: &Line<'_>| line.points.iter().any(|point| point.1 > 0.0);
    let mut drawn: Vec<Line<'s>> = found.into_values().filter(is_above_zero).collect();
    let left_out = drawn.len().saturating_sub(MOST_LINES);
    drawn.truncate(MOST_LINES);
    for line in &mut drawn {
        line.points = thinned(&line.points);
    }
    let top = top(panel, &drawn);
    drawn.retain(|line| line.points.iter().any(|point| point.1 <= top));
    Lines { drawn, left_out }
}

/// The panel's title, the capacity where it is drawn, and how many lines are not.
fn caption(panel: &Panel, Lines { drawn, left_out }: &Lines<'_>) -> String {
    let has_capacity = drawn.iter().any(|line| line.label != line.subject);
    let more = if *left_out > 0 { format!(" ({left_out} more not drawn)") } else { String::new() };
    format!("{}{}{more}", panel.title, if has_capacity { ", and capacity" } else { "" })
}

/// A rule that changed a flow's rate, and when it did.
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

/// The mean of neighbours, so that no more than [`MOST_POINTS`] are left, and fewer where nothing changes.
fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let group = points.len().div_ceil(MOST_POINTS).max(1);
    let mean = |points: &[(f64, f64)]| {
        let (time, value) = points.iter().fold((0.0, 0.0), |sum, point| (sum.0 + point.0, sum.1 + point.1));
        (time / points.len() as f64, value / points.len() as f64)
    };
    let means: Vec<_> = points.chunks(group).map(mean).collect();
    // Between its ends a level stretch needs no points.
    let level = |index: usize| {
        index > 0
            && means.get(index + 1).is_some_and(|next| next.1 == means[index].1)
            && means[index - 1].1 == means[index].1
    };
    (0..means.len()).filter(|index| !level(*index)).map(|index| means[index]).collect()
}

/// Each flow and link has one colour in all panels.
fn colours<'s>(panels: &[(&Panel, Lines<'s>)]) -> BTreeMap<&'s str, RGBColor> {
    let mut colours = BTreeMap::new();
    for line in panels.iter().flat_map(|(_, lines)| &lines.drawn) {
        let next = shade(colours.len());
        colours.entry(line.subject).or_insert(next);
    }
    colours
}

/// The colour of the so manieth subject: where there are more than colours, paler ones.
fn shade(index: usize) -> RGBColor {
    let RGBColor(red, green, blue) = COLOURS[index % COLOURS.len()];
    let pale = |octet: u8| {
        if index / COLOURS.len() % 2 == 1 { (u16::from(octet) + 255).div_ceil(2) as u8 } else { octet }
    };
    RGBColor(pale(red), pale(green), pale(blue))
}

type Drawn<DB> = Result<(), DrawingAreaErrorKind<<DB as DrawingBackend>::ErrorType>>;

fn draw<DB: DrawingBackend>(
    area: &DrawingArea<DB, Shift>,
    panel: &Panel,
    lines: &Lines<'_>,
    colours: &BTreeMap<&str, RGBColor>,
    end: f64,
) -> Drawn<DB> {
    let top = top(panel, &lines.drawn) * 1.08;
    let mut chart = ChartBuilder::on(area)
        .caption(caption(panel, lines), ("sans-serif", 14))
        .margin(6)
        .x_label_area_size(26)
        .y_label_area_size(56)
        .build_cartesian_2d(0.0..end, 0.0..top)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .x_labels(7)
        .y_labels(5)
        .x_desc("s")
        .y_desc(panel.unit)
        .label_style(("sans-serif", 11))
        .draw()?;
    for line in &lines.drawn {
        let points = line.points.iter().map(|&(x, y)| (x, y.min(top)));
        chart.draw_series(LineSeries::new(points, colour(colours, line)))?;
    }
    Ok(())
}

/// A row for each cause: a bar where it changed the rate, its name at the right.
fn draw_causes<DB: DrawingBackend>(
    area: &DrawingArea<DB, Shift>,
    causes: &[Cause<'_>],
    colours: &BTreeMap<&str, RGBColor>,
    end: f64,
) -> Drawn<DB> {
    let (left, right) = area.split_horizontally(WIDTH as i32 - LEGEND);
    let rows = causes.len() as f64;
    let mut chart = ChartBuilder::on(&left)
        .caption("Why the rate changed", ("sans-serif", 14))
        .margin(6)
        .x_label_area_size(26)
        .y_label_area_size(56)
        .build_cartesian_2d(0.0..end, 0.0..rows)?;
    let mesh = &mut chart.configure_mesh();
    mesh.disable_y_mesh().disable_y_axis().light_line_style(TRANSPARENT).x_labels(7).x_desc("s");
    mesh.label_style(("sans-serif", 11)).draw()?;
    let several = causes.iter().any(|cause| cause.subject != causes[0].subject);
    for (row, cause) in causes.iter().enumerate() {
        let colour = colours.get(cause.subject).copied().unwrap_or(BLACK);
        let y = rows - row as f64;
        let bar = |(from, to)| Rectangle::new([(from, y - 0.2), (to, y - 0.8)], colour.filled());
        chart.draw_series(bars(&cause.at, end).into_iter().map(bar))?;
        let label =
            if several { format!("{}: {}", cause.subject, cause.rule) } else { cause.rule.to_owned() };
        let middle = chart.backend_coord(&(0.0, y - 0.5)).1 - right.get_pixel_range().1.start;
        right.draw(&Text::new(label, (4, middle - 6), ("sans-serif", 11)))?;
    }
    Ok(())
}

/// The spans of time in which something happened, neighbours as one.
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

fn legend<DB: DrawingBackend>(
    area: &DrawingArea<DB, Shift>,
    lines: &[Line<'_>],
    colours: &BTreeMap<&str, RGBColor>,
) -> Drawn<DB> {
    // All of them find room beside their panel.
    let step = 14.min((HEIGHT as i32 - 34) / lines.len().max(1) as i32);
    for (index, line) in lines.iter().enumerate() {
        let y = 34 + step * index as i32;
        let stroke = colour(colours, line).stroke_width(2);
        area.draw(&PathElement::new([(4, y + 5), (20, y + 5)], stroke))?;
        area.draw(&Text::new(line.label.clone(), (26, y), ("sans-serif", 11)))?;
    }
    Ok(())
}

fn colour(colours: &BTreeMap<&str, RGBColor>, line: &Line<'_>) -> RGBColor {
    colours.get(line.subject).copied().unwrap_or(BLACK)
}

/// The highest reading; a capacity far above what flows received does not flatten them.
fn top(panel: &Panel, lines: &[Line<'_>]) -> f64 {
    let highest = |lines: &mut dyn Iterator<Item = &Line<'_>>| {
        lines.flat_map(|line| line.points.iter().map(|point| point.1)).fold(0.0, f64::max)
    };
    let all = highest(&mut lines.iter());
    if !panel.names.contains(&"capacity") {
        return all;
    }
    let received = highest(&mut lines.iter().filter(|line| line.label == line.subject));
    if received > 0.0 { all.min(received * 2.5) } else { all }
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
        let flows: Vec<_> = (0..MOST_LINES + 3).map(|flow| series.subject(&format!("flow-{flow}"))).collect();
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
        let panels = [(&PANELS[0], lines(&series, &PANELS[0]))];
        let colours = colours(&panels);
        let distinct: std::collections::BTreeSet<_> =
            colours.values().map(|colour| (colour.0, colour.1, colour.2)).collect();
        assert_eq!(distinct.len(), MOST_LINES);
        // No name stands upon another's, and none outside the panel.
        let document = svg(&series, &[], "many").unwrap();
        let row = |name: &str| -> f64 {
            let before = document.split(&format!(">{name}<")).next().unwrap();
            before.rsplit(" y=\"").next().unwrap().split('"').next().unwrap().parse().unwrap()
        };
        let rows: Vec<f64> = (0..MOST_LINES).map(|flow| row(&format!("flow-{flow}"))).collect();
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
        let document = svg(&series, &decisions, "a title").unwrap();
        assert!(document.starts_with("<svg") && document.trim_end().ends_with("</svg>"));
        for expected in [
            "a title",
            "Rate received, and capacity",
            "video",
            "bottleneck (capacity)",
            "Why the rate",
            "loss event",
        ] {
            assert!(document.contains(expected), "{expected}");
        }
        assert!(!document.contains("Queue of each link"), "a panel of nothing but zeros");
        assert!(document.len() < 100_000, "{} octets", document.len());
        assert!(svg(&Series::default(), &[], "nothing").unwrap().contains("nothing"));
    }
}
