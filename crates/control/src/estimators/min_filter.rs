//! Minima over recent samples and over long windows.

use seaway_units::{TimeDelta, Timestamp, Transit};

/// The least of the last `N` samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RecentMin<const N: usize> {
    samples: [f64; N],
    next: usize,
    len: usize,
}

impl<const N: usize> RecentMin<N> {
    /// No sample.
    pub const fn new() -> Self {
        Self { samples: [0.0; N], next: 0, len: 0 }
    }

    /// Takes a sample in the place of the oldest.
    pub fn push(&mut self, sample: f64) {
        self.samples[self.next] = sample;
        self.next = if self.next + 1 == N { 0 } else { self.next + 1 };
        self.len = (self.len + 1).min(N);
    }

    /// The least of all there are.
    pub fn get(&self) -> Option<f64> {
        self.samples[..self.len].iter().copied().reduce(f64::min)
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        *self = Self::new();
    }
}

impl<const N: usize> Default for RecentMin<N> {
    fn default() -> Self {
        Self::new()
    }
}

/// Base delay: the least transit over `N` buckets of time, so that it follows a slow drift of the clocks or a
/// longer route in the end (LEDBAT's history, RFC 6817 section 3.4.1).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BaseDelay<const N: usize> {
    bucket: TimeDelta,
    /// Newest first.
    minima: [Option<Transit>; N],
    /// The least of them.
    base: Option<Transit>,
    begun: Option<Timestamp>,
}

impl<const N: usize> BaseDelay<N> {
    /// Nothing known; each bucket spans `bucket`.
    pub const fn new(bucket: TimeDelta) -> Self {
        Self { bucket, minima: [None; N], base: None, begun: None }
    }

    /// Takes a transit and gives its delay above the base, zero at least.
    pub fn update(&mut self, now: Timestamp, transit: Transit) -> TimeDelta {
        self.roll(now);
        let newest = &mut self.minima[0];
        *newest = Some(newest.map_or(transit, |least| least.min(transit)));
        let base = self.base.map_or(transit, |base| base.min(transit));
        self.base = Some(base);
        transit - base
    }

    /// The base, where anything came.
    pub const fn get(&self) -> Option<Transit> {
        self.base
    }

    /// Nothing is forgotten until now: the present bucket begins anew.
    pub const fn hold(&mut self, now: Timestamp) {
        if self.begun.is_some() {
            self.begun = Some(now);
        }
    }

    /// The path is longer by `longer` than what is known of it.
    pub fn add(&mut self, longer: TimeDelta) {
        for known in self.minima.iter_mut().chain([&mut self.base]).flatten() {
            *known = *known + longer;
        }
    }

    /// The path changed: starts afresh.
    pub const fn reset(&mut self) {
        *self = Self::new(self.bucket);
    }

    fn roll(&mut self, now: Timestamp) {
        let Some(begun) = self.begun else {
            self.begun = Some(now);
            return;
        };
        let age = now.since(begun);
        if age < self.bucket {
            return;
        }
        let passed = age.as_nanos() / self.bucket.as_nanos();
        for _ in 0..passed.min(N as i64) {
            self.minima.copy_within(..N - 1, 1);
            self.minima[0] = None;
        }
        self.begun = Some(begun + self.bucket * passed);
        self.base = self.minima.iter().flatten().min().copied();
    }
}

/// Holds a transit back that is shorter than all others by far until a second one confirms it. A single one is a forged
/// packet or a wrong clock, and would stay the base delay for as long as that is remembered.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct EarlyFilter {
    least: Option<Transit>,
    early: Option<Transit>,
}

impl EarlyFilter {
    /// A transit that is shorter by more has to be confirmed.
    const FAR: TimeDelta = TimeDelta::from_millis(10);

    /// Nothing known.
    pub const fn new() -> Self {
        Self { least: None, early: None }
    }

    /// The transit as it counts: of the first early one, the least before it.
    pub fn confirmed(&mut self, transit: Transit) -> Transit {
        let least = self.least.unwrap_or(transit);
        if least - transit <= Self::FAR {
            self.least = Some(least.min(transit));
            return transit;
        }
        let counted = self.early.replace(transit).map_or(least, |early| early.max(transit).min(least));
        self.least = Some(counted);
        counted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seaway_units::RemoteTimestamp;

    #[test]
    fn least_of_the_last_three() {
        let mut least = RecentMin::<3>::new();
        assert_eq!(least.get(), None);
        for (sample, expected) in [(5.0, 5.0), (2.0, 2.0), (9.0, 2.0), (7.0, 2.0), (8.0, 7.0)] {
            least.push(sample);
            assert_eq!(least.get(), Some(expected));
        }
    }

    #[test]
    fn base_is_forgotten_bucket_by_bucket() {
        let at = |secs| Timestamp::ZERO + TimeDelta::from_secs(secs);
        let transit = |ms: u64| RemoteTimestamp::from_nanos(ms * 1_000_000).transit_from(Timestamp::ZERO);
        let mut base = BaseDelay::<2>::new(TimeDelta::from_secs(10));
        assert_eq!(base.update(at(0), transit(30)), TimeDelta::ZERO);
        assert_eq!(base.update(at(9), transit(50)), TimeDelta::from_millis(20));
        // The first bucket's minimum lives on through the second, and is gone in the third.
        assert_eq!(base.update(at(19), transit(50)), TimeDelta::from_millis(20));
        assert_eq!(base.update(at(20), transit(50)), TimeDelta::ZERO);
        assert_eq!(base.update(at(2000), transit(90)), TimeDelta::ZERO, "long silence forgets all");
    }

    #[test]
    fn one_early_packet_is_no_base() {
        let transit = |ms: u64| RemoteTimestamp::from_nanos(ms * 1_000_000).transit_from(Timestamp::ZERO);
        let mut filter = EarlyFilter::default();
        let transits = [30, 1, 40, 25, 40, 13, 12, 40].map(transit);
        // 25 ms is near 30; 13 ms confirms that less than 25 is possible, and 12 ms is near that.
        assert_eq!(transits.map(|one| filter.confirmed(one)), [30, 30, 40, 25, 40, 13, 12, 40].map(transit));
    }
}
