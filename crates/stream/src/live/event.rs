//! Events of a live session.

use crate::Error;
use seaway_control::{ControlSpec, SpecError};
use seaway_session::{ReceiverEvent, SenderEvent};
use seaway_units::TimeDelta;

/// An event of a [`Sender`](super::Sender).
#[derive(Debug)]
#[non_exhaustive]
pub enum SendEvent {
    /// An event of the session.
    Session(SenderEvent),
    /// Another controller took over.
    ControlChanged(ControlSpec),
    /// Another controller was asked for and rejected.
    ControlRejected(SpecError),
    /// The source has no more frames.
    SourceEnded,
    /// The source failed and has ended.
    SourceFailed(Error),
}

/// An event of a [`Receiver`](super::Receiver). Frames go to the sinks and are no events.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReceiveEvent {
    /// An event of the session.
    Session(ReceiverEvent),
    /// The picture changed after it had frozen for this long.
    Freeze(TimeDelta),
}
