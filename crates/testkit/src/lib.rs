//! Fixtures, golden results and the controller battery; for tests alone.

pub mod battery;
mod controllers;
mod mistakes;
pub mod path;
mod shared;
pub mod steady;
pub mod variants;

pub use controllers::build;
pub use mistakes::assert_refused;
pub use shared::shared;
