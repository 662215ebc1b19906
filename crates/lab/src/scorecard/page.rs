//! The page of a scorecard.

use super::Scorecard;
use seaway_report::page::Page;
use serde_json::json;

pub(super) fn page(card: &Scorecard, command: &str) -> String {
    let count = |number: usize, of: &str| format!("{number} {of}{}", if number == 1 { "" } else { "s" });
    let seeds = match card.seeds {
        1 => format!("seed {}", card.first_seed),
        seeds => format!("{seeds} seeds from {}", card.first_seed),
    };
    Page {
        kind: "scorecard",
        title: "Rate controllers side by side",
        about: "Every controller over the test cases of RFC 8867 and RFC 8869, and over curves of loss, jitter and \
                capacity, in the simulator.",
        facts: &[
            count(card.controls.len(), "controller"),
            count(card.cases.len(), "case"),
            seeds,
            "video: a pre-encoded ladder; quality is modelled".to_owned(),
        ],
        body: include_str!("page/body.html"),
        style: include_str!("page/page.css"),
        scripts: &[include_str!("page/page.js")],
        data: &json!({ "card": card }),
        note: "",
        command,
    }
    .html()
}
