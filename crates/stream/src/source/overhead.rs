//! From the rate on the wire to the rate of the encoder.

use seaway_media::FrameRate;
use seaway_units::{Bitrate, DataSize};

/// What packetisation adds to coded octets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketOverhead {
    /// The largest packet, as an IP datagram.
    pub packet: DataSize,
    /// IP, UDP, RTP, extension and payload headers of each packet.
    pub headers: DataSize,
}

impl PacketOverhead {
    /// RTP header, the header extensions of this project, and a fragmentation header (RFC 6184 section 5.8).
    const RTP: DataSize = DataSize::from_bytes(12 + 24 + 2);

    /// For IP datagrams of up to `packet` octets with IP and UDP headers of `overhead` octets.
    pub fn new(packet: DataSize, overhead: DataSize) -> Self {
        Self { packet, headers: overhead + Self::RTP }
    }

    /// Where the share is that of the coded octets alone.
    pub const NONE: Self = Self { packet: DataSize::MAX, headers: DataSize::ZERO };

    /// The rate of coded octets whose packets use `share` of the wire. A frame pays the headers of every packet that it
    /// fills, the last one partly.
    pub fn payload_rate(&self, share: Bitrate, frame_rate: FrameRate) -> Bitrate {
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
    fn every_packet_pays_its_headers() {
        let overhead = PacketOverhead::new(DataSize::from_bytes(1200), DataSize::from_bytes(28));
        let rate = FrameRate::new(25, 1).unwrap();
        // 1 Mbit/s at 25 pictures/s: 5000 octets a picture, 5 packets, 66 octets of headers each.
        assert_eq!(
            overhead.payload_rate(Bitrate::from_mbps(1), rate),
            Bitrate::from_bps((5000 - 5 * 66) * 8 * 25)
        );
        assert_eq!(overhead.payload_rate(Bitrate::from_bps(1000), rate), Bitrate::ZERO);
    }
}
