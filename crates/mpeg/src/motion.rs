//! Motion vector syntax and prediction of vectors (13818-2, 6.2.5.2 and 7.6.3).

use crate::bits::BitReader;
use crate::header::PictureContext;
use crate::picture::{Damage, MotionType, Vector, Vectors};
use crate::vlc;

/// `PMV`, the predictors of one slice, in the units of the vectors they predict.
#[derive(Debug, Clone, Default)]
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
        if motion == MotionType::Frame && !context.header.full_pel[s] {
            reader.refill();
            let [across, down] = context.coding.f_code[s];
            let before = self.vectors[s][0];
            let x = read_component(reader, across, before.x)?;
            let y = read_component(reader, down, before.y)?;
            self.vectors[s] = [Vector { x, y }; 2];
            return Ok(Motion { vectors: self.vectors[s], bottom: [false; 2], dmvector: [0; 2] });
        }
        self.read_any(reader, context, motion, s)
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
        let in_field = context.is_field();
        let two = matches!((motion, in_field), (MotionType::Field, false) | (MotionType::Split, _));
        let selects = two || (in_field && motion == MotionType::Field);
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
    // In frame pictures field and dual-prime vectors are in field lines, predictors in frame lines.
    let halved = !context.is_field() && motion != MotionType::Frame;
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
    use crate::bits::BitWriter;

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
}
