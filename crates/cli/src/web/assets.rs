//! The page of a live session.

use axum::response::Html;
use seaway_report::page::Page;
use serde_json::Value;

/// The page; everything else comes over its socket.
pub(super) async fn page() -> Html<String> {
    let page = Page {
        kind: "live",
        title: "Live session",
        about: "",
        facts: &["connecting…".to_owned()],
        body: include_str!("../../page/body.html"),
        style: include_str!("../../page/page.css"),
        scripts: &[
            include_str!("../../page/pictures.js"),
            include_str!("../../page/controls.js"),
            include_str!("../../page/page.js"),
        ],
        data: &Value::Null,
        note: "",
        command: "",
    };
    Html(page.html())
}
