//! FQ-CoDel (RFC 8290): deficit round robin over hashed flows, each with a CoDel of its own.

use super::codel::{CoDelConfig, State};
use super::fifo::{Fifo, Waiting};
use super::limit::queue_config;
use super::{Accounting, Limit, Nominal, Transmitter};
use crate::error::{Error, some_octets};
use crate::node::{DropCause, Packet};
use seaway_units::{DataSize, TimeDelta, Timestamp};
use std::collections::VecDeque;

queue_config! {
    /// FQ-CoDel. 10 240 packets wait at most where no limit is given.
    FqCoDelConfig {
        /// Queues over which flows are spread.
        flows: usize = 1024,
        /// What one round gives a flow.
        quantum: DataSize = DataSize::from_bytes(1514),
        /// As for CoDel.
        target: TimeDelta = CoDelConfig::default().target,
        /// As for CoDel.
        interval: TimeDelta = CoDelConfig::default().interval,
        /// As for CoDel.
        max_packet: DataSize = CoDelConfig::default().max_packet,
        /// Mark instead of dropping.
        mark: bool = true,
        /// As for CoDel.
        ce_threshold: Option<TimeDelta> = None,
    }
}

impl FqCoDelConfig {
    const LIMIT: Limit = Limit::PacketsWaiting(10_240);
    const MOST_FLOWS: usize = 65_536;

    fn codel(&self) -> CoDelConfig {
        let &Self { target, interval, max_packet, mark, ce_threshold, .. } = self;
        CoDelConfig { target, interval, max_packet, mark, ce_threshold, ..CoDelConfig::default() }
    }
}

#[derive(Debug, Clone)]
struct Flow<P> {
    fifo: Fifo<P>,
    codel: State,
    deficit: i64,
    is_listed: bool,
}

/// Flows share a queue where their numbers agree modulo the number of queues.
#[derive(Debug, Clone)]
pub(super) struct FqCoDel<P> {
    config: CoDelConfig,
    limit: Limit,
    quantum: i64,
    flows: Vec<Flow<P>>,
    /// Queues that hold packets since short, by index; served before the old ones.
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    packets: usize,
    size: DataSize,
}

impl<P> FqCoDel<P> {
    pub(super) fn new(config: &FqCoDelConfig, nominal: Nominal) -> Result<Self, Error> {
        if !(1..=FqCoDelConfig::MOST_FLOWS).contains(&config.flows) {
            let expected = format!("from 1 to {}", FqCoDelConfig::MOST_FLOWS);
            return Err(Error::config("queue.flows", config.flows, expected));
        }
        let limit = config.limit(nominal)?.unwrap_or(FqCoDelConfig::LIMIT);
        let quantum = some_octets("queue.quantum", config.quantum)?;
        config.codel().check()?;
        let flow = || Flow { fifo: Fifo::new(), codel: State::default(), deficit: 0, is_listed: false };
        Ok(Self {
            config: config.codel(),
            limit,
            quantum: i64::try_from(quantum.as_bytes()).unwrap_or(i64::MAX),
            flows: std::iter::repeat_with(flow).take(config.flows).collect(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            packets: 0,
            size: DataSize::ZERO,
        })
    }

    pub(super) const fn len(&self) -> usize {
        self.packets
    }

    pub(super) const fn size(&self) -> DataSize {
        self.size
    }

    /// RFC 8290 section 4.1: the packet is enqueued first; overflow drops from the head of the fattest queue.
    pub(super) fn enqueue(
        &mut self,
        now: Timestamp,
        packet: Packet<P>,
        transmitter: Transmitter,
        accounting: &mut Accounting<P>,
    ) {
        let index = packet.flow as usize % self.flows.len();
        self.packets += 1;
        self.size += packet.size;
        let flow = &mut self.flows[index];
        flow.fifo.push(now, packet);
        if !std::mem::replace(&mut flow.is_listed, true) {
            flow.deficit = self.quantum;
            self.new.push_back(index);
        }
        while self.packets > 0 && !self.limit.holds(self.packets, self.size, transmitter) {
            self.drop_from_fattest(now, accounting);
        }
    }

    fn drop_from_fattest(&mut self, now: Timestamp, accounting: &mut Accounting<P>) {
        let fattest = self.flows.iter_mut().max_by_key(|flow| flow.fifo.size());
        if let Some(head) = fattest.and_then(|flow| flow.fifo.pop()) {
            self.packets -= 1;
            self.size -= head.packet.size;
            accounting.drop(now, DropCause::Tail, head.packet);
        }
    }

    /// RFC 8290 section 4.2.
    pub(super) fn dequeue(&mut self, now: Timestamp, accounting: &mut Accounting<P>) -> Option<Waiting<P>> {
        loop {
            let (index, is_new) = match (self.new.pop_front(), self.old.front()) {
                (Some(index), _) => (index, true),
                (None, Some(&index)) => {
                    self.old.pop_front();
                    (index, false)
                }
                (None, None) => return None,
            };
            let flow = &mut self.flows[index];
            if flow.deficit <= 0 {
                flow.deficit += self.quantum;
                self.old.push_back(index);
                continue;
            }
            if let Some(head) = self.serve(index, now, accounting) {
                // It keeps its place until its deficit is spent.
                let list = if is_new { &mut self.new } else { &mut self.old };
                list.push_front(index);
                return Some(head);
            }
            if is_new {
                // Or a flow could stay new by emptying its queue again and again.
                self.old.push_back(index);
            } else {
                self.flows[index].is_listed = false;
            }
        }
    }

    fn serve(&mut self, index: usize, now: Timestamp, accounting: &mut Accounting<P>) -> Option<Waiting<P>> {
        let flow = &mut self.flows[index];
        let (packets, size) = (flow.fifo.len(), flow.fifo.size());
        let head = flow.codel.dequeue(&self.config, now, &mut flow.fifo, accounting);
        self.packets -= packets - flow.fifo.len();
        self.size -= size - flow.fifo.size();
        let head = head?;
        flow.deficit -= i64::try_from(head.packet.size.as_bytes()).unwrap_or(i64::MAX);
        Some(head)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::RandomStream;
    use seaway_units::{Bitrate, Ecn};

    const WIDE: Transmitter = Transmitter { in_service: None, rate: Bitrate::from_mbps(40) };

    fn fair(limit: u64) -> (FqCoDel<u64>, Accounting<u64>) {
        let config = FqCoDelConfig { packets_waiting: Some(limit), ..FqCoDelConfig::default() };
        let nominal = Nominal { rate: WIDE.rate, delay: TimeDelta::ZERO };
        let queue = FqCoDel::new(&config, nominal).unwrap();
        (queue, Accounting::new(RandomStream::new(1, "fq-codel")))
    }

    fn packet(flow: u32, bytes: u64) -> Packet<u64> {
        Packet { flow, ..Packet::new(DataSize::from_bytes(bytes), Ecn::NotEct, 0) }
    }

    #[test]
    fn octets_are_shared_whatever_the_packet_size() {
        let (mut queue, mut accounting) = fair(10_240);
        for _ in 0..3000 {
            queue.enqueue(Timestamp::ZERO, packet(1, 1500), WIDE, &mut accounting);
            queue.enqueue(Timestamp::ZERO, packet(2, 300), WIDE, &mut accounting);
        }
        let mut octets = [0, 0];
        for _ in 0..1200 {
            let head = queue.dequeue(Timestamp::ZERO, &mut accounting).unwrap();
            octets[head.packet.flow as usize - 1] += head.packet.size.as_bytes();
        }
        let ratio = octets[0] as f64 / octets[1] as f64;
        assert!((0.97..1.03).contains(&ratio), "{octets:?}");
    }

    #[test]
    fn a_new_flow_is_served_before_the_old() {
        let (mut queue, mut accounting) = fair(10_240);
        (0..50).for_each(|_| queue.enqueue(Timestamp::ZERO, packet(1, 1500), WIDE, &mut accounting));
        for _ in 0..10 {
            queue.dequeue(Timestamp::ZERO, &mut accounting);
        }
        queue.enqueue(Timestamp::ZERO, packet(2, 100), WIDE, &mut accounting);
        let next: Vec<u32> = (0..2)
            .filter_map(|_| queue.dequeue(Timestamp::ZERO, &mut accounting))
            .map(|h| h.packet.flow)
            .collect();
        assert!(next.contains(&2), "{next:?}");
    }

    #[test]
    fn overflow_takes_from_the_fattest() {
        let (mut queue, mut accounting) = fair(100);
        (0..100).for_each(|_| queue.enqueue(Timestamp::ZERO, packet(1, 1500), WIDE, &mut accounting));
        queue.enqueue(Timestamp::ZERO, packet(2, 100), WIDE, &mut accounting);
        assert_eq!((queue.len(), accounting.counts.tail), (100, 1));
        assert_eq!(accounting.dropped[0].packet.flow, 1);
    }

    /// Which flows are served, one packet each, with a quantum of so many octets.
    fn order(queue: &mut FqCoDel<u64>, accounting: &mut Accounting<u64>, packets: usize) -> Vec<u32> {
        (0..packets)
            .filter_map(|_| queue.dequeue(Timestamp::ZERO, accounting))
            .map(|head| head.packet.flow)
            .collect()
    }

    /// RFC 8290 section 4.2: a queue whose credit is spent, and be it to zero, gets a quantum and goes behind the old ones.
    #[test]
    fn a_flow_is_served_until_its_credit_is_spent() {
        for (quantum, expected) in [
            (1500, vec![1, 2, 1, 2, 1, 2, 1, 2]),
            (1501, vec![1, 1, 2, 2, 1, 2, 1, 2]),
            (3000, vec![1, 1, 2, 2, 1, 1, 2, 2]),
        ] {
            let (mut queue, mut accounting) = fair(100);
            queue.quantum = quantum;
            for flow in [1, 1, 1, 1, 2, 2, 2, 2] {
                queue.enqueue(Timestamp::ZERO, packet(flow, 1500), WIDE, &mut accounting);
            }
            assert_eq!(order(&mut queue, &mut accounting, 9), expected, "{quantum}");
            assert!(
                queue.flows.iter().all(|flow| !flow.is_listed)
                    && queue.old.is_empty()
                    && queue.new.is_empty()
            );
        }
    }

    /// Section 4.2: a new queue that is empty goes to the end of the old ones before it may be new again.
    #[test]
    fn a_flow_does_not_stay_new_by_emptying_its_queue() {
        let (mut queue, mut accounting) = fair(100);
        queue.quantum = 3000;
        (0..6).for_each(|_| queue.enqueue(Timestamp::ZERO, packet(1, 1500), WIDE, &mut accounting));
        assert_eq!(order(&mut queue, &mut accounting, 2), [1, 1]);
        queue.enqueue(Timestamp::ZERO, packet(2, 1500), WIDE, &mut accounting);
        assert_eq!(order(&mut queue, &mut accounting, 2), [2, 1]);
        queue.enqueue(Timestamp::ZERO, packet(2, 1500), WIDE, &mut accounting);
        assert_eq!(order(&mut queue, &mut accounting, 4), [1, 2, 1, 1]);
    }

    /// Flows share a queue modulo the number of queues, and what waits is counted in all.
    #[test]
    fn what_waits_is_counted() {
        let config =
            FqCoDelConfig { flows: 2, bytes: Some(DataSize::from_bytes(4000)), ..FqCoDelConfig::default() };
        let nominal = Nominal { rate: WIDE.rate, delay: TimeDelta::ZERO };
        let mut queue = FqCoDel::new(&config, nominal).unwrap();
        let mut accounting = Accounting::new(RandomStream::new(1, "fq-codel"));
        for flow in 1..5 {
            queue.enqueue(Timestamp::ZERO, packet(flow, 500 + u64::from(flow) * 100), WIDE, &mut accounting);
        }
        assert_eq!(queue.flows.iter().map(|flow| flow.fifo.len()).collect::<Vec<_>>(), [2, 2]);
        assert_eq!((queue.len(), queue.size()), (4, DataSize::from_bytes(3000)));
        queue.dequeue(Timestamp::ZERO, &mut accounting);
        assert_eq!((queue.len(), queue.size()), (3, DataSize::from_bytes(2400)));
        // Flows 3 and 5 share 2500 octets then and 2 and 4 share 1600: the first 800 go.
        queue.enqueue(Timestamp::ZERO, packet(5, 1700), WIDE, &mut accounting);
        assert_eq!((queue.len(), queue.size(), accounting.counts.tail), (3, DataSize::from_bytes(3300), 1));
    }

    /// The CoDel of each flow has the values of the configuration.
    #[test]
    fn its_codel_is_as_configured() {
        let millis = TimeDelta::from_millis;
        let (target, interval, ce_threshold) = (millis(1), millis(2), Some(millis(3)));
        let max_packet = DataSize::from_bytes(4);
        let config = FqCoDelConfig {
            target,
            interval,
            max_packet,
            mark: false,
            ce_threshold,
            ..FqCoDelConfig::default()
        };
        let expected =
            CoDelConfig { target, interval, max_packet, mark: false, ce_threshold, ..CoDelConfig::default() };
        assert_eq!(config.codel(), expected);
        assert!(FqCoDelConfig::default().codel().mark, "the default of RFC 8290 section 4.3 and not CoDel's");
    }

    /// A packet in service that fills the limit alone leaves room for none, and nothing is left to drop.
    #[test]
    fn overflow_ends_where_nothing_waits() {
        let config = FqCoDelConfig {
            bytes: Some(DataSize::from_bytes(1500)),
            count_in_service: true,
            ..FqCoDelConfig::default()
        };
        let nominal = Nominal { rate: WIDE.rate, delay: TimeDelta::ZERO };
        let mut queue = FqCoDel::new(&config, nominal).unwrap();
        let mut accounting = Accounting::new(RandomStream::new(1, "fq-codel"));
        let transmitter = Transmitter { in_service: Some(DataSize::from_bytes(9000)), ..WIDE };
        queue.enqueue(Timestamp::ZERO, packet(1, 100), transmitter, &mut accounting);
        assert_eq!((queue.len(), accounting.counts.tail), (0, 1));
    }
}
