//! A sender on a socket.

use super::{Screened, encode, next_tick};
use crate::reactor::{Machine, Outgoing};
use crate::socket::Incoming;
use seaway_control::{ControlSpec, Gauge, Lane, SpecError, StreamId};
use seaway_session::{Frame, Limits, Message, Sender, SenderEvent, SenderStatistics};
use seaway_units::{Bitrate, DataSize, Timestamp};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;

/// Mail for a sender.
#[derive(Debug)]
pub enum SenderMail {
    /// A frame to send.
    Frame(Frame),
    /// The source had a frame and did not encode it.
    FrameSkipped,
    /// The range of the rate changes.
    Limits(Limits),
    /// Another controller takes over.
    Control(ControlSpec),
    /// The source falls silent on purpose, or speaks again.
    Paused(bool),
    /// The path changed.
    RouteChanged,
    /// The session ends.
    Close,
}

/// What a sender tells.
#[derive(Debug)]
pub enum SenderNews {
    /// Something happened.
    Event(Timestamp, SenderEvent),
    /// Another controller took over.
    Controlled(Timestamp, ControlSpec),
    /// It did not, and why.
    Refused(Timestamp, SpecError),
    /// How it is.
    Snapshot(Box<SenderSnapshot>),
}

/// How a sender is.
#[derive(Debug, Clone)]
pub struct SenderSnapshot {
    /// When.
    pub at: Timestamp,
    /// What it did since the start.
    pub statistics: SenderStatistics,
    /// What the controller allows, over all lanes.
    pub allowance: Bitrate,
    /// What media and its repair may use together.
    pub target: Bitrate,
    /// The controller's phase.
    pub phase: &'static str,
    /// The controller's inside.
    pub gauges: Vec<Gauge>,
    /// What waits to leave.
    pub backlog: DataSize,
    /// What the socket refused.
    pub screened: Screened,
}

/// What an encoder thread reads before each frame, without waiting for anybody.
#[derive(Debug, Default)]
pub struct Dial {
    share: AtomicU64,
    skip: AtomicBool,
    key_frame: AtomicBool,
}

impl Dial {
    /// What the encoder's frames may use, wire headers included.
    pub fn share(&self) -> Bitrate {
        Bitrate::from_bps(self.share.load(Ordering::Relaxed))
    }

    /// Whether the next frame had better not be encoded.
    pub fn should_skip(&self) -> bool {
        self.skip.load(Ordering::Relaxed)
    }

    /// Whether the next frame is to be a key frame. Asking takes the wish back.
    pub fn take_key_frame(&self) -> bool {
        self.key_frame.swap(false, Ordering::Relaxed)
    }

    /// Wishes for a key frame.
    pub fn wish_key_frame(&self) {
        self.key_frame.store(true, Ordering::Relaxed);
    }
}

/// A [`Sender`] with one stream, one socket and one destination.
#[derive(Debug)]
pub struct SenderMachine {
    sender: Sender,
    to: SocketAddr,
    mail: mpsc::Receiver<SenderMail>,
    news: mpsc::Sender<SenderNews>,
    dial: Arc<Dial>,
    next_snapshot: Timestamp,
    screened: Screened,
    /// When the last frame left the queue after a close.
    closing: bool,
}

const STREAM: StreamId = StreamId(0);

impl SenderMachine {
    /// Drives `sender` towards `to`.
    pub fn new(
        now: Timestamp,
        sender: Sender,
        to: SocketAddr,
        mail: mpsc::Receiver<SenderMail>,
        news: mpsc::Sender<SenderNews>,
    ) -> Self {
        let (dial, screened) = (Arc::new(Dial::default()), Screened::default());
        let machine = Self { sender, to, mail, news, dial, next_snapshot: now, screened, closing: false };
        machine.turn_dial();
        machine
    }

    /// What the encoder thread reads.
    pub fn dial(&self) -> Arc<Dial> {
        self.dial.clone()
    }

    fn turn_dial(&self) {
        self.dial.share.store(self.sender.share(STREAM).media.as_bps(), Ordering::Relaxed);
        self.dial.skip.store(self.sender.should_skip(), Ordering::Relaxed);
    }

    /// Passes on what the sender has to tell. Nobody listening is no error: the session goes on.
    fn tell(&mut self, now: Timestamp) {
        while let Some(event) = self.sender.poll_event() {
            if matches!(event, SenderEvent::KeyFrameWanted { .. }) {
                self.dial.wish_key_frame();
            }
            let _ = self.news.send(SenderNews::Event(now, event));
        }
        self.turn_dial();
    }

    fn snapshot(&self, now: Timestamp) -> SenderSnapshot {
        let controller = self.sender.controller();
        let mut gauges = Vec::new();
        controller.inspect(&mut |gauge| gauges.push(gauge));
        let lanes = (0..controller.lanes()).map(|lane| controller.allowance(Lane(lane)).rate);
        SenderSnapshot {
            at: now,
            statistics: self.sender.statistics(),
            allowance: lanes.sum(),
            target: controller.target().rate,
            phase: controller.phase(),
            gauges,
            backlog: self.sender.backlog(),
            screened: self.screened,
        }
    }

    fn open(&mut self, now: Timestamp, mail: SenderMail) {
        match mail {
            // A frame that cannot be sent is counted by the sender; the source has no use for the reason.
            SenderMail::Frame(frame) => drop(self.sender.handle_frame(now, &frame)),
            SenderMail::FrameSkipped => self.sender.on_frame_skipped(now),
            SenderMail::Limits(limits) => self.sender.on_limits(now, limits),
            SenderMail::Control(control) => {
                let news = match self.sender.on_control(now, control.clone()) {
                    Ok(()) => SenderNews::Controlled(now, control),
                    Err(error) => SenderNews::Refused(now, error),
                };
                let _ = self.news.send(news);
            }
            SenderMail::Paused(paused) => self.sender.on_paused(now, paused),
            SenderMail::RouteChanged => self.sender.on_route_changed(now),
            SenderMail::Close => {
                self.closing = true;
                self.sender.on_close(now);
            }
        }
    }
}

impl Machine for SenderMachine {
    fn handle_datagram(&mut self, now: Timestamp, _socket: usize, datagram: &Incoming<'_>) {
        if datagram.from != self.to {
            self.screened.strangers += 1;
            return;
        }
        if let Some(message) = self.screened.message(datagram) {
            self.sender.handle_message(now, datagram.at, &message);
        }
        self.tell(now);
    }

    fn handle_mail(&mut self, now: Timestamp) {
        while let Ok(mail) = self.mail.try_recv() {
            self.open(now, mail);
        }
        self.tell(now);
    }

    fn handle_timeout(&mut self, now: Timestamp) {
        self.sender.handle_timeout(now);
        if self.next_snapshot <= now {
            self.next_snapshot = next_tick(self.next_snapshot, now);
            let _ = self.news.send(SenderNews::Snapshot(Box::new(self.snapshot(now))));
        }
        self.tell(now);
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        self.sender.poll_timeout().into_iter().chain([self.next_snapshot]).min()
    }

    fn poll_datagram(&mut self, now: Timestamp, buffer: &mut Vec<u8>) -> Option<Outgoing> {
        let mut message = Message::default();
        let transmit = self.sender.poll_transmit(now, now, &mut message);
        let outgoing = transmit.map(|transmit| encode(&message, self.to, transmit.ecn, buffer));
        if outgoing.is_none() {
            self.tell(now);
        }
        outgoing
    }
}
