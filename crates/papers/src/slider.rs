//! What a reader may change in a figure.

use crate::figure::Figure;
use crate::runner::{Failure, Runner};

/// What comes out at a value of the reader's own. A figure with the title of one of the row's is drawn over that one;
/// another stands beside it.
pub type Move = fn(&mut Runner<'_>, f64) -> Result<Vec<Figure>, Failure>;

/// A quantity that the paper varies in a row, over a range in which the row's runs can be made.
#[derive(Debug, Clone, Copy)]
pub struct Slider {
    /// What it is.
    pub what: &'static str,
    /// Its unit; empty for a pure number.
    pub unit: &'static str,
    /// The least and the largest value.
    pub range: (f64, f64),
    /// From one value to the next.
    pub step: f64,
    /// The value at first, which is none of the paper's where the row has several.
    pub start: f64,
    /// Runs it.
    pub at: Move,
}
