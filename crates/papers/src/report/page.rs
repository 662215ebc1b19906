//! The page for readers: self-contained, without a script.

use super::{Entry, PaperReadings, Report, Verdict};
use crate::experiment::Kind;
use crate::finding::{Check, shortened};
use maud::{DOCTYPE, Markup, PreEscaped, html};

const STYLE: &str = include_str!("page.css");

/// The report as one HTML document.
///
/// # Errors
/// Where a figure cannot be drawn.
pub fn html(report: &Report) -> Result<String, String> {
    let mut sections = Vec::with_capacity(report.readings.len());
    for paper in &report.readings {
        sections.push(section(report, paper)?);
    }
    let counts = &report.counts;
    let judged = counts.held + counts.missed;
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { "The papers, made again" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header {
                    h1 { "The papers, made again" }
                    p {
                        (counts.held) " of " (judged) " measured rows hold, " (counts.not_yet) " are not made yet. "
                        (counts.apart) " of " (counts.apart + counts.apart_open)
                        " configuration, schematic and identity rows are shown apart. "
                        "Seaway " (report.seaway) ", seeds " (seeds(&report.seeds)) "; ± is a 95 % interval over them."
                    }
                    nav { @for entry in &report.experiments {
                        a class=(class(entry.verdict)) href={ "#" (entry.id) } { (entry.id) }
                    } }
                }
                @for section in &sections { (section) }
            }
        }
    };
    Ok(page.into_string())
}

fn seeds(seeds: &[u64]) -> String {
    seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")
}

fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Held => "held",
        Verdict::Missed => "missed",
        Verdict::Shown => "shown",
        Verdict::NotYet => "not-yet",
    }
}

fn section(report: &Report, paper: &PaperReadings) -> Result<Markup, String> {
    let mut articles = Vec::new();
    for entry in report.experiments.iter().filter(|entry| entry.id.starts_with(paper.paper)) {
        articles.push(article(entry)?);
    }
    Ok(html! {
        section {
            h2 { (paper.paper) ": " (paper.title) }
            @if !paper.readings.is_empty() {
                details {
                    summary { "How the paper is read where it is silent or contradicts itself" }
                    div class="wide" { table {
                        tr { th { "subject" } th { "taken" } th { "literal" } th { "reason" } }
                        @for reading in paper.readings {
                            tr {
                                td { (reading.subject) } td { (reading.taken) }
                                td { (reading.literal) } td { (reading.reason) }
                            }
                        }
                    } }
                }
            }
            @for article in &articles { (article) }
        }
    })
}

fn article(entry: &Entry) -> Result<Markup, String> {
    let figures: Vec<String> = entry.figures.iter().map(crate::Figure::svg).collect::<Result<_, String>>()?;
    Ok(html! {
        article id=(entry.id) {
            h3 {
                (entry.id) " " span class="title" { (entry.title) } " "
                span class={ "verdict " (class(entry.verdict)) } { (entry.verdict.as_str()) }
                @if entry.kind != Kind::Measured { " " span class="verdict apart" { "apart" } }
            }
            p { b { "Paper: " } (entry.reported) }
            p { b { "Claim: " } (entry.claim) }
            @if let Some(text) = entry.where_or_why {
                p { b { @if entry.verdict == Verdict::NotYet { "Waits for: " } @else { "Shown by: " } } (text) }
            }
            @if let Some(text) = entry.substitute { p { b { "Substitute: " } (text) "." } }
            @if !entry.checks.is_empty() { (checks(&entry.checks)) }
            @if !figures.is_empty() {
                div class="figures" { @for figure in &figures { figure { (PreEscaped(figure)) } } }
            }
            @if !entry.parameters.0.is_empty() {
                p class="small" { @for (name, value) in &entry.parameters.0 { b { (name) } " " (value) "; " } }
            }
            @for remark in &entry.remarks { p class="small" { (remark) } }
        }
    })
}

fn checks(checks: &[Check]) -> Markup {
    html! {
        div class="wide" { table {
            tr { th { "number" } th { "paper" } th { "ours" } th { "band" } th { } }
            @for check in checks {
                tr {
                    td { (check.what) @if !check.unit.is_empty() { ", " (check.unit) } }
                    td { @if let Some(paper) = check.paper { (shortened(paper)) } }
                    td {
                        (shortened(check.ours))
                        @if let Some(ci95) = check.ci95 { " ± " (shortened(ci95)) }
                    }
                    td { (check.band) }
                    td {
                        @if !check.counts { "told" }
                        @else if check.held { span class="held" { "held" } }
                        @else { span class="missed" { "missed" } }
                    }
                }
            }
        } }
    }
}
