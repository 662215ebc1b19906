//! The screen's thread: frames at their time, decoded and scored.

use super::recording::Recording;
use crate::failure::Failure;
use seaway_lab::video::{Captured, PictureScore, Screen, Shown};
use seaway_net::webrtc::{AccessUnit, Broadcast};
use seaway_net::{Bell, Clock, ReceiverMail, ReceiverNews, ReceiverSnapshot};
use seaway_quality::freeze::FreezeDetector;
use seaway_session::{FrameData, FrameKind, ReceivedFrame, ReceiverEvent};
use seaway_units::{TimeDelta, Timestamp, Transit};
use std::sync::mpsc::{Receiver, Sender};
use std::thread::{Builder, JoinHandle};

/// News of the screen's thread.
#[derive(Debug)]
pub(crate) enum ScreenNews {
    /// A frame is on the screen.
    Displayed {
        /// From its capture: on one clock where the camera is in this process, else above the least delay plus half
        /// the round-trip time.
        delay: Option<TimeDelta>,
    },
    /// A captured picture was scored.
    Scored(PictureScore),
    /// The picture stood still for so long.
    Freeze {
        /// When it moved again.
        at: Timestamp,
        /// For how long it had stood.
        duration: TimeDelta,
    },
    /// Something else happened at the receiver.
    Event(Timestamp, ReceiverEvent),
    /// How the receiver is.
    Snapshot(Box<ReceiverSnapshot>),
}

/// What the screen needs.
pub(crate) struct Inlets {
    pub(crate) frames: Receiver<ReceiverNews>,
    /// Pictures before coding, where the camera is in this process.
    pub(crate) captured: Option<Receiver<Captured>>,
    pub(crate) mail: Sender<ReceiverMail>,
    pub(crate) bell: Bell,
    pub(crate) page: Option<(Broadcast, usize)>,
    pub(crate) recording: Option<Recording>,
}

/// Runs a screen on a thread until the receiver is gone.
pub(crate) fn start(
    clock: Clock,
    inlets: Inlets,
    news: Sender<ScreenNews>,
) -> std::io::Result<JoinHandle<Result<(), Failure>>> {
    Builder::new().name("screen".into()).spawn(move || {
        let screen = Screen::new().map_err(|error| Failure::running(&error))?;
        Thread {
            clock,
            inlets,
            news,
            screen,
            freezes: FreezeDetector::default(),
            epoch: None,
            nearest: None,
            rtt: None,
        }
        .run()
    })
}

struct Thread {
    clock: Clock,
    inlets: Inlets,
    news: Sender<ScreenNews>,
    screen: Screen,
    freezes: FreezeDetector,
    /// The first frame's timestamp and when it was shown: where the page's track begins.
    epoch: Option<(u32, Timestamp)>,
    /// The sender's clock less ours when least delay lay between: the largest so far.
    nearest: Option<Transit>,
    rtt: Option<TimeDelta>,
}

impl Thread {
    fn run(mut self) -> Result<(), Failure> {
        while let Ok(news) = self.inlets.frames.recv() {
            match news {
                ReceiverNews::Event(_, ReceiverEvent::Frame(frame)) => self.show(&frame)?,
                ReceiverNews::Event(at, event) => {
                    if matches!(event, ReceiverEvent::FramesLost { .. } | ReceiverEvent::Frozen { .. }) {
                        self.screen.on_lost();
                    }
                    self.tell(ScreenNews::Event(at, event));
                }
                ReceiverNews::Snapshot(snapshot) => {
                    self.rtt = snapshot.statistics.rtt;
                    self.tell(ScreenNews::Snapshot(snapshot));
                }
            }
        }
        self.inlets.recording.map_or(Ok(()), Recording::finish)
    }

    /// Nobody listening is no error: the session is about to end.
    fn tell(&self, news: ScreenNews) {
        let _ = self.news.send(news);
    }

    fn show(&mut self, frame: &ReceivedFrame) -> Result<(), Failure> {
        if let Some(captured) = &self.inlets.captured {
            captured.try_iter().for_each(|captured| self.screen.on_captured(captured));
        }
        let mut scores = Vec::new();
        let shown = self.screen.show(frame.timestamp, &frame.data, |score| scores.push(score));
        let at = self.clock.now();
        match shown.map_err(|error| Failure::running(&error))? {
            Shown::Picture { picture, captured } => {
                if let Some(recording) = &mut self.inlets.recording {
                    recording.write(frame, &picture)?;
                }
                let own = captured.map(|captured| at.since(captured));
                let delay = own.or_else(|| self.relative_delay(frame, at));
                self.tell(ScreenNews::Displayed { delay });
                if let Some(duration) = self.freezes.on_picture(at) {
                    self.tell(ScreenNews::Freeze { at, duration });
                }
                self.publish(frame, at);
            }
            Shown::Held { wants_key_frame } => {
                if wants_key_frame {
                    let _ = self.inlets.mail.send(ReceiverMail::PictureLost);
                    self.inlets.bell.ring();
                }
            }
        }
        scores.into_iter().for_each(|score| self.tell(ScreenNews::Scored(score)));
        Ok(())
    }

    /// Without a common clock: what the frame took more than the fastest, plus half the round-trip time.
    fn relative_delay(&mut self, frame: &ReceivedFrame, at: Timestamp) -> Option<TimeDelta> {
        let transit = frame.captured?.transit_from(at);
        let nearest = self.nearest.map_or(transit, |nearest| nearest.max(transit));
        self.nearest = Some(nearest);
        Some(nearest - transit + self.rtt? / 2)
    }

    /// A browser gets what was decodable here, so it sees the same freezes.
    fn publish(&mut self, frame: &ReceivedFrame, at: Timestamp) {
        let (Some((page, track)), FrameData::Coded(data)) = (&self.inlets.page, &frame.data) else { return };
        let (first, began) = *self.epoch.get_or_insert((frame.timestamp, at));
        let ticks = i64::from(frame.timestamp.wrapping_sub(first) as i32);
        let at = (began - Timestamp::ZERO) + TimeDelta::from_nanos(ticks * 100_000 / 9);
        page.publish(*track, &AccessUnit { data: data.clone(), at, is_key: frame.kind == FrameKind::Key });
    }
}
