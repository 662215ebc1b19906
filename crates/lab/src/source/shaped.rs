//! A coded MPEG-1/2 stream, shaped to the target rate (S002).

use super::model::{FrameSource, ModelFrame, octets};
use seaway_media::shaped::{PictureKind, ShapedClip};
use seaway_session::FrameKind;
use seaway_units::{Bitrate, TimeDelta, Timestamp};

/// Frames in coding order, in a loop. The encoder takes no requests: key frames come where the stream has them.
#[derive(Debug)]
pub(crate) struct Shaped {
    clip: ShapedClip,
    rate: Bitrate,
}

impl Shaped {
    pub(crate) fn new(clip: ShapedClip) -> Self {
        let rate = clip.full_rate();
        Self { clip, rate }
    }
}

impl FrameSource for Shaped {
    fn interval(&self) -> TimeDelta {
        self.clip.interval()
    }

    fn on_rate(&mut self, _now: Timestamp, rate: Bitrate) {
        self.rate = rate;
        self.clip.set_rate(rate);
    }

    fn on_key_frame_wanted(&mut self) {}

    fn on_skipped(&mut self, _now: Timestamp) {
        let _ = self.clip.next_frame();
    }

    fn frame(&mut self, _now: Timestamp) -> ModelFrame {
        let interval = self.clip.interval();
        let frame = self.clip.next_frame();
        let target = self.rate.as_bytes_per_second() * interval.as_secs_f64();
        ModelFrame {
            size: octets(frame.octets.len() as f64),
            target: octets(target),
            kind: match frame.kind {
                PictureKind::I | PictureKind::D => FrameKind::Key,
                PictureKind::P => FrameKind::Reference,
                PictureKind::B => FrameKind::Discardable,
            },
            interval,
        }
    }
}
