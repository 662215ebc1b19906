//! What a reader can change: every slider runs from end to end, and at a value of the paper it gives the row's own points.

use seaway_papers::report::{Step, step};
use seaway_papers::{Figure, Runner, Slider, papers};
use std::ops::ControlFlow;

/// The row's figures with one seed.
fn made(row: &'static seaway_papers::Experiment, runner: &mut Runner<'_>) -> Vec<Figure> {
    loop {
        match step(row, runner).unwrap() {
            Step::Made(entry) => return entry.figures,
            Step::Left(cases) => assert!(cases < 1000, "{}: {cases} cases are left", row.id),
        }
    }
}

/// A value of the paper at which one of the slider's figures has a point; `None` where they are over time.
fn value_of(figures: &[Figure], slider: &Slider) -> Option<f64> {
    if figures[0].x.starts_with("time") {
        return None;
    }
    let is_inside = |x: &f64| (slider.range.0..=slider.range.1).contains(x);
    figures[0].curves[0].points.iter().map(|point| point.x).rfind(is_inside)
}

#[test]
fn a_slider_at_a_value_of_the_paper_gives_the_rows_points() {
    let watch = |_| ControlFlow::Continue(());
    let mut compared = 0;
    for paper in papers() {
        let mut runner = Runner::new(1, 1, &watch);
        for row in paper.rows {
            let Some(slider) = row.slider else { continue };
            let figures = made(row, &mut runner);
            let Some(value) = value_of(&figures, &slider) else { continue };
            // Table 1 has ten seeds, as the paper.
            let seeds = if row.id == "S000-T1" { 10 } else { 1 };
            let moved = (slider.at)(&mut Runner::new(1, seeds, &watch), value).unwrap();
            for (moved, own) in moved.iter().zip(&figures) {
                assert_eq!((&moved.title, moved.x), (&own.title, own.x), "{}", row.id);
                for curve in &moved.curves {
                    let same = own.curves.iter().find(|own| own.name == curve.name).unwrap();
                    assert!(same.points.contains(&curve.points[0]), "{}: {} at {value}", row.id, curve.name);
                    compared += 1;
                }
            }
        }
    }
    assert!(compared >= 20, "{compared} points were compared");
}

#[test]
fn every_slider_runs_from_end_to_end() {
    let watch = |_| ControlFlow::Continue(());
    for row in seaway_papers::catalogue() {
        let Some(Slider { range: (least, most), start, step, at, .. }) = row.slider else { continue };
        assert!((least..=most).contains(&start) && step > 0.0, "{}", row.id);
        for value in [least, most] {
            let figures = at(&mut Runner::new(1, 1, &watch), value).unwrap();
            let has_points = |figure: &Figure| figure.curves.iter().any(|curve| !curve.points.is_empty());
            assert!(!figures.is_empty() && figures.iter().all(has_points), "{} at {value}", row.id);
        }
    }
}

/// A value over a figure: the colour of its curve, one entry in the legend, a ring; and the plot is as wide as it should be.
#[test]
fn a_point_is_drawn_over_its_curve() {
    let curve = |name: &str, points: &[(f64, f64)]| seaway_papers::figure::line(name, points.iter().copied());
    let figure =
        |curves| Figure { title: "rate".into(), x: "loss", y: "kbit/s", curves, ..Figure::default() };
    let own =
        figure(vec![curve("limit", &[(0.0, 9.0), (1.0, 8.0)]), curve("ours", &[(0.0, 5.0), (1.0, 4.0)])]);
    let over = figure(vec![curve("ours", &[(0.5, 12.0)])]);
    let plot = own.plot_with(&over).fitted(400.0);
    assert!(plot.panels[0].y.range.1 > 12.0, "the axis reaches to the value");
    let svg = plot.svg();
    assert!(svg.contains("width=\"400\"") && svg.contains("ring c1"), "{svg}");
    assert_eq!(svg.matches(">ours<").count(), 1, "{svg}");
}
