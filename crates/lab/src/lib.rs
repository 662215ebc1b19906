//! The lab: from the text of a scenario to its summary.

mod build;
pub mod metrics;
pub mod scenario;
