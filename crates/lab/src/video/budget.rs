//! From a share of the wire to what an encoder may spend.

use seaway_media::FrameRate;
use seaway_units::{Bitrate, DataSize};

/// What a packet costs beside the coded octets in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketCost {
    /// The largest packet, as an IP datagram.
    pub packet: DataSize,
    /// IP, UDP, RTP and extension headers of each, and the payload header of the format.
    pub headers: DataSize,
}

impl PacketCost {
    /// RTP header, the extensions of this project, and a fragmentation header (RFC 6184 section 5.8).
    const RTP: DataSize = DataSize::from_bytes(12 + 24 + 2);

    /// For packets of `packet` octets with IP and UDP headers of `overhead`.
    pub fn new(packet: DataSize, overhead: DataSize) -> Self {
        Self { packet, headers: overhead + Self::RTP }
    }

    /// What an encoder may spend so that its packets use `share` of the wire: a frame pays headers for as many
    /// packets as it fills, the last one partly.
    pub fn coded(&self, share: Bitrate, frame_rate: FrameRate) -> Bitrate {
        let hz = frame_rate.hz();
        let frame = share.as_bps_f64() / 8.0 / hz;
        let packets = (frame / self.packet.as_bytes_f64()).ceil().max(1.0);
        let coded = frame - packets * self.headers.as_bytes_f64();
        Bitrate::from_bps_f64(coded.max(0.0) * 8.0 * hz)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_paid_a_packet() {
        let cost = PacketCost::new(DataSize::from_bytes(1200), DataSize::from_bytes(28));
        let rate = FrameRate::new(25, 1).unwrap();
        // 1 Mbit/s at 25 pictures/s: 5000 octets a picture, 5 packets, 66 octets of headers each.
        assert_eq!(cost.coded(Bitrate::from_mbps(1), rate), Bitrate::from_bps((5000 - 5 * 66) * 8 * 25));
        assert_eq!(cost.coded(Bitrate::from_bps(1000), rate), Bitrate::ZERO);
    }
}
