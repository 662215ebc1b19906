//! How a paper is read where it is silent or contradicts itself.

use serde::Serialize;

/// A choice that a paper leaves to its reader. Rows choose Readings, never numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Interpretation {
    /// What it is about.
    pub subject: &'static str,
    /// What is taken.
    pub taken: &'static str,
    /// What else the paper may mean; empty where it says nothing at all.
    pub literal: &'static str,
    /// Why.
    pub reason: &'static str,
}
