//! What was sent, matched with what the peer reports of it: every feedback format becomes one language before a
//! controller sees it.

mod estimator;
mod history;
mod interval;
mod round_trip;
mod samples;
mod sequence_log;
mod steady_clock;

pub use estimator::{BandwidthEstimator, Departure, PacketArrival, PacketResult};
pub use history::{HeaderFields, Match};
pub(crate) use round_trip::RoundTrip;
pub(crate) use sequence_log::SequenceLog;
pub use steady_clock::DepartureClock;

use history::{LossTimes, SendHistory};
use interval::Interval;
use samples::{Held, Parts, Unsettled};
use seaway_control::{
    Arrival, Fate, Feedback, FeedbackSource, PacketId, PacketReport, PeerReport, SentPacket, Subflow,
};
use seaway_units::{Ecn, RemoteTimestamp, TimeDelta, Timestamp};

/// Two intervals of receiver reports, and their randomisation.
const SLOW_SILENCE: TimeDelta = TimeDelta::from_secs(12);

/// Matches feedback with the packets it is about, and gives a controller one [`Feedback`] for each subflow.
///
/// Packets are entered with [`on_sent`](Self::on_sent). A feedback message begins with
/// [`on_message`](Self::on_message); what it says goes in by the `on_*` methods below that, and
/// [`deliver`](Self::deliver) ends it. Losses are detected here, unless the peer detects them
/// ([`on_lost`](Self::on_lost)).
#[derive(Debug)]
pub struct FeedbackAdapter {
    pub(crate) history: SendHistory,
    round_trip: RoundTrip,
    /// Those of the lanes, with their loss times, where the subflows are lanes.
    lanes: Vec<LaneTimes>,
    /// The receiving half, where the peer reports nothing but arrivals.
    receiving_half: Option<Box<dyn FeedbackSource>>,
    /// Nothing but receiver reports may come, which are seconds apart.
    has_slow_reports: bool,
    /// The controller knows of the packets from here on.
    first: PacketId,
    interval: Interval,
    /// The interval that both ends know from the controller's options; zero where those set none.
    agreed: TimeDelta,
    /// By the interval and the round-trip time; read with each packet.
    loss_times: LossTimes,
    /// When a packet will be declared lost if no feedback comes; read with each packet too.
    next_loss: Option<Timestamp>,
    /// When the message in hand arrived.
    arrived: Timestamp,
    part: ReportPart,
    /// The newest arrival of a report without a time, in the message in hand: the report was made then or later.
    made_after: Option<RemoteTimestamp>,
    /// The message in hand has arrivals of a report without a time.
    is_untimed: bool,
    /// Of reports without a time.
    parts: Parts,
    /// Samples of reports without a time that may not have ended.
    unsettled: Vec<Unsettled>,
    reports: Vec<PacketReport>,
    requested: Vec<(Subflow, PacketId)>,
    subflows: Vec<SubflowFeedback>,
    counts: FateCounts,
}

/// What is known of a lane.
#[derive(Debug, Clone, Copy)]
struct LaneTimes {
    round_trip: RoundTrip,
    loss: LossTimes,
}

/// What the message in hand is of its report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ReportPart {
    /// It goes on with the report of the message before it.
    pub(crate) continues: bool,
    /// The next message may go on with it.
    pub(crate) may_go_on: bool,
}

/// Packets by their reported fate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FateCounts {
    /// Reported received, late ones included.
    pub received: u64,
    /// Declared lost.
    pub lost: u64,
    /// Of the lost ones, those reported received later.
    pub late: u64,
}

/// The parts of a message about a subflow beside its packets.
#[derive(Debug, Clone, Copy)]
struct SubflowFeedback {
    subflow: Subflow,
    /// A round-trip time that the receiver's own report of its holding time gives.
    echoed_rtt: Option<TimeDelta>,
    /// The newest packet and how long the receiver held it.
    newest: Option<(PacketId, Held)>,
    /// A sample that waited for this message.
    settled: Option<TimeDelta>,
    peer: PeerReport,
}

impl FeedbackAdapter {
    /// Nothing sent yet. `detects_loss`: arrivals are reported packet by packet, so a packet that is not reported
    /// is lost. `receiving_half` runs here, on the reported arrivals, where the peer does not run it.
    pub fn new(detects_loss: bool, receiving_half: Option<Box<dyn FeedbackSource>>) -> Self {
        Self {
            history: SendHistory::new(detects_loss),
            round_trip: RoundTrip::default(),
            lanes: Vec::new(),
            receiving_half,
            has_slow_reports: false,
            first: PacketId(0),
            interval: Interval::default(),
            agreed: TimeDelta::ZERO,
            loss_times: LossTimes::new(TimeDelta::ZERO, TimeDelta::ZERO, None),
            next_loss: None,
            arrived: Timestamp::ZERO,
            part: ReportPart::default(),
            made_after: None,
            is_untimed: false,
            parts: Parts::default(),
            unsettled: Vec::new(),
            reports: Vec::new(),
            requested: Vec::new(),
            subflows: Vec::new(),
            counts: FateCounts::default(),
        }
    }

    /// The subflows are so many lanes, of which each has a round-trip time of its own; up to 1 there are none.
    pub(crate) fn with_lanes(mut self, count: u8) -> Self {
        let lane = LaneTimes { round_trip: RoundTrip::default(), loss: self.loss_times };
        self.lanes = vec![lane; if count > 1 { count.into() } else { 0 }];
        self
    }

    /// Another controller takes over, which gets feedback on the packets that leave from now on.
    pub(crate) fn restart(&mut self, receiving_half: Option<Box<dyn FeedbackSource>>) {
        self.receiving_half = receiving_half;
        self.first = self.history.next_id();
        self.on_new_peer();
    }

    /// Another receiver reports: the time since the last message says nothing.
    pub(crate) fn on_new_peer(&mut self) {
        self.interval.on_new_peer();
        self.unsettled.clear();
        self.parts = Parts::default();
    }

    /// The id of the next packet.
    #[inline]
    pub fn next_id(&self) -> PacketId {
        self.history.next_id()
    }

    /// The sequence number of the subflow's next packet.
    #[inline]
    pub fn next_sequence(&self, subflow: Subflow) -> u64 {
        self.history.next_sequence(subflow)
    }

    /// When a packet left, and what it was; `None` where it is forgotten.
    pub(crate) fn sent(&self, id: PacketId) -> Option<(Timestamp, SentPacket)> {
        self.history.sent(id)
    }

    /// The packet with this sequence number of its subflow.
    pub fn find(&self, subflow: Subflow, sequence: u64) -> Option<PacketId> {
        self.history.find(subflow, sequence)
    }

    /// The last sample of the round-trip time.
    pub fn last_rtt(&self) -> Option<TimeDelta> {
        self.round_trip.last()
    }

    /// Packets by their fate since the start.
    pub fn counts(&self) -> FateCounts {
        self.counts
    }

    /// A packet left, the next of its subflow. True where an older one was forgotten for it and declared lost: then
    /// [`deliver`](Self::deliver) has something to report.
    #[inline]
    pub fn on_sent(&mut self, now: Timestamp, packet: &SentPacket, fields: HeaderFields) -> bool {
        let forgotten = self.history.push(now, packet, fields);
        self.reports.extend(forgotten);
        // The first of several that wait for their reports is the first to be lost. Other subflows may have other times.
        let may_be_next = self.next_loss.is_none() || forgotten.is_some() || !self.lanes.is_empty();
        if self.history.detects_loss() && may_be_next {
            self.find_next_loss();
        }
        forgotten.is_some()
    }

    /// A message is read that arrived then.
    pub fn on_message(&mut self, arrived: Timestamp) {
        self.arrived = arrived;
    }

    /// The message is so long that its report may take another one.
    pub(crate) fn on_long_message(&mut self) {
        self.part.may_go_on = true;
    }

    /// What the message in hand is of its report; nothing of one once that was asked.
    pub(crate) fn take_part(&mut self) -> ReportPart {
        std::mem::take(&mut self.part)
    }

    /// The message has arrivals of a report that the peer made then, by its own clock.
    pub(crate) fn on_report(&mut self, subflow: Subflow, made: u64) {
        let lane = if self.lanes.is_empty() { Subflow(0) } else { subflow };
        self.interval.on_report(lane, made);
    }

    /// The message has arrivals of a report without a time of its own; the newest arrival is this one, by the peer's clock.
    pub(crate) fn on_untimed_report(&mut self, newest: RemoteTimestamp) {
        self.interval.on_untimed_report(self.arrived, newest);
        self.is_untimed = true;
    }

    /// The message is feedback; gives the mean time between reports where that has changed.
    pub(crate) fn on_feedback(&mut self, now: Timestamp) -> Option<TimeDelta> {
        self.part.continues = self.interval.continues();
        let changed = self.interval.on_message(now);
        self.update_loss_times();
        changed
    }

    /// A packet arrived at the peer.
    #[inline]
    pub fn on_received(
        &mut self,
        now: Timestamp,
        id: Option<PacketId>,
        at: Option<RemoteTimestamp>,
        ecn: Ecn,
    ) -> Match {
        id.map_or(Match::Unknown, |id| self.history.on_received(now, id, at, ecn, &mut self.reports))
    }

    /// The peer declares a packet lost.
    pub fn on_lost(&mut self, id: PacketId) {
        self.history.on_lost(id, &mut self.reports);
    }

    /// Whether packets are to be waited for over two intervals of receiver reports (RFC 3550 section 6.2: 5 s each).
    pub(crate) fn expect_slow_reports(&mut self, slow: bool) {
        self.has_slow_reports = slow;
        self.update_loss_times();
    }

    /// Reports come at this interval, by the options of the controller.
    pub(crate) fn agree_on(&mut self, interval: Option<TimeDelta>) {
        self.agreed = interval.unwrap_or_default();
        self.update_loss_times();
    }

    /// The round-trip time as it is known.
    pub(crate) const fn round_trip(&self) -> &RoundTrip {
        &self.round_trip
    }

    /// A receiver report shows this round-trip time.
    pub(crate) fn on_rtt(&mut self, sample: TimeDelta) {
        self.round_trip.on_sample(sample);
        self.update_loss_times();
    }

    /// The path changed: its round-trip time is not known.
    pub(crate) fn forget_round_trip(&mut self) {
        self.round_trip = RoundTrip::default();
        self.lanes.iter_mut().for_each(|lane| lane.round_trip = RoundTrip::default());
        self.unsettled.clear();
        self.update_loss_times();
    }

    /// A report gives this round-trip time, no packet of ours with it.
    pub(crate) fn on_round_trip(&mut self, subflow: Subflow, rtt: TimeDelta) {
        self.subflow(subflow).echoed_rtt = Some(rtt);
    }

    /// The receiver requests a retransmission.
    pub(crate) fn on_requested(&mut self, subflow: Subflow, id: PacketId) {
        self.requested.push((subflow, id));
    }

    /// What the receiving half reports of a subflow. A subflow that is mentioned is delivered, be it without packets.
    pub fn peer(&mut self, subflow: Subflow) -> &mut PeerReport {
        &mut self.subflow(subflow).peer
    }

    fn subflow(&mut self, subflow: Subflow) -> &mut SubflowFeedback {
        let index = self.subflows.iter().position(|known| known.subflow == subflow).unwrap_or_else(|| {
            let peer = PeerReport::default();
            self.subflows.push(SubflowFeedback {
                subflow,
                echoed_rtt: None,
                newest: None,
                settled: None,
                peer,
            });
            self.subflows.len() - 1
        });
        &mut self.subflows[index]
    }

    /// When a packet will be declared lost if no feedback comes.
    #[inline]
    pub(crate) fn next_loss(&self) -> Option<Timestamp> {
        self.next_loss
    }

    fn find_next_loss(&mut self) {
        self.next_loss = self.history.next_loss(|subflow| self.loss_times_of(subflow));
    }

    /// True where a packet is to be declared lost by now.
    pub(crate) fn is_loss_due(&self, now: Timestamp) -> bool {
        self.next_loss().is_some_and(|due| due <= now)
    }

    /// The loss times of the subflow with this index.
    fn loss_times_of(&self, subflow: usize) -> LossTimes {
        self.lanes.get(subflow).map_or(self.loss_times, |lane| lane.loss)
    }

    /// The round-trip time of a subflow as its packets carry it.
    #[inline]
    pub(crate) fn rtt_on_wire(&self, subflow: Subflow) -> Option<TimeDelta> {
        let lane = self.lanes.get(usize::from(subflow.0));
        lane.map_or(&self.round_trip, |lane| &lane.round_trip).on_wire()
    }

    fn update_loss_times(&mut self) {
        // Each lane has reports of its own.
        let interval = self.interval.mean() * self.lanes.len().max(1) as i64;
        for lane in &mut self.lanes {
            lane.loss = LossTimes::new(interval, self.agreed, lane.round_trip.smoothed());
        }
        self.loss_times = LossTimes::new(self.interval.mean(), self.agreed, self.round_trip.smoothed());
        if self.has_slow_reports {
            self.loss_times.silence = SLOW_SILENCE;
        }
        self.find_next_loss();
    }

    /// Ends a message, or declares lost what is overdue without one: gives out the feedback subflow by subflow.
    pub fn deliver(&mut self, now: Timestamp, mut take: impl FnMut(&Feedback<'_>)) {
        self.settle();
        let (lanes, shared) = (&self.lanes, self.loss_times);
        let times = |subflow: usize| lanes.get(subflow).map_or(shared, |lane| lane.loss);
        self.history.detect_losses(now, times, &mut self.reports);
        let mut reports = std::mem::take(&mut self.reports);
        let mut requested = std::mem::take(&mut self.requested);
        self.counts.add(&reports);
        if self.first > PacketId(0) {
            reports.retain(|report| report.packet.id >= self.first);
        }
        let key = |report: &PacketReport| (report.packet.subflow, report.packet.id);
        if !reports.is_sorted_by_key(key) {
            reports.sort_unstable_by_key(key);
        }
        requested.sort_unstable();
        let mut rest = &reports[..];
        while let Some(first) = rest.first() {
            let subflow = first.packet.subflow;
            self.subflow(subflow);
            rest = &rest[of_subflow(rest, subflow, |report| report.packet.subflow).len()..];
        }
        for (subflow, _) in &requested {
            self.subflow(*subflow);
        }
        self.run_receiving_half(&reports);
        let mut subflows = std::mem::take(&mut self.subflows);
        subflows.sort_unstable_by_key(|feedback| feedback.subflow);
        for SubflowFeedback { subflow, echoed_rtt, newest, settled, peer } in subflows.drain(..) {
            let packets = of_subflow(&reports, subflow, |report| report.packet.subflow);
            let requested: Vec<PacketId> =
                of_subflow(&requested, subflow, |(subflow, _)| *subflow).iter().map(|(_, id)| *id).collect();
            let sample = echoed_rtt.or_else(|| self.rtt_of(subflow, newest?, packets));
            let samples = settled.into_iter().chain(sample);
            let rtt = samples.filter_map(|sample| self.on_sample(subflow, sample)).last();
            take(&Feedback { subflow, rtt, packets, requested: &requested, peer });
        }
        reports.clear();
        requested.clear();
        self.subflows = subflows;
        self.reports = reports;
        self.requested = requested;
        self.made_after = None;
        self.history.forget(now);
        self.update_loss_times();
    }

    /// Runs the receiving half on the reported arrivals, by the peer's clock.
    fn run_receiving_half(&mut self, reports: &[PacketReport]) {
        let Some(mut source) = self.receiving_half.take() else { return };
        let mut arrivals: Vec<(RemoteTimestamp, &PacketReport, Ecn)> = reports
            .iter()
            .filter_map(|report| match report.fate {
                Fate::Received { at, ecn } => Some((at?, report, ecn)),
                Fate::Late { at } => Some((at?, report, Ecn::NotEct)),
                Fate::Lost => None,
            })
            .collect();
        arrivals.sort_by_key(|(at, report, _)| (*at, report.packet.id));
        let mut peer_now = None;
        for (at, report, ecn) in arrivals {
            let now = Timestamp::from_nanos(at.as_nanos());
            let HeaderFields { tag, ends_frame } = self.history.fields_of(report.packet.id);
            let SentPacket { subflow, sequence, size, .. } = report.packet;
            let sent = RemoteTimestamp::from_nanos(report.sent.as_nanos());
            let rtt = self.rtt_on_wire(subflow);
            if source.poll_timeout().is_some_and(|due| due <= now) {
                source.handle_timeout(now);
            }
            source.on_arrival(now, &Arrival { subflow, sequence, size, ecn, tag, sent, rtt, ends_frame });
            peer_now = Some(now);
        }
        while let Some((subflow, report)) = peer_now.and_then(|now| source.poll_report(now)) {
            let known = self.peer(subflow);
            *known = PeerReport { buffer: known.buffer, limit: known.limit, ..report };
        }
        self.receiving_half = Some(source);
    }
}

impl FateCounts {
    fn add(&mut self, reports: &[PacketReport]) {
        for report in reports {
            match report.fate {
                Fate::Received { .. } => self.received += 1,
                Fate::Lost => self.lost += 1,
                Fate::Late { .. } => {
                    self.received += 1;
                    self.late += 1;
                }
            }
        }
    }
}

/// The elements of a subflow in a slice that is sorted by subflows.
fn of_subflow<T>(sorted: &[T], subflow: Subflow, subflow_of: impl Fn(&T) -> Subflow) -> &[T] {
    let is_all = |ends: (&T, &T)| subflow_of(ends.0) == subflow && subflow_of(ends.1) == subflow;
    if sorted.first().zip(sorted.last()).is_some_and(is_all) {
        return sorted;
    }
    let start = sorted.partition_point(|element| subflow_of(element) < subflow);
    let len = sorted[start..].partition_point(|element| subflow_of(element) == subflow);
    &sorted[start..start + len]
}

#[cfg(test)]
mod tests {
    use super::*;
    use seaway_units::DataSize;

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_nanos(millis * 1_000_000)
    }

    fn ms(millis: i64) -> TimeDelta {
        TimeDelta::from_millis(millis)
    }

    /// Packets 0, 1 and 2 left at 0, 1 and 2 ms.
    fn three_sent() -> FeedbackAdapter {
        let mut adapter = FeedbackAdapter::new(true, None);
        for id in 0..3 {
            let packet = SentPacket::new(id, DataSize::from_bytes(1200));
            adapter.on_sent(at(id), &packet, HeaderFields::default());
        }
        adapter
    }

    /// The ids that are delivered with their round-trip time once all came at 40 ms, by one message.
    fn delivered(adapter: &mut FeedbackAdapter) -> (Vec<u64>, Option<TimeDelta>) {
        adapter.on_message(at(40));
        for id in (0..3).map(PacketId) {
            adapter.on_received(at(40), Some(id), None, Ecn::NotEct);
        }
        let mut seen = (Vec::new(), None);
        adapter.deliver(at(40), |feedback| {
            seen = (feedback.packets.iter().map(|report| report.packet.id.0).collect(), feedback.rtt);
        });
        seen
    }

    #[test]
    fn a_late_packet_was_lost_and_received() {
        let report = |fate| {
            let packet = SentPacket::new(0, DataSize::from_bytes(1200));
            PacketReport { packet, sent: at(0), fate }
        };
        let mut counts = FateCounts::default();
        let received = Fate::Received { at: None, ecn: Ecn::NotEct };
        let late = Fate::Late { at: None };
        counts.add(&[received, Fate::Lost, Fate::Lost, Fate::Lost, late, late].map(report));
        assert_eq!(counts, FateCounts { received: 3, lost: 3, late: 2 });
    }

    #[test]
    fn another_controller_gets_what_left_since() {
        assert_eq!(delivered(&mut three_sent()).0, [0, 1, 2]);
        let mut adapter = FeedbackAdapter::new(true, None);
        for id in 0..3 {
            if id == 2 {
                adapter.restart(None);
            }
            let packet = SentPacket::new(id, DataSize::from_bytes(1200));
            adapter.on_sent(at(id), &packet, HeaderFields::default());
        }
        assert_eq!(delivered(&mut adapter).0, [2]);
        assert_eq!(adapter.counts().received, 3);
    }

    #[test]
    fn packets_are_found_by_their_numbers() {
        let adapter = three_sent();
        let found = [0, 2, 3].map(|number| adapter.find(Subflow(0), number));
        assert_eq!(found, [Some(PacketId(0)), Some(PacketId(2)), None]);
    }

    #[test]
    fn a_round_trip_time_is_kept_until_the_path_changes() {
        let mut adapter = three_sent();
        assert_eq!(adapter.rtt_on_wire(Subflow(0)), None);
        adapter.on_round_trip(Subflow(0), ms(30));
        assert_eq!(delivered(&mut adapter).1, Some(ms(30)));
        assert_eq!(adapter.rtt_on_wire(Subflow(0)), Some(ms(30)));
        adapter.forget_round_trip();
        assert_eq!((adapter.rtt_on_wire(Subflow(0)), adapter.last_rtt()), (None, None));
    }

    /// The message says nothing of the newest packet's time, and names two that are to be repeated.
    #[test]
    fn requests_are_delivered_in_order() {
        let mut adapter = three_sent();
        adapter.on_requested(Subflow(0), PacketId(2));
        adapter.on_requested(Subflow(0), PacketId(0));
        let mut requested = Vec::new();
        adapter.deliver(at(40), |feedback| requested.push((feedback.subflow, feedback.requested.to_vec())));
        assert_eq!(requested, [(Subflow(0), vec![PacketId(0), PacketId(2)])]);
    }

    /// Receiver reports come each 5 s: what is not reported for 12 s is lost. Else for a second, or an interval and two round-trip times.
    #[test]
    fn slow_reports_are_waited_for() {
        let mut adapter = three_sent();
        assert!(adapter.next_loss() < Some(at(12_000)));
        adapter.expect_slow_reports(true);
        assert_eq!(adapter.next_loss(), Some(at(12_000)));
        assert!(adapter.is_loss_due(at(12_000)) && !adapter.is_loss_due(at(11_999)));
        adapter.expect_slow_reports(false);
        adapter.on_rtt(ms(30));
        assert_eq!(adapter.next_loss(), Some(at(1000)));
        adapter.agree_on(Some(TimeDelta::from_secs(3)));
        assert_eq!(adapter.next_loss(), Some(at(3060)));
    }
}
