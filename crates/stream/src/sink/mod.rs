//! Sinks of received frames.

mod recorder;
mod recording_file;
mod screen;
mod screen_recorder;
mod sound_timeline;
mod stream_recorder;
mod timeline;

pub use recorder::{Output, Recorder};
pub use recording_file::RecordingFile;
pub use screen::{PictureScore, Playback, ReferencePicture, Screen};
pub use screen_recorder::{ScreenRecorder, ScreenRecorderConfig};
#[cfg(feature = "live")]
pub(crate) use sound_timeline::SoundTimeline;
pub use stream_recorder::StreamRecorder;
#[cfg(feature = "live")]
pub(crate) use timeline::Timeline;

use crate::Error;
use seaway_media::output::SoundCodec;
use seaway_media::{Picture, PictureSize, VideoCodec};
use seaway_session::{Format, ReceivedFrame, StreamDescription};
use seaway_units::Timestamp;

/// Takes received frames, each at the instant it is displayed. A function of a [`Displayed`] is a sink.
pub trait Sink: Send {
    /// A frame is displayed.
    ///
    /// # Errors
    /// The sink cannot continue and is dropped; the receiver goes on without it.
    fn on_frame(&mut self, displayed: &Displayed<'_>) -> Result<(), Error>;

    /// A session began, with these streams.
    fn on_session(&mut self, _streams: &[StreamDescription]) {}

    /// Sound is played: an Opus packet, or frames of AAC.
    ///
    /// # Errors
    /// As of [`on_frame`](Self::on_frame).
    fn on_sound(&mut self, _played: &Played<'_>) -> Result<(), Error> {
        Ok(())
    }

    /// Whether it looks at pictures. If no sink does, the receiver does not decode H.264, and frames come without.
    fn needs_pictures(&self) -> bool {
        true
    }

    /// True if a key frame is to be requested now; called after each frame.
    fn take_key_frame_request(&mut self) -> bool {
        false
    }

    /// No more frames will come.
    ///
    /// # Errors
    /// The sink could not be completed.
    fn finish(self: Box<Self>) -> Result<(), Error> {
        Ok(())
    }
}

/// A frame on the screen.
#[derive(Debug, Clone, Copy)]
pub struct Displayed<'a> {
    /// The instant.
    pub at: Timestamp,
    /// The coded frame.
    pub frame: &'a ReceivedFrame,
    /// The decoded picture; `None` if the receiver does not decode, or the picture comes with a later frame. With B pictures it
    /// is that of an earlier frame.
    pub picture: Option<&'a Picture>,
    /// The size of the picture, also where it is known from the headers alone.
    pub size: Option<PictureSize>,
}

/// A frame of sound, as it is played.
#[derive(Debug, Clone, Copy)]
pub struct Played<'a> {
    /// The instant.
    pub at: Timestamp,
    /// An Opus packet, or frames of AAC in ADTS headers, by the format of the session's stream.
    pub frame: &'a ReceivedFrame,
}

/// The codec of the pictures of these streams. MPEG-1/2, which is no [`VideoCodec`], has a decoder of its own.
pub(crate) fn video_codec<'a>(streams: impl IntoIterator<Item = &'a StreamDescription>) -> VideoCodec {
    match streams.into_iter().next().map(|stream| stream.format) {
        Some(Format::H265) => VideoCodec::H265,
        Some(Format::Av1) => VideoCodec::Av1,
        _ => VideoCodec::H264,
    }
}

/// The codec of the first sound of these streams.
pub(crate) fn sound_codec<'a>(
    streams: impl IntoIterator<Item = &'a StreamDescription>,
) -> Option<SoundCodec> {
    match streams.into_iter().find(|stream| stream.is_audio())?.format {
        Format::Opus => Some(SoundCodec::Opus),
        Format::Aac(config) => Some(SoundCodec::Aac(config)),
        _ => None,
    }
}

/// True for coded octets that begin with a start code of MPEG-1/2 video: those of H.264 have a clear first bit, and a type.
pub(crate) fn is_mpeg_video(data: &[u8]) -> bool {
    let start = data.windows(4).take(8).find(|window| window[..3] == [0, 0, 1]);
    start.is_some_and(|window| window[3] == 0 || window[3] >= 0x80)
}

impl<F: FnMut(&Displayed<'_>) + Send> Sink for F {
    fn on_frame(&mut self, displayed: &Displayed<'_>) -> Result<(), Error> {
        self(displayed);
        Ok(())
    }
}
