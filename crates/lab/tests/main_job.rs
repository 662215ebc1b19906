//! The main job in virtual time: a real clip, coded live, over the named networks under the default controller, judged
//! by what the viewer saw.

use seaway_lab::scenario::{Override, Scenario};
use seaway_lab::{Encoding, Outcome, RunOptions, library, run};
use seaway_report::summary::FlowSummary;
use seaway_units::{TimeDelta, Timestamp};
use std::ops::ControlFlow;

/// A network whose flow is bounded by this rate, so that the link and not the source limits it where that is above the
/// capacity.
fn scenario(network: &str, duration: &str, most: &str) -> Scenario {
    let overrides = [
        "flow.video.source={ kind = \"clip\", encoder = { kind = \"openh264\", latency = \"5 ms\" } }",
        "flow.video.control=seaway",
        "warmup=0 s",
        &format!("duration={duration}"),
        &format!("flow.video.rate.max={most}"),
        "flow.video.receiver={ mode = \"low-latency\" }",
    ];
    let overrides: Vec<Override> = overrides.iter().map(|text| text.parse().unwrap()).collect();
    library::find(network).unwrap().parse(&overrides).unwrap_or_else(|error| panic!("{error}"))
}

fn outcome(scenario: &Scenario, options: RunOptions) -> Outcome {
    run(scenario, options, &mut |_| ControlFlow::Continue(())).unwrap()
}

/// What the viewer saw in 30 s of a network, the beginning included.
struct Watched {
    outcome: Outcome,
}

impl Watched {
    fn on(network: &str, most: &str) -> Self {
        let options = RunOptions { series: true, ..RunOptions::default() };
        let watched = Self { outcome: outcome(&scenario(network, "30 s", most), options) };
        let frames = watched.flow().frames.unwrap();
        assert_eq!(frames.captured, 750, "25 pictures/s");
        watched
    }

    fn flow(&self) -> &FlowSummary {
        &self.outcome.summary.flows[0]
    }

    /// Part of the frames that reached the screen. Those still on their way at the end are neither shown nor lost;
    /// there are no more of them than half a second's.
    fn displayed(&self) -> f64 {
        let frames = self.flow().frames.unwrap();
        let known = frames.displayed + frames.late + frames.lost + frames.skipped;
        assert!((frames.captured - 13..=frames.captured).contains(&known), "{frames:?}");
        frames.displayed as f64 / known as f64
    }

    fn psnr(&self) -> f64 {
        let psnr = self.flow().psnr_db.unwrap();
        assert_eq!(psnr.kind, "decoded");
        psnr.value
    }

    /// Mean of a reading from one second to another.
    fn mean(&self, name: &str, seconds: std::ops::Range<i64>) -> f64 {
        let at = |second| Timestamp::ZERO + TimeDelta::from_secs(second);
        let span = at(seconds.start)..at(seconds.end);
        let readings = self.outcome.series.readings();
        let values: Vec<f64> = readings
            .filter(|reading| reading.flow == "video" && reading.name == name && span.contains(&reading.at))
            .map(|reading| reading.value)
            .collect();
        values.iter().sum::<f64>() / values.len() as f64
    }
}

#[test]
fn a_clean_network_shows_everything_at_once() {
    let watched = Watched::on("clean", "6 Mbit/s");
    assert!(watched.displayed() >= 0.99, "{}", watched.displayed());
    assert!(watched.psnr() > 34.0, "{} dB", watched.psnr());
    let delay = watched.flow().delay_ms.unwrap();
    assert!((25.0..=150.0).contains(&delay.p50) && delay.p95 <= 150.0, "{delay:?}");
    assert_eq!(watched.flow().freezes.unwrap().count, 0);
    let encoder = watched.flow().encoder.unwrap();
    // The link is full, so what waits is taken off the target now and then.
    assert!(encoder.worst <= 0.2 && encoder.within_tenth >= Some(0.7), "{encoder:?}");
    assert!(encoder.left_out < 0.2, "{encoder:?}");
}

#[test]
fn a_squeezed_network_is_survived() {
    let watched = Watched::on("squeeze", "2.5 Mbit/s");
    // All freezes together, so none is longer.
    let freezes = watched.flow().freezes.unwrap();
    assert!(freezes.total_s <= 0.3, "{freezes:?}");
    // The capacity falls from 4 to 1 Mbit/s at 10 s and returns at 20 s; 2.5 Mbit/s is the flow's most.
    let [before, squeezed, after] = [5..10, 12..20, 25..30].map(|span| watched.mean("received_rate", span));
    assert!((2.0e6..2.6e6).contains(&before), "{before}");
    assert!((0.7e6..=1.0e6).contains(&squeezed), "{squeezed}");
    assert!((2.0e6..2.6e6).contains(&after), "{after}");
    let skipped = watched.flow().frames.unwrap().skipped;
    assert!(skipped <= 750 * 12 / 100, "{skipped} frames skipped");
    assert!(watched.psnr() > 34.0, "{} dB", watched.psnr());
}

#[test]
fn a_lossy_network_is_repaired() {
    let watched = Watched::on("lossy-wifi", "8 Mbit/s");
    assert!(watched.displayed() >= 0.97, "{}", watched.displayed());
    let packets = watched.flow().packets;
    assert!(packets.lost_channel > 100, "there was hardly anything to repair: {packets:?}");
    assert!(packets.repaired.unwrap() > packets.lost_channel * 9 / 10, "{packets:?}");
    assert!(watched.psnr() > 34.0, "{} dB", watched.psnr());
}

#[test]
fn runs_repeat_and_octets_change_nothing() {
    let scenario = scenario("lossy-wifi", "4 s", "8 Mbit/s");
    let summary = |encoding| {
        let outcome = outcome(&scenario, RunOptions { encoding, ..RunOptions::default() });
        serde_json::to_string_pretty(&outcome.summary).unwrap()
    };
    let first = summary(Encoding::Structs);
    assert!(first.contains("\"decoded\""), "nothing was decoded: {first}");
    assert_eq!(first, summary(Encoding::Structs));
    assert_eq!(first, summary(Encoding::Wire));
}
