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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{FeedbackFormat, Format, SenderConfig, StreamConfig};
    use crate::describe::StreamDescription;
    use crate::{Frame, FrameData, FrameKind, Limits};
    use bytes::Bytes;
    use seaway_control::policy::Direct;
    use seaway_units::{Bitrate, Probability};
    use seaway_wire::aac::Config;
    use seaway_wire::rtcp::ccfb::{self, ArrivalOffset};
    use seaway_wire::rtcp::twcc::TwccWriter;
    use seaway_wire::rtcp::{
        BufferAwareReport, BufferLevelReport, Bye, NackEntry, NadaReport, Pli, Remb, TfrcReport,
    };
    use seaway_wire::{Error, List, NtpShort};

    const SESSION: u32 = 0x5EA0_0000;
    const PEER: u32 = 0xACE;
    const FIRST: u16 = 65_534;

    fn config() -> SenderConfig {
        let kbps = Bitrate::from_kbps;
        let limits = Limits { min: kbps(150), start: kbps(8000), max: kbps(9000) };
        SenderConfig {
            initial_sequence: FIRST,
            ..SenderConfig::new(SESSION, "nada".parse().unwrap(), limits, Format::Opaque)
        }
    }

    /// A sender from which the four packets of a frame left within 600 ms.
    fn sender() -> Sender {
        sender_of(config())
    }

    fn sender_of(config: SenderConfig) -> Sender {
        let mut sender = Sender::new(at(0), config, Box::new(Direct::new())).unwrap();
        let data = FrameData::Synthetic(DataSize::from_bytes(4000));
        let frame = Frame::new(at(100), FrameKind::Key, data, TimeDelta::from_millis(40));
        sender.handle_frame(at(100), &frame).unwrap();
        let (mut message, mut packets) = (Message::default(), 0);
        for millis in 100..600 {
            sender.handle_timeout(at(millis));
            while sender.poll_transmit(at(millis), at(millis), &mut message).is_some() {
                packets += u32::from(matches!(message, Message::Rtp(_)));
            }
        }
        assert_eq!(packets, 4);
        while sender.poll_event().is_some() {}
        sender
    }

    /// What is written by a function into so many octets at most.
    fn written(len: usize, write: impl FnOnce(&mut [u8]) -> Result<usize, Error>) -> Message {
        let mut octets = vec![0; len];
        write(&mut octets).unwrap();
        Message::Rtcp(octets.into())
    }

    fn handle(sender: &mut Sender, millis: u64, message: &Message) {
        sender.handle_message(at(millis), at(millis), message);
    }

    fn pli(ssrc: u32) -> Message {
        let pli = Pli { sender_ssrc: PEER, media_ssrc: ssrc };
        written(12, |octets| pli.emit(octets))
    }

    fn request(first: u16, count: u16) -> Message {
        let entries: Vec<_> =
            (0..count).map(|index| NackEntry { packet_id: first.wrapping_add(index), bitmask: 0 }).collect();
        let nack = Nack { sender_ssrc: PEER, media_ssrc: SESSION, entries: List::from(&entries[..]) };
        written(nack.buffer_len(), |octets| nack.emit(octets))
    }

    /// So many packets from a number on arrived with this codepoint, all 5 ms before the report.
    fn arrived(begin: u16, count: usize, ecn: Ecn) -> Message {
        let arrival = ArrivalOffset::from_span(TimeDelta::from_millis(5));
        reported(begin, count, Metric::Received { ecn, arrival })
    }

    fn reported(begin: u16, count: usize, metric: Metric) -> Message {
        let mut octets = vec![0; 2000];
        let mut writer = ccfb::Writer::new(&mut octets, PEER).unwrap();
        writer.stream(SESSION, begin, std::iter::repeat_n(metric, count)).unwrap();
        let len = writer.finish(NtpShort::from_bits(0x1234_5678)).unwrap();
        octets.truncate(len);
        Message::Rtcp(octets.into())
    }

    fn transport_wide(base: u16, count: u64) -> Message {
        let mut octets = vec![0; 2000];
        let writer = TwccWriter { sender_ssrc: PEER, media_ssrc: SESSION, feedback_count: 0 };
        let arrivals = (0..count).map(|count| Some(at(5_000 + count)));
        let len = writer.emit(base, arrivals, &mut octets).unwrap().len;
        octets.truncate(len);
        Message::Rtcp(octets.into())
    }

    fn events(sender: &mut Sender) -> Vec<SenderEvent> {
        std::iter::from_fn(|| sender.poll_event()).collect()
    }

    #[test]
    fn what_is_not_for_this_session_is_counted() {
        let mut sender = sender();
        let refused = |sender: &Sender| sender.statistics().refused;
        for count in 1..3 {
            handle(&mut sender, 620, &Message::Rtp(crate::RtpPacket::default()));
            assert_eq!(refused(&sender).unknown_ssrc, count);
        }
        // Of another session, and of a stream that there is not: eight streams have 128 sources each.
        for (ssrc, count) in [(SESSION - 1, 3), (SESSION + 1024, 4), (SESSION + 128, 5)] {
            handle(&mut sender, 620, &pli(ssrc));
            assert_eq!((refused(&sender).unknown_ssrc, sender.statistics().picture_losses), (count, 0));
        }
        for count in 1..3 {
            let cut = Message::Rtcp(Bytes::from_static(&[0x80, 206, 0, 9, 0, 0, 0, 7]));
            handle(&mut sender, 620, &cut);
            assert_eq!(refused(&sender).malformed, count);
        }
        assert!(!sender.peer.is_present() && sender.statistics().feedback.packets == 0);
    }

    #[test]
    fn a_receiver_that_lost_a_picture_gets_a_key_frame() {
        let mut sender = sender();
        for count in 1..3 {
            handle(&mut sender, 620, &pli(SESSION));
            assert_eq!(sender.statistics().picture_losses, count);
        }
        assert!(matches!(events(&mut sender)[0], SenderEvent::PeerAppeared { ssrc: PEER }));
    }

    #[test]
    fn a_receiver_leaves_in_its_own_name() {
        let mut sender = sender();
        handle(&mut sender, 620, &pli(SESSION));
        events(&mut sender);
        let bye = |ssrc: u32| {
            let ssrcs = [ssrc];
            let bye = Bye { ssrcs: List::from(&ssrcs[..]), reason: &[] };
            written(bye.buffer_len(), |octets| bye.emit(octets))
        };
        handle(&mut sender, 630, &bye(PEER + 1));
        assert!(sender.peer.is_present() && events(&mut sender).is_empty());
        handle(&mut sender, 630, &bye(PEER));
        assert!(!sender.peer.is_present());
        assert!(matches!(events(&mut sender)[..], [SenderEvent::PeerLeft { ssrc: PEER }]));
    }

    /// The second receiver of a running stream needs a description and a key frame, the first one does not.
    #[test]
    fn another_receiver_begins_anew() {
        let mut sender = sender();
        let wanted = |sender: &mut Sender| {
            let events = events(sender);
            let is_wanted = |event: &SenderEvent| {
                matches!(event, SenderEvent::KeyFrameWanted { cause: KeyFrameCause::NewPeer, .. })
            };
            events.iter().filter(|event| is_wanted(event)).count()
        };
        handle(&mut sender, 620, &arrived(FIRST, 1, Ecn::NotEct));
        assert_eq!((wanted(&mut sender), sender.statistics().feedback.packets), (0, 1));
        assert!(sender.about(at(5000), PEER + 1, SESSION).is_some());
        assert_eq!(wanted(&mut sender), 1);
    }

    /// Packets that never left, beside such that did and alone.
    #[test]
    fn arrivals_of_packets_that_never_left_are_counted() {
        let mut sender = sender();
        let mut sums = |message: Message| {
            handle(&mut sender, 620, &message);
            let statistics = sender.statistics();
            (statistics.refused.unmatched, statistics.feedback.packets, statistics.marked)
        };
        assert_eq!(sums(arrived(20_000, 3, Ecn::Ce)), (3, 0, 0));
        assert_eq!(sums(arrived(20_000, 3, Ecn::Ce)), (6, 0, 0));
        assert_eq!(sums(arrived(FIRST, 1, Ecn::NotEct)), (6, 1, 0));
        assert_eq!(sums(arrived(FIRST, 2, Ecn::Ce)), (6, 2, 1));
        assert_eq!(sums(arrived(FIRST, 3, Ecn::Ce)), (6, 3, 2));
        assert_eq!(sums(arrived(FIRST, 6, Ecn::Ce)), (8, 4, 3), "two more than left");
        assert_eq!(sums(arrived(20_000, 2, Ecn::Ce)), (10, 4, 3));
        assert_eq!(sums(arrived(FIRST, 4, Ecn::Ce)), (10, 5, 3), "nothing is new");
        assert_eq!(sums(reported(FIRST, 4, Metric::Missing)), (10, 6, 3), "nothing came");
    }

    #[test]
    fn transport_wide_numbers_that_never_left_are_counted() {
        let mut sender = sender();
        let mut sums = |message: Message| {
            handle(&mut sender, 620, &message);
            (sender.statistics().refused.unmatched, sender.statistics().feedback.packets)
        };
        assert_eq!(sums(transport_wide(20_000, 3)), (3, 0));
        assert_eq!(sums(transport_wide(0, 2)), (3, 1));
        assert_eq!(sums(transport_wide(0, 6)), (5, 2), "two more than left");
        assert_eq!(sums(transport_wide(20_000, 3)), (8, 2));
    }

    /// Numbers that the sender may use soon are no forgery.
    #[test]
    fn requests_are_counted() {
        let mut sender = sender();
        let mut sums = |first, count| {
            handle(&mut sender, 620, &request(first, count));
            (sender.statistics().requested, sender.statistics().refused.unmatched)
        };
        assert_eq!(sums(FIRST, 2), (2, 0));
        assert_eq!(sums(FIRST.wrapping_add(2), 2), (4, 0));
        assert_eq!(sums(FIRST.wrapping_add(4), 3), (4, 0), "the next ones");
        assert_eq!(sums(20_000, 2), (4, 2));
        assert_eq!(sums(20_000, 1), (4, 3));
    }

    /// Sooner than after the least round trip no one can know that a packet is missing.
    #[test]
    fn requests_that_come_too_soon_are_passed_over() {
        let mut sender = sender();
        let least = TimeDelta::from_millis(50);
        sender.feedback.on_rtt(least);
        let (sent, _) = sender.feedback.sent(PacketId(3)).unwrap();
        for (now, requested) in [(sent + TimeDelta::from_millis(49), 0), (sent + least, 1)] {
            sender.handle_message(now, now, &request(FIRST.wrapping_add(3), 1));
            assert_eq!(sender.statistics().requested, requested);
        }
    }

    /// What is echoed arrived, where nothing else says so.
    #[test]
    fn an_echo_is_an_arrival_where_no_others_are_reported() {
        for feedback in [FeedbackFormat::Native, FeedbackFormat::Computed] {
            let mut sender = sender_of(SenderConfig { feedback, ..config() });
            for count in 1..3 {
                sender.on_echo(at(620), Subflow(0), MicrosClock::from_timestamp(at(7)), TimeDelta::ZERO);
                assert_eq!(sender.statistics().refused.unmatched, count);
            }
            let (sent, _) = sender.feedback.sent(PacketId(1)).unwrap();
            sender.on_echo(at(620), Subflow(0), MicrosClock::from_timestamp(sent), TimeDelta::ZERO);
            assert_eq!(sender.feedback.history.is_received(PacketId(1)), !feedback.has_arrivals());
            assert_eq!(sender.statistics().refused.unmatched, 2);
        }
    }

    #[test]
    fn a_report_of_half_a_datagram_may_go_on() {
        let sender = sender();
        let room = sender.config.packet.saturating_sub(sender.config.overhead).as_bytes() as usize;
        let is_long = |len: usize| sender.is_long(&Message::Rtcp(vec![0; len].into()));
        assert!(is_long(room) && is_long(room.div_ceil(2)) && !is_long(room.div_ceil(2) - 1));
    }

    /// Sound that waits in the format that is refused never leaves.
    #[test]
    fn refused_sound_is_counted() {
        let mut config = config();
        let aac = StreamDescription::aac(Config::parse([0x12, 0x10]).unwrap());
        config.streams.push(StreamConfig::audio(aac, Bitrate::from_kbps(100)));
        let mut sender = sender_of(config);
        let frame = [&[0xFF, 0xF1, 0x50, 0x80, 1, 0x5F, 0xFC][..], &[7; 3]].concat();
        let data = FrameData::Coded(frame.into());
        let frame = Frame::new(at(610), FrameKind::Key, data, TimeDelta::from_millis(23));
        sender.handle_frame(at(610), &Frame { stream: StreamId(1), ..frame }).unwrap();
        assert_eq!((sender.statistics().audio.queued, sender.statistics().audio.dropped), (1, 0));
        sender.peer.has_reported = true;
        sender.follow_offer(at(620));
        assert_eq!((sender.statistics().audio.queued, sender.statistics().audio.dropped), (0, 1));
        assert!(matches!(events(&mut sender)[..], [.., SenderEvent::AacRefused { stream: StreamId(1) }]));
    }

    #[test]
    fn reports_of_controllers_reach_them() {
        use rtcp::Message as M;
        let mut sender = sender();
        let (held, capacity) = (DataSize::from_bytes(5), DataSize::from_bytes(9));
        let (sender_ssrc, receive_rate) = (PEER, Bitrate::from_kbps(7));
        let (echo, delay) = (MicrosClock::from_timestamp(at(1)), TimeDelta::ZERO);
        let mut handle = |of: &dyn Fn(u32) -> M<'static>| {
            assert!(!sender.handle_report(at(620), of(SESSION - 1)), "of another session");
            assert!(sender.handle_report(at(620), of(SESSION)));
            std::mem::take(sender.feedback.peer(Subflow(0)))
        };
        let tfrc = handle(&|media_ssrc| {
            let (loss_event_rate, new_loss, ecn, ce_packets) = (Probability::default(), true, true, 3);
            M::Tfrc(TfrcReport {
                sender_ssrc,
                media_ssrc,
                echo,
                delay,
                receive_rate,
                loss_event_rate,
                new_loss,
                ecn,
                ce_packets,
            })
        });
        assert!(tfrc.new_loss_event && tfrc.loss_event_rate == Some(Probability::default()));
        assert_eq!((tfrc.receive_rate, tfrc.ce_packets), (Some(receive_rate), Some(3)));
        let nada = handle(&|media_ssrc| {
            M::Nada(NadaReport { sender_ssrc, media_ssrc, ramp_up: true, congestion: DELAY, receive_rate })
        });
        assert_eq!(
            (nada.congestion, nada.receive_rate),
            (Some(Congestion { delay: DELAY, ramp_up: true }), Some(receive_rate))
        );
        let level = handle(&|media_ssrc| {
            M::BufferLevel(BufferLevelReport { sender_ssrc, media_ssrc, held, capacity })
        });
        assert_eq!(level.buffer, Some(BufferLevel { held, capacity }));
        let aware = handle(&|media_ssrc| {
            let (highest_sequence, lost) = (1, 0);
            M::BufferAware(BufferAwareReport {
                sender_ssrc,
                media_ssrc,
                held,
                capacity,
                echo,
                delay,
                highest_sequence,
                lost,
            })
        });
        assert_eq!(aware.buffer, Some(BufferLevel { held, capacity }));
        for (ssrc, is_own) in [(SESSION - 1, false), (SESSION, true)] {
            let ssrcs = [ssrc];
            let remb = Remb { sender_ssrc, bitrate: receive_rate, media_ssrcs: List::from(&ssrcs[..]) };
            assert_eq!(sender.handle_report(at(620), M::Remb(remb)), is_own);
            assert_eq!(sender.feedback.peer(Subflow(0)).limit, is_own.then_some(receive_rate));
        }
    }

    const DELAY: TimeDelta = TimeDelta::from_millis(20);

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_nanos(millis * 1_000_000)
    }

    /// Another receiver counts once the one that reports was silent for more than a second.
    #[test]
    fn one_receiver_at_a_time() {
        let mut peer = Peer::default();
        assert!(!peer.is_present());
        assert_eq!(peer.admit(at(0), 1), (true, true));
        assert!(peer.is_present());
        assert_eq!(peer.admit(at(500), 2), (false, false));
        assert_eq!(peer.admit(at(1000), 1), (true, false));
        assert_eq!(peer.admit(at(2000), 2), (false, false), "a second is not more than one");
        assert_eq!(peer.admit(at(2001), 2), (true, true));
        assert_eq!(peer.admit(at(2002), 1), (false, false));
        assert_eq!(peer.admit(at(9000), 2), (true, false), "silent for long, and the same");
    }

    #[test]
    fn a_report_clock_goes_on_where_it_wraps() {
        let mut peer = Peer::default();
        assert_eq!(peer.report_time(7), 7);
        peer.report_clock = Some(0xFFFF_FFF0);
        assert_eq!((peer.report_time(0xFFFF_FFF8), peer.report_time(5)), (0xFFFF_FFF8, 0x1_0000_0005));
    }

    #[test]
    fn an_arrival_clock_goes_on_where_it_wraps() {
        let wrap = Twcc::WRAP.as_nanos() as u64;
        let mut peer = Peer::default();
        let mut read = |nanos: u64| peer.arrival_time(TimeDelta::from_nanos(nanos as i64)).as_nanos();
        assert_eq!((read(0), read(5)), (0, 5));
        assert_eq!(read(wrap - 1), wrap - 1, "no time is before the first");
        assert_eq!(read(5), wrap + 5);
        assert_eq!(read(wrap - 10), wrap - 10, "one that was late");
        assert_eq!(read(20), wrap + 20);
        assert_eq!(read(wrap / 2), wrap + wrap / 2);
        assert_eq!((read(wrap - 1), read(0)), (2 * wrap - 1, 2 * wrap));
    }
}
