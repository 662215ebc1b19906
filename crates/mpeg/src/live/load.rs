//! How much of the time shaping takes, and from that how early windows end and which programmes may be coded in a closed loop.
//!
//! A closed loop takes many times as long as an open one. On a machine that is too slow for it pictures would pass unshaped, and the
//! ceiling with them. So what each kind of coding takes is measured, and a programme is coded in a closed loop where there is time for it.

use super::config::Config;
use seaway_units::TimeDelta;

/// Video that is shaped between two measurements, at least, in seconds.
const LEAST_VIDEO: f64 = 0.5;
/// What a closed loop takes, beside an open one, before it was measured. It is 6 to 12 for usual streams.
const FIRST_RATIO: f64 = 8.0;
/// The share of the time that shaping may take with closed loops.
const MOST: f64 = 0.5;
/// A programme begins a closed loop where as much of that would still be left, so that it does not change with each measurement.
const MARGIN: f64 = 0.2;
/// A programme that keeps this share of its bits needs no closed loop.
const KEEPS_MOST: f64 = 0.95;
/// What of a higher measurement stays in the next one.
const KEPT: f64 = 0.8;
/// The same for what a closed loop took, while there is none: after a minute or two it is tried again.
const KEPT_UNUSED: f64 = 0.98;
/// Windows vary: as much time is reserved for one, beside the mean.
const RESERVED: f64 = 1.5;
/// The same beside the longest one.
const LONGER: f64 = 1.25;
/// The most of the delay that is reserved for computing.
const MOST_RESERVED: f64 = 0.6;

/// What a programme was given to shape in a stretch of time.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Coded {
    /// Display time of its pictures.
    pub(super) seconds: f64,
    /// Bits of the input that were coded in an open loop, and in a closed one.
    pub(super) bits: [u64; 2],
    pub(super) bits_out: u64,
}

impl Coded {
    fn rate(&self) -> f64 {
        (self.bits[0] + self.bits[1]) as f64 / self.seconds.max(1e-3)
    }

    /// The share of its bits that it keeps.
    fn kept(&self) -> f64 {
        self.bits_out as f64 / (self.bits[0] + self.bits[1]).max(1) as f64
    }
}

/// The time that shaping takes.
#[derive(Debug)]
pub(super) struct Load {
    /// The delay is shorter than [`Config::LEAST_FOR_CLOSED_LOOP`].
    is_short: bool,
    spent: TimeDelta,
    /// The longest calls, in seconds: of late, and since the last measurement.
    longest: [f64; 2],
    /// Seconds of computing for a bit of the input in an open loop, and in a closed one; `None` before the first measurement.
    costs: Option<[f64; 2]>,
    /// Seconds of computing for a second of video.
    share: f64,
    /// The same, with a closed loop for each programme that may have one.
    expected: f64,
}

impl Load {
    pub(super) fn new(delay: TimeDelta) -> Load {
        let is_short = delay < Config::LEAST_FOR_CLOSED_LOOP;
        Load { is_short, spent: TimeDelta::ZERO, longest: [0.0; 2], costs: None, share: 0.0, expected: 0.0 }
    }

    /// A call took so long.
    pub(super) fn add(&mut self, spent: TimeDelta) {
        self.spent += spent;
        self.longest[1] = self.longest[1].max(spent.as_secs_f64());
    }

    /// The share of the time that shaping takes, about the highest of late.
    pub(super) fn share(&self) -> f64 {
        self.share
    }

    /// True where the programmes were given enough for a measurement.
    pub(super) fn is_due(coded: impl Iterator<Item = Coded>) -> bool {
        coded.map(|coded| coded.seconds).fold(0.0, f64::max) >= LEAST_VIDEO
    }

    /// Measures: the programmes were given `coded` since the last measurement. Says by programme whether it may be coded in a closed
    /// loop.
    pub(super) fn measure(&mut self, coded: &[Coded]) -> Vec<bool> {
        let spent = std::mem::take(&mut self.spent).as_secs_f64();
        let seconds = coded.iter().map(|coded| coded.seconds).fold(0.0, f64::max);
        self.share = fall_slowly(self.share, spent / seconds.max(1e-3), KEPT);
        let [longest, newest] = self.longest;
        self.longest = [fall_slowly(longest, newest, KEPT), 0.0];
        let sum = |kind: usize| coded.iter().map(|coded| coded.bits[kind] as f64).sum::<f64>();
        let bits = [sum(0), sum(1)];
        let costs = self.costs_of(spent, bits);
        self.costs = Some(costs);
        let allowed = if self.is_short { vec![false; coded.len()] } else { allowed(costs, coded) };
        let cost = |(coded, allowed): (&Coded, &bool)| costs[usize::from(*allowed)] * coded.rate();
        self.expected = coded.iter().zip(&allowed).map(cost).sum();
        allowed
    }

    fn costs_of(&self, spent: f64, [open_bits, closed_bits]: [f64; 2]) -> [f64; 2] {
        let whole = (open_bits + closed_bits).max(1.0);
        let [open, closed] =
            self.costs.unwrap_or_else(|| [1.0, FIRST_RATIO].map(|ratio| ratio * spent / whole));
        if closed_bits == 0.0 {
            let open = fall_slowly(open, spent / whole, KEPT);
            return [open, KEPT_UNUSED * closed + (1.0 - KEPT_UNUSED) * FIRST_RATIO * open];
        }
        let of_closed = ((spent - open * open_bits) / closed_bits).max(open);
        [open, fall_slowly(closed, of_closed, KEPT)]
    }

    /// The time that is reserved for computing a window whose first packet may wait for `delay` in all: at least `least`.
    pub(super) fn reserve(&self, delay: TimeDelta, least: TimeDelta) -> TimeDelta {
        if self.is_short {
            return least;
        }
        // A window of `w` seconds and its computing fill the delay: w + RESERVED * share * w.
        let computing = RESERVED * self.share.max(self.expected);
        let delay = delay.as_secs_f64();
        let for_mean = delay * computing / (1.0 + computing);
        let for_longest = LONGER * self.longest[0];
        TimeDelta::from_secs_f64(for_mean.max(for_longest).min(MOST_RESERVED * delay)).max(least)
    }
}

/// Which programmes may be coded in a closed loop: those that lose most first, as far as the time suffices.
fn allowed([open, closed]: [f64; 2], coded: &[Coded]) -> Vec<bool> {
    let mut left = MOST - coded.iter().map(|coded| open * coded.rate()).sum::<f64>();
    let mut order: Vec<usize> = (0..coded.len()).filter(|&index| coded[index].kept() < KEEPS_MOST).collect();
    order.sort_by(|&a, &b| coded[a].kept().total_cmp(&coded[b].kept()));
    let mut allowed = vec![false; coded.len()];
    for index in order {
        let further = (closed - open) * coded[index].rate();
        let margin = if coded[index].bits[1] > 0 { 0.0 } else { MARGIN * MOST };
        allowed[index] = further + margin <= left;
        left -= if allowed[index] { further } else { 0.0 };
    }
    allowed
}

/// Follows a higher value at once and a lower one slowly.
fn fall_slowly(last: f64, next: f64, kept: f64) -> f64 {
    next.max(kept * last + (1.0 - kept) * next)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A second of a programme of 4 Mbit/s that keeps this share.
    fn second(kept: f64, is_closed: bool) -> Coded {
        let bits = if is_closed { [0, 4_000_000] } else { [4_000_000, 0] };
        Coded { seconds: 1.0, bits, bits_out: (kept * 4e6) as u64 }
    }

    fn measured(load: &mut Load, coded: &[Coded], share: f64) -> Vec<bool> {
        load.add(TimeDelta::from_secs_f64(share));
        load.measure(coded)
    }

    #[test]
    fn a_closed_loop_needs_time() {
        let open = [second(0.6, false)];
        assert_eq!(measured(&mut Load::new(TimeDelta::from_secs(1)), &open, 0.04), [true]);
        assert_eq!(measured(&mut Load::new(TimeDelta::from_secs(1)), &open, 0.2), [false]);
    }

    #[test]
    fn those_that_lose_most_have_it_first() {
        let open = [second(0.64, false), second(0.9, false), second(0.5, false)];
        assert_eq!(measured(&mut Load::new(TimeDelta::from_secs(1)), &open, 0.09), [false, false, true]);
    }

    #[test]
    fn a_closed_loop_that_takes_too_long_ends_and_is_tried_again() {
        let mut load = Load::new(TimeDelta::from_secs(1));
        assert_eq!(measured(&mut load, &[second(0.6, false)], 0.04), [true]);
        assert_eq!(measured(&mut load, &[second(0.6, true)], 0.7), [false]);
        let tries = (1..).find(|_| measured(&mut load, &[second(0.6, false)], 0.04) == [true]).unwrap();
        assert!((20..200).contains(&tries), "{tries}");
        // One that begins stays, though it takes more than it may for a beginning.
        assert_eq!(measured(&mut load, &[second(0.6, true)], 0.45), [true]);
    }

    #[test]
    fn windows_end_earlier_where_computing_takes_longer() {
        let mut load = Load::new(TimeDelta::from_secs(1));
        let [delay, least] = [1.4, 0.35].map(TimeDelta::from_secs_f64);
        assert_eq!(load.reserve(delay, least), least);
        measured(&mut load, &[second(1.0, false)], 0.1);
        assert_eq!(load.reserve(delay, least), least);
        measured(&mut load, &[second(1.0, false)], 0.4);
        let reserve = load.reserve(delay, least);
        let window = delay - reserve;
        assert!(reserve.as_secs_f64() > 1.4 * 0.4 * window.as_secs_f64(), "{reserve}");
        measured(&mut load, &[second(1.0, false)], 5.0);
        assert_eq!(load.reserve(delay, least), TimeDelta::from_secs_f64(MOST_RESERVED * 1.4));
        // A machine that was busy is forgotten.
        for _ in 0..30 {
            measured(&mut load, &[second(1.0, false)], 0.1);
        }
        assert_eq!(load.reserve(delay, least), least);
    }

    #[test]
    fn one_long_call_counts_and_so_does_a_closed_loop_to_come() {
        let [delay, least] = [1.4, 0.35].map(TimeDelta::from_secs_f64);
        let mut load = Load::new(TimeDelta::from_secs(1));
        load.add(TimeDelta::from_millis(400));
        load.measure(&[Coded { seconds: 10.0, ..second(1.0, false) }]);
        assert_eq!(load.reserve(delay, least), TimeDelta::from_millis(500));
        let mut load = Load::new(TimeDelta::from_secs(1));
        assert_eq!(measured(&mut load, &[second(0.6, false)], 0.04), [true]);
        assert!(load.reserve(delay, least) > least);
    }

    #[test]
    fn a_short_delay_has_no_time_for_it() {
        let mut load = Load::new(TimeDelta::from_millis(120));
        assert_eq!(measured(&mut load, &[second(0.6, false)], 0.01), [false]);
        measured(&mut load, &[second(0.6, false)], 0.9);
        let least = TimeDelta::from_millis(30);
        assert_eq!(load.reserve(TimeDelta::from_millis(100), least), least);
    }
}
