//! Packets that do not come: the end of a picture, or the next picture, is requested before a later packet shows that it is missing.

use super::nack::DOUBT;
use super::playout::Extreme;
use crate::message::MOST_AHEAD;
use crate::source_id::SourceId;
use seaway_units::{TimeDelta, Timestamp};
use std::ops::Range;

/// What is late by a gap between two packets and so many mean deviations is lost.
const DEVIATIONS: i64 = 8;
/// Weight of a time in a mean, as a part.
const MEMORY: i64 = 16;
const LEAST_GAP: TimeDelta = TimeDelta::from_micros(10);
/// A longer time is a pause, after which numbers may begin anew.
const LONGEST: TimeDelta = TimeDelta::from_millis(250);
/// A silence that lasts so long after its first request is a loss.
const LASTING: TimeDelta = TimeDelta::from_millis(15);
/// Requests in one silence at most.
const REQUESTS: u8 = 6;
/// So many packets in a row that are missing are a burst. Only where there was one within this time is silence taken for another.
const BURST: u64 = 3;
const REMEMBERED: TimeDelta = TimeDelta::from_secs(60);

/// Watches for what is to come next in a stream. A burst that takes the end of a picture, or a whole picture, shows only with what
/// comes behind it, and then the repair may come late.
#[derive(Debug)]
pub(super) struct TailWatch {
    newest: Option<Newest>,
    /// Between the packets of a picture.
    gap: Spacing,
    /// Between the first packets of two pictures.
    interval: Spacing,
    /// When several packets in a row were last lost.
    burst: Option<Timestamp>,
    /// The least round-trip time of late, negated, in ns.
    least: Extreme,
    /// Packets wait in a queue for longer than they are under way: that loses packets in a row, too, and is silent where the rate falls.
    is_queued: bool,
    /// When the first request of this round was made.
    begun: Option<Timestamp>,
    /// Requests in this silence.
    asked: u8,
    next: Option<Timestamp>,
}

/// The newest packet.
#[derive(Debug, Clone, Copy)]
struct Newest {
    source: SourceId,
    sequence: u64,
    timestamp: u32,
    /// It ends its picture.
    ends: bool,
    at: Timestamp,
    /// When its picture began.
    began: Timestamp,
}

/// A mean time, and the mean deviation from it.
#[derive(Debug, Clone, Copy, Default)]
struct Spacing {
    mean: TimeDelta,
    deviation: TimeDelta,
}

impl Spacing {
    fn note(&mut self, seen: TimeDelta) {
        let change = seen.min(LONGEST) - self.mean;
        self.mean += change / MEMORY;
        self.deviation += (change.abs() - self.deviation) / MEMORY;
    }
}

/// What a silence asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TailRequest {
    /// Whose packets.
    pub(super) source: SourceId,
    /// Those that may have left since, as far as they did; empty where an answer would come late.
    pub(super) numbers: Range<u64>,
    /// A key frame as well: an answer would come late.
    pub(super) key_frame: bool,
}

impl Default for TailWatch {
    fn default() -> Self {
        Self {
            newest: None,
            gap: Spacing::default(),
            interval: Spacing::default(),
            burst: None,
            least: Extreme::new(REMEMBERED),
            is_queued: false,
            begun: None,
            asked: 0,
            next: None,
        }
    }
}

impl TailWatch {
    /// The round-trip time as of a packet that arrived.
    pub(super) fn on_round_trip(&mut self, at: Timestamp, rtt: TimeDelta) {
        let least = TimeDelta::from_nanos(-self.least.largest(at, -rtt.as_nanos()));
        self.is_queued = rtt > least * 2 + DOUBT;
    }

    /// A media packet arrived by itself, the first behind so many `missing` ones. `reorder`: for so long a gap is no loss.
    pub(super) fn on_arrival(
        &mut self,
        at: Timestamp,
        (source, sequence): (SourceId, u64),
        (timestamp, ends): (u32, bool),
        missing: u64,
        reorder: TimeDelta,
    ) {
        let is_overtaken = |newest: Newest| {
            newest.source == source && sequence < newest.sequence && at.since(newest.at) < LONGEST
        };
        if self.newest.is_some_and(is_overtaken) {
            return;
        }
        let of_picture = self.newest.filter(|newest| newest.timestamp == timestamp);
        if let Some(newest) = self.newest.filter(|_| missing == 0) {
            match of_picture {
                Some(_) => self.gap.note(at - newest.at),
                None => self.interval.note(at - newest.began),
            }
        }
        if missing >= BURST && !self.is_queued {
            self.burst = Some(at);
        }
        let began = of_picture.map_or(at, |newest| newest.began);
        let newest = Newest { source, sequence, timestamp, ends, at, began };
        self.newest = Some(newest);
        (self.begun, self.asked) = (None, 0);
        let is_bursty = !self.is_queued && self.burst.is_some_and(|burst| at.since(burst) < REMEMBERED);
        self.next = is_bursty.then(|| self.expected(&newest) + self.silence(&newest, reorder));
    }

    /// Between two packets of a picture.
    pub(super) fn gap(&self) -> TimeDelta {
        self.gap.mean
    }

    /// When the next packet should come.
    fn expected(&self, newest: &Newest) -> Timestamp {
        if newest.ends { newest.began + self.interval.mean } else { newest.at + self.gap.mean }
    }

    /// For so long it may be late.
    fn silence(&self, newest: &Newest, reorder: TimeDelta) -> TimeDelta {
        let spacing = if newest.ends { &self.interval } else { &self.gap };
        reorder.max(self.gap.mean + spacing.deviation * DEVIATIONS)
    }

    /// When [`poll`](Self::poll) has something to do.
    #[inline]
    pub(super) fn poll_timeout(&self) -> Option<Timestamp> {
        self.next
    }

    /// What the silence asks for by now, each `again`, a few times, while an answer would be there by the `deadline` of the picture with this time
    /// stamp, or of the next one, where that has its end. Once it would not, a key frame is asked for, if the silence has lasted: a
    /// shorter one may be a queue's.
    pub(super) fn poll(
        &mut self,
        now: Timestamp,
        rtt: TimeDelta,
        again: TimeDelta,
        deadline: impl FnOnce(u32) -> Timestamp,
    ) -> Option<TailRequest> {
        self.next.filter(|next| *next <= now)?;
        let newest = self.newest?;
        let begun = self.begun.filter(|begun| now < *begun + rtt).unwrap_or(now);
        let silent_since = self.begun.unwrap_or(now);
        self.begun = Some(begun);
        let interval = if newest.ends { self.interval.mean } else { TimeDelta::ZERO };
        let left = deadline(newest.timestamp) + interval - now;
        let in_time = left > rtt && self.asked < REQUESTS;
        self.asked += u8::from(in_time);
        // Where the last packets of a picture alone are lost, the next picture comes.
        let next_picture = newest.began + self.interval.mean + again;
        let doubted_at = (silent_since + LASTING.min(rtt)).max(next_picture);
        self.next = match in_time {
            true => Some((now + again).min(begun + rtt)),
            false => (now < doubted_at).then_some(doubted_at),
        };
        let late = now - self.expected(&newest);
        let count = 1 + late.ratio(self.gap.mean.max(LEAST_GAP)).ceil() as u64;
        let first = newest.sequence + 1;
        let numbers = first..if in_time { first + count.min(MOST_AHEAD) } else { first };
        // An encoder may skip a picture.
        let key_frame = now >= doubted_at && left < rtt + DOUBT && !newest.ends;
        (key_frame || in_time).then_some(TailRequest { source: newest.source, numbers, key_frame })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seaway_control::{StreamId, Subflow};

    const SOURCE: SourceId = SourceId { stream: StreamId(0), subflow: Subflow(0), repair: false };

    fn ms(millis: i64) -> TimeDelta {
        TimeDelta::from_millis(millis)
    }

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_nanos(millis * 1_000_000)
    }

    /// Packets 0 to 9 of a picture, each 2 ms from 0 ms on, behind a burst.
    fn begun() -> TailWatch {
        let of = |mean| Spacing { mean: ms(mean), deviation: TimeDelta::ZERO };
        let mut watch = TailWatch { gap: of(2), interval: of(40), ..TailWatch::default() };
        for number in 0..10 {
            let missing = if number == 0 { BURST } else { 0 };
            watch.on_arrival(at(2 * number), (SOURCE, number), (90, false), missing, ms(10));
        }
        watch
    }

    /// What is asked for at each instant that the watch names: so many numbers, and a key frame or not.
    fn asked(watch: &mut TailWatch, deadline: u64) -> Vec<(u64, u64, bool)> {
        let mut asked = Vec::new();
        while let Some(next) = watch.poll_timeout() {
            let request = watch.poll(next, ms(40), ms(10), |_| at(deadline));
            let millis = next.as_nanos() / 1_000_000;
            asked.extend(request.map(|of| (millis, of.numbers.end - of.numbers.start, of.key_frame)));
        }
        asked
    }

    /// Silence from 18 ms on, a round trip of 40 ms: what 2 ms a packet may have sent is requested from 30 ms on as long as it can be there
    /// at 120 ms; a key frame 15 ms behind the last first request, or once the next picture is late by 10 ms too.
    #[test]
    fn the_end_of_a_picture_is_requested_and_then_a_key_frame() {
        let requests =
            [(30, 6), (40, 11), (50, 16), (60, 21), (70, 26)].map(|(at, count)| (at, count, false));
        assert_eq!(asked(&mut begun(), 120), [&requests[..], &[(85, 0, true)]].concat());
        assert_eq!(asked(&mut begun(), 60), [(50, 0, true)], "no repair would be there in time");
    }

    #[test]
    fn nothing_is_asked_for_where_nothing_is_missed() {
        let mut ended = begun();
        ended.on_arrival(at(20), (SOURCE, 10), (90, true), 0, ms(10));
        let next = ended.poll_timeout();
        assert_eq!(next, Some(at(50)), "the next picture is late by 10 ms");
        let mut alone = TailWatch::default();
        alone.on_arrival(at(0), (SOURCE, 0), (90, false), BURST - 1, ms(10));
        assert_eq!(alone.poll_timeout(), None, "nothing was lost in bursts");
        let mut later = begun();
        later.on_arrival(at(70_000), (SOURCE, 10), (91, false), 0, ms(10));
        assert_eq!(later.poll_timeout(), None, "bursts are forgotten");
    }

    /// A queue of 60 ms beside a least round trip of 40 ms, which is forgotten after a minute.
    #[test]
    fn a_full_queue_is_silent_as_well() {
        let mut watch = begun();
        watch.on_round_trip(at(18), ms(40));
        let mut next = |millis, sequence, rtt| {
            watch.on_round_trip(at(millis), ms(rtt));
            watch.on_arrival(at(millis), (SOURCE, sequence), (90, false), BURST, ms(10));
            watch.poll_timeout()
        };
        assert_eq!(next(20, 10, 100), None);
        assert!(next(22, 11, 90).is_some());
        assert_eq!(next(24, 12, 100), None);
        assert!(next(130_000, 13, 100).is_some());
    }

    /// Each subflow has numbers of its own.
    #[test]
    fn a_packet_of_another_subflow_ends_a_silence() {
        let mut watch = begun();
        let other = SourceId { subflow: Subflow(1), ..SOURCE };
        watch.on_arrival(at(20), (other, 3), (90, false), 0, ms(10));
        assert_eq!(watch.poll_timeout(), Some(at(32)));
        let request = watch.poll(at(32), ms(40), ms(10), |_| at(120)).unwrap();
        assert_eq!((request.source, request.numbers), (other, 4..10));
    }

    /// Packets that come each 20 ms are no silence after 30 ms.
    #[test]
    fn slow_pictures_are_not_silent() {
        let mut watch = TailWatch::default();
        for number in 0..100 {
            watch.on_arrival(
                at(20 * number),
                (SOURCE, number),
                (90, false),
                if number == 0 { BURST } else { 0 },
                ms(10),
            );
        }
        let next = watch.poll_timeout().unwrap();
        assert!(next > at(99 * 20 + 30), "{next:?}");
    }

    /// A sixteenth of what is new; a pause counts as 250 ms.
    #[test]
    fn a_spacing_follows_slowly() {
        let mut spacing = Spacing::default();
        let mut note = |millis| {
            spacing.note(ms(millis));
            [spacing.mean, spacing.deviation].map(TimeDelta::as_nanos)
        };
        assert_eq!(note(16), [1_000_000, 1_000_000]);
        assert_eq!(note(17), [2_000_000, 1_937_500]);
        assert_eq!(note(2), [2_000_000, 1_816_407], "1.9375 - 1.9375 / 16, rounded");
        assert_eq!(note(10_000)[0], 17_500_000);
        assert_eq!(begun().gap(), ms(2));
    }

    /// The newest came at 18 ms. What is older says nothing, unless it comes 250 ms later: then numbers began anew.
    #[test]
    fn an_overtaken_packet_ends_no_silence() {
        let next = |millis, sequence| {
            let mut watch = begun();
            watch.on_arrival(at(millis), (SOURCE, sequence), (90, false), 0, ms(10));
            watch.poll_timeout()
        };
        assert_eq!([next(20, 8), next(267, 5)], [Some(at(30)); 2]);
        assert!(next(268, 5) > Some(at(278)) && next(20, 10) > Some(at(30)));
    }

    /// A gap of 2 ms and eight deviations of 3 ms are longer than 10 ms.
    #[test]
    fn an_uneven_stream_is_silent_for_longer() {
        let mut watch = begun();
        watch.gap.deviation = ms(3);
        let newest = watch.newest.unwrap();
        assert_eq!((watch.silence(&newest, ms(10)), watch.silence(&newest, ms(40))), (ms(26), ms(40)));
        let ended = Newest { ends: true, ..newest };
        assert_eq!(watch.silence(&ended, ms(1)), ms(2));
        assert_eq!((watch.expected(&newest), watch.expected(&ended)), (at(20), at(40)));
    }

    #[test]
    fn a_burst_is_remembered_for_a_minute() {
        for (millis, is_remembered) in [(59_999, true), (60_000, false)] {
            let mut watch = begun();
            watch.on_arrival(at(millis), (SOURCE, 10), (91, false), 0, ms(10));
            assert_eq!(watch.poll_timeout().is_some(), is_remembered, "{millis}");
        }
    }

    /// The deadline of the picture, or of the next one; six requests, and no more.
    #[test]
    fn requests_are_few_and_in_time() {
        assert_eq!(asked(&mut begun(), 10_000).len(), usize::from(REQUESTS));
        let requested = |deadline| {
            let mut ended = begun();
            ended.on_arrival(at(20), (SOURCE, 10), (90, true), 0, ms(10));
            ended.poll(at(50), ms(40), ms(10), |_| at(deadline)).map(|request| request.numbers)
        };
        // An answer is there at 90 ms; the next picture has 40 ms more.
        assert_eq!((requested(50), requested(51)), (None, Some(11..17)));
    }
}
