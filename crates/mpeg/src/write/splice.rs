//! Truncation without re-encoding: copies the bits of each block up to its last kept code, then writes its end.

use crate::bits::BitWriter;
use crate::header::PictureContext;
use crate::picture::{Picture, Slice, bits_of_first};
use crate::vlc::coefficients;

/// Blocks of a picture to truncate, in order.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cuts<'a> {
    /// Indices of the blocks that are not yet written.
    pub(crate) blocks: &'a [u32],
    /// Number of codes kept, by block of the picture.
    pub(crate) keep: &'a [u8],
}

impl<'a> Cuts<'a> {
    /// Takes the next block before `end`.
    fn next_before(&mut self, end: usize) -> Option<usize> {
        let (&first, rest) = self.blocks.split_first()?;
        if first as usize >= end {
            return None;
        }
        self.blocks = rest;
        Some(first as usize)
    }

    /// Skips the cuts of a slice.
    pub(crate) fn skip(&mut self, picture: &Picture, slice: &Slice) {
        let last = picture.macroblocks[slice.macroblocks.clone()].last();
        while last.is_some_and(|last| self.next_before(last.block_range().end).is_some()) {}
    }
}

/// Size in bits, before alignment, of a slice that [`splice_slice`] writes without cuts.
pub(crate) fn spliced_bits(slice: &Slice) -> u64 {
    u64::from(slice.end - slice.stuffing)
}

/// Writes an undamaged slice with its cuts, without macroblock stuffing, and aligns it.
pub(crate) fn splice_slice(
    writer: &mut BitWriter,
    context: &PictureContext,
    picture: &Picture,
    data: &[u8],
    slice: &Slice,
    cuts: &mut Cuts<'_>,
) {
    let mut splicer = Splicer { writer, context, picture, bytes: &data[slice.bytes.clone()], copied: 0 };
    let macroblocks = &picture.macroblocks[slice.macroblocks.clone()];
    if slice.stuffing > 0 {
        let mut end = slice.macroblocks_at;
        for macroblock in macroblocks {
            splicer.skip(end, macroblock.increment_at());
            splicer.cut_blocks(cuts, macroblock.block_range().end);
            end = macroblock.end;
        }
    } else if let Some(last) = macroblocks.last() {
        splicer.cut_blocks(cuts, last.block_range().end);
    }
    splicer.skip(slice.end, slice.end);
    splicer.writer.align();
}

struct Splicer<'a> {
    writer: &'a mut BitWriter,
    context: &'a PictureContext,
    picture: &'a Picture,
    bytes: &'a [u8],
    /// Bits of the slice that are copied or skipped.
    copied: usize,
}

impl Splicer<'_> {
    /// Copies up to bit `from`, and skips to bit `to`.
    fn skip(&mut self, from: u32, to: u32) {
        self.writer.copy(self.bytes, self.copied, from as usize);
        self.copied = to as usize;
    }

    fn cut_blocks(&mut self, cuts: &mut Cuts<'_>, end: usize) {
        while let Some(index) = cuts.next_before(end) {
            let block = &self.picture.blocks[index];
            let codes = self.picture.codes_of(block);
            let table = coefficients(self.context, block.is_intra());
            let from = block.start + bits_of_first(codes, usize::from(cuts.keep[index]));
            let to = block.start + bits_of_first(codes, codes.len()) + table.end_of_block_bits();
            self.skip(from, to);
            table.write_end_of_block(self.writer);
        }
    }
}
