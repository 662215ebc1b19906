//! Are there flows of others in the queue? Foreign packets come between ours, in a queue that stands above what we want.

use super::competing::Observed;
use super::delay::Pair;
use std::collections::VecDeque;

/// Distinguishes a shared queue from our own: a foreign packet comes between our groups, and hardly ever inside a group that
/// left back to back. Arrival gaps inside groups and between them are compared (Mann–Whitney).
#[derive(Debug, Clone)]
pub(super) struct Interleaving {
    /// When, the gap, and whether it is inside a group.
    gaps: VecDeque<(f64, f32, bool)>,
    computed: f64,
    /// The probability that a gap inside a group is the shorter one.
    pub(super) auc: f64,
    deviation: f64,
    inside: usize,
    between: usize,
    /// The rate at which our groups are served, bit/s.
    pub(super) service_rate: f64,
    /// The same by the mean gap, which the grain of clocks does not change, where packets are served one by one at one rate.
    steady_rate: Option<f64>,
}

impl Interleaving {
    /// A packet that waited less was not in a queue; less still where a queue drops early.
    const LEAST_WAIT: f64 = 0.012;
    const LEAST_WAIT_OF_AQM: f64 = 0.003;
    const SPAN: f64 = 4.0;
    const GAPS: usize = 240;
    const UPDATE: f64 = 0.2;
    const FEWEST: usize = 4;
    /// Of the service rate that packets must arrive at to have been served one by one.
    const LEAST_SHARE: f64 = 0.2;
    /// Gaps that differ by less are equal.
    const TIE: f64 = 0.05;
    /// Where packets are served one by one at one rate, the upper quartile of their gaps is no more than so many times the mean, but for
    /// the grain of clocks, s. Faster services hide in it, bit/s.
    const STEADY: f64 = 1.3;
    const GRAIN: f64 = 0.001;
    const FASTEST: f64 = 50e6;
    /// Who is alone in the queue of a steady service has all of it.
    const ALL: f64 = 0.7;

    const fn new() -> Self {
        Self {
            gaps: VecDeque::new(),
            computed: 0.0,
            auc: 0.5,
            deviation: 1.0,
            inside: 0,
            between: 0,
            service_rate: 0.0,
            steady_rate: None,
        }
    }

    pub(super) fn on_pair(&mut self, t: f64, pair: &Pair, loss: f64) {
        if pair.wait > if loss > 0.002 { Self::LEAST_WAIT_OF_AQM } else { Self::LEAST_WAIT } {
            self.gaps.push_back((t, pair.spacing as f32, pair.grouped && pair.is_back_to_back()));
            if self.gaps.len() > Self::GAPS {
                self.gaps.pop_front();
            }
        }
    }

    pub(super) fn compute(&mut self, t: f64, packet: f64) {
        if t < self.computed + Self::UPDATE {
            return;
        }
        self.computed = t;
        self.forget_before(t - Self::SPAN);
        let gaps =
            |inside: bool| self.gaps.iter().filter(move |gap| gap.2 == inside).map(|gap| f64::from(gap.1));
        (self.inside, self.between) = (gaps(true).count(), gaps(false).count());
        if self.inside < Self::FEWEST || self.between < Self::FEWEST {
            (self.auc, self.deviation, self.steady_rate) = (0.5, 1.0, None);
            return;
        }
        let wins: f64 =
            gaps(true).map(|inside| gaps(false).map(|other| shorter(inside, other)).sum::<f64>()).sum();
        let (a, b) = (self.inside as f64, self.between as f64);
        self.auc = wins / (a * b);
        self.deviation = ((a + b + 1.0) / (12.0 * a * b)).sqrt();
        let (lower, upper) = quartiles(gaps(true));
        self.service_rate = packet * 8.0 / lower.max(packet * 8.0 / 1e9).max(1e-5);
        let mean = gaps(true).sum::<f64>() / a;
        let rate = packet * 8.0 / mean.max(1e-5);
        let is_steady = rate < Self::FASTEST && upper < Self::STEADY * mean + Self::GRAIN;
        self.steady_rate = is_steady.then_some(rate);
    }

    fn forget_before(&mut self, t: f64) {
        while self.gaps.front().is_some_and(|(at, ..)| *at < t) {
            self.gaps.pop_front();
        }
    }

    fn finds_others(&self) -> bool {
        self.auc > 0.68 && self.auc - 0.5 > 3.5 * self.deviation
    }

    /// Whether gaps show who is served. Packets that come in one aggregate, as on Wi-Fi and from a cell, have none: they
    /// seem to be served many times faster than they arrive.
    pub(super) fn is_conclusive(&self, arrival_rate: f64) -> bool {
        arrival_rate > Self::LEAST_SHARE * self.service_rate
    }

    /// Who sends all that its window holds at once, as the kernel's BBR on a short path, comes between few of our packets, but takes its
    /// part of the service.
    pub(super) fn finds_none(&self, arrival_rate: f64) -> bool {
        let is_all = self.steady_rate.is_none_or(|service| arrival_rate > Self::ALL * service);
        self.auc < 0.62
            && self.inside >= 16
            && self.between >= 16
            && self.is_conclusive(arrival_rate)
            && is_all
    }
}

/// 1 if the gap inside a group is the shorter one, a half if they are equal.
fn shorter(inside: f64, other: f64) -> f64 {
    if (inside - other).abs() <= Interleaving::TIE * inside.max(other) {
        0.5
    } else {
        f64::from(inside < other)
    }
}

/// The lower and the upper one of one gap at least.
fn quartiles(gaps: impl Iterator<Item = f64>) -> (f64, f64) {
    let mut values = [f64::INFINITY; Interleaving::GAPS];
    let mut count = 0;
    for (slot, gap) in values.iter_mut().zip(gaps) {
        *slot = gap;
        count += 1;
    }
    let values = &mut values[..count];
    let lower = *values.select_nth_unstable_by(count / 4, f64::total_cmp).1;
    (lower, *values.select_nth_unstable_by(count * 3 / 4, f64::total_cmp).1)
}

/// What speaks for others in the queue while it is ours as far as we know.
#[derive(Debug, Clone)]
pub(super) struct Others {
    pub(super) interleaving: Interleaving,
    /// Since when packets wait for longer than the threshold.
    waits_since: Option<f64>,
    /// When foreign packets were last seen between ours.
    seen: f64,
    /// Since when the queue is above what a flow of our kind may want, begun again where it fell to half of its highest, and its
    /// highest since.
    standing: Option<(f64, f64)>,
    /// When it last was.
    stood: f64,
    /// For how long gaps and a high queue spoke for others, s, with forgetting, and when they were last looked at.
    evidence: f64,
    looked: f64,
    /// While foreign packets are found: for how long others have left us next to nothing, s, less for how long they have not.
    starved: f64,
    /// When the last doubt began.
    doubted: f64,
}

impl Others {
    /// Standing queue in which others are suspected.
    const THRESHOLD: f64 = 0.015;
    /// The threshold is higher by so many times the jitter, and by no more than the last, s. Foreign packets look like jitter, so a queue
    /// is suspicious above the second one already, unless more than this part of the packets overtake others: then it is jitter.
    const JITTERS: f64 = 4.0;
    const FEW_JITTERS: f64 = 0.25;
    const REORDERED: f64 = 0.01;
    const MOST_JITTER: f64 = 0.030;
    /// A queue is suspicious after so long, s.
    const SUSPICIOUS: f64 = 0.3;
    /// Who saw foreign packets knows for so long that the queue is shared, s.
    const SHARED: f64 = 4.0;
    /// A queue is too high for flows of our kind alone above so many times what we want of it; one that stands so much higher proves
    /// others within a second, and one of a height between after [`PROOF`](Self::PROOF).
    const HIGH: f64 = 1.4;
    const HIGHER: f64 = 1.6;
    const HIGHEST: f64 = 2.2;
    /// It is a new one after so long, s.
    const NEW: f64 = 2.0;
    /// Evidence that proves others, s, and the time in which it is forgotten, s.
    const PROOF: f64 = 3.0;
    const MEMORY: f64 = 40.0;
    /// BBR keeps a few packets in the queue on a short path, which is no more than a flow of our kind wants at a low rate. It takes more
    /// than such flows would where we have less than this share of the service in a queue of more than so many times what we want, or
    /// of the second where we send the least that we may, for so long, s.
    const STARVED: f64 = 0.08;
    const ABOVE: f64 = 1.1;
    const ABOVE_AT_LEAST: f64 = 0.7;
    const STARVED_FOR: f64 = 5.0;
    /// While it is in doubt whose queue it is, so many packets a second leave: fewer would not show it. That is no more than this share
    /// of the service, for so long and each so often, s.
    const PACKETS: f64 = 36.0;
    const SHARE: f64 = 0.25;
    const DOUBT: f64 = 2.0;
    const BETWEEN_DOUBTS: f64 = 8.0;

    pub(super) const fn new() -> Self {
        Self {
            interleaving: Interleaving::new(),
            waits_since: None,
            seen: f64::NEG_INFINITY,
            standing: None,
            stood: f64::NEG_INFINITY,
            evidence: 0.0,
            looked: f64::INFINITY,
            starved: 0.0,
            doubted: f64::NEG_INFINITY,
        }
    }

    /// The queue stands for long enough that groups are sent to find out whose it is.
    pub(super) fn are_suspected(&self, t: f64) -> bool {
        self.waits_since.is_some_and(|since| t - since > Self::SUSPICIOUS)
    }

    /// So much is sent at least, bit/s, while a queue too high for flows of our kind may be that of others.
    pub(super) fn doubt_rate(&self, t: f64, packet: f64) -> Option<f64> {
        let rate = Self::PACKETS * packet * 8.0;
        let is_in_doubt = self.are_suspected(t) && t - self.doubted < Self::DOUBT;
        is_in_doubt.then(|| rate.min(Self::SHARE * self.interleaving.service_rate))
    }

    /// Foreign packets were seen in the queue, of flows that may yield as we do. Delay changes by each of them, which is no jitter.
    pub(super) fn were_seen(&self, t: f64) -> bool {
        t - self.seen < Self::SHARED
    }

    /// Others are in the queue, and it is served at this rate, bit/s, as far as gaps do not show another.
    pub(super) fn are_served_at(&mut self, t: f64, rate: f64) {
        self.seen = t;
        if self.interleaving.service_rate <= 0.0 {
            self.interleaving.service_rate = rate;
        }
    }

    /// The queue is a new one. Others of the old one may come back: that is remembered.
    pub(super) fn forget_queue(&mut self) {
        (self.waits_since, self.standing, self.starved) = (None, None, 0.0);
    }

    /// Gives whether foreign packets come between ours.
    pub(super) fn look(&mut self, t: f64, packet: f64) -> bool {
        self.interleaving.compute(t, packet);
        let finds_others = self.interleaving.finds_others();
        if finds_others {
            self.seen = t;
        }
        finds_others
    }

    /// Others keep the queue higher than flows of our kind would.
    pub(super) fn are_found(&mut self, seen: &Observed, packet: f64) -> bool {
        let passed = (seen.t - self.looked).clamp(0.0, 0.1);
        self.looked = seen.t;
        self.evidence *= libm::exp(-passed / Self::MEMORY);
        if seen.queue <= Self::THRESHOLD {
            self.forget_queue();
            return false;
        }
        let is_jitter = seen.reordered > Self::REORDERED;
        if seen.queue > Self::threshold(seen, if is_jitter { Self::JITTERS } else { Self::FEW_JITTERS }) {
            self.waits_since.get_or_insert(seen.t);
        } else {
            self.waits_since = None;
        }
        let finds_others = self.look(seen.t, packet);
        let times = seen.queue / seen.target_queue.max(1e-6);
        if self.are_suspected(seen.t) && times > Self::HIGH && seen.t - self.doubted > Self::BETWEEN_DOUBTS {
            self.doubted = seen.t;
        }
        if finds_others && self.starves(seen, times, passed) {
            return true;
        }
        // Bursts of others are no jitter.
        let is_explained = finds_others && self.interleaving.steady_rate.is_some();
        let jitters = if is_explained { Self::FEW_JITTERS } else { Self::JITTERS };
        if seen.queue <= Self::threshold(seen, jitters) || times <= Self::HIGH {
            self.standing = None;
            return false;
        }
        let is_long = self.stands(seen) && times > Self::HIGHEST;
        if finds_others && times > Self::HIGHER {
            self.evidence = (self.evidence + passed).min(2.0 * Self::PROOF);
        }
        finds_others && (is_long || self.evidence > Self::PROOF)
    }

    fn starves(&mut self, seen: &Observed, times: f64, passed: f64) -> bool {
        let service = self.interleaving.steady_rate.unwrap_or(0.0);
        let above = if seen.is_least { Self::ABOVE_AT_LEAST } else { Self::ABOVE };
        let is_starved = times > above && seen.arrival_rate < Self::STARVED * service;
        let passed = if is_starved { passed } else { -passed };
        self.starved = (self.starved + passed).clamp(0.0, Self::STARVED_FOR);
        self.starved >= Self::STARVED_FOR
    }

    /// The least queue that is no jitter, taken for so many times what is measured of it.
    fn threshold(seen: &Observed, jitters: f64) -> f64 {
        Self::THRESHOLD + (jitters * seen.jitter).min(Self::MOST_JITTER)
    }

    /// The queue has stood for some round trips. A cell's swings fall to half.
    fn stands(&mut self, seen: &Observed) -> bool {
        let is_new = seen.t - std::mem::replace(&mut self.stood, seen.t) > Self::NEW;
        if is_new && !self.were_seen(seen.t) {
            // Our own queue has no foreign packets, and its gaps would outweigh those that come now.
            self.interleaving.forget_before(seen.t);
        }
        let (since, highest) = self.standing.get_or_insert((seen.t, seen.queue));
        if seen.queue < *highest / 2.0 {
            (*since, *highest) = (seen.t, seen.queue);
        }
        *highest = highest.max(seen.queue);
        seen.t - *since > (6.0 * seen.loop_delay).max(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fifty gaps inside groups and between them, all of `gap`.
    fn alike(gap: f64) -> Interleaving {
        let mut gaps = Interleaving::new();
        let pair = |grouped| Pair { spacing: gap, gap: 0.0, step: 0.0, wait: 0.05, grouped };
        for step in 0..100 {
            gaps.on_pair(f64::from(step) * 0.01, &pair(step % 2 == 0), 0.0);
        }
        gaps.compute(1.0, 1200.0);
        gaps
    }

    /// Gaps of 10 Mbit/s at a rate of 9.5 show that no other flow is served. The gaps of an aggregate show nothing.
    #[test]
    fn an_aggregate_does_not_prove_that_we_are_alone() {
        assert!(alike(0.00096).finds_none(9.5e6));
        assert!(!alike(0.000_001).finds_none(9.5e6));
    }

    /// After how long in a queue of so many times what we want others are found, when foreign packets come between ours.
    fn found_after(times: f64, foreign: bool) -> Option<f64> {
        let mut others = Others::new();
        let steps = (0..1000).map(|step| f64::from(step) * 0.02);
        steps.into_iter().find(|&t| {
            for index in 0..4 {
                let grouped = index % 2 == 0;
                let spacing = if foreign && !grouped { 0.004 } else { 0.001 };
                others.interleaving.on_pair(
                    t,
                    &Pair { spacing, gap: 0.0, step: 0.0, wait: 0.05, grouped },
                    0.0,
                );
            }
            let seen = Observed { t, queue: times * 0.020, target_queue: 0.020, ..Observed::example() };
            others.are_found(&seen, 1200.0)
        })
    }

    /// BBR's few packets stand 1.25 times as high as we want and leave us a twentieth; flows of our kind would stand at once.
    #[test]
    fn who_leaves_next_to_nothing_is_found() {
        let found_after = |times: f64, rate: f64| {
            let mut others = Others::new();
            let mut steps = (0..2000).map(|step| f64::from(step) * 0.02);
            steps.find(|&t| {
                for index in 0..4 {
                    let spacing = if index % 2 == 0 { 0.0024 } else { 0.0072 };
                    let grouped = index % 2 == 0;
                    let pair = Pair { spacing, gap: 0.0, step: 0.0, wait: 0.05, grouped };
                    others.interleaving.on_pair(t, &pair, 0.0);
                }
                let (queue, arrival_rate) = (times * 0.020, rate);
                let seen = Observed { t, queue, target_queue: 0.020, arrival_rate, ..Observed::example() };
                others.are_found(&seen, 1200.0)
            })
        };
        let starved = found_after(1.25, 200e3);
        assert!(starved.is_some_and(|t| (5.0..7.0).contains(&t)), "{starved:?}");
        assert_eq!((found_after(1.25, 600e3), found_after(1.0, 200e3)), (None, None));
    }

    /// A twelfth of a second apart packets show nothing: 36 leave in each of two seconds, and then as many as before for six.
    #[test]
    fn a_doubt_is_short() {
        let mut others = Others::new();
        others.are_served_at(0.0, 4e6);
        let mut in_doubt = 0;
        for step in 0..1000 {
            let t = f64::from(step) * 0.02;
            let seen = Observed { t, queue: 0.040, target_queue: 0.020, ..Observed::example() };
            others.are_found(&seen, 1200.0);
            let rate = others.doubt_rate(t, 1200.0);
            assert!(rate.is_none_or(|rate| rate == 36.0 * 9600.0));
            in_doubt += u32::from(rate.is_some());
        }
        assert!((290..=310).contains(&in_doubt), "three times two seconds of twenty: {in_doubt}");
    }

    /// A high queue of others is found within two seconds, one of moderate height later, and one that flows of our kind
    /// keep not at all.
    #[test]
    fn the_height_of_the_queue_shows_whether_others_yield() {
        let within =
            |found: Option<f64>, range: std::ops::Range<f64>| found.is_some_and(|t| range.contains(&t));
        assert!(within(found_after(3.0, true), 1.0..2.0), "{:?}", found_after(3.0, true));
        assert!(within(found_after(1.8, true), 3.0..5.0), "{:?}", found_after(1.8, true));
        assert_eq!(found_after(1.3, true), None);
        assert_eq!(found_after(3.0, false), None);
    }
}
