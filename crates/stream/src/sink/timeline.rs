//! One time line for the frames of a recording.

use seaway_units::{TimeDelta, Timestamp};

/// Ticks of the media clock of video a second.
const CLOCK_RATE: i64 = 90_000;
/// The shortest step over a jump, ticks: a picture at 50 a second.
const LEAST_STEP: i64 = CLOCK_RATE / 50;

/// Gives each frame a time since the first one, which never decreases where frames come in the order of their times.
///
/// RTP timestamps wrap after 13.26 hours at 90 kHz, and a sender that restarts begins at another one (RFC 3550 section
/// 5.1). The step from frame to frame is that of the timestamps as long as it agrees with the time that passed here, else
/// the time that passed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Timeline {
    last: Option<Last>,
    reorders: bool,
}

#[derive(Debug, Clone, Copy)]
struct Last {
    at: Timestamp,
    timestamp: u32,
    /// Ticks since the first frame.
    time: i64,
}

impl Timeline {
    /// The playout delay changes by no more than this between two frames.
    const TOLERANCE: i64 = 10 * CLOCK_RATE;

    /// Frames come in decoding order, which is not that of their times: times may go back by up to a second.
    pub(crate) fn reorder(&mut self) {
        self.reorders = true;
    }

    /// The time of the frame `timestamp` that is displayed at `at`.
    pub(crate) fn time(&mut self, at: Timestamp, timestamp: u32) -> TimeDelta {
        let time = self.last.map_or(0, |last| {
            let media = i64::from(timestamp.wrapping_sub(last.timestamp).cast_signed());
            let passed = ticks(at.since(last.at));
            let back = if self.reorders { CLOCK_RATE } else { 0 };
            let agrees = media >= -back && (media - passed).abs() <= Self::TOLERANCE;
            last.time.saturating_add(if agrees { media } else { passed.max(LEAST_STEP) })
        });
        self.last = Some(Last { at, timestamp, time });
        TimeDelta::from_nanos(time.saturating_mul(100_000) / 9)
    }
}

fn ticks(span: TimeDelta) -> i64 {
    // Nanoseconds times 9 over 100 000: 90 000 ticks a second.
    span.as_nanos() / 100_000 * 9
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::ZERO + TimeDelta::from_millis(millis)
    }

    #[test]
    fn timestamps_wrap() {
        let mut timeline = Timeline::default();
        let begin = u32::MAX - 4_499;
        let times = [0, 40, 80, 120]
            .map(|millis: u32| timeline.time(at(millis.into()), begin.wrapping_add(90 * millis)));
        assert_eq!(times, [0, 40, 80, 120].map(TimeDelta::from_millis));
    }

    #[test]
    fn a_restarted_sender_goes_on_after_the_time_that_passed() {
        let mut timeline = Timeline::default();
        assert_eq!(timeline.time(at(100), 9_000), TimeDelta::ZERO);
        assert_eq!(timeline.time(at(140), 12_600), TimeDelta::from_millis(40));
        // Two seconds later, from another timestamp, ahead or behind.
        assert_eq!(timeline.time(at(2_140), 3_000_000_000), TimeDelta::from_millis(2_040));
        assert_eq!(timeline.time(at(4_140), 5), TimeDelta::from_millis(4_040));
        assert_eq!(timeline.time(at(4_180), 3_605), TimeDelta::from_millis(4_080));
        // Behind, at the same instant: the next picture all the same.
        assert_eq!(timeline.time(at(4_180), 0), TimeDelta::from_millis(4_100));
    }

    #[test]
    fn a_pause_and_a_late_frame_keep_the_media_clock() {
        let mut timeline = Timeline::default();
        timeline.time(at(0), 0);
        assert_eq!(timeline.time(at(60_000), 60 * 90_000), TimeDelta::from_secs(60));
        // Displayed 400 ms late, and the next in time.
        assert_eq!(timeline.time(at(60_440), 60 * 90_000 + 3_600), TimeDelta::from_millis(60_040));
        assert_eq!(timeline.time(at(60_080), 60 * 90_000 + 7_200), TimeDelta::from_millis(60_080));
    }

    proptest! {
        #[test]
        fn time_never_decreases(steps in prop::collection::vec((0..i64::MAX / 64, any::<u32>()), 1..50)) {
            let (mut timeline, mut now, mut before) = (Timeline::default(), Timestamp::ZERO, TimeDelta::ZERO);
            for (step, timestamp) in steps {
                now += TimeDelta::from_nanos(step);
                let time = timeline.time(now, timestamp);
                prop_assert!(time >= before);
                before = time;
            }
        }
    }
}
