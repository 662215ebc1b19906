//! All rows, made again: no verdict changes unseen, and no claim holds with a wrong model.
//!
//! `SEAWAY_BLESS=1` writes `verdicts.txt` again.

use seaway_papers::report::{Entry, Report, opposite_misses};
use seaway_papers::{Runner, catalogue};
use std::fmt::Write;
use std::ops::ControlFlow;
use std::path::Path;

/// As `seaway reproduce` has by itself.
const SEEDS: u16 = 5;
/// A wrong model misses by more than seeds differ.
const SEEDS_OF_OPPOSITES: u16 = 2;

fn line(entry: &Entry) -> String {
    format!("{:<9} {}", entry.id, entry.verdict_text())
}

#[test]
fn every_verdict_is_the_one_that_is_written_down() {
    let rows: Vec<_> = catalogue().collect();
    let watch = |_| ControlFlow::Continue(());
    let report = Report::of(&rows, &mut Runner::new(1, SEEDS, &watch), &mut |_| ()).unwrap();
    let mut found = String::new();
    for entry in &report.experiments {
        assert!(entry.own_readings.is_empty(), "{}: {:?}", entry.id, entry.own_readings);
        writeln!(found, "{}", line(entry)).unwrap();
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/verdicts.txt");
    if std::env::var_os("SEAWAY_BLESS").is_some() {
        std::fs::write(&path, &found).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap();
    let differing: Vec<_> = written.lines().zip(found.lines()).filter(|(was, is)| was != is).collect();
    assert!(differing.is_empty() && written.lines().count() == found.lines().count(), "{differing:#?}");
}

#[test]
fn every_wrong_model_misses_its_row() {
    let watch = |_| ControlFlow::Continue(());
    let mut holding = Vec::new();
    for row in catalogue() {
        let mut runner = Runner::new(1, SEEDS_OF_OPPOSITES, &watch);
        if opposite_misses(row, &mut runner).unwrap() == Some(false) {
            holding.push(row.id);
        }
    }
    assert!(holding.is_empty(), "these hold with a wrong model: {holding:?}");
}
