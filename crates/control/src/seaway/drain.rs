//! After a sudden loss of capacity a standing queue remains: little is sent until it is drained. This happens
//! once in several seconds at most, and briefly: a TCP flow that joins causes the same signs, and a sender that is silent cannot detect it.

/// Decides when little is sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Drain {
    /// The queue of a fall is gone then, s.
    until: f64,
    /// When the present or latest fall began.
    began: f64,
    /// The newest packet waited far longer than predicted: the next report shows whether it was a fall.
    doubtful_until: f64,
    /// When the present or latest doubt began.
    doubted: f64,
}

impl Drain {
    /// What happens within so long is one fall, s.
    const FALL: f64 = 0.5;
    /// A fall is known so long after the first packet that shows it, s.
    const DOUBT: f64 = 0.08;
    /// From a fall or a doubt to the next, s.
    const BETWEEN: f64 = 8.0;
    /// The longest that a queue is drained, s.
    const LONGEST: f64 = 0.75;
    /// A report may be late by so much, s.
    const SLACK: f64 = 0.010;

    pub(super) const fn new() -> Self {
        Self {
            until: f64::NEG_INFINITY,
            began: f64::NEG_INFINITY,
            doubtful_until: f64::NEG_INFINITY,
            doubted: f64::NEG_INFINITY,
        }
    }

    /// The queue of a fall is drained: its steps of delay are no jitter.
    pub(super) fn is_after_fall(&self, t: f64) -> bool {
        t < self.until
    }

    /// Little may be sent.
    pub(super) fn is_on(&self, t: f64) -> bool {
        t < self.until.max(self.doubtful_until)
    }

    fn is_free(t: f64, began: f64, length: f64) -> bool {
        let passed = t - began;
        passed < length || passed > Self::BETWEEN
    }

    /// The capacity fell, and `beyond` stands above the target queue, s. Whether it is drained.
    pub(super) fn on_fall(&mut self, t: f64, beyond: f64) -> bool {
        if !Self::is_free(t, self.began, Self::FALL) {
            return false;
        }
        if t - self.began >= Self::FALL {
            self.began = t;
        }
        self.follow(t, beyond);
        true
    }

    /// After a fall `beyond` still stands above the target queue, s; below zero where nothing does.
    pub(super) fn follow(&mut self, t: f64, beyond: f64) {
        self.until = (t + beyond).min(self.began + Self::LONGEST);
    }

    /// Whether the newest packet of a report waited far longer than predicted; the next report comes in `interval`, s.
    pub(super) fn on_report(&mut self, t: f64, is_late: bool, interval: f64) {
        let is_doubt = is_late
            && Self::is_free(t, self.began, Self::FALL)
            && Self::is_free(t, self.doubted, Self::DOUBT);
        if is_doubt && t - self.doubted >= Self::DOUBT {
            self.doubted = t;
        }
        self.doubtful_until = if is_doubt { t + interval + Self::SLACK } else { f64::NEG_INFINITY };
    }
}

#[cfg(test)]
mod tests {
    use super::Drain;

    #[test]
    fn a_fall_is_drained_once_and_not_for_long() {
        let mut drain = Drain::new();
        assert!(drain.on_fall(10.0, 0.2));
        assert!(drain.is_on(10.19) && !drain.is_on(10.21));
        // It fell further.
        assert!(drain.on_fall(10.1, 2.0));
        assert!(drain.is_after_fall(10.74) && !drain.is_after_fall(10.76));
        // A queue that stands all the same is another's.
        assert!(!drain.on_fall(11.0, 0.2) && !drain.is_on(11.01));
        assert!(drain.on_fall(18.1, 0.2) && drain.is_on(18.2));
    }

    #[test]
    fn the_next_report_ends_a_doubt() {
        let mut drain = Drain::new();
        drain.on_report(1.0, true, 0.025);
        assert!(drain.is_on(1.034) && !drain.is_on(1.036) && !drain.is_after_fall(1.01));
        drain.on_report(1.025, false, 0.025);
        assert!(!drain.is_on(1.026));
        // Delay that jitters brings no second one.
        drain.on_report(1.5, true, 0.025);
        assert!(!drain.is_on(1.51));
    }
}
