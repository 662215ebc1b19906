//! From the sender's clock to the pipeline's: timestamps of pictures that arrive with jitter.

/// Pictures that arrive so much earlier or later than expected begin a new time line, in nanoseconds.
const JUMP: i64 = 2_000_000_000;
/// How fast the least delay is forgotten, in nanoseconds a microsecond: 200 ppm, more than clocks drift.
const FORGETTING: f64 = 0.2e-3;

/// Places pictures by their RTP timestamps, at the least delay of the path.
#[derive(Debug, Default)]
pub(crate) struct Timeline {
    /// RTP timestamp of the last picture, and its time since an origin.
    last: Option<(u32, i64)>,
    /// The least delay: running time of an arrival less the time of its picture.
    delay: Option<i64>,
}

impl Timeline {
    /// The running time of the picture with this RTP timestamp (90 kHz) that arrived at the running time `arrived`, in
    /// nanoseconds. It is not after the arrival.
    pub(crate) fn place(&mut self, arrived: i64, timestamp: u32) -> i64 {
        let (before, time_before) = self.last.unwrap_or((timestamp, 0));
        // Modulo 2^32, forward or backward (RFC 3550 section 5.1).
        let ticks = timestamp.wrapping_sub(before).cast_signed();
        let time = time_before + i64::from(ticks) * 100_000 / 9;
        self.last = Some((timestamp, time));
        let delay = arrived - time;
        let passed = (time - time_before).max(0);
        let least = match self.delay {
            Some(least) if (delay - least).abs() <= JUMP => {
                delay.min(least + (passed as f64 * FORGETTING) as i64)
            }
            _ => delay,
        };
        self.delay = Some(least);
        time + least
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;
    /// 40 ms.
    const STEP: u32 = 3600;

    #[test]
    fn jitter_is_removed() {
        let mut timeline = Timeline::default();
        let late = [0, 30, 5, 12, 0, 60, 3];
        let mut timestamp = u32::MAX - STEP;
        let placed = late.iter().enumerate().map(|(index, late)| {
            timestamp = timestamp.wrapping_add(STEP);
            timeline.place((100 + 40 * index as i64 + late) * MS, timestamp)
        });
        let placed: Vec<_> = placed.collect();
        for pair in placed.windows(2) {
            let step = pair[1] - pair[0];
            assert!((step - 40 * MS).abs() <= MS / 10, "{placed:?}");
        }
        assert_eq!(placed[0], 100 * MS);
    }

    #[test]
    fn times_do_not_run_back_where_the_first_picture_was_late() {
        let mut timeline = Timeline::default();
        let first = timeline.place(500 * MS, 0);
        let second = timeline.place(501 * MS, STEP);
        assert!(second >= first && second <= 501 * MS);
    }

    #[test]
    fn a_slow_clock_is_followed() {
        let mut timeline = Timeline::default();
        // Its second takes 100 microseconds more: after an hour, 0.36 s.
        for index in 0..90_000_i64 {
            let arrived = index * (40 * MS + 4000);
            let placed = timeline.place(arrived, (index as u32).wrapping_mul(STEP));
            assert!(arrived - placed < 10 * MS, "{index}");
        }
    }

    #[test]
    fn another_sender_begins_again() {
        let mut timeline = Timeline::default();
        timeline.place(1000 * MS, 0);
        assert_eq!(timeline.place(2000 * MS, 1 << 30), 2000 * MS);
        assert_eq!(timeline.place(60_000 * MS, (1 << 30) + STEP), 60_000 * MS);
    }
}
