//! Live coded video in virtual time: each frame is ready a constant delay after its capture.

use seaway_control::StreamId;
use seaway_media::PictureSize;
use seaway_media::encoder::AdherenceReport;
use seaway_session::{Frame, Sender};
use seaway_stream::Error;
use seaway_stream::sink::ReferencePicture;
use seaway_stream::source::{Captured, EncodedSource, FrameControls, PacketOverhead, Source};
use seaway_units::{TimeDelta, Timestamp};
use std::collections::VecDeque;
use std::sync::mpsc;

/// Captures pictures at their time, codes them as the session allows, and sends each frame when the encoder delivers it.
#[derive(Debug)]
pub(crate) struct LiveSource {
    source: EncodedSource,
    overhead: PacketOverhead,
    /// Capture time of the first picture, had there been no pause. `None`: off.
    origin: Option<Timestamp>,
    /// Frames in the encoder, and when they are ready.
    encoding: VecDeque<(Timestamp, Frame)>,
    wants_key_frame: bool,
    key_clock: KeyClock,
    /// Start of the measurement of adherence.
    measured_from: Option<Timestamp>,
    /// To the screen, which scores what it displays against them.
    references: mpsc::Sender<ReferencePicture>,
    failure: Option<Error>,
}

impl LiveSource {
    pub(crate) fn new(
        source: EncodedSource,
        overhead: PacketOverhead,
        references: mpsc::Sender<ReferencePicture>,
        measured_from: Timestamp,
    ) -> Self {
        Self {
            source,
            overhead,
            origin: None,
            encoding: VecDeque::new(),
            wants_key_frame: false,
            key_clock: KeyClock::default(),
            measured_from: Some(measured_from),
            references,
            failure: None,
        }
    }

    /// Codes a key frame this often without request.
    #[must_use]
    pub(crate) fn with_key_frame_every(self, key_every: Option<TimeDelta>) -> Self {
        Self { key_clock: KeyClock { every: key_every, last: None }, ..self }
    }

    /// Pictures are taken from `now` on, or no more.
    pub(crate) fn switch(&mut self, now: Timestamp, on: bool) {
        self.origin = on.then(|| now - self.source.next_due());
    }

    pub(crate) fn on_key_frame_wanted(&mut self) {
        self.wants_key_frame = true;
    }

    /// When the next picture is taken or the next frame is ready.
    pub(crate) fn due(&self) -> Option<Timestamp> {
        let ready = self.encoding.front().map(|&(ready, _)| ready);
        [self.next_picture(), ready].into_iter().flatten().min()
    }

    /// How closely the encoder followed its target while the flow was measured.
    pub(crate) fn adherence(&self) -> AdherenceReport {
        self.source.adherence()
    }

    /// Of the pictures as they are coded, which a ladder scales with the rate.
    pub(crate) fn picture_size(&self) -> Option<PictureSize> {
        self.source.status().size
    }

    /// Why the clip or the encoder failed.
    pub(crate) fn failure(&self) -> Option<&Error> {
        self.failure.as_ref()
    }

    /// Does what is due.
    pub(crate) fn advance(&mut self, now: Timestamp, sender: &mut Sender) {
        while let Some(due) = self.due().filter(|&due| due <= now) {
            if let Some((_, frame)) = self.encoding.pop_front_if(|&mut (ready, _)| ready <= due) {
                // The stream is configured, and the encoder writes its format.
                let _ = sender.handle_frame(now, &frame);
            } else if let Err(error) = self.capture(due, sender) {
                self.failure = Some(error);
                self.origin = None;
            }
        }
    }

    fn next_picture(&self) -> Option<Timestamp> {
        self.origin.map(|origin| origin + self.source.next_due())
    }

    fn capture(&mut self, at: Timestamp, sender: &mut Sender) -> Result<(), Error> {
        if self.measured_from.take_if(|from| *from <= at).is_some() {
            self.source.restart_adherence();
        }
        let controls = FrameControls {
            share: sender.share(StreamId(0)).media,
            overhead: self.overhead,
            skip: sender.should_skip(),
            key_frame: self.key_clock.is_due(at) | std::mem::take(&mut self.wants_key_frame),
        };
        let Some(Captured { picture, frame, .. }) = self.source.capture(at, &controls)? else {
            self.origin = None;
            return Ok(());
        };
        let timestamp = sender.media_clock(StreamId(0)).timestamp(at);
        if let Some(picture) = picture {
            // The channel is closed once the flow has no screen any more.
            let _ = self.references.send(ReferencePicture { timestamp, at, picture });
        }
        match frame {
            Some(frame) => self.encoding.push_back((at + self.source.latency(), frame.into_frame(at))),
            None => sender.on_frame_skipped(at),
        }
        Ok(())
    }
}

/// When key frames are coded without request.
#[derive(Debug, Clone, Copy, Default)]
struct KeyClock {
    /// So often; `None`: never.
    every: Option<TimeDelta>,
    /// The last one, or the first picture.
    last: Option<Timestamp>,
}

impl KeyClock {
    /// Whether the picture captured at `at` is to be one.
    fn is_due(&mut self, at: Timestamp) -> bool {
        let last = *self.last.get_or_insert(at);
        let is_due = self.every.is_some_and(|every| at.since(last) >= every);
        if is_due {
            self.last = Some(at);
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_frames_by_the_clock() {
        let pictures = || (0..50).map(|n| Timestamp::ZERO + TimeDelta::from_millis(40 * n));
        let due = |every| {
            let mut clock = KeyClock { every, last: None };
            pictures().filter(|&at| clock.is_due(at)).map(|at| at.as_nanos() / 1_000_000).collect::<Vec<_>>()
        };
        assert_eq!(due(Some(TimeDelta::from_millis(600))), [600, 1200, 1800]);
        assert_eq!(due(None), Vec::<u64>::new());
    }
}
