//! The thread of sound that is sent as it is coded: frames at their time.

use super::copied_opus::CopiedOpus;
use super::cue::{Cue, Position};
use super::event::SendEvent;
use super::input::FrameInput;
use super::sender_machine::SenderUpdate;
use super::sound::{LATE, PIECE};
use crate::Error;
use bytes::Bytes;
use seaway_media::audio::{CodedTrack, SoundFrame};
use seaway_units::{TimeDelta, Timestamp};
use seaway_wire::aac::{AdtsHeader, Config};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::thread::Builder;

/// What the thread works with.
pub(super) struct CopiedSound {
    pub(super) track: CodedTrack,
    /// What is done with Opus.
    pub(super) opus: Option<CopiedOpus>,
    /// The configuration of AAC that was announced.
    pub(super) aac: Option<Config>,
    pub(super) input: FrameInput,
    pub(super) cue: Cue,
    pub(super) stop: Arc<AtomicBool>,
    pub(super) updates: Sender<SenderUpdate>,
}

/// Where the thread is.
#[derive(Debug, Default)]
struct Reading {
    restarts: u32,
    /// The time at which the track began for the last time.
    base: TimeDelta,
    /// The frame that is sent next.
    frame: Option<SoundFrame>,
    has_ended: bool,
    /// The time of the end of the last frame; what begins before it is left out.
    end: Option<TimeDelta>,
}

impl Reading {
    /// When the next frame begins and ends.
    fn span(&self) -> Option<(TimeDelta, TimeDelta)> {
        let frame = self.frame.as_ref()?;
        let begin = self.base + frame.at;
        Some((begin, begin + frame.duration))
    }
}

impl CopiedSound {
    /// Sends on a thread until `stop` is set or the pictures end. It is left behind where its input does not answer.
    pub(super) fn start(mut self) -> io::Result<()> {
        Builder::new().name("sound".into()).spawn(move || {
            if let Err(error) = self.run() {
                let event = SenderUpdate::Event(self.input.now(), SendEvent::SoundFailed(error));
                // The application may have dropped its handle.
                let _ = self.updates.send(event);
            }
        })?;
        Ok(())
    }

    fn run(&mut self) -> Result<(), Error> {
        let mut reading = Reading::default();
        while !self.stop.load(Ordering::Relaxed) && !self.cue.has_ended() && !self.is_refused() {
            let Some(position) = self.cue.position() else {
                self.input.clock.sleep_until(self.input.now() + PIECE);
                continue;
            };
            self.follow(self.input.now(), &mut reading, position)?;
            if reading.frame.is_none() && !reading.has_ended {
                reading.frame = self.track.next_frame()?;
                reading.has_ended = reading.frame.is_none();
            }
            let (now, span) = (self.input.now(), reading.span());
            // A frame is there once its last sample is.
            let due = span.map(|(_, end)| position.began + end);
            if let (Some(due), Some((begin, end))) = (due.filter(|due| *due <= now), span) {
                let frame = reading.frame.take();
                let follows = reading.end.is_none_or(|last| begin >= last - OVERLAP);
                // There is no time before the origin of the clock: what stands before the first picture may begin there.
                let has_time = position.began - Timestamp::ZERO + begin >= TimeDelta::ZERO;
                if let Some(frame) = frame.filter(|_| follows && has_time && now.since(due) <= LATE) {
                    self.send(position.began + begin, frame)?;
                    reading.end = Some(end);
                }
                continue;
            }
            self.input.clock.sleep_until(due.map_or(now + PIECE, |due| due.min(now + PIECE)));
        }
        Ok(())
    }

    fn is_refused(&self) -> bool {
        self.aac.is_some() && self.input.controls.is_aac_refused()
    }

    fn send(&mut self, captured: Timestamp, frame: SoundFrame) -> Result<(), Error> {
        let has_changed =
            |aac| AdtsHeader::parse(&frame.octets).ok().and_then(|header| header.config()) != Some(aac);
        if self.aac.is_some_and(has_changed) {
            let what = "AAC whose rate or channels change: the receiver knows those of its beginning";
            return Err(seaway_media::Error::Unsupported(what.into()).into());
        }
        let packet = Bytes::from(frame.octets);
        match &mut self.opus {
            Some(opus) => opus.send(&self.input, captured, (packet, frame.duration), &self.updates),
            None => {
                self.input.send_sound(captured, packet, frame.duration);
                Ok(())
            }
        }
    }

    /// Begins again where the pictures do. A frame that would be played beyond that is left out.
    fn follow(&mut self, now: Timestamp, reading: &mut Reading, position: Position) -> Result<(), Error> {
        let Position { began, repeat, restarts } = position;
        let is_over = |repeat: &TimeDelta| match reading.span() {
            Some((_, end)) => end > *repeat,
            None => reading.has_ended && now >= began + *repeat,
        };
        if reading.restarts != restarts {
            *reading = Reading { restarts, ..Reading::default() };
            self.track.rewind()?;
        } else if let Some(repeat) = repeat.filter(is_over) {
            self.cue.take_repeat();
            *reading = Reading { restarts, base: repeat, end: reading.end, ..Reading::default() };
            self.track.rewind()?;
        }
        Ok(())
    }
}

/// Time stamps are rounded.
const OVERLAP: TimeDelta = TimeDelta::from_millis(1);
