//! What is lost, what is sent again, and what may leave.

mod duplicates;
mod rack;
mod sack;

use super::congestion::{Adjustment, Cause, Delivery, WindowAdjustment};
use super::segment::SackBlocks;
use super::send_state::SendState;
use duplicates::Duplicates;
use rack::Rack;
use sack::Sack;
use seaway_units::Timestamp;

/// How losses are found and repaired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LossRecovery {
    /// By duplicate acknowledgements; recovery ends with the first new one (RFC 5681 section 3.2).
    Reno,
    /// The same, but recovery goes on until everything sent before it is acknowledged (RFC 6582).
    #[default]
    NewReno,
    /// By selective acknowledgements (RFC 6675).
    Sack,
    /// By selective acknowledgements and time (RFC 8985).
    Rack,
}

impl LossRecovery {
    /// Whether the receiver must say what arrived out of order.
    pub const fn needs_sack(self) -> bool {
        matches!(self, Self::Sack | Self::Rack)
    }
}

/// An acknowledgement, after the [`SendState`] has been moved by it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ack<'a> {
    pub(super) now: Timestamp,
    /// Segments newly acknowledged, cumulatively.
    pub(super) newly: u64,
    pub(super) sacked: &'a SackBlocks,
    /// The window has been reduced for a mark on what is on its way: a loss there is the same congestion.
    pub(super) is_reduced: bool,
}

/// What an acknowledgement did to recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RecoveryEvent {
    /// Not in recovery, before or after.
    Open,
    /// In recovery from now on.
    Entered,
    /// In recovery. The timer goes on where `keeps_timer`.
    Recovering { keeps_timer: bool },
    /// Out of recovery from now on.
    Left,
}

/// The built-in recoveries, without an indirect call.
#[derive(Debug, Clone)]
pub(super) enum Recovery {
    Duplicates(Duplicates),
    Sack(Sack),
    Rack(Box<Rack>),
}

impl Recovery {
    pub(super) fn new(kind: LossRecovery) -> Self {
        match kind {
            LossRecovery::Reno => Self::Duplicates(Duplicates::new(false)),
            LossRecovery::NewReno => Self::Duplicates(Duplicates::new(true)),
            LossRecovery::Sack => Self::Sack(Sack::default()),
            LossRecovery::Rack => Self::Rack(Box::default()),
        }
    }

    pub(super) fn is_active(&self) -> bool {
        match self {
            Self::Duplicates(recovery) => recovery.is_active(),
            Self::Sack(recovery) => recovery.is_active(),
            Self::Rack(recovery) => recovery.is_active(),
        }
    }

    /// Takes an acknowledgement.
    pub(super) fn on_ack(
        &mut self,
        ack: Ack<'_>,
        send: &mut SendState,
        window: &mut Adjustment,
    ) -> RecoveryEvent {
        match self {
            Self::Duplicates(recovery) => recovery.on_ack(ack, send, window),
            Self::Sack(recovery) => recovery.on_ack(ack, send, window),
            Self::Rack(recovery) => recovery.on_ack(ack, send, window),
        }
    }

    /// What the last acknowledgement said of all that was delivered, once; only where it is known when each segment left.
    pub(super) fn take_delivery(&mut self) -> Option<Delivery> {
        match self {
            Self::Duplicates(_) | Self::Sack(_) => None,
            Self::Rack(recovery) => recovery.take_delivery(),
        }
    }

    /// The retransmission timer has expired: the window begins anew.
    pub(super) fn on_timeout(&mut self, now: Timestamp, send: &mut SendState) {
        match self {
            Self::Duplicates(recovery) => {
                send.go_back();
                recovery.on_timeout(send);
            }
            Self::Sack(recovery) => {
                send.go_back();
                recovery.on_timeout(send);
            }
            Self::Rack(recovery) => recovery.on_timeout(now, send),
        }
    }

    /// A segment leaves.
    pub(super) fn on_sent(&mut self, now: Timestamp, number: u64) {
        if let Self::Rack(recovery) = self {
            recovery.on_sent(now, number);
        }
    }

    /// Whether the timer begins anew where the lowest segment is sent again (RFC 8985's, as Linux has it).
    pub(super) const fn restarts_timer(&self) -> bool {
        matches!(self, Self::Rack(_))
    }

    /// The segment that may leave now.
    pub(super) fn next_segment(&mut self, send: &mut SendState) -> Option<u64> {
        match self {
            Self::Duplicates(recovery) => recovery.next_segment(send),
            Self::Sack(recovery) => recovery.next_segment(send),
            Self::Rack(recovery) => recovery.next_segment(send),
        }
    }
}

/// Duplicates that make a loss (RFC 5681 section 3.2).
const DUPLICATE_THRESHOLD: u64 = 3;

/// Reduces the window on a loss, unless it has been for a mark. Segments sent on the first duplicates
/// (`limited`, RFC 3042) are left out of the flight.
fn reduce(ack: Ack<'_>, limited: u64, send: &mut SendState, window: &mut Adjustment) {
    if !ack.is_reduced {
        send.ssthresh = window.reduce(send.cwnd, send.load(send.flight() - limited), Cause::Loss);
        send.cwnd = send.ssthresh;
    }
}
