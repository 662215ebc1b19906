//! Every table and figure of the five papers that Seaway unites, made again.
//!
//! An [`Experiment`] is a row of [`catalogue`]: what the paper reported, what must come out here, and a function
//! that makes it with a [`Runner`]. A row's constants are [`Interpretation`]s: where a paper is silent or contradicts
//! itself, the value taken stands once, in its paper's `READINGS`, with the reason.

mod catalogue;
mod experiment;
pub mod figure;
mod interpretation;
pub mod report;
mod results;
mod runner;
mod s000;
mod s001;
mod s002;
mod s003;
mod s004;
mod slider;
mod tolerance;
mod trace;

pub use catalogue::{catalogue, find, of_paper, papers, select};
pub use experiment::{Experiment, Kind, Make, Method, Opposite, Paper};
pub use figure::Figure;
pub use interpretation::{Interpretation, Key, Varied};
pub use results::{Check, Results};
pub use runner::{Case, Failure, Progress, Runner, Stress};
pub use slider::{Move, Slider};
pub use tolerance::Tolerance;
