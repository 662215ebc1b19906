//! An encoder that is another program: its coded pictures as they come, our target as it changes.

use super::cue::Cue;
use super::read_ahead::{ReadAhead, ReadAheadPictures};
use super::supply::SupplyMeter;
use super::turns::Turns;
use crate::Error;
use crate::source::{Captured, CodedFrame, FrameControls, Source, SourceStatus, Thinnable, Thinning};
use bytes::Bytes;
use seaway_media::encoder::ExternalEncoder;
use seaway_media::input::{CodedInput, CodedPicture, PictureSource, open_coded_pipe};
use seaway_media::output::Y4mWriter;
use seaway_media::{self as media, FrameRate};
use seaway_net::Clock;
use seaway_units::{Bitrate, DataSize, TimeDelta, Timestamp};
use std::process::ChildStdin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::thread::Builder;

/// The target is sent again this often, also where it did not change: an encoder may have begun to listen late.
const REPEAT: TimeDelta = TimeDelta::from_secs(1);
/// Changes of the target that are smaller, in per cent, wait until then.
const STEP: u64 = 1;
/// Between two requests for a key frame.
const KEY_FRAMES: TimeDelta = TimeDelta::from_millis(500);
/// The wait for a picture's time is cut in pieces, so that the end of the session is not slept over.
const PIECE: TimeDelta = TimeDelta::from_millis(20);

/// What an external encoder codes.
pub(super) struct Pictures {
    pub(super) input: Box<dyn PictureSource>,
    pub(super) repeat: bool,
}

/// The coded pictures of an external encoder. It starts with the first capture, once the receiver is there.
pub(super) struct ExternalSource {
    command: String,
    /// `None`: it has a camera of its own, or it runs already.
    pictures: Option<Pictures>,
    running: Option<Running>,
    clock: Clock,
    meter: SupplyMeter,
    stop: Arc<AtomicBool>,
    thinning: Thinning,
    frame_rate: FrameRate,
    /// Where the pictures come from an input, whose rate is known.
    interval: Option<TimeDelta>,
    last_target: Option<(Bitrate, Timestamp)>,
    last_request: Option<Timestamp>,
}

struct Running {
    encoder: ExternalEncoder,
    coded: ReadAhead<CodedPicture>,
    /// Why the input failed.
    failures: Receiver<media::Error>,
}

impl ExternalSource {
    /// Runs `command` by the shell, with `pictures` on its standard input, unless it has a camera of its own.
    pub(super) fn new(
        clock: Clock,
        meter: SupplyMeter,
        stop: Arc<AtomicBool>,
        command: String,
        pictures: Option<Pictures>,
        latency: TimeDelta,
    ) -> Self {
        let frame_rate = pictures.as_ref().map(|pictures| pictures.input.format().frame_rate);
        Self {
            command,
            pictures,
            running: None,
            clock,
            meter,
            stop,
            // It takes some pictures until it follows the target.
            thinning: Thinning::new(latency * 2),
            frame_rate: frame_rate.unwrap_or(FrameRate::USUAL),
            interval: frame_rate.map(FrameRate::interval),
            last_target: None,
            last_request: None,
        }
    }

    fn start(&mut self) -> Result<Running, Error> {
        let pictures = self.pictures.take();
        let mut encoder = ExternalEncoder::start(&self.command, pictures.as_ref().map(|_| self.frame_rate))?;
        let (send_failure, failures) = mpsc::channel();
        // The input is what is measured where there is one, else the encoder's output.
        let mut meter = self.meter.clone();
        if let Some((pictures, writer)) = pictures.zip(encoder.take_pictures()) {
            meter = SupplyMeter::default();
            let Pictures { input, repeat } = pictures;
            let input = ReadAheadPictures::start(
                self.clock,
                self.meter.clone(),
                self.stop.clone(),
                input,
                repeat,
                (Cue::default(), Turns::default()),
            )?;
            let feeder = Feeder {
                clock: self.clock,
                meter: self.meter.clone(),
                stop: self.stop.clone(),
                input,
                writer,
            };
            Builder::new().name("feeder".into()).spawn(move || {
                if let Err(error) = feeder.run() {
                    // The session has ended.
                    let _ = send_failure.send(error);
                }
            })?;
        }
        let mut output = encoder.take_coded();
        let mut input = None;
        let coded = ReadAhead::start(self.clock, meter, self.stop.clone(), Turns::default(), move || {
            if let Some(output) = output.take() {
                input = Some(open_coded_pipe(Box::new(output), "the encoder's output")?);
            }
            input.as_mut().map_or(Ok(None), CodedInput::next_picture)
        })?;
        Ok(Running { encoder, coded, failures })
    }

    fn send_target(&mut self, running: &mut Running, now: Timestamp, target: Bitrate, is_key_wanted: bool) {
        let is_old = |(last, at): (Bitrate, Timestamp)| {
            now.since(at) >= REPEAT || last.as_bps().abs_diff(target.as_bps()) * 100 > last.as_bps() * STEP
        };
        if self.last_target.is_none_or(is_old) {
            self.last_target = Some((target, now));
            running.encoder.targets().set_target(target);
        }
        if is_key_wanted && self.last_request.is_none_or(|last| now.since(last) >= KEY_FRAMES) {
            self.last_request = Some(now);
            running.encoder.targets().request_key_frame();
        }
    }

    fn capture_from(
        &mut self,
        running: &mut Running,
        controls: &FrameControls,
    ) -> Result<Option<Captured>, Error> {
        let target = controls.target(self.frame_rate);
        self.send_target(running, self.clock.now(), target, controls.key_frame);
        let next = running.coded.next();
        let failure = running.failures.try_recv().ok();
        let is_stopped = self.stop.load(Ordering::Relaxed);
        let picture = match failure.map_or(next, Err) {
            Ok(Some(picture)) => picture,
            Ok(None) if is_stopped => return Ok(None),
            Ok(None) => return running.encoder.end().map(|()| None).map_err(Error::from),
            // Its exit status explains more than its missing output.
            Err(error) => return Err(running.encoder.failure().unwrap_or(error).into()),
        };
        let now = self.clock.now();
        let CodedPicture { data, is_key, is_reference, layer, .. } = picture;
        let size = DataSize::of(&data);
        if controls.skip {
            self.thinning.on_full_queue(target);
        }
        let before = self.thinning.thinned().until_key;
        if !self.thinning.admits(now, &Thinnable { size, is_key, is_reference, layer }, target) {
            let is_key_wanted = self.thinning.thinned().until_key > before;
            self.send_target(running, now, target, is_key_wanted);
            return Ok(Some(Captured { at: Some(now), ..Captured::default() }));
        }
        let interval = self.frame_rate.interval();
        let target = target.size_in(interval);
        let frame = Some(CodedFrame { data: Bytes::from(data), is_key, target, interval });
        Ok(Some(Captured { picture: None, frame, is_discardable: !is_reference && !is_key, at: Some(now) }))
    }
}

impl Source for ExternalSource {
    /// Always now: pictures are waited for as they are captured.
    fn next_due(&self) -> TimeDelta {
        TimeDelta::ZERO
    }

    fn interval(&self) -> Option<TimeDelta> {
        self.interval
    }

    fn capture(&mut self, _at: Timestamp, controls: &FrameControls) -> Result<Option<Captured>, Error> {
        let mut running = match self.running.take() {
            Some(running) => running,
            None => self.start()?,
        };
        let captured = self.capture_from(&mut running, controls);
        self.running = Some(running);
        captured
    }

    fn status(&self) -> SourceStatus {
        let target = self.last_target.map(|(target, _)| target);
        SourceStatus { target, thinned: Some(self.thinning.thinned()), ..SourceStatus::default() }
    }
}

impl std::fmt::Debug for ExternalSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ExternalSource").field("command", &self.command).finish_non_exhaustive()
    }
}

/// Gives the encoder pictures at their time.
struct Feeder {
    clock: Clock,
    meter: SupplyMeter,
    stop: Arc<AtomicBool>,
    input: ReadAheadPictures,
    writer: Y4mWriter<ChildStdin>,
}

impl Feeder {
    fn run(mut self) -> Result<(), media::Error> {
        let frame_rate = self.input.format().frame_rate;
        let mut began = self.clock.now();
        for count in 0.. {
            let due = began + frame_rate.time_of(count);
            self.wait_until(due);
            let late = self.clock.now().since(due);
            if late > TimeDelta::from_secs(1) {
                began += late;
            }
            let Some(picture) = self.input.next_picture()? else { break };
            // The end of an encoder shows in its output.
            if self.writer.write(&picture).is_err() {
                break;
            }
        }
        Ok(())
    }

    fn wait_until(&self, due: Timestamp) {
        let begin = self.clock.now();
        while self.clock.now() < due && !self.stop.load(Ordering::Relaxed) {
            self.clock.sleep_until(due.min(self.clock.now() + PIECE));
        }
        self.meter.on_paced(self.clock.now().since(begin).max(TimeDelta::ZERO));
    }
}
