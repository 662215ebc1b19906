//! The tutorial says what happens: every command of it is run in a fresh directory, in order.
//!
//! What was meant to change is blessed with `SEAWAY_BLESS=1 cargo test -p seaway-cli --test cli tutorial`, and read in the
//! difference of the page before it is kept.

use super::util::Bench;
use std::path::Path;
use std::process::Command;

const DOCS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");
const BEGIN: &str = "```console\n";
const END: &str = "```\n";
/// The plots on the page and where the commands leave them.
const PLOTS: [(&str, &str); 2] = [("frozen.svg", "frozen/plot.svg"), ("smooth.svg", "smooth/plot.svg")];

#[test]
fn every_command_prints_what_the_page_shows() {
    if cfg!(not(unix)) {
        return;
    }
    let bench = Bench::new();
    let page = Path::new(DOCS).join("tutorial.md");
    let is_blessed = std::env::var_os("SEAWAY_BLESS").is_some();
    let text = std::fs::read_to_string(&page).unwrap();
    let mut made = String::new();
    let mut rest = text.as_str();
    while let Some((before, after)) = rest.split_once(BEGIN) {
        let (block, after) = after.split_once(END).expect("a block ends");
        made.push_str(before);
        made.push_str(BEGIN);
        for command in block.lines().filter_map(|line| line.strip_prefix("$ ")) {
            made.push_str(&format!("$ {command}\n{}", printed(&bench, command)));
        }
        made.push_str(END);
        rest = after;
    }
    made.push_str(rest);
    assert!(made.matches("$ seaway").count() >= 4, "the tutorial has lost its commands");
    let images = Path::new(DOCS).join("images/tutorial");
    if is_blessed {
        std::fs::write(&page, &made).unwrap();
        for (image, plot) in PLOTS {
            std::fs::write(images.join(image), bench.read(plot)).unwrap();
        }
    }
    assert!(made == text || is_blessed, "the commands now print:\n{made}");
    for (image, plot) in PLOTS {
        let shown = std::fs::read_to_string(images.join(image)).unwrap();
        assert!(shown == bench.read(plot), "{image} is no longer what {plot} is");
    }
}

/// What a shell prints for it, `seaway` being the binary under test.
fn printed(bench: &Bench, command: &str) -> String {
    let binary = Path::new(env!("CARGO_BIN_EXE_seaway")).parent().unwrap().to_owned();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(binary).chain(std::env::split_paths(&path))).unwrap();
    let output = Command::new("sh")
        .args(["-c", command])
        .current_dir(bench.path())
        .env("PATH", path)
        .output()
        .unwrap();
    let notes = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && notes.is_empty(), "{command}: {notes}");
    String::from_utf8(output.stdout).unwrap()
}
