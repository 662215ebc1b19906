//! A session's receiver on a socket.

use super::event::ReceiveEvent;
use super::lane_addresses::{LaneAddresses, ReportRoute};
use super::machine::RejectCounters;
use super::plain_reception::{EarlyReport, PlainReception, PlainSocket};
use bytes::Bytes;
use seaway_control::Subflow;
use seaway_net::webrtc::{ServerState, Subscriber};
use seaway_net::{Incoming, Machine, Outgoing, SNAPSHOT_INTERVAL, next_snapshot};
use seaway_protect::Error;
use seaway_protect::channel::{AmplificationLimit, FORMER, Received, ReceiverChannel};
use seaway_session::{Message, Receiver, ReceiverEvent, ReceiverStatistics, SourceId};
use seaway_units::{Ecn, TimeDelta, Timestamp};
use std::net::SocketAddr;
use std::sync::mpsc;

/// A command from another thread.
#[derive(Debug)]
pub(super) enum ReceiverCommand {
    /// Request a key frame from the sender.
    RequestKeyFrame,
    /// Change how late a frame is shown at most.
    Latency(TimeDelta),
    /// End the session.
    Close,
    /// The media server knows of the end: close the connection to it.
    CloseChannel,
}

/// From the media thread to the playback thread.
#[derive(Debug)]
pub(super) enum ReceiverUpdate {
    /// A frame is to be displayed now, or something else happened.
    Event(Timestamp, ReceiverEvent),
    /// Something about the keys, or about the connection to a media server.
    Keys(Timestamp, ReceiveEvent),
    Snapshot(Box<ReceiverSnapshot>),
}

/// The session at one instant.
#[derive(Debug, Clone)]
pub struct ReceiverSnapshot {
    /// The instant.
    pub at: Timestamp,
    /// Counters since the start.
    pub statistics: ReceiverStatistics,
    /// Datagrams rejected at the socket.
    pub rejected: RejectCounters,
    /// The sender, where there is one.
    pub peer: Option<SocketAddr>,
}

/// From whom datagrams are taken.
#[derive(Debug)]
pub(super) enum Access {
    /// From the address that sends first. Another is accepted after that one was silent for as long as `lock`: the sender
    /// restarted, or the route changed.
    Open { peer: Option<(SocketAddr, Timestamp)>, lock: TimeDelta },
    /// From who has the key.
    Keyed(Box<ReceiverChannel>),
    /// From a media server that was asked, and how the connection was last.
    Server(Box<Subscriber>, ServerState),
}

impl Access {
    fn peer(&self) -> Option<SocketAddr> {
        match self {
            Self::Open { peer, .. } => peer.map(|(peer, _)| peer),
            Self::Keyed(channel) => channel.peer(),
            Self::Server(subscriber, _) => subscriber.server(),
        }
    }

    /// Where the sender was until now, and perhaps still is.
    fn former_peer(&self, now: Timestamp) -> Option<SocketAddr> {
        match self {
            Self::Open { .. } | Self::Server(..) => None,
            Self::Keyed(channel) => channel.former_peer(now),
        }
    }
}

/// The synchronisation source of an RTP packet.
fn ssrc_of(datagram: &[u8]) -> Option<u32> {
    let octets = datagram.get(8..12)?;
    Some(octets.iter().fold(0, |ssrc, octet| ssrc << 8 | u32::from(*octet)))
}

/// Whether a datagram is RTCP and not RTP (RFC 5761 section 4).
fn is_rtcp(datagram: &[u8]) -> bool {
    datagram.get(1).is_some_and(|kind| (192..=223).contains(kind))
}

/// A session's receiver with one socket, and more where plain RTP has RTCP or sound on ports of their own. It answers only the sender
/// that it is locked to.
#[derive(Debug)]
pub(super) struct ReceiverMachine {
    receiver: Receiver,
    access: Access,
    plain: Option<PlainReception>,
    limit: AmplificationLimit,
    /// A report that goes to the sender's former address too, and how much may go there.
    copy: Option<(SocketAddr, Vec<u8>)>,
    former_limit: AmplificationLimit,
    /// Of a bonded sender.
    lanes: LaneAddresses,
    commands: mpsc::Receiver<ReceiverCommand>,
    /// `None` once the session is closed, which ends the playback thread.
    updates: Option<mpsc::Sender<ReceiverUpdate>>,
    next_snapshot: Timestamp,
    /// When a datagram came last.
    last_datagram: Timestamp,
    /// When a session that is being closed ends.
    end: Option<Timestamp>,
    rejected: RejectCounters,
    /// An end with another key was reported.
    has_warned: bool,
}

impl ReceiverMachine {
    /// A session that is being closed still sends its RTCP BYE and plays frames that are due.
    const CLOSING: TimeDelta = TimeDelta::from_millis(100);
    /// Between snapshots where nothing came for so long, so that a machine without a sender can sleep.
    const IDLE: TimeDelta = TimeDelta::from_secs(1);

    /// Drives `receiver`.
    pub(super) fn new(
        now: Timestamp,
        receiver: Receiver,
        access: Access,
        plain: Option<PlainReception>,
        commands: mpsc::Receiver<ReceiverCommand>,
        updates: mpsc::Sender<ReceiverUpdate>,
    ) -> Self {
        Self {
            receiver,
            access,
            plain,
            limit: AmplificationLimit::default(),
            copy: None,
            former_limit: AmplificationLimit::default(),
            lanes: LaneAddresses::default(),
            commands,
            updates: Some(updates),
            next_snapshot: now,
            last_datagram: now,
            end: None,
            rejected: RejectCounters::default(),
            has_warned: false,
        }
    }

    /// What the session has counted.
    #[cfg(test)]
    pub(super) fn statistics(&self) -> ReceiverStatistics {
        self.receiver.statistics()
    }

    /// A datagram came: snapshots follow each other as they do in a session.
    fn leave_idleness(&mut self, now: Timestamp) {
        self.last_datagram = now;
        self.next_snapshot = self.next_snapshot.min(now + SNAPSHOT_INTERVAL);
    }

    /// A snapshot was taken; names the next.
    fn schedule_snapshot(&mut self, now: Timestamp) {
        let is_idle = now.since(self.last_datagram) >= Self::IDLE;
        let next = next_snapshot(self.next_snapshot, now);
        self.next_snapshot = if is_idle { now + Self::IDLE } else { next };
    }

    /// The message in `packet` goes to the session.
    fn handle_packet(&mut self, now: Timestamp, datagram: &Incoming<'_>, packet: &Bytes) {
        let decoded = match &mut self.plain {
            Some(plain) => match plain.is_without_rtp(datagram.from, packet) {
                true => Some(plain.number(now, datagram.from, packet)),
                false => self.rejected.decode_plain(packet, plain.transport_id),
            },
            None => self.rejected.decode(packet),
        };
        let Some(mut message) = decoded else { return };
        let lane = LaneAddresses::lane_of_message(self.receiver.description(), &message);
        if let Some(lane) = lane {
            self.lanes.on_packet(now, lane, datagram.from, datagram.data.len());
        }
        self.receiver.handle_message(now, datagram.at.min(now), datagram.ecn, &mut message);
        self.lanes.follow(self.receiver.description());
    }

    fn handle_open(&mut self, now: Timestamp, datagram: &Incoming<'_>) {
        let Access::Open { peer, lock } = self.access else { return };
        if self.is_subflow(datagram) || self.is_of_lane(now, datagram, lock) {
            return self.handle_packet(now, datagram, &Bytes::copy_from_slice(datagram.data));
        }
        let is_peer = peer.is_some_and(|(peer, _)| peer == datagram.from);
        if !is_peer && peer.is_some_and(|(_, last)| now.since(last) < lock) {
            self.rejected.unknown_source += 1;
            return;
        }
        // A new address becomes the peer only if the session accepts its message.
        let unknown = |receiver: &Receiver| receiver.statistics().refused.unknown_ssrc;
        let before = if is_peer { 0 } else { unknown(&self.receiver) };
        let malformed = self.rejected.malformed;
        self.handle_packet(now, datagram, &Bytes::copy_from_slice(datagram.data));
        let is_accepted = is_peer || unknown(&self.receiver) == before;
        if self.rejected.malformed == malformed && self.receiver.description().is_some() && is_accepted {
            self.access = Access::Open { peer: Some((datagram.from, now)), lock };
        }
    }

    /// Whether a datagram is of another connection of the same sender (S003): RTP of a subflow but the first, from another port of
    /// its host. The sender's address is that of the first.
    fn is_subflow(&self, datagram: &Incoming<'_>) -> bool {
        let Some(peer) = self.access.peer() else { return false };
        let (Some(session), Some(ssrc)) = (self.receiver.description(), ssrc_of(datagram.data)) else {
            return false;
        };
        let source = SourceId::of(ssrc, session.session);
        let is_there = peer.ip() == datagram.from.ip() && peer.port() != datagram.from.port();
        is_there && !is_rtcp(datagram.data) && source.is_some_and(|source| source.subflow.0 > 0)
    }

    /// Whether a datagram comes by a lane of the sender's: RTP of the lane, or RTCP from where a lane is. Lanes are at addresses of their
    /// own, and each stays at its first one until it is silent for as long as `lock`.
    fn is_of_lane(&self, now: Timestamp, datagram: &Incoming<'_>, lock: TimeDelta) -> bool {
        if is_rtcp(datagram.data) {
            return self.lanes.is_known(datagram.from);
        }
        let lane =
            ssrc_of(datagram.data).and_then(|ssrc| LaneAddresses::lane_of(self.receiver.description(), ssrc));
        lane.is_some_and(|lane| self.lanes.admits(now, lane, datagram.from, lock))
    }

    /// What comes to a port beside that of the video, from the sender's host alone: RTCP, and the sound where that has one.
    fn handle_beside(&mut self, now: Timestamp, kind: PlainSocket, datagram: &Incoming<'_>) {
        let peer = self.access.peer();
        let is_peer = peer.is_some_and(|peer| peer.ip() == datagram.from.ip());
        let packet = Bytes::copy_from_slice(datagram.data);
        if let (None, true, Some(plain)) = (peer, is_rtcp(datagram.data), &mut self.plain) {
            plain.keep(EarlyReport { kind, at: datagram.at, from: datagram.from, data: packet });
            return;
        }
        let message = self.rejected.decode_plain(&packet, None).filter(|_| is_peer);
        let (Some(mut message), Some(plain)) = (message, &mut self.plain) else {
            self.rejected.unknown_source += 1;
            return;
        };
        let is_taken = match &mut message {
            Message::Rtp(packet) => kind == PlainSocket::Sound && plain.adapt_sound(packet),
            Message::Rtcp(_) => true,
        };
        if !is_taken {
            self.rejected.unknown_source += 1;
            return;
        }
        if kind == PlainSocket::Control {
            plain.control_peer = Some(datagram.from);
        }
        self.receiver.handle_message(now, datagram.at.min(now), datagram.ecn, &mut message);
    }

    /// The sender is known now, and with it the reports that came before.
    fn handle_early(&mut self, now: Timestamp) {
        let early = self.plain.as_mut().map(PlainReception::take_early).unwrap_or_default();
        for EarlyReport { kind, at, from, data } in early {
            self.handle_beside(now, kind, &Incoming { at, from, ecn: Ecn::NotEct, data: &data });
        }
    }

    fn handle_keyed(&mut self, now: Timestamp, datagram: &Incoming<'_>) {
        let Access::Keyed(channel) = &mut self.access else { return };
        match channel.handle_datagram(now, datagram.from, datagram.data) {
            Ok(Received::Packet(packet)) => self.handle_packet(now, datagram, &packet),
            Ok(Received::Established { is_new }) => {
                let keys = channel.keys().cloned().map(Box::new);
                if is_new {
                    self.receiver.on_sender_replaced();
                }
                let event = keys.map(|keys| ReceiverUpdate::Keys(now, ReceiveEvent::Connected(keys)));
                event.into_iter().for_each(|event| self.update(event));
            }
            Ok(Received::Handshake) => {}
            Err(error) => self.on_refused(now, datagram, error),
        }
    }

    /// A datagram of a keyed session was refused.
    fn on_refused(&mut self, now: Timestamp, datagram: &Incoming<'_>, error: Error) {
        self.rejected.count(error);
        let is_calling = matches!(&self.access, Access::Keyed(channel) if channel.is_calling());
        let event = match error {
            Error::Replayed => return self.repeated_by_lane(now, datagram),
            Error::OtherKey if is_calling => ReceiveEvent::Refused,
            Error::OtherKey if !std::mem::replace(&mut self.has_warned, true) => {
                ReceiveEvent::OtherKey(datagram.from)
            }
            Error::Replaced => ReceiveEvent::Replaced,
            _ => return,
        };
        self.update(ReceiverUpdate::Keys(now, event));
    }

    /// Of a media server.
    fn handle_server(&mut self, now: Timestamp, datagram: &Incoming<'_>) {
        let Access::Server(subscriber, _) = &mut self.access else { return };
        subscriber.handle_datagram(now, datagram.from, datagram.data);
        while let Access::Server(subscriber, _) = &mut self.access
            && let Some(packet) = subscriber.poll_packet()
        {
            self.handle_packet(now, datagram, &packet);
        }
        self.follow_server(now);
    }

    /// A change of the connection to a media server is reported, and TURN servers that give no relay to it.
    fn follow_server(&mut self, now: Timestamp) {
        while let Access::Server(subscriber, _) = &mut self.access
            && let Some(failure) = subscriber.poll_failure()
        {
            self.update(ReceiverUpdate::Keys(now, ReceiveEvent::TurnFailed(failure)));
        }
        if let Access::Server(subscriber, known) = &mut self.access
            && subscriber.state() != *known
        {
            *known = subscriber.state();
            let event = ReceiveEvent::Server(*known);
            self.update(ReceiverUpdate::Keys(now, event));
        }
    }

    /// A packet came again, perhaps by a lane.
    fn repeated_by_lane(&mut self, now: Timestamp, datagram: &Incoming<'_>) {
        let ssrc = ssrc_of(datagram.data).filter(|_| !is_rtcp(datagram.data));
        if let Some(lane) = ssrc.and_then(|ssrc| LaneAddresses::lane_of(self.receiver.description(), ssrc)) {
            self.lanes.on_repeated(now, lane, datagram.from, datagram.data.len());
        }
    }

    /// Where a report goes that is to leave by a lane. A copy goes to the lane's former address where a key shows that packets from there
    /// were the sender's.
    fn route_by_lane(&mut self, now: Timestamp, lane: Subflow, report: &[u8]) -> Option<SocketAddr> {
        let memory = match self.access {
            Access::Open { .. } | Access::Server(..) => TimeDelta::ZERO,
            Access::Keyed(_) => FORMER,
        };
        let ReportRoute { to, former } = self.lanes.to(now, lane, report.len(), memory)?;
        self.copy = former.map(|former| (former, report.to_vec()));
        Some(to)
    }

    fn after_input(&mut self, now: Timestamp) {
        while let Some(event) = self.receiver.poll_event() {
            self.update(ReceiverUpdate::Event(now, event));
        }
    }

    fn update(&self, update: ReceiverUpdate) {
        // The session goes on if the playback thread ended.
        let _ = self.updates.as_ref().map(|updates| updates.send(update));
    }
}

impl Machine for ReceiverMachine {
    fn handle_datagram(&mut self, now: Timestamp, socket: usize, datagram: &Incoming<'_>) {
        self.leave_idleness(now);
        let before = self.access.peer();
        let kind = self.plain.as_ref().map_or(PlainSocket::Media, |plain| plain.kind(socket));
        match self.access {
            Access::Open { .. } if kind != PlainSocket::Media => self.handle_beside(now, kind, datagram),
            Access::Open { .. } => self.handle_open(now, datagram),
            Access::Keyed(_) => self.handle_keyed(now, datagram),
            Access::Server(..) => self.handle_server(now, datagram),
        }
        let peer = self.access.peer();
        if peer != before {
            self.former_limit = std::mem::take(&mut self.limit);
            self.plain.iter_mut().for_each(|plain| plain.control_peer = None);
            self.handle_early(now);
        }
        if peer == Some(datagram.from) {
            self.limit.on_received(datagram.data.len());
        } else if self.access.former_peer(now) == Some(datagram.from) {
            self.former_limit.on_received(datagram.data.len());
        }
        self.after_input(now);
    }

    fn handle_wake(&mut self, now: Timestamp) {
        while let Ok(command) = self.commands.try_recv() {
            match command {
                ReceiverCommand::RequestKeyFrame => self.receiver.on_picture_lost(now),
                ReceiverCommand::Latency(latency) => self.receiver.on_latency(now, latency),
                ReceiverCommand::Close => {
                    self.receiver.on_close(now);
                    self.end = Some(now + Self::CLOSING);
                }
                ReceiverCommand::CloseChannel => {
                    if let Access::Server(subscriber, _) = &mut self.access {
                        subscriber.close(now);
                    }
                }
            }
        }
        self.after_input(now);
    }

    fn handle_timeout(&mut self, now: Timestamp) {
        match &mut self.access {
            Access::Open { .. } => {}
            Access::Keyed(channel) => channel.handle_timeout(now),
            Access::Server(subscriber, _) => {
                subscriber.handle_timeout(now);
                self.follow_server(now);
            }
        }
        self.receiver.handle_timeout(now);
        if self.next_snapshot <= now {
            self.schedule_snapshot(now);
            let (statistics, peer) = (self.receiver.statistics(), self.access.peer());
            let snapshot = ReceiverSnapshot { at: now, statistics, rejected: self.rejected, peer };
            self.update(ReceiverUpdate::Snapshot(Box::new(snapshot)));
        }
        self.after_input(now);
        if self.end.take_if(|end| *end <= now).is_some() {
            self.updates = None;
        }
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        let channel = match &self.access {
            Access::Server(subscriber, _) => subscriber.poll_timeout(),
            Access::Keyed(channel) => channel.poll_timeout(),
            Access::Open { .. } => None,
        };
        let own = [self.next_snapshot].into_iter().chain(self.end);
        self.receiver.poll_timeout().into_iter().chain(own).chain(channel).min()
    }

    fn poll_datagram(&mut self, now: Timestamp, buffer: &mut Vec<u8>) -> Option<Outgoing> {
        let of_channel = match &mut self.access {
            Access::Open { .. } => None,
            Access::Keyed(channel) => channel.poll_datagram(now, buffer),
            Access::Server(subscriber, _) => subscriber.poll_datagram(buffer),
        };
        if let Some(to) = of_channel {
            return Some(Outgoing { socket: 0, to, ecn: Ecn::NotEct });
        }
        if let Some((to, copy)) = self.copy.take() {
            buffer.extend(copy);
            return Some(Outgoing { socket: 0, to, ecn: Ecn::NotEct });
        }
        let peer = self.access.peer()?;
        let is_one_way = self.plain.as_ref().is_some_and(|plain| plain.one_way == Some(peer));
        let mut message = Message::default();
        while let Some(transmit) = self.receiver.poll_transmit(now, &mut message) {
            message.encode(buffer);
            let is_sealed = match &mut self.access {
                Access::Open { .. } => true,
                Access::Keyed(channel) => channel.seal(buffer).is_ok(),
                Access::Server(subscriber, _) => {
                    // It is of the one that the server's certificate names, who agreed to get it.
                    if let Some(to) = subscriber.seal(now, buffer) {
                        return Some(Outgoing { socket: 0, to, ecn: transmit.ecn });
                    }
                    false
                }
            };
            if is_one_way {
                buffer.clear();
                continue;
            }
            if !self.lanes.is_empty() {
                if is_sealed && let Some(to) = self.route_by_lane(now, transmit.subflow, buffer) {
                    return Some(Outgoing { socket: 0, to, ecn: transmit.ecn });
                }
            } else if is_sealed && self.limit.allows(buffer.len()) {
                let former = self.access.former_peer(now).filter(|_| self.former_limit.allows(buffer.len()));
                self.copy = former.map(|former| (former, buffer.clone()));
                let control = self.plain.as_ref().and_then(PlainReception::control);
                let (socket, to) = control.unwrap_or((0, peer));
                return Some(Outgoing { socket, to, ecn: transmit.ecn });
            }
            self.rejected.withheld += 1;
            buffer.clear();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seaway_control::policy::Direct;
    use seaway_session::{Format, Limits, ReceiverConfig, RtpPacket, Sender, SenderConfig};
    use seaway_units::Bitrate;

    /// A machine without a key, what its sender sent first, and where from.
    fn locked() -> (ReceiverMachine, RtpPacket, u64) {
        let rate = Bitrate::from_mbps(1);
        let limits = Limits { min: rate, start: rate, max: rate };
        let control = "gcc".parse().expect("a controller");
        let mut config = SenderConfig::new(1024, control, limits, Format::Opaque);
        config.endless = true;
        let now = Timestamp::ZERO;
        let mut sender = Sender::new(now, config, Box::new(Direct::new())).expect("a known controller");
        let description = Some(sender.description());
        let receiver = Receiver::new(now, ReceiverConfig { description, ..ReceiverConfig::new(2) });
        let access = Access::Open { peer: None, lock: TimeDelta::from_secs(1) };
        let (_, commands) = mpsc::channel();
        let (updates, _) = mpsc::channel();
        let mut machine = ReceiverMachine::new(now, receiver, access, None, commands, updates);
        let mut message = Message::default();
        sender.poll_transmit(now, now, &mut message).expect("media without end");
        let Message::Rtp(packet) = message.clone() else { panic!("{message:?}") };
        let len = arrive(&mut machine, now, &message);
        (machine, packet, len)
    }

    fn arrive(machine: &mut ReceiverMachine, now: Timestamp, message: &Message) -> u64 {
        let mut data = Vec::new();
        message.encode(&mut data);
        let from = SocketAddr::from(([192, 0, 2, 7], 4000));
        machine.handle_datagram(now, 0, &Incoming { at: now, from, ecn: Ecn::NotEct, data: &data });
        data.len() as u64
    }

    /// Wake-ups of a machine in the second from `from` on.
    fn wakes(machine: &mut ReceiverMachine, from: Timestamp) -> usize {
        let end = from + TimeDelta::from_secs(1);
        let due = std::iter::from_fn(|| {
            let due = machine.poll_timeout().filter(|due| *due < end)?;
            machine.handle_timeout(due);
            while machine.poll_datagram(due, &mut Vec::new()).is_some() {}
            Some(due)
        });
        due.count()
    }

    #[test]
    fn a_machine_without_a_sender_sleeps() {
        let (mut machine, packet, _) = locked();
        let later = Timestamp::ZERO + TimeDelta::from_secs(60);
        assert!(wakes(&mut machine, Timestamp::ZERO) >= 10);
        wakes(&mut machine, later - TimeDelta::from_secs(1));
        assert!(wakes(&mut machine, later) <= 2);
        // It is awake again with the next packet.
        let now = later + TimeDelta::from_millis(1100);
        arrive(&mut machine, now, &Message::Rtp(packet));
        assert!(wakes(&mut machine, now) >= 9);
    }

    /// Small packets far apart call for reports of thousands of missing ones.
    #[test]
    fn reports_are_no_larger_than_three_times_what_came() {
        let (mut machine, first, mut came) = locked();
        let (mut sent, mut now) = (0, Timestamp::ZERO);
        for count in 1..500u16 {
            now += TimeDelta::from_millis(20);
            let mut packet = RtpPacket { payload: Default::default(), ..first.clone() };
            packet.sequence_number = first.sequence_number.wrapping_add(count.wrapping_mul(2_999));
            came += arrive(&mut machine, now, &Message::Rtp(packet));
            machine.handle_timeout(now);
            let mut buffer = Vec::new();
            while machine.poll_datagram(now, &mut buffer).is_some() {
                sent += buffer.len() as u64;
                buffer.clear();
            }
            assert!(sent <= 3 * came, "{sent} octets for {came}");
        }
        assert!(sent > came && machine.rejected.withheld > 100, "{sent} for {came}: {:?}", machine.rejected);
    }
}
