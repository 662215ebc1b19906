//! Writing pictures: bits of the input spliced where codes are only dropped, macroblocks written anew where
//! more changes.

pub(crate) mod rewrite;
pub(crate) mod splice;
pub(crate) mod unit;
