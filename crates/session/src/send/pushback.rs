//! Encoder pushback: encoders slow down before a full network queue loses frames.
//!
//! A loss-based controller notices a drop of capacity when the queue overflows; by then a second of frames is lost. The
//! flight and the delivered rate show it earlier. WebRTC's congestion-window pushback does the same. It bounds the shares
//! of encoders, never what may be sent.

use seaway_control::{Decision, Gauge, Share};
use seaway_units::{Bitrate, DataSize, RateRange, TimeDelta, Timestamp};

/// The delivered rate is measured over at least this long.
const WINDOW: TimeDelta = TimeDelta::from_millis(100);
/// Part of the delivered rate for encoders while the queue drains.
const DRAIN: f64 = 0.9;
/// Growth of the bound with each measurement after that.
const RECOVERY: f64 = 1.1;
/// A queue of our own has drained after encoders were held back for so long: what remains is the path, or the queue of others.
const HELD: TimeDelta = TimeDelta::from_secs(3);
/// Frames are skipped beyond so many times the bound.
const SKIP: f64 = 1.5;

/// Compares the estimated queue in the network with what is tolerated.
#[derive(Debug)]
pub(super) struct Pushback {
    /// Tolerated delay in network queues; `None`: no pushback.
    tolerated: Option<TimeDelta>,
    since: Option<Timestamp>,
    delivered: DataSize,
    /// The path by a message whose report may go on in the next.
    waiting: Option<(Timestamp, PathState)>,
    rate: Option<Bitrate>,
    queue: TimeDelta,
    /// The most that encoders may have.
    bound: Option<Bitrate>,
    /// Since when encoders are held back, or since the last look at it, and the least round-trip time since.
    held: Option<(Timestamp, TimeDelta)>,
    /// The least round-trip time of the present path, where it is above that of the session: a hand-over led to a longer one.
    base: Option<TimeDelta>,
}

/// The state of the path as the sender knows it.
#[derive(Debug, Clone, Copy)]
pub(super) struct PathState {
    /// Octets sent and not reported yet.
    pub(super) flight: DataSize,
    /// The least round-trip time: without queues.
    pub(super) base: TimeDelta,
    /// The last round-trip time.
    pub(super) last: TimeDelta,
    /// Flows of others keep its queue.
    pub(super) is_shared: bool,
}

impl Pushback {
    pub(super) fn new(tolerated: Option<TimeDelta>) -> Self {
        Self {
            tolerated,
            since: None,
            delivered: DataSize::ZERO,
            waiting: None,
            rate: None,
            queue: TimeDelta::ZERO,
            bound: None,
            held: None,
            base: None,
        }
    }

    /// A part of a report came that reports this much delivered. What is in flight is known with the last part: what another reports has
    /// arrived too.
    pub(super) fn on_part(&mut self, now: Timestamp, delivered: DataSize, path: PathState) {
        self.delivered += delivered;
        self.waiting = Some((now, path));
    }

    /// A message came, which goes on with the report of the one before it (`continues`) or shows that it ended there. Gives the decision on
    /// what it said.
    pub(super) fn on_message(&mut self, continues: bool, range: RateRange) -> Option<Decision> {
        let (then, path) = self.waiting.take()?;
        if continues { None } else { self.on_feedback(then, DataSize::ZERO, path, range) }
    }

    /// Feedback came that reports this much delivered. Gives the decision where encoders begin or cease to be held back.
    /// The upper end of `range` is the controller's target; the lower end is the least that encoders keep.
    pub(super) fn on_feedback(
        &mut self,
        now: Timestamp,
        delivered: DataSize,
        path: PathState,
        range: RateRange,
    ) -> Option<Decision> {
        let RateRange { min, max: target } = range;
        let PathState { flight, base, last, is_shared } = path;
        let tolerated = self.tolerated?;
        let base = self.base_of_path(now, base, last);
        self.delivered += delivered;
        let span = now.since(*self.since.get_or_insert(now));
        if span < WINDOW.max(base) {
            return None;
        }
        let rate = self.delivered.over(span)?;
        self.rate = Some(rate);
        self.since = Some(now);
        self.delivered = DataSize::ZERO;
        // An idle source delivers little too: the flight counts only where the last packet was late.
        self.queue = last - base;
        if self.queue > tolerated / 2 {
            let drained = rate.time_to_send(flight).unwrap_or(TimeDelta::ZERO);
            self.queue = self.queue.max(drained - base);
        }
        let before = self.bound;
        self.bound = if is_shared {
            // Others take what our encoders leave, and the queue stays. By what then arrives they would be held back ever more.
            None
        } else if self.queue > tolerated {
            // Where nothing arrives a bound of zero would stop sending, and with it all reports, for ever.
            Some(rate.mul_f64(DRAIN).max(min))
        } else {
            before.map(|bound| bound.mul_f64(RECOVERY)).filter(|bound| *bound < target)
        };
        (before.is_some() != self.bound.is_some()).then(|| Decision {
            at: now,
            cause: match (before, is_shared) {
                (None, _) => "network queue",
                (Some(_), false) => "network queue drained",
                (Some(_), true) => "network queue of others",
            },
            signal: Gauge::new("estimated_queue_delay", self.queue.as_millis_f64(), "ms"),
            threshold: tolerated.as_millis_f64(),
            before: before.unwrap_or(target),
            after: self.bound.unwrap_or(target),
            phase: "encoder pushback",
        })
    }

    /// The round-trip time without a queue of ours: the session's least one, or that of a longer path since.
    fn base_of_path(&mut self, now: Timestamp, base: TimeDelta, last: TimeDelta) -> TimeDelta {
        self.base = self.base.map(|own| own.min(last)).filter(|own| *own > base);
        self.held = match (self.bound, self.held) {
            (None, _) => None,
            (Some(_), None) => Some((now, last)),
            (Some(_), Some((since, least))) if now.since(since) >= HELD => {
                self.base = Some(least.min(last)).filter(|own| *own > base);
                Some((now, last))
            }
            (Some(_), Some((since, least))) => Some((since, least.min(last))),
        };
        self.base.unwrap_or(base)
    }

    /// The share that an encoder gets.
    pub(super) fn apply(&self, share: Share, target: Bitrate) -> Share {
        let Some(bound) = self.bound.filter(|bound| *bound < target) else { return share };
        let part = bound.as_bps_f64() / target.as_bps_f64();
        Share { media: share.media.mul_f64(part), repair: share.repair }
    }

    /// True where the next frame should be skipped, as so much is in flight.
    pub(super) fn should_skip(&self, flight: DataSize, base: Option<TimeDelta>) -> bool {
        let (Some(tolerated), Some(rate), Some(base)) = (self.tolerated, self.rate, base) else {
            return false;
        };
        let base = self.base.unwrap_or(base).max(base);
        let drained = rate.time_to_send(flight);
        self.bound.is_some() && drained.is_some_and(|drained| drained - base > tolerated.mul_f64(SKIP))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn encoders_get_what_drains_the_queue_and_come_back() {
        let mut pushback = Pushback::new(Some(TimeDelta::from_millis(200)));
        let (base, target) = (TimeDelta::from_millis(50), Bitrate::from_mbps(4));
        let range = RateRange { min: Bitrate::from_kbps(150), max: target };
        let mut step = |millis, arrived_bytes, flight| {
            let last = base + TimeDelta::from_millis(if flight == 50_000 { 110 } else { 90 });
            let flight = DataSize::from_bytes(flight);
            let path = PathState { flight, base, last, is_shared: false };
            let change = pushback.on_feedback(at(millis), DataSize::from_bytes(arrived_bytes), path, range);
            let share = Share { media: target, repair: Bitrate::ZERO };
            (
                change.map(|change| change.cause),
                pushback.apply(share, target).media,
                pushback.should_skip(flight, Some(base)),
            )
        };
        assert_eq!(step(0, 0, 25_000), (None, target, false));
        assert_eq!(step(100, 5_000, 25_000), (None, target, false), "the source was idle");
        let (cause, media, skip) = step(200, 12_500, 50_000);
        assert_eq!((cause, skip), (Some("network queue"), true), "400 ms at 1 Mbit/s");
        assert_eq!(media, Bitrate::from_kbps(900));
        assert_eq!(step(300, 12_500, 10_000), (None, Bitrate::from_kbps(990), false));
        let ends = (4..40).map(|round| step(round * 100, 50_000, 20_000).0).find(Option::is_some);
        assert_eq!(ends, Some(Some("network queue drained")));
    }

    /// The path grows by more than is tolerated, and no queue is on it.
    #[test]
    fn a_longer_path_is_no_queue_for_ever() {
        let mut pushback = Pushback::new(Some(TimeDelta::from_millis(150)));
        let range = RateRange { min: Bitrate::from_kbps(150), max: Bitrate::from_mbps(4) };
        let mut step = |millis, rtt| {
            let path = PathState {
                flight: DataSize::from_bytes(2_000),
                base: TimeDelta::from_millis(40),
                last: TimeDelta::from_millis(rtt),
                is_shared: false,
            };
            let share = Share { media: range.max, repair: Bitrate::ZERO };
            pushback.on_feedback(at(millis), DataSize::from_bytes(12_500), path, range);
            pushback.apply(share, range.max).media
        };
        let mut run = |rounds: std::ops::Range<u64>, rtt| {
            rounds.map(|round| step(round * 100, rtt)).fold(Bitrate::ZERO, |_, media| media)
        };
        assert_eq!(run(0..10, 45), range.max);
        assert!(run(10..50, 240) < range.max);
        assert_eq!(run(50..130, 240), range.max, "nothing drains: it is the path");
        // A queue on that path counts, and so does one after the way back.
        assert!(run(130..136, 430) < range.max);
        assert_eq!(run(136..200, 41), range.max);
        assert!(run(200..206, 240) < range.max);
    }

    /// A second of 1 Mbit/s in five datagrams, each second, over a path that is 90 ms longer than it was: 140 ms are in flight, 17 500 octets, and
    /// behind the first datagram 100 000 more.
    #[test]
    fn the_flight_is_that_behind_the_last_part() {
        let range = RateRange { min: Bitrate::from_kbps(150), max: Bitrate::from_mbps(1) };
        let decisions = |split: bool| {
            let mut pushback = Pushback::new(Some(TimeDelta::from_millis(150)));
            let mut decisions = Vec::new();
            for millis in (0..5_u64).flat_map(|second| (0..5).map(move |part| second * 1000 + part)) {
                let unreported = 25_000 * (4 - millis % 5);
                let path = PathState {
                    flight: DataSize::from_bytes(17_500 + unreported),
                    base: TimeDelta::from_millis(50),
                    last: TimeDelta::from_millis(140),
                    is_shared: false,
                };
                let delivered = DataSize::from_bytes(25_000);
                decisions.extend(pushback.on_message(millis % 5 > 0, range));
                if split {
                    pushback.on_part(at(millis), delivered, path);
                } else {
                    decisions.extend(pushback.on_feedback(at(millis), delivered, path, range));
                }
            }
            decisions.len()
        };
        assert_eq!(decisions(true), 0);
        assert!(decisions(false) > 0, "with the flight behind the first");
    }

    /// Others fill the queue, and what arrives of ours falls with what we send.
    #[test]
    fn a_queue_of_others_holds_no_encoder_back() {
        let mut pushback = Pushback::new(Some(TimeDelta::from_millis(150)));
        let range = RateRange { min: Bitrate::from_kbps(150), max: Bitrate::from_mbps(4) };
        let mut media = range.max;
        let mut step = |millis: u64, is_shared| {
            let (base, last) = (TimeDelta::from_millis(50), TimeDelta::from_millis(250));
            let delivered = DataSize::from_bytes(media.as_bps() / 80);
            let path = PathState { flight: DataSize::from_bytes(media.as_bps() / 32), base, last, is_shared };
            let change = pushback.on_feedback(at(millis), delivered, path, range);
            let share = Share { media: range.max, repair: Bitrate::ZERO };
            media = pushback.apply(share, range.max).media;
            (change.map(|change| change.cause), media)
        };
        let starved = (0..20).map(|round| step(round * 100, false).1).last();
        assert!(starved < Some(Bitrate::from_mbps(1)), "each round a tenth less: {starved:?}");
        assert_eq!(step(2_000, true), (Some("network queue of others"), range.max));
        assert_eq!(step(2_100, true), (None, range.max));
    }

    #[test]
    fn where_nothing_arrives_encoders_keep_the_least_rate() {
        let mut pushback = Pushback::new(Some(TimeDelta::from_millis(150)));
        let range = RateRange { min: Bitrate::from_kbps(150), max: Bitrate::from_mbps(4) };
        let base = TimeDelta::from_millis(50);
        let path = PathState { flight: DataSize::from_bytes(5_000), base, last: base * 10, is_shared: false };
        pushback.on_feedback(at(0), DataSize::ZERO, path, range);
        assert!(pushback.on_feedback(at(100), DataSize::ZERO, path, range).is_some());
        let share = Share { media: range.max, repair: Bitrate::ZERO };
        let media = pushback.apply(share, range.max).media;
        assert!(media >= range.min.mul_f64(0.999), "{media}");
        let path = PathState { last: base, ..path };
        let ends = (2..60)
            .find_map(|step| pushback.on_feedback(at(step * 100), DataSize::from_bytes(1_000), path, range));
        assert_eq!(ends.map(|change| change.cause), Some("network queue drained"));
    }

    /// A report in two datagrams counts when the next message shows that it ended: with both parts, and the flight of the last.
    #[test]
    fn a_report_in_parts_counts_once_it_ended() {
        let range = RateRange { min: Bitrate::from_kbps(150), max: Bitrate::from_mbps(4) };
        let base = TimeDelta::from_millis(50);
        let path = |flight| PathState {
            flight: DataSize::from_bytes(flight),
            base,
            last: base * 10,
            is_shared: false,
        };
        let part = DataSize::from_bytes(6250);
        let mut pushback = Pushback::new(Some(TimeDelta::from_millis(150)));
        assert_eq!(pushback.on_message(false, range), None, "no part waits");
        pushback.on_part(at(0), DataSize::ZERO, path(60_000));
        assert_eq!(pushback.on_message(false, range), None, "the span begins");
        pushback.on_part(at(100), part, path(56_250));
        assert_eq!(pushback.on_message(true, range), None, "it goes on");
        pushback.on_part(at(100), part, path(50_000));
        let decision = pushback.on_message(false, range).expect("a queue");
        // 12 500 octets in 100 ms are 1 Mbit/s; encoders get nine tenths.
        assert_eq!(
            (decision.at, decision.cause, decision.after),
            (at(100), "network queue", Bitrate::from_kbps(900))
        );
        assert_eq!(pushback.on_message(false, range), None, "once");
    }

    /// With 1 Mbit/s delivered and 50 ms of path, frames are skipped where more than 225 ms above that are in flight: 34 375 octets.
    #[test]
    fn frames_are_skipped_beyond_the_bound_and_a_half() {
        let range = RateRange { min: Bitrate::from_kbps(150), max: Bitrate::from_mbps(4) };
        let base = TimeDelta::from_millis(50);
        let path = PathState { flight: DataSize::from_bytes(30_000), base, last: base * 6, is_shared: false };
        let mut pushback = Pushback::new(Some(TimeDelta::from_millis(150)));
        let flight = |octets| DataSize::from_bytes(octets);
        assert!(!pushback.should_skip(flight(1_000_000), Some(base)), "no rate is known");
        pushback.on_feedback(at(0), DataSize::ZERO, path, range);
        pushback.on_feedback(at(100), flight(12_500), path, range);
        let skips = [34_375, 34_400].map(|octets| pushback.should_skip(flight(octets), Some(base)));
        assert_eq!(skips, [false, true]);
        assert!(!pushback.should_skip(flight(1_000_000), None), "no round-trip time is known");
        // Above the target the bound changes nothing.
        let share = Share { media: Bitrate::from_kbps(300), repair: Bitrate::from_kbps(50) };
        assert_eq!(pushback.apply(share, Bitrate::from_kbps(450)), share);
        let half = pushback.apply(share, Bitrate::from_kbps(1800));
        assert_eq!(
            half,
            Share { media: Bitrate::from_kbps(150), repair: share.repair },
            "900 of 1800 kbit/s"
        );
    }
}
