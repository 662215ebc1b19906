//! The latency contract in virtual time: the bundled clip, coded live, shown within a time after its capture.

use seaway_lab::scenario::{Override, Scenario, Text};
use seaway_lab::{RunOptions, library, run};
use seaway_report::summary::FlowSummary;
use std::ops::ControlFlow;

/// 15 % of independent loss.
const HEAVY_LOSS: &str = include_str!("../../../validation/live/heavy-loss.toml");

/// The video of a network where frames are shown within `latency`.
fn video(network: &str, latency: &str, changes: &[&str]) -> FlowSummary {
    let usual = [
        "flow.video.source={ kind = \"clip\", encoder = { kind = \"openh264\", latency = \"5 ms\" } }",
        "warmup=0 s",
        "duration=20 s",
        "flow.video.receiver={ mode = \"low-latency\" }",
        &format!("flow.video.repair.deadline={latency}"),
    ];
    let changes: Vec<Override> = usual.iter().chain(changes).map(|change| change.parse().unwrap()).collect();
    let scenario = match network {
        "heavy-loss" => Scenario::parse(Text::alone("heavy-loss.toml", HEAVY_LOSS), &changes).unwrap(),
        _ => library::find(network).unwrap().parse(&changes).unwrap(),
    };
    let outcome = run(&scenario, RunOptions::default(), &mut |_| ControlFlow::Continue(())).unwrap();
    outcome.summary.flows.into_iter().next().expect("one flow")
}

/// Part of the pictures that were shown, of those that are not on their way at the end.
fn shown(flow: &FlowSummary) -> f64 {
    let frames = flow.frames.as_ref().expect("video");
    frames.displayed as f64 / (frames.displayed + frames.late + frames.lost + frames.skipped) as f64
}

#[test]
fn a_picture_waits_for_nothing_where_the_link_is_full() {
    let flow = video("clean", "60 ms", &["flow.video.rate.max=6 Mbit/s"]);
    let delay = flow.delay_ms.unwrap();
    assert!(shown(&flow) >= 0.995, "{}", shown(&flow));
    // The way takes 20 ms of them, and the packets of a picture that fills 0.45 of the link 18 ms. Pictures of half of it have a median
    // of 44.5 ms.
    assert!(delay.p50 <= 43.5 && delay.p95 <= 70.0, "{delay:?}");
    assert!(flow.psnr_db.unwrap().value > 38.0);
}

#[test]
fn after_a_pause_the_delay_is_back_within_two_seconds() {
    let full = "flow.video.rate.max=6 Mbit/s";
    let pause = "flow.video.pause=[[\"10 s\", \"15 s\"]]";
    let before = video("clean", "100 ms", &[full, "warmup=7 s", "duration=10 s"]).delay_ms.unwrap();
    let after = video("clean", "100 ms", &[full, pause, "warmup=17 s"]).delay_ms.unwrap();
    assert!(after.p95 <= before.p95 + 10.0, "{after:?} after {before:?}");
}

#[test]
fn bursts_of_loss_are_repaired_in_time() {
    let flow = video("lossy-wifi", "100 ms", &["flow.video.rate.max=8 Mbit/s"]);
    let (delay, freezes) = (flow.delay_ms.unwrap(), flow.freezes.unwrap());
    assert!(shown(&flow) >= 0.98 && freezes.total_s <= 0.4, "{} shown, {freezes:?}", shown(&flow));
    // The way takes 20 ms of them.
    assert!(delay.p95 <= 120.0, "{delay:?}");
}

#[test]
fn heavy_loss_is_repaired_in_time() {
    let flow = video("heavy-loss", "200 ms", &[]);
    let (freezes, psnr) = (flow.freezes.unwrap(), flow.psnr_db.unwrap().value);
    assert!(shown(&flow) >= 0.97 && freezes.total_s <= 0.2, "{} shown, {freezes:?}", shown(&flow));
    assert!(psnr >= 38.0, "{psnr} dB");
}
