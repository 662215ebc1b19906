//! The delay-based rate: additive near the link's capacity, multiplicative far from it (libwebrtc).

use super::config::*;
use super::link_capacity::LinkCapacity;
use super::overuse::Usage;
use seaway_units::{TimeDelta, Timestamp};

/// What the rate does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Hold,
    Increase,
    Decrease,
}

impl State {
    /// libwebrtc's transitions: under-use and the end of a decrease hold, and only a normal path leaves.
    const fn next(self, usage: Usage) -> Self {
        match (usage, self) {
            (Usage::Over, _) => Self::Decrease,
            (Usage::Under, _) => Self::Hold,
            (Usage::Normal, Self::Hold) => Self::Increase,
            (Usage::Normal, state) => state,
        }
    }
}

/// What it goes by.
#[derive(Debug, Clone, Copy)]
pub(super) struct Input {
    pub(super) usage: Usage,
    /// Rate that arrives, bit/s.
    pub(super) acked: Option<f64>,
    /// ms.
    pub(super) rtt: f64,
}

/// Additive increase, multiplicative decrease.
#[derive(Debug, Clone, Copy)]
pub(super) struct Aimd {
    state: State,
    /// bit/s.
    rate: f64,
    link: LinkCapacity,
    changed_at: Option<Timestamp>,
    cause: &'static str,
}

/// The least slope of the additive increase, bit/s each second.
const LEAST_SLOPE: f64 = 4000.0;
/// Added to the headroom, bit/s.
const HEADROOM_FLOOR: f64 = 10_000.0;

impl Aimd {
    pub(super) const fn new(rate: f64) -> Self {
        Self { state: State::Hold, rate, link: LinkCapacity::new(), changed_at: None, cause: "start" }
    }

    pub(super) const fn rate(&self) -> f64 {
        self.rate
    }

    /// What moved the rate last.
    pub(super) const fn cause(&self) -> &'static str {
        self.cause
    }

    /// "near capacity" once the link's is known.
    pub(super) fn phase(&self) -> &'static str {
        match (self.state, self.link.get()) {
            (State::Hold, _) => "hold",
            (State::Increase, None) => "increase",
            (State::Increase, Some(_)) => "increase near capacity",
            (State::Decrease, _) => "decrease",
        }
    }

    /// From outside: a start, or silence.
    pub(super) fn set(&mut self, now: Timestamp, rate: f64, cause: &'static str) {
        (self.rate, self.cause) = (rate.max(LEAST_RATE), cause);
        self.changed_at = Some(now);
    }

    /// A probe's result is set directly and leaves the state alone.
    pub(super) fn on_probe(&mut self, now: Timestamp, rate: f64) {
        self.link.on_probe(rate);
        self.set(now, rate, "probe result");
    }

    pub(super) fn update(&mut self, now: Timestamp, input: &Input) {
        if input.usage == Usage::Over && !self.may_reduce(now, input) {
            return;
        }
        let state = self.state.next(input.usage);
        if self.state == State::Hold && state == State::Increase {
            self.changed_at = Some(now);
        }
        self.state = state;
        match state {
            State::Hold => {}
            State::Increase => self.increase(now, input),
            State::Decrease => self.decrease(now, input),
        }
    }

    /// A round-trip time after the last change, an increase as well, or where much less arrives.
    fn may_reduce(&self, now: Timestamp, input: &Input) -> bool {
        let pause = TimeDelta::from_secs_f64(input.rtt.clamp(10.0, 200.0) / 1e3);
        let rested = self.changed_at.is_none_or(|at| now.since(at) >= pause);
        rested || input.acked.is_some_and(|acked| acked < 0.5 * self.rate)
    }

    fn increase(&mut self, now: Timestamp, input: &Input) {
        let elapsed = self.changed_at.map_or(0.0, |at| now.since(at).as_secs_f64());
        self.changed_at = Some(now);
        if let (Some(acked), Some((_, upper))) = (input.acked, self.link.bounds())
            && acked > upper
        {
            self.link.forget();
        }
        let bound = input.acked.map_or(f64::INFINITY, |acked| HEADROOM * acked + HEADROOM_FLOOR);
        if self.rate >= bound {
            return;
        }
        let (cause, step) = if self.link.get().is_some() {
            ("additive increase", self.slope(input.rtt) * elapsed)
        } else {
            let factor = libm::pow(INCREASE, elapsed.min(1.0)) - 1.0;
            ("multiplicative increase", (self.rate * factor).max(LEAST_INCREASE))
        };
        (self.rate, self.cause) = ((self.rate + step).min(bound), cause);
    }

    /// Half a packet each time of response, bit/s each second.
    fn slope(&self, rtt: f64) -> f64 {
        let response = (rtt + RESPONSE_TIME) / 1e3;
        (packet_bits(self.rate) / (2.0 * response)).max(LEAST_SLOPE)
    }

    fn decrease(&mut self, now: Timestamp, input: &Input) {
        if let Some(acked) = input.acked {
            let mut reduced = DECREASE * acked;
            if let Some(link) = self.link.get().filter(|_| reduced > self.rate) {
                reduced = DECREASE * link;
            }
            if self.link.bounds().is_some_and(|(lower, _)| acked < lower) {
                self.link.forget();
            }
            self.link.on_overuse(acked);
            if reduced < self.rate {
                (self.rate, self.cause) = (reduced.max(LEAST_RATE), "over-use of the path");
            }
        }
        self.changed_at = Some(now);
        self.state = State::Hold;
    }
}

/// Bits of the packets a frame is cut into at this rate.
pub(super) fn packet_bits(rate: f64) -> f64 {
    let frame = rate / FRAME_RATE;
    frame / (frame / PACKET_BITS).ceil().max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: i64) -> Timestamp {
        Timestamp::ZERO + TimeDelta::from_millis(ms)
    }

    fn input(usage: Usage, acked: f64) -> Input {
        Input { usage, acked: Some(acked), rtt: 100.0 }
    }

    #[test]
    fn transitions() {
        use State::{Decrease, Hold, Increase};
        for (usage, from_hold, from_increase, from_decrease) in [
            (Usage::Over, Decrease, Decrease, Decrease),
            (Usage::Normal, Increase, Increase, Decrease),
            (Usage::Under, Hold, Hold, Hold),
        ] {
            assert_eq!(Hold.next(usage), from_hold);
            assert_eq!(Increase.next(usage), from_increase);
            assert_eq!(Decrease.next(usage), from_decrease);
        }
    }

    /// 8 % a second without a known capacity, up to 1.5 times what arrives.
    #[test]
    fn multiplicative_increase() {
        let mut aimd = Aimd::new(1e6);
        for step in 0..=20 {
            aimd.update(at(100 * step), &input(Usage::Normal, 1e6));
        }
        // The first step, when no time has passed, is the least one.
        assert!((aimd.rate() - 1.001e6 * 1.08 * 1.08).abs() < 1.0, "{}", aimd.rate());
        for step in 21..300 {
            aimd.update(at(100 * step), &input(Usage::Normal, 1e6));
        }
        assert!((aimd.rate() - 1.51e6).abs() < 1.0);
    }

    /// 0.85 of what arrived, once a round-trip time; then half a packet each time of response.
    #[test]
    fn decrease_and_additive_increase() {
        let mut aimd = Aimd::new(2e6);
        aimd.update(at(0), &input(Usage::Over, 0.9e6));
        assert_eq!(aimd.rate(), 765e3);
        aimd.update(at(50), &input(Usage::Over, 0.8e6));
        assert_eq!(aimd.rate(), 765e3, "half a round-trip time later");
        for ms in (100..=1100).step_by(100) {
            aimd.update(at(ms), &input(Usage::Normal, 0.9e6));
        }
        // 25 500 bits a frame, 3 packets, 400 ms; it grows a little with the rate.
        let slope = 765e3 / 30.0 / 3.0 / 0.4;
        assert!((aimd.rate() - 765e3 - slope).abs() < 300.0, "{}", aimd.rate());
        // Above the bounds of the capacity it is forgotten.
        aimd.update(at(1200), &input(Usage::Normal, 1.1e6));
        assert_eq!(aimd.cause(), "multiplicative increase");
    }
}
