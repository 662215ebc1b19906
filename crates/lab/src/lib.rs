//! The lab: runs scenarios in the simulator.
//!
//! [`Scenario::parse`](scenario::Scenario::parse) reads a scenario. [`run`] builds its network and its flows, runs them
//! and returns an [`Outcome`]: the [`Summary`](seaway_report::Summary) and, on request, the time [`Series`]. The outcome
//! is a function of the scenario and its seed.
//!
//! ```
//! use seaway_lab::scenario::{Scenario, Text};
//! use seaway_lab::{RunOptions, run};
//! use std::ops::ControlFlow;
//!
//! let text = r#"
//!     schema = 1
//!     name = "bottleneck"
//!     duration = "20 s"
//!     [[link]]
//!     name = "bottleneck"
//!     from = "sender"
//!     to = "receiver"
//!     both = true
//!     rate = "2 Mbit/s"
//!     delay = "20 ms"
//!     queue = { kind = "drop-tail", time = "100 ms" }
//!     [[flow]]
//!     name = "video"
//!     kind = "media"
//!     control = "tfrc"
//!     source = { kind = "saturated" }
//!     from = "sender"
//!     to = "receiver"
//! "#;
//! let scenario = Scenario::parse(Text::alone("bottleneck.toml", text), &[])?;
//! let outcome = run(&scenario, RunOptions::default(), &mut |_| ControlFlow::Continue(()))?;
//! let rate = outcome.summary.flows[0].received_bps.unwrap_or(0.0);
//! assert!(rate > 1e6 && rate < 2e6, "{rate}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod agent;
mod build;
pub mod compare;
pub mod decisions;
mod emulation;
mod expectation;
mod interval;
pub mod library;
mod loss_notification;
mod options;
mod payload;
mod pcap;
pub mod plan;
pub mod plot;
pub mod qlog;
mod record;
mod report;
mod run;
mod sampler;
pub mod scenario;
mod scenario_file;
pub mod score;
pub mod scorecard;
mod series;
mod session_config;
mod simulation;
mod source;
mod sweep;
pub mod table;
mod tag;
mod tcp_config;
pub mod traces;

pub use build::BuildError;
pub use emulation::{Emulation, PathState};
pub use options::{RecordingOptions, RunOptions};
pub use payload::Encoding;
pub use report::{buffer_summary, encoder_summary};
pub use run::{Outcome, Recording, ShownFrame, run, run_captured};
pub use scenario_file::ScenarioFile;
pub use series::{Reading, Series};
pub use simulation::Simulation;
pub use source::{ClipLadder, FrameLadder};
pub use sweep::{sweep, sweep_each};
