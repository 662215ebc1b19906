//! The times of sound in a recording, by those of the pictures.

use seaway_units::{RemoteTimestamp, TimeDelta};

/// Where the sender's clock and the RTP timestamps differ by less, the timestamps are exact.
const TOLERANCE: TimeDelta = TimeDelta::from_millis(10);
/// A longer gap stays a gap.
const CONCEALED: TimeDelta = TimeDelta::from_secs(1);
/// RTP timestamps are rounded: so many samples are no gap and no overlap. Those of Opus are exact.
const ROUNDED: i64 = 2;

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
#[derive(Debug, Clone)]
pub(crate) struct SoundTimeline {
    /// Samples a second, of which RTP timestamps count each.
    rate: u32,
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
    /// Of sound with so many samples a second.
    pub(crate) const fn new(rate: u32) -> Self {
        Self { rate, picture: None, last: None }
    }

    /// A time as samples.
    pub(super) fn samples(&self, time: TimeDelta) -> i64 {
        (i128::from(time.as_nanos()) * i128::from(self.rate) / 1_000_000_000) as i64
    }

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
        let wanted = self.samples(time + (captured? - picture));
        let mut start = wanted;
        let mut missing = 0;
        if let Some(last) = self.last {
            let exact = last.start + i64::from(timestamp.wrapping_sub(last.timestamp).cast_signed());
            if (exact - wanted).abs() <= self.samples(TOLERANCE) {
                start = exact;
            }
            if (start - last.end).abs() <= ROUNDED {
                start = last.end;
            }
            if start < last.end {
                return None;
            }
            missing = if start - last.end <= self.samples(CONCEALED) { start - last.end } else { 0 };
        }
        self.last = Some(Last { timestamp, start, end: start + i64::from(duration) });
        Some(Placed { start, missing })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn remote(millis: u64) -> RemoteTimestamp {
        RemoteTimestamp::from_nanos(millis * 1_000_000)
    }

    fn begun() -> SoundTimeline {
        let mut timeline = SoundTimeline::new(48_000);
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

    /// Frames of AAC at 44.1 kHz, whose times are rounded to ticks.
    #[test]
    fn rounded_timestamps_leave_no_gap() {
        let mut timeline = SoundTimeline::new(44_100);
        timeline.on_picture(remote(1_000), TimeDelta::ZERO);
        let mut place = |timestamp, nanos: u64| {
            timeline.place(timestamp, 1_024, Some(RemoteTimestamp::from_nanos(1_000_000_000 + nanos)))
        };
        for (timestamp, nanos, start) in [(0, 0, 0), (1_023, 23_219_954, 1_024), (2_048, 46_439_909, 2_048)] {
            assert_eq!(place(timestamp, nanos), Some(Placed { start, missing: 0 }));
        }
        // One is lost: 1024 samples.
        assert_eq!(place(4_096, 92_879_819), Some(Placed { start: 4_096, missing: 1_024 }));
    }

    #[test]
    fn without_a_picture_there_is_no_place() {
        assert_eq!(SoundTimeline::new(48_000).place(0, 960, Some(remote(1))), None);
        assert_eq!(begun().place(0, 960, None), None);
    }

    proptest! {
        #[test]
        fn packets_never_overlap(packets in prop::collection::vec((any::<u32>(), 0u64..10_000), 1..50)) {
            let (mut timeline, mut end) = (begun(), i64::MIN);
            for (timestamp, millis) in packets {
                if let Some(placed) = timeline.place(timestamp, 960, Some(remote(millis))) {
                    prop_assert!(placed.start >= end && placed.missing <= 48_000);
                    end = placed.start + 960;
                }
            }
        }
    }
}
