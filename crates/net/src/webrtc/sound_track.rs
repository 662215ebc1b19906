//! The sound as one viewer gets it.

use super::reports::{Sent, ticks};
use super::slots::SoundPacket;
use rtc::rtp;
use rtc::rtp_transceiver::RTCRtpSenderId;

/// Ticks of the media clock of Opus a second (RFC 7587 section 4.1).
pub(super) const CLOCK_RATE: u32 = 48_000;

/// Opus packets to RTP packets (RFC 7587).
#[derive(Debug)]
pub(super) struct SoundTrack {
    pub(super) sender: RTCRtpSenderId,
    pub(super) ssrc: u32,
    pub(super) sent: Sent,
}

impl SoundTrack {
    pub(super) fn new(sender: RTCRtpSenderId, ssrc: u32) -> Self {
        Self { sender, ssrc, sent: Sent::default() }
    }

    /// A packet that the queue of the viewer did not take leaves a gap in the numbers, which its decoder conceals.
    pub(super) fn packet(&self, sound: &SoundPacket, payload_type: u8) -> rtp::Packet {
        let header = rtp::Header {
            version: 2,
            payload_type,
            sequence_number: sound.number as u16,
            timestamp: ticks(sound.at, CLOCK_RATE),
            ssrc: self.ssrc,
            ..Default::default()
        };
        rtp::Packet { header, payload: sound.data.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use seaway_units::TimeDelta;

    #[test]
    fn a_packet_is_one_of_rtp() {
        let track = SoundTrack::new(RTCRtpSenderId::default(), 9);
        let sound =
            SoundPacket { number: 65_537, at: TimeDelta::from_millis(40), data: Bytes::from_static(b"opus") };
        let packet = track.packet(&sound, 111);
        let header = &packet.header;
        assert_eq!(
            (header.payload_type, header.sequence_number, header.timestamp, header.ssrc),
            (111, 1, 1920, 9)
        );
        assert_eq!(&packet.payload[..], b"opus");
    }
}
