//! A parsed picture: flat arrays of slices, macroblocks, blocks and run-level codes, with their bit positions in the
//! stream.

use crate::header::PictureContext;
use crate::tables::macroblock as mb;
use crate::vlc::INTRA_LENGTHS;
use std::ops::{Deref, Range};

/// One run-level code of a block, in one word, so that the reader fills it by one addition. From bit 0 up: 7 bits of
/// position, one unused, 11 of end, one for the first code of a block, and 12 of level.
#[derive(Debug, Clone, Copy)]
pub struct Code(pub(crate) u32);

impl Code {
    pub(crate) const POSITION: u32 = 0;
    pub(crate) const UNUSED: u32 = 7;
    pub(crate) const END: u32 = 8;
    pub(crate) const FIRST: u32 = 19;
    pub(crate) const LEVEL: u32 = 20;

    /// A code that was not read from a stream: without an end.
    pub(crate) fn new(level: i16, position: u8) -> Self {
        Self((level as u32) << Self::LEVEL | u32::from(position))
    }

    /// Quantised level, never 0.
    #[inline]
    pub fn level(self) -> i16 {
        (self.0 as i32 >> Self::LEVEL) as i16
    }

    pub(crate) const LEVELS: usize = 1 << 12;

    /// Its level as an index of tables.
    #[inline]
    pub(crate) fn level_index(self) -> usize {
        (self.0 >> Self::LEVEL) as usize
    }

    /// The level of a [`Code::level_index`].
    pub(crate) fn level_of(index: usize) -> i32 {
        (index as i32) << Self::LEVEL >> Self::LEVEL
    }

    /// Number of values of [`Code::magnitude`].
    pub(crate) const MAGNITUDES: usize = 64;

    /// Magnitude of its level, at most 63.
    #[inline]
    pub(crate) fn magnitude(self) -> u8 {
        self.level().unsigned_abs().min(Self::MAGNITUDES as u16 - 1) as u8
    }

    /// Position of the coefficient in the scan, 0 to 63.
    #[inline]
    pub fn position(self) -> u8 {
        self.0 as u8 & 0x3f
    }

    /// Bits of the block's codes up to and with this one.
    #[inline]
    pub fn end(self) -> u16 {
        (self.0 >> Self::END) as u16 & 0x7ff
    }

    /// All bits set; 0 for the first code of a block.
    #[inline]
    pub(crate) fn follows(self) -> u32 {
        (self.0 >> Self::FIRST & 1).wrapping_sub(1)
    }

    pub(crate) fn mark_first(&mut self) {
        self.0 |= 1 << Self::FIRST;
    }
}

/// One coded block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    /// Bit of the slice where its first run-level code begins; in intra blocks, the first behind the DC coefficient.
    pub start: u32,
    /// Index of its first code in [`Picture::codes`].
    pub first: u32,
    /// Intra blocks: the quantised DC coefficient.
    pub dc: i16,
    /// Number of codes; the DC of an intra block and the end of block are not counted.
    pub count: u8,
    /// Its index, and [`Block::INTRA`].
    pub(crate) kind: u8,
}

impl Block {
    /// Set in `kind` of blocks of intra macroblocks.
    pub(crate) const INTRA: u8 = 1 << 7;

    /// 0 to 3 luminance, then Cb and Cr in turn.
    #[inline]
    pub fn index(&self) -> u8 {
        self.kind & !Self::INTRA
    }

    /// True in intra macroblocks.
    #[inline]
    pub fn is_intra(&self) -> bool {
        self.kind & Self::INTRA != 0
    }

    /// The indices of its codes.
    #[inline]
    pub fn codes(&self) -> Range<usize> {
        self.first as usize..self.first as usize + usize::from(self.count)
    }

    /// True for a chrominance block.
    #[inline]
    pub fn is_chroma(&self) -> bool {
        self.index() >= 4
    }
}

/// The prediction type of a macroblock (13818-2, tables 6-17 and 6-18).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MotionType {
    #[default]
    /// Frame prediction with one vector; frame pictures.
    Frame,
    /// Field prediction: a vector for each field in frame pictures, one vector in field pictures.
    Field,
    /// 16x8: a vector for each half of the macroblock; field pictures.
    Split,
    /// Dual prime.
    DualPrime,
}

/// A motion vector in half pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Vector {
    /// To the right.
    pub x: i16,
    /// Down; in lines of the field for field prediction.
    pub y: i16,
}

/// By direction, forward and backward; then first and second vector.
pub type Vectors = [[Vector; 2]; 2];

/// One macroblock that is not skipped.
#[derive(Debug, Clone, Default)]
pub struct Macroblock {
    /// Number in the picture, row by row.
    pub address: u32,
    /// Bit of the slice behind `macroblock_address_increment`, where its type begins.
    pub kind_at: u32,
    /// Bit behind its last block.
    pub end: u32,
    /// Index of its first block in [`Picture::blocks`].
    pub first_block: u32,
    /// Bits of `macroblock_address_increment`: not more than 22 000 in the largest picture.
    pub increment_bits: u16,
    /// Bits of its type and modes, up to its vectors: 14 at most.
    pub modes_bits: u8,
    /// Bits of its vectors, and of the marker behind concealment vectors: four vectors take 156 at most.
    pub vectors_bits: u8,
    /// `macroblock_type`: flags of [`crate::tables::macroblock`].
    pub flags: u8,
    /// `frame_motion_type` or `field_motion_type`, or the default where they are absent.
    pub motion: MotionType,
    /// `dct_type`: blocks hold lines of one field.
    pub field_dct: bool,
    /// `quantiser_scale_code` in force.
    pub quantiser: u8,
    /// Number of coded blocks.
    pub blocks: u8,
    /// Number of luminance blocks among them; they come first.
    pub luma_blocks: u8,
    /// `motion_vertical_field_select[r][s]` as bit `2r + s`.
    pub field_select: u8,
    /// `dmvector`
    pub dmvector: [i8; 2],
    /// `vector'`, decoded; unused ones are arbitrary.
    pub vectors: Vectors,
}

impl Macroblock {
    /// True where all of `flags` are set.
    #[inline]
    pub fn has(&self, flags: u8) -> bool {
        self.flags & flags == flags
    }

    /// True where it is intra-coded.
    #[inline]
    pub fn is_intra(&self) -> bool {
        self.has(mb::INTRA)
    }

    /// Bit of the slice where `macroblock_address_increment` begins, behind any stuffing.
    #[inline]
    pub fn increment_at(&self) -> u32 {
        self.kind_at - u32::from(self.increment_bits)
    }

    /// First bit of its vectors.
    #[inline]
    pub fn vectors_at(&self) -> u32 {
        self.kind_at + u32::from(self.modes_bits)
    }

    /// Bit behind its vectors and their marker, where pattern or blocks begin.
    #[inline]
    pub fn vectors_end(&self) -> u32 {
        self.vectors_at() + u32::from(self.vectors_bits)
    }

    /// The indices of its blocks.
    #[inline]
    pub fn block_range(&self) -> Range<usize> {
        self.first_block as usize..self.first_block as usize + usize::from(self.blocks)
    }
}

/// Why a slice could not be read completely.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Damage {
    /// Its row or a macroblock's address lies outside of the picture.
    Address,
    /// An undefined code, or one that is forbidden here.
    Code,
    /// A quantiser scale code of 0.
    Quantiser,
    /// A block of more than 64 coefficients.
    Coefficients,
    /// It ends inside a macroblock.
    Truncated,
    /// Bits other than zero follow the last macroblock.
    Trailing,
}

/// One slice.
#[derive(Debug, Clone)]
pub struct Slice {
    /// Its bytes in [`Picture`]'s data: start code, slice, stuffing.
    pub bytes: Range<usize>,
    /// First bit of its `quantiser_scale_code`, from the start of `bytes`.
    pub quantiser_at: u32,
    /// `quantiser_scale_code` of its header.
    pub quantiser: u8,
    /// Bit where its first macroblock begins.
    pub macroblocks_at: u32,
    /// Bit behind its last macroblock.
    pub end: u32,
    /// Its readable macroblocks in [`Picture::macroblocks`].
    pub macroblocks: Range<usize>,
    /// The address that the first increment is added to.
    pub base_address: i32,
    /// Bits of `macroblock_stuffing` in it (MPEG-1).
    pub stuffing: u32,
    /// Its damage, if any.
    pub damage: Option<Damage>,
}

/// A parsed picture. Reuse it for later pictures: it keeps its memory.
#[derive(Debug, Clone, Default)]
pub struct Picture {
    /// Slices in the order of the stream.
    pub slices: Vec<Slice>,
    /// Macroblocks of all slices.
    pub macroblocks: Vec<Macroblock>,
    /// Coded blocks of all macroblocks.
    pub blocks: Vec<Block>,
    /// Codes of all blocks.
    pub codes: Codes,
}

/// A list of codes with room behind them, so that a block is read in place.
#[derive(Debug, Clone, Default)]
pub struct Codes {
    memory: Vec<Code>,
    length: usize,
}

impl Codes {
    /// More than the codes of a block, for codes that are read ahead; a power of two, so that a mask replaces the bounds
    /// check.
    pub(crate) const ROOM: usize = 128;

    /// The memory with room for a macroblock more, and how much of it is filled.
    #[inline]
    pub(crate) fn filled(&mut self) -> (&mut [Code], usize) {
        if self.memory.len() < self.length + Self::MACROBLOCK {
            self.grow();
        }
        (&mut self.memory, self.length)
    }

    /// More than the codes of the most blocks of a macroblock, and room behind them; a power of two as well.
    pub(crate) const MACROBLOCK: usize = 1024;

    #[cold]
    fn grow(&mut self) {
        self.memory.resize(2 * self.memory.len() + Self::MACROBLOCK, Code::new(0, 0));
    }

    /// Sets how much of the memory is filled.
    #[inline]
    pub(crate) fn set_filled(&mut self, length: usize) {
        debug_assert!(length <= self.memory.len());
        self.length = length;
    }

    pub(crate) fn truncate(&mut self, length: usize) {
        self.length = self.length.min(length);
    }
}

impl Deref for Codes {
    type Target = [Code];

    fn deref(&self) -> &[Code] {
        &self.memory[..self.length]
    }
}

impl Picture {
    /// Clears it; keeps the memory.
    pub fn clear(&mut self) {
        self.slices.clear();
        self.macroblocks.clear();
        self.blocks.clear();
        self.codes.truncate(0);
    }

    /// The codes of a block.
    #[inline]
    pub fn codes_of(&self, block: &Block) -> &[Code] {
        &self.codes[block.codes()]
    }

    /// The mean quantiser scale of its macroblocks; 0 where there is none.
    pub(crate) fn mean_scale(&self, context: &PictureContext) -> f32 {
        let scales = context.quantiser_scales();
        let scale_of = |macroblock: &Macroblock| f32::from(scales[usize::from(macroblock.quantiser & 31)]);
        self.macroblocks.iter().map(scale_of).sum::<f32>() / self.macroblocks.len().max(1) as f32
    }

    /// Bits of the codes of all blocks.
    pub(crate) fn code_bits(&self) -> u64 {
        let codes = self.blocks.iter().map(|block| self.codes_of(block));
        codes.map(|codes| u64::from(bits_of_first(codes, codes.len()))).sum()
    }

    /// Bits of the codes of intra blocks with table B.14, and with B.15, of one block in `sampling`.
    pub(crate) fn intra_bits(&self, sampling: usize) -> [u64; 2] {
        let intra = self.macroblocks.iter().filter(|macroblock| macroblock.is_intra());
        let blocks = intra.flat_map(|macroblock| self.blocks_of(macroblock)).step_by(sampling);
        blocks.fold([0; 2], |[zero, one], block| {
            let bits = INTRA_LENGTHS.block_bits(self.codes_of(block));
            [zero + u64::from(bits[0]), one + u64::from(bits[1])]
        })
    }

    /// The codes of a macroblock's luminance blocks, and those of its chrominance blocks.
    #[inline]
    pub(crate) fn codes_in(&self, macroblock: &Macroblock) -> [&[Code]; 2] {
        let blocks = self.blocks_of(macroblock);
        let [Some(first), Some(last)] = [blocks.first(), blocks.last()] else { return [&[]; 2] };
        let codes = &self.codes[first.codes().start..last.codes().end];
        let chroma = blocks.get(usize::from(macroblock.luma_blocks));
        let (luma, chroma) =
            codes.split_at(chroma.map_or(codes.len(), |block| (block.first - first.first) as usize));
        [luma, chroma]
    }

    /// The blocks of a macroblock.
    #[inline]
    pub fn blocks_of(&self, macroblock: &Macroblock) -> &[Block] {
        &self.blocks[macroblock.block_range()]
    }
}

/// Bits of the first `count` of a block's codes.
#[inline]
pub(crate) fn bits_of_first(codes: &[Code], count: usize) -> u32 {
    count.checked_sub(1).map_or(0, |last| u32::from(codes[last].end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Windows of pictures pass through the second cache, so each octet of these counts.
    #[test]
    fn parsed_pictures_are_small() {
        assert_eq!([size_of::<Macroblock>(), size_of::<Block>(), size_of::<Code>()], [48, 12, 4]);
    }
}
