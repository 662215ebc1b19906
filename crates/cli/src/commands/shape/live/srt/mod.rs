//! A live stream by SRT: its address, its socket and its counts.

mod address;
mod link;
mod notes;

pub(super) use address::SrtAddress;
pub(super) use link::{Link, SrtReport};
