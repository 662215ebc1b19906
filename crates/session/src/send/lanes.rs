//! The lanes of a bonded session: paths of their own, each with its round-trip time, delay and state.
//!
//! A packet leaves by the lane on which it is expected to arrive first ("earliest delivery path first"). A lane of which no report
//! comes although packets are outstanding is suspected: what it holds is sent again by the others, and small packets probe it until
//! a report shows that they arrive. docs/models/bonding.md has the rules.

use seaway_control::{Fate, Feedback, MOST_LANES, Subflow};
use seaway_units::{Bitrate, DataSize, TimeDelta, Timestamp};

/// Reports may be so late before a lane is suspected, beside what the jitter of its round-trip time explains.
const LEAST_SLACK: TimeDelta = TimeDelta::from_millis(40);
/// Where no report ever came, a lane is suspected after this time (RFC 9002 section 6.2.2 has a round-trip time of 333 ms, and three
/// times that).
const FIRST_REPORT: TimeDelta = TimeDelta::from_millis(500);
/// A lane by which nothing left for so long is probed, be it suspected or idle: its delay and state stay known.
const PROBE_INTERVAL: TimeDelta = TimeDelta::from_millis(100);
/// A suspected lane is down after this time.
const DOWN: TimeDelta = TimeDelta::from_secs(1);
/// Encoders use so much of the target at least. Where they have use for more, each lane gets so much of what its controller allows: a
/// controller whose lane carries less does not raise its rate.
const LOAD: f64 = 0.8;
/// A lane is behind its share of the load by so much at most.
const MOST_SHARED: TimeDelta = TimeDelta::from_millis(250);
/// The least rate that a lane is taken to have.
const LEAST_RATE: Bitrate = Bitrate::from_kbps(20);

/// The state of a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LaneState {
    /// No report came of it yet.
    New,
    /// Reports come.
    Up,
    /// Reports are overdue: what it held was sent again.
    Suspect,
    /// It was suspected for a second.
    Down,
}

impl LaneState {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Up => "up",
            Self::Suspect => "suspect",
            Self::Down => "down",
        }
    }

    const fn is_silent(self) -> bool {
        matches!(self, Self::Suspect | Self::Down)
    }
}

/// One lane, for display.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LaneStatistics {
    /// Its state.
    pub state: LaneState,
    /// What its controller allows.
    pub rate: Bitrate,
    /// Its smoothed round-trip time.
    pub rtt: Option<TimeDelta>,
    /// Packets that left by it.
    pub packets: u64,
    /// Their octets.
    pub sent: DataSize,
    /// Packets that were reported received.
    pub received: u64,
    /// Packets that were declared lost.
    pub lost: u64,
}

/// The lanes of a session.
#[derive(Debug)]
pub(super) struct Lanes {
    lanes: Vec<Lane>,
    /// The latest instant of an input.
    now: Timestamp,
    /// The last packet: its lane, and when it left.
    last: Option<(Subflow, Timestamp)>,
    /// The lane of the last report of ours where none is better than others.
    turn: u8,
}

#[derive(Debug, Clone)]
struct Lane {
    state: LaneState,
    /// When the state began.
    since: Timestamp,
    /// When the last report came, and the mean time between two.
    reported: Option<Timestamp>,
    interval: TimeDelta,
    rtt: Option<TimeDelta>,
    deviation: TimeDelta,
    /// From departure by our clock to arrival by the peer's, ns: lanes compare by it.
    transit: Option<f64>,
    /// When its target rate has sent what left by it, and when its share of the load has.
    busy: Timestamp,
    shared: Timestamp,
    /// When it is probed if nothing leaves by it until then.
    probe: Option<Timestamp>,
    packets: u64,
    sent: DataSize,
    received: u64,
    lost: u64,
}

impl Lane {
    fn new() -> Self {
        Self {
            state: LaneState::New,
            since: Timestamp::ZERO,
            reported: None,
            interval: TimeDelta::from_millis(100),
            rtt: None,
            deviation: TimeDelta::ZERO,
            transit: None,
            busy: Timestamp::ZERO,
            shared: Timestamp::ZERO,
            probe: None,
            packets: 0,
            sent: DataSize::ZERO,
            received: 0,
            lost: 0,
        }
    }

    /// When it is suspected, where the first packet that the next report should name left at `next`.
    fn suspected_at(&self, next: Option<Timestamp>) -> Option<Timestamp> {
        let next = next?;
        match (self.state, self.reported, self.rtt) {
            (LaneState::Suspect | LaneState::Down, ..) => None,
            (_, Some(reported), Some(rtt)) => {
                let expected = (next + rtt).max(reported) + self.interval;
                Some(expected + (self.deviation * 4 + self.interval).max(LEAST_SLACK))
            }
            _ => Some(next + FIRST_REPORT),
        }
    }

    fn enter(&mut self, now: Timestamp, state: LaneState) {
        (self.state, self.since) = (state, now);
        match state {
            LaneState::Suspect => self.probe = Some(now),
            // What was known of its path may hold no more.
            LaneState::Up => (self.rtt, self.transit) = (None, None),
            LaneState::New | LaneState::Down => {}
        }
    }

    fn on_feedback(&mut self, now: Timestamp, feedback: &Feedback<'_>) {
        if let Some(rtt) = feedback.rtt {
            let known = self.rtt.unwrap_or(rtt);
            self.deviation = (self.deviation * 3 + (rtt - known).abs()) / 4;
            self.rtt = Some((known * 7 + rtt) / 8);
        }
        for report in feedback.packets {
            match report.fate {
                Fate::Received { at, .. } | Fate::Late { at } => {
                    self.received += 1;
                    let Some(at) = at else { continue };
                    let transit = at.as_nanos() as f64 - report.sent.as_nanos() as f64;
                    let known = self.transit.unwrap_or(transit);
                    self.transit = Some(known + (transit - known) / 16.0);
                }
                Fate::Lost => self.lost += 1,
            }
        }
        let since = now.since(self.reported.unwrap_or(now)).min(TimeDelta::from_millis(200));
        self.interval = (self.interval * 7 + since) / 8;
        self.reported = Some(now);
    }
}

/// A lane as the scheduler offers it to the packets that wait.
#[derive(Debug, Clone, Copy)]
pub(super) struct Offer {
    /// When a packet may leave.
    pub(super) due: Timestamp,
    /// When those before it have left.
    free: Timestamp,
    rate: Bitrate,
    /// From departure to arrival, beyond that of the quickest lane.
    delay: TimeDelta,
    window: Option<DataSize>,
}

impl Offer {
    /// When a packet of this size arrives; `None` where it may not leave.
    pub(super) fn arrival(&self, size: DataSize) -> Option<Timestamp> {
        if self.window.is_some_and(|window| size > window) {
            return None;
        }
        Some(self.free + self.rate.time_to_send(size)? + self.delay)
    }

    /// A packet of this size takes its place.
    pub(super) fn take(&mut self, size: DataSize) {
        self.free += self.rate.time_to_send(size).unwrap_or_default();
        self.window = self.window.map(|window| window.saturating_sub(size));
    }
}

impl Lanes {
    pub(super) fn new(count: u8) -> Self {
        let count = usize::from(count.min(MOST_LANES));
        Self { lanes: vec![Lane::new(); count], now: Timestamp::ZERO, last: None, turn: 0 }
    }

    pub(super) fn count(&self) -> u8 {
        self.lanes.len() as u8
    }

    /// An input has this instant.
    pub(super) fn note(&mut self, now: Timestamp) {
        self.now = self.now.max(now);
    }

    fn get(&self, subflow: Subflow) -> Option<&Lane> {
        self.lanes.get(usize::from(subflow.0))
    }

    /// Whether media may leave by a lane: those that are up, else those that are new, else all.
    pub(super) fn is_usable(&self, subflow: Subflow) -> bool {
        let any = |state| self.lanes.iter().any(|lane| lane.state == state);
        let best = [LaneState::Up, LaneState::New].into_iter().find(|state| any(*state));
        self.get(subflow).is_some_and(|lane| best.is_none_or(|best| lane.state == best))
    }

    fn usable(&self) -> impl Iterator<Item = (Subflow, &Lane)> {
        let all = self.lanes.iter().zip(0..).map(|(lane, index)| (Subflow(index), lane));
        all.filter(|(subflow, _)| self.is_usable(*subflow))
    }

    /// The least round-trip time of the lanes that media leaves by.
    pub(super) fn rtt(&self) -> Option<TimeDelta> {
        self.usable().filter_map(|(_, lane)| lane.rtt).min()
    }

    /// The delay of a lane beyond that of the quickest.
    fn delay(&self, subflow: Subflow) -> TimeDelta {
        let Some(lane) = self.get(subflow) else { return TimeDelta::ZERO };
        let transits = self.usable().map(|(_, lane)| lane.transit);
        let least = transits.reduce(|least, transit| Some(least?.min(transit?))).flatten();
        match least.zip(lane.transit) {
            Some((least, transit)) => TimeDelta::from_nanos((transit - least).max(0.0) as i64),
            None => lane.rtt.map_or(TimeDelta::ZERO, |rtt| rtt / 2),
        }
    }

    /// What a lane offers whose pacer is due then, whose target is `rate`, and which lets `window` leave.
    pub(super) fn offer(
        &self,
        subflow: Subflow,
        due: Timestamp,
        rate: Bitrate,
        window: Option<DataSize>,
    ) -> Option<Offer> {
        let lane = self.get(subflow).filter(|_| self.is_usable(subflow))?;
        let rate = rate.max(LEAST_RATE);
        Some(Offer {
            due,
            free: due.max(lane.busy).max(lane.shared).max(self.now),
            rate,
            delay: self.delay(subflow),
            window,
        })
    }

    /// The lane by which a packet left at this very instant. Where its controller lets another leave at once, the two are a group by
    /// whose dispersion it measures the capacity: other lanes do not take it apart.
    pub(super) fn in_group(&self, due: impl Fn(Subflow) -> Option<Timestamp>) -> Option<Subflow> {
        let (subflow, _) = self.last.filter(|(_, at)| *at == self.now)?;
        due(subflow).filter(|due| *due <= self.now).map(|_| subflow)
    }

    /// A packet left by a lane whose target is `rate`. `is_wanted`: encoders have use for a larger target.
    pub(super) fn on_sent(
        &mut self,
        now: Timestamp,
        subflow: Subflow,
        size: DataSize,
        (rate, is_wanted): (Bitrate, bool),
    ) {
        self.note(now);
        self.last = Some((subflow, now));
        let Some(lane) = self.lanes.get_mut(usize::from(subflow.0)) else { return };
        lane.packets += 1;
        lane.sent += size;
        let time = rate.max(LEAST_RATE).time_to_send(size).unwrap_or_default();
        lane.busy = lane.busy.max(now) + time;
        let time = if is_wanted { time.mul_f64(1.0 / LOAD) } else { time };
        lane.shared = (lane.shared.max(now) + time).min(now + MOST_SHARED);
        lane.probe = Some(now + PROBE_INTERVAL);
        // From the first packet on, those by which none left are probed too.
        for lane in &mut self.lanes {
            lane.probe.get_or_insert(now + PROBE_INTERVAL);
        }
    }

    /// Feedback came of a lane; true where it is up again.
    pub(super) fn on_feedback(&mut self, now: Timestamp, feedback: &Feedback<'_>) -> bool {
        let Some(lane) = self.lanes.get_mut(usize::from(feedback.subflow.0)) else { return false };
        let is_news = feedback.packets.iter().any(|report| report.fate != Fate::Lost);
        if !is_news {
            lane.lost += feedback.packets.len() as u64;
            return false;
        }
        let was_silent = lane.state.is_silent();
        if lane.state != LaneState::Up {
            lane.enter(now, LaneState::Up);
        }
        lane.on_feedback(now, feedback);
        was_silent
    }

    /// The probe that is due next.
    pub(super) fn next_probe(&self) -> Option<(Timestamp, Subflow)> {
        let probes =
            self.lanes.iter().zip(0..).filter_map(|(lane, index)| Some((lane.probe?, Subflow(index))));
        probes.min()
    }

    /// When [`poll_change`](Self::poll_change) is due. `next` gives when the first packet of a lane left that the next report should name.
    pub(super) fn poll_timeout(&self, next: impl Fn(Subflow) -> Option<Timestamp>) -> Option<Timestamp> {
        let of_lane = |(lane, index): (&Lane, u8)| match lane.state {
            LaneState::Suspect => Some(lane.since + DOWN),
            _ => lane.suspected_at(next(Subflow(index))),
        };
        self.lanes.iter().zip(0..).filter_map(of_lane).min()
    }

    /// The next lane that changes its state for want of reports.
    pub(super) fn poll_change(
        &mut self,
        now: Timestamp,
        next: impl Fn(Subflow) -> Option<Timestamp>,
    ) -> Option<(Subflow, LaneState)> {
        self.note(now);
        for (lane, index) in self.lanes.iter_mut().zip(0..) {
            if lane.state == LaneState::Suspect && lane.since + DOWN <= now {
                lane.enter(now, LaneState::Down);
                return Some((Subflow(index), LaneState::Down));
            }
            if lane.suspected_at(next(Subflow(index))).is_some_and(|at| at <= now) {
                lane.enter(now, LaneState::Suspect);
                return Some((Subflow(index), LaneState::Suspect));
            }
        }
        None
    }

    /// The lanes whose reports are overdue.
    pub(super) fn silent(&self) -> impl Iterator<Item = Subflow> + '_ {
        let all = self.lanes.iter().zip(0..).filter(|(lane, _)| lane.state.is_silent());
        all.map(|(_, index)| Subflow(index))
    }

    /// The lane for a report of ours: the quickest that is up, else each in turn.
    pub(super) fn for_report(&mut self) -> Subflow {
        let up = self.usable().filter(|(_, lane)| lane.state == LaneState::Up);
        let quickest =
            up.min_by_key(|(_, lane)| lane.rtt.unwrap_or(TimeDelta::MAX)).map(|(subflow, _)| subflow);
        quickest.unwrap_or_else(|| {
            self.turn = (self.turn + 1) % self.count().max(1);
            Subflow(self.turn)
        })
    }

    /// The lanes for display; `rate` is what a lane's controller allows.
    pub(super) fn statistics(&self, rate: impl Fn(Subflow) -> Bitrate) -> Vec<LaneStatistics> {
        let lanes = self.lanes.iter().zip(0..);
        let of_lane = |(lane, index): (&Lane, u8)| {
            let Lane { state, rtt, packets, sent, received, lost, .. } = *lane;
            LaneStatistics { state, rate: rate(Subflow(index)), rtt, packets, sent, received, lost }
        };
        lanes.map(of_lane).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seaway_control::{PacketId, PacketReport, PeerReport, SentPacket};
    use seaway_units::{Ecn, RemoteTimestamp};

    const PACKET: DataSize = DataSize::from_bytes(1250);
    const RATE: Bitrate = Bitrate::from_mbps(1);

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_nanos(millis * 1_000_000)
    }

    /// A report that comes then, of a packet that left `rtt` before by a path of half that delay.
    fn report(lanes: &mut Lanes, millis: u64, lane: u8, rtt: u64) -> bool {
        let sent = at(millis - rtt);
        let arrived = RemoteTimestamp::from_nanos((sent + TimeDelta::from_millis(rtt as i64 / 2)).as_nanos());
        let fate = Fate::Received { at: Some(arrived), ecn: Ecn::NotEct };
        let packet = SentPacket { subflow: Subflow(lane), id: PacketId(1), ..SentPacket::new(0, PACKET) };
        let feedback = Feedback {
            subflow: Subflow(lane),
            rtt: Some(TimeDelta::from_millis(rtt as i64)),
            packets: &[PacketReport { packet, sent, fate }],
            requested: &[],
            peer: PeerReport::default(),
        };
        lanes.on_feedback(at(millis), &feedback)
    }

    /// Lanes of 20 and 60 ms, of which reports came each 20 ms.
    fn lanes() -> Lanes {
        let mut lanes = Lanes::new(2);
        for millis in (200..1000).step_by(20) {
            report(&mut lanes, millis, 0, 40);
            report(&mut lanes, millis, 1, 120);
        }
        lanes.note(at(1000));
        lanes
    }

    fn arrival(lanes: &Lanes, lane: u8) -> Timestamp {
        let offer = lanes.offer(Subflow(lane), Timestamp::ZERO, RATE, None).expect("a lane that is up");
        offer.arrival(PACKET).expect("no window")
    }

    #[test]
    fn the_quicker_lane_is_taken_until_its_queue_is_longer_by_the_difference() {
        let mut lanes = lanes();
        assert_eq!((arrival(&lanes, 0), arrival(&lanes, 1)), (at(1010), at(1050)));
        for _ in 0..5 {
            lanes.on_sent(at(1000), Subflow(0), PACKET, (RATE, false));
        }
        assert!(arrival(&lanes, 0) > arrival(&lanes, 1));
        assert_eq!(lanes.next_probe(), Some((at(1100), Subflow(0))), "the first of both");
        lanes.on_sent(at(1100), Subflow(0), PACKET, (RATE, false));
        assert_eq!(lanes.next_probe(), Some((at(1100), Subflow(1))), "by which nothing left yet");
        lanes.on_sent(at(1100), Subflow(1), PACKET, (RATE, false));
        let full = lanes.offer(Subflow(0), at(0), RATE, Some(DataSize::from_bytes(1000))).expect("it is up");
        assert_eq!(full.arrival(PACKET), None, "its window is full");
    }

    #[test]
    fn overdue_reports_make_a_lane_suspect() {
        let mut lanes = lanes();
        let next = |lane: Subflow| (lane == Subflow(1)).then(|| at(940));
        let due = lanes.poll_timeout(next).expect("a packet is outstanding");
        assert!((at(1080)..at(1150)).contains(&due), "940 + 120 and what reports may be late: {due}");
        assert_eq!(lanes.poll_change(due - TimeDelta::from_nanos(1), next), None);
        assert_eq!(lanes.poll_change(due, next), Some((Subflow(1), LaneState::Suspect)));
        assert!(lanes.is_usable(Subflow(0)) && !lanes.is_usable(Subflow(1)));
        assert_eq!(lanes.next_probe(), Some((due, Subflow(1))));
        lanes.on_sent(due, Subflow(1), PACKET, (RATE, false));
        assert_eq!(lanes.next_probe(), Some((due + PROBE_INTERVAL, Subflow(0))), "the first of both");
        assert_eq!(lanes.poll_change(due + DOWN, |_| None), Some((Subflow(1), LaneState::Down)));
        assert_eq!(lanes.for_report(), Subflow(0));
        assert!(report(&mut lanes, 3000, 1, 120), "it is up again");
        assert!(lanes.is_usable(Subflow(1)) && !report(&mut lanes, 3020, 1, 120));
    }

    #[test]
    fn where_no_lane_is_up_all_are_tried() {
        let mut lanes = Lanes::new(2);
        assert!(lanes.is_usable(Subflow(0)) && lanes.is_usable(Subflow(1)) && !lanes.is_usable(Subflow(2)));
        for lane in [0, 1] {
            let change = lanes.poll_change(at(600), |_| Some(at(100)));
            assert_eq!(change, Some((Subflow(lane), LaneState::Suspect)));
        }
        assert!(lanes.is_usable(Subflow(0)) && lanes.is_usable(Subflow(1)));
        assert_ne!(lanes.for_report(), lanes.for_report(), "each in turn");
    }

    fn lane(subflow: u8, lanes: &Lanes) -> &Lane {
        &lanes.lanes[usize::from(subflow)]
    }

    /// Reports of several packets with these fates, which left at 1000 ms.
    fn report_fates(lanes: &mut Lanes, millis: u64, fates: &[Fate]) -> bool {
        let packet = SentPacket::new(0, PACKET);
        let packets: Vec<_> =
            fates.iter().map(|fate| PacketReport { packet, sent: at(1000), fate: *fate }).collect();
        let feedback = Feedback {
            subflow: Subflow(0),
            rtt: None,
            packets: &packets,
            requested: &[],
            peer: PeerReport::default(),
        };
        lanes.on_feedback(at(millis), &feedback)
    }

    /// Round-trip times of 40 and 80 ms: 45 ms, and a quarter of the difference. Between reports 100 ms are taken at first, and 200
    /// at most of a longer silence. 200 ms after a packet left it is expected to be reported at 245 + 101.6 ms, and may be late by
    /// four deviations and an interval.
    #[test]
    fn a_lane_is_suspected_by_its_own_measure() {
        let mut lanes = Lanes::new(1);
        assert!(!report(&mut lanes, 200, 0, 40));
        assert_eq!(
            (lane(0, &lanes).rtt, lane(0, &lanes).deviation),
            (Some(TimeDelta::from_millis(40)), TimeDelta::ZERO)
        );
        assert_eq!(lane(0, &lanes).interval, TimeDelta::from_micros(87_500));
        report(&mut lanes, 700, 0, 80);
        assert_eq!(
            (lane(0, &lanes).rtt, lane(0, &lanes).deviation),
            (Some(TimeDelta::from_millis(45)), TimeDelta::from_millis(10))
        );
        let interval = TimeDelta::from_nanos((87_500_000 * 7 + 200_000_000) / 8);
        assert_eq!(lane(0, &lanes).interval, interval);
        let slack = TimeDelta::from_millis(40) + interval;
        assert_eq!(lanes.poll_timeout(|_| Some(at(700))), Some(at(745) + interval + slack));
        // It may not be suspected before a report could come after the last one.
        assert_eq!(lanes.poll_timeout(|_| Some(at(500))), Some(at(700) + interval + slack));
        assert_eq!(lanes.poll_timeout(|_| None), None, "nothing is outstanding");
        // A third time of 45 ms: three quarters of the deviation are left.
        report(&mut lanes, 701, 0, 45);
        assert_eq!(lane(0, &lanes).deviation, TimeDelta::from_micros(7500));
        // With reports each millisecond the slack is 40 ms at least.
        for millis in 702..900 {
            report(&mut lanes, millis, 0, 45);
        }
        let settled = lane(0, &lanes);
        assert!(
            settled.interval < TimeDelta::from_millis(2) && settled.deviation < TimeDelta::from_millis(2),
            "{settled:?}"
        );
        let expected = at(1000) + settled.rtt.expect("a round-trip time") + settled.interval + LEAST_SLACK;
        assert_eq!(lanes.poll_timeout(|_| Some(at(1000))), Some(expected));
    }

    /// Without a report a lane is suspected after half a second, and down a second later.
    #[test]
    fn a_lane_without_reports_is_suspected_and_then_down() {
        let mut lanes = Lanes::new(1);
        assert_eq!(lanes.poll_timeout(|_| Some(at(100))), Some(at(600)));
        assert_eq!(lanes.poll_change(at(599), |_| Some(at(100))), None);
        assert_eq!(lanes.poll_change(at(600), |_| Some(at(100))), Some((Subflow(0), LaneState::Suspect)));
        assert_eq!(lanes.silent().collect::<Vec<_>>(), [Subflow(0)]);
        assert_eq!(lanes.poll_timeout(|_| Some(at(100))), Some(at(1600)));
        assert_eq!(lanes.poll_change(at(1599), |_| Some(at(100))), None);
        assert_eq!(lanes.poll_change(at(1600), |_| Some(at(100))), Some((Subflow(0), LaneState::Down)));
        assert_eq!(lanes.poll_timeout(|_| Some(at(100))), None, "it stays down");
        assert_eq!(lanes.poll_change(at(9000), |_| Some(at(100))), None);
        assert!(report(&mut lanes, 9000, 0, 120), "until a report comes");
        assert_eq!(lanes.silent().count(), 0);
        // What was known of its path holds no more.
        assert_eq!(lane(0, &lanes).rtt, Some(TimeDelta::from_millis(120)));
        let names = [LaneState::New, LaneState::Up, LaneState::Suspect, LaneState::Down].map(LaneState::name);
        assert_eq!(names, ["new", "up", "suspect", "down"]);
    }

    /// Losses alone say nothing of whether a lane works. Late packets arrived, and the mean time of transit follows by a sixteenth.
    #[test]
    fn what_is_reported_of_a_lane_is_counted() {
        let mut lanes = Lanes::new(2);
        assert!(!report_fates(&mut lanes, 1100, &[Fate::Lost, Fate::Lost]));
        assert_eq!((lane(0, &lanes).state, lane(0, &lanes).lost), (LaneState::New, 2));
        let arrived = |millis: u64| Some(RemoteTimestamp::from_nanos(millis * 1_000_000));
        let received = Fate::Received { at: arrived(1050), ecn: Ecn::NotEct };
        let untimed = Fate::Received { at: None, ecn: Ecn::NotEct };
        report_fates(&mut lanes, 1100, &[received, Fate::Lost, Fate::Late { at: arrived(1066) }, untimed]);
        assert_eq!(lane(0, &lanes).transit, Some(51e6));
        lanes.on_sent(at(1100), Subflow(0), PACKET, (RATE, false));
        lanes.on_sent(at(1100), Subflow(0), PACKET, (RATE, false));
        let statistics = lanes.statistics(|lane| Bitrate::from_kbps(u64::from(lane.0)));
        assert_eq!(
            statistics[0],
            LaneStatistics {
                state: LaneState::Up,
                rate: Bitrate::ZERO,
                rtt: None,
                packets: 2,
                sent: PACKET * 2,
                received: 3,
                lost: 3,
            }
        );
        assert_eq!(
            (statistics[1].rate, statistics[1].state, statistics[1].packets),
            (Bitrate::from_kbps(1), LaneState::New, 0)
        );
        // Of a lane that does not exist nothing is counted.
        assert!(!report(&mut lanes, 1200, 2, 40));
        lanes.on_sent(at(1200), Subflow(2), PACKET, (RATE, false));
        assert_eq!(Lanes::new(200).count(), MOST_LANES);
    }

    /// A packet of 1250 octets takes 10 ms at 1 Mbit/s, and 12.5 ms of a share of eight tenths, of which a lane is behind by 250 ms at most.
    #[test]
    fn a_lane_is_busy_with_what_left_by_it() {
        let mut lanes = lanes();
        let free =
            |lanes: &Lanes, lane| lanes.offer(Subflow(lane), at(0), RATE, None).expect("it is up").free;
        lanes.on_sent(at(1000), Subflow(0), PACKET, (RATE, false));
        assert_eq!((free(&lanes, 0), free(&lanes, 1)), (at(1010), at(1000)));
        lanes.on_sent(at(1000), Subflow(1), PACKET, (RATE, true));
        assert_eq!(free(&lanes, 1), at(1012) + TimeDelta::from_micros(500));
        // It is at most so far behind its share, and not ahead of it.
        for _ in 0..10 {
            lanes.on_sent(at(1000), Subflow(1), PACKET, (RATE, true));
        }
        assert_eq!(lane(1, &lanes).busy, at(1110));
        assert_eq!(lane(1, &lanes).shared, at(1137) + TimeDelta::from_micros(500));
        for _ in 0..20 {
            lanes.on_sent(at(1000), Subflow(1), PACKET, (RATE, true));
        }
        assert_eq!((lane(1, &lanes).busy, lane(1, &lanes).shared), (at(1310), at(1250)));
        lanes.on_sent(at(2000), Subflow(1), PACKET, (RATE, true));
        assert_eq!(
            (lane(1, &lanes).busy, lane(1, &lanes).shared),
            (at(2010), at(2012) + TimeDelta::from_micros(500))
        );
        // A rate of none counts as 20 kbit/s: half a second a packet.
        lanes.on_sent(at(2010), Subflow(1), PACKET, (Bitrate::ZERO, false));
        assert_eq!(lane(1, &lanes).busy, at(2510));
        let offer = lanes.offer(Subflow(0), at(3000), Bitrate::ZERO, None).expect("it is up");
        assert_eq!(
            (offer.free, offer.arrival(PACKET)),
            (at(3000), Some(at(3500))),
            "a lane with the least delay"
        );
    }

    /// What an offer has taken leaves later and takes from the window.
    #[test]
    fn an_offer_holds_its_window() {
        let lanes = lanes();
        let mut offer = lanes.offer(Subflow(0), at(1000), RATE, Some(PACKET * 2)).expect("it is up");
        let arrivals = std::iter::from_fn(|| {
            let arrival = offer.arrival(PACKET)?;
            offer.take(PACKET);
            Some(arrival)
        });
        assert_eq!(arrivals.collect::<Vec<_>>(), [at(1010), at(1020)]);
    }

    /// The delay beyond that of the quickest, by the times of transit; half the round-trip time where one has none.
    #[test]
    fn lanes_compare_by_the_times_of_transit() {
        let mut lanes = lanes();
        assert_eq!([0, 1, 2].map(|lane| lanes.delay(Subflow(lane)).as_millis()), [0, 40, 0]);
        lanes.lanes[0].transit = None;
        assert_eq!([0, 1].map(|lane| lanes.delay(Subflow(lane)).as_millis()), [20, 60]);
        lanes.lanes[1].rtt = None;
        assert_eq!(lanes.delay(Subflow(1)), TimeDelta::ZERO);
        assert_eq!(lanes.rtt(), Some(TimeDelta::from_millis(40)));
    }

    /// Media leaves by lanes that are up; where none is, by new ones; and by all where every lane is silent.
    #[test]
    fn media_leaves_by_the_best_lanes_there_are() {
        let mut lanes = Lanes::new(3);
        let usable = |lanes: &Lanes| [0, 1, 2].map(|lane| lanes.is_usable(Subflow(lane)));
        lanes.lanes[0].state = LaneState::Suspect;
        assert_eq!(usable(&lanes), [false, true, true]);
        lanes.lanes[2].state = LaneState::Up;
        assert_eq!(usable(&lanes), [false, false, true]);
        assert!(lanes.offer(Subflow(1), at(0), RATE, None).is_none());
        lanes.lanes.iter_mut().for_each(|lane| lane.state = LaneState::Down);
        assert_eq!(usable(&lanes), [true; 3]);
        // Our reports go by each in turn then.
        assert_eq!([0; 4].map(|_| lanes.for_report().0), [1, 2, 0, 1]);
        for (index, rtt) in [(0, Some(80)), (1, Some(40)), (2, None)] {
            (lanes.lanes[index].state, lanes.lanes[index].rtt) =
                (LaneState::Up, rtt.map(TimeDelta::from_millis));
        }
        assert_eq!(lanes.for_report(), Subflow(1), "the quickest");
    }

    /// Packets that leave at the same instant stay together, where the controller lets another leave at once.
    #[test]
    fn a_group_is_not_taken_apart() {
        let mut lanes = lanes();
        let due = |at: Timestamp| move |_| Some(at);
        assert_eq!(lanes.in_group(due(at(1000))), None, "none left");
        lanes.on_sent(at(1000), Subflow(1), PACKET, (RATE, false));
        assert_eq!(lanes.in_group(due(at(1000))), Some(Subflow(1)));
        assert_eq!(lanes.in_group(due(at(1001))), None, "it has to wait");
        assert_eq!(lanes.in_group(|_| None), None);
        lanes.note(at(1001));
        assert_eq!(lanes.in_group(due(at(1000))), None, "time went on");
    }
}
