//! The update of each scheme once an RTCP interval: rates are bytes a second, times seconds.

use crate::tfrc::Equation;

/// Which scheme.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Law {
    /// LDA: additive increase that grows with the room left, decrease by the loss times `decrease` (`R_f`).
    Lda {
        /// `R_f`.
        decrease: f64,
    },
    /// LDA+: the least of three increases, decrease by the root of the loss, the equation's rate at least.
    LdaPlus,
    /// LDA-SRTP: a part of the way to the equation's rate.
    Smoothed {
        /// The part of a way up.
        up: f64,
        /// The part of a way down.
        down: f64,
        /// Deviations up to this part of the rate change nothing.
        dead: f64,
    },
}

/// What was measured over an interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Interval {
    /// How long it was (`T`).
    pub(super) length: f64,
    /// Part of the packets that was lost (`l`).
    pub(super) loss: f64,
    /// Round-trip time (`R`).
    pub(super) rtt: f64,
    /// Rate of the bottleneck (`b`), infinite where it is unknown.
    pub(super) bottleneck: f64,
    /// Packet size (`s`).
    pub(super) packet: f64,
}

/// A rate and how fast it may grow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct State {
    /// `r`.
    pub(super) rate: f64,
    /// The last additive increase (`AIR` of LDA, `A` of LDA+), per interval.
    pub(super) increase: f64,
}

impl Interval {
    /// What a TCP's rate grows by on average over the interval: a packet each round-trip time.
    fn growth_of_tcp(&self) -> f64 {
        self.packet / 2.0 * (self.length / self.rtt + 1.0) / self.rtt
    }

    /// The rate of a TCP that loses so much (S000 Eq. 1).
    fn equation_rate(&self) -> f64 {
        self.packet * Equation::RFC.packet_rate(self.loss, self.rtt, 4.0 * self.rtt)
    }
}

impl Law {
    /// The state after an interval; `first_increase` is what the increase begins with after a loss.
    pub(super) fn step(self, state: State, first_increase: f64, interval: &Interval) -> State {
        let State { rate, increase } = state;
        let lost = interval.loss > 0.0;
        match self {
            Self::Lda { decrease } if lost => {
                State { rate: rate * (1.0 - interval.loss * decrease).max(0.0), increase: first_increase }
            }
            Self::Lda { .. } => {
                let room = 1.0 - rate / interval.bottleneck;
                let increase = (increase * (1.0 + room)).clamp(0.0, interval.growth_of_tcp());
                State { rate: rate + increase, increase }
            }
            Self::LdaPlus if lost => {
                let reduced = rate * (1.0 - interval.loss.sqrt());
                State { rate: reduced.max(interval.equation_rate()), increase: first_increase }
            }
            Self::LdaPlus => {
                let filled = rate / interval.bottleneck;
                let additive = (2.0 - filled) * increase;
                let exponential = rate * (1.0 - libm::exp(filled - 1.0));
                let increase = additive.min(exponential).clamp(0.0, interval.growth_of_tcp());
                State { rate: rate + increase, increase }
            }
            Self::Smoothed { up, down, dead } => {
                // Without a loss the equation knows no rate: a TCP would have grown by so much.
                let aim = if lost { interval.equation_rate() } else { rate + interval.growth_of_tcp() };
                let way = aim - rate;
                let part = match way {
                    _ if lost && way.abs() <= dead * rate => 0.0,
                    way if way > 0.0 => up,
                    _ => down,
                };
                State { rate: rate + part * way, increase }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLEAN: Interval = Interval { length: 5.0, loss: 0.0, rtt: 0.1, bottleneck: 500e3, packet: 1000.0 };

    fn step(law: Law, rate: f64, increase: f64, interval: Interval) -> State {
        law.step(State { rate, increase }, 1250.0, &interval)
    }

    fn close(value: f64, expected: f64) {
        assert!((value / expected - 1.0).abs() < 1e-5, "{value} for {expected}");
    }

    /// `docs/models/loss-discrimination.md`, section "LDA and LDA+": 1 of 4 Mbit/s, an increase of 10 kbit/s: 17.5
    /// kbit/s more; 10 % of loss take 30 %.
    #[test]
    fn lda() {
        let law = Law::Lda { decrease: 3.0 };
        let grown = step(law, 125e3, 1250.0, CLEAN);
        assert_eq!(grown, State { rate: 125e3 + 2187.5, increase: 2187.5 });
        let cut = step(law, 125e3, 2187.5, Interval { loss: 0.1, ..CLEAN });
        close(cut.rate, 87.5e3);
        assert_eq!(cut.increase, 1250.0);
        assert_eq!(step(law, 125e3, 1250.0, Interval { loss: 0.5, ..CLEAN }).rate, 0.0);
        // Never more than a TCP: 500 B * 51 / 0.1 s.
        close(step(law, 125e3, 1e6, CLEAN).increase, 255e3);
    }

    /// `docs/models/loss-discrimination.md`, section "LDA and LDA+": the least of the three increases, each in turn.
    #[test]
    fn lda_plus_increase() {
        close(step(Law::LdaPlus, 125e3, 1250.0, CLEAN).increase, 1.75 * 1250.0);
        close(step(Law::LdaPlus, 495e3, 1e6, CLEAN).increase, 495e3 * (1.0 - libm::exp(-0.01)));
        close(step(Law::LdaPlus, 495e3, 1e6, CLEAN).increase, 4925.33);
        let wide = Interval { bottleneck: f64::INFINITY, ..CLEAN };
        close(step(Law::LdaPlus, 1e6, 1e6, wide).increase, 255e3);
        assert_eq!(step(Law::LdaPlus, 600e3, 1250.0, CLEAN).increase, 0.0, "above the bottleneck");
    }

    /// `docs/models/loss-discrimination.md`, section "LDA and LDA+": 4 % of loss take a fifth, but nothing below the
    /// equation's 355.4 kbit/s.
    #[test]
    fn lda_plus_decrease() {
        let lossy = Interval { loss: 0.04, ..CLEAN };
        let cut = step(Law::LdaPlus, 125e3, 9e3, lossy);
        assert_eq!(cut, State { rate: 100e3, increase: 1250.0 });
        close(step(Law::LdaPlus, 50e3, 9e3, lossy).rate, 44_425.5);
    }

    /// `docs/models/loss-discrimination.md`, section "Smoothed LDA": a quarter of the way up, half of it down,
    /// nothing within 10 %.
    #[test]
    fn smoothed() {
        let law = Law::Smoothed { up: 0.25, down: 0.5, dead: 0.1 };
        let lossy = Interval { loss: 0.04, ..CLEAN };
        close(step(law, 24_425.5, 0.0, lossy).rate, 29_425.5);
        close(step(law, 64_425.5, 0.0, lossy).rate, 54_425.5);
        assert_eq!(step(law, 48e3, 0.0, lossy).rate, 48e3);
        assert_eq!(step(law, 41e3, 0.0, lossy).rate, 41e3);
        close(step(law, 125e3, 0.0, CLEAN).rate, 125e3 + 255e3 / 4.0);
    }
}
