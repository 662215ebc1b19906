//! The times of sound in a recording, by those of the pictures.

use seaway_units::{RemoteTimestamp, TimeDelta};

/// Samples a second.
const RATE: i64 = 48_000;
/// Where the sender's clock and the RTP timestamps differ by less, the timestamps are exact: 10 ms.
const TOLERANCE: i64 = RATE / 100;
/// A longer gap stays a gap: 1 s.
const CONCEALED: i64 = RATE;

/// Where a packet of sound stands in a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Placed {
    /// Samples since the first picture.
    pub(crate) start: i64,
    /// Samples before it that were lost, where they are few enough to be concealed.
    pub(crate) missing: i64,
}

/// Places packets of sound on the time line of the pictures.
///
/// Both have the time of their capture on the sender's clock, by sender reports. From packet to packet the step is that of the
/// RTP timestamps, which is exact.
#[derive(Debug, Clone, Default)]
pub(crate) struct SoundTimeline {
    /// A picture's capture, and its time in the recording.
    picture: Option<(RemoteTimestamp, TimeDelta)>,
    last: Option<Last>,
}

#[derive(Debug, Clone, Copy)]
struct Last {
    timestamp: u32,
    start: i64,
    end: i64,
}

impl SoundTimeline {
    /// A picture was recorded.
    pub(crate) fn on_picture(&mut self, captured: RemoteTimestamp, time: TimeDelta) {
        self.picture = Some((captured, time));
    }

    /// Another sender began, whose clock has another origin.
    pub(crate) fn on_session(&mut self) {
        self.picture = None;
    }

    /// Places a packet of so many samples. `None` where no picture is known, and where it would overlap the packet before.
    pub(crate) fn place(
        &mut self,
        timestamp: u32,
        duration: u32,
        captured: Option<RemoteTimestamp>,
    ) -> Option<Placed> {
        let (picture, time) = self.picture?;
        let wanted = samples((time + (captured? - picture)).as_nanos());
        let mut start = wanted;
        let mut missing = 0;
        if let Some(last) = self.last {
            let exact = last.start + i64::from(timestamp.wrapping_sub(last.timestamp).cast_signed());
            if (exact - wanted).abs() <= TOLERANCE {
                start = exact;
            }
            if start < last.end {
                return None;
            }
            missing = if start - last.end <= CONCEALED { start - last.end } else { 0 };
        }
        self.last = Some(Last { timestamp, start, end: start + i64::from(duration) });
        Some(Placed { start, missing })
    }
}

/// Nanoseconds as samples.
pub(super) fn samples(nanos: i64) -> i64 {
    (i128::from(nanos) * i128::from(RATE) / 1_000_000_000) as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn remote(millis: u64) -> RemoteTimestamp {
        RemoteTimestamp::from_nanos(millis * 1_000_000)
    }

    fn begun() -> SoundTimeline {
        let mut timeline = SoundTimeline::default();
        timeline.on_picture(remote(5_000), TimeDelta::from_millis(1_000));
        timeline
    }

    #[test]
    fn sound_stands_where_its_pictures_do() {
        let mut timeline = begun();
        let mut place = |millis, timestamp| timeline.place(timestamp, 960, Some(remote(millis)));
        assert_eq!(place(5_010, u32::MAX - 100), Some(Placed { start: 48_480, missing: 0 }));
        // The clock is a tick off, and the timestamp wraps.
        assert_eq!(place(5_030, 859), Some(Placed { start: 49_440, missing: 0 }));
        // Two packets are missing.
        assert_eq!(place(5_090, 859 + 2_880), Some(Placed { start: 52_320, missing: 1_920 }));
        // A sender that restarted, with another timestamp and the time that passed.
        assert_eq!(place(7_090, 5), Some(Placed { start: 148_320, missing: 0 }));
        assert_eq!(place(7_100, 7), None, "it overlaps");
    }

    #[test]
    fn without_a_picture_there_is_no_place() {
        assert_eq!(SoundTimeline::default().place(0, 960, Some(remote(1))), None);
        assert_eq!(begun().place(0, 960, None), None);
    }

    proptest! {
        #[test]
        fn packets_never_overlap(packets in prop::collection::vec((any::<u32>(), 0u64..10_000), 1..50)) {
            let (mut timeline, mut end) = (begun(), i64::MIN);
            for (timestamp, millis) in packets {
                if let Some(placed) = timeline.place(timestamp, 960, Some(remote(millis))) {
                    prop_assert!(placed.start >= end && placed.missing <= CONCEALED);
                    end = placed.start + 960;
                }
            }
        }
    }
}
