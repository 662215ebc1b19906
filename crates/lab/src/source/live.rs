//! A camera in virtual time: pictures at their instants, their frames a constant latency later.

use crate::video::{Camera, Captured, Order};
use seaway_control::StreamId;
use seaway_media::Error;
use seaway_media::encoder::ObedienceReport;
use seaway_session::{Frame, Sender};
use seaway_units::{TimeDelta, Timestamp};
use std::collections::VecDeque;
use std::sync::mpsc;

/// Takes pictures, has them coded as the session allows, and hands their frames over when the encoder would have.
#[derive(Debug)]
pub(crate) struct LiveSource {
    camera: Camera,
    /// When the first picture would have been taken, had there been no pause. `None`: off.
    origin: Option<Timestamp>,
    /// Frames that are in the encoder, and when they come out of it.
    coming: VecDeque<(Timestamp, Frame)>,
    wants_key_frame: bool,
    /// From here on obedience is measured.
    measured_from: Option<Timestamp>,
    /// The screen wants to know what it should have shown.
    captured: mpsc::Sender<Captured>,
    failure: Option<Error>,
}

impl LiveSource {
    pub(crate) fn new(camera: Camera, captured: mpsc::Sender<Captured>, measured_from: Timestamp) -> Self {
        Self {
            camera,
            origin: None,
            coming: VecDeque::new(),
            wants_key_frame: false,
            measured_from: Some(measured_from),
            captured,
            failure: None,
        }
    }

    /// Pictures are taken from `now` on, or no more.
    pub(crate) fn switch(&mut self, now: Timestamp, on: bool) {
        self.origin = on.then(|| now - self.camera.next_due());
    }

    pub(crate) fn on_key_frame_wanted(&mut self) {
        self.wants_key_frame = true;
    }

    /// When the next picture is taken or the next frame is ready.
    pub(crate) fn due(&self) -> Option<Timestamp> {
        let ready = self.coming.front().map(|&(ready, _)| ready);
        [self.next_picture(), ready].into_iter().flatten().min()
    }

    /// How well the encoder obeyed while the flow was measured.
    pub(crate) fn obedience(&self) -> ObedienceReport {
        self.camera.obedience()
    }

    /// Why there are no more pictures, where the clip or the encoder failed.
    pub(crate) fn failure(&self) -> Option<&Error> {
        self.failure.as_ref()
    }

    /// Does what is due.
    pub(crate) fn advance(&mut self, now: Timestamp, sender: &mut Sender) {
        while let Some(due) = self.due().filter(|&due| due <= now) {
            if let Some((_, frame)) = self.coming.pop_front_if(|&mut (ready, _)| ready <= due) {
                // The stream is configured, and the encoder writes its format.
                let _ = sender.handle_frame(now, &frame);
            } else if let Err(error) = self.take(due, sender) {
                self.failure = Some(error);
                self.origin = None;
            }
        }
    }

    fn next_picture(&self) -> Option<Timestamp> {
        self.origin.map(|origin| origin + self.camera.next_due())
    }

    fn take(&mut self, at: Timestamp, sender: &mut Sender) -> Result<(), Error> {
        if self.measured_from.take_if(|from| *from <= at).is_some() {
            self.camera.restart_obedience();
        }
        let order = Order {
            share: sender.share(StreamId(0)).media,
            skip: sender.should_skip(),
            key_frame: std::mem::take(&mut self.wants_key_frame),
        };
        let Some(shot) = self.camera.take(at, order)? else {
            self.origin = None;
            return Ok(());
        };
        let timestamp = sender.media_clock().timestamp(at);
        // Nobody listens where the flow has no screen any more.
        let _ = self.captured.send(Captured { timestamp, at, picture: shot.picture });
        match shot.frame {
            Some(frame) => self.coming.push_back((at + self.latency(), frame)),
            None => sender.on_frame_skipped(at),
        }
        Ok(())
    }

    fn latency(&self) -> TimeDelta {
        self.camera.latency()
    }
}
