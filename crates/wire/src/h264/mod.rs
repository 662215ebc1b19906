//! H.264 over RTP (RFC 6184): single NAL units, STAP-A and FU-A, which is packetization mode 1.
//!
//! [`Packetizer`] cuts the NAL units of an access unit into payloads; [`Payload`] is one of them, on either
//! side. [`annex_b`] divides an encoder's byte stream into NAL units.

pub mod annex_b;
mod packetizer;
mod payload;

pub use packetizer::Packetizer;
pub use payload::{Aggregate, Fragment, Payload};

use crate::Error;

/// NAL unit types that this crate distinguishes (ITU-T H.264 table 7-1, RFC 6184 table 1).
pub mod nal_type {
    /// Sequence parameter set.
    pub const SPS: u8 = 7;
    /// Single-time aggregation packet without decoding order number.
    pub const STAP_A: u8 = 24;
    /// Fragmentation unit without decoding order number.
    pub const FU_A: u8 = 28;
}

/// The first octet of a NAL unit: F(1) NRI(2) Type(5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NalHeader(pub u8);

impl NalHeader {
    /// One of [`nal_type`], or another below 32.
    pub const fn nal_type(self) -> u8 {
        self.0 & 0x1F
    }

    /// This header with another type.
    const fn with_type(self, nal_type: u8) -> Self {
        Self(self.0 & 0xE0 | nal_type)
    }

    /// The header an aggregate of both has: F where any has it, the highest NRI (RFC 6184 section 5.7).
    fn joined(self, other: Self) -> Self {
        Self(((self.0 | other.0) & 0x80) | (self.0 & 0x60).max(other.0 & 0x60) | self.nal_type())
    }
}

/// The header of a NAL unit that may stand on its own: type 1 to 23.
fn single(nal: &[u8]) -> Result<NalHeader, Error> {
    let field = "H.264 NAL unit";
    let &first = nal.first().ok_or(Error::Truncated { field, offset: 0, needed: 1, available: 0 })?;
    let header = NalHeader(first);
    match header.nal_type() {
        1..=23 => Ok(header),
        other => Err(Error::Invalid { field, offset: 0, seen: other.into(), expected: "type 1 to 23" }),
    }
}
