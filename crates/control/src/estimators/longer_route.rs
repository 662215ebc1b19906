//! A route that became longer at once.

use seaway_units::{TimeDelta, Timestamp, Transit};

/// Notices that packets take longer by a step, and stay so: the route is another, and a base delay of before holds no more.
///
/// A queue cannot do so by itself. It grows by what arrives above its rate, a little from packet to packet; a burst of other traffic makes
/// a step, and drains. So a step counts once no packet has come below half of it for ten seconds.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LongerRoute {
    last: Option<Transit>,
    step: Option<Step>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Step {
    since: Timestamp,
    /// The base delay before it.
    base: Transit,
    by: TimeDelta,
    /// Of the packets since.
    least: Transit,
}

impl LongerRoute {
    /// From one packet to the next.
    const STEP: TimeDelta = TimeDelta::from_millis(20);
    const PERIOD: TimeDelta = TimeDelta::from_secs(10);

    /// Nothing known.
    pub const fn new() -> Self {
        Self { last: None, step: None }
    }

    /// A packet came; `base` is the base delay with it. The base delay of the new route, once.
    pub fn confirmed(&mut self, now: Timestamp, transit: Transit, base: Transit) -> Option<Transit> {
        let last = self.last.replace(transit).unwrap_or(transit);
        let Some(step) = &mut self.step else {
            let by = transit - last;
            self.step = (by >= Self::STEP).then_some(Step { since: now, base, by, least: transit });
            return None;
        };
        step.least = step.least.min(transit);
        if step.least - step.base < step.by / 2 {
            self.step = None;
            return None;
        }
        if now.since(step.since) < Self::PERIOD {
            return None;
        }
        let base = step.least.min(step.base + step.by);
        self.step = None;
        Some(base)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seaway_units::RemoteTimestamp;

    /// What is noticed of packets every 10 ms from 1 s on, which take so many ms.
    fn noticed(delays: impl IntoIterator<Item = i64>) -> Vec<(usize, i64)> {
        let start = Timestamp::ZERO + TimeDelta::from_secs(1);
        let transit = |delay| {
            RemoteTimestamp::from_nanos((start + TimeDelta::from_millis(delay)).as_nanos())
                .transit_from(start)
        };
        let (mut route, mut base) = (LongerRoute::new(), None::<Transit>);
        let mut found = Vec::new();
        for (index, delay) in delays.into_iter().enumerate() {
            let now = start + TimeDelta::from_millis(10 * index as i64);
            let least = base.map_or(transit(delay), |base| base.min(transit(delay)));
            base = Some(least);
            if let Some(new) = route.confirmed(now, transit(delay), least) {
                base = Some(new);
                found.push((index, ((new - transit(0)).as_millis_f64()).round() as i64));
            }
        }
        found
    }

    #[test]
    fn a_step_that_stays_is_a_route() {
        let steps = |at: usize| if at < 500 { 30 } else { 80 };
        assert_eq!(noticed((0..2000).map(steps)), [(1500, 80)]);
        // Above a queue of 45 ms, which drains after it.
        let above = |at: i64| if at < 500 { (30 + at).min(75) } else { (625 - at).clamp(80, 125) };
        assert_eq!(noticed((0..2000).map(above)), [(1500, 80)]);
        // Jitter of up to 20 ms.
        let jitter = |at: usize| steps(at) + (at * 7 % 20) as i64;
        assert_eq!(noticed((0..2000).map(jitter)).len(), 1);
    }

    #[test]
    fn a_queue_is_none() {
        let burst = |at: i64| if at < 500 { 30 } else { (80 - (at - 500) / 10).max(30) };
        assert_eq!(noticed((0..3000).map(burst)), []);
        let rising = |at: i64| 30 + (at / 5).min(200);
        assert_eq!(noticed((0..3000).map(rising)), []);
        let spikes = |at: i64| if at % 100 == 0 { 200 } else { 30 };
        assert_eq!(noticed((0..3000).map(spikes)), []);
    }
}
