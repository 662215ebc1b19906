//! A session's sender on a socket.

use super::event::SendEvent;
use super::machine::{RejectCounters, encode};
use crate::source::{FrameControls, PacketOverhead, SourceStatus};
use seaway_control::{ControlSpec, Gauge, StreamId, Subflow};
use seaway_net::{Incoming, Machine, Outgoing, next_snapshot};
use seaway_session::{Frame, Limits, Message, Sender, SenderEvent, SenderStatistics};
use seaway_units::{Bitrate, DataSize, Timestamp};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};

/// A command from another thread.
#[derive(Debug)]
pub(super) enum SenderCommand {
    /// Send a frame.
    Frame(Frame),
    /// The source left a frame out.
    FrameSkipped,
    /// Change the range of the rate.
    Limits(Limits),
    /// Change the controller.
    Control(ControlSpec),
    /// The source pauses or resumes.
    Paused(bool),
    /// The network path changed.
    RouteChanged,
    /// End the session.
    Close,
}

/// From the media thread and the capture thread to the application.
#[derive(Debug)]
pub(super) enum SenderUpdate {
    Event(Timestamp, SendEvent),
    Snapshot(Box<SenderSnapshot>),
    Source(SourceStatus),
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
    /// Datagrams rejected at the socket.
    pub rejected: RejectCounters,
}

/// Set by the media thread, read by the encoder before each frame.
#[derive(Debug, Default)]
pub(super) struct EncoderControls {
    share: AtomicU64,
    skip: AtomicBool,
    key_frame: AtomicBool,
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

    fn set(&self, share: Bitrate, skip: bool) {
        self.share.store(share.as_bps(), Ordering::Relaxed);
        self.skip.store(skip, Ordering::Relaxed);
    }

    fn request_key_frame(&self) {
        self.key_frame.store(true, Ordering::Relaxed);
    }
}

/// A session's sender with one stream, one socket and one destination.
#[derive(Debug)]
pub(super) struct SenderMachine {
    sender: Sender,
    to: SocketAddr,
    commands: mpsc::Receiver<SenderCommand>,
    updates: mpsc::Sender<SenderUpdate>,
    controls: Arc<EncoderControls>,
    next_snapshot: Timestamp,
    rejected: RejectCounters,
}

impl SenderMachine {
    /// Drives `sender` towards `to`.
    pub(super) fn new(
        now: Timestamp,
        sender: Sender,
        to: SocketAddr,
        commands: mpsc::Receiver<SenderCommand>,
        updates: mpsc::Sender<SenderUpdate>,
    ) -> Self {
        let (controls, rejected) = (Arc::default(), RejectCounters::default());
        let machine = Self { sender, to, commands, updates, controls, next_snapshot: now, rejected };
        machine.update_controls();
        machine
    }

    /// What the source reads before each frame.
    pub(super) fn controls(&self) -> Arc<EncoderControls> {
        self.controls.clone()
    }

    fn update_controls(&self) {
        self.controls.set(self.sender.share(StreamId(0)).media, self.sender.should_skip());
    }

    fn update(&self, update: SenderUpdate) {
        // The session goes on if the application dropped its handle.
        let _ = self.updates.send(update);
    }

    fn after_input(&mut self, now: Timestamp) {
        while let Some(event) = self.sender.poll_event() {
            if matches!(event, SenderEvent::KeyFrameWanted { .. }) {
                self.controls.request_key_frame();
            }
            self.update(SenderUpdate::Event(now, SendEvent::Session(event)));
        }
        self.update_controls();
    }

    fn snapshot(&self, now: Timestamp) -> SenderSnapshot {
        let controller = self.sender.controller();
        let mut gauges = Vec::new();
        controller.inspect(&mut |gauge| gauges.push(gauge));
        let subflows = (0..controller.subflows()).map(|subflow| controller.allowance(Subflow(subflow)).rate);
        SenderSnapshot {
            at: now,
            statistics: self.sender.statistics(),
            allowance: subflows.sum(),
            target: controller.target().rate,
            phase: controller.phase(),
            gauges,
            backlog: self.sender.backlog(),
            rejected: self.rejected,
        }
    }

    fn execute(&mut self, now: Timestamp, command: SenderCommand) {
        match command {
            // The sender counts a frame that it cannot send.
            SenderCommand::Frame(frame) => drop(self.sender.handle_frame(now, &frame)),
            SenderCommand::FrameSkipped => self.sender.on_frame_skipped(now),
            SenderCommand::Limits(limits) => self.sender.on_limits(now, limits),
            SenderCommand::Control(control) => {
                let event = match self.sender.on_control(now, control.clone()) {
                    Ok(()) => SendEvent::ControlChanged(control),
                    Err(error) => SendEvent::ControlRejected(error),
                };
                self.update(SenderUpdate::Event(now, event));
            }
            SenderCommand::Paused(paused) => self.sender.on_paused(now, paused),
            SenderCommand::RouteChanged => self.sender.on_route_changed(now),
            SenderCommand::Close => self.sender.on_close(now),
        }
    }
}

impl Machine for SenderMachine {
    fn handle_datagram(&mut self, now: Timestamp, _socket: usize, datagram: &Incoming<'_>) {
        if datagram.from != self.to {
            self.rejected.unknown_source += 1;
            return;
        }
        if let Some(message) = self.rejected.decode(datagram) {
            self.sender.handle_message(now, datagram.at.min(now), &message);
        }
        self.after_input(now);
    }

    fn handle_wake(&mut self, now: Timestamp) {
        while let Ok(command) = self.commands.try_recv() {
            self.execute(now, command);
        }
        self.after_input(now);
    }

    fn handle_timeout(&mut self, now: Timestamp) {
        self.sender.handle_timeout(now);
        if self.next_snapshot <= now {
            self.next_snapshot = next_snapshot(self.next_snapshot, now);
            self.update(SenderUpdate::Snapshot(Box::new(self.snapshot(now))));
        }
        self.after_input(now);
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        self.sender.poll_timeout().into_iter().chain([self.next_snapshot]).min()
    }

    fn poll_datagram(&mut self, now: Timestamp, buffer: &mut Vec<u8>) -> Option<Outgoing> {
        let mut message = Message::default();
        let transmit = self.sender.poll_transmit(now, now, &mut message);
        let outgoing = transmit.map(|transmit| encode(&message, self.to, transmit.ecn, buffer));
        if outgoing.is_none() {
            self.after_input(now);
        }
        outgoing
    }
}
