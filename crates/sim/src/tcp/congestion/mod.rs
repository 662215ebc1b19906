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
use seaway_units::{TimeDelta, Timestamp};

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
    /// BBR, version 1: by a model of bandwidth and round trip, whatever is lost.
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
#[derive(Debug, Clone, Copy)]
pub(super) struct Delivery {
    pub(super) now: Timestamp,
    /// Segments delivered so far, in order or not.
    pub(super) delivered: u64,
    /// One above the highest of them.
    pub(super) highest: u64,
    /// Segments on their way, as far as can be known.
    pub(super) in_flight: u64,
    /// The present window.
    pub(super) cwnd: f64,
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
    fn on_delivery(&mut self, _delivery: Delivery) -> Option<f64> {
        None
    }

    /// A new segment leaves; `is_idle`: nothing else is on its way.
    fn on_departure(&mut self, _now: Timestamp, _number: u64, _is_idle: bool) {}

    /// The time between two departures, where it follows a model.
    fn departure_gap(&self) -> Option<TimeDelta> {
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
    pub(super) fn new(rules: Congestion) -> Self {
        match rules {
            Congestion::Reno => Self::Reno(Reno::new(reno::HALF)),
            Congestion::RenoAbe => Self::Reno(Reno::new(reno::ABE)),
            Congestion::Cubic => Self::Cubic(Cubic::default()),
            Congestion::Dctcp => Self::Dctcp(Dctcp::default()),
            Congestion::Prague => Self::Prague(Prague::default()),
            Congestion::Bbr => Self::Bbr(Box::default()),
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

    fn on_delivery(&mut self, delivery: Delivery) -> Option<f64> {
        each!(self, rules => rules.on_delivery(delivery))
    }

    fn on_departure(&mut self, now: Timestamp, number: u64, is_idle: bool) {
        each!(self, rules => rules.on_departure(now, number, is_idle));
    }

    fn departure_gap(&self) -> Option<TimeDelta> {
        each!(self, rules => rules.departure_gap())
    }
}
