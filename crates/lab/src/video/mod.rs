//! Video in the loop: the camera before the sender and the screen behind the receiver.
//!
//! Both are synchronous and know no clock, so the simulator and the live commands run the same ones: the simulator
//! in virtual time, the live commands each on a thread of its own.

mod budget;
mod camera;
mod clip;
mod screen;
mod tape;

pub use budget::PacketCost;
pub use camera::{Camera, Order, Shot};
pub(crate) use clip::SharedClip;
pub use screen::{Captured, PictureScore, Screen, Shown};
pub use tape::{Tape, TapeConfig};
