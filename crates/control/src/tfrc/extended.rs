//! TFRC with an extension: what MULTFRC, CTFRC and UTFRC share.

use super::{Config, Tfrc};
use crate::allowance::{Allowance, Target};
use crate::controller::RateController;
use crate::decision::{Decision, Gauge};
use crate::feedback::Feedback;
use crate::packet::{Marking, SentPacket, Subflow};
use crate::signal::LocalSignal;
use seaway_units::Timestamp;
use std::fmt;

/// Follows the feedback and changes the number or the weight of TFRC connections.
pub trait Extension: fmt::Debug + Clone + Send + Sync {
    /// The number that the next packet carries for the receiving half.
    fn tag(&mut self, _next: &SentPacket) -> Option<u16> {
        None
    }
    /// A message that the connections have taken already.
    fn on_feedback(&mut self, connections: &mut Tfrc, now: Timestamp, feedback: &Feedback<'_>);
    /// A signal; the connections take it afterwards.
    fn on_signal(&mut self, connections: &mut Tfrc, now: Timestamp, signal: LocalSignal);
    /// The extension's own gauges.
    fn inspect(&self, visit: &mut dyn FnMut(Gauge));
}

/// TFRC connections and what extends them.
#[derive(Debug, Clone)]
pub struct Extended<E> {
    connections: Tfrc,
    extension: E,
}

impl<E: Extension> Extended<E> {
    /// One connection at first, room for `most`.
    pub(crate) fn over(config: Config, most: u8, extension: E) -> Self {
        Self { connections: Tfrc::with_room(config, 1, most), extension }
    }
}

impl<E: Extension> RateController for Extended<E> {
    fn marking(&mut self, now: Timestamp, next: &SentPacket) -> Marking {
        Marking { tag: self.extension.tag(next), ..self.connections.marking(now, next) }
    }

    fn on_sent(&mut self, now: Timestamp, packet: &SentPacket) {
        self.connections.on_sent(now, packet);
    }

    fn on_feedback(&mut self, now: Timestamp, feedback: &Feedback<'_>) {
        self.connections.on_feedback(now, feedback);
        self.extension.on_feedback(&mut self.connections, now, feedback);
    }

    fn on_signal(&mut self, now: Timestamp, signal: LocalSignal) {
        self.extension.on_signal(&mut self.connections, now, signal);
        self.connections.on_signal(now, signal);
    }

    fn handle_timeout(&mut self, now: Timestamp) {
        self.connections.handle_timeout(now);
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        self.connections.poll_timeout()
    }

    fn poll_decision(&mut self) -> Option<Decision> {
        self.connections.poll_decision()
    }

    fn subflows(&self) -> u8 {
        self.connections.subflows()
    }

    fn allowance(&self, subflow: Subflow) -> Allowance {
        self.connections.allowance(subflow)
    }

    fn target(&self) -> Target {
        self.connections.target()
    }

    fn phase(&self) -> &'static str {
        self.connections.phase()
    }

    fn inspect(&self, visit: &mut dyn FnMut(Gauge)) {
        self.connections.inspect(visit);
        self.extension.inspect(visit);
    }
}
