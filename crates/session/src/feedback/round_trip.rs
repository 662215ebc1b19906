//! The sender's round-trip estimate, as it is written on packets.

use seaway_units::TimeDelta;

/// Weight of the old value (RFC 5348 section 4.3, step 2).
const OLD: f64 = 0.9;
/// A longer sample comes from a broken clock or is forged.
const ABSURD: TimeDelta = TimeDelta::from_secs(60);

/// Smooths samples of the round-trip time.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RoundTrip {
    smoothed: Option<TimeDelta>,
    last: Option<TimeDelta>,
    minimum: Option<TimeDelta>,
}

impl RoundTrip {
    /// Takes a sample and returns it if it is plausible.
    pub(crate) fn on_sample(&mut self, sample: TimeDelta) -> Option<TimeDelta> {
        if sample <= TimeDelta::ZERO || sample > ABSURD {
            return None;
        }
        let smoothed = |old: TimeDelta| old.mul_f64(OLD) + sample.mul_f64(1.0 - OLD);
        self.smoothed = Some(self.smoothed.map_or(sample, smoothed));
        self.last = Some(sample);
        self.minimum = Some(self.minimum.map_or(sample, |minimum| minimum.min(sample)));
        Some(sample)
    }

    /// The smoothed value, `None` before the first sample.
    pub(crate) fn smoothed(&self) -> Option<TimeDelta> {
        self.smoothed
    }

    /// The last sample.
    pub(crate) fn last(&self) -> Option<TimeDelta> {
        self.last
    }

    /// The least sample since the start or the last change of route.
    pub(crate) fn minimum(&self) -> Option<TimeDelta> {
        self.minimum
    }

    /// The smoothed value as packets carry it: whole microseconds, from one up.
    pub(crate) fn on_wire(&self) -> Option<TimeDelta> {
        self.smoothed.map(|rtt| TimeDelta::from_micros(rtt.as_micros().clamp(1, u32::MAX.into())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenth_of_each_sample() {
        let mut rtt = RoundTrip::default();
        assert_eq!(rtt.on_sample(TimeDelta::ZERO), None);
        assert_eq!(rtt.on_sample(TimeDelta::from_secs(100)), None);
        rtt.on_sample(TimeDelta::from_millis(100));
        rtt.on_sample(TimeDelta::from_millis(200));
        assert_eq!(rtt.smoothed(), Some(TimeDelta::from_millis(110)));
        assert_eq!(rtt.minimum(), Some(TimeDelta::from_millis(100)));
        rtt = RoundTrip::default();
        rtt.on_sample(TimeDelta::from_nanos(10));
        assert_eq!(rtt.on_wire(), Some(TimeDelta::from_micros(1)));
    }
}
