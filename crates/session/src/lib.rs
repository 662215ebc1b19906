//! Sans-I/O endpoints of a media session: a [`Sender`] of frames and a [`Receiver`] of them.
//!
//! Both are pure state machines in the manner of a QUIC library: time arrives as an argument, packets leave by
//! `poll_transmit`, events by `poll_event`, and `poll_timeout` names the next wake-up. Here they exchange two seconds of
//! video over a path of 20 ms that loses every twentieth packet:
//!
//! ```
//! use seaway_control::policy::Direct;
//! use seaway_session::*;
//! use seaway_units::{Bitrate, DataSize, Ecn, TimeDelta, Timestamp};
//!
//! let rate = Bitrate::from_mbps(2);
//! let limits = Limits { min: rate, start: rate, max: rate };
//! let config = SenderConfig::new(1, "fixed".parse()?, limits, Format::Opaque);
//! let mut sender = Sender::new(Timestamp::ZERO, config, Box::new(Direct::new()))?;
//! let mut receiver = Receiver::new(Timestamp::ZERO, ReceiverConfig::new(2));
//! let (mut message, mut path, mut sent, mut shown) = (Message::default(), Vec::new(), 0, 0);
//! for millis in 0..2_000 {
//!     let now = Timestamp::from_nanos(millis * 1_000_000);
//!     if millis % 40 == 0 {
//!         let (data, interval) = (DataSize::from_bytes(6_000), TimeDelta::from_millis(40));
//!         let frame = Frame::new(now, FrameKind::Key, FrameData::Synthetic(data), interval);
//!         sender.handle_frame(now, &frame)?;
//!     }
//!     for (_, to_receiver, mut message) in path.extract_if(.., |p: &mut (Timestamp, _, _)| p.0 <= now) {
//!         match to_receiver {
//!             true => receiver.handle_message(now, now, Ecn::NotEct, &mut message),
//!             false => sender.handle_message(now, now, &message),
//!         }
//!     }
//!     sender.handle_timeout(now);
//!     receiver.handle_timeout(now);
//!     let arrival = now + TimeDelta::from_millis(20);
//!     while sender.poll_transmit(now, now, &mut message).is_some() {
//!         sent += 1;
//!         if sent % 20 > 0 {
//!             path.push((arrival, true, message.clone()));
//!         }
//!     }
//!     while receiver.poll_transmit(now, &mut message).is_some() {
//!         path.push((arrival, false, message.clone()));
//!     }
//!     while let Some(event) = receiver.poll_event() {
//!         shown += usize::from(matches!(event, ReceiverEvent::Frame(_)));
//!     }
//! }
//! assert!(shown > 45, "retransmission repairs what was lost: {shown} of 50");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! ```text
//! frame -> packetise -> send queue -> pacer -> | Message | -> NACK, jitter buffer -> frame -> playout
//!                        ^ allowance           |         |        | arrivals
//!               controller <- feedback adapter <- Message <- reports (at the receiving half's times)
//! ```
//!
//! The same pair runs in the simulator, which carries a [`Message`] as it is, and on sockets, which carry its octets; a
//! test holds the two equal. Beside the pair, [`window`] is S002's transport with a wire format of its own.
//!
//! Input from the network is hostile: it is checked, bounded, counted in [`Refused`] and never causes a panic. Every rate
//! and size counts IP datagrams.

mod circuit_breaker;
mod clock;
mod config;
mod describe;
mod event;
mod fec;
mod feedback;
mod frame;
mod message;
mod packetise;
mod payload;
mod receive;
mod reordering;
mod send;
mod source_id;
mod statistics;
mod unwrap;
pub mod window;

pub use circuit_breaker::{Breach, BreakerAction, CircuitBreaker};
pub use clock::MediaClock;
pub use config::*;
pub use describe::{
    MediaKind, Mode, PlainRtp, PlainSound, PlainVideo, SessionDescription, SessionKey, SessionUrl,
    StreamDescription, Transport, to_sdp,
};
pub use event::{FeedbackKind, KeyFrameCause, Observer, ReceiverEvent, SenderEvent};
pub use feedback::{
    BandwidthEstimator, Departure, DepartureClock, FateCounts, FeedbackAdapter, HeaderFields, Match,
    PacketArrival, PacketResult,
};
pub use frame::{Frame, FrameData, FrameKind, ReceivedFrame};
pub use message::{ControlData, Message, RtpPacket, TRANSPORT_SEQUENCE_ID, Transmit, payload_type};
pub use payload::Payload;
pub use receive::{BufferStatistics, Receiver};
pub use send::{LaneState, LaneStatistics, Pacer, Sender, Wake, WakeReason};
pub use source_id::SourceId;
pub use statistics::*;
