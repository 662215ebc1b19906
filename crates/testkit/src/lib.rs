//! Fixtures, golden results and the controller battery; for tests alone.

pub mod path;
mod shared;

pub use shared::shared;
