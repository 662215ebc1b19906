//! The loop itself: what is sent, queued, lost, reported and fed back, in the order of its instants.

use super::{Bottleneck, Channel, Counters, Overhead, Path, PlayoutBuffer, gauge};
use seaway_control::estimators::Ewma;
use seaway_control::{
    Allowance, Arrival, BufferLevel, Content, ControllerPair, FeedbackSource, LocalSignal, PeerReport, Probe,
    ProbeId, RateController, SentPacket, StreamId, Subflow,
};
use seaway_session::{DepartureClock, FeedbackAdapter, HeaderFields};
use seaway_units::{Bitrate, DataSize, Ecn, RemoteTimestamp, TimeDelta, Timestamp};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// The closed loop.
pub struct PathRun {
    /// The sending half, to look inside.
    pub controller: Box<dyn RateController>,
    /// The receiving half.
    pub source: Box<dyn FeedbackSource>,
    /// Counted since the last [`measure`](Self::measure).
    pub counters: Counters,
    path: Path,
    now: Timestamp,
    events: BinaryHeap<Reverse<(Timestamp, u64)>>,
    content: BTreeMap<u64, Event>,
    next_event: u64,
    feedback: FeedbackAdapter,
    /// At the receiver: the sender's clock.
    clock: DepartureClock,
    next_subflow: usize,
    produced: DataSize,
    passed: u64,
    link_free_at: Timestamp,
    subflows: Vec<SubflowState>,
    /// Bytes in the playout buffer, since when, and whether it plays.
    held: f64,
    held_at: Timestamp,
    playing: bool,
    probe: Option<ActiveProbe>,
    /// What the obedient encoder gave and was not sent, octets, and when it was counted.
    offered: f64,
    offered_at: Timestamp,
}

/// A probe that is leaving.
#[derive(Debug, Clone, Copy)]
struct ActiveProbe {
    probe: Probe,
    next_at: Timestamp,
}

#[derive(Debug)]
enum Event {
    Arrive { packet: SentPacket, sent: Timestamp, tag: Option<u16>, ecn: Ecn, rtt: Option<TimeDelta> },
    Report { subflow: Subflow, received: Vec<(u64, Timestamp, Ecn)>, peer: PeerReport, hold: TimeDelta },
}

#[derive(Debug, Default)]
struct SubflowState {
    last: Option<(Timestamp, DataSize)>,
    rtt: Option<Ewma>,
    /// At the receiver: the highest number that arrived.
    newest: u64,
    /// At the receiver: what arrived since the last report.
    arrived: Vec<(u64, Timestamp, Ecn)>,
}

impl PathRun {
    /// The built-in controller that `spec` names, for packets of the path's size and this codepoint.
    ///
    /// # Panics
    /// Where there is none.
    pub fn named(spec: &str, ecn: Ecn, path: Path) -> Self {
        let pair = crate::build(spec, path.packet, ecn);
        Self::new(path, pair)
    }

    /// Both halves at the ends of `path`, at time zero.
    pub fn new(path: Path, (controller, source): ControllerPair) -> Self {
        Self {
            controller,
            source,
            counters: Counters::default(),
            path,
            now: Timestamp::ZERO,
            events: BinaryHeap::new(),
            content: BTreeMap::new(),
            next_event: 0,
            feedback: FeedbackAdapter::new(true, None),
            clock: DepartureClock::default(),
            next_subflow: 0,
            produced: DataSize::ZERO,
            passed: 0,
            link_free_at: Timestamp::ZERO,
            subflows: Vec::new(),
            probe: None,
            held: 0.0,
            held_at: Timestamp::ZERO,
            playing: false,
            offered: 0.0,
            offered_at: Timestamp::ZERO,
        }
    }

    /// The present.
    pub const fn now(&self) -> Timestamp {
        self.now
    }

    /// The number of the first subflow's next packet.
    pub fn next_sequence(&self) -> u64 {
        self.feedback.next_sequence(Subflow(0))
    }

    /// Changes the path for what is sent from now on.
    pub fn path(&mut self) -> &mut Path {
        &mut self.path
    }

    /// Runs for `span` and gives the counters of it.
    pub fn measure(&mut self, span: TimeDelta) -> Counters {
        self.counters = Counters::default();
        let end = self.now + span;
        loop {
            self.send_probe();
            self.send();
            let Some(next) = self.next_instant().filter(|next| *next <= end) else { break };
            self.now = next.max(self.now);
            self.step();
        }
        self.now = end;
        self.counters
    }

    /// The mean rate that arrived over `span`.
    pub fn receive_rate(&mut self, span: TimeDelta) -> Bitrate {
        let received = self.measure(span).received;
        (self.path.packet * received).over(span).unwrap_or(Bitrate::ZERO)
    }

    /// The mean rate that left over `span`.
    pub fn send_rate(&mut self, span: TimeDelta) -> Bitrate {
        let sent = self.measure(span).sent;
        (self.path.packet * sent).over(span).unwrap_or(Bitrate::ZERO)
    }

    /// The controller's gauge of that name.
    pub fn gauge(&self, name: &str) -> Option<f64> {
        gauge(&*self.controller, name)
    }

    /// An instant of one end as the other end's clock has it.
    fn remote(&self, at: Timestamp) -> RemoteTimestamp {
        RemoteTimestamp::from_nanos((at + self.path.clock).as_nanos())
    }

    fn next_instant(&self) -> Option<Timestamp> {
        let event = self.events.peek().map(|Reverse((at, _))| *at);
        let probe = self.probe.map(|active| active.next_at);
        let timers =
            [event, probe, self.controller.poll_timeout(), self.source.poll_timeout(), self.next_send()];
        timers.into_iter().flatten().min()
    }

    /// What the encoder gave since, at the target it had.
    fn encode(&mut self) {
        if !self.path.obedient {
            return;
        }
        let elapsed = self.now.since(self.offered_at).as_secs_f64();
        self.offered_at = self.now;
        let rate = self.controller.target().rate.as_bytes_per_second();
        self.offered += rate * elapsed;
        let waiting = DataSize::from_bytes(self.offered as u64);
        let oldest = TimeDelta::from_secs_f64(if rate > 0.0 { self.offered / rate } else { 0.0 });
        self.controller.on_signal(self.now, LocalSignal::Backlog { waiting, oldest });
    }

    fn step(&mut self) {
        self.encode();
        while let Some(Reverse((_, id))) =
            self.events.peek().filter(|Reverse((at, _))| *at <= self.now).copied()
        {
            self.events.pop();
            match self.content.remove(&id) {
                Some(Event::Arrive { packet, sent, tag, ecn, rtt }) => {
                    self.arrive(&packet, sent, tag, ecn, rtt);
                }
                Some(Event::Report { subflow, received, peer, hold }) => {
                    self.feed(subflow, &received, peer, hold);
                }
                None => {}
            }
        }
        if self.controller.poll_timeout().is_some_and(|at| at <= self.now) {
            self.controller.handle_timeout(self.now);
        }
        self.play(DataSize::ZERO);
        if self.source.poll_timeout().is_some_and(|at| at <= self.now) {
            self.source.handle_timeout(self.now);
        }
        while let Some((subflow, peer)) = self.source.poll_report(self.now) {
            let received = std::mem::take(&mut self.subflows[usize::from(subflow.0)].arrived);
            let newest = received.iter().max_by_key(|(sequence, ..)| *sequence);
            let hold = newest.map_or(TimeDelta::ZERO, |(_, at, _)| self.now - *at);
            self.schedule(self.now + self.path.back, Event::Report { subflow, received, peer, hold });
        }
    }

    /// Plays out of the buffer up to now, then puts `arrived` in.
    fn play(&mut self, arrived: DataSize) {
        let Some(PlayoutBuffer { capacity, consume }) = self.path.buffer else { return };
        let capacity_bytes = capacity.as_bytes_f64();
        if self.playing {
            let played = consume.as_bytes_per_second() * (self.now - self.held_at).as_secs_f64();
            self.held = (self.held - played).max(0.0);
        }
        self.held_at = self.now;
        if self.held + arrived.as_bytes_f64() > capacity_bytes {
            self.counters.overflowed += 1;
        } else {
            self.held += arrived.as_bytes_f64();
        }
        self.playing |= self.held >= 0.2 * capacity_bytes;
        let held = DataSize::from_bytes(self.held as u64);
        self.source.on_buffer(self.now, BufferLevel { held, capacity });
    }

    fn schedule(&mut self, at: Timestamp, event: Event) {
        self.events.push(Reverse((at, self.next_event)));
        self.content.insert(self.next_event, event);
        self.next_event += 1;
    }

    /// What waits at the application.
    fn backlog(&self) -> DataSize {
        if self.path.obedient {
            return DataSize::from_bytes(self.offered as u64);
        }
        let Some(rate) = self.path.source else { return DataSize::MAX };
        rate.size_in(self.now - Timestamp::ZERO) - self.produced
    }

    /// When a subflow may send next, given its allowance; `None` where only an event can let it.
    fn due(&self, subflow: usize, allowance: &Allowance) -> Option<Timestamp> {
        if allowance.rate == Bitrate::ZERO || allowance.window.is_some_and(|window| window < self.path.packet)
        {
            return None;
        }
        let Some((last, size)) = self.subflows.get(subflow).and_then(|subflow| subflow.last) else {
            return Some(self.now);
        };
        let spacing = allowance.rate.time_to_send(size)?;
        Some((last + spacing + allowance.gap).max(self.now - allowance.credit))
    }

    fn next_send(&self) -> Option<Timestamp> {
        let subflows = (0..self.controller.subflows()).map(usize::from);
        let due = subflows
            .filter_map(|subflow| self.due(subflow, &self.controller.allowance(Subflow(subflow as u8))))
            .min()?;
        if self.backlog() >= self.path.packet {
            return Some(due);
        }
        if self.path.obedient {
            // A microsecond more, so that rounding leaves no octet to wait for.
            let missing = self.path.packet.as_bytes_f64() - self.offered;
            let rate = self.controller.target().rate.as_bytes_per_second();
            let filled = self.offered_at + TimeDelta::from_secs_f64((missing / rate).min(1e6) + 1e-6);
            return (rate > 0.0).then(|| due.max(filled));
        }
        let missing = self.produced + self.path.packet;
        let filled = self.path.source.and_then(|rate| rate.time_to_send(missing))?;
        Some(due.max(Timestamp::ZERO + filled))
    }

    /// Sends what is due of the probe that the controller requested: padding beside the media.
    fn send_probe(&mut self) {
        loop {
            if self.probe.is_none() {
                let requested = self.controller.poll_probe(self.now);
                self.probe = requested.map(|probe| ActiveProbe { probe, next_at: self.now });
            }
            let Some(ActiveProbe { probe, next_at }) = self.probe else { return };
            if next_at > self.now {
                return;
            }
            self.depart(0, self.now, Some(probe.id));
            let size = probe.size.saturating_sub(self.path.packet);
            let packets = probe.packets.saturating_sub(1);
            let spacing = probe.rate.time_to_send(self.path.packet);
            self.probe = spacing.filter(|_| !size.is_zero() || packets > 0).map(|spacing| ActiveProbe {
                probe: Probe { size, packets, ..probe },
                next_at: next_at + spacing,
            });
        }
    }

    /// Sends what may leave now, subflow after subflow.
    fn send(&mut self) {
        let mut refusals = 0;
        while refusals < usize::from(self.controller.subflows()) && self.backlog() >= self.path.packet {
            let subflow = self.next_subflow % usize::from(self.controller.subflows());
            self.next_subflow = subflow + 1;
            let allowance = self.controller.allowance(Subflow(subflow as u8));
            match self.due(subflow, &allowance).filter(|due| *due <= self.now) {
                Some(due) => {
                    refusals = 0;
                    self.depart(subflow, due, None);
                }
                None => refusals += 1,
            }
        }
    }

    fn depart(&mut self, subflow: usize, due: Timestamp, probe: Option<ProbeId>) {
        while self.subflows.len() <= subflow {
            self.subflows.push(SubflowState::default());
        }
        if probe.is_none() {
            self.produced += self.path.packet;
            self.offered = (self.offered - self.path.packet.as_bytes_f64()).max(0.0);
        }
        let limited = self.path.source.is_some() || self.path.obedient;
        let backlog = if limited { self.backlog() } else { self.path.packet };
        let state = &mut self.subflows[subflow];
        let packet = SentPacket {
            id: self.feedback.next_id(),
            subflow: Subflow(subflow as u8),
            sequence: self.feedback.next_sequence(Subflow(subflow as u8)),
            size: self.path.packet,
            content: if probe.is_some() { Content::Padding } else { Content::Media(StreamId(0)) },
            probe,
            backlog,
        };
        if probe.is_none() {
            state.last = Some((due, packet.size));
        }
        self.feedback.on_sent(self.now, &packet, HeaderFields::default());
        let rtt = state.rtt.and_then(|rtt| rtt.get()).map(TimeDelta::from_secs_f64);
        let marking = self.controller.marking(self.now, &packet);
        self.controller.on_sent(self.now, &packet);
        self.counters.sent += 1;
        let Some(out) = self.serve(packet.size) else { return };
        let fate = (self.path.channel)(self.passed);
        self.passed += 1;
        let ecn = match fate {
            Channel::Lose => {
                self.counters.lost += 1;
                let SentPacket { subflow, sequence, size, .. } = packet;
                let sent = self.remote(self.now);
                let (ecn, tag, ends_frame) = (marking.ecn, marking.tag, false);
                self.source.on_channel_loss(&Arrival {
                    subflow,
                    sequence,
                    size,
                    ecn,
                    tag,
                    sent,
                    rtt,
                    ends_frame,
                });
                return;
            }
            Channel::Mark if marking.ecn.is_capable() => Ecn::Ce,
            _ => marking.ecn,
        };
        let event = Event::Arrive { packet, sent: self.now, tag: marking.tag, ecn, rtt };
        self.schedule(out + self.path.forward, event);
    }

    /// When a packet leaves the bottleneck, if its queue has room.
    fn serve(&mut self, size: DataSize) -> Option<Timestamp> {
        let Some(Bottleneck { rate, queue }) = self.path.bottleneck else { return Some(self.now) };
        let at = self.now + self.path.overhead.as_mut().map_or(TimeDelta::ZERO, Overhead::draw);
        let begins = self.link_free_at.max(at);
        if begins - at > queue {
            self.counters.refused += 1;
            return None;
        }
        self.link_free_at = begins + rate.time_to_send(size)?;
        Some(self.link_free_at)
    }

    fn arrive(
        &mut self,
        packet: &SentPacket,
        sent: Timestamp,
        tag: Option<u16>,
        ecn: Ecn,
        rtt: Option<TimeDelta>,
    ) {
        self.counters.received += 1;
        self.play(packet.size);
        self.subflows[usize::from(packet.subflow.0)].arrived.push((packet.sequence, self.now, ecn));
        let state = &mut self.subflows[usize::from(packet.subflow.0)];
        let is_newest = packet.sequence >= state.newest;
        state.newest = state.newest.max(packet.sequence);
        let arrival = Arrival {
            subflow: packet.subflow,
            sequence: packet.sequence,
            size: packet.size,
            ecn,
            tag,
            sent: self.clock.read(self.now, self.remote(sent), rtt, is_newest),
            rtt,
            ends_frame: false,
        };
        self.source.on_arrival(self.now, &arrival);
    }

    /// Matches a report with what was sent and gives it to the controller.
    fn feed(
        &mut self,
        subflow: Subflow,
        received: &[(u64, Timestamp, Ecn)],
        peer: PeerReport,
        hold: TimeDelta,
    ) {
        let now = self.now;
        self.feedback.on_message(now);
        for (sequence, at, ecn) in received {
            let id = self.feedback.find(subflow, *sequence);
            let at = self.remote(*at);
            self.feedback.on_received(now, id, Some(at), *ecn);
            id.into_iter().for_each(|id| self.feedback.on_newest(subflow, id, hold));
        }
        *self.feedback.peer(subflow) = peer;
        let (controller, subflows, counters) = (&mut self.controller, &mut self.subflows, &mut self.counters);
        let forge = &mut self.path.forge;
        self.feedback.deliver(now, |feedback| {
            if let Some(rtt) = feedback.rtt {
                let rtt = rtt.as_secs_f64();
                subflows[usize::from(feedback.subflow.0)].rtt.get_or_insert(Ewma::new(0.9)).update(rtt);
                counters.rtt_sum += rtt;
                counters.reports += 1;
            }
            let mut feedback = *feedback;
            if let Some(forge) = forge {
                forge(&mut feedback);
            }
            controller.on_feedback(now, &feedback);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seaway_control::{Fixed, PeriodicFeedback, pair};

    fn fixed(rate: Bitrate, path: Path) -> PathRun {
        PathRun::new(path, pair(Fixed::new(Some(rate)), PeriodicFeedback::default()))
    }

    fn started(mut run: PathRun) -> PathRun {
        let (min, max) = (Bitrate::ZERO, Bitrate::MAX);
        run.controller
            .on_signal(Timestamp::ZERO, seaway_control::LocalSignal::Limits { min, start: max, max });
        run
    }

    #[test]
    fn pacing_and_loss() {
        let mut run =
            started(fixed(Bitrate::from_mbps(8), Path::new(TimeDelta::from_millis(100)).losing_every(10)));
        let counters = run.measure(TimeDelta::from_secs(10));
        assert_eq!((counters.sent, counters.lost), (10_001, 1000));
        assert!((counters.rtt_sum / counters.reports as f64 - 0.1).abs() < 1e-6);
    }

    #[test]
    fn bottleneck_delays_and_refuses() {
        let bottleneck = Bottleneck { rate: Bitrate::from_mbps(4), queue: TimeDelta::from_millis(50) };
        let path = Path { bottleneck: Some(bottleneck), ..Path::new(TimeDelta::from_millis(100)) };
        let mut run = started(fixed(Bitrate::from_mbps(8), path));
        run.measure(TimeDelta::from_secs(2));
        let counters = run.measure(TimeDelta::from_secs(10));
        assert!((counters.received as f64 - 5000.0).abs() < 3.0);
        assert!((counters.rtt_sum / counters.reports as f64 - 0.152).abs() < 0.002);
    }

    #[test]
    fn source_limits_the_rate() {
        let path = Path { source: Some(Bitrate::from_mbps(1)), ..Path::new(TimeDelta::from_millis(40)) };
        let mut run = started(fixed(Bitrate::from_mbps(8), path));
        let rate = run.send_rate(TimeDelta::from_secs(10));
        assert!((rate.as_bps_f64() / 1e6 - 1.0).abs() < 0.01, "{rate}");
    }
}
