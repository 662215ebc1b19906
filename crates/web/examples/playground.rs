//! Writes the playground: `playground MODULE PAGE`, where MODULE is the lab as WebAssembly, compressed by gzip.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use seaway_report::page::Page;
use serde_json::Value;
use std::error::Error;
use std::fs;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [module, page] = arguments.as_slice() else {
        return Err("expected two arguments: the compressed module and the page".into());
    };
    let html = html(&STANDARD.encode(fs::read(module)?));
    fs::write(page, html)?;
    Ok(())
}

/// The page. A page that is opened as a file may fetch nothing, so module and worker are part of it.
fn html(module: &str) -> String {
    let parts = [
        ("{{lab}}", include_str!("../page/lab.js")),
        ("{{worker}}", include_str!("../page/worker.js")),
        ("{{module}}", module),
    ];
    let body = parts.iter().fold(include_str!("../page/body.html").to_owned(), |body, (place, text)| {
        body.replacen(place, text, 1)
    });
    Page {
        kind: "playground",
        title: "Which rate controller suits your network?",
        about: "Each line is the same video under another rate controller, in the same simulated network. Change the network \
                and see what each makes of it, and why.",
        facts: &[],
        body: &body,
        style: include_str!("../page/page.css"),
        scripts: &[include_str!("../page/page.js"), include_str!("../page/link.js"), include_str!("../page/start.js")],
        data: &Value::Null,
        note: "The simulator runs in this page and loads nothing.",
        command: "",
    }
    .html()
}
