//! Packets of a session to a media server, over ICE, DTLS and SRTP.
//!
//! Crate `rtc` makes the connection and protects the packets. Nothing else of it is in use: pacing, retransmission, feedback and
//! rate control are the session's.

use super::answer;
use super::codecs::{audio, media_engine, video};
use super::connection::{Connection, ServerState, control_message};
use super::filler::Filler;
use super::gather;
use super::ice_server::IceServer;
use super::inbox::InboxInterceptor;
use super::turn::TurnFailure;
use crate::clock::Clock;
use crate::socket::Socket;
use bytes::{Bytes, BytesMut};
use rtc::media_stream::MediaStreamTrack;
use rtc::peer_connection::RTCPeerConnection;
use rtc::peer_connection::configuration::media_engine::{MIME_TYPE_H264, MIME_TYPE_OPUS, MIME_TYPE_RTX};
use rtc::peer_connection::message::RTCMessage;
use rtc::peer_connection::transport::RTCDtlsTransportState;
use rtc::rtp;
use rtc::rtp_transceiver::rtp_sender::{
    RTCRtpCodingParameters, RTCRtpEncodingParameters, RTCRtpRtxParameters, RtpCodecKind,
};
use rtc::rtp_transceiver::{RTCRtpSenderId, RTCRtpTransceiverDirection, RTCRtpTransceiverInit};
use rtc::sdp::extmap::TRANSPORT_CC_URI;
use rtc::shared::marshal::Unmarshal;
use seaway_units::Timestamp;
use std::fmt;
use std::net::SocketAddr;

/// The numbers that a session writes into its packets. The server may have others.
#[derive(Debug, Clone)]
pub struct StreamNumbers {
    /// Synchronisation source of the video.
    pub ssrc: u32,
    /// Synchronisation source of retransmissions and padding.
    pub repair_ssrc: u32,
    /// Payload type of H.264.
    pub payload_type: u8,
    /// Payload type of retransmissions (RFC 4588).
    pub retransmission: u8,
    /// Payload type of padding.
    pub padding: u8,
    /// Identifier of the header extension with transport-wide sequence numbers.
    pub transport_id: u8,
    /// The sound, where there is some.
    pub sound: Option<SoundNumbers>,
    /// The canonical name in RTCP.
    pub cname: String,
}

/// The numbers that a session writes into its packets of sound.
#[derive(Debug, Clone, Copy)]
pub struct SoundNumbers {
    /// Synchronisation source.
    pub ssrc: u32,
    /// Payload type of Opus.
    pub payload_type: u8,
}

/// What the server takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Accepted {
    payload_type: u8,
    retransmission: Option<u8>,
    transport_id: Option<u8>,
    sound: Option<u8>,
    is_sound_reported: bool,
}

impl Accepted {
    /// Sound.
    pub const fn has_sound(&self) -> bool {
        self.sound.is_some()
    }

    /// The feedback on the pictures is on the sound too. Where it is not, sound has no transport-wide numbers.
    pub const fn is_sound_reported(&self) -> bool {
        self.is_sound_reported
    }

    /// Retransmissions (RFC 4588), and padding on their source.
    pub const fn has_retransmissions(&self) -> bool {
        self.retransmission.is_some()
    }
}

/// A connection to a media server that takes one video stream, and sound with it.
///
/// A pure state machine; its calls are those of every machine here, and `poll_datagram` is to be drained after each.
pub struct Publisher {
    connection: Connection,
    numbers: StreamNumbers,
    sender: RTCRtpSenderId,
    /// That of the sound.
    sound: Option<RTCRtpSenderId>,
    accepted: Option<Accepted>,
    filler: Filler,
}

impl fmt::Debug for Publisher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Publisher").field("connection", &self.connection).finish_non_exhaustive()
    }
}

impl Publisher {
    /// A connection from a socket at `local`, and the offer (SDP) for the server.
    ///
    /// # Errors
    /// The library gives no offer, in words.
    pub fn new(clock: Clock, local: SocketAddr, numbers: StreamNumbers) -> Result<(Self, String), String> {
        let add_tracks = |peer: &mut RTCPeerConnection| {
            let mut add = |track: MediaStreamTrack, encoding| {
                let direction = RTCRtpTransceiverDirection::Sendonly;
                let init =
                    RTCRtpTransceiverInit { direction, streams: vec![], send_encodings: vec![encoding] };
                peer.add_transceiver_from_track(track, Some(init)).map(RTCRtpSenderId::from)
            };
            let sender = add(track(&numbers), encoding(&numbers))?;
            let sound = numbers.sound.map(|sound| add(sound_track(&numbers, sound), sound_encoding(sound)));
            Ok((sender, sound.transpose()?))
        };
        let sound = numbers.sound.map(|sound| sound.payload_type);
        let made = media_engine(numbers.payload_type, numbers.retransmission, sound)
            .and_then(|media| Connection::new(clock, local, media, InboxInterceptor::default(), add_tracks));
        let (connection, offer, (sender, sound)) = made.map_err(|error| format!("no offer: {error}"))?;
        let filler = Filler::default();
        Ok((Self { connection, numbers, sender, sound, accepted: None, filler }, offer))
    }

    /// Asks those of `servers` that relay by UDP for a relay, which is a candidate once it is there. Blocks for two seconds at most.
    pub fn ask_relays(&mut self, servers: &[IceServer]) {
        gather::ask(&mut self.connection, servers);
    }

    /// Waits for the relays; gives the offer with them. Blocks for four seconds at most. `socket` is in no other use yet.
    pub fn gather(&mut self, socket: &mut Socket) -> String {
        gather::gather(&mut self.connection, socket)
    }

    /// The next TURN server that gives no relay, or none any more.
    pub fn poll_failure(&mut self) -> Option<TurnFailure> {
        self.connection.poll_failure()
    }

    /// Takes the server's answer (SDP) to the offer and begins to connect. From now on only a server with the certificate of the
    /// answer is accepted.
    ///
    /// # Errors
    /// Why the answer is of no use, in words.
    pub fn accept(&mut self, now: Timestamp, answer: &str) -> Result<Accepted, String> {
        let answer = answer::checked(answer)?;
        let takes_sound = answer::takes_sound(&answer);
        self.connection.accept(now, answer)?;
        let mut accepted = self.negotiated().ok_or("it does not take H.264")?;
        if let Some((payload_type, is_reported)) = self.negotiated_sound(accepted).filter(|_| takes_sound) {
            (accepted.sound, accepted.is_sound_reported) = (Some(payload_type), is_reported);
        }
        self.accepted = Some(accepted);
        Ok(accepted)
    }

    /// The numbers that both sides agreed on.
    fn negotiated(&mut self) -> Option<Accepted> {
        let mut sender = self.connection.peer().rtp_sender(self.sender)?;
        let parameters = &sender.get_parameters().rtp_parameters;
        let of = |kind: &'static str| {
            parameters.codecs.iter().filter(move |codec| codec.rtp_codec.mime_type.eq_ignore_ascii_case(kind))
        };
        let payload_type = of(MIME_TYPE_H264).next()?.payload_type;
        let apt = format!("apt={payload_type}");
        let retransmission = of(MIME_TYPE_RTX).find(|codec| codec.rtp_codec.sdp_fmtp_line.starts_with(&apt));
        let extension =
            parameters.header_extensions.iter().find(|extension| extension.uri == TRANSPORT_CC_URI);
        Some(Accepted {
            payload_type,
            retransmission: retransmission.map(|codec| codec.payload_type),
            transport_id: extension.and_then(|extension| u8::try_from(extension.id).ok()),
            sound: None,
            is_sound_reported: false,
        })
    }

    /// The payload type of Opus, and whether sound is of the same transport-wide feedback as the pictures, or of none as they are.
    /// LiveKit has feedback on pictures alone.
    fn negotiated_sound(&mut self, accepted: Accepted) -> Option<(u8, bool)> {
        let mut sender = self.connection.peer().rtp_sender(self.sound?)?;
        let parameters = &sender.get_parameters().rtp_parameters;
        let transport =
            parameters.header_extensions.iter().find(|extension| extension.uri == TRANSPORT_CC_URI);
        let transport_id = transport.and_then(|extension| u8::try_from(extension.id).ok());
        let is_opus = |mime_type: &str| mime_type.eq_ignore_ascii_case(MIME_TYPE_OPUS);
        let opus = parameters.codecs.iter().find(|codec| is_opus(&codec.rtp_codec.mime_type));
        let is_reported = transport_id == accepted.transport_id;
        opus.filter(|_| is_reported || transport_id.is_none()).map(|codec| (codec.payload_type, is_reported))
    }

    /// How the connection is.
    pub const fn state(&self) -> ServerState {
        self.connection.state()
    }

    /// A datagram came; gives the RTCP in it.
    pub fn handle_datagram(&mut self, now: Timestamp, from: SocketAddr, datagram: &[u8]) -> Option<Bytes> {
        self.connection.handle_datagram(now, from, datagram);
        self.follow_dtls();
        self.connection.poll_packet().map(of_one_reporter)
    }

    /// The instant named by `poll_timeout` has come.
    pub fn handle_timeout(&mut self, now: Timestamp) {
        self.connection.handle_timeout(now);
    }

    /// When `handle_timeout` is due.
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        self.connection.poll_timeout()
    }

    /// The next datagram, written to `buffer`, and where it goes.
    pub fn poll_datagram(&mut self, buffer: &mut Vec<u8>) -> Option<SocketAddr> {
        self.connection.poll_datagram(buffer)
    }

    /// Protects the RTP or RTCP packet in `packet` and replaces it by the next datagram that leaves, which may be an older one;
    /// gives where that goes. `None` where nothing can leave.
    pub fn seal(&mut self, now: Timestamp, packet: &mut Vec<u8>) -> Option<SocketAddr> {
        let message = self.message(packet)?;
        self.connection.seal(now, message, packet)
    }

    /// Says goodbye to the server; the datagrams are next in `poll_datagram`.
    pub fn close(&mut self, now: Timestamp) {
        self.connection.close(now);
    }

    /// The packet with the numbers of the server.
    fn message(&mut self, packet: &[u8]) -> Option<RTCMessage> {
        let accepted = self.accepted?;
        let mut octets = Bytes::copy_from_slice(packet);
        if seaway_wire::rtcp::is_rtcp(packet) {
            return control_message(packet);
        }
        let mut packet = rtp::Packet::unmarshal(&mut octets).ok()?;
        let sound = self.numbers.sound.map(|sound| sound.payload_type);
        match packet.header.payload_type {
            own if own == self.numbers.payload_type => {
                packet.header.payload_type = accepted.payload_type;
                self.filler.keep(&packet);
            }
            own if own == self.numbers.padding => {
                packet.header.payload_type = accepted.retransmission?;
                self.filler.fill(&mut packet)?;
            }
            own if own == self.numbers.retransmission => {
                packet.header.payload_type = accepted.retransmission?;
            }
            own if Some(own) == sound => packet.header.payload_type = accepted.sound?,
            // Of nothing that was offered, as retransmissions of sound.
            _ => return None,
        }
        let own = self.numbers.transport_id;
        packet.header.extensions.retain(|extension| extension.id != own || accepted.transport_id.is_some());
        packet.header.extension = !packet.header.extensions.is_empty();
        for extension in packet.header.extensions.iter_mut().filter(|extension| extension.id == own) {
            extension.id = accepted.transport_id.unwrap_or(own);
        }
        Some(RTCMessage::RtpPacket(String::new(), packet))
    }

    /// A goodbye of DTLS changes the state of its transport alone.
    fn follow_dtls(&mut self) {
        let mut sender = self.connection.peer().rtp_sender(self.sender);
        let transport = sender.as_mut().and_then(|sender| sender.transport());
        if transport.is_some_and(|transport| transport.state() == RTCDtlsTransportState::Closed) {
            self.connection.on_goodbye();
        }
    }
}

/// A server reports by several synchronisation sources: one for receiver reports, another for transport-wide feedback. All are of
/// the one end that DTLS has authenticated, and a session has one reporter.
fn of_one_reporter(compound: Bytes) -> Bytes {
    const REPORTER: [u8; 4] = [0, 0, 0, 1];
    let mut octets = BytesMut::from(compound);
    let mut at = 0;
    // The reporter is the first word after the head of each packet (RFC 3550 section 6.4, RFC 4585 section 6.1).
    while let Some(head) = octets.get(at..at + 8) {
        let words = usize::from(u16::from_be_bytes([head[2], head[3]]));
        if words > 0 {
            octets[at + 4..at + 8].copy_from_slice(&REPORTER);
        }
        at += 4 * (words + 1);
    }
    octets.freeze()
}

fn encoding(numbers: &StreamNumbers) -> RTCRtpEncodingParameters {
    RTCRtpEncodingParameters {
        rtp_coding_parameters: RTCRtpCodingParameters {
            ssrc: Some(numbers.ssrc),
            rtx: Some(RTCRtpRtxParameters { ssrc: numbers.repair_ssrc }),
            ..Default::default()
        },
        codec: video(),
        ..Default::default()
    }
}

fn track(numbers: &StreamNumbers) -> MediaStreamTrack {
    let (stream, name) = (numbers.cname.clone(), "video".to_owned());
    MediaStreamTrack::new(stream, name.clone(), name, RtpCodecKind::Video, vec![encoding(numbers)])
}

fn sound_encoding(sound: SoundNumbers) -> RTCRtpEncodingParameters {
    RTCRtpEncodingParameters {
        rtp_coding_parameters: RTCRtpCodingParameters { ssrc: Some(sound.ssrc), ..Default::default() },
        codec: audio(),
        ..Default::default()
    }
}

/// Of the same stream as the pictures: players synchronise them (RFC 8830).
fn sound_track(numbers: &StreamNumbers, sound: SoundNumbers) -> MediaStreamTrack {
    let (stream, name) = (numbers.cname.clone(), "sound".to_owned());
    MediaStreamTrack::new(stream, name.clone(), name, RtpCodecKind::Audio, vec![sound_encoding(sound)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_of_one_reporter() {
        let report = [0x80, 201, 0, 1, 9, 9, 9, 9];
        let loss = [0x81, 206, 0, 2, 8, 8, 8, 8, 7, 7, 7, 7];
        let one = of_one_reporter(Bytes::from([&report[..], &loss].concat()));
        assert_eq!(one[..8], [0x80, 201, 0, 1, 0, 0, 0, 1]);
        assert_eq!(one[8..], [0x81, 206, 0, 2, 0, 0, 0, 1, 7, 7, 7, 7]);
        // Cut, or without a reporter.
        for odd in [&report[..5], &[0x80, 203, 0, 0, 0x80, 203, 0, 0], &[]] {
            assert_eq!(of_one_reporter(Bytes::copy_from_slice(odd)), odd);
        }
    }
}
