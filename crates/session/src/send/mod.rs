//! The sending endpoint.

mod lanes;
mod numbering;
mod pacer;
mod packets;
mod pushback;
mod queue;
mod receiver_reports;
mod reception;
mod repair;
mod reported_path;
mod reports;
mod retransmission;
mod rtcp;
mod scheduler;
mod setup;

pub use lanes::{LaneState, LaneStatistics};
pub use pacer::Pacer;

use crate::clock::MediaClock;
use crate::config::{Limits, SenderConfig, StreamConfig};
use crate::describe::SessionDescription;
use crate::event::{Events, KeyFrameCause, Observer, SenderEvent};
use crate::fec::FecEncoder;
use crate::feedback::FeedbackAdapter;
use crate::frame::{Frame, FrameKind};
use crate::message::{Message, Transmit};
use crate::packetise;
use crate::payload::Payload;
use crate::source_id::SourceId;
use crate::statistics::{Reported, SenderStatistics};
use lanes::Lanes;
use numbering::Numbering;
use pushback::Pushback;
use queue::Arriving;
use receiver_reports::ReceiverReports;
use reception::Reception;
use repair::{RepairPolicy, Service};
use reports::Reports;
use rtcp::Peer;
use scheduler::{Scheduler, Transmission};
use seaway_control::{
    ControlSpec, Demand, LocalSignal, RateController, Share, SpecError, StreamId, Target, TargetPolicy,
};
use seaway_units::{Bitrate, DataSize, Probability, TimeDelta, Timestamp, earlier};
use seaway_wire::Error;
use setup::{build_controller, has_fec, receiving_half, writes_tags};

/// Octets of the original sequence number before a retransmitted payload (RFC 4588 section 4).
const ORIGINAL_SEQUENCE: usize = 2;
/// The sending endpoint: frames in, packets out at the controller's pace, feedback back in.
///
/// A pure state machine. Its methods are getters; inputs (`handle_*`); commands (`on_*`); and outputs (`poll_*`), which are
/// drained after each input. Time never runs back. An early or spurious [`handle_timeout`](Self::handle_timeout) changes
/// nothing.
#[derive(Debug)]
pub struct Sender {
    config: SenderConfig,
    controller: Box<dyn RateController>,
    policy: Box<dyn TargetPolicy>,
    shares: Vec<Share>,
    /// The target of the policy, and the part of it that repair needs.
    target: Option<(Bitrate, Probability)>,
    scheduler: Scheduler,
    repair: RepairPolicy,
    /// By stream.
    protected: Vec<ProtectedStream>,
    schedule: Schedule,
    numbers: Numbering,
    feedback: FeedbackAdapter,
    pushback: Pushback,
    peer: Peer,
    reception: Reception,
    receiver_reports: ReceiverReports,
    reports: Reports,
    keys: Vec<KeyState>,
    /// The controller tags packets, which takes octets of the header.
    tagged: bool,
    payloads: Vec<Payload>,
    events: Events<SenderEvent>,
    observer: Option<Box<dyn Observer>>,
    statistics: SenderStatistics,
}

/// When a [`Sender`] wants to be woken, and for what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wake {
    /// When.
    pub at: Timestamp,
    /// The first reason there is at that instant.
    pub why: WakeReason,
}

/// Why a [`Sender`] wants to be woken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WakeReason {
    /// A timer of the controller.
    Controller,
    /// A lane is suspected.
    Lane,
    /// A timer of the policy.
    Policy,
    /// A packet will be declared lost.
    LossDetection,
    /// A frame will be too old to be sent.
    StaleFrame,
    /// The pacer will release a packet.
    Pacing,
    /// A sender report is due.
    Report,
}

/// The next timer and the next transmission, kept from one input or transmission to the next.
#[derive(Debug, Clone, Copy, Default)]
struct Schedule {
    is_valid: bool,
    /// When [`Sender::handle_timeout`] is wanted.
    timers: Option<Timestamp>,
    transmission: Option<Transmission>,
}

/// What repair packets of a stream are made of.
#[derive(Debug)]
struct ProtectedStream {
    /// `None`: there are none in this session.
    fec: Option<FecEncoder>,
    /// Packets of the present picture that left.
    packets: u64,
    /// From a picture to the next.
    interval: TimeDelta,
}

/// When a stream last had a key frame, and whether one is requested.
#[derive(Debug, Clone, Copy, Default)]
struct KeyState {
    last: Option<Timestamp>,
    wanted: bool,
}

impl Sender {
    /// Counters since the start.
    pub fn statistics(&self) -> SenderStatistics {
        let mut statistics = self.statistics;
        let (counts, round_trip) = (self.feedback.counts(), self.feedback.round_trip());
        (statistics.received, statistics.lost, statistics.late) = (counts.received, counts.lost, counts.late);
        if self.receiver_reports.is_all() {
            // The rest is what the model of the path has, and no report.
            let Reported { expected, lost, .. } = statistics.reported;
            (statistics.received, statistics.lost, statistics.late) =
                (expected.saturating_sub(lost), lost, 0);
        }
        statistics.rtt = self.rtt();
        statistics.last_rtt = round_trip.last();
        statistics.min_rtt = round_trip.minimum();
        statistics.refused.overflow += self.events.dropped();
        statistics
    }

    /// The controller, for inspection.
    pub fn controller(&self) -> &dyn RateController {
        self.controller.as_ref()
    }

    /// The share of an encoder.
    pub fn share(&self, stream: StreamId) -> Share {
        self.shares.get(usize::from(stream.0)).copied().unwrap_or_default()
    }

    /// Wire octets that wait to leave.
    pub fn backlog(&self) -> DataSize {
        self.scheduler.queue.waiting()
    }

    /// The smoothed round-trip time, `None` before the first sample; of several lanes that of the quickest that is up.
    pub fn rtt(&self) -> Option<TimeDelta> {
        match &self.scheduler.lanes {
            Some(lanes) => lanes.rtt(),
            None => self.feedback.round_trip().smoothed(),
        }
    }

    /// The lanes of a bonded session; empty where there are none.
    pub fn lanes(&self) -> Vec<LaneStatistics> {
        let rate = |subflow| self.controller.target_of(subflow);
        self.scheduler.lanes.as_ref().map(|lanes| lanes.statistics(rate)).unwrap_or_default()
    }

    /// A stream's map from our clock to media timestamps, by which a frame's capture is known on the wire; that of video
    /// where there is no such stream.
    pub fn media_clock(&self, stream: StreamId) -> MediaClock {
        let config = self.config.streams.get(usize::from(stream.0));
        let rate = config.map_or(90_000, |config| config.description.clock_rate);
        MediaClock { rate, offset: self.config.timestamp_offset }
    }

    /// True where the source should not encode its next frame: the backlog takes half of the delay that the send queue
    /// tolerates, or the flight takes far more than network queues may hold. A skipped frame is counted by
    /// [`on_frame_skipped`](Self::on_frame_skipped).
    pub fn should_skip(&self) -> bool {
        let (flight, min_rtt) = (self.feedback.history.flight(), self.feedback.round_trip().minimum());
        if self.scheduler.paused || self.pushback.should_skip(flight, min_rtt) {
            return true;
        }
        let Some(delay) = self.config.queue.delay else { return false };
        let drained = self.target().rate.time_to_send(self.scheduler.queue.waiting());
        drained.is_none_or(|drained| drained > delay / 2)
    }

    /// The session as the sender describes it in-band.
    pub fn description(&self) -> SessionDescription {
        SessionDescription {
            session: self.config.session,
            control: self.config.control.clone(),
            ecn: self.config.ecn,
            packet: self.config.packet,
            feedback: self.config.feedback,
            stripe: self.config.stripe,
            lanes: self.config.lanes > 1,
            fec: has_fec(&self.config),
            streams: self.config.streams.iter().map(|stream| stream.description).collect(),
        }
    }

    /// `observer` sees what is sent and reported from now on.
    pub fn observe(&mut self, observer: Box<dyn Observer>) {
        self.observer = Some(observer);
    }

    /// A frame to be sent. The bounded send queue may refuse it, which the statistics count.
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
        let (format, interval) = (config.description.format, frame.interval);
        self.payloads.clear();
        // A frame larger than the whole queue is refused before it is cut.
        if frame.data.size() <= self.config.queue.size {
            packetise::cut(format, &frame.data, self.payload_limit(), &mut self.payloads)?;
        }
        self.follow_receiver_reports(now);
        let timestamp = self.media_clock(stream).timestamp(frame.captured);
        let arriving = Arriving { stream, kind: frame.kind, timestamp };
        if self.is_audio(stream) {
            self.queue_audio(now, arriving);
            return Ok(());
        }
        self.statistics.frames.captured += 1;
        if self.payloads.is_empty() || !self.scheduler.queue.admits(now, arriving) {
            self.statistics.frames.skipped += 1;
            if frame.kind == FrameKind::Key {
                // It has to be requested again.
                self.keys[usize::from(stream.0)].wanted = false;
            }
            self.want_key_where_needed(now, stream);
        } else {
            self.statistics.frames.queued += 1;
            if frame.kind == FrameKind::Key {
                self.keys[usize::from(stream.0)] = KeyState { last: Some(now), wanted: false };
            }
            self.queue_payloads(now, arriving);
            self.protected[usize::from(stream.0)].interval = interval;
        }
        let (size, target) = (frame.data.size(), frame.target);
        self.controller.on_signal(now, LocalSignal::Frame { stream, size, target, interval });
        self.signal_backlog(now);
        self.signal_demand(now, stream);
        self.follow_controller(now);
        Ok(())
    }

    /// Queues the payloads of an admitted frame.
    fn queue_payloads(&mut self, now: Timestamp, arriving: Arriving) {
        let header = self.header_len();
        let overhead = self.config.overhead;
        let size = |payload: &Payload| overhead + DataSize::from_bytes((header + payload.len()) as u64);
        let sized = self.payloads.drain(..).map(|payload| {
            let size = size(&payload);
            (payload, size)
        });
        self.scheduler.queue.set_subflows(self.controller.subflows());
        self.scheduler.queue.push(now, arriving, sized);
    }

    /// A frame of sound. Controllers follow the frames of pictures; they see that sound waits and leaves.
    fn queue_audio(&mut self, now: Timestamp, arriving: Arriving) {
        if self.payloads.is_empty() || !self.scheduler.queue.admits(now, arriving) {
            self.statistics.audio.dropped += 1;
            return;
        }
        self.statistics.audio.queued += 1;
        self.queue_payloads(now, arriving);
        self.signal_backlog(now);
        self.follow_controller(now);
    }

    fn is_audio(&self, stream: StreamId) -> bool {
        let config = self.config.streams.get(usize::from(stream.0));
        config.is_some_and(|config| config.description.is_audio())
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
        if self.feedback.is_loss_due(now) {
            self.deliver_feedback(now);
        }
        self.follow_lanes(now);
        self.drop_stale(now);
        self.follow_controller(now);
    }

    /// The source has a frame and does not encode it.
    pub fn on_frame_skipped(&mut self, now: Timestamp) {
        self.schedule.is_valid = false;
        self.follow_receiver_reports(now);
        self.statistics.frames.captured += 1;
        self.statistics.frames.skipped += 1;
    }

    /// The range of the rate.
    pub const fn limits(&self) -> Limits {
        self.config.limits
    }

    /// The range of the rate changed.
    pub fn on_limits(&mut self, now: Timestamp, limits: Limits) {
        self.schedule.is_valid = false;
        self.config.limits = limits;
        self.signal_limits(now);
    }

    /// The receiver shows frames at most so long after the least delay of the path from now on: as
    /// [`SenderConfig::within`] and [`AdaptiveRepair::deadline`](crate::AdaptiveRepair::deadline) have it from the start.
    pub fn on_latency(&mut self, latency: TimeDelta) {
        self.schedule.is_valid = false;
        self.config.change_latency(latency);
        self.scheduler.queue.set_delay(self.config.queue.delay);
        self.repair.set_deadline(latency);
        self.follow_shares();
    }

    /// All that leaves, media, repair and probes together, stays below `most` from now on, whatever the controller and the limits
    /// allow; `None` ends that. For a [`CircuitBreaker`](crate::CircuitBreaker).
    pub fn on_rate_bound(&mut self, now: Timestamp, most: Option<Bitrate>) {
        self.schedule.is_valid = false;
        self.scheduler.most = most;
        self.scheduler.end_probe();
        self.signal_limits(now);
    }

    fn signal_limits(&mut self, now: Timestamp) {
        let most = self.scheduler.most.unwrap_or(Bitrate::MAX);
        let Limits { min, start, max } = self.config.limits;
        let (min, start, max) = (min.min(most), start.min(most), max.min(most));
        self.controller.on_signal(now, LocalSignal::Limits { min, start, max });
        for index in 0..self.config.streams.len() {
            self.signal_demand(now, StreamId(index as u8));
        }
        self.follow_controller(now);
        self.follow_shares();
    }

    /// The source pauses on purpose, or resumes.
    pub fn on_paused(&mut self, now: Timestamp, paused: bool) {
        self.scheduler.paused = paused;
        self.signal(now, LocalSignal::Paused(paused));
    }

    /// The path changed: its known delays are void.
    pub fn on_route_changed(&mut self, now: Timestamp) {
        self.feedback.forget_round_trip();
        self.signal(now, LocalSignal::RouteChanged);
    }

    /// Another controller takes over. The streams go on, and the new description goes to the receiver.
    ///
    /// # Errors
    /// A controller or an option that does not exist: nothing changes then.
    pub fn on_control(&mut self, now: Timestamp, control: ControlSpec) -> Result<(), SpecError> {
        self.schedule.is_valid = false;
        let config = SenderConfig { control, ..self.config.clone() };
        let (controller, source) = build_controller(&config)?;
        self.tagged = writes_tags(&config)?;
        self.config.control = config.control;
        self.controller = controller;
        self.feedback.restart(receiving_half(&self.config, source));
        self.feedback.agree_on(self.config.registry.feedback_interval(&self.config.control));
        self.scheduler.end_probe();
        for lane in self.scheduler.lanes.iter().flat_map(Lanes::silent) {
            self.controller.on_lane(now, lane, false);
        }
        self.reports.describe_at(now);
        // A shorter interval shortens the wait for what was not reported.
        if self.feedback.is_loss_due(now) {
            self.deliver_feedback(now);
        }
        self.on_limits(now, self.config.limits);
        Ok(())
    }

    /// The session ends: a goodbye leaves with the next packet that is polled.
    pub fn on_close(&mut self, now: Timestamp) {
        self.reports.close(now);
    }

    /// The next packet, its content written over `message`: one that leaves at `now`, being due or due within the
    /// [send burst interval](SenderConfig::send_burst_interval), or one that the pacer releases before `until` and before any timer of the sender. Time has then advanced to its [`Transmit::at`].
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
        if looks_ahead {
            if self.schedule.is_valid && timer_is_first(&self.schedule) {
                return None;
            }
            // A timer that is due now comes before a report that is due now.
            self.update_schedule(now);
            if timer_is_first(&self.schedule) {
                return None;
            }
        }
        if self.reports.is_due(now) {
            return Some(self.report(now, message));
        }
        if !looks_ahead {
            self.update_schedule(now);
        }
        loop {
            let next = self.schedule.transmission?;
            let at = self.scheduler.release(now, &next);
            let is_before = |other: Option<Timestamp>| other.is_none_or(|other| at < other);
            let is_first = || at < until && is_before(self.schedule.timers) && is_before(self.reports.due());
            if at > now && !is_first() {
                return None;
            }
            // A packet to retransmit may have been forgotten.
            if let Some(transmit) = self.send(at, next, message) {
                return Some(transmit);
            }
            self.update_schedule(now);
            if timer_is_first(&self.schedule) {
                return None;
            }
        }
    }

    /// The goodbye alone, written over `message`, where [`on_close`](Self::on_close) asked for one that has not left: a session that may
    /// send no media ends by it too (RFC 3550 section 6.6).
    pub fn poll_goodbye(&mut self, now: Timestamp, message: &mut Message) -> Option<Transmit> {
        self.reports.is_closing().then(|| self.report(now, message))
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
        let computed;
        let schedule = if self.schedule.is_valid {
            &self.schedule
        } else {
            computed = self.compute_schedule();
            &computed
        };
        let transmission = schedule.transmission.as_ref().map(|next| next.wake);
        earlier(earlier(schedule.timers, transmission), self.reports.due())
    }

    /// What [`poll_timeout`](Self::poll_timeout) names, with the reason.
    pub fn next_wake(&self) -> Option<Wake> {
        let wakes = [
            (WakeReason::Controller, self.controller.poll_timeout()),
            (WakeReason::Lane, self.lane_timeout()),
            (WakeReason::Policy, self.policy.poll_timeout()),
            (WakeReason::LossDetection, self.feedback.next_loss()),
            (WakeReason::StaleFrame, self.scheduler.queue.stale_at()),
            (WakeReason::Pacing, self.scheduler.next(self.controller.as_ref()).map(|next| next.wake)),
            (WakeReason::Report, self.reports.due()),
        ];
        let wakes = wakes.into_iter().filter_map(|(why, at)| Some(Wake { at: at?, why }));
        wakes.min_by_key(|wake| wake.at)
    }

    /// Drops stale frames and starts the controller's probe before the schedule is computed.
    #[inline]
    fn update_schedule(&mut self, now: Timestamp) {
        if !self.schedule.is_valid || self.schedule.timers.is_some_and(|due| due <= now) {
            if let Some(lanes) = &mut self.scheduler.lanes {
                lanes.note(now);
            }
            self.drop_stale(now);
            if self.scheduler.begin_probe(now, self.controller.as_mut()) {
                self.schedule.is_valid = false;
            }
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
        let transmission = self.scheduler.next(self.controller.as_ref());
        Schedule { is_valid: true, timers: self.timers(), transmission }
    }

    #[inline]
    fn timers(&self) -> Option<Timestamp> {
        let (controller, policy) = (self.controller.poll_timeout(), self.policy.poll_timeout());
        earlier(
            earlier(earlier(controller, policy), self.lane_timeout()),
            earlier(self.feedback.next_loss(), self.scheduler.queue.stale_at()),
        )
    }

    #[inline]
    fn lane_timeout(&self) -> Option<Timestamp> {
        let lanes = self.scheduler.lanes.as_ref()?;
        lanes.poll_timeout(|subflow| self.feedback.history.next_reported(subflow))
    }

    /// Lanes whose reports are overdue: what they hold is sent again by the others.
    fn follow_lanes(&mut self, now: Timestamp) {
        let Some(lanes) = &mut self.scheduler.lanes else { return };
        let history = &self.feedback.history;
        let mut is_lost = false;
        while let Some((lane, state)) = lanes.poll_change(now, |subflow| history.next_reported(subflow)) {
            self.events.push(SenderEvent::Lane { lane, state });
            if state != LaneState::Suspect {
                continue;
            }
            is_lost = true;
            self.controller.on_lane(now, lane, false);
            self.scheduler.queue.release(lane);
            for (id, sent) in history.outstanding(lane) {
                let retransmissions = &mut self.scheduler.retransmissions;
                if retransmissions.on_request(now, sent, None, id).is_some() {
                    retransmissions.queue(lane, id, Service { copies: 1, spacing: 0 });
                }
            }
        }
        if is_lost {
            self.scheduler.end_probe();
        }
    }

    fn signal(&mut self, now: Timestamp, signal: LocalSignal) {
        self.schedule.is_valid = false;
        self.controller.on_signal(now, signal);
        self.follow_controller(now);
    }

    fn signal_backlog(&mut self, now: Timestamp) {
        let (waiting, oldest) = (self.scheduler.queue.waiting(), self.scheduler.queue.oldest(now));
        self.controller.on_signal(now, LocalSignal::Backlog { waiting, oldest });
    }

    /// After each frame that is queued, sent whole or dropped: a share that was cut for the backlog is restored when the
    /// backlog is gone, even if the encoder codes nothing until then.
    fn signal_demand(&mut self, now: Timestamp, stream: StreamId) {
        let Some(config) = self.config.streams.get(usize::from(stream.0)) else { return };
        let backlog = self.scheduler.queue.waiting_of(stream);
        let max = config.max.min(self.config.limits.max);
        let StreamConfig { weight, min, .. } = *config;
        let mut demand = Demand { weight, min, backlog, ..Demand::new(max) };
        if self.repair.is_pressed() {
            // A queue takes time away that a round of repair needs.
            let interval = self.protected[usize::from(stream.0)].interval;
            (demand.standing, demand.drain) = (demand.standing.min(interval), demand.drain.min(interval * 2));
            // An encoder whose rate falls to a fraction for a moment skips frames for seconds.
            demand.most_drained = 0.5;
        }
        self.policy.on_demand(now, stream, demand);
        self.follow_shares();
    }

    /// After each input: passes the decisions to the driver and the target to the policy.
    #[inline]
    fn follow_controller(&mut self, now: Timestamp) {
        while let Some(decision) = self.controller.poll_decision() {
            self.statistics.decisions += 1;
            self.events.push(SenderEvent::Decision(decision));
        }
        let target = self.target();
        self.repair.on_path(now, self.rtt(), target.channel_loss);
        let target = (target.rate, self.repair.reserved());
        if self.target != Some(target) {
            self.target = Some(target);
            self.policy.on_target(now, target.0, target.1);
            self.follow_shares();
        }
    }

    /// That of the controller, within the bound of all that leaves.
    #[inline]
    pub(super) fn target(&self) -> Target {
        let target = self.controller.target();
        Target { rate: target.rate.min(self.scheduler.most.unwrap_or(Bitrate::MAX)), ..target }
    }

    fn follow_shares(&mut self) {
        let (target, least) = (self.target().rate, self.controller.least_used());
        for (index, known) in self.shares.iter_mut().enumerate() {
            let stream = StreamId(index as u8);
            let mut share = self.pushback.apply(self.policy.share(stream), target);
            if let Some(time) = self.config.picture_time {
                let interval = self.protected[index].interval.max(TimeDelta::from_millis(1));
                share.media = share.media.mul_f64(time.ratio(interval).clamp(least, 1.0));
            }
            if share != *known {
                *known = share;
                self.events.push(SenderEvent::Share { stream, share });
            }
        }
    }

    /// Requests a key frame of an encoder, unless one is on its way.
    fn want_key(&mut self, now: Timestamp, stream: StreamId, cause: KeyFrameCause) {
        let is_audio = self.is_audio(stream);
        let rtt = self.rtt().unwrap_or(TimeDelta::from_millis(100));
        let Some(state) = self.keys.get_mut(usize::from(stream.0)).filter(|_| !is_audio) else { return };
        let fresh = state.last.is_some_and(|last| now.since(last) < rtt);
        let on_its_way = fresh && cause != KeyFrameCause::Dropped;
        if !state.wanted && !on_its_way {
            state.wanted = true;
            self.events.push(SenderEvent::KeyFrameWanted { stream, cause });
        }
    }

    fn want_key_where_needed(&mut self, now: Timestamp, stream: StreamId) {
        if self.scheduler.queue.needs_key(stream) && self.scheduler.queue.has_room() {
            self.want_key(now, stream, KeyFrameCause::Dropped);
        }
    }

    #[inline]
    fn drop_stale(&mut self, now: Timestamp) {
        if self.scheduler.queue.stale_at().is_some_and(|stale| stale <= now) {
            self.drop_stale_frames(now);
        }
    }

    fn drop_stale_frames(&mut self, now: Timestamp) {
        let dropped = self.scheduler.queue.drop_stale(now);
        if dropped.frames == 0 && dropped.audio == 0 {
            return;
        }
        self.schedule.is_valid = false;
        self.statistics.audio.dropped += dropped.audio;
        self.statistics.audio.queued -= dropped.audio;
        if dropped.frames > 0 {
            self.statistics.frames.skipped += dropped.frames;
            self.statistics.frames.queued -= dropped.frames;
            self.events.push(SenderEvent::FramesDropped { frames: dropped.frames });
        }
        for stream in (0..SourceId::STREAMS).filter(|stream| dropped.need_key >> stream & 1 == 1) {
            self.want_key(now, StreamId(stream), KeyFrameCause::Dropped);
        }
        self.signal_backlog(now);
        for index in 0..self.config.streams.len() {
            self.signal_demand(now, StreamId(index as u8));
        }
    }
}

#[cfg(test)]
mod tests;
