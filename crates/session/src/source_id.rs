//! The synchronisation sources of a session.

use seaway_control::{StreamId, Subflow};

/// A synchronisation source: it carries the frames of a stream, or their retransmissions, by one subflow.
///
/// A session owns a block of 1024 consecutive synchronisation sources, so that the description of the first
/// says what each of them carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SourceId {
    /// The encoder; 0 to 7.
    pub stream: StreamId,
    /// The connection; 0 to 63.
    pub subflow: Subflow,
    /// True for retransmissions (RFC 4588 section 5.3) and padding.
    pub repair: bool,
}

impl SourceId {
    /// Synchronisation sources of a session.
    pub const COUNT: u32 = 1 << 10;
    /// Streams of a session.
    pub const STREAMS: u8 = 8;
    /// Subflows of a session.
    pub const SUBFLOWS: u8 = 64;

    /// Its place in the block.
    pub const fn index(self) -> usize {
        (self.stream.0 as usize % 8) << 7 | (self.subflow.0 as usize % 64) << 1 | self.repair as usize
    }

    /// Its synchronisation source in the block that begins at `base`.
    pub const fn ssrc(self, base: u32) -> u32 {
        base.wrapping_add(self.index() as u32)
    }

    /// What `ssrc` carries; `None` outside the block that begins at `base`.
    pub const fn of(ssrc: u32, base: u32) -> Option<Self> {
        let index = ssrc.wrapping_sub(base);
        if index >= Self::COUNT {
            return None;
        }
        let (stream, subflow) = (StreamId((index >> 7) as u8), Subflow((index >> 1 & 63) as u8));
        Some(Self { stream, subflow, repair: index & 1 == 1 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_source_has_its_place_even_where_numbers_wrap() {
        let base = u32::MAX - 100;
        for index in 0..SourceId::COUNT {
            let source = SourceId::of(base.wrapping_add(index), base).unwrap();
            assert_eq!(source.index(), index as usize);
            assert_eq!(source.ssrc(base), base.wrapping_add(index));
        }
        assert_eq!(SourceId::of(base.wrapping_add(SourceId::COUNT), base), None);
        assert_eq!(SourceId::of(base.wrapping_sub(1), base), None);
    }
}
