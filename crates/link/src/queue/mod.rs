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
