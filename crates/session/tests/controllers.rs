//! TFRC over the named networks: the bars of the main job on synthetic frames, in virtual time.

mod common;

use common::*;
use seaway_session::{FeedbackFormat, SenderConfig};
use seaway_units::{Bitrate, DataSize, TimeDelta, Timestamp};

/// 200 ms at 4 Mbit/s.
const QUEUE: DataSize = DataSize::from_bytes(100_000);

fn run(there: Path, back: Path) -> Run {
    Run::new(sender(Timestamp::ZERO, config("tfrc")), receiver(Timestamp::ZERO), there, back)
}

fn percentile(mut delays: Vec<TimeDelta>, part: usize) -> TimeDelta {
    delays.sort_unstable();
    delays[delays.len() * part / 100]
}

#[test]
fn clean() {
    let mut run = run(squeeze(ms(20), &[(0, 4000)], QUEUE), ideal(ms(20)));
    run.until(at(30_000));
    let (sent, received) = (run.sender.statistics(), run.receiver.statistics());
    assert!(received.frames.displayed * 100 >= sent.frames.captured * 99, "{received:#?}");
    assert!(percentile(run.delays(), 95) <= ms(150));
    assert_eq!(received.freezes.count, 0);
}

#[test]
fn every_feedback_format_serves() {
    for feedback in [FeedbackFormat::Native, FeedbackFormat::Ccfb, FeedbackFormat::Twcc] {
        let config = SenderConfig { feedback, ..config("tfrc") };
        let there = bursts(squeeze(ms(20), &[(0, 6000)], DataSize::from_bytes(150_000)), 0.005, 1.0, 1);
        let mut run =
            Run::new(sender(Timestamp::ZERO, config), receiver(Timestamp::ZERO), there, ideal(ms(20)));
        run.until(at(20_000));
        let rate = run.receiver.statistics().received.size.over(ms(20_000)).unwrap();
        // Transport-wide feedback has no holding times, so its round trips are longer.
        assert!(rate > Bitrate::from_kbps(1_200), "{feedback:?}: {rate}");
        assert_eq!(run.sender.controller().phase(), "congestion avoidance", "{feedback:?}");
    }
}

#[test]
fn squeezed() {
    let steps = &[(0, 4000), (10_000, 1000), (20_000, 4000)];
    let mut run = run(squeeze(ms(20), steps, QUEUE), ideal(ms(20)));
    run.until(at(30_000));
    let received = run.receiver.statistics();
    assert!(received.freezes.longest <= ms(500), "{:?}", received.freezes);
    assert!(received.frames.displayed >= 600, "{received:#?}");
    assert!(run.sender.statistics().sent.size > DataSize::from_bytes(8_000_000), "back at the top");
}

#[test]
fn lossy_wifi() {
    let there = bursts(squeeze(ms(20), &[(0, 6000)], DataSize::from_bytes(150_000)), 0.02, 4.0, 1);
    let mut run = run(there, lossy(ms(20), 0.005, 2));
    run.until(at(30_000));
    let (sent, received) = (run.sender.statistics(), run.receiver.statistics());
    assert!(received.frames.displayed * 100 >= sent.frames.captured * 97, "{received:#?}");
    assert!(percentile(run.delays(), 50) <= ms(150));
}
