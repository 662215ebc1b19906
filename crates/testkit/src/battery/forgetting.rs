//! Recovery from odd or hostile feedback: a minute after it a flow behaves as if it had not happened.
//!
//! A flow on a small link is disturbed in one way, then gets a minute of correct feedback. Rate, delay and loss from then on are
//! compared with those of flows that had the path's last state from the start.

use crate::path::{Bottleneck, Channel, Counters, Forge, Overhead, Path, PathRun, PlayoutBuffer};
use seaway_control::{Arrival, BufferLevel, Congestion, ControllerPair, LocalSignal, PeerReport, Subflow};
use seaway_units::{Bitrate, DataSize, Ecn, Probability, RemoteTimestamp, TimeDelta, Timestamp};
use std::fmt;

/// Before the disturbance.
const WARM_UP: TimeDelta = TimeDelta::from_secs(60);
/// The length of a disturbance that does not stay.
const EPISODE: TimeDelta = TimeDelta::from_secs(20);
/// What a controller has to forget it, usually.
pub const TRUTH: TimeDelta = TimeDelta::from_secs(60);
/// What is compared then: the time of so many packets at the link's rate, and twice the time to forget at least.
const MEASURED: u64 = 45_000;

/// A link with a drop-tail queue.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Network {
    /// Its rate.
    pub rate: Bitrate,
    /// Propagation delay, to and fro.
    pub rtt: TimeDelta,
    /// What the queue holds.
    pub queue: DataSize,
    /// Every so many packets one is lost behind the queue; 0 for none.
    pub lose_every: u64,
    /// Packets reach the queue at random within a packet's time of service, in their order ([`Overhead`]).
    pub jitter: bool,
    /// The most that the application has to send.
    pub most: Bitrate,
}

impl Network {
    /// 3 Mbit/s, 60 ms, 100 ms of queue, no loss but that of the queue.
    pub const PLAIN: Self = Self {
        rate: Bitrate::from_mbps(3),
        rtt: TimeDelta::from_millis(60),
        queue: DataSize::from_bytes(37_500),
        lose_every: 0,
        jitter: false,
        most: Bitrate::from_kbps(13_500),
    };

    /// The same without the phase of one flow's packets at one queue.
    pub const JITTERED: Self = Self { jitter: true, ..Self::PLAIN };

    fn limits(&self) -> LocalSignal {
        let (min, start) = (Bitrate::from_kbps(50), Bitrate::from_kbps(300));
        LocalSignal::Limits { min, start, max: self.most }
    }

    /// With a full queue, seconds.
    fn longest_delay(&self) -> f64 {
        let queue = self.rate.time_to_send(self.queue).unwrap_or(TimeDelta::ZERO);
        (self.rtt + queue).as_secs_f64()
    }

    /// Much the same network: a delay that is up to 3 % longer brings packets into another order of arrival and service.
    fn varied(self, variant: i64) -> Self {
        Self { rtt: self.rtt + self.rtt * variant / 64, ..self }
    }
}

/// Something odd.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Disturbance {
    /// Another network for a while.
    Episode(&'static str, Network),
    /// Another network from then on; `noticed` where the session says so.
    Change(&'static str, Network, bool),
    /// Nothing arrives for a while.
    Outage,
    /// The application has nothing to send for a while.
    Idle,
    /// Reports are forged for a second.
    Reports(Forgery),
    /// The clock of the other end is so far ahead for a second.
    ClockEpisode(TimeDelta),
    /// The clock of the other end is so far ahead from then on.
    Clock(TimeDelta),
    /// A packet with a number so far ahead arrives.
    Number(u64),
}

impl Disturbance {
    /// The network after it.
    pub const fn last(&self, network: Network) -> Network {
        if let Self::Change(_, last, _) = self { *last } else { network }
    }

    /// What a list of exceptions calls it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Episode(name, _) | Self::Change(name, ..) => name,
            Self::Outage => "outage",
            Self::Idle => "idle",
            Self::Reports(Forgery::Rtt(_)) => "forged round-trip time",
            Self::Reports(Forgery::Limit(_)) => "forged limit",
            Self::Reports(Forgery::Worst) => "worst of everything",
            Self::Reports(Forgery::Best) => "best of everything",
            Self::ClockEpisode(_) => "clock ahead for a while",
            Self::Clock(_) => "clock ahead",
            Self::Number(_) => "number ahead",
        }
    }
}

/// What forged reports say.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Forgery {
    /// This round-trip time.
    Rtt(TimeDelta),
    /// The receiver wants no more than this.
    Limit(Bitrate),
    /// The worst of everything.
    Worst,
    /// The best of everything.
    Best,
}

/// What a flow got.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outcome {
    /// What arrived.
    pub rate: Bitrate,
    /// Mean round-trip time, seconds.
    pub rtt: f64,
    /// The part of the packets that was lost.
    pub loss: f64,
}

impl Outcome {
    fn of(counters: &Counters, span: TimeDelta) -> Self {
        let rate = (DataSize::from_bytes(1000) * counters.received).over(span).unwrap_or(Bitrate::ZERO);
        let rtt = counters.rtt_sum / counters.reports.max(1) as f64;
        let loss = (counters.refused + counters.lost) as f64 / counters.sent.max(1) as f64;
        Self { rate, rtt, loss }
    }

    /// It is no worse than what the others got over `network`: a twentieth less rate, a twentieth of the path's longest
    /// delay more delay, a fiftieth more loss are the same.
    pub fn is_no_worse(&self, others: &[Self], network: &Network) -> bool {
        let most = |get: fn(&Self) -> f64| others.iter().map(get).fold(0.0, f64::max);
        let least_rate = others.iter().map(|other| other.rate.as_bps_f64()).fold(f64::INFINITY, f64::min);
        self.rate.as_bps_f64() >= 0.95 * least_rate
            && self.rtt <= most(|other| other.rtt) + 0.05 * network.longest_delay()
            && self.loss <= most(|other| other.loss) + 0.02
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rate, rtt, loss } = self;
        write!(f, "{:.3} Mbit/s, {:.1} ms, {:.2} % lost", rate.as_bps_f64() / 1e6, 1e3 * rtt, 100.0 * loss)
    }
}

/// Everything that can happen to a flow over `network`.
pub fn disturbances(network: Network) -> Vec<Disturbance> {
    let faster = Network { rate: network.rate * 4, ..network };
    let slower = Network { rate: network.rate / 10, ..network };
    let longer = Network { rtt: network.rtt + TimeDelta::from_millis(100), ..network };
    let hour = TimeDelta::from_secs(3600);
    let mut all = vec![
        Disturbance::Episode("capacity up for a while", faster),
        Disturbance::Episode("capacity down for a while", slower),
        Disturbance::Episode("longer route for a while", longer),
        Disturbance::Change("capacity up", faster, false),
        Disturbance::Change("capacity down", slower, false),
        Disturbance::Change("longer route", longer, false),
        Disturbance::Change("longer route, noticed", longer, true),
        Disturbance::Outage,
        Disturbance::Idle,
        Disturbance::Number(1500),
    ];
    all.extend([Forgery::Worst, Forgery::Best].map(Disturbance::Reports));
    all.extend([1, u64::MAX].map(|bps| Disturbance::Reports(Forgery::Limit(Bitrate::from_bps(bps)))));
    all.extend(
        [hour, TimeDelta::from_secs(50), TimeDelta::from_micros(1)]
            .map(|rtt| Disturbance::Reports(Forgery::Rtt(rtt))),
    );
    let seconds = TimeDelta::from_secs(2);
    for ahead in [hour, seconds, TimeDelta::ZERO - seconds] {
        all.extend([Disturbance::ClockEpisode(ahead), Disturbance::Clock(ahead)]);
    }
    all
}

/// A disturbance that was remembered.
#[derive(Debug, Clone, PartialEq)]
pub struct Remembered {
    /// What happened.
    pub disturbance: Disturbance,
    /// What the flow got after it.
    pub outcome: Outcome,
    /// What undisturbed flows get, which differ a little in their start.
    pub undisturbed: Vec<Outcome>,
}

impl fmt::Display for Remembered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}; undisturbed:", self.disturbance, self.outcome)?;
        self.undisturbed.iter().try_for_each(|outcome| write!(f, "  {outcome}"))
    }
}

/// What a controller remembers of everything that can happen over `network`. `truth` is what it has to forget it.
pub fn remembered(network: Network, truth: TimeDelta, make: &impl Fn() -> ControllerPair) -> Vec<Remembered> {
    let mut known: Vec<(Network, Vec<Outcome>)> = Vec::new();
    let mut found = Vec::new();
    for disturbance in disturbances(network) {
        let last = disturbance.last(network);
        if !known.iter().any(|(network, _)| *network == last) {
            known.push((last, undisturbed(last, truth, make)));
        }
        let outcome = disturbed(disturbance, network, truth, make);
        let undisturbed = known.iter().find(|(network, _)| *network == last);
        let undisturbed = undisturbed.map(|(_, outcomes)| outcomes.clone()).unwrap_or_default();
        if !outcome.is_no_worse(&undisturbed, &last) {
            found.push(Remembered { disturbance, outcome, undisturbed });
        }
    }
    found
}

/// What a flow gets over `network` after a disturbance and `truth`.
pub fn disturbed(
    disturbance: Disturbance,
    network: Network,
    truth: TimeDelta,
    make: &impl Fn() -> ControllerPair,
) -> Outcome {
    let mut flow = Flow::new(network, make());
    flow.run.measure(WARM_UP);
    flow.disturb(disturbance);
    flow.run.measure(truth);
    flow.outcome(truth)
}

/// What flows get that had `network` from the start.
pub fn undisturbed(network: Network, truth: TimeDelta, make: &impl Fn() -> ControllerPair) -> Vec<Outcome> {
    let outcome = |variant: i64| {
        let mut flow = Flow::new(network.varied(variant), make());
        flow.run.measure(WARM_UP + truth);
        flow.outcome(truth)
    };
    [0, 1, 2].map(outcome).into()
}

/// The same in three spans one after the other, and of flows whose application had half of the link's rate to send at first. A path
/// can have more than one state in which a controller rests: these grow old in it, or come to it from below and not from a start that
/// overfilled the queue.
pub fn undisturbed_at_length(
    network: Network,
    truth: TimeDelta,
    make: &impl Fn() -> ControllerPair,
) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    for (variant, from_below) in [0, 1, 2].into_iter().flat_map(|variant| [(variant, false), (variant, true)])
    {
        let network = Network { jitter: from_below, ..network.varied(variant) };
        let mut flow = Flow::new(network, make());
        flow.run.path().source = from_below.then(|| network.rate / 2);
        flow.run.measure(WARM_UP);
        flow.run.path().source = None;
        flow.run.measure(truth);
        outcomes.extend((0..3).map(|_| flow.outcome(truth)));
    }
    outcomes
}

/// Hours of steps: every ten minutes the link has another rate, so that each hour is like the others. What a flow got in
/// each hour.
///
/// # Panics
/// `hours` below 2.
pub fn hours_of_steps(hours: usize, make: &impl Fn() -> ControllerPair) -> Vec<Outcome> {
    const MINUTES_10: TimeDelta = TimeDelta::from_secs(600);
    assert!(hours >= 2, "the first hour is the start");
    let steps = [500, 200, 1000, 300, 150, 700].map(|kbps| Network {
        rate: Bitrate::from_kbps(kbps),
        queue: DataSize::from_bytes(12_000),
        ..Network::PLAIN
    });
    let mut flow = Flow::new(steps[0], make());
    let hour = |flow: &mut Flow| {
        let mut sum = Counters::default();
        for step in steps {
            flow.lay(step);
            sum += flow.run.measure(MINUTES_10);
        }
        Outcome::of(&sum, MINUTES_10 * steps.len() as i64)
    };
    (0..hours).map(|_| hour(&mut flow)).collect()
}

/// A saturated flow.
struct Flow {
    run: PathRun,
    network: Network,
}

impl Flow {
    fn new(network: Network, halves: ControllerPair) -> Self {
        let buffer =
            PlayoutBuffer { capacity: DataSize::from_bytes(100_000), consume: Bitrate::from_mbps(1) };
        let path = Path { buffer: Some(buffer), ..Path::new(network.rtt) };
        let mut flow = Self { run: PathRun::new(path, halves), network };
        flow.lay(network);
        flow.run.controller.on_signal(Timestamp::ZERO, network.limits());
        flow
    }

    /// The path is over `network` from now on.
    fn lay(&mut self, network: Network) {
        let path = self.run.path();
        let queue = network.rate.time_to_send(network.queue).expect("a rate above zero");
        path.bottleneck = Some(Bottleneck { rate: network.rate, queue });
        path.forward = network.rtt / 2;
        path.back = network.rtt / 2;
        let service = network.rate.time_to_send(path.packet).expect("a rate above zero");
        path.overhead = network.jitter.then(|| Overhead::new(service, 1));
        let every = network.lose_every;
        path.channel = Box::new(move |count| match every > 0 && count % every == every - 1 {
            true => Channel::Lose,
            false => Channel::Deliver,
        });
    }

    fn disturb(&mut self, disturbance: Disturbance) {
        let second = TimeDelta::from_secs(1);
        match disturbance {
            Disturbance::Episode(_, network) => {
                self.lay(network);
                self.run.measure(EPISODE);
                self.lay(self.network);
            }
            Disturbance::Change(_, network, noticed) => {
                self.lay(network);
                if noticed {
                    let now = self.run.now();
                    self.run.controller.on_signal(now, LocalSignal::RouteChanged);
                }
            }
            Disturbance::Outage => {
                self.run.path().channel = Box::new(|_| Channel::Lose);
                self.run.measure(EPISODE);
                self.lay(self.network);
            }
            Disturbance::Idle => self.idle(),
            Disturbance::Reports(forgery) => {
                self.run.path().forge = Some(forgery.forge());
                self.run.measure(second);
                self.run.path().forge = None;
            }
            Disturbance::ClockEpisode(ahead) => {
                self.run.path().clock = ahead;
                self.run.measure(second);
                self.run.path().clock = TimeDelta::ZERO;
            }
            Disturbance::Clock(ahead) => self.run.path().clock = ahead,
            Disturbance::Number(ahead) => self.number(ahead),
        }
    }

    fn idle(&mut self) {
        let now = self.run.now();
        self.run.controller.on_signal(now, LocalSignal::Paused(true));
        self.run.path().source = Some(Bitrate::ZERO);
        self.run.measure(EPISODE);
        let now = self.run.now();
        self.run.controller.on_signal(now, LocalSignal::Paused(false));
        self.run.path().source = None;
    }

    fn number(&mut self, ahead: u64) {
        let now = self.run.now();
        let arrival = Arrival {
            subflow: Subflow(0),
            sequence: self.run.next_sequence() + ahead,
            size: DataSize::from_bytes(1000),
            ecn: Ecn::NotEct,
            tag: None,
            sent: RemoteTimestamp::from_nanos((now - self.network.rtt / 2).as_nanos()),
            rtt: Some(self.network.rtt),
            ends_frame: true,
        };
        self.run.source.on_arrival(now, &arrival);
    }

    fn outcome(&mut self, truth: TimeDelta) -> Outcome {
        let rate = self.run.path().bottleneck.map_or(Bitrate::ZERO, |bottleneck| bottleneck.rate);
        let span = rate.time_to_send(DataSize::from_bytes(1000) * MEASURED).unwrap_or(truth).max(truth * 2);
        let counters = self.run.measure(span);
        Outcome::of(&counters, span)
    }
}

impl Forgery {
    fn forge(self) -> Forge {
        match self {
            Self::Rtt(rtt) => Box::new(move |feedback| feedback.rtt = Some(rtt)),
            Self::Limit(limit) => Box::new(move |feedback| feedback.peer.limit = Some(limit)),
            Self::Worst => Box::new(|feedback| {
                let congestion = Congestion { delay: TimeDelta::from_secs(3600), ramp_up: false };
                feedback.peer = PeerReport {
                    echoed: feedback.peer.echoed,
                    loss_event_rate: Probability::new(1.0),
                    new_loss_event: true,
                    receive_rate: Some(Bitrate::ZERO),
                    ce_packets: Some(u32::MAX),
                    congestion: Some(congestion),
                    buffer: Some(BufferLevel { held: DataSize::MAX, capacity: DataSize::MAX }),
                    limit: Some(Bitrate::ZERO),
                };
            }),
            Self::Best => Box::new(|feedback| {
                let congestion =
                    Congestion { delay: TimeDelta::ZERO - TimeDelta::from_secs(3600), ramp_up: true };
                feedback.peer = PeerReport {
                    echoed: feedback.peer.echoed,
                    loss_event_rate: Probability::new(0.0),
                    new_loss_event: false,
                    receive_rate: Some(Bitrate::MAX),
                    ce_packets: Some(0),
                    congestion: Some(congestion),
                    buffer: Some(BufferLevel { held: DataSize::ZERO, capacity: DataSize::MAX }),
                    limit: Some(Bitrate::MAX),
                };
            }),
        }
    }
}
