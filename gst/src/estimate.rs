//! What the element decides, without GStreamer and without a clock: when packets leave, and how much they may be.

use seaway_control::{ControlSpec, Decision, FlowConfig, LocalSignal, PacketId, Registry, StreamId, Subflow};
use seaway_session::{BandwidthEstimator, Departure, Limits, Pacer, PacketArrival, PacketResult};
use seaway_units::{Bitrate, DataSize, Ecn, RemoteTimestamp, TimeDelta, Timestamp};
use std::collections::VecDeque;

/// Octets of the IP (v4) and UDP headers, which the buffers of a pipeline do not have yet.
const HEADERS: u64 = 28;
/// The largest datagram: the default size of GStreamer's payloaders and its headers.
const PACKET: DataSize = DataSize::from_bytes(1400 + HEADERS);
/// Packets whose fate may be open. TWCC counts them in 16 bits, and half of that is unambiguous.
const MOST_OPEN: usize = 1 << 15;
/// A packet that was not reported after this time will not be.
const LONGEST_FATE: TimeDelta = TimeDelta::from_secs(10);
/// Packets that wait for longer leave at once: a pipeline has no other bound on its delay.
const LONGEST_WAIT: TimeDelta = TimeDelta::from_millis(500);

/// A controller, the packets that wait for it, and those whose fate is open.
#[derive(Debug)]
pub(crate) struct Estimate {
    estimator: BandwidthEstimator,
    limits: Limits,
    pacer: Pacer,
    /// When they came, and their octets.
    waiting: VecDeque<(Timestamp, DataSize)>,
    backlog: DataSize,
    /// Octets of the frame whose end has not come, and when the last one ended.
    frame: DataSize,
    framed: Option<Timestamp>,
    open: VecDeque<Open>,
}

/// A packet that left and was not reported.
#[derive(Debug, Clone, Copy)]
struct Open {
    left: Timestamp,
    id: PacketId,
}

/// What a report of `rtpsession` says of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reported {
    /// When the session sent it, on the system's clock.
    pub(crate) sent: Timestamp,
    /// Its payload.
    pub(crate) size: DataSize,
    /// When it arrived, on the receiver's clock; `None` where it is lost.
    pub(crate) arrived: Option<RemoteTimestamp>,
}

impl Estimate {
    /// The controller that `spec` names, between these rates.
    ///
    /// # Errors
    /// There is none of that name, an option is wrong, or it needs more than a pipeline reports.
    pub(crate) fn new(spec: &str, limits: Limits) -> Result<Self, String> {
        let spec: ControlSpec = spec.parse().map_err(|error| format!("{error}"))?;
        let registry = Registry::builtin();
        let flow = FlowConfig { packet: PACKET, ecn: Ecn::NotEct };
        let pair = registry.build(&spec, flow).map_err(|error| error.to_string())?;
        if let Some(why) = misfit(&registry, &spec) {
            return Err(format!("`{spec}` cannot run in a pipeline: {why}"));
        }
        Ok(Self {
            estimator: BandwidthEstimator::new(pair, limits),
            limits,
            pacer: Pacer::default(),
            waiting: VecDeque::new(),
            backlog: DataSize::ZERO,
            frame: DataSize::ZERO,
            framed: None,
            open: VecDeque::new(),
        })
    }

    /// The rate that media and repair may use together.
    pub(crate) fn rate(&self) -> Bitrate {
        self.estimator.controller().target().rate.clamp(self.limits.min, self.limits.max)
    }

    /// A packet of so many octets came and waits; `ends_frame` where its marker is set.
    pub(crate) fn on_packet(&mut self, now: Timestamp, size: usize, ends_frame: bool) {
        let size = DataSize::from_bytes(size as u64 + HEADERS);
        self.waiting.push_back((now, size));
        self.backlog += size;
        self.frame += size;
        if ends_frame {
            self.on_frame(now);
        }
    }

    /// A frame came whole. What waits beyond it was too much: a controller lowers its target by it.
    fn on_frame(&mut self, now: Timestamp) {
        let size = std::mem::take(&mut self.frame);
        let interval = self.framed.replace(now).map_or(TimeDelta::ZERO, |before| now.since(before));
        let target =
            DataSize::from_bytes((self.rate().as_bytes_per_second() * interval.as_secs_f64()) as u64);
        self.estimator.on_signal(now, LocalSignal::Frame { stream: StreamId(0), size, target, interval });
        let oldest = self.waiting.front().map_or(TimeDelta::ZERO, |&(came, _)| now.since(came));
        self.estimator.on_signal(now, LocalSignal::Backlog { waiting: self.backlog, oldest });
    }

    /// Whether the first packet leaves now: it is reported to the controller.
    pub(crate) fn poll_departure(&mut self, now: Timestamp) -> bool {
        let Some(&(came, size)) = self.waiting.front() else { return false };
        if self.due(came, size).is_none_or(|due| due > now) {
            return false;
        }
        self.waiting.pop_front();
        self.backlog = self.backlog.saturating_sub(size);
        let allowance = self.estimator.controller().allowance(Subflow(0));
        // One that had waited too long leaves no debt: those behind it would wait for all that the pace was ever too low.
        if self.pacer.due(allowance).is_some_and(|due| due <= now) {
            self.pacer.on_sent(now, allowance, size);
        } else {
            self.pacer.on_unpaced(now, size);
        }
        let departure = Departure { backlog: self.backlog, ..Departure::new(size) };
        let marking = self.estimator.marking(now, &departure);
        let id = self.estimator.on_sent(now, &departure, marking);
        if self.open.len() == MOST_OPEN {
            self.open.pop_front();
        }
        self.open.push_back(Open { left: now, id });
        true
    }

    /// When the packet that came then is due: as the controller allows, and no later than [`LONGEST_WAIT`] after it came.
    fn due(&self, came: Timestamp, size: DataSize) -> Option<Timestamp> {
        let allowance = self.estimator.controller().allowance(Subflow(0));
        let latest = came + LONGEST_WAIT;
        let fits = allowance.window.is_none_or(|window| size <= window);
        let due = self.pacer.due(allowance).filter(|_| fits);
        Some(due.map_or(latest, |due| due.min(latest)))
    }

    /// A report of `rtpsession` came.
    pub(crate) fn on_report(&mut self, now: Timestamp, reported: &[Reported]) {
        while self.open.front().is_some_and(|open| open.left + LONGEST_FATE < now) {
            self.open.pop_front();
        }
        let results: Vec<_> = reported.iter().map(|packet| self.result(packet)).collect();
        self.estimator.on_report(now, &results, TimeDelta::ZERO);
    }

    /// The session stamps a packet in the call by which it left here: it is the last that left no later. One that did not pass
    /// here (another stream of the session) is reported now.
    fn result(&mut self, packet: &Reported) -> PacketResult {
        let arrival = packet.arrived.map(|at| PacketArrival { at: Some(at), ecn: Ecn::NotEct });
        let until = self.open.partition_point(|open| open.left <= packet.sent);
        let id = match until.checked_sub(1).and_then(|index| self.open.remove(index)) {
            Some(open) => open.id,
            None => {
                let departure = Departure::new(packet.size + DataSize::from_bytes(HEADERS));
                let marking = self.estimator.marking(packet.sent, &departure);
                self.estimator.on_sent(packet.sent, &departure, marking)
            }
        };
        PacketResult { id, arrival }
    }

    /// When something is due: a timer of the controller or the first packet.
    pub(crate) fn poll_timeout(&self) -> Option<Timestamp> {
        let first = self.waiting.front().and_then(|&(came, size)| self.due(came, size));
        first.into_iter().chain(self.estimator.poll_timeout()).min()
    }

    /// The instant named by [`poll_timeout`](Self::poll_timeout) has come.
    pub(crate) fn handle_timeout(&mut self, now: Timestamp) {
        if self.estimator.poll_timeout().is_some_and(|due| due <= now) {
            self.estimator.handle_timeout(now);
        }
    }

    /// The next change of the rate and its cause. Probes are not sent: a pipeline has no padding.
    pub(crate) fn poll_decision(&mut self) -> Option<Decision> {
        let now = self.estimator.now();
        let controller = self.estimator.controller_mut();
        while controller.poll_probe(now).is_some() {}
        controller.poll_decision()
    }
}

/// Why the controller cannot run on transport-wide feedback alone.
fn misfit(registry: &Registry, spec: &ControlSpec) -> Option<&'static str> {
    let requirements = registry.requirements(spec).ok()?;
    match () {
        () if requirements.buffer => Some("it goes by the receiver's playout buffer, which is not reported"),
        () if requirements.subflows => Some("it opens several connections, and a pipeline has one"),
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits =
        Limits { min: Bitrate::from_kbps(100), start: Bitrate::from_kbps(500), max: Bitrate::from_mbps(8) };

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_nanos(1_000_000_000 + millis * 1_000_000)
    }

    /// Twenty seconds over a link of 2 Mbit/s with a queue of 200 ms, 20 ms each way; the mean rate of the last five, Mbit/s.
    fn over_a_link(spec: &str) -> f64 {
        let mut estimate = Estimate::new(spec, LIMITS).unwrap();
        let (mut free, mut credit, mut sum) = (0.0_f64, 0.0, 0.0);
        let (mut arrivals, mut reports) = (Vec::new(), VecDeque::new());
        for millis in 0..20_000 {
            credit += estimate.rate().as_bps_f64() / 1000.0;
            while credit >= 9600.0 {
                credit -= 9600.0;
                estimate.on_packet(at(millis), 1172, true);
            }
            // One a millisecond, so that each leaves at an instant of its own.
            if estimate.poll_departure(at(millis)) {
                let start = free.max(millis as f64);
                let lost = start - millis as f64 > 200.0;
                free = if lost { free } else { start + 4.8 };
                let arrived = RemoteTimestamp::from_nanos(((free + 20.0) * 1e6) as u64 + 7_000_000_000);
                let size = DataSize::from_bytes(1160);
                let sent = at(millis) + TimeDelta::from_nanos(10);
                arrivals.push((free + 20.0, Reported { sent, size, arrived: (!lost).then_some(arrived) }));
            }
            if millis % 50 == 0 {
                let here: Vec<_> = arrivals.extract_if(.., |(at, _)| *at <= millis as f64).collect();
                reports.push_back((millis + 20, here));
            }
            if reports.front().is_some_and(|(at, _)| *at == millis) {
                let (_, report) = reports.pop_front().unwrap();
                let report: Vec<_> = report.into_iter().map(|(_, packet)| packet).collect();
                estimate.on_report(at(millis), &report);
            }
            estimate.handle_timeout(at(millis));
            while estimate.poll_decision().is_some() {}
            sum += if millis < 15_000 { 0.0 } else { estimate.rate().as_bps_f64() };
        }
        sum / 5000.0 / 1e6
    }

    #[test]
    fn controllers_find_the_rate_of_a_link() {
        for spec in ["seaway", "gcc", "nada", "scream"] {
            let rate = over_a_link(spec);
            assert!((0.8..2.5).contains(&rate), "{spec}: {rate}");
        }
    }

    #[test]
    fn controllers_that_need_more_are_refused() {
        for (spec, why) in
            [("buffer-type1", "playout buffer"), ("multfrc", "several connections"), ("gcx", "gcc")]
        {
            let error = Estimate::new(spec, LIMITS).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }

    /// A packet that did not pass here is reported with its own size; the report finds those that did.
    #[test]
    fn reports_find_their_packets() {
        let mut estimate = Estimate::new("fixed(rate=1 Mbit/s)", LIMITS).unwrap();
        for millis in [0, 100, 200] {
            estimate.on_packet(at(millis), 1000, true);
            assert!(estimate.poll_departure(at(millis)));
        }
        let size = DataSize::from_bytes(988);
        let reported = |millis, arrived| Reported {
            sent: at(millis) + TimeDelta::from_micros(5),
            size,
            arrived: Some(RemoteTimestamp::from_nanos(arrived)),
        };
        estimate.on_report(at(250), &[reported(0, 1), reported(200, 3)]);
        assert_eq!(estimate.open.iter().map(|open| open.left).collect::<Vec<_>>(), [at(100)]);
        let early = Reported { sent: at(50), ..reported(0, 2) };
        estimate.on_report(at(260), &[early]);
        assert_eq!(estimate.open.len(), 1, "none of ours left by then");
    }

    #[test]
    fn no_packet_waits_for_ever() {
        let mut estimate = Estimate::new("fixed(rate=100 kbit/s)", LIMITS).unwrap();
        (0..100).for_each(|_| estimate.on_packet(at(0), 1200, true));
        assert!(estimate.poll_departure(at(0)) && !estimate.poll_departure(at(0)));
        let mut left = 1;
        while estimate.poll_departure(at(500)) {
            left += 1;
        }
        assert_eq!(left, 100);
        // The pause of one packet behind them, not of a hundred.
        estimate.on_packet(at(500), 1200, true);
        assert!(!estimate.poll_departure(at(590)) && estimate.poll_departure(at(600)));
    }
}
