//! S002's transport on its own wire: ten octets before each payload, an acknowledgement for each packet, and requests for
//! the few that are worth sending again (S002 section 3; the answers are this project's, S002 gives none).
//!
//! [`WindowSender`] cuts frames into payloads of 512 octets at most and sends them as the congestion window lets;
//! [`WindowClient`] acknowledges, asks for what can still be shown in time, and gives frames out when they are due.
//! Neither ever waits for a packet. Both are driven as everything here is: inputs, then the questions until they have no
//! answer. They speak no RTP; the endpoints that do have the same window and the same test of deadlines.

mod client;
mod sender;

pub use client::{ClientConfig, ClientFrame, ClientStatistics, WindowClient};
pub use sender::{WindowSender, WindowSenderConfig, WindowSenderStatistics};

use crate::unwrap::SequenceUnwrapper;

/// Sequence numbers that may be out at once: half of what 16 bits tell apart.
const MOST_OUT: u64 = 32_767;

/// Counts from one turn above zero, so that a number before the first is no less a number.
type Numbers = SequenceUnwrapper<16>;
