//! A MAC queue: a queue whose packets are sent in fragments.

use seaway_link::{
    Dropped, Drops, Error, Level, LinkStatistics, Meter, Nominal, Packet, Queue, QueueConfig, RandomStream,
    Transmitter,
};
use seaway_units::{Bitrate, DataSize, Timestamp};

/// Packets of one connection over the air. They are sent in fragments, in order; a partly sent packet counts as waiting
/// until its last fragment has left.
#[derive(Debug)]
pub(crate) struct MacQueue<P> {
    queue: Queue<P>,
    head: Option<Head<P>>,
    /// Packets sent and not yet delivered.
    in_flight: u64,
    /// The nominal rate, for limits in time.
    rate: Bitrate,
    meter: Meter,
}

/// The packet that is partly sent.
#[derive(Debug)]
struct Head<P> {
    packet: Packet<P>,
    left: u64,
    is_corrupted: bool,
}

/// A fragment that has just been sent.
#[derive(Debug)]
pub(crate) struct Fragment<P> {
    /// Its octets.
    pub(crate) octets: u64,
    /// The packet, where this was its last fragment.
    pub(crate) completed: Option<Completed<P>>,
}

/// A packet whose last fragment has been sent.
#[derive(Debug)]
pub(crate) enum Completed<P> {
    /// It will arrive.
    Sent(Packet<P>),
    /// The channel lost a fragment of it.
    Lost(Packet<P>),
}

impl<P> MacQueue<P> {
    /// An empty queue of this discipline. It draws from `random` alone.
    pub(crate) fn new(config: &QueueConfig, nominal: Nominal, random: RandomStream) -> Result<Self, Error> {
        Ok(Self {
            queue: Queue::new(config, nominal, random)?,
            head: None,
            in_flight: 0,
            rate: nominal.rate,
            meter: Meter::new(Timestamp::ZERO, 0, Level::default()),
        })
    }

    pub(crate) fn enqueue(&mut self, now: Timestamp, packet: Packet<P>) {
        self.pass(now);
        self.meter.arrive(packet.size);
        let in_service = self.head.as_ref().map(|head| head.packet.size);
        self.queue.enqueue(now, packet, Transmitter { in_service, rate: self.rate });
        let Level { packets, size, .. } = self.level();
        self.meter.peak(packets, size);
    }

    /// Sends up to `room` octets of the head packet; `None` where none waits. `loses` says whether the
    /// channel loses a fragment of that many octets.
    pub(crate) fn take(
        &mut self,
        now: Timestamp,
        room: u64,
        loses: impl FnOnce(u64) -> bool,
    ) -> Option<Fragment<P>> {
        self.pass(now);
        if self.head.is_none() {
            let packet = self.queue.dequeue(now)?;
            self.head = Some(Head { left: packet.size.as_bytes(), packet, is_corrupted: false });
        }
        let head = self.head.as_mut()?;
        let octets = head.left.min(room);
        head.left -= octets;
        head.is_corrupted |= loses(octets);
        let is_whole = head.left == 0;
        let completed = self.head.take_if(|_| is_whole).map(|head| {
            if head.is_corrupted {
                self.meter.lose();
                Completed::Lost(head.packet)
            } else {
                self.in_flight += 1;
                Completed::Sent(head.packet)
            }
        });
        Some(Fragment { octets, completed })
    }

    /// A packet bypasses the queue and will be [delivered](Self::deliver).
    pub(crate) fn pass_through(&mut self, now: Timestamp, size: DataSize) {
        self.pass(now);
        self.meter.arrive(size);
        self.in_flight += 1;
    }

    /// A packet that was sent has arrived.
    pub(crate) fn deliver(&mut self, size: DataSize) {
        self.in_flight -= 1;
        self.meter.deliver(size);
    }

    /// Capacity that was offered at once, and the part of it that was used here.
    pub(crate) fn offer(&mut self, offered: u64, used: u64) {
        self.meter.offer(DataSize::from_bytes(offered), DataSize::from_bytes(used));
    }

    /// Packets that wait, the partly sent one among them.
    pub(crate) fn waiting(&self) -> u64 {
        self.queue.len() as u64 + u64::from(self.head.is_some())
    }

    /// Octets that wait, without those already sent.
    pub(crate) fn octets(&self) -> u64 {
        self.queue.size().as_bytes() + self.head.as_ref().map_or(0, |head| head.left)
    }

    pub(crate) fn poll_dropped(&mut self) -> Option<Dropped<P>> {
        self.queue.poll_dropped()
    }

    pub(crate) fn statistics(&self, now: Timestamp) -> LinkStatistics {
        let counts = self.queue.counts();
        let drops = Drops { tail: counts.tail, early: counts.early, age: counts.age, ..Drops::default() };
        let mut meter = self.meter.clone();
        meter.pass(now, self.level());
        meter.statistics(drops, counts.marks, self.inside())
    }

    pub(crate) fn restart_statistics(&mut self, now: Timestamp) {
        self.queue.take_counts();
        self.meter = Meter::new(now, self.inside(), self.level());
    }

    fn pass(&mut self, now: Timestamp) {
        self.meter.pass(now, self.level());
    }

    fn inside(&self) -> u64 {
        self.waiting() + self.in_flight
    }

    fn level(&self) -> Level {
        Level {
            packets: self.waiting(),
            size: DataSize::from_bytes(self.octets()),
            rate: Bitrate::ZERO,
            is_busy: false,
        }
    }
}
