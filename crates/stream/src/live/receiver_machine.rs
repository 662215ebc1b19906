//! A session's receiver on a socket.

use super::machine::{RejectCounters, encode};
use seaway_net::{Incoming, Machine, Outgoing, next_snapshot};
use seaway_session::{Message, Receiver, ReceiverEvent, ReceiverStatistics};
use seaway_units::{TimeDelta, Timestamp};
use std::net::SocketAddr;
use std::sync::mpsc;

/// A command from another thread.
#[derive(Debug)]
pub(super) enum ReceiverCommand {
    /// Ask the sender for a key frame.
    RequestKeyFrame,
    /// End the session.
    Close,
}

/// From the media thread to the playback thread.
#[derive(Debug)]
pub(super) enum ReceiverUpdate {
    /// A frame is to be displayed now, or something else happened.
    Event(Timestamp, ReceiverEvent),
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
}

/// A session's receiver with one socket. It answers only the sender that it is locked to.
#[derive(Debug)]
pub(super) struct ReceiverMachine {
    receiver: Receiver,
    /// Address of the sender and its last datagram, once the session is locked.
    peer: Option<(SocketAddr, Timestamp)>,
    /// Another address is accepted after the peer was silent for this long: it restarted, or the route changed.
    lock: TimeDelta,
    commands: mpsc::Receiver<ReceiverCommand>,
    /// `None` once the session is closed, which ends the playback thread.
    updates: Option<mpsc::Sender<ReceiverUpdate>>,
    next_snapshot: Timestamp,
    /// When a session that is being closed ends.
    end: Option<Timestamp>,
    rejected: RejectCounters,
}

impl ReceiverMachine {
    /// A session that is being closed still sends its RTCP BYE and plays frames that are due.
    const CLOSING: TimeDelta = TimeDelta::from_millis(100);

    /// Drives `receiver`; `lock` as in its configuration.
    pub(super) fn new(
        now: Timestamp,
        receiver: Receiver,
        lock: TimeDelta,
        commands: mpsc::Receiver<ReceiverCommand>,
        updates: mpsc::Sender<ReceiverUpdate>,
    ) -> Self {
        Self {
            receiver,
            peer: None,
            lock,
            commands,
            updates: Some(updates),
            next_snapshot: now,
            end: None,
            rejected: RejectCounters::default(),
        }
    }

    /// Whether a datagram from `from` may reach the session.
    fn admits(&self, now: Timestamp, from: SocketAddr) -> bool {
        self.peer.is_none_or(|(peer, last)| peer == from || now.since(last) >= self.lock)
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
    fn handle_datagram(&mut self, now: Timestamp, _socket: usize, datagram: &Incoming<'_>) {
        if !self.admits(now, datagram.from) {
            self.rejected.unknown_source += 1;
            return;
        }
        let Some(mut message) = self.rejected.decode(datagram) else { return };
        // A new address becomes the peer only if the session accepts its message.
        let is_peer = self.peer.is_some_and(|(peer, _)| peer == datagram.from);
        let unknown = |receiver: &Receiver| receiver.statistics().refused.unknown_ssrc;
        let before = if is_peer { 0 } else { unknown(&self.receiver) };
        self.receiver.handle_message(now, datagram.at.min(now), datagram.ecn, &mut message);
        let is_locked = self.receiver.description().is_some();
        if is_locked && (is_peer || unknown(&self.receiver) == before) {
            self.peer = Some((datagram.from, now));
        }
        self.after_input(now);
    }

    fn handle_wake(&mut self, now: Timestamp) {
        while let Ok(command) = self.commands.try_recv() {
            match command {
                ReceiverCommand::RequestKeyFrame => self.receiver.on_picture_lost(now),
                ReceiverCommand::Close => {
                    self.receiver.on_close(now);
                    self.end = Some(now + Self::CLOSING);
                }
            }
        }
        self.after_input(now);
    }

    fn handle_timeout(&mut self, now: Timestamp) {
        self.receiver.handle_timeout(now);
        if self.next_snapshot <= now {
            self.next_snapshot = next_snapshot(self.next_snapshot, now);
            let snapshot =
                ReceiverSnapshot { at: now, statistics: self.receiver.statistics(), rejected: self.rejected };
            self.update(ReceiverUpdate::Snapshot(Box::new(snapshot)));
        }
        self.after_input(now);
        if self.end.take_if(|end| *end <= now).is_some() {
            self.updates = None;
        }
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        self.receiver.poll_timeout().into_iter().chain([self.next_snapshot]).chain(self.end).min()
    }

    fn poll_datagram(&mut self, now: Timestamp, buffer: &mut Vec<u8>) -> Option<Outgoing> {
        let (peer, _) = self.peer?;
        let mut message = Message::default();
        let transmit = self.receiver.poll_transmit(now, &mut message)?;
        Some(encode(&message, peer, transmit.ecn, buffer))
    }
}
