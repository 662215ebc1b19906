//! Importance of macroblocks: the weight of an error in its own picture and in the pictures predicted from it. Propagated backwards along the motion vectors of a window of pictures (as in x264's macroblock tree).

use super::picture::PictureShaper;
use crate::header::{PictureContext, PictureKind};
use crate::picture::{Block, Macroblock, MotionType, Vector};
use crate::tables::macroblock::{BACKWARD, FORWARD};

/// The share of an error's energy that remains after interpolation between two samples; its square, between four.
const HALF_SAMPLE: f32 = 0.75;
/// The share that remains after prediction by whole samples.
const WHOLE_SAMPLE: f32 = 0.9;
/// The share by the half-sample bits of the vector, horizontal in bit 0 and vertical in bit 1.
const REMAINING: [f32; 4] = [WHOLE_SAMPLE, HALF_SAMPLE, HALF_SAMPLE, HALF_SAMPLE * HALF_SAMPLE];
/// The share that remains where two predictions are averaged.
const AVERAGED: f32 = 0.35;
/// A closed loop codes the difference from a prediction anew, with the error that this has: with so many codes a block, half of the error
/// remains.
const CODES_FOR_HALF: f32 = 16.0;

/// Importance that the last reference picture of a window gathers from B pictures behind the window, ...
const FUTURE_B: f32 = 1.0;
/// ... from each picture that its GOP still has, ...
const FUTURE_EACH: f32 = 0.25;
/// ... and in all, at most, in an open loop, ...
const FUTURE_MOST: f32 = 5.0;
/// ... and in a closed one.
const FUTURE_MOST_CLOSED: f32 = 2.0;

/// What becomes of an error in the pictures that are predicted from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Propagation {
    /// The differences stay as they were coded, so nothing corrects it.
    Open,
    /// Where a difference has codes, these correct a part.
    Closed,
}

impl Propagation {
    /// The share of an error that remains where a macroblock has these blocks of luminance.
    #[inline(always)]
    fn remaining(self, luminance: &[Block]) -> f32 {
        match self {
            Propagation::Open => 1.0,
            Propagation::Closed => {
                let codes: u32 = luminance.iter().map(|block| u32::from(block.count)).sum();
                CODES_FOR_HALF / (CODES_FOR_HALF + codes as f32 / 4.0)
            }
        }
    }
}

/// Follows GOPs.
#[derive(Debug, Default)]
pub(crate) struct GopTracker {
    position: usize,
    /// Pictures of the GOP before.
    last: Option<usize>,
    /// The last picture is intra-coded. A run of such pictures begins one GOP.
    is_intra: bool,
    /// B pictures are in this GOP, or in the one before.
    with_b: [bool; 2],
}

impl GopTracker {
    /// True where a picture of this kind would begin a GOP behind others.
    pub(crate) fn begins_with(&self, kind: Option<PictureKind>) -> bool {
        kind == Some(PictureKind::I) && !self.is_intra && self.position > 0
    }

    /// Adds the next picture.
    pub(crate) fn push(&mut self, kind: Option<PictureKind>) {
        if self.begins_with(kind) {
            self.last = Some(self.position);
            self.position = 0;
            self.with_b = [false, self.with_b[0]];
        }
        self.position += 1;
        self.is_intra = kind == Some(PictureKind::I);
        self.with_b[0] |= kind == Some(PictureKind::B);
    }

    pub(crate) fn position(&self) -> usize {
        self.position
    }

    /// The importance that the last reference picture so far gathers from later pictures, without its limit. Assumes that the GOP is as long as the one
    /// before, and the first GOP twice as long as it is so far.
    pub(crate) fn future_importance(&self) -> f32 {
        let with_b = if self.with_b.contains(&true) { FUTURE_B } else { 0.0 };
        let to_come = self.last.map_or(self.position, |last| last.saturating_sub(self.position));
        with_b + FUTURE_EACH * to_come as f32
    }
}

/// Importance that a picture gathers from others, by macroblock of the frame.
#[derive(Debug, Clone, Default)]
struct Grid {
    columns: usize,
    rows: usize,
    /// With one more column and row, whose values are not used.
    gathered: Vec<f32>,
}

impl Grid {
    fn new(columns: usize, rows: usize, start: f32) -> Self {
        Self { columns, rows, gathered: vec![start; (columns + 1) * (rows + 1)] }
    }

    fn at(&self, column: usize, row: usize) -> usize {
        row * (self.columns + 1) + column
    }

    /// Adds what of `amount` remains to where the vectors of a macroblock point to.
    #[inline(always)]
    fn add_moved(&mut self, cells: Cells, vectors: [Vector; 2], in_lines: bool, amount: f32) {
        // A single vector stands in both places. Nearly all are so, in pictures of whole frames.
        if cells.count == 1 && vectors[0] == vectors[1] {
            self.add_vector(cells, vectors[0], in_lines, amount * remaining(vectors[0]));
        } else {
            self.add_parts(cells, vectors, in_lines, amount);
        }
    }

    #[inline(never)]
    fn add_parts(&mut self, cells: Cells, vectors: [Vector; 2], in_lines: bool, amount: f32) {
        let (share, vectors) =
            if vectors[0] == vectors[1] { (1.0, &vectors[..1]) } else { (0.5, &vectors[..]) };
        for &vector in vectors {
            let amount = share * amount * remaining(vector) / cells.count as f32;
            for i in 0..cells.count {
                self.add_vector(Cells { row: cells.row + i, ..cells }, vector, in_lines, amount);
            }
        }
    }

    /// Adds `amount` to where a vector from the first of the cells points to.
    #[inline(always)]
    fn add_vector(&mut self, Cells { column, row, .. }: Cells, vector: Vector, in_lines: bool, amount: f32) {
        let down = i32::from(vector.y) * if in_lines { 2 } else { 1 };
        self.add(32 * column as i32 + i32::from(vector.x), 32 * row as i32 + down, amount);
    }

    /// Adds `amount` to the macroblocks that the one at (`x`, `y`), in half samples, overlaps.
    #[inline(always)]
    fn add(&mut self, x: i32, y: i32, amount: f32) {
        let (x, y) = (x.clamp(0, 32 * (self.columns as i32 - 1)), y.clamp(0, 32 * (self.rows as i32 - 1)));
        // They are not negative, and so the remainder is a mask.
        let (x, y) = (x as u32, y as u32);
        let (right, down) = ((x % 32) as i32 as f32 / 32.0, (y % 32) as i32 as f32 / 32.0);
        let at = self.at(x as usize / 32, y as usize / 32);
        let below = at + self.columns + 1;
        // Always two rows of two: a branch on the overlap would be unpredictable.
        if let Some(cells) = self.gathered.get_mut(at..below + 2) {
            let (above, below) = cells.split_at_mut(self.columns + 1);
            above[0] += amount * (1.0 - right) * (1.0 - down);
            above[1] += amount * right * (1.0 - down);
            below[0] += amount * (1.0 - right) * down;
            below[1] += amount * right * down;
        }
    }
}

/// The share of an error that remains after prediction with a vector.
#[inline(always)]
fn remaining(vector: Vector) -> f32 {
    REMAINING[usize::from(vector.y as u8 & 1) << 1 | usize::from(vector.x as u8 & 1)]
}

/// Fills `importance` of each picture: one weight a macroblock, at least 1. `future` is the importance that the newest
/// reference picture gathers from pictures behind the window.
pub(crate) fn weigh(pictures: &mut [PictureShaper], future: f32, propagation: Propagation) {
    let future = future.min(match propagation {
        Propagation::Open => FUTURE_MOST,
        Propagation::Closed => FUTURE_MOST_CLOSED,
    });
    let references = reference_pictures(pictures);
    let mut grids: Vec<Option<Grid>> = vec![None; pictures.len()];
    let newest = pictures.iter().rposition(is_reference);
    for index in (0..pictures.len()).rev() {
        let Some(context) = pictures[index].context.clone() else { continue };
        let (columns, rows) = frame_grid(&context);
        let start = if Some(index) == newest { future } else { 0.0 };
        let own = grids[index].take().unwrap_or_else(|| Grid::new(columns, rows, start));
        // A new sequence header may have changed the size; nothing is predicted across it.
        let is_alike = |&reference: &usize| {
            pictures[reference].context.as_ref().map(frame_grid) == Some((columns, rows))
        };
        let references = references[index].map(|reference| reference.filter(is_alike));
        let mut gathered = references.map(|reference| {
            let start = if reference == newest { future } else { 0.0 };
            reference
                .map(|reference| grids[reference].take().unwrap_or_else(|| Grid::new(columns, rows, start)))
        });
        propagate(&mut pictures[index], &context, propagation, &own, &mut gathered);
        for (reference, grid) in references.into_iter().zip(gathered) {
            if let Some(reference) = reference {
                grids[reference] = grid;
            }
        }
    }
}

/// What the references gather, forward and backward, where they are in the window.
type Gathered = [Option<Grid>; 2];

fn is_reference(picture: &PictureShaper) -> bool {
    picture.context.as_ref().is_some_and(|context| matches!(context.kind(), PictureKind::I | PictureKind::P))
}

/// The pictures that forward and backward vectors of each picture point to, where they are in the window. The second
/// field of a frame is treated as predicted from the references of the first.
fn reference_pictures(pictures: &[PictureShaper]) -> Vec<[Option<usize>; 2]> {
    let (mut older, mut newer) = (None, None);
    let mut references = Vec::with_capacity(pictures.len());
    for (index, picture) in pictures.iter().enumerate() {
        references.push(match picture.context.as_ref().map(PictureContext::kind) {
            Some(PictureKind::B) => [older, newer],
            Some(PictureKind::P) => [newer, None],
            _ => [None, None],
        });
        if is_reference(picture) {
            (older, newer) = (newer, Some(index));
        }
    }
    references
}

/// Columns and rows of macroblocks of the whole frame.
fn frame_grid(context: &PictureContext) -> (usize, usize) {
    (context.columns, if context.is_field() { 2 * context.rows } else { context.rows })
}

/// The frame's macroblocks that a macroblock covers: one, or two in a field picture.
#[derive(Debug, Clone, Copy)]
struct Cells {
    column: usize,
    /// The first one.
    row: usize,
    count: usize,
}

impl Cells {
    #[inline(always)]
    fn of(context: &PictureContext, address: u32) -> Self {
        // In 32 bits, because a division of 64 takes longer.
        let columns = context.columns as u32;
        let (column, row) = ((address % columns) as usize, (address / columns) as usize);
        if context.is_field() {
            Self { column, row: 2 * row, count: 2 }
        } else {
            Self { column, row, count: 1 }
        }
    }

    /// Weight of an error in them: 1 for their own picture, and what they gather from others.
    #[inline(always)]
    fn weight(self, grid: &Grid) -> f32 {
        let sum: f32 = (0..self.count).map(|i| grid.gathered[grid.at(self.column, self.row + i)]).sum();
        1.0 + sum / self.count as f32
    }
}

/// Weighs the macroblocks of a picture by what it gathered, and passes their weights on to its references.
fn propagate(
    picture: &mut PictureShaper,
    context: &PictureContext,
    propagation: Propagation,
    own: &Grid,
    gathered: &mut Gathered,
) {
    let (parsed, importance) = (&picture.parsed, &mut picture.importance);
    importance.clear();
    importance.resize(parsed.macroblocks.len(), 1.0);
    for slice in &parsed.slices {
        let mut before: Option<&Macroblock> = None;
        let macroblocks = &parsed.macroblocks[slice.macroblocks.clone()];
        for (macroblock, importance) in macroblocks.iter().zip(&mut importance[slice.macroblocks.clone()]) {
            if let Some(before) = before {
                for address in before.address + 1..macroblock.address {
                    propagate_skipped(context, before, Cells::of(context, address), own, gathered);
                }
            }
            let cells = Cells::of(context, macroblock.address);
            *importance = cells.weight(own);
            let luminance = &parsed.blocks_of(macroblock)[..usize::from(macroblock.luma_blocks)];
            let remaining = *importance * propagation.remaining(luminance);
            propagate_coded(context, macroblock, cells, remaining, gathered);
            before = Some(macroblock);
        }
    }
}

fn propagate_skipped(
    context: &PictureContext,
    before: &Macroblock,
    cells: Cells,
    own: &Grid,
    gathered: &mut Gathered,
) {
    if context.kind() == PictureKind::B {
        propagate_coded(context, before, cells, 1.0, gathered);
    } else if let [Some(grid), _] = gathered {
        grid.add_moved(cells, [Vector::default(); 2], false, cells.weight(own));
    }
}

#[inline(always)]
fn propagate_coded(
    context: &PictureContext,
    macroblock: &Macroblock,
    cells: Cells,
    importance: f32,
    gathered: &mut Gathered,
) {
    if macroblock.is_intra() {
        return;
    }
    let still = context.kind() == PictureKind::P && macroblock.flags & FORWARD == 0;
    let in_lines = context.is_field() || macroblock.motion != MotionType::Frame;
    let both = macroblock.has(FORWARD | BACKWARD) || macroblock.motion == MotionType::DualPrime;
    let averaged = if both { AVERAGED } else { 1.0 };
    for (s, grid) in gathered.iter_mut().enumerate() {
        let Some(grid) = grid.as_mut().filter(|_| still || macroblock.has([FORWARD, BACKWARD][s])) else {
            continue;
        };
        let vectors = if still { [Vector::default(); 2] } else { macroblock.vectors[s] };
        grid.add_moved(cells, vectors, in_lines, importance * averaged);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weighed(propagation: Propagation) -> Vec<PictureShaper> {
        let mut pictures = PictureShaper::all_of(include_bytes!("../../tests/fixtures/elementary.m2v"));
        pictures.truncate(12);
        weigh(&mut pictures, 0.0, propagation);
        pictures
    }

    #[test]
    fn codes_correct_errors_in_a_closed_loop_only() {
        let sum = |picture: &PictureShaper| picture.importance.iter().sum::<f32>();
        let (open, closed) = (weighed(Propagation::Open), weighed(Propagation::Closed));
        for (open, closed) in open.iter().zip(&closed) {
            assert!(open.importance.iter().zip(&closed.importance).all(|(open, closed)| closed <= open));
            assert!(closed.importance.iter().all(|&weight| weight >= 1.0));
        }
        let (open, closed) = (sum(&open[0]), sum(&closed[0]));
        assert!((0.3..0.9).contains(&(closed / open)), "{closed} of {open}");
    }

    #[test]
    fn sixteen_codes_a_block_halve_an_error() {
        let block = Block { start: 0, first: 0, dc: 0, count: 16, kind: 0 };
        assert_eq!(Propagation::Closed.remaining(&[block; 4]), 0.5);
        // Of four blocks one has codes.
        assert_eq!(Propagation::Closed.remaining(&[block]), 0.8);
        assert_eq!(Propagation::Closed.remaining(&[]), 1.0);
        assert_eq!(Propagation::Open.remaining(&[block; 4]), 1.0);
    }
}
