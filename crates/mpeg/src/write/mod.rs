//! Writes pictures: splices bits of the input where codes are only truncated, and rewrites macroblocks where more
//! changes.

pub(crate) mod form;
pub(crate) mod rewrite;
pub(crate) mod splice;
pub(crate) mod unit;
