//! The screen: a decoder, and the score of what it displays.

use seaway_media::Error;
use seaway_media::decoder::{Concealment, Decoded, Freeze, H264Decoder, ReceivedFrame, VideoDecoder};
use seaway_media::h264::{NalType, nal_units};
use seaway_media::{FrameId, Picture, PictureSize, Scaler, VideoCodec};
use seaway_quality::Plane;
use seaway_quality::psnr::{mean_squared_error, of_error};
use seaway_session::FrameData;
use seaway_units::{Decibels, TimeDelta, Timestamp};
use std::collections::VecDeque;

/// A captured picture before coding: what the displayed picture is scored against.
#[derive(Debug, Clone)]
pub struct ReferencePicture {
    /// Its media timestamp on the wire.
    pub timestamp: u32,
    /// When it was captured.
    pub at: Timestamp,
    /// The picture.
    pub picture: Picture,
}

/// What came of a received frame.
#[derive(Debug, Clone)]
pub enum Playback {
    /// It is displayed.
    Displayed {
        /// The decoded picture; `None` where no sink needs it, and the decoder reads headers alone.
        picture: Option<Picture>,
        /// Its size.
        size: PictureSize,
        /// When it was captured, where its reference is known.
        captured: Option<Timestamp>,
    },
    /// A decoder could decode it, and there is none for its codec, or it has failed: it can be recorded.
    Undecoded {
        /// The size of its picture.
        size: PictureSize,
        /// True if the decoder has failed, and begins anew with a key frame.
        needs_key_frame: bool,
    },
    /// It is decoded, and its picture is displayed after later frames came.
    Delayed,
    /// It cannot be decoded; the previous picture stays.
    Held {
        /// True if only a key frame helps.
        needs_key_frame: bool,
    },
}

/// The score of one captured picture.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PictureScore {
    /// Its media timestamp on the wire.
    pub timestamp: u32,
    /// When it was captured.
    pub at: Timestamp,
    /// Luma PSNR of the picture on the screen at its presentation time.
    pub psnr: Decibels,
    /// True if that was the picture itself, false if an older one was still displayed.
    pub displayed: bool,
}

/// A captured picture, and what was on the screen at its presentation time.
#[derive(Debug)]
struct DueScore {
    reference: ReferencePicture,
    on_screen: Picture,
    displayed: bool,
}

/// Decodes received frames and scores each captured picture against the one on the screen at its presentation time.
#[derive(Debug)]
pub struct Screen {
    decoder: Box<dyn VideoDecoder>,
    /// Reads the headers of a codec that the decoder does not decode.
    headers: Option<Box<dyn VideoDecoder>>,
    /// Decodes such a codec.
    other: Option<Box<dyn VideoDecoder>>,
    /// Captured pictures that are not scored yet, oldest first.
    references: VecDeque<ReferencePicture>,
    displayed: Option<Picture>,
    /// What is to be scored, oldest first: a picture is displayed first and scored afterwards.
    due: VecDeque<DueScore>,
    /// From the coded size to the captured size, where they differ, and the picture that it scaled last.
    scaler: Option<Scaler>,
    scaled: Option<Picture>,
    after_loss: bool,
    frames: u64,
}

impl Screen {
    /// References kept for frames still in the network: 10 s at 50 pictures/s.
    const MAX_REFERENCES: usize = 500;

    /// A screen that displays nothing yet, with a decoder in this process.
    ///
    /// # Errors
    /// The decoder cannot be set up.
    pub fn new() -> Result<Self, Error> {
        Ok(Self::with_decoder(Box::new(H264Decoder::new(Concealment::default())?)))
    }

    /// A screen that displays nothing yet.
    pub fn with_decoder(decoder: Box<dyn VideoDecoder>) -> Self {
        Self {
            decoder,
            headers: None,
            other: None,
            references: VecDeque::new(),
            displayed: None,
            due: VecDeque::new(),
            scaler: None,
            scaled: None,
            after_loss: false,
            frames: 0,
        }
    }

    /// Another codec: decodes by `decoder` from now on.
    pub fn set_decoder(&mut self, decoder: Box<dyn VideoDecoder>) {
        self.decoder = decoder;
    }

    /// What comes from now on is of this codec, at the start of a stream; `other` decodes one that the decoder of the screen does not.
    pub fn set_codec(&mut self, codec: VideoCodec, other: Option<Box<dyn VideoDecoder>>) {
        self.headers = (!codec.is_decoded()).then(|| codec.header_decoder());
        self.other = other.filter(|_| self.headers.is_some());
    }

    /// A picture was captured. References come in order of capture.
    pub fn on_reference(&mut self, reference: ReferencePicture) {
        if self.references.len() == Self::MAX_REFERENCES {
            self.references.pop_front();
        }
        self.references.push_back(reference);
    }

    /// Frames before the next one are missing.
    pub fn on_loss(&mut self) {
        self.after_loss = true;
    }

    /// Decodes and displays a frame. Each reference up to this frame can be [scored](Self::scores) afterwards.
    ///
    /// # Errors
    /// The decoder has become unusable.
    pub fn show(&mut self, timestamp: u32, data: &FrameData) -> Result<Playback, Error> {
        // Timestamps wrap: their signed distance gives the order.
        let is_before =
            |reference: &ReferencePicture| (timestamp.wrapping_sub(reference.timestamp) as i32) > 0;
        self.pass(is_before);
        let FrameData::Coded(data) = data else { return Ok(Playback::Held { needs_key_frame: false }) };
        let after_loss = std::mem::take(&mut self.after_loss);
        let frame = ReceivedFrame { data, id: FrameId(self.frames), time: TimeDelta::ZERO, after_loss };
        self.frames += 1;
        if let Some(headers) = &mut self.headers {
            let of_headers = headers.decode(&frame)?;
            return Self::show_other(self.other.as_mut(), &frame, &of_headers);
        }
        match self.decoder.decode(&frame)? {
            Decoded::Picture(picture) => {
                self.displayed = Some(picture.clone());
                let reference = self.references.pop_front_if(|reference| reference.timestamp == timestamp);
                let (size, captured) = (picture.size(), reference.as_ref().map(|reference| reference.at));
                if let Some(reference) = reference {
                    self.push_due(DueScore { reference, on_screen: picture.clone(), displayed: true });
                }
                Ok(Playback::Displayed { picture: Some(picture), size, captured })
            }
            Decoded::Unseen(size) => Ok(Playback::Displayed { picture: None, size, captured: None }),
            Decoded::Frozen(Freeze::Delayed) if has_slice(data) => Ok(Playback::Delayed),
            Decoded::Frozen(freeze) => Ok(Playback::Held { needs_key_frame: freeze != Freeze::Delayed }),
        }
    }

    /// Decodes a frame of another codec by `other`, of which the headers say whether it can be decoded.
    fn show_other(
        other: Option<&mut Box<dyn VideoDecoder>>,
        frame: &ReceivedFrame<'_>,
        of_headers: &Decoded,
    ) -> Result<Playback, Error> {
        let size = match *of_headers {
            Decoded::Unseen(size) => Some(size),
            // Parameter sets may come alone.
            Decoded::Frozen(Freeze::Delayed) | Decoded::Picture(_) => None,
            Decoded::Frozen(_) => return Ok(Playback::Held { needs_key_frame: true }),
        };
        let decoded = other.map(|other| other.decode(frame)).transpose()?;
        Ok(match (decoded, size) {
            (Some(Decoded::Picture(picture)), _) => {
                let size = picture.size();
                Playback::Displayed { picture: Some(picture), size, captured: None }
            }
            (_, None) => Playback::Held { needs_key_frame: false },
            (Some(Decoded::Frozen(Freeze::Delayed)), Some(_)) => Playback::Delayed,
            (Some(Decoded::Frozen(_)), Some(size)) => Playback::Undecoded { size, needs_key_frame: true },
            (Some(Decoded::Unseen(_)) | None, Some(size)) => {
                Playback::Undecoded { size, needs_key_frame: false }
            }
        })
    }

    /// References captured more than `age` before `now` can be [scored](Self::scores): their frames will not be displayed any more.
    pub fn give_up(&mut self, now: Timestamp, age: TimeDelta) {
        self.pass(|reference| now.since(reference.at) > age);
    }

    /// The scores of what was shown or passed since the last call.
    pub fn scores(&mut self) -> Vec<PictureScore> {
        let due = std::mem::take(&mut self.due);
        due.iter().filter_map(|due| self.score(due)).collect()
    }

    /// The time of these references has passed without their own picture.
    fn pass(&mut self, is_over: impl Fn(&ReferencePicture) -> bool) {
        while let Some(reference) = self.references.pop_front_if(|reference| is_over(reference)) {
            // The viewer has not begun before the first picture is displayed.
            let Some(on_screen) = self.displayed.clone() else { continue };
            self.push_due(DueScore { reference, on_screen, displayed: false });
        }
    }

    /// What is never taken is bounded, as references are.
    fn push_due(&mut self, due: DueScore) {
        if self.due.len() == Self::MAX_REFERENCES {
            self.due.pop_front();
        }
        self.due.push_back(due);
    }

    fn score(&mut self, due: &DueScore) -> Option<PictureScore> {
        let DueScore { reference, on_screen, displayed } = due;
        let on_screen = self.in_size(reference.picture.size(), on_screen);
        let error = mean_squared_error(&plane(&reference.picture), &plane(&on_screen)).ok()?;
        let (timestamp, at, psnr) = (reference.timestamp, reference.at, of_error(error));
        Some(PictureScore { timestamp, at, psnr, displayed: *displayed })
    }

    /// The picture scaled to a size. One that stands still is scaled once.
    fn in_size(&mut self, size: PictureSize, picture: &Picture) -> Picture {
        if size == picture.size() {
            return picture.clone();
        }
        let is_it = |scaled: &Picture| scaled.size() == size && scaled.id() == picture.id();
        let scaled = self.scaled.take().filter(is_it).unwrap_or_else(|| {
            let fits = |scaler: &Scaler| scaler.from() == picture.size() && scaler.to() == size;
            let scaler = self.scaler.take().filter(fits);
            self.scaler.insert(scaler.unwrap_or_else(|| Scaler::new(picture.size(), size))).scale(picture)
        });
        self.scaled.insert(scaled).clone()
    }
}

/// False for parameter sets alone.
fn has_slice(access_unit: &[u8]) -> bool {
    let is_slice = |nal| matches!(NalType::of(nal), Some(NalType::Slice | NalType::IdrSlice));
    nal_units(access_unit).any(is_slice)
}

fn plane(picture: &Picture) -> Plane<'_> {
    let luma = picture.luma();
    Plane::new(luma.data, luma.stride, luma.width, luma.height)
}
