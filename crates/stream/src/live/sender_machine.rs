//! A session's sender on a socket.

use super::channel::Channel;
use super::event::SendEvent;
use super::machine::RejectCounters;
use super::mux::{Mux, PACKET};
use super::sound_loss::SoundLoss;
use crate::source::{FrameControls, PacketOverhead, SourceStatus};
use seaway_control::{ControlSpec, Gauge, StreamId, Subflow};
use seaway_net::webrtc::ServerState;
use seaway_net::{Incoming, Machine, Outgoing, next_snapshot};
use seaway_protect::Error;
use seaway_protect::channel::Received;
use seaway_session::{
    BreakerAction, CircuitBreaker, Frame, LaneStatistics, Limits, Message, Sender, SenderEvent,
    SenderStatistics, Transmit,
};
use seaway_units::{Bitrate, DataSize, Decibels, Ecn, TimeDelta, Timestamp};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};

/// A command from another thread.
#[derive(Debug)]
pub(super) enum SenderCommand {
    /// Send a frame.
    Frame(Frame),
    /// Send a frame of sound.
    Sound(Frame),
    /// The source left a frame out.
    FrameSkipped,
    /// Change the range of the rate.
    Limits(Limits),
    /// The source uses this rate at most.
    SourceRate(Bitrate),
    /// Change how late the receiver shows a frame at most.
    Latency(TimeDelta),
    /// Change the controller.
    Control(ControlSpec),
    /// The source pauses or resumes.
    Paused(bool),
    /// The network path changed.
    RouteChanged,
    /// No frame follows.
    Finish,
    /// End the session.
    Close,
    /// The session has ended: close the connection to the media server.
    CloseChannel,
}

/// From the media thread and the capture thread to the application.
#[derive(Debug)]
pub(super) enum SenderUpdate {
    Event(Timestamp, SendEvent),
    Snapshot(Box<SenderSnapshot>),
    Source(SourceStatus),
    /// The level of the sound that is sent; `None` is silence.
    SoundLevel(Option<Decibels>),
}

/// The session at one instant.
#[derive(Debug, Clone)]
pub struct SenderSnapshot {
    /// The instant.
    pub at: Timestamp,
    /// Counters since the start.
    pub statistics: SenderStatistics,
    /// The rate that the controller allows, over all subflows.
    pub allowance: Bitrate,
    /// The rate of media and its repair together.
    pub target: Bitrate,
    /// The controller's phase.
    pub phase: &'static str,
    /// The controller's internal values.
    pub gauges: Vec<Gauge>,
    /// Octets in the send queue.
    pub backlog: DataSize,
    /// Nothing waits in it, and nothing that left may still have to be sent again.
    pub is_drained: bool,
    /// The lanes of a bonded session; empty where there are none.
    pub lanes: Vec<LaneStatistics>,
    /// Datagrams rejected at the socket.
    pub rejected: RejectCounters,
}

/// Set by the media thread, read by the encoder before each frame.
#[derive(Debug, Default)]
pub(super) struct EncoderControls {
    share: AtomicU64,
    skip: AtomicBool,
    key_frame: AtomicBool,
    connected: AtomicBool,
    /// Of the sound, in percent.
    loss: AtomicU8,
    /// The receiver does not take AAC.
    aac_refused: AtomicBool,
}

impl EncoderControls {
    /// The instructions for the next frame. Clears the request for a key frame.
    pub(super) fn take(&self, overhead: PacketOverhead) -> FrameControls {
        FrameControls {
            share: Bitrate::from_bps(self.share.load(Ordering::Relaxed)),
            overhead,
            skip: self.skip.load(Ordering::Relaxed),
            key_frame: self.key_frame.swap(false, Ordering::Relaxed),
        }
    }

    pub(super) fn set(&self, share: Bitrate, skip: bool) {
        self.share.store(share.as_bps(), Ordering::Relaxed);
        self.skip.store(skip, Ordering::Relaxed);
    }

    /// So much of the sound will be missing, in percent.
    pub(super) fn sound_loss(&self) -> u8 {
        self.loss.load(Ordering::Relaxed)
    }

    /// Whether the receiver was offered AAC and does not take it.
    pub(super) fn is_aac_refused(&self) -> bool {
        self.aac_refused.load(Ordering::Relaxed)
    }

    /// Whether frames can leave, or could once.
    pub(super) fn is_connected(&self) -> bool {
        self.connected.load(Ordering::Relaxed)
    }

    /// Frames can leave.
    pub(super) fn connect(&self) {
        self.connected.store(true, Ordering::Relaxed);
    }

    fn request_key_frame(&self) {
        self.key_frame.store(true, Ordering::Relaxed);
    }
}

/// How far the end of a session has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Closing {
    No,
    /// The goodbye of the session is to leave.
    Session,
    /// That of the channel is to leave.
    Channel,
    Closed,
}

/// For so long the lane of the last answer is taken for one that is up.
const ANSWERED: TimeDelta = TimeDelta::from_millis(500);

/// The socket of RTCP where that does not share the port of RTP.
const CONTROL: usize = 1;

/// A session's sender with a stream of pictures, and maybe one of sound, with one socket and one destination; plain RTP has a second socket for RTCP, which goes to
/// the next port, and subflows may have a socket each. Until the channel is ready the session stands still, and
/// so it does from the moment at which the circuit breaker ends it.
#[derive(Debug)]
pub(super) struct SenderMachine {
    sender: Sender,
    channel: Channel,
    server_state: Option<ServerState>,
    /// Where RTCP goes by its own socket.
    control: Option<SocketAddr>,
    /// Subflows leave by so many sockets in turn; all else by the first.
    socket_count: usize,
    /// Subflows are lanes: messages of the channel leave by the socket by which an answer came last, or by each in turn.
    has_lanes: bool,
    channel_socket: usize,
    answered: Option<Timestamp>,
    is_ready: bool,
    breaker: Option<CircuitBreaker>,
    is_broken: bool,
    closing: Closing,
    /// As the application wants them, and what the source uses at most.
    limits: Limits,
    source_rate: Option<Bitrate>,
    commands: mpsc::Receiver<SenderCommand>,
    updates: mpsc::Sender<SenderUpdate>,
    controls: Arc<EncoderControls>,
    /// Where there is sound.
    sound_loss: Option<SoundLoss>,
    /// Pictures and sound are one transport stream.
    mux: Option<Mux>,
    next_snapshot: Timestamp,
    rejected: RejectCounters,
    /// A caller with another key was reported.
    has_warned: bool,
}

impl SenderMachine {
    /// Drives `sender` through `channel`.
    pub(super) fn new(
        now: Timestamp,
        sender: Sender,
        channel: Channel,
        control: Option<SocketAddr>,
        breaker: Option<CircuitBreaker>,
        commands: mpsc::Receiver<SenderCommand>,
        updates: mpsc::Sender<SenderUpdate>,
    ) -> Self {
        let (controls, rejected) = (Arc::default(), RejectCounters::default());
        let mut machine = Self {
            limits: sender.limits(),
            sender,
            server_state: channel.server_state(),
            channel,
            control,
            socket_count: 1,
            has_lanes: false,
            channel_socket: 0,
            answered: None,
            is_ready: false,
            breaker,
            is_broken: false,
            closing: Closing::No,
            source_rate: None,
            commands,
            updates,
            controls,
            sound_loss: None,
            mux: None,
            next_snapshot: now,
            rejected,
            has_warned: false,
        };
        machine.after_input(now);
        machine
    }

    /// Its sound is protected by what of it would be missing.
    pub(super) fn with_sound(self, loss: Option<SoundLoss>) -> Self {
        Self { sound_loss: loss, ..self }
    }

    /// Pictures and sound are one transport stream, and that is the session's only stream.
    pub(super) fn with_mux(self, mux: Option<Mux>) -> Self {
        let machine = Self { mux, ..self };
        machine.update_controls();
        machine
    }

    /// Each subflow leaves by a socket of its own, of the first `socket_count`.
    pub(super) fn with_sockets(self, socket_count: usize) -> Self {
        Self { socket_count, ..self }
    }

    /// Each lane leaves by a socket of its own, and so do the reports about them.
    pub(super) fn with_lanes(self, lanes: usize) -> Self {
        Self { socket_count: lanes, has_lanes: true, ..self }
    }

    /// The socket by which a message of the channel leaves.
    fn socket_of_channel(&mut self, now: Timestamp) -> usize {
        let is_answered = self.answered.is_some_and(|at| now.since(at) < ANSWERED);
        if self.has_lanes && !is_answered {
            self.channel_socket = (self.channel_socket + 1) % self.socket_count;
        }
        self.channel_socket
    }

    /// What the source reads before each frame.
    pub(super) fn controls(&self) -> Arc<EncoderControls> {
        self.controls.clone()
    }

    fn update_controls(&self) {
        let skip = self.sender.should_skip() || !self.is_ready;
        let share = self.sender.share(StreamId(0)).media;
        let share = self.mux.as_ref().map_or(share, |mux| {
            let payload = self.sender.payload_limit() as u64 / PACKET * PACKET;
            mux.picture_rate(share, DataSize::from_bytes(payload), self.sender.headers())
        });
        self.controls.set(share, skip);
    }

    /// The session goes on where the channel has become ready, and its receiver needs a key frame then.
    fn follow_channel(&mut self, now: Timestamp) {
        while let Some(failure) = self.channel.poll_turn_failure() {
            self.update(SenderUpdate::Event(now, SendEvent::TurnFailed(failure)));
        }
        let server_state = self.channel.server_state();
        if std::mem::replace(&mut self.server_state, server_state) != server_state
            && self.closing == Closing::No
        {
            server_state
                .into_iter()
                .for_each(|state| self.update(SenderUpdate::Event(now, SendEvent::Server(state))));
        }
        let is_ready = self.channel.is_ready(now) && !self.is_broken;
        let was_ready = std::mem::replace(&mut self.is_ready, is_ready);
        if self.is_ready && !was_ready {
            self.controls.connect();
            self.controls.request_key_frame();
            self.sender.handle_timeout(now);
        }
    }

    /// Reduces the rate or ends the transmission where the network does not carry it. Nothing but the goodbye leaves from then on.
    fn follow_breaker(&mut self, now: Timestamp, statistics: &SenderStatistics) {
        let Some(breaker) = &mut self.breaker else { return };
        if !self.is_ready {
            breaker.on_pause();
            return;
        }
        let event = match breaker.observe(now, statistics) {
            None => return,
            Some(BreakerAction::Reduce(breach, most)) => {
                self.sender.on_rate_bound(now, Some(most));
                SendEvent::RateReduced(breach, most)
            }
            Some(BreakerAction::Raise(most)) => {
                self.sender.on_rate_bound(now, most);
                SendEvent::RateRaised(most)
            }
            Some(BreakerAction::Cease(breach)) => {
                (self.breaker, self.is_broken) = (None, true);
                self.sender.on_close(now);
                SendEvent::CircuitBroken(breach)
            }
        };
        self.update(SenderUpdate::Event(now, event));
    }

    /// The session's next packet; its goodbye alone where the circuit breaker has acted.
    fn poll_session(&mut self, now: Timestamp, message: &mut Message) -> Option<Transmit> {
        match (self.is_broken, self.is_ready) {
            (true, _) => self.sender.poll_goodbye(now, message),
            (false, true) => self.sender.poll_transmit(now, now, message),
            (false, false) => None,
        }
    }

    /// Seals the packet in `buffer` and says where it goes; `None` where the channel cannot.
    fn seal(
        &mut self,
        now: Timestamp,
        is_rtcp: bool,
        transmit: &Transmit,
        buffer: &mut Vec<u8>,
    ) -> Option<Outgoing> {
        let to = self.channel.seal(now, buffer)?;
        let subflow_socket =
            if is_rtcp && !self.has_lanes { 0 } else { usize::from(transmit.subflow.0) % self.socket_count };
        let control = self.control.filter(|_| is_rtcp);
        let (socket, to) = control.map_or((subflow_socket, to), |control| (CONTROL, control));
        Some(Outgoing { socket, to, ecn: transmit.ecn })
    }

    /// The other end has shown that it has the key. Another one than before starts with a key frame, and on a path of its own.
    fn on_established(&mut self, now: Timestamp, is_new: bool) {
        let keys = self.channel.keys().cloned().map(Box::new);
        let connected = keys.map(SendEvent::Connected);
        let called = self.channel.caller().filter(|_| is_new).map(SendEvent::Called);
        if called.is_some() && self.is_ready {
            self.controls.request_key_frame();
            self.sender.on_route_changed(now);
        }
        let events = called.into_iter().chain(connected);
        events.for_each(|event| self.update(SenderUpdate::Event(now, event)));
    }

    fn on_refused(&mut self, now: Timestamp, from: SocketAddr, error: Error) {
        self.rejected.count(error);
        match error {
            Error::OtherKey if self.has_warned => {}
            Error::OtherKey if self.channel.is_listening() => {
                self.has_warned = true;
                self.update(SenderUpdate::Event(now, SendEvent::CallerRefused(from)));
            }
            Error::OtherKey => self.update(SenderUpdate::Event(now, SendEvent::OtherKey)),
            Error::Replaced => self.update(SenderUpdate::Event(now, SendEvent::Replaced)),
            _ => {}
        }
    }

    fn update(&self, update: SenderUpdate) {
        // The session goes on if the application dropped its handle.
        let _ = self.updates.send(update);
    }

    fn after_input(&mut self, now: Timestamp) {
        self.follow_channel(now);
        while let Some(event) = self.sender.poll_event() {
            if matches!(event, SenderEvent::KeyFrameWanted { .. }) {
                self.controls.request_key_frame();
            }
            if matches!(event, SenderEvent::AacRefused { .. }) {
                self.controls.aac_refused.store(true, Ordering::Relaxed);
            }
            if matches!(event, SenderEvent::PeerLeft { .. }) {
                self.channel.on_receiver_left();
                self.follow_channel(now);
            }
            self.update(SenderUpdate::Event(now, SendEvent::Session(event)));
        }
        self.update_controls();
    }

    fn snapshot(&self, now: Timestamp) -> SenderSnapshot {
        let controller = self.sender.controller();
        let mut gauges = Vec::new();
        controller.inspect(&mut |gauge| gauges.push(gauge));
        let mut statistics = self.sender.statistics();
        statistics.audio = self.mux.as_ref().map_or(statistics.audio, Mux::audio);
        let subflows = (0..controller.subflows()).map(|subflow| controller.allowance(Subflow(subflow)).rate);
        SenderSnapshot {
            at: now,
            statistics,
            allowance: subflows.sum(),
            target: controller.target().rate,
            phase: controller.phase(),
            gauges,
            backlog: self.sender.backlog(),
            is_drained: self.sender.backlog().is_zero(),
            lanes: self.sender.lanes(),
            rejected: self.rejected,
        }
    }

    /// A source that is coded already has no use for more than its own rate, the headers of its packets, and what lets intra
    /// pictures leave faster than the mean.
    fn apply_limits(&mut self, now: Timestamp) {
        const TIMES: f64 = 2.0;
        let Limits { min, start, max } = self.limits;
        let most = self.source_rate.map_or(max, |rate| Bitrate::from_bps_f64(rate.as_bps_f64() * TIMES));
        let max = max.min(most).max(min);
        self.sender.on_limits(now, Limits { min, start: start.min(max), max });
    }

    fn send_picture(&mut self, now: Timestamp, frame: &Frame) {
        let muxed = self.mux.as_mut().map(|mux| mux.picture_frame(now, frame));
        match &muxed {
            // The sender counts a frame that it cannot send.
            None => drop(self.sender.handle_frame(now, frame)),
            Some(Some(packets)) => drop(self.sender.handle_frame(now, packets)),
            Some(None) => self.sender.on_frame_skipped(now),
        }
    }

    fn send_sound(&mut self, now: Timestamp, frame: &Frame) {
        match &mut self.mux {
            Some(mux) => mux.push_sound_beside(frame),
            None => drop(self.sender.handle_frame(now, frame)),
        }
    }

    fn execute(&mut self, now: Timestamp, command: SenderCommand) {
        match command {
            SenderCommand::Frame(_) if !self.is_ready => self.sender.on_frame_skipped(now),
            SenderCommand::Frame(frame) => self.send_picture(now, &frame),
            SenderCommand::Sound(_) if !self.is_ready => {}
            SenderCommand::Sound(frame) => self.send_sound(now, &frame),
            SenderCommand::FrameSkipped => self.sender.on_frame_skipped(now),
            SenderCommand::Limits(limits) => {
                self.limits = limits;
                self.apply_limits(now);
            }
            SenderCommand::SourceRate(rate) => {
                self.source_rate = Some(rate);
                self.apply_limits(now);
            }
            SenderCommand::Latency(latency) => {
                self.sender.on_latency(latency);
                self.mux.iter_mut().for_each(|mux| mux.set_latency(latency));
                self.sound_loss.iter_mut().for_each(|loss| loss.set_latency(latency));
            }
            SenderCommand::Control(control) => {
                let event = match self.sender.on_control(now, control.clone()) {
                    Ok(()) => SendEvent::ControlChanged(control),
                    Err(error) => SendEvent::ControlRejected(error),
                };
                self.update(SenderUpdate::Event(now, event));
            }
            SenderCommand::Paused(paused) => self.sender.on_paused(now, paused),
            SenderCommand::RouteChanged => self.sender.on_route_changed(now),
            SenderCommand::Finish => {}
            SenderCommand::Close => {
                self.sender.on_close(now);
                self.closing = Closing::Session;
            }
            SenderCommand::CloseChannel => self.closing = Closing::Channel,
        }
    }
}

impl Machine for SenderMachine {
    fn handle_datagram(&mut self, now: Timestamp, socket: usize, datagram: &Incoming<'_>) {
        let received = self.channel.handle_datagram(now, datagram.from, datagram.data);
        if self.has_lanes && received.is_ok() {
            (self.channel_socket, self.answered) = (socket, Some(now));
        }
        match received {
            Ok(Received::Packet(packet)) => {
                if let Some(message) = self.rejected.decode(&packet) {
                    self.sender.handle_message(now, datagram.at.min(now), &message);
                }
            }
            Ok(Received::Established { is_new }) => self.on_established(now, is_new),
            Ok(Received::Handshake) => {}
            Err(error) => self.on_refused(now, datagram.from, error),
        }
        self.after_input(now);
    }

    fn handle_wake(&mut self, now: Timestamp) {
        while let Ok(command) = self.commands.try_recv() {
            self.execute(now, command);
        }
        self.after_input(now);
        if self.closing != Closing::No {
            // The last picture may come behind the last snapshot that is due.
            self.update(SenderUpdate::Snapshot(Box::new(self.snapshot(now))));
        }
    }

    fn handle_timeout(&mut self, now: Timestamp) {
        self.channel.handle_timeout(now);
        if self.is_ready {
            self.sender.handle_timeout(now);
        }
        if self.next_snapshot <= now {
            self.next_snapshot = next_snapshot(self.next_snapshot, now);
            let snapshot = Box::new(self.snapshot(now));
            self.follow_breaker(now, &snapshot.statistics);
            if let Some(loss) = &mut self.sound_loss {
                self.controls.loss.store(loss.expected(now, &snapshot.statistics), Ordering::Relaxed);
            }
            self.update(SenderUpdate::Snapshot(snapshot));
        }
        self.after_input(now);
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        let session = self.sender.poll_timeout().filter(|_| self.is_ready);
        let channel = self.channel.poll_timeout();
        session.into_iter().chain(channel).chain([self.next_snapshot]).min()
    }

    fn poll_datagram(&mut self, now: Timestamp, buffer: &mut Vec<u8>) -> Option<Outgoing> {
        if let Some(to) = self.channel.poll_datagram(now, buffer) {
            return Some(Outgoing { socket: self.socket_of_channel(now), to, ecn: Ecn::NotEct });
        }
        let mut message = Message::default();
        while let Some(transmit) = self.poll_session(now, &mut message) {
            message.encode(buffer);
            if let Some(outgoing) = self.seal(now, matches!(message, Message::Rtcp(_)), &transmit, buffer) {
                return Some(outgoing);
            }
            // The packet counts as sent and is lost.
            buffer.clear();
        }
        if self.closing == Closing::Channel {
            self.closing = Closing::Closed;
            self.channel.close(now);
            return self.poll_datagram(now, buffer);
        }
        self.after_input(now);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use seaway_control::policy::Direct;
    use seaway_protect::channel::SenderChannel;
    use seaway_session::{Format, FrameData, FrameKind, SenderConfig};

    #[test]
    fn the_last_picture_is_in_the_last_snapshot() {
        let rate = Bitrate::from_mbps(4);
        let limits = Limits { min: rate, start: rate, max: rate };
        let config = SenderConfig::new(1, "fixed".parse().unwrap(), limits, Format::Opaque);
        let sender = Sender::new(Timestamp::ZERO, config, Box::new(Direct::new())).unwrap();
        let channel = Channel::receiver(SenderChannel::plain("127.0.0.1:9".parse().unwrap()));
        let ((commands, queue), (updates, received)) = (mpsc::channel(), mpsc::channel());
        let mut machine = SenderMachine::new(Timestamp::ZERO, sender, channel, None, None, queue, updates);
        machine.handle_timeout(Timestamp::ZERO);
        let picture = || {
            let data = FrameData::Coded(Bytes::from(vec![1; 900]));
            let interval = TimeDelta::from_millis(40);
            SenderCommand::Frame(Frame::new(Timestamp::ZERO, FrameKind::Key, data, interval))
        };
        for command in [picture(), SenderCommand::Close, picture()] {
            commands.send(command).unwrap();
            machine.handle_wake(Timestamp::ZERO + TimeDelta::from_millis(1));
        }
        let snapshots = received.try_iter().filter_map(|update| match update {
            SenderUpdate::Snapshot(snapshot) => Some(snapshot.statistics.frames.captured),
            _ => None,
        });
        assert_eq!(snapshots.collect::<Vec<_>>(), [0, 1, 2]);
    }
}
