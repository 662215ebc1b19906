//! How much of the sound will be missing at the receiver, by which its encoder protects it.

use seaway_session::SenderStatistics;
use seaway_units::{TimeDelta, Timestamp};
use std::collections::VecDeque;

/// Loss is taken over this time.
const WINDOW: TimeDelta = TimeDelta::from_secs(5);
/// Fewer packets say nothing.
const LEAST: u64 = 50;
/// A retransmission takes so many round trips, with its request and what it waits for.
const ROUND_TRIPS: f64 = 1.5;
/// More is not protected.
const MOST: f64 = 0.3;

/// Watches the loss of a session.
#[derive(Debug)]
pub(super) struct SoundLoss {
    /// Lost packets of sound are sent again.
    is_repaired: bool,
    latency: TimeDelta,
    /// Lost packets and those of which the fate is known, since the beginning.
    known: VecDeque<(Timestamp, u64, u64)>,
}

impl SoundLoss {
    /// Of a session whose sound is played `latency` after its capture.
    pub(super) const fn new(is_repaired: bool, latency: TimeDelta) -> Self {
        Self { is_repaired, latency, known: VecDeque::new() }
    }

    pub(super) const fn set_latency(&mut self, latency: TimeDelta) {
        self.latency = latency;
    }

    /// The loss that is to be expected behind repair, in percent.
    pub(super) fn expected(&mut self, now: Timestamp, statistics: &SenderStatistics) -> u8 {
        let lost = statistics.lost.saturating_sub(statistics.late);
        self.known.push_back((now, lost, statistics.lost + statistics.received));
        while self.known.get(1).is_some_and(|(at, ..)| now.since(*at) >= WINDOW) {
            self.known.pop_front();
        }
        let Some((_, lost_before, all_before)) = self.known.front() else { return 0 };
        let all = (statistics.lost + statistics.received).saturating_sub(*all_before);
        if all < LEAST {
            return 0;
        }
        let loss = lost.saturating_sub(*lost_before) as f64 / all as f64;
        // Each time that it is sent it may be lost again.
        let rtt = statistics.rtt.filter(|_| self.is_repaired);
        let repairs = rtt.map_or(0, |rtt| {
            let one = (ROUND_TRIPS * rtt.as_secs_f64()).max(0.001);
            (self.latency.as_secs_f64() / one).clamp(0.0, 10.0) as u32
        });
        let left = (0..repairs).fold(loss, |left, _| left * loss);
        (left.min(MOST) * 100.0).round() as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::ZERO + TimeDelta::from_secs(seconds)
    }

    fn statistics(lost: u64, received: u64, rtt: i64) -> SenderStatistics {
        let rtt = Some(TimeDelta::from_millis(rtt));
        SenderStatistics { lost, received, rtt, ..SenderStatistics::default() }
    }

    fn expected(is_repaired: bool, rtt: i64) -> u8 {
        let mut loss = SoundLoss::new(is_repaired, TimeDelta::from_millis(300));
        loss.expected(at(0), &statistics(0, 0, rtt));
        loss.expected(at(1), &statistics(100, 900, rtt))
    }

    #[test]
    fn what_is_sent_again_in_time_needs_no_protection() {
        assert_eq!(expected(false, 50), 10);
        assert_eq!(expected(true, 50), 0);
        // Once in the time that there is.
        assert_eq!(expected(true, 150), 1);
        assert_eq!(expected(true, 250), 10);
    }

    #[test]
    fn it_is_that_of_the_last_seconds_and_bounded() {
        let mut loss = SoundLoss::new(false, TimeDelta::from_millis(300));
        assert_eq!(loss.expected(at(0), &statistics(0, 0, 50)), 0);
        assert_eq!(loss.expected(at(1), &statistics(9, 1, 50)), 0, "too few are known");
        assert_eq!(loss.expected(at(2), &statistics(900, 1_000, 50)), 30);
        for second in 3..=8 {
            loss.expected(at(second), &statistics(900, 1_000 * second as u64, 50));
        }
        assert_eq!(loss.expected(at(9), &statistics(900, 9_000, 50)), 0);
        // Late ones came after all.
        let late = SenderStatistics { late: 500, ..statistics(1_400, 9_500, 50) };
        assert_eq!(loss.expected(at(10), &late), 0);
    }
}
