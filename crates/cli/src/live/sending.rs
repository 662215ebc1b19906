//! The sending half of a live session.

use super::Secrets;
use super::board::Board;
use super::camera::{self, CameraNews, Outlets};
use crate::failure::Failure;
use seaway_control::ControlSpec;
use seaway_control::policy::Direct;
use seaway_lab::video::{Camera, Captured, PacketCost};
use seaway_media::input::PictureSource;
use seaway_net::webrtc::Broadcast;
use seaway_net::{Bell, Clock, SenderMachine, SenderMail, SenderNews};
use seaway_session::{Format, Limits, OVERHEAD_IPV4, OVERHEAD_IPV6, Sender, SenderConfig};
use seaway_units::TimeDelta;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, channel};
use std::thread::JoinHandle;

/// What is sent, how and where to.
pub(crate) struct SendingSetup {
    pub(crate) source: Box<dyn PictureSource>,
    /// From the beginning again at the end of the source.
    pub(crate) repeat: bool,
    /// A key frame this often though nobody asks.
    pub(crate) key_every: Option<TimeDelta>,
    pub(crate) control: ControlSpec,
    pub(crate) limits: Limits,
    pub(crate) to: SocketAddr,
    pub(crate) page: Option<(Broadcast, usize)>,
    /// The screen that scores, where it runs in this process.
    pub(crate) captured: Option<mpsc::Sender<Captured>>,
}

/// The camera's thread and the lines to the sender.
pub(crate) struct Sending {
    bell: Bell,
    mail: mpsc::Sender<SenderMail>,
    news: mpsc::Receiver<SenderNews>,
    camera_news: mpsc::Receiver<CameraNews>,
    camera: JoinHandle<()>,
    stop: Arc<AtomicBool>,
}

impl Sending {
    /// Starts the camera; the machine is for the media thread.
    pub(crate) fn start(
        clock: Clock,
        bell: Bell,
        secrets: Secrets,
        setup: SendingSetup,
    ) -> Result<(SenderMachine, Self), Failure> {
        let SendingSetup { source, repeat, key_every, control, limits, to, page, captured } = setup;
        let now = clock.now();
        let mut config = SenderConfig::new(secrets.session, control, limits, Format::H264);
        config.initial_sequence = secrets.sequence;
        config.timestamp_offset = secrets.timestamp;
        config.overhead = if to.is_ipv4() { OVERHEAD_IPV4 } else { OVERHEAD_IPV6 };
        let cost = PacketCost::new(config.packet, config.overhead);
        let sender =
            Sender::new(now, config, Box::new(Direct::new())).map_err(|error| Failure::input(&error))?;
        let (mail, sender_mail) = channel();
        let (sender_news, news) = channel();
        let (tell, camera_news) = channel();
        let media_clock = sender.media_clock();
        let machine = SenderMachine::new(now, sender, to, sender_mail, sender_news);
        let eyes = Camera::new(source, limits.start, TimeDelta::ZERO, cost, repeat)
            .map_err(|error| Failure::running(&error))?;
        let outlets = Outlets {
            dial: machine.dial(),
            mail: mail.clone(),
            bell: bell.clone(),
            captured,
            page,
            media_clock,
            key_every,
        };
        let stop = Arc::new(AtomicBool::new(false));
        let camera = camera::start(clock, eyes, outlets, tell, stop.clone());
        let camera = camera.map_err(|error| Failure::running(&error))?;
        Ok((machine, Self { bell, mail, news, camera_news, camera, stop }))
    }

    /// Writes a letter to the sender.
    pub(crate) fn post(&self, letter: SenderMail) {
        // The sender is gone only at the end of the session.
        let _ = self.mail.send(letter);
        self.bell.ring();
    }

    /// Puts the news on the board; true once the input has ended.
    pub(crate) fn hear(&self, board: &mut Board) -> Result<bool, Failure> {
        self.news.try_iter().for_each(|news| board.on_sender(news));
        let mut ended = false;
        for news in self.camera_news.try_iter() {
            match news {
                CameraNews::Snapshot(snapshot) => board.camera = Some(snapshot),
                CameraNews::Ended => ended = true,
                CameraNews::Failed(problem) => return Err(Failure::running(&problem)),
            }
        }
        Ok(ended)
    }

    /// Ends the camera.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        self.stop.store(true, Ordering::Relaxed);
        self.camera.join().map_err(|_| Failure::running(&"the camera's thread broke off"))
    }
}
