//! The capture thread: frames of a source at their time.

use super::browser::BrowserTrack;
use super::cue::Cue;
use super::event::SendEvent;
use super::input::FrameInput;
use super::sender_machine::{SenderCommand, SenderUpdate};
use super::supply::SupplyMeter;
use super::turns::Turns;
use crate::Error;
use crate::sink::ReferencePicture;
use crate::source::{Captured, Source, SourceStatus};
use seaway_net::SNAPSHOT_INTERVAL;
use seaway_session::MediaClock;
use seaway_units::{Bitrate, TimeDelta, Timestamp};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::thread::{Builder, JoinHandle};

/// How often it is looked whether the receiver is there.
const CONNECTING: TimeDelta = TimeDelta::from_millis(2);

/// After so long the machine or the input stood still, and pictures and sound go on from there.
const SUSPENDED: TimeDelta = TimeDelta::from_secs(1);
/// Between the times of frames, at least.
const LEAST_STEP: TimeDelta = TimeDelta::from_millis(1);

/// What the capture thread works with.
pub(super) struct Capture {
    pub(super) source: Box<dyn Source>,
    pub(super) input: FrameInput,
    /// Sends a key frame this often, without request.
    pub(super) key_interval: Option<TimeDelta>,
    pub(super) preview: Option<BrowserTrack>,
    /// To a receiver in this process, which scores against them, with the clock of their timestamps.
    pub(super) references: Option<(Sender<ReferencePicture>, MediaClock)>,
    /// The rate that the source can use, as last reported to the session.
    pub(super) full_rate: Option<Bitrate>,
    pub(super) updates: Sender<SenderUpdate>,
    pub(super) stop: Arc<AtomicBool>,
    pub(super) meter: SupplyMeter,
    pub(super) cue: Cue,
    pub(super) turns: Turns,
    /// The source has times of its own and sets the beginning.
    pub(super) has_times: bool,
    /// Sound is sent with the pictures, and stands at the times at which they are due.
    pub(super) has_sound: bool,
    /// When the last frame was captured, as it is sent.
    pub(super) last: Timestamp,
    /// What the coding of frames took in all since the last status, and their number.
    pub(super) encoding: (TimeDelta, i64),
}

impl Capture {
    /// Captures on a thread until `stop` is set or the source ends.
    pub(super) fn start(mut self) -> io::Result<JoinHandle<()>> {
        Builder::new().name("capture".into()).spawn(move || {
            let outcome = self.run();
            self.meter.on_end(self.input.now());
            self.cue.end();
            let event = match outcome {
                Ok(()) => SendEvent::SourceEnded,
                Err(error) => SendEvent::SourceFailed(error),
            };
            self.input.command(SenderCommand::Finish);
            self.update(SenderUpdate::Event(self.input.now(), event));
        })
    }

    fn run(&mut self) -> Result<(), Error> {
        // A stored source is not to pass unseen.
        while !self.input.is_connected() && !self.stop.load(Ordering::Relaxed) {
            self.input.clock.sleep_until(self.input.now() + CONNECTING);
        }
        self.send_full_rate();
        let mut began = self.input.now();
        self.begin(began);
        let (mut last_status, mut last_key) = (began, began);
        while !self.stop.load(Ordering::Relaxed) {
            let due = began + self.source.next_due();
            self.input.clock.sleep_until(due);
            let now = self.input.now();
            if now.since(due) > SUSPENDED {
                // Go on from here rather than catch up in a burst.
                began += now.since(due);
                self.begin(began);
            }
            let is_key_due = self.key_interval.is_some_and(|interval| now.since(last_key) >= interval);
            if is_key_due {
                last_key = now;
            }
            if !self.capture(now, due, is_key_due)? {
                break;
            }
            if now.since(last_status) >= SNAPSHOT_INTERVAL {
                last_status = now;
                let (total, frames) = std::mem::take(&mut self.encoding);
                let encoding = (frames > 0).then(|| total / frames);
                self.update(SenderUpdate::Source(SourceStatus { encoding, ..self.source.status() }));
            }
        }
        Ok(())
    }

    /// Time zero of the source is at this instant.
    fn begin(&self, at: Timestamp) {
        if !self.has_times {
            self.cue.begin(at);
        }
    }

    /// Captures one frame, which is `due` at its time in the source; false at the end of the source.
    fn capture(&mut self, now: Timestamp, due: Timestamp, is_key_due: bool) -> Result<bool, Error> {
        let mut controls = self.input.controls();
        let is_requested = self.preview.as_ref().is_some_and(BrowserTrack::take_key_frame_request);
        controls.key_frame |= is_requested || is_key_due;
        let before = self.meter.waited();
        let captured = self.source.capture(now, &controls)?;
        let Some(Captured { picture, frame, is_discardable, at }) = captured else {
            return Ok(false);
        };
        self.send_full_rate();
        // A live input gives its picture later than requested.
        let now = now + (self.meter.waited() - before);
        let coding = self.input.now().since(now);
        self.meter.on_frame(now, coding, self.source.interval());
        let at = self.time_of(at, now, due);
        if let (Some((references, media_clock)), Some(picture)) = (&self.references, picture) {
            let timestamp = media_clock.timestamp(at);
            // The receiver may have ended.
            let _ = references.send(ReferencePicture { timestamp, at: now, picture });
        }
        match frame {
            None => self.input.skip(),
            Some(frame) => {
                self.encoding = (self.encoding.0 + coding, self.encoding.1 + 1);
                let shown = self.preview.is_some().then(|| frame.clone());
                self.input.send_as(at, frame, is_discardable);
                self.preview.iter().zip(shown).for_each(|(preview, frame)| preview.preview(at, &frame));
            }
        }
        self.turns.on_sent();
        Ok(true)
    }

    /// The time of a frame: the source's own, or when it came. Beside sound a frame that is a little late, because the machine or the
    /// input's was busy, keeps the time at which it was due, where its sound is.
    fn time_of(&mut self, own: Option<Timestamp>, now: Timestamp, due: Timestamp) -> Timestamp {
        let in_step = || (self.has_sound && now.since(due) <= SUSPENDED).then_some(due);
        let at = own.or_else(in_step).unwrap_or(now);
        self.last = if own.is_some() { at } else { at.max(self.last + LEAST_STEP) };
        self.last
    }

    /// Reports to the session the rate that the source can use, where it changes by a percent.
    fn send_full_rate(&mut self) {
        let Some(rate) = self.source.full_rate() else { return };
        let reported = self.full_rate.map_or(0.0, Bitrate::as_bps_f64);
        if (rate.as_bps_f64() - reported).abs() > 0.01 * reported {
            self.full_rate = Some(rate);
            self.input.command(SenderCommand::SourceRate(rate));
        }
    }

    fn update(&self, update: SenderUpdate) {
        // The application may have dropped its handle.
        let _ = self.updates.send(update);
    }
}
