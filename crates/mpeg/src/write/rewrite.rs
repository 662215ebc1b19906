//! Rewrites macroblocks with other codes, quantiser scales, patterns and types, and where the content has them in other forms.
//! Else DC coefficients and vectors are copied, and their predictors keep their values.

use super::form::Form;
use crate::bits::{BitWriter, Gathered};
use crate::dc::{DcPredictors, write_difference};
use crate::decode::predict::Motion;
use crate::header::{Chroma, PictureContext, PictureKind, PictureStructure};
use crate::motion::{Predictors, write_component};
use crate::picture::{Code, Macroblock, MotionType, Picture, Slice, Vector, bits_of_first};
use crate::tables::macroblock as mb;
use crate::vlc::{self, Coefficients, TABLE_ZERO, coefficients, intra_coefficients};
use std::ops::Range;

/// The new codes of a block.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Codes<'a> {
    /// The first codes, this many, bit for bit.
    First(usize),
    /// Some of the first 64 codes, some of them lowered by one.
    Edited {
        /// Codes that are kept, by bit.
        kept: u64,
        /// Kept codes whose level is lowered by one, by bit.
        lowered: u64,
    },
    /// Other codes, whose `end` is ignored.
    New(&'a [Code]),
}

/// The new content of a picture, by indices in [`Picture`].
pub(crate) trait Content {
    fn codes(&self, macroblock: usize, block: usize) -> Codes<'_>;
    /// `quantiser_scale_code` of a macroblock.
    fn quantiser(&self, macroblock: usize) -> u8;
    /// True where a macroblock keeps its codes and its scale.
    fn is_unchanged(&self, macroblock: usize) -> bool;
    /// Blocks of a macroblock that keep codes, by bit, the first in bit 0.
    fn coded_blocks(&self, index: usize, macroblock: &Macroblock) -> u16;
    /// The blocks of a macroblock, where also blocks without codes in the input may have some.
    fn new_blocks(&self, _macroblock: usize) -> Option<NewBlocks<'_>> {
        None
    }
    /// `intra_vlc_format` of the output.
    fn intra_vlc_format(&self, context: &PictureContext) -> bool {
        context.coding.intra_vlc_format
    }
    /// The form of each macroblock, where some are not as in the input: in B pictures, and P pictures of whole frames, without
    /// concealment vectors.
    fn forms(&self) -> Option<&[Form]> {
        None
    }
}

/// The coded blocks of a macroblock and their codes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NewBlocks<'a> {
    /// By bit, block 0 of the macroblock in bit 0.
    pub(crate) coded: u16,
    /// The codes of all coded blocks, one behind the other, ...
    pub(crate) codes: &'a [Code],
    /// ... and where those of each end.
    pub(crate) ends: &'a [u16],
    /// Of an intra macroblock: the DC coefficient of each block.
    pub(crate) dc: &'a [i16],
}

/// Writes an undamaged slice with new content, and aligns it.
pub(crate) fn rewrite_slice(
    writer: &mut BitWriter,
    context: &PictureContext,
    picture: &Picture,
    data: &[u8],
    slice: &Slice,
    content: &impl Content,
) {
    let bytes = &data[slice.bytes.clone()];
    let intra_table = intra_coefficients(content.intra_vlc_format(context));
    let mut rewriter = Rewriter {
        writer,
        context,
        picture,
        bytes,
        content,
        intra_table,
        keeps_table: content.intra_vlc_format(context) == context.coding.intra_vlc_format,
        quantiser: slice.quantiser,
        address: slice.base_address,
        address_before: slice.base_address,
        predictor: Vector::default(),
        motions: MotionWriter::new(context, content.forms()),
        dc: DcPredictors::new(context),
        pending: 0..0,
    };
    rewriter.write_header(slice);
    for index in slice.macroblocks.clone() {
        let inner = index > slice.macroblocks.start && index + 1 < slice.macroblocks.end;
        rewriter.write_macroblock(index, inner);
        rewriter.address_before = picture.macroblocks[index].address as i32;
    }
    rewriter.out().align();
}

struct Rewriter<'a, C> {
    writer: &'a mut BitWriter,
    context: &'a PictureContext,
    picture: &'a Picture,
    bytes: &'a [u8],
    content: &'a C,
    /// The table of the codes of intra blocks in the output, and whether it is that of the input.
    intra_table: &'static Coefficients,
    keeps_table: bool,
    /// `quantiser_scale_code` in force in the output.
    quantiser: u8,
    /// Address of the last macroblock of the output.
    address: i32,
    /// Address of the last macroblock of the input.
    address_before: i32,
    /// `PMV[0][0]` behind the last macroblock of the input, in the units of the stream.
    predictor: Vector,
    /// Where macroblocks have motion of their own.
    motions: Option<MotionWriter<'a>>,
    /// Of the output, where macroblocks have forms of their own.
    dc: DcPredictors,
    /// Bits of the input to be copied next. Adjacent ranges are joined, so that unchanged macroblocks are copied at once.
    pending: Range<usize>,
}

impl<C: Content> Rewriter<'_, C> {
    #[inline]
    fn copy(&mut self, from: usize, to: usize) {
        if self.pending.end == from {
            self.pending.end = to;
        } else if from < to {
            self.out();
            self.pending = from..to;
        }
    }

    /// The writer, after the pending bits are copied.
    #[inline]
    fn out(&mut self) -> &mut BitWriter {
        let Range { start, end } = std::mem::take(&mut self.pending);
        if start < end {
            self.writer.copy(self.bytes, start, end);
        }
        self.writer
    }

    /// Writes the header, with the quantiser scale of the first macroblock that needs one.
    fn write_header(&mut self, slice: &Slice) {
        let needs = slice.macroblocks.clone().find(|&index| {
            self.is_intra(index) || self.pattern(index, &self.picture.macroblocks[index]) != 0
        });
        self.quantiser = needs.map_or(slice.quantiser, |index| self.content.quantiser(index));
        self.copy(0, slice.quantiser_at as usize);
        let quantiser = u32::from(self.quantiser);
        self.out().put(quantiser, 5);
        self.copy(slice.quantiser_at as usize + 5, slice.macroblocks_at as usize);
    }

    /// Writes a macroblock. An `inner` one, neither first nor last of its slice, may be skipped.
    fn write_macroblock(&mut self, index: usize, inner: bool) {
        let macroblock = &self.picture.macroblocks[index];
        let scale_holds = macroblock.has(mb::QUANT) || macroblock.quantiser == self.quantiser;
        let is_unchanged = self.content.is_unchanged(index) && self.keeps_table_of(macroblock.is_intra());
        if is_unchanged && scale_holds {
            return self.copy_macroblock(macroblock);
        }
        let intra = self.is_intra(index);
        let pattern = self.pattern(index, macroblock);
        let before = self.follow_predictor(macroblock);
        let follows = macroblock.address as i32 > self.address_before + 1;
        let may_skip = pattern == 0 && inner;
        let moved = self.motions.as_mut().map(|motions| motions.take(index, macroblock, follows, may_skip));
        if follows || !intra {
            self.dc = DcPredictors::new(self.context);
        }
        let mut flags = macroblock.flags & !(mb::PATTERN | mb::QUANT);
        if let Some(moved) = &moved {
            flags = moved.flags;
        }
        if pattern != 0 {
            flags |= mb::PATTERN;
        }
        if (flags == 0 && inner) || moved.as_ref().is_some_and(|moved| moved.is_skipped) {
            // A skipped macroblock means the same: "no MC, not coded" of a P picture, or the motion before of a B picture.
            return;
        }
        if (intra || pattern != 0) && self.content.quantiser(index) != self.quantiser {
            self.quantiser = self.content.quantiser(index);
            flags |= mb::QUANT;
        }
        self.write_increment(macroblock);
        if flags == 0 {
            return self.write_zero_vector(moved.map_or(before, |moved| moved.predictors.vectors[0][0]));
        }
        let same_scale = flags & mb::QUANT == 0 || self.quantiser == macroblock.quantiser;
        let has_forms = moved.is_some();
        match moved.filter(|moved| !moved.copied) {
            Some(Moved { form, predictors, .. }) => {
                self.write_modes(form, flags);
                let context = self.context;
                if flags & (mb::FORWARD | mb::BACKWARD) != 0 {
                    predictors.write(self.out(), context, &form.motion);
                }
            }
            None => {
                if flags == macroblock.flags && same_scale {
                    self.copy(macroblock.kind_at as usize, macroblock.vectors_at() as usize);
                } else {
                    self.write_modes(Form::of(self.context, macroblock), flags);
                }
                self.copy(macroblock.vectors_at() as usize, macroblock.vectors_end() as usize);
            }
        }
        if let Some(blocks) = self.content.new_blocks(index).filter(|_| has_forms || !intra) {
            if pattern != 0 {
                self.write_pattern(pattern);
            }
            return self.write_new_blocks(blocks, intra);
        }
        if pattern.count_ones() == u32::from(macroblock.blocks) && pattern != 0 {
            let blocks_at = self.picture.blocks[macroblock.first_block as usize].start;
            self.copy(macroblock.vectors_end() as usize, blocks_at as usize);
        } else if pattern != 0 {
            self.write_pattern(pattern);
        }
        self.write_blocks(index, macroblock);
    }

    /// True where the codes of a block have the table of the input.
    fn keeps_table_of(&self, intra: bool) -> bool {
        self.keeps_table || !intra
    }

    /// The table of the codes of a block of the output.
    fn table(&self, intra: bool) -> &'static Coefficients {
        if intra { self.intra_table } else { &TABLE_ZERO }
    }

    /// True where a macroblock of the output is intra.
    fn is_intra(&self, index: usize) -> bool {
        match self.content.forms() {
            Some(forms) => forms[index].motion.is_intra(),
            None => self.picture.macroblocks[index].is_intra(),
        }
    }

    fn copy_macroblock(&mut self, macroblock: &Macroblock) {
        self.follow_predictor(macroblock);
        self.quantiser = macroblock.quantiser;
        self.write_increment(macroblock);
        self.copy(macroblock.kind_at as usize, macroblock.end as usize);
    }

    /// `coded_block_pattern` of the new content; 0 in intra macroblocks, which have none.
    fn pattern(&self, index: usize, macroblock: &Macroblock) -> u16 {
        if self.is_intra(index) {
            return 0;
        }
        let last = self.context.chroma.blocks() as u8 - 1;
        if let Some(blocks) = self.content.new_blocks(index) {
            return blocks.coded.reverse_bits() >> (15 - last);
        }
        let mut left = self.content.coded_blocks(index, macroblock);
        let mut pattern = 0;
        for block in self.picture.blocks_of(macroblock) {
            pattern |= (left & 1) << (last - block.index());
            left >>= 1;
        }
        pattern
    }

    /// Updates `predictor` for a macroblock of the input; returns its value before.
    fn follow_predictor(&mut self, macroblock: &Macroblock) -> Vector {
        if self.context.kind() != PictureKind::P {
            return Vector::default();
        }
        // Skipped macroblocks reset it. Those skipped in the output alone had no vector, and so reset it too.
        let before = std::mem::take(&mut self.predictor);
        let has_vector = macroblock.has(mb::FORWARD)
            || (macroblock.is_intra() && self.context.coding.concealment_motion_vectors);
        if has_vector {
            let vector = macroblock.vectors[0][0];
            let frame_lines = !self.context.is_field() && macroblock.motion != MotionType::Frame;
            let full_pel = u8::from(self.context.header.full_pel[0]);
            self.predictor = Vector {
                x: vector.x >> full_pel,
                y: if frame_lines { vector.y << 1 } else { vector.y >> full_pel },
            };
        }
        let follows = self.picture_skips_before(macroblock);
        if follows { Vector::default() } else { before }
    }

    /// True where the input skips macroblocks before this one.
    fn picture_skips_before(&self, macroblock: &Macroblock) -> bool {
        macroblock.address as i32 > self.address + 1
    }

    fn write_increment(&mut self, macroblock: &Macroblock) {
        let mut increment = macroblock.address as i32 - self.address;
        let as_it_was = self.address == self.address_before;
        self.address = macroblock.address as i32;
        if as_it_was {
            return self.copy(macroblock.increment_at() as usize, macroblock.kind_at as usize);
        }
        while increment > 33 {
            vlc::ADDRESS_INCREMENT.write(self.out(), mb::ADDRESS_ESCAPE);
            increment -= 33;
        }
        vlc::ADDRESS_INCREMENT.write(self.out(), increment as u8);
    }

    fn write_type(&mut self, flags: u8) {
        let table = match self.context.kind() {
            PictureKind::I => &vlc::TYPE_I,
            PictureKind::P => &vlc::TYPE_P,
            PictureKind::B => &vlc::TYPE_B,
            PictureKind::D => &vlc::TYPE_D,
        };
        table.write(self.out(), flags);
    }

    /// Writes type, and motion type, DCT type and quantiser scale where they are present.
    fn write_modes(&mut self, form: Form, flags: u8) {
        self.write_type(flags);
        let in_field = self.context.is_field();
        let either = in_field || !self.context.coding.frame_pred_frame_dct;
        if flags & (mb::FORWARD | mb::BACKWARD) != 0 && either {
            let code = match form.motion.motion {
                MotionType::Field => 1,
                MotionType::Frame | MotionType::Split => 2,
                MotionType::DualPrime => 3,
            };
            self.out().put(code, 2);
        }
        if flags & (mb::INTRA | mb::PATTERN) != 0 && either && !in_field {
            self.out().put(u32::from(form.field_dct), 1);
        }
        if flags & mb::QUANT != 0 {
            let quantiser = u32::from(self.quantiser);
            self.out().put(quantiser, 5);
        }
    }

    /// Writes "MC, not coded" with a zero vector, for a macroblock without codes that may not be skipped.
    fn write_zero_vector(&mut self, predictor: Vector) {
        self.write_type(mb::FORWARD);
        let coding = &self.context.coding;
        if self.context.is_field() {
            let bottom = coding.structure == PictureStructure::BottomField;
            self.out().put(1, 2);
            self.out().put(u32::from(bottom), 1);
        } else if !coding.frame_pred_frame_dct {
            self.out().put(2, 2);
        }
        for (value, f_code) in [predictor.x, predictor.y].into_iter().zip(coding.f_code[0]) {
            write_component(self.out(), -i32::from(value), f_code);
        }
    }

    fn write_pattern(&mut self, pattern: u16) {
        let extra = self.context.chroma.blocks() as u32 - 6;
        vlc::PATTERN_420.write(self.out(), (pattern >> extra) as u8);
        if self.context.chroma != Chroma::Yuv420 {
            self.out().put(u32::from(pattern) & ((1 << extra) - 1), extra);
        }
    }

    /// Writes the remaining codes of a block whose codes begin at bit `start`. Codes behind a kept one are copied.
    fn write_edited(
        &mut self,
        start: usize,
        table: &Coefficients,
        codes: &[Code],
        intra: bool,
        kept: u64,
        lowered: u64,
    ) {
        let count = codes.len().min(64);
        let copied = kept & !lowered & (kept << 1 | 1);
        // The codes that are not copied: dropped, or written anew.
        let mut left = !copied & u64::MAX.checked_shr(64 - count as u32).unwrap_or(0);
        self.join(start);
        while left != 0 {
            let index = left.trailing_zeros() as usize;
            let bit = left & left.wrapping_neg();
            left ^= bit;
            let code = codes[index];
            let (from, to) = (self.pending.start, start + bits_of_first(codes, index) as usize);
            if from < to {
                self.writer.copy(self.bytes, from, to);
            }
            let behind = start + usize::from(code.end());
            self.pending = behind..behind;
            if kept & bit != 0 {
                let lower = i32::from(lowered & bit != 0) * i32::from(code.level().signum());
                let next = match (kept & (bit - 1)).checked_ilog2() {
                    Some(before) => u32::from(codes[before as usize].position()) + 1,
                    None => u32::from(intra),
                };
                let level = i32::from(code.level()) - lower;
                let mpeg2 = self.context.mpeg2;
                let (bits, length) = code_word(table, u32::from(code.position()), next, level, mpeg2);
                self.writer.put(bits, length);
            }
        }
        self.pending.end = start + bits_of_first(codes, count) as usize;
    }

    /// Writes an intra block whose table is another one than that of the input.
    fn write_kept(&mut self, table: &Coefficients, codes: &[Code], kept: u64, lowered: u64) {
        let (mut next, mpeg2) = (1, self.context.mpeg2);
        let mut writer = Gathered::new(self.out());
        let mut left = kept & u64::MAX.checked_shr(64 - codes.len().min(64) as u32).unwrap_or(0);
        while left != 0 {
            let index = left.trailing_zeros();
            left &= left - 1;
            let code = codes[index as usize];
            let lower = (lowered >> index & 1) as i32 * i32::from(code.level().signum());
            let (position, level) = (u32::from(code.position()), i32::from(code.level()) - lower);
            let (bits, length) = code_word(table, position, next, level, mpeg2);
            writer.put(bits, length);
            next = position + 1;
        }
        let (bits, length) = table.end_of_block();
        writer.put(bits, length);
        writer.finish();
    }

    /// Makes the pending bits end at bit `at`, where the next ones begin.
    #[inline]
    fn join(&mut self, at: usize) {
        if self.pending.end != at {
            self.out();
            self.pending = at..at;
        }
    }

    /// Ends a block whose end is at bit `at` of the input.
    fn end_block(&mut self, table: &Coefficients, at: usize) {
        if self.pending.end == at {
            self.copy(at, at + table.end_of_block_bits() as usize);
        } else {
            table.write_end_of_block(self.out());
        }
    }

    /// Writes the blocks of a macroblock; if it is intra, with their DC coefficients.
    fn write_new_blocks(&mut self, blocks: NewBlocks<'_>, intra: bool) {
        let table = self.table(intra);
        let mut first = 0;
        for (index, &end) in blocks.ends.iter().enumerate() {
            if let Some(&dc) = blocks.dc.get(index) {
                let difference = self.dc.difference(index as u8, dc);
                write_difference(self.out(), index as u8, difference);
            }
            let codes = &blocks.codes[first..usize::from(end)];
            let mpeg2 = self.context.mpeg2;
            write_block(self.out(), table, codes, intra, mpeg2);
            first = usize::from(end);
        }
    }

    fn write_blocks(&mut self, number: usize, macroblock: &Macroblock) {
        let intra = macroblock.is_intra();
        let table = self.table(intra);
        let end_of_block = coefficients(self.context, intra).end_of_block_bits() as usize;
        let mut end = macroblock.vectors_end() as usize;
        for index in macroblock.block_range() {
            let block = &self.picture.blocks[index];
            let start = block.start as usize;
            if intra {
                self.copy(end, start);
            }
            let codes = self.picture.codes_of(block);
            let bits = |count| bits_of_first(codes, count) as usize;
            if intra {
                end = start + bits(codes.len()) + end_of_block;
            }
            match self.content.codes(number, index) {
                Codes::First(0) if !intra => {}
                Codes::First(count) => {
                    self.copy(start, start + bits(count.min(codes.len())));
                    self.end_block(table, start + bits(codes.len()));
                }
                Codes::Edited { kept: 0, .. } if !intra => {}
                Codes::Edited { kept, lowered } if !self.keeps_table_of(intra) => {
                    self.write_kept(table, codes, kept, lowered);
                }
                Codes::Edited { kept, lowered } => {
                    self.write_edited(start, table, codes, intra, kept, lowered);
                    self.end_block(table, start + bits(codes.len()));
                }
                Codes::New([]) if !intra => {}
                Codes::New(codes) => {
                    let mpeg2 = self.context.mpeg2;
                    write_block(self.out(), table, codes, intra, mpeg2);
                }
            }
        }
    }
}

/// The forms of the macroblocks of a slice.
struct MotionWriter<'a> {
    context: &'a PictureContext,
    forms: &'a [Form],
    /// Behind the last macroblock of the input, and of the output.
    predictors: [Predictors; 2],
    /// What a skipped macroblock would have in the output.
    skipped: Option<Motion>,
}

/// What is written of the motion of a macroblock.
struct Moved {
    form: Form,
    /// Intra, or its directions that are coded: none for "no MC".
    flags: u8,
    /// Its modes and vectors are coded as in the input.
    copied: bool,
    /// Of the output, ahead of it.
    predictors: Predictors,
    is_skipped: bool,
}

impl<'a> MotionWriter<'a> {
    fn new(context: &'a PictureContext, forms: Option<&'a [Form]>) -> Option<Self> {
        Some(Self { context, forms: forms?, predictors: Default::default(), skipped: before_any(context) })
    }

    /// The next macroblock, which `follows` skipped ones of the input. It is skipped if it `may` be and has the motion of skipped ones.
    fn take(&mut self, index: usize, macroblock: &Macroblock, follows: bool, may: bool) -> Moved {
        let in_p = self.context.kind() == PictureKind::P;
        if in_p && follows {
            self.predictors = Default::default();
        }
        let [of_input, predictors] = self.predictors;
        let (before, form) = (Form::of(self.context, macroblock), self.forms[index]);
        let motion = form.motion;
        let flags = if in_p && motion.is_zero(self.context) { 0 } else { motion.flags };
        let copied = before.is_as(&form)
            && predictors.agree(&of_input, &motion)
            && flags == macroblock.flags & (mb::FORWARD | mb::BACKWARD | mb::INTRA);
        let is_skipped = may && self.skipped.is_some_and(|skipped| skipped.is_as(&motion));
        let has_vectors = |flags: u8| flags & (mb::FORWARD | mb::BACKWARD) != 0;
        self.predictors[0].pass(self.context, &before.motion, has_vectors(macroblock.flags));
        // A skipped one of a B picture leaves the predictors as they are.
        if in_p || !is_skipped {
            self.predictors[1].pass(self.context, &motion, has_vectors(flags));
        }
        if !in_p && !is_skipped {
            self.skipped = (!motion.is_intra()).then(|| motion.repeated(self.context));
        }
        Moved { form, flags, copied, predictors, is_skipped }
    }
}

/// The motion of skipped macroblocks behind one without motion: zero in P pictures; B pictures have no such macroblocks.
pub(crate) fn before_any(context: &PictureContext) -> Option<Motion> {
    (context.kind() == PictureKind::P).then(|| Motion::zero(context))
}

/// Bits of the codes of a macroblock, with the ends of its blocks.
pub(crate) fn code_bits(table: &Coefficients, blocks: NewBlocks<'_>) -> u32 {
    let (intra, mut first) = (!blocks.dc.is_empty(), 0);
    let bits = blocks.ends.iter().map(|&end| {
        let codes = first..usize::from(end);
        first = codes.end;
        table.block_bits(&blocks.codes[codes], intra)
    });
    bits.sum()
}

/// Writes the codes of a block, and its end.
fn write_block(writer: &mut BitWriter, table: &Coefficients, codes: &[Code], intra: bool, mpeg2: bool) {
    let (mut writer, mut next) = (Gathered::new(writer), u32::from(intra));
    for code in codes {
        let position = u32::from(code.position());
        let (bits, length) = code_word(table, position, next, i32::from(code.level()), mpeg2);
        writer.put(bits, length);
        next = position + 1;
    }
    let (bits, length) = table.end_of_block();
    writer.put(bits, length);
    writer.finish();
}

/// The bits of a code at `position` and its length; its run begins at `next`.
#[inline(always)]
fn code_word(table: &Coefficients, position: u32, next: u32, level: i32, mpeg2: bool) -> (u32, u32) {
    let run = position - next;
    if position == 0 && level.abs() == 1 {
        // Only the first code of a non-intra block has position 0.
        return (2 + u32::from(level < 0), 2);
    }
    table.code(run, level).unwrap_or_else(|| escape(run, level, mpeg2))
}

/// 13818-2, table B.16; 11172-2, table 2-B.5g.
fn escape(run: u32, level: i32, mpeg2: bool) -> (u32, u32) {
    let start = 1 << 6 | run;
    if mpeg2 {
        (start << 12 | level as u32 & 0xfff, 24)
    } else if level.abs() < 128 {
        (start << 8 | level as u32 & 0xff, 20)
    } else {
        let prefix = if level < 0 { 0x80 } else { 0 };
        (start << 16 | prefix << 8 | level as u32 & 0xff, 28)
    }
}
