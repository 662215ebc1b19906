//! TCP over real links: recovery of given losses, laws of throughput, sharing.

mod aqm;
mod bbr;
mod laws;
mod on_off;
mod path;
mod recovery;
