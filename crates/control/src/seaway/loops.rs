//! The loops that follow the path, once a report. `docs/controllers/seaway.md` has their equations.

use super::competing::{Competing, Observed};
use super::config::{
    EMPTY_GAIN, FALLEN, IDLE_GROWTH, LEAST_QUEUE_BOUND, LONGEST_STEP, OBSERVER_GAIN, SURPRISE,
};
use super::loss::{LossTest, Verdict};
use super::route::{self, Found};
use super::scalable::Scalable;
use super::start::Start;
use super::{Mode, Seaway};
use crate::controller::RateController;
use crate::decision::{Decision, Gauge, LogsDecisions, Reason};
use seaway_units::{Ecn, Timestamp};

impl Seaway {
    /// All loops, once a report.
    pub(super) fn update(&mut self, now: Timestamp, t: f64) {
        let passed = self.updated.map_or(0.0, |at| (t - at).clamp(0.0, LONGEST_STEP));
        self.updated = Some(t);
        self.delay.measure(self.jitter.get());
        self.jitter.update(t);
        self.overflow.fade(t);
        let mature = self.fates.between(t - 6.0, t - 0.4);
        self.loss = if mature.sent >= 20.0 { mature.ratio().min(0.9) } else { 0.0 };
        if self.delay.queue > 0.001 {
            self.last_waited = t;
        }
        let before = self.capacity;
        match self.mode {
            Mode::Start(_) => self.start(now, t, passed),
            Mode::Delay => self.keep_delay(now, t, passed),
            Mode::Competing => self.compete(now, t),
            Mode::Scalable(_) => self.respond_to_marks(now, t, passed),
        }
        if !matches!(self.mode, Mode::Delay) {
            self.route.reset();
        }
        self.look_for_marks(now, t);
        self.look_for_surprise(t, passed);
        (self.received, self.marked) = (0.0, 0.0);
        self.relax_queue_bound(passed);
        self.clip();
        self.volatility.update(t, self.delay.queue, matches!(self.mode, Mode::Delay));
        self.continue_model(t, passed, before);
        self.log_drift(now);
    }

    /// A fall of capacity shows first in the newest packet. If it was jitter, little is missed until the next report.
    fn look_for_surprise(&mut self, t: f64, passed: f64) {
        let is_late = matches!(self.mode, Mode::Delay)
            && passed < LONGEST_STEP
            && self.delay.newest_error() > SURPRISE + 15.0 * self.jitter.raw();
        self.drain.on_report(t, is_late, self.interval);
    }

    /// The queue model runs on from the packet that was measured best.
    pub(super) fn continue_model(&mut self, t: f64, passed: f64, before: f64) {
        let fell = self.capacity < FALLEN * before;
        if let Some((id, wait)) = self.delay.anchor {
            self.history.rebase(id, wait, self.capacity, fell);
            self.history.forget_before(id);
        }
        if fell {
            self.delay.accept_waits();
        }
        let beyond = self.expected_wait(t) - self.target_queue();
        // After silence the rate of before says nothing.
        let is_sudden = fell && passed < LONGEST_STEP && matches!(self.mode, Mode::Delay);
        if is_sudden && self.drain.on_fall(t, beyond) {
            self.jitter.forget_fall();
        } else if self.drain.is_after_fall(t) {
            self.drain.follow(t, beyond);
        }
    }

    pub(super) fn start(&mut self, now: Timestamp, t: f64, passed: f64) {
        let packet = self.config.packet;
        let Mode::Start(start) = &self.mode else { return };
        let threshold = 0.004 + 4.0 * self.jitter.raw().min(0.050);
        let losses = self.fates.between(t - 0.31, t);
        let queue = Gauge::new("queue_delay", self.delay.queue, "s");
        if let Some(beyond) = self.delay.least_error_of_three().filter(|beyond| *beyond > threshold) {
            let reason = Reason::new("queue at the start", Gauge { value: beyond, ..queue }, threshold);
            self.leave_start(
                now,
                reason,
                self.delay.arrival_rate(self.jitter.get()).map(|rate| rate / (1.0 - self.loss)),
            );
        } else if Start::overflows(losses) {
            let reason =
                Reason::new("loss at the start", Gauge::new("loss", losses.ratio(), ""), Start::LOSS);
            let rate = self.arrived.rate(t, 0.1).max(self.arrived.rate(t, 0.3));
            self.cut.on_cut();
            self.leave_start(now, reason, Some(rate));
        } else if start.has_reached(self.capacity, packet) {
            self.leave_start(now, Reason::new("capacity of the packet trains", queue, threshold), None);
        } else {
            let growth = libm::pow(start.growth(self.capacity, packet), passed / self.loop_delay());
            let bound = 2.5 * self.sent.rate(t, 0.1).max(self.arrived.rate(t, 0.1)).max(300e3);
            self.capacity = (self.capacity * growth).min(bound.max(self.capacity));
            if self.capacity > 1.2 * self.most_rate() {
                self.leave_start(now, Reason::new("largest rate", queue, threshold), None);
            }
        }
    }

    pub(super) fn leave_start(&mut self, now: Timestamp, reason: Reason, capacity: Option<f64>) {
        self.change(now, reason, |this| {
            this.capacity = capacity.unwrap_or(this.capacity);
            this.mode = Mode::Delay;
            this.clip();
        });
    }

    pub(super) fn loop_delay(&self) -> f64 {
        self.round_trip.loop_delay(self.interval) + self.reordering() * self.jitter.get().min(0.060)
    }

    pub(super) fn keep_delay(&mut self, now: Timestamp, t: f64, passed: f64) {
        self.observe_capacity(t, passed);
        self.fall_at_once(now, t);
        self.keep_base_true(t);
        self.test_loss(now, t);
        self.test_route(now, t);
        let seen = self.observed(t);
        if !self.is_competing() && self.competing.others.are_found(&seen, self.config.packet) {
            let auc = Gauge::new("interleaving", self.competing.others.interleaving.auc, "");
            self.begin_to_compete(now, &seen, Reason::new("foreign packets between ours", auc, 0.68));
        }
    }

    fn begin_to_compete(&mut self, now: Timestamp, seen: &Observed, reason: Reason) {
        self.change(now, reason, |this| {
            this.mode = Mode::Competing;
            this.cut.explain();
            this.competing.enter(seen, this.config.packet);
            this.loss_test.abandon();
        });
    }

    /// What was sent is known, and delay shows what was served: the error of the prediction corrects the capacity.
    pub(super) fn observe_capacity(&mut self, t: f64, passed: f64) {
        let (cell, loop_delay) = (self.volatility.degree(), self.loop_delay());
        let predicted = self.delay.queue - self.delay.error;
        let error = self.delay.error;
        // A millisecond where nothing was to wait is the service of one packet or the clock's grain.
        let error =
            if error > 0.0 && predicted < 0.001 { (error - 0.001).max(0.0) } else { error } / loop_delay;
        let mut gain = OBSERVER_GAIN * (1.0 + 1.5 * cell);
        if error < 0.0 && t - self.last_waited > loop_delay {
            gain *= EMPTY_GAIN;
        }
        let proven = self.loss_test.channel.min(self.loss);
        let bound = 1.5 * self.arrived.rate(t, 0.5) / (1.0 - proven);
        let may_grow = t > self.loss_test.hold_until
            && self.capacity < bound
            && !self.loss_test.is_unproven(&self.fates, t);
        if error > 0.0 || may_grow {
            let growth = (-gain * error / loop_delay).max(self.idle_growth(t));
            self.capacity *= libm::exp((growth * passed).clamp(-0.3, 0.3));
        }
    }

    /// The least growth, a second. Where nothing is to wait, as with an encoder below its target, no error shows that more
    /// would fit: the longer nothing waits, the more is tried.
    fn idle_growth(&self, t: f64) -> f64 {
        let anchor = self.delay.anchor.and_then(|(id, _)| self.history.get(id));
        let waited = t - self.last_waited - self.loop_delay();
        if anchor.is_some_and(|packet| packet.alone) && waited > 0.0 {
            IDLE_GROWTH * (waited / 0.25).min(1.0)
        } else {
            f64::NEG_INFINITY
        }
    }

    /// A queue far above its target, or one that rises packet by packet: the capacity is what arrives.
    pub(super) fn fall_at_once(&mut self, now: Timestamp, t: f64) {
        let (jitter, raw) = (self.jitter.get(), self.jitter.raw());
        let threshold = 2.0 * self.target_queue() + 0.004;
        if self.delay.queue <= threshold && !self.delay.rises_sharply(raw) {
            return;
        }
        self.delay.forget_rise();
        let Some(mut rate) = self.delay.arrival_rate(jitter) else { return };
        let cell = self.volatility.degree();
        if cell > 0.0 {
            rate = rate.max(0.75 * cell * self.arrived.rate(t, self.loop_delay().max(0.1)));
        }
        let capacity = rate / (1.0 - self.loss);
        if capacity < self.capacity {
            let queue = Gauge::new("queue_delay", self.delay.queue, "s");
            self.change(now, Reason::new("queue above its bound", queue, threshold), |this| {
                this.capacity = capacity;
                this.clip();
            });
        }
    }

    /// A queue that was not seen empty for 5 s may be a wrong base: less is sent for a moment.
    pub(super) fn keep_base_true(&mut self, t: f64) {
        let target = self.target_queue();
        if self.delay.queue < (target / 4.0).max(0.0015) {
            self.last_empty = t;
        }
        if t - self.last_empty > 5.0 {
            self.dip_until = t + self.loop_delay() + 6.0 * target;
            self.last_empty = t;
        }
    }

    /// A step of the delay that stays whatever is sent is another route's or a queue of others, and the capacity is still that of before.
    fn test_route(&mut self, now: Timestamp, t: f64) {
        let seen = route::Seen {
            t,
            capacity: self.capacity,
            loop_delay: self.loop_delay(),
            jitter: self.jitter.get(),
            target_queue: self.target_queue(),
            packet: self.config.packet,
        };
        match self.route.update(&seen) {
            Some(Found::Route { longer, capacity }) => {
                let gauge = Gauge::new("longer_path", longer, "s");
                self.change(now, Reason::new(Competing::LONGER_PATH, gauge, self.target_queue()), |this| {
                    this.capacity = this.capacity.max(capacity);
                    this.delay.move_base(longer);
                    this.round_trip.reset();
                    this.route.reset();
                    this.clip();
                });
            }
            Some(Found::Others { capacity }) => {
                self.route.reset();
                let seen = self.observed(t);
                self.competing.others.are_served_at(t, capacity);
                let queue = Gauge::new("queue_delay", seen.queue, "s");
                self.begin_to_compete(
                    now,
                    &seen,
                    Reason::new("others keep the queue", queue, seen.target_queue),
                );
            }
            None => {}
        }
    }

    pub(super) fn test_loss(&mut self, now: Timestamp, t: f64) {
        let verdict = self.loss_test.update(t, self.round_trip.smoothed, self.loss, &self.fates);
        match verdict {
            Some(Verdict::FollowsRate(less)) => {
                self.bound_queue(0.4);
                self.cut.explain();
                let fell = Gauge::new("loss_reduction", less, "");
                self.change(now, Reason::new("loss follows the rate", fell, 0.02), |this| {
                    this.capacity *= 0.85;
                    this.clip();
                });
            }
            Some(Verdict::Channel) if self.cut.take_back() => {
                let channel = Gauge::new("channel_loss", self.loss_test.channel, "");
                let reason = Reason::new("the channel's loss cut the start", channel, LossTest::THRESHOLD);
                self.change(now, reason, |this| this.mode = Mode::Start(Start::new()));
            }
            Some(Verdict::Channel) | None => {}
        }
    }

    /// The queue overflows: the target is `share` of the longest wait at most.
    pub(super) fn bound_queue(&mut self, share: f64) {
        self.queue_bound = self.queue_bound.min(share * self.delay.longest()).max(LEAST_QUEUE_BOUND);
    }

    /// The bound of an overflow grows where the queue reaches it without loss, and is forgotten over ten minutes where
    /// it does not. Flows that share a short queue so find the same bound.
    pub(super) fn relax_queue_bound(&mut self, passed: f64) {
        if !self.queue_bound.is_finite() {
            return;
        }
        let is_refuted = self.delay.queue > 0.9 * self.queue_bound && self.loss < 0.01;
        self.queue_bound *= libm::exp(passed / if is_refuted { 4.0 } else { 600.0 });
        if self.queue_bound > 1.0 || self.delay.queue > 4.0 * self.queue_bound + 0.004 {
            self.queue_bound = f64::INFINITY;
        }
    }

    pub(super) fn observed(&mut self, t: f64) -> Observed {
        Observed {
            t,
            queue: self.delay.queue,
            target_queue: self.target_queue(),
            smoothed_rtt: self.round_trip.smoothed,
            least_rtt: self.round_trip.least,
            longest_rtt: self.round_trip.longest(),
            loop_delay: self.loop_delay(),
            interval: self.interval,
            received: self.received,
            arrival_rate: self.arrived.rate(t, 0.5),
            jitter: self.jitter.get(),
            reordered: self.delay.reordered(),
            is_least: self.capacity < 1.05 * self.least_rate(),
        }
    }

    pub(super) fn compete(&mut self, now: Timestamp, t: f64) {
        let seen = self.observed(t);
        let reason = self.competing.update(&seen, self.config.packet);
        self.capacity = self.competing_rate();
        if let Some(cause) = reason {
            let queue = Gauge::new("queue_delay", seen.queue, "s");
            self.change(now, Reason::new(cause, queue, seen.target_queue), |this| {
                this.mode = Mode::Delay;
                this.capacity = this.arrived.rate(t, 0.3);
                this.last_empty = t;
                if cause == Competing::LONGER_PATH {
                    this.forget_path();
                }
                this.clip();
            });
        }
    }

    /// Delays are measured anew.
    pub(super) fn forget_path(&mut self) {
        self.delay.reset();
        self.round_trip.reset();
        self.route.reset();
    }

    /// Only an L4S queue marks packets of ECT(1) at all.
    pub(super) fn look_for_marks(&mut self, now: Timestamp, t: f64) {
        if self.marked == 0.0 || self.config.ecn != Ecn::Ect1 || matches!(self.mode, Mode::Scalable(_)) {
            return;
        }
        let marked = Gauge::new("marked_packets", self.marked, "");
        self.change(now, Reason::new("first congestion marks", marked, 0.0), |this| {
            if this.is_starting() {
                this.capacity = this.arrived.rate(t, 0.1).max(0.5 * this.capacity);
            }
            this.mode = Mode::Scalable(Scalable::begin(t));
        });
    }

    pub(super) fn respond_to_marks(&mut self, now: Timestamp, t: f64, passed: f64) {
        let (rtt, capacity, packet) = (self.round_trip.smoothed, self.capacity, self.config.packet);
        let counts = (self.received, self.marked);
        let sent = self.sent.rate(t, 0.5);
        let Mode::Scalable(scalable) = &mut self.mode else { return };
        let (capacity, is_cut) = scalable.update(t, passed, rtt, capacity, packet, counts);
        let capacity = if sent > 0.0 { capacity.min(1.5 * sent) } else { capacity };
        let (alpha, is_over) = (scalable.alpha(), scalable.is_over(t));
        let reason = Reason::new("congestion marks", Gauge::new("alpha", alpha, ""), 0.0);
        self.decide(now, |this| {
            this.capacity = capacity;
            this.clip();
            is_cut.then_some(reason)
        });
        if is_over {
            self.change(now, Reason::new("no marks for 10 s", Gauge::new("alpha", alpha, ""), 0.0), |this| {
                this.mode = Mode::Delay;
            });
        }
    }

    /// The observer moves the capacity with each report: a decision stands for each twentieth of it.
    pub(super) fn log_drift(&mut self, now: Timestamp) {
        let (rate, logged) = (self.decided_rate(), self.decisions.rate());
        if (rate.as_bps_f64() - logged.as_bps_f64()).abs() < 0.05 * logged.as_bps_f64() {
            return;
        }
        self.decisions.push(Decision {
            at: now,
            cause: "capacity observed",
            signal: Gauge::new("queue_delay", self.delay.queue, "s"),
            threshold: self.target_queue(),
            before: logged,
            after: rate,
            phase: self.phase(),
        });
    }
}
