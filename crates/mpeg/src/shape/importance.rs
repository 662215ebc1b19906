//! How far an error spreads: each macroblock's distortion weighs as much as it will be seen, in its own picture
//! and in those predicted from it. Worked out backwards along the vectors of a window of pictures.

use super::work::Work;
use crate::header::{PictureContext, PictureKind};
use crate::picture::{Macroblock, MotionType, Vector};
use crate::tables::macroblock::{BACKWARD, FORWARD};

/// What is left of an error's energy after interpolation between two samples, and between four.
const HALF_SAMPLE: f32 = 0.7;
/// What is left of an error's energy in prediction by whole samples: a part is coded anew.
const WHOLE_SAMPLE: f32 = 0.9;
/// By whether the vector lies between samples, across in bit 0 and down in bit 1.
const KEPT: [f32; 4] = [WHOLE_SAMPLE, HALF_SAMPLE, HALF_SAMPLE, HALF_SAMPLE * HALF_SAMPLE];
/// What is left of an error's energy where two predictions are averaged.
const AVERAGED: f32 = 0.25;

/// What the last reference picture of a window passes on to the next window: where its group of pictures ends with it and
/// B pictures still come that are predicted from it, for each picture of its group that is still to come, and at most.
const BEYOND: f32 = 1.0;
const BEYOND_EACH: f32 = 0.25;
const BEYOND_MOST: f32 = 5.0;

/// How long groups of pictures are.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    /// Pictures from the newest I picture on, and from the one before it up to it.
    since_intra: usize,
    last: Option<usize>,
}

impl Groups {
    /// The next picture begins a group.
    pub(crate) fn begin(&mut self) {
        self.last = Some(self.since_intra);
        self.since_intra = 0;
    }

    /// Counts a picture.
    pub(crate) fn count(&mut self) {
        self.since_intra += 1;
    }

    /// Pictures of the group so far.
    pub(crate) fn since_intra(&self) -> usize {
        self.since_intra
    }

    /// What the last reference picture of a window, which ends with the newest picture, is going to pass on: if groups
    /// stay as long as the last whole one; the first may last as long again.
    pub(crate) fn beyond(&self, works: &[Work]) -> f32 {
        let kind = |work: &Work| work.context.as_ref().map(PictureContext::kind);
        let with_b = works.iter().any(|work| kind(work) == Some(PictureKind::B));
        let to_come = self.last.map_or(self.since_intra, |last| last.saturating_sub(self.since_intra));
        f32::min(if with_b { BEYOND } else { 0.0 } + BEYOND_EACH * to_come as f32, BEYOND_MOST)
    }
}

/// Importance that a picture has gathered, by macroblock of the frame.
#[derive(Debug, Clone, Default)]
struct Grid {
    columns: usize,
    rows: usize,
    /// With a column and a row more, in which nothing gathers.
    gathered: Vec<f32>,
}

impl Grid {
    fn new(columns: usize, rows: usize, start: f32) -> Self {
        Self { columns, rows, gathered: vec![start; (columns + 1) * (rows + 1)] }
    }

    fn at(&self, column: usize, row: usize) -> usize {
        row * (self.columns + 1) + column
    }

    /// Spreads `amount` over the macroblocks around a place given in half samples.
    #[inline]
    fn spread(&mut self, x: i32, y: i32, amount: f32) {
        let (x, y) = (x.clamp(0, 32 * (self.columns as i32 - 1)), y.clamp(0, 32 * (self.rows as i32 - 1)));
        let (right, down) = ((x % 32) as f32 / 32.0, (y % 32) as f32 / 32.0);
        let at = self.at(x as usize / 32, y as usize / 32);
        let below = at + self.columns + 1;
        // Two rows of two; without a branch on whether the place lies between them, for none could be foreseen.
        if let Some(cells) = self.gathered.get_mut(at..below + 2) {
            let (above, below) = cells.split_at_mut(self.columns + 1);
            above[0] += amount * (1.0 - right) * (1.0 - down);
            above[1] += amount * right * (1.0 - down);
            below[0] += amount * (1.0 - right) * down;
            below[1] += amount * right * down;
        }
    }
}

/// Fills `importance` of each work: one weight a macroblock, at least 1. `beyond` is what the newest reference
/// picture is assumed to gather from pictures that are not in the window.
pub(crate) fn weigh(works: &mut [Work], beyond: f32) {
    let references = reference_pictures(works);
    let mut grids: Vec<Option<Grid>> = vec![None; works.len()];
    let newest = works.iter().rposition(is_reference);
    for index in (0..works.len()).rev() {
        let Some(context) = works[index].context.clone() else { continue };
        let (columns, rows) = frame_grid(&context);
        let start = if Some(index) == newest { beyond } else { 0.0 };
        let own = grids[index].take().unwrap_or_else(|| Grid::new(columns, rows, start));
        fill(&mut works[index], &context, &own);
        for (s, &reference) in references[index].iter().enumerate() {
            let Some(reference) = reference else { continue };
            // A new sequence header may have changed the size in between: nothing is predicted across it.
            if works[reference].context.as_ref().map(frame_grid) != Some((columns, rows)) {
                continue;
            }
            let start = if Some(reference) == newest { beyond } else { 0.0 };
            let grid = grids[reference].get_or_insert_with(|| Grid::new(columns, rows, start));
            propagate(&works[index], &context, s, &own, grid);
        }
    }
}

fn is_reference(work: &Work) -> bool {
    work.context.as_ref().is_some_and(|context| matches!(context.kind(), PictureKind::I | PictureKind::P))
}

/// The works that forward and backward vectors of each work point to, where they are in the window. The second
/// field of a frame counts as predicted from what the first is predicted from.
fn reference_pictures(works: &[Work]) -> Vec<[Option<usize>; 2]> {
    let (mut older, mut newer) = (None, None);
    let mut references = Vec::with_capacity(works.len());
    for (index, work) in works.iter().enumerate() {
        references.push(match work.context.as_ref().map(PictureContext::kind) {
            Some(PictureKind::B) => [older, newer],
            Some(PictureKind::P) => [newer, None],
            _ => [None, None],
        });
        if is_reference(work) {
            (older, newer) = (newer, Some(index));
        }
    }
    references
}

/// Macroblocks of the whole frame.
fn frame_grid(context: &PictureContext) -> (usize, usize) {
    (context.columns, if context.is_field() { 2 * context.rows } else { context.rows })
}

/// The cells of the frame that a macroblock lies in: one, or in a field picture two.
fn cells(context: &PictureContext, address: u32) -> (usize, usize, usize) {
    let (column, row) = (address as usize % context.columns, address as usize / context.columns);
    if context.is_field() { (column, 2 * row, 2) } else { (column, row, 1) }
}

fn fill(work: &mut Work, context: &PictureContext, grid: &Grid) {
    let macroblocks = &work.picture.macroblocks;
    work.importance.clear();
    work.importance.extend(macroblocks.iter().map(|macroblock| weight(context, macroblock.address, grid)));
}

/// What an error in a macroblock weighs, in its own picture and in those after it.
fn weight(context: &PictureContext, address: u32, grid: &Grid) -> f32 {
    let (column, row, count) = cells(context, address);
    let sum: f32 = (0..count).map(|i| grid.gathered[grid.at(column, row + i)]).sum();
    1.0 + sum / count as f32
}

fn propagate(work: &Work, context: &PictureContext, s: usize, own: &Grid, grid: &mut Grid) {
    for slice in &work.picture.slices {
        let mut before: Option<&Macroblock> = None;
        for index in slice.macroblocks.clone() {
            let macroblock = &work.picture.macroblocks[index];
            if let Some(before) = before {
                for address in before.address + 1..macroblock.address {
                    skipped(context, before, address, s, own, grid);
                }
            }
            coded(context, macroblock, work.importance[index], s, grid);
            before = Some(macroblock);
        }
    }
}

fn skipped(
    context: &PictureContext,
    before: &Macroblock,
    address: u32,
    s: usize,
    own: &Grid,
    grid: &mut Grid,
) {
    let in_b = context.kind() == PictureKind::B;
    if in_b && before.has([FORWARD, BACKWARD][s]) {
        let mut as_before = before.clone();
        as_before.address = address;
        coded(context, &as_before, 1.0, s, grid);
    } else if !in_b {
        let (column, row, count) = cells(context, address);
        let still = weight(context, address, own) * WHOLE_SAMPLE;
        for i in 0..count {
            grid.spread(32 * column as i32, 32 * (row + i) as i32, still / count as f32);
        }
    }
}

fn coded(context: &PictureContext, macroblock: &Macroblock, importance: f32, s: usize, grid: &mut Grid) {
    let flag = [FORWARD, BACKWARD][s];
    let still = context.kind() == PictureKind::P && macroblock.flags & FORWARD == 0;
    if macroblock.is_intra() || !(macroblock.has(flag) || still) {
        return;
    }
    let (column, row, count) = cells(context, macroblock.address);
    let vectors = if still { [Vector::default(); 2] } else { macroblock.vectors[s] };
    let in_lines = context.is_field() || macroblock.motion != MotionType::Frame;
    let both = macroblock.has(FORWARD | BACKWARD) || macroblock.motion == MotionType::DualPrime;
    let averaged = if both { AVERAGED } else { 1.0 };
    // Where there is one vector, both are it.
    let (share, vectors) = if vectors[0] == vectors[1] { (1.0, &vectors[..1]) } else { (0.5, &vectors[..]) };
    for vector in vectors {
        let kept = KEPT[usize::from(vector.y as u8 & 1) << 1 | usize::from(vector.x as u8 & 1)];
        let amount = share * importance * averaged * kept / count as f32;
        let down = i32::from(vector.y) * if in_lines { 2 } else { 1 };
        for i in 0..count {
            grid.spread(32 * column as i32 + i32::from(vector.x), 32 * (row + i) as i32 + down, amount);
        }
    }
}
