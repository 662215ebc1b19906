//! Fixtures, golden results and the controller battery; for tests alone.

pub mod battery;
pub mod path;
mod shared;
pub mod steady;
pub mod variants;

pub use shared::shared;
