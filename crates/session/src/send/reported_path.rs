//! A path of which receiver reports alone are known: docs/models/feedback-formats.md, section "Receiver reports alone".

use seaway_units::{Bitrate, DataSize, TimeDelta, Timestamp};
use std::collections::VecDeque;

/// Intervals whose least round trip is that of the empty path, and whose low loss is that of the channel.
const MEMORY: usize = 6;
/// A round trip longer by this is a queue.
const QUEUED: TimeDelta = TimeDelta::from_millis(50);
/// Loss above the channel's by this, and by three standard errors, is that of a full queue.
const EXCESS: f64 = 0.03;
/// More than this is not taken for loss of the channel.
const MOST_OF_CHANNEL: f64 = 0.3;
/// What is tried, as a multiple of what was carried: until a queue is full for the first time, after it was, and in the end.
const FIRST_GROWTH: f64 = 2.0;
const SLOWEST_GROWTH: f64 = 1.05;
const FASTEST_GROWTH: f64 = 1.5;
/// A packet that would wait longer is lost.
const LONGEST_QUEUE: TimeDelta = TimeDelta::from_millis(500);
/// More is tried the next time where so much of it was carried.
const USED: f64 = 0.8;
/// The path is never taken for slower.
const LEAST_RATE: Bitrate = Bitrate::from_kbps(32);

/// What a report says of the packets since the report before it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Interval {
    /// All that left for it.
    pub(super) sent: DataSize,
    /// The packets that it counts, and those of them that were lost.
    pub(super) expected: u32,
    pub(super) lost: u32,
    /// From report to report.
    pub(super) span: TimeDelta,
}

/// A server with a queue behind a channel that loses packets: its rate is what reports have proved, and a part more.
#[derive(Debug)]
pub(super) struct ReportedPath {
    rate: Bitrate,
    /// A report came.
    is_known: bool,
    /// What is tried, as a multiple of what the last report has.
    growth: f64,
    /// When the server is free for the next packet.
    passed: Timestamp,
    /// The latest arrival.
    arrived: Timestamp,
    /// The last round trip, the least since the last interval, and those of the intervals before.
    round_trip: Option<TimeDelta>,
    least: Option<TimeDelta>,
    round_trips: VecDeque<TimeDelta>,
    losses: VecDeque<f64>,
    /// The ratio of packets that the channel loses, whatever the rate.
    channel_loss: f64,
    /// The part of the next loss that the packets so far have brought.
    due: f64,
}

impl ReportedPath {
    /// Nothing is known, and the sender begins with the rate `start`.
    pub(super) fn new(start: Bitrate) -> Self {
        Self {
            rate: start,
            is_known: false,
            growth: FIRST_GROWTH,
            passed: Timestamp::ZERO,
            arrived: Timestamp::ZERO,
            round_trip: None,
            least: None,
            round_trips: VecDeque::new(),
            losses: VecDeque::new(),
            channel_loss: 0.0,
            due: 0.0,
        }
    }

    /// A report came: packets pass.
    pub(super) const fn is_known(&self) -> bool {
        self.is_known
    }

    /// The round-trip time of the empty path.
    pub(super) fn base(&self) -> TimeDelta {
        self.round_trips.iter().copied().chain(self.least).min().unwrap_or_default()
    }

    /// Another receiver reports, by another way.
    pub(super) fn on_new_receiver(&mut self) {
        (self.round_trip, self.least) = (None, None);
        self.round_trips.clear();
        self.losses.clear();
    }

    /// A packet that left at `sent` took this round trip: the queue is as long as that has it.
    pub(super) fn on_round_trip(&mut self, sent: Timestamp, rtt: TimeDelta) {
        self.round_trip = Some(rtt);
        self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
        // Beyond the longest queue all packets would be lost for one report that was held up.
        self.passed = sent + self.base() / 2 + (rtt - self.base()).min(LONGEST_QUEUE);
    }

    /// An interval of reports is over.
    pub(super) fn on_interval(&mut self, interval: Interval) {
        let Some(sent) = interval.sent.over(interval.span) else { return };
        let expected = f64::from(interval.expected.max(1));
        let ratio = (f64::from(interval.lost) / expected).min(1.0);
        remember(&mut self.losses, ratio);
        self.channel_loss = low(&self.losses).min(MOST_OF_CHANNEL);
        self.is_known = true;
        let carried = sent.mul_f64((1.0 - ratio) / (1.0 - self.channel_loss));
        let chance = 3.0 * libm::sqrt(ratio * (1.0 - ratio) / expected);
        let is_queued = self.round_trip.is_some_and(|last| last > self.base() + QUEUED);
        self.least.take().into_iter().for_each(|least| remember(&mut self.round_trips, least));
        if ratio > self.channel_loss + EXCESS + chance || is_queued {
            self.growth = SLOWEST_GROWTH;
            self.rate = carried.max(self.rate / 2).max(LEAST_RATE);
            return;
        }
        self.rate = self.rate.max(carried.mul_f64(self.growth));
        if carried >= self.rate.mul_f64(USED) && self.growth < FASTEST_GROWTH {
            self.growth = (1.0 + (self.growth - 1.0) * 1.5).min(FASTEST_GROWTH);
        }
    }

    /// When a packet that left at `sent` arrives, at `latest`, and not before those that did; `None` where it is lost.
    pub(super) fn carry(&mut self, sent: Timestamp, size: DataSize, latest: Timestamp) -> Option<Timestamp> {
        let entered = sent + self.base() / 2;
        let begins = self.passed.max(entered);
        if begins - entered > LONGEST_QUEUE {
            return None;
        }
        self.passed = (begins + self.service(size)).min(latest);
        self.due += self.channel_loss;
        if self.due >= 1.0 {
            self.due -= 1.0;
            return None;
        }
        self.arrived = self.arrived.max(self.passed);
        Some(self.arrived)
    }

    /// When a packet that left at `sent` will have passed.
    pub(super) fn expected(&self, sent: Timestamp, size: DataSize) -> Timestamp {
        self.passed.max(sent + self.base() / 2) + self.service(size)
    }

    fn service(&self, size: DataSize) -> TimeDelta {
        self.rate.time_to_send(size).unwrap_or_default()
    }
}

/// The lowest of few ratios, the second lowest of more: one report without loss proves nothing.
fn low(ratios: &VecDeque<f64>) -> f64 {
    let mut sorted: Vec<f64> = ratios.iter().copied().collect();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len().saturating_sub(1) / 3).copied().unwrap_or_default()
}

fn remember<T>(values: &mut VecDeque<T>, value: T) {
    if values.len() == MEMORY {
        values.pop_front();
    }
    values.push_back(value);
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Bitrate = Bitrate::from_kbps(300);
    const BASE: TimeDelta = TimeDelta::from_millis(40);

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_nanos(millis * 1_000_000)
    }

    /// Five seconds at a rate in kbit/s, with so many of a thousand packets lost.
    fn report(path: &mut ReportedPath, kbps: u64, lost: u32, rtt: TimeDelta) -> Bitrate {
        let span = TimeDelta::from_secs(5);
        path.on_round_trip(Timestamp::ZERO, rtt);
        path.on_interval(Interval {
            sent: Bitrate::from_kbps(kbps).size_in(span),
            expected: 1000,
            lost,
            span,
        });
        path.rate
    }

    #[test]
    fn the_rate_is_what_was_carried_and_a_part_more() {
        let mut path = ReportedPath::new(START);
        let kbps = Bitrate::from_kbps;
        // It doubles at first.
        assert_eq!(report(&mut path, 300, 0, BASE), kbps(600));
        assert_eq!(report(&mut path, 600, 0, BASE), kbps(1200));
        // What is not made use of proves nothing, and takes nothing away.
        assert_eq!(report(&mut path, 100, 0, BASE), kbps(1200));
        // A fifth is lost: no more than the rest passes.
        assert_eq!(report(&mut path, 1200, 200, BASE), kbps(960));
        // From then on a little is tried, and more each time that it passes.
        assert_eq!(report(&mut path, 960, 0, BASE), kbps(1008));
        assert_eq!(report(&mut path, 1000, 0, BASE), kbps(1075));
        // A queue says the same as loss. One report takes half at most.
        assert_eq!(report(&mut path, 1000, 0, BASE + TimeDelta::from_millis(51)), kbps(1000));
        assert_eq!(report(&mut path, 1000, 1000, BASE), kbps(500));
    }

    #[test]
    fn the_loss_of_the_channel_is_no_full_queue() {
        let mut path = ReportedPath::new(START);
        for lost in [50, 52, 48, 55, 50, 47] {
            report(&mut path, 300, lost, BASE);
        }
        assert!((600_000..601_000).contains(&path.rate.as_bps()), "{}", path.rate);
        assert_eq!(path.channel_loss, 0.048);
        let lost = (0..1000)
            .filter(|packet| path.carry(at(packet * 100), DataSize::from_bytes(100), at(200_000)).is_none());
        assert!((47..=48).contains(&lost.count()));
    }

    /// However often reports come: a queue of seconds is not the empty path.
    #[test]
    fn a_queue_does_not_become_the_base() {
        let mut path = ReportedPath::new(START);
        report(&mut path, 300, 0, BASE);
        for _ in 0..20 {
            path.on_round_trip(Timestamp::ZERO, BASE * 3);
        }
        assert_eq!(path.base(), BASE);
        for _ in 0..5 {
            report(&mut path, 300, 0, BASE * 3);
        }
        assert_eq!(path.base(), BASE);
        // But another path is, after six intervals.
        report(&mut path, 300, 0, BASE * 3);
        assert_eq!(path.base(), BASE * 3);
    }

    #[test]
    fn packets_pass_one_after_the_other() {
        let mut path = ReportedPath::new(START);
        report(&mut path, 400, 0, BASE);
        let (size, late) = (DataSize::from_bytes(1000), at(100_000));
        // 10 ms each at 800 kbit/s, behind 20 ms of way.
        let mut passed = |sent| path.carry(at(sent), size, late);
        assert_eq!(
            [passed(1000), passed(1000), passed(1100)],
            [1030, 1040, 1130].map(|millis| Some(at(millis)))
        );
        // A queue of 500 ms holds fifty.
        assert_eq!((0..100).filter_map(|_| passed(2000)).count(), 51);
        // What was reported has passed.
        assert_eq!(path.carry(at(2990), size, at(3000)), Some(at(3000)));
        assert_eq!(path.expected(at(2990), size), at(3020));
    }

    /// Five of a hundred may be lost by chance where none is lost as a rule; more is tried where what was tried last is made use of.
    #[test]
    fn few_packets_and_little_use_prove_nothing() {
        let (mut path, kbps) = (ReportedPath::new(START), Bitrate::from_kbps);
        report(&mut path, 1000, 0, BASE);
        let span = TimeDelta::from_secs(5);
        path.on_interval(Interval { sent: kbps(1200).size_in(span), expected: 100, lost: 5, span });
        assert!(path.rate > kbps(2000), "{}", path.rate);
        report(&mut path, 2000, 1000, BASE);
        let before = report(&mut path, 100, 0, BASE);
        assert_eq!(report(&mut path, before.as_bps() / 1000, 0, BASE), before.mul_f64(SLOWEST_GROWTH));
    }

    #[test]
    fn a_path_is_known_by_its_reports() {
        let mut path = ReportedPath::new(START);
        assert!(!path.is_known());
        report(&mut path, 400, 0, BASE);
        assert!(path.is_known());
        // A queue of 30 ms, and the packet's 10.
        path.on_round_trip(at(1000), BASE + TimeDelta::from_millis(30));
        assert_eq!(path.carry(at(1000), DataSize::from_bytes(1000), at(9000)), Some(at(1060)));
        // Another receiver is as far as its own reports have it.
        path.on_new_receiver();
        assert_eq!((path.base(), path.losses.len()), (TimeDelta::ZERO, 0));
        path.on_round_trip(at(2000), BASE * 2);
        assert_eq!(path.base(), BASE * 2);
    }

    /// A report that was held up for seconds, and the next one.
    #[test]
    fn a_late_report_loses_nothing_and_arrivals_do_not_go_back() {
        let mut path = ReportedPath::new(START);
        report(&mut path, 400, 0, BASE);
        path.on_round_trip(at(1000), TimeDelta::from_secs(5));
        let size = DataSize::from_bytes(1000);
        assert_eq!(path.carry(at(1000), size, at(100_000)), Some(at(1530)));
        path.on_round_trip(at(1010), BASE);
        assert_eq!(path.carry(at(1020), size, at(100_000)), Some(at(1530)));
        assert_eq!(path.carry(at(1600), size, at(100_000)), Some(at(1630)));
    }

    #[test]
    fn no_report_stops_it() {
        let mut path = ReportedPath::new(START);
        path.on_interval(Interval {
            sent: DataSize::MAX,
            expected: 0,
            lost: u32::MAX,
            span: TimeDelta::from_secs(1),
        });
        for _ in 0..60 {
            let interval =
                Interval { sent: DataSize::ZERO, expected: 10, lost: 10, span: TimeDelta::from_secs(1) };
            path.on_interval(interval);
        }
        assert_eq!(path.rate, LEAST_RATE);
    }
}
