//! Rate of arrival over about the last round-trip time.

use seaway_units::{DataSize, Timestamp};

/// Counts arrivals and measures their rate back to a mark. Memory is fixed: it keeps marks, not packets
/// (RFC 5348 section 6.2 allows the window to reach back to a former report).
#[derive(Debug, Clone)]
pub struct RateWindow {
    total: Count,
    marks: [(Timestamp, Count); Self::MARKS],
    len: usize,
}

/// What arrived since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Count {
    bytes: u64,
    packets: u64,
}

/// A measured rate of arrival.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ArrivalRate {
    /// Bytes a second.
    pub bytes: f64,
    /// Packets a second.
    pub packets: f64,
}

impl RateWindow {
    const MARKS: usize = 16;

    /// Nothing arrived.
    pub const fn new() -> Self {
        let none = Count { bytes: 0, packets: 0 };
        Self { total: none, marks: [(Timestamp::ZERO, none); Self::MARKS], len: 0 }
    }

    /// A packet arrived.
    pub fn count(&mut self, size: DataSize) {
        self.count_bytes(size);
        self.total.packets += 1;
    }

    /// Bytes arrived that count as no packet.
    pub fn count_bytes(&mut self, size: DataSize) {
        self.total.bytes = self.total.bytes.saturating_add(size.as_bytes());
    }

    /// A point to measure from: a report was made.
    pub fn mark(&mut self, now: Timestamp) {
        if self.len == Self::MARKS {
            // Too many within one window: thin them, keeping the oldest.
            self.marks.copy_within(2.., 1);
            self.len -= 1;
        }
        self.marks[self.len] = (now, self.total);
        self.len += 1;
    }

    /// The rate from the newest mark that is at least `window` seconds old. Where there is none, what arrived
    /// since the oldest mark is spread over the whole window: a burst at the start is no rate. `None` without
    /// a mark or a window. Marks before that one are forgotten.
    pub fn measure(&mut self, now: Timestamp, window: f64) -> Option<ArrivalRate> {
        let marks = &self.marks[..self.len];
        let from = marks.iter().rposition(|(at, _)| now.since(*at).as_secs_f64() >= window).unwrap_or(0);
        let (at, then) = *marks.get(from)?;
        self.marks.copy_within(from..self.len, 0);
        self.len -= from;
        let seconds = now.since(at).as_secs_f64().max(window);
        (seconds > 0.0).then(|| ArrivalRate {
            bytes: (self.total.bytes - then.bytes) as f64 / seconds,
            packets: (self.total.packets - then.packets) as f64 / seconds,
        })
    }

    /// When the newest mark was set.
    pub fn last_mark(&self) -> Option<Timestamp> {
        self.marks[..self.len].last().map(|(at, _)| *at)
    }
}

impl Default for RateWindow {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seaway_units::TimeDelta;

    fn at(millis: i64) -> Timestamp {
        Timestamp::ZERO + TimeDelta::from_millis(millis)
    }

    #[test]
    fn reaches_back_to_a_mark_at_least_a_window_old() {
        let mut window = RateWindow::new();
        assert_eq!(window.measure(at(0), 0.1), None);
        window.mark(at(0));
        for ms in 1..=250 {
            window.count(DataSize::from_bytes(100));
            if ms == 100 || ms == 200 {
                window.mark(at(ms));
            }
        }
        // 50 ms after the mark at 200 ms: too young, so from 100 ms.
        let rate = window.measure(at(250), 0.1).unwrap();
        assert!((rate.bytes - 100_000.0).abs() < 1e-6);
        assert!((rate.packets - 1000.0).abs() < 1e-9);
    }

    #[test]
    fn many_marks_take_no_memory() {
        let mut window = RateWindow::new();
        for ms in 0..1000 {
            window.mark(at(ms));
            window.count(DataSize::from_bytes(100));
        }
        assert_eq!(window.last_mark(), Some(at(999)));
        let rate = window.measure(at(1000), 0.999).unwrap();
        assert!((rate.bytes - 100_000.0).abs() < 1e-6, "the oldest mark is kept: {rate:?}");
    }

    #[test]
    fn a_burst_at_the_start_is_no_rate() {
        let mut window = RateWindow::new();
        window.mark(at(0));
        window.count(DataSize::from_bytes(1000));
        let rate = window.measure(Timestamp::from_nanos(1), 0.1).unwrap();
        assert!((rate.bytes - 10_000.0).abs() < 1e-6);
    }
}
