//! The C library of Seaway: what `include/seaway.h` declares.
//!
//! A [controller](controller) has neither clock nor socket: an application tells it what leaves and what a report says, and asks
//! how much may be sent. With the feature `stream`, a [sender](sender) and a [receiver](receiver) do all of it, with threads of
//! their own.
//!
//! Nothing that a caller passes causes a panic: pointers are compared with null, sizes of structures and texts are checked, and a
//! panic of our own would end at the border as [`SeawayStatus::Panicked`]. What cannot be checked stands in the header: a pointer
//! that is not null points to what it says, and a handle is used by one thread at a time and not after it was freed.

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
