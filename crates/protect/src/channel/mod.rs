//! The two ends of a keyed session between the session's machine and its socket: handshakes, SRTP, and whom to answer.

mod amplification;
mod receiver;
mod sender;

pub use amplification::AmplificationLimit;
pub use receiver::{Received, ReceiverChannel};
pub use sender::SenderChannel;
