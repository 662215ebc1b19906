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
