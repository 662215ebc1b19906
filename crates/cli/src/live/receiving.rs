//! The receiving half of a live session.

use super::board::Board;
use super::recording::Recording;
use super::screen::{self, Inlets, ScreenNews};
use crate::failure::Failure;
use seaway_lab::video::Captured;
use seaway_net::webrtc::Broadcast;
use seaway_net::{Bell, Clock, ReceiverMachine, ReceiverMail};
use seaway_session::{Receiver, ReceiverConfig};
use std::sync::mpsc::{self, channel};
use std::thread::JoinHandle;

/// What becomes of what is received.
pub(crate) struct ReceivingSetup {
    pub(crate) config: ReceiverConfig,
    /// Pictures before coding, where the camera is in this process.
    pub(crate) captured: Option<mpsc::Receiver<Captured>>,
    pub(crate) page: Option<(Broadcast, usize)>,
    pub(crate) recording: Option<Recording>,
}

/// The screen's thread and the lines to the receiver.
pub(crate) struct Receiving {
    bell: Bell,
    mail: mpsc::Sender<ReceiverMail>,
    news: mpsc::Receiver<ScreenNews>,
    screen: JoinHandle<Result<(), Failure>>,
}

impl Receiving {
    /// Starts the screen; the machine is for the media thread.
    pub(crate) fn start(
        clock: Clock,
        bell: Bell,
        setup: ReceivingSetup,
    ) -> Result<(ReceiverMachine, Self), Failure> {
        let ReceivingSetup { config, captured, page, recording } = setup;
        let now = clock.now();
        let lock = config.lock;
        let (mail, receiver_mail) = channel();
        let (receiver_news, frames) = channel();
        let (tell, news) = channel();
        let machine =
            ReceiverMachine::new(now, Receiver::new(now, config), lock, receiver_mail, receiver_news);
        let inlets = Inlets { frames, captured, mail: mail.clone(), bell: bell.clone(), page, recording };
        let screen = screen::start(clock, inlets, tell).map_err(|error| Failure::running(&error))?;
        Ok((machine, Self { bell, mail, news, screen }))
    }

    /// Writes a letter to the receiver.
    pub(crate) fn post(&self, letter: ReceiverMail) {
        // The receiver is gone only at the end of the session.
        let _ = self.mail.send(letter);
        self.bell.ring();
    }

    /// Puts the news on the board; false once the screen is gone.
    pub(crate) fn hear(&self, board: &mut Board) -> bool {
        self.news.try_iter().for_each(|news| board.on_screen(news));
        !self.screen.is_finished()
    }

    /// Waits for the screen, which ends when the receiver is gone.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        self.screen.join().map_err(|_| Failure::running(&"the screen's thread broke off"))?
    }
}
