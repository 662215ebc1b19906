//! The resolution ladder: smaller pictures at lower rates.

use super::{Encoded, VideoEncoder};
use crate::scale::Scaler;
use crate::{Error, FrameRate, Picture, PictureSize};
use seaway_units::{Bitrate, TimeDelta};

/// When a ladder changes its resolution, in bits per pixel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LadderRule {
    /// One step down below this.
    pub down: f64,
    /// One step up above this, unless the next step would then be below `down`.
    pub up: f64,
    /// The least media time between two steps, because every step needs a key frame.
    pub dwell: TimeDelta,
    /// Above 960x540, bits per pixel of that size are multiplied by the relative number of pixels to this power. `None`:
    /// bits per pixel at all sizes.
    pub large: Option<f64>,
    /// Steps up go at once to the largest size that the rate allows. A smaller one would not use the rate, even at the
    /// finest quantiser.
    pub leap: bool,
}

impl LadderRule {
    /// That of ns3-rmcat's codec library, which S004 used. A step may follow each picture.
    pub const NS3_RMCAT: Self =
        Self { down: 0.091, up: 0.175, dwell: TimeDelta::ZERO, large: Some(0.75), leap: false };
    /// Always the source's own size.
    pub const FIXED: Self =
        Self { down: 0.0, up: f64::INFINITY, dwell: TimeDelta::ZERO, large: None, leap: false };
    /// For live encoding with OpenH264. On the bundled clip, scaled back and compared by PSNR, 540 rows overtake 720
    /// below 540 kbit/s, 360 rows 540 below 370, 240 rows 360 below 180 and 180 rows 240 below 70: at 0.023 to 0.031
    /// bits per pixel, 0.028 in the mean. The gap between down and up spares key frames.
    pub const LIVE: Self =
        Self { down: 0.028, up: 0.08, dwell: TimeDelta::from_secs(2), large: None, leap: true };
}

/// Sizes with the shape of the source: those of 90, 180, 240, 360, 540, 720 and 1080 rows that are smaller
/// than it, and its own.
#[derive(Debug, Clone)]
pub struct Ladder {
    rule: LadderRule,
    frame_rate: FrameRate,
    steps: Vec<PictureSize>,
    step: usize,
    changed: Option<TimeDelta>,
}

impl Ladder {
    const ROWS: [u32; 7] = [90, 180, 240, 360, 540, 720, 1080];
    /// Pixels of 540 rows of 16:9, from which [`LadderRule::large`] counts.
    const REFERENCE: f64 = 960.0 * 540.0;

    /// The ladder of a source, on its highest step.
    pub fn new(source: PictureSize, frame_rate: FrameRate, rule: LadderRule) -> Self {
        let scaled = |rows: u32| {
            let width = u64::from(source.width()) * u64::from(rows) / u64::from(source.height());
            PictureSize::new(width as u32 & !1, rows).ok()
        };
        let smaller = Self::ROWS.into_iter().filter(|&rows| rows < source.height());
        let mut steps: Vec<_> = smaller.filter_map(scaled).collect();
        steps.push(source);
        let step = steps.len() - 1;
        Self { rule, frame_rate, steps, step, changed: None }
    }

    /// Starts at the step that `target` leads to in the long run.
    #[must_use]
    pub fn starting_at(mut self, target: Bitrate) -> Self {
        while self.step > 0 && self.bits_per_pixel(target, self.step) < self.rule.down {
            self.step -= 1;
        }
        self
    }

    /// The sizes, smallest first.
    pub fn steps(&self) -> &[PictureSize] {
        &self.steps
    }

    /// The present size.
    pub fn size(&self) -> PictureSize {
        self.steps[self.step]
    }

    /// The size for the picture of this time: at most one step below the one before, and at most one above unless the rule
    /// allows more.
    pub fn choose(&mut self, time: TimeDelta, target: Bitrate) -> PictureSize {
        let rested = self.changed.is_none_or(|changed| time - changed >= self.rule.dwell);
        let before = self.step;
        if rested && self.step > 0 && self.bits_per_pixel(target, self.step) < self.rule.down {
            self.step -= 1;
        } else if rested {
            while self.carries_more(target) {
                self.step += 1;
                if !self.rule.leap {
                    break;
                }
            }
        }
        if self.step != before {
            self.changed = Some(time);
        }
        self.size()
    }

    fn carries_more(&self, target: Bitrate) -> bool {
        let next = self.step + 1;
        next < self.steps.len()
            && self.bits_per_pixel(target, self.step) > self.rule.up
            && self.bits_per_pixel(target, next) >= self.rule.down
    }

    fn bits_per_pixel(&self, target: Bitrate, step: usize) -> f64 {
        let bits = target.as_bps_f64() / self.frame_rate.hz();
        let pixels = self.steps[step].pixels() as f64;
        match self.rule.large {
            Some(power) if pixels > Self::REFERENCE => {
                bits / Self::REFERENCE * libm::pow(pixels / Self::REFERENCE, power)
            }
            _ => bits / pixels,
        }
    }
}

/// An encoder whose pictures shrink and grow with the rate.
#[derive(Debug)]
pub struct LadderEncoder<E> {
    encoder: E,
    ladder: Ladder,
    scaler: Option<Scaler>,
}

impl<E: VideoEncoder> LadderEncoder<E> {
    /// An encoder behind a ladder.
    pub fn new(encoder: E, ladder: Ladder) -> Self {
        Self { encoder, ladder, scaler: None }
    }
}

impl<E: VideoEncoder> VideoEncoder for LadderEncoder<E> {
    fn set_target(&mut self, target: Bitrate) {
        self.encoder.set_target(target);
    }

    fn target(&self) -> Bitrate {
        self.encoder.target()
    }

    fn request_key_frame(&mut self) {
        self.encoder.request_key_frame();
    }

    fn encode(&mut self, picture: &Picture) -> Result<Encoded, Error> {
        let size = self.ladder.choose(picture.time(), self.encoder.target());
        if size == picture.size() {
            return self.encoder.encode(picture);
        }
        let fits = |scaler: &Scaler| scaler.from() == picture.size() && scaler.to() == size;
        let mut scaler = self.scaler.take().filter(fits).unwrap_or_else(|| Scaler::new(picture.size(), size));
        let scaled = scaler.scale(picture);
        self.scaler = Some(scaler);
        self.encoder.encode(&scaled)
    }

    fn latency(&self) -> TimeDelta {
        self.encoder.latency()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ladder(rule: LadderRule) -> Ladder {
        let rate = FrameRate::new(30, 1).unwrap();
        Ladder::new(PictureSize::new(1280, 720).unwrap(), rate, rule)
    }

    /// Rows after a target was held for a long time.
    fn rows(ladder: &mut Ladder, kbps: u64) -> u32 {
        (0..100)
            .map(|i| ladder.choose(TimeDelta::from_secs(i), Bitrate::from_kbps(kbps)).height())
            .last()
            .unwrap()
    }

    #[test]
    fn the_borders_of_s004() {
        let mut ladder = ladder(LadderRule::NS3_RMCAT);
        // Down below 919, 1415, 629, 279 and 157 kbit/s; up at 157, 302, 629, 1415 and 2722.
        let walk = [(920, 720), (910, 360), (300, 240), (278, 180), (158, 180), (156, 90), (156, 90)];
        assert_eq!(walk.map(|(kbps, _)| rows(&mut ladder, kbps)), walk.map(|(_, rows)| rows));
        let walk = [
            (158, 180),
            (301, 180),
            (303, 240),
            (628, 240),
            (630, 360),
            (1416, 540),
            (2720, 540),
            (2723, 720),
        ];
        assert_eq!(walk.map(|(kbps, _)| rows(&mut ladder, kbps)), walk.map(|(_, rows)| rows));
    }

    #[test]
    fn a_fixed_size_stays() {
        let mut ladder = ladder(LadderRule::FIXED).starting_at(Bitrate::ZERO);
        assert_eq!([rows(&mut ladder, 1), rows(&mut ladder, 100_000)], [720, 720]);
    }

    #[test]
    fn a_step_is_followed_by_a_rest() {
        let mut ladder = ladder(LadderRule { dwell: TimeDelta::from_secs(2), ..LadderRule::NS3_RMCAT });
        let heights: Vec<_> = (0..5)
            .map(|second| ladder.choose(TimeDelta::from_secs(second), Bitrate::from_kbps(100)).height())
            .collect();
        assert_eq!(heights, [540, 540, 360, 360, 240]);
    }

    #[test]
    fn up_may_leap_and_down_may_not() {
        let mut ladder = ladder(LadderRule::LIVE).starting_at(Bitrate::from_kbps(150));
        let targets = [150, 2500, 100, 100, 100, 2500];
        let heights = targets.iter().enumerate().map(|(index, &kbps)| {
            ladder.choose(TimeDelta::from_secs(2 * index as i64), Bitrate::from_kbps(kbps)).height()
        });
        assert_eq!(heights.collect::<Vec<_>>(), [240, 720, 540, 360, 240, 720]);
    }

    #[test]
    fn starts_where_it_would_end() {
        let started = ladder(LadderRule::NS3_RMCAT).starting_at(Bitrate::from_kbps(290));
        assert_eq!(started.size().height(), 240);
        assert_eq!(ladder(LadderRule::LIVE).starting_at(Bitrate::ZERO).size().height(), 90);
    }

    #[test]
    fn sizes_keep_the_shape_of_the_source() {
        let portrait = Ladder::new(PictureSize::new(480, 640).unwrap(), FrameRate::USUAL, LadderRule::LIVE);
        let sizes: Vec<_> = portrait.steps().iter().map(ToString::to_string).collect();
        assert_eq!(sizes, ["66x90", "134x180", "180x240", "270x360", "404x540", "480x640"]);
    }
}
