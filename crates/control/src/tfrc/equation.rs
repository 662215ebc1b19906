//! The TCP throughput equation (RFC 5348 section 3.1) and its inverse.

use seaway_units::TimeDelta;
use std::str::FromStr;

/// Which throughput equation, for one acknowledgement a packet (b = 1).
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Equation {
    /// Padhye's, with timeouts.
    Full {
        /// Limits the factor `3 sqrt(3bp/8)` to 1 as Padhye prints it and ns-2 does; RFC 5348 does not.
        clamp: bool,
    },
    /// `k / (R sqrt(p))`, without timeouts.
    Simple {
        /// The constant; theory gives sqrt(3/2).
        k: f64,
    },
    /// MulTFRC's: as many packets as `n` flows, `n` any number above zero (draft-irtf-iccrg-multfrc).
    Weighted {
        /// How many flows it weighs.
        n: f64,
    },
}

/// The least loss event rate above none.
pub(crate) const LEAST_LOSS: f64 = 1e-8;

impl Equation {
    /// Whether it depends on `t_RTO`.
    pub(crate) const fn has_timeout(self) -> bool {
        matches!(self, Self::Full { .. })
    }

    /// RFC 5348's.
    pub const RFC: Self = Self::Full { clamp: false };

    /// Packets a second at round-trip time `rtt` and retransmission timeout `t_rto`, both in seconds, and loss
    /// event rate `p`, from 1e-8 to 1. Times the segment size it is `X_Bps`.
    pub fn packet_rate(self, p: f64, rtt: f64, t_rto: f64) -> f64 {
        self.packet_rate_losing(1.0, p, rtt, t_rto)
    }

    /// The same where a loss event loses `j` packets on average; only the weighted equation looks at that.
    pub fn packet_rate_losing(self, j: f64, p: f64, rtt: f64, t_rto: f64) -> f64 {
        let p = p.clamp(LEAST_LOSS, 1.0);
        match self {
            Self::Full { clamp } => {
                let timeout_share = 3.0 * (3.0 * p / 8.0).sqrt();
                let timeout_share = if clamp { timeout_share.min(1.0) } else { timeout_share };
                1.0 / (rtt * (2.0 * p / 3.0).sqrt() + t_rto * timeout_share * p * (1.0 + 32.0 * p * p))
            }
            Self::Simple { k } => k / (rtt * p.sqrt()),
            // The formula is 21 % off at N = 1 and p = 0.05: there the plain one stands.
            Self::Weighted { n: 1.0 } => Self::RFC.packet_rate(p, rtt, t_rto),
            Self::Weighted { n } => weighted(n, j, p, rtt, t_rto),
        }
    }

    /// The loss event rate at which the equation gives `packet_rate` packets a second: by bisection to 1e-6 of
    /// the rate (RFC 5348 section 6.3.1 asks for 5 %). Rates out of reach give the nearer end of 1e-8 to 1.
    pub fn loss_event_rate(self, packet_rate: f64, rtt: f64, t_rto: f64) -> f64 {
        let (mut low, mut high) = (LEAST_LOSS, 1.0);
        // Geometric halving of eight decades: 64 steps leave nothing to halve.
        for _ in 0..64 {
            let middle = (low * high).sqrt();
            let rate = self.packet_rate(middle, rtt, t_rto);
            if (rate - packet_rate).abs() <= 1e-6 * packet_rate {
                return middle;
            }
            if rate > packet_rate { low = middle } else { high = middle }
        }
        (low * high).sqrt()
    }
}

/// Packets a second of `n` flows (draft-irtf-iccrg-multfrc), for one acknowledgement a packet.
fn weighted(n: f64, j: f64, p: f64, rtt: f64, t_rto: f64) -> f64 {
    // All lost: 1 - p would divide by zero, and no flow sends more than one at the longest timeout.
    let p = p.min(0.999_999);
    let j = if n <= 1.0 { 1.0 } else { j.clamp(1.0, n.ceil()) };
    let affected = if n < 1.0 {
        1.0
    } else {
        let affected = if n < 12.0 { n * (1.0 - libm::pow(1.0 - 1.0 / n, j)) } else { j };
        affected.min(n.ceil()).max(1.0)
    };
    let spread = n - 2.0 * affected;
    let root = (p * affected * (24.0 * n * n + p * affected * spread * spread)).sqrt();
    let x = (affected * p * (2.0 * affected - n) + root) / (6.0 * n * n * p);
    let z = t_rto * (1.0 + 32.0 * p * p) / (1.0 - p);
    let timeouts = (2.0 * j * z / (rtt * (1.0 + 3.0 * n / j) * x * x)).min(n * z / (x * rtt)).min(n);
    (1.0 - timeouts / n) / (p * x * rtt) + timeouts / (z * (1.0 - p))
}

impl FromStr for Equation {
    type Err = &'static str;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const WRONG: &str = "no such equation";
        match text {
            "full" => Ok(Self::RFC),
            // S000 Table 1 is reproduced to 0.01 % by 1.500, not by the "1,502" it states.
            "simple" => Ok(Self::Simple { k: 1.5 }),
            _ => {
                let k = text.strip_prefix("simple(").and_then(|rest| rest.strip_suffix(')')).ok_or(WRONG)?;
                let k: f64 = k.trim().parse().map_err(|_| WRONG)?;
                if (0.1..=10.0).contains(&k) { Ok(Self::Simple { k }) } else { Err("k is out of range") }
            }
        }
    }
}

/// Where the equation's `t_RTO` comes from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RetransmitTimeout {
    /// Four round-trip times (RFC 5348 section 4.3).
    FourRtts,
    /// The same, at least a second (RFC 5348 section 4.3, the alternative).
    AtLeastOneSecond,
    /// One value, seconds.
    Constant(f64),
    /// ns-2's coarse TCP estimator in ticks of 0.1 s.
    Coarse,
}

impl FromStr for RetransmitTimeout {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "4R" => Ok(Self::FourRtts),
            "floor" => Ok(Self::AtLeastOneSecond),
            "coarse" => Ok(Self::Coarse),
            _ => {
                let time: TimeDelta =
                    text.parse().map_err(|error: seaway_units::ParseError| error.to_string())?;
                let seconds = time.as_secs_f64();
                if (0.001..=64.0).contains(&seconds) {
                    Ok(Self::Constant(seconds))
                } else {
                    Err("out of range".to_owned())
                }
            }
        }
    }
}

/// Keeps the equation's `t_RTO` (seconds).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimeoutEstimator {
    rule: RetransmitTimeout,
    /// ns-2's smoothed value times 8 and deviation times 4, in ticks.
    coarse: Option<(i64, i64)>,
}

impl TimeoutEstimator {
    /// Nothing sampled yet.
    pub const fn new(rule: RetransmitTimeout) -> Self {
        Self { rule, coarse: None }
    }

    /// Takes a sample of the round-trip time in seconds; only the coarse estimator needs them.
    pub fn update(&mut self, sample: f64) {
        // Half a tick counts as a whole one, whatever the division rounded.
        let ticks = ((sample / 0.1 + 0.5 + 1e-9).floor() as i64).clamp(1, 1 << 20);
        let (mut smoothed, mut deviation) = self.coarse.unwrap_or((8 * ticks, 2 * ticks));
        if self.coarse.is_some() {
            let error = ticks - (smoothed >> 3);
            smoothed = (smoothed + error).max(1);
            deviation = (deviation + error.abs() - (deviation >> 2)).max(1);
        }
        self.coarse = Some((smoothed, deviation));
    }

    /// `t_RTO` in seconds at the smoothed round-trip time `rtt`.
    pub fn get(&self, rtt: f64) -> f64 {
        match self.rule {
            RetransmitTimeout::FourRtts => 4.0 * rtt,
            RetransmitTimeout::AtLeastOneSecond => (4.0 * rtt).max(1.0),
            RetransmitTimeout::Constant(seconds) => seconds,
            RetransmitTimeout::Coarse => match self.coarse {
                Some((smoothed, deviation)) => 0.1 * ((8 * deviation + smoothed) >> 3) as f64,
                None => 4.0 * rtt,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn f(p: f64) -> f64 {
        1.0 / Equation::RFC.packet_rate(p, 1.0, 4.0)
    }

    /// RFC 5348 section 3.1 with `t_RTO = 4R`: values worked by hand from its terms.
    #[test]
    fn full_equation_to_1e_9() {
        for p in [0.0001, 0.001, 0.01, 0.02, 0.05, 0.1, 0.2, 1.0_f64] {
            let by_hand = (2.0 * p / 3.0).sqrt() + 12.0 * (0.375 * p).sqrt() * p * (1.0 + 32.0 * p * p);
            assert!((f(p) / by_hand - 1.0).abs() < 1e-9, "{p}");
        }
        // p = 2/75: sqrt(2p/3) = 2/15, sqrt(3p/8) = 1/10, so f = 2/15 + 1.2 * 2/75 * (1 + 32 * 4/5625).
        let p = 2.0 / 75.0;
        assert!((f(p) / (2.0 / 15.0 + 0.032 * (1.0 + 128.0 / 5625.0)) - 1.0).abs() < 1e-9);
    }

    /// The printed table: f(p), kbit/s at s = 1460 B and R = 0.1 s, and the simple equation's.
    #[test]
    fn table_of_both_equations() {
        let simple = Equation::Simple { k: 1.5_f64.sqrt() };
        for (p, factor, full, without_timeouts) in [
            (0.0001, 0.008172, 14292.2, 14305.0),
            (0.001, 0.026052, 4483.3, 4523.6),
            (0.01, 0.089022, 1312.0, 1430.5),
            (0.02, 0.136521, 855.6, 1011.5),
            (0.05, 0.271305, 430.5, 639.7),
            (0.1, 0.564939, 206.8, 452.4),
            (0.2, 1.863717, 62.7, 319.9),
            (1.0, 243.316, 0.48, 143.1),
        ] {
            assert!((f(p) / factor - 1.0).abs() < 1e-4, "{p}: {}", f(p));
            let kbps = |equation: Equation| equation.packet_rate(p, 0.1, 0.4) * 1460.0 * 8.0 / 1000.0;
            assert!((kbps(Equation::RFC) - full).abs() < 0.06, "{p}: {}", kbps(Equation::RFC));
            assert!((kbps(simple) - without_timeouts).abs() < 0.051, "{p}: {}", kbps(simple));
        }
    }

    /// S000 Table 1 by k = 1.5.
    #[test]
    fn simple_equation_of_s000_table_1() {
        let simple: Equation = "simple".parse().unwrap();
        for (p, rtt, packets) in [
            (0.05, 0.0214, 313.47),
            (0.10, 0.02205, 215.12),
            (0.15, 0.02375, 163.07),
            (0.20, 0.02915, 115.06),
        ] {
            assert!((simple.packet_rate(p, rtt, 4.0 * rtt) / packets - 1.0).abs() < 1e-4, "{p}");
        }
    }

    /// Intervals that give a wanted number of packets a round-trip time (RFC 5348 section 6.3.1).
    #[test]
    fn inverse() {
        for (per_rtt, interval) in
            [(0.5, 4.844), (1.0, 6.855), (2.0, 11.016), (4.0, 22.0), (10.0, 82.151), (100.0, 6684.6)]
        {
            let p = Equation::RFC.loss_event_rate(per_rtt / 0.1, 0.1, 0.4);
            assert!((1.0 / p / interval - 1.0).abs() < 1e-4, "{per_rtt}: {}", 1.0 / p);
        }
        assert!(Equation::RFC.loss_event_rate(1e12, 0.1, 0.4) < 1.1e-8);
        assert!(Equation::RFC.loss_event_rate(0.0, 0.1, 0.4) > 0.99);
    }

    /// RFC 4828 Table 1 counts 40 B of headers on segments of 1460 B, R = 0.1 s: kB/s, within 0.15 %.
    #[test]
    fn table_1_of_rfc_4828() {
        for (p, printed, ours) in
            [(0.001, 576.12, 575.77), (0.01, 168.61, 168.50), (0.1, 26.58, 26.55), (0.2, 8.06, 8.05)]
        {
            let rate = Equation::RFC.packet_rate(p, 0.1, 0.4) * 1500.0 / 1000.0;
            assert!((rate - ours).abs() < 0.0051 && (rate / printed - 1.0).abs() < 0.0015, "{p}: {rate}");
        }
    }

    /// ns-2's equation, s = 1000 B, kbit/s: R = 108 ms with `t_RTO` 0.3 s and 4R, and R = 100.8 ms with 0.3 s.
    #[test]
    fn values_with_a_constant_timeout() {
        let kbps = |p, rtt, t_rto| Equation::Full { clamp: true }.packet_rate(p, rtt, t_rto) * 8.0;
        for (p, constant, four) in [
            (0.01, 853.7, 832.1),
            (0.02, 569.4, 542.6),
            (0.05, 303.3, 273.0),
            (0.1, 157.2, 131.1),
            (0.2, 52.7, 39.7),
        ] {
            assert!((kbps(p, 0.108, 0.3) - constant).abs() < 0.051, "{p}");
            assert!((kbps(p, 0.108, 0.432) - four).abs() < 0.051, "{p}");
        }
        assert!((kbps(0.01, 0.1008, 0.3) - 910.8).abs() < 0.051);
        assert!((kbps(0.1, 0.1008, 0.3) - 163.2).abs() < 0.051);
    }

    /// ns-2's coarse timeout: settled under a constant round-trip time, and after the first sample.
    #[test]
    fn coarse_timeout() {
        let settled = |rtt: f64, samples: usize| {
            let mut estimator = TimeoutEstimator::new(RetransmitTimeout::Coarse);
            for _ in 0..samples {
                estimator.update(rtt);
            }
            estimator.get(rtt)
        };
        for (rtt, timeout) in [
            (0.020, 0.3),
            (0.149, 0.3),
            (0.150, 0.5),
            (0.249, 0.5),
            (0.250, 0.6),
            (0.349, 0.6),
            (0.460, 0.8),
            (0.500, 0.8),
            (1.0, 1.3),
        ] {
            assert!((settled(rtt, 200) - timeout).abs() < 1e-9, "{rtt}: {}", settled(rtt, 200));
        }
        for (rtt, timeout) in [(0.1, 0.3), (0.2, 0.6), (0.3, 0.9)] {
            assert!((settled(rtt, 1) - timeout).abs() < 1e-9, "{rtt}");
        }
    }

    /// MulTFRC's check values: s = 1000, R = 0.1, j = 1, `t_RTO` = 0.4 s, B/s.
    #[test]
    fn weighted_equation() {
        for (n, rates) in [
            (0.5, [189_499.0, 56_389.0, 21_531.0]),
            (2.0, [771_955.0, 236_612.0, 89_098.0]),
            (4.0, [1_548_457.0, 476_404.0, 176_940.0]),
            (8.0, [3_101_416.0, 955_793.0, 351_778.0]),
        ] {
            for (p, rate) in [0.001, 0.01, 0.05].into_iter().zip(rates) {
                let ours = 1000.0 * Equation::Weighted { n }.packet_rate(p, 0.1, 0.4);
                assert!((ours - rate).abs() <= 1.0, "N = {n}, p = {p}: {ours}");
            }
        }
        for (p, formula, plain) in
            [(0.001, 383_673.0, 383_844.0), (0.01, 116_571.0, 112_332.0), (0.05, 44_544.0, 36_859.0)]
        {
            assert!((1000.0 * weighted(1.0, 1.0, p, 0.1, 0.4) - formula).abs() <= 1.0, "{p}");
            assert!((1000.0 * Equation::Weighted { n: 1.0 }.packet_rate(p, 0.1, 0.4) - plain).abs() <= 1.0);
        }
        for n in [0.1, 0.5, 3.7, 20.0] {
            for p in [0.0, 1e-8, 0.5, 1.0] {
                let rate = Equation::Weighted { n }.packet_rate_losing(5.0, p, 0.1, 0.4);
                assert!(rate.is_finite() && rate > 0.0, "N = {n}, p = {p}: {rate}");
            }
        }
    }

    /// The same where an event loses `j` packets: the affected flows are n (1 - (1 - 1/n)^j) below twelve flows, and j from there on.
    #[test]
    fn weighted_equation_of_longer_events() {
        for (n, j, p, rate) in [
            (0.5, 3.0, 0.01, 56_389.3),
            (2.5, 2.0, 0.01, 221_859.6),
            (4.0, 2.0, 0.01, 342_669.2),
            (11.0, 3.0, 0.01, 727_182.0),
            (12.0, 3.0, 0.01, 766_707.0),
            (20.0, 3.0, 0.05, 216_999.7),
            (20.0, 3.0, 0.2, 21_929.8),
        ] {
            let ours = 1000.0 * Equation::Weighted { n }.packet_rate_losing(j, p, 0.1, 0.4);
            assert!((ours - rate).abs() < 0.1, "N = {n}, j = {j}, p = {p}: {ours}");
        }
    }

    #[test]
    fn timeouts_by_their_rules() {
        for (rule, rtt, timeout) in [
            ("4R", 0.1, 0.4),
            ("floor", 0.1, 1.0),
            ("floor", 0.5, 2.0),
            ("0.3 s", 0.1, 0.3),
            // Before its first sample.
            ("coarse", 0.1, 0.4),
        ] {
            let estimator = TimeoutEstimator::new(rule.parse().unwrap());
            assert_eq!(estimator.get(rtt), timeout, "{rule}");
        }
    }

    #[test]
    fn text_form() {
        assert_eq!("full".parse(), Ok(Equation::RFC));
        assert_eq!("simple(1.22)".parse(), Ok(Equation::Simple { k: 1.22 }));
        for wrong in ["", "padhye", "simple(", "simple(0)", "simple(nan)", "simple(inf)"] {
            assert!(wrong.parse::<Equation>().is_err(), "{wrong}");
        }
        assert_eq!("0.3 s".parse(), Ok(RetransmitTimeout::Constant(0.3)));
        for wrong in ["0.3", "0 s", "100 s", "5R"] {
            assert!(wrong.parse::<RetransmitTimeout>().is_err(), "{wrong}");
        }
    }
}
