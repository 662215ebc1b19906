//! Truncation without re-encoding: the bits of the input up to the last code kept of each block, then the
//! block's end.

use crate::bits::BitWriter;
use crate::header::PictureContext;
use crate::picture::{Picture, Slice, coefficients};

/// Size in bits, before alignment, of what [`splice_slice`] writes where it keeps every code.
pub(crate) fn spliced_bits(picture: &Picture, slice: &Slice) -> u64 {
    let stuffing: u64 = macroblocks(picture, slice).map(|macroblock| u64::from(macroblock.stuffing)).sum();
    u64::from(slice.end) - stuffing
}

/// Writes a sound slice, keeping the first `keep[i]` codes of block `i` of the picture. Macroblock stuffing is
/// left out; the slice is aligned.
pub(crate) fn splice_slice(
    writer: &mut BitWriter,
    context: &PictureContext,
    picture: &Picture,
    data: &[u8],
    slice: &Slice,
    keep: &[u8],
) {
    let bytes = &data[slice.bytes.clone()];
    let mut copied = 0;
    for macroblock in macroblocks(picture, slice) {
        if macroblock.stuffing > 0 {
            writer.copy(bytes, copied, macroblock.start as usize);
            copied = (macroblock.start + macroblock.stuffing) as usize;
        }
        let table = coefficients(context, macroblock.is_intra());
        for index in macroblock.block_range() {
            let block = &picture.blocks[index];
            if keep[index] >= block.count {
                continue;
            }
            let codes = picture.codes_of(block);
            let (kept, dropped) = codes.split_at(usize::from(keep[index]));
            let bits = |codes: &[crate::picture::Code]| {
                codes.iter().map(|code| usize::from(code.bits)).sum::<usize>()
            };
            let end = block.start as usize + bits(kept);
            writer.copy(bytes, copied, end);
            table.write_end_of_block(writer);
            copied = end + bits(dropped) + table.end_of_block_bits() as usize;
        }
    }
    writer.copy(bytes, copied, slice.end as usize);
    writer.align();
}

fn macroblocks<'a>(
    picture: &'a Picture,
    slice: &Slice,
) -> impl Iterator<Item = &'a crate::picture::Macroblock> {
    picture.macroblocks[slice.macroblocks.clone()].iter()
}
