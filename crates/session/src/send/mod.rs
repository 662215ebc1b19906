//! The sending endpoint.

pub(crate) mod pacer;
mod pushback;
mod queue;
mod reports;
mod rtcp;
mod scheduler;

use crate::clock::{MediaClock, earlier};
use crate::config::{FeedbackFormat, Limits, QueueLimits, SenderConfig, StreamConfig};
use crate::describe::SessionDescription;
use crate::event::{Events, KeyFrameCause, Observer, SenderEvent};
use crate::feedback::history::{History, LossTimes};
use crate::feedback::round_trip::RoundTrip;
use crate::frame::{Frame, FrameKind};
use crate::message::{Message, RtpPacket, Transmit};
use crate::packetise;
use crate::payload::Payload;
use crate::source_id::SourceId;
use crate::statistics::SenderStatistics;
use pushback::Pushback;
use queue::{Arriving, SendQueue};
use reports::Reports;
use rtcp::{Evidence, Peer};
use scheduler::{ActiveProbe, Transmission};
use seaway_control::{
    ControlSpec, Demand, FeedbackSource, FlowConfig, Lane, LocalSignal, PacketId, RateController, Share,
    SpecError, StreamId, TargetPolicy,
};
use seaway_units::{Bitrate, DataSize, TimeDelta, Timestamp};
use seaway_wire::Error;
use std::collections::VecDeque;

/// Octets of the original sequence number before a retransmitted payload (RFC 4588 section 4).
const ORIGINAL_SEQUENCE: usize = 2;
/// The sending endpoint: frames in, paced packets out, told by what comes back how fast.
///
/// A pure state machine. Its methods are getters; inputs (`handle_*`); commands (`on_*`); and questions
/// (`poll_*`), to be asked after each input until they have no answer. Time never runs back. What
/// [`poll_transmit`](Self::poll_transmit) gives leaves at the instant it was asked. An early or spurious
/// [`handle_timeout`](Self::handle_timeout) changes nothing.
#[derive(Debug)]
pub struct Sender {
    config: SenderConfig,
    clock: MediaClock,
    controller: Box<dyn RateController>,
    /// The first packet the controller knows of.
    controller_since: PacketId,
    policy: Box<dyn TargetPolicy>,
    shares: Vec<Share>,
    target: Option<seaway_control::Target>,
    queue: SendQueue,
    history: History,
    repairs: VecDeque<(Lane, PacketId)>,
    probe: Option<ActiveProbe>,
    schedule: Schedule,
    round_trip: RoundTrip,
    pushback: Pushback,
    peer: Peer,
    evidence: Evidence,
    reports: Reports,
    keys: Vec<KeyState>,
    /// The controller writes tags, which take room.
    tagged: bool,
    paused: bool,
    payloads: Vec<Payload>,
    events: Events<SenderEvent>,
    observer: Option<Box<dyn Observer>>,
    statistics: SenderStatistics,
}

/// The next timer and the next transmission, kept from one input or transmission to the next.
#[derive(Debug, Clone, Copy, Default)]
struct Schedule {
    is_valid: bool,
    /// When [`Sender::handle_timeout`] is wanted.
    timers: Option<Timestamp>,
    transmission: Option<Transmission>,
}

/// When a stream last had a key frame, and whether it owes one.
#[derive(Debug, Clone, Copy, Default)]
struct KeyState {
    last: Option<Timestamp>,
    wanted: bool,
}

impl Sender {
    /// A sender under the controller that the configuration names, its target split by `policy`.
    ///
    /// # Errors
    /// A controller or an option that does not exist, no streams or more than 8.
    pub fn new(
        now: Timestamp,
        config: SenderConfig,
        policy: Box<dyn TargetPolicy>,
    ) -> Result<Self, SpecError> {
        check(&config)?;
        let (controller, source) = config.registry.build(&config.control, flow_config(&config))?;
        let tagged = writes_tags(&config)?;
        Ok(Self::build(now, config, controller, source, policy, tagged))
    }

    /// A sender under a controller of the caller's own. Its configuration still names the built-in one whose
    /// receiving half serves it.
    ///
    /// # Errors
    /// A receiving half that does not exist, no streams or more than 8.
    pub fn with_controller(
        now: Timestamp,
        config: SenderConfig,
        controller: Box<dyn RateController>,
        policy: Box<dyn TargetPolicy>,
    ) -> Result<Self, SpecError> {
        check(&config)?;
        let (_, source) = config.registry.build(&config.control, flow_config(&config))?;
        Ok(Self::build(now, config, controller, source, policy, true))
    }

    fn build(
        now: Timestamp,
        mut config: SenderConfig,
        controller: Box<dyn RateController>,
        source: Box<dyn FeedbackSource>,
        policy: Box<dyn TargetPolicy>,
        tagged: bool,
    ) -> Self {
        let streams = config.streams.len();
        if let Some(time) = policy.queue() {
            config.queue = steered_queue(&config, time);
        }
        let mut sender = Self {
            clock: MediaClock { offset: config.timestamp_offset },
            controller,
            controller_since: PacketId(0),
            policy,
            shares: vec![Share::default(); streams],
            target: None,
            queue: SendQueue::new(config.queue, config.stripe, streams),
            history: History::new(config.feedback.has_arrivals(), config.repair.is_some()),
            repairs: VecDeque::new(),
            probe: None,
            schedule: Schedule::default(),
            round_trip: RoundTrip::default(),
            pushback: Pushback::new(config.pushback.filter(|_| config.feedback.has_arrivals())),
            peer: Peer::default(),
            evidence: Evidence::new(source),
            reports: Reports::new(now, config.endless),
            keys: vec![KeyState::default(); streams],
            tagged,
            paused: false,
            payloads: Vec::new(),
            events: Events::default(),
            observer: None,
            statistics: SenderStatistics::default(),
            config,
        };
        sender.on_limits(now, sender.config.limits);
        sender
    }

    /// What the sender did since the start.
    pub fn statistics(&self) -> SenderStatistics {
        let mut statistics = self.statistics;
        statistics.rtt = self.round_trip.smoothed();
        statistics.min_rtt = self.round_trip.minimum();
        statistics.refused.overflow += self.events.dropped();
        statistics
    }

    /// The controller, to look inside.
    pub fn controller(&self) -> &dyn RateController {
        self.controller.as_ref()
    }

    /// What an encoder may use now.
    pub fn share(&self, stream: StreamId) -> Share {
        self.shares.get(usize::from(stream.0)).copied().unwrap_or_default()
    }

    /// Wire octets that wait to leave.
    pub fn backlog(&self) -> DataSize {
        self.queue.waiting()
    }

    /// The smoothed round-trip time, `None` before the first sample.
    pub fn rtt(&self) -> Option<TimeDelta> {
        self.round_trip.smoothed()
    }

    /// The map from our clock to media timestamps: the timestamp of a frame's capture is its identity on the wire.
    pub fn media_clock(&self) -> MediaClock {
        self.clock
    }

    /// True where the source had better not encode the frame it has: what already waits takes half of what
    /// the send queue tolerates, or what is in flight takes far more than network queues may hold. Say so with [`on_frame_skipped`](Self::on_frame_skipped).
    pub fn should_skip(&self) -> bool {
        if self.paused || self.pushback.should_skip(self.history.flight(), self.round_trip.minimum()) {
            return true;
        }
        let Some(delay) = self.config.queue.delay else { return false };
        let drained = self.controller.target().rate.time_to_send(self.queue.waiting());
        drained.is_none_or(|drained| drained > delay / 2)
    }

    /// What the sender tells in-band, for a session description.
    pub fn description(&self) -> SessionDescription {
        SessionDescription {
            session: self.config.session,
            control: self.config.control.clone(),
            ecn: self.config.ecn,
            packet: self.config.packet,
            feedback: self.config.feedback,
            stripe: self.config.stripe,
            streams: self.config.streams.iter().map(|stream| stream.format).collect(),
        }
    }

    /// Lets `observer` look on from now.
    pub fn observe(&mut self, observer: Box<dyn Observer>) {
        self.observer = Some(observer);
    }

    /// A frame to be sent. It may be refused by the bounded send queue; the statistics tell.
    ///
    /// # Errors
    /// A stream that is not configured, or a frame that is not in its stream's format.
    pub fn handle_frame(&mut self, now: Timestamp, frame: &Frame) -> Result<(), Error> {
        self.schedule.is_valid = false;
        let stream = frame.stream;
        let Some(config) = self.config.streams.get(usize::from(stream.0)) else {
            let (seen, limit) = (stream.0.into(), self.config.streams.len().saturating_sub(1) as u64);
            return Err(Error::TooLarge { field: "stream", seen, limit });
        };
        let (format, interval) = (config.format, frame.interval);
        self.payloads.clear();
        // One that the whole queue would not hold is refused before it is cut: it may have any size.
        if frame.data.size() <= self.config.queue.size {
            packetise::cut(format, &frame.data, self.payload_limit(), &mut self.payloads)?;
        }
        self.statistics.frames.captured += 1;
        let timestamp = self.clock.timestamp(frame.captured);
        let arriving = Arriving { stream, kind: frame.kind, timestamp };
        if self.payloads.is_empty() || !self.queue.admits(now, arriving) {
            self.statistics.frames.skipped += 1;
            if frame.kind == FrameKind::Key {
                // Refused as well: it has to be asked for once more.
                self.keys[usize::from(stream.0)].wanted = false;
            }
            self.want_key_where_needed(now, stream);
        } else {
            self.statistics.frames.queued += 1;
            if frame.kind == FrameKind::Key {
                self.keys[usize::from(stream.0)] = KeyState { last: Some(now), wanted: false };
            }
            let header = self.header_len();
            let overhead = self.config.overhead;
            let size = |payload: &Payload| overhead + DataSize::from_bytes((header + payload.len()) as u64);
            let sized = self.payloads.drain(..).map(|payload| {
                let size = size(&payload);
                (payload, size)
            });
            self.queue.set_lanes(self.controller.lanes());
            self.queue.push(now, arriving, sized);
        }
        let (size, target) = (frame.data.size(), frame.target);
        self.controller.on_signal(now, LocalSignal::Frame { stream, size, target, interval });
        self.tell_backlog(now);
        self.tell_demand(now, stream);
        self.follow_controller(now);
        Ok(())
    }

    /// The instant named by [`poll_timeout`](Self::poll_timeout) has come.
    #[inline]
    pub fn handle_timeout(&mut self, now: Timestamp) {
        self.ensure_schedule();
        if self.schedule.timers.is_some_and(|due| due <= now) {
            self.handle_due(now);
        }
    }

    fn handle_due(&mut self, now: Timestamp) {
        self.schedule.is_valid = false;
        if self.controller.poll_timeout().is_some_and(|due| due <= now) {
            self.controller.handle_timeout(now);
        }
        if self.policy.poll_timeout().is_some_and(|due| due <= now) {
            self.policy.handle_timeout(now);
            self.follow_shares();
        }
        if self.history.next_loss(self.loss_times()).is_some_and(|due| due <= now) {
            self.conclude(now);
        }
        self.drop_stale(now);
        self.follow_controller(now);
    }

    /// The source has a frame and does not encode it.
    pub fn on_frame_skipped(&mut self, _now: Timestamp) {
        self.statistics.frames.captured += 1;
        self.statistics.frames.skipped += 1;
    }

    /// The range of the rate changed.
    pub fn on_limits(&mut self, now: Timestamp, limits: Limits) {
        self.schedule.is_valid = false;
        self.config.limits = limits;
        let Limits { min, start, max } = limits;
        self.controller.on_signal(now, LocalSignal::Limits { min, start, max });
        for index in 0..self.config.streams.len() {
            self.tell_demand(now, StreamId(index as u8));
        }
        self.follow_controller(now);
        self.follow_shares();
    }

    /// The source falls silent on purpose, or speaks again.
    pub fn on_paused(&mut self, now: Timestamp, paused: bool) {
        self.paused = paused;
        self.signal(now, LocalSignal::Paused(paused));
    }

    /// The path changed: what is known of its delay is worth nothing any more.
    pub fn on_route_changed(&mut self, now: Timestamp) {
        self.round_trip = RoundTrip::default();
        self.signal(now, LocalSignal::RouteChanged);
    }

    /// What the first hop says of itself.
    pub fn on_link_hint(&mut self, now: Timestamp, rate: Bitrate, attempts: f32) {
        self.signal(now, LocalSignal::LinkHint { rate, attempts });
    }

    /// Another controller takes over; the stream goes on, and the receiver is told.
    ///
    /// # Errors
    /// A controller or an option that does not exist: nothing changes then.
    pub fn on_control(&mut self, now: Timestamp, control: ControlSpec) -> Result<(), SpecError> {
        self.schedule.is_valid = false;
        let (controller, source) = self.config.registry.build(&control, flow_config(&self.config))?;
        self.config.control = control;
        self.tagged = writes_tags(&self.config)?;
        self.controller = controller;
        self.controller_since = self.history.next_id();
        self.evidence = Evidence::new(source);
        self.probe = None;
        self.reports.announce_at(now);
        self.on_limits(now, self.config.limits);
        Ok(())
    }

    /// The session ends: a goodbye leaves with the next packet that is polled.
    pub fn on_close(&mut self, now: Timestamp) {
        self.reports.close(now);
    }

    /// The next packet, its content written over `message`: one that leaves at `now`, or one that the pacer releases
    /// before `until` and before any timer of the sender. Time has then advanced to its [`Transmit::at`].
    ///
    /// A driver in real time gives `now` for `until`. One that looks ahead gives a later instant; it then gets `None`
    /// where [`handle_timeout`](Self::handle_timeout) is due first.
    #[inline]
    pub fn poll_transmit(
        &mut self,
        now: Timestamp,
        until: Timestamp,
        message: &mut Message,
    ) -> Option<Transmit> {
        let looks_ahead = now < until;
        let timer_is_first =
            |schedule: &Schedule| looks_ahead && schedule.timers.is_some_and(|due| due <= now);
        if self.schedule.is_valid && timer_is_first(&self.schedule) {
            return None;
        }
        if self.reports.is_due(now) {
            return Some(self.report(now, message));
        }
        loop {
            self.update_schedule(now);
            if timer_is_first(&self.schedule) {
                return None;
            }
            let next = self.schedule.transmission?;
            let at = next.due.max(now);
            let is_before = |other: Option<Timestamp>| other.is_none_or(|other| at < other);
            let is_first = || at < until && is_before(self.schedule.timers) && is_before(self.reports.due());
            if at > now && !is_first() {
                return None;
            }
            // A packet to retransmit may have been forgotten.
            if let Some(transmit) = self.send(at, next, message) {
                return Some(transmit);
            }
        }
    }

    /// The next event that was not read.
    #[inline]
    pub fn poll_event(&mut self) -> Option<SenderEvent> {
        self.events.pop()
    }

    /// When the sender wants to be woken, by [`handle_timeout`](Self::handle_timeout) and then by
    /// [`poll_transmit`](Self::poll_transmit).
    #[inline]
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        let schedule = if self.schedule.is_valid { self.schedule } else { self.compute_schedule() };
        let transmission = schedule.transmission.map(|next| next.due);
        earlier(earlier(schedule.timers, transmission), self.reports.due())
    }

    /// Drops stale frames and starts the controller's probe before the schedule is computed.
    #[inline]
    fn update_schedule(&mut self, now: Timestamp) {
        if !self.schedule.is_valid || self.schedule.timers.is_some_and(|due| due <= now) {
            self.drop_stale(now);
            self.begin_probe(now);
            self.ensure_schedule();
        }
    }

    #[inline]
    fn ensure_schedule(&mut self) {
        if !self.schedule.is_valid {
            self.schedule = self.compute_schedule();
        }
    }

    #[inline]
    fn compute_schedule(&self) -> Schedule {
        Schedule { is_valid: true, timers: self.timers(), transmission: self.next_transmission() }
    }

    #[inline]
    fn timers(&self) -> Option<Timestamp> {
        let (controller, policy) = (self.controller.poll_timeout(), self.policy.poll_timeout());
        let loss =
            self.config.feedback.has_arrivals().then(|| self.history.next_loss(self.loss_times())).flatten();
        earlier(earlier(controller, policy), earlier(loss, self.queue.stale_at()))
    }

    fn signal(&mut self, now: Timestamp, signal: LocalSignal) {
        self.schedule.is_valid = false;
        self.controller.on_signal(now, signal);
        self.follow_controller(now);
    }

    fn tell_backlog(&mut self, now: Timestamp) {
        let (waiting, oldest) = (self.queue.waiting(), self.queue.oldest(now));
        self.controller.on_signal(now, LocalSignal::Backlog { waiting, oldest });
    }

    /// With each frame that comes, leaves whole or is dropped: a share that was cut for what waited must be whole again
    /// when that is gone, or an encoder told to code nothing would never hand in the frame that frees it.
    fn tell_demand(&mut self, now: Timestamp, stream: StreamId) {
        let Some(config) = self.config.streams.get(usize::from(stream.0)) else { return };
        let backlog = self.queue.waiting_of(stream);
        let max = config.max.min(self.config.limits.max);
        self.policy.on_demand(now, stream, Demand { weight: config.weight, min: config.min, max, backlog });
        self.follow_shares();
    }

    /// After each input: what the controller decided goes to the policy, the driver and the queues.
    #[inline]
    fn follow_controller(&mut self, now: Timestamp) {
        while let Some(decision) = self.controller.poll_decision() {
            self.statistics.decisions += 1;
            self.events.push(SenderEvent::Decision(decision));
        }
        let target = self.controller.target();
        if self.target != Some(target) {
            self.target = Some(target);
            self.policy.on_target(now, target);
            self.follow_shares();
        }
    }

    fn follow_shares(&mut self) {
        let target = self.controller.target().rate;
        for (index, known) in self.shares.iter_mut().enumerate() {
            let stream = StreamId(index as u8);
            let share = self.pushback.apply(self.policy.share(stream), target);
            if share != *known {
                *known = share;
                self.events.push(SenderEvent::Share { stream, share });
            }
        }
    }

    /// Asks an encoder for a key frame, unless one is on its way already.
    fn want_key(&mut self, now: Timestamp, stream: StreamId, cause: KeyFrameCause) {
        let rtt = self.round_trip.smoothed().unwrap_or(TimeDelta::from_millis(100));
        let Some(state) = self.keys.get_mut(usize::from(stream.0)) else { return };
        let fresh = state.last.is_some_and(|last| now.since(last) < rtt);
        let on_its_way = fresh && cause != KeyFrameCause::Dropped;
        if !state.wanted && !on_its_way {
            state.wanted = true;
            self.events.push(SenderEvent::KeyFrameWanted { stream, cause });
        }
    }

    fn want_key_where_needed(&mut self, now: Timestamp, stream: StreamId) {
        if self.queue.needs_key(stream) && self.queue.has_room() {
            self.want_key(now, stream, KeyFrameCause::Dropped);
        }
    }

    #[inline]
    fn drop_stale(&mut self, now: Timestamp) {
        if self.queue.stale_at().is_some_and(|stale| stale <= now) {
            self.drop_stale_frames(now);
        }
    }

    fn drop_stale_frames(&mut self, now: Timestamp) {
        let dropped = self.queue.drop_stale(now);
        if dropped.frames == 0 {
            return;
        }
        self.schedule.is_valid = false;
        self.statistics.frames.skipped += dropped.frames;
        self.statistics.frames.queued -= dropped.frames;
        self.events.push(SenderEvent::FramesDropped { frames: dropped.frames });
        for stream in (0..SourceId::STREAMS).filter(|stream| dropped.need_key >> stream & 1 == 1) {
            self.want_key(now, StreamId(stream), KeyFrameCause::Dropped);
        }
        self.tell_backlog(now);
        for index in 0..self.config.streams.len() {
            self.tell_demand(now, StreamId(index as u8));
        }
    }

    /// Octets before the payload of a media packet.
    fn header_len(&self) -> usize {
        RtpPacket::header_len(self.tagged, true, self.config.feedback == FeedbackFormat::Twcc)
    }

    /// Octets of payload that fit the packet size, twice if it has to be repeated.
    pub fn payload_limit(&self) -> usize {
        let repair = if self.config.repair.is_some() { ORIGINAL_SEQUENCE } else { 0 };
        self.room().saturating_sub(self.header_len() + repair).max(1)
    }

    /// Octets of a UDP payload that fit the packet size.
    fn room(&self) -> usize {
        self.config.packet.saturating_sub(self.config.overhead).as_bytes() as usize
    }

    fn loss_times(&self) -> LossTimes {
        let every = self.peer.feedback_interval();
        let (reorder, silence) = match self.round_trip.smoothed() {
            Some(rtt) => (rtt.max(every * 2), rtt * 4 + every * 2),
            None => (TimeDelta::from_millis(200), TimeDelta::from_secs(3)),
        };
        let bounded = |span: TimeDelta, low, high| {
            span.max(TimeDelta::from_millis(low)).min(TimeDelta::from_millis(high))
        };
        LossTimes { reorder: bounded(reorder, 20, 500), silence: bounded(silence, 1000, 4000) }
    }

    fn lanes(&self) -> impl Iterator<Item = Lane> + use<> {
        (0..self.controller.lanes().clamp(1, SourceId::LANES)).map(Lane)
    }
}

/// The queue of a policy that steers it: so much time of what the encoders could use in all.
fn steered_queue(config: &SenderConfig, time: TimeDelta) -> QueueLimits {
    let full = |stream: &StreamConfig| stream.max.min(config.limits.max).as_bps_f64();
    let bits = config.streams.iter().map(full).sum::<f64>() * time.as_secs_f64();
    let bytes = (bits / 8.0).min(MOST_STEERED) as u64;
    QueueLimits { delay: None, size: DataSize::from_bytes(bytes) }
}

/// A steered queue holds no more octets, whatever the rates.
const MOST_STEERED: f64 = 256e6;

fn check(config: &SenderConfig) -> Result<(), SpecError> {
    let count = config.streams.len();
    if (1..=usize::from(SourceId::STREAMS)).contains(&count) {
        return Ok(());
    }
    Err(SpecError::new(&count.to_string(), format!("a session has 1 to {} streams", SourceId::STREAMS)))
}

fn flow_config(config: &SenderConfig) -> FlowConfig {
    FlowConfig { packet: config.packet, ecn: config.ecn }
}

/// Whether the controller writes tags on packets.
fn writes_tags(config: &SenderConfig) -> Result<bool, SpecError> {
    config.registry.requirements(&config.control).map(|requirements| requirements.tags)
}
