//! The timer that takes missing feedback for congestion.

use seaway_units::{TimeDelta, Timestamp};

/// Runs from a departure or a report to the instant from which no feedback means congestion. It waits for two of the
/// peer's feedback intervals at least.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct NoFeedbackTimer {
    feedback_interval: TimeDelta,
    due: Option<Timestamp>,
    /// A packet left since the timer was started.
    busy: bool,
}

impl NoFeedbackTimer {
    /// The peer sends feedback this often; a value above a minute counts as a minute.
    pub(crate) fn set_feedback_interval(&mut self, interval: TimeDelta) {
        self.feedback_interval = interval.clamp(TimeDelta::ZERO, TimeDelta::from_secs(60));
    }

    /// `wait`, or two feedback intervals where these are longer.
    pub(crate) fn at_least_two_reports(&self, wait: TimeDelta) -> TimeDelta {
        wait.max(self.feedback_interval * 2)
    }

    /// Runs out `wait` from now, or two feedback intervals where these are longer.
    pub(crate) fn start(&mut self, now: Timestamp, wait: TimeDelta) {
        self.due = Some(now + self.at_least_two_reports(wait));
        self.busy = false;
    }

    /// A packet left: starts the timer where it does not run.
    pub(crate) fn on_sent(&mut self, now: Timestamp, wait: impl FnOnce() -> TimeDelta) {
        if self.due.is_none() {
            self.start(now, wait());
        }
        self.busy = true;
    }

    /// Whether the timer ran out while feedback was owed. Where nothing was sent nothing is missing, and it stops.
    pub(crate) fn expired(&mut self, now: Timestamp) -> bool {
        let is_due = self.due.is_some_and(|due| due <= now);
        if is_due && !self.busy {
            self.due = None;
        }
        is_due && self.busy
    }

    /// Starts again after it ran out: feedback is still owed.
    pub(crate) fn restart(&mut self, now: Timestamp, wait: TimeDelta) {
        self.start(now, wait);
        self.busy = true;
    }

    pub(crate) const fn stop(&mut self) {
        self.due = None;
    }

    /// When it runs out, where it runs.
    pub(crate) const fn due(&self) -> Option<Timestamp> {
        self.due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idle_sender_is_not_punished() {
        let at = |ms| Timestamp::ZERO + TimeDelta::from_millis(ms);
        let wait = TimeDelta::from_millis(100);
        let mut timer = NoFeedbackTimer::default();
        timer.on_sent(at(0), || wait);
        timer.on_sent(at(50), || wait);
        assert_eq!(timer.due(), Some(at(100)), "packets do not postpone it");
        assert!(!timer.expired(at(99)) && timer.expired(at(100)));
        timer.restart(at(100), wait);
        assert!(timer.expired(at(200)), "what was sent before is still owed");
        timer.start(at(200), wait);
        assert!(!timer.expired(at(300)) && timer.due().is_none(), "a report came and nothing was sent since");
        timer.set_feedback_interval(TimeDelta::from_millis(400));
        timer.on_sent(at(1000), || wait);
        assert_eq!(timer.due(), Some(at(1800)), "two reports at least");
    }
}
