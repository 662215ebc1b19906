//! The sound thread: blocks of a source at their time, as Opus.

use super::browser::BrowserTrack;
use super::cue::{Cue, Position};
use super::event::SendEvent;
use super::input::FrameInput;
use super::live_sound::LiveSound;
use super::sender_machine::SenderUpdate;
use crate::Error;
use bytes::Bytes;
use seaway_media::audio::{AudioSource, BLOCK_SAMPLES, BLOCK_TIME, Block, OpusEncoder, level};
use seaway_units::{Bitrate, DataSize, TimeDelta, Timestamp};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::thread::Builder;

/// The mean rate of the Opus packets: transparent for speech, good for music in two channels.
pub(super) const RATE: Bitrate = Bitrate::from_kbps(64);
/// A block that is later than this is left out: the source stood still, or the machine slept.
pub(super) const LATE: TimeDelta = TimeDelta::from_millis(500);
/// A wait is cut in pieces, so that the end of the session is not slept over.
pub(super) const PIECE: TimeDelta = TimeDelta::from_millis(20);
/// Blocks between two levels.
const LEVEL: usize = 5;

/// The rate on the wire, with so many octets of headers before each packet.
pub(super) fn wire_rate(headers: DataSize) -> Bitrate {
    let packets = 1e9 / BLOCK_TIME.as_nanos() as f64;
    RATE + Bitrate::from_bps_f64(headers.as_bits() as f64 * packets)
}

/// Adds samples to those that are measured, and gives the level of 100 ms.
pub(super) fn measure(measured: &mut Vec<i16>, samples: &[i16], updates: &Sender<SenderUpdate>) {
    measured.extend_from_slice(samples);
    if measured.len() >= LEVEL * size_of::<Block>() / size_of::<i16>() {
        // The application may have dropped its handle.
        let _ = updates.send(SenderUpdate::SoundLevel(level(measured)));
        measured.clear();
    }
}

/// What the sound thread works with.
pub(super) struct SoundCapture {
    pub(super) source: Box<dyn AudioSource>,
    pub(super) encoder: OpusEncoder,
    /// Where it comes live: the pictures take so much longer to come than the sound.
    pub(super) delay: TimeDelta,
    pub(super) input: FrameInput,
    /// AAC is sent in its place, as long as the receiver takes that.
    pub(super) has_aac: bool,
    pub(super) cue: Cue,
    pub(super) stop: Arc<AtomicBool>,
    pub(super) preview: Option<BrowserTrack>,
    pub(super) updates: Sender<SenderUpdate>,
}

/// Where the thread is.
#[derive(Debug, Clone, Copy)]
struct Reading {
    restarts: u32,
    /// The time of the next block.
    time: TimeDelta,
    has_ended: bool,
}

impl SoundCapture {
    /// Captures on a thread until `stop` is set or the pictures end. Like the thread that reads pictures, it is left behind where
    /// its input does not answer.
    pub(super) fn start(mut self) -> io::Result<()> {
        Builder::new().name("sound".into()).spawn(move || {
            let outcome = if self.source.is_live() { self.run_live() } else { self.run() };
            if let Err(error) = outcome {
                let event = SenderUpdate::Event(self.input.now(), SendEvent::SoundFailed(error));
                // The application may have dropped its handle.
                let _ = self.updates.send(event);
            }
        })?;
        Ok(())
    }

    fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.cue.has_ended()
    }

    fn run(&mut self) -> Result<(), Error> {
        let mut reading = Reading { restarts: 0, time: TimeDelta::ZERO, has_ended: false };
        let (mut block, mut measured): (Block, Vec<i16>) = ([0; 2 * BLOCK_SAMPLES], Vec::new());
        while !self.is_over() {
            let Some(position) = self.cue.position() else {
                self.sleep_until(self.input.now() + PIECE);
                continue;
            };
            let now = self.input.now();
            self.follow(now, &mut reading, position)?;
            // A block is there once its last sample is.
            let due = position.began + reading.time + BLOCK_TIME;
            if reading.has_ended || now < due {
                self.sleep_until(due.max(now + BLOCK_TIME / 4).min(now + PIECE));
                continue;
            }
            if !self.source.next_block(&mut block)? {
                reading.has_ended = true;
                continue;
            }
            if now.since(due) <= LATE {
                self.send(position.began + reading.time, &block, &mut measured)?;
            }
            reading.time += BLOCK_TIME;
        }
        Ok(())
    }

    /// Sends what is captured, from the first picture on.
    fn run_live(&mut self) -> Result<(), Error> {
        let (mut block, mut measured): (Block, Vec<i16>) = ([0; 2 * BLOCK_SAMPLES], Vec::new());
        let mut line = LiveSound::new();
        while !self.is_over() && self.source.next_block(&mut block)? {
            let captured = line.place(self.input.now());
            let captured = captured.filter(|_| self.cue.position().is_some());
            if let Some(captured) = captured {
                self.send(captured + self.delay, &block, &mut measured)?;
            }
        }
        Ok(())
    }

    /// Begins again where the pictures do. A block that would be played beyond that is left out.
    fn follow(&mut self, now: Timestamp, reading: &mut Reading, position: Position) -> Result<(), Error> {
        let is_over = |repeat: &TimeDelta| match reading.has_ended {
            true => now >= position.began + *repeat,
            false => reading.time + BLOCK_TIME > *repeat,
        };
        if reading.restarts != position.restarts {
            *reading = Reading { restarts: position.restarts, time: TimeDelta::ZERO, has_ended: false };
            self.source.rewind()?;
        } else if let Some(repeat) = position.repeat.filter(is_over) {
            self.cue.take_repeat();
            *reading = Reading { time: repeat, has_ended: false, ..*reading };
            self.source.rewind()?;
        }
        Ok(())
    }

    fn send(&mut self, captured: Timestamp, block: &Block, measured: &mut Vec<i16>) -> Result<(), Error> {
        measure(measured, block, &self.updates);
        let is_sent = !self.has_aac || self.input.controls.is_aac_refused();
        if !is_sent && self.preview.is_none() {
            return Ok(());
        }
        self.encoder.set_expected_loss(self.input.controls.sound_loss())?;
        let packet = Bytes::copy_from_slice(self.encoder.encode(block)?);
        // What a decoder gives for this packet was captured so much earlier.
        let captured = captured - self.encoder.delay();
        self.preview.iter().for_each(|track| track.preview_sound(captured, &packet));
        if is_sent {
            self.input.send_sound(captured, packet, BLOCK_TIME);
        }
        Ok(())
    }

    fn sleep_until(&self, at: Timestamp) {
        self.input.clock.sleep_until(at);
    }
}
