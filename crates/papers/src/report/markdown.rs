//! A page of `docs/papers` for each paper.

use super::{Counts, Entry, PaperReadings, Report, Verdict};
use crate::results::{Check, shortened};
use std::fmt::Write;

/// The pages: a file's name and its text. Figures stand beside them, named by [`figure_name`].
pub fn markdown(report: &Report) -> Vec<(String, String)> {
    report
        .readings
        .iter()
        .map(|paper| (format!("{}.md", paper.paper.to_lowercase()), page(report, paper)))
        .collect()
}

/// The file of an entry's figure, counted from 1.
pub fn figure_name(entry: &Entry, number: usize) -> String {
    format!("figures/{}-{number}.svg", entry.id)
}

fn page(report: &Report, paper: &PaperReadings) -> String {
    let entries: Vec<&Entry> =
        report.experiments.iter().filter(|entry| entry.id.starts_with(paper.paper)).collect();
    let counts = Counts::of(entries.iter().copied());
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "# {}: {}\n\n{}\n\n## The rows\n\n\
         `make papers` wrote this page from what `seaway reproduce --seed-paper {}` finds: seeds {} to {}, ± is a 95 % \
         interval over them. {}.\n\n\
         | id | what | paper | ours | verdict |\n| --- | --- | --- | --- | --- |",
        paper.paper,
        paper.title,
        paper.account.trim_end(),
        paper.paper,
        report.seeds.first().copied().unwrap_or_default(),
        report.seeds.last().copied().unwrap_or_default(),
        super::counts_line(&counts),
    );
    for entry in &entries {
        let verdict = entry.verdict_text();
        let row = [
            format!("[{0}](#{1})", entry.id, entry.id.to_lowercase()),
            cell(entry.title),
            cell(entry.reported),
            ours(entry),
            if entry.verdict == Verdict::Missed { format!("**{verdict}**") } else { verdict },
        ];
        let _ = writeln!(text, "| {} |", row.join(" | "));
    }
    for entry in &entries {
        section(&mut text, entry);
    }
    readings(&mut text, paper);
    text
}

/// The numbers that count, in a line; of many, first those that fail.
fn ours(entry: &Entry) -> String {
    const SHOWN: usize = 3;
    let checked: Vec<&Check> = entry.checks.iter().filter(|check| check.counts).collect();
    if checked.is_empty() {
        return cell(entry.where_or_why.unwrap_or_default());
    }
    let mut order = checked.clone();
    order.sort_by_key(|check| check.held);
    let line = |check: &&Check| cell(&format!("{}: {}", check.what, value(check)));
    let shown: Vec<String> = order.iter().take(SHOWN).map(line).collect();
    let held = checked.iter().filter(|check| check.held).count();
    if checked.len() > SHOWN {
        return format!("{}; … {held} of {} held", shown.join("; "), checked.len());
    }
    shown.join("; ")
}

fn value(check: &Check) -> String {
    let interval = check.ci95.map_or_else(String::new, |ci95| format!(" ± {}", shortened(ci95)));
    let unit = if check.unit.is_empty() { String::new() } else { format!(" {}", check.unit) };
    format!("{}{interval}{unit}", shortened(check.ours))
}

fn section(text: &mut String, entry: &Entry) {
    let _ = writeln!(text, "\n## {}\n\n{}: {}.", entry.id, entry.title, entry.verdict_text());
    let _ = writeln!(text, "Claim: {}.", entry.claim);
    if !entry.own_readings.is_empty() {
        let _ = writeln!(text, "Its own Reading: `{}`.", entry.own_readings.join("`, `"));
    }
    if let Some(what) = entry.opposite {
        let _ = writeln!(text, "Misses it: {what}.");
    }
    if let Some(place) = entry.where_or_why {
        let what = if entry.verdict == Verdict::NotYet { "Waits for" } else { "Shown by" };
        let _ = writeln!(text, "{what}: {place}.");
    }
    if let Some(substitute) = entry.substitute {
        let _ = writeln!(text, "**Substitute**: {substitute}.");
    }
    for remark in &entry.remarks {
        let _ = writeln!(text, "\n{remark}");
    }
    if !entry.checks.is_empty() {
        let _ = writeln!(text, "\n| number | paper | ours | tolerance | |\n| --- | --- | --- | --- | --- |");
    }
    for check in &entry.checks {
        let verdict = match (check.counts, check.held) {
            (false, _) => "reported",
            (true, true) => "held",
            (true, false) => "**missed**",
        };
        let paper = check.paper.map(shortened).unwrap_or_default();
        let _ = writeln!(
            text,
            "| {} | {paper} | {} | {} | {verdict} |",
            cell(&check.what),
            value(check),
            check.tolerance
        );
    }
    for (number, figure) in (1..).zip(&entry.figures) {
        let _ = writeln!(text, "\n![{}]({})", figure.title, figure_name(entry, number));
    }
    for (name, value) in &entry.parameters.0 {
        let _ = writeln!(text, "\n{name}: `{value}`");
    }
}

fn readings(text: &mut String, paper: &PaperReadings) {
    if paper.readings.is_empty() {
        return;
    }
    let _ = writeln!(
        text,
        "\n## How the paper is read\n\nWhere it is silent or contradicts itself. One set for all rows.\n\n\
         Left out at the beginning: {}.\n\n\
         | subject | taken | literal | reason |\n| --- | --- | --- | --- |",
        paper.settled
    );
    for reading in paper.readings {
        let cells = [reading.subject, reading.taken, reading.literal, reading.reason].map(cell);
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    }
}

/// A bar ends a cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pages agree with the rows and Readings; `make papers` writes them again.
    #[test]
    fn the_pages_in_docs_are_of_these_rows() {
        for paper in crate::papers() {
            let name =
                format!("{}/../../docs/papers/{}.md", env!("CARGO_MANIFEST_DIR"), paper.id.to_lowercase());
            let text = std::fs::read_to_string(&name).unwrap_or_else(|error| panic!("{name}: {error}"));
            for row in paper.rows {
                let line = text.lines().find(|line| line.starts_with(&format!("| [{}]", row.id)));
                let line = line.unwrap_or_else(|| panic!("{name} has no {}", row.id));
                assert!(line.contains(&cell(row.reported)), "{name}: {line}");
                let is_made = !matches!(row.method, crate::Method::NotYet(_));
                assert_eq!(is_made, !line.ends_with("| not yet |"), "{name}: {line}");
            }
            for reading in paper.readings {
                assert!(text.contains(&cell(reading.taken)), "{name} lacks {:?}", reading.subject);
            }
        }
    }
}
