//! Queue limits: the keys of a limit, which the configuration of every discipline has, and the check of a
//! packet against it.

use super::fifo::Fifo;
use super::{LARGEST_PACKET, Nominal, Transmitter};
use crate::error::{Error, above_zero};
use seaway_units::{DataSize, TimeDelta};

/// Declares the configuration of a discipline: the keys of a limit, then its own keys with their defaults.
macro_rules! queue_config {
    ($(#[$doc:meta])* $name:ident { $($(#[$key_doc:meta])* $key:ident: $type:ty = $default:expr,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, serde::Deserialize)]
        #[serde(deny_unknown_fields, default)]
        pub struct $name {
            /// Limit in packets, the one in service included.
            pub packets: Option<u64>,
            /// Limit in packets that wait, the one in service not included.
            pub packets_waiting: Option<u64>,
            /// Limit in octets that wait.
            pub bytes: Option<seaway_units::DataSize>,
            /// Limit in octets that wait: what the link carries in this time at its first rate.
            pub time: Option<seaway_units::TimeDelta>,
            /// For `bytes` and `time`: the packet in service counts too.
            pub count_in_service: bool,
            /// For `time`: at the present rate, not at the first.
            pub live: bool,
            $($(#[$key_doc])* pub $key: $type,)*
        }

        impl Default for $name {
            fn default() -> Self {
                Self {
                    packets: None,
                    packets_waiting: None,
                    bytes: None,
                    time: None,
                    count_in_service: false,
                    live: false,
                    $($key: $default,)*
                }
            }
        }

        impl $name {
            /// The limit that is configured, if any.
            fn limit(
                &self,
                nominal: $crate::queue::Nominal,
            ) -> Result<Option<$crate::queue::Limit>, $crate::error::Error> {
                let &Self { packets, packets_waiting, bytes, time, count_in_service, live, .. } = self;
                let keys = $crate::queue::limit::LimitKeys {
                    packets,
                    packets_waiting,
                    bytes,
                    time,
                    count_in_service,
                    live,
                };
                keys.limit(nominal)
            }
        }
    };
}
pub(super) use queue_config;

/// The keys of a limit; at most one of the first four is given.
pub(super) struct LimitKeys {
    pub(super) packets: Option<u64>,
    pub(super) packets_waiting: Option<u64>,
    pub(super) bytes: Option<DataSize>,
    pub(super) time: Option<TimeDelta>,
    pub(super) count_in_service: bool,
    pub(super) live: bool,
}

impl LimitKeys {
    pub(super) fn limit(&self, nominal: Nominal) -> Result<Option<Limit>, Error> {
        let given = [
            self.packets.is_some(),
            self.packets_waiting.is_some(),
            self.bytes.is_some(),
            self.time.is_some(),
        ];
        if given.iter().filter(|&&is_given| is_given).count() > 1 {
            let expected = "one of packets, packets_waiting, bytes, time";
            return Err(Error::config("queue", "several limits", expected));
        }
        if self.live && self.time.is_none() {
            return Err(Error::config("queue.live", true, "only beside time"));
        }
        if self.count_in_service && (self.live || (self.bytes.is_none() && self.time.is_none())) {
            let expected = "only beside bytes, or time without live";
            return Err(Error::config("queue.count_in_service", true, expected));
        }
        Ok(Some(match *self {
            Self { packets: Some(packets), .. } => Limit::Packets(at_least_one("queue.packets", packets)?),
            Self { packets_waiting: Some(packets), .. } => {
                Limit::PacketsWaiting(at_least_one("queue.packets_waiting", packets)?)
            }
            Self { bytes: Some(bytes), .. } => self.in_octets("queue.bytes", bytes)?,
            Self { time: Some(time), live: true, .. } => Limit::LiveTime(above_zero("queue.time", time)?),
            Self { time: Some(time), .. } => {
                self.in_octets("queue.time", nominal.rate.size_in(above_zero("queue.time", time)?))?
            }
            _ => return Ok(None),
        }))
    }

    fn in_octets(&self, field: &str, bytes: DataSize) -> Result<Limit, Error> {
        if bytes < LARGEST_PACKET {
            Err(Error::config(field, bytes, format!("room for a packet of {LARGEST_PACKET}")))
        } else if self.count_in_service {
            Ok(Limit::BytesInAll(bytes))
        } else {
            Ok(Limit::Bytes(bytes))
        }
    }
}

fn at_least_one(field: &str, packets: u64) -> Result<u64, Error> {
    if packets == 0 { Err(Error::config(field, packets, "at least 1")) } else { Ok(packets) }
}

/// The most that a queue holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Limit {
    /// This many packets, the one in service included.
    Packets(u64),
    /// This many packets that wait; with the one in service, one more.
    PacketsWaiting(u64),
    /// This many octets that wait.
    Bytes(DataSize),
    /// This many octets, the packet in service included.
    BytesInAll(DataSize),
    /// What the transmitter serves in this time at its present rate; nothing at rate zero.
    LiveTime(TimeDelta),
}

/// The admission limit of a drop-tail queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Admission {
    pub(crate) limit: Limit,
    /// An arriving packet counts for at least this size.
    pub(crate) room: DataSize,
}

impl Admission {
    /// Whether a packet of `size` may join `packets` packets that wait, of size `waiting` in total.
    pub(crate) fn admits(
        self,
        packets: usize,
        waiting: DataSize,
        size: DataSize,
        transmitter: Transmitter,
    ) -> bool {
        self.limit.holds(packets + 1, waiting + size.max(self.room), transmitter)
    }
}

impl Limit {
    /// Whether a packet of `size` may still join those that wait.
    pub(crate) fn admits<P>(self, fifo: &Fifo<P>, size: DataSize, transmitter: Transmitter) -> bool {
        self.holds(fifo.len() + 1, fifo.size() + size, transmitter)
    }

    /// Whether this many `packets` of this total `size` may wait.
    pub(crate) fn holds(self, packets: usize, size: DataSize, transmitter: Transmitter) -> bool {
        match self {
            Self::Packets(limit) => packets as u64 + u64::from(transmitter.in_service.is_some()) <= limit,
            Self::PacketsWaiting(limit) => packets as u64 <= limit,
            Self::Bytes(limit) => size <= limit,
            Self::BytesInAll(limit) => size + transmitter.in_service.unwrap_or_default() <= limit,
            Self::LiveTime(limit) => size <= transmitter.rate.size_in(limit),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::Packet;
    use seaway_units::{Bitrate, Ecn, Timestamp};

    const BYTES: fn(u64) -> DataSize = DataSize::from_bytes;

    /// One packet of 1500 octets in service, or none, at 1 Mbit/s.
    fn transmitter(is_serving: bool) -> Transmitter {
        Transmitter { in_service: is_serving.then_some(BYTES(1500)), rate: Bitrate::from_mbps(1) }
    }

    /// The most that each limit holds, in packets of 500 octets: 24 ms at 1 Mbit/s are 3000 octets.
    #[test]
    fn a_limit_holds_so_much_and_no_more() {
        let time = TimeDelta::from_millis(24);
        for (limit, idle, serving) in [
            (Limit::Packets(6), 6, 5),
            (Limit::PacketsWaiting(6), 6, 6),
            (Limit::Bytes(BYTES(3000)), 6, 6),
            (Limit::BytesInAll(BYTES(3000)), 6, 3),
            (Limit::LiveTime(time), 6, 6),
        ] {
            for (is_serving, most) in [(false, idle), (true, serving)] {
                let mut fifo = Fifo::new();
                let admission = Admission { limit, room: DataSize::ZERO };
                for number in 0..10 {
                    let fits = number < most;
                    let transmitter = transmitter(is_serving);
                    assert_eq!(
                        limit.admits(&fifo, BYTES(500), transmitter),
                        fits,
                        "{limit:?} {number} {is_serving}"
                    );
                    let admits = admission.admits(fifo.len(), fifo.size(), BYTES(500), transmitter);
                    assert_eq!(admits, fits, "{limit:?} {number} {is_serving}");
                    fifo.push(Timestamp::ZERO, Packet::new(BYTES(500), Ecn::NotEct, ()));
                }
            }
        }
        let outage = Transmitter { rate: Bitrate::ZERO, ..transmitter(false) };
        assert!(
            !Limit::LiveTime(time).holds(1, BYTES(1), outage)
                && Limit::LiveTime(time).holds(0, BYTES(0), outage)
        );
    }

    /// A packet takes the room of a full one where that is asked for.
    #[test]
    fn a_packet_takes_its_room() {
        let admission = Admission { limit: Limit::Bytes(BYTES(3000)), room: BYTES(1500) };
        for (waiting, size, fits) in
            [(1500, 100, true), (1501, 100, false), (1000, 2000, true), (1001, 2000, false)]
        {
            assert_eq!(
                admission.admits(1, BYTES(waiting), BYTES(size), transmitter(true)),
                fits,
                "{waiting} {size}"
            );
        }
    }
}
