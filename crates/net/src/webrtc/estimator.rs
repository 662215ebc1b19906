//! Our controllers as crate `rtc`'s `BandwidthEstimator`: a browser's transport-wide feedback in, a rate out.

use rtc::interceptor::{BandwidthEstimator as Estimates, EstimatorStats, PacketReport as Report};
use rtc::rtcp::transport_feedbacks::cc_feedback_report::Ecn as ReportedEcn;
use seaway_control::{ControlSpec, FlowConfig, Kind, Registry, SpecError};
use seaway_session::{BandwidthEstimator, Departure, Limits, PacketArrival, PacketResult};
use seaway_units::{Bitrate, DataSize, Ecn, RemoteTimestamp, TimeDelta, Timestamp};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Whole datagrams of the tracks do not exceed this.
const PACKET: DataSize = DataSize::from_bytes(1240);
/// The shortest sleep: a deadline that does not move would keep the interceptor chain busy.
const LEAST_SLEEP: Duration = Duration::from_millis(1);

/// A controller at work for a browser. It learns of a packet when the packet's fate is known, as the trait reports
/// nothing sooner. The receiving half runs here as well, on the arrivals that the browser reports. Sizes and rates count
/// RTP packets, as `rtc`'s pacer does.
#[derive(Debug)]
pub struct Estimator {
    estimator: BandwidthEstimator,
    began: Instant,
    estimate: Arc<Estimate>,
}

/// The estimate, readable from outside the peer connection.
#[derive(Debug, Default)]
pub struct Estimate {
    rate: AtomicU64,
    arrived: AtomicU64,
}

/// The rates a flow begins with and stays between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rates {
    /// The least.
    pub min: Bitrate,
    /// The first.
    pub start: Bitrate,
    /// The most that the encoders could use.
    pub max: Bitrate,
}

/// Why a controller does not serve a browser.
#[derive(Debug, Clone, PartialEq)]
pub enum EstimatorError {
    /// There is none of that name, or it cannot be set like this.
    Spec(SpecError),
    /// It does not fit.
    Refused {
        /// The controller.
        name: String,
        /// What it would need.
        why: &'static str,
    },
}

impl fmt::Display for EstimatorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Spec(error) => error.fmt(f),
            Self::Refused { name, why } => write!(f, "`{name}` cannot estimate for a browser: {why}"),
        }
    }
}

impl std::error::Error for EstimatorError {}

impl Estimate {
    /// The present estimate.
    pub fn rate(&self) -> Bitrate {
        Bitrate::from_bps(self.rate.load(Ordering::Relaxed))
    }

    /// Packets that feedback said arrived.
    pub fn arrived(&self) -> u64 {
        self.arrived.load(Ordering::Relaxed)
    }
}

impl Estimator {
    /// The controller that `spec` names, between `rates`.
    ///
    /// # Errors
    /// The controller or an option does not exist, or needs more than a browser reports.
    pub fn new(now: Instant, spec: &ControlSpec, rates: Rates) -> Result<Self, EstimatorError> {
        let flow = FlowConfig { packet: PACKET, ecn: Ecn::NotEct };
        let registry = Registry::builtin();
        let pair = registry.build(spec, flow).map_err(EstimatorError::Spec)?;
        if let Some(why) = misfit(&registry, spec) {
            return Err(EstimatorError::Refused { name: spec.to_string(), why });
        }
        let Rates { min, start, max } = rates;
        let estimator = BandwidthEstimator::new(pair, Limits { min, start, max });
        let estimator = Self { estimator, began: now, estimate: Arc::default() };
        estimator.publish();
        Ok(estimator)
    }

    /// The estimate, for reading while the estimator is inside a peer connection.
    pub fn estimate(&self) -> Arc<Estimate> {
        self.estimate.clone()
    }

    fn rate(&self) -> Bitrate {
        self.estimator.controller().target().rate
    }

    fn publish(&self) {
        self.estimate.rate.store(self.rate().as_bps(), Ordering::Relaxed);
    }

    fn at(&self, instant: Instant) -> Timestamp {
        let since = instant.saturating_duration_since(self.began);
        Timestamp::ZERO + TimeDelta::from_nanos(i64::try_from(since.as_nanos()).unwrap_or(i64::MAX))
    }

    fn settle(&mut self) {
        // Neither probes nor decisions have a place here.
        let (now, controller) = (self.estimator.now(), self.estimator.controller_mut());
        while controller.poll_probe(now).is_some() {}
        while controller.poll_decision().is_some() {}
        self.publish();
    }

    /// A packet left, and this became of it.
    fn on_departure(&mut self, report: &Report) -> PacketResult {
        let departure = Departure::new(DataSize::from_bytes(report.size as u64));
        // A packet may have left before the last report came.
        let sent = self.at(report.departure);
        let marking = self.estimator.marking(sent, &departure);
        let id = self.estimator.on_sent(sent, &departure, marking);
        self.estimate.arrived.fetch_add(u64::from(report.arrived), Ordering::Relaxed);
        let arrival = PacketArrival { at: report.arrival.map(peer_time), ecn: ecn(report.ecn) };
        PacketResult { id, arrival: report.arrived.then_some(arrival) }
    }
}

impl Estimates for Estimator {
    fn on_reports(&mut self, now: Instant, reports: &[Report]) {
        let results: Vec<_> = reports.iter().map(|report| self.on_departure(report)).collect();
        self.estimator.on_report(self.at(now), &results, TimeDelta::ZERO);
        self.settle();
    }

    fn target_bitrate(&self) -> f64 {
        self.rate().as_bps_f64()
    }

    fn handle_timeout(&mut self, now: Instant) {
        let now = self.at(now).max(self.estimator.now());
        if self.estimator.poll_timeout().is_some_and(|due| due <= now) {
            self.estimator.handle_timeout(now);
            self.settle();
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let due = Duration::from_nanos(self.estimator.poll_timeout()?.as_nanos());
        let soonest = Duration::from_nanos(self.estimator.now().as_nanos()) + LEAST_SLEEP;
        self.began.checked_add(due.max(soonest))
    }

    fn stats(&self) -> EstimatorStats {
        let mut stats = EstimatorStats::default();
        stats.round_trip_time =
            self.estimator.last_rtt().map(|rtt| Duration::from_nanos(rtt.as_nanos().max(0) as u64));
        stats
    }
}

/// What the controller needs and a browser's feedback does not have.
fn misfit(registry: &Registry, spec: &ControlSpec) -> Option<&'static str> {
    let requirements = registry.requirements(spec).ok()?;
    if requirements.buffer {
        return Some("it goes by the receiver's playout buffer, which a browser does not report");
    }
    if requirements.subflows {
        return Some("it opens several connections, and a browser reports on one");
    }
    let info = registry.controllers().iter().find(|info| info.name == spec.name)?;
    (info.kind == Kind::Window)
        .then_some("it counts what is in flight, and here a packet is known only with its fate")
}

fn peer_time(arrival: Duration) -> RemoteTimestamp {
    RemoteTimestamp::from_nanos(u64::try_from(arrival.as_nanos()).unwrap_or(u64::MAX))
}

fn ecn(mark: ReportedEcn) -> Ecn {
    match mark {
        ReportedEcn::NotEct => Ecn::NotEct,
        ReportedEcn::Ect1 => Ecn::Ect1,
        ReportedEcn::Ect0 => Ecn::Ect0,
        ReportedEcn::Ce => Ecn::Ce,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATES: Rates =
        Rates { min: Bitrate::from_kbps(100), start: Bitrate::from_kbps(500), max: Bitrate::from_mbps(10) };

    #[expect(clippy::disallowed_methods, reason = "the trait has instants as arguments; none is measured")]
    fn origin() -> Instant {
        Instant::now()
    }

    /// A second of packets at 1 Mbit/s over 40 ms, reported each 50 ms, every `lost`-th lost; what it estimates then.
    fn second(estimator: &mut Estimator, origin: Instant, from: u64, lost: u64) -> f64 {
        for batch in 0..20_u64 {
            let reports: Vec<_> = (0..5)
                .map(|index| {
                    let id = from * 100 + batch * 5 + index;
                    let sent = Duration::from_millis(from * 1000 + batch * 50 + index * 10);
                    let arrived = id % lost != lost - 1;
                    Report {
                        ssrc: 1,
                        id,
                        rtp_sequence_number: id as u16,
                        is_twcc: true,
                        twcc_sequence_number: id as u16,
                        size: 1200,
                        arrived,
                        departure: origin + sent,
                        arrival: arrived.then(|| sent + Duration::from_millis(3020)),
                        ecn: ReportedEcn::NotEct,
                    }
                })
                .collect();
            let now = origin + Duration::from_millis(from * 1000 + batch * 50 + 90);
            while let Some(due) = estimator.poll_timeout().filter(|due| *due <= now) {
                estimator.handle_timeout(due);
                assert!(estimator.poll_timeout().is_none_or(|next| next > due), "the deadline must advance");
            }
            estimator.on_reports(now, &reports);
        }
        estimator.target_bitrate()
    }

    /// Each controller of the registry either estimates, or is refused by its name.
    #[test]
    fn every_controller_fits_or_is_refused() {
        let mut refused = Vec::new();
        for info in Registry::builtin().controllers() {
            let origin = origin();
            let mut estimator = match Estimator::new(origin, &info.name.parse().unwrap(), RATES) {
                Ok(estimator) => estimator,
                Err(error @ EstimatorError::Refused { .. }) => {
                    assert!(error.to_string().contains(info.name), "{error}");
                    refused.push(info.name);
                    continue;
                }
                Err(error) => panic!("{}: {error}", info.name),
            };
            let start = estimator.target_bitrate();
            let calm: Vec<_> = (0..10).map(|at| second(&mut estimator, origin, at, 1_000_000)).collect();
            let lossy: Vec<_> = (10..20).map(|at| second(&mut estimator, origin, at, 4)).collect();
            assert_eq!(estimator.estimate().rate().as_bps_f64(), estimator.target_bitrate());
            assert!(estimator.estimate().arrived() > 1500);
            if info.name != "fixed" {
                assert!(calm.iter().any(|rate| *rate != start), "{}: {start}, {calm:?}", info.name);
                // Loss that stays whatever is sent is the channel's to `seaway`, and does not lower its rate.
                let most = calm.iter().chain(&lossy).copied().fold(0.0, f64::max);
                assert!(lossy[9] < most || info.name == "seaway", "{}: {calm:?}, {lossy:?}", info.name);
            }
        }
        assert_eq!(refused, ["multfrc", "buffer-type1", "buffer-type2", "window", "scream"]);
    }

    #[test]
    fn says_why_not() {
        let refuse =
            |spec: &str| Estimator::new(origin(), &spec.parse().unwrap(), RATES).unwrap_err().to_string();
        assert!(refuse("tfrc(count=4)").contains("several connections"));
        assert!(
            refuse("scream(version=1)").contains("`scream(version=1)`"),
            "{}",
            refuse("scream(version=1)")
        );
        assert!(refuse("gccc").contains("gcc"));
    }
}
