//! Where a sender's pictures come from, and the source that gives them as coded frames.

use super::copied::CopiedSource;
use super::cue::Cue;
use super::external::{ExternalSource, Pictures};
use super::read_ahead::ReadAheadPictures;
use super::stamped::Stamped;
use super::supply::SupplyMeter;
use super::turns::Turns;
use crate::Error;
use crate::source::{EncodedSource, EncoderSettings, PacketOverhead, Source};
use seaway_media::encoder::LadderRule;
use seaway_media::input::{CodedInput, PictureSource};
use seaway_net::Clock;
use seaway_units::{Bitrate, TimeDelta};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Where the pictures come from.
pub(super) enum Feed {
    Pictures { input: Box<dyn PictureSource>, repeat: bool },
    Coded { input: CodedInput, repeat: bool },
    External { command: String, pictures: Option<Pictures> },
    Source(Box<dyn Source>),
    Application,
}

/// How the pictures are to be coded.
pub(super) struct Settings {
    /// The rate on the wire at the start.
    pub(super) start: Bitrate,
    pub(super) overhead: PacketOverhead,
    pub(super) sizes: LadderRule,
    /// Whether each picture gets a stamp.
    pub(super) stamp: bool,
    pub(super) latency: TimeDelta,
}

/// What the source has in common with the threads around it.
pub(super) struct Shared {
    pub(super) clock: Clock,
    pub(super) meter: SupplyMeter,
    pub(super) stop: Arc<AtomicBool>,
    pub(super) cue: Cue,
    pub(super) turns: Turns,
}

impl Feed {
    /// Opens the source; `None` where the application has one of its own.
    pub(super) fn open(self, settings: &Settings, shared: &Shared) -> Result<Option<Box<dyn Source>>, Error> {
        let latency = settings.latency;
        let Shared { clock, meter, stop, cue, turns } = shared;
        let (clock, meter, stop, cue) = (*clock, meter.clone(), stop.clone(), cue.clone());
        Ok(match self {
            Self::Application => None,
            Self::Source(source) => Some(source),
            Self::External { command, pictures } => {
                Some(Box::new(ExternalSource::new(clock, meter, stop, command, pictures, latency)))
            }
            Self::Coded { input, repeat } => {
                Some(Box::new(CopiedSource::start(clock, meter, stop, input, repeat, (latency, cue))?))
            }
            Self::Pictures { input, repeat } => {
                let start = settings.overhead.payload_rate(settings.start, input.format().frame_rate);
                let input =
                    ReadAheadPictures::start(clock, meter, stop, input, repeat, (cue, turns.clone()))?;
                let input: Box<dyn PictureSource> =
                    if settings.stamp { Box::new(Stamped::new(Box::new(input))?) } else { Box::new(input) };
                let sizes = settings.sizes;
                let settings = EncoderSettings {
                    start,
                    latency: TimeDelta::ZERO,
                    repeat: false,
                    sizes,
                    threads: threads(),
                };
                Some(Box::new(EncodedSource::new(input, settings)?))
            }
        })
    }
}

/// Threads of the encoder: those that the machine has, but two at most. The other end, or a viewer's page, has work too.
fn threads() -> u16 {
    std::thread::available_parallelism().map_or(1, |threads| threads.get().min(2) as u16)
}
