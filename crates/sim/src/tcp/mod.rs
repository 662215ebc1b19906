//! TCP as cross traffic: a sender and a receiver that exchange [`Segment`]s without bytes.
//!
//! Both are sans-I/O state machines. A sender is composed of three parts: a
//! *recovery* decides what is lost and what may leave (Reno and NewReno by counting duplicates, RFC 5681 and 6582;
//! by selective acknowledgement, RFC 6675; by time, RFC 8985), a *window adjustment* decides how far the congestion window moves (Reno,
//! CUBIC of RFC 9438, DCTCP of RFC 8257, Prague of RFC 9331), and the retransmission timeout follows RFC 6298. Every pairing works.
//!
//! Windows are counted in segments, as real numbers: senders here never cut their data anew.

mod congestion;
mod ranges;
mod receiver;
mod recovery;
mod rto;
mod segment;
mod send_state;
mod sender;

pub use congestion::Congestion;
pub use receiver::{EcnEcho, Receiver, ReceiverConfig, ReceiverStatistics};
pub use recovery::LossRecovery;
pub use segment::{HEADERS, SackBlocks, Segment, SegmentKind};
pub use sender::{Sender, SenderConfig, SenderStatistics};
