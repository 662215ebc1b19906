//! The codes of a block before the trellis chooses among them.

use super::lengths::{Place, RunStart, UNIT};
use crate::picture::Code;

/// Working memory for the codes of a block.
#[derive(Debug)]
pub(super) struct Scratch {
    pub(super) codes: [Candidate; 64],
}

/// What is known of a code before the choice.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Candidate {
    /// What it gains with its level, in units of bits, ...
    pub(super) gain: i32,
    /// ... and how much less with the level lowered by one.
    pub(super) loss: i32,
    /// Its place in the tables of lengths, behind the code before.
    pub(super) place: Place,
}

impl Candidate {
    /// `gain` and `loss` in units.
    #[inline(always)]
    pub(super) fn new(gain: f32, loss: f32, place: Place) -> Self {
        Self { gain: rounded(gain), loss: rounded(loss), place }
    }
}

/// A cost as an integer, between [`MOST`] and its negative: the bits of a float in whose range neighbours differ by 1.
#[inline(always)]
fn rounded(units: f32) -> i32 {
    const BASE: f32 = 12_582_912.0;
    (higher(lower(units, MOST as f32), -MOST as f32) + BASE).to_bits() as i32 - BASE.to_bits() as i32
}

/// The highest cost of a code in units: more than a block has bits, and so low that a block of them is no overflow.
pub(super) const MOST: i32 = 1 << 22;

impl Default for Scratch {
    fn default() -> Self {
        Self { codes: [Candidate::default(); 64] }
    }
}

impl Scratch {
    /// Sets what a code gains, and how much less with its level lowered by one. `run` is where its run begins.
    pub(super) fn set(
        &mut self,
        index: usize,
        gain: f32,
        loss: f32,
        (magnitude, position): (i32, u8),
        run: &mut RunStart,
    ) {
        let place = run.pass(position, magnitude.min(Code::MAGNITUDES as i32 - 1) as u8);
        self.codes[index] = Candidate::new(UNITS * gain, UNITS * loss, place);
    }

    /// The place of a code, or of the end of the block's `count` codes.
    #[inline(always)]
    pub(super) fn next(&self, index: usize, count: usize) -> Place {
        let place = self.codes[index & 63].place;
        if index < count { place } else { Place::END }
    }
}

/// [`UNIT`]
pub(super) const UNITS: f32 = UNIT as f32;

/// The higher of two values, by one instruction.
#[inline(always)]
fn higher(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

/// The lower of two values, by one instruction.
#[inline(always)]
fn lower(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_rounded() {
        let costs = [0.4, 0.6, -3.0, 4_000_000.0, -4_000_000.0, 1e30, -1e30].map(rounded);
        assert_eq!(costs, [0, 1, -3, 4_000_000, -4_000_000, MOST, -MOST]);
    }
}
