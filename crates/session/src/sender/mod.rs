//! The sending endpoint.

mod evidence;
mod history;
mod log;
mod pacer;
mod pushback;
mod queue;
mod reports;
mod round_trip;

use crate::announcement::Announcement;
use crate::clock::MediaClock;
use crate::config::{FeedbackFormat, Limits, SenderConfig};
use crate::event::{Events, KeyFrameCause, Observer, SenderEvent};
use crate::frame::{Frame, FrameKind};
use crate::message::{ControlData, Message, RtpPacket, Transmit, payload_type};
use crate::packetise;
use crate::payload::Payload;
use crate::source::SourceId;
use crate::statistics::SenderStatistics;
use evidence::{Evidence, Peer};
use history::{History, LossTimes, Stored, Written};
use pacer::Pacer;
use pushback::Pushback;
use queue::{Arriving, Queued, SendQueue};
use reports::Reports;
use round_trip::RoundTrip;
use seaway_control::registry::{self, AnyController, AnyFeedbackSource, Setting};
use seaway_control::{
    Allowance, Content, ControlSpec, Demand, Lane, LocalSignal, PacketId, PacketReport, ProbeId,
    RateController, SentPacket, Share, SpecError, Stamp, StreamId, TargetPolicy,
};
use seaway_units::{Bitrate, DataSize, TimeDelta, Timestamp};
use seaway_wire::extension::FrameMarking;
use seaway_wire::{Error, MicrosClock};
use std::collections::VecDeque;

/// Octets of the original sequence number before a retransmitted payload (RFC 4588 section 4).
const ORIGINAL_SEQUENCE: usize = 2;
/// Requests that wait to be served.
const REPAIRS: usize = 4096;

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

/// A probe that is leaving.
#[derive(Debug)]
struct ActiveProbe {
    id: ProbeId,
    allowance: Allowance,
    size_left: DataSize,
    packets_left: u8,
    pacer: Pacer,
}

/// When a stream last had a key frame, and whether it owes one.
#[derive(Debug, Clone, Copy, Default)]
struct KeyState {
    last: Option<Timestamp>,
    wanted: bool,
}

/// What leaves next.
#[derive(Debug, Clone, Copy)]
enum Departure {
    Repair(PacketId),
    Media,
    Padding,
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
        let (controller, source) = registry::build(&config.control, setting(&config))?;
        let tagged = writes_tags(&controller, now);
        Ok(Self::build(now, config, Box::new(controller), source, policy, tagged))
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
        let (_, source) = registry::build(&config.control, setting(&config))?;
        Ok(Self::build(now, config, controller, source, policy, true))
    }

    fn build(
        now: Timestamp,
        config: SenderConfig,
        controller: Box<dyn RateController>,
        source: AnyFeedbackSource,
        policy: Box<dyn TargetPolicy>,
        tagged: bool,
    ) -> Self {
        let streams = config.streams.len();
        let mut sender = Self {
            clock: MediaClock { offset: config.timestamp_offset },
            controller,
            controller_since: PacketId(0),
            policy,
            shares: vec![Share::default(); streams],
            target: None,
            queue: SendQueue::new(config.queue, config.stripe, streams),
            history: History::default(),
            repairs: VecDeque::new(),
            probe: None,
            round_trip: RoundTrip::default(),
            pushback: Pushback::new(config.pushback),
            peer: Peer::default(),
            evidence: Evidence::new(source),
            reports: Reports::new(now),
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
    pub fn announcement(&self) -> Announcement {
        Announcement {
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
        let stream = frame.stream;
        let Some(config) = self.config.streams.get(usize::from(stream.0)) else {
            let (seen, limit) = (stream.0.into(), self.config.streams.len().saturating_sub(1) as u64);
            return Err(Error::TooLarge { field: "stream", seen, limit });
        };
        let (format, interval) = (config.format, frame.interval);
        self.payloads.clear();
        packetise::cut(format, &frame.data, self.payload_limit(), &mut self.payloads)?;
        self.statistics.frames.captured += 1;
        let timestamp = self.clock.timestamp(frame.captured);
        let arriving = Arriving { stream, kind: frame.kind, timestamp };
        if self.payloads.is_empty() || !self.queue.admits(now, arriving) {
            self.statistics.frames.skipped += 1;
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
    pub fn handle_timeout(&mut self, now: Timestamp) {
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
        let (controller, source) = registry::build(&control, setting(&self.config))?;
        self.tagged = writes_tags(&controller, now);
        self.config.control = control;
        self.controller = Box::new(controller);
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

    /// The packet that leaves now.
    pub fn poll_transmit(&mut self, now: Timestamp) -> Option<Transmit> {
        if let Some(transmit) = self.poll_report(now) {
            return Some(transmit);
        }
        self.drop_stale(now);
        self.begin_probe(now);
        let (lane, departure) = self.next_departure(now)?;
        self.depart(now, lane, departure)
    }

    /// The next event that was not read.
    pub fn poll_event(&mut self) -> Option<SenderEvent> {
        self.events.pop()
    }

    /// When the sender wants to be woken, by [`handle_timeout`](Self::handle_timeout) and then by
    /// [`poll_transmit`](Self::poll_transmit).
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        let pacing = match &self.probe {
            Some(probe) => probe.pacer.due(probe.allowance),
            None => self.lanes().filter_map(|lane| Some(self.departure(lane)?.0)).min(),
        };
        [
            self.controller.poll_timeout(),
            self.policy.poll_timeout(),
            self.history.next_loss(self.loss_times()),
            self.queue.stale_at(),
            self.reports.due(),
            pacing,
        ]
        .into_iter()
        .flatten()
        .min()
    }

    fn signal(&mut self, now: Timestamp, signal: LocalSignal) {
        self.controller.on_signal(now, signal);
        self.follow_controller(now);
    }

    fn tell_backlog(&mut self, now: Timestamp) {
        let (waiting, oldest) = (self.queue.waiting(), self.queue.oldest(now));
        self.controller.on_signal(now, LocalSignal::Backlog { waiting, oldest });
    }

    fn tell_demand(&mut self, now: Timestamp, stream: StreamId) {
        let Some(config) = self.config.streams.get(usize::from(stream.0)) else { return };
        let backlog = self.queue.waiting_of(stream);
        let max = config.max.min(self.config.limits.max);
        self.policy.on_demand(now, stream, Demand { weight: config.weight, min: config.min, max, backlog });
    }

    /// After each input: what the controller decided goes to the policy, the driver and the queues.
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
        if self.queue.needs_key(stream) {
            self.want_key(now, stream, KeyFrameCause::Dropped);
        }
    }

    fn drop_stale(&mut self, now: Timestamp) {
        let dropped = self.queue.drop_stale(now);
        if dropped.frames == 0 {
            return;
        }
        self.statistics.frames.skipped += dropped.frames;
        self.statistics.frames.queued -= dropped.frames;
        self.events.push(SenderEvent::FramesDropped { frames: dropped.frames });
        for stream in (0..SourceId::STREAMS).filter(|stream| dropped.need_key >> stream & 1 == 1) {
            self.want_key(now, StreamId(stream), KeyFrameCause::Dropped);
        }
        self.tell_backlog(now);
    }

    /// Octets before the payload of a media packet.
    fn header_len(&self) -> usize {
        RtpPacket::header_len(self.tagged, true, self.config.feedback == FeedbackFormat::Twcc)
    }

    /// Octets of payload that fit the packet size, twice if it has to be repeated.
    pub fn payload_limit(&self) -> usize {
        let repair = if self.config.repair.is_some() { ORIGINAL_SEQUENCE } else { 0 };
        let whole = self.config.packet.saturating_sub(self.config.overhead).as_bytes() as usize;
        whole.saturating_sub(self.header_len() + repair).max(1)
    }

    fn loss_times(&self) -> LossTimes {
        let every = self.peer.feedback_every();
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

    /// What a lane has to send, repair first, and its size; repairs of a lane that is gone go by another.
    fn content(&self, lane: Lane) -> Option<(Departure, DataSize)> {
        let lanes = self.controller.lanes().max(1);
        let repair = self.repairs.iter().find(|(of, _)| of.0 % lanes == lane.0);
        if let Some(&(_, id)) = repair {
            return Some((Departure::Repair(id), self.config.packet));
        }
        self.queue.front(lane).map(|queued| (Departure::Media, queued.size))
    }

    /// When a lane's next packet is due and what it is; `None` where nothing waits or may leave.
    fn departure(&self, lane: Lane) -> Option<(Timestamp, Departure)> {
        let (departure, size) = self.content(lane)?;
        let allowance = self.controller.allowance(lane);
        if allowance.window.is_some_and(|window| size > window) {
            return None;
        }
        Some((self.history.pacer(lane).due(allowance)?, departure))
    }

    fn next_departure(&mut self, now: Timestamp) -> Option<(Lane, Departure)> {
        if let Some(probe) = &self.probe {
            if probe.pacer.due(probe.allowance)? > now {
                return None;
            }
            let busy = self.lanes().find_map(|lane| Some((lane, self.content(lane)?.0)));
            return Some(busy.unwrap_or((Lane(0), Departure::Padding)));
        }
        let due = self.lanes().filter_map(|lane| self.departure(lane).map(|(due, what)| (due, lane, what)));
        let (due, lane, what) = due.min_by_key(|(due, lane, _)| (*due, *lane))?;
        (due <= now).then_some((lane, what))
    }

    fn begin_probe(&mut self, now: Timestamp) {
        if self.probe.is_none() && !self.paused {
            self.probe = self.controller.poll_probe(now).map(|probe| ActiveProbe {
                id: probe.id,
                allowance: Allowance::paced(probe.rate),
                size_left: probe.size,
                packets_left: probe.packets,
                pacer: Pacer::default(),
            });
        }
    }

    fn depart(&mut self, now: Timestamp, lane: Lane, departure: Departure) -> Option<Transmit> {
        let (packet, source, content) = match departure {
            Departure::Repair(id) => self.repair_packet(lane, id)?,
            Departure::Media => {
                let queued = self.queue.pop(lane)?;
                self.media_packet(lane, queued)
            }
            Departure::Padding => self.padding_packet(lane),
        };
        Some(self.dispatch(now, lane, source, content, packet))
    }

    fn blank(&mut self, source: SourceId) -> RtpPacket {
        let sequence = self.history.next_in_source(source, self.config.initial_sequence);
        RtpPacket {
            marker: false,
            payload_type: payload_type::PADDING,
            sequence_number: sequence as u16,
            timestamp: 0,
            ssrc: source.ssrc(self.config.session),
            control: None,
            marking: None,
            transport_sequence: None,
            payload: Payload::default(),
        }
    }

    fn media_packet(&mut self, lane: Lane, queued: Queued) -> (RtpPacket, SourceId, Content) {
        let source = SourceId { stream: queued.stream, lane, repair: false };
        let format = self.config.streams[usize::from(queued.stream.0)].format;
        let packet = RtpPacket {
            marker: queued.end,
            payload_type: payload_type::of(format),
            timestamp: queued.timestamp,
            marking: Some(FrameMarking {
                start: queued.start,
                end: queued.end,
                independent: queued.kind == FrameKind::Key,
                discardable: queued.kind == FrameKind::Discardable,
                frame: (queued.frame & 0x0FFF) as u16,
                sequence_number: queued.sequence as u16,
            }),
            payload: queued.payload,
            ..self.blank(source)
        };
        (packet, source, Content::Media(queued.stream))
    }

    /// The same packet behind its original number, with numbers of its own (RFC 4588 section 4).
    fn repair_packet(&mut self, lane: Lane, id: PacketId) -> Option<(RtpPacket, SourceId, Content)> {
        self.repairs.retain(|(_, waiting)| *waiting != id);
        let (_, _, stored) = self.history.stored(id)?;
        stored.repeats += 1;
        let original = stored.packet.clone();
        let stream = SourceId::of(original.ssrc, self.config.session)?.stream;
        let source = SourceId { stream, lane, repair: true };
        let blank = self.blank(source);
        let packet = RtpPacket {
            payload_type: payload_type::RTX,
            sequence_number: blank.sequence_number,
            ssrc: blank.ssrc,
            payload: original.payload.behind(&original.sequence_number.to_be_bytes()),
            ..original
        };
        Some((packet, source, Content::Retransmission(stream)))
    }

    fn padding_packet(&mut self, lane: Lane) -> (RtpPacket, SourceId, Content) {
        let source = SourceId { stream: StreamId(0), lane, repair: true };
        let packet = RtpPacket { payload: Payload::zeros(self.payload_limit()), ..self.blank(source) };
        (packet, source, Content::Padding)
    }

    /// Stamps a packet, notes its departure everywhere and gives it out.
    fn dispatch(
        &mut self,
        now: Timestamp,
        lane: Lane,
        source: SourceId,
        content: Content,
        mut packet: RtpPacket,
    ) -> Transmit {
        let sequence = self.history.next_in_lane(lane);
        let id = self.history.next_id();
        packet.transport_sequence = (self.config.feedback == FeedbackFormat::Twcc).then_some(id.0 as u16);
        packet.control = Some(ControlData {
            sequence_number: sequence as u32,
            sent: MicrosClock::from_timestamp(now),
            rtt: self.round_trip.on_wire(),
            tag: None,
        });
        let message = Message::Rtp(packet);
        let mut sent = SentPacket {
            id,
            lane,
            sequence,
            size: self.size_of(&message),
            content,
            probe: self.probe.as_ref().map(|probe| probe.id),
            backlog: self.queue.waiting() + self.config.packet * self.repairs.len() as u64,
        };
        let Stamp { ecn, tag } = self.controller.stamp(now, &sent);
        let Message::Rtp(mut packet) = message else { unreachable!("made above") };
        if let Some(control) = &mut packet.control {
            control.tag = tag;
            self.tagged |= tag.is_some();
        }
        let written = Written { tag, ends_frame: packet.marker };
        let stored = matches!(content, Content::Media(_)) && self.config.repair.is_some();
        let stored = stored.then(|| Stored { packet: packet.clone(), repeats: 0 });
        let message = Message::Rtp(packet);
        sent.size = self.size_of(&message);
        self.note_departure(now, sent, source, written, stored);
        Transmit { size: sent.size, ecn, lane, message }
    }

    fn note_departure(
        &mut self,
        now: Timestamp,
        sent: SentPacket,
        source: SourceId,
        written: Written,
        stored: Option<Stored>,
    ) {
        let allowance = self.controller.allowance(sent.lane);
        let forgotten = self.history.push(now, sent, source, written, stored);
        self.history.lane(sent.lane).pacer.on_sent(now, allowance, sent.size);
        if let Some(probe) = &mut self.probe {
            probe.pacer.on_sent(now, probe.allowance, sent.size);
            probe.size_left -= sent.size;
            probe.packets_left = probe.packets_left.saturating_sub(1);
            if probe.size_left.is_zero() && probe.packets_left == 0 {
                self.probe = None;
            }
        }
        self.statistics.sent.add(sent.size);
        match sent.content {
            Content::Media(_) => self.statistics.media.add(sent.size),
            Content::Retransmission(_) | Content::Fec(_) => self.statistics.repair.add(sent.size),
            Content::Padding => self.statistics.padding.add(sent.size),
        }
        if let Some(observer) = &mut self.observer {
            observer.on_sent(now, &sent);
        }
        self.controller.on_sent(now, &sent);
        self.report_forgotten(now, forgotten);
        self.follow_controller(now);
    }

    /// The memory was full: what was pushed out of it counts as lost.
    fn report_forgotten(&mut self, now: Timestamp, forgotten: Option<PacketReport>) {
        if let Some(report) = forgotten {
            self.evidence.add_report(report);
            self.conclude(now);
        }
    }

    fn size_of(&self, message: &Message) -> DataSize {
        self.config.overhead + DataSize::from_bytes(message.wire_len() as u64)
    }
}

fn check(config: &SenderConfig) -> Result<(), SpecError> {
    let count = config.streams.len();
    if (1..=usize::from(SourceId::STREAMS)).contains(&count) {
        return Ok(());
    }
    Err(SpecError::new(&count.to_string(), format!("a session has 1 to {} streams", SourceId::STREAMS)))
}

fn setting(config: &SenderConfig) -> Setting {
    Setting { packet: config.packet, ecn: config.ecn }
}

/// Whether the first packet would be tagged; asked of a copy.
fn writes_tags(controller: &AnyController, now: Timestamp) -> bool {
    let packet = SentPacket {
        id: PacketId(0),
        lane: Lane(0),
        sequence: 0,
        size: DataSize::ZERO,
        content: Content::Padding,
        probe: None,
        backlog: DataSize::ZERO,
    };
    controller.clone().stamp(now, &packet).tag.is_some()
}
