//! Competition with loss-based flows: detects foreign packets between ours, and then uses a window like TCP's.

use super::others::Others;

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
    /// Packets that others overtook, of those of late.
    pub(super) reordered: f64,
    /// The rate is the least that it may be.
    pub(super) is_least: bool,
}

/// Keeps a window while others are in the queue, and tests whether they left.
#[derive(Debug, Clone)]
pub(super) struct Competing {
    pub(super) others: Others,
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
            others: Others::new(),
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
        self.others.look(seen.t, packet);
        self.longest_queue = (self.longest_queue * 0.9995).max(seen.queue);
        if matches!(self.drain, Drain::None) {
            self.grow(seen, packet);
        }
        self.leisure.update(seen);
        if self.leisure.is_found(seen.t) {
            let rate = Self::FLOOR * self.others.interleaving.service_rate;
            self.window = self.window.max(rate * seen.longest_rtt / (packet * 8.0));
        }
        self.test(seen, packet);
        self.reason_to_leave(seen)
    }

    fn grow(&mut self, seen: &Observed, packet: f64) {
        let rtt = seen.smoothed_rtt.max(0.01);
        let share =
            |window: f64| window * packet * 8.0 / rtt / self.others.interleaving.service_rate.max(1.0);
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
        let most = 2.0 * self.others.interleaving.service_rate * rtt / (packet * 8.0);
        self.window = self.window.min(most.max(4.0));
    }

    fn test(&mut self, seen: &Observed, packet: f64) {
        let t = seen.t;
        match self.drain {
            Drain::None => {
                if t > self.drain_due && t - self.last_cut > 1.0 {
                    let rate = self.rate(packet, seen.longest_rtt);
                    let share = (rate / self.others.interleaving.service_rate.max(1.0)).min(1.0);
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
                    let still = Self::STILL + seen.jitter;
                    // A window of others hardly shows how little we send less of the little that is ours.
                    let would_move = queue * (1.0 - Self::DRAIN) * share > 2.0 * still;
                    self.still = !is_empty && would_move && range.1 - range.0 < still;
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
        let is_sure =
            self.others.interleaving.auc <= 0.62 && self.others.interleaving.is_conclusive(seen.arrival_rate);
        let shortest = if is_sure { 2.0 * seen.loop_delay } else { 3.0 };
        let reason = if self.below_since.is_some_and(|since| t - since > shortest) {
            "the queue is gone"
        } else if self.others.interleaving.finds_none(seen.arrival_rate) && t - self.entered > 1.0 {
            "no foreign packets between ours"
        } else if self.drained >= 2 {
            "the queue follows our rate"
        } else if self.still {
            Self::LONGER_PATH
        } else {
            return None;
        };
        self.others.forget_queue();
        self.drain = Drain::None;
        Some(reason)
    }
}

#[cfg(test)]
impl Observed {
    /// A queue of 40 ms where 10 are wanted.
    pub(super) fn example() -> Self {
        Self {
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
            reordered: 0.0,
            is_least: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is seen of a queue of 40 ms that is empty for `idle` s each `period` s.
    fn leisure(period: f64, idle: f64) -> bool {
        let mut leisure = Leisure::new();
        let mut t = 0.0;
        while t < 40.0 {
            let queue = if t % period < period - idle { 0.040 } else { 0.0 };
            leisure.update(&Observed { t, queue, ..Observed::example() });
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
}
