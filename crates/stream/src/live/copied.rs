//! Coded pictures of an input, sent as they are.

use super::cue::Cue;
use super::read_ahead::ReadAhead;
use super::supply::SupplyMeter;
use super::turns::Turns;
use crate::Error;
use crate::source::{
    Captured, CodedFrame, FrameControls, Source, SourceStatus, Thinnable, Thinned, Thinning,
};
use bytes::Bytes;
use seaway_media::FrameRate;
use seaway_media::input::{CodedInput, CodedPicture};
use seaway_net::Clock;
use seaway_units::{DataSize, TimeDelta, Timestamp};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Pictures that come early by more than this wait until they are due; a live input may come a little unevenly.
pub(super) const EARLY: TimeDelta = TimeDelta::from_millis(50);
/// Beyond this the input's times have jumped, or it stood still: they count afresh.
const JUMP: TimeDelta = TimeDelta::from_secs(1);
/// The wait for a picture's time is cut in pieces, so that the end of the session is not slept over.
const PIECE: TimeDelta = TimeDelta::from_millis(20);

/// The coded pictures of an input, thinned where the network does not carry them all.
pub(super) struct CopiedSource {
    pictures: ReadAhead<CodedPicture>,
    clock: Clock,
    meter: SupplyMeter,
    stop: Arc<AtomicBool>,
    thinning: Thinning,
    cue: Cue,
    /// The instant of the input's time zero.
    origin: Option<Timestamp>,
    /// When the first picture is shown: with B pictures later than it is decoded.
    first: TimeDelta,
    /// The decoding time of the last picture.
    last: TimeDelta,
    interval: TimeDelta,
}

impl CopiedSource {
    /// Reads `input` on a thread, with `repeat` from the beginning again at its end.
    ///
    /// # Errors
    /// The system grants no thread.
    pub(super) fn start(
        clock: Clock,
        meter: SupplyMeter,
        stop: Arc<AtomicBool>,
        mut input: CodedInput,
        repeat: bool,
        (latency, cue): (TimeDelta, Cue),
    ) -> io::Result<Self> {
        let mut is_empty = true;
        let pictures = ReadAhead::start(clock, meter.clone(), stop.clone(), Turns::default(), move || {
            let mut picture = input.next_picture()?;
            if picture.is_none() && repeat && !is_empty {
                input.rewind()?;
                picture = input.next_picture()?;
            }
            is_empty &= picture.is_none();
            Ok(picture)
        })?;
        Ok(Self {
            pictures,
            clock,
            meter,
            stop,
            thinning: Thinning::new(latency),
            cue,
            origin: None,
            first: TimeDelta::ZERO,
            last: TimeDelta::ZERO,
            interval: FrameRate::USUAL.interval(),
        })
    }

    /// The instant at which the input's time is zero, for a picture that came at `now`. Sound follows it.
    fn origin(&mut self, now: Timestamp, decode: TimeDelta, shown: TimeDelta) -> Timestamp {
        let step = decode - self.last;
        let last = std::mem::replace(&mut self.last, decode);
        let is_again = step < TimeDelta::ZERO;
        let continued = match self.origin {
            Some(origin) if step >= TimeDelta::ZERO && step <= JUMP => {
                if step > TimeDelta::ZERO {
                    self.interval = step;
                }
                Some(origin)
            }
            // The last picture of a round has its time.
            Some(origin) if is_again => Some(origin + last + self.interval - decode),
            _ => None,
        };
        let origin = continued.filter(|origin| now.since(*origin + decode) <= JUMP).unwrap_or(now - decode);
        if is_again || self.origin.is_none() {
            self.first = shown;
        }
        if is_again {
            self.cue.restart(origin + self.first);
        } else if self.origin != Some(origin) {
            self.cue.begin(origin + self.first);
        }
        self.origin = Some(origin);
        origin
    }

    /// Sleeps until `due`, or the end of the session.
    fn wait_until(&self, due: Timestamp) {
        let begin = self.clock.now();
        while self.clock.now() < due && !self.stop.load(Ordering::Relaxed) {
            self.clock.sleep_until(due.min(self.clock.now() + PIECE));
        }
        self.meter.on_paced(self.clock.now().since(begin).max(TimeDelta::ZERO));
    }
}

impl Source for CopiedSource {
    /// Always now: pictures are waited for as they are captured.
    fn next_due(&self) -> TimeDelta {
        TimeDelta::ZERO
    }

    fn capture(&mut self, _at: Timestamp, controls: &FrameControls) -> Result<Option<Captured>, Error> {
        let Some(picture) = self.pictures.next()? else { return Ok(None) };
        let origin = self.origin(self.clock.now(), picture.decode, picture.time);
        self.wait_until(origin + (picture.decode - EARLY));
        let nanos = self.interval.as_nanos().clamp(1_000_000, 1_000_000_000) as u32;
        let frame_rate = FrameRate::new(1_000_000_000, nanos).unwrap_or(FrameRate::USUAL);
        let rate = controls.target(frame_rate);
        if controls.skip {
            self.thinning.on_full_queue(rate);
        }
        let CodedPicture { data, time, is_key, is_reference, layer, .. } = picture;
        let size = DataSize::of(&data);
        let candidate = Thinnable { size, is_key, is_reference, layer };
        if !self.thinning.admits(self.clock.now(), &candidate, rate) {
            return Ok(Some(Captured::default()));
        }
        let (data, interval) = (Bytes::from(data), self.interval);
        let frame = Some(CodedFrame { data, is_key, target: size, interval });
        let is_discardable = !is_key && !is_reference;
        Ok(Some(Captured { picture: None, frame, is_discardable, at: Some(origin + time) }))
    }

    fn status(&self) -> SourceStatus {
        SourceStatus { thinned: Some(self.thinning.thinned()), ..SourceStatus::default() }
    }
}

impl std::fmt::Debug for CopiedSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let thinned: Thinned = self.thinning.thinned();
        f.debug_struct("CopiedSource")
            .field("last", &self.last)
            .field("thinned", &thinned)
            .finish_non_exhaustive()
    }
}
