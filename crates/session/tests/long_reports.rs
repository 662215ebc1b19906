//! Reports that take several datagrams.

mod common;

use common::*;
use seaway_session::*;
use seaway_units::{Bitrate, TimeDelta, Timestamp};

/// Every round-trip time that a report gave.
#[derive(Debug, Clone, Default)]
struct RoundTrips(std::sync::Arc<std::sync::Mutex<Vec<f64>>>);

impl Observer for RoundTrips {
    fn on_feedback(&mut self, _now: Timestamp, feedback: &seaway_control::Feedback<'_>) {
        self.0.lock().unwrap().extend(feedback.rtt.map(TimeDelta::as_millis_f64));
    }
}

/// The round-trip times over a path of 40 ms, later of 140 ms, by reports that come each second and take several datagrams: at 20 Mbit/s
/// packets of 1200 octets are 2083 a second, and a datagram has a thousand arrivals at most. Gives them, and how often encoders were held back.
fn long_reports(feedback: FeedbackFormat, rate: Bitrate) -> (Vec<f64>, usize) {
    let limits = Limits { min: rate, start: rate, max: rate };
    let there: Path = Box::new(|now, _| Some(now + if now < at(10_500) { ms(20) } else { ms(120) }));
    let control = "gcc(feedback=1 s)".parse().expect("a controller");
    let config = SenderConfig { feedback, ..SenderConfig::new(0x5EA0_0000, control, limits, Format::Opaque) };
    let mut run = Run::new(sender(Timestamp::ZERO, config), receiver(Timestamp::ZERO), there, ideal(ms(20)));
    let observed = RoundTrips::default();
    run.sender.observe(Box::new(observed.clone()));
    run.until(at(13_000));
    let datagrams = run.sender.statistics().feedback.packets;
    assert!(datagrams >= 20, "twelve reports: {datagrams}");
    let held = |(_, event): &(Timestamp, SenderEvent)| matches!(event, SenderEvent::Decision(decision) if decision.phase == "encoder pushback");
    let decisions = run.sender_events.iter().filter(|event| held(event)).count();
    let samples = observed.0.lock().unwrap().clone();
    (samples, decisions)
}

/// A report of several datagrams gives the round-trip time of the path and not how long its first packets waited for it; and what its later
/// datagrams report is not in flight. 140 ms are 100 above the least and encoders are held back from 150 on.
#[test]
fn a_report_of_several_datagrams_is_one() {
    let formats = [FeedbackFormat::Ccfb, FeedbackFormat::Twcc];
    for (feedback, mbps) in formats.into_iter().flat_map(|feedback| [(feedback, 20), (feedback, 60)]) {
        let (samples, decisions) = long_reports(feedback, Bitrate::from_mbps(mbps));
        let is_path = |rtt: &f64| (39.0..48.0).contains(rtt) || (139.0..148.0).contains(rtt);
        assert!(
            samples.len() >= 11 && samples.iter().all(is_path),
            "{feedback:?}, {mbps} Mbit/s: {samples:?}"
        );
        assert_eq!(decisions, 0, "{feedback:?}, {mbps} Mbit/s");
    }
}
