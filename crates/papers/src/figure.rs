//! A plot, drawn as the paper drew it.

use plotters::prelude::*;
use seaway_lab::plot::COLOURS;
use seaway_quality::statistics::Estimate;

/// Curves over one pair of axes.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// What it shows.
    pub title: String,
    /// The axis to the right, with its unit.
    pub x: &'static str,
    /// The axis upwards, with its unit.
    pub y: &'static str,
    /// What is drawn.
    pub curves: Vec<Curve>,
}

/// A curve: a line through its points, or points alone.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// Its name in the legend.
    pub name: String,
    /// Where it goes.
    pub points: Vec<Point>,
    /// False for points without a line: what a paper printed.
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

impl Curve {
    /// A line through exact points.
    pub fn line(name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let points = points.into_iter().map(|(x, y)| Point { x, y, ci95: 0.0 }).collect();
        Self { name: name.into(), points, is_line: true }
    }

    /// A line through the means of several seeds, with their intervals.
    pub fn of_seeds(name: impl Into<String>, points: impl IntoIterator<Item = (f64, Vec<f64>)>) -> Self {
        let points = points.into_iter().filter_map(|(x, values)| {
            let estimate = Estimate::of(&values)?;
            Some(Point { x, y: estimate.mean, ci95: estimate.ci95.unwrap_or(0.0) })
        });
        Self { name: name.into(), points: points.collect(), is_line: true }
    }

    /// What the paper printed.
    pub fn printed(points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        Self { is_line: false, ..Self::line("paper", points) }
    }
}

const SIZE: (u32, u32) = (640, 300);
/// Points of a line; beyond that, neighbours are averaged.
const MOST_POINTS: usize = 400;

impl Figure {
    /// Draws it as an SVG document. A figure without a point is an empty frame.
    ///
    /// # Errors
    /// What the drawing library has to say; there is no I/O.
    pub fn svg(&self) -> Result<String, String> {
        let mut document = String::new();
        {
            let root = SVGBackend::with_string(&mut document, SIZE).into_drawing_area();
            self.draw(&root).map_err(|error| error.to_string())?;
            root.present().map_err(|error| error.to_string())?;
        }
        Ok(document)
    }

    fn draw<DB: DrawingBackend>(
        &self,
        root: &DrawingArea<DB, plotters::coord::Shift>,
    ) -> Result<(), DrawingAreaErrorKind<DB::ErrorType>> {
        root.fill(&WHITE)?;
        let (x, y) = self.ranges();
        let mut chart = ChartBuilder::on(root)
            .caption(&self.title, ("sans-serif", 14))
            .margin(8)
            .x_label_area_size(34)
            .y_label_area_size(58)
            .build_cartesian_2d(x, y)?;
        let mesh = &mut chart.configure_mesh();
        mesh.light_line_style(TRANSPARENT)
            .x_desc(self.x)
            .y_desc(self.y)
            .label_style(("sans-serif", 11))
            .draw()?;
        for (index, curve) in self.curves.iter().enumerate() {
            let colour = COLOURS[index % COLOURS.len()];
            let points = thinned(&curve.points);
            let marks = points.len() <= 30;
            let drawn = if curve.is_line {
                chart.draw_series(LineSeries::new(points.iter().map(|point| (point.x, point.y)), colour))?
            } else {
                let ring = |point: &Point| Circle::new((point.x, point.y), 5, colour.stroke_width(2));
                chart.draw_series(points.iter().map(ring))?
            };
            drawn
                .label(&curve.name)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], colour.stroke_width(2)));
            if curve.is_line && marks {
                let dot = |point: &Point| Circle::new((point.x, point.y), 3, colour.filled());
                chart.draw_series(points.iter().map(dot))?;
                let bar = |point: &Point| {
                    PathElement::new(
                        [(point.x, point.y - point.ci95), (point.x, point.y + point.ci95)],
                        colour,
                    )
                };
                chart.draw_series(points.iter().map(bar))?;
            }
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperRight)
            .background_style(WHITE.mix(0.8))
            .label_font(("sans-serif", 11))
            .draw()
    }

    /// All points with their intervals; zero belongs to the axis upwards unless everything is far from it.
    fn ranges(&self) -> (std::ops::Range<f64>, std::ops::Range<f64>) {
        let points = || self.curves.iter().flat_map(|curve| &curve.points);
        let least = |values: &mut dyn Iterator<Item = f64>| values.fold(f64::INFINITY, f64::min);
        let most = |values: &mut dyn Iterator<Item = f64>| values.fold(f64::NEG_INFINITY, f64::max);
        let x = (least(&mut points().map(|point| point.x)), most(&mut points().map(|point| point.x)));
        let low = least(&mut points().map(|point| point.y - point.ci95));
        let high = most(&mut points().map(|point| point.y + point.ci95));
        if !(x.0.is_finite() && low.is_finite() && high.is_finite()) {
            return (0.0..1.0, 0.0..1.0);
        }
        let low = if low > 0.0 && low < high * 0.7 { 0.0 } else { low };
        let room = if high > low { (high - low) * 0.08 } else { high.abs().max(1.0) * 0.1 };
        let right = if x.1 > x.0 { x.1 } else { x.0 + 1.0 };
        (x.0..right, low..high + room)
    }
}

fn thinned(points: &[Point]) -> Vec<Point> {
    let group = points.len().div_ceil(MOST_POINTS).max(1);
    let mean = |points: &[Point]| {
        let of = |value: fn(&Point) -> f64| points.iter().map(value).sum::<f64>() / points.len() as f64;
        Point { x: of(|point| point.x), y: of(|point| point.y), ci95: of(|point| point.ci95) }
    };
    points.chunks(group).map(mean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_names_its_axes_and_curves() {
        let curves = vec![
            Curve::of_seeds("ours", [(0.0, vec![1.0, 2.0]), (1.0, vec![2.0, 2.5])]),
            Curve::printed([(1.0, 2.2)]),
        ];
        let figure = Figure { title: "A title".into(), x: "loss", y: "Mbit/s", curves };
        let svg = figure.svg().unwrap();
        for expected in ["<svg", "A title", "loss", "Mbit/s", "ours", "paper"] {
            assert!(svg.contains(expected), "{expected}");
        }
    }

    #[test]
    fn nothing_and_one_point_can_be_drawn() {
        let empty = Figure { title: "empty".into(), x: "x", y: "y", curves: Vec::new() };
        assert!(empty.svg().unwrap().contains("empty"));
        let curves = vec![Curve::line("flat", [(3.0, 0.0)])];
        assert!(Figure { curves, ..empty }.svg().is_ok());
    }
}
