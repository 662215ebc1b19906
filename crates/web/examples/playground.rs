//! Writes the playground and the page of the papers' figures: `playground MODULE PLAYGROUND PAPERS`, where MODULE is the lab as
//! WebAssembly, compressed by gzip.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use seaway_report::page::Page;
use serde_json::Value;
use std::error::Error;
use std::fs;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [module, playground, papers] = arguments.as_slice() else {
        return Err("expected three arguments: the compressed module and the two pages".into());
    };
    let module = STANDARD.encode(fs::read(module)?);
    fs::write(playground, self::playground(&module))?;
    fs::write(papers, self::papers(&module))?;
    Ok(())
}

/// A body with the simulator in it. A page that is opened as a file may fetch nothing, so module and worker are part of it.
fn with_lab(body: &str, module: &str) -> String {
    let parts = [
        ("{{lab}}", include_str!("../page/lab.js")),
        ("{{worker}}", include_str!("../page/worker.js")),
        ("{{module}}", module),
    ];
    parts.iter().fold(body.to_owned(), |body, (place, text)| body.replacen(place, text, 1))
}

const NOTE: &str = "The simulator runs in this page and loads nothing.";

fn playground(module: &str) -> String {
    Page {
        kind: "playground",
        title: "Which rate controller suits your network?",
        about: "Each line is the same video under another rate controller, in the same simulated network. Change the network \
                and see what each makes of it, and why.",
        facts: &[],
        body: &with_lab(include_str!("../page/body.html"), module),
        style: include_str!("../page/page.css"),
        scripts: &[include_str!("../page/page.js"), include_str!("../page/link.js"), include_str!("../page/start.js")],
        data: &Value::Null,
        note: NOTE,
        command: "",
    }
    .html()
}

fn papers(module: &str) -> String {
    Page {
        kind: "papers",
        title: "The papers' figures, live",
        about: "Tables and figures of five papers on rate control, simulated in this page while you look: what each paper reports, \
                and what comes out. Move a slider to go where the paper did not.",
        facts: &[],
        body: &with_lab(include_str!("../page/papers/body.html"), module),
        style: &format!("{}\n{}", include_str!("../page/papers/page.css"), seaway_report::plot::style()),
        scripts: &[include_str!("../page/papers/page.js"), include_str!("../page/papers/start.js")],
        data: &Value::Null,
        note: NOTE,
        command: "",
    }
    .html()
}
