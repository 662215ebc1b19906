//! Whether a source keeps up: its frames against those that were due.

use seaway_units::{TimeDelta, Timestamp};
use std::sync::{Arc, Mutex, PoisonError};

/// Frames of a source against those that were due at its rate since its first one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Supply {
    /// Frames that came from the source, those included that were not coded.
    pub captured: u64,
    /// Frames that were due and did not come: the input gave none, or the coding of others took their time.
    pub missing: u64,
    /// How long the input was waited for after a frame was due, in all.
    pub waited: TimeDelta,
    /// How long coding took in all.
    pub coded: TimeDelta,
    /// For how long the input has given nothing, where it is waited for at present.
    pub silent: TimeDelta,
}

/// What keeps frames from coming.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shortage {
    /// The input gives fewer frames than its rate promises.
    Input,
    /// Coding takes longer than the time between frames.
    Encoder,
}

impl Supply {
    /// Frames that were due.
    pub const fn due(&self) -> u64 {
        self.captured + self.missing
    }

    /// What keeps frames from coming, where more than one in twenty of those due did not come.
    pub fn shortage(&self) -> Option<Shortage> {
        let cause = if self.coded > self.waited { Shortage::Encoder } else { Shortage::Input };
        (self.missing * 20 > self.due()).then_some(cause)
    }

    /// The growth since `earlier`.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            captured: self.captured.saturating_sub(earlier.captured),
            missing: self.missing.saturating_sub(earlier.missing),
            waited: self.waited - earlier.waited,
            coded: self.coded - earlier.coded,
            silent: self.silent,
        }
    }
}

/// Measures the supply; the capture thread and the one that reads the input write, the application reads.
#[derive(Debug, Clone, Default)]
pub(super) struct SupplyMeter(Arc<Mutex<Measured>>);

#[derive(Debug, Default)]
struct Measured {
    /// When the first frame came, and the time between frames.
    began: Option<(Timestamp, TimeDelta)>,
    captured: u64,
    waited: TimeDelta,
    coded: TimeDelta,
    /// Since when the input is waited for.
    waiting_since: Option<Timestamp>,
    /// When the source ended.
    ended: Option<Timestamp>,
}

impl SupplyMeter {
    fn change(&self, change: impl FnOnce(&mut Measured)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// The input is waited for from now.
    pub(super) fn on_waiting(&self, now: Timestamp) {
        self.change(|measured| measured.waiting_since = Some(now));
    }

    /// The input gave something, or ended.
    pub(super) fn on_arrival(&self, now: Timestamp) {
        self.change(|measured| {
            let waited = measured.waiting_since.take().map(|since| now.since(since));
            measured.waited += waited.unwrap_or(TimeDelta::ZERO);
        });
    }

    /// A picture that came early was kept for so long.
    pub(super) fn on_paced(&self, span: TimeDelta) {
        self.change(|measured| measured.waited += span);
    }

    /// How long the input was waited for, in all.
    pub(super) fn waited(&self) -> TimeDelta {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).waited
    }

    /// A frame came at `at`, and its coding took `coding`; the next is due after `interval`, where that is known.
    pub(super) fn on_frame(&self, at: Timestamp, coding: TimeDelta, interval: Option<TimeDelta>) {
        self.change(|measured| {
            if measured.captured == 0 {
                // Nothing was due before the first frame.
                measured.waited = TimeDelta::ZERO;
            }
            measured.began = measured.began.or(interval.map(|interval| (at, interval)));
            measured.captured += 1;
            measured.coded += coding;
        });
    }

    /// No frame is due any more.
    pub(super) fn on_end(&self, now: Timestamp) {
        self.change(|measured| {
            measured.ended.get_or_insert(now);
        });
    }

    /// The supply up to `now`.
    pub(super) fn read(&self, now: Timestamp) -> Supply {
        let measured = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let end = measured.ended.unwrap_or(now);
        // A frame is due for as long as the one before it is shown; then it is missing.
        let due = measured.began.map_or(0, |(began, interval)| {
            (end.since(began).as_nanos().max(0) / interval.as_nanos().max(1)) as u64
        });
        let waiting = measured.waiting_since.filter(|_| measured.ended.is_none());
        let silent = waiting.map_or(TimeDelta::ZERO, |since| now.since(since).max(TimeDelta::ZERO));
        let has_begun = measured.captured > 0;
        Supply {
            captured: measured.captured,
            missing: due.saturating_sub(measured.captured),
            waited: measured.waited + if has_begun { silent } else { TimeDelta::ZERO },
            coded: measured.coded,
            silent,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: TimeDelta = TimeDelta::from_millis(40);

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_nanos(millis * 1_000_000)
    }

    /// Frames every `interval` milliseconds for ten seconds, each waited for and coded for so long.
    fn supply(interval: u64, waiting: u64, coding: i64) -> Supply {
        let meter = SupplyMeter::default();
        for time in (0..10_000).step_by(interval as usize) {
            meter.on_waiting(at(time));
            meter.on_arrival(at(time + waiting));
            meter.on_frame(at(time + waiting), TimeDelta::from_millis(coding), Some(FRAME));
        }
        meter.on_end(at(10_000));
        meter.read(at(20_000))
    }

    #[test]
    fn frames_in_time_are_all_that_were_due() {
        let supply = supply(40, 30, 5);
        assert_eq!((supply.captured, supply.due(), supply.shortage()), (250, 250, None));
    }

    #[test]
    fn missing_frames_have_a_cause() {
        let starved = supply(100, 90, 5);
        assert_eq!((starved.captured, starved.due(), starved.shortage()), (100, 247, Some(Shortage::Input)));
        let slow = supply(100, 0, 100);
        assert_eq!((slow.due(), slow.shortage()), (250, Some(Shortage::Encoder)));
    }

    /// It is reported while it lasts, not after the next frame.
    #[test]
    fn a_silent_input_is_missed_at_once() {
        let meter = SupplyMeter::default();
        meter.on_waiting(at(0));
        assert_eq!(meter.read(at(3000)).silent, TimeDelta::from_secs(3));
        meter.on_arrival(at(3000));
        meter.on_frame(at(3000), TimeDelta::ZERO, Some(FRAME));
        meter.on_waiting(at(3040));
        let supply = meter.read(at(5000));
        assert_eq!((supply.captured, supply.missing), (1, 49));
        assert_eq!(supply.silent, TimeDelta::from_millis(1960));
        assert_eq!(supply.shortage(), Some(Shortage::Input));
    }
}
