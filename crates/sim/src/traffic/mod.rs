//! Cross traffic: what applications ask of the transports in this crate.

mod transfers;

pub use transfers::{SizeModel, TcpSource, TransferStatistics, Transfers};
