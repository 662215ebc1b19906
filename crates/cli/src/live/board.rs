//! The board: what is known of a live session, in the words of the summary.
//!
//! The page, the JSON lines and the report all show what stands here.

use super::camera::CameraSnapshot;
use super::screen::ScreenNews;
use crate::web::Live;
use seaway_control::Decision;
use seaway_lab::PathState;
use seaway_net::{ReceiverSnapshot, SenderNews, SenderSnapshot};
use seaway_report::live::Sample;
use seaway_session::{ReceiverEvent, SenderEvent};
use seaway_units::{Bitrate, DataSize, TimeDelta, Timestamp};
use serde_json::{Map, Value, json};
use std::collections::VecDeque;

/// Rates are taken over this span.
const SPAN: TimeDelta = TimeDelta::from_millis(500);

/// What is known.
#[derive(Debug)]
pub(crate) struct Board {
    began: Timestamp,
    pub(crate) control: String,
    pub(crate) sender: Option<Box<SenderSnapshot>>,
    pub(crate) receiver: Option<Box<ReceiverSnapshot>>,
    pub(crate) camera: Option<CameraSnapshot>,
    pub(crate) network: Option<PathState>,
    sent: Rate,
    received: Rate,
    /// Packets lost of those sent, over [`SPAN`].
    lost: Ratio,
    /// The same after repair.
    unrepaired: Ratio,
    /// Capture-to-display delays of the whole session, in milliseconds, and of the last frames.
    pub(crate) delays: Samples,
    /// PSNR of the whole session, in decibels.
    pub(crate) psnr: Samples,
    recent_delays: Recent,
    recent_psnr: Recent,
    pub(crate) displayed: u64,
    pub(crate) freezes: (u64, TimeDelta),
    /// What happened and was not told yet.
    events: Vec<Live>,
}

impl Board {
    /// Nothing known.
    pub(crate) fn new(began: Timestamp, control: String) -> Self {
        Self {
            began,
            control,
            sender: None,
            receiver: None,
            camera: None,
            network: None,
            sent: Rate::default(),
            received: Rate::default(),
            lost: Ratio::default(),
            unrepaired: Ratio::default(),
            delays: Samples::default(),
            psnr: Samples::default(),
            recent_delays: Recent::default(),
            recent_psnr: Recent::default(),
            displayed: 0,
            freezes: (0, TimeDelta::ZERO),
            events: Vec::new(),
        }
    }

    /// Seconds since the beginning.
    pub(crate) fn time(&self, at: Timestamp) -> f64 {
        at.since(self.began).as_secs_f64()
    }

    pub(crate) fn on_sender(&mut self, news: SenderNews) {
        match news {
            SenderNews::Snapshot(snapshot) => {
                let statistics = &snapshot.statistics;
                self.sent.note(snapshot.at, statistics.sent.size);
                self.lost.note(snapshot.at, statistics.lost, statistics.lost + statistics.received);
                self.sender = Some(snapshot);
            }
            SenderNews::Event(at, SenderEvent::Decision(decision)) => self.on_decision(at, &decision),
            SenderNews::Event(at, SenderEvent::KeyFrameWanted { cause, .. }) => {
                self.happened(
                    at,
                    "key-frame",
                    format!("key frame wanted: {cause:?}").to_lowercase(),
                    Map::new(),
                );
            }
            SenderNews::Event(at, SenderEvent::FramesDropped { frames }) => {
                let what = format!("{frames} frames dropped from the send queue");
                self.happened(at, "queue", what, Map::new());
            }
            SenderNews::Event(at, SenderEvent::PeerAppeared { .. }) => {
                self.happened(at, "peer", "receiver appeared".into(), Map::new());
            }
            SenderNews::Event(at, SenderEvent::PeerLeft { .. }) => {
                self.happened(at, "peer", "receiver left".into(), Map::new());
            }
            SenderNews::Event(_, SenderEvent::Share { .. }) => {}
            SenderNews::Controlled(at, control) => {
                self.control = control.to_string();
                self.happened(at, "setting", format!("controller {control}"), Map::new());
            }
            SenderNews::Refused(_, error) => self.events.push(Live::Error { text: error.to_string() }),
        }
    }

    pub(crate) fn on_screen(&mut self, news: ScreenNews) {
        match news {
            ScreenNews::Displayed { delay } => {
                self.displayed += 1;
                if let Some(delay) = delay {
                    self.recent_delays.note(delay.as_millis_f64());
                    self.delays.note(delay.as_millis_f64());
                }
            }
            ScreenNews::Scored(score) => {
                self.recent_psnr.note(score.psnr.get());
                self.psnr.note(score.psnr.get());
            }
            ScreenNews::Freeze { at, duration } => {
                self.freezes = (self.freezes.0 + 1, self.freezes.1 + duration);
                self.happened(at, "freeze", format!("picture stood still for {duration:.0}"), Map::new());
            }
            ScreenNews::Snapshot(snapshot) => {
                let statistics = &snapshot.statistics;
                self.received.note(snapshot.at, statistics.received.size);
                let gone = statistics.missing.saturating_sub(statistics.reordered + statistics.repaired);
                self.unrepaired.note(snapshot.at, gone, gone + statistics.received.packets);
                self.receiver = Some(snapshot);
            }
            ScreenNews::Event(at, event) => {
                if let Some(what) = describe(&event) {
                    self.happened(at, "receiver", what, Map::new());
                }
            }
        }
    }

    /// A viewer or a scenario changed something.
    pub(crate) fn on_setting(&mut self, at: Timestamp, what: String) {
        self.happened(at, "setting", what, Map::new());
    }

    /// What happened since the last call.
    pub(crate) fn take_events(&mut self) -> Vec<Live> {
        std::mem::take(&mut self.events)
    }

    /// The present values; what is not known is absent.
    pub(crate) fn sample(&mut self) -> Sample {
        let mut sample = Sample { control: self.control.clone(), ..Sample::default() };
        if let Some(sender) = &self.sender {
            sample.phase = Some(sender.phase);
            sample.allowance_bps = Some(sender.target.as_bps());
            sample.pace_bps = Some(sender.allowance.as_bps());
            sample.rtt_ms = sender.statistics.rtt.map(|rtt| rtt.as_millis_f64());
            sample.backlog_bytes = Some(sender.backlog.as_bytes());
            sample.frames_captured = Some(sender.statistics.frames.captured);
            sample.frames_skipped = Some(sender.statistics.frames.skipped);
            sample.sent_bps = self.sent.per_second().map(Bitrate::as_bps);
            sample.loss_ratio = self.lost.ratio();
        }
        if let Some(receiver) = &self.receiver {
            sample.playout_buffer_ms = Some(receiver.statistics.playout_delay.as_millis_f64());
            sample.received_bps = self.received.per_second().map(Bitrate::as_bps);
            sample.residual_loss_ratio = self.unrepaired.ratio();
            sample.frames_displayed = Some(self.displayed);
            sample.freezes = Some(self.freezes.0);
        }
        if let Some(camera) = &self.camera {
            sample.target_bps = Some(camera.target.as_bps());
            sample.resolution = Some(camera.size.to_string());
        }
        if let Some(network) = &self.network {
            sample.capacity_bps = Some(network.capacity.as_bps());
            sample.queue_delay_ms = network.queue_delay.map(TimeDelta::as_millis_f64);
        }
        sample.delay_ms = self.recent_delays.take_mean();
        sample.psnr_db = self.recent_psnr.take_mean();
        sample
    }

    fn on_decision(&mut self, at: Timestamp, decision: &Decision) {
        let mut because = Map::new();
        let signal = &decision.signal;
        because.insert(
            "signal".into(),
            json!({ "name": signal.name, "value": finite(signal.value), "unit": signal.unit }),
        );
        because.insert("threshold".into(), finite(decision.threshold));
        because.insert("before_bps".into(), json!(decision.before.as_bps()));
        because.insert("after_bps".into(), json!(decision.after.as_bps()));
        because.insert("phase".into(), json!(decision.phase));
        self.happened(at, "decision", decision.cause.to_owned(), because);
    }

    fn happened(&mut self, at: Timestamp, kind: &'static str, what: String, because: Map<String, Value>) {
        let time = self.time(at);
        self.events.push(Live::Event { time, kind, what, because });
    }
}

/// JSON has no infinity.
fn finite(value: f64) -> Value {
    if value.is_finite() { json!(value) } else { Value::Null }
}

fn describe(event: &ReceiverEvent) -> Option<String> {
    match event {
        ReceiverEvent::Frame(_) => None,
        ReceiverEvent::FramesLost { frames, .. } => Some(format!("frames lost: {frames}")),
        ReceiverEvent::Frozen { .. } => Some("waiting for a key frame".into()),
        ReceiverEvent::SessionStarted(session) => Some(format!("sender found, under {}", session.control)),
        ReceiverEvent::SessionChanged(session) => Some(format!("sender now under {}", session.control)),
        ReceiverEvent::SessionEnded => Some("sender gone".into()),
    }
}

/// A rate from a counter of octets.
#[derive(Debug, Default)]
struct Rate {
    readings: VecDeque<(Timestamp, DataSize)>,
}

impl Rate {
    fn note(&mut self, at: Timestamp, octets: DataSize) {
        self.readings.push_back((at, octets));
        while self.readings.len() > 2 && at.since(self.readings[1].0) >= SPAN {
            self.readings.pop_front();
        }
    }

    fn per_second(&self) -> Option<Bitrate> {
        let ((first, before), (last, after)) = (*self.readings.front()?, *self.readings.back()?);
        (after - before).over(last.since(first))
    }
}

/// A ratio from two counters.
#[derive(Debug, Default)]
struct Ratio {
    readings: VecDeque<(Timestamp, u64, u64)>,
}

impl Ratio {
    fn note(&mut self, at: Timestamp, part: u64, whole: u64) {
        self.readings.push_back((at, part, whole));
        while self.readings.len() > 2 && at.since(self.readings[1].0) >= SPAN {
            self.readings.pop_front();
        }
    }

    fn ratio(&self) -> Option<f64> {
        let ((_, part, whole), (_, later_part, later_whole)) =
            (self.readings.front()?, self.readings.back()?);
        let whole = later_whole.checked_sub(*whole).filter(|&whole| whole > 0)?;
        Some(later_part.saturating_sub(*part) as f64 / whole as f64)
    }
}

/// Samples of a session of any length in bounded memory: of more than it keeps, every second one is dropped, and of
/// those to come.
#[derive(Debug)]
pub(crate) struct Samples {
    kept: Vec<f64>,
    stride: u64,
    seen: u64,
    sum: f64,
}

impl Default for Samples {
    fn default() -> Self {
        Self { kept: Vec::new(), stride: 1, seen: 0, sum: 0.0 }
    }
}

impl Samples {
    /// 44 minutes at 25 a second.
    const KEPT: usize = 1 << 16;

    fn note(&mut self, value: f64) {
        if self.seen.is_multiple_of(self.stride) {
            if self.kept.len() == Self::KEPT {
                let mut index = 0;
                self.kept.retain(|_| {
                    index += 1;
                    index % 2 == 1
                });
                self.stride *= 2;
            }
            self.kept.push(value);
        }
        self.seen += 1;
        self.sum += value;
    }

    /// Of all samples.
    pub(crate) fn mean(&self) -> Option<f64> {
        (self.seen > 0).then(|| self.sum / self.seen as f64)
    }

    /// Those that were kept.
    pub(crate) fn kept(&self) -> &[f64] {
        &self.kept
    }
}

/// The mean of what came since the last look.
#[derive(Debug, Default)]
struct Recent {
    sum: f64,
    count: u32,
}

impl Recent {
    fn note(&mut self, value: f64) {
        self.sum += value;
        self.count += 1;
    }

    fn take_mean(&mut self) -> Option<f64> {
        let recent = std::mem::take(self);
        (recent.count > 0).then(|| recent.sum / f64::from(recent.count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_stay_bounded() {
        let mut samples = Samples::default();
        for index in 0..300_000u32 {
            samples.note(f64::from(index));
        }
        assert!(samples.kept().len() <= Samples::KEPT);
        assert_eq!(samples.mean(), Some(149_999.5));
        let middle = samples.kept()[samples.kept().len() / 2];
        assert!((140_000.0..160_000.0).contains(&middle), "{middle}");
    }

    #[test]
    fn rates_are_over_the_last_half_second() {
        let mut rate = Rate::default();
        for tick in 0..20u64 {
            // 1 Mbit/s, then nothing.
            let octets = DataSize::from_bytes(tick.min(10) * 12_500);
            rate.note(Timestamp::from_nanos(tick * 100_000_000), octets);
            if tick == 10 {
                assert_eq!(rate.per_second(), Some(Bitrate::from_mbps(1)));
            }
        }
        assert_eq!(rate.per_second(), Some(Bitrate::ZERO));
    }
}
