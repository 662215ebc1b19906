//! The limit that the receive rate sets (RFC 5348 section 4.3 step 4).

use seaway_units::Timestamp;

/// The recent receive rates (`X_recv_set`), bytes a second. At first there is one that limits nothing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ReceiveRates {
    entries: [(f64, Timestamp); Self::MOST],
    len: usize,
}

impl ReceiveRates {
    const MOST: usize = 3;

    /// No limit; `now` is the time of the first data packet.
    pub(crate) const fn unlimited(now: Timestamp) -> Self {
        Self::only(f64::INFINITY, now)
    }

    /// A single rate.
    pub(crate) const fn only(rate: f64, now: Timestamp) -> Self {
        Self { entries: [(rate, now); Self::MOST], len: 1 }
    }

    /// The highest of the set.
    pub(crate) fn max(&self) -> f64 {
        self.entries[..self.len].iter().fold(0.0, |max, (rate, _)| rate.max(max))
    }

    /// A sender that was not data-limited takes the rate in, and forgets those older than two round-trip times.
    pub(crate) fn update(&mut self, rate: f64, now: Timestamp, rtt: f64) {
        let mut kept = Self::only(rate, now);
        for (rate, at) in &self.entries[..self.len.min(Self::MOST - 1)] {
            if now.since(*at).as_secs_f64() <= 2.0 * rtt {
                kept.entries[kept.len] = (*rate, *at);
                kept.len += 1;
            }
        }
        *self = kept;
    }

    /// A data-limited one keeps the highest alone, and no unlimited start.
    pub(crate) fn maximize(&mut self, rate: f64, now: Timestamp) {
        let finite = self.entries[..self.len].iter().map(|(rate, _)| *rate).filter(|rate| rate.is_finite());
        *self = Self::only(finite.fold(rate, f64::max), now);
    }

    /// A data-limited sender lost packets: half of what was, and less of what is.
    pub(crate) fn halve_and_maximize(&mut self, rate: f64, now: Timestamp) {
        for (rate, _) in &mut self.entries[..self.len] {
            *rate /= 2.0;
        }
        self.maximize(0.85 * rate, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seaway_units::TimeDelta;

    /// The worked numbers of RFC 5348 section 4.3: set {100000}, report 30000 B/s.
    #[test]
    fn worked_limits() {
        let set = ReceiveRates::only(100_000.0, Timestamp::ZERO);
        let now = Timestamp::ZERO + TimeDelta::from_millis(100);
        let with = |apply: fn(&mut ReceiveRates, Timestamp)| {
            let mut set = set;
            apply(&mut set, now);
            set
        };
        assert_eq!(with(|set, now| set.halve_and_maximize(30_000.0, now)), ReceiveRates::only(50_000.0, now));
        assert_eq!(with(|set, now| set.maximize(30_000.0, now)), ReceiveRates::only(100_000.0, now));
        let mut updated = with(|set, now| set.update(30_000.0, now, 0.1));
        assert_eq!((updated.len, updated.max()), (2, 100_000.0));
        updated.update(30_000.0, now + TimeDelta::from_millis(101), 0.1);
        assert_eq!(updated.max(), 30_000.0, "the old entry is more than two round-trip times old");
    }

    #[test]
    fn the_unlimited_start_ends() {
        let mut set = ReceiveRates::unlimited(Timestamp::ZERO);
        set.update(5.0, Timestamp::from_nanos(1), 1.0);
        assert_eq!(set.max(), f64::INFINITY);
        set.maximize(7.0, Timestamp::from_nanos(2));
        assert_eq!(set.max(), 7.0);
    }

    #[test]
    fn newest_three_are_kept() {
        let mut set = ReceiveRates::unlimited(Timestamp::ZERO);
        for rate in 1..=4 {
            set.update(f64::from(rate), Timestamp::from_nanos(rate as u64), 1.0);
        }
        assert_eq!(set.max(), 4.0);
        assert_eq!(set.len, 3);
    }
}
