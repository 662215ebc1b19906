//! The receiving machine.

use crate::live::machine::RejectCounters;
use crate::live::receiver_machine::{ReceiverCommand, ReceiverSnapshot, ReceiverUpdate};
use bytes::Bytes;
use seaway_control::StreamId;
use seaway_net::{Incoming, Machine, Outgoing, next_snapshot};
use seaway_protect::channel::AmplificationLimit;
use seaway_session::window::{ClientConfig, ClientFrame, ClientStatistics, WindowClient};
use seaway_session::{
    Count, FrameData, FrameKind, ReceivedFrame, ReceivedFrames, ReceiverEvent, ReceiverStatistics,
};
use seaway_units::{DataSize, Ecn, RemoteTimestamp, TimeDelta, Timestamp};
use std::net::SocketAddr;
use std::sync::mpsc;

/// Another sender is accepted after the one before was silent for so long.
const LOCK: TimeDelta = TimeDelta::from_secs(1);
/// Frames that are due are still shown at the end.
const CLOSING: TimeDelta = TimeDelta::from_millis(100);

/// A receiver of the window transport with one socket. It answers only the sender that it is locked to.
#[derive(Debug)]
pub(in crate::live) struct WindowReceiverMachine {
    config: ClientConfig,
    overhead: DataSize,
    client: WindowClient,
    /// The sender, and when it sent last.
    peer: Option<(SocketAddr, Timestamp)>,
    /// What earlier senders sent.
    before: ReceiverStatistics,
    received: Count,
    answers: Count,
    limit: AmplificationLimit,
    concealed: u64,
    has_ended: bool,
    commands: mpsc::Receiver<ReceiverCommand>,
    /// `None` once the session is closed, which ends the playback thread.
    updates: Option<mpsc::Sender<ReceiverUpdate>>,
    next_snapshot: Timestamp,
    end: Option<Timestamp>,
    rejected: RejectCounters,
}

impl WindowReceiverMachine {
    /// Shows frames `buffer` after the first packet came; packets have `overhead` octets beside their UDP payload.
    pub(in crate::live) fn new(
        now: Timestamp,
        buffer: TimeDelta,
        overhead: DataSize,
        commands: mpsc::Receiver<ReceiverCommand>,
        updates: mpsc::Sender<ReceiverUpdate>,
    ) -> Self {
        let config = ClientConfig::new(buffer);
        Self {
            config,
            overhead,
            client: WindowClient::new(config),
            peer: None,
            before: ReceiverStatistics::default(),
            received: Count::default(),
            answers: Count::default(),
            limit: AmplificationLimit::default(),
            concealed: 0,
            has_ended: false,
            commands,
            updates: Some(updates),
            next_snapshot: now,
            end: None,
            rejected: RejectCounters::default(),
        }
    }

    /// Whether a datagram from `from` is taken: of the sender, or of another one after silence, which begins anew.
    fn accept(&mut self, now: Timestamp, from: SocketAddr, datagram: &[u8]) -> bool {
        match self.peer {
            Some((peer, _)) if peer == from => {}
            _ if !WindowClient::is_data(datagram) => {
                self.rejected.malformed += 1;
                return false;
            }
            Some((_, last)) if now.since(last) < LOCK => {
                self.rejected.unknown_source += 1;
                return false;
            }
            _ => {
                self.before = self.statistics();
                (self.client, self.concealed) = (WindowClient::new(self.config), 0);
                (self.limit, self.has_ended) = (AmplificationLimit::default(), false);
            }
        }
        self.peer = Some((from, now));
        true
    }

    fn after_input(&mut self, now: Timestamp) {
        while let Some(frame) = self.client.poll_frame() {
            self.report_lost(now);
            self.update(ReceiverUpdate::Event(now, ReceiverEvent::Frame(received(frame))));
        }
        self.report_lost(now);
        let has_ended = self.client.has_ended();
        if has_ended && !std::mem::replace(&mut self.has_ended, has_ended) {
            self.update(ReceiverUpdate::Event(now, ReceiverEvent::SessionEnded));
        }
    }

    fn report_lost(&mut self, now: Timestamp) {
        let concealed = self.client.statistics().concealed;
        let frames = concealed - std::mem::replace(&mut self.concealed, concealed);
        if frames > 0 {
            let stream = StreamId(0);
            self.update(ReceiverUpdate::Event(now, ReceiverEvent::FramesLost { stream, frames }));
        }
    }

    fn update(&self, update: ReceiverUpdate) {
        // The session goes on if the playback thread ended.
        let _ = self.updates.as_ref().map(|updates| updates.send(update));
    }

    /// Of all senders.
    fn statistics(&self) -> ReceiverStatistics {
        let ClientStatistics { missing: holes, requested, repaired, shown, octets, concealed, late, .. } =
            self.client.statistics();
        let ReceiverStatistics { goodput, missing, requests, frames, .. } = self.before;
        ReceiverStatistics {
            received: self.received,
            goodput: goodput + DataSize::from_bytes(octets),
            feedback: self.answers,
            missing: missing + holes,
            repaired: self.before.repaired + repaired,
            requests: requests + requested,
            frames: ReceivedFrames {
                displayed: frames.displayed + shown,
                late: frames.late + late,
                lost: frames.lost + concealed,
                ..frames
            },
            playout_delay: self.config.buffer,
            rtt: self.client.rtt(),
            held: self.client.held(),
            ..ReceiverStatistics::default()
        }
    }
}

/// A frame of the transport as one of a session. Its time counts in the 90 kHz of RTP.
fn received(frame: ClientFrame) -> ReceivedFrame {
    let ClientFrame { presentation_ms, data, arrived: (first_arrival, completed), due } = frame;
    ReceivedFrame {
        stream: StreamId(0),
        timestamp: presentation_ms.wrapping_mul(90),
        captured: Some(RemoteTimestamp::from_nanos(u64::from(presentation_ms) * 1_000_000)),
        kind: FrameKind::Reference,
        data: FrameData::Coded(data),
        first_arrival,
        completed,
        due,
    }
}

impl Machine for WindowReceiverMachine {
    fn handle_datagram(&mut self, now: Timestamp, _socket: usize, datagram: &Incoming<'_>) {
        let malformed = self.client.statistics().malformed;
        if !self.accept(now, datagram.from, datagram.data) {
            return;
        }
        self.limit.on_received(datagram.data.len());
        let duplicates = self.client.statistics().duplicates;
        self.client.handle_datagram(datagram.at.min(now), &Bytes::copy_from_slice(datagram.data));
        let after = self.client.statistics();
        if after.malformed > malformed {
            self.rejected.malformed += 1;
        } else if after.duplicates == duplicates {
            self.received.packets += 1;
            self.received.size += self.overhead + DataSize::of(datagram.data);
        }
        self.after_input(now);
    }

    fn handle_wake(&mut self, now: Timestamp) {
        while let Ok(command) = self.commands.try_recv() {
            match command {
                // A coded stream has its key frames where they are.
                ReceiverCommand::RequestKeyFrame
                | ReceiverCommand::Latency(_)
                | ReceiverCommand::CloseChannel => {}
                ReceiverCommand::Close => self.end = Some(now + CLOSING),
            }
        }
    }

    fn handle_timeout(&mut self, now: Timestamp) {
        if self.client.poll_timeout().is_some_and(|at| at <= now) {
            self.client.handle_timeout(now);
        }
        if self.next_snapshot <= now {
            self.next_snapshot = next_snapshot(self.next_snapshot, now);
            let (statistics, peer) = (self.statistics(), self.peer.map(|(peer, _)| peer));
            let snapshot = ReceiverSnapshot { at: now, statistics, rejected: self.rejected, peer };
            self.update(ReceiverUpdate::Snapshot(Box::new(snapshot)));
        }
        self.after_input(now);
        if self.end.take_if(|end| *end <= now).is_some() {
            self.updates = None;
        }
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        [self.client.poll_timeout(), Some(self.next_snapshot), self.end].into_iter().flatten().min()
    }

    fn poll_datagram(&mut self, _now: Timestamp, buffer: &mut Vec<u8>) -> Option<Outgoing> {
        let (to, _) = self.peer?;
        while let Some(answer) = self.client.poll_answer() {
            if self.limit.allows(answer.len()) {
                buffer.extend_from_slice(&answer);
                self.answers.packets += 1;
                self.answers.size += self.overhead + DataSize::from_bytes(answer.len() as u64);
                return Some(Outgoing { socket: 0, to, ecn: Ecn::NotEct });
            }
            self.rejected.withheld += 1;
        }
        None
    }
}
