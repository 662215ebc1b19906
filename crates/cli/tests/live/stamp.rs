//! The stamp in the picture, and pictures that are too old.

use super::process::{Live, free_port, has, seaway};
use super::stream::{INPUT, receive, send};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../validation/live/stamp.py");

/// The median of a distribution of the report's only flow.
fn median(report: &Value, name: &str) -> f64 {
    report["flows"][0][name]["p50"].as_f64().unwrap_or_else(|| panic!("no {name}: {report}"))
}

#[test]
fn the_stamp_agrees_with_the_reported_delay_within_a_picture() {
    let folder = tempfile::tempdir().unwrap();
    let demo = ["demo", "test:640x360@25", "--headless", "--stamp", "--json", "--duration", "8s"];
    let (status, report, notes) = Live::start(seaway(folder.path(), &demo)).end();
    assert!(matches!(status.code(), Some(0 | 3)), "{notes}");
    let report: Value = serde_json::from_str(&report).unwrap();
    let (reported, stamped) = (median(&report, "delay_ms"), median(&report, "glass_to_glass_ms"));
    assert!((reported - stamped).abs() < 40.0, "{reported} and {stamped} ms");
    // The link has 20 ms one way.
    assert!(stamped > 20.0, "{stamped} ms");
}

#[test]
fn the_stamp_is_read_by_the_receiver_and_from_its_recording() {
    let folder = tempfile::tempdir().unwrap();
    let port = free_port();
    let mut receiver =
        receive(folder.path(), port, &["--stamp", "-o", "out.mp4", "--stats", "json", "--duration", "20s"]);
    let sender = send(folder.path(), port, &["--stamp", "--json"]);
    let line = receiver.wait_for("a stamp", |line| line["glass_to_glass_ms"].as_f64().is_some());
    let delay = line["glass_to_glass_ms"].as_f64().unwrap();
    assert!((0.0..2000.0).contains(&delay), "{line}");
    let shown = receiver.wait_for_frames(50);
    sender.finish();
    receiver.interrupt();
    let (status, _, notes) = receiver.end();
    assert!(status.success() && notes.contains("glass to glass"), "{notes}");
    if has("ffmpeg", "-version") && has("python3", "--version") {
        let stamps = stamps(folder.path(), "out.mp4");
        assert!(stamps.len() as u64 * 10 >= shown * 9, "{} of {shown}", stamps.len());
        let steps = stamps.windows(2).map(|pair| (pair[1].0 - pair[0].0, pair[1].1 - pair[0].1));
        assert!(steps.clone().all(|(counted, _)| counted > 0), "{stamps:?}");
        let each: f64 = steps.map(|(counted, millis)| millis as f64 / counted as f64).sum::<f64>();
        let mean = each / (stamps.len() - 1) as f64;
        assert!((30.0..50.0).contains(&mean), "{mean} ms a picture");
    }
}

/// Counters and milliseconds, read by the script.
fn stamps(folder: &Path, file: &str) -> Vec<(i64, i64)> {
    let output = Command::new("python3").arg(SCRIPT).arg(file).current_dir(folder).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let number = |cell: Option<&str>| cell.and_then(|cell| cell.parse().ok());
    let stamp = |line: &str| {
        let mut cells = line.split(',').skip(1);
        Some((number(cells.next())?, number(cells.next())?))
    };
    text.lines().filter_map(stamp).collect()
}

#[test]
fn a_link_that_is_interrupted_makes_the_picture_stale() {
    let folder = tempfile::tempdir().unwrap();
    let clean = include_str!("../../../../scenarios/networks/clean.toml");
    let rate = "rate = \"4 Mbit/s\"\n";
    let steps = "steps = [[\"4 s\", \"20 kbit/s\"], [\"6 s\", \"4 Mbit/s\"]]\n";
    let network = clean.replace(rate, &format!("{rate}{steps}"));
    std::fs::write(folder.path().join("interrupted.toml"), network).unwrap();
    let mut demo = Live::start(seaway(
        folder.path(),
        &[
            "demo",
            INPUT,
            "--headless",
            "--network",
            "interrupted.toml",
            "--stale-after",
            "400 ms",
            "--stats",
            "json",
        ],
    ));
    demo.wait_for_frames(25);
    let stale = demo.wait_for("the interruption", |line| line["kind"] == "stale");
    assert!(stale["time"].as_f64().unwrap() > 3.9, "{stale}");
    let old = demo
        .wait_for("an old picture", |line| line["picture_age_ms"].as_f64().is_some_and(|age| age > 1000.0));
    assert_eq!(old["stale"], 1, "{old}");
    let fresh = demo.wait_for("its end", |line| line["kind"] == "fresh");
    let lasted = fresh["time"].as_f64().unwrap() - stale["time"].as_f64().unwrap();
    assert!(lasted > 1.0, "{lasted} s");
    let young = demo.wait_for("a young picture", |line| line["picture_age_ms"].is_number());
    assert!(young["picture_age_ms"].as_f64().unwrap() < 1000.0, "{young}");
    demo.interrupt();
    let (_, _, notes) = demo.end();
    assert!(
        notes.contains("the picture on the screen is too old") && notes.contains("fresh again"),
        "{notes}"
    );
}
