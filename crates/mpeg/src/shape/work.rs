//! A picture on its way through a shaper.

use super::budget::Opening;
use super::config::Cluster;
use super::curve::{Curves, for_each_block};
use super::recode::{Recoded, Recoder};
use super::report::{LeftAlone, PictureReport};
use super::requantize::Coarser;
use super::select::Threshold;
use crate::bits::BitWriter;
use crate::header::{PictureContext, PictureKind};
use crate::picture::{Macroblock, Picture, bits_of_first};
use crate::unit::AccessUnit;
use crate::write::rewrite::{Codes, Content, rewrite_slice};
use crate::write::splice::{Cuts, splice_slice, spliced_bits};
use crate::write::unit::{Declare, unit_bytes, write_unit};

/// One access unit with all that is worked out about it. The buffers live as long as the shaper.
#[derive(Debug, Default)]
pub(crate) struct Work {
    pub(crate) unit: AccessUnit,
    pub(crate) context: Option<PictureContext>,
    pub(crate) picture: Picture,
    pub(crate) curves: Curves,
    /// Codes kept, by block.
    pub(crate) keep: Vec<u8>,
    /// Bits of the codes that are not kept, by slice.
    dropped: Vec<u64>,
    /// Blocks that lose codes.
    cuts: Vec<u32>,
    /// By slice: whether a block loses all its codes, so that patterns change.
    empties: Vec<bool>,
    /// The unit is in `writer` already.
    written: bool,
    /// How much an error in each macroblock weighs.
    pub(crate) importance: Vec<f32>,
    pub(crate) recoded: Recoded,
    /// A sample of macroblocks recoded on trial.
    trial: Recoded,
    /// By how much quantiser scales are stretched when it is recoded.
    pub(crate) factor: f64,
    pub(crate) writer: BitWriter,
    /// How long it is shown, in seconds.
    pub(crate) seconds: f64,
    /// `bit_rate`, in bit/s.
    pub(crate) declared_rate: Option<f64>,
    /// Its group needs nothing from before.
    pub(crate) closed_group: bool,
    pub(crate) declare_variable: bool,
    /// The bits it can be cut back to, once that is known.
    pub(crate) least: Option<u64>,
    /// Nothing follows.
    pub(crate) last: bool,
    /// Bits that follow, where that is known.
    pub(crate) bits_left: Option<f64>,
    pub(crate) report: PictureReport,
}

impl Default for PictureReport {
    fn default() -> Self {
        Self {
            kind: None,
            bits_in: 0,
            bits_out: 0,
            budget: 0,
            codes: [0; 2],
            blocks: [0; 2],
            lambda: 0.0,
            quantiser_factor: 1.0,
            distortion: 0.0,
            damaged_slices: 0,
            at_floor: false,
            left_alone: None,
        }
    }
}

impl Work {
    /// Reads the slices, and opens the report.
    pub(crate) fn parse(&mut self) {
        self.picture.clear();
        self.written = false;
        self.least = None;
        self.factor = 1.0;
        self.report = PictureReport { bits_in: self.bits_in(), ..PictureReport::default() };
        let report = &mut self.report;
        let Some(context) = &self.context else {
            report.left_alone = Some(LeftAlone::NotReadable);
            return;
        };
        report.kind = Some(context.kind());
        if context.kind() == PictureKind::D {
            report.left_alone = Some(LeftAlone::DcOnly);
            return;
        }
        self.unit.read_slices(context, &mut self.picture);
        report.damaged_slices =
            self.picture.slices.iter().filter(|slice| slice.damage.is_some()).count() as u32;
    }

    /// Size of the unit.
    pub(crate) fn bits_in(&self) -> u64 {
        self.unit.data.len() as u64 * 8
    }

    /// What its budget depends on.
    pub(crate) fn opening(&self) -> Opening {
        Opening {
            kind: self.report.kind,
            bits: self.bits_in(),
            seconds: self.seconds,
            last: self.last,
            bits_left: self.bits_left,
            declared_rate: self.declared_rate,
        }
    }

    /// True for the last few pictures, as far as the end is known.
    pub(crate) fn is_near_the_end(&self) -> bool {
        self.last || self.bits_left.is_some_and(|left| left < NEAR * self.bits_in() as f64)
    }

    /// True where its slices may be changed.
    pub(crate) fn is_shapeable(&self) -> bool {
        self.report.left_alone.is_none()
    }

    /// Cuts each cluster back to what the threshold leaves of its curve, `smallest` codes at least. Returns the size in
    /// bits that [`Work::write_truncated`] writes, where no block loses all its codes; patterns and types that change
    /// with them make it a little less.
    pub(crate) fn truncate(&mut self, cluster: Cluster, smallest: u8, threshold: &mut Threshold) -> u64 {
        self.written = false;
        let (curves, keep, picture) = (&self.curves, &mut self.keep, &self.picture);
        let dropped = &mut self.dropped;
        keep.clear();
        keep.resize(picture.blocks.len(), 0);
        dropped.clear();
        dropped.resize(picture.slices.len(), 0);
        let empties = &mut self.empties;
        empties.clear();
        empties.resize(picture.slices.len(), false);
        // One place more than blocks: it is written before it is known whether the block is cut.
        self.cuts.clear();
        self.cuts.resize(picture.blocks.len() + 1, 0);
        let (cuts, mut cut_count) = (&mut self.cuts, 0);
        let mut clusters = curves.ends.iter().zip(curves.bases.iter().zip(&curves.tops));
        let mut next = 0;
        let (mut breakpoint, mut whole) = (smallest, false);
        let (mut lost_codes, mut lost_blocks, mut kept_worth) = (0, 0, curves.base_worth);
        for_each_block(picture, cluster, |first, slice, _, index| {
            if first {
                let (&end, (&base, &top)) = clusters.next().unwrap_or((&0, (&smallest, &0)));
                breakpoint = base;
                for segment in curves.segments().get(next..end as usize).unwrap_or_default() {
                    if !threshold.takes(usize::from(segment.bin), segment.bits) {
                        break;
                    }
                    breakpoint = segment.breakpoint;
                    kept_worth += segment.worth;
                }
                next = end as usize;
                whole = breakpoint >= top;
            }
            let block = &picture.blocks[index];
            if whole {
                keep[index] = block.count;
                return;
            }
            let kept = breakpoint.saturating_sub(u8::from(block.intra)).min(block.count);
            keep[index] = kept;
            cuts[cut_count] = index as u32;
            cut_count += usize::from(kept < block.count);
            let empty = kept == 0 && !block.intra;
            empties[slice] |= empty;
            lost_blocks += u64::from(empty);
            lost_codes += u64::from(block.count - kept);
            let codes = picture.codes_of(block);
            dropped[slice] +=
                u64::from(bits_of_first(codes, codes.len()) - bits_of_first(codes, usize::from(kept)));
            dropped[slice] += if empty { END_BITS } else { 0 };
        });
        cuts.truncate(cut_count);
        self.report.codes = [picture.codes.len() as u64, picture.codes.len() as u64 - lost_codes];
        self.report.blocks = [picture.blocks.len() as u64, picture.blocks.len() as u64 - lost_blocks];
        self.report.distortion = f64::from(curves.total_worth - kept_worth);
        let (picture, dropped) = (&self.picture, &self.dropped);
        let bits = |i: usize| spliced_bits(&picture.slices[i]).saturating_sub(dropped[i]);
        8 * unit_bytes(&self.unit, &picture.slices, bits)
    }

    /// The size in bits that [`Work::write_truncated`] writes, where [`Work::truncate`] returned `bits`. What becomes of
    /// patterns and types is known when it is written.
    pub(crate) fn exact(&mut self, bits: u64) -> u64 {
        if !self.empties.contains(&true) {
            return bits;
        }
        self.write_truncated();
        self.written = true;
        self.writer.bit_length() as u64
    }

    /// The least the unit can be cut back to along its curves; all of it where it may not be changed.
    pub(crate) fn bits_needed(&self) -> u64 {
        if !self.is_shapeable() {
            return self.bits_in();
        }
        let slices = &self.picture.slices;
        let whole = 8 * unit_bytes(&self.unit, slices, |i| spliced_bits(&slices[i]));
        whole.saturating_sub(self.curves.total_bits)
    }

    /// Writes the unit with the codes to keep, or as it is where it may not be changed.
    pub(crate) fn write_truncated(&mut self) {
        if self.written {
            return;
        }
        let Some(context) = self.context.as_ref().filter(|_| self.report.left_alone.is_none()) else {
            return self.copy();
        };
        self.writer.clear();
        let declare = Declare { variable: self.declare_variable, mpeg2: context.mpeg2 };
        let (picture, data) = (&self.picture, &self.unit.data);
        let mut cuts = Cuts { blocks: &self.cuts, keep: &self.keep };
        let content = Truncated { picture, keep: &self.keep };
        write_unit(&mut self.writer, &self.unit, &picture.slices, declare, |writer, i| {
            let slice = &picture.slices[i];
            if self.empties[i] {
                cuts.leave_out(picture, slice);
                rewrite_slice(writer, context, picture, data, slice, &content);
            } else {
                splice_slice(writer, context, picture, data, slice, &mut cuts);
            }
        });
    }

    /// Chooses levels anew for `lambda`, squared error a bit, macroblock by macroblock: one in `sampling`, and to write
    /// the picture all.
    pub(crate) fn recode(&mut self, lambda: f32, sampling: usize) {
        let Some(context) = self.context.as_ref().filter(|_| self.report.left_alone.is_none()) else {
            return;
        };
        let (picture, recoded) = (&self.picture, &mut self.recoded);
        let mut recoder = Recoder::new(context);
        let coarser = Coarser::new(context, self.factor);
        recoded.clear(picture.blocks.len());
        for (macroblock, importance) in picture.macroblocks.iter().zip(&self.importance).step_by(sampling) {
            let lambda = lambda * dither(macroblock.address + u32::from(context.header.temporal_reference));
            let row = macroblock.address / context.columns as u32;
            let quantiser = coarser.of(macroblock.quantiser, row);
            recoded.push(&mut recoder, picture, macroblock, quantiser, importance / lambda);
        }
        self.report.lambda = f64::from(lambda);
        self.report.quantiser_factor = self.factor;
        self.report.distortion = recoded.distortion;
    }

    /// Stretches the quantiser scales where that is the better way to save at this lambda, as far as a sample of
    /// macroblocks tells.
    pub(crate) fn choose_factor(&mut self, lambda: f32) {
        let Some(context) = self.context.as_ref().filter(|_| self.report.left_alone.is_none()) else {
            return;
        };
        let mut recoder = Recoder::new(context);
        let sampling = (self.picture.macroblocks.len() / SAMPLE).clamp(1, SAMPLING);
        let mut best = (f64::INFINITY, 1.0);
        for factor in FACTORS {
            let mut cost = 0.0;
            let coarser = Coarser::new(context, factor);
            let trial = &mut self.trial;
            trial.clear(self.picture.blocks.len());
            for (macroblock, &importance) in
                self.picture.macroblocks.iter().zip(&self.importance).step_by(sampling)
            {
                let row = macroblock.address / context.columns as u32;
                let quantiser = coarser.of(macroblock.quantiser, row);
                let (bits, distortion) = (trial.saved_bits, trial.distortion);
                trial.push(&mut recoder, &self.picture, macroblock, quantiser, importance / lambda);
                cost += f64::from(importance) * (trial.distortion - distortion)
                    - f64::from(lambda) * (trial.saved_bits - bits);
            }
            // Costs are below zero: a saving. A coarser scale must save a little more, for the change it brings.
            if cost < best.0.min(best.0 * FACTOR_MARGIN) {
                best = (cost, factor);
            } else {
                break;
            }
        }
        self.factor = best.1;
    }

    /// What the unit is going to take, nearly, where one macroblock in `sampling` was recoded.
    pub(crate) fn expected_bits(&self, sampling: usize) -> f64 {
        let saved = if self.is_shapeable() { self.recoded.saved_bits } else { 0.0 };
        self.bits_in() as f64 - saved * sampling as f64
    }

    /// Writes the unit with the levels chosen.
    pub(crate) fn write_recoded(&mut self) {
        let Some(context) = self.context.as_ref().filter(|_| self.report.left_alone.is_none()) else {
            return self.copy();
        };
        self.writer.clear();
        let [codes, blocks] = [self.picture.codes.len() as u64, self.picture.blocks.len() as u64];
        let lost = self.recoded.lost;
        self.report.codes = [codes, codes - lost[0]];
        self.report.blocks = [blocks, blocks - lost[1]];
        let declare = Declare { variable: self.declare_variable, mpeg2: context.mpeg2 };
        let (picture, recoded, data) = (&self.picture, &self.recoded, &self.unit.data);
        write_unit(&mut self.writer, &self.unit, &picture.slices, declare, |writer, i| {
            rewrite_slice(writer, context, picture, data, &picture.slices[i], recoded);
        });
    }

    /// Writes the unit with its slices as they are.
    pub(crate) fn copy(&mut self) {
        self.writer.clear();
        let mpeg2 = self.context.as_ref().is_none_or(|context| context.mpeg2);
        let declare = Declare { variable: self.declare_variable, mpeg2 };
        write_unit(&mut self.writer, &self.unit, &[], declare, |_, _| {});
    }
}

/// True where fewer bits follow these pictures than they have, as far as that is known: what they miss the rest may not
/// be able to make up for.
pub(crate) fn end_is_near(works: &[Work]) -> bool {
    let whole: u64 = works.iter().map(Work::bits_in).sum();
    works.last().is_some_and(|work| work.last || work.bits_left.is_some_and(|left| left < whole as f64))
}

/// The end of a block that is not intra (13818-2, table B-14).
const END_BITS: u64 = 2;
/// So many more pictures of a size are few.
const NEAR: f64 = 3.0;
/// Factors that quantiser scales are tried with, while each is better than the one before.
const FACTORS: [f64; 6] = [1.0, 1.25, 1.6, 2.0, 2.5, 3.2];
/// How much more a coarser scale must save than the one before.
const FACTOR_MARGIN: f64 = 1.04;
/// One macroblock in so many is tried, ...
const SAMPLING: usize = 32;
/// ... but so many of a picture at least.
const SAMPLE: usize = 40;

/// The first codes of each block, the scales as they are.
struct Truncated<'a> {
    picture: &'a Picture,
    keep: &'a [u8],
}

impl Content for Truncated<'_> {
    fn codes(&self, _: usize, block: usize) -> Codes<'_> {
        Codes::First(usize::from(self.keep[block]))
    }

    fn quantiser(&self, macroblock: usize) -> u8 {
        self.picture.macroblocks[macroblock].quantiser
    }

    fn is_unchanged(&self, macroblock: usize) -> bool {
        let blocks = self.picture.macroblocks[macroblock].block_range();
        self.picture.blocks[blocks.clone()]
            .iter()
            .zip(&self.keep[blocks])
            .all(|(block, &keep)| keep == block.count)
    }

    fn coded_blocks(&self, _: usize, macroblock: &Macroblock) -> u16 {
        let keep = self.keep[macroblock.block_range()].iter();
        keep.rev().fold(0, |coded, &keep| coded << 1 | u16::from(keep > 0))
    }
}

/// Spreads lambda a little from macroblock to macroblock: where many codes have the very same slope, rate follows
/// lambda smoothly all the same.
fn dither(seed: u32) -> f32 {
    // Fibonacci hashing: evenly spread for any run of seeds.
    let fraction = seed.wrapping_mul(0x9e37_79b9) as f32 / 4_294_967_296.0;
    0.92 + 0.16 * fraction
}
