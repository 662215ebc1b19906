//! Parses slices down to their run-level codes (13818-2, 6.2.4 to 6.2.6; 11172-2, 2.4.2.6 to 2.4.2.8).

use crate::bits::BitReader;
use crate::dc::{DcPredictors, component_of};
use crate::header::{PictureContext, PictureKind};
use crate::motion::{Predictors, is_plain};
use crate::picture::{Block, Code, Codes, Damage, Macroblock, MotionType, Picture, Slice};
use crate::steps::{STEPS, Step};
use crate::tables::macroblock as mb;
use crate::vlc::{self, CodeKind, Coefficients, DecodedBits, Lookup, RunLevel, TABLE_ZERO, coefficients};
use std::ops::Range;

impl Picture {
    /// Parses the slice in `bytes` of `data`, start code included, and appends it. A damaged slice keeps the macroblocks
    /// before the damage.
    pub fn read_slice(&mut self, context: &PictureContext, data: &[u8], bytes: Range<usize>) {
        let slice = &data[bytes.clone()];
        let first = self.macroblocks.len();
        let mut state = SliceReader::new(context, slice);
        let opened = state.read_header();
        let (quantiser_at, base_address) = (state.quantiser_at, state.address);
        let (quantiser, macroblocks_at) = (state.quantiser, state.reader.position() as u32);
        let damage = opened.and_then(|()| state.read_macroblocks(self)).err();
        self.slices.push(Slice {
            bytes,
            quantiser_at,
            quantiser,
            macroblocks_at,
            end: self.macroblocks[first..].last().map_or(macroblocks_at, |last| last.end),
            macroblocks: first..self.macroblocks.len(),
            base_address,
            stuffing: if context.mpeg2 { 0 } else { stuffing_in(&self.macroblocks[first..], macroblocks_at) },
            damage,
        });
    }
}

/// Bits of stuffing between macroblocks of a slice, the first of which begins at a bit.
fn stuffing_in(macroblocks: &[Macroblock], begin: u32) -> u32 {
    let mut end = begin;
    macroblocks.iter().map(|next| next.increment_at() - std::mem::replace(&mut end, next.end)).sum()
}

/// The state of the parser within a slice.
struct SliceReader<'a> {
    context: &'a PictureContext,
    reader: BitReader<'a>,
    vertical_position: u8,
    quantiser_at: u32,
    quantiser: u8,
    /// Address of the last macroblock.
    address: i32,
    /// One past the last address: of the row in MPEG-2, of the picture in MPEG-1.
    end_address: i32,
    predictors: Predictors,
    dc: DcPredictors,
    /// Codes of `macroblock_type`.
    types: &'static Lookup<64>,
}

impl<'a> SliceReader<'a> {
    fn new(context: &'a PictureContext, slice: &'a [u8]) -> Self {
        Self {
            context,
            reader: BitReader::at(slice, 32),
            vertical_position: slice[3],
            quantiser_at: 32,
            quantiser: 0,
            address: 0,
            end_address: 0,
            predictors: Predictors::default(),
            dc: DcPredictors::new(context),
            types: match context.kind() {
                PictureKind::I => &vlc::TYPE_I,
                PictureKind::P => &vlc::TYPE_P,
                PictureKind::B => &vlc::TYPE_B,
                PictureKind::D => &vlc::TYPE_D,
            },
        }
    }

    fn read_header(&mut self) -> Result<(), Damage> {
        let mut row = usize::from(self.vertical_position) - 1;
        if self.context.has_row_extension() {
            row += (self.reader.bits(3) as usize) << 7;
        }
        self.quantiser_at = self.reader.position() as u32;
        self.read_quantiser()?;
        // intra_slice with its seven bits, and extra_information_slice, have the same form.
        while self.reader.flag() {
            self.reader.bits(8);
            if self.reader.overrun() {
                return Err(Damage::Truncated);
            }
        }
        if row >= self.context.rows {
            return Err(Damage::Address);
        }
        self.address = (row * self.context.columns) as i32 - 1;
        let rows = if self.context.mpeg2 { row + 1 } else { self.context.rows };
        self.end_address = (rows * self.context.columns) as i32;
        self.reset_dc();
        Ok(())
    }

    fn read_quantiser(&mut self) -> Result<(), Damage> {
        self.quantiser = self.reader.bits(5) as u8;
        if self.quantiser == 0 { Err(Damage::Quantiser) } else { Ok(()) }
    }

    fn reset_dc(&mut self) {
        self.dc = DcPredictors::new(self.context);
    }

    fn read_macroblocks(&mut self, picture: &mut Picture) -> Result<(), Damage> {
        let mut first = true;
        loop {
            let (blocks, codes) = (picture.blocks.len(), picture.codes.len());
            // Filled in place, because copying it would take more time than the rest.
            picture.macroblocks.push(Macroblock::default());
            let read = self.read_macroblock(picture, first);
            let whole =
                read.and_then(|()| if self.reader.overrun() { Err(Damage::Truncated) } else { Ok(()) });
            if let Err(damage) = whole {
                picture.macroblocks.pop();
                picture.blocks.truncate(blocks);
                picture.codes.truncate(codes);
                return Err(damage);
            }
            first = false;
            self.reader.refill();
            if self.reader.peek(23) == 0 {
                return if self.reader.only_zeros_left() { Ok(()) } else { Err(Damage::Trailing) };
            }
        }
    }

    /// Parses the picture's last macroblock.
    fn read_macroblock(&mut self, picture: &mut Picture, first: bool) -> Result<(), Damage> {
        let Picture { macroblocks, blocks, codes, .. } = picture;
        let Some(macroblock) = macroblocks.last_mut() else { return Ok(()) };
        let increment_at = self.read_address(first)?;
        macroblock.address = self.address as u32;
        let kind_at = self.reader.position();
        (macroblock.kind_at, macroblock.increment_bits) = (kind_at as u32, (kind_at - increment_at) as u16);
        self.reader.refill();
        macroblock.flags = self.types.read(&mut self.reader).ok_or(Damage::Code)?;
        (macroblock.motion, macroblock.field_dct) = self.read_modes(macroblock.flags)?;
        if macroblock.has(mb::QUANT) {
            self.read_quantiser()?;
        }
        macroblock.quantiser = self.quantiser;
        let vectors_at = self.reader.position();
        macroblock.modes_bits = (vectors_at - kind_at) as u8;
        self.read_vectors(macroblock)?;
        macroblock.vectors_bits = (self.reader.position() - vectors_at) as u8;
        macroblock.first_block = blocks.len() as u32;
        self.read_blocks(blocks, codes, macroblock)?;
        macroblock.end = self.reader.position() as u32;
        Ok(())
    }

    /// Reads stuffing and address increment; returns the bit where the increment begins.
    fn read_address(&mut self, first: bool) -> Result<usize, Damage> {
        let mut increment = 0;
        let mut begins = self.reader.position();
        loop {
            self.reader.refill();
            match vlc::ADDRESS_INCREMENT.read(&mut self.reader).ok_or(Damage::Code)? {
                mb::ADDRESS_STUFFING if !self.context.mpeg2 && increment == 0 => {
                    begins = self.reader.position();
                }
                mb::ADDRESS_STUFFING => return Err(Damage::Code),
                mb::ADDRESS_ESCAPE => increment += 33,
                last => {
                    increment += i32::from(last);
                    break;
                }
            }
            // More escapes cannot lead back into the picture.
            if increment as usize > self.context.columns * self.context.rows {
                return Err(Damage::Address);
            }
        }
        self.address += increment;
        if self.address >= self.end_address {
            return Err(Damage::Address);
        }
        if increment > 1 && !first {
            self.reset_dc();
            if self.context.kind() == PictureKind::P {
                self.predictors.reset();
            }
        }
        Ok(begins)
    }

    /// Reads motion type and DCT type, or takes their defaults.
    fn read_modes(&mut self, flags: u8) -> Result<(MotionType, bool), Damage> {
        let coding = &self.context.coding;
        let in_field = self.context.is_field();
        let mut motion = if in_field { MotionType::Field } else { MotionType::Frame };
        if flags & (mb::FORWARD | mb::BACKWARD) != 0 && (in_field || !coding.frame_pred_frame_dct) {
            motion = match (self.reader.bits(2), in_field) {
                (1, _) => MotionType::Field,
                (2, false) => MotionType::Frame,
                (2, true) => MotionType::Split,
                (3, _) if flags & mb::BACKWARD == 0 => MotionType::DualPrime,
                _ => return Err(Damage::Code),
            };
        }
        let has_dct_type =
            !in_field && !coding.frame_pred_frame_dct && flags & (mb::INTRA | mb::PATTERN) != 0;
        Ok((motion, has_dct_type && self.reader.flag()))
    }

    fn read_vectors(&mut self, macroblock: &mut Macroblock) -> Result<(), Damage> {
        let conceals = macroblock.is_intra() && self.context.coding.concealment_motion_vectors;
        for (s, flag) in [mb::FORWARD, mb::BACKWARD].into_iter().enumerate() {
            if macroblock.has(flag) || (conceals && s == 0) {
                if is_plain(self.context, macroblock.motion, s) {
                    let vector = self.predictors.read_plain(&mut self.reader, self.context, s)?;
                    macroblock.vectors[s] = [vector; 2];
                    continue;
                }
                let found = self.predictors.read(&mut self.reader, self.context, macroblock.motion, s)?;
                macroblock.vectors[s] = found.vectors;
                macroblock.field_select |=
                    u8::from(found.bottom[0]) << s | u8::from(found.bottom[1]) << (2 + s);
                macroblock.dmvector = found.dmvector;
            }
        }
        if conceals {
            self.reader.flag();
        } else if macroblock.is_intra()
            || (self.context.kind() == PictureKind::P && !macroblock.has(mb::FORWARD))
        {
            self.predictors.reset();
        }
        Ok(())
    }

    fn read_pattern(&mut self, flags: u8) -> Result<u16, Damage> {
        let chroma = self.context.chroma;
        let extra = chroma.blocks() as u32 - 6;
        if flags & mb::INTRA != 0 {
            return Ok((1 << chroma.blocks()) - 1);
        }
        if flags & mb::PATTERN == 0 {
            return Ok(0);
        }
        self.reader.refill();
        let base = vlc::PATTERN_420.read(&mut self.reader).ok_or(Damage::Code)?;
        let more = if extra > 0 { self.reader.bits(extra) as u16 } else { 0 };
        let pattern = u16::from(base) << extra | more;
        if pattern == 0 { Err(Damage::Code) } else { Ok(pattern) }
    }

    // Not inlined, so that the reader stays in registers.
    #[inline(never)]
    fn read_blocks(
        &mut self,
        blocks: &mut Vec<Block>,
        codes: &mut Codes,
        macroblock: &mut Macroblock,
    ) -> Result<(), Damage> {
        let pattern = self.read_pattern(macroblock.flags)?;
        if !macroblock.is_intra() {
            return self.read_non_intra(blocks, codes, macroblock, pattern);
        }
        let intra = true;
        let table = coefficients(self.context, intra);
        // A local copy of the reader stays in registers.
        let mut reader = self.reader.unfilled();
        let (memory, mut filled) = codes.filled();
        let (dc_only, mpeg2) = (self.context.kind() == PictureKind::D, self.context.mpeg2);
        let mut left = pattern << (16 - self.context.chroma.blocks());
        macroblock.blocks = left.count_ones() as u8;
        macroblock.luma_blocks = (left >> 12).count_ones() as u8;
        while left != 0 {
            let index = left.leading_zeros() as u8;
            left &= !(1 << 15 >> index);
            let dc = if intra { self.read_dc(&mut reader, index)? } else { 0 };
            let start = reader.position() as u32;
            let first = filled as u32;
            let room =
                memory.get_mut(filled..).and_then(<[Code]>::first_chunk_mut).ok_or(Damage::Coefficients)?;
            let count = if dc_only { 0 } else { read_codes(&mut reader, room, table, intra, mpeg2)? };
            filled += count;
            blocks.push(Block { start, first, dc, count: count as u8, kind: index | Block::INTRA });
        }
        codes.set_filled(filled);
        self.reader.move_to(&reader);
        if !intra {
            self.reset_dc();
        }
        if dc_only && !self.reader.flag() {
            return Err(Damage::Code);
        }
        Ok(())
    }

    /// Reads the blocks of a macroblock that is not intra, by the bits of its pattern.
    #[inline(always)]
    fn read_non_intra(
        &mut self,
        blocks: &mut Vec<Block>,
        codes: &mut Codes,
        macroblock: &mut Macroblock,
        pattern: u16,
    ) -> Result<(), Damage> {
        self.reset_dc();
        let count = pattern.count_ones();
        if count == 0 {
            return Ok(());
        }
        let mut left = pattern << (16 - self.context.chroma.blocks());
        macroblock.blocks = count as u8;
        macroblock.luma_blocks = (left >> 12).count_ones() as u8;
        let (memory, filled) = codes.filled();
        let room =
            memory.get_mut(filled..).and_then(<[Code]>::first_chunk_mut).ok_or(Damage::Coefficients)?;
        let mut bits = self.reader.position() as u32;
        let mut ends = [0; 16];
        read_non_intra(&mut self.reader, room, count, self.context.mpeg2, &mut ends)?;
        let mut from = 0;
        blocks.extend(ends[..count as usize].iter().map(|&end| {
            let index = left.leading_zeros() as u8;
            left &= !(1 << 15 >> index);
            let (first, start) = (filled as u32 + from, bits);
            bits += u32::from(room[end as usize - 1].end()) + TABLE_ZERO.end_of_block_bits();
            let count = end - std::mem::replace(&mut from, end);
            Block { start, first, dc: 0, count: count as u8, kind: index }
        }));
        codes.set_filled(filled + from as usize);
        Ok(())
    }

    fn read_dc(&mut self, reader: &mut BitReader<'_>, index: u8) -> Result<i16, Damage> {
        reader.refill();
        let component = component_of(index);
        let size = match component {
            0 => vlc::DC_SIZE_LUMA.read(reader),
            _ => vlc::DC_SIZE_CHROMA.read(reader),
        };
        let size = u32::from(size.ok_or(Damage::Code)?);
        if size > 0 {
            let bits = reader.peek(size) as i32;
            reader.skip(size);
            let difference = if bits >> (size - 1) == 0 { bits + 1 - (1 << size) } else { bits };
            let top = (256 << self.context.coding.intra_dc_precision) - 1;
            let dc = i32::from(self.dc.0[component]) + difference;
            if !(0..=top).contains(&dc) {
                return Err(Damage::Code);
            }
            self.dc.0[component] = dc as i16;
        }
        Ok(self.dc.0[component])
    }
}

/// Reads the run-level codes and the end of a block into the room; returns the number of codes.
#[inline(always)]
fn read_codes(
    reader: &mut BitReader<'_>,
    room: &mut [Code; Codes::ROOM],
    table: &Coefficients,
    intra: bool,
    mpeg2: bool,
) -> Result<usize, Damage> {
    reader.refill();
    // At the start of a non-intra block `1s` stands for `11s`, so a bit is inserted before it.
    let lead = if intra { 0 } else { reader.peek(1) };
    reader.repeat_first(lead);
    let mut cursor = Cursor::new(intra, lead);
    let mut count = 0;
    loop {
        // A refill depends on the length of the code before it, and the next code on the refill, so one refill serves
        // several codes.
        for _ in 0..STEPS_A_REFILL {
            let step = table.peek_step(reader);
            let last = cursor.code(step.last());
            room[count % Codes::ROOM] = cursor.code(step.first());
            room[(count + 1) % Codes::ROOM] = last;
            reader.skip(step.bits());
            if step.is_plain() {
                cursor.pass(last)?;
                count += step.codes();
            } else if step.ends() {
                reader.skip(table.end_of_block_bits());
                cursor.pass(last)?;
                count += step.codes();
                room[0].mark_first();
                return Ok(count);
            } else {
                reader.refill();
                let (level, run, bits) = read_other(table.peek(reader), reader, mpeg2)?;
                let code = cursor.code(DecodedBits::word(level, run, bits));
                room[count % Codes::ROOM] = code;
                reader.skip(bits);
                cursor.pass(code)?;
                count += 1;
                break;
            }
        }
        reader.refill();
    }
}

/// Reads the codes of the `count` blocks of a macroblock that is not intra into the room, and how many codes there are
/// up to the end of each into `ends`. Where a block ends is unpredictable, so there is no branch on it.
#[inline(never)]
fn read_non_intra(
    reader: &mut BitReader<'_>,
    room: &mut [Code; Codes::MACROBLOCK],
    count: u32,
    mpeg2: bool,
    ends: &mut [u32; 16],
) -> Result<(), Damage> {
    const ROOM: usize = Codes::MACROBLOCK;
    // Blocks are counted in units of [`Step::END`]. `all` has all bits of the positions of codes, to find one beyond the block.
    let (mut codes, mut block, mut begins, mut all) = (0, 0, Step::END, 0);
    let count = count * Step::END;
    let mut cursor = Cursor(0);
    // A local copy of the reader stays in registers.
    let mut local = reader.unfilled();
    loop {
        local.refill();
        if all & Cursor::BEYOND != 0 {
            return Err(Damage::Coefficients);
        }
        for _ in 0..STEPS_A_REFILL {
            let (step, [first, last]) = STEPS.at(begins, local.peek(Step::WIDTH));
            if step.is_other() {
                local.refill();
                if all & Cursor::BEYOND != 0 {
                    return Err(Damage::Coefficients);
                }
                let (level, run, bits) = read_other(TABLE_ZERO.peek(&local), &local, mpeg2)?;
                let code = cursor.code(DecodedBits::word(level, run, bits));
                room[codes % ROOM] = Code(code.0 | u32::from(begins != 0) << Code::FIRST);
                local.skip(bits);
                all |= code.0;
                cursor = Cursor::behind(code);
                codes += 1;
                begins = 0;
                break;
            }
            let code = cursor.code(last);
            room[codes % ROOM] = cursor.code(first);
            room[(codes + 1) % ROOM] = code;
            codes += step.codes();
            local.skip_lowest(step.bits());
            all |= code.0;
            ends[(block / Step::END % 16) as usize] = codes as u32;
            begins = step.end();
            block += begins;
            // Behind the end of a block, the start of the next one.
            cursor = if begins == 0 { Cursor::behind(code) } else { Cursor(0) };
            if block == count {
                reader.move_to(&local);
                return if all & Cursor::BEYOND == 0 { Ok(()) } else { Err(Damage::Coefficients) };
            }
        }
    }
}

/// Number of steps that a refill covers.
const STEPS_A_REFILL: u32 = 56 / DecodedBits::WIDTH;

/// Where the next code of a block begins: position and end of the code before, as fields of a [`Code`].
#[derive(Debug, Clone, Copy)]
struct Cursor(u32);

impl Cursor {
    const FIELDS: u32 = 0x7f << Code::POSITION | 0x7ff << Code::END;
    /// Set in a code beyond the block.
    const BEYOND: u32 = 0x40 << Code::POSITION;

    /// At the start of a block whose first code is read with `lead` inserted bits.
    fn new(intra: bool, lead: u32) -> Self {
        Self((u32::from(intra) << Code::POSITION).wrapping_sub(lead << Code::END))
    }

    /// The code at the cursor, whose fields count from its start.
    #[inline]
    fn code(self, fields: u32) -> Code {
        Code(self.0.wrapping_add(fields))
    }

    #[inline(always)]
    fn behind(code: Code) -> Self {
        Self((code.0 & Self::FIELDS) + (1 << Code::POSITION))
    }

    /// Moves behind the code.
    #[inline]
    fn pass(&mut self, code: Code) -> Result<(), Damage> {
        *self = Self::behind(code);
        if code.0 & Self::BEYOND != 0 { Err(Damage::Coefficients) } else { Ok(()) }
    }
}

/// Level, run and length of a code that no step holds.
#[inline]
fn read_other(entry: RunLevel, reader: &BitReader<'_>, mpeg2: bool) -> Result<(i16, u32, u32), Damage> {
    match entry.kind() {
        CodeKind::Coefficient => Ok((entry.level(), entry.run(), entry.bits())),
        CodeKind::Escape => read_escape(reader.peek(28), mpeg2),
        CodeKind::EndOfBlock | CodeKind::Invalid => Err(Damage::Code),
    }
}

/// Level, run and length of an escape, from 28 bits (13818-2, table B.16; 11172-2, table 2-B.5g).
fn read_escape(word: u32, mpeg2: bool) -> Result<(i16, u32, u32), Damage> {
    let run = word >> 16 & 63;
    let (level, bits) = if mpeg2 {
        (((word >> 4 & 0xfff) << 4) as i16 >> 4, 24)
    } else {
        match (word >> 8 & 0xff, word & 0xff) {
            (0, low) => (low as i16, 28),
            (0x80, low) => (low as i16 - 256, 28),
            (high, _) => (i16::from(high as u8 as i8), 20),
        }
    };
    if level == 0 || level == -2048 { Err(Damage::Code) } else { Ok((level, run, bits)) }
}
