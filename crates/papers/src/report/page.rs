//! The page for readers: self-contained, without a script.

use super::{Entry, PaperReadings, Report, Verdict};
use crate::experiment::Kind;
use crate::results::{Check, shortened};
use maud::{Markup, PreEscaped, html};
use seaway_report::page::Page;
use serde_json::Value;

/// The report as one HTML document, with the command that made it in its footer.
pub fn html(report: &Report, command: &str) -> String {
    let sections = report.readings.iter().map(|paper| section(report, paper));
    let counts = &report.counts;
    let body = html! {
        nav { @for entry in &report.experiments {
            a class={ "chip " (class(entry.verdict)) } href={ "#" (entry.id) } { (entry.id) }
        } }
        main { @for section in sections { (section) } }
    };
    Page {
        kind: "reproduce",
        title: "The papers, made again",
        about: "Every table and figure of the papers: what they report, and what comes out here.",
        facts: &[
            super::counts_line(counts),
            format!(
                "{} of {} rows of configuration, schematics and identities shown",
                counts.apart,
                counts.apart + counts.apart_open
            ),
            format!("seeds {}", seeds(&report.seeds)),
        ],
        body: &body.into_string(),
        style: &format!("{}\n{}", include_str!("page.css"), seaway_report::plot::style()),
        scripts: &[],
        data: &Value::Null,
        note: "± is a 95 % interval over the seeds.",
        command,
    }
    .html()
}

fn seeds(seeds: &[u64]) -> String {
    seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")
}

fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Held => "good",
        Verdict::Missed => "bad",
        Verdict::HeldUnderOwnReading | Verdict::Excluded | Verdict::Shown | Verdict::NotYet => "apart",
    }
}

fn section(report: &Report, paper: &PaperReadings) -> Markup {
    let entries = report.experiments.iter().filter(|entry| entry.id.starts_with(paper.paper));
    html! {
        section {
            h2 { (paper.paper) ": " (paper.title) }
            @if !paper.readings.is_empty() {
                details {
                    summary { "How the paper is read where it is silent or contradicts itself" }
                    div class="scroll" { table class="text" {
                        thead { tr { th { "subject" } th { "taken" } th { "literal" } th { "reason" } } }
                        @for reading in paper.readings {
                            tr {
                                td { (reading.subject) } td { (reading.taken) }
                                td { (reading.literal) } td { (reading.reason) }
                            }
                        }
                    } }
                }
            }
            @for entry in entries { (article(entry)) }
        }
    }
}

fn article(entry: &Entry) -> Markup {
    let figures: Vec<String> = entry.figures.iter().map(|figure| figure.plot().print_fragment()).collect();
    html! {
        article id=(entry.id) {
            h3 {
                (entry.id) " " span class="name" { (entry.title) } " "
                span class={ "verdict " (class(entry.verdict)) } { (entry.verdict_text()) }
                @if entry.kind != Kind::Measured { " " span class="verdict apart" { "apart" } }
            }
            p { b { "Paper: " } (entry.reported) }
            p { b { "Claim: " } (entry.claim) }
            @if let Some(text) = entry.where_or_why {
                p { b { @if entry.verdict == Verdict::NotYet { "Waits for: " } @else { "Shown by: " } } (text) }
            }
            @if !entry.own_readings.is_empty() {
                p { b { "Its own Reading: " } (entry.own_readings.join("; ")) }
            }
            @if let Some(text) = entry.opposite { p { b { "Misses it: " } (text) "." } }
            @if let Some(text) = entry.substitute { p { b { "Substitute: " } (text) "." } }
            @if !entry.checks.is_empty() { (checks(&entry.checks)) }
            @if !figures.is_empty() {
                div class="figures" { @for figure in &figures { figure { (PreEscaped(figure)) } } }
            }
            @if !entry.parameters.0.is_empty() {
                p class="hint" { @for (name, value) in &entry.parameters.0 { b { (name) } " " (value) "; " } }
            }
            @for remark in &entry.remarks { p class="hint" { (remark) } }
        }
    }
}

fn checks(checks: &[Check]) -> Markup {
    html! {
        div class="scroll" { table class="text" {
            thead { tr { th { "number" } th { "paper" } th { "ours" } th { "tolerance" } th { } } }
            @for check in checks {
                tr {
                    td { (check.what) @if !check.unit.is_empty() { ", " (check.unit) } }
                    td { @if let Some(paper) = check.paper { (shortened(paper)) } }
                    td {
                        (shortened(check.ours))
                        @if let Some(ci95) = check.ci95 { " ± " (shortened(ci95)) }
                    }
                    td { (check.tolerance) }
                    td {
                        @if !check.counts { "reported" }
                        @else if check.held { span class="good" { "held" } }
                        @else { span class="bad" { "missed" } }
                    }
                }
            }
        } }
    }
}
