//! The screen: the decoder, and the score of what it shows.

use seaway_media::Error;
use seaway_media::decoder::{Concealment, Decoded, Freeze, H264Decoder, ReceivedFrame, VideoDecoder};
use seaway_media::{FrameId, Picture, Scaler};
use seaway_quality::Plane;
use seaway_quality::psnr::{Sequence, mean_squared_error};
use seaway_session::FrameData;
use seaway_units::{Decibels, TimeDelta, Timestamp};
use std::collections::VecDeque;

/// A picture as it was captured, to be held against what is shown in its place.
#[derive(Debug, Clone)]
pub struct Captured {
    /// Its identity on the wire.
    pub timestamp: u32,
    /// When it was captured.
    pub at: Timestamp,
    /// The picture before coding.
    pub picture: Picture,
}

/// What came of a frame.
#[derive(Debug, Clone)]
pub enum Shown {
    /// It is on the screen.
    Picture {
        /// The picture.
        picture: Picture,
        /// When it was captured, where the screen was told.
        captured: Option<Timestamp>,
    },
    /// The picture before it stays.
    Held {
        /// Whether only a key frame helps.
        wants_key_frame: bool,
    },
}

/// The score of one captured picture.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PictureScore {
    /// Its identity on the wire.
    pub timestamp: u32,
    /// When it was captured.
    pub at: Timestamp,
    /// Luma PSNR of what was on the screen in its place.
    pub psnr: Decibels,
    /// Whether it was itself on the screen; otherwise an older picture was.
    pub displayed: bool,
}

/// Decodes what arrives and scores every captured picture by its timestamp: one that was not shown is held against
/// the picture that stood in its place.
#[derive(Debug)]
pub struct Screen {
    decoder: H264Decoder,
    /// Captured and not yet scored, oldest first.
    waiting: VecDeque<Captured>,
    shown: Option<Picture>,
    sequence: Sequence,
    /// To the size of what was captured, where it is coded smaller.
    scaler: Option<Scaler>,
    after_loss: bool,
    frames: u64,
}

impl Screen {
    /// Pictures kept for a frame that is still on its way: 10 s of them at 50 pictures/s.
    const WAITING: usize = 500;

    /// A dark screen.
    ///
    /// # Errors
    /// The decoder cannot be set up.
    pub fn new() -> Result<Self, Error> {
        Ok(Self {
            decoder: H264Decoder::new(Concealment::default())?,
            waiting: VecDeque::new(),
            shown: None,
            sequence: Sequence::default(),
            scaler: None,
            after_loss: false,
            frames: 0,
        })
    }

    /// A picture was captured; in order.
    pub fn on_captured(&mut self, captured: Captured) {
        if self.waiting.len() == Self::WAITING {
            self.waiting.pop_front();
        }
        self.waiting.push_back(captured);
    }

    /// Frames before the next one are missing.
    pub fn on_lost(&mut self) {
        self.after_loss = true;
    }

    /// Shows a frame in place of what is on the screen; tells the score of each picture whose time is over by that.
    ///
    /// # Errors
    /// The decoder has become unusable.
    pub fn show(
        &mut self,
        timestamp: u32,
        data: &FrameData,
        mut score: impl FnMut(PictureScore),
    ) -> Result<Shown, Error> {
        self.score_until(timestamp, &mut score);
        let FrameData::Coded(data) = data else { return Ok(Shown::Held { wants_key_frame: false }) };
        let after_loss = std::mem::take(&mut self.after_loss);
        let frame = ReceivedFrame { data, id: FrameId(self.frames), time: TimeDelta::ZERO, after_loss };
        self.frames += 1;
        match self.decoder.decode(&frame)? {
            Decoded::Picture(picture) => {
                self.shown = Some(self.in_full_size(&picture));
                let captured = self.waiting.pop_front_if(|captured| captured.timestamp == timestamp);
                if let Some(captured) = &captured {
                    self.score(captured, true, &mut score);
                }
                Ok(Shown::Picture { picture, captured: captured.map(|captured| captured.at) })
            }
            Decoded::Frozen(freeze) => Ok(Shown::Held { wants_key_frame: freeze != Freeze::Delayed }),
        }
    }

    /// Scores what was captured before `timestamp` and was not shown by now.
    pub fn score_until(&mut self, timestamp: u32, mut score: impl FnMut(PictureScore)) {
        // Timestamps wrap; the distance tells the order.
        let is_before = |captured: &mut Captured| (timestamp.wrapping_sub(captured.timestamp) as i32) > 0;
        while let Some(captured) = self.waiting.pop_front_if(is_before) {
            self.score(&captured, false, &mut score);
        }
    }

    /// Scores what was captured more than `age` before `now` and was not shown by now.
    pub fn score_older(&mut self, now: Timestamp, age: TimeDelta, mut score: impl FnMut(PictureScore)) {
        let is_older = |captured: &mut Captured| now.since(captured.at) > age;
        while let Some(captured) = self.waiting.pop_front_if(is_older) {
            self.score(&captured, false, &mut score);
        }
    }

    /// Mean luma PSNR over all pictures scored so far.
    pub fn psnr(&self) -> Option<Decibels> {
        self.sequence.mean()
    }

    /// What is on the screen, in the size of what is captured.
    pub fn picture(&self) -> Option<&Picture> {
        self.shown.as_ref()
    }

    /// The picture as a viewer sees it, in the size of what is captured now.
    fn in_full_size(&mut self, picture: &Picture) -> Picture {
        let Some(size) = self.waiting.front().map(|captured| captured.picture.size()) else {
            return picture.clone();
        };
        if size == picture.size() {
            return picture.clone();
        }
        let fits = |scaler: &Scaler| scaler.from() == picture.size() && scaler.to() == size;
        let mut scaler = self.scaler.take().filter(fits).unwrap_or_else(|| Scaler::new(picture.size(), size));
        let scaled = scaler.scale(picture);
        self.scaler = Some(scaler);
        scaled
    }

    fn score(&mut self, captured: &Captured, displayed: bool, score: &mut impl FnMut(PictureScore)) {
        // Before the first picture there is nothing to compare: the viewer has not begun.
        let Some(shown) = &self.shown else { return };
        let (reference, shown) = (plane(&captured.picture), plane(shown));
        let Ok(error) = mean_squared_error(&reference, &shown) else { return };
        let psnr = self.sequence.push(error);
        score(PictureScore { timestamp: captured.timestamp, at: captured.at, psnr, displayed });
    }
}

fn plane(picture: &Picture) -> Plane<'_> {
    let luma = picture.luma();
    Plane::new(luma.data, luma.stride, luma.width, luma.height)
}
