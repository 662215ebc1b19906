//! The sending half of a controller.

use crate::allowance::{Allowance, Probe, Target};
use crate::decision::{Decision, Gauge};
use crate::feedback::Feedback;
use crate::packet::{Lane, Marking, SentPacket};
use crate::signal::LocalSignal;
use seaway_units::Timestamp;
use std::fmt;

/// Decides how much the network may be given. Inputs first, then time, then answers.
///
/// A controller counts its own flight: ask [`allowance`](Self::allowance) again after each
/// [`on_sent`](Self::on_sent). Odd feedback is counted and otherwise ignored; nothing here fails or panics.
/// Driven by the [contract](crate#the-driving-contract).
pub trait RateController: fmt::Debug + Send + Sync {
    /// What to write on the packet that leaves next.
    fn marking(&mut self, _now: Timestamp, _next: &SentPacket) -> Marking {
        Marking::default()
    }
    /// A packet left.
    fn on_sent(&mut self, now: Timestamp, packet: &SentPacket);
    /// A feedback message came, matched with what was sent.
    fn on_feedback(&mut self, now: Timestamp, feedback: &Feedback<'_>);
    /// Something changed on our own side.
    fn on_signal(&mut self, _now: Timestamp, _signal: LocalSignal) {}
    /// The instant named by [`poll_timeout`](Self::poll_timeout) has come.
    fn handle_timeout(&mut self, now: Timestamp);
    /// When it wants to be woken.
    fn poll_timeout(&self) -> Option<Timestamp>;
    /// The next probe to send; padding fills it where media does not. Ask until `None`.
    fn poll_probe(&mut self, _now: Timestamp) -> Option<Probe> {
        None
    }
    /// The next change that was not yet read, from a bounded log: unread ones are counted and dropped.
    fn poll_decision(&mut self) -> Option<Decision>;
    /// How many connections the flow has now, at least one.
    fn lanes(&self) -> u8 {
        1
    }
    /// What `lane` may send.
    fn allowance(&self, lane: Lane) -> Allowance;
    /// What media and its repair may use together.
    fn target(&self) -> Target;
    /// The present phase in a word or two: `"slow start"`.
    fn phase(&self) -> &'static str;
    /// Shows the inside: every gauge once.
    fn inspect(&self, visit: &mut dyn FnMut(Gauge));
}
