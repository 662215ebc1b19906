//! Competition with loss-based flows: detects foreign packets between ours, and then uses a window like TCP's.

use super::delay::Pair;
use std::collections::VecDeque;

/// What the window and its tests look at, as of a report.
#[derive(Debug, Clone, Copy)]
pub(super) struct Observed {
    pub(super) t: f64,
    pub(super) queue: f64,
    pub(super) target_queue: f64,
    pub(super) smoothed_rtt: f64,
    pub(super) least_rtt: f64,
    /// Of the last 0.8 s.
    pub(super) longest_rtt: f64,
    pub(super) loop_delay: f64,
    pub(super) interval: f64,
    /// Packets that the report says arrived.
    pub(super) received: f64,
    pub(super) arrival_rate: f64,
    pub(super) jitter: f64,
}

/// Distinguishes a shared queue from our own: a foreign packet comes between our groups, and hardly ever inside a group that
/// left back to back. Arrival gaps inside groups and between them are compared (Mann–Whitney).
#[derive(Debug, Clone)]
pub(super) struct Interleaving {
    /// When, the gap, and whether it is inside a group.
    gaps: VecDeque<(f64, f32, bool)>,
    computed: f64,
    /// The probability that a gap inside a group is the shorter one.
    pub(super) auc: f64,
    deviation: f64,
    inside: usize,
    between: usize,
    /// The rate at which our groups are served, bit/s.
    pub(super) service_rate: f64,
}

impl Interleaving {
    /// A packet that waited less was not in a queue; less still where a queue drops early.
    const LEAST_WAIT: f64 = 0.012;
    const LEAST_WAIT_OF_AQM: f64 = 0.003;
    const SPAN: f64 = 4.0;
    const GAPS: usize = 240;
    const UPDATE: f64 = 0.2;
    const FEWEST: usize = 4;
    /// Of the service rate that packets must arrive at to have been served one by one.
    const LEAST_SHARE: f64 = 0.2;
    /// Gaps that differ by less are equal.
    const TIE: f64 = 0.05;

    const fn new() -> Self {
        Self {
            gaps: VecDeque::new(),
            computed: 0.0,
            auc: 0.5,
            deviation: 1.0,
            inside: 0,
            between: 0,
            service_rate: 0.0,
        }
    }

    pub(super) fn on_pair(&mut self, t: f64, pair: &Pair, loss: f64) {
        if pair.wait > if loss > 0.002 { Self::LEAST_WAIT_OF_AQM } else { Self::LEAST_WAIT } {
            self.gaps.push_back((t, pair.spacing as f32, pair.grouped && pair.is_back_to_back()));
            if self.gaps.len() > Self::GAPS {
                self.gaps.pop_front();
            }
        }
    }

    fn compute(&mut self, t: f64, packet: f64) {
        if t < self.computed + Self::UPDATE {
            return;
        }
        self.computed = t;
        while self.gaps.front().is_some_and(|(at, ..)| t - at > Self::SPAN) {
            self.gaps.pop_front();
        }
        let gaps =
            |inside: bool| self.gaps.iter().filter(move |gap| gap.2 == inside).map(|gap| f64::from(gap.1));
        (self.inside, self.between) = (gaps(true).count(), gaps(false).count());
        if self.inside < Self::FEWEST || self.between < Self::FEWEST {
            (self.auc, self.deviation) = (0.5, 1.0);
            return;
        }
        let wins: f64 =
            gaps(true).map(|inside| gaps(false).map(|other| shorter(inside, other)).sum::<f64>()).sum();
        let (a, b) = (self.inside as f64, self.between as f64);
        self.auc = wins / (a * b);
        self.deviation = ((a + b + 1.0) / (12.0 * a * b)).sqrt();
        let quartile = lower_quartile(gaps(true));
        self.service_rate = packet * 8.0 / quartile.max(packet * 8.0 / 1e9).max(1e-5);
    }

    fn finds_others(&self) -> bool {
        self.auc > 0.68 && self.auc - 0.5 > 3.5 * self.deviation
    }

    /// Whether gaps show who is served. Packets that come in one aggregate, as on Wi-Fi and from a cell, have none: they
    /// seem to be served many times faster than they arrive.
    fn is_conclusive(&self, arrival_rate: f64) -> bool {
        arrival_rate > Self::LEAST_SHARE * self.service_rate
    }

    fn finds_none(&self, arrival_rate: f64) -> bool {
        self.auc < 0.62 && self.inside >= 16 && self.between >= 16 && self.is_conclusive(arrival_rate)
    }
}

/// 1 if the gap inside a group is the shorter one, a half if they are equal.
fn shorter(inside: f64, other: f64) -> f64 {
    if (inside - other).abs() <= Interleaving::TIE * inside.max(other) {
        0.5
    } else {
        f64::from(inside < other)
    }
}

fn lower_quartile(gaps: impl Iterator<Item = f64>) -> f64 {
    let mut values = [f64::INFINITY; Interleaving::GAPS];
    let mut count = 0;
    for (slot, gap) in values.iter_mut().zip(gaps) {
        *slot = gap;
        count += 1;
    }
    *values[..count].select_nth_unstable_by(count / 4, f64::total_cmp).1
}

/// Watches for a queue that stands although we yield, and keeps a window while others are there.
#[derive(Debug, Clone)]
pub(super) struct Competing {
    pub(super) interleaving: Interleaving,
    /// Since when the queue is above the threshold.
    above_since: Option<f64>,
    /// The same, begun again where it fell to half of its highest, and its highest since.
    standing: Option<(f64, f64)>,
    /// The window, packets.
    window: f64,
    entered: f64,
    slow_start: bool,
    /// CUBIC's `W_max`, packets, and when its epoch began.
    plateau: f64,
    epoch: f64,
    last_cut: f64,
    leisure: Leisure,
    longest_queue: f64,
    drain: Drain,
    drain_due: f64,
    /// Drain tests in a row in which the queue followed our rate.
    drained: u32,
    below_since: Option<f64>,
    /// In the last drain test the delay did not change at all: no queue is like that.
    still: bool,
}

/// Whether the queue runs empty time and again although others are there. Who answers loss leaves a queue empty only where few
/// do. BBR does not answer it and keeps the queue full for itself, save that it measures its round trip each 10 s, 0.2 s long.
#[derive(Debug, Clone, Copy)]
struct Leisure {
    /// When something last waited.
    waited: f64,
    /// The last and the one before of the times that the queue was empty for long enough.
    idle: [f64; 2],
}

impl Leisure {
    const EMPTY: f64 = 0.004;
    /// The queue is empty for at least so long, s.
    const LENGTH: f64 = 0.16;
    /// From one time to the next, and from the last on, s.
    const PERIOD: f64 = 12.0;

    const fn new() -> Self {
        Self { waited: f64::INFINITY, idle: [f64::NEG_INFINITY; 2] }
    }

    fn update(&mut self, seen: &Observed) {
        if seen.queue > Self::EMPTY {
            self.waited = seen.t;
        } else if seen.t - self.waited > Self::LENGTH {
            if self.idle[0] < self.waited {
                self.idle[1] = self.idle[0];
            }
            self.idle[0] = seen.t;
        }
    }

    fn is_found(&self, t: f64) -> bool {
        t - self.idle[0] < Self::PERIOD && self.idle[0] - self.idle[1] < Self::PERIOD
    }
}

/// A test: the queue falls as our rate does if the queue is ours.
#[derive(Debug, Clone, Copy)]
enum Drain {
    None,
    /// Until the lower rate has reached the queue.
    Settling {
        until: f64,
        rate: f64,
        share: f64,
    },
    Measuring {
        from: f64,
        queue: f64,
        /// The least and the longest queue since.
        range: (f64, f64),
        rate: f64,
        share: f64,
    },
}

impl Competing {
    /// Standing queue in which others are suspected.
    const THRESHOLD: f64 = 0.015;
    /// Reno's gain and decrease (RFC 8312 section 4.2), with CUBIC's `C`.
    const GAIN: f64 = 0.6;
    const DECREASE: f64 = 0.7;
    const CUBIC: f64 = 0.4;
    /// The window is no less than for this share of the service rate where others leave the link idle: it is between 0.6 of a
    /// half beside one and 1.7 of a fifth beside four.
    const FLOOR: f64 = 0.33;
    /// Slow start ends at this share of the service rate.
    const FIRST_SHARE: f64 = 0.35;
    /// A drain test sends at this share of the rate.
    const DRAIN: f64 = 0.55;
    /// A queue that serves others changes by more in a drain test, s.
    const STILL: f64 = 0.001;
    /// The reason to leave where the delay is no queue: the base delay is another path's.
    pub(super) const LONGER_PATH: &'static str = "the delay is the path's own";

    pub(super) const fn new() -> Self {
        Self {
            interleaving: Interleaving::new(),
            above_since: None,
            standing: None,
            window: 0.0,
            entered: 0.0,
            slow_start: false,
            plateau: 0.0,
            epoch: 0.0,
            last_cut: 0.0,
            leisure: Leisure::new(),
            longest_queue: 0.0,
            drain: Drain::None,
            drain_due: 0.0,
            drained: 0,
            below_since: None,
            still: false,
        }
    }

    /// The queue stands for long enough that groups are sent to find out whose it is.
    pub(super) fn is_suspicious(&self, t: f64) -> bool {
        self.above_since.is_some_and(|since| t - since > 0.3)
    }

    /// Foreign packets come between ours in a queue that has stood for long enough.
    pub(super) fn finds_others(&mut self, seen: &Observed, packet: f64) -> bool {
        if seen.queue <= Self::THRESHOLD + (4.0 * seen.jitter).min(0.030) {
            (self.above_since, self.standing) = (None, None);
            return false;
        }
        self.above_since.get_or_insert(seen.t);
        let (since, highest) = self.standing.get_or_insert((seen.t, seen.queue));
        if seen.queue < *highest / 2.0 {
            (*since, *highest) = (seen.t, seen.queue);
        }
        *highest = highest.max(seen.queue);
        let is_long = seen.t - *since > (6.0 * seen.loop_delay).max(1.0);
        self.interleaving.compute(seen.t, packet);
        is_long && self.interleaving.finds_others()
    }

    pub(super) fn enter(&mut self, seen: &Observed, packet: f64) {
        self.window = (seen.arrival_rate * seen.smoothed_rtt / (packet * 8.0)).max(2.0);
        (self.entered, self.epoch, self.last_cut) = (seen.t, seen.t, seen.t);
        (self.slow_start, self.plateau, self.longest_queue) = (true, self.window, seen.queue);
        (self.drain, self.drain_due, self.drained, self.below_since) = (Drain::None, seen.t + 8.0, 0, None);
        self.still = false;
    }

    /// A packet is lost: a cut once a round trip, if the queue was near its longest. Other losses are the channel's.
    pub(super) fn on_loss(&mut self, t: f64, wait: f64, rtt: f64) {
        if wait < 0.6 * self.longest_queue || t - self.last_cut < rtt {
            return;
        }
        (self.last_cut, self.epoch, self.slow_start, self.plateau) = (t, t, false, self.window);
        self.window = (self.window * Self::DECREASE).max(2.0);
    }

    /// The window over the longest round-trip time of 0.8 s: inelastic on the time scale of others' drain tests.
    pub(super) fn rate(&self, packet: f64, longest_rtt: f64) -> f64 {
        match self.drain {
            Drain::None => self.window * packet * 8.0 / longest_rtt,
            Drain::Settling { rate, .. } | Drain::Measuring { rate, .. } => rate,
        }
    }

    /// What may be in flight, bytes: the pace decides, the window bounds it.
    pub(super) fn window(&self, packet: f64) -> f64 {
        2.0 * self.window * packet
    }

    pub(super) const fn window_packets(&self) -> f64 {
        self.window
    }

    /// Grows the window and tests whether the others left. Gives the reason to leave, if there is one.
    pub(super) fn update(&mut self, seen: &Observed, packet: f64) -> Option<&'static str> {
        self.interleaving.compute(seen.t, packet);
        self.longest_queue = (self.longest_queue * 0.9995).max(seen.queue);
        if matches!(self.drain, Drain::None) {
            self.grow(seen, packet);
        }
        self.leisure.update(seen);
        if self.leisure.is_found(seen.t) {
            let rate = Self::FLOOR * self.interleaving.service_rate;
            self.window = self.window.max(rate * seen.longest_rtt / (packet * 8.0));
        }
        self.test(seen, packet);
        self.reason_to_leave(seen)
    }

    fn grow(&mut self, seen: &Observed, packet: f64) {
        let rtt = seen.smoothed_rtt.max(0.01);
        let share = |window: f64| window * packet * 8.0 / rtt / self.interleaving.service_rate.max(1.0);
        if self.slow_start {
            self.window += seen.received;
            if share(self.window) > Self::FIRST_SHARE {
                (self.slow_start, self.plateau, self.epoch) = (false, self.window, seen.t);
            }
        } else {
            self.window += Self::GAIN * seen.received / self.window;
            let to_plateau = libm::cbrt(self.plateau * (1.0 - Self::DECREASE) / Self::CUBIC);
            let since = seen.t - self.epoch - to_plateau;
            let cubic = Self::CUBIC * since * since * since + self.plateau;
            if cubic > self.window {
                let growth = (cubic - self.window) / self.window * seen.received;
                self.window += growth.min(0.5 * seen.received);
            }
        }
        let most = 2.0 * self.interleaving.service_rate * rtt / (packet * 8.0);
        self.window = self.window.min(most.max(4.0));
    }

    fn test(&mut self, seen: &Observed, packet: f64) {
        let t = seen.t;
        match self.drain {
            Drain::None => {
                if t > self.drain_due && t - self.last_cut > 1.0 {
                    let rate = self.rate(packet, seen.longest_rtt);
                    let share = (rate / self.interleaving.service_rate.max(1.0)).min(1.0);
                    let until = t + 2.0 * seen.least_rtt + seen.queue + seen.interval;
                    self.drain = Drain::Settling { until, rate: Self::DRAIN * rate, share };
                }
            }
            Drain::Settling { until, rate, share } => {
                if t >= until {
                    let range = (seen.queue, seen.queue);
                    self.drain = Drain::Measuring { from: t, queue: seen.queue, range, rate, share };
                }
            }
            Drain::Measuring { from, queue, range, rate, share } => {
                let range = (range.0.min(seen.queue), range.1.max(seen.queue));
                self.drain = Drain::Measuring { from, queue, range, rate, share };
                let is_empty = seen.queue < 0.004;
                if t - from >= 0.5 || is_empty {
                    let fall = (queue - seen.queue) / (t - from).max(1e-3);
                    let follows = is_empty || fall > 0.6 * (1.0 - Self::DRAIN) * share;
                    self.drained = if follows { self.drained + 1 } else { 0 };
                    self.still = !is_empty && range.1 - range.0 < Self::STILL + seen.jitter;
                    self.drain = Drain::None;
                    self.drain_due = t + if follows { 2.0 } else { 8.0 };
                }
            }
        }
    }

    fn reason_to_leave(&mut self, seen: &Observed) -> Option<&'static str> {
        let t = seen.t;
        if seen.queue < seen.target_queue {
            self.below_since.get_or_insert(t);
        } else {
            self.below_since = None;
        }
        let is_sure = self.interleaving.auc <= 0.62 && self.interleaving.is_conclusive(seen.arrival_rate);
        let shortest = if is_sure { 2.0 * seen.loop_delay } else { 3.0 };
        let reason = if self.below_since.is_some_and(|since| t - since > shortest) {
            "the queue is gone"
        } else if self.interleaving.finds_none(seen.arrival_rate) && t - self.entered > 1.0 {
            "no foreign packets between ours"
        } else if self.drained >= 2 {
            "the queue follows our rate"
        } else if self.still {
            Self::LONGER_PATH
        } else {
            return None;
        };
        (self.standing, self.above_since, self.drain) = (None, None, Drain::None);
        Some(reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fifty gaps inside groups and between them, all of `gap`.
    fn alike(gap: f64) -> Interleaving {
        let mut gaps = Interleaving::new();
        let pair = |grouped| Pair { spacing: gap, gap: 0.0, step: 0.0, wait: 0.05, grouped };
        for step in 0..100 {
            gaps.on_pair(f64::from(step) * 0.01, &pair(step % 2 == 0), 0.0);
        }
        gaps.compute(1.0, 1200.0);
        gaps
    }

    /// Gaps of 10 Mbit/s at a rate of 9.5 show that no other flow is served. The gaps of an aggregate show nothing.
    #[test]
    fn an_aggregate_does_not_prove_that_we_are_alone() {
        assert!(alike(0.00096).finds_none(9.5e6));
        assert!(!alike(0.000_001).finds_none(9.5e6));
    }

    /// What is seen of a queue of 40 ms that is empty for `idle` s each `period` s.
    fn leisure(period: f64, idle: f64) -> bool {
        let mut leisure = Leisure::new();
        let mut t = 0.0;
        while t < 40.0 {
            let queue = if t % period < period - idle { 0.040 } else { 0.0 };
            leisure.update(&Observed { t, queue, ..observed() });
            t += 0.02;
        }
        leisure.is_found(t)
    }

    /// BBR's pause of 0.2 s each 10 s, and a sawtooth that reaches the ground. Not: a short one, and one that is seen too seldom.
    #[test]
    fn a_queue_that_runs_empty_time_and_again_leaves_room() {
        assert!(leisure(10.2, 0.2) && leisure(3.0, 0.5));
        assert!(!leisure(10.2, 0.1) && !leisure(14.0, 0.5) && !leisure(1e9, 0.0));
    }

    fn observed() -> Observed {
        Observed {
            t: 0.0,
            queue: 0.040,
            target_queue: 0.010,
            smoothed_rtt: 0.1,
            least_rtt: 0.06,
            longest_rtt: 0.1,
            loop_delay: 0.1,
            interval: 0.05,
            received: 15.0,
            arrival_rate: 3e6,
            jitter: 0.001,
        }
    }
}
