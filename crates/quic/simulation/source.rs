//! What is sent: a file, or live media with one stream for each group of pictures.

use super::stacks::Transport;
use seaway_units::{Bitrate, TimeDelta, Timestamp};

/// Time between frames.
const FRAME: TimeDelta = TimeDelta::from_nanos(1_000_000_000 / 30);
/// Frames of a group: one second.
const GROUP: u64 = 30;
/// A rendition is taken where the allowed rate exceeds its own by so much: headers of QUIC and IP, and frames that vary.
const MARGIN: f64 = 1.1;
/// Padding seeks this much more than a rendition needs.
const ENOUGH: f64 = 1.05;

/// What the client sends.
#[derive(Debug)]
pub enum Source {
    /// As much as fits.
    File { stream: Option<u64> },
    /// Frames at the rate of one of these renditions, the lowest first: the highest that the controller allows.
    Live(Live),
}

/// A live source.
#[derive(Debug)]
pub struct Live {
    renditions: Vec<Bitrate>,
    rendition: usize,
    next: Timestamp,
    frames: u64,
    stream: Option<u64>,
    /// Of the present frame, what the transport has not taken yet.
    pending: usize,
    /// The stream with the padding of the present frame.
    padding: Option<u64>,
}

impl Source {
    pub const fn file() -> Self {
        Self::File { stream: None }
    }

    pub const fn live(renditions: Vec<Bitrate>) -> Self {
        Self::Live(Live {
            renditions,
            rendition: 0,
            next: Timestamp::ZERO,
            frames: 0,
            stream: None,
            pending: 0,
            padding: None,
        })
    }

    /// The rate of its media; zero of a file, which has none.
    pub fn rate(&self) -> Bitrate {
        match self {
            Self::File { .. } => Bitrate::ZERO,
            Self::Live(live) => live.rate(),
        }
    }

    /// When the next frame comes.
    pub fn next(&self) -> Option<Timestamp> {
        match self {
            Self::File { .. } => None,
            Self::Live(live) => Some(live.next),
        }
    }

    /// Gives the transport what there is.
    pub fn run(&mut self, now: Timestamp, transport: &mut dyn Transport) {
        match self {
            Self::File { stream } => {
                let stream = *stream.get_or_insert_with(|| transport.open());
                while transport.write(stream, 1 << 16) == 1 << 16 {}
            }
            Self::Live(live) => live.run(now, transport),
        }
    }
}

impl Live {
    fn run(&mut self, now: Timestamp, transport: &mut dyn Transport) {
        self.write(transport);
        while self.next <= now {
            self.next = self.next.max(now - FRAME) + FRAME;
            self.choose(transport);
            if self.frames.is_multiple_of(GROUP) {
                // A group that is not sent when the next begins is of no use any more.
                if let Some(old) = self.stream.replace(transport.open()) {
                    transport.end(old, self.pending > 0);
                }
            }
            self.frames += 1;
            self.pending = self.rate().size_in(FRAME).as_bytes() as usize;
            self.write(transport);
            self.pad(transport);
        }
    }

    /// A rate that is not used is not measured either: padding makes up for what the next rendition would use, behind the
    /// media, and what did not leave by the next frame never does.
    fn pad(&mut self, transport: &mut dyn Transport) {
        if let Some(old) = self.padding.take() {
            transport.end(old, true);
        }
        let Some(next) = self.renditions.get(self.rendition + 1) else { return };
        let missing = next.as_bps_f64() * MARGIN * ENOUGH - self.rate().as_bps_f64();
        let padding = transport.open();
        transport.yield_to_others(padding);
        transport.write(padding, Bitrate::from_bps_f64(missing).size_in(FRAME).as_bytes() as usize);
        self.padding = Some(padding);
    }

    fn rate(&self) -> Bitrate {
        self.renditions[self.rendition]
    }

    fn write(&mut self, transport: &mut dyn Transport) {
        if let Some(stream) = self.stream.filter(|_| self.pending > 0) {
            self.pending -= transport.write(stream, self.pending);
        }
    }

    fn choose(&mut self, transport: &dyn Transport) {
        let Some(allowed) = transport.allowed_rate() else { return };
        let fits = |rate: &&Bitrate| rate.as_bps_f64() * MARGIN <= allowed.as_bps_f64();
        self.rendition = self.renditions.iter().take_while(fits).count().saturating_sub(1);
    }
}
