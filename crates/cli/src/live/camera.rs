//! The camera's thread: pictures at their time, coded as the sender allows.

use seaway_lab::video::{Camera, Captured, Order};
use seaway_net::webrtc::{AccessUnit, Broadcast};
use seaway_net::{Bell, Clock, Dial, SenderMail};
use seaway_session::{FrameData, FrameKind, MediaClock};
use seaway_units::{Bitrate, TimeDelta, Timestamp};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::thread::{Builder, JoinHandle};

/// What the camera tells the board, ten times a second.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CameraSnapshot {
    /// What the encoder is asked for.
    pub(crate) target: Bitrate,
    /// The size it codes.
    pub(crate) size: seaway_media::PictureSize,
    /// Bits out over bits asked so far.
    pub(crate) obedience: seaway_media::encoder::ObedienceReport,
}

/// News of the camera's thread.
#[derive(Debug)]
pub(crate) enum CameraNews {
    /// How it is.
    Snapshot(CameraSnapshot),
    /// The input has ended.
    Ended,
    /// It cannot go on.
    Failed(String),
}

/// Where the camera's pictures go.
pub(crate) struct Outlets {
    pub(crate) dial: Arc<Dial>,
    pub(crate) mail: Sender<SenderMail>,
    pub(crate) bell: Bell,
    /// The screen that scores, where it runs in this process.
    pub(crate) captured: Option<Sender<Captured>>,
    /// The page, and which of its tracks.
    pub(crate) page: Option<(Broadcast, usize)>,
    /// The sender's, by which pictures are told apart.
    pub(crate) media_clock: MediaClock,
    /// A key frame this often though nobody asks.
    pub(crate) key_every: Option<TimeDelta>,
}

/// Runs `camera` on a thread until `stop`.
pub(crate) fn start(
    clock: Clock,
    camera: Camera,
    outlets: Outlets,
    news: Sender<CameraNews>,
    stop: Arc<AtomicBool>,
) -> std::io::Result<JoinHandle<()>> {
    Builder::new().name("camera".into()).spawn(move || {
        let outcome =
            Thread { clock, began: clock.now(), key_at: clock.now(), camera, outlets, stop }.run(&news);
        // Nobody listening: the session is over.
        let _ = news.send(outcome.map_or_else(CameraNews::Failed, |()| CameraNews::Ended));
    })
}

struct Thread {
    clock: Clock,
    began: Timestamp,
    /// The last key frame that was made by the clock.
    key_at: Timestamp,
    camera: Camera,
    outlets: Outlets,
    stop: Arc<AtomicBool>,
}

impl Thread {
    fn run(mut self, news: &Sender<CameraNews>) -> Result<(), String> {
        let mut told = self.began;
        while !self.stop.load(Ordering::Relaxed) {
            let due = self.began + self.camera.next_due();
            self.clock.sleep_until(due);
            let captured = self.clock.now();
            if captured.since(due) > TimeDelta::from_secs(1) {
                // The machine stood still: go on from here rather than catch up in a burst.
                self.began += captured.since(due);
            }
            if !self.take(captured)? {
                return Ok(());
            }
            if captured.since(told) >= TimeDelta::from_millis(100) {
                told = captured;
                let _ = news.send(CameraNews::Snapshot(CameraSnapshot {
                    target: self.camera.target(),
                    size: self.camera.size(),
                    obedience: self.camera.obedience(),
                }));
            }
        }
        Ok(())
    }

    /// One picture; false at the end of the input.
    fn take(&mut self, captured: Timestamp) -> Result<bool, String> {
        let Outlets { dial, mail, bell, captured: score, page, media_clock, key_every } = &self.outlets;
        let wish = page.as_ref().is_some_and(|(page, _)| page.take_key_frame_wish());
        let is_due = key_every.is_some_and(|every| captured.since(self.key_at) >= every);
        if is_due {
            self.key_at = captured;
        }
        let key_frame = dial.take_key_frame() || wish || is_due;
        let order = Order { share: dial.share(), skip: dial.should_skip(), key_frame };
        let shot = self.camera.take(captured, order).map_err(|error| error.to_string())?;
        let Some(shot) = shot else { return Ok(false) };
        if let Some(score) = score {
            let timestamp = media_clock.timestamp(captured);
            let _ = score.send(Captured { timestamp, at: captured, picture: shot.picture });
        }
        let letter = match shot.frame {
            None => SenderMail::FrameSkipped,
            Some(frame) => {
                if let (Some((page, track)), FrameData::Coded(data)) = (page, &frame.data) {
                    let at = captured - Timestamp::ZERO;
                    page.publish(
                        *track,
                        &AccessUnit { data: data.clone(), at, is_key: frame.kind == FrameKind::Key },
                    );
                }
                SenderMail::Frame(frame)
            }
        };
        let _ = mail.send(letter);
        bell.ring();
        Ok(true)
    }
}
