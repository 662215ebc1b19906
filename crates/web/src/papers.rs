//! The papers' tables and figures, made in the page.

use seaway_papers::report::{Entry, Report, Step, step};
use seaway_papers::{Experiment, Figure, Method, Runner, Slider};
use seaway_report::plot::Plot;
use seaway_units::TimeDelta;
use serde::Serialize;
use std::cell::RefCell;
use std::ops::ControlFlow;

/// The papers.
#[derive(Debug, Serialize)]
pub(crate) struct Listing {
    papers: Vec<ListedPaper>,
}

#[derive(Debug, Serialize)]
struct ListedPaper {
    id: &'static str,
    title: &'static str,
    rows: Vec<ListedRow>,
}

/// A row that is made by runs.
#[derive(Debug, Serialize)]
struct ListedRow {
    id: &'static str,
    title: &'static str,
    reported: &'static str,
    claim: &'static str,
    slider: Option<ListedSlider>,
}

#[derive(Debug, Serialize)]
struct ListedSlider {
    what: &'static str,
    unit: &'static str,
    range: (f64, f64),
    step: f64,
    start: f64,
}

impl Listing {
    pub(crate) fn new() -> Self {
        let paper = |paper: &seaway_papers::Paper| ListedPaper {
            id: paper.id,
            title: paper.title,
            rows: paper.rows.iter().filter(|row| is_made_here(row)).map(ListedRow::of).collect(),
        };
        Self { papers: seaway_papers::papers().iter().map(paper).collect() }
    }
}

/// Diagrams are shown by what they name, and there is no clip here.
fn is_made_here(row: &Experiment) -> bool {
    matches!(row.method, Method::Run(_)) && !row.is_of_clip
}

impl ListedRow {
    fn of(row: &Experiment) -> Self {
        let Experiment { id, title, reported, claim, slider, .. } = *row;
        let slider = slider.map(|Slider { what, unit, range, step, start, .. }| ListedSlider {
            what,
            unit,
            range,
            step,
            start,
        });
        Self { id, title, reported, claim, slider }
    }
}

/// How far a row is.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Progress {
    /// So many cases are known to be left.
    Left(usize),
    Made {
        entry: Box<Entry>,
        figures: Vec<String>,
    },
}

/// What a page works on: one row, with the outcomes of its paper's runs.
struct Desk {
    row: Option<&'static Experiment>,
    runner: Runner<'static>,
    figures: Vec<Figure>,
}

thread_local! {
    static DESK: RefCell<Desk> = RefCell::new(Desk { row: None, runner: runner(1), figures: Vec::new() });
}

fn runner(seeds: u16) -> Runner<'static> {
    Runner::new(1, seeds, &|_: TimeDelta| ControlFlow::Continue(()))
}

fn row(id: &str) -> Result<&'static Experiment, String> {
    let found = seaway_papers::find(id).filter(|row| is_made_here(row));
    found.ok_or_else(|| format!("{id}: no table or figure of that name is made here"))
}

fn at_least_one(seeds: u16) -> Result<u16, String> {
    if seeds == 0 { Err("seeds: expected at least one".to_owned()) } else { Ok(seeds) }
}

/// The document that `seaway reproduce ID… --seeds N --json` prints.
///
/// # Errors
/// There is no such row, or one cannot be run.
pub(crate) fn document(ids: &[String], seeds: u16) -> Result<String, String> {
    let rows = ids.iter().map(|id| row(id)).collect::<Result<Vec<_>, _>>()?;
    let report = Report::of(&rows, &mut runner(at_least_one(seeds)?), &mut |_| ());
    serde_json::to_string_pretty(&report.map_err(|failure| failure.to_string())?)
        .map_err(|error| error.to_string())
}

/// Runs one case more of the row. What is known of another paper or by other seeds is forgotten.
///
/// # Errors
/// There is no such row, or it cannot be run.
pub(crate) fn go_on(id: &str, seeds: u16, width: f64) -> Result<Progress, String> {
    let row = row(id)?;
    let seeds = at_least_one(seeds)?;
    DESK.with_borrow_mut(|desk| {
        let is_kept = desk.row.is_some_and(|last| last.paper() == row.paper());
        if !is_kept || desk.runner.seeds().len() != usize::from(seeds) {
            desk.runner = runner(seeds);
        }
        desk.row = Some(row);
        desk.figures.clear();
        match step(row, &mut desk.runner).map_err(|failure| failure.to_string())? {
            Step::Left(cases) => Ok(Progress::Left(cases)),
            Step::Made(entry) => {
                desk.figures.clone_from(&entry.figures);
                let figures = desk.figures.iter().map(|figure| drawn(figure.plot(), width)).collect();
                Ok(Progress::Made { entry, figures })
            }
        }
    })
}

/// Figures as SVG.
#[derive(Debug, Serialize)]
pub(crate) struct Drawn {
    /// The row's, with what came out at the slider's value over them.
    figures: Vec<String>,
    /// Those of the slider's value by itself.
    beside: Vec<String>,
}

/// The figures of the row that was made last; with a value, its slider's runs are made with one seed.
///
/// # Errors
/// There is no such row, it has no slider, or the value cannot be run.
pub(crate) fn figures(at: Option<f64>, width: f64) -> Result<Drawn, String> {
    DESK.with_borrow(|desk| {
        let moved = at.map(|value| moved(desk.row, value)).transpose()?.unwrap_or_default();
        let is_over = |figure: &Figure| desk.figures.iter().any(|own| own.title == figure.title);
        let figure = |own: &Figure| {
            let over = moved.iter().find(|figure| figure.title == own.title);
            drawn(over.map_or_else(|| own.plot(), |over| own.plot_with(over)), width)
        };
        let beside = moved.iter().filter(|figure| !is_over(figure));
        Ok(Drawn {
            figures: desk.figures.iter().map(figure).collect(),
            beside: beside.map(|figure| drawn(figure.plot(), width)).collect(),
        })
    })
}

fn moved(row: Option<&Experiment>, value: f64) -> Result<Vec<Figure>, String> {
    let row = row.ok_or("no row was made yet")?;
    let slider = row.slider.ok_or_else(|| format!("{} has no slider", row.id))?;
    let (least, most) = slider.range;
    if !(least..=most).contains(&value) {
        return Err(format!("{value}: expected {least} to {most}"));
    }
    (slider.at)(&mut runner(1), value).map_err(|failure| failure.to_string())
}

fn drawn(plot: Plot, width: f64) -> String {
    plot.fitted(width).print_fragment()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_those_that_are_made_by_runs_without_a_clip() {
        let Listing { papers } = Listing::new();
        let rows: Vec<&ListedRow> = papers.iter().flat_map(|paper| &paper.rows).collect();
        let has = |id| rows.iter().any(|row| row.id == id);
        assert!(has("S001-F5b") && has("S002-F7") && has("S003-I1"));
        assert!(!has("S000-F2") && !has("S002-F2") && !has("S002-F3"));
        assert!(rows.iter().filter(|row| row.slider.is_some()).count() > 20);
    }

    #[test]
    fn a_row_is_made_case_by_case_and_a_value_is_drawn_over_it() {
        let mut cases = 0;
        let entry = loop {
            match go_on("S000-F7", 1, 600.0).unwrap() {
                Progress::Left(left) => cases += usize::from(left < 4),
                Progress::Made { entry, figures } => break (entry, figures),
            }
        };
        let whole: serde_json::Value =
            serde_json::from_str(&document(&["S000-F7".into()], 1).unwrap()).unwrap();
        assert_eq!((cases, &serde_json::to_value(&entry.0).unwrap()), (4, &whole["experiments"][0]));
        let drawn = figures(Some(24_576.0), 600.0).unwrap();
        let rings = |svg: &str| svg.matches("class=\"ring").count();
        assert_eq!((drawn.beside.len(), rings(&drawn.figures[0]), rings(&entry.1[0])), (0, 1, 0));
        assert_eq!(figures(None, 600.0).unwrap().figures, entry.1);
        assert!(figures(Some(1.0), 600.0).unwrap_err().contains("expected 4096 to 65536"));
    }

    #[test]
    fn what_cannot_be_made_is_said() {
        assert!(go_on("S002-F2", 1, 600.0).unwrap_err().contains("S002-F2"));
        assert!(document(&["S000-F7".into()], 0).unwrap_err().contains("seeds"));
        assert!(figures(Some(1.0), 600.0).unwrap_err().contains("no row"));
    }
}
