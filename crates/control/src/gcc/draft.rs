//! The controllers of draft-ietf-rmcat-gcc-02: the delay-based one of section 4.5 and the loss-based of section 5.

use super::aimd::{State, packet_bits};
use super::arrival_group::{ArrivalGroups, Grouped};
use super::config::*;
use super::kalman::Kalman;
use super::overuse::Usage;
use crate::estimators::RateWindow;
use seaway_units::{DataSize, RemoteTimestamp, TimeDelta, Timestamp};

/// Both controllers of the draft.
#[derive(Debug, Clone)]
pub(super) struct Draft {
    groups: ArrivalGroups,
    kalman: Kalman,
    state: State,
    /// `A`, bit/s.
    rate: f64,
    /// `A_s`, bit/s.
    loss_rate: f64,
    received: RateWindow,
    measured_since: Option<Timestamp>,
    updated_at: Option<Timestamp>,
    near: Convergence,
    counted: u32,
    lost: u32,
    counted_since: Option<Timestamp>,
    cause: &'static str,
}

/// Mean and variance of the rate of arrival in Decrease, bit/s.
#[derive(Debug, Clone, Copy)]
struct Convergence {
    mean: Option<f64>,
    variance: f64,
}

/// `T`: the window of the rate of arrival, of 0.5 to 1 s.
const RATE_WINDOW: f64 = 0.5;
/// Weight of the old value in the mean of section 4.5.
const CONVERGENCE_SMOOTHING: f64 = 0.95;
/// Loss fraction above which the rate falls, and below which it grows (section 5).
const HIGH_LOSS: f64 = 0.1;
const LOW_LOSS: f64 = 0.02;
const LOSS_INCREASE: f64 = 1.05;
/// A loss fraction is taken over so many packets (libwebrtc: a single loss in a short report means nothing), or
/// over so long.
const LEAST_PACKETS: u32 = 20;
const LONGEST_COUNT: TimeDelta = TimeDelta::from_millis(500);

impl Draft {
    pub(super) fn new(gain60: bool, rate: f64) -> Self {
        Self {
            groups: ArrivalGroups::default(),
            kalman: Kalman::new(gain60),
            state: State::Increase,
            rate,
            loss_rate: rate,
            received: RateWindow::new(),
            measured_since: None,
            updated_at: None,
            near: Convergence { mean: None, variance: 0.0 },
            counted: 0,
            lost: 0,
            counted_since: None,
            cause: "start",
        }
    }

    /// Both estimates from outside: a start, or silence.
    pub(super) fn set(&mut self, rate: f64, cause: &'static str) {
        (self.rate, self.loss_rate, self.cause) = (rate.max(LEAST_RATE), rate.max(LEAST_RATE), cause);
    }

    pub(super) const fn rate(&self) -> f64 {
        self.rate.min(self.loss_rate)
    }

    pub(super) const fn cause(&self) -> &'static str {
        self.cause
    }

    pub(super) const fn phase(&self) -> &'static str {
        match self.state {
            State::Hold => "hold",
            State::Increase => "increase",
            State::Decrease => "decrease",
        }
    }

    pub(super) const fn kalman(&self) -> &Kalman {
        &self.kalman
    }

    /// The path changed, or no feedback came for long.
    pub(super) fn forget_path(&mut self) {
        self.groups = ArrivalGroups::default();
        self.kalman.reset();
        (self.received, self.measured_since) = (RateWindow::new(), None);
        self.near.mean = None;
        self.updated_at = None;
    }

    pub(super) const fn expire(&mut self) {
        self.kalman.detector_mut().expire();
    }

    /// A packet was reported as received.
    pub(super) fn on_received(&mut self, sent: Timestamp, at: Option<RemoteTimestamp>, size: DataSize) {
        self.counted += 1;
        self.received.count(size);
        match at.map(|at| self.groups.push(sent, at)) {
            Some(Grouped::Delta(delta)) => {
                self.kalman.update(&delta);
            }
            Some(Grouped::Jump) => self.kalman.reset(),
            _ => {}
        }
    }

    /// A packet was reported as lost.
    pub(super) const fn on_lost(&mut self) {
        self.counted += 1;
        self.lost += 1;
    }

    /// All packets of a report were taken. `rtt` in ms; neither rate grows above `most`, bit/s.
    pub(super) fn update(&mut self, now: Timestamp, rtt: f64, most: f64) {
        let (rate, loss_rate) = (self.rate.max(most), self.loss_rate.max(most));
        let long = now.since(*self.counted_since.get_or_insert(now)) >= LONGEST_COUNT;
        if self.counted >= LEAST_PACKETS || (long && self.counted > 0) {
            self.on_loss_fraction(f64::from(self.lost) / f64::from(self.counted));
            (self.counted, self.lost, self.counted_since) = (0, 0, Some(now));
        }
        self.on_delay(now, rtt);
        (self.rate, self.loss_rate) = (self.rate.min(rate), self.loss_rate.min(loss_rate));
    }

    /// Section 5.
    fn on_loss_fraction(&mut self, fraction: f64) {
        if fraction > HIGH_LOSS {
            self.loss_rate = (self.loss_rate * (1.0 - 0.5 * fraction)).max(LEAST_RATE);
            self.cause = "loss above 10 %";
        } else if fraction < LOW_LOSS {
            self.loss_rate *= LOSS_INCREASE;
        }
    }

    /// Section 4.5.
    fn on_delay(&mut self, now: Timestamp, rtt: f64) {
        let arriving = self.measure(now);
        let elapsed = self.updated_at.replace(now).map_or(TimeDelta::ZERO, |at| now.since(at));
        self.state = next(self.state, self.kalman.detector().usage());
        match (self.state, arriving) {
            (State::Hold, _) | (State::Decrease, None) => {}
            (State::Increase, arriving) => self.increase(arriving, elapsed, rtt),
            (State::Decrease, Some(arriving)) => {
                self.near.update(arriving);
                if DECREASE * arriving < self.rate {
                    (self.rate, self.cause) = ((DECREASE * arriving).max(LEAST_RATE), "over-use of the path");
                }
            }
        }
    }

    fn increase(&mut self, arriving: Option<f64>, elapsed: TimeDelta, rtt: f64) {
        if let (Some(arriving), Some((_, upper))) = (arriving, self.near.bounds())
            && arriving > upper
        {
            self.near.mean = None;
        }
        let near = arriving.zip(self.near.bounds()).is_some_and(|(rate, (lower, _))| rate >= lower);
        if near {
            let part = (elapsed.as_millis_f64() / (RESPONSE_TIME + rtt)).min(1.0);
            self.rate += LEAST_INCREASE.max(0.5 * part * packet_bits(self.rate));
            self.cause = "additive increase";
        } else {
            self.rate *= libm::pow(INCREASE, elapsed.as_secs_f64().min(1.0));
            self.cause = "multiplicative increase";
        }
        if let Some(arriving) = arriving {
            self.rate = self.rate.min(HEADROOM * arriving).max(LEAST_RATE);
        }
    }

    /// `R_hat`, bit/s, once a whole window was measured.
    fn measure(&mut self, now: Timestamp) -> Option<f64> {
        let since = *self.measured_since.get_or_insert(now);
        let rate = self.received.measure(now, RATE_WINDOW);
        self.received.mark(now);
        let whole = now.since(since).as_secs_f64() >= RATE_WINDOW;
        rate.filter(|_| whole).map(|rate| rate.bytes * 8.0)
    }
}

/// The table of section 4.5.
const fn next(state: State, usage: Usage) -> State {
    match (usage, state) {
        (Usage::Over, _) => State::Decrease,
        (Usage::Under, _) | (Usage::Normal, State::Decrease) => State::Hold,
        (Usage::Normal, State::Hold | State::Increase) => State::Increase,
    }
}

impl Convergence {
    fn update(&mut self, rate: f64) {
        let keep = CONVERGENCE_SMOOTHING;
        let mean = self.mean.map_or(rate, |mean| keep * mean + (1.0 - keep) * rate);
        let error = rate - mean;
        self.variance = keep * self.variance + (1.0 - keep) * error * error;
        self.mean = Some(mean);
    }

    /// Three standard deviations about the mean.
    fn bounds(&self) -> Option<(f64, f64)> {
        let spread = 3.0 * self.variance.sqrt();
        self.mean.map(|mean| (mean - spread, mean + spread))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Draft section 4.5, the whole table.
    #[test]
    fn transitions() {
        use State::{Decrease, Hold, Increase};
        for (usage, from_hold, from_increase, from_decrease) in [
            (Usage::Over, Decrease, Decrease, Decrease),
            (Usage::Normal, Increase, Increase, Hold),
            (Usage::Under, Hold, Hold, Hold),
        ] {
            assert_eq!(next(Hold, usage), from_hold);
            assert_eq!(next(Increase, usage), from_increase);
            assert_eq!(next(Decrease, usage), from_decrease);
        }
    }

    /// Draft section 5, worked.
    #[test]
    fn loss_fractions() {
        let after = |fraction| {
            let mut draft = Draft::new(true, 1e6);
            draft.on_loss_fraction(fraction);
            draft.loss_rate
        };
        assert_eq!(after(0.01), 1.05e6);
        assert_eq!(after(0.05), 1e6);
        assert_eq!(after(0.1), 1e6);
        assert_eq!(after(0.2), 0.9e6);
    }

    /// No growth of delay: 8 % a second up to 1.5 times what arrives.
    #[test]
    fn steady_path() {
        let mut draft = Draft::new(true, 1e6);
        draft.loss_rate = 1e9;
        let mut rates = Vec::new();
        for report in 0..120_i64 {
            for packet in 0..10_i64 {
                let sent = Timestamp::ZERO + TimeDelta::from_millis(100 * report + 10 * packet);
                let at = RemoteTimestamp::from_nanos(sent.as_nanos()) + TimeDelta::from_millis(30);
                draft.on_received(sent, Some(at), DataSize::from_bytes(1250));
            }
            let now = Timestamp::ZERO + TimeDelta::from_millis(100 * report + 130);
            draft.update(now, 60.0, f64::INFINITY);
            rates.push(draft.rate);
        }
        assert_eq!(draft.phase(), "increase");
        assert!((rates[30] / rates[20] - 1.08).abs() < 1e-6);
        assert!((draft.rate - 1.5e6).abs() < 1e-3, "{}", draft.rate);
    }
}
