//! The receiving endpoint.

mod byte_buffer;
mod frame_kind;
mod freezes;
mod jitter_buffer;
mod nack;
mod plain;
mod playout;
mod reception;
mod recognition;
mod recovery;
mod reports;
mod session;
mod stream;
mod tail;
mod unmarked;

pub use byte_buffer::BufferStatistics;

use crate::config::{Playout, ReceiverConfig};
use crate::describe::SessionDescription;
use crate::event::{Events, Observer, ReceiverEvent};
use crate::message::{Message, Transmit};
use crate::statistics::ReceiverStatistics;
use bytes::Bytes;
use plain::{Arrived, Intake, PlainSource, Verdict};
use playout::PlayoutRule;
use reports::{Outbox, compound_head};
use seaway_units::{DataSize, Ecn, TimeDelta, Timestamp};
use seaway_wire::rtcp::{self, App, Bye, SenderReport};
use seaway_wire::{List, NtpTime};
use session::Session;

/// The receiving endpoint: packets in, frames out at their playout time, reports back.
///
/// It belongs to one sender at a time: the first whose description comes, until that says goodbye, or falls silent and
/// another sender's description comes. Packets of other sessions are counted and get no answer.
///
/// A pure state machine. Its methods are getters; inputs (`handle_*`); commands (`on_*`); and questions
/// (`poll_*`), to be called after each input until they return nothing. Time never runs back. What
/// [`poll_transmit`](Self::poll_transmit) gives leaves at the instant of the call. An early or spurious
/// [`handle_timeout`](Self::handle_timeout) changes nothing.
#[derive(Debug)]
pub struct Receiver {
    config: ReceiverConfig,
    session: Option<Session>,
    /// `None` where plain RTP is refused.
    intake: Option<Intake>,
    outbox: Outbox,
    events: Events<ReceiverEvent>,
    observer: Option<Box<dyn Observer>>,
    statistics: ReceiverStatistics,
}

impl Receiver {
    /// A receiver; its session begins at once where the configuration has the description.
    pub fn new(now: Timestamp, config: ReceiverConfig) -> Self {
        let description = config.description.clone();
        let intake = config.plain.clone().map(Intake::new);
        let mut receiver = Self {
            config,
            session: None,
            intake,
            outbox: Outbox::default(),
            events: Events::default(),
            observer: None,
            statistics: ReceiverStatistics::default(),
        };
        if let Some(description) = description {
            receiver.lock(now, description, None);
        }
        receiver
    }

    /// Counters since the start, over all sessions.
    pub fn statistics(&self) -> ReceiverStatistics {
        let mut statistics = self.statistics;
        if let Some(session) = &self.session {
            session.complete(&mut statistics);
        }
        statistics.refused.overflow += self.events.dropped();
        statistics
    }

    /// The present sender's description.
    pub fn description(&self) -> Option<&SessionDescription> {
        self.session.as_ref().map(|session| &session.description)
    }

    /// Lets `observer` look on from now.
    pub fn observe(&mut self, observer: Box<dyn Observer>) {
        self.observer = Some(observer);
    }

    /// A message came, with this codepoint; its payload is taken out. What is malformed or not for this session is counted
    /// and otherwise ignored.
    ///
    /// `at` is when it arrived: the kernel's time where there is one, at most `now`.
    pub fn handle_message(&mut self, now: Timestamp, at: Timestamp, ecn: Ecn, message: &mut Message) {
        let at = at.min(now);
        let size = self.config.overhead + DataSize::from_bytes(message.wire_len() as u64);
        match message {
            Message::Rtcp(octets) => self.handle_reports(at, octets),
            Message::Rtp(packet) if packet.control.is_none() && self.intake.is_some() => {
                self.handle_plain(Arrived { at, ecn, size, packet: std::mem::take(packet) });
            }
            Message::Rtp(packet) => {
                let Some(session) = &mut self.session else {
                    self.statistics.refused.unknown_ssrc += 1;
                    return;
                };
                let observer = self.observer.as_deref_mut();
                session.handle_packet(at, ecn, size, packet, &mut self.statistics, observer);
            }
        }
        self.advance(now);
    }

    /// RTP of a sender that does not describe itself.
    fn handle_plain(&mut self, mut arrived: Arrived) {
        let at = arrived.at;
        if let Some(session) = &mut self.session {
            if session.adapt(at, &mut arrived.packet) {
                return self.handle_adapted(arrived);
            }
            if !session.is_over(at, self.config.lock) {
                self.statistics.refused.unknown_ssrc += 1;
                return;
            }
        }
        let payload_type = arrived.packet.payload_type;
        match self.intake.as_mut().map(|intake| intake.on_packet(arrived)) {
            Some(Verdict::Found(source, packets)) => {
                match source.description() {
                    Ok(description) => self.lock(at, description, Some(source)),
                    Err(_) => self.statistics.refused.malformed += 1,
                }
                for mut arrived in packets {
                    if self.session.as_mut().is_some_and(|session| session.adapt(at, &mut arrived.packet)) {
                        self.handle_adapted(arrived);
                    }
                }
            }
            Some(Verdict::NotUnderstood) => {
                self.statistics.refused.unknown_ssrc += 1;
                self.events.push(ReceiverEvent::NotUnderstood { payload_type });
            }
            Some(Verdict::Learning) | None => self.statistics.refused.unknown_ssrc += 1,
        }
    }

    fn handle_adapted(&mut self, arrived: Arrived) {
        let Arrived { at, ecn, size, mut packet } = arrived;
        let observer = self.observer.as_deref_mut();
        if let Some(session) = &mut self.session {
            session.handle_packet(at, ecn, size, &mut packet, &mut self.statistics, observer);
        }
    }

    /// Explicit loss notification: a link reports that the channel lost this message, before a later one is handled. Only a
    /// simulator has such links.
    pub fn on_channel_loss(&mut self, lost: &Message) {
        if let (Some(session), Message::Rtp(packet)) = (&mut self.session, lost) {
            session.on_channel_loss(packet);
        }
    }

    /// The instant named by [`poll_timeout`](Self::poll_timeout) has come.
    pub fn handle_timeout(&mut self, now: Timestamp) {
        self.advance(now);
    }

    /// The decoder cannot go on without a key frame.
    pub fn on_picture_lost(&mut self, now: Timestamp) {
        if let Some(session) = &mut self.session {
            session.on_picture_lost(now);
        }
    }

    /// What is not whole so long after its earliest instant is given up from now on, as the playout's `max` and
    /// [`RepairRequests::deadline`](crate::RepairRequests::deadline) have it from the start.
    pub fn on_latency(&mut self, now: Timestamp, latency: TimeDelta) {
        self.config.playout.set_max(latency);
        self.config.repair.iter_mut().for_each(|repair| repair.deadline = latency);
        if let Some(session) = &mut self.session {
            session.on_latency(latency);
        }
        self.advance(now);
    }

    /// Another sender takes over, as its driver knows from elsewhere: its description is accepted at once, as after a goodbye.
    pub fn on_sender_replaced(&mut self) {
        if self.session.as_mut().is_some_and(Session::on_bye) {
            self.events.push(ReceiverEvent::SessionEnded);
        }
    }

    /// The receiver stops: a goodbye leaves with the next packet that is polled.
    pub fn on_close(&mut self, _now: Timestamp) {
        let ssrcs = [self.config.ssrc];
        let bye = Bye { ssrcs: List::from(&ssrcs[..]), reason: &[] };
        let Some(session) = self.session.take() else { return };
        let mut octets = if session.is_plain() { compound_head(&self.config, &[]) } else { Vec::new() };
        let start = octets.len();
        octets.resize(start + bye.buffer_len(), 0);
        if bye.emit(&mut octets[start..]).is_ok() {
            self.outbox.push(Bytes::from(octets));
        }
    }

    /// The packet that leaves now, its content written over `message`.
    #[inline]
    pub fn poll_transmit(&mut self, now: Timestamp, message: &mut Message) -> Option<Transmit> {
        let has_reports = self.session.as_ref().is_some_and(|session| session.has_reports(now));
        if self.outbox.is_empty() && !has_reports {
            return None;
        }
        self.next_report(now, message)
    }

    fn next_report(&mut self, now: Timestamp, message: &mut Message) -> Option<Transmit> {
        if let Some(session) = &mut self.session {
            session.build_reports(now, &self.config, &mut self.outbox, &mut self.statistics);
        }
        let (subflow, octets) = self.outbox.pop()?;
        *message = Message::Rtcp(octets);
        let size = self.config.overhead + DataSize::from_bytes(message.wire_len() as u64);
        self.statistics.feedback.add(size);
        Some(Transmit { at: now, size, ecn: Ecn::NotEct, subflow })
    }

    /// The next event that was not read.
    #[inline]
    pub fn poll_event(&mut self) -> Option<ReceiverEvent> {
        self.events.pop()
    }

    /// When the receiver wants to be woken, by [`handle_timeout`](Self::handle_timeout) and then by
    /// [`poll_transmit`](Self::poll_transmit).
    #[inline]
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        self.session.as_ref()?.poll_timeout()
    }

    /// Sender reports, descriptions and goodbyes.
    fn handle_reports(&mut self, at: Timestamp, octets: &[u8]) {
        // A sender report counts only once the description behind it is known.
        let messages = || rtcp::packets(octets).map(|packet| packet.and_then(rtcp::Message::parse));
        for message in messages() {
            if let Ok(rtcp::Message::App(app)) = message {
                self.on_app(at, &app);
            }
        }
        for message in messages() {
            match message {
                Ok(rtcp::Message::SenderReport(report)) => self.on_sender_report(at, &report),
                Ok(rtcp::Message::Bye(bye)) => self.on_bye(bye.ssrcs.iter()),
                Ok(_) => {}
                Err(_) => self.statistics.refused.malformed += 1,
            }
        }
    }

    fn on_app(&mut self, at: Timestamp, app: &App<'_>) {
        let Some(description) = SessionDescription::parse(app) else {
            self.statistics.refused.malformed += 1;
            return;
        };
        let is_offer = description.has_aac();
        let description = if self.config.takes_aac { description } else { description.without_aac() };
        let Some(session) = &mut self.session else { return self.lock_and_answer(at, description, is_offer) };
        if session.description.session != description.session {
            if session.is_over(at, self.config.lock) {
                self.lock_and_answer(at, description, is_offer);
            } else {
                self.statistics.refused.unknown_ssrc += 1;
            }
        } else if session.description != description {
            match session.on_description_changed(description.clone(), &self.config.registry) {
                Ok(()) => self.events.push(ReceiverEvent::SessionChanged(description)),
                Err(_) => self.statistics.refused.malformed += 1,
            }
        } else {
            session.on_activity(at);
        }
    }

    /// Begins the session of this description, in which the sender may offer something.
    fn lock_and_answer(&mut self, now: Timestamp, description: SessionDescription, is_offer: bool) {
        self.lock(now, description, None);
        self.session.iter_mut().filter(|_| is_offer).for_each(|session| session.report_at(now));
    }

    /// Begins the session of this description.
    fn lock(&mut self, now: Timestamp, description: SessionDescription, plain: Option<Box<PlainSource>>) {
        match Session::new(now, description.clone(), &self.config, plain) {
            Ok(session) => {
                if let Some(old) = self.session.replace(session) {
                    old.complete(&mut self.statistics);
                    self.events.push(ReceiverEvent::SessionEnded);
                }
                self.events.push(ReceiverEvent::SessionStarted(description));
            }
            // The controller does not exist here.
            Err(_) => self.statistics.refused.malformed += 1,
        }
    }

    fn on_sender_report(&mut self, at: Timestamp, report: &SenderReport<'_>) {
        if let Some(session) = &mut self.session {
            session.on_sender_report(at, report);
        }
    }

    fn on_bye(&mut self, mut ssrcs: impl Iterator<Item = u32>) {
        let own =
            self.session.as_mut().filter(|session| ssrcs.any(|ssrc| ssrc == session.description.session));
        if let Some(session) = own
            && session.on_bye()
        {
            self.events.push(ReceiverEvent::SessionEnded);
        }
    }

    #[inline]
    fn advance(&mut self, now: Timestamp) {
        if let Some(session) = &mut self.session {
            session.advance(now, &mut self.events, &mut self.statistics);
        }
    }
}

/// The rule of a stream's playout; with a buffer of bytes frames are delivered as they become whole.
fn playout_rule(playout: Playout) -> PlayoutRule {
    let rule = |min, max, waits| PlayoutRule { min, max, waits };
    match playout {
        Playout::Adaptive { min, max } => rule(min, max.max(min), true),
        Playout::LowLatency { max } => rule(TimeDelta::ZERO, max, false),
        Playout::Bytes(_) => rule(TimeDelta::ZERO, TimeDelta::ZERO, true),
    }
}

/// The present as the middle of an NTP time, for report timestamps.
fn report_time(now: Timestamp) -> seaway_wire::NtpShort {
    NtpTime::from_timestamp(now).short()
}
