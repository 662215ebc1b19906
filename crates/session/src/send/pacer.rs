//! When the next packet of a subflow may leave.

use seaway_control::Allowance;
use seaway_units::{Bitrate, DataSize, TimeDelta, Timestamp};

/// Spaces the departures of one subflow: the next is due at `max(last due + size / rate + gap, now - credit)`.
///
/// The pause behind a packet follows its size and the present allowance, so that a rise of the rate takes effect at once. Over any span the subflow sends no more than
/// `rate` times the span, and a burst of `rate` times `credit` and one packet.
#[derive(Debug, Clone, Copy, Default)]
pub struct Pacer {
    /// When the last packet was due, and its size.
    last: Option<(Timestamp, DataSize)>,
}

impl Pacer {
    /// When the next packet is due, credit apart; an instant that has passed means now. `None`: never, at rate
    /// zero.
    #[inline]
    pub fn due(&self, allowance: Allowance) -> Option<Timestamp> {
        let pause = |size| match allowance.rate {
            Bitrate::MAX => Some(TimeDelta::ZERO),
            rate => rate.time_to_send(size),
        };
        match self.last {
            Some((due, size)) => Some(due + pause(size)? + allowance.gap),
            None => pause(DataSize::from_bytes(1)).map(|_| Timestamp::ZERO),
        }
    }

    /// A packet of `size` left.
    pub fn on_sent(&mut self, now: Timestamp, allowance: Allowance, size: DataSize) {
        self.on_due_sent(now, self.due(allowance), allowance.credit, size);
    }

    /// A packet of `size` left that was [due](Self::due) then, under an allowance with this credit.
    #[inline]
    pub(crate) fn on_due_sent(
        &mut self,
        now: Timestamp,
        due: Option<Timestamp>,
        credit: TimeDelta,
        size: DataSize,
    ) {
        let due = match (self.last, due) {
            (Some(_), Some(due)) => due.max(now - credit),
            _ => now,
        };
        self.last = Some((due, size));
    }

    /// A packet left that did not wait for its turn: one of a probe, which has a pace of its own, or one that had waited too long. The
    /// next packet waits the usual pause and no longer.
    pub fn on_unpaced(&mut self, now: Timestamp, size: DataSize) {
        self.last = Some((now, size));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PACKET: DataSize = DataSize::from_bytes(1250);

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn the_pause_follows_the_present_allowance() {
        let mut pacer = Pacer::default();
        let slow = Allowance::paced(Bitrate::from_mbps(1));
        assert!(pacer.due(slow).unwrap() <= at(100), "the first leaves at once");
        pacer.on_sent(at(100), slow, PACKET);
        assert_eq!(pacer.due(slow), Some(at(110)));
        assert_eq!(pacer.due(Allowance::paced(Bitrate::from_mbps(10))), Some(at(101)));
        assert_eq!(pacer.due(Allowance::paced(Bitrate::ZERO)), None);
        assert_eq!(pacer.due(Allowance::paced(Bitrate::MAX)), Some(at(100)));
        let gap = Allowance { gap: TimeDelta::from_millis(5), ..slow };
        assert_eq!(pacer.due(gap), Some(at(115)));
    }

    /// Each of 20 packets leaves a second early. The next is due as if it had been in time.
    #[test]
    fn a_packet_that_did_not_wait_leaves_no_debt() {
        let slow = Allowance::paced(Bitrate::from_kbps(10));
        let mut pacer = Pacer::default();
        (0..20).for_each(|_| pacer.on_unpaced(at(100), PACKET));
        assert_eq!(pacer.due(slow), Some(at(1100)));
    }

    #[test]
    fn credit_makes_up_for_a_bounded_past() {
        let allowance =
            Allowance { credit: TimeDelta::from_millis(20), ..Allowance::paced(Bitrate::from_mbps(1)) };
        let mut pacer = Pacer::default();
        pacer.on_sent(at(0), allowance, PACKET);
        let mut burst = 0;
        while pacer.due(allowance).unwrap() <= at(1000) {
            pacer.on_sent(at(1000), allowance, PACKET);
            burst += 1;
        }
        assert_eq!(burst, 3, "two for 20 ms of credit and one that is due now");
    }

    proptest! {
        /// Over every span: at most rate times span, a credit's worth and one packet.
        #[test]
        fn never_above_allowance_and_burst(
            rate_kbps in 10u64..50_000,
            credit_ms in 0i64..200,
            sizes in prop::collection::vec(40u64..1500, 2..60),
            waits in prop::collection::vec(0i64..30_000, 60),
        ) {
            let rate = Bitrate::from_kbps(rate_kbps);
            let allowance = Allowance { credit: TimeDelta::from_millis(credit_ms), ..Allowance::paced(rate) };
            let mut pacer = Pacer::default();
            let mut now = at(1);
            let mut departures = Vec::new();
            for (size, wait) in sizes.into_iter().zip(waits) {
                let size = DataSize::from_bytes(size);
                now = pacer.due(allowance).unwrap().max(now);
                if wait % 3 == 0 {
                    now += TimeDelta::from_micros(wait);
                }
                pacer.on_sent(now, allowance, size);
                departures.push((now, size));
            }
            for first in 0..departures.len() {
                let mut sum = DataSize::ZERO;
                for &(when, size) in &departures[first..] {
                    // The last packet of the span pays after it left.
                    let span = when - departures[first].0 + allowance.credit;
                    prop_assert!(sum <= rate.size_in(span) + DataSize::from_bytes(1));
                    sum += size;
                }
            }
        }
    }
}
