//! S002's window transport: ten octets before each payload, an acknowledgement for each packet, and requests for
//! retransmission (S002 section 3; S002 does not define the format of the answers).
//!
//! [`WindowSender`] cuts frames into payloads of at most 512 octets and sends them as the congestion window permits;
//! [`WindowClient`] acknowledges, requests what can still be displayed in time, and delivers frames when they are due.
//! Neither waits for a missing packet. The format is not RTP.

mod client;
mod sender;

pub use client::{ClientConfig, ClientFrame, ClientStatistics, WindowClient};
pub use sender::{WindowSender, WindowSenderConfig, WindowSenderStatistics};

use crate::unwrap::SequenceUnwrapper;

/// Unacknowledged sequence numbers at most: half of the 16-bit space.
const MOST_OUT: u64 = 32_767;

/// Unwraps the 16-bit sequence number.
type Numbers = SequenceUnwrapper<16>;
