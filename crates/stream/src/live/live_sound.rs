//! The times of sound that comes as it is captured, from a program with a clock of its own.

use seaway_media::audio::BLOCK_TIME;
use seaway_units::{TimeDelta, Timestamp};

/// Blocks over which the clocks are compared: two seconds.
const WINDOW: u32 = 100;
/// The clocks may be apart by so much.
const APART: TimeDelta = TimeDelta::from_millis(30);
/// After a pause of this length the times go on from its end.
const PAUSE: TimeDelta = TimeDelta::from_millis(500);

/// Gives each block the time of its capture: steps of a block, kept to the instants at which blocks come.
///
/// A block comes late and never early, so of some seconds the earliest counts. Times never go back: one that comes before its time is
/// left out, of a program whose clock is the faster one, or that held blocks up before.
#[derive(Debug)]
pub(super) struct LiveSound {
    next: Option<Timestamp>,
    /// The least that a block of this window came after its time.
    least: TimeDelta,
    count: u32,
}

impl LiveSound {
    pub(super) const fn new() -> Self {
        Self { next: None, least: TimeDelta::MAX, count: 0 }
    }

    /// The time of a block whose last sample is there at `now`; `None` where it is left out.
    pub(super) fn place(&mut self, now: Timestamp) -> Option<Timestamp> {
        let begin = now - BLOCK_TIME;
        let mut next = *self.next.get_or_insert(begin);
        let late = begin - next;
        if late < -APART {
            return None;
        }
        self.least = self.least.min(late);
        self.count += 1;
        if late > PAUSE {
            next = begin;
        } else if self.count == WINDOW && self.least > APART {
            next += self.least;
        }
        if late > PAUSE || self.count == WINDOW {
            (self.least, self.count) = (TimeDelta::MAX, 0);
        }
        self.next = Some(next + BLOCK_TIME);
        Some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: i64) -> Timestamp {
        Timestamp::ZERO + TimeDelta::from_secs(1) + TimeDelta::from_micros(micros)
    }

    /// The error of the last of `count` blocks that come each `step` microseconds, in bursts of `burst`.
    fn error(count: i64, step: i64, burst: i64) -> TimeDelta {
        let (mut line, mut last, mut error) = (LiveSound::new(), Timestamp::ZERO, TimeDelta::ZERO);
        for index in 0..count {
            let captured = at(index * step);
            // The last of a burst comes as it is captured.
            let comes = at((index / burst * burst + burst - 1) * step) + BLOCK_TIME;
            if let Some(placed) = line.place(comes) {
                assert!(last == Timestamp::ZERO || placed >= last + BLOCK_TIME, "{index}");
                (last, error) = (placed, placed - captured);
            }
        }
        error
    }

    #[test]
    fn it_keeps_to_the_instants_of_capture() {
        assert_eq!(error(50, 20_000, 1), TimeDelta::ZERO);
        // Of a program that writes 100 ms at once the last block of five counts.
        assert!(error(50, 20_000, 5).abs() <= APART);
    }

    #[test]
    fn it_follows_a_clock_that_is_slower_or_faster() {
        // 0.1 %, for five minutes: a third of a second.
        for step in [19_980, 20_020] {
            let error = error(15_000, step, 1);
            assert!(error.abs() <= TimeDelta::from_millis(40), "{step}: {error}");
        }
    }

    #[test]
    fn it_goes_on_after_a_pause() {
        let mut line = LiveSound::new();
        assert_eq!(line.place(at(20_000)), Some(at(0)));
        assert_eq!(line.place(at(3_020_000)), Some(at(3_000_000)));
        assert_eq!(line.place(at(3_040_000)), Some(at(3_020_000)));
    }
}
