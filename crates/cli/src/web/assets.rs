//! The files of the page, inside the binary.

use axum::http::{StatusCode, Uri, header};
use axum::response::{Html, IntoResponse, Response};
use rust_embed::RustEmbed;

#[derive(RustEmbed)]
#[folder = "page/dist"]
struct Files;

const NOT_BUILT: &str = "<!doctype html><title>Seaway</title><p>This binary was built without its page. \
    <code>make</code> builds the page and the binary again.</p>";

/// The file that `uri` names.
pub(super) async fn file(uri: Uri) -> Response {
    let path = match uri.path().trim_start_matches('/') {
        "" => "index.html",
        path => path,
    };
    match Files::get(path) {
        Some(file) => {
            let kind = file.metadata.mimetype().to_owned();
            ([(header::CONTENT_TYPE, kind)], file.data).into_response()
        }
        None if path == "index.html" => Html(NOT_BUILT).into_response(),
        None => (StatusCode::NOT_FOUND, "no such file").into_response(),
    }
}
