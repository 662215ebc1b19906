//! RTCP from the receiver, and how it goes into the feedback adapter.

use super::pushback::PathState;
use super::{LaneState, Sender};
use crate::describe::in_band;
use crate::event::{FeedbackKind, KeyFrameCause, SenderEvent};
use crate::feedback::Match;
use crate::message::{MOST_AHEAD, Message};
use crate::source_id::SourceId;
use crate::unwrap::nearest;
use seaway_control::{BufferLevel, Congestion, Fate, LocalSignal, PacketId, StreamId, Subflow};
use seaway_units::{DataSize, Ecn, RateRange, RemoteTimestamp, TimeDelta, Timestamp};
use seaway_wire::rtcp::ccfb::{Ccfb, Metric, StreamReport};
use seaway_wire::rtcp::{self, Nack, ReceiverReport, Twcc};
use seaway_wire::{MicrosClock, NtpTime};

/// Another receiver is accepted once the present one was silent for this long.
const LOCK: TimeDelta = TimeDelta::from_secs(1);

/// The receiver that reports.
#[derive(Debug, Default)]
pub(super) struct Peer {
    ssrc: Option<u32>,
    last_packet: Timestamp,
    /// Its report clock, 2^-16 s (RFC 8888), the highest seen.
    report_clock: Option<u64>,
    /// It reported in the present message, and took the AAC that is offered.
    has_reported: bool,
    has_taken: bool,
    /// Its arrival clock, ns (transport-wide feedback), the highest seen.
    twcc_clock: u64,
}

impl Peer {
    pub(super) fn is_present(&self) -> bool {
        self.ssrc.is_some()
    }

    /// Whether `ssrc` is or becomes the peer, and whether it just became it.
    fn admit(&mut self, now: Timestamp, ssrc: u32) -> (bool, bool) {
        let is_known = self.ssrc == Some(ssrc);
        let is_free = self.ssrc.is_none() || now.since(self.last_packet) > LOCK;
        if is_known || is_free {
            self.last_packet = now;
            self.ssrc = Some(ssrc);
        }
        (is_known || is_free, is_free && !is_known)
    }

    /// The time of a report on the peer's clock, unwrapped.
    fn report_time(&mut self, bits: u32) -> u64 {
        self.report_clock.map_or(u64::from(bits), |known| nearest::<32>(known, bits))
    }

    /// An arrival on the peer's clock. It wraps after days: the turn nearest to what came before is taken.
    fn arrival_time(&mut self, at: TimeDelta) -> RemoteTimestamp {
        let wrap = Twcc::WRAP.as_nanos();
        let turns = (self.twcc_clock as i64 - at.as_nanos() + wrap / 2).div_euclid(wrap);
        let nanos = at.as_nanos().saturating_add(turns.saturating_mul(wrap));
        let nanos = if nanos < 0 { nanos + wrap } else { nanos } as u64;
        self.twcc_clock = self.twcc_clock.max(nanos);
        RemoteTimestamp::from_nanos(nanos)
    }
}

/// Packets that arrived by a report.
fn arrivals(stream: &StreamReport<'_>) -> u64 {
    stream.packets().filter(|(_, metric)| matches!(metric, Metric::Received { .. })).count() as u64
}

impl Sender {
    /// A message came. What is malformed or not for this session is counted and otherwise ignored.
    ///
    /// `at` is when it arrived: the kernel's time where there is one, at most `now`.
    pub fn handle_message(&mut self, now: Timestamp, at: Timestamp, message: &Message) {
        let Message::Rtcp(octets) = message else {
            self.statistics.refused.unknown_ssrc += 1;
            return;
        };
        self.schedule.is_valid = false;
        self.feedback.on_message(at.min(now));
        let mut is_feedback = false;
        (self.peer.has_reported, self.peer.has_taken) = (false, false);
        for packet in rtcp::packets(octets) {
            match packet.and_then(rtcp::Message::parse) {
                Ok(message) => is_feedback |= self.handle_report(now, message),
                Err(_) => self.statistics.refused.malformed += 1,
            }
        }
        self.follow_offer(now);
        if is_feedback {
            self.statistics.feedback.add(self.size_of(message.wire_len()));
            if let Some(interval) = self.feedback.on_feedback(now) {
                self.controller.on_signal(now, LocalSignal::FeedbackInterval(interval));
            }
            if self.is_long(message) {
                self.feedback.on_long_message();
            }
            self.deliver_feedback(now);
        }
        // A first round-trip time shortens the wait for what was not reported.
        if self.feedback.is_loss_due(now) {
            self.deliver_feedback(now);
        }
        self.follow_controller(now);
    }

    /// Whether a report may take another datagram behind this one. Ours leave one when it is nearly full, others when it has as many packets
    /// as fit at worst (GStreamer: two octets a packet), and no one below half of it.
    fn is_long(&self, message: &Message) -> bool {
        let room = self.config.packet.saturating_sub(self.config.overhead);
        DataSize::from_bytes(message.wire_len() as u64 * 2) >= room
    }

    /// True where the report is feedback for this session.
    fn handle_report(&mut self, now: Timestamp, message: rtcp::Message<'_>) -> bool {
        use rtcp::Message as M;
        match message {
            M::Ccfb(report) => self.on_ccfb(now, &report),
            M::Twcc(report) => self.on_twcc(now, &report),
            M::Nack(nack) => self.on_nack(now, &nack),
            M::ReceiverReport(report) => self.on_receiver_report(now, &report),
            M::Pli(pli) => self.about(now, pli.sender_ssrc, pli.media_ssrc).is_some_and(|source| {
                self.statistics.picture_losses += 1;
                self.want_key(now, source.stream, KeyFrameCause::PictureLoss);
                false
            }),
            M::Tfrc(report) => self.about(now, report.sender_ssrc, report.media_ssrc).is_some_and(|source| {
                self.on_echo(now, source.subflow, report.echo, report.delay);
                let peer = self.feedback.peer(source.subflow);
                peer.loss_event_rate = Some(report.loss_event_rate);
                peer.new_loss_event = report.new_loss;
                peer.receive_rate = Some(report.receive_rate);
                peer.ce_packets = report.ecn.then_some(report.ce_packets);
                true
            }),
            M::Nada(report) => self.about(now, report.sender_ssrc, report.media_ssrc).is_some_and(|source| {
                let peer = self.feedback.peer(source.subflow);
                peer.congestion = Some(Congestion { delay: report.congestion, ramp_up: report.ramp_up });
                peer.receive_rate = Some(report.receive_rate);
                true
            }),
            M::BufferLevel(report) => {
                self.about(now, report.sender_ssrc, report.media_ssrc).is_some_and(|source| {
                    let (held, capacity) = (report.held, report.capacity);
                    self.feedback.peer(source.subflow).buffer = Some(BufferLevel { held, capacity });
                    true
                })
            }
            M::BufferAware(report) => {
                self.about(now, report.sender_ssrc, report.media_ssrc).is_some_and(|source| {
                    self.on_echo(now, source.subflow, report.echo, report.delay);
                    let (held, capacity) = (report.held, report.capacity);
                    self.feedback.peer(source.subflow).buffer = Some(BufferLevel { held, capacity });
                    true
                })
            }
            M::Remb(report) => {
                let own =
                    report.media_ssrcs.iter().find_map(|ssrc| self.about(now, report.sender_ssrc, ssrc));
                own.is_some_and(|source| {
                    self.feedback.peer(source.subflow).limit = Some(report.bitrate);
                    true
                })
            }
            M::App(app) => {
                self.peer.has_taken |= in_band::takes_aac(&app);
                false
            }
            M::Bye(bye) => {
                self.on_bye(bye.ssrcs.iter());
                false
            }
            _ => false,
        }
    }

    /// A receiver of this project that reports and does not take AAC gets Opus, and so do all from then on.
    fn follow_offer(&mut self, now: Timestamp) {
        if self.config.plain.is_some() || !self.peer.has_reported || self.peer.has_taken {
            return;
        }
        for (stream, id) in self.config.streams.iter_mut().zip(0..) {
            let known = stream.description.without_offer();
            if stream.description != known {
                stream.description = known;
                let dropped = self.scheduler.queue.drop_audio();
                self.statistics.audio.dropped += dropped;
                self.statistics.audio.queued -= dropped;
                self.reports.describe_at(now);
                self.events.push(SenderEvent::AacRefused { stream: StreamId(id) });
            }
        }
    }

    /// The source that a report is about; `None` where it is none of this session or the reporter is not the peer.
    fn about(&mut self, now: Timestamp, reporter: u32, ssrc: u32) -> Option<SourceId> {
        let source = SourceId::of(ssrc, self.config.session);
        let sensible = source.filter(|source| usize::from(source.stream.0) < self.config.streams.len());
        let admitted = sensible.filter(|_| {
            let (admitted, new) = self.peer.admit(now, reporter);
            if new {
                self.on_new_peer(now, reporter);
            }
            admitted
        });
        if admitted.is_none() {
            self.statistics.refused.unknown_ssrc += 1;
        }
        admitted
    }

    /// A new receiver needs the description and key frames.
    fn on_new_peer(&mut self, now: Timestamp, ssrc: u32) {
        self.events.push(SenderEvent::PeerAppeared { ssrc });
        self.feedback.on_new_peer();
        self.receiver_reports.on_new_receiver();
        self.reception = super::Reception::default();
        if self.statistics.feedback.packets > 0 {
            // Not the first receiver: the stream is running.
            self.reports.describe_at(now);
            for stream in 0..self.config.streams.len() {
                self.want_key(now, StreamId(stream as u8), KeyFrameCause::NewPeer);
            }
        }
    }

    fn on_bye(&mut self, mut ssrcs: impl Iterator<Item = u32>) {
        if let Some(ssrc) = self.peer.ssrc.filter(|own| ssrcs.any(|ssrc| ssrc == *own)) {
            self.peer.ssrc = None;
            self.events.push(SenderEvent::PeerLeft { ssrc });
        }
    }

    /// RFC 8888: each metric block is an arrival that counts back from the report's own time. What reports arrivals of packets that never
    /// left, and no others, is no feedback.
    fn on_ccfb(&mut self, now: Timestamp, report: &Ccfb<'_>) -> bool {
        let clock = self.peer.report_time(report.report_timestamp.bits());
        let made = NtpTime::from_bits(clock << 16).to_remote();
        let mut is_feedback = false;
        for stream in report.streams() {
            let Some(source) = self.about(now, report.sender_ssrc, stream.ssrc) else { continue };
            let unmatched = self.statistics.refused.unmatched;
            let newest = self.on_metrics(now, made, source, &stream);
            let forged = self.statistics.refused.unmatched - unmatched;
            if forged > 0 && forged == arrivals(&stream) {
                continue;
            }
            self.peer.report_clock = self.peer.report_clock.max(Some(clock));
            self.on_feedback_kind(FeedbackKind::Ccfb);
            self.feedback.on_report(source.subflow, clock);
            self.feedback.peer(source.subflow);
            is_feedback = true;
            if let Some((id, held)) = newest {
                self.feedback.on_newest(source.subflow, id, held);
            }
        }
        is_feedback
    }

    /// What a report `made` then says of a source; gives its newest packet and how long that was held.
    fn on_metrics(
        &mut self,
        now: Timestamp,
        made: RemoteTimestamp,
        source: SourceId,
        stream: &StreamReport<'_>,
    ) -> Option<(PacketId, TimeDelta)> {
        let mut packets = stream.packets();
        let mut newest = None;
        // Packets that left one after the other are found with one search.
        if let Some((PacketId(first), count)) =
            self.numbers.find_run(source, stream.begin_sequence, packets.len())
        {
            for (id, (_, metric)) in (first..).map(PacketId).zip(packets.by_ref().take(count)) {
                newest = self.on_metric(now, made, Some(id), metric).or(newest);
            }
        }
        for (sequence, metric) in packets {
            let id = self.numbers.find(source, sequence);
            newest = self.on_metric(now, made, id, metric).max(newest);
        }
        newest
    }

    #[inline]
    fn on_metric(
        &mut self,
        now: Timestamp,
        made: RemoteTimestamp,
        id: Option<PacketId>,
        metric: Metric,
    ) -> Option<(PacketId, TimeDelta)> {
        let Metric::Received { ecn, arrival } = metric else { return None };
        let held = arrival.to_span();
        // Reports overlap, so most blocks repeat what is known.
        if !id.is_some_and(|id| self.feedback.history.is_received(id)) {
            self.on_arrived(now, id, held.map(|held| made - held), ecn);
        }
        id.zip(held)
    }

    fn on_twcc(&mut self, now: Timestamp, report: &Twcc<'_>) -> bool {
        if self.about(now, report.sender_ssrc, report.media_ssrc).is_none() {
            return false;
        }
        let (mut newest, mut forged) = (None, false);
        for (sequence, at) in report.packets() {
            let Some(at) = at else { continue };
            let id = self.feedback.history.find_transport(sequence);
            // A packet that never left says nothing of the peer's clock.
            if id.is_none() {
                (self.statistics.refused.unmatched, forged) = (self.statistics.refused.unmatched + 1, true);
                continue;
            }
            let at = self.peer.arrival_time(at);
            newest = newest.max(Some(at));
            self.on_arrived(now, id, Some(at), Ecn::NotEct);
            if let Some((id, (_, packet))) = id.and_then(|id| Some((id, self.feedback.sent(id)?))) {
                self.feedback.on_newest_arrival(packet.subflow, id, at);
            }
        }
        if let Some(newest) = newest {
            self.feedback.on_untimed_report(newest);
        }
        let is_feedback = newest.is_some() || !forged;
        if is_feedback {
            self.on_feedback_kind(FeedbackKind::Twcc);
        }
        is_feedback
    }

    #[inline]
    fn on_arrived(&mut self, now: Timestamp, id: Option<PacketId>, at: Option<RemoteTimestamp>, ecn: Ecn) {
        match self.feedback.on_received(now, id, at, ecn) {
            Match::New => self.statistics.marked += u64::from(ecn == Ecn::Ce),
            Match::Duplicate => {}
            Match::Unknown => self.statistics.refused.unmatched += 1,
        }
    }

    /// The receiver echoes a send time and reports how long it held the packet.
    fn on_echo(&mut self, now: Timestamp, subflow: Subflow, echo: MicrosClock, held: TimeDelta) {
        let Some(id) = self.feedback.on_echo(subflow, echo, held) else {
            self.statistics.refused.unmatched += 1;
            return;
        };
        if !self.config.feedback.has_arrivals() {
            // Of all packets only the echoed one is reported.
            self.on_arrived(now, Some(id), None, Ecn::NotEct);
            if self.config.repair.is_none() {
                self.feedback.history.resolve_before(subflow, id);
            }
        }
    }

    fn on_receiver_report(&mut self, now: Timestamp, report: &ReceiverReport<'_>) -> bool {
        let mut is_feedback = false;
        for block in report.blocks.iter() {
            let is_first = self.feedback.round_trip().smoothed().is_none();
            let Some(source) = self.about(now, report.ssrc, block.ssrc) else { continue };
            self.peer.has_reported = true;
            self.reception.on_block(&block, &mut self.statistics.reported);
            let rtt = block.round_trip(self.report_clock(now).short());
            let is_covered = self.config.plain.is_some() && !self.is_unreported(source.stream);
            if is_covered && self.on_feedback_kind(FeedbackKind::ReceiverReports) {
                is_feedback = true;
                self.on_reported_block(now, source, &block, rtt);
            } else if let Some(rtt) = rtt.filter(|_| is_first) {
                // Feedback is more exact, once there is some.
                self.feedback.on_rtt(rtt);
            }
        }
        is_feedback
    }

    fn on_nack(&mut self, now: Timestamp, nack: &Nack<'_>) -> bool {
        let Some(source) = self.about(now, nack.sender_ssrc, nack.media_ssrc) else { return false };
        let (rtt, mut is_feedback) = (self.rtt(), false);
        // A request that came sooner cannot know whether the packet is missing.
        let least = self.feedback.round_trip().minimum().unwrap_or_default();
        for sequence in nack.sequence_numbers() {
            let id = self.numbers.find(source, sequence);
            let Some((id, (sent, packet))) = id.and_then(|id| Some((id, self.feedback.sent(id)?))) else {
                let is_ahead = self.numbers.is_next(source, sequence, MOST_AHEAD);
                self.statistics.refused.unmatched += u64::from(!is_ahead);
                continue;
            };
            if now.since(sent) < least {
                continue;
            }
            is_feedback = true;
            self.statistics.requested += 1;
            self.feedback.on_requested(packet.subflow, id);
            let retransmissions = &mut self.scheduler.retransmissions;
            let request = retransmissions.on_request(now, sent, rtt, id);
            if let Some(service) = request.and_then(|request| self.repair.serve(now, request)) {
                retransmissions.queue(packet.subflow, id, service);
            }
        }
        is_feedback
    }

    /// Gives the controller the feedback of the message, and declares lost what is overdue.
    pub(super) fn deliver_feedback(&mut self, now: Timestamp) {
        let (controller, observer, repair) = (&mut self.controller, &mut self.observer, &mut self.repair);
        let (lanes, events) = (&mut self.scheduler.lanes, &mut self.events);
        let mut delivered = DataSize::ZERO;
        self.feedback.deliver(now, |feedback| {
            let arrived = feedback.packets.iter().filter(|report| report.fate != Fate::Lost);
            delivered += arrived.map(|report| report.packet.size).sum();
            if let Some(observer) = observer {
                observer.on_feedback(now, feedback);
            }
            repair.on_reports(feedback.packets);
            controller.on_feedback(now, feedback);
            let lane = feedback.subflow;
            if lanes.as_mut().is_some_and(|lanes| lanes.on_feedback(now, feedback)) {
                controller.on_lane(now, lane, true);
                events.push(SenderEvent::Lane { lane, state: LaneState::Up });
            }
        });
        self.numbers.forget_before(self.feedback.history.oldest());
        self.scheduler.retransmissions.forget_before(self.feedback.history.oldest());
        self.push_back(now, delivered);
    }

    /// Holds encoders back where the network's queue grows beyond what is tolerated.
    fn push_back(&mut self, now: Timestamp, delivered: DataSize) {
        let part = self.feedback.take_part();
        let round_trip = *self.feedback.round_trip();
        let (Some(base), Some(last)) = (round_trip.minimum(), round_trip.last()) else { return };
        let target = self.target().rate;
        let range = RateRange { min: self.config.limits.min.min(target), max: target };
        let is_shared = self.controller.is_competing();
        let path = PathState { flight: self.feedback.history.flight(), base, last, is_shared };
        let ended = self.pushback.on_message(part.continues, range);
        let decision = if part.may_go_on {
            self.pushback.on_part(now, delivered, path);
            None
        } else {
            self.pushback.on_feedback(now, delivered, path, range)
        };
        for decision in ended.into_iter().chain(decision) {
            self.statistics.decisions += 1;
            self.events.push(SenderEvent::Decision(decision));
        }
        self.follow_shares();
    }
}
