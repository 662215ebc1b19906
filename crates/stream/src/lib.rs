//! Live video between hosts as a library.
//!
//! A [`Sender`] codes pictures at the rate that its controller finds and sends them; a [`Receiver`] decodes, scores and hands
//! them to sinks. Here both run in one process:
//!
//! ```
//! use seaway_media::input::open;
//! use seaway_stream::{Receiver, Sender};
//! use std::time::Duration;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut receiver = Receiver::builder("127.0.0.1:0".parse()?).start()?;
//! let mut sender = Sender::builder(receiver.local_address())
//!     .control("nada".parse()?)
//!     .pictures(open("test:160x96@25")?, true)
//!     .start()?;
//! for _ in 0..1000 {
//!     if let Some((at, event)) = receiver.next_event(Duration::from_millis(10)) {
//!         println!("{at:?}: {event:?}");
//!     }
//!     if receiver.state().displayed >= 3 {
//!         break;
//!     }
//! }
//! assert!(receiver.state().displayed >= 3);
//! sender.close()?;
//! receiver.close()?;
//! # Ok(())
//! # }
//! ```
//!
//! | part | holds |
//! | --- | --- |
//! | [`source`] | where coded frames come from: pictures through our encoder, or an application's own encoder |
//! | [`sink`] | where received frames go: the screen, recordings, functions of the application |
//! | [`Sender`], [`Receiver`] | a session on UDP with its threads, its state and its events |
//! | [`MediaServer`] | takes the stream of a sender by WHIP: [`Sender::to_server`] |
//! | [`Carrier`] | takes a transport stream for receivers of others: [`Sender::to_transport`] |
//! | [`FrameInput`] | takes the frames of an encoder that the application runs itself |
//! | [`Runtime`] | the media thread, where several senders, receivers and an emulated network share one |
//! | [`BrowserTrack`] | shows what is sent or received in browsers |
//!
//! Sources and sinks have no clock and open no socket, so the lab drives the same ones in virtual time. It leaves out the
//! feature `live`, which holds all the rest.

mod error;
#[cfg(feature = "live")]
mod live;
pub mod sink;
pub mod source;

pub use error::Error;
#[cfg(feature = "live")]
pub use live::*;
