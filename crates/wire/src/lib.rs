//! Packets as bytes: RTP, RTCP and the feedback formats of every controller.
//!
//! No state and no allocation. Each format is a plain value with `parse`, `buffer_len` and `emit`; what it
//! carries of variable length stays borrowed, so parsing copies nothing but the fixed fields. A format whose
//! records are made one by one (congestion control feedback) is written by a writer into the caller's buffer
//! and read through iterators.
//!
//! Everything that arrives is hostile: `parse` checks the whole packet once and says in [`Error`] what was
//! wrong and where; after it, nothing can fail. All fields are big-endian. `emit` writes the first
//! `buffer_len()` octets of the buffer and returns their number.
//!
//! | module | format |
//! | --- | --- |
//! | [`ip`] | IP, UDP and TCP headers |
//! | [`rtp`] | RTP packet (RFC 3550) |
//! | [`extension`] | RTP header extensions (RFC 8285) and the elements this project sends |
//! | [`rtcp`] | compound packets and every report |
//! | [`h264`] | H.264 payload (RFC 6184) |
//! | [`h265`] | H.265 payload (RFC 7798) |
//! | [`av1`] | AV1 payload (AOM) |
//! | [`aac`] | AAC: its configuration, its headers in a stream (ADTS), its payload (RFC 3640) |
//! | [`opus`] | Opus packets (RFC 6716), each of which is a payload (RFC 7587) |
//! | [`mpv`] | MPEG-1 and MPEG-2 video payload (RFC 2250) |
//! | [`mp2t`] | MPEG transport streams (RFC 2250) |
//! | [`window`] | S002's window transport, which does not use RTP |

pub mod aac;
pub mod av1;
mod bytes;
mod clock;
mod error;
pub mod extension;
pub mod h264;
pub mod h265;
pub mod ip;
mod list;
pub mod mp2t;
pub mod mpv;
mod nal_units;
pub mod opus;
pub mod rtcp;
pub mod rtp;
pub mod window;

pub use clock::{MicrosClock, NtpShort, NtpTime};
pub use error::Error;
pub use list::{List, Record};
