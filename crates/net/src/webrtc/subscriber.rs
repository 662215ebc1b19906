//! Packets of a media server's stream, over ICE, DTLS and SRTP.
//!
//! Crate `rtc` makes the connection and opens the packets. Order, repair, feedback and playout are the session's.

use super::answer;
use super::codecs::media_engine;
use super::connection::{Connection, ServerState, control_message};
use super::gather;
use super::ice_server::IceServer;
use super::inbox::InboxInterceptor;
use super::turn::TurnFailure;
use crate::clock::Clock;
use crate::socket::Socket;
use bytes::Bytes;
use rtc::peer_connection::RTCPeerConnection;
use rtc::peer_connection::transport::RTCDtlsTransportState;
use rtc::rtp_transceiver::rtp_sender::RtpCodecKind;
use rtc::rtp_transceiver::{RTCRtpReceiverId, RTCRtpTransceiverDirection, RTCRtpTransceiverInit};
use seaway_units::Timestamp;
use std::fmt;
use std::net::SocketAddr;

/// Payload types that are offered; the server may choose others.
const VIDEO: u8 = 96;
const RETRANSMISSION: u8 = 97;
const SOUND: u8 = 111;

/// A connection to a media server that gives one video stream, and sound with it.
///
/// A pure state machine; its calls are those of every machine here, and `poll_packet` and `poll_datagram` are to be drained after
/// each.
pub struct Subscriber {
    connection: Connection,
    video: RTCRtpReceiverId,
    /// Where the last authentic packet came from.
    server: Option<SocketAddr>,
}

impl fmt::Debug for Subscriber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscriber").field("connection", &self.connection).finish_non_exhaustive()
    }
}

impl Subscriber {
    /// A connection to a socket at `local`, and the offer (SDP) for the server.
    ///
    /// # Errors
    /// The library gives no offer, in words.
    pub fn new(clock: Clock, local: SocketAddr) -> Result<(Self, String), String> {
        let add_tracks = |peer: &mut RTCPeerConnection| {
            let mut add = |kind| {
                let direction = RTCRtpTransceiverDirection::Recvonly;
                let init = RTCRtpTransceiverInit { direction, streams: vec![], send_encodings: vec![] };
                peer.add_transceiver_from_kind(kind, Some(init)).map(RTCRtpReceiverId::from)
            };
            let video = add(RtpCodecKind::Video)?;
            add(RtpCodecKind::Audio).map(|_| video)
        };
        let made = media_engine(VIDEO, RETRANSMISSION, Some(SOUND))
            .and_then(|media| Connection::new(clock, local, media, InboxInterceptor::of_all(), add_tracks));
        let (connection, offer, video) = made.map_err(|error| format!("no offer: {error}"))?;
        Ok((Self { connection, video, server: None }, offer))
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

    /// Takes the server's answer (SDP) to the offer and begins to connect; gives what of it counts. From now on only a server with
    /// the certificate of the answer is accepted.
    ///
    /// # Errors
    /// Why the answer is of no use, in words.
    pub fn accept(&mut self, now: Timestamp, answer: &str) -> Result<String, String> {
        let answer = answer::checked(answer)?;
        self.connection.accept(now, answer.clone())?;
        Ok(answer)
    }

    /// How the connection is.
    pub const fn state(&self) -> ServerState {
        self.connection.state()
    }

    /// Where the server's packets come from, once some came.
    pub const fn server(&self) -> Option<SocketAddr> {
        self.server
    }

    /// A datagram came; the packets in it are next in `poll_packet`.
    pub fn handle_datagram(&mut self, now: Timestamp, from: SocketAddr, datagram: &[u8]) {
        self.connection.handle_datagram(now, from, datagram);
        if self.connection.has_packets() {
            self.server = Some(from);
        }
        let mut receiver = self.connection.peer().rtp_receiver(self.video);
        let transport = receiver.as_mut().and_then(|receiver| receiver.transport());
        if transport.is_some_and(|transport| transport.state() == RTCDtlsTransportState::Closed) {
            self.connection.on_goodbye();
        }
    }

    /// The next RTP packet, or compound RTCP packet, of the server.
    pub fn poll_packet(&mut self) -> Option<Bytes> {
        self.connection.poll_packet()
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

    /// Protects the RTCP packet in `packet` and replaces it by the next datagram that leaves; gives where that goes. `None` where
    /// nothing can leave.
    pub fn seal(&mut self, now: Timestamp, packet: &mut Vec<u8>) -> Option<SocketAddr> {
        if self.connection.state() != ServerState::Connected {
            return None;
        }
        self.connection.seal(now, control_message(packet)?, packet)
    }

    /// Says goodbye to the server; the datagrams are next in `poll_datagram`.
    pub fn close(&mut self, now: Timestamp) {
        self.connection.close(now);
    }
}
