//! Motion vector syntax and prediction of vectors (13818-2, 6.2.5.2 and 7.6.3).

use crate::bits::{BitReader, BitWriter};
use crate::decode::predict;
use crate::header::PictureContext;
use crate::picture::{Damage, MotionType, Vector, Vectors};
use crate::tables::macroblock::{BACKWARD, FORWARD};
use crate::vlc;

/// `PMV`, the predictors of one slice, in the units of the vectors they predict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Predictors {
    /// `PMV[r][s]` as `[s][r]`.
    pub(crate) vectors: Vectors,
}

/// The content of `motion_vectors(s)`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Motion {
    pub(crate) vectors: [Vector; 2],
    /// `motion_vertical_field_select` of the first and second vector.
    pub(crate) bottom: [bool; 2],
    pub(crate) dmvector: [i8; 2],
}

impl Predictors {
    pub(crate) fn reset(&mut self) {
        self.vectors = Vectors::default();
    }

    /// Reads `motion_vectors(s)` and brings the predictors up to date (7.6.3.1, 7.6.3.3).
    #[inline]
    pub(crate) fn read(
        &mut self,
        reader: &mut BitReader<'_>,
        context: &PictureContext,
        motion: MotionType,
        s: usize,
    ) -> Result<Motion, Damage> {
        if is_plain(context, motion, s) {
            let vector = self.read_plain(reader, context, s)?;
            return Ok(Motion { vectors: [vector; 2], bottom: [false; 2], dmvector: [0; 2] });
        }
        self.read_any(reader, context, motion, s)
    }

    /// The same for a vector that [`is_plain`].
    // It is returned by itself: two vectors that are stored in parts and loaded as a whole make the processor wait.
    #[inline(always)]
    pub(crate) fn read_plain(
        &mut self,
        reader: &mut BitReader<'_>,
        context: &PictureContext,
        s: usize,
    ) -> Result<Vector, Damage> {
        reader.refill();
        let [across, down] = context.coding.f_code[s];
        let before = self.vectors[s][0];
        let x = read_component(reader, across, before.x)?;
        let y = read_component(reader, down, before.y)?;
        let vector = Vector { x, y };
        self.vectors[s] = [vector; 2];
        Ok(vector)
    }

    /// The same for vectors of any kind.
    #[inline(never)]
    fn read_any(
        &mut self,
        reader: &mut BitReader<'_>,
        context: &PictureContext,
        motion: MotionType,
        s: usize,
    ) -> Result<Motion, Damage> {
        let (two, selects) = (has_two(context, motion), has_select(context, motion));
        let mut dmvector = [0; 2];
        let first_bottom = selects && reader.flag();
        let (predictor, first) = read_vector(reader, context, motion, s, self.vectors[s][0], &mut dmvector)?;
        if !two {
            self.vectors[s] = [predictor; 2];
            return Ok(Motion { vectors: [first; 2], bottom: [first_bottom, false], dmvector });
        }
        self.vectors[s][0] = predictor;
        let second_bottom = reader.flag();
        let (predictor, second) = read_vector(reader, context, motion, s, self.vectors[s][1], &mut dmvector)?;
        self.vectors[s][1] = predictor;
        Ok(Motion { vectors: [first, second], bottom: [first_bottom, second_bottom], dmvector })
    }
}

/// Vectors that are written; none of them in full pixels.
impl Predictors {
    /// Brings the predictors up to date behind a macroblock with this motion.
    pub(crate) fn follow(&mut self, context: &PictureContext, motion: &predict::Motion) {
        for s in directions(motion) {
            let frame_lines = u8::from(is_halved(context, motion.motion));
            let predictor = |vector: Vector| Vector { y: vector.y << frame_lines, ..vector };
            let [first, second] = motion.vectors[s].map(predictor);
            self.vectors[s] = [first, if has_two(context, motion.motion) { second } else { first }];
        }
    }

    /// Brings the predictors up to date behind a macroblock with this motion: without vectors, as "no MC" of a P picture, it resets them.
    pub(crate) fn pass(&mut self, context: &PictureContext, motion: &predict::Motion, has_vectors: bool) {
        if has_vectors { self.follow(context, motion) } else { self.reset() }
    }

    /// True where both predict the vectors of this motion alike.
    pub(crate) fn agree(&self, other: &Self, motion: &predict::Motion) -> bool {
        directions(motion).all(|s| self.vectors[s] == other.vectors[s])
    }

    /// Bits of `motion_vectors` for all directions.
    pub(crate) fn bits(&self, context: &PictureContext, motion: &predict::Motion) -> u32 {
        let selects = u32::from(has_select(context, motion.motion));
        let vector_bits = |s: usize, r: usize| -> u32 {
            let differences = self.differences(context, motion, s, r).into_iter();
            differences
                .zip(context.coding.f_code[s])
                .zip(dual_prime(motion))
                .map(|((value, f_code), delta)| {
                    component_bits(value, f_code) + delta.map_or(0, dmvector_bits)
                })
                .sum()
        };
        let of =
            |s: usize| (0..count(context, motion.motion)).map(|r| selects + vector_bits(s, r)).sum::<u32>();
        directions(motion).map(of).sum()
    }

    /// Writes `motion_vectors` for all directions.
    pub(crate) fn write(&self, writer: &mut BitWriter, context: &PictureContext, motion: &predict::Motion) {
        for s in directions(motion) {
            for r in 0..count(context, motion.motion) {
                if has_select(context, motion.motion) {
                    writer.put(u32::from(motion.field_select >> (2 * r + s) & 1), 1);
                }
                let differences = self.differences(context, motion, s, r).into_iter();
                let components = differences.zip(context.coding.f_code[s]).zip(dual_prime(motion));
                for ((difference, f_code), delta) in components {
                    write_component(writer, difference, f_code);
                    if let Some(delta) = delta {
                        write_dmvector(writer, delta);
                    }
                }
            }
        }
    }

    /// A vector less its predictor.
    fn differences(
        &self,
        context: &PictureContext,
        motion: &predict::Motion,
        s: usize,
        r: usize,
    ) -> [i32; 2] {
        let (vector, predictor) = (motion.vectors[s][r], self.vectors[s][r]);
        let y = predictor.y >> u8::from(is_halved(context, motion.motion));
        [i32::from(vector.x) - i32::from(predictor.x), i32::from(vector.y) - i32::from(y)]
    }
}

/// The directions of a motion: 0 forward, 1 backward.
pub(crate) fn directions(motion: &predict::Motion) -> impl Iterator<Item = usize> + use<> {
    let flags = motion.flags;
    [FORWARD, BACKWARD].into_iter().enumerate().filter(move |(_, flag)| flags & flag != 0).map(|(s, _)| s)
}

/// True for a vector of a whole frame in half samples.
#[inline]
pub(crate) fn is_plain(context: &PictureContext, motion: MotionType, s: usize) -> bool {
    motion == MotionType::Frame && !context.header.full_pel[s]
}

/// In frame pictures field and dual-prime vectors are in field lines, predictors in frame lines.
fn is_halved(context: &PictureContext, motion: MotionType) -> bool {
    !context.is_field() && motion != MotionType::Frame
}

/// True where each direction has two vectors.
pub(crate) fn has_two(context: &PictureContext, motion: MotionType) -> bool {
    matches!((motion, context.is_field()), (MotionType::Field, false) | (MotionType::Split, _))
}

fn count(context: &PictureContext, motion: MotionType) -> usize {
    1 + usize::from(has_two(context, motion))
}

/// True where `motion_vertical_field_select` stands before each vector.
fn has_select(context: &PictureContext, motion: MotionType) -> bool {
    has_two(context, motion) || (context.is_field() && motion == MotionType::Field)
}

/// A difference as `motion_code`, its sign and `motion_residual` (the inverse of 7.6.3.1), and the bits of the latter.
fn component(difference: i32, f_code: u8) -> (u8, bool, u32, u32) {
    // With a forbidden f_code predictors are zero.
    let residual_bits = u32::from(f_code.clamp(1, 9)) - 1;
    let range = 32 << residual_bits;
    let difference = (difference + range / 2).rem_euclid(range) - range / 2;
    if difference == 0 {
        return (0, false, 0, 0);
    }
    let magnitude = difference.unsigned_abs() - 1;
    let residual = magnitude & ((1 << residual_bits) - 1);
    ((magnitude >> residual_bits) as u8 + 1, difference < 0, residual, residual_bits)
}

fn component_bits(difference: i32, f_code: u8) -> u32 {
    let (code, _, _, residual_bits) = component(difference, f_code);
    vlc::MOTION.length(code) + if code == 0 { 0 } else { 1 + residual_bits }
}

/// Writes one component of a vector difference.
pub(crate) fn write_component(writer: &mut BitWriter, difference: i32, f_code: u8) {
    let (code, is_negative, residual, residual_bits) = component(difference, f_code);
    vlc::MOTION.write(writer, code);
    if code != 0 {
        writer.put(u32::from(is_negative), 1);
        writer.put(residual, residual_bits);
    }
}

/// Reads one vector; returns the new predictor and the vector.
#[inline(always)]
fn read_vector(
    reader: &mut BitReader<'_>,
    context: &PictureContext,
    motion: MotionType,
    s: usize,
    predictor: Vector,
    dmvector: &mut [i8; 2],
) -> Result<(Vector, Vector), Damage> {
    let f_code = context.coding.f_code[s];
    let halved = is_halved(context, motion);
    let full_pel = context.header.full_pel[s];

    // Two components and their dmvectors take 42 bits at most.
    reader.refill();
    let x = read_component(reader, f_code[0], predictor.x)?;
    if motion == MotionType::DualPrime {
        dmvector[0] = read_dmvector(reader);
    }
    let y_predictor = if halved { predictor.y >> 1 } else { predictor.y };
    let y = read_component(reader, f_code[1], y_predictor)?;
    if motion == MotionType::DualPrime {
        dmvector[1] = read_dmvector(reader);
    }
    let next_predictor = Vector { x, y: if halved { y << 1 } else { y } };
    Ok((next_predictor, if full_pel { Vector { x: x << 1, y: y << 1 } } else { Vector { x, y } }))
}

/// A difference whose code has at most [`Short::WIDTH`] bits.
#[derive(Debug, Clone, Copy)]
struct Short {
    difference: i16,
    /// 0 where the code is longer, or undefined.
    bits: u16,
}

impl Short {
    const WIDTH: u32 = 11;

    /// By the next bits, for an `f_code`.
    const fn table(f_code: u32) -> [Self; 1 << Self::WIDTH] {
        let mut table = [Self { difference: 0, bits: 0 }; 1 << Self::WIDTH];
        let mut bits = 0;
        while bits < table.len() {
            let (magnitude, length) = vlc::MOTION_CODES.at(bits >> (Self::WIDTH - 10));
            let all = length + if magnitude > 0 { f_code } else { 0 };
            if length > 0 && all <= Self::WIDTH {
                let rest = bits as u32 >> (Self::WIDTH - all);
                let residual = rest & ((1 << (f_code - 1)) - 1);
                let negative = rest >> (f_code - 1) & 1 != 0;
                let size = if magnitude > 0 { ((magnitude - 1) << (f_code - 1)) + residual + 1 } else { 0 };
                let difference = if negative && magnitude > 0 { -(size as i16) } else { size as i16 };
                table[bits] = Self { difference, bits: all as u16 };
            }
            bits += 1;
        }
        table
    }
}

/// By `f_code`, from 1 on.
static SHORT: [[Short; 1 << Short::WIDTH]; 9] = {
    let mut tables = [[Short { difference: 0, bits: 0 }; 1 << Short::WIDTH]; 9];
    let mut i = 0;
    while i < 9 {
        tables[i] = Short::table(i as u32 + 1);
        i += 1;
    }
    tables
};

/// Reads one component: `motion_code`, `motion_residual`, and the wrap into the range of `f_code`. 19 bits must be
/// available.
#[inline(always)]
fn read_component(reader: &mut BitReader<'_>, f_code: u8, predictor: i16) -> Result<i16, Damage> {
    let table = SHORT.get(usize::from(f_code).wrapping_sub(1));
    let short = table.map(|table| table[reader.peek(Short::WIDTH) as usize]);
    let Some(Short { difference, bits }) = short.filter(|short| short.bits > 0) else {
        return read_long_component(reader, f_code, predictor);
    };
    reader.skip(u32::from(bits));
    // Values wrap into a range of 16 << f_code around 0, by sign extension.
    let unused = 28 - u32::from(f_code);
    let sum = i32::from(predictor) + i32::from(difference);
    Ok(std::hint::select_unpredictable(difference != 0, (sum << unused >> unused) as i16, predictor))
}

/// The same for a code of any length.
#[cold]
fn read_long_component(reader: &mut BitReader<'_>, f_code: u8, predictor: i16) -> Result<i16, Damage> {
    let magnitude = i32::from(vlc::MOTION.read(reader).ok_or(Damage::Code)?);
    let moves = magnitude != 0;
    if !(1..=9).contains(&f_code) {
        return if moves { Err(Damage::Code) } else { Ok(predictor) };
    }
    let residual_bits = u32::from(f_code) - 1;
    let word = reader.peek(1 + residual_bits) as i32;
    reader.skip(if moves { 1 + residual_bits } else { 0 });
    let residual = word & ((1 << residual_bits) - 1);
    let delta = ((magnitude - 1) << residual_bits) + residual + 1;
    let negative = word >> residual_bits;
    // Values wrap into a range of 32 << residual_bits around 0, by sign extension.
    let unused = 27 - residual_bits;
    let sum = i32::from(predictor) + ((delta ^ -negative) + negative);
    Ok(std::hint::select_unpredictable(moves, (sum << unused >> unused) as i16, predictor))
}

/// `dmvector` behind each component, where there are any.
fn dual_prime(motion: &predict::Motion) -> [Option<i8>; 2] {
    motion.dmvector.map(|delta| (motion.motion == MotionType::DualPrime).then_some(delta))
}

fn dmvector_bits(delta: i8) -> u32 {
    if delta == 0 { 1 } else { 2 }
}

/// 13818-2, table B.11.
fn write_dmvector(writer: &mut BitWriter, delta: i8) {
    writer.put([0b11, 0, 0b10][(delta.signum() + 1) as usize], dmvector_bits(delta));
}

fn read_dmvector(reader: &mut BitReader<'_>) -> i8 {
    match (reader.flag(), reader.clone().flag()) {
        (false, _) => 0,
        (true, negative) => {
            reader.skip(1);
            if negative { -1 } else { 1 }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header::PictureStructure;

    fn component(f_code: u8, predictor: i16, magnitude: u8, negative: bool, residual: u32) -> i16 {
        let mut writer = BitWriter::default();
        vlc::MOTION.write(&mut writer, magnitude);
        if magnitude > 0 {
            writer.put(u32::from(negative), 1);
            writer.put(residual, u32::from(f_code) - 1);
        }
        let bytes = writer.finish();
        read_component(&mut BitReader::new(&bytes), f_code, predictor).unwrap()
    }

    #[test]
    fn components_wrap_into_their_range() {
        assert_eq!(component(1, 5, 0, false, 0), 5);
        assert_eq!(component(1, 5, 3, true, 0), 2);
        assert_eq!(component(1, 10, 10, false, 0), 20 - 32);
        assert_eq!(component(3, 0, 2, false, 1), (1 << 2) + 1 + 1);
        assert_eq!(component(2, -30, 2, true, 1), -34 + 64);
    }

    /// A context for vectors: a frame or a field, with these `f_code`.
    fn context(structure: PictureStructure, f_code: u8) -> PictureContext {
        let mut context = PictureContext::of_fixture();
        context.coding.structure = structure;
        context.coding.f_code = [[f_code; 2]; 2];
        context
    }

    #[test]
    fn vectors_that_are_written_are_read_again() {
        use MotionType::{Field, Frame, Split};
        let both = FORWARD | BACKWARD;
        let frame = [(Frame, both), (Field, both), (Field, BACKWARD), (Frame, FORWARD)];
        let field = [(Field, both), (Split, both), (Split, FORWARD), (Field, BACKWARD)];
        for (structure, kinds) in [(PictureStructure::Frame, frame), (PictureStructure::BottomField, field)] {
            for f_code in 1..=4 {
                let context = context(structure, f_code);
                let (mut writes, mut reads) = (Predictors::default(), Predictors::default());
                for (turn, (kind, flags)) in kinds.into_iter().cycle().take(200).enumerate() {
                    let most = if is_halved(&context, kind) { 4 << f_code } else { 8 << f_code };
                    let number = |seed: i32| ((seed * 7919) % (2 * most) - most) as i16;
                    let vector = |seed| Vector { x: number(seed), y: number(seed + 3) };
                    let vectors = [0, 1].map(|s| {
                        let first = vector(5 * turn as i32 + s);
                        [first, if has_two(&context, kind) { vector(11 * turn as i32 - s) } else { first }]
                    });
                    let select = if has_two(&context, kind) {
                        0b1111
                    } else {
                        u8::from(has_select(&context, kind)) * 0b11
                    };
                    let field_select = turn as u8 & select;
                    let motion =
                        predict::Motion { flags, motion: kind, vectors, field_select, dmvector: [0; 2] };
                    let mut writer = BitWriter::default();
                    writes.write(&mut writer, &context, &motion);
                    assert_eq!(writer.bit_length() as u32, writes.bits(&context, &motion), "{motion:?}");
                    writes.follow(&context, &motion);
                    let bytes = writer.finish();
                    let mut reader = BitReader::new(&bytes);
                    for s in directions(&motion) {
                        let found = reads.read(&mut reader, &context, kind, s).unwrap();
                        assert_eq!(found.vectors, vectors[s], "{motion:?}, {s}");
                        let bottom = [0, 1].map(|r| field_select >> (2 * r + s) & 1 != 0);
                        assert_eq!(found.bottom, bottom, "{motion:?}, {s}");
                    }
                    assert_eq!(writes, reads, "{motion:?}");
                }
            }
        }
    }

    #[test]
    fn vectors_of_dual_prime_are_written_with_their_differences() {
        let context = context(PictureStructure::Frame, 2);
        let (mut writes, mut reads) = (Predictors::default(), Predictors::default());
        for (x, y, dmvector) in [(5, -3, [0, 1]), (5, -3, [-1, 0]), (-7, 8, [1, -1])] {
            let motion = predict::Motion {
                flags: FORWARD,
                motion: MotionType::DualPrime,
                vectors: [[Vector { x, y }; 2]; 2],
                field_select: 0,
                dmvector,
            };
            let mut writer = BitWriter::default();
            writes.write(&mut writer, &context, &motion);
            assert_eq!(writer.bit_length() as u32, writes.bits(&context, &motion));
            writes.follow(&context, &motion);
            let bytes = writer.finish();
            let found = reads.read(&mut BitReader::new(&bytes), &context, MotionType::DualPrime, 0).unwrap();
            assert_eq!((found.vectors[0], found.dmvector), (Vector { x, y }, dmvector));
            assert_eq!(writes, reads);
        }
    }
}
