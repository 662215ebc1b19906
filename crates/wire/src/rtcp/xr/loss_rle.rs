//! Loss RLE block (RFC 3611 section 4.1): whether each packet came, as runs and vectors of bits.

use super::{RawBlock, Writer};
use crate::bytes::{padded, put_u16, put_u32, take, u16_at, u32_at};
use crate::{Error, List, Record};

/// Which packets of a source came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LossRle<'a> {
    /// The source.
    pub ssrc: u32,
    /// First sequence number reported.
    pub begin_sequence: u16,
    /// Last sequence number reported, plus one.
    pub end_sequence: u16,
    /// [`RunLengthChunk::pack`] makes them.
    pub chunks: List<'a, RunLengthChunk>,
}

/// A run of packets with one fate, or fifteen packets with a bit each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunLengthChunk(u16);

mod field {
    pub(super) const SSRC: usize = 0;
    pub(super) const BEGIN: usize = 4;
    pub(super) const END: usize = 6;
    pub(super) const CHUNKS: usize = 8;
}

impl<'a> LossRle<'a> {
    /// BT of RFC 3611.
    pub(super) const BLOCK_TYPE: u8 = 1;
    /// What figure 2 of RFC 8298 prints, which RFC 3611 gives to duplicates. Read as loss, never written.
    pub(super) const MISPRINTED_BLOCK_TYPE: u8 = 2;

    pub(super) fn parse(block: RawBlock<'a>) -> Result<Self, Error> {
        let body = block.body;
        take(body, 0, field::CHUNKS, "Loss RLE block")?;
        // Two chunks fill a word; the last may be the terminator.
        let chunks = &body[field::CHUNKS..];
        let end = if chunks.ends_with(&[0, 0]) { chunks.len() - RunLengthChunk::SIZE } else { chunks.len() };
        Ok(Self {
            ssrc: u32_at(body, field::SSRC),
            begin_sequence: u16_at(body, field::BEGIN),
            end_sequence: u16_at(body, field::END),
            chunks: List::on_wire(&chunks[..end]),
        })
    }

    /// Each sequence number, and whether it came. Ends early where the chunks do.
    pub fn packets(&self) -> impl Iterator<Item = (u16, bool)> + use<'a> {
        let begin = self.begin_sequence;
        let count = self.end_sequence.wrapping_sub(begin);
        let used = self.chunks.iter().take_while(|chunk| !chunk.is_terminator());
        let received = used.flat_map(RunLengthChunk::received);
        (0..count).zip(received).map(move |(index, received)| (begin.wrapping_add(index), received))
    }

    pub(super) fn emit(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        let body = writer.block(Self::BLOCK_TYPE, 0, padded(field::CHUNKS + self.chunks.buffer_len()))?;
        put_u32(body, field::SSRC, self.ssrc);
        put_u16(body, field::BEGIN, self.begin_sequence);
        put_u16(body, field::END, self.end_sequence);
        self.chunks.write(&mut body[field::CHUNKS..]);
        Ok(())
    }
}

const VECTOR: u16 = 0x8000;
const VECTOR_BITS: u16 = 15;
const RUN_RECEIVED: u16 = 0x4000;
const MAX_RUN: u16 = 0x3FFF;

impl RunLengthChunk {
    /// From the 16 bits as they are sent: 0, run type, length(14), or 1 and 15 bits.
    pub const fn from_bits(bits: u16) -> Self {
        Self(bits)
    }

    /// Fate of each packet in turn, true where it came.
    pub fn received(self) -> impl Iterator<Item = bool> {
        let vector = self.0 & VECTOR != 0;
        let len = if vector { VECTOR_BITS } else { self.0 & MAX_RUN };
        (0..len).map(move |index| {
            if vector { self.0 >> (VECTOR_BITS - 1 - index) & 1 == 1 } else { self.0 & RUN_RECEIVED != 0 }
        })
    }

    /// The chunks for these fates, in order.
    pub fn pack(received: impl IntoIterator<Item = bool>) -> impl Iterator<Item = Self> {
        let mut received = received.into_iter().peekable();
        std::iter::from_fn(move || {
            let fate = received.next()?;
            let mut run = 1;
            while run < MAX_RUN && received.next_if_eq(&fate).is_some() {
                run += 1;
            }
            if run >= VECTOR_BITS || received.peek().is_none() {
                return Some(Self(if fate { RUN_RECEIVED } else { 0 } | run));
            }
            // Too short for a run of its own: these and those that follow as bits.
            let ones = if fate { (1 << run) - 1 } else { 0u16 };
            let bits =
                (run..VECTOR_BITS).fold(ones, |bits, _| bits << 1 | u16::from(received.next() == Some(true)));
            Some(Self(VECTOR | bits))
        })
    }

    fn is_terminator(self) -> bool {
        self.0 == 0
    }
}

impl Record for RunLengthChunk {
    const SIZE: usize = 2;

    fn read(bytes: &[u8]) -> Self {
        Self(u16_at(bytes, 0))
    }

    fn write(self, bytes: &mut [u8]) {
        put_u16(bytes, 0, self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(groups: &[(bool, usize)]) -> Vec<u16> {
        let fates = groups.iter().flat_map(|&(fate, run)| std::iter::repeat_n(fate, run));
        RunLengthChunk::pack(fates).map(|chunk| chunk.0).collect()
    }

    #[test]
    fn runs_and_vectors() {
        assert_eq!(packed(&[(true, 100)]), [0x4064]);
        assert_eq!(packed(&[(false, 20), (true, 1)]), [0x0014, 0x4001]);
        assert_eq!(packed(&[(true, 2), (false, 1), (true, 3)]), [0xEE00], "zeros behind the last packet");
        assert_eq!(packed(&[(true, 14), (false, 1), (true, 20)]), [0xFFFE, 0x4014]);
        assert_eq!(packed(&[(true, 16_384)]), [0x7FFF, 0x4001]);
        assert_eq!(packed(&[]), []);
    }

    #[test]
    fn chunks_give_back_the_packets() {
        let chunks: Vec<_> = RunLengthChunk::pack([true, false, true, true]).collect();
        let block =
            LossRle { ssrc: 1, begin_sequence: 65_534, end_sequence: 2, chunks: List::from(&chunks[..]) };
        let expected = [(65_534, true), (65_535, false), (0, true), (1, true)];
        assert!(block.packets().eq(expected));
        let short = LossRle { chunks: List::default(), ..block };
        assert_eq!(short.packets().count(), 0);
    }
}
