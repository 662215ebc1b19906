//! Octets by bins of time.

/// The whole spans of `width` before `t`: the floor, without a call where the processor has no instruction for it.
pub(super) fn whole(t: f64, width: f64) -> i64 {
    let spans = t / width;
    let truncated = spans as i64;
    truncated - i64::from(truncated as f64 > spans)
}

/// Counts octets in bins of 20 ms over the last 1.28 s.
#[derive(Debug, Clone)]
pub(super) struct RateBins {
    bins: [f64; Self::BINS],
    /// The number of the newest bin.
    head: Option<i64>,
}

impl RateBins {
    const BINS: usize = 64;
    const WIDTH: f64 = 0.02;

    pub(super) const fn new() -> Self {
        Self { bins: [0.0; Self::BINS], head: None }
    }

    fn number(t: f64) -> i64 {
        whole(t, Self::WIDTH)
    }

    fn slot(number: i64) -> usize {
        number.rem_euclid(Self::BINS as i64) as usize
    }

    fn roll(&mut self, t: f64) -> i64 {
        let now = Self::number(t);
        let head = self.head.unwrap_or(now);
        for number in (head + 1).max(now - Self::BINS as i64 + 1)..=now {
            self.bins[Self::slot(number)] = 0.0;
        }
        let head = head.max(now);
        self.head = Some(head);
        head
    }

    pub(super) fn add(&mut self, t: f64, bytes: f64) {
        let head = self.roll(t);
        let number = Self::number(t);
        if head - number < Self::BINS as i64 {
            self.bins[Self::slot(number)] += bytes;
        }
    }

    /// The rate over the whole bins of the last `span` before the present one, bit/s.
    pub(super) fn rate(&mut self, t: f64, span: f64) -> f64 {
        let head = self.roll(t);
        let bins = ((span / Self::WIDTH).round() as i64).clamp(1, Self::BINS as i64 - 1);
        let bytes: f64 = (head - bins..head).map(|number| self.bins[Self::slot(number)]).sum();
        bytes * 8.0 / (bins as f64 * Self::WIDTH)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_whole_bins_and_forgets() {
        let mut rate = RateBins::new();
        for ms in 0..1000 {
            rate.add(f64::from(ms) / 1e3, 125.0);
        }
        assert!((rate.rate(1.0, 0.5) - 1e6).abs() < 1.0);
        assert!((rate.rate(1.25, 0.5) - 0.52e6).abs() < 1.0);
        assert_eq!(rate.rate(60.0, 0.5), 0.0);
    }
}
