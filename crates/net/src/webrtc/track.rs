//! One track as one viewer gets it: access units to RTP packets.

use super::Numbered;
use super::reports::{Sent, ticks};
use bytes::Bytes;
use rtc::rtp;
use rtc::rtp_transceiver::RTCRtpSenderId;
use seaway_wire::h264::{Packetizer, annex_b};

/// Ticks of the media clock of video a second.
pub(super) const CLOCK_RATE: u32 = 90_000;
/// Payload that fits an IPv6 datagram of 1280 octets with UDP, SRTP and header extensions around it.
const PAYLOAD_LIMIT: usize = 1150;

#[derive(Debug)]
pub(super) struct Track {
    pub(super) sender: RTCRtpSenderId,
    pub(super) ssrc: u32,
    sequence: u16,
    pub(super) sent: Sent,
    /// Pictures between here and the next key frame are of no use.
    broken: bool,
    /// The number of the next picture where none is missed.
    expected: u64,
}

impl Track {
    pub(super) fn new(sender: RTCRtpSenderId, ssrc: u32) -> Self {
        Self { sender, ssrc, sequence: 0, sent: Sent::default(), broken: true, expected: 0 }
    }

    /// Whether the viewer cannot decode before the next key frame.
    pub(super) const fn is_broken(&self) -> bool {
        self.broken
    }

    /// Something was lost on the way to the viewer.
    pub(super) const fn set_broken(&mut self) {
        self.broken = true;
    }

    /// The packets of a picture; none while the viewer waits for a key frame, and none of a malformed unit.
    pub(super) fn packets(&mut self, picture: &Numbered, payload_type: u8) -> Vec<rtp::Packet> {
        let unit = &picture.unit;
        self.broken |= picture.number != self.expected;
        self.expected = picture.number + 1;
        if self.broken && !unit.is_key {
            return Vec::new();
        }
        self.broken = false;
        let nals: Vec<&[u8]> = annex_b::nal_units(&unit.data).collect();
        let Ok(packetizer) = Packetizer::new(&nals, PAYLOAD_LIMIT) else { return Vec::new() };
        let timestamp = ticks(unit.at, CLOCK_RATE);
        let mut payloads = packetizer.peekable();
        let mut packets = Vec::new();
        while let Some(payload) = payloads.next() {
            let mut data = vec![0; payload.buffer_len()];
            if payload.emit(&mut data).is_err() {
                return Vec::new();
            }
            let header = rtp::Header {
                version: 2,
                marker: payloads.peek().is_none(),
                payload_type,
                sequence_number: self.sequence,
                timestamp,
                ssrc: self.ssrc,
                ..Default::default()
            };
            self.sequence = self.sequence.wrapping_add(1);
            packets.push(rtp::Packet { header, payload: Bytes::from(data) });
        }
        packets
    }
}

#[cfg(test)]
mod tests {
    use super::super::AccessUnit;
    use super::*;
    use seaway_units::TimeDelta;

    fn picture(number: u64, is_key: bool) -> Numbered {
        let mut data = vec![0, 0, 0, 1, 0x67, 1, 2, 0, 0, 0, 1, 0x65];
        data.extend([7; 3000]);
        let unit = AccessUnit { data: data.into(), at: TimeDelta::from_millis(40), is_key };
        Numbered { track: 0, number, unit }
    }

    #[test]
    fn nothing_before_a_key_frame_and_the_marker_at_the_end() {
        let mut track = Track::new(RTCRtpSenderId::default(), 9);
        assert!(track.packets(&picture(0, false), 108).is_empty());
        let packets = track.packets(&picture(1, true), 108);
        let markers: Vec<bool> = packets.iter().map(|packet| packet.header.marker).collect();
        assert_eq!(markers.iter().filter(|marker| **marker).count(), 1);
        assert_eq!(markers.last(), Some(&true));
        assert!(packets.iter().all(|packet| packet.header.timestamp == 3600));
        assert!(packets.iter().all(|packet| packet.payload.len() <= PAYLOAD_LIMIT));
        assert!(!track.packets(&picture(2, false), 108).is_empty());
    }

    #[test]
    fn a_missed_picture_costs_all_up_to_the_next_key_frame() {
        let mut track = Track::new(RTCRtpSenderId::default(), 9);
        track.packets(&picture(0, true), 108);
        assert!(track.packets(&picture(2, false), 108).is_empty());
        assert!(track.is_broken());
        assert!(!track.packets(&picture(3, true), 108).is_empty());
        assert!(!track.packets(&picture(4, false), 108).is_empty());
    }
}
