//! The bandwidth that a probe measured (libwebrtc).

use crate::packet::ProbeId;
use seaway_units::{DataSize, RemoteTimestamp, Timestamp};

/// Collects the packets of probes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ProbeEstimator {
    clusters: [Option<Cluster>; Self::CLUSTERS],
}

/// A requested probe.
#[derive(Debug, Clone, Copy)]
pub(super) struct Expected {
    pub(super) id: ProbeId,
    pub(super) size: DataSize,
    pub(super) packets: u8,
}

#[derive(Debug, Clone, Copy)]
struct Cluster {
    expected: Expected,
    packets: u32,
    bytes: f64,
    sent: Ends<Timestamp>,
    received: Ends<RemoteTimestamp>,
}

/// The first and the last of something, and what they weigh in octets.
#[derive(Debug, Clone, Copy)]
struct Ends<T> {
    first: (T, f64),
    last: (T, f64),
}

impl<T: PartialOrd + Copy> Ends<T> {
    const fn new(at: T, bytes: f64) -> Self {
        Self { first: (at, bytes), last: (at, bytes) }
    }

    fn stretch(&mut self, at: T, bytes: f64) {
        if at < self.first.0 {
            self.first = (at, bytes);
        }
        if at >= self.last.0 {
            self.last = (at, bytes);
        }
    }
}

/// A packet of a probe that arrived.
#[derive(Debug, Clone, Copy)]
pub(super) struct ProbePacket {
    pub(super) id: ProbeId,
    pub(super) size: DataSize,
    pub(super) sent: Timestamp,
    pub(super) received: RemoteTimestamp,
}

impl ProbeEstimator {
    const CLUSTERS: usize = 4;
    const LEAST_PACKETS: u32 = 4;
    /// Of the requested packets and octets.
    const LEAST_PART: f64 = 0.8;
    /// Neither interval may be longer, s.
    const LONGEST: f64 = 1.0;
    /// Arrival faster than departure by more is no measurement.
    const MOST_RATIO: f64 = 2.0;
    /// Arrival slower than this part of departure: the link was filled,
    const FILLED: f64 = 0.9;
    /// and this part of the arrival is taken.
    const SAFETY: f64 = 0.95;

    /// A probe will leave; the oldest makes room.
    pub(super) fn expect(&mut self, expected: Expected) {
        self.clusters.copy_within(1.., 0);
        let none = (Timestamp::ZERO, RemoteTimestamp::from_nanos(0));
        self.clusters[Self::CLUSTERS - 1] = Some(Cluster {
            expected,
            packets: 0,
            bytes: 0.0,
            sent: Ends::new(none.0, 0.0),
            received: Ends::new(none.1, 0.0),
        });
    }

    /// One of its packets arrived. The rate in bit/s once enough of them did.
    pub(super) fn on_packet(&mut self, packet: &ProbePacket) -> Option<f64> {
        let cluster = self.clusters.iter_mut().flatten().find(|cluster| cluster.expected.id == packet.id)?;
        let bytes = packet.size.as_bytes_f64();
        if cluster.packets == 0 {
            cluster.sent = Ends::new(packet.sent, bytes);
            cluster.received = Ends::new(packet.received, bytes);
        } else {
            cluster.sent.stretch(packet.sent, bytes);
            cluster.received.stretch(packet.received, bytes);
        }
        cluster.packets = cluster.packets.saturating_add(1);
        cluster.bytes += bytes;
        cluster.result()
    }
}

impl Cluster {
    fn result(&self) -> Option<f64> {
        let enough = f64::from(self.packets) >= ProbeEstimator::LEAST_PART * f64::from(self.expected.packets)
            && self.bytes >= ProbeEstimator::LEAST_PART * self.expected.size.as_bytes_f64();
        if self.packets < ProbeEstimator::LEAST_PACKETS || !enough {
            return None;
        }
        let sent = (self.sent.last.0 - self.sent.first.0).as_secs_f64();
        let received = (self.received.last.0 - self.received.first.0).as_secs_f64();
        let valid = |span: f64| span > 0.0 && span <= ProbeEstimator::LONGEST;
        if !valid(sent) || !valid(received) {
            return None;
        }
        let send_rate = (self.bytes - self.sent.last.1) * 8.0 / sent;
        let receive_rate = (self.bytes - self.received.first.1) * 8.0 / received;
        if receive_rate > ProbeEstimator::MOST_RATIO * send_rate {
            None
        } else if receive_rate < ProbeEstimator::FILLED * send_rate {
            Some(ProbeEstimator::SAFETY * receive_rate)
        } else {
            Some(send_rate.min(receive_rate))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seaway_units::TimeDelta;

    fn probe(sent_gap: i64, received_gap: i64, packets: i64) -> Option<f64> {
        let mut estimator = ProbeEstimator::default();
        estimator.expect(Expected { id: ProbeId(7), size: DataSize::from_bytes(5000), packets: 5 });
        let mut result = None;
        for index in 0..packets {
            result = estimator.on_packet(&ProbePacket {
                id: ProbeId(7),
                size: DataSize::from_bytes(1000),
                sent: Timestamp::ZERO + TimeDelta::from_millis(100 + sent_gap * index),
                received: RemoteTimestamp::from_nanos(0) + TimeDelta::from_millis(500 + received_gap * index),
            });
        }
        result
    }

    #[test]
    fn rates() {
        assert_eq!(probe(2, 2, 5), Some(4e6));
        assert_eq!(probe(2, 2, 3), None, "too few");
        assert_eq!(probe(2, 2, 4), Some(4e6), "four fifths are enough");
        assert_eq!(probe(2, 4, 5), Some(0.95 * 2e6), "the link was filled");
        assert_eq!(probe(5, 2, 5), None, "arrival twice as fast as departure");
        assert_eq!(probe(0, 2, 5), None);
    }
}
