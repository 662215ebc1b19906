//! A route that became longer at once, and short again.

use seaway_units::{TimeDelta, Timestamp, Transit};

/// Notices that packets take longer by a step, and stay so: the route is another, and a base delay of before holds no more. And that such a
/// route is the former one again, whatever queue stands on it then.
///
/// A queue cannot do so by itself. It grows by what arrives above its rate, a little from packet to packet; a burst of other traffic makes
/// a step, and drains down to the queue that stood before. So a step counts where it is longer than that queue, and once no packet has
/// come below it for ten seconds. A step that is no longer than the queue before it costs nothing: the queue is shorter by it then.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LongerRoute {
    /// The queue that the controller lets stand.
    stands: TimeDelta,
    last: Option<Transit>,
    /// Newest first; the first is not complete.
    runs: [Run; 3],
    step: Option<Step>,
    former: Option<Former>,
}

/// What transits differ by where nothing changed and there is no jitter.
const NOISE: TimeDelta = TimeDelta::from_millis(2);

/// Some packets in a row.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Run {
    packets: u32,
    least: Option<Transit>,
    /// From one packet to the next, the most and the least.
    rise: TimeDelta,
    fall: TimeDelta,
}

/// From one run to the next but one.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Change {
    before: Transit,
    after: Transit,
    rise: TimeDelta,
    fall: TimeDelta,
    /// The most from one packet to the next before.
    jitter: TimeDelta,
}

/// A longer way that may be a route.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Step {
    since: Timestamp,
    /// The base delay before it.
    base: Transit,
    by: TimeDelta,
    /// No packet of the route comes below.
    floor: Transit,
    /// Of the packets since.
    least: Transit,
}

/// The base delay before a route became longer.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Former {
    since: Timestamp,
    base: Transit,
    longer: Transit,
}

impl Run {
    const PACKETS: u32 = 8;
    const NONE: Self = Self { packets: 0, least: None, rise: TimeDelta::ZERO, fall: TimeDelta::ZERO };

    fn take(&mut self, last: Transit, transit: Transit) {
        self.least = Some(self.least.map_or(transit, |least| least.min(transit)));
        let rise = transit - last;
        self.rise = self.rise.max(rise);
        self.fall = self.fall.min(rise);
        self.packets += 1;
    }

    fn deepest_fall(&self) -> TimeDelta {
        TimeDelta::ZERO - self.fall
    }
}

impl LongerRoute {
    const PERIOD: TimeDelta = TimeDelta::from_secs(10);
    /// So long a former base delay is known.
    const KNOWN: TimeDelta = TimeDelta::from_secs(600);

    /// Nothing known. The controller lets a queue of `stands` stand, so a step has to be longer.
    pub const fn new(stands: TimeDelta) -> Self {
        Self { stands, last: None, runs: [Run::NONE; 3], step: None, former: None }
    }

    /// The path changed.
    pub const fn reset(&mut self) {
        *self = Self::new(self.stands);
    }

    /// A packet came in its order; `base` is the base delay with it. Another base delay, once.
    pub fn confirmed(&mut self, now: Timestamp, transit: Transit, base: Transit) -> Option<Transit> {
        if let Some(step) = &mut self.step {
            step.least = step.least.min(transit);
            if step.least < step.floor {
                self.step = None;
            }
        }
        self.runs[0].take(self.last.replace(transit).unwrap_or(transit), transit);
        if self.runs[0].packets < Run::PACKETS {
            return None;
        }
        let found = self.short_again(now).or_else(|| self.longer(now, base));
        self.runs.rotate_right(1);
        self.runs[0] = Run::NONE;
        found
    }

    /// What changed from the last run but one to the newest.
    fn change(&self) -> Option<Change> {
        let [after, during, before] = self.runs;
        Some(Change {
            before: before.least?,
            after: after.least?,
            rise: after.rise.max(during.rise),
            fall: after.deepest_fall().max(during.deepest_fall()),
            jitter: before.rise.max(before.deepest_fall()),
        })
    }

    fn longer(&mut self, now: Timestamp, base: Transit) -> Option<Transit> {
        let Some(step) = self.step else {
            self.step = self.change().and_then(|change| change.step(now, base, self.stands));
            return None;
        };
        if now.since(step.since) < Self::PERIOD {
            return None;
        }
        self.step = None;
        let longer = step.least.min(step.base + step.by);
        self.former = Some(Former { since: now, base: step.base, longer });
        Some(longer)
    }

    /// A fall brought packets below the longer route: what they take above the former base delay is a queue.
    fn short_again(&mut self, now: Timestamp) -> Option<Transit> {
        let former = self.former?;
        if now.since(former.since) >= Self::KNOWN {
            self.former = None;
            return None;
        }
        let change = self.change()?;
        let by = former.longer - former.base;
        let least = by - by / 4;
        let fell = change.fall >= least && change.before - change.after >= least;
        if !fell || former.longer - change.after < NOISE {
            return None;
        }
        (self.former, self.step) = (None, None);
        Some(former.base.min(change.after))
    }
}

impl Change {
    /// A step that only a longer route can hold.
    fn step(&self, now: Timestamp, base: Transit, stands: TimeDelta) -> Option<Step> {
        let level = self.after - self.before;
        // A flow that lowers its rate already empties its queue; jitter makes the rise longer.
        let by = level.max(self.rise - self.jitter);
        let sure = by - NOISE - self.jitter / 4;
        // What rises by more than from one packet to the next goes on rising: it is a queue.
        let is_step = level >= by / 2 && level <= self.rise + NOISE + self.jitter;
        let is_longer = sure > stands.max(self.before - base);
        (is_step && is_longer).then_some(Step { since: now, base, by, floor: base + sure, least: self.after })
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
        let (mut route, mut base) = (LongerRoute::new(TimeDelta::from_millis(10)), None::<Transit>);
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
        assert_eq!(noticed((0..2000).map(steps)), [(1511, 80)]);
        let short = |by: i64| move |at: usize| if at < 500 { 30 } else { 30 + by };
        assert_eq!(noticed((0..2000).map(short(12))), []);
        assert_eq!(noticed((0..2000).map(short(13))), [(1511, 43)]);
        // Above a queue of 45 ms, which drains after it.
        let above = |at: i64| if at < 500 { (30 + at).min(75) } else { (625 - at).clamp(80, 125) };
        assert_eq!(noticed((0..2000).map(above)), [(1511, 80)]);
        // Jitter of up to 20 ms.
        let jitter = |at: usize| steps(at) + (at * 7 % 20) as i64;
        assert_eq!(noticed((0..2000).map(jitter)).len(), 1);
    }

    /// The flow's own queue of 45 ms stands on the short route as on the long one.
    #[test]
    fn a_route_is_short_again_under_a_queue() {
        let route = |at: i64| if (500..2000).contains(&at) { 125 } else { (30 + at).min(75) };
        assert_eq!(noticed((0..4000).map(route)), [(1511, 80), (2007, 30)]);
        // Where the queue drains, and no fall comes, the route is a shorter one.
        let drains = |at: i64| if at < 500 { 30 } else { (2080 - at).clamp(70, 80) };
        assert_eq!(noticed((0..4000).map(drains)), [(1511, 80)]);
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

    /// A burst of other traffic drains down to the queue that stood before.
    #[test]
    fn a_burst_above_a_queue_is_none() {
        for (queue, by) in [(10, 13), (10, 25), (21, 25), (45, 25), (300, 25)] {
            let burst =
                |at: i64| 30 + if at < 500 { at.min(queue) } else { (queue + by + 500 - at).max(queue) };
            assert_eq!(noticed((0..4000).map(burst)), [], "{queue} ms");
        }
    }

    /// A link that became narrow delays each packet by a step more than the one before.
    #[test]
    fn a_link_that_became_narrow_is_none() {
        let narrow = |at: i64| 30 + if at < 500 { 0 } else { (24 * (at - 499)).min(500) };
        assert_eq!(noticed((0..4000).map(narrow)), []);
    }
}
