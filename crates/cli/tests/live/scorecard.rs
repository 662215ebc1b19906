//! `seaway scorecard`, and its page in Chromium: `browser/scorecard.mjs` looks, chooses and reads.

use super::browser::{SCRIPTS, is_there};
use super::process::{Live, seaway};
use super::schema::check;
use std::path::Path;
use std::process::Command;

fn scorecard(folder: &Path, more: &[&str]) -> (Option<i32>, String, String) {
    let output = seaway(folder, &[["scorecard"].as_slice(), more].concat()).output().unwrap();
    let text = |octets| String::from_utf8(octets).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn controllers_are_scored() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let few = ["--suite", "curves", "--control", "tfrc,gcc", "--seeds", "2"];
    let (code, table, notes) = scorecard(at, &[few.as_slice(), &["-o", "out"]].concat());
    assert_eq!(code, Some(0), "{notes}");
    assert!(table.contains("curves: means over 28 cases and 2 seeds"), "{table}");
    assert!(table.contains("PSNR is modelled"), "{table}");
    for name in ["index.html", "scorecard.json", "scorecard.csv", "run.json"] {
        assert!(at.join("out").join(name).metadata().unwrap().len() > 50, "{name}");
    }
    // The same bytes each time, whichever run ended first.
    let (_, document, _) = scorecard(at, &[few.as_slice(), &["--json"]].concat());
    check("scorecard", &serde_json::from_str(&document).unwrap());
    assert!(document == std::fs::read_to_string(at.join("out/scorecard.json")).unwrap());
    assert!(!at.join("scorecard.html").exists(), "no page beside a document");

    if !is_there() {
        return;
    }
    let mut command = Command::new("node");
    command.arg("scorecard.mjs").arg(at.join("out/index.html")).arg(at).current_dir(SCRIPTS);
    let (status, steps, notes) = Live::start(command).end();
    assert!(status.success(), "{steps}{notes}");
    for name in ["scorecard.png", "scorecard-phone.png"] {
        assert!(at.join(name).metadata().unwrap().len() > 10_000, "{name}");
    }
}

/// The exit code is that of `seaway` where it is on the card, else of the first controller.
#[test]
fn bars_are_held_or_missed() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let few = ["--suite", "real-loss", "--seeds", "1", "--control", "fixed(rate=1 Mbit/s)"];
    let (code, table, notes) = scorecard(at, &[few.as_slice(), &["-o", "out"]].concat());
    assert_eq!(code, Some(3), "{notes}");
    assert!(table.contains("Wi-Fi") && table.contains("rows whole of 3"), "{table}");
    let bars = std::fs::read_to_string(at.join("out/bars.csv")).unwrap();
    assert!(
        bars.contains("real-loss,use,\"Wi-Fi\",\"utilisation\",%,97,,\"fixed(rate=1 Mbit/s)\",9."),
        "{bars}"
    );
    let (_, document, _) = scorecard(at, &[few.as_slice(), &["--json"]].concat());
    check("scorecard", &serde_json::from_str(&document).unwrap());
    let card: serde_json::Value = serde_json::from_str(&document).unwrap();
    let rows = card["rows"].as_array().unwrap();
    assert!(rows.iter().all(|row| row["whole"] == serde_json::json!([false])), "{document}");
}

#[test]
fn wrong_usage_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (more, reason) in [
        (["--control", "nadda"].as_slice(), "did you mean nada?"),
        (&["--control", "tfrc,tfrc"], "tfrc is there twice"),
        (&["--control", "buffer-type1"], "no controller is left"),
        (&["--suite", "rfc8868"], "did you mean rfc8867 or rfc8869?"),
        (&["--seeds", "0"], "1..=1000"),
    ] {
        let (code, said, notes) = scorecard(folder.path(), more);
        assert_eq!((code, said.as_str()), (Some(2), ""), "{more:?}: {notes}");
        assert!(notes.contains(reason), "{more:?}: {notes}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing was written");
}
