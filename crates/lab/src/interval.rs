//! Counters over a measurement interval.

use seaway_units::Timestamp;

/// Counters at the beginning and the end of a measurement interval. They are sampled before every input: nothing changes
/// between two inputs, so the first sample after an instant is the value at that instant.
#[derive(Debug)]
pub(crate) struct IntervalCounters<S> {
    span: (Timestamp, Timestamp),
    /// The next instant by which a sample is due.
    due: Option<Timestamp>,
    begin: Option<S>,
    end: Option<S>,
}

impl<S: Clone> IntervalCounters<S> {
    pub(crate) fn new(span: (Timestamp, Timestamp)) -> Self {
        Self { span, due: Some(span.0.min(span.1)), begin: None, end: None }
    }

    /// Begin and end.
    pub(crate) const fn span(&self) -> (Timestamp, Timestamp) {
        self.span
    }

    /// Whether `now` is in the interval.
    pub(crate) fn contains(&self, now: Timestamp) -> bool {
        self.span.0 <= now && now < self.span.1
    }

    /// The next instant by which a sample is due.
    #[inline]
    pub(crate) fn next_sample(&self) -> Option<Timestamp> {
        self.due
    }

    /// Call this before each input at `now`.
    #[inline]
    pub(crate) fn sample(&mut self, now: Timestamp, counters: impl Fn() -> S) {
        if self.due.is_some_and(|due| due <= now) {
            self.sample_due(now, counters);
        }
    }

    #[cold]
    fn sample_due(&mut self, now: Timestamp, counters: impl Fn() -> S) {
        if self.begin.is_none() && now >= self.span.0 {
            self.begin = Some(counters());
        }
        if self.end.is_none() && now >= self.span.1 {
            self.end = Some(counters());
        }
        let begin = self.begin.is_none().then_some(self.span.0);
        let end = self.end.is_none().then_some(self.span.1);
        self.due = begin.into_iter().chain(end).min();
    }

    /// The counters at the beginning and at the end, or their present values if that is still to come.
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
