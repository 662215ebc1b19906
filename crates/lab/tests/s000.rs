//! S000's figure 13 (`docs/papers/s000.md`, section "S000-F13"): what a client receives beside 48 TCP flows.

use seaway_lab::scenario::Override;
use seaway_lab::{Outcome, RunOptions, library, run};
use seaway_units::{Bitrate, TimeDelta, Timestamp};
use std::ops::ControlFlow;

fn beside_tcp(control: &str) -> Outcome {
    let changes = [format!("flow.video.control={control}")];
    let changes: Vec<Override> = changes.iter().map(|change| change.parse().unwrap()).collect();
    let scenario = library::find("s000-beside-tcp").unwrap().parse(&changes).unwrap();
    let options = RunOptions { series: true, ..RunOptions::default() };
    run(&scenario, options, &mut |_| ControlFlow::Continue(())).unwrap()
}

fn received(outcome: &Outcome) -> Bitrate {
    Bitrate::from_bps_f64(outcome.summary.flows[0].received_bps.unwrap())
}

/// Whole seconds after the warm-up in which nothing of the video arrived.
fn empty_seconds(outcome: &Outcome) -> usize {
    const SECONDS: usize = 300;
    let begin = Timestamp::ZERO + TimeDelta::from_secs(20);
    let mut seconds = [0.0; SECONDS];
    for reading in outcome.series.readings() {
        if reading.flow == "video" && reading.name == "received_rate" && reading.at > begin {
            // A reading stands at the end of its tenth of a second.
            let tenth = (reading.at - begin).as_nanos().div_euclid(100_000_000) as usize - 1;
            seconds[(tenth / 10).min(SECONDS - 1)] += reading.value;
        }
    }
    seconds.iter().filter(|rate| **rate == 0.0).count()
}

/// The paper has 2.4 times what TFRC receives, and never nothing. Here it is 6 to 11 times: TFRC's equation gives small
/// packets few bytes, and a fifth of them is lost.
#[test]
fn buffer_aware_control_holds_its_own_beside_tcp() {
    let tfrc = ["tfrc(profile=rfc3448)", "tfrc(profile=ns2)"].map(|control| received(&beside_tcp(control)));
    for control in ["buffer-type1", "buffer-type1(gamma=adverse)", "buffer-type2"] {
        let outcome = beside_tcp(control);
        assert_eq!(empty_seconds(&outcome), 0, "{control}");
        let rate = received(&outcome);
        assert!(tfrc.iter().all(|tfrc| rate >= tfrc.mul_f64(2.0)), "{control}: {rate}, TFRC {tfrc:?}");
        // It plays 8 kbit/s of payload and never runs dry.
        let buffer = outcome.summary.flows[0].buffer.unwrap();
        assert_eq!(buffer.stalls, 0, "{control}");
    }
}
