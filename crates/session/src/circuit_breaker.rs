//! The circuit breaker of RFC 8083: what ends a transmission that the network does not carry.

use crate::statistics::SenderStatistics;
use seaway_units::{Bitrate, DataSize, Probability, TimeDelta, Timestamp};
use std::collections::VecDeque;
use std::fmt;

/// T_d, the reporting interval: the least one of RTCP without reduction (RFC 3550 section 6.2). Our receivers report far more
/// often; what they report is summed over this time, so that the rules have the time constants that RFC 8083 gives them.
const INTERVAL: TimeDelta = TimeDelta::from_secs(5);
/// Intervals without any report (RFC 8083 section 4.1).
const SILENT: u32 = 3;
/// Intervals with reports that nothing more arrived: MEDIA_TIMEOUT = ceil(5 max(T_f, T_r, T_dr) / T_dr) of RFC 8083 section 4.2,
/// where frames and round trips are shorter than an interval.
const STUCK: u32 = 5;
/// Intervals of congestion: CB_INTERVAL = ceil(3 min(max(10 G T_f, 10 T_r, 3 T_dr), max(15 s, 3 T_d)) / (3 T_dr)) of RFC 8083
/// section 4.3, where T_d = T_dr = 5 s.
const CONGESTED: u32 = 3;
/// Congestion is a rate above so many times that of TCP (RFC 8083 section 4.3).
const TIMES_TCP: f64 = 10.0;

/// Intervals of which the loss and the delay of the path itself are known: a minute.
const MEMORY: usize = 12;
/// A round trip this much above the least one of the last minute shows a queue. The jitter of a cell is below it.
const QUEUE: TimeDelta = TimeDelta::from_millis(50);
/// Loss of the channel at most. More is taken for congestion, whatever the delay.
const CHANNEL_LOSS: f64 = 0.25;

/// By how much congestion reduces the rate before it ends the transmission (RFC 8083 section 4.3: approximately ten).
const REDUCTION: u64 = 10;
/// Intervals without congestion until a reduced rate may grow, and the factor by which it grows in each interval from then on. RFC 8083
/// section 4.3 leaves both to the application ("a reasonable amount of time", "gradually"): a minute, and a second minute back.
const CALM: u32 = 12;
const GROWTH: f64 = 1.25;

/// The circuit breaker of a sender (RFC 8083), for every controller: a second look at the path from the counters alone.
///
/// Three conditions trip it:
///
/// * **RTCP timeout** (section 4.1): packets leave and nothing is reported for three intervals of 5 s;
/// * **media timeout** (section 4.2): reports come and say for five intervals that nothing more arrives;
/// * **congestion** (section 4.3): for three intervals the rate is above ten times X = s / (R sqrt(2 p / 3)), what TCP would reach
///   at the packet size s, the round-trip time R and the loss p.
///
/// The first two end the transmission. Congestion first reduces the rate to a tenth. If it goes on for three intervals more, it ends
/// the transmission as well. After a minute without it the rate may grow, to its old value in about a minute. Congestion on the way
/// stops that for another minute, or ends the transmission after three intervals.
///
/// RFC 8083 compares the means of three intervals. Ours must each be above, so that an outage of four seconds in
/// one of them ends nothing.
///
/// RFC 8083 takes all loss for congestion. A radio channel that loses every tenth packet at a round trip of 100 ms would then
/// be switched off at 4 Mbit/s, although a lower rate loses the same share. Our p therefore leaves out the loss of the channel: what is lost
/// while the round-trip time shows no queue, up to a quarter of the packets, and while there is a queue, the mean of that over the
/// last minute. So a sender that overloads a link with a queue is judged by RFC 8083's own p, and one that overloads a link
/// without a queue, such as a policer, sends at most a third more than passes before that p counts.
///
/// A pure function of its inputs: no timer of its own, and time never runs back.
#[derive(Debug, Clone)]
pub struct CircuitBreaker {
    /// Whether silence from the start is a failure.
    expects_reports: bool,
    interval: Option<Interval>,
    silent: u32,
    stuck: u32,
    congested: u32,
    reduced: Option<Reduced>,
    past: VecDeque<Past>,
}

/// What a sender has to do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum BreakerAction {
    /// Send at this rate at most: a tenth of what it was.
    Reduce(Breach, Bitrate),
    /// The congestion has gone. Send at this rate at most, or at any where there is none.
    Raise(Option<Bitrate>),
    /// Send nothing more (RFC 8083 section 4.5).
    Cease(Breach),
}

/// Why a transmission must end, or its rate must fall. Its text says so to the user.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Breach {
    /// Nothing was reported for this long.
    NoReports(TimeDelta),
    /// Nothing has arrived for this long, as reports say.
    NothingArrives(TimeDelta),
    /// The rate was far above that of TCP for this long.
    Congestion {
        /// How long.
        time: TimeDelta,
        /// The rate of the last interval.
        rate: Bitrate,
        /// That of TCP.
        tcp: Bitrate,
        /// All loss in it.
        loss: Probability,
        /// The round-trip time in it.
        rtt: TimeDelta,
    },
}

/// The interval that runs.
#[derive(Debug, Clone, Copy)]
struct Interval {
    began: Timestamp,
    before: SenderStatistics,
    least_rtt: Option<TimeDelta>,
}

/// The rate after congestion.
#[derive(Debug, Clone, Copy)]
struct Reduced {
    /// Before it.
    from: Bitrate,
    /// At most so much now.
    limit: Bitrate,
    /// Intervals without congestion.
    calm: u32,
}

/// An interval with loss and delay.
#[derive(Debug, Clone, Copy)]
struct Past {
    loss: f64,
    least_rtt: TimeDelta,
    has_queue: bool,
}

impl CircuitBreaker {
    /// `expects_reports`: whether a receiver that never reports is a failure too. On one host it may be a player without RTCP.
    pub const fn new(expects_reports: bool) -> Self {
        let (silent, stuck, congested) = (0, 0, 0);
        let past = VecDeque::new();
        Self { expects_reports, interval: None, silent, stuck, congested, reduced: None, past }
    }

    /// The counters at `now`, several times an interval. Gives what the sender has to do.
    pub fn observe(&mut self, now: Timestamp, statistics: &SenderStatistics) -> Option<BreakerAction> {
        let interval = self.interval.get_or_insert(Interval::new(now, statistics));
        interval.least_rtt = interval.least_rtt.into_iter().chain(statistics.last_rtt).min();
        let time = now.since(interval.began);
        if time < INTERVAL {
            return None;
        }
        let ended = *interval;
        self.interval = Some(Interval::new(now, statistics));
        self.on_interval(time, &ended, statistics)
    }

    /// Nothing may leave at present: intervals begin anew.
    pub fn on_pause(&mut self) {
        self.interval = None;
        (self.silent, self.stuck, self.congested) = (0, 0, 0);
    }

    fn on_interval(
        &mut self,
        time: TimeDelta,
        ended: &Interval,
        statistics: &SenderStatistics,
    ) -> Option<BreakerAction> {
        let before = &ended.before;
        let sent = statistics.sent.packets - before.sent.packets;
        if sent == 0 {
            (self.silent, self.stuck, self.congested) = (0, 0, 0);
            return None;
        }
        let reports = statistics.reported.reports - before.reported.reports;
        let has_feedback = reports > 0 || statistics.feedback.packets > before.feedback.packets;
        self.expects_reports |= has_feedback;
        let is_silent = !has_feedback && self.expects_reports;
        self.silent = if is_silent { self.silent + 1 } else { 0 };
        if reports == 0 {
            let breach = (self.silent >= SILENT).then_some(Breach::NoReports(INTERVAL * i64::from(SILENT)));
            return breach.map(BreakerAction::Cease);
        }
        let expected = statistics.reported.expected - before.reported.expected;
        self.stuck = if expected == 0 { self.stuck + 1 } else { 0 };
        if expected == 0 {
            let breach = (self.stuck >= STUCK).then_some(Breach::NothingArrives(INTERVAL * i64::from(STUCK)));
            return breach.map(BreakerAction::Cease);
        }
        let lost = statistics.reported.lost.saturating_sub(before.reported.lost).min(expected);
        let loss = Probability::of(lost, expected);
        let size = statistics.sent.size - before.sent.size;
        let (Some(rate), Some(rtt)) = (size.over(time), statistics.rtt) else { return None };
        let excess = self.excess_loss(loss.get(), rtt, ended.least_rtt.unwrap_or(rtt));
        let tcp = tcp_rate(DataSize::from_bytes(size.as_bytes() / sent), rtt, excess);
        let Some(tcp) = tcp.filter(|tcp| rate.as_bps() as f64 > TIMES_TCP * tcp.as_bps() as f64) else {
            self.congested = 0;
            return self.raise();
        };
        self.congested += 1;
        self.reduced.iter_mut().for_each(|reduced| reduced.calm = 0);
        if self.congested < CONGESTED {
            return None;
        }
        let breach = Breach::Congestion { time: INTERVAL * i64::from(CONGESTED), rate, tcp, loss, rtt };
        Some(self.reduce(rate, breach))
    }

    /// "it MAY first reduce its sending rate by this factor [...] If [...] the congestion circuit breaker triggers again after the next
    /// CB_INTERVAL RTCP reporting intervals, the sender MUST then cease transmission" (RFC 8083 section 4.3).
    fn reduce(&mut self, rate: Bitrate, breach: Breach) -> BreakerAction {
        self.congested = 0;
        if self.reduced.is_some() {
            return BreakerAction::Cease(breach);
        }
        let limit = Bitrate::from_bps((rate.as_bps() / REDUCTION).max(1));
        self.reduced = Some(Reduced { from: rate, limit, calm: 0 });
        BreakerAction::Reduce(breach, limit)
    }

    /// An interval without congestion.
    fn raise(&mut self) -> Option<BreakerAction> {
        let reduced = self.reduced.as_mut()?;
        reduced.calm += 1;
        if reduced.calm < CALM {
            return None;
        }
        reduced.limit = reduced.limit.mul_f64(GROWTH);
        let limit = Some(reduced.limit).filter(|limit| *limit < reduced.from);
        if limit.is_none() {
            self.reduced = None;
        }
        Some(BreakerAction::Raise(limit))
    }

    /// The loss beyond that of the channel.
    fn excess_loss(&mut self, loss: f64, rtt: TimeDelta, least_rtt: TimeDelta) -> f64 {
        let base = self.past.iter().map(|past| past.least_rtt).fold(least_rtt, TimeDelta::min);
        let has_queue = rtt > base + QUEUE;
        let quiet: Vec<f64> = self.past.iter().filter(|past| !past.has_queue).map(|past| past.loss).collect();
        let channel = match has_queue {
            false => loss,
            true if quiet.is_empty() => 0.0,
            true => quiet.iter().sum::<f64>() / quiet.len() as f64,
        };
        self.past.push_back(Past { loss, least_rtt, has_queue });
        if self.past.len() > MEMORY {
            self.past.pop_front();
        }
        (loss - channel.min(CHANNEL_LOSS)).max(0.0)
    }
}

impl Interval {
    const fn new(now: Timestamp, statistics: &SenderStatistics) -> Self {
        Self { began: now, before: *statistics, least_rtt: statistics.last_rtt }
    }
}

/// X = s / (R sqrt(2 b p / 3)) with b = 1, RFC 8083 section 4.3; `None` without loss, where it is infinite.
fn tcp_rate(packet: DataSize, rtt: TimeDelta, loss: f64) -> Option<Bitrate> {
    let seconds = rtt.as_secs_f64() * libm::sqrt(2.0 * loss / 3.0);
    (seconds > 0.0).then(|| Bitrate::from_bps((packet.as_bits() as f64 / seconds) as u64))
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoReports(time) => write!(f, "the receiver has sent no report for {time}"),
            Self::NothingArrives(time) => write!(f, "nothing has arrived at the receiver for {time}"),
            Self::Congestion { time, rate, tcp, loss, rtt } => {
                let percent = loss.get() * 100.0;
                write!(
                    f,
                    "the path is congested: {percent:.0} % of the packets are lost at {rate:.2} and {rtt:.0}, and for {time} the rate was \
                     above ten times that of TCP, {tcp:.1}"
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::Count;

    /// A path as counters show it: packets of 1200 octets.
    struct Path {
        breaker: CircuitBreaker,
        now: Timestamp,
        statistics: SenderStatistics,
    }

    /// Five seconds.
    #[derive(Clone, Copy)]
    struct Seconds {
        rate: Bitrate,
        loss: f64,
        rtt: i64,
    }

    impl Path {
        fn new(expects_reports: bool) -> Self {
            let breaker = CircuitBreaker::new(expects_reports);
            let mut path = Self { breaker, now: Timestamp::ZERO, statistics: SenderStatistics::default() };
            assert_eq!(path.breaker.observe(path.now, &path.statistics), None);
            path
        }

        /// 4 Mbit/s into 2 Mbit/s has reduced it to 0.4 Mbit/s.
        fn reduced() -> Self {
            let mut path = Self::new(true);
            assert_eq!(path.run(seconds(1, 0.0, 20)), None);
            let action = (0..CONGESTED).filter_map(|_| path.run(seconds(4, 0.5, 220))).last();
            assert!(matches!(action, Some(BreakerAction::Reduce(..))), "{action:?}");
            path
        }

        fn send(&mut self, rate: Bitrate) -> u64 {
            let packet = DataSize::from_bytes(1200);
            let size = rate.size_in(INTERVAL);
            let packets = size.as_bytes() / packet.as_bytes();
            self.statistics.sent.packets += packets;
            self.statistics.sent.size += packet * packets;
            packets
        }

        fn end_interval(&mut self) -> Option<BreakerAction> {
            self.now += INTERVAL;
            self.breaker.observe(self.now, &self.statistics)
        }

        fn run(&mut self, seconds: Seconds) -> Option<BreakerAction> {
            let packets = self.send(seconds.rate);
            let reported = &mut self.statistics.reported;
            reported.reports += 5;
            reported.expected += packets;
            reported.lost += (packets as f64 * seconds.loss) as u64;
            let rtt = Some(TimeDelta::from_millis(seconds.rtt));
            (self.statistics.rtt, self.statistics.last_rtt) = (rtt, rtt);
            self.end_interval()
        }
    }

    fn seconds(mbps: u64, loss: f64, rtt: i64) -> Seconds {
        Seconds { rate: Bitrate::from_mbps(mbps), loss, rtt }
    }

    /// s = 1200 octets, R = 100 ms: 9600 / (0.1 sqrt(2 p / 3)).
    #[test]
    fn the_rate_of_tcp_is_that_of_section_4_3() {
        let rate = |loss| tcp_rate(DataSize::from_bytes(1200), TimeDelta::from_millis(100), loss);
        assert_eq!(rate(0.01).unwrap().as_bps(), 1_175_755);
        assert_eq!(rate(0.1).unwrap().as_bps(), 371_806);
        assert_eq!(rate(0.0), None);
    }

    /// 4 Mbit/s into 2 Mbit/s with 200 ms of queue: half is lost, TCP would reach 76 kbit/s, ten times of which is 0.76 Mbit/s.
    #[test]
    fn congestion_reduces_the_rate_after_three_intervals() {
        let mut path = Path::new(true);
        assert_eq!(path.run(seconds(1, 0.0, 20)), None);
        for _ in 0..CONGESTED - 1 {
            assert_eq!(path.run(seconds(4, 0.5, 220)), None);
        }
        let action = path.run(seconds(4, 0.5, 220)).unwrap();
        let BreakerAction::Reduce(breach, limit) = action else { panic!("{action:?}") };
        assert_eq!(limit.as_bps() / 1000, 399, "a tenth of what left");
        let Breach::Congestion { tcp, .. } = breach else { panic!("{breach}") };
        assert_eq!(tcp.as_bps() / 1000, 75);
        assert_eq!(
            breach.to_string(),
            "the path is congested: 50 % of the packets are lost at 4.00 Mbit/s and 220 ms, and for 15 s the rate was above ten \
             times that of TCP, 75.6 kbit/s"
        );
    }

    /// 4 Mbit/s into 2 Mbit/s, then 0.4 Mbit/s into 0.2: half is lost again, ten times TCP is 0.07 Mbit/s at 2.2 s.
    #[test]
    fn congestion_that_goes_on_ends_it_after_three_intervals_more() {
        let mut path = Path::reduced();
        let mut slower = seconds(0, 0.5, 2200);
        slower.rate = Bitrate::from_kbps(400);
        let actions: Vec<_> = (0..CONGESTED).map(|_| path.run(slower)).collect();
        assert_eq!(actions[..2], [None, None]);
        assert!(matches!(actions[2], Some(BreakerAction::Cease(Breach::Congestion { .. }))), "{actions:?}");
    }

    /// 0.4 Mbit/s, a minute; then a quarter more every 5 s: 1.25^11 = 11.6 times as much is where it was.
    #[test]
    fn the_rate_grows_back_where_the_congestion_has_gone() {
        let mut path = Path::reduced();
        for _ in 0..CALM - 1 {
            assert_eq!(path.run(seconds(1, 0.0, 20)), None);
        }
        let limits: Vec<_> = (0..11).map(|_| path.run(seconds(1, 0.0, 20))).collect();
        let Some(BreakerAction::Raise(Some(first))) = limits[0] else { panic!("{limits:?}") };
        assert_eq!(first.as_bps() / 1000, 499);
        assert!(matches!(limits[9], Some(BreakerAction::Raise(Some(_)))), "{limits:?}");
        assert_eq!(limits[10], Some(BreakerAction::Raise(None)), "at any rate");
        assert_eq!(path.run(seconds(4, 0.0, 20)), None);
    }

    #[test]
    fn congestion_on_the_way_back_waits_for_another_minute() {
        let mut path = Path::reduced();
        let actions: Vec<_> = (0..CALM).map(|_| path.run(seconds(1, 0.0, 20))).collect();
        assert!(matches!(actions.last(), Some(Some(BreakerAction::Raise(Some(_))))), "{actions:?}");
        assert_eq!(path.run(seconds(4, 0.5, 220)), None);
        let actions: Vec<_> = (0..CALM - 1).filter_map(|_| path.run(seconds(1, 0.0, 20))).collect();
        assert_eq!(actions, []);
        assert!(matches!(path.run(seconds(1, 0.0, 20)), Some(BreakerAction::Raise(Some(_)))));
        let last = (0..CONGESTED).filter_map(|_| path.run(seconds(4, 0.5, 220))).last();
        assert!(matches!(last, Some(BreakerAction::Cease(_))), "{last:?}");
    }

    /// Four seconds of outage in an interval: at the mean of three intervals, 0.18, ten times TCP would be 3.3 Mbit/s.
    #[test]
    fn one_interval_alone_is_no_congestion() {
        let mut path = Path::new(true);
        for loss in [0.0, 0.8, 0.0, 0.0, 0.8, 0.0] {
            assert_eq!(path.run(seconds(4, loss, 100)), None);
        }
    }

    /// Ten times TCP would be 3.7 Mbit/s.
    #[test]
    fn a_lossy_channel_is_no_congestion() {
        let mut path = Path::new(true);
        for loss in [0.0, 0.1, 0.1, 0.2, 0.2, 0.2, 0.1, 0.1, 0.1, 0.1, 0.2, 0.2, 0.2, 0.2, 0.2, 0.0] {
            assert_eq!(path.run(seconds(8, loss, 100)), None);
        }
    }

    #[test]
    fn the_loss_of_the_channel_is_known_for_a_minute_under_a_queue() {
        let mut path = Path::new(true);
        for _ in 0..MEMORY {
            assert_eq!(path.run(seconds(4, 0.1, 100)), None);
        }
        // A queue of others; nothing more is lost.
        for _ in 0..MEMORY - 1 {
            assert_eq!(path.run(seconds(4, 0.1, 300)), None);
        }
    }

    /// 5 % at 220 ms: TCP would reach 239 kbit/s.
    #[test]
    fn congestion_is_ten_times_the_rate_of_tcp_and_not_less() {
        let action = |kbps| {
            let mut path = Path::new(true);
            assert_eq!(path.run(seconds(1, 0.0, 20)), None);
            (0..MEMORY - 1)
                .find_map(|_| path.run(Seconds { rate: Bitrate::from_kbps(kbps), loss: 0.05, rtt: 220 }))
        };
        assert_eq!(action(2200), None);
        assert!(matches!(action(2600), Some(BreakerAction::Reduce(Breach::Congestion { .. }, _))));
    }

    /// 12 % under a queue where the channel loses 2: TCP would reach 124 kbit/s at 10 %, and 113 at 12.
    #[test]
    fn the_loss_of_the_channel_is_the_mean_of_a_minute() {
        let action = |kbps| {
            let mut path = Path::new(true);
            for loss in [0.0, 0.04, 0.01, 0.03] {
                assert_eq!(path.run(Seconds { rate: Bitrate::from_kbps(kbps), loss, rtt: 100 }), None);
            }
            let queued = Seconds { rate: Bitrate::from_kbps(kbps), loss: 0.12, rtt: 300 };
            (0..CONGESTED).find_map(|_| path.run(queued))
        };
        assert_eq!(action(1200), None);
        assert!(matches!(action(1300), Some(BreakerAction::Reduce(Breach::Congestion { .. }, _))));
    }

    /// What a channel loses is not known there.
    #[test]
    fn a_session_that_begins_in_a_queue_is_judged_by_all_loss() {
        let mut path = Path::new(true);
        path.statistics.last_rtt = Some(TimeDelta::from_millis(20));
        assert_eq!(path.breaker.observe(path.now, &path.statistics), None);
        let action = (0..CONGESTED).find_map(|_| path.run(seconds(4, 0.2, 220)));
        assert!(matches!(action, Some(BreakerAction::Reduce(Breach::Congestion { .. }, _))), "{action:?}");
    }

    #[test]
    fn more_than_a_channel_loses_is_congestion_without_a_queue_too() {
        let mut path = Path::new(true);
        assert_eq!(path.run(seconds(1, 0.0, 100)), None);
        let action = (0..CONGESTED).filter_map(|_| path.run(seconds(8, 0.6, 100))).last();
        assert!(matches!(action, Some(BreakerAction::Reduce(Breach::Congestion { .. }, _))), "{action:?}");
    }

    #[test]
    fn silence_ends_it_after_fifteen_seconds() {
        let mut path = Path::new(true);
        assert_eq!(path.run(seconds(1, 0.0, 100)), None);
        let breaches = (0..SILENT).map(|_| {
            path.send(Bitrate::from_mbps(1));
            path.end_interval()
        });
        let end = Some(BreakerAction::Cease(Breach::NoReports(TimeDelta::from_secs(15))));
        assert_eq!(breaches.collect::<Vec<_>>(), [None, None, end]);
        // Other feedback is a report as well.
        for _ in 0..SILENT {
            path.send(Bitrate::from_mbps(1));
            path.statistics.feedback =
                Count { packets: path.statistics.feedback.packets + 1, ..Count::default() };
            assert_eq!(path.end_interval(), None);
        }
    }

    #[test]
    fn who_never_reported_is_not_waited_for_on_one_host() {
        let silent = |expects_reports| {
            let mut path = Path::new(expects_reports);
            (0..10).any(|_| {
                path.send(Bitrate::from_mbps(1));
                path.end_interval().is_some()
            })
        };
        assert!(silent(true) && !silent(false));
    }

    #[test]
    fn reports_that_nothing_arrives_end_it_after_twenty_five_seconds() {
        let mut path = Path::new(true);
        assert_eq!(path.run(seconds(1, 0.0, 100)), None);
        let breaches = (0..STUCK).filter_map(|_| {
            path.send(Bitrate::from_mbps(1));
            path.statistics.reported.reports += 1;
            path.end_interval()
        });
        let end = BreakerAction::Cease(Breach::NothingArrives(TimeDelta::from_secs(25)));
        assert_eq!(breaches.collect::<Vec<_>>(), [end]);
    }

    #[test]
    fn a_pause_is_no_silence() {
        let mut path = Path::new(true);
        assert_eq!(path.run(seconds(1, 0.0, 100)), None);
        for _ in 0..10 {
            assert_eq!(path.end_interval(), None, "nothing was sent");
        }
        for _ in 0..10 {
            path.send(Bitrate::from_mbps(1));
            path.breaker.on_pause();
            assert_eq!(path.end_interval(), None, "nothing could be reported");
        }
    }

    /// The counters are read ten times a second, and intervals last 5 s all the same.
    #[test]
    fn silence_of_less_than_three_intervals_is_none() {
        let mut path = Path::new(true);
        assert_eq!(path.run(seconds(1, 0.0, 100)), None);
        let mut tenths = 0;
        let action = loop {
            path.statistics.sent.packets += 10;
            path.now += TimeDelta::from_millis(100);
            tenths += 1;
            if let Some(action) = path.breaker.observe(path.now, &path.statistics) {
                break action;
            }
            assert!(tenths < 1000);
        };
        assert_eq!(action, BreakerAction::Cease(Breach::NoReports(TimeDelta::from_secs(15))));
        assert_eq!(tenths, 150);
    }
}
