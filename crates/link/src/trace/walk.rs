//! The data that a trace carries between two instants.

use super::{Recording, Trace};
use crate::capacity::{Capacity, Outages};
use crate::server::{Calendar, FULL_DATAGRAM};
use seaway_units::{DataSize, Timestamp};
use std::sync::Arc;

/// A walk along a [`Trace`]: for a scheduler that serves by more than the trace.
#[derive(Debug, Clone)]
pub struct TraceWalk {
    at: Timestamp,
    capacity: Walk,
}

#[derive(Debug, Clone)]
enum Walk {
    Rates(Box<Capacity>),
    Opportunities(Calendar),
}

impl Trace {
    /// From the clock's origin.
    pub fn walk(&self) -> TraceWalk {
        let outages = Outages::new(Arc::from([]));
        let capacity = match &self.0 {
            Recording::Rates(schedule) => Walk::Rates(Box::new(Capacity::new(schedule.clone(), outages))),
            Recording::Opportunities(all) => Walk::Opportunities(Calendar::new(all.clone(), outages)),
        };
        TraceWalk { at: Timestamp::ZERO, capacity }
    }
}

impl TraceWalk {
    /// What the trace carries from the end of the last call to before `until`, which is no earlier.
    pub fn carried(&mut self, until: Timestamp) -> DataSize {
        let from = self.at;
        self.at = until.max(from);
        match &mut self.capacity {
            Walk::Opportunities(calendar) => {
                let mut size = DataSize::ZERO;
                while let Some(at) = calendar.next().filter(|&at| at < until) {
                    calendar.take(at);
                    size += FULL_DATAGRAM;
                }
                size
            }
            Walk::Rates(capacity) => {
                let (mut at, mut bit_seconds) = (from, 0.0);
                while let Some(change) = capacity.next_change().filter(|&change| change <= until) {
                    bit_seconds += capacity.rate().as_bps_f64() * change.since(at).as_secs_f64();
                    at = change.max(at);
                    capacity.change();
                }
                bit_seconds += capacity.rate().as_bps_f64() * until.since(at).as_secs_f64();
                DataSize::from_bytes((bit_seconds / 8.0).round() as u64)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walked(text: &str, repeats: bool, steps: &[u64]) -> Vec<u64> {
        let mut walk = Trace::parse(text, None, repeats).unwrap().walk();
        let carried = |&millis: &u64| walk.carried(Timestamp::from_nanos(millis * 1_000_000)).as_bytes();
        steps.iter().map(carried).collect()
    }

    #[test]
    fn opportunities_and_rates_add_up() {
        assert_eq!(walked("1\n1\n3\n5\n", true, &[1, 2, 5, 10, 11]), [0, 3000, 1500, 6000, 1500]);
        assert_eq!(walked("1\n1\n3\n5\n", false, &[5, 6, 100]), [4500, 1500, 0]);
        // 8 Mbit/s for a second, 4 for another, and so on.
        assert_eq!(walked("0 8\n1 4\n", true, &[500, 1500, 2500]), [500_000, 750_000, 750_000]);
        assert_eq!(walked("0 8\n1 4\n", false, &[1000, 1000, 4000]), [1_000_000, 0, 1_500_000]);
    }
}
