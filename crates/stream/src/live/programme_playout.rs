//! When the pictures of a transport stream are shown: at the pace of its time stamps, whatever the pace of its packets.

use seaway_units::{TimeDelta, Timestamp};
use std::collections::VecDeque;

/// What waits at most; beyond, the oldest is shown at once.
const MOST_WAITING: usize = 512;
/// And its octets.
const MOST_OCTETS: usize = 16 << 20;
/// The least distance from time stamps to arrivals is that of the present window of this length and the one before.
const WINDOW: TimeDelta = TimeDelta::from_secs(10);
/// Where the distance changes by more from one picture to the next, the time stamps have jumped.
const JUMP: TimeDelta = TimeDelta::from_secs(5);

/// The instants of pictures: one whose distance to its time stamp is the least of all is shown the latency after it came, and the
/// others at the pace of their time stamps. None waits longer than the latency.
#[derive(Debug)]
pub(super) struct PlayoutClock {
    latency: TimeDelta,
    /// Arrival less time stamp of the last picture, ns.
    last: Option<i64>,
    begun: Timestamp,
    present: i64,
    before: i64,
}

impl PlayoutClock {
    fn new(latency: TimeDelta) -> Self {
        Self { latency, last: None, begun: Timestamp::ZERO, present: i64::MAX, before: i64::MAX }
    }

    /// When a picture is shown that came at `at` and is decoded at this time of the stream.
    fn due(&mut self, at: Timestamp, decoded: TimeDelta) -> Timestamp {
        let distance = (at.as_nanos() as i64).saturating_sub(decoded.as_nanos());
        let last = self.last.replace(distance);
        let has_jumped = last.is_none_or(|last| distance.abs_diff(last) > JUMP.as_nanos().unsigned_abs());
        if has_jumped {
            *self = Self { last: self.last, begun: at, ..Self::new(self.latency) };
        } else if at.since(self.begun) >= WINDOW {
            (self.before, self.present, self.begun) = (self.present, i64::MAX, at);
        }
        self.present = self.present.min(distance);
        let least = self.present.min(self.before);
        let due = least.saturating_add(decoded.as_nanos()).saturating_add(self.latency.as_nanos());
        Timestamp::from_nanos(due.max(0) as u64).max(at)
    }
}

/// What waits for its instant, in order.
#[derive(Debug)]
pub(super) struct PlayoutQueue<T> {
    clock: PlayoutClock,
    waiting: VecDeque<Waiting<T>>,
    octets: usize,
}

#[derive(Debug)]
struct Waiting<T> {
    due: Timestamp,
    octets: usize,
    item: T,
}

impl<T> PlayoutQueue<T> {
    /// Nothing waits; what comes is shown so long after it could be.
    pub(super) fn new(latency: TimeDelta) -> Self {
        Self { clock: PlayoutClock::new(latency), waiting: VecDeque::new(), octets: 0 }
    }

    /// A picture of this many octets came, which is decoded at this time of the stream; `item` makes it, by its instant.
    pub(super) fn push(
        &mut self,
        at: Timestamp,
        decoded: TimeDelta,
        octets: usize,
        item: impl FnOnce(Timestamp) -> T,
    ) {
        let due = self.clock.due(at, decoded);
        self.octets += octets;
        self.waiting.push_back(Waiting { due, octets, item: item(due) });
    }

    /// Something comes before the next picture.
    pub(super) fn push_before_next(&mut self, item: T) {
        self.waiting.push_back(Waiting { due: Timestamp::ZERO, octets: 0, item });
    }

    /// When the next is due.
    pub(super) fn poll_timeout(&self) -> Option<Timestamp> {
        let is_full = self.waiting.len() > MOST_WAITING || self.octets > MOST_OCTETS;
        self.waiting.front().map(|front| if is_full { Timestamp::ZERO } else { front.due })
    }

    /// The next that is due.
    pub(super) fn poll(&mut self, now: Timestamp) -> Option<T> {
        self.poll_timeout().filter(|due| *due <= now)?;
        self.poll_early()
    }

    /// The next, due or not.
    pub(super) fn poll_early(&mut self) -> Option<T> {
        let next = self.waiting.pop_front()?;
        self.octets -= next.octets;
        Some(next.item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::ZERO + TimeDelta::from_millis(millis)
    }

    /// As FFmpeg copies a transport stream with sound: pictures of a third of a second at once.
    #[test]
    fn bursts_come_out_evenly() {
        let mut clock = PlayoutClock::new(TimeDelta::from_millis(500));
        let due: Vec<_> = (0..80_i64)
            .map(|index| clock.due(at(1000 + index / 8 * 320), TimeDelta::from_millis(40 * index)))
            .collect();
        // Within the first burst the least distance is found.
        let steps: Vec<_> = due[7..].windows(2).map(|pair| pair[1].since(pair[0])).collect();
        assert!(steps.iter().all(|step| *step == TimeDelta::from_millis(40)), "{steps:?}");
        assert_eq!(due[7], at(1000 + 500), "the last of a burst has the least distance");
    }

    #[test]
    fn time_stamps_that_jump_begin_anew() {
        let latency = TimeDelta::from_millis(500);
        for jump in [-3600, 3600] {
            let mut clock = PlayoutClock::new(latency);
            for index in 0..50_i64 {
                let decoded = TimeDelta::from_millis(40 * index)
                    + TimeDelta::from_secs(if index < 25 { 0 } else { jump });
                assert_eq!(
                    clock.due(at(5_000_000 + 40 * index), decoded),
                    at(5_000_000 + 40 * index) + latency,
                    "{jump}, {index}"
                );
            }
        }
    }

    #[test]
    fn what_waits_is_bounded_and_in_order() {
        let mut queue = PlayoutQueue::new(TimeDelta::from_secs(10));
        for index in 0..600_usize {
            queue.push(at(0), TimeDelta::ZERO, 100, |_| index);
        }
        queue.push_before_next(600);
        let early: Vec<_> = std::iter::from_fn(|| queue.poll(at(0))).collect();
        assert_eq!(early, (0..601 - MOST_WAITING).collect::<Vec<_>>());
        assert_eq!(queue.poll_timeout(), Some(at(10_000)));
        let rest: Vec<_> = std::iter::from_fn(|| queue.poll(at(10_000))).collect();
        assert_eq!((rest.len(), queue.octets, queue.poll_early()), (MOST_WAITING, 0, None));
    }

    proptest! {
        /// Whatever time stamps say.
        #[test]
        fn nothing_waits_longer_than_the_latency(pictures in prop::collection::vec((0..10_000_i64, any::<i64>()), 1..60)) {
            let (mut clock, latency, mut now) = (PlayoutClock::new(TimeDelta::from_millis(300)), TimeDelta::from_millis(300), 0);
            for (passed, decoded) in pictures {
                now += passed;
                let due = clock.due(at(now), TimeDelta::from_nanos(decoded));
                prop_assert!((at(now)..=at(now) + latency).contains(&due));
            }
        }
    }
}
