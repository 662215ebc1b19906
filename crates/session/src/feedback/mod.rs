//! What was sent, matched with what the peer reports of it.

pub(crate) mod history;
pub(crate) mod round_trip;
mod sequence_log;
