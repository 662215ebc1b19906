//! What happened within the observation window, in slots of a fiftieth: fixed memory at any rate.

use super::config::WINDOW;
use seaway_units::Timestamp;

/// Counts by time of arrival. The window reaches back `LOGWIN` and to the start of the slot there, so it is up to
/// 10 ms longer.
#[derive(Debug, Clone)]
pub(super) struct Window {
    slots: [Slot; Self::SLOTS],
    first: Option<Timestamp>,
    newest: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    number: u64,
    totals: Totals,
}

/// Sums over the window.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Totals {
    pub(super) received: u64,
    pub(super) missing: u64,
    pub(super) marked: u64,
    pub(super) bytes: u64,
    /// The greatest raw queueing delay, ms.
    pub(super) delay: f64,
}

impl Window {
    /// Whole slots in a window, and the one that is filling.
    const SLOTS: usize = 51;
    const SLOT_NANOS: u64 = WINDOW.as_nanos() as u64 / 50;

    pub(super) const fn new() -> Self {
        let totals = Totals { received: 0, missing: 0, marked: 0, bytes: 0, delay: 0.0 };
        Self { slots: [Slot { number: 0, totals }; Self::SLOTS], first: None, newest: 0 }
    }

    /// The counts of the present slot. Time that runs back counts to the newest.
    pub(super) fn at(&mut self, now: Timestamp) -> &mut Totals {
        self.first.get_or_insert(now);
        self.newest = self.newest.max(now.as_nanos() / Self::SLOT_NANOS);
        let slot = &mut self.slots[(self.newest % Self::SLOTS as u64) as usize];
        if slot.number != self.newest {
            *slot = Slot { number: self.newest, totals: Totals::default() };
        }
        &mut slot.totals
    }

    /// The sums, and the seconds they span: the window, or less in a flow's youth.
    pub(super) fn sum(&self, now: Timestamp) -> (Totals, f64) {
        let newest = (now.as_nanos() / Self::SLOT_NANOS).max(self.newest);
        let oldest = (newest + 1).saturating_sub(Self::SLOTS as u64);
        let mut sum = Totals::default();
        for Slot { number, totals } in &self.slots {
            // None is newer than the newest.
            if *number >= oldest {
                sum.received += totals.received;
                sum.missing += totals.missing;
                sum.marked += totals.marked;
                sum.bytes += totals.bytes;
                sum.delay = if totals.delay > sum.delay { totals.delay } else { sum.delay };
            }
        }
        let begun = Timestamp::from_nanos(oldest * Self::SLOT_NANOS).max(self.first.unwrap_or(now));
        (sum, now.since(begun).as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seaway_units::TimeDelta;

    #[test]
    fn forgets_what_is_older() {
        let at = |ms| Timestamp::ZERO + TimeDelta::from_millis(ms);
        let mut window = Window::new();
        for ms in 1000..2000 {
            let totals = window.at(at(ms));
            totals.received += 1;
            totals.bytes += 100;
            totals.delay = totals.delay.max(if ms == 1600 { 30.0 } else { 1.0 });
        }
        let (sum, span) = window.sum(at(1999));
        assert_eq!((sum.received, sum.bytes), (510, 51_000));
        assert!((span - 0.509).abs() < 1e-9);
        assert_eq!(sum.delay, 30.0);
        assert_eq!(window.sum(at(2110)).0.delay, 1.0);
        assert_eq!(window.sum(at(9000)).0, Totals::default());
    }

    #[test]
    fn a_young_flow_divides_by_its_age() {
        let mut window = Window::new();
        window.at(Timestamp::from_nanos(7_000_000_000)).bytes += 1000;
        assert!((window.sum(Timestamp::from_nanos(7_100_000_000)).1 - 0.1).abs() < 1e-9);
    }
}
