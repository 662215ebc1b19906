//! A clip coded beforehand at a ladder of rates: sizes and quality of its frames without a codec.

use super::model::{FrameSource, ModelFrame, interval, octets};
use super::rates::{Place, Rates, table, wrong};
use seaway_quality::psnr;
use seaway_session::FrameKind;
use seaway_units::{Bitrate, TimeDelta, Timestamp};
use std::sync::{Arc, mpsc};

/// Octets and PSNR of the frames of two rounds of a clip at several rates. The first round begins with a key frame,
/// the second goes on: what a key frame costs in quality is the difference between the two.
///
/// The text form is a table with commas. Its heading is the frame rate, the rates, and how many pictures later
/// another is held against a picture: `25 fps,300 kbit/s,800 kbit/s,+1,+4`. A row is a frame: its number; at each rate
/// its octets and its PSNR in decibels, `5280 33.4`; in the first round also the mean squared error of the clip's
/// own pictures so much later, for each of the offsets. Lines that begin with `#` are left out.
#[derive(Debug, Clone, PartialEq)]
pub struct ClipLadder {
    rates: Rates,
    /// Two rounds, frame by frame, rate by rate: octets, and PSNR in decibels.
    frames: Vec<(f64, f64)>,
    /// Rising.
    offsets: Vec<u32>,
    /// One round, frame by frame, offset by offset.
    errors: Vec<f64>,
}

/// The ladder that comes with the library: Big Buck Bunny by our own live encoder.
const BUNDLED: &str = include_str!("bigbuckbunny.clip.csv");
const MOST_FRAMES: usize = 100_000;
/// No frame is larger.
const MOST: f64 = 1e7;

impl ClipLadder {
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
        table.has_offsets(true)?;
        let mut ladder =
            Self { rates: table.rates, frames: Vec::new(), offsets: table.offsets, errors: Vec::new() };
        for (line, row) in table.rows {
            ladder.push(row).ok_or_else(|| {
                let (rates, offsets) = (ladder.rates.steps.len(), ladder.offsets.len());
                wrong(
                    line,
                    row,
                    &format!("a number, {rates} pairs `octets dB`, and {offsets} errors or none"),
                )
            })?;
        }
        let (frames, clip) = (ladder.frames.len() / ladder.rates.steps.len(), ladder.clip());
        if clip == 0 || frames != 2 * clip {
            return Err(format!(
                "found {frames} frames, {clip} with errors: expected two rounds, the first with"
            ));
        }
        Ok(ladder)
    }

    fn push(&mut self, row: &str) -> Option<()> {
        let mut fields = row.split(',').map(str::trim);
        fields.next()?.parse::<u32>().ok()?;
        for _ in &self.rates.steps {
            let (size, level) = fields.next()?.split_once(' ')?;
            let (size, level) = (size.parse::<u32>().ok()?, level.trim().parse::<f64>().ok()?);
            let sound = f64::from(size) <= MOST && (0.0..=100.0).contains(&level);
            sound.then(|| self.frames.push((f64::from(size), level)))?;
        }
        let errors: Vec<f64> = fields.map(|field| field.parse().ok()).collect::<Option<_>>()?;
        let sound = errors.iter().all(|error| (0.0..=65_025.0).contains(error));
        let complete = errors.is_empty() || errors.len() == self.offsets.len();
        self.errors.extend(errors);
        (sound && complete && self.frames.len() <= MOST_FRAMES * self.rates.steps.len()).then_some(())
    }

    /// Pictures of one round.
    fn clip(&self) -> usize {
        self.errors.len() / self.offsets.len()
    }

    /// Octets and PSNR at any rate: between two rates in proportion; beyond them octets follow the rate, and quality
    /// below the lowest as if each halving cost 3 dB more.
    fn at(&self, frame: usize, rate: Bitrate) -> (f64, f64) {
        let steps = self.rates.steps.len();
        let frames = &self.frames[frame * steps..][..steps];
        match self.rates.place(rate) {
            Place::Below(part) => {
                let lost = 3.0 * libm::log2(part.max(1e-3));
                (frames[0].0 * part, (frames[0].1 + lost).max(0.0))
            }
            // The finest quantiser is reached: more rate brings no more octets than this.
            Place::Above(_) => frames[steps - 1],
            Place::Between(step, part) => {
                let (low, high) = (frames[step], frames[step + 1]);
                (low.0 + part * (high.0 - low.0), low.1 + part * (high.1 - low.1))
            }
        }
    }

    /// Mean squared error of the clip's own picture `later` pictures after this one.
    fn error_after(&self, picture: u64, later: u64) -> f64 {
        if later == 0 {
            return 0.0;
        }
        let place = (picture % self.clip() as u64) as usize;
        let errors = &self.errors[place * self.offsets.len()..][..self.offsets.len()];
        let above = self.offsets.partition_point(|&offset| u64::from(offset) <= later);
        let at = |index: usize| (f64::from(self.offsets[index]), errors[index]);
        match above {
            0 => errors[0] * later as f64 / at(0).0,
            _ if above == errors.len() => errors[above - 1],
            _ => {
                let ((from, low), (to, high)) = (at(above - 1), at(above));
                low + (high - low) * (later as f64 - from) / (to - from)
            }
        }
    }

    /// PSNR of a picture of the clip coded at this rate, shown in place of the one `later` pictures after it.
    pub fn psnr_after(&self, picture: u64, rate: Bitrate, later: u64) -> f64 {
        let clip = self.clip() as u64;
        let (_, psnr) = self.at((clip + picture % clip) as usize, rate);
        self.level_after(CodedPicture { picture, psnr }, later)
    }

    /// PSNR of a picture that was coded with this PSNR, shown in place of the one `later` pictures after it: the two
    /// errors are of different origin, so their squares add up.
    pub(crate) fn level_after(&self, coded: CodedPicture, later: u64) -> f64 {
        let coding = 65_025.0 / libm::pow(10.0, coded.psnr / 10.0);
        psnr::of_error(coding + self.error_after(coded.picture, later)).get()
    }
}

/// A picture as it was coded.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct CodedPicture {
    /// Which one, over all rounds of the clip.
    pub(crate) picture: u64,
    /// How well, in decibels.
    pub(crate) psnr: f64,
}

/// A captured picture, for the sink of a ladder.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Taken {
    /// When it was captured.
    pub(crate) at: Timestamp,
    /// What it is and how well it was coded; where it was left out, it is not to come.
    pub(crate) coded: CodedPicture,
}

/// An encoder that gives the frames of a ladder, whose quality a viewer follows.
#[derive(Debug)]
pub(crate) struct LadderSource {
    ladder: Arc<ClipLadder>,
    rate: Bitrate,
    next: u64,
    /// The last key frame.
    key: Option<u64>,
    key_wanted: bool,
    taken: mpsc::Sender<Taken>,
}

impl LadderSource {
    pub(crate) fn new(ladder: Arc<ClipLadder>, taken: mpsc::Sender<Taken>) -> Self {
        Self { ladder, rate: Bitrate::ZERO, next: 0, key: None, key_wanted: false, taken }
    }

    /// Octets and PSNR of the next picture. After a key frame quality is what it lost as it would after the first.
    fn code(&self, is_key: bool, since_key: u64) -> (f64, f64) {
        let clip = self.ladder.clip() as u64;
        let at = |frame: u64| self.ladder.at(frame as usize, self.rate);
        let steady = at(clip + self.next % clip);
        let size = if is_key { at(0).0 } else { steady.0 };
        let lost = if since_key < clip { at(clip + since_key).1 - at(since_key).1 } else { 0.0 };
        (size, (steady.1 - lost.max(0.0)).max(0.0))
    }

    /// A send fails only after the sink is gone.
    fn report(&self, at: Timestamp, psnr: f64) {
        let _ = self.taken.send(Taken { at, coded: CodedPicture { picture: self.next, psnr } });
    }
}

impl FrameSource for LadderSource {
    fn interval(&self) -> TimeDelta {
        interval(self.ladder.rates.fps)
    }

    fn on_rate(&mut self, _now: Timestamp, rate: Bitrate) {
        self.rate = rate;
    }

    fn on_key_frame_wanted(&mut self) {
        self.key_wanted = true;
    }

    fn on_skipped(&mut self, now: Timestamp) {
        self.report(now, 0.0);
        self.next += 1;
    }

    fn frame(&mut self, now: Timestamp) -> ModelFrame {
        let is_key = std::mem::take(&mut self.key_wanted) || self.key.is_none();
        if is_key {
            self.key = Some(self.next);
        }
        let (size, psnr) = self.code(is_key, self.next - self.key.unwrap_or(0));
        self.report(now, psnr);
        self.next += 1;
        ModelFrame {
            size: octets(size),
            target: octets(self.rate.as_bytes_per_second() / self.ladder.rates.fps),
            kind: if is_key { FrameKind::Key } else { FrameKind::Reference },
            interval: self.interval(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three pictures, two rates, two offsets.
    const TEXT: &str = "# ours\n25 fps,100 kbit/s,300 kbit/s,+1,+3\n\
        0,900 30.0,2700 34.0,10,30\n1,400 32.0,1200 36.0,20,40\n2,400 33.0,1200 37.0,30,50\n\
        3,500 34.0,1500 38.0\n4,400 34.0,1200 38.0\n5,400 34.0,1200 38.0\n";

    fn kbps(rate: u64) -> Bitrate {
        Bitrate::from_kbps(rate)
    }

    #[test]
    fn sizes_and_quality_between_and_beyond_the_rates() {
        let ladder = ClipLadder::parse(TEXT).unwrap();
        assert_eq!(ladder.at(0, kbps(200)), (1800.0, 32.0));
        assert_eq!(ladder.at(0, kbps(50)), (450.0, 27.0));
        assert_eq!(ladder.at(0, kbps(3000)), (2700.0, 34.0));
    }

    #[test]
    fn a_picture_that_stays_costs_what_the_clip_moves() {
        let ladder = ClipLadder::parse(TEXT).unwrap();
        let errors = [0, 1, 2, 3, 9].map(|later| ladder.error_after(4, later));
        assert_eq!(errors, [0.0, 20.0, 30.0, 40.0, 40.0]);
        // 30 dB are an error of 65.025; with 20 more, 10 log10(65025 / 85.025).
        let level = ladder.level_after(CodedPicture { picture: 4, psnr: 30.0 }, 1);
        assert!((level - 28.835_5).abs() < 1e-3, "{level}");
    }

    #[test]
    fn quality_comes_back_after_a_key_frame() {
        let (captured, taken) = mpsc::channel();
        let mut source = LadderSource::new(Arc::new(ClipLadder::parse(TEXT).unwrap()), captured);
        source.on_rate(Timestamp::ZERO, kbps(100));
        let mut frames: Vec<_> = (0..4).map(|_| source.frame(Timestamp::ZERO)).collect();
        source.on_skipped(Timestamp::ZERO);
        source.on_key_frame_wanted();
        frames.push(source.frame(Timestamp::ZERO));
        let sizes: Vec<_> = frames.iter().map(|frame| (frame.size.as_bytes(), frame.kind)).collect();
        let (key, other) = (FrameKind::Key, FrameKind::Reference);
        assert_eq!(sizes, [(900, key), (400, other), (400, other), (500, other), (900, key)]);
        let levels: Vec<_> = taken.try_iter().map(|taken| (taken.coded.picture, taken.coded.psnr)).collect();
        assert_eq!(levels, [(0, 30.0), (1, 32.0), (2, 33.0), (3, 34.0), (4, 0.0), (5, 30.0)]);
    }

    #[test]
    fn what_is_no_ladder_is_refused() {
        for (text, expected) in [
            ("", "line 1: found nothing"),
            ("25 fps,300 kbit/s,100 kbit/s,+1\n", "expected a heading"),
            ("25 fps,300 kbit/s\n", "expected a heading"),
            ("25 fps,300 kbit/s,+1\n0,100\n", "line 2: found \"0,100\""),
            ("25 fps,300 kbit/s,+1\n0,100 30,-4\n", "line 2:"),
            ("25 fps,300 kbit/s,+1\n0,100 30,4\n", "found 1 frames, 1 with errors"),
            ("25 fps,300 kbit/s,+1\n0,100 30\n", "found 1 frames, 0 with errors"),
        ] {
            let error = ClipLadder::parse(text).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn the_bundled_ladder_has_the_rates_it_names() {
        let ladder = ClipLadder::bundled().unwrap();
        assert!(BUNDLED.len() < 100_000 && ladder.clip() == 132);
        for (step, rate) in ladder.rates.steps.iter().enumerate() {
            let sizes =
                ladder.frames.iter().skip(step).step_by(ladder.rates.steps.len()).map(|frame| frame.0);
            let mean = sizes.sum::<f64>() * 8.0 * ladder.rates.fps / 264.0;
            assert!(mean < 1.1 * rate.as_bps_f64(), "{mean} at {rate}");
        }
    }
}
