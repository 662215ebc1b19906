//! A controller on each lane of a bonded session: lanes are subflows that take different paths, such as Wi-Fi and LTE.
//!
//! Each controller sees its lane as a flow of its own, with packets numbered from its own sequence. The session chooses the lane
//! of a packet and reports which lanes are up ([`RateController::on_lane`]); the target is the sum of those.

use crate::allowance::{Allowance, Probe, Target};
use crate::controller::RateController;
use crate::decision::{Decision, Gauge};
use crate::feedback::{BufferLevel, Feedback, PacketReport, PeerReport};
use crate::feedback_source::{Arrival, FeedbackSource};
use crate::info::{ControllerPair, FlowConfig};
use crate::packet::{Marking, PacketId, SentPacket, Subflow};
use crate::registry::Registry;
use crate::signal::LocalSignal;
use crate::spec::{ControlSpec, SpecError};
use seaway_units::{Bitrate, DataSize, Probability, TimeDelta, Timestamp};
use std::collections::VecDeque;

/// Lanes of a session at most.
pub const MOST_LANES: u8 = 8;
/// Packets of a lane whose numbers are remembered.
const CAPACITY: usize = 1 << 15;
const LANE_RATES: [&str; MOST_LANES as usize] = [
    "lane_1_rate",
    "lane_2_rate",
    "lane_3_rate",
    "lane_4_rate",
    "lane_5_rate",
    "lane_6_rate",
    "lane_7_rate",
    "lane_8_rate",
];

/// The sending halves, a lane each.
#[derive(Debug)]
pub(crate) struct Lanes {
    lanes: Vec<Lane>,
    recipe: Recipe,
    /// The limits of the session.
    limits: Option<LocalSignal>,
    max: Bitrate,
    /// Feedback in the numbers of a lane.
    reports: Vec<PacketReport>,
    requested: Vec<PacketId>,
}

/// What the controllers of all lanes are made of.
#[derive(Debug, Clone)]
struct Recipe {
    registry: Registry,
    control: ControlSpec,
    flow: FlowConfig,
}

impl Recipe {
    fn build(&self) -> Result<ControllerPair, SpecError> {
        self.registry.build(&self.control, self.flow)
    }
}

/// What a controller knew of a lane is void once the lane was down for so long: it starts again.
const RESTART: TimeDelta = TimeDelta::from_secs(1);

#[derive(Debug)]
struct Lane {
    controller: Box<dyn RateController>,
    is_up: bool,
    down_since: Timestamp,
    /// The ids in the flow of the packets that left by it, of which the oldest has the number `first` in the lane.
    ids: VecDeque<PacketId>,
    first: u64,
}

impl Lane {
    fn new(controller: Box<dyn RateController>) -> Self {
        Self { controller, is_up: true, down_since: Timestamp::ZERO, ids: VecDeque::new(), first: 0 }
    }

    fn on_sent(&mut self, now: Timestamp, packet: &SentPacket) {
        if self.ids.is_empty() {
            self.first = packet.sequence;
        }
        if self.ids.len() == CAPACITY {
            self.ids.pop_front();
            self.first += 1;
        }
        self.ids.push_back(packet.id);
        self.controller.on_sent(now, &in_lane(packet));
    }

    /// The number in the lane of a packet of the flow.
    fn number(&self, id: PacketId) -> Option<PacketId> {
        let place = self.ids.binary_search(&id).ok()?;
        Some(PacketId(self.first + place as u64))
    }
}

/// The packet as the controller of its lane sees it.
fn in_lane(packet: &SentPacket) -> SentPacket {
    SentPacket { id: PacketId(packet.sequence), subflow: Subflow(0), ..*packet }
}

impl Lanes {
    fn lane_mut(&mut self, subflow: Subflow) -> Option<&mut Lane> {
        self.lanes.get_mut(usize::from(subflow.0))
    }

    fn up(&self) -> impl Iterator<Item = &Lane> {
        self.lanes.iter().filter(|lane| lane.is_up)
    }

    /// A lane gets a new controller.
    fn restart(&mut self, now: Timestamp, index: usize) {
        let Ok((mut controller, _)) = self.recipe.build() else { return };
        if let Some(limits) = self.limits {
            controller.on_signal(now, self.signal_in_lane(index, limits));
        }
        let lane = &mut self.lanes[index];
        lane.controller = controller;
        lane.first += lane.ids.len() as u64;
        lane.ids.clear();
    }

    /// The part of a lane in what is common to all.
    fn part(&self, index: usize) -> f64 {
        let all: f64 = self.up().map(|lane| lane.controller.target().rate.as_bps_f64()).sum();
        let lane = &self.lanes[index];
        if lane.is_up && all > 0.0 { lane.controller.target().rate.as_bps_f64() / all } else { 0.0 }
    }

    /// A signal as it concerns one lane.
    fn signal_in_lane(&self, index: usize, signal: LocalSignal) -> LocalSignal {
        let scale =
            |size: DataSize| DataSize::from_bytes((size.as_bytes() as f64 * self.part(index)).ceil() as u64);
        let count = self.lanes.len() as u64;
        match signal {
            LocalSignal::Limits { min, start, max } => {
                LocalSignal::Limits { min: min / count, start: start / count, max }
            }
            LocalSignal::Backlog { waiting, oldest } => {
                LocalSignal::Backlog { waiting: scale(waiting), oldest }
            }
            LocalSignal::Frame { stream, size, target, interval } => {
                LocalSignal::Frame { stream, size: scale(size), target: scale(target), interval }
            }
            // It is measured over the reports of all lanes.
            LocalSignal::FeedbackInterval(interval) => {
                LocalSignal::FeedbackInterval(interval * self.up().count().max(1) as i64)
            }
            other => other,
        }
    }
}

impl RateController for Lanes {
    fn marking(&mut self, now: Timestamp, next: &SentPacket) -> Marking {
        let lane = self.lane_mut(next.subflow);
        lane.map_or_else(Marking::default, |lane| lane.controller.marking(now, &in_lane(next)))
    }

    fn on_sent(&mut self, now: Timestamp, packet: &SentPacket) {
        if let Some(lane) = self.lane_mut(packet.subflow) {
            lane.on_sent(now, packet);
        }
    }

    fn on_feedback(&mut self, now: Timestamp, feedback: &Feedback<'_>) {
        let Self { lanes, reports, requested, .. } = self;
        let Some(lane) = lanes.get_mut(usize::from(feedback.subflow.0)) else { return };
        reports.clear();
        // Those before the first left under the controller before.
        let own = feedback.packets.iter().filter(|report| report.packet.sequence >= lane.first);
        reports.extend(own.map(|report| PacketReport { packet: in_lane(&report.packet), ..*report }));
        requested.clear();
        requested.extend(feedback.requested.iter().filter_map(|id| lane.number(*id)));
        let peer =
            PeerReport { echoed: feedback.peer.echoed.and_then(|id| lane.number(id)), ..feedback.peer };
        let feedback = Feedback { subflow: Subflow(0), rtt: feedback.rtt, packets: reports, requested, peer };
        lane.controller.on_feedback(now, &feedback);
    }

    fn on_signal(&mut self, now: Timestamp, signal: LocalSignal) {
        if let LocalSignal::Limits { max, .. } = signal {
            (self.max, self.limits) = (max, Some(signal));
        }
        for index in 0..self.lanes.len() {
            let signal = self.signal_in_lane(index, signal);
            self.lanes[index].controller.on_signal(now, signal);
        }
    }

    fn on_lane(&mut self, now: Timestamp, subflow: Subflow, is_up: bool) {
        let index = usize::from(subflow.0);
        let Some(lane) = self.lanes.get_mut(index) else { return };
        let was_up = std::mem::replace(&mut lane.is_up, is_up);
        if was_up && !is_up {
            lane.down_since = now;
        } else if !was_up && is_up && now.since(lane.down_since) >= RESTART {
            self.restart(now, index);
        }
    }

    fn handle_timeout(&mut self, now: Timestamp) {
        for lane in &mut self.lanes {
            if lane.controller.poll_timeout().is_some_and(|due| due <= now) {
                lane.controller.handle_timeout(now);
            }
        }
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        self.lanes.iter().filter_map(|lane| lane.controller.poll_timeout()).min()
    }

    fn poll_probe(&mut self, now: Timestamp) -> Option<Probe> {
        let up = self.lanes.iter_mut().zip(0..).filter(|(lane, _)| lane.is_up);
        up.filter_map(|(lane, index)| {
            lane.controller.poll_probe(now).map(|probe| Probe { subflow: Subflow(index), ..probe })
        })
        .next()
    }

    fn poll_decision(&mut self) -> Option<Decision> {
        self.lanes.iter_mut().find_map(|lane| lane.controller.poll_decision())
    }

    fn least_used(&self) -> f64 {
        self.lanes.iter().map(|lane| lane.controller.least_used()).fold(0.0, f64::max)
    }

    fn subflows(&self) -> u8 {
        self.lanes.len() as u8
    }

    fn allowance(&self, subflow: Subflow) -> Allowance {
        let lane = self.lanes.get(usize::from(subflow.0));
        lane.map_or(Allowance::paced(Bitrate::ZERO), |lane| lane.controller.allowance(Subflow(0)))
    }

    fn target_of(&self, subflow: Subflow) -> Bitrate {
        let lane = self.lanes.get(usize::from(subflow.0));
        lane.map_or(Bitrate::ZERO, |lane| lane.controller.target().rate)
    }

    fn target(&self) -> Target {
        let targets = || self.up().map(|lane| lane.controller.target());
        let rate: Bitrate = targets().map(|target| target.rate).sum();
        let lost: f64 = targets().map(|target| target.rate.as_bps_f64() * target.channel_loss.get()).sum();
        let loss = if rate == Bitrate::ZERO { 0.0 } else { lost / rate.as_bps_f64() };
        Target { rate: rate.min(self.max), channel_loss: Probability::clamped(loss) }
    }

    fn phase(&self) -> &'static str {
        let largest = self.up().max_by_key(|lane| lane.controller.target().rate);
        largest.map_or("no lane", |lane| lane.controller.phase())
    }

    fn inspect(&self, visit: &mut dyn FnMut(Gauge)) {
        visit(Gauge::new("rate", self.target().rate.as_bps_f64(), "bit/s"));
        for (lane, name) in self.lanes.iter().zip(LANE_RATES) {
            visit(Gauge::new(name, lane.controller.target().rate.as_bps_f64(), "bit/s"));
        }
    }
}

/// The receiving halves: a lane gets its own with its first packet.
#[derive(Debug)]
struct LaneSources {
    recipe: Recipe,
    lanes: Vec<Box<dyn FeedbackSource>>,
}

impl LaneSources {
    /// That of a lane, with those before it.
    fn lane(&mut self, subflow: Subflow) -> Option<&mut Box<dyn FeedbackSource>> {
        let index = usize::from(subflow.0);
        while self.lanes.len() <= index && index < usize::from(MOST_LANES) {
            let (_, source) = self.recipe.build().ok()?;
            self.lanes.push(source);
        }
        self.lanes.get_mut(index)
    }
}

impl FeedbackSource for LaneSources {
    fn on_arrival(&mut self, now: Timestamp, arrival: &Arrival) {
        if let Some(lane) = self.lane(arrival.subflow) {
            lane.on_arrival(now, &Arrival { subflow: Subflow(0), ..*arrival });
        }
    }

    fn on_channel_loss(&mut self, lost: &Arrival) {
        if let Some(lane) = self.lane(lost.subflow) {
            lane.on_channel_loss(&Arrival { subflow: Subflow(0), ..*lost });
        }
    }

    fn on_buffer(&mut self, now: Timestamp, level: BufferLevel) {
        self.lanes.iter_mut().for_each(|lane| lane.on_buffer(now, level));
    }

    fn handle_timeout(&mut self, now: Timestamp) {
        for lane in &mut self.lanes {
            if lane.poll_timeout().is_some_and(|due| due <= now) {
                lane.handle_timeout(now);
            }
        }
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        self.lanes.iter().filter_map(|lane| lane.poll_timeout()).min()
    }

    fn has_report(&self, now: Timestamp) -> bool {
        self.lanes.iter().any(|lane| lane.has_report(now))
    }

    fn poll_report(&mut self, now: Timestamp) -> Option<(Subflow, PeerReport)> {
        let lanes = self.lanes.iter_mut().zip(0..);
        lanes.filter_map(|(lane, index)| Some((Subflow(index), lane.poll_report(now)?.1))).next()
    }
}

impl Registry {
    /// Makes the halves of a bonded session: the controller that `spec` names on each of `lanes`.
    ///
    /// # Errors
    /// As [`build`](Self::build); a controller that divides its flow into connections itself, or more than [`MOST_LANES`].
    pub fn build_lanes(
        &self,
        spec: &ControlSpec,
        flow: FlowConfig,
        lanes: u8,
    ) -> Result<ControllerPair, SpecError> {
        if self.requirements(spec)?.subflows {
            let problem = "has connections of its own; each lane has a controller with one";
            return Err(SpecError::new(&spec.to_string(), problem));
        }
        if !(1..=MOST_LANES).contains(&lanes) {
            return Err(SpecError::new(&lanes.to_string(), format!("a session has 1 to {MOST_LANES} lanes")));
        }
        let recipe = Recipe { registry: self.clone(), control: spec.clone(), flow };
        let lane = |_| recipe.build().map(|(controller, _)| Lane::new(controller));
        let lanes = (0..lanes).map(lane).collect::<Result<_, _>>()?;
        let source = LaneSources { recipe: recipe.clone(), lanes: Vec::new() };
        let controller = Lanes {
            lanes,
            recipe,
            limits: None,
            max: Bitrate::MAX,
            reports: Vec::new(),
            requested: Vec::new(),
        };
        Ok((Box::new(controller), Box::new(source)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feedback::Fate;
    use seaway_units::{Ecn, RemoteTimestamp};

    fn lanes(control: &str, count: u8) -> ControllerPair {
        let flow = FlowConfig { packet: DataSize::from_bytes(1200), ecn: Ecn::NotEct };
        let (mut controller, source) =
            Registry::builtin().build_lanes(&control.parse().unwrap(), flow, count).unwrap();
        let (min, max) = (Bitrate::from_kbps(200), Bitrate::from_mbps(10));
        controller.on_signal(Timestamp::ZERO, LocalSignal::Limits { min, start: max, max });
        (controller, source)
    }

    #[test]
    fn the_target_is_that_of_the_lanes_that_are_up() {
        let (mut controller, _) = lanes("fixed(rate=2 Mbit/s)", 3);
        assert_eq!((controller.subflows(), controller.target().rate), (3, Bitrate::from_mbps(6)));
        controller.on_lane(Timestamp::ZERO, Subflow(1), false);
        assert_eq!(controller.target().rate, Bitrate::from_mbps(4));
        assert_eq!(controller.target_of(Subflow(1)), Bitrate::from_mbps(2), "it is probed at its rate");
        controller.on_lane(Timestamp::ZERO, Subflow(1), true);
        controller.on_lane(Timestamp::ZERO, Subflow(200), true);
        assert_eq!(controller.target().rate, Bitrate::from_mbps(6));
        assert_eq!(controller.allowance(Subflow(3)).rate, Bitrate::ZERO, "there is no such lane");
    }

    /// One lane reports a growing delay, the other none: the rate of the first falls alone.
    #[test]
    fn each_lane_follows_its_own_feedback() {
        let (mut controller, _) = lanes("nada", 2);
        let packet = |id: u64| SentPacket {
            id: PacketId(id),
            subflow: Subflow((id % 2) as u8),
            sequence: id / 2,
            ..SentPacket::new(id, DataSize::from_bytes(1200))
        };
        let at = |millis: u64| Timestamp::from_nanos(millis * 1_000_000);
        for round in 0..200_u64 {
            for id in round * 2..round * 2 + 2 {
                controller.on_sent(at(round * 20), &packet(id));
                let delay = if id % 2 == 0 { 30 + round * 2 } else { 30 };
                let arrived = RemoteTimestamp::from_nanos((round * 20 + delay) * 1_000_000);
                let fate = Fate::Received { at: Some(arrived), ecn: Ecn::NotEct };
                let report = PacketReport { packet: packet(id), sent: at(round * 20), fate };
                let feedback = Feedback {
                    subflow: Subflow((id % 2) as u8),
                    // The way back has no queue.
                    rtt: Some(seaway_units::TimeDelta::from_millis(delay as i64 + 30)),
                    packets: &[report],
                    requested: &[],
                    peer: PeerReport {
                        congestion: Some(crate::Congestion {
                            delay: seaway_units::TimeDelta::from_millis(delay as i64 - 30),
                            ramp_up: delay == 30,
                        }),
                        receive_rate: Some(Bitrate::from_mbps(1)),
                        ..PeerReport::default()
                    },
                };
                controller.on_feedback(at(round * 20 + 10), &feedback);
            }
        }
        let [congested, free] = [0, 1].map(|lane| controller.target_of(Subflow(lane)));
        assert!(congested * 3 < free, "{congested} {free}");
    }

    #[test]
    fn ids_of_the_flow_are_numbers_of_a_lane() {
        let mut lane = Lane::new(lanes("fixed", 1).0);
        for (number, id) in [3, 5, 9].into_iter().zip(7..) {
            let id = PacketId(id * 10);
            lane.on_sent(
                Timestamp::ZERO,
                &SentPacket { id, sequence: number, ..SentPacket::new(0, DataSize::from_bytes(100)) },
            );
        }
        assert_eq!((lane.number(PacketId(70)), lane.number(PacketId(71))), (Some(PacketId(3)), None));
    }

    #[test]
    fn reports_are_of_the_lane_that_had_arrivals() {
        let (_, mut source) = lanes("fixed(feedback=20 ms)", 2);
        let arrival = Arrival {
            subflow: Subflow(1),
            sequence: 0,
            size: DataSize::from_bytes(1200),
            ecn: Ecn::NotEct,
            tag: None,
            sent: RemoteTimestamp::from_nanos(0),
            rtt: None,
            ends_frame: false,
        };
        source.on_arrival(Timestamp::ZERO, &arrival);
        source.on_arrival(Timestamp::ZERO, &Arrival { subflow: Subflow(60), ..arrival });
        let due = source.poll_timeout().unwrap();
        source.handle_timeout(due);
        let reports: Vec<_> = std::iter::from_fn(|| source.poll_report(due)).map(|report| report.0).collect();
        assert_eq!(reports, [Subflow(1)]);
    }

    #[test]
    fn controllers_with_connections_of_their_own_are_refused() {
        let flow = FlowConfig { packet: DataSize::from_bytes(1200), ecn: Ecn::NotEct };
        let build =
            |control: &str, lanes| Registry::builtin().build_lanes(&control.parse().unwrap(), flow, lanes);
        assert!(build("multfrc", 2).is_err() && build("tfrc(count=4)", 2).is_err());
        assert!(build("tfrc", 0).is_err() && build("tfrc", 9).is_err() && build("tfrc", 8).is_ok());
    }
}
