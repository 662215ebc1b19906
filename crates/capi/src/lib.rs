//! The C library of Seaway: the functions that `include/seaway.h` declares.
//!
//! A [controller](controller) has neither clock nor socket: the application passes it departures and feedback reports, and reads
//! its allowance and target. With the feature `stream`, a [sender](sender) and a [receiver](receiver) run a whole session on
//! threads of their own.
//!
//! No argument causes a panic: pointers are compared with null, and sizes of structures and texts are checked. An internal panic
//! is returned as [`SeawayStatus::Panicked`]. The header documents what cannot be checked: a pointer that is not null points to an
//! object of its type, and a handle is used by one thread at a time and not after it was freed.

pub mod controller;
mod pointer;
#[cfg(feature = "stream")]
pub mod receiver;
#[cfg(feature = "stream")]
pub mod sender;
mod status;

pub use status::{SeawayStatus, seaway_last_error, seaway_version};

/// Text in a structure, which ends with a zero and is cut to this length.
pub const SEAWAY_TEXT: usize = 64;
