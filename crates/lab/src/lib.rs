//! The lab: from the text of a scenario to its summary.
//!
//! [`Scenario::parse`](scenario::Scenario::parse) reads it, [`run`] builds the world of the simulator, runs it and
//! gives an [`Outcome`]: the [`Summary`] and, where asked for, the time [`Series`]. Everything is a function of the
//! scenario and its seed.

mod activity;
mod agent;
#[cfg(test)]
mod books;
mod build;
mod capture;
mod cargo;
pub mod compare;
mod connection;
pub mod decisions;
mod emulation;
mod endpoint;
mod ensemble;
mod expectation;
pub mod library;
pub mod metrics;
mod network;
mod page;
pub mod plot;
mod record;
mod report;
mod run;
mod samples;
pub mod scenario;
pub mod score;
pub mod scorecard;
mod series;
mod source;
pub mod summary;
mod sweep;
pub mod video;
mod window;

pub use build::BuildError;
pub use cargo::Carriage;
pub use emulation::{Emulation, Outlook};
pub use ensemble::Ensemble;
pub use run::{Film, Filming, Options, Outcome, run, run_captured};
pub use series::{Reading, Series};
pub use source::{ClipLadder, FrameLadder};
pub use summary::Summary;
pub use sweep::sweep;
