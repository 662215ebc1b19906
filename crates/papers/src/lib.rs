//! Every table and figure of the five papers that Seaway unites, made again.
//!
//! An [`Experiment`] is a row of [`catalogue`]: what the paper reported, what must come out here, and a function
//! that makes it on a [`Bench`]. A row's constants are [`Reading`]s: where a paper is silent or contradicts itself,
//! the value taken stands once, in its paper's `READINGS`, with the reason.

mod band;
mod bench;
mod catalogue;
mod experiment;
mod figure;
mod finding;
mod reading;
pub mod report;
mod s000;
mod s001;
mod s002;
mod s003;
mod s004;
mod trace;

pub use band::Band;
pub use bench::{Bench, Case, Failure, Progress};
pub use catalogue::{catalogue, find, of_paper, papers};
pub use experiment::{Experiment, Kind, Method, Paper};
pub use figure::{Curve, Figure};
pub use finding::{Check, Finding};
pub use reading::Reading;
