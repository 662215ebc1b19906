//! `seaway compare`, and its page in Chromium: `browser/compare.mjs` looks, plays, scrubs and clicks.

use super::browser::{SCRIPTS, is_there};
use super::process::{Live, seaway};
use super::schema::check;
use std::path::Path;
use std::process::Command;

/// Two seconds of a moving pattern, so small that coding it takes no time.
fn write_clip(path: &Path) {
    let mut file = b"YUV4MPEG2 W192 H112 F25:1\n".to_vec();
    for picture in 0..50_u32 {
        file.extend(b"FRAME\n");
        file.extend((0..192 * 112_u32).map(|at| {
            let (x, y) = (at % 192, at / 192);
            let is_bar = (picture * 3..picture * 3 + 40).contains(&x);
            (if is_bar { 210 - y % 16 } else { 40 + (x * 3 + y * 5) % 120 }) as u8
        }));
        file.extend([110; 192 * 112 / 4]);
        file.extend([140; 192 * 112 / 4]);
    }
    std::fs::write(path, file).unwrap();
}

fn compare(folder: &Path, more: &[&str]) -> (Option<i32>, String, String) {
    let usual = ["compare", "squeeze", "--clip", "clip.y4m", "--set", "duration=4 s"];
    let mut command = seaway(folder, &[usual.as_slice(), more].concat());
    let output = command.env("SEAWAY_CACHE", folder.join("cache")).output().unwrap();
    let text = |octets| String::from_utf8(octets).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn controllers_are_compared_and_runs_remembered() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    write_clip(&at.join("clip.y4m"));
    let (code, table, notes) =
        compare(at, &["--control", "tfrc,fixed(rate=1 Mbit/s)", "--seeds", "2", "-o", "out"]);
    assert_eq!(code, Some(0), "{notes}");
    assert!(table.contains("PSNR of what was seen") && table.contains('±'), "{table}");
    for name in
        ["index.html", "compare.json", "table.csv", "series.csv", "causes.csv", "run.json", "scenario.toml"]
    {
        assert!(at.join("out").join(name).metadata().unwrap().len() > 50, "{name}");
    }
    assert_eq!(std::fs::read_dir(at.join("cache/compare")).unwrap().count(), 4, "a file a run");
    // From memory and anew: the same bytes.
    let (_, remembered, _) = compare(at, &["--control", "tfrc", "--seeds", "2", "--json"]);
    let (_, anew, _) = compare(at, &["--control", "tfrc", "--seeds", "2", "--json", "--no-cache"]);
    assert!(remembered == anew && remembered.contains("\"ci95\""));
    check("comparison", &serde_json::from_str(&anew).unwrap());
    assert_eq!(std::fs::read_dir(at.join("cache/compare")).unwrap().count(), 4);

    if !is_there() {
        return;
    }
    let mut command = Command::new("node");
    command.arg("compare.mjs").arg(at.join("out/index.html")).arg(at).current_dir(SCRIPTS);
    let (status, steps, notes) = Live::start(command).end();
    assert!(status.success(), "{steps}{notes}");
    for name in ["compare.png", "compare-dark.png", "compare-phone.png"] {
        assert!(at.join(name).metadata().unwrap().len() > 10_000, "{name}");
    }
}

#[test]
fn wrong_usage_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    write_clip(&at.join("clip.y4m"));
    for (more, reason) in [
        (["--control", "tfrc,nadda"].as_slice(), "nada"),
        (&["--control", "tfrc,tfrc"], "tfrc is there twice"),
        (&["--control", "tfrc", "--flow", "audio"], "no media flow is called audio; there are: video"),
        (&["--control", "tfrc", "--clip", "nowhere.mp4"], "nowhere.mp4"),
    ] {
        let mut command = seaway(at, &[["compare", "squeeze"].as_slice(), more].concat());
        let output = command.env("SEAWAY_CACHE", at.join("cache")).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{more:?}: {said}");
        assert!(said.contains(reason), "{more:?}: {said}");
        assert!(!at.join("squeeze-compare.html").exists());
    }
}
