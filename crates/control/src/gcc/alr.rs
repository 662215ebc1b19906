//! Regions in which the application sends less than it may (libwebrtc).

use seaway_units::{DataSize, TimeDelta, Timestamp};

/// A budget that fills at part of the estimate and is drawn on by what is sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct ApplicationLimited {
    /// Octets, from minus to plus half a second of that part.
    budget: f64,
    last_at: Option<Timestamp>,
    since: Option<Timestamp>,
    ended_at: Option<Timestamp>,
}

impl ApplicationLimited {
    /// Of the estimate.
    const PART: f64 = 0.65;
    const SPAN: f64 = 0.5;
    const ENTER: f64 = 0.8;
    const LEAVE: f64 = 0.5;

    pub(super) const fn new() -> Self {
        Self { budget: 0.0, last_at: None, since: None, ended_at: None }
    }

    /// Media left. True where the region began or ended.
    pub(super) fn on_sent(&mut self, now: Timestamp, size: DataSize, estimate: f64) -> bool {
        let rate = Self::PART * estimate / 8.0;
        let most = (rate * Self::SPAN).max(1.0);
        let elapsed = self.last_at.map_or(0.0, |at| now.since(at).as_secs_f64());
        self.last_at = Some(now);
        self.budget = (self.budget.min(most) - size.as_bytes_f64()).max(-most);
        self.budget = (self.budget + rate * elapsed).clamp(-most, most);
        let level = self.budget / most;
        if self.since.is_none() && level > Self::ENTER {
            self.since = Some(now);
            return true;
        }
        if self.since.is_some() && level < Self::LEAVE {
            (self.since, self.ended_at) = (None, Some(now));
            return true;
        }
        false
    }

    /// Since when the application is the limit.
    pub(super) const fn since(&self) -> Option<Timestamp> {
        self.since
    }

    /// In such a region, or out of it for no longer than `span`.
    pub(super) fn lately(&self, now: Timestamp, span: TimeDelta) -> bool {
        self.since.is_some() || self.ended_at.is_some_and(|at| now.since(at) <= span)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn begins_below_and_ends_above_the_part() {
        let mut region = ApplicationLimited::new();
        let mut ms = 0;
        let mut send = |bytes: u64, times: i64| {
            for _ in 0..times {
                ms += 10;
                let now = Timestamp::ZERO + TimeDelta::from_millis(ms);
                region.on_sent(now, DataSize::from_bytes(bytes), 1e6);
            }
            region.since().is_some()
        };
        assert!(!send(1250, 100), "at the estimate");
        assert!(send(250, 200), "at a fifth of it");
        assert!(!send(1250, 100));
    }
}
