//! Feedback of every format, matched with what left, becomes one language before the controller sees it.

use super::Sender;
use super::pushback::PathState;
use crate::event::{KeyFrameCause, SenderEvent};
use crate::feedback::history::Outcome;
use crate::message::Message;
use crate::source_id::SourceId;
use crate::unwrap::nearest;
use seaway_control::{
    Arrival, BufferLevel, Congestion, Fate, Feedback, FeedbackSource, Lane, LocalSignal, PacketId,
    PacketReport, PeerReport, StreamId,
};
use seaway_units::{Ecn, RateRange, RemoteTimestamp, TimeDelta, Timestamp};
use seaway_wire::rtcp::ccfb::{Ccfb, Metric, StreamReport};
use seaway_wire::rtcp::{self, Nack, ReceiverReport, Twcc};
use seaway_wire::{MicrosClock, NtpTime};

/// Another receiver is heard once the present one was silent for this long.
const LOCK: TimeDelta = TimeDelta::from_secs(1);

/// Requests that wait to be served.
const REPAIRS: usize = 4096;

/// Who reports.
#[derive(Debug, Default)]
pub(super) struct Peer {
    ssrc: Option<u32>,
    heard: Timestamp,
    /// Mean time between reports.
    every: TimeDelta,
    /// What of it the controller knows.
    told: TimeDelta,
}

impl Peer {
    pub(super) fn is_present(&self) -> bool {
        self.ssrc.is_some()
    }

    pub(super) fn feedback_interval(&self) -> TimeDelta {
        self.every
    }

    /// True where `ssrc` is or becomes the peer; the second says that it just became it.
    fn admits(&mut self, now: Timestamp, ssrc: u32) -> (bool, bool) {
        let known = self.ssrc == Some(ssrc);
        let free = self.ssrc.is_none() || now.since(self.heard) > LOCK;
        if known || free {
            self.heard = now;
            self.ssrc = Some(ssrc);
        }
        (known || free, free && !known)
    }

    /// A message with reports came `since` the one before; tells what the controller should know of it.
    fn on_feedback(&mut self, since: TimeDelta) -> Option<TimeDelta> {
        let since = since.min(TimeDelta::from_secs(1));
        self.every = if self.every == TimeDelta::ZERO { since } else { (self.every * 7 + since) / 8 };
        let changed = (self.every - self.told).abs() > self.told / 4;
        changed.then(|| {
            self.told = self.every;
            self.every
        })
    }
}

/// What one message told, collected until it is read to its end. The buffers are kept.
#[derive(Debug)]
pub(super) struct Evidence {
    /// The receiving half, for formats that leave it to us.
    source: Box<dyn FeedbackSource>,
    reports: Vec<PacketReport>,
    requested: Vec<(Lane, PacketId)>,
    lanes: Vec<LaneEvidence>,
    /// The peer's report clock in 2^-16 s, its arrival clock in 250 microseconds: the highest seen.
    report_clock: Option<u64>,
    twcc_clock: u64,
    last_feedback: Option<Timestamp>,
    /// When the message in hand arrived.
    arrived: Timestamp,
}

/// What a message told of one lane beside its packets.
#[derive(Debug, Clone, Copy)]
struct LaneEvidence {
    lane: Lane,
    /// The receiver itself said how long it held the echoed packet.
    echoed_rtt: Option<TimeDelta>,
    /// From the newest packet: its departure and how long the receiver held it.
    newest: Option<(PacketId, TimeDelta)>,
    peer: PeerReport,
}

impl Evidence {
    pub(super) fn new(source: Box<dyn FeedbackSource>) -> Self {
        Self {
            source,
            reports: Vec::new(),
            requested: Vec::new(),
            lanes: Vec::new(),
            report_clock: None,
            twcc_clock: 0,
            last_feedback: None,
            arrived: Timestamp::ZERO,
        }
    }

    pub(super) fn add_report(&mut self, report: PacketReport) {
        self.reports.push(report);
    }

    fn lane(&mut self, lane: Lane) -> &mut LaneEvidence {
        let index = self.lanes.iter().position(|known| known.lane == lane).unwrap_or_else(|| {
            let peer = PeerReport::default();
            self.lanes.push(LaneEvidence { lane, echoed_rtt: None, newest: None, peer });
            self.lanes.len() - 1
        });
        &mut self.lanes[index]
    }

    /// A packet of this departure was held for `held` when the report was made.
    fn on_newest(&mut self, lane: Lane, id: PacketId, held: TimeDelta) {
        let newest = &mut self.lane(lane).newest;
        if newest.is_none_or(|(known, _)| known < id) {
            *newest = Some((id, held));
        }
    }
}

impl Sender {
    /// A message came. Whatever makes no sense is counted and otherwise ignored.
    ///
    /// `at` is when it arrived: the kernel's time where there is one, at most `now`.
    pub fn handle_message(&mut self, now: Timestamp, at: Timestamp, message: &Message) {
        let Message::Rtcp(octets) = message else {
            self.statistics.refused.unknown_ssrc += 1;
            return;
        };
        self.schedule.is_valid = false;
        self.evidence.arrived = at.min(now);
        let mut feedback = false;
        for packet in rtcp::packets(octets) {
            match packet.and_then(rtcp::Message::parse) {
                Ok(message) => feedback |= self.handle_report(now, message),
                Err(_) => self.statistics.refused.malformed += 1,
            }
        }
        if feedback {
            self.statistics.feedback.add(self.size_of(message.wire_len()));
            self.follow_pace(now);
            self.conclude(now);
        }
        // A first round-trip time shortens the wait for what is silent.
        if self.history.next_loss(self.loss_times()).is_some_and(|due| due <= now) {
            self.conclude(now);
        }
        self.follow_controller(now);
    }

    /// True where the report was for us and told something.
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
                self.on_echo(now, source.lane, report.echo, report.delay);
                let peer = &mut self.evidence.lane(source.lane).peer;
                peer.loss_event_rate = Some(report.loss_event_rate);
                peer.new_loss_event = report.new_loss;
                peer.receive_rate = Some(report.receive_rate);
                peer.ce_packets = report.ecn.then_some(report.ce_packets);
                true
            }),
            M::Nada(report) => self.about(now, report.sender_ssrc, report.media_ssrc).is_some_and(|source| {
                let peer = &mut self.evidence.lane(source.lane).peer;
                peer.congestion = Some(Congestion { delay: report.congestion, ramp_up: report.ramp_up });
                peer.receive_rate = Some(report.receive_rate);
                true
            }),
            M::BufferLevel(report) => {
                self.about(now, report.sender_ssrc, report.media_ssrc).is_some_and(|source| {
                    let (held, capacity) = (report.held, report.capacity);
                    self.evidence.lane(source.lane).peer.buffer = Some(BufferLevel { held, capacity });
                    true
                })
            }
            M::BufferAware(report) => {
                self.about(now, report.sender_ssrc, report.media_ssrc).is_some_and(|source| {
                    self.on_echo(now, source.lane, report.echo, report.delay);
                    let (held, capacity) = (report.held, report.capacity);
                    self.evidence.lane(source.lane).peer.buffer = Some(BufferLevel { held, capacity });
                    true
                })
            }
            M::Remb(report) => {
                let own =
                    report.media_ssrcs.iter().find_map(|ssrc| self.about(now, report.sender_ssrc, ssrc));
                own.is_some_and(|source| {
                    self.evidence.lane(source.lane).peer.limit = Some(report.bitrate);
                    true
                })
            }
            M::Bye(bye) => {
                self.on_bye(bye.ssrcs.iter());
                false
            }
            _ => false,
        }
    }

    /// What of ours a report is about; `None` where it is not about us or the reporter is a stranger.
    fn about(&mut self, now: Timestamp, reporter: u32, ssrc: u32) -> Option<SourceId> {
        let source = SourceId::of(ssrc, self.config.session);
        let sensible = source.filter(|source| usize::from(source.stream.0) < self.config.streams.len());
        let admitted = sensible.filter(|_| {
            let (admitted, new) = self.peer.admits(now, reporter);
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

    /// A receiver that was not there before knows nothing of us.
    fn on_new_peer(&mut self, now: Timestamp, ssrc: u32) {
        self.events.push(SenderEvent::PeerAppeared { ssrc });
        self.evidence.last_feedback = None;
        if self.statistics.feedback.packets > 0 {
            // Not the first: it comes into the middle.
            self.reports.announce_at(now);
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

    /// RFC 8888: each metric block is an arrival that counts back from the report's own time.
    fn on_ccfb(&mut self, now: Timestamp, report: &Ccfb<'_>) -> bool {
        let bits = report.report_timestamp.bits();
        let clock = self.evidence.report_clock.map_or(u64::from(bits), |known| nearest::<32>(known, bits));
        let made = NtpTime::from_bits(clock << 16).to_remote();
        let mut told = false;
        for stream in report.streams() {
            let Some(source) = self.about(now, report.sender_ssrc, stream.ssrc) else { continue };
            self.evidence.report_clock = self.evidence.report_clock.max(Some(clock));
            self.evidence.lane(source.lane);
            told = true;
            if let Some((id, held)) = self.on_metrics(now, made, source, &stream) {
                self.evidence.on_newest(source.lane, id, held);
            }
        }
        told
    }

    /// What a report `made` then says of a source; tells the newest packet of it and how long that was held.
    fn on_metrics(
        &mut self,
        now: Timestamp,
        made: RemoteTimestamp,
        source: SourceId,
        stream: &StreamReport<'_>,
    ) -> Option<(PacketId, TimeDelta)> {
        let mut packets = stream.packets();
        let mut newest = None;
        // Mostly they left one after the other, and one search finds them all.
        if let Some((PacketId(first), count)) =
            self.history.find_run(source, stream.begin_sequence, packets.len())
        {
            for (id, (_, metric)) in (first..).map(PacketId).zip(packets.by_ref().take(count)) {
                newest = self.on_metric(now, made, Some(id), metric).or(newest);
            }
        }
        for (sequence, metric) in packets {
            let id = self.history.find_rtp(source, sequence);
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
        // Reports overlap, so that the loss of one does no harm.
        if !id.is_some_and(|id| self.history.is_received(id)) {
            self.on_arrived(now, id, held.map(|held| made - held), ecn);
        }
        id.zip(held)
    }

    fn on_twcc(&mut self, now: Timestamp, report: &Twcc<'_>) -> bool {
        if self.about(now, report.sender_ssrc, report.media_ssrc).is_none() {
            return false;
        }
        for (sequence, at) in report.packets() {
            let Some(at) = at else { continue };
            let wrap = Twcc::WRAP.as_nanos();
            // The clock wraps after days: take the turn that is nearest to what came before.
            let turns = (self.evidence.twcc_clock as i64 - at.as_nanos() + wrap / 2).div_euclid(wrap);
            let nanos = at.as_nanos().saturating_add(turns.saturating_mul(wrap));
            let nanos = if nanos < 0 { nanos + wrap } else { nanos } as u64;
            self.evidence.twcc_clock = self.evidence.twcc_clock.max(nanos);
            let id = self.history.find_transport(sequence);
            self.on_arrived(now, id, Some(RemoteTimestamp::from_nanos(nanos)), Ecn::NotEct);
            if let Some((id, lane)) = id.and_then(|id| Some((id, self.history.lane_of(id)?))) {
                self.evidence.on_newest(lane, id, TimeDelta::ZERO);
            }
        }
        true
    }

    #[inline]
    fn on_arrived(&mut self, now: Timestamp, id: Option<PacketId>, at: Option<RemoteTimestamp>, ecn: Ecn) {
        let reports = &mut self.evidence.reports;
        let outcome = id.map_or(Outcome::Unmatched, |id| self.history.on_received(now, id, at, ecn, reports));
        match outcome {
            Outcome::News => self.statistics.marked += u64::from(ecn == Ecn::Ce),
            Outcome::Known => {}
            Outcome::Unmatched => self.statistics.refused.unmatched += 1,
        }
    }

    /// The receiver echoes a send time and says how long it held the packet.
    fn on_echo(&mut self, now: Timestamp, lane: Lane, echo: MicrosClock, delay: TimeDelta) {
        let Some(id) = self.history.find_echo(lane, echo) else {
            self.statistics.refused.unmatched += 1;
            return;
        };
        let rtt = self.history.sent_at(id).map(|sent| self.evidence.arrived - sent - delay);
        if !self.config.feedback.has_arrivals() {
            // The echo is all that is told of any packet.
            self.on_arrived(now, Some(id), None, Ecn::NotEct);
            self.history.settle_before(lane, id);
        }
        let evidence = self.evidence.lane(lane);
        evidence.peer.echoed = Some(id);
        evidence.echoed_rtt = rtt;
    }

    fn on_receiver_report(&mut self, now: Timestamp, report: &ReceiverReport<'_>) -> bool {
        for block in report.blocks.iter() {
            if self.about(now, report.ssrc, block.ssrc).is_none() || self.round_trip.smoothed().is_some() {
                continue;
            }
            // Feedback knows better, once there is some.
            if let Some(rtt) = block.round_trip(NtpTime::from_timestamp(now).short()) {
                self.statistics.last_rtt = self.round_trip.on_sample(rtt).or(self.statistics.last_rtt);
            }
        }
        false
    }

    fn on_nack(&mut self, now: Timestamp, nack: &Nack<'_>) -> bool {
        let Some(source) = self.about(now, nack.sender_ssrc, nack.media_ssrc) else { return false };
        for sequence in nack.sequence_numbers() {
            let id = self.history.find_rtp(source, sequence);
            let Some((lane, id)) = id.and_then(|id| Some((self.history.lane_of(id)?, id))) else {
                self.statistics.refused.unmatched += 1;
                continue;
            };
            self.statistics.requested += 1;
            self.evidence.requested.push((lane, id));
            self.queue_repair(now, lane, id);
        }
        true
    }

    /// Queues what is asked for, unless it waits already, was repeated often enough or is too old.
    fn queue_repair(&mut self, now: Timestamp, lane: Lane, id: PacketId) {
        let Some(limits) = self.config.repair else { return };
        let Some((_, sent, stored)) = self.history.stored(id) else { return };
        let worthwhile = stored.repeats < limits.repeats && now.since(sent) <= limits.age;
        let waits = self.repairs.iter().any(|(_, waiting)| *waiting == id);
        if worthwhile && !waits && self.repairs.len() < REPAIRS {
            self.repairs.push_back((lane, id));
        }
    }

    /// How often feedback comes, for timers that punish silence.
    fn follow_pace(&mut self, now: Timestamp) {
        let since = self.evidence.last_feedback.replace(now).map(|last| now.since(last));
        if let Some(every) = since.and_then(|since| self.peer.on_feedback(since)) {
            self.controller.on_signal(now, LocalSignal::FeedbackInterval(every));
        }
    }

    /// Calls lost what must be, and hands the evidence to the controller lane by lane.
    pub(super) fn conclude(&mut self, now: Timestamp) {
        let times = self.loss_times();
        self.history.detect_losses(now, times, &mut self.evidence.reports);
        let mut reports = std::mem::take(&mut self.evidence.reports);
        let mut requested = std::mem::take(&mut self.evidence.requested);
        self.count_fates(&reports);
        reports.retain(|report| report.packet.id >= self.controller_since);
        let key = |report: &PacketReport| (report.packet.lane, report.packet.id);
        if !reports.is_sorted_by_key(key) {
            reports.sort_unstable_by_key(key);
        }
        requested.sort_unstable();
        for of_lane in reports.chunk_by(|a, b| a.packet.lane == b.packet.lane) {
            self.evidence.lane(of_lane[0].packet.lane);
        }
        for (lane, _) in &requested {
            self.evidence.lane(*lane);
        }
        if !self.config.feedback.has_computed() {
            self.run_receiving_half(&reports);
        }
        let mut lanes = std::mem::take(&mut self.evidence.lanes);
        lanes.sort_unstable_by_key(|evidence| evidence.lane);
        for evidence in &lanes {
            let of_lane = of_lane(&reports, evidence.lane, |report| report.packet.lane);
            let asked: Vec<PacketId> = self::of_lane(&requested, evidence.lane, |(lane, _)| *lane)
                .iter()
                .map(|(_, id)| *id)
                .collect();
            self.hand_over(now, evidence, of_lane, &asked);
        }
        lanes.clear();
        self.push_back(now, &reports);
        reports.clear();
        requested.clear();
        self.evidence.lanes = lanes;
        self.evidence.reports = reports;
        self.evidence.requested = requested;
        self.history.forget(now);
    }

    /// Holds encoders back where the network's queue grows beyond what is tolerated.
    fn push_back(&mut self, now: Timestamp, reports: &[PacketReport]) {
        let (Some(base), Some(last)) = (self.round_trip.minimum(), self.statistics.last_rtt) else { return };
        let target = self.controller.target().rate;
        let range = RateRange { min: self.config.limits.min.min(target), max: target };
        let path = PathState { flight: self.history.flight(), base, last };
        if let Some(decision) = self.pushback.on_feedback(now, reports, path, range) {
            self.statistics.decisions += 1;
            self.events.push(SenderEvent::Decision(decision));
        }
        self.follow_shares();
    }

    fn count_fates(&mut self, reports: &[PacketReport]) {
        for report in reports {
            match report.fate {
                Fate::Received { .. } => self.statistics.received += 1,
                Fate::Lost => self.statistics.lost += 1,
                Fate::Late { .. } => {
                    self.statistics.received += 1;
                    self.statistics.late += 1;
                }
            }
        }
    }

    fn hand_over(
        &mut self,
        now: Timestamp,
        evidence: &LaneEvidence,
        packets: &[PacketReport],
        requested: &[PacketId],
    ) {
        let from_newest = || {
            let (id, held) = evidence.newest?;
            // Only news of a packet tells of the present path.
            packets.binary_search_by_key(&id, |report| report.packet.id).ok()?;
            Some(self.evidence.arrived - self.history.sent_at(id)? - held)
        };
        let sample = evidence.echoed_rtt.or_else(from_newest);
        let rtt = sample.and_then(|sample| self.round_trip.on_sample(sample));
        self.statistics.last_rtt = rtt.or(self.statistics.last_rtt);
        let feedback = Feedback { lane: evidence.lane, rtt, packets, requested, peer: evidence.peer };
        if let Some(observer) = &mut self.observer {
            observer.on_feedback(now, &feedback);
        }
        self.controller.on_feedback(now, &feedback);
    }

    /// Where the peer reports arrivals and nothing else, its half runs here, on its clock.
    fn run_receiving_half(&mut self, reports: &[PacketReport]) {
        let mut arrivals: Vec<(RemoteTimestamp, &PacketReport, Ecn)> = reports
            .iter()
            .filter_map(|report| match report.fate {
                Fate::Received { at, ecn } => Some((at?, report, ecn)),
                Fate::Late { at } => Some((at?, report, Ecn::NotEct)),
                Fate::Lost => None,
            })
            .collect();
        arrivals.sort_by_key(|(at, report, _)| (*at, report.packet.id));
        let rtt = self.round_trip.on_wire();
        let mut present = None;
        for (at, report, ecn) in arrivals {
            let peer_now = Timestamp::from_nanos(at.as_nanos());
            let written = self.history.written_on(report.packet.id);
            let arrival = Arrival {
                lane: report.packet.lane,
                sequence: report.packet.sequence,
                size: report.packet.size,
                ecn,
                tag: written.tag,
                sent: RemoteTimestamp::from_nanos(report.sent.as_nanos()),
                rtt,
                ends_frame: written.ends_frame,
            };
            let source = &mut self.evidence.source;
            if source.poll_timeout().is_some_and(|due| due <= peer_now) {
                source.handle_timeout(peer_now);
            }
            source.on_arrival(peer_now, &arrival);
            present = Some(peer_now);
        }
        let Some(peer_now) = present else { return };
        while let Some((lane, report)) = self.evidence.source.poll_report(peer_now) {
            let known = &mut self.evidence.lane(lane).peer;
            *known = PeerReport { buffer: known.buffer, limit: known.limit, ..report };
        }
    }
}

/// The elements of a lane in a slice that is sorted by lanes.
fn of_lane<T>(sorted: &[T], lane: Lane, lane_of: impl Fn(&T) -> Lane) -> &[T] {
    let start = sorted.partition_point(|element| lane_of(element) < lane);
    let len = sorted[start..].partition_point(|element| lane_of(element) == lane);
    &sorted[start..start + len]
}
