//! Plots as SVG: panels one below the other, each with axes, curves or bars, and a legend at its right.

use crate::colours::{self, NUMBERED};
use crate::page::escaped;
use std::fmt::Write;

/// Panels with a common width.
#[derive(Debug, Clone, PartialEq)]
pub struct Plot {
    /// The title above the first panel; may be empty.
    pub title: String,
    /// The width without the legend, pixels.
    pub width: f64,
    /// The height of a panel, pixels.
    pub panel_height: f64,
    /// The panels, from the top.
    pub panels: Vec<Panel>,
}

/// A pair of axes and what is drawn over it.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    /// The title above it.
    pub title: String,
    /// The axis to the right.
    pub x: Axis,
    /// The axis upwards; of bars, which have a row each, only the label is used.
    pub y: Axis,
    /// What is drawn.
    pub content: Content,
}

/// An axis.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Axis {
    /// The quantity or its unit.
    pub label: String,
    /// The lowest and the highest value.
    pub range: (f64, f64),
    /// The labels of the values 0, 1, 2 and so on; without any the axis has round values.
    pub marks: Vec<String>,
}

/// What a panel shows.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// Curves over the axes.
    Curves(Vec<Curve>),
    /// A row for each of these.
    Bars(Vec<Bars>),
    /// Columns, in each the points of these curves that stand there, one above another.
    Columns(Vec<Curve>),
}

/// A curve.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// Its name in the legend; empty where it has no place there.
    pub name: String,
    /// The number of its colour.
    pub colour: usize,
    /// Its points, from the left.
    pub points: Vec<Point>,
    /// False for points without a line.
    pub is_line: bool,
}

/// A point and half the width of its 95 % interval, zero where it has none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// To the right.
    pub x: f64,
    /// Upwards.
    pub y: f64,
    /// Half the width of the interval.
    pub ci95: f64,
}

/// Spans along the axis to the right.
#[derive(Debug, Clone, PartialEq)]
pub struct Bars {
    /// Its name in the legend.
    pub name: String,
    /// The number of its colour.
    pub colour: usize,
    /// Begin and end of each.
    pub spans: Vec<(f64, f64)>,
}

/// Room for the labels of the axis upwards, and around the axes.
const LEFT: f64 = 58.0;
const TOP: f64 = 26.0;
const BOTTOM: f64 = 34.0;
const TITLE: f64 = 28.0;
/// The height of a line of the legend, where there is room, and the width of a character.
const LINE: f64 = 14.0;
const CHARACTER: f64 = 6.2;
/// Curves with at most so many points have marks and intervals.
const MARKED: usize = 30;
/// Curves with more points than this are drawn by the least and the greatest of neighbours.
const MOST_POINTS: usize = 500;
/// What is said below a plot with such a curve, and the height of that line.
const REDUCED: &str =
    "Curves of more than 500 points are drawn by the least and the greatest of neighbouring ones.";
const NOTE: f64 = 18.0;
/// Axes need so much with their labels.
const LEAST_WIDTH: f64 = 230.0;
/// About so many marks has a curve that is too long for a mark at each point, where it is printed.
const MARKS: usize = 8;

/// Where a plot is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Theme {
    /// On a screen, whose reader may prefer light or dark.
    #[default]
    Auto,
    /// On a light ground.
    Light,
    /// On a dark ground.
    Dark,
    /// On paper: on a light ground, with dashes and marks by which curves differ without colour.
    Print,
}

impl Plot {
    /// The plot as a document of its own.
    pub fn svg(&self) -> String {
        self.themed_svg(Theme::Auto)
    }

    /// The plot as a document of its own, for that ground.
    pub fn themed_svg(&self, theme: Theme) -> String {
        let (colours, look): (fn(&str) -> String, _) = match theme {
            Theme::Auto => (colours::resolved, Look::Screen),
            Theme::Light => (colours::light, Look::Screen),
            Theme::Dark => (colours::dark, Look::Screen),
            Theme::Print => (colours::light, Look::Print),
        };
        self.document(&format!("<style>{}</style>", colours(&rules())), look)
    }

    /// The plot as a part of a page, which needs [`style`].
    pub fn fragment(&self) -> String {
        self.document("", Look::Screen)
    }

    /// The same as [`Self::svg`], with dashes and marks by which curves differ without colour.
    pub fn print_svg(&self) -> String {
        self.document(&format!("<style>{}</style>", style()), Look::Print)
    }

    /// The same as [`Self::fragment`], with dashes and marks by which curves differ without colour.
    pub fn print_fragment(&self) -> String {
        self.document("", Look::Print)
    }

    /// So wide in all, with the legend, as far as room is left for the axes.
    pub fn fitted(self, width: f64) -> Self {
        Self { width: (width - self.legend_width()).max(LEAST_WIDTH), ..self }
    }

    fn legend_width(&self) -> f64 {
        let names = self.panels.iter().flat_map(Panel::names).map(|name| name.chars().count());
        let longest = names.max().filter(|longest| *longest > 0);
        longest.map_or(0.0, |longest| 34.0 + CHARACTER * longest as f64)
    }

    fn document(&self, style: &str, look: Look) -> String {
        let (left, right) = (LEFT, self.width - 8.0);
        let width = self.width + self.legend_width();
        let first = if self.title.is_empty() { 0.0 } else { TITLE };
        let panels = first + self.panel_height * self.panels.len().max(1) as f64;
        let is_reduced = self.panels.iter().any(Panel::is_reduced);
        let height = panels + if is_reduced { NOTE } else { 0.0 };
        let titles = self.panels.iter().map(|panel| format!("{} against {}", panel.title, panel.x.label));
        let about = escaped(&titles.collect::<Vec<_>>().join("; ")).replace('"', "&quot;");
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\" width=\"{width:.0}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\" aria-label=\"{about}\">{style}<rect class=\"back\" width=\"100%\" height=\"100%\"/>"
        );
        if !self.title.is_empty() {
            text(&mut svg, width / 2.0, 20.0, "title middle", &self.title);
        }
        for (index, panel) in self.panels.iter().enumerate() {
            let top = first + self.panel_height * index as f64;
            let area = Area { left, right, top: top + TOP, bottom: top + self.panel_height - BOTTOM };
            text(&mut svg, f64::midpoint(left, right), area.top - 9.0, "title middle", &panel.title);
            panel.draw(&mut svg, &area, look);
        }
        if is_reduced {
            text(&mut svg, left, panels + 6.0, "", REDUCED);
        }
        svg.push_str("</svg>\n");
        svg
    }
}

/// The style of plots.
pub fn style() -> String {
    colours::resolved(&rules())
}

/// The rules of the style, with the names of colours.
fn rules() -> String {
    let own = (0..NUMBERED).map(|index| format!(".chart .c{index}{{stroke:$c{index};fill:$c{index}}}"));
    let dashes = DASHES.iter().enumerate();
    let dashes = dashes.map(|(index, dash)| format!(".chart .d{index}{{stroke-dasharray:{dash}}}"));
    format!(
        ".chart{{font:11px system-ui,sans-serif}}.chart .back{{fill:$card}}.chart text{{fill:$soft}}\
         .chart .title{{fill:$ink;font-weight:600;font-size:12px}}.chart .grid{{stroke:$grid}}{}\
         .chart .curve{{fill:none;stroke-width:1.6;stroke-linejoin:round}}.chart .ring{{fill:none;stroke-width:2}}\
         .chart .bar{{stroke:none}}.chart .part{{stroke-width:1}}.chart .dashed{{stroke-dasharray:5 3}}{}\
         .chart .end{{text-anchor:end}}.chart .middle{{text-anchor:middle}}",
        own.collect::<String>(),
        dashes.collect::<String>()
    )
}

/// What a plot is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Look {
    /// Curves differ by their colours.
    Screen,
    /// Curves also differ by dashes and marks, parts of columns by how dark they are.
    Print,
}

impl Look {
    /// The class of a line's dashes.
    fn dashes(self, colour: usize) -> String {
        if self == Self::Print {
            format!("{} d{}", class(colour), colour % DASHES.len())
        } else {
            class(colour)
        }
    }

    /// A mark at a point.
    fn mark(self, svg: &mut String, colour: usize, (x, y): (f64, f64)) {
        let class = class(colour);
        let path = match (self, colour % 4) {
            (Self::Screen, _) | (_, 0) => return circle(svg, &class, (x, y), 2.5),
            (_, 1) => format!("M{:.1} {:.1}h5.6v5.6h-5.6z", x - 2.8, y - 2.8),
            (_, 2) => format!("M{x:.1} {:.1}l3.6 6.4h-7.2z", y - 4.0),
            _ => format!("M{x:.1} {:.1}l3.8 3.8l-3.8 3.8l-3.8 -3.8z", y - 3.8),
        };
        // Writing to a String does not fail.
        let _ = write!(svg, "<path class=\"{class}\" d=\"{path}\"/>");
    }

    /// How dark a part of a column is.
    fn shade(self, colour: usize) -> f64 {
        const SHADES: [f64; 4] = [1.0, 0.6, 0.3, 0.1];
        if self == Self::Print { SHADES[colour % SHADES.len()] } else { 1.0 }
    }
}

/// Dashes of lines, in turn; the first has none.
const DASHES: [&str; 5] = ["none", "7 3", "2 2.5", "9 3 2 3", "12 4 2 4 2 4"];

/// Where the axes of a panel stand, in pixels.
#[derive(Debug, Clone, Copy)]
struct Area {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

impl Panel {
    /// Whether a curve is drawn with fewer points than it has.
    fn is_reduced(&self) -> bool {
        matches!(&self.content, Content::Curves(curves) if curves.iter().any(|curve| is_reduced(&curve.points)))
    }

    fn names(&self) -> Vec<&str> {
        match &self.content {
            Content::Curves(curves) | Content::Columns(curves) => {
                curves.iter().map(|curve| curve.name.as_str()).collect()
            }
            Content::Bars(bars) => bars.iter().map(|bars| bars.name.as_str()).collect(),
        }
    }

    fn draw(&self, svg: &mut String, area: &Area, look: Look) {
        let place = |value: f64, (low, high): (f64, f64), from: f64, to: f64| {
            from + (value.clamp(low, high) - low) / (high - low) * (to - from)
        };
        let x = |value| place(value, self.x.range, area.left, area.right);
        let y = |value| place(value, self.y.range, area.bottom, area.top);
        for (tick, label) in self.x.ticks(7.0) {
            line(svg, "grid upright", (x(tick), area.top), (x(tick), area.bottom));
            text(svg, x(tick), area.bottom + 13.0, "middle", &label);
        }
        text(svg, f64::midpoint(area.left, area.right), area.bottom + 27.0, "middle", &self.x.label);
        let middle = f64::midpoint(area.top, area.bottom);
        // Writing to a String does not fail.
        let _ = write!(
            svg,
            "<text class=\"middle\" transform=\"translate(12 {middle:.1}) rotate(-90)\">{}</text>",
            escaped(&self.y.label)
        );
        match &self.content {
            Content::Curves(curves) => {
                self.draw_levels(svg, area, y);
                for curve in curves {
                    let _ = write!(svg, "<g data-curve=\"{}\">", curve.colour);
                    curve.draw(svg, (x, y), look);
                    svg.push_str("</g>");
                }
                draw_legend(svg, area, curves, look);
            }
            Content::Columns(parts) => {
                self.draw_levels(svg, area, y);
                let columns = parts.iter().map(|part| part.points.len()).max().unwrap_or(0).max(1);
                let width = 0.5 * (area.right - area.left) / columns as f64;
                let mut below: Vec<(f64, f64)> = Vec::new();
                for part in parts {
                    for point in &part.points {
                        let place = below.iter().position(|column| column.0 == point.x);
                        let place = place.unwrap_or_else(|| {
                            below.push((point.x, 0.0));
                            below.len() - 1
                        });
                        let from = below[place].1;
                        below[place].1 += point.y;
                        let (top, bottom) = (y(from + point.y), y(from));
                        let _ = write!(
                            svg,
                            "<rect class=\"part {}\" fill-opacity=\"{}\" x=\"{:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{:.1}\"/>",
                            class(part.colour),
                            look.shade(part.colour),
                            x(point.x) - 0.5 * width,
                            bottom - top
                        );
                    }
                }
                draw_legend(svg, area, parts, look);
            }
            Content::Bars(rows) => {
                let height = (area.bottom - area.top) / rows.len().max(1) as f64;
                for (index, row) in rows.iter().enumerate() {
                    let top = area.top + height * index as f64;
                    for &(from, to) in &row.spans {
                        let (left, top) = (x(from), top + 0.2 * height);
                        let (width, height) = (x(to) - left, 0.6 * height);
                        let class = class(row.colour);
                        let _ = write!(
                            svg,
                            "<rect class=\"bar {class}\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"/>"
                        );
                    }
                    text(svg, area.right + 8.0, top + 0.5 * height + 4.0, "", &row.name);
                }
            }
        }
    }
}

impl Panel {
    /// The grid's levels and their labels.
    fn draw_levels(&self, svg: &mut String, area: &Area, y: impl Fn(f64) -> f64) {
        for (tick, label) in self.y.ticks(5.0) {
            line(svg, "grid", (area.left, y(tick)), (area.right, y(tick)));
            text(svg, area.left - 5.0, y(tick) + 4.0, "end", &label);
        }
    }
}

/// The names of curves, at the right of the axes.
fn draw_legend(svg: &mut String, area: &Area, curves: &[Curve], look: Look) {
    let step = LINE.min((area.bottom - area.top) / curves.len().max(1) as f64);
    for (index, curve) in curves.iter().filter(|curve| !curve.name.is_empty()).enumerate() {
        let at = area.top + 4.0 + step * index as f64;
        let from = area.right + 10.0;
        if curve.is_line {
            line(svg, &format!("curve {}", look.dashes(curve.colour)), (from, at), (from + 16.0, at));
            if look == Look::Print {
                look.mark(svg, curve.colour, (from + 8.0, at));
            }
        } else {
            circle(svg, &format!("ring {}", class(curve.colour)), (from + 8.0, at), 4.0);
        }
        text(svg, from + 22.0, at + 4.0, "", &curve.name);
    }
}

impl Axis {
    /// The values with a label, where they are round about `count` of them.
    fn ticks(&self, count: f64) -> Vec<(f64, String)> {
        if self.marks.is_empty() {
            return ticks(self.range, count);
        }
        self.marks.iter().enumerate().map(|(index, mark)| (index as f64, mark.clone())).collect()
    }
}

impl Curve {
    fn draw(&self, svg: &mut String, (x, y): (impl Fn(f64) -> f64, impl Fn(f64) -> f64), look: Look) {
        let class = class(self.colour);
        let points = thinned(&self.points);
        if !self.is_line {
            return points
                .iter()
                .for_each(|at| circle(svg, &format!("ring {class}"), (x(at.x), y(at.y)), 5.0));
        }
        let places: Vec<String> = points.iter().map(|at| format!("{:.1},{:.1}", x(at.x), y(at.y))).collect();
        let dashes = look.dashes(self.colour);
        let _ = write!(svg, "<polyline class=\"curve {dashes}\" points=\"{}\"/>", places.join(" "));
        let is_marked = points.len() <= MARKED;
        if look == Look::Print && !is_marked {
            // A few marks, not at the same places as those of another curve.
            let step = points.len() / MARKS + 1;
            let marked = points.iter().skip((self.colour * 5) % step).step_by(step);
            marked.for_each(|at| look.mark(svg, self.colour, (x(at.x), y(at.y))));
        }
        for at in points.iter().filter(|_| is_marked) {
            look.mark(svg, self.colour, (x(at.x), y(at.y)));
            if at.ci95 > 0.0 {
                line(svg, &class, (x(at.x), y(at.y - at.ci95)), (x(at.x), y(at.y + at.ci95)));
            }
        }
    }
}

/// The classes of a colour's number.
fn class(colour: usize) -> String {
    let dashed = if colour / NUMBERED % 2 == 1 { " dashed" } else { "" };
    format!("c{}{dashed}", colour % NUMBERED)
}

fn text(svg: &mut String, x: f64, y: f64, class: &str, text: &str) {
    let _ = write!(svg, "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>", escaped(text));
}

fn line(svg: &mut String, class: &str, from: (f64, f64), to: (f64, f64)) {
    let ((x1, y1), (x2, y2)) = (from, to);
    let _ =
        write!(svg, "<line class=\"{class}\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>");
}

fn circle(svg: &mut String, class: &str, (x, y): (f64, f64), radius: f64) {
    let _ = write!(svg, "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\"/>");
}

/// Round values of an axis, about `count` of them, and their labels.
fn ticks((low, high): (f64, f64), count: f64) -> Vec<(f64, String)> {
    if low >= high {
        return Vec::new();
    }
    let rough = (high - low) / count;
    let power = libm::floor(libm::log10(rough));
    let unit = libm::pow(10.0, power);
    let step = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * unit).into_iter().find(|step| *step >= rough);
    let step = step.unwrap_or(rough);
    let digits = (-power).max(0.0) as usize;
    let first = (low / step).ceil() as i64;
    let values = (first..).map(|index| index as f64 * step).take_while(|value| *value <= high + 1e-9 * step);
    values.map(|value| (value, format!("{value:.digits$}"))).collect()
}

/// The least and the greatest of neighbours where there are more than [`MOST_POINTS`], in their order, so that every peak is
/// there; points within a level stretch are left out.
fn thinned(points: &[Point]) -> Vec<Point> {
    if points.len() <= MARKED {
        return points.to_vec();
    }
    let kept = if is_reduced(points) { envelope(points) } else { points.to_vec() };
    let is_level = |index: usize| {
        let near = [index.wrapping_sub(1), index + 1].map(|index| kept.get(index));
        near.iter().all(|point| point.is_some_and(|point| point.y == kept[index].y))
    };
    (0..kept.len()).filter(|&index| !is_level(index)).map(|index| kept[index]).collect()
}

const fn is_reduced(points: &[Point]) -> bool {
    points.len() > MOST_POINTS
}

/// The first and the last point, and of each part between the least and the greatest.
fn envelope(points: &[Point]) -> Vec<Point> {
    let [first, inner @ .., last] = points else { return points.to_vec() };
    let parts = inner.chunks(inner.len().div_ceil(MOST_POINTS / 2));
    let ends = parts.flat_map(|part| {
        let by_value = |a: &usize, b: &usize| part[*a].y.total_cmp(&part[*b].y);
        let least = (0..part.len()).min_by(by_value).unwrap_or(0);
        let greatest = (0..part.len()).max_by(by_value).unwrap_or(0);
        let (one, other) = (least.min(greatest), least.max(greatest));
        if one == other { vec![part[one]] } else { vec![part[one], part[other]] }
    });
    std::iter::once(*first).chain(ends).chain(std::iter::once(*last)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_labels_short() {
        let labels = |range| ticks(range, 5.0).into_iter().map(|(_, label)| label).collect::<Vec<_>>();
        assert_eq!(labels((0.0, 1.0)), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(labels((-3.0, 47.0)), ["0", "10", "20", "30", "40"]);
        assert!(labels((1.0, 1.0)).is_empty());
    }

    #[test]
    fn printed_curves_differ_without_colour_and_columns_stand_on_each_other() {
        let curve = |colour, y| Curve {
            name: format!("curve {colour}"),
            colour,
            points: vec![Point { x: 1.0, y, ci95: 0.0 }, Point { x: 2.0, y, ci95: 0.0 }],
            is_line: true,
        };
        let plot = |content| Plot {
            title: String::new(),
            width: 300.0,
            panel_height: 200.0,
            panels: vec![Panel {
                title: String::new(),
                x: Axis { range: (0.0, 3.0), ..Axis::default() },
                y: Axis { range: (0.0, 4.0), ..Axis::default() },
                content,
            }],
        };
        let curves = plot(Content::Curves(vec![curve(0, 1.0), curve(1, 3.0)]));
        let printed = curves.print_svg();
        assert!(
            printed.contains("curve c0 d0") && printed.contains("curve c1 d1") && printed.contains("<path")
        );
        assert!(!curves.svg().contains("curve c1 d1") && !curves.svg().contains("<path"));
        let columns = plot(Content::Columns(vec![curve(0, 1.0), curve(1, 3.0)])).print_svg();
        assert_eq!(columns.matches("class=\"part c1\" fill-opacity=\"0.6\"").count(), 2);
        let edges = |text: &str| -> Vec<(f64, f64)> {
            let number = |part: &str, key: &str| -> f64 {
                part.split(&format!(" {key}=\""))
                    .nth(1)
                    .and_then(|rest| rest.split('"').next())
                    .unwrap()
                    .parse()
                    .unwrap()
            };
            let parts = text.split("<rect class=\"part").skip(1);
            parts.map(|part| (number(part, "y"), number(part, "height"))).collect()
        };
        let edges = edges(&columns);
        assert!((edges[2].0 + edges[2].1 - edges[0].0).abs() < 0.11, "{edges:?}");
    }

    #[test]
    fn a_long_level_curve_is_short() {
        let point = |index: u32, y| Point { x: f64::from(index), y, ci95: 0.0 };
        let level: Vec<Point> = (0..10_000).map(|index| point(index, 1.0)).collect();
        assert_eq!(thinned(&level).len(), 2);
        let rising: Vec<Point> = (0..10_000).map(|index| point(index, f64::from(index))).collect();
        assert!(thinned(&rising).len() <= MOST_POINTS + 2);
    }

    #[test]
    fn no_peak_is_lost_and_the_plot_says_how_it_is_drawn() {
        let value = |index: u32| match index {
            4321 => 90.0,
            7777 => -40.0,
            _ => f64::from(index % 7),
        };
        let points: Vec<Point> =
            (0..10_000).map(|index| Point { x: f64::from(index), y: value(index), ci95: 0.0 }).collect();
        let drawn = thinned(&points);
        assert!(drawn.iter().all(|point| points.contains(point)), "points of the curve, no means");
        assert!(drawn.is_sorted_by(|a, b| a.x < b.x) && drawn.len() <= MOST_POINTS + 2);
        assert_eq!((drawn.first(), drawn.last()), (points.first(), points.last()));
        for peak in [4321, 7777] {
            assert!(drawn.contains(&points[peak]), "{peak}");
        }
        let plot = |count: usize| Plot {
            title: String::new(),
            width: 300.0,
            panel_height: 200.0,
            panels: vec![Panel {
                title: String::new(),
                x: Axis { range: (0.0, 10_000.0), ..Axis::default() },
                y: Axis { range: (-50.0, 100.0), ..Axis::default() },
                content: Content::Curves(vec![Curve {
                    name: "noisy".into(),
                    colour: 0,
                    points: points[..count].to_vec(),
                    is_line: true,
                }]),
            }],
        };
        assert!(plot(10_000).svg().contains(REDUCED) && !plot(MOST_POINTS).svg().contains(REDUCED));
        assert!(REDUCED.contains(&MOST_POINTS.to_string()));
        let themed = |theme| plot(10).themed_svg(theme);
        assert!(themed(Theme::Auto).contains("prefers-color-scheme"));
        assert!(
            !themed(Theme::Light).contains("prefers-color-scheme") && themed(Theme::Light).contains("#fff")
        );
        assert!(themed(Theme::Dark).contains("#171b1f") && !themed(Theme::Dark).contains("{fill:#fff}"));
        assert!(themed(Theme::Print).contains("curve c0 d0"));
    }
}
