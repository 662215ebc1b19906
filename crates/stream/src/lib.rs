//! Live video between hosts as a library.
//!
//! | module | holds |
//! | --- | --- |
//! | [`source`] | where coded frames come from: pictures through our encoder, or an application's own encoder |
//! | [`sink`] | where received frames go: a decoder that scores what it displays, recordings |
//!
//! Sources and sinks know no clock and open no socket: a caller in virtual time drives them as well as a thread.

mod error;
#[cfg(feature = "live")]
mod live;
pub mod sink;
pub mod source;

pub use error::Error;
#[cfg(feature = "live")]
pub use live::*;
