//! Opens the input of a live session.

use super::socket_input;
use crate::failure::{Failure, note};
use crate::interrupt;
use seaway_media::Error;
use seaway_media::audio::AudioSource;
use seaway_media::input::{self, CodedInput, PictureSource};
use seaway_media::shaped::{Encapsulation, Method, ShapedStream};
use seaway_net::Clock;
use seaway_session::Format;
use seaway_units::TimeDelta;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// The interval at which a waiting thread checks for a signal.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// An input that gave nothing for so long causes a message.
const SILENCE: TimeDelta = TimeDelta::from_secs(2);

/// What is sent.
pub(crate) enum Input {
    /// Pictures, which are coded here.
    Pictures(Box<dyn PictureSource>),
    /// Coded pictures, which are sent as they are.
    Coded(CodedInput),
    /// Pictures that another program codes, which may have a camera of its own.
    External(String, Option<Box<dyn PictureSource>>),
    /// A coded MPEG stream, which is shaped live.
    Shaped(Box<ShapedStream>),
}

impl Input {
    /// Opens the pictures of `name`, or with `copy` its coded pictures.
    pub(crate) fn open(name: &str, copy: bool) -> Result<Self, Failure> {
        let owned = name.to_owned();
        if copy {
            while_waiting(name, move || Ok(Self::Coded(coded(&owned)?)))
        } else {
            while_waiting(name, move || Ok(Self::Pictures(pictures(&owned)?)))
        }
    }

    /// Opens the coded MPEG stream `name`, with `repeat` for ever again.
    pub(crate) fn shaped(name: &str, encapsulation: Encapsulation, repeat: bool) -> Result<Self, Failure> {
        let owned = name.to_owned();
        while_waiting(name, move || {
            let stream = ShapedStream::open(&owned, encapsulation, Method::Memoryless, repeat);
            stream.map(|stream| Self::Shaped(Box::new(stream))).map_err(|error| Failure::input(&error))
        })
    }

    /// Pictures that the program `command` codes.
    pub(crate) fn coded_by(self, command: &str) -> Result<Self, Failure> {
        match self {
            Self::Pictures(pictures) => Ok(Self::External(command.to_owned(), Some(pictures))),
            _ => Err(Failure::input(&"an encoder needs pictures")),
        }
    }

    /// The format of its coded frames.
    pub(crate) const fn format(&self) -> Format {
        match self {
            Self::Shaped(_) => Format::Mpv,
            _ => Format::H264,
        }
    }

    /// The sound that comes with it, the first time; that of a file is opened by its name.
    pub(crate) fn take_sound(&mut self) -> Option<Result<Box<dyn AudioSource>, Error>> {
        match self {
            Self::Pictures(pictures) => pictures.take_sound(),
            Self::Coded(coded) => coded.take_sound(),
            Self::Shaped(_) | Self::External(..) => None,
        }
    }

    /// Descriptions of the tracks that are not used.
    pub(crate) fn left_out(&self) -> &[String] {
        match self {
            Self::Pictures(pictures) => pictures.left_out(),
            Self::Coded(coded) => coded.left_out(),
            Self::Shaped(_) => &[],
            Self::External(_, pictures) => pictures.as_ref().map_or(&[], |pictures| pictures.left_out()),
        }
    }
}

fn pictures(name: &str) -> Result<Box<dyn PictureSource>, Failure> {
    let opened = match socket_input::open(name) {
        Some(socket) => input::open_pipe(socket?, name),
        None => input::open(name),
    };
    opened.map_err(|error| Failure::input(&error))
}

fn coded(name: &str) -> Result<CodedInput, Failure> {
    let opened = match socket_input::open(name) {
        Some(socket) => input::open_coded_pipe(socket?, name),
        None => input::open_coded(name),
    };
    opened.map_err(|error| Failure::input(&error))
}

/// Opens an input on a thread of its own: one that gives nothing does not keep the command from ending on a signal.
fn while_waiting<T: Send + 'static>(
    name: &str,
    open: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let (sender, opened) = channel();
    std::thread::spawn(move || sender.send(open()));
    let (clock, mut is_warned) = (Clock::start(), false);
    let begin = clock.now();
    loop {
        match opened.recv_timeout(POLL_INTERVAL) {
            Ok(opened) => return opened,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Failure::running(&format!("{name}: its reader panicked")));
            }
            Err(RecvTimeoutError::Timeout) if interrupt::requested() => {
                return Err(Failure::running(&format!("nothing was sent: {name} gave nothing")));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        if !is_warned && clock.now().since(begin) >= SILENCE {
            is_warned = true;
            note(&format!("{name} has given nothing for {SILENCE:.0}"));
        }
    }
}
