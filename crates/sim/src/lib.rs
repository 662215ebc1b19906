//! Discrete-event simulator: nodes, cells and cross traffic in virtual time.
//!
//! [`Engine`] hosts links (crate `link`), cells and agents, and carries opaque packets between them along
//! shortest paths of a [`Topology`]. It knows no controller and no endpoint: crate `lab` wraps those as agents.

mod bearer;
mod cell;
pub mod cellular;
mod engine;
mod flight;
mod schedule;
pub mod tcp;
mod text;
mod topology;
pub mod traffic;
pub mod wimax;
pub mod wlan;

pub use cell::{Addressed, Base, Cell, CellError};
pub use engine::{AgentId, Engine, Envelope, Observer, RouteId};
pub use topology::{ElementId, Hop, Place, Topology};
