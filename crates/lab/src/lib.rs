//! The lab: from the text of a scenario to its summary.
//!
//! [`Scenario::parse`](scenario::Scenario::parse) reads it, [`run`] builds the world of the simulator, runs it and
//! gives an [`Outcome`]: the [`Summary`](seaway_report::Summary) and, where asked for, the time [`Series`]. Everything is
//! a function of the scenario and its seed.

mod agent;
#[cfg(test)]
mod books;
mod build;
pub mod compare;
pub mod decisions;
mod emulation;
mod expectation;
mod histogram;
mod interval;
pub mod library;
mod loss_notification;
mod options;
mod payload;
mod pcap;
pub mod plot;
mod record;
mod report;
mod run;
pub mod scenario;
pub mod score;
pub mod scorecard;
mod series;
mod session_config;
mod source;
mod sweep;
mod tag;
mod tcp_config;

pub use build::BuildError;
pub use emulation::{Emulation, PathState};
pub use options::{RecordingOptions, RunOptions};
pub use payload::Encoding;
pub use report::encoder_summary;
pub use run::{Outcome, Recording, run, run_captured};
pub use series::{Reading, Series};
pub use source::{ClipLadder, FrameLadder};
pub use sweep::sweep;
