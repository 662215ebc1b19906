//! How far the congestion window moves. Recovery decides when.

mod cubic;
mod dctcp;
mod reno;

use cubic::Cubic;
use dctcp::Dctcp;
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
}

/// An acknowledgement of new data outside recovery.
#[derive(Debug, Clone, Copy)]
pub(super) struct Acked {
    pub(super) now: Timestamp,
    /// Segments newly acknowledged.
    pub(super) segments: u64,
    pub(super) srtt: TimeDelta,
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

    /// Hears of every acknowledgement: up to which segment, how many it covers, and whether it echoes a mark.
    /// `sent` is one above the highest segment sent.
    fn on_echo(&mut self, _next: u64, _segments: u64, _is_marked: bool, _sent: u64) {}
}

/// The built-in rules, without an indirect call.
#[derive(Debug, Clone)]
pub(super) enum Adjustment {
    Reno(Reno),
    Cubic(Cubic),
    Dctcp(Dctcp),
}

impl Adjustment {
    pub(super) fn new(rules: Congestion) -> Self {
        match rules {
            Congestion::Reno => Self::Reno(Reno::new(reno::HALF)),
            Congestion::RenoAbe => Self::Reno(Reno::new(reno::ABE)),
            Congestion::Cubic => Self::Cubic(Cubic::default()),
            Congestion::Dctcp => Self::Dctcp(Dctcp::default()),
        }
    }
}

macro_rules! each {
    ($self:ident, $rules:ident => $call:expr) => {
        match $self {
            Adjustment::Reno($rules) => $call,
            Adjustment::Cubic($rules) => $call,
            Adjustment::Dctcp($rules) => $call,
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

    fn on_echo(&mut self, next: u64, segments: u64, is_marked: bool, sent: u64) {
        each!(self, rules => rules.on_echo(next, segments, is_marked, sent));
    }
}
