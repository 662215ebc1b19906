//! A connection to a media server: ICE, DTLS and SRTP, whichever way the media goes.

use super::inbox::{Inbox, InboxInterceptor};
use super::peer::{add_candidate, add_relay_candidate};
use super::turn::{Relays, TurnFailure};
use crate::clock::Clock;
use bytes::{Bytes, BytesMut};
use rtc::interceptor::{Registry, Slot};
use rtc::peer_connection::configuration::RTCConfigurationBuilder;
use rtc::peer_connection::configuration::media_engine::MediaEngine;
use rtc::peer_connection::event::RTCPeerConnectionEvent;
use rtc::peer_connection::message::{RTCMessage, TaggedRTCMessage};
use rtc::peer_connection::sdp::RTCSessionDescription;
use rtc::peer_connection::state::RTCPeerConnectionState;
use rtc::peer_connection::{RTCPeerConnection, RTCPeerConnectionBuilder};
use rtc::rtcp;
use rtc::sansio::Protocol;
use rtc::shared::error::{Error, Result as RtcResult};
use rtc::shared::{TaggedBytesMut, TransportContext, TransportProtocol};
use seaway_units::{TimeDelta, Timestamp};
use std::collections::VecDeque;
use std::fmt;
use std::net::SocketAddr;

/// A server that is not connected by then is given up.
const CONNECT_WITHIN: TimeDelta = TimeDelta::from_secs(10);
/// The library looks after itself this often, even where it names no instant; and no more often than this.
const IDLE: TimeDelta = TimeDelta::from_secs(1);
const SHORTEST_WAIT: TimeDelta = TimeDelta::from_millis(1);

/// How the connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerState {
    /// It is being made.
    Connecting,
    /// Packets can leave.
    Connected,
    /// Nothing came from the server for seconds; it may come back.
    Interrupted,
    /// It has ended.
    Ended(ServerEnd),
}

/// Why a connection has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerEnd {
    /// The server was not reached within ten seconds, or it has another certificate than its answer says.
    NotConnected,
    /// The server ended it.
    Closed,
    /// Nothing comes from the server any more.
    Lost,
}

impl fmt::Display for ServerEnd {
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

/// The peer connection of crate `rtc` and its datagrams.
///
/// A pure state machine; its calls are those of every machine here, and `poll_datagram` is to be drained after each.
pub(super) struct Connection {
    clock: Clock,
    local: SocketAddr,
    peer: RTCPeerConnection,
    inbox: Inbox,
    relays: Relays,
    outgoing: VecDeque<(SocketAddr, BytesMut)>,
    state: ServerState,
    connect_by: Timestamp,
    deadline: Timestamp,
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("local", &self.local)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

impl Connection {
    /// A connection from a socket at `local` with what `add_tracks` adds, the offer (SDP) for the server, and what that gives.
    pub(super) fn new<T>(
        clock: Clock,
        local: SocketAddr,
        media: MediaEngine,
        interceptor: InboxInterceptor,
        add_tracks: impl FnOnce(&mut RTCPeerConnection) -> RtcResult<T>,
    ) -> RtcResult<(Self, String, T)> {
        let now = clock.now();
        let inbox = interceptor.inbox();
        let interceptors = Registry::new().with(Slot::Custom(InboxInterceptor::SLOT), interceptor);
        let mut peer = RTCPeerConnectionBuilder::new()
            .with_configuration(RTCConfigurationBuilder::new().build())
            .with_media_engine(media)
            .with_interceptor_registry(interceptors)
            .build(clock.instant(now))?;
        let tracks = add_tracks(&mut peer)?;
        let offer = peer.create_offer(None)?;
        peer.set_local_description(clock.instant(now), offer)?;
        add_candidate(&mut peer, local)?;
        let connection = Self {
            clock,
            local,
            peer,
            inbox,
            relays: Relays::new(local),
            outgoing: VecDeque::new(),
            state: ServerState::Connecting,
            connect_by: now + CONNECT_WITHIN,
            deadline: now,
        };
        let offer = connection.offer();
        Ok((connection, offer, tracks))
    }

    /// The offer, with the candidates so far.
    pub(super) fn offer(&self) -> String {
        self.peer.local_description().map(|description| description.sdp).unwrap_or_default()
    }

    /// Changes what relays there are.
    pub(super) fn with_relays<T>(&mut self, now: Timestamp, change: impl FnOnce(&mut Relays) -> T) -> T {
        let result = change(&mut self.relays);
        self.settle(now);
        result
    }

    /// Whether a TURN server has not answered yet.
    pub(super) fn is_gathering(&self) -> bool {
        self.relays.are_asked()
    }

    pub(super) const fn clock(&self) -> Clock {
        self.clock
    }

    pub(super) const fn local(&self) -> SocketAddr {
        self.local
    }

    /// The next TURN server that gives no relay.
    pub(super) fn poll_failure(&mut self) -> Option<TurnFailure> {
        self.relays.poll_failure()
    }

    /// Takes a checked answer.
    ///
    /// # Errors
    /// Why it is of no use, in words.
    pub(super) fn accept(&mut self, now: Timestamp, answer: String) -> Result<(), String> {
        let wrong = |error: Error| error.to_string();
        let answer = RTCSessionDescription::answer(answer).map_err(wrong)?;
        self.peer.set_remote_description(self.clock.instant(now), answer).map_err(wrong)?;
        self.connect_by = now + CONNECT_WITHIN;
        self.settle(now);
        Ok(())
    }

    pub(super) fn peer(&mut self) -> &mut RTCPeerConnection {
        &mut self.peer
    }

    pub(super) const fn state(&self) -> ServerState {
        self.state
    }

    pub(super) fn handle_datagram(&mut self, now: Timestamp, from: SocketAddr, datagram: &[u8]) {
        if self.relays.handle_datagram(self.clock.instant(now), from, datagram) {
            while let Some((relay, peer, data)) = self.relays.poll_arrived() {
                self.read(now, relay, peer, data);
            }
        } else {
            self.read(now, self.local, from, BytesMut::from(datagram));
        }
        self.settle(now);
    }

    /// A datagram came to our address `local`, which may be that of a relay.
    fn read(&mut self, now: Timestamp, local: SocketAddr, from: SocketAddr, message: BytesMut) {
        let transport = TransportContext {
            local_addr: local,
            peer_addr: from,
            ecn: None,
            transport_protocol: TransportProtocol::UDP,
        };
        // What the library refuses is not from our server, or of no use.
        let _ = self.peer.handle_read(TaggedBytesMut { now: self.clock.instant(now), transport, message });
    }

    /// Authentic packets wait.
    pub(super) fn has_packets(&self) -> bool {
        !self.inbox.is_empty()
    }

    /// The next authentic packet that came.
    pub(super) fn poll_packet(&mut self) -> Option<Bytes> {
        self.inbox.take()
    }

    pub(super) fn handle_timeout(&mut self, now: Timestamp) {
        if self.deadline > now {
            return;
        }
        // It fails where the connection is closed already.
        let _ = self.peer.handle_timeout(self.clock.instant(now));
        self.relays.handle_timeout(self.clock.instant(now));
        if self.state == ServerState::Connecting && self.connect_by <= now {
            self.end(ServerEnd::NotConnected);
        }
        self.settle(now);
    }

    pub(super) fn poll_timeout(&self) -> Option<Timestamp> {
        let has_ended = matches!(self.state, ServerState::Ended(_));
        (!has_ended).then_some(self.deadline)
    }

    /// The next datagram, written to `buffer`, and where it goes.
    pub(super) fn poll_datagram(&mut self, buffer: &mut Vec<u8>) -> Option<SocketAddr> {
        let (to, datagram) = self.outgoing.pop_front()?;
        buffer.clear();
        buffer.extend_from_slice(&datagram);
        Some(to)
    }

    /// Protects a message; writes the next datagram that leaves to `buffer`, which may be an older one, and gives where it goes.
    pub(super) fn seal(
        &mut self,
        now: Timestamp,
        message: RTCMessage,
        buffer: &mut Vec<u8>,
    ) -> Option<SocketAddr> {
        self.peer.handle_write(TaggedRTCMessage { now: self.clock.instant(now), message }).ok()?;
        self.take_datagrams(now);
        self.poll_datagram(buffer)
    }

    /// Says goodbye to the server, and gives relays back; the datagrams are next in `poll_datagram`.
    pub(super) fn close(&mut self, now: Timestamp) {
        let _ = self.peer.close();
        self.settle(now);
        self.relays.close(self.clock.instant(now));
        self.settle(now);
    }

    /// The server ended DTLS, which is no change of the connection's state to the library.
    pub(super) fn on_goodbye(&mut self) {
        if self.state != ServerState::Connecting {
            self.end(ServerEnd::Closed);
        }
    }

    /// Takes what the library gives, and notes when it has to be called again.
    fn settle(&mut self, now: Timestamp) {
        while let Some(address) = self.relays.poll_candidate() {
            // It fails where the connection is closed already.
            let _ = add_relay_candidate(&mut self.peer, address);
        }
        self.take_datagrams(now);
        while let Some(event) = self.peer.poll_event() {
            if let RTCPeerConnectionEvent::OnConnectionStateChangeEvent(state) = event {
                self.follow(state);
            }
        }
        // What came is in the inbox.
        while self.peer.poll_read().is_some() {}
        self.take_datagrams(now);
        let due = self.peer.poll_timeout().into_iter().chain(self.relays.poll_timeout()).min();
        let due = due.map(|due| self.clock.timestamp(due));
        let latest = now + IDLE;
        self.deadline = due.map_or(latest, |due| due.max(now + SHORTEST_WAIT).min(latest));
    }

    /// What leaves from a relay's address goes to its server.
    fn take_datagrams(&mut self, now: Timestamp) {
        while let Some(TaggedBytesMut { transport, message, .. }) = self.peer.poll_write() {
            let TransportContext { local_addr: from, peer_addr: to, .. } = transport;
            if !self.relays.send(self.clock.instant(now), from, to, &message) {
                self.outgoing.push_back((to, message));
            }
            self.outgoing.extend(std::iter::from_fn(|| self.relays.poll_datagram()));
        }
        self.outgoing.extend(std::iter::from_fn(|| self.relays.poll_datagram()));
    }

    fn follow(&mut self, state: RTCPeerConnectionState) {
        let was_connected = self.state != ServerState::Connecting;
        match state {
            _ if matches!(self.state, ServerState::Ended(_)) => {}
            RTCPeerConnectionState::Connected => self.state = ServerState::Connected,
            RTCPeerConnectionState::Disconnected if was_connected => self.state = ServerState::Interrupted,
            RTCPeerConnectionState::Failed if was_connected => self.end(ServerEnd::Lost),
            RTCPeerConnectionState::Closed if was_connected => self.end(ServerEnd::Closed),
            RTCPeerConnectionState::Failed | RTCPeerConnectionState::Closed => {
                self.end(ServerEnd::NotConnected);
            }
            _ => {}
        }
    }

    fn end(&mut self, why: ServerEnd) {
        if !matches!(self.state, ServerState::Ended(_)) {
            self.state = ServerState::Ended(why);
        }
    }
}

/// The RTCP in `packet` for the library; `None` where it is malformed.
pub(super) fn control_message(packet: &[u8]) -> Option<RTCMessage> {
    let packets = rtcp::packet::unmarshal(&mut Bytes::copy_from_slice(packet)).ok()?;
    Some(RTCMessage::RtcpPacket(String::new(), packets))
}
