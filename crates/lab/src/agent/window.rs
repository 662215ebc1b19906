//! The ends of a flow over S002's transport.

use crate::activity::Activity;
use crate::agent::PORT;
use crate::cargo::Cargo;
use crate::record::Tag;
use crate::scenario::WindowFlow;
use crate::window::Window;
use bytes::Bytes;
use seaway_link::{Node, Packet, Port};
use seaway_session::OVERHEAD_IPV4;
use seaway_session::window::{
    ClientConfig, ClientStatistics, WindowClient, WindowSender, WindowSenderConfig, WindowSenderStatistics,
};
use seaway_units::{DataSize, Ecn, TimeDelta, Timestamp};

/// Frames of one size at a constant rate into the window.
#[derive(Debug)]
pub(crate) struct WindowSource {
    tag: Tag,
    sender: WindowSender,
    activity: Activity,
    frame: Bytes,
    interval: TimeDelta,
    due: Option<Timestamp>,
    window: Window<Sent>,
    captured: u64,
    buffer: Vec<u8>,
}

/// What the sending end counted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sent {
    pub(crate) captured: u64,
    pub(crate) sender: WindowSenderStatistics,
}

impl WindowSource {
    pub(crate) fn new(
        tag: Tag,
        flow: WindowFlow,
        activity: Activity,
        window: (Timestamp, Timestamp),
    ) -> Self {
        let octets = |span: f64| (flow.rate.as_bytes_per_second() * span) as u64;
        let fifo = DataSize::from_bytes(octets(flow.fifo.as_secs_f64()));
        Self {
            tag,
            sender: WindowSender::new(WindowSenderConfig::new(fifo)),
            due: activity.next_on(Timestamp::ZERO),
            activity,
            frame: Bytes::from(vec![0; octets(1.0 / flow.fps).max(1) as usize]),
            interval: TimeDelta::from_secs_f64(1.0 / flow.fps),
            window: Window::new(window),
            captured: 0,
            buffer: Vec::new(),
        }
    }

    /// What it did up to the beginning and up to the end of the time it is measured.
    pub(crate) fn measured(&self) -> (Sent, Sent) {
        self.window.ends(|| self.counters())
    }

    fn counters(&self) -> Sent {
        Sent { captured: self.captured, sender: self.sender.statistics() }
    }

    fn before_input(&mut self, now: Timestamp) {
        let counters = self.counters();
        self.window.look(now, || counters);
    }
}

impl Node<Cargo> for WindowSource {
    fn handle_packet(&mut self, now: Timestamp, _port: Port, packet: Packet<Cargo>) {
        self.before_input(now);
        if let Cargo::Octets(octets) = packet.payload {
            self.sender.handle_answer(now, &octets);
        }
    }

    fn handle_timeout(&mut self, now: Timestamp) {
        self.before_input(now);
        self.sender.handle_timeout(now);
        while let Some(due) = self.due.filter(|due| *due <= now) {
            self.captured += 1;
            self.sender.on_frame(due - Timestamp::ZERO, &self.frame);
            self.due = self.activity.next_on(due + self.interval);
        }
    }

    fn poll_packet(&mut self, now: Timestamp) -> Option<(Port, Packet<Cargo>)> {
        self.buffer.clear();
        let size = self.sender.poll_datagram(now, &mut self.buffer)?;
        let cargo = Cargo::Octets(Box::new(Bytes::copy_from_slice(&self.buffer)));
        Some((PORT, Packet { flow: self.tag.number(), ..Packet::new(size, Ecn::NotEct, cargo) }))
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        [self.due, self.sender.poll_timeout()].into_iter().flatten().min()
    }
}

/// Where the frames are shown.
#[derive(Debug)]
pub(crate) struct WindowSink {
    tag: Tag,
    client: WindowClient,
    window: Window<ClientStatistics>,
}

impl WindowSink {
    pub(crate) fn new(tag: Tag, flow: WindowFlow, window: (Timestamp, Timestamp)) -> Self {
        let client = WindowClient::new(ClientConfig::new(flow.buffer));
        Self { tag, client, window: Window::new(window) }
    }

    /// What it did up to the beginning and up to the end of the time it is measured.
    pub(crate) fn measured(&self) -> (ClientStatistics, ClientStatistics) {
        self.window.ends(|| self.client.statistics())
    }

    fn before_input(&mut self, now: Timestamp) {
        let client = &self.client;
        self.window.look(now, || client.statistics());
    }
}

impl Node<Cargo> for WindowSink {
    fn handle_packet(&mut self, now: Timestamp, _port: Port, packet: Packet<Cargo>) {
        self.before_input(now);
        if let Cargo::Octets(octets) = &packet.payload {
            self.client.handle_datagram(now, octets);
        }
    }

    fn handle_timeout(&mut self, now: Timestamp) {
        self.before_input(now);
        self.client.handle_timeout(now);
        // Nobody looks at the pictures: they have no content.
        while self.client.poll_frame().is_some() {}
    }

    fn poll_packet(&mut self, _now: Timestamp) -> Option<(Port, Packet<Cargo>)> {
        let answer = self.client.poll_answer()?;
        let size = OVERHEAD_IPV4 + DataSize::from_bytes(answer.len() as u64);
        let packet = Packet::new(size, Ecn::NotEct, Cargo::Octets(Box::new(answer)));
        Some((PORT, Packet { flow: self.tag.number(), ..packet }))
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        self.client.poll_timeout()
    }
}
