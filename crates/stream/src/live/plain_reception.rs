//! What a receiver knows of senders of plain RTP at its sockets.

use bytes::Bytes;
use seaway_session::{Message, PlainSound, RtpPacket, payload_type};
use seaway_units::Timestamp;
use seaway_wire::{mp2t, rtp};
use std::collections::VecDeque;
use std::net::SocketAddr;

/// How plain RTP is received.
#[derive(Debug, Default)]
pub(super) struct PlainReception {
    /// Local identifier of transport-wide sequence numbers in header extensions.
    pub(super) transport_id: Option<u8>,
    /// Where RTCP came from on the port of its own, so where reports go. Otherwise they go to the source of the RTP.
    pub(super) control_peer: Option<SocketAddr>,
    /// Who sends a transport stream without RTP, and takes no reports.
    pub(super) one_way: Option<SocketAddr>,
    /// The number of its next datagram.
    pub(super) number: u16,
    /// What comes to each socket; there is one of media at least.
    pub(super) sockets: Vec<PlainSocket>,
    /// The payload type of the sound, where that has a port of its own.
    pub(super) sound: Option<u8>,
    /// RTCP that came to a port beside that of the video before the sender was known.
    pub(super) early: VecDeque<EarlyReport>,
}

/// The reports that are kept.
const EARLY_REPORTS: usize = 4;

/// RTCP of who may become the sender.
#[derive(Debug)]
pub(super) struct EarlyReport {
    pub(super) kind: PlainSocket,
    pub(super) at: Timestamp,
    pub(super) from: SocketAddr,
    pub(super) data: Bytes,
}

/// What comes to a socket of plain RTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PlainSocket {
    /// The video, and what shares its port.
    Media,
    /// RTCP that does not share the port of the video.
    Control,
    /// Sound that does not share it.
    Sound,
    /// The RTCP of that.
    SoundControl,
}

impl PlainReception {
    /// What comes to this socket.
    pub(super) fn kind(&self, socket: usize) -> PlainSocket {
        self.sockets.get(socket).copied().unwrap_or(PlainSocket::Media)
    }

    /// The socket from which reports leave to where RTCP of the video came from.
    pub(super) fn control(&self) -> Option<(usize, SocketAddr)> {
        let socket = self.sockets.iter().position(|socket| *socket == PlainSocket::Control)?;
        Some((socket, self.control_peer?))
    }

    /// RTCP came from a host of which nothing else is known.
    pub(super) fn keep(&mut self, report: EarlyReport) {
        if self.early.len() == EARLY_REPORTS {
            self.early.pop_front();
        }
        self.early.push_back(report);
    }

    /// What was kept, once the sender is known.
    pub(super) fn take_early(&mut self) -> VecDeque<EarlyReport> {
        std::mem::take(&mut self.early)
    }

    /// A packet of the sound's own port, as the session knows it. False where it is another.
    pub(super) fn adapt_sound(&self, packet: &mut RtpPacket) -> bool {
        packet.control = None;
        let is_it = self.sound == Some(packet.payload_type);
        packet.payload_type |= PlainSound::OWN_PORT;
        is_it
    }

    /// Whether a datagram is part of a transport stream without RTP: it begins with transport packets, or continues such
    /// datagrams, which are cut anywhere.
    pub(super) fn is_without_rtp(&mut self, from: SocketAddr, datagram: &[u8]) -> bool {
        let begins = datagram.len() >= mp2t::PACKET && mp2t::phase(datagram) == Some(0);
        let continues = self.one_way == Some(from) && !is_transport_over_rtp(datagram);
        self.one_way = (begins || continues).then_some(from);
        self.one_way.is_some()
    }

    /// A datagram of a transport stream without RTP, as the RTP packet that it would be: numbered by its arrival.
    pub(super) fn number(&mut self, now: Timestamp, from: SocketAddr, packets: &Bytes) -> Message {
        self.number = self.number.wrapping_add(1);
        Message::Rtp(RtpPacket {
            payload_type: payload_type::MP2T,
            sequence_number: self.number,
            timestamp: (now.as_nanos() / 100_000 * 9) as u32,
            // Another sender is another source. Of the lowest ten bits a session uses several.
            ssrc: u32::from(from.port()) << 10,
            payload: packets.clone().into(),
            ..RtpPacket::default()
        })
    }
}

/// Whether a datagram is RTP with the shortest header before whole transport packets. What is cut anywhere can look like RTP with a
/// longer header.
fn is_transport_over_rtp(datagram: &[u8]) -> bool {
    let is_shortest = datagram.first() == Some(&0x80);
    is_shortest && rtp::Packet::parse(datagram).is_ok_and(|packet| mp2t::is_packets(packet.payload))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Datagrams of UDP are cut anywhere, here as FFmpeg does by default; RTP with a transport stream is no such datagram.
    #[test]
    fn a_transport_stream_without_rtp_is_known_by_its_beginning() {
        let stream = [&[0x47][..], &[0; mp2t::PACKET - 1]].concat().repeat(16);
        let rtp = [&[0x80, 33, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3][..], &stream[..7 * mp2t::PACKET]].concat();
        // Five contributing sources, by their number, before whole packets.
        let cut = [&[0x85, 0xF6][..], &[9; 30], &stream[..7 * mp2t::PACKET]].concat();
        let from = SocketAddr::from(([192, 0, 2, 7], 4000));
        let mut plain = PlainReception::default();
        let mut is_without_rtp = |datagram: &[u8]| plain.is_without_rtp(from, datagram);
        assert!(!is_without_rtp(&stream[1472..]) && !is_without_rtp(&rtp));
        assert!(is_without_rtp(&stream[..1472]) && is_without_rtp(&stream[1472..]) && is_without_rtp(&cut));
        assert!(!is_without_rtp(&rtp) && !is_without_rtp(&stream[1472..]));
    }
}
