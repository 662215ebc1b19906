//! How long packets waited: one-way delay above its base, and how it differs from what was predicted.

use super::config::{BACK_TO_BACK, DELAY_SPAN, LOOP_SLACK, RATE_SPAN};
use super::minimum::{LeastOfLate, Sample};
use super::rate::whole;
use crate::estimators::BaseDelay;
use seaway_units::{TimeDelta, Timestamp, Transit};
use std::collections::VecDeque;

/// A packet that arrived.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arrival {
    pub(super) id: u64,
    /// On our clock.
    pub(super) sent: f64,
    /// On the peer's clock.
    pub(super) at: f64,
    pub(super) size: f64,
    /// Above the base delay.
    pub(super) wait: f64,
    pub(super) predicted: f64,
    /// It left in a group behind another packet.
    pub(super) grouped: bool,
}

/// What is kept of the packets of the last half second.
#[derive(Debug, Clone, Copy)]
struct Recent {
    id: u64,
    at: f64,
    size: f32,
    wait: f32,
    predicted: f32,
}

impl Recent {
    fn wait(&self) -> f64 {
        f64::from(self.wait)
    }

    /// What was measured less what was predicted.
    fn error(&self) -> Sample<(u64, f64)> {
        let value = self.wait() - f64::from(self.predicted);
        Sample { at: self.at, value, of: (self.id, self.wait()) }
    }
}

/// Two packets that left one after the other and arrived in that order.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pair {
    /// From departure to departure.
    pub(super) gap: f64,
    /// From arrival to arrival.
    pub(super) spacing: f64,
    /// The change of the wait.
    pub(super) step: f64,
    /// The later one's wait.
    pub(super) wait: f64,
    pub(super) grouped: bool,
}

impl Pair {
    pub(super) fn is_back_to_back(&self) -> bool {
        self.gap < BACK_TO_BACK
    }
}

/// Measures waits.
#[derive(Debug, Clone)]
pub(super) struct DelayMeter {
    base: BaseDelay<20>,
    /// In order of arrival.
    recent: VecDeque<Recent>,
    /// The least waits of these, and what these waited less what was predicted.
    waits: LeastOfLate<()>,
    /// Each with its packet's number and wait.
    errors: LeastOfLate<(u64, f64)>,
    newest: Option<Arrival>,
    /// Successive packets that each waited longer than the one before, and by how much in all.
    rising: (u32, f64),
    /// The errors of the prediction for the last three packets.
    last: [f64; 3],
    received: u64,
    /// The share of packets that arrive behind a later one.
    reordered: f64,
    /// The least wait of late.
    pub(super) queue: f64,
    /// The least of what was measured less what was predicted.
    pub(super) error: f64,
    /// The packet of the least error and its wait: the queue model continues from it.
    pub(super) anchor: Option<(u64, f64)>,
}

impl DelayMeter {
    const RECENT: usize = 448;

    pub(super) fn new() -> Self {
        Self {
            base: BaseDelay::new(TimeDelta::from_secs(1)),
            recent: VecDeque::with_capacity(Self::RECENT + 1),
            waits: LeastOfLate::new(),
            errors: LeastOfLate::new(),
            newest: None,
            rising: (0, 0.0),
            last: [0.0; 3],
            received: 0,
            reordered: 0.0,
            queue: 0.0,
            error: 0.0,
            anchor: None,
        }
    }

    pub(super) const fn newest(&self) -> Option<&Arrival> {
        self.newest.as_ref()
    }

    pub(super) const fn reordered(&self) -> f64 {
        self.reordered
    }

    /// The wait above the base, at most 10 s.
    pub(super) fn wait(&mut self, now: Timestamp, transit: Transit) -> f64 {
        self.base.update(now, transit).as_secs_f64().min(10.0)
    }

    /// The present base is kept: while a foreign queue stands nothing better is seen.
    pub(super) const fn hold_base(&mut self, now: Timestamp) {
        self.base.hold(now);
    }

    /// The path has become longer by so many seconds.
    pub(super) fn move_base(&mut self, longer: f64) {
        self.base.add(TimeDelta::from_secs_f64(longer));
        self.forget_waits();
    }

    /// The path changed.
    pub(super) fn reset(&mut self) {
        self.base.reset();
        self.forget_waits();
    }

    fn forget_waits(&mut self) {
        self.recent.clear();
        self.waits.clear();
        self.errors.clear();
        self.newest = None;
        self.anchor = None;
    }

    /// Takes an arrival, and gives it beside the packet before it where they came in order.
    pub(super) fn on_arrival(&mut self, arrival: Arrival) -> Option<Pair> {
        let is_newer = self.newest.is_none_or(|newest| arrival.id > newest.id);
        let is_behind = !is_newer || self.recent.back().is_some_and(|last| arrival.at < last.at);
        self.reordered += (f64::from(is_behind) - self.reordered) / 500.0;
        let pair = self.newest.filter(|newest| arrival.id == newest.id.wrapping_add(1)).map(|newest| Pair {
            gap: arrival.sent - newest.sent,
            spacing: arrival.at - newest.at,
            step: arrival.wait - newest.wait,
            wait: arrival.wait,
            grouped: arrival.grouped,
        });
        if is_newer {
            self.note_rise(arrival.wait);
            self.newest = Some(arrival);
            self.last[(self.received % 3) as usize] = arrival.wait - arrival.predicted;
            self.received += 1;
        }
        self.insert(arrival);
        pair
    }

    fn note_rise(&mut self, wait: f64) {
        let before = self.newest.map_or(0.0, |newest| newest.wait);
        self.rising =
            if wait > before { (self.rising.0 + 1, self.rising.1 + wait - before) } else { (0, 0.0) };
    }

    fn insert(&mut self, arrival: Arrival) {
        let place =
            self.recent.iter().rposition(|other| other.at <= arrival.at).map_or(0, |before| before + 1);
        let Arrival { id, at, .. } = arrival;
        let (size, wait, predicted) = (arrival.size as f32, arrival.wait as f32, arrival.predicted as f32);
        let recent = Recent { id, at, size, wait, predicted };
        self.recent.insert(place, recent);
        self.waits.insert(Sample { at, value: recent.wait(), of: () });
        self.errors.insert(recent.error());
        let newest = self.recent.back().map_or(0.0, |last| last.at);
        while self.recent.len() > Self::RECENT
            || self.recent.len() > 8 && self.recent.front().is_some_and(|oldest| newest - oldest.at > 0.5)
        {
            self.recent.pop_front();
        }
        let oldest = self.recent.front().map_or(newest, |oldest| oldest.at);
        self.waits.forget_before(oldest);
        self.errors.forget_before(oldest);
    }

    /// Takes the least wait and the least error of the last 40 ms of arrivals, more where delay jitters.
    pub(super) fn measure(&mut self, jitter: f64) {
        let Some(newest) = self.recent.back().map(|last| last.at) else { return };
        let span = DELAY_SPAN + 2.0 * jitter.min(0.060);
        if let Some(least) = self.waits.least(newest, span) {
            self.queue = least.value;
        }
        if let Some(least) = self.errors.least(newest, span) {
            self.error = least.value;
            self.anchor = Some(least.of);
        }
    }

    /// The longest wait of the last half second.
    pub(super) fn longest(&self) -> f64 {
        self.recent.iter().map(Recent::wait).fold(0.0, f64::max)
    }

    /// The rate of arrival over the last 30 ms, more where delay jitters, and over four packets at least.
    pub(super) fn arrival_rate(&self, jitter: f64) -> Option<f64> {
        let span = RATE_SPAN + 5.0 * jitter.min(0.080);
        let last = self.recent.back()?.at;
        let (mut bytes, mut first, mut later) = (0.0, last, None);
        for (count, arrival) in self.recent.iter().rev().enumerate() {
            if let Some(size) = later {
                if last - arrival.at > span && count > 4 {
                    break;
                }
                bytes += size;
                first = arrival.at;
            }
            later = Some(f64::from(arrival.size));
        }
        (self.recent.len() >= 3 && last - first > 0.0005).then(|| bytes * 8.0 / (last - first))
    }

    /// The error of the prediction for the newest packet; 0 while there is none.
    pub(super) fn newest_error(&self) -> f64 {
        self.newest.map_or(0.0, |newest| newest.wait - newest.predicted)
    }

    /// The least error of the prediction for the last three packets: what packets of one group wait for each other is
    /// predicted, and no queue of the path.
    pub(super) fn least_error_of_three(&self) -> Option<f64> {
        (self.received >= 3).then(|| self.last.iter().copied().fold(f64::INFINITY, f64::min))
    }

    /// Five packets in a row each waited longer than the one before, by more than 8 ms and five jitters in all.
    pub(super) fn rises_sharply(&self, jitter: f64) -> bool {
        self.rising.0 >= 5 && self.rising.1 > 0.008 + 5.0 * jitter
    }

    pub(super) const fn forget_rise(&mut self) {
        self.rising = (0, 0.0);
    }

    /// After the capacity fell at once: what was predicted for packets of late was wrong, and is no error.
    pub(super) fn accept_waits(&mut self) {
        for arrival in &mut self.recent {
            arrival.predicted = arrival.predicted.max(arrival.wait);
        }
        self.errors.clear();
        for arrival in &self.recent {
            self.errors.insert(arrival.error());
        }
    }
}

/// Round-trip time: smoothed, and the least of 20 s.
#[derive(Debug, Clone)]
pub(super) struct RoundTrip {
    pub(super) smoothed: f64,
    pub(super) least: f64,
    /// By seconds.
    minima: VecDeque<(i64, f64)>,
    /// Of the last 0.8 s, less than zero: the least is the longest.
    recent: LeastOfLate<()>,
}

impl RoundTrip {
    const UNKNOWN: f64 = 0.1;
    const RECENT: f64 = 0.8;

    pub(super) const fn new() -> Self {
        Self {
            smoothed: Self::UNKNOWN,
            least: Self::UNKNOWN,
            minima: VecDeque::new(),
            recent: LeastOfLate::new(),
        }
    }

    /// The time from a packet's departure to its report at `t`.
    pub(super) fn on_packet(&mut self, t: f64, sample: f64) {
        self.recent.insert(Sample { at: t, value: -sample, of: () });
        self.recent.forget_before(t - Self::RECENT);
    }

    pub(super) fn on_sample(&mut self, t: f64, sample: f64) {
        self.smoothed = if self.minima.is_empty() { sample } else { 0.875 * self.smoothed + 0.125 * sample };
        let second = whole(t, 1.0);
        match self.minima.back_mut() {
            Some((newest, least)) if *newest == second => *least = least.min(sample),
            _ => self.minima.push_back((second, sample)),
        }
        while self.minima.front().is_some_and(|(oldest, _)| second - oldest >= 20) {
            self.minima.pop_front();
        }
        self.least = self.minima.iter().map(|(_, least)| *least).fold(f64::INFINITY, f64::min);
    }

    pub(super) fn reset(&mut self) {
        self.minima.clear();
        self.recent.clear();
    }

    /// The longest of the last 0.8 s.
    pub(super) fn longest(&self) -> f64 {
        self.recent.least(0.0, f64::INFINITY).map_or(self.least, |longest| self.least.max(-longest.value))
    }

    /// From a departure until its effect is seen, with feedback each `interval`.
    pub(super) fn loop_delay(&self, interval: f64) -> f64 {
        self.least + interval + LOOP_SLACK
    }
}
