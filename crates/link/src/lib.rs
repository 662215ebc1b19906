//! A link as queue, server and pipe, with loss, jitter and capacity; sans-I/O.
//!
//! [`Link`] is one direction: packets wait in a [`Queue`], a server sends them one after the other at the rate of the
//! moment, and a pipe delivers them after a delay. The simulator hosts it in virtual time, the emulator in real
//! time, both through [`Node`], whose documentation states the driving contract. [`LinkConfig`] is the text form.
//!
//! ```
//! use seaway_link::{DropTailConfig, Link, LinkConfig, Node, Packet, QueueConfig};
//! use seaway_units::{Bitrate, DataSize, Ecn, TimeDelta, Timestamp};
//!
//! let config = LinkConfig {
//!     rate: Some(Bitrate::from_mbps(1)),
//!     delay: TimeDelta::from_millis(20),
//!     queue: Some(QueueConfig::DropTail(DropTailConfig::packets(50))),
//!     ..LinkConfig::default()
//! };
//! let mut link = Link::new(&config.plan()?, 1, "bottleneck")?;
//! let packet = Packet::new(DataSize::from_bytes(1000), Ecn::NotEct, "hello");
//! link.handle_packet(Timestamp::ZERO, Link::<&str>::IN, packet);
//! while let Some(now) = link.poll_timeout() {
//!     link.handle_timeout(now);
//!     if let Some((_port, packet)) = link.poll_packet(now) {
//!         // 8 ms to send, 20 ms to arrive
//!         assert_eq!((now.as_nanos(), packet.payload), (28_000_000, "hello"));
//!     }
//! }
//! # Ok::<(), seaway_link::Error>(())
//! ```

mod bucket;
mod capacity;
mod config;
mod error;
mod foreseen;
mod jitter;
mod link;
mod loss;
mod node;
mod pipe;
mod plan;
pub mod queue;
mod random;
mod server;
mod statistics;
mod stepwise;
mod trace;

pub use bucket::BucketConfig;
pub use config::LinkConfig;
pub use error::Error;
pub use foreseen::{Fate, Foresight};
pub use jitter::JitterConfig;
pub use link::Link;
pub use loss::{LossConfig, LossPlace, Per};
pub use node::{DropCause, Dropped, Node, Packet, Port, Sends, Step};
pub use plan::LinkPlan;
pub use queue::{DropTailConfig, Nominal, Queue, QueueConfig, QueueCounts, Transmitter};
pub use random::RandomStream;
pub use statistics::{Count, Drops, Level, LinkStatistics, Meter};
pub use trace::{Trace, TraceConfig, TraceWalk};
