//! Counters over a window of time.

use seaway_units::Timestamp;

/// What counters stood at when a window began and when it ended. They are looked at before every input: nothing
/// changes between two inputs, so the first look after an instant sees what they stood at then.
#[derive(Debug)]
pub(crate) struct IntervalCounters<S> {
    span: (Timestamp, Timestamp),
    begin: Option<S>,
    end: Option<S>,
}

impl<S: Clone> IntervalCounters<S> {
    pub(crate) fn new(span: (Timestamp, Timestamp)) -> Self {
        Self { span, begin: None, end: None }
    }

    /// From when to when.
    pub(crate) const fn span(&self) -> (Timestamp, Timestamp) {
        self.span
    }

    /// Whether it is open at `now`.
    pub(crate) fn contains(&self, now: Timestamp) -> bool {
        self.span.0 <= now && now < self.span.1
    }

    /// The next instant by which it has to be looked at.
    #[inline]
    pub(crate) fn next_sample(&self) -> Option<Timestamp> {
        match (&self.begin, &self.end) {
            (None, _) => Some(self.span.0),
            (_, None) => Some(self.span.1),
            _ => None,
        }
    }

    /// To be called before each input at `now`.
    #[inline]
    pub(crate) fn sample(&mut self, now: Timestamp, counters: impl Fn() -> S) {
        if self.begin.is_none() && now >= self.span.0 {
            self.begin = Some(counters());
        }
        if self.end.is_none() && now >= self.span.1 {
            self.end = Some(counters());
        }
    }

    /// What they stood at when it began and when it ended; where that has not come, what they stand at.
    pub(crate) fn at_ends(&self, counters: impl Fn() -> S) -> (S, S) {
        let present = |ended: &Option<S>| ended.clone().unwrap_or_else(&counters);
        (present(&self.begin), present(&self.end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_what_happens_inside() {
        let at = Timestamp::from_nanos;
        let mut interval = IntervalCounters::new((at(10), at(20)));
        let mut count = 0;
        for now in [0, 5, 10, 15, 20, 25] {
            interval.sample(at(now), || count);
            assert_eq!(interval.contains(at(now)), (10..20).contains(&now));
            count += 1;
        }
        // The inputs at 10 and 15.
        assert_eq!(interval.at_ends(|| count), (2, 4));
    }
}
