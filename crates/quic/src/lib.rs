//! Rate controllers for QUIC: every controller of [`seaway_control`] behind the congestion traits of quinn (feature `quinn`)
//! and of noq (feature `noq`).
//!
//! ```
//! # #[cfg(feature = "noq")] {
//! use noq_proto::TransportConfig;
//! use seaway_quic::ControllerConfig;
//! use seaway_units::Bitrate;
//! use std::sync::Arc;
//!
//! // The media has up to 4 Mbit/s; it begins with 500 kbit/s.
//! let controller = ControllerConfig::new("seaway")?.limits(
//!     Bitrate::from_kbps(100),
//!     Bitrate::from_kbps(500),
//!     Bitrate::from_mbps(5),
//! );
//! let mut transport = TransportConfig::default();
//! transport.congestion_controller_factory(Arc::new(controller));
//! # }
//! # Ok::<(), seaway_quic::Error>(())
//! ```
//!
//! An application that has more than one rendition reads the allowed rate: `bandwidth_estimate` of the path's statistics in
//! noq, `metrics().pacing_rate` of the connection's congestion state in quinn. A rate that is not used is not measured, so
//! an application that wants to rise fills what its next rendition would use with padding, on a stream of low priority
//! that is reset with each frame (`simulation/source.rs`).
//!
//! # What QUIC does not report, and what is done about it
//!
//! * **When packets arrived.** Acknowledgements carry no arrival times, and transports give their controllers no one-way
//!   delays. The delay signal is the time from departure to acknowledgement: it includes the way back, so a queue there
//!   counts as one here. Packets that are acknowledged together are spread over the time since the acknowledgement before.
//! * **How long the peer held an acknowledgement.** Transports subtract it from their smoothed round-trip time and do not report it. It is
//!   computed from that time before and after. An acknowledgement of a single packet, which is the one that is held, is
//!   therefore reported with the next one.
//! * **Which packets were lost.** noq reports them. quinn reports how many octets were lost among the packets before an instant: the
//!   oldest count. Losses that noq finds to be spurious are taken back; quinn does not look for them.
//! * **Which packets were marked.** Both transports report that there were congestion marks, neither reports how many: one packet
//!   counts as marked. A controller that responds to the share of marks sees too few.
//! * **Time.** Neither transport wakes its controller: a timer of ours runs with the next packet or acknowledgement.
//! * **Pace.** noq paces at our rate. quinn paces 1.25 windows over a smoothed round-trip time, so the window there is the rate times
//!   that time and two packets; and it lets ten packets leave at once. A controller that bounds the flight is left to the
//!   transport's pacer in both.
//! * **Probes.** A transport has no padding for them: none are sent.
//!
//! A path's controller begins anew at the present rate when a transport copies it for a new path to the same peer.
//!
//! # Which controllers
//!
//! `seaway` is tested by what users of QUIC for live media need (`tests/acceptance.rs`): the use of the link, the queue, the time to a
//! higher rendition, jitter and a slow way back. Under quinn the bounds on the queue are wider by what its pacer lets leave at once,
//! and with jitter `seaway` has 0.97 of CUBIC's rate or more under both, not all of it. `docs/results/quic.md` compares it with BBR and
//! CUBIC. Flows beside it on the same link were not measured. The others run. The queue of `nada` grows with its upper limit: give it one near the capacity of the
//! path. A controller that needs the receiver's buffer or several connections is refused.

// Without a transport nothing uses what both have in common.
#![cfg_attr(not(any(feature = "noq", feature = "quinn")), allow(dead_code, unused_imports))]

mod arrivals;
mod bridge;
mod clock;
mod config;
mod error;
#[cfg(feature = "noq")]
mod noq;
mod open;
#[cfg(feature = "quinn")]
mod quinn;

pub use config::ControllerConfig;
pub use error::Error;
#[cfg(feature = "noq")]
pub use noq::NoqController;
#[cfg(feature = "quinn")]
pub use quinn::QuinnController;
