//! The statistics of a cell.

use crate::wlan::mode::Nanos;
use seaway_link::{Drops, Level, LinkStatistics, Meter};
use seaway_units::{Bitrate, DataSize, Timestamp};

/// What happened in the air, over the window that began with the cell or with the last restart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AirStatistics {
    /// Data frames sent, every copy.
    pub attempts: u64,
    /// Data frames acknowledged.
    pub acknowledged: u64,
    /// PPDUs, all kinds.
    pub ppdus: u64,
    /// Nanoseconds with at least one PPDU in the air.
    pub air_nanos: u64,
    /// The window's length in nanoseconds.
    pub nanos: u64,
}

/// Counts of the air.
#[derive(Debug, Clone, Default)]
pub(crate) struct AirMeter {
    since: Nanos,
    /// The air is taken up to here.
    until: Nanos,
    own: AirStatistics,
}

impl AirMeter {
    /// A PPDU is in the air from `now` to `end`.
    pub(crate) fn sends(&mut self, now: Nanos, end: Nanos) {
        self.own.ppdus += 1;
        self.own.air_nanos += end.saturating_sub(self.until.max(now));
        self.until = self.until.max(end);
    }

    pub(crate) const fn attempt(&mut self, frames: u64) {
        self.own.attempts += frames;
    }

    pub(crate) const fn acknowledge(&mut self, frames: u64) {
        self.own.acknowledged += frames;
    }

    pub(crate) fn statistics(&self, now: Nanos) -> AirStatistics {
        // What is in the air beyond now is not yet over.
        let beyond = self.until.saturating_sub(now);
        let air_nanos = self.own.air_nanos.saturating_sub(beyond);
        AirStatistics { nanos: now - self.since, air_nanos, ..self.own }
    }

    pub(crate) fn restart(&mut self, now: Nanos) {
        let air_nanos = self.until.saturating_sub(now);
        *self = Self {
            since: now,
            until: self.until,
            own: AirStatistics { air_nanos, ..AirStatistics::default() },
        };
    }
}

/// The counters of what one device sends another. A packet waits until it is acknowledged.
#[derive(Debug, Clone)]
pub(crate) struct PairMeter {
    meter: Meter,
    level: Level,
    drops: Drops,
    since: Nanos,
    /// How long its exchanges have taken the medium.
    air: Nanos,
}

impl Default for PairMeter {
    fn default() -> Self {
        let level = Level { packets: 0, size: DataSize::ZERO, rate: Bitrate::ZERO, is_busy: false };
        let meter = Meter::new(Timestamp::ZERO, 0, level);
        Self { meter, level, drops: Drops::default(), since: 0, air: 0 }
    }
}

impl PairMeter {
    pub(crate) fn arrive(&mut self, size: DataSize) {
        self.meter.arrive(size);
    }

    pub(crate) fn deliver(&mut self, size: DataSize) {
        self.meter.deliver(size);
    }

    /// A packet goes into the queue.
    pub(crate) fn push(&mut self, now: Nanos, octets: u32) {
        self.meter.pass(Timestamp::from_nanos(now), self.level);
        self.level.packets += 1;
        self.level.size += DataSize::from_bytes(u64::from(octets));
        self.meter.peak(self.level.packets, self.level.size);
    }

    /// Packets of together `octets` leave the queue.
    pub(crate) fn pop(&mut self, now: Nanos, packets: u64, octets: u64) {
        self.meter.pass(Timestamp::from_nanos(now), self.level);
        self.level.packets = self.level.packets.saturating_sub(packets);
        self.level.size = self.level.size.saturating_sub(DataSize::from_bytes(octets));
    }

    pub(crate) const fn drop_full(&mut self) {
        self.drops.tail += 1;
    }

    pub(crate) const fn drop_old(&mut self) {
        self.drops.age += 1;
    }

    pub(crate) fn lose(&mut self) {
        self.meter.lose();
    }

    pub(crate) const fn occupy(&mut self, span: Nanos) {
        self.air += span;
    }

    pub(crate) const fn waiting(&self) -> u64 {
        self.level.packets
    }

    pub(crate) fn restart(&mut self, now: Nanos, inside: u64) {
        self.meter = Meter::new(Timestamp::from_nanos(now), inside, self.level);
        self.drops = Drops::default();
        self.since = now;
        self.air = 0;
    }

    pub(crate) fn statistics(&self, now: Nanos, inside: u64) -> LinkStatistics {
        let mut meter = self.meter.clone();
        meter.pass(Timestamp::from_nanos(now), self.level);
        let span = (now - self.since).max(1) as f64;
        LinkStatistics {
            utilisation: (self.air as f64 / span).min(1.0),
            ..meter.statistics(self.drops, 0, inside)
        }
    }
}

/// The association of one station, over the window that began with the cell or with the last restart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AssociationStatistics {
    /// Times that it became associated.
    pub made: u64,
    /// Times that it stopped being so.
    pub lost: u64,
    /// Beacons that were sent while it was, and that it did not receive.
    pub beacons_missed: u64,
    /// Nanoseconds for which it was.
    pub nanos: u64,
}

/// Counts of [`AssociationStatistics`].
#[derive(Debug, Clone, Default)]
pub(crate) struct AssociationMeter {
    own: AssociationStatistics,
    /// Since when it is associated, or since the restart.
    since: Option<Nanos>,
    /// A beacon is in the air, or was missed.
    awaits_beacon: bool,
}

impl AssociationMeter {
    pub(crate) const fn join(&mut self, now: Nanos) {
        self.own.made += 1;
        self.since = Some(now);
    }

    pub(crate) fn leave(&mut self, now: Nanos) {
        self.own.lost += 1;
        self.own.nanos += self.since.take().map_or(0, |since| now - since);
        self.settle_beacon();
    }

    /// A beacon is sent.
    pub(crate) fn expect_beacon(&mut self, is_associated: bool) {
        self.settle_beacon();
        self.awaits_beacon = is_associated;
    }

    /// What was awaited did not come.
    fn settle_beacon(&mut self) {
        self.own.beacons_missed += u64::from(std::mem::take(&mut self.awaits_beacon));
    }

    pub(crate) const fn receive_beacon(&mut self) {
        self.awaits_beacon = false;
    }

    pub(crate) fn statistics(&self, now: Nanos) -> AssociationStatistics {
        let nanos = self.own.nanos + self.since.map_or(0, |since| now - since);
        AssociationStatistics { nanos, ..self.own }
    }

    pub(crate) fn restart(&mut self, now: Nanos) {
        self.own = AssociationStatistics::default();
        self.since = self.since.map(|_| now);
    }
}
