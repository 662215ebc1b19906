//! Tests that every controller must pass, whatever its algorithm: call [`run`] for each entry of the registry.
//!
//! * [`operations`]: random operations, honest and hostile, on a model; invariants after each step; every
//!   failure shrinks to the shortest list of operations that shows it.
//! * [`scenarios`]: closed loops through silence, idling, rare feedback, a rate of zero.

pub mod forgetting;
pub mod operations;
pub mod scenarios;

use seaway_control::ControllerPair;

/// What a controller may be excused from.
#[derive(Debug, Clone, Copy, Default)]
pub struct Excuses {
    /// It ignores feedback, and so sends on without any.
    pub deaf: bool,
}

/// Puts a controller through the whole battery. `make` gives fresh halves.
///
/// # Panics
/// Where the controller breaks the contract; the message shows the operations that led there.
pub fn run(name: &str, excuses: Excuses, make: impl Fn() -> ControllerPair) {
    operations::run(name, &make);
    scenarios::run(name, excuses, &make);
}

#[cfg(test)]
mod tests {
    use super::*;
    use seaway_control::{
        Allowance, Decision, Feedback, Fixed, Gauge, LocalSignal, PeriodicFeedback, RateController,
        SentPacket, Subflow, Target, pair,
    };
    use seaway_units::{Bitrate, Timestamp};

    /// Breaks the contract in one way.
    #[derive(Debug, Clone)]
    struct Broken {
        inner: Fixed,
        fault: Fault,
        timer: Option<Timestamp>,
    }

    #[derive(Debug, Clone, Copy, PartialEq)]
    enum Fault {
        IgnoresLimits,
        TimerStaysDue,
        ReadsNoNumber,
        ChangesUnasked,
        GoesOnForEver,
    }

    impl RateController for Broken {
        fn on_sent(&mut self, now: Timestamp, packet: &SentPacket) {
            self.timer = Some(now);
            self.inner.on_sent(now, packet);
        }
        fn on_feedback(&mut self, now: Timestamp, feedback: &Feedback<'_>) {
            self.inner.on_feedback(now, feedback);
        }
        fn on_signal(&mut self, now: Timestamp, signal: LocalSignal) {
            self.inner.on_signal(now, signal);
        }
        fn handle_timeout(&mut self, now: Timestamp) {
            if self.fault == Fault::ChangesUnasked {
                self.timer = Some(now);
            }
        }
        fn poll_timeout(&self) -> Option<Timestamp> {
            self.timer.filter(|_| self.fault == Fault::TimerStaysDue)
        }
        fn poll_decision(&mut self) -> Option<Decision> {
            self.inner.poll_decision()
        }
        fn allowance(&self, subflow: Subflow) -> Allowance {
            self.inner.allowance(subflow)
        }
        fn target(&self) -> Target {
            let target = self.inner.target();
            let rate = if self.fault == Fault::IgnoresLimits { Bitrate::from_mbps(5) } else { target.rate };
            Target { rate, ..target }
        }
        fn phase(&self) -> &'static str {
            "broken"
        }
        fn inspect(&self, visit: &mut dyn FnMut(Gauge)) {
            let nan = self.fault == Fault::ReadsNoNumber;
            visit(Gauge::new("value", if nan { f64::NAN } else { 0.0 }, ""));
        }
    }

    fn verdict(fault: Fault) -> String {
        let broken = || Broken { inner: Fixed::new(None), fault, timer: None };
        let make = || pair(broken(), PeriodicFeedback::default());
        let failed = std::panic::catch_unwind(|| run("broken", Excuses::default(), make)).unwrap_err();
        failed.downcast_ref::<String>().cloned().unwrap_or_default()
    }

    #[test]
    fn finds_every_fault() {
        for (fault, complaint) in [
            (Fault::IgnoresLimits, "outside"),
            (Fault::TimerStaysDue, "a timer stays due"),
            (Fault::ReadsNoNumber, "gauge"),
            (Fault::ChangesUnasked, "spurious timeout"),
            (Fault::GoesOnForEver, "after a minute of silence"),
        ] {
            let verdict = verdict(fault);
            assert!(verdict.contains(complaint), "{fault:?}: {verdict}");
        }
    }
}
