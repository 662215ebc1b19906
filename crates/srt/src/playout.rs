//! When a packet is delivered: timestamp-based packet delivery (draft-sharabayko-srt-01, section 4.5).

use seaway_units::{TimeDelta, Timestamp};

/// Samples of the peer's clock between two corrections, as in libsrt: ten seconds.
const SAMPLES: u32 = 1000;
/// A packet does not wait longer than this beyond the latency, whatever its timestamp says.
const FARTHEST: TimeDelta = TimeDelta::from_secs(1);
/// A correction moves the clock by this at most: 50 ppm for ten seconds are 0.5 ms.
const STEP: i64 = 5_000;

/// The clock of the peer, in ours.
#[derive(Debug)]
pub(crate) struct PlayoutClock {
    /// Our microsecond at which the peer's clock was zero; it may be before our origin.
    base: i64,
    latency: TimeDelta,
    drift: Drift,
}

#[derive(Debug, Default)]
struct Drift {
    sum: i64,
    count: u32,
    /// Half of the first round-trip time, in microseconds.
    first_half: Option<i64>,
}

impl PlayoutClock {
    /// The clock of a peer whose packet with `timestamp` arrives `now`.
    pub(crate) fn new(now: Timestamp, timestamp: u32, latency: TimeDelta) -> Self {
        Self { base: micros(now) - i64::from(timestamp), latency, drift: Drift::default() }
    }

    /// When a packet that arrives `now` is delivered.
    pub(crate) fn due(&self, now: Timestamp, timestamp: u32) -> Timestamp {
        let due = self.base + self.extended(now, timestamp) + self.latency.as_micros();
        let latest = now + self.latency + FARTHEST;
        instant(due).min(latest)
    }

    /// A packet that the peer made just now: the answer to an acknowledgement. Section 4.7.
    pub(crate) fn on_sample(&mut self, now: Timestamp, timestamp: u32, rtt: TimeDelta) {
        let half = rtt.as_micros() / 2;
        let first_half = *self.drift.first_half.get_or_insert(half);
        let longer = half.saturating_sub(first_half);
        let sample = micros(now) - self.base - self.extended(now, timestamp) - longer;
        self.drift.sum = self.drift.sum.saturating_add(sample);
        self.drift.count += 1;
        if self.drift.count == SAMPLES {
            let mean = self.drift.sum / i64::from(SAMPLES);
            self.base += mean.clamp(-STEP, STEP);
            self.drift = Drift { first_half: self.drift.first_half, ..Drift::default() };
        }
    }

    /// The timestamp beyond 32 bits: what is nearest to the peer's present time.
    fn extended(&self, now: Timestamp, timestamp: u32) -> i64 {
        let present = micros(now) - self.base;
        present + i64::from(timestamp.wrapping_sub(present as u32) as i32)
    }
}

fn micros(at: Timestamp) -> i64 {
    (at.as_nanos() / 1000) as i64
}

fn instant(micros: i64) -> Timestamp {
    Timestamp::from_nanos(u64::try_from(micros).unwrap_or(0).saturating_mul(1000))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: i64) -> Timestamp {
        Timestamp::ZERO + TimeDelta::from_millis(ms)
    }

    #[test]
    fn packets_keep_their_distances_across_the_wrap() {
        let first = u32::MAX - 4_999;
        let clock = PlayoutClock::new(at(1000), first, TimeDelta::from_millis(120));
        assert_eq!(clock.due(at(1000), first), at(1120));
        // The arrival does not count.
        assert_eq!(clock.due(at(1017), 5_000), at(1130));
        assert_eq!(clock.due(at(1050), 5_000), at(1130));
        // After two wraps of 71.6 minutes.
        let later = 2 * (1_i64 << 32) / 1000;
        assert_eq!(clock.due(at(1000 + later), first).since(at(1120 + later)).as_millis(), 0);
    }

    #[test]
    fn an_absurd_timestamp_does_not_wait_for_long() {
        let clock = PlayoutClock::new(at(1000), 0, TimeDelta::from_millis(120));
        assert_eq!(clock.due(at(1000), 1 << 30), at(2120));
        assert_eq!(clock.due(at(1000), 1 << 31), Timestamp::ZERO);
    }

    /// A clock that is 100 ppm slower, for an hour: without correction packets would be 360 ms early.
    #[test]
    fn drift_is_followed() {
        let mut clock = PlayoutClock::new(at(0), 0, TimeDelta::from_millis(120));
        let peer = |ms: i64| (ms * 1000 - ms / 10) as u32;
        for step in 0..360_000 {
            let now = at(10 * step);
            clock.on_sample(now, peer(10 * step), TimeDelta::from_millis(40));
        }
        let wait = clock.due(at(3_600_000), peer(3_600_000)).since(at(3_600_000));
        assert!((118..=120).contains(&wait.as_millis()), "{wait}");
    }
}
