//! The sending half of a controller.

use crate::allowance::{Allowance, Probe, Target};
use crate::decision::{Decision, DecisionLog, Gauge};
use crate::feedback::Feedback;
use crate::packet::{Marking, SentPacket, Subflow};
use crate::signal::LocalSignal;
use seaway_units::{Bitrate, Timestamp};
use std::fmt;

/// Decides how much may be sent. Only [`on_feedback`](Self::on_feedback) and [`target`](Self::target) have no default.
///
/// A controller counts its own flight: read [`allowance`](Self::allowance) again after each
/// [`on_sent`](Self::on_sent). Odd feedback is counted and otherwise ignored; nothing here fails or panics.
/// Driven by the [contract](crate#the-driving-contract).
pub trait RateController: fmt::Debug + Send + Sync {
    /// What to write on the packet that leaves next.
    fn marking(&mut self, _now: Timestamp, _next: &SentPacket) -> Marking {
        Marking::default()
    }
    /// A packet left.
    fn on_sent(&mut self, _now: Timestamp, _packet: &SentPacket) {}
    /// A feedback message came, matched with what was sent.
    fn on_feedback(&mut self, now: Timestamp, feedback: &Feedback<'_>);
    /// Something changed on our own side.
    fn on_signal(&mut self, _now: Timestamp, _signal: LocalSignal) {}
    /// The instant named by [`poll_timeout`](Self::poll_timeout) has come.
    fn handle_timeout(&mut self, _now: Timestamp) {}
    /// When its next timer is due.
    fn poll_timeout(&self) -> Option<Timestamp> {
        None
    }
    /// The next probe to send; padding fills it where media does not. Call it until it returns `None`.
    fn poll_probe(&mut self, _now: Timestamp) -> Option<Probe> {
        None
    }
    /// Where it logs why its rate changed, if it does.
    fn decision_log(&mut self) -> Option<&mut DecisionLog> {
        None
    }
    /// The next change that was not yet read, from a bounded log: unread ones are counted and dropped.
    fn poll_decision(&mut self) -> Option<Decision> {
        self.decision_log()?.pop()
    }
    /// How many connections the flow has now, at least one.
    fn subflows(&self) -> u8 {
        1
    }
    /// The least part of its target that a source may use all the time. With less the controller takes it for application-limited, and the
    /// target may fall.
    fn least_used(&self) -> f64 {
        0.75
    }
    /// True while flows of others keep the queue: it does not drain where our encoders slow down.
    fn is_competing(&self) -> bool {
        false
    }
    /// What `subflow` may send: the target, where nothing else is said.
    fn allowance(&self, _subflow: Subflow) -> Allowance {
        Allowance::paced(self.target().rate)
    }
    /// What media and its repair may use together.
    fn target(&self) -> Target;
    /// A lane of a bonded session is up, or no longer: what `subflow` may send counts in the [target](Self::target) while its lane
    /// is up.
    fn on_lane(&mut self, _now: Timestamp, _subflow: Subflow, _is_up: bool) {}

    /// The part of the target that `subflow` has: an equal one by default.
    fn target_of(&self, _subflow: Subflow) -> Bitrate {
        self.target().rate / u64::from(self.subflows().max(1))
    }

    /// The present phase in a word or two: `"slow start"`.
    fn phase(&self) -> &'static str {
        "running"
    }
    /// Visits every internal value once.
    fn inspect(&self, visit: &mut dyn FnMut(Gauge)) {
        visit(Gauge::new("rate", self.target().rate.as_bps_f64(), "bit/s"));
    }
}
