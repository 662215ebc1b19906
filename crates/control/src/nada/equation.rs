//! The equations of RFC 8698 as pure functions. Times in ms, rates in bit/s.

use super::config::*;

/// Non-linear warping of the queueing delay (equation 1).
pub(super) fn warped(delay: f64, threshold: f64) -> f64 {
    if delay < threshold {
        delay
    } else {
        threshold * libm::exp(-WARP_EXPONENT * (delay - threshold) / threshold)
    }
}

/// What the delay counts for, `since` packets after the last loss, where losses come every `interval` packets
/// (section 4.2): warped while losses are recent, blended back over one more interval, plain afterwards.
pub(super) fn perceived(delay: f64, threshold: f64, interval: Option<f64>, since: f64) -> f64 {
    let Some(interval) = interval.filter(|interval| *interval > 0.0) else { return delay };
    let plain = ((since - LOSS_EXPIRY * interval) / interval).clamp(0.0, 1.0);
    plain * delay + (1.0 - plain) * warped(delay, threshold)
}

/// What a ratio of lost or marked packets adds to the congestion signal (equation 2).
pub(super) fn penalty(ratio: f64, at_reference: f64) -> f64 {
    let relative = ratio / REFERENCE_RATIO;
    at_reference * relative * relative
}

/// `gamma`: the step of accelerated ramp-up (equation 3), with feedback every `interval`.
pub(super) fn ramp_up_step(rtt: f64, interval: f64) -> f64 {
    LARGEST_STEP.min(SELF_INFLICTED / (rtt + interval + FILTER_DELAY))
}

/// One gradual update.
#[derive(Debug, Clone, Copy)]
pub(super) struct Gradual {
    /// `x_curr`.
    pub(super) signal: f64,
    /// `x_prev`.
    pub(super) previous: f64,
    /// `PRIO * XREF * RMAX`.
    pub(super) weight: f64,
    /// `delta`.
    pub(super) interval: f64,
    /// `tau`.
    pub(super) longest_rtt: f64,
}

impl Gradual {
    /// The signal at which `rate` would stay.
    pub(super) fn balance(&self, rate: f64) -> f64 {
        self.weight / rate
    }

    /// `r_ref` afterwards, before it is clipped (equations 5 to 7).
    pub(super) fn apply(&self, rate: f64) -> f64 {
        let offset = (self.signal - self.balance(rate)) / self.longest_rtt;
        let change = (self.signal - self.previous) / self.longest_rtt;
        rate * (1.0 - GAIN * (self.interval / self.longest_rtt) * offset - GAIN * CHANGE_GAIN * change)
    }
}

/// By how much a backlog in octets lowers the encoder's rate and raises the sending rate (equations 8 and 9).
pub(super) fn shaping(rate: f64, backlog: f64) -> f64 {
    (SHAPING_BOUND * rate).min(SHAPING * 8.0 * backlog * FRAME_RATE)
}

/// Smoothing of a ratio (equation 10).
pub(super) fn smoothed(ratio: f64, sample: f64) -> f64 {
    RATIO_GAIN * sample + (1.0 - RATIO_GAIN) * ratio
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, expected: f64, within: f64) {
        assert!((found - expected).abs() <= within, "{found}, not {expected}");
    }

    /// RFC 8698 equation 3, worked.
    #[test]
    fn ramp_up_steps() {
        for (rtt, step) in [(0.0, 0.2273), (50.0, 0.1852), (100.0, 0.15625), (250.0, 0.1064)] {
            near(ramp_up_step(rtt, 100.0), step, 5e-5);
        }
    }

    /// RFC 8698 equation 1, worked; and the blend of section 4.2.
    #[test]
    fn warping() {
        for (delay, expected) in [
            (20.0, 20.0),
            (49.9, 49.9),
            (50.0, 50.0),
            (60.0, 45.242),
            (75.0, 38.940),
            (100.0, 30.327),
            (150.0, 18.394),
            (300.0, 4.104),
        ] {
            near(warped(delay, 50.0), expected, 5e-4);
        }
        near(perceived(150.0, 50.0, Some(100.0), 750.0), 84.197, 5e-4);
        near(perceived(150.0, 50.0, Some(100.0), 699.0), 18.394, 5e-4);
        near(perceived(150.0, 50.0, Some(100.0), 800.0), 150.0, 0.0);
        near(perceived(150.0, 50.0, None, 3.0), 150.0, 0.0);
    }

    /// RFC 8698 equation 2, worked.
    #[test]
    fn penalties() {
        for (ratio, expected) in [(0.01, 10.0), (0.02, 40.0), (0.05, 250.0), (0.1, 1000.0)] {
            near(penalty(ratio, LOSS_PENALTY), expected, 1e-9);
        }
        for (ratio, expected) in [(0.01, 2.0), (0.05, 50.0), (0.1, 200.0)] {
            near(penalty(ratio, MARK_PENALTY), expected, 1e-9);
        }
        let recent = perceived(80.0, 50.0, Some(100.0), 1.0);
        near(recent, 37.041, 5e-4);
        near(recent + penalty(0.03, MARK_PENALTY) + penalty(0.02, LOSS_PENALTY), 95.041, 5e-4);
    }

    /// RFC 8698 equation 10, worked.
    #[test]
    fn ratio_smoothing() {
        let after = |start, sample, times| (0..times).fold(start, |ratio, _| smoothed(ratio, sample));
        near(after(0.0, 0.1, 5), 0.040951, 1e-9);
        near(penalty(after(0.0, 0.1, 5), LOSS_PENALTY), 167.7, 0.05);
        near(after(0.04, 0.0, 10), 0.013947, 5e-7);
    }

    /// RFC 8698 equations 5 to 7, worked at RMAX 1.5 Mbit/s.
    #[test]
    fn gradual_steps() {
        for (rate, signal, previous, priority, expected) in [
            (1e6, 30.0, 20.0, 1.0, 977_000.0),
            (1e6, 30.0, 20.0, 2.0, 980_000.0),
            (500e3, 0.0, 0.0, 1.0, 503_000.0),
            (300e3, 50.0, 50.0, 1.0, 300_000.0),
            (1.5e6, 500.0, 0.0, 1.0, -147_000.0),
            (150e3, 0.0, 500.0, 1.0, 303_000.0),
        ] {
            let step = Gradual {
                signal,
                previous,
                weight: priority * 10.0 * 1.5e6,
                interval: 100.0,
                longest_rtt: LONGEST_RTT,
            };
            near(step.apply(rate), expected, 1e-6);
        }
    }

    /// Where the gradual update rests for a constant signal.
    #[test]
    fn equilibrium() {
        for (signal, expected) in
            [(10.0, 1500e3), (20.0, 750e3), (40.0, 375e3), (50.0, 300e3), (100.0, 150e3)]
        {
            let step = Gradual {
                signal,
                previous: signal,
                weight: 10.0 * 1.5e6,
                interval: 100.0,
                longest_rtt: LONGEST_RTT,
            };
            let rate = (0..20_000).fold(1e6, |rate, _| step.apply(rate));
            near(rate, expected, 1.0);
        }
    }

    /// Beyond a round-trip time of `TAU` a step is as much smaller.
    #[test]
    fn a_long_round_trip_steps_less() {
        let step = |longest_rtt| {
            let step =
                Gradual { signal: 0.0, previous: 0.0, weight: 10.0 * 1.5e6, interval: 100.0, longest_rtt };
            step.apply(500e3) - 500e3
        };
        near(step(LONGEST_RTT), 3e3, 1e-6);
        near(step(2.0 * LONGEST_RTT), 0.75e3, 1e-6);
    }

    /// Equation 1 makes two rest points of one link where the queue that balances the rate (equation 6) is above `QTH`: that queue, without
    /// losses; and a longer one, which counts for nothing while the losses that it makes are recent, with the penalty of these in its
    /// place. At 300 kbit/s, `RMAX` 13.5 Mbit/s and a second of room: 450 ms, or 6.5 % of loss.
    #[test]
    fn a_link_has_two_rest_points() {
        let (capacity, room) = (300e3, 1000.0);
        let rests = |rate: f64, signal: f64| {
            let step = Gradual {
                signal,
                previous: signal,
                weight: 10.0 * 13.5e6,
                interval: 100.0,
                longest_rtt: LONGEST_RTT,
            };
            step.apply(rate) / rate - 1.0
        };
        near(rests(capacity, perceived(450.0, 50.0, None, 0.0)), 0.0, 1e-9);
        let lossy = 0.0648;
        let signal = perceived(room, 50.0, Some(100.0), 50.0) + penalty(lossy, LOSS_PENALTY);
        near(rests(capacity / (1.0 - lossy), signal), 0.0, 5e-4);
        assert!(
            rests(capacity / (1.0 - lossy), perceived(room, 50.0, None, 0.0)) < -0.1,
            "without losses it falls"
        );
    }

    /// RFC 8698 equations 8 and 9, worked.
    #[test]
    fn rate_shaping() {
        near(shaping(960e3, 2000.0), 48e3, 1e-6);
        near(shaping(1.5e6, 2000.0), 48e3, 1e-6);
        near(shaping(500e3, 2000.0), 25e3, 1e-6);
    }
}
