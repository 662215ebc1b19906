//! State of a live session, kept by the application's thread.

use super::playback::DisplayedFrame;
use super::receiver_machine::ReceiverSnapshot;
use super::sender_machine::SenderSnapshot;
use super::supply::Supply;
use crate::sink::PictureScore;
use crate::source::SourceStatus;
use seaway_control::ControlSpec;
use seaway_media::PictureSize;
use seaway_session::LaneStatistics;
use seaway_units::{Bitrate, DataSize, Decibels, TimeDelta, Timestamp};
use std::collections::VecDeque;

/// Rates and ratios are taken over this time.
const WINDOW: TimeDelta = TimeDelta::from_millis(500);

/// What is known of a sender.
#[derive(Debug)]
pub struct SenderState {
    /// The controller.
    pub control: ControlSpec,
    /// The session, ten times a second.
    pub session: Option<Box<SenderSnapshot>>,
    /// The source, ten times a second.
    pub source: SourceStatus,
    /// Whether the source keeps up, as of the last event that was taken.
    pub supply: Supply,
    /// The level of the sound over the last 100 ms; `None` for silence, and where there is no sound.
    pub sound_level: Option<Decibels>,
    /// From the capture of a frame to its end as a coded one, in milliseconds.
    pub encoding: Samples,
    /// From the end of coding to the first packet of a frame, in milliseconds.
    pub queueing: Samples,
    /// From the first packet of a frame to its last, in milliseconds.
    pub pacing: Samples,
    sent: Counter,
    lost: Counter,
    reported: Counter,
    lanes: Vec<LaneCounters>,
}

/// What is counted of a lane.
#[derive(Debug, Default)]
struct LaneCounters {
    sent: Counter,
    lost: Counter,
    reported: Counter,
}

/// A lane of a sender.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LaneStatus {
    /// Its counters.
    pub statistics: LaneStatistics,
    /// The rate on the wire over the last half second.
    pub sent_rate: Option<Bitrate>,
    /// Lost packets over reported packets, over the last half second.
    pub loss_ratio: Option<f64>,
}

impl SenderState {
    pub(super) fn new(control: ControlSpec) -> Self {
        let [sent, lost, reported] = Default::default();
        let [encoding, queueing, pacing] = Default::default();
        Self {
            control,
            session: None,
            source: SourceStatus::default(),
            supply: Supply::default(),
            sound_level: None,
            encoding,
            queueing,
            pacing,
            sent,
            lost,
            reported,
            lanes: Vec::new(),
        }
    }

    pub(super) fn on_source(&mut self, status: SourceStatus) {
        status.encoding.into_iter().for_each(|encoding| self.encoding.add(encoding.as_millis_f64()));
        self.source = status;
    }

    pub(super) fn on_snapshot(&mut self, snapshot: Box<SenderSnapshot>) {
        let (at, statistics) = (snapshot.at, &snapshot.statistics);
        self.sent.set(at, statistics.sent.size.as_bytes());
        self.lost.set(at, statistics.lost);
        self.reported.set(at, statistics.lost + statistics.received);
        self.lanes.resize_with(snapshot.lanes.len(), LaneCounters::default);
        for (counters, lane) in self.lanes.iter_mut().zip(&snapshot.lanes) {
            counters.sent.set(at, lane.sent.as_bytes());
            counters.lost.set(at, lane.lost);
            counters.reported.set(at, lane.lost + lane.received);
        }
        let before = self.session.as_ref().map(|session| session.statistics.frames).unwrap_or_default();
        let frames = statistics.frames;
        let mean = |total: TimeDelta, count: u64| (count > 0).then(|| total.as_millis_f64() / count as f64);
        let waited = mean(frames.waited - before.waited, frames.begun - before.begun);
        let took = mean(frames.took - before.took, frames.sent - before.sent);
        waited.into_iter().for_each(|waited| self.queueing.add(waited));
        if let (Some(waited), Some(took)) = (waited, took) {
            self.pacing.add((took - waited).max(0.0));
        }
        self.session = Some(snapshot);
    }

    /// The rate on the wire over the last half second.
    pub fn sent_rate(&self) -> Option<Bitrate> {
        self.sent.rate()
    }

    /// The lanes of a bonded session; empty where there are none.
    pub fn lanes(&self) -> impl Iterator<Item = LaneStatus> + '_ {
        let known = self.session.iter().flat_map(|session| &session.lanes);
        known.zip(&self.lanes).map(|(statistics, LaneCounters { sent, lost, reported })| LaneStatus {
            statistics: *statistics,
            sent_rate: sent.rate(),
            loss_ratio: lost.ratio_to(reported),
        })
    }

    /// Lost packets over reported packets, over the last half second.
    pub fn loss_ratio(&self) -> Option<f64> {
        self.lost.ratio_to(&self.reported)
    }
}

/// Where the time goes from the first packet of a displayed frame on.
#[derive(Debug, Clone, Copy)]
pub(super) struct DelayParts {
    pub(super) assembly: TimeDelta,
    pub(super) playout: TimeDelta,
    pub(super) decoding: TimeDelta,
}

/// What is known of a receiver.
#[derive(Debug, Default)]
pub struct ReceiverState {
    /// The session, ten times a second.
    pub session: Option<Box<ReceiverSnapshot>>,
    /// Frames displayed.
    pub displayed: u64,
    /// Frames received that could be recorded and not be shown, as there is no decoder for their codec.
    pub undecoded: u64,
    /// The size of the last one, where it was decoded, or its headers read.
    pub size: Option<PictureSize>,
    /// The level of the sound over the last 100 ms, as it is played; `None` for silence, and where none is measured.
    pub sound_level: Option<Decibels>,
    /// The level is measured: that of Opus is, that of AAC is not, and there may be no sound.
    pub is_sound_measured: bool,
    /// Lost packets of sound that the packets behind them had too.
    pub sound_recovered: u64,
    /// Freezes that ended.
    pub freezes: u64,
    /// Their total duration.
    pub frozen: TimeDelta,
    /// Times that the picture on the screen became older than the bound, one that lasts included; `None` without a bound.
    pub stale: Option<u64>,
    /// Total duration of those that ended.
    pub stale_time: TimeDelta,
    /// When the picture on the screen was captured, as far as that is known.
    captured: Option<Timestamp>,
    /// Delay of the displayed frames by the stamps in their pictures, in milliseconds. The clocks of both hosts agree.
    pub glass_to_glass: Samples,
    /// Delay of the displayed frames in milliseconds: from capture where the sender is in this process, else above the
    /// least delay plus half the round-trip time.
    pub delays: Samples,
    /// From the arrival of a frame's first packet to that of its last, repair included, in milliseconds.
    pub assembly: Samples,
    /// From then until it is given to the decoder, in milliseconds.
    pub playout: Samples,
    /// From then until it is displayed, in milliseconds.
    pub decoding: Samples,
    /// PSNR of the captured pictures in decibels, where the sender is in this process.
    pub psnr: Samples,
    received: Counter,
    missing: Counter,
    expected: Counter,
}

impl ReceiverState {
    pub(super) fn on_snapshot(&mut self, snapshot: Box<ReceiverSnapshot>) {
        let (at, statistics) = (snapshot.at, &snapshot.statistics);
        let missing = statistics.missing.saturating_sub(statistics.reordered + statistics.repaired);
        self.received.set(at, statistics.received.size.as_bytes());
        self.missing.set(at, missing);
        self.expected.set(at, missing + statistics.received.packets);
        self.session = Some(snapshot);
    }

    pub(super) fn on_displayed(&mut self, frame: &DisplayedFrame) {
        let DisplayedFrame { at, delay, glass_to_glass, parts, size } = *frame;
        self.displayed += 1;
        self.captured = Some(at - frame.age());
        self.size = size.or(self.size);
        glass_to_glass.into_iter().for_each(|delay| self.glass_to_glass.add(delay.as_millis_f64()));
        self.assembly.add(parts.assembly.as_millis_f64());
        self.playout.add(parts.playout.as_millis_f64());
        self.decoding.add(parts.decoding.as_millis_f64());
        delay.into_iter().for_each(|delay| self.delays.add(delay.as_millis_f64()));
    }

    pub(super) fn on_undecoded(&mut self, size: PictureSize) {
        self.undecoded += 1;
        self.size = Some(size);
    }

    pub(super) fn on_score(&mut self, score: PictureScore) {
        self.psnr.add(score.psnr.get());
    }

    pub(super) fn on_freeze(&mut self, duration: TimeDelta) {
        self.freezes += 1;
        self.frozen += duration;
    }

    pub(super) fn on_fresh(&mut self, duration: TimeDelta) {
        self.stale_time += duration;
    }

    /// How long ago the picture on the screen was captured, as far as that is known.
    pub fn picture_age(&self, now: Timestamp) -> Option<TimeDelta> {
        self.captured.map(|captured| now.since(captured))
    }

    /// The received rate over the last half second.
    pub fn received_rate(&self) -> Option<Bitrate> {
        self.received.rate()
    }

    /// Packets lost after repair over packets expected, over the last half second.
    pub fn residual_loss_ratio(&self) -> Option<f64> {
        self.missing.ratio_to(&self.expected)
    }
}

/// Readings of a counter over the last [`WINDOW`].
#[derive(Debug, Default)]
struct Counter {
    readings: VecDeque<(Timestamp, u64)>,
}

impl Counter {
    fn set(&mut self, at: Timestamp, count: u64) {
        self.readings.push_back((at, count));
        while self.readings.len() > 2 && at.since(self.readings[1].0) >= WINDOW {
            self.readings.pop_front();
        }
    }

    /// Growth over the window, and the window's length.
    fn growth(&self) -> Option<(u64, TimeDelta)> {
        let ((first, before), (last, after)) = (*self.readings.front()?, *self.readings.back()?);
        Some((after.saturating_sub(before), last.since(first)))
    }

    /// Of octets.
    fn rate(&self) -> Option<Bitrate> {
        let (octets, time) = self.growth()?;
        DataSize::from_bytes(octets).over(time)
    }

    fn ratio_to(&self, whole: &Self) -> Option<f64> {
        let (whole, _) = whole.growth().filter(|&(whole, _)| whole > 0)?;
        Some(self.growth()?.0 as f64 / whole as f64)
    }
}

/// Samples of a session of any length in bounded memory: when it is full, every second sample is dropped, and from
/// then on every second one of those to come.
#[derive(Debug)]
pub struct Samples {
    kept: Vec<f64>,
    stride: u64,
    count: u64,
    sum: f64,
    /// Sum and count since the last call of [`take_recent_mean`](Self::take_recent_mean).
    recent: (f64, u32),
}

impl Default for Samples {
    fn default() -> Self {
        Self { kept: Vec::new(), stride: 1, count: 0, sum: 0.0, recent: (0.0, 0) }
    }
}

impl Samples {
    /// 44 minutes at 25 samples a second.
    const CAPACITY: usize = 1 << 16;

    fn add(&mut self, value: f64) {
        if self.count.is_multiple_of(self.stride) {
            if self.kept.len() == Self::CAPACITY {
                let mut index = 0;
                self.kept.retain(|_| {
                    index += 1;
                    index % 2 == 1
                });
                self.stride *= 2;
            }
            self.kept.push(value);
        }
        self.count += 1;
        self.sum += value;
        self.recent = (self.recent.0 + value, self.recent.1 + 1);
    }

    /// The mean of all samples.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }

    /// The mean of the samples since the last call.
    pub fn take_recent_mean(&mut self) -> Option<f64> {
        let (sum, count) = std::mem::take(&mut self.recent);
        (count > 0).then(|| sum / f64::from(count))
    }

    /// The samples that are kept.
    pub fn kept(&self) -> &[f64] {
        &self.kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_stay_bounded() {
        let mut samples = Samples::default();
        for index in 0..300_000u32 {
            samples.add(f64::from(index));
        }
        assert!(samples.kept().len() <= Samples::CAPACITY);
        assert_eq!(samples.mean(), Some(149_999.5));
        let middle = samples.kept()[samples.kept().len() / 2];
        assert!((140_000.0..160_000.0).contains(&middle), "{middle}");
    }

    #[test]
    fn rates_are_over_the_last_half_second() {
        let mut sent = Counter::default();
        for tick in 0..20u64 {
            // 1 Mbit/s, then nothing.
            sent.set(Timestamp::from_nanos(tick * 100_000_000), tick.min(10) * 12_500);
            if tick == 10 {
                assert_eq!(sent.rate(), Some(Bitrate::from_mbps(1)));
            }
        }
        assert_eq!(sent.rate(), Some(Bitrate::ZERO));
    }
}
