//! The ends of a flow over S002's transport.

use crate::agent::{Endpoint, PORT};
use crate::interval::IntervalCounters;
use crate::payload::{Content, Payload};
use crate::scenario::OnOffSchedule;
use crate::scenario::WindowFlow;
use crate::tag::Tag;
use bytes::Bytes;
use seaway_control::policy::{self, Demand, TargetPolicy};
use seaway_control::{SpecError, StreamId};
use seaway_link::{Outbox, Packet, Wake};
use seaway_media::shaped::ShapedClip;
use seaway_session::OVERHEAD_IPV4;
use seaway_session::window::{
    ClientConfig, ClientStatistics, WindowClient, WindowSender, WindowSenderConfig, WindowSenderStatistics,
};
use seaway_units::{Bitrate, DataSize, Ecn, TimeDelta, Timestamp};

/// The only stream.
const STREAM: StreamId = StreamId(0);

/// Frames into the send window: of one size, or as the policy wants them.
#[derive(Debug)]
pub(crate) struct WindowSource {
    tag: Tag,
    sender: WindowSender,
    schedule: OnOffSchedule,
    /// What steers the rate, where it is steered.
    policy: Option<Box<dyn TargetPolicy>>,
    /// What the frames take at most.
    full: Bitrate,
    frames: WindowFrames,
    due: Option<Timestamp>,
    counted: IntervalCounters<Sent>,
    captured: u64,
    buffer: Vec<u8>,
}

/// What is sent.
#[derive(Debug)]
pub(crate) enum WindowFrames {
    /// Frames of one size.
    Even {
        /// One at the full rate.
        frame: Bytes,
        fps: f64,
    },
    /// Pictures of a coded stream, shaped to the rate.
    Shaped(Box<ShapedClip>),
}

impl WindowFrames {
    /// Frames of one size.
    pub(crate) fn even(rate: Bitrate, fps: f64) -> Self {
        let octets = (rate.as_bytes_per_second() * (1.0 / fps)) as usize;
        Self::Even { frame: Bytes::from(vec![0; octets.max(1)]), fps }
    }

    fn interval(&self) -> TimeDelta {
        match self {
            Self::Even { fps, .. } => TimeDelta::from_secs_f64(1.0 / fps),
            Self::Shaped(clip) => clip.interval(),
        }
    }

    /// What they take where nothing holds them back, at most `limit`.
    fn full_rate(&self, limit: Bitrate) -> Bitrate {
        match self {
            Self::Even { .. } => limit,
            Self::Shaped(clip) => clip.full_rate().min(limit),
        }
    }

    /// The next one at that rate.
    fn next(&mut self, rate: Bitrate) -> Bytes {
        match self {
            Self::Even { frame, fps } => {
                let octets = (rate.as_bytes_per_second() / *fps) as usize;
                frame.slice(..octets.clamp(1, frame.len()))
            }
            Self::Shaped(clip) => {
                clip.set_rate(rate);
                clip.next_frame().octets.into()
            }
        }
    }
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
        flow: &WindowFlow,
        frames: WindowFrames,
        schedule: OnOffSchedule,
        interval: (Timestamp, Timestamp),
    ) -> Result<Self, SpecError> {
        let full = frames.full_rate(flow.rate);
        let fifo = (full.as_bytes_per_second() * flow.fifo.as_secs_f64()) as u64;
        Ok(Self {
            tag,
            policy: flow.policy.as_ref().map(policy::build).transpose()?,
            full,
            sender: WindowSender::new(WindowSenderConfig::new(DataSize::from_bytes(fifo))),
            due: schedule.next_on(Timestamp::ZERO),
            schedule,
            frames,
            counted: IntervalCounters::new(interval),
            captured: 0,
            buffer: Vec::new(),
        })
    }

    /// What the frames take now.
    pub(crate) fn rate(&self) -> Bitrate {
        self.policy.as_ref().map_or(self.full, |policy| policy.share(STREAM).media.min(self.full))
    }

    /// What waits in the FIFO.
    pub(crate) fn occupancy(&self) -> DataSize {
        self.sender.occupancy()
    }

    /// Frames that the FIFO had no room for.
    pub(crate) fn refused(&self) -> u64 {
        self.sender.statistics().refused_frames
    }

    /// Reports the FIFO's occupancy to the policy.
    fn steer(&mut self, now: Timestamp) {
        let Some(policy) = &mut self.policy else { return };
        let demand = Demand { backlog: self.sender.occupancy(), ..Demand::new(self.full) };
        policy.on_demand(now, STREAM, demand);
        if policy.poll_timeout().is_some_and(|at| at <= now) {
            policy.handle_timeout(now);
        }
    }

    /// Before the first frame there is nothing to steer.
    fn steer_if_begun(&mut self, now: Timestamp) {
        if self.captured > 0 {
            self.steer(now);
        }
    }

    fn capture(&mut self, due: Timestamp) {
        let frame = self.frames.next(self.rate());
        self.captured += 1;
        self.sender.on_frame(due, due - Timestamp::ZERO, &frame);
    }

    /// What it did up to the beginning and up to the end of the time it is measured.
    pub(crate) fn measured(&self) -> (Sent, Sent) {
        self.counted.at_ends(|| self.counters())
    }

    fn counters(&self) -> Sent {
        Sent { captured: self.captured, sender: self.sender.statistics() }
    }

    fn before_input(&mut self, now: Timestamp) {
        let counters = self.counters();
        self.counted.sample(now, || counters);
    }

    fn next_timeout(&self) -> Option<Timestamp> {
        let policy = self.policy.as_ref().and_then(|policy| policy.poll_timeout());
        [self.due, self.sender.poll_timeout(), policy].into_iter().flatten().min()
    }
}

impl Endpoint for WindowSource {
    fn handle_packet(&mut self, now: Timestamp, packet: Packet<Payload>) {
        self.before_input(now);
        if let Some(Content::Bytes(octets)) = packet.payload.content() {
            self.sender.handle_answer(now, octets);
        }
        self.steer_if_begun(now);
    }

    fn handle_timeout(&mut self, now: Timestamp) {
        if self.next_timeout().is_none_or(|timeout| now < timeout) {
            return;
        }
        self.before_input(now);
        self.sender.handle_timeout(now);
        while let Some(due) = self.due.filter(|due| *due <= now) {
            self.steer(now);
            self.capture(due);
            self.due = self.schedule.next_on(due + self.frames.interval());
        }
        self.steer_if_begun(now);
    }

    fn transmit(&mut self, now: Timestamp, _until: Timestamp, out: &mut Outbox<Payload>) -> Wake {
        self.buffer.clear();
        while let Some(size) = self.sender.poll_datagram(now, &mut self.buffer) {
            self.steer_if_begun(now);
            let payload = Payload::of_bytes(Bytes::copy_from_slice(&self.buffer));
            out.send(
                now,
                PORT,
                Packet { flow: self.tag.number(), ..Packet::new(size, Ecn::NotEct, payload) },
            );
            self.buffer.clear();
        }
        self.next_timeout()
    }
}

/// Where the frames are shown.
#[derive(Debug)]
pub(crate) struct WindowSink {
    tag: Tag,
    client: WindowClient,
    counted: IntervalCounters<ClientStatistics>,
}

impl WindowSink {
    pub(crate) fn new(tag: Tag, flow: &WindowFlow, interval: (Timestamp, Timestamp)) -> Self {
        let client = WindowClient::new(ClientConfig::new(flow.buffer));
        Self { tag, client, counted: IntervalCounters::new(interval) }
    }

    /// What it did up to the beginning and up to the end of the time it is measured.
    pub(crate) fn measured(&self) -> (ClientStatistics, ClientStatistics) {
        self.counted.at_ends(|| self.client.statistics())
    }

    fn before_input(&mut self, now: Timestamp) {
        let client = &self.client;
        self.counted.sample(now, || client.statistics());
    }
}

impl Endpoint for WindowSink {
    fn handle_packet(&mut self, now: Timestamp, packet: Packet<Payload>) {
        self.before_input(now);
        if let Some(Content::Bytes(octets)) = packet.payload.content() {
            self.client.handle_datagram(now, octets);
        }
    }

    fn handle_timeout(&mut self, now: Timestamp) {
        if self.client.poll_timeout().is_none_or(|timeout| now < timeout) {
            return;
        }
        self.before_input(now);
        self.client.handle_timeout(now);
        // The frames have no content to display.
        while self.client.poll_frame().is_some() {}
    }

    fn transmit(&mut self, now: Timestamp, _until: Timestamp, out: &mut Outbox<Payload>) -> Wake {
        while let Some(answer) = self.client.poll_answer() {
            let size = OVERHEAD_IPV4 + DataSize::from_bytes(answer.len() as u64);
            let packet = Packet::new(size, Ecn::NotEct, Payload::of_bytes(answer));
            out.send(now, PORT, Packet { flow: self.tag.number(), ..packet });
        }
        self.client.poll_timeout()
    }
}
