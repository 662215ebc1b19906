//! The sending end of a media flow: a source of frames, or a camera, and a session's sender.

use crate::agent::{Endpoint, PORT};
use crate::interval::IntervalCounters;
use crate::payload::{Content, Encoding, Payload};
use crate::scenario::OnOffSchedule;
use crate::source::{LiveSource, MediaSource, SoundSource};
use crate::tag::Tag;
use seaway_control::policy;
use seaway_control::{ControlSpec, Decision, Feedback, SpecError, StreamId};
use seaway_link::{Outbox, Packet, Wake};
use seaway_quality::histogram::Histogram;
use seaway_session::{
    Frame, FrameData, FrameKind, Observer, Sender, SenderConfig, SenderEvent, SenderStatistics,
    SessionDescription, Transmit,
};
use seaway_units::{Bitrate, DataSize, TimeDelta, Timestamp, earlier};
use std::sync::{Arc, Mutex, PoisonError};

/// What a saturated source keeps waiting, in packets: enough that the sender is never short of one.
const AHEAD: u64 = 4;
/// Two frames of a stream differ by at least a tick of the 90 kHz media clock.
const TICK: TimeDelta = TimeDelta::from_nanos(11_112);

/// The sending end of a media flow. The session begins with the flow.
#[derive(Debug)]
pub(crate) struct MediaSender {
    tag: Tag,
    encoding: Encoding,
    config: SenderConfig,
    policy: ControlSpec,
    sender: Option<Sender>,
    /// What the next packet is written into.
    scratch: Box<Content>,
    source: MediaSource,
    /// Sound beside the pictures.
    sound: Option<SoundSource>,
    /// The rate a model was last set to.
    encoder_rate: Bitrate,
    schedule: OnOffSchedule,
    is_on: bool,
    /// When the flow is next switched on or off.
    change: Option<Timestamp>,
    /// When the model has its next frame.
    next_frame: Option<Timestamp>,
    last_capture: Option<Timestamp>,
    interval: IntervalCounters<SenderStatistics>,
    subflows: Subflows,
    round_trips: Arc<Mutex<Histogram>>,
    /// `None`: not kept.
    decisions: Option<Vec<Decision>>,
}

/// Connections inside the flow, over the time in which it is measured.
#[derive(Debug)]
struct Subflows {
    interval: (Timestamp, Timestamp),
    now: u8,
    since: Timestamp,
    max: u8,
    /// In subflow-nanoseconds.
    integral: u128,
    span: u64,
}

impl Subflows {
    const fn new(interval: (Timestamp, Timestamp)) -> Self {
        Self { interval, now: 0, since: Timestamp::ZERO, max: 0, integral: 0, span: 0 }
    }

    fn note(&mut self, at: Timestamp, subflows: u8) {
        if subflows != self.now {
            self.pass(at);
            self.now = subflows;
        }
    }

    /// The present number has held since the last change.
    fn pass(&mut self, at: Timestamp) {
        let span = at.min(self.interval.1).since(self.since.max(self.interval.0)).as_nanos() as u64;
        if span > 0 && self.now > 0 {
            self.max = self.max.max(self.now);
            self.integral += u128::from(self.now) * u128::from(span);
            self.span += span;
        }
        self.since = at;
    }

    /// Mean and maximum up to `end`.
    fn mean_and_max(&self, end: Timestamp) -> (f64, u8) {
        let mut whole = Self { ..*self };
        whole.pass(end);
        let mean =
            if whole.span > 0 { whole.integral as f64 / whole.span as f64 } else { f64::from(self.now) };
        (mean, whole.max)
    }
}

/// Takes the sender's own samples of the round-trip time while the flow is measured.
#[derive(Debug)]
struct RoundTrips {
    interval: (Timestamp, Timestamp),
    samples: Arc<Mutex<Histogram>>,
}

impl Observer for RoundTrips {
    fn on_feedback(&mut self, now: Timestamp, feedback: &Feedback<'_>) {
        if let Some(rtt) = feedback.rtt
            && self.interval.0 <= now
            && now < self.interval.1
        {
            self.samples.lock().unwrap_or_else(PoisonError::into_inner).add(rtt);
        }
    }
}

/// What a [`MediaSender`] is made of.
#[derive(Debug)]
pub(crate) struct MediaSenderParts {
    pub(crate) tag: Tag,
    pub(crate) encoding: Encoding,
    pub(crate) config: SenderConfig,
    pub(crate) policy: ControlSpec,
    pub(crate) source: MediaSource,
    pub(crate) schedule: OnOffSchedule,
    pub(crate) interval: (Timestamp, Timestamp),
    pub(crate) keep_decisions: bool,
}

impl MediaSender {
    pub(crate) fn new(parts: MediaSenderParts) -> Self {
        let MediaSenderParts { tag, encoding, config, policy, source, schedule, interval, keep_decisions } =
            parts;
        Self {
            tag,
            encoding,
            config,
            policy,
            sender: None,
            scratch: Box::default(),
            source,
            sound: None,
            encoder_rate: Bitrate::ZERO,
            is_on: false,
            change: schedule.next_on(Timestamp::ZERO),
            schedule,
            next_frame: None,
            last_capture: None,
            interval: IntervalCounters::new(interval),
            subflows: Subflows::new(interval),
            round_trips: Arc::new(Mutex::new(Histogram::default())),
            decisions: keep_decisions.then(Vec::new),
        }
    }

    /// With sound beside the pictures.
    pub(crate) fn with_sound(self, sound: Option<SoundSource>) -> Self {
        Self { sound, ..self }
    }

    /// The session's description, which its receiver has from the start.
    ///
    /// # Errors
    /// A controller or a policy that cannot be built.
    pub(crate) fn description(
        config: &SenderConfig,
        policy: &ControlSpec,
    ) -> Result<SessionDescription, SpecError> {
        open(Timestamp::ZERO, config, policy).map(|sender| sender.description())
    }

    /// The session; `None` before the flow began.
    pub(crate) fn session(&self) -> Option<&Sender> {
        self.sender.as_ref()
    }

    /// What it did up to the beginning and up to the end of the time it is measured.
    pub(crate) fn measured(&self) -> (SenderStatistics, SenderStatistics) {
        self.interval.at_ends(|| statistics(self.sender.as_ref()))
    }

    /// The camera, where there is one.
    pub(crate) fn live(&self) -> Option<&LiveSource> {
        match &self.source {
            MediaSource::Live(live) => Some(live),
            MediaSource::Saturated | MediaSource::Model(_) => None,
        }
    }

    /// Mean and maximum of its connections while it is measured, up to `end`.
    pub(crate) fn subflows(&self, end: Timestamp) -> (f64, u8) {
        self.subflows.mean_and_max(end)
    }

    /// Calls `with` on the samples of the round-trip time.
    pub(crate) fn with_round_trips<T>(&self, with: impl FnOnce(&Histogram) -> T) -> T {
        with(&self.round_trips.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The rate of the source: that a model was set to, or a live encoder's share.
    pub(crate) fn encoder_rate(&self) -> Bitrate {
        match (&self.source, &self.sender) {
            (MediaSource::Live(_), Some(sender)) => sender.share(StreamId(0)).media,
            _ => self.encoder_rate,
        }
    }

    /// Why rates changed; empty where that is not kept.
    pub(crate) fn decisions(&self) -> &[Decision] {
        self.decisions.as_deref().unwrap_or_default()
    }

    fn begin(&mut self, now: Timestamp) {
        // Both were tried when the world was built.
        let Ok(mut sender) = open(now, &self.config, &self.policy) else { return };
        sender.observe(Box::new(RoundTrips {
            interval: self.interval.span(),
            samples: self.round_trips.clone(),
        }));
        self.sender = Some(sender);
        self.after_input(now);
    }

    /// Switches the flow on and off by its schedule.
    #[inline]
    fn follow_activity(&mut self, now: Timestamp) {
        if self.change.is_some_and(|change| change <= now) {
            self.switch(now);
        }
    }

    fn switch(&mut self, now: Timestamp) {
        self.change = self.schedule.next_change(now);
        self.is_on = self.schedule.is_on(now);
        match &mut self.source {
            MediaSource::Saturated => {}
            MediaSource::Model(source) => self.next_frame = (self.is_on && !source.is_over()).then_some(now),
            MediaSource::Live(live) => live.switch(now, self.is_on),
        }
        if let Some(sound) = &mut self.sound {
            sound.switch(now, self.is_on);
        }
        match &mut self.sender {
            Some(sender) => sender.on_paused(now, !self.is_on),
            None => self.begin(now),
        }
    }

    #[inline]
    fn capture(&mut self, now: Timestamp) {
        let is_due = match self.source {
            MediaSource::Saturated => false,
            MediaSource::Model(_) => self.next_frame.is_some_and(|due| due <= now),
            MediaSource::Live(_) => true,
        };
        if is_due {
            self.capture_frames(now);
        }
        if let (Some(sound), Some(sender)) = (&mut self.sound, &mut self.sender) {
            while let Some(frame) = sound.take(now) {
                // The stream is configured: nothing can be wrong with the frame.
                let _ = sender.handle_frame(now, &frame);
            }
        }
    }

    fn capture_frames(&mut self, now: Timestamp) {
        if let (MediaSource::Live(live), Some(sender)) = (&mut self.source, &mut self.sender) {
            live.advance(now, sender);
        }
        while let (Some(due), MediaSource::Model(source), Some(sender)) =
            (self.next_frame, &mut self.source, &mut self.sender)
        {
            if due > now {
                break;
            }
            if sender.should_skip() {
                sender.on_frame_skipped(now);
                source.on_skipped(due);
                self.next_frame = Some(due + source.interval());
                continue;
            }
            let frame = source.frame(due);
            self.next_frame = (!source.is_over()).then_some(due + frame.interval);
            let data = FrameData::Synthetic(frame.size);
            let frame = Frame { target: frame.target, ..Frame::new(due, frame.kind, data, frame.interval) };
            // The stream is configured and opaque: nothing can be wrong with the frame.
            let _ = sender.handle_frame(now, &frame);
        }
    }

    /// Keeps a few packets waiting while the flow is on.
    #[inline]
    fn saturate(&mut self, now: Timestamp) {
        if !self.config.endless && self.is_on && matches!(self.source, MediaSource::Saturated) {
            self.keep_waiting(now);
        }
    }

    fn keep_waiting(&mut self, now: Timestamp) {
        let Some(sender) = &mut self.sender else { return };
        while sender.backlog() < self.config.packet * AHEAD {
            let captured = self.last_capture.map_or(now, |last| now.max(last + TICK));
            self.last_capture = Some(captured);
            let size = DataSize::from_bytes(sender.payload_limit() as u64);
            let frame = Frame::new(captured, FrameKind::Key, FrameData::Synthetic(size), TICK);
            if sender.handle_frame(now, &frame).is_err() {
                break;
            }
        }
    }

    /// True where the session had an event.
    #[inline(always)]
    fn after_input(&mut self, now: Timestamp) -> bool {
        let Some(sender) = &mut self.sender else { return false };
        let first = sender.poll_event();
        let had_event = first.is_some();
        if let Some(event) = first {
            self.follow_all(now, event);
        }
        if let Some(sender) = &self.sender {
            self.subflows.note(now, sender.controller().subflows());
        }
        had_event
    }

    #[inline(never)]
    fn follow_all(&mut self, now: Timestamp, first: SenderEvent) {
        self.follow(now, first);
        while let Some(event) = self.sender.as_mut().and_then(Sender::poll_event) {
            self.follow(now, event);
        }
    }

    fn follow(&mut self, now: Timestamp, event: SenderEvent) {
        let Some(sender) = &mut self.sender else { return };
        match event {
            SenderEvent::Share { stream: StreamId(0), share } => {
                if let MediaSource::Model(source) = &mut self.source {
                    let rate = coded_rate(share.media, source.interval(), sender, &self.config);
                    self.encoder_rate = rate;
                    source.on_rate(now, rate);
                }
            }
            SenderEvent::KeyFrameWanted { .. } => match &mut self.source {
                MediaSource::Saturated => {}
                MediaSource::Model(source) => source.on_key_frame_wanted(),
                MediaSource::Live(live) => live.on_key_frame_wanted(),
            },
            SenderEvent::Decision(decision) => {
                if let Some(decisions) = &mut self.decisions {
                    decisions.push(decision);
                }
            }
            SenderEvent::Share { .. }
            | SenderEvent::FramesDropped { .. }
            | SenderEvent::Lane { .. }
            | SenderEvent::FeedbackFound { .. }
            | SenderEvent::AacRefused { .. }
            | SenderEvent::PeerAppeared { .. }
            | SenderEvent::PeerLeft { .. } => {}
        }
    }

    /// When something is to be done beside the session.
    #[inline]
    fn own_timeout(&self) -> Option<Timestamp> {
        let live = self.live().and_then(LiveSource::due);
        let sound = self.sound.as_ref().and_then(SoundSource::due);
        earlier(earlier(earlier(self.change, self.next_frame), live), sound)
    }

    /// What has just been written, as a packet.
    #[inline]
    fn load(&mut self, transmit: Transmit) -> Packet<Payload> {
        let payload = self.encoding.encode(&mut self.scratch);
        let Transmit { size, ecn, .. } = transmit;
        Packet { size, ecn, flow: self.tag.number(), waited: TimeDelta::ZERO, payload }
    }

    #[inline]
    fn before_input(&mut self, now: Timestamp) {
        let sender = self.sender.as_ref();
        self.interval.sample(now, || statistics(sender));
    }
}

fn open(now: Timestamp, config: &SenderConfig, policy: &ControlSpec) -> Result<Sender, SpecError> {
    Sender::new(now, config.clone(), policy::build(policy)?)
}

fn statistics(sender: Option<&Sender>) -> SenderStatistics {
    sender.map(Sender::statistics).unwrap_or_default()
}

/// The rate of coded octets that fills `wire` together with the headers of the packets it takes.
fn coded_rate(wire: Bitrate, interval: TimeDelta, sender: &Sender, config: &SenderConfig) -> Bitrate {
    let frame = wire.size_in(interval);
    let payload = DataSize::from_bytes(sender.payload_limit() as u64);
    let header = config.packet.saturating_sub(payload);
    let packets = frame.as_bytes().div_ceil(config.packet.as_bytes().max(1));
    // The last packet may be so small that its header takes more than it carries.
    let (whole, all) = (payload * packets.saturating_sub(1), frame.saturating_sub(header * packets));
    whole.max(all).max(DataSize::from_bytes(1)).over(interval).unwrap_or(Bitrate::ZERO)
}

impl Endpoint for MediaSender {
    #[inline]
    fn handle_packet(&mut self, now: Timestamp, packet: Packet<Payload>) {
        self.before_input(now);
        if let Some(sender) = &mut self.sender {
            packet.payload.take_message(|message| sender.handle_message(now, now, message));
        }
        self.after_input(now);
    }

    #[inline]
    fn handle_timeout(&mut self, now: Timestamp) {
        self.before_input(now);
        self.follow_activity(now);
        self.capture(now);
        if let Some(sender) = &mut self.sender {
            sender.handle_timeout(now);
        }
        self.after_input(now);
    }

    #[inline]
    fn transmit(&mut self, mut now: Timestamp, until: Timestamp, out: &mut Outbox<Payload>) -> Wake {
        let waits_for_source = matches!(self.source, MediaSource::Saturated) && !self.config.endless;
        let mut own = self.own_timeout();
        loop {
            if now < until && own.is_some_and(|own| own <= now) {
                return Some(now);
            }
            self.saturate(now);
            let limit = earlier(own, self.interval.next_sample()).map_or(until, |limit| limit.min(until));
            let horizon = if waits_for_source { now } else { limit.max(now) };
            let Some(sender) = &mut self.sender else { return own };
            let Some(transmit) = sender.poll_transmit(now, horizon, self.scratch.message_mut()) else {
                return earlier(own, sender.poll_timeout()).map(|next| next.max(now));
            };
            now = transmit.at;
            if self.after_input(now) {
                own = self.own_timeout();
            }
            out.send(now, PORT, self.load(transmit));
        }
    }
}
