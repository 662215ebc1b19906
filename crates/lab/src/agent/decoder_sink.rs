//! A sink for coded frames: decodes and scores them, and counts freezes.

use seaway_media::Error;
use seaway_quality::freeze::FreezeDetector;
use seaway_session::{ReceivedFrame, ReceiverEvent};
use seaway_stream::sink::{PictureScore, Playback, ReferencePicture, Screen, ScreenRecorder};
use seaway_units::{TimeDelta, Timestamp};
use std::sync::mpsc;

/// A picture not on the screen this long after its capture will not come any more: the receiver gives a frame up
/// half a second after its time at the latest.
const GIVEN_UP: TimeDelta = TimeDelta::from_secs(2);

/// The screen, and what is measured on it.
#[derive(Debug)]
pub(crate) struct DecoderSink {
    screen: Screen,
    /// From the camera, at the instant of capture.
    references: mpsc::Receiver<ReferencePicture>,
    interval: (Timestamp, Timestamp),
    freezes: FreezeDetector,
    seen: DisplayStatistics,
    /// `None`: not recorded.
    recording: Option<Recording>,
    failure: Option<Error>,
}

/// A recording of the screen.
#[derive(Debug)]
struct Recording {
    recorder: ScreenRecorder,
    scores: Vec<PictureScore>,
}

/// A recording (MP4) and the scores of its pictures, in the order of capture.
pub(crate) type Mp4AndScores = (Vec<u8>, Vec<PictureScore>);

/// Display statistics of the measurement interval.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct DisplayStatistics {
    /// Frames that reached the screen.
    pub(crate) displayed: u64,
    /// Frames that came and could not be shown.
    pub(crate) held: u64,
    /// Freezes that ended.
    pub(crate) freezes: u64,
    /// Their length together.
    pub(crate) frozen: TimeDelta,
    /// The longest.
    pub(crate) longest: TimeDelta,
    /// Pictures that were scored.
    pub(crate) scored: u64,
    /// Sum of their PSNR in decibels.
    pub(crate) psnr: f64,
}

/// The effect of an event on the screen.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Watched {
    /// A new picture is on the screen.
    pub(crate) displayed: bool,
    /// Only a key frame helps.
    pub(crate) wants_key_frame: bool,
}

impl DecoderSink {
    /// Measures within `interval`.
    ///
    /// # Errors
    /// The decoder cannot be set up.
    pub(crate) fn new(
        references: mpsc::Receiver<ReferencePicture>,
        interval: (Timestamp, Timestamp),
    ) -> Result<Self, Error> {
        Ok(Self {
            screen: Screen::new()?,
            references,
            interval,
            freezes: FreezeDetector::default(),
            seen: DisplayStatistics::default(),
            recording: None,
            failure: None,
        })
    }

    /// Records the screen and the score of every picture.
    pub(crate) fn recorded(self, recorder: ScreenRecorder) -> Self {
        Self { recording: Some(Recording { recorder, scores: Vec::new() }), ..self }
    }

    /// The recording up to `end` and the scores, in the order of capture; `None` if there is none.
    ///
    /// # Errors
    /// The encoder of the recording fails.
    pub(crate) fn take_recording(&mut self, end: Timestamp) -> Result<Option<Mp4AndScores>, Error> {
        let Some(Recording { recorder, scores }) = self.recording.take() else { return Ok(None) };
        Ok(Some((recorder.finish(end)?, scores)))
    }

    /// What was seen while the flow was measured, up to `end`: a picture that stands still by then counts as far as
    /// it has come.
    pub(crate) fn seen(&self, end: Timestamp) -> DisplayStatistics {
        let mut seen = self.seen;
        let end = end.min(self.interval.1);
        // At time zero no picture had stood still yet: those are the freezes that ended.
        let (open, closed) = (self.freezes.report(end), self.freezes.report(Timestamp::ZERO));
        if open.count > closed.count {
            seen.add_freeze(open.total - closed.total);
        }
        seen
    }

    /// Why nothing is shown any more, where the decoder failed.
    pub(crate) fn failure(&self) -> Option<&Error> {
        self.failure.as_ref()
    }

    pub(crate) fn on_event(&mut self, now: Timestamp, event: &ReceiverEvent) -> Watched {
        match event {
            ReceiverEvent::Frame(frame) if self.failure.is_none() => {
                self.show(now, frame).unwrap_or_else(|error| {
                    self.failure = Some(error);
                    Watched::default()
                })
            }
            ReceiverEvent::FramesLost { .. } | ReceiverEvent::Frozen { .. } => {
                self.screen.on_loss();
                Watched::default()
            }
            _ => Watched::default(),
        }
    }

    /// Scores what was captured so long ago that it will not be shown.
    pub(crate) fn score_missing(&mut self, now: Timestamp) {
        self.take_references();
        self.screen.give_up(now, GIVEN_UP);
        self.score(now);
    }

    fn score(&mut self, now: Timestamp) {
        let measured = self.is_measured(now);
        for score in self.screen.scores() {
            self.seen.add_score(measured, score);
            self.recording.iter_mut().for_each(|recording| recording.scores.push(score));
        }
    }

    fn take_references(&mut self) {
        self.references.try_iter().for_each(|reference| self.screen.on_reference(reference));
    }

    fn show(&mut self, now: Timestamp, frame: &ReceivedFrame) -> Result<Watched, Error> {
        self.take_references();
        let shown = self.screen.show(frame.timestamp, &frame.data)?;
        self.score(now);
        let (measured, seen) = (self.is_measured(now), &mut self.seen);
        Ok(match shown {
            Playback::Displayed { picture, .. } => {
                if let Some((recording, picture)) = self.recording.as_mut().zip(picture) {
                    recording.recorder.show(now, &picture)?;
                }
                let freeze = self.freezes.on_picture(now);
                if measured {
                    seen.displayed += 1;
                    freeze.into_iter().for_each(|freeze| seen.add_freeze(freeze));
                }
                Watched { displayed: true, wants_key_frame: false }
            }
            // The encoder here is H.264 and makes no B pictures.
            Playback::Delayed | Playback::Undecoded { .. } => {
                Watched { displayed: false, wants_key_frame: false }
            }
            Playback::Held { needs_key_frame: wants_key_frame } => {
                seen.held += u64::from(measured);
                Watched { displayed: false, wants_key_frame }
            }
        })
    }

    fn is_measured(&self, now: Timestamp) -> bool {
        self.interval.0 <= now && now < self.interval.1
    }
}

impl DisplayStatistics {
    fn add_score(&mut self, measured: bool, score: PictureScore) {
        if measured {
            self.scored += 1;
            self.psnr += score.psnr.get();
        }
    }

    fn add_freeze(&mut self, freeze: TimeDelta) {
        self.freezes += 1;
        self.frozen += freeze;
        self.longest = self.longest.max(freeze);
    }
}
