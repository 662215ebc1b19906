//! Closed loops that no controller may fail in.

use super::Excuses;
use crate::path::{Bottleneck, Channel, Path, PathRun, PlayoutBuffer};
use seaway_control::{
    Arrival, BufferLevel, ControllerPair, FeedbackSource, LocalSignal, PeerReport, Subflow,
};
use seaway_units::{Bitrate, DataSize, TimeDelta, Timestamp};
use std::collections::BTreeMap;

const LIMITS: LocalSignal = LocalSignal::Limits {
    min: Bitrate::from_kbps(50),
    start: Bitrate::from_kbps(300),
    max: Bitrate::from_mbps(3),
};

/// Runs every scenario.
///
/// # Panics
/// Where the controller fails one.
pub fn run(name: &str, excuses: Excuses, make: &impl Fn() -> ControllerPair) {
    if !excuses.deaf {
        silence(name, make);
    }
    idle(name, make);
    rare_feedback(name, make);
    rate_of_zero(name, make);
}

/// 4 Mbit/s, 20 ms each way, 200 ms of queue: the network `clean`; a player at the end of it.
fn clean() -> Path {
    let bottleneck = Bottleneck { rate: Bitrate::from_mbps(4), queue: TimeDelta::from_millis(200) };
    let buffer = PlayoutBuffer { capacity: DataSize::from_bytes(100_000), consume: Bitrate::from_mbps(1) };
    Path { bottleneck: Some(bottleneck), buffer: Some(buffer), ..Path::new(TimeDelta::from_millis(40)) }
}

fn started(path: Path, halves: ControllerPair, limits: LocalSignal) -> PathRun {
    let mut run = PathRun::new(path, halves);
    run.controller.on_signal(Timestamp::ZERO, limits);
    run
}

/// Feedback stops: it must not go on sending, and it must recover.
fn silence(name: &str, make: &impl Fn() -> ControllerPair) {
    let (start, max) = (Bitrate::from_kbps(300), Bitrate::from_mbps(3));
    let mut run = started(clean(), make(), LocalSignal::Limits { min: Bitrate::from_kbps(20), start, max });
    let before = run.receive_rate(TimeDelta::from_secs(30));
    assert!(before > Bitrate::from_kbps(200), "{name}: only {before} in 30 s on a clean path");
    run.path().channel = Box::new(|_| Channel::Lose);
    run.measure(TimeDelta::from_secs(60));
    let silent = run.send_rate(TimeDelta::from_secs(60));
    assert!(silent <= Bitrate::from_kbps(60), "{name}: still sends {silent} after a minute of silence");
    run.path().channel = Box::new(|_| Channel::Deliver);
    run.measure(TimeDelta::from_secs(60));
    let after = run.receive_rate(TimeDelta::from_secs(30));
    assert!(
        after.as_bps_f64() > 0.5 * before.as_bps_f64(),
        "{name}: {after} after the silence, {before} before"
    );
}

/// The source pauses and resumes.
fn idle(name: &str, make: &impl Fn() -> ControllerPair) {
    let mut run = started(clean(), make(), LIMITS);
    let before = run.receive_rate(TimeDelta::from_secs(30));
    let now = run.now();
    run.controller.on_signal(now, LocalSignal::Paused(true));
    run.path().source = Some(Bitrate::ZERO);
    run.measure(TimeDelta::from_secs(120));
    assert_eq!(run.measure(TimeDelta::from_secs(1)).sent, 0, "{name}");
    let now = run.now();
    run.controller.on_signal(now, LocalSignal::Paused(false));
    run.path().source = None;
    run.measure(TimeDelta::from_secs(20));
    let after = run.receive_rate(TimeDelta::from_secs(30));
    assert!(after.as_bps_f64() > 0.5 * before.as_bps_f64(), "{name}: {after} after idling, {before} before");
}

/// A media server's habit: feedback every 400 ms at most. No timer may take that for silence.
fn rare_feedback(name: &str, make: &impl Fn() -> ControllerPair) {
    let interval = TimeDelta::from_millis(400);
    let (controller, source) = make();
    let rare = Rare { source, interval, due: None, held: BTreeMap::new() };
    let mut run = started(clean(), (controller, Box::new(rare)), LIMITS);
    run.controller.on_signal(Timestamp::ZERO, LocalSignal::FeedbackInterval(interval));
    run.measure(TimeDelta::from_secs(60));
    let rare = run.receive_rate(TimeDelta::from_secs(60));
    let mut run = started(clean(), make(), LIMITS);
    run.measure(TimeDelta::from_secs(60));
    let usual = run.receive_rate(TimeDelta::from_secs(60));
    assert!(
        rare.as_bps_f64() > 0.4 * usual.as_bps_f64(),
        "{name}: {rare} with rare feedback, {usual} usually"
    );
}

/// A rate of zero stops the flow, and a rate starts it again.
fn rate_of_zero(name: &str, make: &impl Fn() -> ControllerPair) {
    let mut run = started(clean(), make(), LIMITS);
    run.measure(TimeDelta::from_secs(10));
    let now = run.now();
    let zero = LocalSignal::Limits { min: Bitrate::ZERO, start: Bitrate::ZERO, max: Bitrate::ZERO };
    run.controller.on_signal(now, zero);
    run.measure(TimeDelta::from_secs(10));
    assert_eq!(run.controller.target().rate, Bitrate::ZERO, "{name}");
    let now = run.now();
    run.controller.on_signal(now, LIMITS);
    run.measure(TimeDelta::from_secs(30));
    let after = run.receive_rate(TimeDelta::from_secs(10));
    assert!(after > Bitrate::from_kbps(100), "{name}: {after} after a rate of zero");
}

/// Holds reports back, the newest of each subflow, until an interval has passed.
#[derive(Debug)]
struct Rare {
    source: Box<dyn FeedbackSource>,
    interval: TimeDelta,
    due: Option<Timestamp>,
    held: BTreeMap<Subflow, PeerReport>,
}

impl FeedbackSource for Rare {
    fn on_arrival(&mut self, now: Timestamp, arrival: &Arrival) {
        self.source.on_arrival(now, arrival);
    }
    fn on_buffer(&mut self, now: Timestamp, level: BufferLevel) {
        self.source.on_buffer(now, level);
    }
    fn handle_timeout(&mut self, now: Timestamp) {
        self.source.handle_timeout(now);
    }
    fn poll_timeout(&self) -> Option<Timestamp> {
        let held = self.due.filter(|_| !self.held.is_empty());
        [self.source.poll_timeout(), held].into_iter().flatten().min()
    }
    fn poll_report(&mut self, now: Timestamp) -> Option<(Subflow, PeerReport)> {
        while let Some((subflow, report)) = self.source.poll_report(now) {
            let new_loss_event = self.held.get(&subflow).is_some_and(|held| held.new_loss_event);
            self.held.insert(
                subflow,
                PeerReport { new_loss_event: report.new_loss_event || new_loss_event, ..report },
            );
        }
        if self.held.is_empty() || self.due.is_some_and(|due| due > now && due < now + self.interval * 2) {
            return None;
        }
        let report = self.held.pop_first();
        if self.held.is_empty() {
            self.due = Some(now + self.interval);
        }
        report
    }
}
