//! Containers: elementary, program, system and transport streams and Matroska in, the same out with a smaller video.
//!
//! [`Remuxer`] takes a stream in pieces, hands out the coded pictures of its video, takes what shall stand in
//! their place, and gives the stream back with everything else untouched. It does no I/O and knows no clock.
//!
//! ```
//! use seaway_mpeg::container::{Config, Remuxer, Replacement};
//!
//! # fn main() -> Result<(), seaway_mpeg::container::Error> {
//! # let input: &[u8] = b"\x00\x00\x01\xb3\x16\x01\x20\x13\xff\xff\xe0\x18\x00\x00\x01\x00\x00\x08\xff\xf8";
//! let mut remuxer = Remuxer::new(Config::default());
//! let mut output = Vec::new();
//! for chunk in input.chunks(4096) {
//!     remuxer.push(chunk)?;
//!     while let Some(picture) = remuxer.poll_picture() {
//!         assert!(picture.unit.data.len() > 8);
//!         remuxer.replace(Replacement::Kept)?; // or fewer bytes
//!     }
//!     remuxer.drain_output(&mut output);
//! }
//! remuxer.finish()?;
//! while remuxer.poll_picture().is_some() {
//!     remuxer.replace(Replacement::Kept)?;
//! }
//! remuxer.drain_output(&mut output);
//! assert_eq!(output, input);
//! # Ok(())
//! # }
//! ```

mod config;
mod elementary;
mod error;
mod foreign;
mod format;
mod matroska;
mod pes;
mod program;
mod remuxer;
mod report;
mod track;
mod transport;

pub use config::{Config, Multiplex};
pub use error::Error;
pub use format::{ContainerReport, Format, Patch, SNIFF_LIMIT, sniff};
pub use matroska::MatroskaReport;
pub use program::ProgramReport;
pub use remuxer::Remuxer;
pub use report::Report;
pub use track::{CodedPicture, Replacement};
pub use transport::{
    AAC, AccessUnitTimes, Companion, Demultiplexer, ElementaryPacket, Framing, H264, Multiplexer,
    PacingReport, PacketView, ProgramTable, SoundFormat, TransportReport, VideoProgram,
};
