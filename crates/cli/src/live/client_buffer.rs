//! The client's buffer of S000: options, and controllers that need one.

use super::session::Session;
use crate::failure::Failure;
use seaway_control::{ControlSpec, Registry};
use seaway_session::ByteBufferConfig;
use seaway_stream::{Receiver, Sender};
use seaway_units::{Bitrate, DataSize, TimeDelta, Timestamp};

/// The options of `recv` and `demo`.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct BufferOptions {
    /// Model a client buffer of this size, such as '16384 B', and report its level to the sender (S000)
    #[arg(long, value_name = "SIZE", requires = "consume")]
    buffer: Option<DataSize>,
    /// The player drains the buffer at this rate, such as '8 kbit/s', once it was filled to a fifth
    #[arg(long, value_name = "RATE", requires = "buffer")]
    consume: Option<Bitrate>,
}

/// The part of the buffer that is full before the player begins: S000's lower threshold.
const START_LEVEL: f64 = 0.2;

impl BufferOptions {
    /// The buffer of the options.
    ///
    /// # Errors
    /// It holds nothing, or nothing is taken from it.
    pub(crate) fn config(self) -> Result<Option<ByteBufferConfig>, Failure> {
        let Some((capacity, consume)) = self.buffer.zip(self.consume) else { return Ok(None) };
        if capacity.is_zero() || consume == Bitrate::ZERO {
            return Err(Failure::input(&"--buffer, --consume: expected a size and a rate above zero"));
        }
        Ok(Some(ByteBufferConfig { capacity, consume, then: None, start_level: START_LEVEL, socket: false }))
    }
}

/// The default buffer: a second and a half of 1 Mbit/s.
pub(crate) const USUAL: ByteBufferConfig = ByteBufferConfig {
    capacity: DataSize::from_bytes(192_000),
    consume: Bitrate::from_mbps(1),
    then: None,
    start_level: START_LEVEL,
    socket: false,
};

/// Whether a controller answers the level of the client's buffer.
pub(crate) fn is_needed_by(control: &ControlSpec) -> bool {
    Registry::builtin().requirements(control).is_ok_and(|requirements| requirements.buffer)
}

/// Finds a receiver that reports, but no level.
#[derive(Debug)]
pub(crate) struct LevelWatch {
    /// Since when reports come.
    since: Option<Timestamp>,
}

impl LevelWatch {
    /// The first reports may be lost.
    const GRACE: TimeDelta = TimeDelta::from_secs(3);

    pub(crate) const fn new() -> Self {
        Self { since: None }
    }

    /// # Errors
    /// The controller answers the client's buffer, and the client reports none.
    pub(crate) fn check(&mut self, now: Timestamp, session: &Session) -> Result<(), Failure> {
        let Some(state) = session.sender.as_ref().map(Sender::state) else { return Ok(()) };
        let Some(snapshot) = state.session.as_ref() else { return Ok(()) };
        let has_level = snapshot.gauges.iter().any(|gauge| gauge.name == "buffer");
        if has_level || snapshot.statistics.feedback.packets == 0 || !is_needed_by(&state.control) {
            self.since = None;
            return Ok(());
        }
        if now.since(*self.since.get_or_insert(now)) < Self::GRACE {
            return Ok(());
        }
        Err(Failure::input(&format!(
            "{} answers the level of the client's buffer, and the receiver reports none: start recv with --buffer and --consume",
            state.control
        )))
    }
}

/// What the page shows of the buffer: its level, and the controller's thresholds where they are known.
pub(super) fn levels(sender: Option<&Sender>, receiver: Option<&Receiver>) -> [Option<u64>; 3] {
    let snapshot = sender.and_then(|sender| sender.state().session.as_ref());
    let gauge = |name: &str| {
        let found = snapshot.and_then(|snapshot| snapshot.gauges.iter().find(|gauge| gauge.name == name));
        found.map(|gauge| gauge.value as u64)
    };
    let received = receiver.and_then(|receiver| receiver.state().session.as_ref());
    let held = received.filter(|received| received.statistics.buffer.is_some());
    let level = held.map(|received| received.statistics.held.as_bytes()).or_else(|| gauge("buffer"));
    [level, gauge("buffer_low"), gauge("buffer_high")]
}
