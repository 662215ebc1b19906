//! A coded MPEG stream, shaped as it is sent.

use super::{Captured, CodedFrame, FrameControls, Source, SourceStatus};
use bytes::Bytes;
use seaway_media::shaped::{PictureKind, ShapedStream};
use seaway_units::{Bitrate, TimeDelta, Timestamp};

/// Pictures of a coded stream, cut to the rate that the session allows: none is decoded or coded again. Key frames come when
/// the stream has them.
#[derive(Debug)]
pub struct ShapedSource {
    stream: ShapedStream,
    target: Option<Bitrate>,
    /// Since when the send queue is full, in time of the stream.
    full_since: Option<TimeDelta>,
}

/// An intra picture fills the send queue for so long at most, in a stream whose rate fits.
const INTRA: TimeDelta = TimeDelta::from_millis(400);

impl ShapedSource {
    /// Sends `stream`.
    pub const fn new(stream: ShapedStream) -> Self {
        Self { stream, target: None, full_since: None }
    }
}

impl Source for ShapedSource {
    fn next_due(&self) -> TimeDelta {
        self.stream.time()
    }

    fn capture(
        &mut self,
        _at: Timestamp,
        controls: &FrameControls,
    ) -> Result<Option<Captured>, crate::Error> {
        let target = controls.target(self.stream.frame_rate());
        self.target = Some(target);
        let Some(piece) = self.stream.next_piece(target)? else { return Ok(None) };
        self.full_since = controls.skip.then(|| self.full_since.unwrap_or(piece.time));
        let is_stale = self.full_since.is_some_and(|since| piece.time - since >= INTRA);
        // No other picture needs a B picture.
        let is_left_out = is_stale && piece.kind == Some(PictureKind::B);
        let interval = piece.interval;
        let frame = (!is_left_out && !piece.octets.is_empty()).then(|| CodedFrame {
            is_key: piece.is_entry && piece.kind == Some(PictureKind::I),
            data: Bytes::from(piece.octets),
            target: target.size_in(interval),
            interval,
        });
        Ok(Some(Captured { frame, ..Captured::default() }))
    }

    fn full_rate(&self) -> Option<Bitrate> {
        Some(self.stream.full_rate())
    }

    fn status(&self) -> SourceStatus {
        SourceStatus { target: self.target, size: self.stream.size(), ..SourceStatus::default() }
    }
}
