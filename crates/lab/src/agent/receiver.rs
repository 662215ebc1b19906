//! The receiving end of a media flow.

use crate::agent::PORT;
use crate::agent::modelled::ModelledViewer;
use crate::agent::viewer::Viewer;
use crate::cargo::{Cargo, Carriage, Load};
use crate::record::{Notices, Tag};
use crate::samples::Samples;
use crate::window::Window;
use seaway_link::{Node, Packet, Port};
use seaway_session::{Receiver, ReceiverConfig, ReceiverEvent, ReceiverStatistics};
use seaway_units::{DataSize, TimeDelta, Timestamp};

/// Who watches, where frames have a quality.
#[derive(Debug, Default)]
pub(crate) struct Audience {
    /// Decodes and scores; `None` where frames have no content.
    pub(crate) viewer: Option<Box<Viewer>>,
    /// Follows the quality of a ladder.
    pub(crate) modelled: Option<Box<ModelledViewer>>,
}

/// The receiving end of a media flow. The session begins with the first packet.
#[derive(Debug)]
pub(crate) struct MediaReceiver {
    tag: Tag,
    carriage: Carriage,
    /// The least that a message of feedback takes as an IP datagram.
    feedback_size: Option<DataSize>,
    config: ReceiverConfig,
    receiver: Option<Receiver>,
    /// What the next message of feedback leaves in.
    blank: Box<Load>,
    window: Window<ReceiverStatistics>,
    audience: Audience,
    /// From capture to display.
    delays: Samples,
    /// What the channel lost, where the controller is told.
    notices: Option<Notices>,
    /// When the frames that were shown were captured; `None`: not kept.
    shown: Option<Vec<Timestamp>>,
}

impl MediaReceiver {
    pub(crate) fn new(
        tag: Tag,
        carriage: Carriage,
        feedback_size: Option<DataSize>,
        config: ReceiverConfig,
        window: (Timestamp, Timestamp),
        audience: Audience,
        notices: Option<Notices>,
    ) -> Self {
        let (receiver, delays) = (None, Samples::default());
        let window = Window::new(window);
        let shown = None;
        let blank = Box::default();
        Self {
            tag,
            carriage,
            feedback_size,
            config,
            receiver,
            blank,
            window,
            audience,
            delays,
            notices,
            shown,
        }
    }

    /// Keeps when the frames that are shown were captured, where that is asked.
    pub(crate) fn keeping_shown(mut self, is_asked: bool) -> Self {
        self.shown = is_asked.then(Vec::new);
        self
    }

    /// What it did up to the beginning and up to the end of the time it is measured.
    pub(crate) fn measured(&self) -> (ReceiverStatistics, ReceiverStatistics) {
        self.window.ends(|| statistics(self.receiver.as_ref()))
    }

    /// From capture to display of each frame.
    pub(crate) fn delays(&self) -> &Samples {
        &self.delays
    }

    /// When the frames that were shown were captured; empty where that is not kept.
    pub(crate) fn shown(&self) -> &[Timestamp] {
        self.shown.as_deref().unwrap_or_default()
    }

    /// Who watches, where frames have content.
    pub(crate) fn viewer(&self) -> Option<&Viewer> {
        self.audience.viewer.as_deref()
    }

    /// Who watches, to take the film from.
    pub(crate) fn viewer_mut(&mut self) -> Option<&mut Viewer> {
        self.audience.viewer.as_deref_mut()
    }

    /// Who follows the quality of a ladder.
    pub(crate) fn modelled(&self) -> Option<&ModelledViewer> {
        self.audience.modelled.as_deref()
    }

    /// The run ends at `now`: pictures that were given up by then are scored, those still on their way are not.
    pub(crate) fn end_viewing(&mut self, now: Timestamp) {
        // The last instant that is measured.
        let now = now - TimeDelta::from_nanos(1);
        if let Some(viewer) = &mut self.audience.viewer {
            viewer.score_missing(now);
        }
        if let Some(viewer) = &mut self.audience.modelled {
            viewer.score_missing(now);
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
    fn before_input(&mut self, now: Timestamp) {
        let receiver = self.receiver.as_ref();
        self.window.look(now, || statistics(receiver));
    }

    #[inline]
    fn after_input(&mut self, now: Timestamp) {
        while let Some(event) = self.receiver.as_mut().and_then(Receiver::poll_event) {
            self.follow(now, event);
        }
        if let Some(viewer) = &mut self.audience.viewer {
            viewer.score_missing(now);
        }
        if let Some(viewer) = &mut self.audience.modelled {
            viewer.score_missing(now);
        }
    }

    fn follow(&mut self, now: Timestamp, event: ReceiverEvent) {
        let Some(receiver) = &mut self.receiver else { return };
        let is_measured = self.window.is_open(now);
        let watched = self.audience.viewer.as_mut().map(|viewer| viewer.on_event(now, &event));
        if watched.is_some_and(|watched| watched.wants_key_frame) {
            receiver.on_picture_lost(now);
        }
        if let ReceiverEvent::Frame(frame) = event
            && watched.is_none_or(|watched| watched.displayed)
        {
            let age = age(now, frame.timestamp);
            if let Some(viewer) = &mut self.audience.modelled {
                viewer.show(now, now - age);
            }
            if let Some(shown) = &mut self.shown {
                shown.push(now - age);
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

/// Time since the capture of the frame with this media timestamp: both ends share the simulator's clock, and the
/// timestamp counts 1/90 000 s of it.
fn age(now: Timestamp, timestamp: u32) -> TimeDelta {
    let present = now.as_nanos() / 100_000 * 9 + now.as_nanos() % 100_000 * 9 / 100_000;
    let ticks = (present as u32).wrapping_sub(timestamp) as i32;
    TimeDelta::from_nanos(i64::from(ticks) * 1_000_000_000 / 90_000)
}

impl Node<Cargo> for MediaReceiver {
    #[inline]
    fn handle_packet(&mut self, now: Timestamp, _port: Port, packet: Packet<Cargo>) {
        self.before_input(now);
        let ecn = packet.ecn;
        let (config, session, notices) = (&self.config, &mut self.receiver, &self.notices);
        packet.payload.unload(|message| {
            let receiver = session.get_or_insert_with(|| Receiver::new(now, config.clone()));
            if let Some(notices) = notices {
                for lost in notices.take() {
                    receiver.on_channel_loss(&lost);
                }
            }
            receiver.handle_message_in(now, now, ecn, message);
        });
        self.after_input(now);
    }

    #[inline]
    fn handle_timeout(&mut self, now: Timestamp) {
        self.before_input(now);
        if let Some(receiver) = &mut self.receiver {
            receiver.handle_timeout(now);
        }
        self.after_input(now);
    }

    #[inline]
    fn poll_packet(&mut self, now: Timestamp) -> Option<(Port, Packet<Cargo>)> {
        let transmit = self.receiver.as_mut()?.poll_transmit(now)?;
        let size = self.feedback_size.map_or(transmit.size, |size| size.max(transmit.size));
        *self.blank.message_mut() = transmit.message;
        let cargo = self.carriage.load(&mut self.blank);
        let packet = Packet::new(size, transmit.ecn, cargo);
        Some((PORT, Packet { flow: self.tag.number(), ..packet }))
    }

    #[inline]
    fn is_drained(&self, now: Timestamp) -> bool {
        self.receiver.as_ref().is_none_or(|receiver| receiver.is_drained(now))
    }

    #[inline]
    fn poll_timeout(&self) -> Option<Timestamp> {
        self.receiver.as_ref()?.poll_timeout()
    }
}
