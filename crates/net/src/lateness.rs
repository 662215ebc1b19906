//! Lateness of a real-time run, and whether the run is void.

use seaway_units::{TimeDelta, Timestamp};

/// Lateness of events that were due at a given instant. A run whose 99th percentile is above [`Lateness::BOUND`] is void:
/// it measures the machine, not the network.
///
/// Memory is constant: values are kept in bins a sixteenth of an octave wide, so a percentile is exact to 5 %.
#[derive(Debug, Clone)]
pub struct Lateness {
    bins: Vec<u64>,
    count: u64,
    max: TimeDelta,
}

impl Lateness {
    /// A run with a larger 99th percentile is void.
    pub const BOUND: TimeDelta = TimeDelta::from_millis(1);
    const PER_OCTAVE: u64 = 16;

    /// No event yet.
    pub fn new() -> Self {
        Self { bins: vec![0; (64 * Self::PER_OCTAVE) as usize], count: 0, max: TimeDelta::ZERO }
    }

    /// An event due at `due` happened at `now`.
    pub fn note(&mut self, due: Timestamp, now: Timestamp) {
        self.note_all(1, due, now);
    }

    /// `count` events due at `due` happened at `now`.
    pub fn note_all(&mut self, count: u64, due: Timestamp, now: Timestamp) {
        if count == 0 {
            return;
        }
        let late = now.since(due);
        self.count += count;
        self.max = self.max.max(late);
        self.bins[Self::bin(late)] += count;
    }

    /// Adds the events of `other`.
    pub fn add(&mut self, other: &Self) {
        self.bins.iter_mut().zip(&other.bins).for_each(|(bin, more)| *bin += more);
        self.count += other.count;
        self.max = self.max.max(other.max);
    }

    /// The lateness that the part `share` of all events, 0 to 1, did not exceed; zero without events.
    pub fn percentile(&self, share: f64) -> TimeDelta {
        let rank = (share * self.count as f64).ceil().max(1.0) as u64;
        let mut below = 0;
        let bin = self.bins.iter().position(|count| {
            below += count;
            below >= rank
        });
        bin.map_or(TimeDelta::ZERO, |bin| Self::upper_edge(bin).min(self.max))
    }

    /// The largest lateness.
    pub const fn max(&self) -> TimeDelta {
        self.max
    }

    /// The number of events.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Whether a run of this lateness is void.
    pub fn is_void(&self) -> bool {
        self.percentile(0.99) > Self::BOUND
    }

    /// Bins below 16 ns hold one value each; above, the leading bits and four more of the number.
    fn bin(late: TimeDelta) -> usize {
        let nanos = late.as_nanos().max(0) as u64;
        let octave = u64::from(nanos.max(1).ilog2());
        let bin =
            if octave < 4 { nanos } else { (octave - 3) * Self::PER_OCTAVE + ((nanos >> (octave - 4)) & 15) };
        bin as usize
    }

    fn upper_edge(bin: usize) -> TimeDelta {
        let (octave, step) = (bin as u64 / Self::PER_OCTAVE, bin as u64 % Self::PER_OCTAVE);
        let nanos = if octave == 0 { step } else { (Self::PER_OCTAVE + step + 1) << (octave - 1) };
        TimeDelta::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX))
    }
}

impl Default for Lateness {
    fn default() -> Self {
        Self::new()
    }
}

/// When a machine's timer is due, and since when that is known. Input may make a timer due at an instant that has passed, as where
/// the rate of a pacer grows: it is late from then on only.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Deadline {
    due: Option<Timestamp>,
    known: Timestamp,
}

impl Deadline {
    /// The machine says `due` after what happened at `at`.
    pub(crate) fn set(&mut self, due: Option<Timestamp>, at: Timestamp) {
        if due != self.due {
            *self = Self { due, known: at };
        }
    }

    /// From when on a timer that was due at `due` is late.
    pub(crate) fn late_from(&self, due: Timestamp) -> Timestamp {
        due.max(self.known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_exact_to_a_bin() {
        let mut lateness = Lateness::new();
        let due = Timestamp::from_nanos(1_000);
        for micros in 1..=1000 {
            lateness.note(due, due + TimeDelta::from_micros(micros));
        }
        for share in [0.5, 0.95, 0.99] {
            let found = lateness.percentile(share).as_secs_f64() * 1e6;
            assert!((share * 1000.0..share * 1000.0 * 1.07).contains(&found), "{share}: {found}");
        }
        assert_eq!(lateness.max(), TimeDelta::from_millis(1));
        assert!(!lateness.is_void());
        lateness.note(due, due - TimeDelta::from_secs(1));
        assert_eq!((lateness.count(), lateness.percentile(0.0)), (1001, TimeDelta::ZERO));
        lateness.note_all(0, due, due + TimeDelta::from_secs(9));
        lateness.note_all(20, due, due + TimeDelta::from_millis(2));
        assert_eq!((lateness.count(), lateness.max()), (1021, TimeDelta::from_millis(2)));
        assert!(lateness.is_void());
    }

    #[test]
    fn two_in_a_hundred_late_spoil_a_run() {
        let mut lateness = Lateness::new();
        for index in 0..100 {
            let late = TimeDelta::from_millis(if index < 2 { 3 } else { 0 });
            lateness.note(Timestamp::ZERO, Timestamp::ZERO + late);
        }
        assert!(lateness.is_void());
    }

    #[test]
    fn every_span_has_a_bin() {
        for nanos in [0, 1, 15, 16, 31, 32, 1_000, i64::MAX] {
            let span = TimeDelta::from_nanos(nanos);
            assert!(Lateness::upper_edge(Lateness::bin(span)) >= span);
        }
    }

    /// A report at 30 ms makes a packet due that was to leave at 80: by the new rate it was due at 20. At 31 it is 1 ms late. A timer that no input
    /// moves is late from when it was due.
    #[test]
    fn a_timer_is_late_from_when_it_was_known() {
        let at = |millis| Timestamp::ZERO + TimeDelta::from_millis(millis);
        let mut deadline = Deadline::default();
        deadline.set(Some(at(80)), at(0));
        assert_eq!(deadline.late_from(at(80)), at(80));
        deadline.set(Some(at(80)), at(10));
        deadline.set(Some(at(20)), at(30));
        assert_eq!(deadline.late_from(at(20)), at(30));
        deadline.set(Some(at(20)), at(40));
        assert_eq!(deadline.late_from(at(20)), at(30));
    }
}
