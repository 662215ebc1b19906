//! Sans-I/O endpoints of a media session: a [`Sender`] of frames and a [`Receiver`] of them.
//!
//! Both are pure state machines in the manner of a QUIC library: time arrives as an argument, packets leave by
//! `poll_transmit`, news by `poll_event`, and `poll_timeout` names the next wake-up. The same pair runs in the
//! simulator, which carries a [`Message`] as it is, and on sockets, which carry its octets; a test holds the two
//! equal.
//!
//! ```text
//! frame -> cut -> send queue -> pacer -> | Message | -> reorder, repair -> frame -> playout
//!                    ^ allowance         |         |        | arrivals
//!               controller <- matching <-| Message |<- reports (pace: the receiving half)
//! ```
//!
//! Beside the pair, [`window`] is S002's transport on a wire of its own.
//!
//! Everything from the network is hostile: it is checked, bounded and counted in [`Refused`], and never a panic.
//! Every rate and size counts IP datagrams.

mod clock;
mod config;
mod describe;
mod event;
mod feedback;
mod frame;
mod message;
mod packetise;
mod payload;
mod receive;
mod send;
mod source_id;
mod statistics;
mod unwrap;
pub mod window;

pub use clock::MediaClock;
pub use config::*;
pub use describe::SessionDescription;
pub use event::{KeyFrameCause, Observer, ReceiverEvent, SenderEvent};
pub use frame::{Frame, FrameData, FrameKind, ReceivedFrame};
pub use message::{ControlData, Message, RtpPacket, Transmit, payload_type};
pub use payload::Payload;
pub use receive::{BufferStatistics, Receiver};
pub use send::Sender;
pub use source_id::SourceId;
pub use statistics::*;
