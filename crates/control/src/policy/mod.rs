//! From the controller's target to each encoder's share.

mod direct;

pub use direct::Direct;

use crate::allowance::Target;
use crate::packet::StreamId;
use seaway_units::{Bitrate, DataSize, Timestamp};
use std::fmt;

/// Splits the target among encoders and their repair. Samples on its own timer.
///
/// Driven by the [contract](crate#the-driving-contract).
pub trait TargetPolicy: fmt::Debug + Send + Sync {
    /// The controller's target changed.
    fn on_target(&mut self, now: Timestamp, target: Target);
    /// An encoder says what it could use and what still waits to be sent of it.
    fn on_demand(&mut self, now: Timestamp, stream: StreamId, demand: Demand);
    /// The instant named by [`poll_timeout`](Self::poll_timeout) has come.
    fn handle_timeout(&mut self, now: Timestamp);
    /// When it wants to be woken.
    fn poll_timeout(&self) -> Option<Timestamp>;
    /// What `stream` may use now.
    fn share(&self, stream: StreamId) -> Share;
}

/// What one encoder could use.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Demand {
    /// Its part relative to the others; above zero.
    pub weight: f32,
    /// It cannot go below.
    pub min: Bitrate,
    /// It has no use for more.
    pub max: Bitrate,
    /// What waits in the send queue of it.
    pub backlog: DataSize,
}

/// What one encoder may use, wire headers included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Share {
    /// For the coded frames.
    pub media: Bitrate,
    /// For retransmission and error correction beside them.
    pub repair: Bitrate,
}
