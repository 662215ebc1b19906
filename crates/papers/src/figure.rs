//! A figure, with the axes that the paper has.

use seaway_quality::statistics::Estimate;
use seaway_report::plot::{Axis, Content, Curve, Panel, Plot, Point};

/// Curves over one pair of axes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Figure {
    /// What it shows.
    pub title: String,
    /// The axis to the right, with its unit.
    pub x: &'static str,
    /// The axis upwards, with its unit.
    pub y: &'static str,
    /// What is drawn; the colour of a curve is that of its place.
    pub curves: Vec<Curve>,
    /// Columns in the place of curves: what stands at the same place to the right, one above another.
    pub stacked: bool,
}

/// A line through exact points.
pub fn line(name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Curve {
    let points = points.into_iter().map(|(x, y)| Point { x, y, ci95: 0.0 }).collect();
    Curve { name: name.into(), colour: 0, points, is_line: true }
}

/// A line through the means of several seeds, with their intervals.
pub fn of_seeds(name: impl Into<String>, points: impl IntoIterator<Item = (f64, Vec<f64>)>) -> Curve {
    let points = points.into_iter().filter_map(|(x, values)| {
        let estimate = Estimate::of(&values)?;
        Some(Point { x, y: estimate.mean, ci95: estimate.ci95.unwrap_or(0.0) })
    });
    Curve { name: name.into(), colour: 0, points: points.collect(), is_line: true }
}

/// The points that the paper printed.
pub fn printed(points: impl IntoIterator<Item = (f64, f64)>) -> Curve {
    Curve { is_line: false, ..line("paper", points) }
}

impl Figure {
    /// The figure as a plot. Without a point it has empty axes.
    pub fn plot(&self) -> Plot {
        let (x, y) = self.ranges();
        let curves = self.curves.iter().cloned().enumerate();
        let curves = curves.map(|(colour, curve)| Curve { colour, ..curve }).collect();
        let panel = Panel {
            title: self.title.clone(),
            x: Axis { label: self.x.to_owned(), range: x, ..Axis::default() },
            y: Axis { label: self.y.to_owned(), range: y, ..Axis::default() },
            content: if self.stacked { Content::Columns(curves) } else { Content::Curves(curves) },
        };
        Plot { title: String::new(), width: 520.0, panel_height: 300.0, panels: vec![panel] }
    }

    /// The figure with another over it: curves of the same name have one colour, and a single point is a ring.
    pub fn plot_with(&self, over: &Self) -> Plot {
        let both = Self { curves: [&self.curves[..], &over.curves[..]].concat(), ..self.clone() };
        let mut plot = both.plot();
        let own = self.curves.len();
        for panel in &mut plot.panels {
            let (Content::Curves(curves) | Content::Columns(curves)) = &mut panel.content else { continue };
            for place in own..curves.len() {
                let named = curves[..own].iter().position(|curve| curve.name == curves[place].name);
                let curve = &mut curves[place];
                curve.is_line = curve.points.len() > 1;
                if let Some(named) = named {
                    curve.colour = named;
                    // One entry in the legend is enough.
                    curve.name.clear();
                }
            }
        }
        plot
    }

    /// All points with their intervals. Zero belongs to the axis upwards unless all values are far from it.
    fn ranges(&self) -> ((f64, f64), (f64, f64)) {
        if self.stacked {
            return self.ranges_of_columns();
        }
        let points = || self.curves.iter().flat_map(|curve| &curve.points);
        let least = |values: &mut dyn Iterator<Item = f64>| values.fold(f64::INFINITY, f64::min);
        let most = |values: &mut dyn Iterator<Item = f64>| values.fold(f64::NEG_INFINITY, f64::max);
        let x = (least(&mut points().map(|point| point.x)), most(&mut points().map(|point| point.x)));
        let low = least(&mut points().map(|point| point.y - point.ci95));
        let high = most(&mut points().map(|point| point.y + point.ci95));
        if !(x.0.is_finite() && low.is_finite() && high.is_finite()) {
            return ((0.0, 1.0), (0.0, 1.0));
        }
        let low = if low > 0.0 && low < high * 0.7 { 0.0 } else { low };
        let room = if high > low { (high - low) * 0.08 } else { high.abs().max(1.0) * 0.1 };
        let right = if x.1 > x.0 { x.1 } else { x.0 + 1.0 };
        ((x.0, right), (low, high + room))
    }
}

impl Figure {
    /// Half a column on both sides; from zero to the highest column.
    fn ranges_of_columns(&self) -> ((f64, f64), (f64, f64)) {
        let points = || self.curves.iter().flat_map(|curve| &curve.points);
        let (least, most) = points()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), point| (a.min(point.x), b.max(point.x)));
        let column = |at: f64| points().filter(|point| point.x == at).map(|point| point.y).sum::<f64>();
        let highest = points().map(|point| column(point.x)).fold(0.0, f64::max);
        if !(least.is_finite() && most.is_finite()) {
            return ((0.0, 1.0), (0.0, 1.0));
        }
        ((least - 0.5, most + 0.5), (0.0, highest.max(1.0) * 1.08))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_names_its_axes_and_curves() {
        let curves =
            vec![of_seeds("ours", [(0.0, vec![1.0, 2.0]), (1.0, vec![2.0, 2.5])]), printed([(1.0, 2.2)])];
        let svg = Figure { title: "A title".into(), x: "loss", y: "Mbit/s", curves, ..Figure::default() }
            .plot()
            .svg();
        for expected in ["<svg", "A title", "loss", "Mbit/s", "ours", "paper"] {
            assert!(svg.contains(expected), "{expected}");
        }
    }

    #[test]
    fn nothing_and_one_point_can_be_drawn() {
        let empty = Figure { title: "empty".into(), x: "x", y: "y", curves: Vec::new(), ..Figure::default() };
        assert!(empty.plot().svg().contains("empty"));
        assert!(Figure { curves: vec![line("flat", [(3.0, 0.0)])], ..empty }.plot().svg().contains("flat"));
    }
}
