//! The receiving end of a media flow.

use crate::agent::clock::DriftingClock;
use crate::agent::decoder_sink::DecoderSink;
use crate::agent::model_sink::ModelSink;
use crate::agent::sound_sink::SoundSink;
use crate::agent::{Endpoint, PORT};
use crate::interval::IntervalCounters;
use crate::loss_notification::LossNotification;
use crate::payload::{Content, Encoding, Payload};
use crate::run::ShownFrame;
use crate::source::SOUND;
use crate::tag::Tag;
use seaway_link::{Outbox, Packet, Wake};
use seaway_quality::histogram::Histogram;
use seaway_session::{Receiver, ReceiverConfig, ReceiverEvent, ReceiverStatistics};
use seaway_units::{DataSize, TimeDelta, Timestamp};

/// The sinks of frames that have a quality.
#[derive(Debug, Default)]
pub(crate) struct Sinks {
    /// Decodes and scores; `None` if frames have no content.
    pub(crate) decoder: Option<Box<DecoderSink>>,
    /// Follows the quality of a ladder.
    pub(crate) model: Option<Box<ModelSink>>,
}

/// The receiving end of a media flow. The session begins with the first packet.
#[derive(Debug)]
pub(crate) struct MediaReceiver {
    tag: Tag,
    encoding: Encoding,
    /// The least that a message of feedback takes as an IP datagram.
    feedback_size: Option<DataSize>,
    config: ReceiverConfig,
    receiver: Option<Receiver>,
    /// What the next message of feedback leaves in.
    scratch: Box<Content>,
    clock: DriftingClock,
    interval: IntervalCounters<ReceiverStatistics>,
    sinks: Sinks,
    /// From capture to display.
    delays: Histogram,
    sound: SoundSink,
    /// Losses of the channel, if the controller uses loss notification.
    notification: Option<LossNotification>,
    /// The frames that were shown; `None`: not kept.
    shown: Option<Vec<ShownFrame>>,
}

impl MediaReceiver {
    pub(crate) fn new(
        tag: Tag,
        encoding: Encoding,
        feedback_size: Option<DataSize>,
        config: ReceiverConfig,
        interval: (Timestamp, Timestamp),
        sinks: Sinks,
        notification: Option<LossNotification>,
    ) -> Self {
        let (receiver, delays) = (None, Histogram::default());
        let interval = IntervalCounters::new(interval);
        let shown = None;
        let scratch = Box::default();
        let clock = DriftingClock::default();
        Self {
            tag,
            encoding,
            feedback_size,
            config,
            receiver,
            scratch,
            clock,
            interval,
            sinks,
            delays,
            sound: SoundSink::default(),
            notification,
            shown,
        }
    }

    /// Keeps when frames are captured and shown, if enabled.
    pub(crate) fn keeping_shown(mut self, is_asked: bool) -> Self {
        self.shown = is_asked.then(Vec::new);
        self
    }

    /// With a clock of its own.
    pub(crate) fn with_clock(mut self, clock: DriftingClock) -> Self {
        self.clock = clock;
        self
    }

    /// What it did up to the beginning and up to the end of the time it is measured.
    pub(crate) fn measured(&self) -> (ReceiverStatistics, ReceiverStatistics) {
        self.interval.at_ends(|| statistics(self.receiver.as_ref()))
    }

    /// From capture to display of each frame.
    pub(crate) fn delays(&self) -> &Histogram {
        &self.delays
    }

    /// The sound beside the pictures.
    pub(crate) const fn sound(&self) -> &SoundSink {
        &self.sound
    }

    /// The frames that were shown; empty where they are not kept.
    pub(crate) fn shown(&self) -> &[ShownFrame] {
        self.shown.as_deref().unwrap_or_default()
    }

    /// The decoder, if frames have content.
    pub(crate) fn decoder(&self) -> Option<&DecoderSink> {
        self.sinks.decoder.as_deref()
    }

    /// The decoder, to take its recording.
    pub(crate) fn decoder_mut(&mut self) -> Option<&mut DecoderSink> {
        self.sinks.decoder.as_deref_mut()
    }

    /// The sink of a ladder.
    pub(crate) fn model(&self) -> Option<&ModelSink> {
        self.sinks.model.as_deref()
    }

    /// The run ends at `now`: pictures that were given up by then are scored, those still on their way are not.
    pub(crate) fn finish_display(&mut self, now: Timestamp) {
        // The last instant that is measured.
        let now = now - TimeDelta::from_nanos(1);
        if let Some(sink) = &mut self.sinks.decoder {
            sink.score_missing(now);
        }
        if let Some(sink) = &mut self.sinks.model {
            sink.score_missing(now);
        }
    }

    /// What the receiver holds; `None` before the first packet.
    pub(crate) fn held(&self) -> Option<DataSize> {
        self.receiver.as_ref().map(|receiver| receiver.statistics().held)
    }

    /// What a bounded buffer had no room for so far; `None` where there is none.
    pub(crate) fn refused(&self) -> Option<DataSize> {
        Some(self.receiver.as_ref()?.statistics().buffer?.refused)
    }

    #[inline]
    fn next_timeout(&self) -> Option<Timestamp> {
        self.receiver.as_ref()?.poll_timeout().map(|at| self.clock.global(at))
    }

    #[inline]
    fn before_input(&mut self, now: Timestamp) {
        let receiver = self.receiver.as_ref();
        self.interval.sample(now, || statistics(receiver));
    }

    #[inline]
    fn after_input(&mut self, now: Timestamp) {
        while let Some(event) = self.receiver.as_mut().and_then(Receiver::poll_event) {
            self.follow(now, event);
        }
        if let Some(sink) = &mut self.sinks.decoder {
            sink.score_missing(now);
        }
        if let Some(sink) = &mut self.sinks.model {
            sink.score_missing(now);
        }
    }

    fn follow(&mut self, now: Timestamp, event: ReceiverEvent) {
        let Some(receiver) = &mut self.receiver else { return };
        let is_measured = self.interval.contains(now);
        match &event {
            ReceiverEvent::Frame(frame) if frame.stream == SOUND => {
                if is_measured {
                    self.sound.on_played(age(now, frame.timestamp, SOUND_CLOCK));
                }
                return;
            }
            ReceiverEvent::FramesLost { stream, .. } if *stream == SOUND => return,
            _ => {}
        }
        let watched = self.sinks.decoder.as_mut().map(|sink| sink.on_event(now, &event));
        if watched.is_some_and(|watched| watched.wants_key_frame) {
            receiver.on_picture_lost(self.clock.local(now));
        }
        if let ReceiverEvent::Frame(frame) = event
            && watched.is_none_or(|watched| watched.displayed)
        {
            let age = age(now, frame.timestamp, VIDEO_CLOCK);
            self.sound.on_picture(age);
            if let Some(sink) = &mut self.sinks.model {
                sink.show(now, now - age);
            }
            if let Some(shown) = &mut self.shown {
                shown.push(ShownFrame { captured: now - age, displayed: now });
            }
            if is_measured {
                self.delays.add(age);
            }
        }
    }
}

fn statistics(receiver: Option<&Receiver>) -> ReceiverStatistics {
    receiver.map(Receiver::statistics).unwrap_or_default()
}

/// Ticks a second of the media clocks.
const VIDEO_CLOCK: u32 = 90_000;
const SOUND_CLOCK: u32 = 48_000;

/// Time since the capture of the frame with this media timestamp: both ends share the simulator's clock, and the
/// timestamp counts its time in ticks of the media clock.
fn age(now: Timestamp, timestamp: u32, clock_rate: u32) -> TimeDelta {
    let present = u128::from(now.as_nanos()) * u128::from(clock_rate) / 1_000_000_000;
    let ticks = (present as u32).wrapping_sub(timestamp) as i32;
    TimeDelta::from_nanos(i64::from(ticks) * 1_000_000_000 / i64::from(clock_rate))
}

impl Endpoint for MediaReceiver {
    #[inline]
    fn handle_packet(&mut self, now: Timestamp, packet: Packet<Payload>) {
        self.before_input(now);
        let ecn = packet.ecn;
        let local = self.clock.local(now);
        let (config, session, notification) = (&self.config, &mut self.receiver, &self.notification);
        packet.payload.take_message(|message| {
            let receiver = session.get_or_insert_with(|| Receiver::new(local, config.clone()));
            if let Some(notification) = notification {
                for lost in notification.take() {
                    receiver.on_channel_loss(&lost);
                }
            }
            receiver.handle_message(local, local, ecn, message);
        });
        self.after_input(now);
    }

    #[inline]
    fn handle_timeout(&mut self, now: Timestamp) {
        if self.next_timeout().is_none_or(|timeout| now < timeout) {
            return;
        }
        self.before_input(now);
        if let Some(receiver) = &mut self.receiver {
            receiver.handle_timeout(self.clock.local(now));
        }
        self.after_input(now);
    }

    #[inline]
    fn transmit(&mut self, now: Timestamp, _until: Timestamp, out: &mut Outbox<Payload>) -> Wake {
        let receiver = self.receiver.as_mut()?;
        let local = self.clock.local(now);
        while let Some(transmit) = receiver.poll_transmit(local, self.scratch.message_mut()) {
            let size = self.feedback_size.map_or(transmit.size, |size| size.max(transmit.size));
            let packet = Packet::new(size, transmit.ecn, self.encoding.encode(&mut self.scratch));
            out.send(now, PORT, Packet { flow: self.tag.number(), ..packet });
        }
        self.next_timeout()
    }
}
