//! What TCP sends: segments without their bytes.

use seaway_units::DataSize;

/// IPv4 and TCP headers without options.
pub const HEADERS: DataSize = DataSize::from_bytes(40);

/// A TCP segment as the payload of a packet.
///
/// Data is counted in segments of one size, as they were cut when first sent: a sender here never cuts anew, so a
/// segment number stands for the octets from `number * full payload` on. Only the last segment may be short.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Which connection between the two ends; every transfer opens the next one.
    pub connection: u32,
    /// Its kind.
    pub kind: SegmentKind,
}

/// The kinds of segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SegmentKind {
    /// Requests a connection.
    Syn,
    /// Grants it.
    SynAck,
    /// A segment of data.
    Data {
        /// Counted from zero.
        number: u64,
        /// Octets of payload.
        length: u32,
        /// The transfer ends with it (FIN).
        is_last: bool,
        /// The window was reduced after an echo (CWR, RFC 3168 section 6.1.2).
        cwr: bool,
    },
    /// An acknowledgement.
    Ack {
        /// The lowest segment that has not arrived.
        next: u64,
        /// Congestion was experienced (ECE, RFC 3168 section 6.1.3).
        echo: bool,
        /// What arrived beyond `next`.
        sacked: SackBlocks,
    },
}

/// Up to three blocks of segments beyond the cumulative acknowledgement (RFC 2018); the first holds the segment that
/// arrived last.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SackBlocks {
    /// Distance from the cumulative acknowledgement, and length. A length of zero ends the list.
    blocks: [(u32, u32); Self::MAX],
}

impl SackBlocks {
    /// As many as fit beside the timestamp option.
    pub const MAX: usize = 3;

    /// The first blocks of `blocks`, as distances from `next`.
    pub(super) fn new(next: u64, blocks: impl Iterator<Item = std::ops::Range<u64>>) -> Self {
        let mut packed = Self::default();
        for (slot, block) in packed.blocks.iter_mut().zip(blocks) {
            *slot = ((block.start - next) as u32, (block.end - block.start) as u32);
        }
        packed
    }

    /// The blocks, beyond `next`.
    pub fn iter(&self, next: u64) -> impl Iterator<Item = std::ops::Range<u64>> {
        let absolute = move |&(start, length): &(u32, u32)| {
            let start = next + u64::from(start);
            start..start + u64::from(length)
        };
        self.blocks.iter().take_while(|(_, length)| *length > 0).map(absolute)
    }

    /// What the option adds to the header, padded to four octets.
    pub(super) fn size(&self) -> DataSize {
        match self.blocks.iter().filter(|(_, length)| *length > 0).count() as u64 {
            0 => DataSize::ZERO,
            blocks => DataSize::from_bytes(4 + 8 * blocks),
        }
    }
}
