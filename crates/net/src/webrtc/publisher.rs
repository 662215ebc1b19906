//! Packets of a session to a media server, over ICE, DTLS and SRTP.
//!
//! Crate `rtc` makes the connection and protects the packets. Nothing else of it is in use: pacing, retransmission, feedback and
//! rate control are the session's.

use super::answer;
use super::filler::Filler;
use super::inbox::{Inbox, InboxInterceptor};
use super::peer::{add_candidate, h264, opus};
use crate::clock::Clock;
use bytes::{Bytes, BytesMut};
use rtc::interceptor::{Registry, Slot};
use rtc::media_stream::MediaStreamTrack;
use rtc::peer_connection::configuration::RTCConfigurationBuilder;
use rtc::peer_connection::configuration::media_engine::{
    MIME_TYPE_H264, MIME_TYPE_OPUS, MIME_TYPE_RTX, MediaEngine,
};
use rtc::peer_connection::event::RTCPeerConnectionEvent;
use rtc::peer_connection::message::{RTCMessage, TaggedRTCMessage};
use rtc::peer_connection::sdp::RTCSessionDescription;
use rtc::peer_connection::state::RTCPeerConnectionState;
use rtc::peer_connection::transport::RTCDtlsTransportState;
use rtc::peer_connection::{RTCPeerConnection, RTCPeerConnectionBuilder};
use rtc::rtp_transceiver::rtp_sender::{
    RTCPFeedback, RTCRtpCodec, RTCRtpCodecParameters, RTCRtpCodingParameters, RTCRtpEncodingParameters,
    RTCRtpHeaderExtensionCapability, RTCRtpRtxParameters, RtpCodecKind,
};
use rtc::rtp_transceiver::{RTCRtpSenderId, RTCRtpTransceiverDirection, RTCRtpTransceiverInit};
use rtc::sansio::Protocol;
use rtc::sdp::extmap::TRANSPORT_CC_URI;
use rtc::shared::marshal::Unmarshal;
use rtc::shared::{TaggedBytesMut, TransportContext, TransportProtocol};
use rtc::{rtcp, rtp};
use seaway_units::{TimeDelta, Timestamp};
use std::collections::VecDeque;
use std::fmt;
use std::net::SocketAddr;

/// A server that is not connected by then is given up.
const CONNECT_WITHIN: TimeDelta = TimeDelta::from_secs(10);
/// The library looks after itself this often, even where it names no instant; and no more often than this.
const IDLE: TimeDelta = TimeDelta::from_secs(1);
const SHORTEST_WAIT: TimeDelta = TimeDelta::from_millis(1);

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
}

impl Accepted {
    /// Sound.
    pub const fn has_sound(&self) -> bool {
        self.sound.is_some()
    }

    /// Retransmissions (RFC 4588), and padding on their source.
    pub const fn has_retransmissions(&self) -> bool {
        self.retransmission.is_some()
    }

    /// Transport-wide sequence numbers, on which it reports.
    pub const fn has_transport_feedback(&self) -> bool {
        self.transport_id.is_some()
    }
}

/// How the connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PublisherState {
    /// It is being made.
    Connecting,
    /// Packets can leave.
    Connected,
    /// Nothing came from the server for seconds; it may come back.
    Interrupted,
    /// It has ended.
    Ended(PublishingEnd),
}

/// Why a connection has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PublishingEnd {
    /// The server was not reached within ten seconds, or it has another certificate than its answer says.
    NotConnected,
    /// The server ended it.
    Closed,
    /// Nothing comes from the server any more.
    Lost,
}

impl fmt::Display for PublishingEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotConnected => {
                "no connection to the server's media port within 10 s: UDP does not pass, or the certificate there is not the one of \
                 the answer"
            }
            Self::Closed => "the server ended the session",
            Self::Lost => "nothing comes from the server any more",
        })
    }
}

/// A connection to a media server that takes one video stream, and sound with it.
///
/// A pure state machine; its calls are those of every machine here, and `poll_datagram` is to be drained after each.
pub struct Publisher {
    clock: Clock,
    local: SocketAddr,
    numbers: StreamNumbers,
    peer: RTCPeerConnection,
    sender: RTCRtpSenderId,
    /// That of the sound.
    sound: Option<RTCRtpSenderId>,
    accepted: Option<Accepted>,
    filler: Filler,
    inbox: Inbox,
    outgoing: VecDeque<TaggedBytesMut>,
    state: PublisherState,
    connect_by: Timestamp,
    deadline: Timestamp,
}

impl fmt::Debug for Publisher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Publisher")
            .field("local", &self.local)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

impl Publisher {
    /// A connection from a socket at `local`, and the offer (SDP) for the server.
    ///
    /// # Errors
    /// The library gives no offer, in words.
    pub fn new(clock: Clock, local: SocketAddr, numbers: StreamNumbers) -> Result<(Self, String), String> {
        let now = clock.now();
        Self::build(clock, now, local, numbers).map_err(|error| format!("no offer: {error}"))
    }

    fn build(
        clock: Clock,
        now: Timestamp,
        local: SocketAddr,
        numbers: StreamNumbers,
    ) -> rtc::shared::error::Result<(Self, String)> {
        let interceptor = InboxInterceptor::default();
        let inbox = interceptor.inbox();
        let mut peer = RTCPeerConnectionBuilder::new()
            .with_configuration(RTCConfigurationBuilder::new().build())
            .with_media_engine(media_engine(&numbers)?)
            .with_interceptor_registry(
                Registry::new().with(Slot::Custom(InboxInterceptor::SLOT), interceptor),
            )
            .build(clock.instant(now))?;
        let mut add = |track: MediaStreamTrack, encoding| {
            let direction = RTCRtpTransceiverDirection::Sendonly;
            let init = RTCRtpTransceiverInit { direction, streams: vec![], send_encodings: vec![encoding] };
            peer.add_transceiver_from_track(track, Some(init)).map(RTCRtpSenderId::from)
        };
        let sender = add(track(&numbers), encoding(&numbers))?;
        let sound = numbers.sound.map(|sound| add(sound_track(&numbers, sound), sound_encoding(sound)));
        let sound = sound.transpose()?;
        let offer = peer.create_offer(None)?;
        peer.set_local_description(clock.instant(now), offer)?;
        add_candidate(&mut peer, local)?;
        let offer = peer.local_description().map(|description| description.sdp).unwrap_or_default();
        let publisher = Self {
            clock,
            local,
            numbers,
            peer,
            sender,
            sound,
            accepted: None,
            filler: Filler::default(),
            inbox,
            outgoing: VecDeque::new(),
            state: PublisherState::Connecting,
            connect_by: now + CONNECT_WITHIN,
            deadline: now,
        };
        Ok((publisher, offer))
    }

    /// Takes the server's answer (SDP) to the offer and begins to connect. From now on only a server with the certificate of the
    /// answer is accepted.
    ///
    /// # Errors
    /// Why the answer is of no use, in words.
    pub fn accept(&mut self, now: Timestamp, answer: &str) -> Result<Accepted, String> {
        let answer = answer::checked(answer)?;
        let takes_sound = answer::takes_sound(&answer);
        let wrong = |error: rtc::shared::error::Error| error.to_string();
        let answer = RTCSessionDescription::answer(answer).map_err(wrong)?;
        self.peer.set_remote_description(self.clock.instant(now), answer).map_err(wrong)?;
        let mut accepted = self.negotiated().ok_or("it does not take H.264")?;
        accepted.sound = self.negotiated_sound(accepted).filter(|_| takes_sound);
        self.accepted = Some(accepted);
        self.connect_by = now + CONNECT_WITHIN;
        self.settle(now);
        Ok(accepted)
    }

    /// The numbers that both sides agreed on.
    fn negotiated(&mut self) -> Option<Accepted> {
        let mut sender = self.peer.rtp_sender(self.sender)?;
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
        })
    }

    /// The payload type of Opus. Sound is of the same transport-wide feedback as the pictures: without it, its packets would count as
    /// lost.
    fn negotiated_sound(&mut self, accepted: Accepted) -> Option<u8> {
        let mut sender = self.peer.rtp_sender(self.sound?)?;
        let parameters = &sender.get_parameters().rtp_parameters;
        let transport =
            parameters.header_extensions.iter().find(|extension| extension.uri == TRANSPORT_CC_URI);
        let transport_id = transport.and_then(|extension| u8::try_from(extension.id).ok());
        let is_opus = |mime_type: &str| mime_type.eq_ignore_ascii_case(MIME_TYPE_OPUS);
        let opus = parameters.codecs.iter().find(|codec| is_opus(&codec.rtp_codec.mime_type));
        opus.filter(|_| transport_id == accepted.transport_id).map(|codec| codec.payload_type)
    }

    /// How the connection is.
    pub const fn state(&self) -> PublisherState {
        self.state
    }

    /// A datagram came; gives the RTCP in it.
    pub fn handle_datagram(&mut self, now: Timestamp, from: SocketAddr, datagram: &[u8]) -> Option<Bytes> {
        let transport = TransportContext {
            local_addr: self.local,
            peer_addr: from,
            ecn: None,
            transport_protocol: TransportProtocol::UDP,
        };
        let now_there = self.clock.instant(now);
        let message = TaggedBytesMut { now: now_there, transport, message: BytesMut::from(datagram) };
        // What the library refuses is not from our server, or of no use.
        let _ = self.peer.handle_read(message);
        self.settle(now);
        self.follow_dtls();
        self.inbox.take().map(of_one_reporter)
    }

    /// The instant named by `poll_timeout` has come.
    pub fn handle_timeout(&mut self, now: Timestamp) {
        if self.deadline > now {
            return;
        }
        // It fails where the connection is closed already.
        let _ = self.peer.handle_timeout(self.clock.instant(now));
        if self.state == PublisherState::Connecting && self.connect_by <= now {
            self.end(PublishingEnd::NotConnected);
        }
        self.settle(now);
    }

    /// When `handle_timeout` is due.
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        let has_ended = matches!(self.state, PublisherState::Ended(_));
        (!has_ended).then_some(self.deadline)
    }

    /// The next datagram, written to `buffer`, and where it goes.
    pub fn poll_datagram(&mut self, buffer: &mut Vec<u8>) -> Option<SocketAddr> {
        let datagram = self.outgoing.pop_front()?;
        buffer.clear();
        buffer.extend_from_slice(&datagram.message);
        Some(datagram.transport.peer_addr)
    }

    /// Protects the RTP or RTCP packet in `packet` and replaces it by the next datagram that leaves, which may be an older one;
    /// gives where that goes. `None` where nothing can leave.
    pub fn seal(&mut self, now: Timestamp, packet: &mut Vec<u8>) -> Option<SocketAddr> {
        let message = self.message(packet)?;
        self.peer.handle_write(TaggedRTCMessage { now: self.clock.instant(now), message }).ok()?;
        self.take_datagrams();
        self.poll_datagram(packet)
    }

    /// Says goodbye to the server; the datagrams are next in `poll_datagram`.
    pub fn close(&mut self, now: Timestamp) {
        let _ = self.peer.close();
        self.settle(now);
    }

    /// The packet with the numbers of the server.
    fn message(&mut self, packet: &[u8]) -> Option<RTCMessage> {
        let accepted = self.accepted?;
        let mut octets = Bytes::copy_from_slice(packet);
        if seaway_wire::rtcp::is_rtcp(packet) {
            let packets = rtcp::packet::unmarshal(&mut octets).ok()?;
            return Some(RTCMessage::RtcpPacket(String::new(), packets));
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

    /// Takes what the library gives, and notes when it has to be called again.
    fn settle(&mut self, now: Timestamp) {
        self.take_datagrams();
        while let Some(event) = self.peer.poll_event() {
            if let RTCPeerConnectionEvent::OnConnectionStateChangeEvent(state) = event {
                self.follow(state);
            }
        }
        // RTP to us, which we did not offer to take.
        while self.peer.poll_read().is_some() {}
        self.take_datagrams();
        let due = self.peer.poll_timeout().map(|due| self.clock.timestamp(due));
        let latest = now + IDLE;
        self.deadline = due.map_or(latest, |due| due.max(now + SHORTEST_WAIT).min(latest));
    }

    fn take_datagrams(&mut self) {
        while let Some(datagram) = self.peer.poll_write() {
            self.outgoing.push_back(datagram);
        }
    }

    fn follow(&mut self, state: RTCPeerConnectionState) {
        let was_connected = self.state != PublisherState::Connecting;
        match state {
            _ if matches!(self.state, PublisherState::Ended(_)) => {}
            RTCPeerConnectionState::Connected => self.state = PublisherState::Connected,
            RTCPeerConnectionState::Disconnected if was_connected => self.state = PublisherState::Interrupted,
            RTCPeerConnectionState::Failed if was_connected => self.end(PublishingEnd::Lost),
            RTCPeerConnectionState::Closed if was_connected => self.end(PublishingEnd::Closed),
            RTCPeerConnectionState::Failed | RTCPeerConnectionState::Closed => {
                self.end(PublishingEnd::NotConnected);
            }
            _ => {}
        }
    }

    /// A goodbye of DTLS changes the state of its transport alone.
    fn follow_dtls(&mut self) {
        let mut sender = self.peer.rtp_sender(self.sender);
        let transport = sender.as_mut().and_then(|sender| sender.transport());
        let has_ended = transport.is_some_and(|transport| transport.state() == RTCDtlsTransportState::Closed);
        if has_ended && self.state != PublisherState::Connecting {
            self.end(PublishingEnd::Closed);
        }
    }

    fn end(&mut self, why: PublishingEnd) {
        if !matches!(self.state, PublisherState::Ended(_)) {
            self.state = PublisherState::Ended(why);
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

fn media_engine(numbers: &StreamNumbers) -> rtc::shared::error::Result<MediaEngine> {
    let mut media = MediaEngine::default();
    let codec = RTCRtpCodecParameters { rtp_codec: codec(), payload_type: numbers.payload_type };
    media.register_codec(codec, RtpCodecKind::Video)?;
    let rtx = RTCRtpCodec {
        mime_type: MIME_TYPE_RTX.to_owned(),
        clock_rate: 90_000,
        channels: 0,
        sdp_fmtp_line: format!("apt={}", numbers.payload_type),
        rtcp_feedback: vec![],
    };
    let rtx = RTCRtpCodecParameters { rtp_codec: rtx, payload_type: numbers.retransmission };
    media.register_codec(rtx, RtpCodecKind::Video)?;
    let transport_wide = RTCRtpHeaderExtensionCapability { uri: TRANSPORT_CC_URI.to_owned() };
    media.register_header_extension(transport_wide.clone(), RtpCodecKind::Video, None)?;
    if let Some(sound) = numbers.sound {
        let codec = RTCRtpCodecParameters { rtp_codec: sound_codec(), payload_type: sound.payload_type };
        media.register_codec(codec, RtpCodecKind::Audio)?;
        media.register_header_extension(transport_wide, RtpCodecKind::Audio, None)?;
    }
    Ok(media)
}

/// H.264 with the feedback that the session understands.
fn codec() -> RTCRtpCodec {
    let feedback = [("nack", ""), ("nack", "pli"), ("transport-cc", "")];
    let rtcp_feedback = feedback
        .map(|(typ, parameter)| RTCPFeedback { typ: typ.to_owned(), parameter: parameter.to_owned() })
        .to_vec();
    RTCRtpCodec { rtcp_feedback, ..h264() }
}

/// Opus, whose lost packets are not sent again.
fn sound_codec() -> RTCRtpCodec {
    let feedback = RTCPFeedback { typ: "transport-cc".to_owned(), parameter: String::new() };
    RTCRtpCodec { rtcp_feedback: vec![feedback], ..opus() }
}

fn encoding(numbers: &StreamNumbers) -> RTCRtpEncodingParameters {
    RTCRtpEncodingParameters {
        rtp_coding_parameters: RTCRtpCodingParameters {
            ssrc: Some(numbers.ssrc),
            rtx: Some(RTCRtpRtxParameters { ssrc: numbers.repair_ssrc }),
            ..Default::default()
        },
        codec: codec(),
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
        codec: sound_codec(),
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
