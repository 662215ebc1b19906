//! Slices and macroblocks with random choices within the standard: vectors stay inside the reference, the first and last
//! macroblocks of a slice are coded, and a B macroblock behind an intra one is not skipped.

use crate::stream::{Coding, Dice, Syntax, start_code};
use seaway_mpeg::bits::BitWriter;
use seaway_mpeg::header::{PictureKind, PictureStructure};
use seaway_mpeg::tables::coefficients::{
    COMMON, END_OF_BLOCK_ONE, END_OF_BLOCK_ZERO, ESCAPE, Entry, ONE, ZERO,
};
use seaway_mpeg::tables::macroblock::{
    ADDRESS_ESCAPE, ADDRESS_INCREMENT, ADDRESS_STUFFING, BACKWARD, DC_SIZE_CHROMA, DC_SIZE_LUMA, FORWARD,
    INTRA, MOTION, PATTERN, PATTERN_420, QUANT, TYPE_B, TYPE_D, TYPE_I, TYPE_P,
};
use seaway_mpeg::tables::quantiser::{LINEAR, NON_LINEAR};
use seaway_mpeg::tables::scan::{ALTERNATE, ZIG_ZAG};
use std::ops::Range;

/// All slices of a picture.
pub(crate) fn write(syntax: &Syntax, coding: &Coding, dice: &mut Dice, out: &mut Vec<u8>) {
    let columns = syntax.columns();
    let rows = if coding.is_field() { syntax.rows() / 2 } else { syntax.rows() };
    let mut start = 0;
    while start < columns * rows {
        // A slice of MPEG-2 ends in its row.
        let limit = if syntax.mpeg2 { (start / columns + 1) * columns } else { columns * rows };
        let len = if dice.chance(60) { limit - start } else { dice.range(1, 2 * columns as i32) as usize };
        let end = (start + len).min(limit);
        let mut bits = start_code(0);
        let quantiser = write_slice_header(&mut bits, syntax, coding, dice, start / columns);
        let slice = SliceWriter {
            syntax,
            coding,
            dice,
            bits,
            rows,
            quantiser,
            predictors: [[(0, 0); 2]; 2],
            dc: [0; 3],
            before: 0,
        };
        out.extend(slice.write(start..end));
        start = end;
    }
}

fn write_slice_header(
    bits: &mut BitWriter,
    syntax: &Syntax,
    coding: &Coding,
    dice: &mut Dice,
    row: usize,
) -> u8 {
    bits.clear();
    bits.put(1, 24);
    if syntax.mpeg2 && syntax.height > 2800 {
        bits.put((row as u32 & 127) + 1, 8);
        bits.put(row as u32 >> 7, 3);
    } else {
        bits.put(row as u32 + 1, 8);
    }
    let quantiser = dice.range(1, 31) as u8;
    bits.put(u32::from(quantiser), 5);
    if dice.chance(15) {
        let intra = coding.kind == PictureKind::I;
        bits.put(0b1_0000_0000 | u32::from(syntax.mpeg2 && intra) << 7, 9);
        if dice.chance(30) {
            bits.put(0b1_0110_1001, 9);
        }
    }
    bits.put(0, 1);
    quantiser
}

/// Horizontal and vertical, half samples.
type Vector = (i32, i32);

struct SliceWriter<'a> {
    syntax: &'a Syntax,
    coding: &'a Coding,
    dice: &'a mut Dice,
    bits: BitWriter,
    rows: usize,
    quantiser: u8,
    /// `PMV[r][s]`
    predictors: [[Vector; 2]; 2],
    dc: [i32; 3],
    /// Flags of the macroblock before; 0 where it had none.
    before: u8,
}

/// The vectors of a macroblock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Motion {
    Frame,
    Field,
    Split,
    DualPrime,
}

impl SliceWriter<'_> {
    fn write(mut self, addresses: Range<usize>) -> Vec<u8> {
        self.reset_dc();
        let columns = self.syntax.columns();
        let mut increment = addresses.start % columns + 1;
        for address in addresses.clone() {
            let inner = address != addresses.start && address + 1 != addresses.end;
            if inner && self.may_skip(address) && self.dice.chance(25) {
                self.skip();
                increment += 1;
            } else {
                self.write_increment(increment);
                self.write_macroblock(address);
                increment = 1;
            }
        }
        self.bits.finish()
    }

    fn reset_dc(&mut self) {
        self.dc = [128 << self.coding.dc_precision; 3];
    }

    fn may_skip(&self, address: usize) -> bool {
        match self.coding.kind {
            PictureKind::P => !self.coding.opposite_only,
            PictureKind::B => {
                let field = self.coding.is_field();
                let motion = if field { Motion::Field } else { Motion::Frame };
                let inside = |s: usize| self.is_inside(address, motion, 0, self.predictors[0][s]);
                self.before & (FORWARD | BACKWARD) != 0
                    && (self.before & FORWARD == 0 || inside(0))
                    && (self.before & BACKWARD == 0 || inside(1))
            }
            _ => false,
        }
    }

    fn skip(&mut self) {
        self.reset_dc();
        if self.coding.kind == PictureKind::P {
            self.predictors = Default::default();
        }
    }

    fn write_increment(&mut self, mut increment: usize) {
        while !self.syntax.mpeg2 && self.dice.chance(5) {
            self.text(code(&ADDRESS_INCREMENT, ADDRESS_STUFFING));
        }
        while increment > 33 {
            self.text(code(&ADDRESS_INCREMENT, ADDRESS_ESCAPE));
            increment -= 33;
        }
        self.text(code(&ADDRESS_INCREMENT, increment as u8));
    }

    fn text(&mut self, code: &str) {
        code.bytes().for_each(|digit| self.bits.put(u32::from(digit == b'1'), 1));
    }

    fn write_macroblock(&mut self, address: usize) {
        let (flags, kind) = self.choose_type();
        self.text(kind);
        let in_field = self.coding.is_field();
        let moves = flags & (FORWARD | BACKWARD) != 0;
        let mut motion = if in_field { Motion::Field } else { Motion::Frame };
        let mut found = None;
        if moves && (in_field || !self.coding.frame_only) {
            (motion, found) = self.choose_motion(flags, address);
            let code = match motion {
                Motion::Field => 1,
                Motion::Frame | Motion::Split => 2,
                Motion::DualPrime => 3,
            };
            self.bits.put(code, 2);
        }
        if !in_field && !self.coding.frame_only && flags & (INTRA | PATTERN) != 0 {
            let field_dct = self.dice.chance(50);
            self.bits.put(u32::from(field_dct), 1);
        }
        if flags & QUANT != 0 {
            self.quantiser = self.dice.range(1, 31) as u8;
            self.bits.put(u32::from(self.quantiser), 5);
        }
        self.write_vectors(flags, address, motion, found);
        self.write_blocks(flags);
        self.before = flags;
    }

    fn choose_type(&mut self) -> (u8, &'static str) {
        let table: &[(u8, &str)] = match self.coding.kind {
            PictureKind::I => &TYPE_I,
            PictureKind::P => &TYPE_P,
            PictureKind::B => &TYPE_B,
            PictureKind::D => &TYPE_D,
        };
        loop {
            let (flags, kind) = table[self.dice.range(0, table.len() as i32 - 1) as usize];
            let still = flags & (INTRA | FORWARD | BACKWARD) == 0;
            let rare = flags & INTRA != 0 && self.coding.kind != PictureKind::I && self.dice.chance(60);
            if !(still && self.coding.opposite_only) && (!rare || self.coding.kind == PictureKind::D) {
                return (flags, kind);
            }
        }
    }

    /// Dual prime comes with its vector, for not every place has one.
    fn choose_motion(&mut self, flags: u8, address: usize) -> (Motion, Option<DualPrime>) {
        let forward_only = self.coding.kind == PictureKind::P && !self.coding.opposite_only;
        let tries = self.syntax.has_dual_prime() && forward_only && flags & FORWARD != 0;
        if tries
            && self.dice.chance(50)
            && let Some(found) = self.choose_dual_prime(address)
        {
            return (Motion::DualPrime, Some(found));
        }
        let motion = match (self.coding.is_field(), self.dice.chance(50)) {
            (_, true) => Motion::Field,
            (true, false) => Motion::Split,
            (false, false) => Motion::Frame,
        };
        (motion, None)
    }

    fn write_vectors(&mut self, flags: u8, address: usize, motion: Motion, dual: Option<DualPrime>) {
        let conceals = flags & INTRA != 0 && self.coding.concealment;
        if let Some(dual) = dual {
            return self.write_dual_prime(dual);
        }
        for (s, flag) in [FORWARD, BACKWARD].into_iter().enumerate() {
            if flags & flag == 0 && !(conceals && s == 0) {
                continue;
            }
            let two = motion == Motion::Split || (motion == Motion::Field && !self.coding.is_field());
            for r in 0..1 + usize::from(two) {
                if motion != Motion::Frame {
                    let own = self.coding.structure == PictureStructure::BottomField;
                    let bottom = if self.coding.opposite_only { !own } else { self.dice.chance(50) };
                    self.bits.put(u32::from(bottom), 1);
                }
                let vector = self.choose_vector(address, motion, r, s);
                let halved = motion == Motion::Field && !self.coding.is_field();
                self.write_vector(vector, r, s, halved, None);
            }
            if !two {
                self.predictors[1][s] = self.predictors[0][s];
            }
        }
        if conceals {
            self.bits.put(1, 1);
        } else if flags & INTRA != 0 || (self.coding.kind == PictureKind::P && flags & FORWARD == 0) {
            self.predictors = Default::default();
        }
    }

    /// Half samples that a component's code reaches, from the lowest to the highest.
    fn reach(&self, s: usize, t: usize) -> (i32, i32) {
        let range = 16 << (self.coding.f_code[s][t] - 1);
        (-range, range - 1)
    }

    /// The places from which a part of a macroblock may be predicted.
    fn window(&self, address: usize, motion: Motion, r: usize) -> [(i32, i32); 2] {
        let columns = self.syntax.columns();
        let (column, row) = ((address % columns) as i32, (address / columns) as i32);
        let (width, height) = (16 * columns as i32, 16 * self.rows as i32);
        let in_field = self.coding.is_field();
        // Top, lines of the part, lines of the reference.
        let (top, lines, all) = match motion {
            Motion::Frame => (16 * row, 16, height),
            Motion::Field | Motion::DualPrime if !in_field => (8 * row, 8, height / 2),
            Motion::Split => (16 * row + 8 * r as i32, 8, height),
            Motion::Field | Motion::DualPrime => (16 * row, 16, height),
        };
        [(-32 * column, 2 * (width - 16) - 32 * column), (-2 * top, 2 * (all - lines - top))]
    }

    fn is_inside(&self, address: usize, motion: Motion, r: usize, vector: Vector) -> bool {
        let [x, y] = self.window(address, motion, r);
        (x.0..=x.1).contains(&vector.0) && (y.0..=y.1).contains(&vector.1)
    }

    fn choose_vector(&mut self, address: usize, motion: Motion, r: usize, s: usize) -> Vector {
        let [x, y] = self.window(address, motion, r);
        let (reach_x, mut reach_y) = (self.reach(s, 0), self.reach(s, 1));
        if matches!(motion, Motion::Field | Motion::DualPrime) && !self.coding.is_field() {
            reach_y = (reach_y.0 / 2, reach_y.1 / 2);
        }
        let mut pick = |inside: (i32, i32), reach: (i32, i32)| {
            let (low, high) = (inside.0.max(reach.0), inside.1.min(reach.1));
            let near = self.dice.chance(50);
            if near { self.dice.range(low.max(-3), high.min(3)) } else { self.dice.range(low, high) }
        };
        (pick(x, reach_x), pick(y, reach_y))
    }

    /// Writes one vector and makes it the predictor; `halved` where the predictor counts lines of the frame and the
    /// vector lines of a field.
    fn write_vector(&mut self, vector: Vector, r: usize, s: usize, halved: bool, dual: Option<[i8; 2]>) {
        let before = self.predictors[r][s];
        self.write_component(vector.0 - before.0, self.coding.f_code[s][0]);
        if let Some(dual) = dual {
            self.write_dmvector(dual[0]);
        }
        let vertical = if halved { before.1 >> 1 } else { before.1 };
        self.write_component(vector.1 - vertical, self.coding.f_code[s][1]);
        if let Some(dual) = dual {
            self.write_dmvector(dual[1]);
        }
        self.predictors[r][s] = (vector.0, if halved { 2 * vector.1 } else { vector.1 });
    }

    fn write_component(&mut self, difference: i32, f_code: u8) {
        let size = f_code - 1;
        let range = 32 << size;
        let wrapped = (difference + range / 2).rem_euclid(range) - range / 2;
        if wrapped == 0 {
            return self.text(code(&MOTION, 0));
        }
        let magnitude = wrapped.unsigned_abs() - 1;
        self.text(code(&MOTION, (magnitude >> size) as u8 + 1));
        self.bits.put(u32::from(wrapped < 0), 1);
        self.bits.put(magnitude & ((1 << size) - 1), u32::from(size));
    }

    fn write_dmvector(&mut self, value: i8) {
        self.text(match value {
            0 => "0",
            1 => "10",
            _ => "11",
        });
    }

    /// A vector whose derived vectors stay inside, too.
    fn choose_dual_prime(&mut self, address: usize) -> Option<DualPrime> {
        (0..20).find_map(|_| {
            let vector = self.choose_vector(address, Motion::DualPrime, 0, 0);
            let difference = [self.dice.range(-1, 1) as i8, self.dice.range(-1, 1) as i8];
            let all_inside = self
                .derived(vector, difference)
                .into_iter()
                .all(|derived| self.is_inside(address, Motion::DualPrime, 0, derived));
            all_inside.then_some(DualPrime { vector, difference })
        })
    }

    /// 13818-2, 7.6.3.6: from the field of the other parity.
    fn derived(&self, vector: Vector, difference: [i8; 2]) -> Vec<Vector> {
        let derive = |periods: i32, shift: i32| {
            let scale = |value: i32| (f64::from(value * periods) / 2.0).round() as i32;
            let [dx, dy] = difference.map(i32::from);
            (scale(vector.0) + dx, scale(vector.1) + dy + shift)
        };
        match self.coding.structure {
            PictureStructure::TopField => vec![derive(1, -1)],
            PictureStructure::BottomField => vec![derive(1, 1)],
            PictureStructure::Frame if self.coding.top_field_first => vec![derive(1, -1), derive(3, 1)],
            PictureStructure::Frame => vec![derive(3, -1), derive(1, 1)],
        }
    }

    fn write_dual_prime(&mut self, dual: DualPrime) {
        self.write_vector(dual.vector, 0, 0, !self.coding.is_field(), Some(dual.difference));
        self.predictors[1][0] = self.predictors[0][0];
    }

    fn write_blocks(&mut self, flags: u8) {
        let blocks = self.syntax.chroma.blocks();
        let intra = flags & INTRA != 0;
        let pattern = match (intra, flags & PATTERN != 0) {
            (true, _) => (1 << blocks) - 1,
            (false, true) => self.write_pattern(blocks),
            (false, false) => 0,
        };
        for index in (0..blocks).filter(|index| pattern >> (blocks - 1 - index) & 1 != 0) {
            if intra {
                self.write_dc(index);
            }
            if self.coding.kind != PictureKind::D {
                self.write_codes(intra, index >= 4);
            }
        }
        if !intra {
            self.reset_dc();
        }
        if self.coding.kind == PictureKind::D {
            self.bits.put(1, 1);
        }
    }

    fn write_pattern(&mut self, blocks: usize) -> u32 {
        let extra = blocks as u32 - 6;
        let pattern = self.dice.range(1, (1 << blocks) - 1) as u32;
        let pattern = if self.dice.chance(20) { pattern & ((1 << extra) - 1) } else { pattern };
        let pattern = if pattern == 0 { 1 } else { pattern };
        self.text(code(&PATTERN_420, (pattern >> extra) as u8));
        self.bits.put(pattern & ((1 << extra) - 1), extra);
        pattern
    }

    fn write_dc(&mut self, index: usize) {
        let component = if index < 4 { 0 } else { 1 + (index & 1) };
        let (low, high) = (16 << self.coding.dc_precision, 240 << self.coding.dc_precision);
        let value = if self.dice.chance(10) { self.dc[component] } else { self.dice.range(low, high) };
        let difference = value - self.dc[component];
        self.dc[component] = value;
        let size = 32 - difference.unsigned_abs().leading_zeros();
        let table = if component == 0 { &DC_SIZE_LUMA } else { &DC_SIZE_CHROMA };
        self.text(code(table, size as u8));
        let bits = if difference < 0 { difference + (1 << size) - 1 } else { difference };
        self.bits.put(bits as u32, size);
    }

    fn write_codes(&mut self, intra: bool, chroma: bool) {
        let table_one = intra && self.coding.intra_vlc;
        let mut next = i32::from(intra);
        let count = self.dice.range(i32::from(!intra), 7);
        for i in 0..count {
            let most = if self.dice.chance(80) { 4 } else { 63 };
            let run = self.dice.range(0, most);
            // At least one code stands in a block that is not intra.
            let run = if i == 0 { run.min(63 - next) } else { run };
            if next + run > 63 {
                break;
            }
            let level = self.choose_level(intra, chroma, (next + run) as usize);
            if !intra && next == 0 && run == 0 && level.abs() == 1 {
                self.bits.put(2 | u32::from(level < 0), 2);
            } else {
                self.write_code(table_one, run, level);
            }
            next += run + 1;
        }
        self.text(if table_one { END_OF_BLOCK_ONE } else { END_OF_BLOCK_ZERO });
    }

    /// One that leaves a coefficient of 250 at most, where another than 1 does.
    fn choose_level(&mut self, intra: bool, chroma: bool, position: usize) -> i32 {
        let coding = self.coding;
        let scan = if coding.alternate_scan { &ALTERNATE } else { &ZIG_ZAG };
        let matrix = &coding.matrices[usize::from(!intra) + 2 * usize::from(chroma)];
        let scales = if coding.non_linear { &NON_LINEAR } else { &LINEAR };
        let step =
            i32::from(matrix[usize::from(scan[position])]) * i32::from(scales[usize::from(self.quantiser)]);
        let most = (250 * 16 / step).clamp(1, 255);
        let most = if self.dice.chance(60) { most.min(4) } else { most };
        let level = self.dice.range(1, most);
        if self.dice.chance(50) { -level } else { level }
    }

    fn write_code(&mut self, table_one: bool, run: i32, level: i32) {
        let own: &[Entry] = if table_one { &ONE } else { &ZERO };
        let entry =
            own.iter().chain(&COMMON).find(|&&(r, l, _)| (i32::from(r), i32::from(l)) == (run, level.abs()));
        if let Some((_, _, code)) = entry {
            self.text(code);
            return self.bits.put(u32::from(level < 0), 1);
        }
        self.text(ESCAPE);
        self.bits.put(run as u32, 6);
        match (self.syntax.mpeg2, level) {
            (true, _) => self.bits.put(level as u32 & 0xfff, 12),
            (false, -127..=127) => self.bits.put(level as u32 & 0xff, 8),
            (false, _) => self.bits.put(u32::from(level < 0) << 15 | (level as u32 & 0xff), 16),
        }
    }
}

/// A dual-prime vector, and `dmvector`.
#[derive(Debug, Clone, Copy)]
struct DualPrime {
    vector: Vector,
    difference: [i8; 2],
}

fn code(table: &[(u8, &'static str)], value: u8) -> &'static str {
    table.iter().find(|entry| entry.0 == value).expect("a code").1
}
