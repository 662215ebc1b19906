//! The playback thread: received frames decoded, scored and handed to the sinks.

use super::event::ReceiveEvent;
use super::programme::{Part, Programme};
use super::receiver_machine::{ReceiverCommand, ReceiverSnapshot, ReceiverUpdate};
use super::stamped::since_1970;
use super::state::DelayParts;
use crate::Error;
use crate::sink::{Displayed, PictureScore, Playback, Played, ReferencePicture, Screen, Sink, video_codec};
use seaway_control::StreamId;
use seaway_media::audio::{BLOCK_SAMPLES, BLOCK_TIME, SoundRecovery, level};
use seaway_media::decoder::{FfmpegDecoder, MpegDecoder, VideoDecoder};
use seaway_media::stamp::Stamp;
use seaway_media::{Picture, PictureSize};
use seaway_net::{Clock, Waker};
use seaway_quality::freeze::FreezeDetector;
use seaway_quality::stale::StaleDetector;
use seaway_session::{Format, FrameData, ReceivedFrame, ReceiverEvent, SessionDescription};
use seaway_units::{Decibels, TimeDelta, Timestamp, Transit};
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// From the playback thread to the application.
#[derive(Debug)]
pub(super) enum PlaybackUpdate {
    /// A frame is on the screen.
    Displayed(DisplayedFrame),
    /// A frame of this size was received that nothing decodes.
    Undecoded(PictureSize),
    Scored(PictureScore),
    /// A session begins whose sound is measured, or is not.
    SoundMeasured(bool),
    /// The level of the sound; `None` is silence.
    SoundLevel(Option<Decibels>),
    /// A lost packet of sound was made anew.
    SoundRecovered,
    Event(Timestamp, ReceiveEvent),
    Snapshot(Box<ReceiverSnapshot>),
}

/// A frame on the screen.
#[derive(Debug)]
pub(super) struct DisplayedFrame {
    /// When it was displayed.
    pub(super) at: Timestamp,
    /// Since its capture.
    pub(super) delay: Option<TimeDelta>,
    /// The same by the stamp in the picture.
    pub(super) glass_to_glass: Option<TimeDelta>,
    pub(super) parts: DelayParts,
    pub(super) size: Option<PictureSize>,
}

impl DisplayedFrame {
    /// Since its capture, as far as that is known.
    pub(super) fn age(&self) -> TimeDelta {
        self.glass_to_glass.or(self.delay).unwrap_or(TimeDelta::ZERO)
    }
}

/// What the playback thread works with.
pub(super) struct Player {
    pub(super) clock: Clock,
    pub(super) frames: Receiver<ReceiverUpdate>,
    pub(super) commands: Sender<ReceiverCommand>,
    pub(super) waker: Waker,
    /// `None`: frames go to the sinks as they are.
    pub(super) screen: Option<Screen>,
    /// From a sender in this process.
    pub(super) references: Option<Receiver<ReferencePicture>>,
    pub(super) sinks: Vec<Box<dyn Sink>>,
    /// The sinks get frames that cannot be decoded too: they are parts of a stream that is recorded whole.
    pub(super) gives_all: bool,
    pub(super) updates: Sender<PlaybackUpdate>,
    pub(super) freezes: FreezeDetector,
    /// Looks at the age of the picture on the screen, where that has a bound.
    pub(super) stale: Option<StaleDetector>,
    /// Stamps in pictures are read.
    pub(super) reads_stamps: bool,
    pub(super) delay: RelativeDelay,
    /// Pictures are looked at: where ours does not decode a codec, FFmpeg does if it is installed.
    pub(super) is_watched: bool,
    /// The sound of the present session, where it has some.
    pub(super) sound: Option<Sound>,
    /// How long after they could be shown the pictures of transport streams are shown.
    pub(super) latency: TimeDelta,
    /// The sinks take AAC.
    pub(super) takes_aac: bool,
    /// Of a session that carries a transport stream.
    pub(super) programme: Option<Programme>,
    /// Losses of pictures in transport streams so far.
    pub(super) programme_losses: u64,
    /// When the media thread gave the present frame.
    pub(super) given: Timestamp,
}

/// Capture-to-display delay of frames where the clocks of both ends are not synchronised.
#[derive(Debug, Default)]
pub(super) struct RelativeDelay {
    /// The sender's clock less ours for the frame of the least delay: the largest so far.
    fastest: Option<Transit>,
    rtt: Option<TimeDelta>,
}

/// The sound of a session.
pub(super) struct Sound {
    /// Its streams, of which the first is played.
    streams: Vec<StreamId>,
    /// Of Opus, which alone is decoded.
    recovery: Option<SoundRecovery>,
    measured: Vec<i16>,
}

impl Sound {
    /// Samples of two channels between two levels: 100 ms.
    const LEVEL: usize = 10 * BLOCK_SAMPLES;

    fn of(session: &SessionDescription) -> Result<Option<Self>, Error> {
        let all = session.streams.iter().zip(0..).filter(|(stream, _)| stream.is_audio());
        let is_opus = all.clone().next().is_some_and(|(stream, _)| stream.format == Format::Opus);
        let streams: Vec<_> = all.map(|(_, id)| StreamId(id)).collect();
        if streams.is_empty() {
            return Ok(None);
        }
        let recovery = is_opus.then(SoundRecovery::new).transpose()?;
        Ok(Some(Self { streams, recovery, measured: Vec::new() }))
    }

    /// Listens to a frame; gives the one before it, where that was lost and this one has it too.
    fn take(&mut self, frame: &ReceivedFrame) -> Option<ReceivedFrame> {
        let FrameData::Coded(packet) = &frame.data else { return None };
        let decoded = self.recovery.as_mut()?.take(frame.timestamp, packet);
        self.measured.extend_from_slice(&decoded.samples);
        let data = FrameData::Coded(decoded.lost?.into());
        let timestamp = frame.timestamp.wrapping_sub(BLOCK_SAMPLES as u32);
        let captured = frame.captured.map(|captured| captured - BLOCK_TIME);
        Some(ReceivedFrame { timestamp, captured, data, ..frame.clone() })
    }

    /// Whether it has a level.
    const fn is_measured(&self) -> bool {
        self.recovery.is_some()
    }

    /// The level of the last 100 ms, once they are whole; never where none is measured.
    fn level(&mut self) -> Option<Option<Decibels>> {
        (self.measured.len() >= Self::LEVEL).then(|| level(&std::mem::take(&mut self.measured)))
    }
}

impl Player {
    /// Plays on a thread until the session ends.
    pub(super) fn start(mut self) -> io::Result<JoinHandle<Result<(), Error>>> {
        Builder::new().name("playback".into()).spawn(move || {
            loop {
                match self.next_update() {
                    Ok(update) => self.on_update(update)?,
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => break,
                }
                self.play_programme(Programme::poll)?;
                self.watch_age();
            }
            self.end_programme()?;
            // Each is completed, whatever becomes of the others.
            self.sinks.into_iter().map(Sink::finish).fold(Ok(()), Result::and)
        })
    }

    /// Waits for the next update, or until the picture on the screen is too old or a picture of the programme is due.
    fn next_update(&self) -> Result<ReceiverUpdate, RecvTimeoutError> {
        let stale = self.stale.as_ref().and_then(StaleDetector::poll_timeout);
        let picture = self.programme.as_ref().and_then(Programme::poll_timeout);
        match stale.into_iter().chain(picture).min() {
            None => self.frames.recv().map_err(RecvTimeoutError::from),
            Some(due) => {
                let left = due.since(self.clock.now()).as_nanos().max(0) as u64;
                self.frames.recv_timeout(Duration::from_nanos(left))
            }
        }
    }

    fn watch_age(&mut self) {
        let now = self.clock.now();
        if let Some(age) = self.stale.as_mut().and_then(|stale| stale.handle_timeout(now)) {
            self.update(PlaybackUpdate::Event(now, ReceiveEvent::Stale(age)));
        }
    }

    fn on_update(&mut self, update: ReceiverUpdate) -> Result<(), Error> {
        match update {
            ReceiverUpdate::Event(at, ReceiverEvent::SessionStarted(session)) => {
                self.end_programme()?;
                self.programme = Programme::of(&session, self.latency, self.takes_aac);
                // That of a transport stream begins with its programme.
                if self.programme.is_none() {
                    self.begin(at, session)?;
                }
            }
            ReceiverUpdate::Event(_, ReceiverEvent::Frame(frame)) if self.programme.is_some() => {
                self.programme.iter_mut().for_each(|programme| programme.on_packets(&frame));
            }
            ReceiverUpdate::Event(_, ReceiverEvent::FramesLost { .. }) if self.programme.is_some() => {
                self.programme.iter_mut().for_each(Programme::on_loss);
            }
            ReceiverUpdate::Event(at, ReceiverEvent::Frame(frame)) if self.is_sound(frame.stream) => {
                self.play_sound(at, &frame);
            }
            ReceiverUpdate::Event(at, ReceiverEvent::Frame(frame)) => {
                self.given = at;
                self.show(&frame)?;
            }
            ReceiverUpdate::Event(at, event) => {
                if let ReceiverEvent::SessionChanged(session) = &event {
                    self.follow_format(session);
                }
                if matches!(event, ReceiverEvent::SessionEnded) {
                    // No other picture begins, which would show that the last one is whole.
                    self.programme.iter_mut().for_each(Programme::finish);
                }
                if let ReceiverEvent::FramesLost { stream, .. } | ReceiverEvent::Frozen { stream } = &event
                    && !self.is_sound(*stream)
                {
                    self.screen.iter_mut().for_each(Screen::on_loss);
                }
                // Lost sound is counted; events are about pictures.
                let is_of_sound =
                    matches!(event, ReceiverEvent::FramesLost { stream, .. } if self.is_sound(stream));
                if !is_of_sound {
                    self.update(PlaybackUpdate::Event(at, ReceiveEvent::Session(event)));
                }
            }
            ReceiverUpdate::Keys(at, event) => self.update(PlaybackUpdate::Event(at, event)),
            ReceiverUpdate::Snapshot(mut snapshot) => {
                snapshot.statistics.frames.lost += self.programme_losses;
                self.delay.rtt = snapshot.statistics.rtt;
                self.update(PlaybackUpdate::Snapshot(snapshot));
            }
        }
        Ok(())
    }

    /// A session begins.
    fn begin(&mut self, at: Timestamp, session: SessionDescription) -> Result<(), Error> {
        self.follow_format(&session);
        let codec = video_codec(&session.streams);
        let wants_other = self.is_watched && self.screen.is_some();
        let other = if wants_other { FfmpegDecoder::open(codec) } else { None };
        let other = other.map(|other| Box::new(other) as Box<dyn VideoDecoder>);
        let is_decoded = codec.is_decoded() || other.is_some();
        if let Some(screen) = &mut self.screen {
            screen.set_codec(codec, other);
        }
        self.sound = Sound::of(&session)?;
        self.update(PlaybackUpdate::SoundMeasured(self.sound.as_ref().is_some_and(Sound::is_measured)));
        self.sinks.iter_mut().for_each(|sink| sink.on_session(&session.streams));
        self.update(PlaybackUpdate::Event(at, ReceiveEvent::Session(ReceiverEvent::SessionStarted(session))));
        if self.screen.is_some() && !is_decoded {
            self.update(PlaybackUpdate::Event(at, ReceiveEvent::NotDecoded(codec)));
        }
        Ok(())
    }

    /// Plays the parts of the programme that `next` gives.
    fn play_programme(
        &mut self,
        next: impl Fn(&mut Programme, Timestamp) -> Option<Part>,
    ) -> Result<(), Error> {
        let at = self.clock.now();
        while let Some(part) = self.programme.as_mut().and_then(|programme| next(programme, at)) {
            match part {
                Part::Begun(session) => self.begin(at, session)?,
                Part::NoSound(error) => {
                    self.update(PlaybackUpdate::Event(at, ReceiveEvent::SoundFailed(error)));
                }
                Part::NotUnderstood(found) => {
                    self.update(PlaybackUpdate::Event(at, ReceiveEvent::NotUnderstood(found)));
                }
                Part::Lost => {
                    self.programme_losses += 1;
                    self.screen.iter_mut().for_each(Screen::on_loss);
                    let lost = ReceiverEvent::FramesLost { stream: StreamId(0), frames: 1 };
                    self.update(PlaybackUpdate::Event(at, ReceiveEvent::Session(lost)));
                }
                Part::Picture(frame) => {
                    self.given = at;
                    self.show(&frame)?;
                }
                Part::Sound(frame) => self.play_sound(at, &frame),
            }
        }
        Ok(())
    }

    /// Plays what the programme still holds.
    fn end_programme(&mut self) -> Result<(), Error> {
        self.programme.iter_mut().for_each(Programme::finish);
        self.play_programme(Programme::poll_last)?;
        self.programme = None;
        Ok(())
    }

    /// A coded stream of MPEG video has another decoder, and its recording is the stream.
    fn follow_format(&mut self, session: &SessionDescription) {
        let is_mpeg = session.streams.first().is_some_and(|stream| stream.format == Format::Mpv);
        if is_mpeg && !std::mem::replace(&mut self.gives_all, is_mpeg) {
            self.screen.iter_mut().for_each(|screen| screen.set_decoder(Box::new(MpegDecoder::new())));
        }
    }

    fn is_sound(&self, stream: StreamId) -> bool {
        self.sound.as_ref().is_some_and(|sound| sound.streams.contains(&stream))
    }

    /// Gives sound to the sinks, and measures its level.
    fn play_sound(&mut self, at: Timestamp, frame: &ReceivedFrame) {
        if self.sound.as_ref().is_none_or(|sound| sound.streams.first() != Some(&frame.stream)) {
            return;
        }
        if let Some(lost) = self.sound.as_mut().and_then(|sound| sound.take(frame)) {
            self.give_sound(at, &lost);
            self.update(PlaybackUpdate::SoundRecovered);
        }
        self.give_sound(at, frame);
        if let Some(level) = self.sound.as_mut().and_then(Sound::level) {
            self.update(PlaybackUpdate::SoundLevel(level));
        }
    }

    fn give_sound(&mut self, at: Timestamp, frame: &ReceivedFrame) {
        let played = Played { at, frame };
        let mut failures = Vec::new();
        self.sinks.retain_mut(|sink| sink.on_sound(&played).map_err(|error| failures.push(error)).is_ok());
        self.report_failures(at, failures);
    }

    fn report_failures(&self, at: Timestamp, failures: Vec<Error>) {
        failures
            .into_iter()
            .for_each(|error| self.update(PlaybackUpdate::Event(at, ReceiveEvent::SinkFailed(error))));
    }

    fn update(&self, update: PlaybackUpdate) {
        // The application may have dropped its handle.
        let _ = self.updates.send(update);
    }

    fn request_key_frame(&self) {
        // The session may have ended.
        let _ = self.commands.send(ReceiverCommand::RequestKeyFrame);
        self.waker.wake();
    }

    fn show(&mut self, frame: &ReceivedFrame) -> Result<(), Error> {
        let Some(screen) = &mut self.screen else { return self.display(frame, None, None, None) };
        if let Some(references) = &self.references {
            references.try_iter().for_each(|reference| screen.on_reference(reference));
        }
        match screen.show(frame.timestamp, &frame.data)? {
            Playback::Displayed { picture, size, captured } => {
                self.display(frame, picture.as_ref(), Some(size), captured)?;
            }
            Playback::Undecoded { size, needs_key_frame } => {
                if needs_key_frame {
                    self.request_key_frame();
                }
                self.give(frame, None, Some(size), self.clock.now());
                self.update(PlaybackUpdate::Undecoded(size));
            }
            Playback::Held { .. } if self.gives_all => self.give(frame, None, None, self.clock.now()),
            Playback::Held { needs_key_frame: true } => {
                self.request_key_frame();
            }
            Playback::Held { needs_key_frame: false } => {}
            Playback::Delayed => self.give(frame, None, None, self.clock.now()),
        }
        self.score();
        Ok(())
    }

    fn score(&mut self) {
        let scores = self.screen.as_mut().map(Screen::scores).unwrap_or_default();
        scores.into_iter().for_each(|score| self.update(PlaybackUpdate::Scored(score)));
    }

    fn parts(&self, frame: &ReceivedFrame, at: Timestamp) -> DelayParts {
        let whole = frame.completed.max(frame.first_arrival);
        DelayParts {
            assembly: whole.since(frame.first_arrival),
            playout: self.given.since(whole),
            decoding: at.since(self.given),
        }
    }

    fn display(
        &mut self,
        frame: &ReceivedFrame,
        picture: Option<&Picture>,
        size: Option<PictureSize>,
        captured: Option<Timestamp>,
    ) -> Result<(), Error> {
        let (at, day) = (self.clock.now(), since_1970());
        self.give(frame, picture, size, at);
        let delay = captured.map(|captured| at.since(captured)).or_else(|| self.delay.of(frame, at));
        let stamp = picture.filter(|_| self.reads_stamps).and_then(|picture| Stamp::read(&picture.luma()));
        let glass_to_glass = stamp.map(|stamp| stamp.age(day));
        let displayed = DisplayedFrame { at, delay, glass_to_glass, parts: self.parts(frame, at), size };
        let age = displayed.age();
        self.update(PlaybackUpdate::Displayed(displayed));
        if let Some(duration) = self.stale.as_mut().and_then(|stale| stale.on_picture(at, age)) {
            self.update(PlaybackUpdate::Event(at, ReceiveEvent::Fresh(duration)));
        }
        if let Some(duration) = self.freezes.on_picture(at) {
            self.update(PlaybackUpdate::Event(at, ReceiveEvent::Freeze(duration)));
        }
        Ok(())
    }

    /// Gives a frame to the sinks; without picture where that comes later, or where nothing is decoded.
    fn give(
        &mut self,
        frame: &ReceivedFrame,
        picture: Option<&Picture>,
        size: Option<PictureSize>,
        at: Timestamp,
    ) {
        let displayed = Displayed { at, frame, picture, size };
        let mut failures = Vec::new();
        self.sinks.retain_mut(|sink| sink.on_frame(&displayed).map_err(|error| failures.push(error)).is_ok());
        self.report_failures(at, failures);
        if self.sinks.iter_mut().fold(false, |wanted, sink| sink.take_key_frame_request() | wanted) {
            self.request_key_frame();
        }
    }
}

impl RelativeDelay {
    /// The delay above the least one so far, plus half the round-trip time.
    fn of(&mut self, frame: &ReceivedFrame, at: Timestamp) -> Option<TimeDelta> {
        let transit = frame.captured?.transit_from(at);
        let fastest = self.fastest.map_or(transit, |fastest| fastest.max(transit));
        self.fastest = Some(fastest);
        Some(fastest - transit + self.rtt? / 2)
    }
}
