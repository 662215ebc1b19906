//! Fixtures, golden results and the controller battery; for tests alone.

mod shared;

pub use shared::shared;
