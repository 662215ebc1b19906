//! The page of a scorecard.

use super::Scorecard;
use crate::page::{LOOK, Parts};
use serde_json::json;

const PAGE: Parts = Parts {
    frame: include_str!("page/page.html"),
    styles: &[LOOK, include_str!("page/page.css")],
    script: include_str!("page/page.js"),
};

pub(super) fn page(card: &Scorecard, command: &str) -> String {
    PAGE.assembled("Scorecard", &json!({ "command": command, "card": card }))
}
