//! The page of a live session.

use axum::http::{StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use seaway_report::page::Page;
use seaway_stream::fresh_key;
use serde_json::Value;

/// The page; everything else comes over its socket. Its own style and script run, and nothing else.
pub(super) async fn page() -> Response {
    let Ok(nonce) = fresh_key() else { return StatusCode::INTERNAL_SERVER_ERROR.into_response() };
    let nonce = nonce.to_text();
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
            include_str!("../../page/link.js"),
            include_str!("../../page/tools.js"),
            include_str!("../../page/page.js"),
        ],
        data: &Value::Null,
        note: "",
        command: "",
    };
    let marked = |tag: &str| format!("<{tag} nonce=\"{nonce}\">");
    let html =
        page.html().replacen("<style>", &marked("style"), 1).replacen("<script>", &marked("script"), 1);
    let policy = format!(
        "default-src 'none'; style-src 'nonce-{nonce}'; script-src 'nonce-{nonce}'; connect-src 'self'; img-src data:; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    ([(header::CONTENT_SECURITY_POLICY, policy)], Html(html)).into_response()
}
