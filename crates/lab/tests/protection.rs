//! What a viewer sees where packets are lost, by the repair of docs/models/protection.md. Quality is modelled.

use seaway_lab::scenario::{Override, Scenario, Text};
use seaway_lab::{RunOptions, run};
use seaway_report::summary::FlowSummary;
use std::ops::ControlFlow;

/// 60 ms of round-trip time, and frames that are shown 200 ms after they could be at the earliest.
const NETWORK: &str = r#"
schema = 1
name = "lossy"
duration = "40 s"
warmup = "10 s"

[[link]]
name = "bottleneck"
from = "sender"
to = "receiver"
both = true
rate = "3.2 Mbit/s"
delay = "30 ms"
queue = { kind = "drop-tail", time = "200 ms" }
loss = { kind = "independent", rate = 0.15 }

[[flow]]
name = "video"
kind = "media"
control = "fixed(rate=3 Mbit/s)"
from = "sender"
to = "receiver"
rate = { min = "150 kbit/s", start = "1 Mbit/s", max = "3 Mbit/s" }
source = { kind = "ladder" }
repair = { retransmit = true, fec = true, deadline = "200 ms" }
receiver = { playout = "200 ms" }
"#;

fn video(changes: &[&str]) -> FlowSummary {
    let changes: Vec<Override> = changes.iter().map(|change| change.parse().unwrap()).collect();
    let scenario = Scenario::parse(Text::alone("lossy.toml", NETWORK), &changes).unwrap();
    let outcome = run(&scenario, RunOptions::default(), &mut |_| ControlFlow::Continue(())).unwrap();
    outcome.summary.flows.into_iter().next().expect("one flow")
}

/// The part of the captured frames that were shown, of the time that was frozen, and PSNR in decibels.
fn seen(flow: &FlowSummary) -> (f64, f64, f64) {
    let frames = flow.frames.as_ref().expect("video");
    let frozen = flow.freezes.as_ref().expect("video").total_s / flow.measured_s;
    let quality = flow.psnr_db.as_ref().expect("a modelled quality").value;
    (frames.displayed as f64 / frames.captured as f64, frozen, quality)
}

#[test]
fn fifteen_per_cent_of_loss() {
    for seed in ["seed=1", "seed=2", "seed=3"] {
        let (shown, frozen, quality) = seen(&video(&[seed]));
        assert!(shown >= 0.97 && frozen <= 0.01, "{seed}: {shown} shown, {frozen} frozen");
        assert!(quality >= 38.0, "{seed}: {quality} dB");
    }
}

#[test]
fn a_path_on_which_no_retransmission_comes_in_time() {
    let (shown, frozen, quality) =
        seen(&video(&["link.bottleneck.delay='120 ms'", "link.bottleneck.loss.rate=0.05"]));
    assert!(
        shown >= 0.97 && frozen <= 0.01 && quality >= 38.0,
        "{shown} shown, {frozen} frozen, {quality} dB"
    );
}

#[test]
fn a_clean_path_pays_nothing() {
    let clean = "link.bottleneck.loss.rate=0.0";
    let (with, without) = (video(&[clean]), video(&[clean, "flow.video.repair.fec=false"]));
    assert_eq!(with.repair_bps, Some(0.0));
    let (shown, _, quality) = seen(&with);
    assert_eq!(shown, 1.0);
    assert!(quality > seen(&without).2 - 0.2, "{quality} dB");
}
