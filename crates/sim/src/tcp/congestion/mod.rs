//! How far the congestion window moves. Recovery decides when.

mod bbr;
mod cubic;
mod dctcp;
mod prague;
mod reno;

use bbr::Bbr;
use cubic::Cubic;
use dctcp::Dctcp;
use prague::Prague;
use reno::Reno;
use seaway_units::{DataSize, TimeDelta, Timestamp};

/// The rules by which the congestion window moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Congestion {
    /// RFC 5681.
    #[default]
    Reno,
    /// Reno that answers marks with a factor of 0.8 instead of a half (RFC 8511).
    RenoAbe,
    /// RFC 9438.
    Cubic,
    /// RFC 8257: answers marks in proportion to how many there are.
    Dctcp,
    /// The same with a bounded dependence on the round trip, for queues of L4S (RFC 9331).
    Prague,
    /// BBR, version 1: by a model of bandwidth and round trip, whatever is lost. The model needs the samples of
    /// [`LossRecovery::Rack`](super::LossRecovery::Rack), which is taken whatever is asked for.
    Bbr,
}

impl Congestion {
    /// Whether marks are answered in proportion to how many there are: data is ECT(1), and each mark is echoed.
    pub const fn is_scalable(self) -> bool {
        matches!(self, Self::Dctcp | Self::Prague)
    }

    /// Whether data leaves at the rate of the window, not in bursts (RFC 9331 section 4.3, item 6; BBR's draft section 4.2.1).
    pub(super) const fn is_paced(self) -> bool {
        matches!(self, Self::Prague | Self::Bbr)
    }
}

/// An acknowledgement of new data outside recovery.
#[derive(Debug, Clone, Copy)]
pub(super) struct Acked {
    pub(super) now: Timestamp,
    /// Segments newly acknowledged.
    pub(super) segments: u64,
    pub(super) srtt: TimeDelta,
}

/// What any acknowledgement says of marks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Echo {
    pub(super) now: Timestamp,
    /// Up to which segment it acknowledges.
    pub(super) next: u64,
    /// How many it covers.
    pub(super) segments: u64,
    pub(super) is_marked: bool,
    /// One above the highest segment sent.
    pub(super) sent: u64,
    pub(super) srtt: TimeDelta,
}

/// What an acknowledgement says of all that was delivered.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Delivery {
    pub(super) now: Timestamp,
    /// Segments delivered so far, in order or not, and by this acknowledgement.
    pub(super) delivered: u64,
    pub(super) newly: u64,
    /// Segments found to be lost by it.
    pub(super) losses: u64,
    /// Segments on their way, as far as can be known, now and before it.
    pub(super) in_flight: u64,
    pub(super) was_in_flight: u64,
    /// Losses are being repaired.
    pub(super) is_recovering: bool,
    pub(super) sample: Option<RateSample>,
    /// The least of those that were sent once.
    pub(super) round_trip: Option<TimeDelta>,
}

/// The delivery rate over the flight of a segment.
#[derive(Debug, Clone, Copy)]
pub(super) struct RateSample {
    /// Segments a second.
    pub(super) rate: f64,
    /// How much had been delivered when it left.
    pub(super) delivered_before: u64,
    /// The application had nothing more to send: the path may do better.
    pub(super) is_limited: bool,
}

/// How segments are spread over time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pacing {
    /// The time that each takes.
    pub(super) gap: TimeDelta,
    /// How many leave together, to wait for all their gaps then.
    pub(super) at_once: u32,
}

/// Why a window is reduced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    Loss,
    Mark,
    Timeout,
}

/// The rules for the window beyond slow start. All windows are in segments.
pub(super) trait WindowAdjustment {
    /// The window after an acknowledgement in congestion avoidance.
    fn grow(&mut self, cwnd: f64, acked: Acked) -> f64;

    /// The slow start threshold after congestion, with `flight` segments on their way.
    fn reduce(&mut self, cwnd: f64, flight: f64, cause: Cause) -> f64;

    /// Called for every acknowledgement.
    fn on_echo(&mut self, _echo: Echo) {}

    /// Called for every acknowledgement. The window, where it follows a model, which then moves it alone.
    fn on_delivery(&mut self, _delivery: &Delivery, _cwnd: f64) -> Option<f64> {
        None
    }

    /// The spread of departures, where it follows a model.
    fn pacing(&self) -> Option<Pacing> {
        None
    }
}

/// The built-in rules, without an indirect call.
#[derive(Debug, Clone)]
pub(super) enum Adjustment {
    Reno(Reno),
    Cubic(Cubic),
    Dctcp(Dctcp),
    Prague(Prague),
    Bbr(Box<Bbr>),
}

impl Adjustment {
    /// For segments of this payload.
    pub(super) fn new(rules: Congestion, payload: DataSize) -> Self {
        match rules {
            Congestion::Reno => Self::Reno(Reno::new(reno::HALF)),
            Congestion::RenoAbe => Self::Reno(Reno::new(reno::ABE)),
            Congestion::Cubic => Self::Cubic(Cubic::default()),
            Congestion::Dctcp => Self::Dctcp(Dctcp::default()),
            Congestion::Prague => Self::Prague(Prague::default()),
            Congestion::Bbr => Self::Bbr(Box::new(Bbr::new(payload))),
        }
    }
}

macro_rules! each {
    ($self:ident, $rules:ident => $call:expr) => {
        match $self {
            Adjustment::Reno($rules) => $call,
            Adjustment::Cubic($rules) => $call,
            Adjustment::Dctcp($rules) => $call,
            Adjustment::Prague($rules) => $call,
            Adjustment::Bbr($rules) => $call,
        }
    };
}

impl WindowAdjustment for Adjustment {
    fn grow(&mut self, cwnd: f64, acked: Acked) -> f64 {
        each!(self, rules => rules.grow(cwnd, acked))
    }

    fn reduce(&mut self, cwnd: f64, flight: f64, cause: Cause) -> f64 {
        each!(self, rules => rules.reduce(cwnd, flight, cause))
    }

    fn on_echo(&mut self, echo: Echo) {
        each!(self, rules => rules.on_echo(echo));
    }

    fn on_delivery(&mut self, delivery: &Delivery, cwnd: f64) -> Option<f64> {
        each!(self, rules => rules.on_delivery(delivery, cwnd))
    }

    fn pacing(&self) -> Option<Pacing> {
        each!(self, rules => rules.pacing())
    }
}
