//! Aggregation as ns3-rmcat does it, at the sender: the older variant that S004's simulations ran.

use super::aggregate::{Observed, Signal};
use super::config::{BUILD_UP, LOSS_PENALTY, NadaConfig, TAPS, WINDOW};
use super::equation::{penalty, perceived, smoothed};
use crate::estimators::LossIntervals;
use seaway_units::{TimeDelta, Timestamp, Transit};
use std::collections::VecDeque;

/// Fewer packets than this measure neither loss nor rate,
const LEAST_HISTORY: usize = 5;
/// unless they left over so long (ours: below 80 kbit/s of 1000 B ns3-rmcat never learns anything).
const LEAST_SPAN: TimeDelta = TimeDelta::from_millis(250);
/// The history holds no more packets (60 KiB), so that above 36 Mbit/s of 1200 B it spans less than its window.
const LONGEST_HISTORY: usize = 1920;

/// The packets that left within half a second before the newest that is known to have arrived.
#[derive(Debug, Clone)]
pub(super) struct DraftHistory {
    warp_threshold: f64,
    packets: VecDeque<Record>,
    bytes: u64,
    /// The least transit since the history was last empty.
    base: Option<Transit>,
    closed: LossIntervals,
    /// Received packets of the open loss interval.
    open: f64,
    lossy: bool,
    loss_ratio: f64,
    missing: u64,
    signal: Signal,
}

#[derive(Debug, Clone, Copy)]
struct Record {
    sent: Timestamp,
    sequence: u64,
    transit: Transit,
    size: u16,
}

impl DraftHistory {
    pub(super) fn new(config: NadaConfig) -> Self {
        Self {
            warp_threshold: config.warp_threshold,
            packets: VecDeque::with_capacity(LONGEST_HISTORY),
            bytes: 0,
            base: None,
            closed: LossIntervals::new(1.0),
            open: 0.0,
            lossy: false,
            loss_ratio: 0.0,
            missing: 0,
            signal: Signal { delay: 0.0, ramp_up: false, receive_rate: 0.0 },
        }
    }

    /// A packet that left at `packet.at` arrived; those that come after a higher number are discarded.
    pub(super) fn on_packet(&mut self, packet: &Observed) {
        let sent = packet.at;
        if let Some(last) = self.packets.back() {
            if packet.sequence <= last.sequence || sent < last.sent {
                return;
            }
            if sent.since(last.sent) > WINDOW {
                self.forget_base();
            }
        }
        self.count_intervals(packet.sequence);
        let transit = packet.transit;
        self.base =
            self.base.filter(|_| !self.packets.is_empty()).map(|base| base.min(transit)).or(Some(transit));
        if self.packets.len() == LONGEST_HISTORY {
            self.drop_oldest();
        }
        let size = packet.size.as_bytes().min(u64::from(u16::MAX)) as u16;
        self.bytes += u64::from(size);
        self.packets.push_back(Record { sent, sequence: packet.sequence, transit, size });
        while self.packets.front().is_some_and(|first| sent.since(first.sent) >= WINDOW) {
            self.drop_oldest();
        }
    }

    /// The path changed: the history begins anew, as after half a second without a packet.
    pub(super) fn forget_base(&mut self) {
        self.packets.clear();
        self.bytes = 0;
    }

    fn drop_oldest(&mut self) {
        if let Some(first) = self.packets.pop_front() {
            self.bytes -= u64::from(first.size);
        }
    }

    /// Every gap of any size begins an interval with the packet behind it; lengths count received packets.
    fn count_intervals(&mut self, sequence: u64) {
        match self.packets.back() {
            None => (self.closed, self.open, self.lossy) = (LossIntervals::new(1.0), 1.0, false),
            Some(last) if sequence == last.sequence.saturating_add(1) => self.open += 1.0,
            Some(_) => {
                self.closed.close(self.open);
                (self.open, self.lossy) = (1.0, true);
            }
        }
    }

    /// The signal now; what cannot be measured stays as it was.
    pub(super) fn signal(&mut self) -> Signal {
        if let Some((missing, ratio)) = self.loss() {
            self.missing = missing;
            self.loss_ratio = smoothed(self.loss_ratio, ratio);
        }
        if let Some(rate) = self.receive_rate() {
            self.signal.receive_rate = rate;
        }
        if let Some(queueing) =
            self.packets.iter().rev().take(TAPS).map(|packet| self.delay(packet)).reduce(f64::min)
        {
            let interval = self.closed.mean(Some(self.open)).filter(|_| self.lossy);
            let delay = perceived(queueing, self.warp_threshold, interval, self.open)
                + penalty(self.loss_ratio, LOSS_PENALTY);
            self.signal.delay = delay;
        }
        self.signal.ramp_up =
            self.missing == 0 && self.packets.iter().all(|packet| self.delay(packet) <= BUILD_UP);
        self.signal
    }

    /// Raw queueing delay, ms.
    fn delay(&self, packet: &Record) -> f64 {
        self.base.map_or(0.0, |base| (packet.transit - base).as_millis_f64())
    }

    fn loss(&self) -> Option<(u64, f64)> {
        let (first, last, count) = self.ends()?;
        let span = last.sequence - first.sequence + 1;
        let missing = span - count;
        Some((missing, missing as f64 / span as f64))
    }

    /// From the arrival of the first packet, which does not count itself, to that of the last.
    fn receive_rate(&self) -> Option<f64> {
        let (first, last, _) = self.ends()?;
        let span = (last.sent - first.sent) + (last.transit - first.transit);
        let bits = (self.bytes - u64::from(first.size)) as f64 * 8.0;
        (span > TimeDelta::ZERO).then(|| bits / span.as_secs_f64())
    }

    fn ends(&self) -> Option<(Record, Record, u64)> {
        let (first, last) = self.packets.front().zip(self.packets.back())?;
        let count = self.packets.len();
        let is_enough = count >= LEAST_HISTORY || last.sent.since(first.sent) >= LEAST_SPAN;
        is_enough.then_some((*first, *last, count as u64))
    }

    pub(super) const fn loss_ratio(&self) -> f64 {
        self.loss_ratio
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::info::FlowConfig;
    use crate::nada::config::Variant;
    use seaway_units::{DataSize, Ecn, RemoteTimestamp};

    fn history() -> DraftHistory {
        let flow = FlowConfig { packet: DataSize::from_bytes(1000), ecn: Ecn::NotEct };
        DraftHistory::new(NadaConfig::new(Variant::Draft, flow))
    }

    /// Packets of a transit of so many ms, one every 10 ms of `during`.
    fn feed(history: &mut DraftHistory, during: std::ops::Range<i64>, transit: i64) {
        for ms in during.step_by(10) {
            let sent = Timestamp::ZERO + TimeDelta::from_millis(ms);
            let arrived = sent + TimeDelta::from_millis(transit);
            history.on_packet(&Observed {
                at: sent,
                sequence: ms.unsigned_abs() / 10,
                size: DataSize::from_bytes(1000),
                marked: false,
                transit: RemoteTimestamp::from_nanos(arrived.as_nanos()).transit_from(sent),
                rtt: None,
            });
        }
    }

    /// As in ns3-rmcat: a longer route counts as a queue for ever, until nothing leaves for half a second, or the path is known to have changed.
    #[test]
    fn the_base_delay_is_kept_until_a_pause() {
        let mut paused = history();
        feed(&mut paused, 0..1000, 30);
        feed(&mut paused, 1000..3_600_000, 80);
        assert_eq!(paused.signal().delay, 50.0);
        let mut changed = history();
        feed(&mut changed, 0..1000, 30);
        feed(&mut changed, 1000..2000, 80);
        assert_eq!(changed.signal().delay, 50.0);
        changed.forget_base();
        feed(&mut changed, 2000..3000, 80);
        assert!(changed.signal().delay < 1.0);
        feed(&mut paused, 3_600_600..3_601_600, 80);
        assert!(paused.signal().delay < 1.0);
    }
}
