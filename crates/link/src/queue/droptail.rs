//! Drop-tail: a packet that does not fit is dropped. With a lifetime, so is a packet that has waited too long.

use super::fifo::{Fifo, Waiting};
use super::limit::queue_config;
use super::{Accounting, Admission, Limit, Nominal, Transmitter};
use crate::error::{Error, above_zero, some_octets};
use crate::node::{DropCause, Packet};
use seaway_units::{DataSize, TimeDelta, Timestamp};

queue_config! {
    /// Drop-tail: a limit, or a lifetime, or both.
    DropTailConfig {
        /// Packets older than this are dropped when their turn comes. Without a limit it implies
        /// [`DropTailConfig::HARD_LIMIT`].
        sojourn: Option<TimeDelta> = None,
        /// On overflow, drop the oldest packet and not the newest.
        drop_front: bool = false,
        /// For `bytes` and `time`: a packet is accepted only while this much would fit, even if it is smaller. Devices
        /// stop their queue while a full packet would not fit, those of ns-3 among them.
        room: Option<DataSize> = None,
    }
}

impl DropTailConfig {
    /// Packets that a queue limited by `sojourn` alone holds at most.
    pub const HARD_LIMIT: u64 = 10_000;

    /// A limit in packets, the one in service included.
    pub fn packets(packets: u64) -> Self {
        Self { packets: Some(packets), ..Self::default() }
    }

    /// A limit in time at the link's first rate.
    pub fn time(time: TimeDelta) -> Self {
        Self { time: Some(time), ..Self::default() }
    }
}

#[derive(Debug, Clone)]
pub(super) struct DropTail<P> {
    pub(super) fifo: Fifo<P>,
    admission: Admission,
    lifetime: Option<TimeDelta>,
    drop_front: bool,
}

impl<P> DropTail<P> {
    pub(super) fn new(config: &DropTailConfig, nominal: Nominal) -> Result<Self, Error> {
        let lifetime = config.sojourn.map(|sojourn| above_zero("queue.sojourn", sojourn)).transpose()?;
        let limit = match config.limit(nominal)? {
            Some(limit) => limit,
            None if lifetime.is_some() => Limit::PacketsWaiting(DropTailConfig::HARD_LIMIT),
            None => {
                let expected = "one of packets, packets_waiting, bytes, time, sojourn";
                return Err(Error::config("queue", "no limit", expected));
            }
        };
        let room = config.room.map(|room| some_octets("queue.room", room)).transpose()?;
        match (limit, room) {
            (Limit::Bytes(bytes) | Limit::BytesInAll(bytes), Some(room)) if room > bytes => {
                return Err(Error::config("queue.room", room, format!("at most the queue's {bytes}")));
            }
            (Limit::Packets(_) | Limit::PacketsWaiting(_), Some(room)) => {
                return Err(Error::config("queue.room", room, "only beside bytes or time"));
            }
            _ => {}
        }
        let admission = Admission { limit, room: room.unwrap_or_default() };
        Ok(Self { fifo: Fifo::new(), admission, lifetime, drop_front: config.drop_front })
    }

    /// The admission limit, where nothing else drops packets.
    pub(super) const fn plain_admission(&self) -> Option<Admission> {
        let is_plain = !self.drop_front && self.lifetime.is_none();
        if is_plain { Some(self.admission) } else { None }
    }

    fn admits(&self, size: DataSize, transmitter: Transmitter) -> bool {
        self.admission.admits(self.fifo.len(), self.fifo.size(), size, transmitter)
    }

    pub(super) fn enqueue(
        &mut self,
        now: Timestamp,
        packet: Packet<P>,
        transmitter: Transmitter,
        accounting: &mut Accounting<P>,
    ) {
        let size = packet.size;
        if self.drop_front {
            while !self.admits(size, transmitter) {
                let Some(head) = self.fifo.pop() else { break };
                accounting.drop(now, DropCause::Tail, head.packet);
            }
        }
        if self.admits(size, transmitter) {
            self.fifo.push(now, packet);
        } else {
            accounting.drop(now, DropCause::Tail, packet);
        }
    }

    pub(super) fn dequeue(&mut self, now: Timestamp, accounting: &mut Accounting<P>) -> Option<Waiting<P>> {
        if let Some(lifetime) = self.lifetime {
            while self.fifo.head_age(now).is_some_and(|age| age > lifetime) {
                let head = self.fifo.pop()?;
                accounting.drop(now, DropCause::Age, head.packet);
            }
        }
        self.fifo.pop()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::RandomStream;
    use seaway_units::{Bitrate, Ecn};

    const NOMINAL: Nominal = Nominal { rate: Bitrate::from_mbps(1), delay: TimeDelta::ZERO };

    /// The queue behind four packets that came at once.
    fn filled(config: &DropTailConfig) -> (DropTail<u64>, Accounting<u64>) {
        let (mut queue, mut accounting) =
            (DropTail::new(config, NOMINAL).unwrap(), Accounting::new(RandomStream::new(1, "drop-tail")));
        for number in 0..4 {
            let packet = Packet::new(DataSize::from_bytes(1000), Ecn::NotEct, number);
            let transmitter = Transmitter { in_service: None, rate: NOMINAL.rate };
            queue.enqueue(Timestamp::ZERO, packet, transmitter, &mut accounting);
        }
        (queue, accounting)
    }

    fn served(queue: &mut DropTail<u64>, accounting: &mut Accounting<u64>, now: Timestamp) -> Vec<u64> {
        std::iter::from_fn(|| queue.dequeue(now, accounting)).map(|head| head.packet.payload).collect()
    }

    #[test]
    fn the_newest_is_dropped_or_the_oldest() {
        for (drop_front, kept, dropped) in [(false, [0, 1], [2, 3]), (true, [2, 3], [0, 1])] {
            let config = DropTailConfig { packets_waiting: Some(2), drop_front, ..DropTailConfig::default() };
            let (mut queue, mut accounting) = filled(&config);
            assert_eq!(served(&mut queue, &mut accounting, Timestamp::ZERO), kept);
            assert!(accounting.dropped.iter().map(|dropped| dropped.packet.payload).eq(dropped));
            assert_eq!(accounting.counts.tail, 2);
        }
    }

    #[test]
    fn a_packet_may_wait_for_its_lifetime() {
        let config =
            DropTailConfig { sojourn: Some(TimeDelta::from_millis(10)), ..DropTailConfig::default() };
        for (nanos, kept) in [(9_999_999, 4), (10_000_000, 4), (10_000_001, 0)] {
            let (mut queue, mut accounting) = filled(&config);
            assert_eq!(served(&mut queue, &mut accounting, Timestamp::from_nanos(nanos)).len() as u64, kept);
            assert_eq!((accounting.counts.age, accounting.counts.tail), (4 - kept, 0), "{nanos}");
        }
    }

    #[test]
    fn only_the_limit_of_a_plain_queue_stands_for_it() {
        let plain = DropTailConfig::packets(9);
        let lifetime = Some(TimeDelta::from_millis(10));
        for (config, is_plain) in [
            (plain, true),
            (DropTailConfig { drop_front: true, ..plain }, false),
            (DropTailConfig { sojourn: lifetime, ..plain }, false),
            (DropTailConfig { drop_front: true, sojourn: lifetime, ..plain }, false),
        ] {
            let admission = Admission { limit: Limit::Packets(9), room: DataSize::ZERO };
            assert_eq!(filled(&config).0.plain_admission(), is_plain.then_some(admission));
        }
        // 12 ms at 1 Mbit/s.
        let (queue, _) = filled(&DropTailConfig::time(TimeDelta::from_millis(12)));
        assert_eq!(queue.admission.limit, Limit::Bytes(DataSize::from_bytes(1500)));
    }
}
