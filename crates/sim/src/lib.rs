//! Discrete-event simulator: nodes, cells and cross traffic in virtual time.
//!
//! ```
//! use seaway_link::{DropTailConfig, Link, LinkConfig, Node, Outbox, Packet, Port, QueueConfig, Wake};
//! use seaway_sim::Engine;
//! use seaway_units::{Bitrate, DataSize, Ecn, TimeDelta, Timestamp};
//!
//! /// Sends a packet every 10 ms until none is left, and counts the packets that arrive.
//! #[derive(Debug, Default)]
//! struct Host {
//!     left: u32,
//!     next: Timestamp,
//!     received: u32,
//! }
//!
//! impl Node<()> for Host {
//!     fn on_packet(&mut self, _: Timestamp, _: Port, _: Packet<()>, _: &mut Outbox<()>) -> Wake {
//!         self.received += 1;
//!         None
//!     }
//!
//!     fn run(&mut self, now: Timestamp, _: Timestamp, out: &mut Outbox<()>) -> Wake {
//!         if self.left > 0 && self.next <= now {
//!             out.send(now, Port(0), Packet::new(DataSize::from_bytes(1000), Ecn::NotEct, ()));
//!             self.left -= 1;
//!             self.next += TimeDelta::from_millis(10);
//!         }
//!         (self.left > 0).then_some(self.next)
//!     }
//! }
//!
//! let config = LinkConfig {
//!     rate: Some(Bitrate::from_mbps(1)),
//!     delay: TimeDelta::from_millis(20),
//!     queue: Some(QueueConfig::DropTail(DropTailConfig::packets(50))),
//!     ..LinkConfig::default()
//! };
//! let mut engine = Engine::new(());
//! let [a, b] = ["a", "b"].map(|name| engine.topology().place(name));
//! engine.add_link(a, b, Link::new(&config.plan()?, 1, "bottleneck")?);
//! let sender = engine.add_agent(Host { left: 10, ..Host::default() });
//! let receiver = engine.add_agent(Host::default());
//! engine.connect((sender, Port(0), a), (receiver, Port(0), b)).expect("a path");
//! engine.run_until(Timestamp::ZERO + TimeDelta::from_secs(1));
//! assert_eq!(engine.agent(receiver).received, 10);
//! # Ok::<(), seaway_link::Error>(())
//! ```
//!
//! [`Engine`] hosts links (crate `link`), cells and agents, and carries opaque packets between them along the shortest
//! paths of a [`Topology`]. It contains no controller and no endpoint: crate `lab` wraps those as agents.

mod cell;
#[cfg(test)]
mod cell_host;
pub mod cellular;
mod engine;
mod event_queue;
mod mac_queue;
mod slab;
pub mod tcp;
mod text;
mod topology;
pub mod traffic;
pub mod wimax;
pub mod wlan;

pub use cell::{Addressed, Base, Cell, CellError};
pub use engine::{AgentId, Engine, Envelope, Observer, RouteId};
pub use topology::{ElementId, Hop, Place, Topology};
