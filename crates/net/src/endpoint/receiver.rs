//! A receiver on a socket.

use super::{Screened, encode, next_tick};
use crate::reactor::{Machine, Outgoing};
use crate::socket::Incoming;
use seaway_session::{Message, Receiver, ReceiverEvent, ReceiverStatistics};
use seaway_units::{TimeDelta, Timestamp};
use std::net::SocketAddr;
use std::sync::mpsc;

/// Mail for a receiver.
#[derive(Debug)]
pub enum ReceiverMail {
    /// The decoder cannot go on without a key frame.
    PictureLost,
    /// The receiver stops.
    Close,
}

/// What a receiver tells.
#[derive(Debug)]
pub enum ReceiverNews {
    /// Something happened; a frame is to be shown at this instant.
    Event(Timestamp, ReceiverEvent),
    /// How it is.
    Snapshot(Box<ReceiverSnapshot>),
}

/// How a receiver is.
#[derive(Debug, Clone)]
pub struct ReceiverSnapshot {
    /// When.
    pub at: Timestamp,
    /// What it did since the start.
    pub statistics: ReceiverStatistics,
    /// What the socket refused.
    pub screened: Screened,
}

/// A [`Receiver`] with one socket. It answers the sender it is locked to and nobody else.
#[derive(Debug)]
pub struct ReceiverMachine {
    receiver: Receiver,
    /// Where the sender is, once it is locked to one, and when it was heard last.
    peer: Option<(SocketAddr, Timestamp)>,
    /// Another address is accepted once the peer was silent for this long: a restart, a change of route.
    lock: TimeDelta,
    mail: mpsc::Receiver<ReceiverMail>,
    news: mpsc::Sender<ReceiverNews>,
    next_snapshot: Timestamp,
    screened: Screened,
}

impl ReceiverMachine {
    /// Drives `receiver`; `lock` as in its configuration.
    pub fn new(
        now: Timestamp,
        receiver: Receiver,
        lock: TimeDelta,
        mail: mpsc::Receiver<ReceiverMail>,
        news: mpsc::Sender<ReceiverNews>,
    ) -> Self {
        let screened = Screened::default();
        Self { receiver, peer: None, lock, mail, news, next_snapshot: now, screened }
    }

    /// Whether a datagram from there may be looked at.
    fn admits(&self, now: Timestamp, from: SocketAddr) -> bool {
        self.peer.is_none_or(|(peer, heard)| peer == from || now.since(heard) >= self.lock)
    }

    /// Passes on what the receiver has to tell. Nobody listening is no error: the session goes on.
    fn tell(&mut self, now: Timestamp) {
        while let Some(event) = self.receiver.poll_event() {
            let _ = self.news.send(ReceiverNews::Event(now, event));
        }
    }
}

impl Machine for ReceiverMachine {
    fn handle_datagram(&mut self, now: Timestamp, _socket: usize, datagram: &Incoming<'_>) {
        if !self.admits(now, datagram.from) {
            self.screened.strangers += 1;
            return;
        }
        let Some(mut message) = self.screened.message(datagram) else { return };
        // Only an address that is not yet the peer has to show that the session takes it.
        let is_peer = self.peer.is_some_and(|(peer, _)| peer == datagram.from);
        let strangers = |receiver: &Receiver| receiver.statistics().refused.unknown_ssrc;
        let before = if is_peer { 0 } else { strangers(&self.receiver) };
        self.receiver.handle_message(now, datagram.at, datagram.ecn, &mut message);
        let is_locked = self.receiver.description().is_some();
        if is_locked && (is_peer || strangers(&self.receiver) == before) {
            self.peer = Some((datagram.from, now));
        }
        self.tell(now);
    }

    fn handle_mail(&mut self, now: Timestamp) {
        while let Ok(mail) = self.mail.try_recv() {
            match mail {
                ReceiverMail::PictureLost => self.receiver.on_picture_lost(now),
                ReceiverMail::Close => self.receiver.on_close(now),
            }
        }
        self.tell(now);
    }

    fn handle_timeout(&mut self, now: Timestamp) {
        self.receiver.handle_timeout(now);
        if self.next_snapshot <= now {
            self.next_snapshot = next_tick(self.next_snapshot, now);
            let snapshot =
                ReceiverSnapshot { at: now, statistics: self.receiver.statistics(), screened: self.screened };
            let _ = self.news.send(ReceiverNews::Snapshot(Box::new(snapshot)));
        }
        self.tell(now);
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        self.receiver.poll_timeout().into_iter().chain([self.next_snapshot]).min()
    }

    fn poll_datagram(&mut self, now: Timestamp, buffer: &mut Vec<u8>) -> Option<Outgoing> {
        let (peer, _) = self.peer?;
        let mut message = Message::default();
        let transmit = self.receiver.poll_transmit(now, &mut message)?;
        Some(encode(&message, peer, transmit.ecn, buffer))
    }
}
