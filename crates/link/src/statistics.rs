//! The statistics of a link.

use seaway_units::{Bitrate, DataSize, Timestamp};

/// Packets and their octets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Count {
    /// How many.
    pub packets: u64,
    /// How much, in all.
    pub size: DataSize,
}

impl Count {
    pub(crate) fn add(&mut self, size: DataSize) {
        self.packets += 1;
        self.size += size;
    }

    /// What was added to `before`.
    pub(crate) fn since(self, before: Self) -> Self {
        Self { packets: self.packets - before.packets, size: self.size.saturating_sub(before.size) }
    }
}

/// A link's counters and averages over the window from `since` to `until`.
///
/// Packets are conserved at every instant: `carried_in + arrivals = delivered + drops + inside`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkStatistics {
    /// Start of the window.
    pub since: Timestamp,
    /// End of the window.
    pub until: Timestamp,
    /// Packets inside when the window began.
    pub carried_in: u64,
    /// What came in.
    pub arrivals: Count,
    /// What left at the far end.
    pub delivered: Count,
    /// Packets dropped, by cause.
    pub drops: Drops,
    /// Packets marked CE here.
    pub marks: u64,
    /// Packets inside now: waiting, in service, or in flight.
    pub inside: u64,
    /// The share of the capacity that was used: busy time over time, weighed by the rate where it varies. Zero
    /// where there was no capacity.
    pub utilisation: f64,
    /// Packets waiting, the one in service excluded: mean over time.
    pub waiting_mean: f64,
    /// Packets waiting, the one in service excluded: maximum.
    pub waiting_max: u64,
    /// Octets waiting, the packet in service excluded: mean over time.
    pub waiting_bytes_mean: f64,
    /// Octets waiting, the packet in service excluded: maximum.
    pub waiting_bytes_max: DataSize,
}

/// Packets dropped, by cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Drops {
    /// The queue was full.
    pub tail: u64,
    /// Active queue management, before the queue was full.
    pub early: u64,
    /// Too old in the queue.
    pub age: u64,
    /// No token was left.
    pub policer: u64,
    /// Lost by the channel, or given up by the medium access layer.
    pub channel: u64,
}

impl Drops {
    /// Those for want of room, of time, or of tokens: no active queue management, and not the channel.
    pub const fn queue(&self) -> u64 {
        self.tail + self.age + self.policer
    }

    /// What was added to `before`.
    pub(crate) const fn since(self, before: Self) -> Self {
        Self {
            tail: self.tail - before.tail,
            early: self.early - before.early,
            age: self.age - before.age,
            policer: self.policer - before.policer,
            channel: self.channel - before.channel,
        }
    }

    /// All of them.
    pub const fn total(&self) -> u64 {
        self.queue() + self.early + self.channel
    }
}

/// Accumulates the counters and integrals of a [`LinkStatistics`], for links and for other queues.
#[derive(Debug, Clone)]
pub struct Meter {
    since: Timestamp,
    last: Timestamp,
    packet_nanos: u128,
    byte_nanos: u128,
    /// Capacity in bit·ns/s, and what of it was used.
    offered: u128,
    used: u128,
    carried_in: u64,
    arrivals: Count,
    delivered: Count,
    lost: u64,
    policed: u64,
    max_packets: u64,
    max_size: DataSize,
}

/// What holds between two events.
#[derive(Debug, Clone, Copy, Default)]
pub struct Level {
    /// Packets that wait.
    pub packets: u64,
    /// Octets that wait.
    pub size: DataSize,
    /// The capacity; zero where it is offered in parts ([`Meter::offer`]).
    pub rate: Bitrate,
    /// Whether the capacity is used.
    pub is_busy: bool,
}

impl Meter {
    /// A window that begins at `now` with `carried_in` packets inside and `level` waiting.
    pub fn new(now: Timestamp, carried_in: u64, level: Level) -> Self {
        Self {
            since: now,
            last: now,
            packet_nanos: 0,
            byte_nanos: 0,
            offered: 0,
            used: 0,
            carried_in,
            arrivals: Count::default(),
            delivered: Count::default(),
            lost: 0,
            policed: 0,
            max_packets: level.packets,
            max_size: level.size,
        }
    }

    /// `level` has held since the last call.
    pub fn pass(&mut self, now: Timestamp, level: Level) {
        let nanos = now.since(self.last).as_nanos() as u64;
        if nanos == 0 {
            return;
        }
        self.last = now;
        self.packet_nanos += u128::from(level.packets) * u128::from(nanos);
        self.byte_nanos += u128::from(level.size.as_bytes()) * u128::from(nanos);
        let capacity = u128::from(level.rate.as_bps()) * u128::from(nanos);
        self.offered += capacity;
        if level.is_busy {
            self.used += capacity;
        }
    }

    /// Capacity that came in one piece, and what of it was used.
    pub fn offer(&mut self, offered: DataSize, used: DataSize) {
        self.offered += u128::from(offered.as_bits()) * 1_000_000_000;
        self.used += u128::from(used.as_bits()) * 1_000_000_000;
    }

    /// A packet came in.
    pub fn arrive(&mut self, size: DataSize) {
        self.arrivals.add(size);
    }

    /// A packet left at the far end.
    pub fn deliver(&mut self, size: DataSize) {
        self.delivered.add(size);
    }

    /// The channel took a packet.
    pub fn lose(&mut self) {
        self.lost += 1;
    }

    /// A policer refused a packet.
    pub fn police(&mut self) {
        self.policed += 1;
    }

    /// The queue has just grown to this.
    pub fn peak(&mut self, packets: u64, size: DataSize) {
        self.max_packets = self.max_packets.max(packets);
        self.max_size = self.max_size.max(size);
    }

    /// The window up to the last `pass`; `drops` and `marks` are the queue's, `inside` what has not left yet.
    pub fn statistics(&self, drops: Drops, marks: u64, inside: u64) -> LinkStatistics {
        let span = self.last.since(self.since).as_nanos() as f64;
        let mean = |integral: u128, whole: f64| if whole > 0.0 { integral as f64 / whole } else { 0.0 };
        LinkStatistics {
            since: self.since,
            until: self.last,
            carried_in: self.carried_in,
            arrivals: self.arrivals,
            delivered: self.delivered,
            drops: Drops { channel: self.lost, policer: self.policed, ..drops },
            marks,
            inside,
            utilisation: mean(self.used, self.offered as f64),
            waiting_mean: mean(self.packet_nanos, span),
            waiting_max: self.max_packets,
            waiting_bytes_mean: mean(self.byte_nanos, span),
            waiting_bytes_max: self.max_size,
        }
    }
}
