//! Cross traffic: applications over the transports of this crate.

mod transfers;

pub use transfers::{SizeModel, TcpSource, TransferStatistics, Transfers};
