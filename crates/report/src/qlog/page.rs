//! The page of a log.

use super::Log;
use crate::metric::Scope;
use crate::page::Page;
use serde_json::{Value, json};

impl Log {
    /// The page that draws the log. `name` is that of its file, `command` what made the page.
    pub fn page(self, name: &str, command: &str) -> String {
        let Self { header, events, damaged } = self;
        html(&json!({ "header": header, "events": events, "damaged": damaged }), name, command)
    }

    /// The page without a log: it draws what is dropped on it.
    pub fn empty_page(command: &str) -> String {
        html(&Value::Null, "Log", command)
    }
}

fn html(log: &Value, name: &str, command: &str) -> String {
    Page {
        kind: "qlog",
        title: name,
        about: "",
        facts: &[],
        body: include_str!("page/body.html"),
        style: include_str!("page/page.css"),
        scripts: &[include_str!("page/log.js"), include_str!("page/page.js")],
        data: &json!({ "metrics": Scope::Live.metrics(), "log": log }),
        note: "A log that is dropped on this page stays on this machine.",
        command,
    }
    .html()
}
