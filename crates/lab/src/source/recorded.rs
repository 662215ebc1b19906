//! The trace-driven model of RFC 8593 section 5.2: frames as an encoder gave them at a ladder of rates.

use super::model::{FrameSource, ModelFrame, interval, octets};
use super::rates::{Place, Rates, table, wrong};
use seaway_session::FrameKind;
use seaway_units::{Bitrate, TimeDelta, Timestamp};
use std::sync::Arc;

/// Sizes of the same frames coded at several rates.
///
/// The text form is a table with commas. Its heading is the frame rate and the rates, `25 fps,200 kbit/s,400 kbit/s`;
/// a row is a frame: its number and its octets at each rate. Lines that begin with `#` are left out.
#[derive(Debug, Clone, PartialEq)]
pub struct FrameLadder {
    rates: Rates,
    /// Frame by frame, rate by rate.
    sizes: Vec<u32>,
}

/// After the last frame comes this one and not the first, which is a key frame (`SkipFrames`).
const SKIP_FRAMES: usize = 20;
/// What a frame is at least and at most.
const LEAST: f64 = 10.0;
const MOST: f64 = 1e6;
/// The ladder that comes with the library: Big Buck Bunny by our own live encoder.
const BUNDLED: &str = include_str!("bigbuckbunny.ladder.csv");
const MOST_FRAMES: usize = 1_000_000;

impl FrameLadder {
    /// The ladder that comes with the library.
    ///
    /// # Errors
    /// None: a test reads it.
    pub fn bundled() -> Result<Self, String> {
        Self::parse(BUNDLED)
    }

    /// Reads the text form.
    ///
    /// # Errors
    /// Names the line, what was found there and what would be valid.
    pub fn parse(text: &str) -> Result<Self, String> {
        let table = table(text)?;
        table.has_offsets(false)?;
        let mut ladder = Self { rates: table.rates, sizes: Vec::new() };
        let steps = ladder.rates.steps.len();
        for (line, row) in table.rows {
            let fields: Option<Vec<u32>> =
                row.split(',').skip(1).map(|field| field.trim().parse().ok()).collect();
            let fields = fields.filter(|sizes| sizes.len() == steps);
            let sound = fields.filter(|sizes| sizes.iter().all(|&size| f64::from(size) <= MOST));
            let expected = || format!("the frame's number and {steps} sizes up to 1000000");
            ladder.sizes.extend(sound.ok_or_else(|| wrong(line, row, &expected()))?);
            if ladder.frames() > MOST_FRAMES {
                return Err(format!("line {line}: expected at most {MOST_FRAMES} frames"));
            }
        }
        let found = ladder.frames();
        if found <= SKIP_FRAMES {
            return Err(format!("found {found} frames, expected more than {SKIP_FRAMES}"));
        }
        Ok(ladder)
    }

    fn frames(&self) -> usize {
        self.sizes.len() / self.rates.steps.len()
    }

    /// Octets of a frame at any rate: between two steps of the ladder in proportion, beyond its ends scaled.
    fn octets(&self, frame: usize, rate: Bitrate) -> f64 {
        let steps = self.rates.steps.len();
        let sizes = &self.sizes[frame * steps..][..steps];
        let at = |step: usize| f64::from(sizes[step]);
        let size = match self.rates.place(rate) {
            Place::Below(part) => at(0) * part,
            Place::Above(times) => at(steps - 1) * times,
            Place::Between(step, part) => at(step) + (at(step + 1) - at(step)) * part,
        };
        size.clamp(LEAST, MOST)
    }
}

/// An encoder that gives recorded frames: one place in the recording for all rates.
#[derive(Debug)]
pub(crate) struct Recorded {
    ladder: Arc<FrameLadder>,
    fps: f64,
    rate: Bitrate,
    next: usize,
}

impl Recorded {
    /// With so many frames a second; where that is not the recording's own, sizes are scaled to keep the rate.
    pub(crate) fn new(ladder: Arc<FrameLadder>, fps: f64) -> Self {
        Self { ladder, fps, rate: Bitrate::ZERO, next: 0 }
    }
}

impl FrameSource for Recorded {
    fn interval(&self) -> TimeDelta {
        interval(self.fps)
    }

    fn on_rate(&mut self, _now: Timestamp, rate: Bitrate) {
        self.rate = rate;
    }

    fn on_key_frame_wanted(&mut self) {
        self.next = 0;
    }

    fn frame(&mut self, _now: Timestamp) -> ModelFrame {
        let frame = self.next;
        self.next = if frame + 1 < self.ladder.frames() { frame + 1 } else { SKIP_FRAMES };
        let size = self.ladder.octets(frame, self.rate) * self.ladder.rates.fps / self.fps;
        ModelFrame {
            size: octets(size),
            target: octets(self.rate.as_bytes_per_second() / self.fps),
            kind: if frame == 0 { FrameKind::Key } else { FrameKind::Reference },
            interval: interval(self.fps),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Frame n has 100 octets more than frame n − 1; twice as much at the upper step.
    fn ladder(frames: u32) -> FrameLadder {
        let rows = (0..frames).map(|n| format!("{n},{},{}\n", 1000 + 100 * n, 2000 + 200 * n));
        FrameLadder::parse(&format!("# ours\n25 fps,200 kbit/s,400 kbit/s\n{}", rows.collect::<String>()))
            .unwrap()
    }

    fn kbps(rate: u64) -> Bitrate {
        Bitrate::from_kbps(rate)
    }

    #[test]
    fn sizes_between_and_beyond_the_steps() {
        let ladder = ladder(30);
        let size = |rate| ladder.octets(1, kbps(rate));
        assert_eq!([size(200), size(300), size(400)], [1100.0, 1650.0, 2200.0]);
        assert_eq!([size(100), size(800)], [550.0, 4400.0]);
        assert_eq!(ladder.octets(0, Bitrate::ZERO), 10.0);
        assert_eq!(ladder.octets(0, Bitrate::from_mbps(100_000)), 1e6);
    }

    #[test]
    fn the_end_leads_to_frame_20_and_a_wish_to_frame_0() {
        let mut source = Recorded::new(Arc::new(ladder(22)), 25.0);
        source.on_rate(Timestamp::ZERO, kbps(200));
        let mut frames = |count| {
            let frame = |_| source.frame(Timestamp::ZERO);
            (0..count).map(frame).map(|frame| (frame.size.as_bytes(), frame.kind)).collect::<Vec<_>>()
        };
        let first = frames(24);
        assert_eq!(first[0], (1000, FrameKind::Key));
        assert_eq!(first[21..], [3100, 3000, 3100].map(|size| (size, FrameKind::Reference)));
        source.on_key_frame_wanted();
        assert_eq!(source.frame(Timestamp::ZERO).kind, FrameKind::Key);
    }

    #[test]
    fn another_frame_rate_keeps_the_bit_rate() {
        let mut source = Recorded::new(Arc::new(ladder(30)), 50.0);
        source.on_rate(Timestamp::ZERO, kbps(200));
        assert_eq!(source.frame(Timestamp::ZERO).size.as_bytes(), 500);
    }

    #[test]
    fn the_bundled_ladder_has_the_rates_it_names() {
        let ladder = FrameLadder::bundled().unwrap();
        assert!(
            ladder.rates.steps.first() <= Some(&kbps(200)) && ladder.rates.steps.last() >= Some(&kbps(1500))
        );
        for (step, rate) in ladder.rates.steps.iter().enumerate() {
            let sizes = ladder.sizes.iter().skip(step).step_by(ladder.rates.steps.len());
            let octets: u64 = sizes.map(|&size| u64::from(size)).sum();
            let mean = octets as f64 * 8.0 * ladder.rates.fps / ladder.frames() as f64;
            assert!((mean / rate.as_bps_f64() - 1.0).abs() < 0.15, "{mean} at {rate}");
        }
    }

    #[test]
    fn what_is_no_ladder_is_refused() {
        for (text, expected) in [
            ("", "line 1: found nothing"),
            ("25,200 kbit/s\n", "line 1: found \"25,200 kbit/s\", expected a heading"),
            ("25 fps,400 kbit/s,200 kbit/s\n", "expected a heading"),
            ("25 fps\n", "expected a heading"),
            (
                "25 fps,200 kbit/s\n0,1,2\n",
                "line 2: found \"0,1,2\", expected the frame's number and 1 sizes",
            ),
            ("25 fps,200 kbit/s\n0,x\n", "line 2:"),
            ("25 fps,200 kbit/s\n0,1\n", "found 1 frames, expected more than 20"),
        ] {
            let error = FrameLadder::parse(text).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
