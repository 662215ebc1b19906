//! A link as queue, server and propagation path, with loss, jitter and capacity; sans-I/O.
//!
//! [`Link`] is one direction: packets wait in a [`Queue`], a server sends them one after the other at the present rate, and
//! they arrive after a delay. The simulator hosts it in virtual time and the emulator in real time, both by [`Node`], whose
//! documentation states the driving contract. [`LinkConfig`] is the text form.
//!
//! ```
//! use seaway_link::{DropTailConfig, Link, LinkConfig, Node, Outbox, Packet, QueueConfig};
//! use seaway_units::{Bitrate, DataSize, Ecn, TimeDelta, Timestamp};
//!
//! let config = LinkConfig {
//!     rate: Some(Bitrate::from_mbps(1)),
//!     delay: TimeDelta::from_millis(20),
//!     queue: Some(QueueConfig::DropTail(DropTailConfig::packets(50))),
//!     ..LinkConfig::default()
//! };
//! let mut link = Link::new(&config.plan()?, 1, "bottleneck")?;
//! let mut out = Outbox::default();
//! let packet = Packet::new(DataSize::from_bytes(1000), Ecn::NotEct, "hello");
//! link.on_packet(Timestamp::ZERO, Link::<&str>::IN, packet, &mut out);
//! // 8 ms of service and 20 ms of propagation.
//! let arrival = Timestamp::ZERO + TimeDelta::from_millis(28);
//! assert_eq!(out.next_departure(), Some(arrival));
//! assert_eq!(out.pop_departure(arrival).unwrap().packet.payload, "hello");
//! # Ok::<(), seaway_link::Error>(())
//! ```

mod bucket;
mod capacity;
mod closed_form;
mod config;
mod error;
mod event_driven;
mod jitter;
mod link;
mod loss;
mod node;
mod plan;
mod propagation;
pub mod queue;
mod random;
mod server;
mod statistics;
mod trace;

pub use bucket::BucketConfig;
pub use closed_form::{Fate, Transit};
pub use config::LinkConfig;
pub use error::Error;
pub use jitter::JitterConfig;
pub use link::Link;
pub use loss::{LossConfig, LossPlace, Per};
pub use node::{Departure, DropCause, Dropped, Node, Outbox, Packet, Port, Reactivity, Wake};
pub use plan::LinkPlan;
pub use queue::{DropTailConfig, Nominal, Queue, QueueConfig, QueueCounts, Transmitter};
pub use random::RandomStream;
pub use statistics::{Count, Drops, Level, LinkStatistics, Meter};
pub use trace::{Trace, TraceConfig, TraceWalk};
