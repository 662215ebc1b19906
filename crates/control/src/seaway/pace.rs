//! The allowance: pacing rate, window and grouping.

use super::config::{
    DRAIN_RATE, FALL, MOST_TOLERANCE, QUEUE_TIME, RISE, TEST_RATE, TOLERANCE_GAIN, TOLERANCE_OF_OTHERS,
    TOLERANCE_OF_OVERFLOWS, UNTOLERATED_JITTER,
};
use super::groups::Pattern;
use super::outage::Outage;
use super::{Mode, Seaway, config};
use crate::controller::RateController;

/// More than any path holds, bytes.
const UNBOUNDED: f64 = 1e12;

impl Seaway {
    /// Jitter that the target queue leaves room for. A cell's swings are no jitter, and what reordering shows is not
    /// worth a queue where many packets leave within the delay filter's span.
    pub(super) fn tolerance(&self) -> f64 {
        let t = self.updated.unwrap_or(0.0);
        let is_queue = self.overflow.is_on(t);
        let most = if is_queue { TOLERANCE_OF_OVERFLOWS } else { MOST_TOLERANCE };
        let most = if self.competing.others.were_seen(t) { most.min(TOLERANCE_OF_OTHERS) } else { most };
        let jitter = (TOLERANCE_GAIN * (self.jitter.raw() - UNTOLERATED_JITTER).max(0.0)).min(most);
        jitter * (1.0 - self.volatility.degree()) * (1.0 - 0.7 * self.reordering())
    }

    /// 1 where many packets overtake others and enough arrive in the delay filter's span that some come undelayed.
    pub(super) fn reordering(&self) -> f64 {
        let in_span = self.capacity * config::DELAY_SPAN / (self.config.packet * 8.0);
        (4.0 * self.delay.reordered()).min(1.0) * ((in_span - 4.0) / 16.0).clamp(0.0, 1.0)
    }

    /// It falls with the rate: that alone makes flows of this kind fair to each other.
    pub(super) fn target_queue(&self) -> f64 {
        (self.plain_target + self.tolerance()).min(self.queue_bound)
    }

    pub(super) fn expected_wait(&self, t: f64) -> f64 {
        self.history.expected_wait(t, self.capacity).unwrap_or(self.delay.queue)
    }

    /// The first report is overdue. A peer may report after seconds, the first time too (RFC 3550 section 6.2): until then the least rate
    /// is the bound, and not what would be in flight.
    pub(super) fn awaits_first_report(&self) -> bool {
        !self.has_arrived && self.expired > 0.0
    }

    /// The pace at `t`, bit/s.
    pub(super) fn pace(&self, t: f64) -> f64 {
        if self.awaits_first_report() {
            return self.capacity;
        }
        let cell = self.volatility.degree();
        let mut pace = match &self.mode {
            Mode::Competing => self.competing_rate(),
            Mode::Scalable(_) => {
                self.capacity * (1.0 + ((0.001 - self.expected_wait(t)) / QUEUE_TIME).clamp(-FALL, 0.0))
            }
            Mode::Start(_) | Mode::Delay => {
                let rise = if self.is_starting() { 0.0 } else { RISE };
                let time = QUEUE_TIME * (1.0 - 0.5 * cell);
                let missing = self.target_queue() - self.expected_wait(t);
                self.capacity * (1.0 + (missing / time).clamp(-FALL, rise))
            }
        };
        if self.drain.is_on(t) {
            pace = pace.min(DRAIN_RATE.max(cell) * self.capacity);
        }
        if t < self.dip_until || self.loss_test.is_running() {
            pace = pace.min(TEST_RATE * self.capacity);
        }
        pace = pace.max(self.least_of_tests(t));
        if self.outage.is_on {
            pace = pace.min(Outage::rate(self.capacity, self.config.packet) * (1.0 - 0.7 * cell));
        }
        pace
    }

    fn doubt_rate(&self, t: f64) -> Option<f64> {
        let is_ours = matches!(self.mode, Mode::Delay) && self.volatility.degree() == 0.0;
        is_ours.then(|| self.competing.others.doubt_rate(t, self.config.packet)).flatten()
    }

    /// So much is sent at least to find out whose the queue is, bit/s; 0 where that is known.
    pub(super) fn least_of_tests(&self, t: f64) -> f64 {
        self.doubt_rate(t).unwrap_or(0.0).max(self.route.probe_rate().unwrap_or(0.0))
    }

    pub(super) fn competing_rate(&self) -> f64 {
        self.competing.rate(self.config.packet, self.round_trip.longest()).max(self.least_rate())
    }

    /// What may be in flight, bytes.
    pub(super) fn window(&self, t: f64) -> f64 {
        let rate = self.capacity / 8.0;
        if self.awaits_first_report() {
            return UNBOUNDED;
        }
        if self.is_starting() && !self.is_interval_known {
            // Some peers wait for twenty packets before they report. The lack of feedback is the bound.
            return rate * self.silence().as_secs_f64();
        }
        let (least, cell) = (self.round_trip.least, self.volatility.degree());
        let window = match &self.mode {
            Mode::Competing => self.competing.window(self.config.packet),
            Mode::Scalable(_) => rate * (least + 0.7 * self.interval + 0.0015),
            Mode::Start(_) | Mode::Delay => {
                let jitter = 2.0 * (1.0 - cell) * self.jitter.raw();
                let queue = (2.0 - cell) * self.target_queue();
                let reports = (2.5 - 1.5 * cell) * self.interval;
                let window = rate * (least + reports + 0.030 * (1.0 - cell) + queue + jitter);
                let least = self.least_of_tests(t) / 8.0 * (self.round_trip.smoothed + reports);
                let window = window.max(least);
                if self.is_starting() { 2.0 * window } else { window }
            }
        };
        window.max(10.0 * self.config.packet.min(3000.0))
    }

    pub(super) fn pattern(&self, t: f64) -> Pattern {
        let packet_time = |rate: f64| self.config.packet * 8.0 / rate;
        if self.is_competing() || self.competing.others.are_suspected(t) || self.route.is_suspicious() {
            Pattern::Random(if packet_time(self.pace(t)) > 0.012 { 2 } else { 3 })
        } else if self.is_starting() {
            Pattern::Train
        } else if packet_time(self.capacity) > 0.005 {
            Pattern::SparsePairs
        } else {
            Pattern::Single
        }
    }
}
