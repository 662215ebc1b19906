//! Controlled delay (RFC 8289): drops at the head while even the shortest wait of an interval is too long.

use super::fifo::{Fifo, Waiting};
use super::limit::queue_config;
use super::{Accounting, Limit, Nominal, Transmitter};
use crate::error::{Error, above_zero, some_octets};
use crate::node::{DropCause, Packet};
use seaway_units::{DataSize, Ecn, TimeDelta, Timestamp};

queue_config! {
    /// CoDel. 1000 packets wait at most where no limit is given.
    CoDelConfig {
        /// Acceptable standing queueing delay, TARGET.
        target: TimeDelta = TimeDelta::from_millis(5),
        /// A worst-case round trip, INTERVAL: once in it the delay must fall below the target.
        interval: TimeDelta = TimeDelta::from_millis(100),
        /// With at most this much left in the queue, a long delay is tolerated (RFC 8289 section 4.2: SHOULD be the
        /// interface's MTU; Ethernet with its header).
        max_packet: DataSize = DataSize::from_bytes(1514),
        /// Mark instead of dropping.
        mark: bool = false,
        /// ECN-capable packets that waited longer are marked in any state (RFC 8290 `ce_threshold`).
        ce_threshold: Option<TimeDelta> = None,
    }
}

impl CoDelConfig {
    const LIMIT: Limit = Limit::PacketsWaiting(1000);

    /// Whether the values hold together.
    pub(super) fn check(&self) -> Result<(), Error> {
        above_zero("queue.target", self.target)?;
        above_zero("queue.interval", self.interval)?;
        some_octets("queue.max_packet", self.max_packet)?;
        self.ce_threshold.map_or(Ok(()), |threshold| above_zero("queue.ce_threshold", threshold).map(drop))
    }

    /// When to drop next, the n-th time in a row: t + INTERVAL/√n.
    fn control_law(&self, from: Timestamp, count: u32) -> Timestamp {
        from + self.interval.mul_f64(1.0 / f64::from(count.max(1)).sqrt())
    }
}

/// RFC 8289's state of one queue; `count` and `lastcount` are its names.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct State {
    /// When the wait will have been above the target for an interval.
    first_above: Option<Timestamp>,
    drop_next: Timestamp,
    count: u32,
    last_count: u32,
    dropping: bool,
}

impl State {
    /// The head of `fifo`, and whether it may be dropped.
    fn take<P>(
        &mut self,
        config: &CoDelConfig,
        now: Timestamp,
        fifo: &mut Fifo<P>,
    ) -> (Option<Waiting<P>>, bool) {
        let Some(head) = fifo.pop() else {
            self.first_above = None;
            return (None, false);
        };
        let is_short = now.since(head.arrived) < config.target || fifo.size() <= config.max_packet;
        let ok = match self.first_above {
            _ if is_short => {
                self.first_above = None;
                false
            }
            None => {
                self.first_above = Some(now + config.interval);
                false
            }
            Some(first_above) => now >= first_above,
        };
        (Some(head), ok)
    }

    /// RFC 8289 section 5's dequeue; with marking, one mark per dequeue on the same schedule.
    pub(super) fn dequeue<P>(
        &mut self,
        config: &CoDelConfig,
        now: Timestamp,
        fifo: &mut Fifo<P>,
        accounting: &mut Accounting<P>,
    ) -> Option<Waiting<P>> {
        let (mut head, mut ok) = self.take(config, now, fifo);
        if self.dropping {
            self.dropping = ok;
            while self.dropping && now >= self.drop_next {
                self.count = self.count.saturating_add(1);
                let passed = config.punish(now, head.take()?, accounting);
                let is_marked = passed.is_some();
                (head, ok) = match passed {
                    Some(marked) => (Some(marked), ok),
                    None => self.take(config, now, fifo),
                };
                if ok {
                    self.drop_next = config.control_law(self.drop_next, self.count);
                } else {
                    self.dropping = false;
                }
                if is_marked {
                    break;
                }
            }
        } else if ok {
            head = match config.punish(now, head?, accounting) {
                Some(marked) => Some(marked),
                None => self.take(config, now, fifo).0,
            };
            self.start_dropping(config, now);
        }
        let mut head = head?;
        config.mark_long_wait(now, &mut head, accounting);
        Some(head)
    }

    fn start_dropping(&mut self, config: &CoDelConfig, now: Timestamp) {
        self.dropping = true;
        let delta = self.count.saturating_sub(self.last_count);
        let was_recent = now - self.drop_next < config.interval * 16;
        self.count = if delta > 1 && was_recent { delta } else { 1 };
        self.drop_next = config.control_law(now, self.count);
        self.last_count = self.count;
    }
}

impl CoDelConfig {
    /// Marks what can be marked and gives it back; drops the rest.
    fn punish<P>(
        &self,
        now: Timestamp,
        mut head: Waiting<P>,
        accounting: &mut Accounting<P>,
    ) -> Option<Waiting<P>> {
        if self.mark && head.packet.ecn.is_capable() {
            accounting.mark(&mut head.packet);
            Some(head)
        } else {
            accounting.drop(now, DropCause::Early, head.packet);
            None
        }
    }

    fn mark_long_wait<P>(&self, now: Timestamp, head: &mut Waiting<P>, accounting: &mut Accounting<P>) {
        let is_long = self.ce_threshold.is_some_and(|threshold| now.since(head.arrived) > threshold);
        if is_long && head.packet.ecn != Ecn::NotEct {
            accounting.mark(&mut head.packet);
        }
    }
}

#[derive(Debug, Clone)]
pub(super) struct CoDel<P> {
    pub(super) fifo: Fifo<P>,
    config: CoDelConfig,
    limit: Limit,
    state: State,
}

impl<P> CoDel<P> {
    pub(super) fn new(config: &CoDelConfig, nominal: Nominal) -> Result<Self, Error> {
        config.check()?;
        let limit = config.limit(nominal)?.unwrap_or(CoDelConfig::LIMIT);
        Ok(Self { fifo: Fifo::new(), config: *config, limit, state: State::default() })
    }

    pub(super) fn enqueue(
        &mut self,
        now: Timestamp,
        packet: Packet<P>,
        transmitter: Transmitter,
        accounting: &mut Accounting<P>,
    ) {
        if self.limit.admits(&self.fifo, packet.size, transmitter) {
            self.fifo.push(now, packet);
        } else {
            accounting.drop(now, DropCause::Tail, packet);
        }
    }

    pub(super) fn dequeue(&mut self, now: Timestamp, accounting: &mut Accounting<P>) -> Option<Waiting<P>> {
        self.state.dequeue(&self.config, now, &mut self.fifo, accounting)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::RandomStream;
    use seaway_units::Bitrate;

    const NOMINAL: Nominal = Nominal { rate: Bitrate::from_mbps(1), delay: TimeDelta::ZERO };

    fn codel<P>(config: CoDelConfig) -> CoDel<P> {
        CoDel::new(&config, NOMINAL).unwrap()
    }

    fn at(millis: f64) -> Timestamp {
        Timestamp::ZERO + TimeDelta::from_secs_f64(millis / 1e3)
    }

    /// A queue that never empties, dequeued every 0.1 ms for `millis`; instants of the drops and marks in ms.
    fn overload(config: CoDelConfig, ecn: Ecn, millis: u32) -> (Vec<f64>, Accounting<u64>) {
        let mut queue = codel(config);
        let mut accounting = Accounting::new(RandomStream::new(1, "codel"));
        let packet = |n| Packet::new(DataSize::from_bytes(1000), ecn, n);
        (0..40_000).for_each(|n| queue.fifo.push(Timestamp::ZERO, packet(n)));
        let mut instants = Vec::new();
        for tick in 0..millis * 10 {
            let millis = f64::from(tick) / 10.0;
            let before = accounting.counts;
            queue.dequeue(at(millis), &mut accounting);
            if accounting.counts.early + accounting.counts.marks > before.early + before.marks {
                instants.push(millis);
            }
        }
        (instants, accounting)
    }

    const SCHEDULE: [f64; 10] = [0.0, 100.0, 170.7, 228.4, 278.4, 323.2, 364.0, 401.8, 437.1, 470.5];

    #[test]
    fn drops_follow_the_control_law() {
        let (instants, _) = overload(CoDelConfig::default(), Ecn::NotEct, 600);
        // First dequeue with a wait of 5 ms at 5 ms; first drop an interval later.
        assert!((instants[0] - 105.0).abs() < 0.11, "{}", instants[0]);
        for (instant, expected) in instants.iter().zip(SCHEDULE) {
            assert!((instant - instants[0] - expected).abs() < 0.11, "{instant} for {expected}");
        }
    }

    #[test]
    fn marks_follow_the_same_schedule_and_nothing_is_dropped() {
        let (instants, accounting) =
            overload(CoDelConfig { mark: true, ..CoDelConfig::default() }, Ecn::Ect0, 600);
        for (instant, expected) in instants.iter().zip(SCHEDULE) {
            assert!((instant - instants[0] - expected).abs() < 0.11, "{instant} for {expected}");
        }
        assert_eq!(accounting.counts.early, 0);
        assert!(accounting.counts.marks >= 10);
    }

    #[test]
    fn re_entry_takes_up_where_it_left() {
        let mut state = State { count: 8, last_count: 1, ..State::default() };
        state.start_dropping(&CoDelConfig::default(), at(1000.0));
        assert_eq!(state.count, 7);
        let gap = (state.drop_next - at(1000.0)).as_millis_f64();
        assert!((gap - 37.8).abs() < 0.01, "{gap}");
        // After 16 intervals nothing is remembered.
        let mut state = State { count: 8, last_count: 1, ..State::default() };
        state.start_dropping(&CoDelConfig::default(), at(1600.0));
        assert_eq!(state.count, 1);
    }

    #[test]
    fn a_queue_of_one_packet_is_never_punished() {
        let mut queue = codel(CoDelConfig::default());
        let mut accounting = Accounting::new(RandomStream::new(1, "codel"));
        for n in 0..1000 {
            queue.fifo.push(at(f64::from(n) * 50.0), Packet::new(DataSize::from_bytes(1500), Ecn::NotEct, n));
            assert!(queue.dequeue(at(f64::from(n) * 50.0 + 40.0), &mut accounting).is_some());
        }
        assert_eq!(accounting.counts.early, 0);
    }

    #[test]
    fn ce_threshold_marks_capable_packets_alone() {
        let config = CoDelConfig { ce_threshold: Some(TimeDelta::from_millis(1)), ..CoDelConfig::default() };
        for (ecn, waited, marks) in
            [(Ecn::Ect1, 1.1, 1), (Ecn::Ect1, 1.0, 0), (Ecn::NotEct, 9.0, 0), (Ecn::Ce, 9.0, 0)]
        {
            let mut queue = codel(config);
            let mut accounting = Accounting::new(RandomStream::new(1, "codel"));
            queue.fifo.push(Timestamp::ZERO, Packet::new(DataSize::from_bytes(1500), ecn, 0));
            queue.dequeue(at(waited), &mut accounting);
            assert_eq!(accounting.counts.marks, marks, "{ecn} after {waited} ms");
        }
    }

    /// RFC 8289 section 5.3: a wait below the target is short, and so is any with at most a packet left; after an interval of long waits the
    /// head may be dropped.
    #[test]
    fn a_wait_of_the_target_is_long() {
        let packet = |bytes| Packet::new(DataSize::from_bytes(bytes), Ecn::NotEct, 0);
        let take = |state: &mut State, millis, left| {
            let mut fifo = Fifo::new();
            (0..2).for_each(|index| fifo.push(Timestamp::ZERO, packet([1000, left][index])));
            let (head, may_drop) = state.take(&CoDelConfig::default(), at(millis), &mut fifo);
            assert!(head.is_some_and(|head| head.packet.size == DataSize::from_bytes(1000)));
            may_drop
        };
        for (millis, left, is_long) in [(4.999, 1515, false), (5.0, 1515, true), (5.0, 1514, false)] {
            let mut state = State::default();
            assert!(!take(&mut state, millis, left));
            assert_eq!(
                state.first_above,
                is_long.then(|| at(millis + 100.0)),
                "{millis} ms, {left} octets left"
            );
        }
        let mut state = State { first_above: Some(at(105.0)), ..State::default() };
        assert!(!take(&mut state, 104.999, 1515) && take(&mut state, 105.0, 1515));
        assert!(!take(&mut state, 200.0, 1514) && state.first_above.is_none());
    }

    #[test]
    fn what_cannot_be_marked_is_dropped() {
        for (mark, ecn, marks) in [(true, Ecn::Ect0, 1), (true, Ecn::NotEct, 0), (false, Ecn::Ect0, 0)] {
            let mut accounting = Accounting::new(RandomStream::new(1, "codel"));
            let head =
                Waiting { arrived: Timestamp::ZERO, packet: Packet::new(DataSize::from_bytes(1000), ecn, 0) };
            let config = CoDelConfig { mark, ..CoDelConfig::default() };
            assert_eq!(config.punish(at(1.0), head, &mut accounting).is_some(), marks == 1);
            assert_eq!(
                (accounting.counts.marks, accounting.counts.early),
                (marks, 1 - marks),
                "{mark} {ecn}"
            );
        }
    }

    /// RFC 8289 section 5.4: what was dropped in a row is remembered where more than one was, and for less than 16 intervals.
    #[test]
    fn a_row_of_drops_is_remembered_for_sixteen_intervals() {
        for (count, last_count, millis, expected) in
            [(8, 1, 1599.9, 7), (8, 1, 1600.0, 1), (3, 2, 100.0, 1), (4, 2, 100.0, 2), (2, 4, 100.0, 1)]
        {
            let mut state = State { count, last_count, ..State::default() };
            state.start_dropping(&CoDelConfig::default(), at(millis));
            assert_eq!(
                (state.count, state.last_count, state.dropping),
                (expected, expected, true),
                "{count} {last_count} {millis}"
            );
        }
    }

    #[test]
    fn a_limit_is_kept() {
        let mut queue = codel(CoDelConfig { packets_waiting: Some(2), ..CoDelConfig::default() });
        let mut accounting = Accounting::new(RandomStream::new(1, "codel"));
        let transmitter = Transmitter { in_service: None, rate: NOMINAL.rate };
        for number in 0..3 {
            let packet = Packet::new(DataSize::from_bytes(1000), Ecn::NotEct, number);
            queue.enqueue(Timestamp::ZERO, packet, transmitter, &mut accounting);
        }
        assert_eq!((queue.fifo.len(), accounting.counts.tail), (2, 1));
    }
}
