//! Queues in front of a transmitter, and active queue management.
//!
//! A queue holds the packets that wait; the packet in service has left it. [`Queue`] adds to the discipline what
//! all share: counters, the packets' waiting time, and the dropped packets.

mod clock;
mod codel;
mod droptail;
mod dualpi2;
mod fifo;
mod fq_codel;
mod limit;
mod pie;
mod red;

pub use codel::CoDelConfig;
pub use droptail::DropTailConfig;
pub use dualpi2::{DualPi2Config, DualPi2Scheduler};
pub use fq_codel::FqCoDelConfig;
pub use pie::{PieConfig, PieMeasure};
pub use red::{RedConfig, RedPreset};

use crate::error::Error;
use crate::node::{DropCause, Dropped, Packet};
use crate::random::RandomStream;
use fifo::Waiting;
pub(crate) use limit::{Admission, Limit};
use seaway_units::{Bitrate, DataSize, Ecn, TimeDelta, Timestamp};
use serde::Deserialize;
use std::collections::VecDeque;

/// What is limited in octets must hold at least this: a full Ethernet payload.
pub(crate) const LARGEST_PACKET: DataSize = DataSize::from_bytes(1500);

/// The state of the transmitter behind a queue when a packet arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transmitter {
    /// The packet in service, if any.
    pub in_service: Option<DataSize>,
    /// The present rate; zero in an outage.
    pub rate: Bitrate,
}

/// The transmitter as it was laid out, to which defaults and limits in time refer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nominal {
    /// The first rate; above zero.
    pub rate: Bitrate,
    /// Propagation behind it, one way.
    pub delay: TimeDelta,
}

/// What a queue did since it was made or since [`Queue::take_counts`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QueueCounts {
    /// Packets that arrived, before any was refused.
    pub arrivals: u64,
    /// Packets dropped because the queue was full.
    pub tail: u64,
    /// Packets dropped by active queue management.
    pub early: u64,
    /// Packets dropped because they grew too old.
    pub age: u64,
    /// Packets marked CE here. One that arrived with CE is not counted.
    pub marks: u64,
    /// Packets handed to the transmitter.
    pub departures: u64,
}

/// The discipline in front of a transmitter, as a scenario writes it: `{ kind = "drop-tail", packets = 100 }`.
///
/// Every kind takes the keys of a limit beside its own; all but drop-tail have a default limit.
/// `mark` means that packets of ECN-capable senders are marked where others would be dropped.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "kebab-case",
    expecting = "a queue such as { kind = \"drop-tail\", packets = 100 }"
)]
pub enum QueueConfig {
    /// What does not fit is refused.
    DropTail(DropTailConfig),
    /// Random early detection.
    Red(RedConfig),
    /// Controlled delay, RFC 8289.
    #[serde(rename = "codel")]
    CoDel(CoDelConfig),
    /// CoDel for each of many flows, RFC 8290.
    #[serde(rename = "fq-codel")]
    FqCoDel(FqCoDelConfig),
    /// RFC 8033.
    Pie(PieConfig),
    /// RFC 9332.
    #[serde(rename = "dualpi2")]
    DualPi2(DualPi2Config),
}

/// A queue of any discipline.
#[derive(Debug, Clone)]
pub struct Queue<P> {
    discipline: Discipline<P>,
    accounting: Accounting<P>,
}

/// The disciplines behind one dispatch.
#[derive(Debug, Clone)]
enum Discipline<P> {
    DropTail(droptail::DropTail<P>),
    Red(red::Red<P>),
    CoDel(codel::CoDel<P>),
    FqCoDel(fq_codel::FqCoDel<P>),
    Pie(pie::Pie<P>),
    DualPi2(dualpi2::DualPi2<P>),
}

/// Calls a method of the discipline.
macro_rules! each {
    ($discipline:expr, $queue:ident => $call:expr) => {
        match $discipline {
            Discipline::DropTail($queue) => $call,
            Discipline::Red($queue) => $call,
            Discipline::CoDel($queue) => $call,
            Discipline::FqCoDel($queue) => $call,
            Discipline::Pie($queue) => $call,
            Discipline::DualPi2($queue) => $call,
        }
    };
}

impl<P> Discipline<P> {
    fn new(config: &QueueConfig, nominal: Nominal) -> Result<Self, Error> {
        Ok(match config {
            QueueConfig::DropTail(config) => Self::DropTail(droptail::DropTail::new(config, nominal)?),
            QueueConfig::Red(config) => Self::Red(red::Red::new(config, nominal)?),
            QueueConfig::CoDel(config) => Self::CoDel(codel::CoDel::new(config, nominal)?),
            QueueConfig::FqCoDel(config) => Self::FqCoDel(fq_codel::FqCoDel::new(config, nominal)?),
            QueueConfig::Pie(config) => Self::Pie(pie::Pie::new(config, nominal)?),
            QueueConfig::DualPi2(config) => Self::DualPi2(dualpi2::DualPi2::new(config, nominal)?),
        })
    }
}

impl QueueConfig {
    /// Whether the values hold together in front of a transmitter like `nominal`.
    ///
    /// # Errors
    /// Names the field, what was found and what would be valid.
    pub fn check(&self, nominal: Nominal) -> Result<(), Error> {
        Discipline::<()>::new(self, nominal).map(drop)
    }
}

/// What all disciplines share: counters, dropped packets and a random stream.
#[derive(Debug, Clone)]
pub(crate) struct Accounting<P> {
    counts: QueueCounts,
    dropped: VecDeque<Dropped<P>>,
    random: RandomStream,
}

impl<P> Queue<P> {
    /// A queue of the discipline that `config` describes, in front of a transmitter like `nominal`. `random` is the
    /// queue's own stream.
    ///
    /// # Errors
    /// Where `config` does not hold together; see [`QueueConfig::check`].
    pub fn new(config: &QueueConfig, nominal: Nominal, random: RandomStream) -> Result<Self, Error> {
        Ok(Self { discipline: Discipline::new(config, nominal)?, accounting: Accounting::new(random) })
    }

    /// The admission limit of a drop-tail queue that drops arriving packets only.
    pub(crate) const fn plain_admission(&self) -> Option<Admission> {
        match &self.discipline {
            Discipline::DropTail(queue) => queue.plain_admission(),
            _ => None,
        }
    }

    /// Takes `packet`, marks it, or drops it; room may also be made by dropping another.
    pub fn enqueue(&mut self, now: Timestamp, packet: Packet<P>, transmitter: Transmitter) {
        let accounting = &mut self.accounting;
        accounting.counts.arrivals += 1;
        each!(&mut self.discipline, queue => queue.enqueue(now, packet, transmitter, accounting));
    }

    /// The next packet to be served, with its waiting time added. Called when the transmitter becomes free.
    pub fn dequeue(&mut self, now: Timestamp) -> Option<Packet<P>> {
        let accounting = &mut self.accounting;
        let Waiting { arrived, mut packet } =
            each!(&mut self.discipline, queue => queue.dequeue(now, accounting)?);
        packet.waited += now.since(arrived);
        self.accounting.counts.departures += 1;
        Some(packet)
    }

    /// Packets that wait.
    pub fn len(&self) -> usize {
        match &self.discipline {
            Discipline::DropTail(queue) => queue.fifo.len(),
            Discipline::Red(queue) => queue.fifo.len(),
            Discipline::CoDel(queue) => queue.fifo.len(),
            Discipline::Pie(queue) => queue.fifo.len(),
            Discipline::FqCoDel(queue) => queue.len(),
            Discipline::DualPi2(queue) => queue.len(),
        }
    }

    /// True where no packet waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The sum of the sizes of the packets that wait.
    pub fn size(&self) -> DataSize {
        match &self.discipline {
            Discipline::DropTail(queue) => queue.fifo.size(),
            Discipline::Red(queue) => queue.fifo.size(),
            Discipline::CoDel(queue) => queue.fifo.size(),
            Discipline::Pie(queue) => queue.fifo.size(),
            Discipline::FqCoDel(queue) => queue.size(),
            Discipline::DualPi2(queue) => queue.size(),
        }
    }

    /// The next packet that was dropped.
    pub fn poll_dropped(&mut self) -> Option<Dropped<P>> {
        self.accounting.dropped.pop_front()
    }

    /// What the queue did so far.
    pub fn counts(&self) -> QueueCounts {
        self.accounting.counts
    }

    /// What the queue did so far; counts from zero again.
    pub fn take_counts(&mut self) -> QueueCounts {
        std::mem::take(&mut self.accounting.counts)
    }
}

impl<P> Accounting<P> {
    fn new(random: RandomStream) -> Self {
        Self { counts: QueueCounts::default(), dropped: VecDeque::new(), random }
    }

    /// Drops `packet`.
    fn drop(&mut self, at: Timestamp, cause: DropCause, packet: Packet<P>) {
        match cause {
            DropCause::Early => self.counts.early += 1,
            DropCause::Age => self.counts.age += 1,
            _ => self.counts.tail += 1,
        }
        self.dropped.push_back(Dropped { at, cause, packet });
    }

    /// Sets CE on a capable packet; one that carries it already is not counted again.
    fn mark(&mut self, packet: &mut Packet<P>) {
        if packet.ecn != Ecn::Ce {
            packet.ecn = Ecn::Ce;
            self.counts.marks += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_are_counted_by_their_cause() {
        let mut accounting = Accounting::new(RandomStream::new(1, "queue"));
        let causes = [
            DropCause::Age,
            DropCause::Early,
            DropCause::Early,
            DropCause::Tail,
            DropCause::Tail,
            DropCause::Tail,
        ];
        for (number, cause) in causes.into_iter().enumerate() {
            accounting.drop(
                Timestamp::ZERO,
                cause,
                Packet::new(DataSize::from_bytes(1000), Ecn::NotEct, number),
            );
        }
        assert_eq!(accounting.counts, QueueCounts { age: 1, early: 2, tail: 3, ..QueueCounts::default() });
        assert!(
            accounting
                .dropped
                .iter()
                .map(|dropped| (dropped.cause, dropped.packet.payload))
                .eq(causes.into_iter().zip(0..))
        );
    }

    #[test]
    fn a_mark_is_counted_once() {
        let mut accounting = Accounting::<()>::new(RandomStream::new(1, "queue"));
        let mut packet = Packet::new(DataSize::from_bytes(1000), Ecn::Ect0, ());
        (0..2).for_each(|_| accounting.mark(&mut packet));
        assert_eq!((packet.ecn, accounting.counts.marks), (Ecn::Ce, 1));
    }

    /// Before a transmitter of 1 Mbit/s.
    #[test]
    fn what_does_not_hold_together_is_refused() {
        let nominal = Nominal { rate: Bitrate::from_mbps(1), delay: TimeDelta::ZERO };
        for (is_valid, kind, values) in [
            (true, "drop-tail", "packets = 1"),
            (false, "drop-tail", "packets = 0"),
            (false, "drop-tail", "packets_waiting = 0"),
            (false, "drop-tail", ""),
            (false, "drop-tail", "packets = 1, packets_waiting = 1"),
            (false, "drop-tail", "bytes = \"1499 B\""),
            (true, "drop-tail", "bytes = \"1500 B\""),
            (false, "drop-tail", "time = \"0 s\""),
            (false, "drop-tail", "time = \"11 ms\""),
            (true, "drop-tail", "time = \"12 ms\""),
            (false, "drop-tail", "time = \"0 s\", live = true"),
            (true, "drop-tail", "time = \"1 ms\", live = true"),
            (false, "drop-tail", "packets = 9, live = true"),
            (false, "drop-tail", "packets = 9, count_in_service = true"),
            (true, "drop-tail", "bytes = \"1500 B\", count_in_service = true"),
            (true, "drop-tail", "time = \"12 ms\", count_in_service = true"),
            (false, "drop-tail", "time = \"12 ms\", live = true, count_in_service = true"),
            (true, "drop-tail", "sojourn = \"1 ms\""),
            (false, "drop-tail", "sojourn = \"0 s\""),
            (true, "drop-tail", "bytes = \"1500 B\", room = \"1500 B\""),
            (false, "drop-tail", "bytes = \"1500 B\", room = \"1501 B\""),
            (false, "drop-tail", "bytes = \"1500 B\", room = \"1501 B\", count_in_service = true"),
            (false, "drop-tail", "bytes = \"1500 B\", room = \"0 B\""),
            (false, "drop-tail", "packets = 9, room = \"1500 B\""),
            (false, "drop-tail", "packets_waiting = 9, room = \"1500 B\""),
            (true, "drop-tail", "time = \"1 ms\", live = true, room = \"1500 B\""),
            (true, "codel", "target = \"1 ms\", ce_threshold = \"1 ms\""),
            (false, "codel", "target = \"0 s\""),
            (false, "codel", "interval = \"0 s\""),
            (false, "codel", "max_packet = \"0 B\""),
            (false, "codel", "ce_threshold = \"0 s\""),
            (true, "fq-codel", "flows = 1, quantum = \"1 B\""),
            (true, "fq-codel", "flows = 65536"),
            (false, "fq-codel", "flows = 0"),
            (false, "fq-codel", "flows = 65537"),
            (false, "fq-codel", "quantum = \"0 B\""),
            (false, "fq-codel", "target = \"0 s\""),
            (true, "pie", "max_burst = \"0 s\", update = \"0.1 ms\", mark_below = 1.0"),
            (false, "pie", "target = \"0 s\""),
            (false, "pie", "update = \"0.05 ms\""),
            (false, "pie", "max_burst = \"-1 ms\""),
            (false, "pie", "mark_below = 1.1"),
            (true, "dualpi2", "min_threshold = \"0 s\", range = \"0 s\", coupling = 0.1"),
            (false, "dualpi2", "coupling = 0.0"),
            (false, "dualpi2", "coupling = inf"),
            (false, "dualpi2", "coupling = nan"),
            (false, "dualpi2", "target = \"0.05 ms\""),
            (false, "dualpi2", "max_rtt = \"0.05 ms\""),
            (false, "dualpi2", "min_threshold = \"-1 ms\""),
            (false, "dualpi2", "range = \"-1 ms\""),
            (true, "red", "min = 1.0, max = 1.1"),
            (false, "red", "min = 0.0"),
            (false, "red", "min = 5.0, max = 5.0"),
            (false, "red", "max = inf"),
            (false, "red", "max_p = 1.1"),
            (false, "red", "weight = 1.1"),
            (false, "red", "mark_below = 1.1"),
            (false, "red", "mean_packet = \"0 B\""),
            (false, "red", "preset = \"rfc2309\", min = 5.0"),
            (false, "red", "preset = \"rfc2309\", max = 15.0"),
            (true, "red", "preset = \"rfc2309\", min = 5.0, max = 15.0"),
        ] {
            let text = format!(
                "queue = {{ kind = \"{kind}\"{}{values} }}",
                if values.is_empty() { "" } else { ", " }
            );
            let mut table: std::collections::BTreeMap<String, QueueConfig> =
                toml::from_str(&text).expect(&text);
            let config = table.remove("queue").expect("a queue");
            assert_eq!(config.check(nominal).is_ok(), is_valid, "{text}");
        }
    }
}
