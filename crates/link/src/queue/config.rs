//! The text form of queues.

use super::Limit;
use crate::error::Error;
use seaway_units::{Bitrate, DataSize, TimeDelta};
use serde::Deserialize;

/// The discipline in front of a transmitter, as a scenario writes it: `{ kind = "drop-tail", packets = 100 }`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum QueueConfig {
    /// What does not fit is refused.
    DropTail(DropTailConfig),
}

/// Exactly one limit, or a lifetime, or both.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DropTailConfig {
    /// Packets, the one in service included.
    pub packets: Option<u64>,
    /// Packets that wait, the one in service not included.
    pub packets_waiting: Option<u64>,
    /// Octets that wait.
    pub bytes: Option<DataSize>,
    /// What the link carries in this time at its first rate.
    pub time: Option<TimeDelta>,
    /// Packets older than this are dropped when their turn comes. Alone, it stands with
    /// [`DropTailConfig::HARD_LIMIT`].
    pub sojourn: Option<TimeDelta>,
    /// For `bytes` and `time`: the packet in service counts too.
    pub count_in_service: bool,
    /// For `time`: at the present rate, not at the first.
    pub live: bool,
    /// On overflow, drop the oldest and not the newest.
    pub drop_front: bool,
}

impl QueueConfig {
    /// Whether the values hold together in front of a transmitter whose first rate is `nominal`.
    ///
    /// # Errors
    /// Names the field, what was found and what would be valid.
    pub fn check(&self, nominal: Bitrate) -> Result<(), Error> {
        match self {
            Self::DropTail(config) => config.limit(nominal).map(drop),
        }
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

    pub(super) fn limit(&self, nominal: Bitrate) -> Result<Limit, Error> {
        let given = [
            self.packets.is_some(),
            self.packets_waiting.is_some(),
            self.bytes.is_some(),
            self.time.is_some(),
        ];
        let limits = given.iter().filter(|&&is_given| is_given).count();
        if limits > 1 || (limits == 0 && self.sojourn.is_none()) {
            let found = if limits == 0 { "none" } else { "several" };
            let expected = "one of packets, packets_waiting, bytes, time (and sojourn beside it or alone)";
            return Err(Error::config("queue", found, expected));
        }
        if self.count_in_service && self.bytes.is_none() && (self.time.is_none() || self.live) {
            return Err(Error::config(
                "queue.count_in_service",
                "true",
                "only beside bytes, or time without live",
            ));
        }
        if self.live && self.time.is_none() {
            return Err(Error::config("queue.live", "true", "only beside time"));
        }
        if let Some(sojourn) = self.sojourn.filter(|&sojourn| sojourn <= TimeDelta::ZERO) {
            return Err(Error::config("queue.sojourn", sojourn, "a time above zero"));
        }
        self.chosen_limit(nominal)
    }

    fn chosen_limit(&self, nominal: Bitrate) -> Result<Limit, Error> {
        if let Some(packets) = self.packets {
            return at_least_one("queue.packets", packets).map(Limit::Packets);
        }
        if let Some(packets) = self.packets_waiting {
            return at_least_one("queue.packets_waiting", packets).map(Limit::PacketsWaiting);
        }
        if let Some(time) = self.time {
            return self.time_limit(time, nominal);
        }
        match self.bytes {
            Some(bytes) => self.byte_limit("queue.bytes", bytes),
            None => Ok(Limit::Packets(Self::HARD_LIMIT)),
        }
    }

    fn time_limit(&self, time: TimeDelta, nominal: Bitrate) -> Result<Limit, Error> {
        if time <= TimeDelta::ZERO {
            Err(Error::config("queue.time", time, "a time above zero"))
        } else if self.live {
            Ok(Limit::LiveTime(time))
        } else {
            self.byte_limit("queue.time", nominal.size_in(time))
        }
    }

    fn byte_limit(&self, field: &str, bytes: DataSize) -> Result<Limit, Error> {
        if bytes < LARGEST_PACKET {
            let expected = format!("room for a packet of {LARGEST_PACKET}");
            Err(Error::config(field, bytes, expected))
        } else if self.count_in_service {
            Ok(Limit::BytesInAll(bytes))
        } else {
            Ok(Limit::Bytes(bytes))
        }
    }
}

/// A queue limited in octets must hold at least this: a full Ethernet payload.
const LARGEST_PACKET: DataSize = DataSize::from_bytes(1500);

fn at_least_one(field: &str, packets: u64) -> Result<u64, Error> {
    if packets == 0 { Err(Error::config(field, packets, "at least 1")) } else { Ok(packets) }
}
