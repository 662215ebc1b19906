//! One picture: parsed, changed by truncation or requantisation, and written.

use super::ceiling::Bucket;
use super::closed::ClosedLoop;
use super::config::{Cluster, Target};
use super::curve::{Curves, for_each_block};
use super::drift::Drift;
use super::lagrangian::SlopeThreshold;
use super::rate_control::{BudgetRequest, Planned};
use super::recode::{Recoded, Recoder, dither};
use super::report::{LeftAlone, PictureReport, Shaped};
use super::requantize::Found;
use super::scale_map::ScaleMap;
use super::seconds::{Ahead, SecondOfVideo};
use crate::bits::BitWriter;
use crate::decode::prediction_loop::PredictionLoop;
use crate::header::{PictureContext, PictureKind};
use crate::picture::{Macroblock, Picture, bits_of_first};
use crate::unit::AccessUnit;
use crate::write::rewrite::{Codes, Content, rewrite_slice};
use crate::write::splice::{Cuts, splice_slice, spliced_bits};
use crate::write::unit::{Declare, unit_bytes, write_unit};

/// One access unit, its parsed codes, and the decision on them. It is reused for later units to keep its memory.
#[derive(Debug, Default)]
pub(crate) struct PictureShaper {
    pub(crate) unit: AccessUnit,
    /// It has left unchanged.
    pub(crate) is_written: bool,
    pub(crate) target: Target,
    pub(crate) planned: Option<Planned>,
    /// `auto` may code it in a closed loop.
    pub(crate) may_be_closed: bool,
    /// It is cut by the same share as the others.
    pub(crate) proportional: bool,
    /// The leaky bucket of its target, and its second where that is a rate.
    pub(crate) bucket: Option<Bucket>,
    pub(crate) second: Option<SecondOfVideo>,
    /// The pictures behind it, where they are read already.
    pub(crate) ahead: Option<Ahead>,
    /// `None` where the unit has no readable picture.
    pub(crate) context: Option<PictureContext>,
    pub(crate) parsed: Picture,
    pub(crate) curves: Curves,
    /// Number of codes kept, by block.
    pub(crate) keep: Vec<u8>,
    /// Bits of the dropped codes, by slice.
    dropped: Vec<u64>,
    /// Blocks that lose codes.
    cuts: Vec<u32>,
    /// By slice: true where a block loses all its codes, so that patterns change.
    empties: Vec<bool>,
    /// `writer` already holds the truncated unit.
    written: bool,
    /// Weight of an error in each macroblock.
    pub(crate) importance: Vec<f32>,
    pub(crate) recoded: Recoded,
    /// What its macroblocks saved when they were last recoded, in bits.
    saved_bits: f64,
    /// Their errors, weighted, when they were last recoded.
    pub(super) weighted_error: f64,
    pub(super) closed: ClosedLoop,
    /// In a closed loop: the reference frames of the input, where they are known and motion may be chosen.
    pub(super) inputs: Option<PredictionLoop>,
    /// A sample of macroblocks, recoded to compare factors.
    trial: Recoded,
    /// `intra_vlc_format` of the output, the bits that it saves of the intra blocks of the input, and whether it stays.
    pub(super) intra_vlc_format: bool,
    pub(super) saved_by_table: u64,
    pub(super) keeps_table: bool,
    /// Bits of its intra blocks with table B.14, and with B.15, where that was counted.
    pub(super) intra_bits: [u64; 2],
    /// The factor by which recoding multiplies the quantiser scales.
    pub(crate) factor: f64,
    /// What `requantize` found for it.
    pub(super) found: Option<Found>,
    pub(crate) writer: BitWriter,
    /// How long it is shown, in seconds.
    pub(crate) seconds: f64,
    /// `bit_rate` of the sequence header, in bit/s.
    pub(crate) declared_rate: Option<f64>,
    /// `closed_gop`
    pub(crate) closed_group: bool,
    /// Its headers are to declare a variable rate.
    pub(crate) declare_variable: bool,
    /// It is the last of the stream.
    pub(crate) last: bool,
    /// Bits of the stream behind it, where that is known.
    pub(crate) bits_left: Option<f64>,
    pub(crate) report: PictureReport,
}

impl PictureShaper {
    /// Parses the slices, and begins the report.
    pub(crate) fn parse(&mut self) {
        self.parsed.clear();
        self.written = false;
        self.factor = 1.0;
        self.found = None;
        self.closed.forget();
        self.weighted_error = 0.0;
        (self.intra_vlc_format, self.saved_by_table, self.keeps_table) = (false, 0, false);
        self.intra_bits = [0; 2];
        self.report =
            PictureReport { bits_in: self.bits_in(), quantiser_factor: 1.0, ..PictureReport::default() };
        let report = &mut self.report;
        let Some(context) = &self.context else {
            report.left_alone = Some(LeftAlone::NotReadable);
            return;
        };
        report.kind = Some(context.kind());
        self.intra_vlc_format = context.coding.intra_vlc_format;
        if context.kind() == PictureKind::D {
            report.left_alone = Some(LeftAlone::DcOnly);
            return;
        }
        if self.is_written {
            report.left_alone = Some(LeftAlone::TooLate);
        }
        self.unit.read_slices(context, &mut self.parsed);
        report.damaged_slices =
            self.parsed.slices.iter().filter(|slice| slice.damage.is_some()).count() as u32;
    }

    pub(crate) fn bits_in(&self) -> u64 {
        self.unit.data.len() as u64 * 8
    }

    /// Bits of the unit as it was written last.
    pub(crate) fn written_bits(&self) -> f64 {
        self.writer.bit_length() as f64
    }

    /// Lets a picture that was within its budget be shaped after all.
    pub(crate) fn reopen(&mut self) {
        if self.report.left_alone == Some(LeftAlone::NothingToDo) {
            self.report.left_alone = None;
        }
        self.importance.resize(self.parsed.macroblocks.len(), 1.0);
    }

    /// What its budget depends on.
    pub(crate) fn budget_request(&self) -> BudgetRequest {
        BudgetRequest {
            target: self.target,
            planned: self.planned,
            second: self.second,
            ahead: self.ahead,
            kind: self.report.kind,
            is_rest: !self.unit.has_picture(),
            weighted: !self.proportional,
            bits: self.bits_in(),
            seconds: self.seconds,
            last: self.last,
            bits_left: self.bits_left,
            declared_rate: self.declared_rate,
        }
    }

    /// The number of its second and the part of that, where the seconds are to be even.
    pub(crate) fn even_second(&self) -> Option<(u64, u32)> {
        self.second.filter(|second| second.even).map(|second| (second.index, second.part))
    }

    /// The rate in bit/s that each second is to take, if so.
    pub(crate) fn even_rate(&self) -> Option<f64> {
        let request = self.budget_request();
        request.second_of_rate().filter(|(second, _)| second.even).map(|(_, rate)| rate)
    }

    /// True where its budget is a rate, of which no plan knows the whole stream.
    pub(crate) fn has_rate(&self) -> bool {
        matches!(self.target, Target::Rate(_)) && self.planned.is_none()
    }

    /// Its unit has the headers and all slices of its picture.
    pub(crate) fn is_whole(&self) -> bool {
        self.unit.has_picture() && !self.unit.goes_on
    }

    pub(crate) fn is_intra(&self) -> bool {
        self.context.as_ref().is_some_and(|context| context.kind() == PictureKind::I)
    }

    /// True for the last few pictures, as far as the end is known.
    pub(crate) fn is_near_the_end(&self) -> bool {
        self.last || self.bits_left.is_some_and(|left| left < NEAR * self.bits_in() as f64)
    }

    /// True where its slices may be changed.
    pub(crate) fn is_shapeable(&self) -> bool {
        self.report.left_alone.is_none()
    }

    /// Leaves the picture unchanged if it is within `budget`; true where its slices may not be changed, for this or
    /// another reason.
    pub(crate) fn leave_alone(&mut self, budget: f64) -> bool {
        if self.is_shapeable() && budget >= self.bits_in() as f64 {
            self.report.left_alone = Some(LeftAlone::NothingToDo);
        }
        !self.is_shapeable()
    }

    /// Truncates each cluster at the threshold on its curve, to `smallest` codes a block at least. Returns the size in
    /// bits that [`PictureShaper::write_truncated`] writes; an upper bound where blocks lose all their codes, because
    /// patterns and types change with them.
    pub(crate) fn truncate(&mut self, cluster: Cluster, smallest: u8, threshold: &mut SlopeThreshold) -> u64 {
        self.written = false;
        let (curves, keep, parsed) = (&self.curves, &mut self.keep, &self.parsed);
        let dropped = &mut self.dropped;
        keep.clear();
        keep.resize(parsed.blocks.len(), 0);
        dropped.clear();
        dropped.resize(parsed.slices.len(), 0);
        let empties = &mut self.empties;
        empties.clear();
        empties.resize(parsed.slices.len(), false);
        // One entry more than blocks: an entry is written before it is known whether its block is cut.
        self.cuts.clear();
        self.cuts.resize(parsed.blocks.len() + 1, 0);
        let (cuts, mut cut_count) = (&mut self.cuts, 0);
        let mut clusters = curves.ends.iter().zip(curves.bases.iter().zip(&curves.tops));
        let mut next = 0;
        let (mut breakpoint, mut whole) = (smallest, false);
        let (mut lost_codes, mut lost_blocks, mut kept_distortion) = (0, 0, curves.base_distortion);
        for_each_block(parsed, cluster, |first, slice, index| {
            if first {
                let (&end, (&base, &top)) = clusters.next().unwrap_or((&0, (&smallest, &0)));
                breakpoint = base;
                for segment in curves.segments().get(next..end as usize).unwrap_or_default() {
                    if !threshold.takes(usize::from(segment.bin), segment.bits) {
                        break;
                    }
                    breakpoint = segment.breakpoint;
                    kept_distortion += segment.distortion;
                }
                next = end as usize;
                whole = breakpoint >= top;
            }
            let block = &parsed.blocks[index];
            if whole {
                keep[index] = block.count;
                return;
            }
            let kept = breakpoint.saturating_sub(u8::from(block.is_intra())).min(block.count);
            keep[index] = kept;
            cuts[cut_count] = index as u32;
            cut_count += usize::from(kept < block.count);
            let empty = kept == 0 && !block.is_intra();
            empties[slice] |= empty;
            lost_blocks += u64::from(empty);
            lost_codes += u64::from(block.count - kept);
            let codes = parsed.codes_of(block);
            dropped[slice] +=
                u64::from(bits_of_first(codes, codes.len()) - bits_of_first(codes, usize::from(kept)));
            dropped[slice] += if empty { END_BITS } else { 0 };
        });
        cuts.truncate(cut_count);
        self.report.codes = [parsed.codes.len() as u64, parsed.codes.len() as u64 - lost_codes];
        self.report.blocks = [parsed.blocks.len() as u64, parsed.blocks.len() as u64 - lost_blocks];
        self.report.distortion = f64::from(curves.total_distortion - kept_distortion);
        let (parsed, dropped) = (&self.parsed, &self.dropped);
        let bits = |i: usize| spliced_bits(&parsed.slices[i]).saturating_sub(dropped[i]);
        8 * unit_bytes(&self.unit, &parsed.slices, bits)
    }

    /// The exact size after truncation, where [`PictureShaper::truncate`] returned `bits`. Writes the unit where the
    /// size depends on patterns and types.
    pub(crate) fn exact_bits(&mut self, bits: u64) -> u64 {
        if !self.empties.contains(&true) {
            return bits;
        }
        self.write_truncated();
        self.written = true;
        self.writer.bit_length() as u64
    }

    /// The bits that the unit takes without any code on its curves; all its bits where it may not be changed.
    pub(crate) fn floor(&self) -> u64 {
        if !self.is_shapeable() {
            return self.bits_in();
        }
        let slices = &self.parsed.slices;
        let whole = 8 * unit_bytes(&self.unit, slices, |i| spliced_bits(&slices[i]));
        whole.saturating_sub(self.curves.total_bits)
    }

    /// Writes the unit with the kept codes; copies it where it may not be changed.
    pub(crate) fn write_truncated(&mut self) {
        if self.written {
            return;
        }
        let Some(context) = self.context.as_ref().filter(|_| self.report.left_alone.is_none()) else {
            return self.copy();
        };
        self.writer.clear();
        let declare = self.declare(context, context.coding.intra_vlc_format);
        let (parsed, data) = (&self.parsed, &self.unit.data);
        let mut cuts = Cuts { blocks: &self.cuts, keep: &self.keep };
        let content = Truncated { parsed, keep: &self.keep };
        write_unit(&mut self.writer, &self.unit, &parsed.slices, declare, |writer, i| {
            let slice = &parsed.slices[i];
            if self.empties[i] {
                cuts.skip(parsed, slice);
                rewrite_slice(writer, context, parsed, data, slice, &content);
            } else {
                splice_slice(writer, context, parsed, data, slice, &mut cuts);
            }
        });
    }

    /// Requantises one macroblock in `sampling` for `lambda`, squared error a bit. [`PictureShaper::write_recoded`] needs
    /// a `sampling` of 1.
    pub(crate) fn recode(&mut self, lambda: f32, sampling: usize) {
        let Some(context) = self.context.as_ref().filter(|_| self.report.left_alone.is_none()) else {
            return;
        };
        let (parsed, recoded) = (&self.parsed, &mut self.recoded);
        let mut recoder = Recoder::new(context, self.intra_vlc_format);
        let scale_map = ScaleMap::new(context, self.factor);
        recoded.clear(parsed.blocks.len(), self.intra_vlc_format);
        for (macroblock, importance) in parsed.macroblocks.iter().zip(&self.importance).step_by(sampling) {
            let lambda = lambda * dither(macroblock.address + u32::from(context.header.temporal_reference));
            let quantiser = scale_map.of(macroblock.quantiser, macroblock.address);
            recoded.push(&mut recoder, parsed, macroblock, quantiser, importance / lambda);
        }
        self.report.lambda = f64::from(lambda);
        self.report.quantiser_factor = self.factor;
        self.report.distortion = recoded.distortion;
        self.saved_bits = recoded.saved_bits;
        self.weighted_error = recoded.weighted * f64::from(lambda);
    }

    /// As [`Picture::mean_scale`].
    pub(crate) fn mean_scale(&self) -> f32 {
        self.context.as_ref().map_or(0.0, |context| self.parsed.mean_scale(context))
    }

    /// Chooses the factor of the quantiser scales with the lowest Lagrangian cost at this lambda, by a sample of the
    /// macroblocks.
    pub(crate) fn choose_factor(&mut self, lambda: f32) {
        let Some(context) = self.context.as_ref().filter(|_| self.report.left_alone.is_none()) else {
            return;
        };
        let mut recoder = Recoder::new(context, self.intra_vlc_format);
        let sampling = (self.parsed.macroblocks.len() / SAMPLE).clamp(1, SAMPLING);
        let mut best = (f64::INFINITY, 1.0);
        for factor in FACTORS {
            let mut cost = 0.0;
            let scale_map = ScaleMap::new(context, factor);
            let trial = &mut self.trial;
            trial.clear(self.parsed.blocks.len(), self.intra_vlc_format);
            for (macroblock, &importance) in
                self.parsed.macroblocks.iter().zip(&self.importance).step_by(sampling)
            {
                let quantiser = scale_map.of(macroblock.quantiser, macroblock.address);
                let (bits, distortion) = (trial.saved_bits, trial.distortion);
                trial.push(&mut recoder, &self.parsed, macroblock, quantiser, importance / lambda);
                cost += f64::from(importance) * (trial.distortion - distortion)
                    - f64::from(lambda) * (trial.saved_bits - bits);
            }
            // Costs are negative: a saving. A coarser scale must save more than the one before by a margin.
            if cost < best.0.min(best.0 * FACTOR_MARGIN) {
                best = (cost, factor);
            } else {
                break;
            }
        }
        self.factor = best.1;
    }

    /// An estimate of the unit's size in bits where one macroblock in `sampling` was recoded.
    pub(crate) fn expected_bits(&self, sampling: usize) -> f64 {
        if !self.is_shapeable() {
            return self.bits_in() as f64;
        }
        self.bits_in() as f64 - self.saved_by_table as f64 - self.saved_bits * sampling as f64
    }

    pub(crate) fn write_recoded(&mut self) {
        let Some(context) = self.context.as_ref().filter(|_| self.report.left_alone.is_none()) else {
            return self.copy();
        };
        self.report.closed_loop = false;
        self.writer.clear();
        let [codes, blocks] = [self.parsed.codes.len() as u64, self.parsed.blocks.len() as u64];
        let lost = self.recoded.lost;
        self.report.codes = [codes, codes - lost.codes()];
        self.report.blocks = [blocks, blocks - lost.blocks()];
        let declare = self.declare(context, self.intra_vlc_format);
        let (parsed, recoded, data) = (&self.parsed, &self.recoded, &self.unit.data);
        write_unit(&mut self.writer, &self.unit, &parsed.slices, declare, |writer, i| {
            rewrite_slice(writer, context, parsed, data, &parsed.slices[i], recoded);
        });
    }

    /// Codes the picture anew in a closed loop for `lambda`, squared error a bit, and writes it.
    pub(super) fn write_closed(&mut self, lambda: f32, drift: &mut Drift) {
        let inputs = self.inputs.as_ref();
        let Some(context) = self.context.as_ref().filter(|_| self.report.left_alone.is_none()) else {
            return self.copy_in_loop(drift);
        };
        let before = drift.clone();
        drift.open(context, self.closed_group);
        let of_output = context.with_intra_vlc_format(self.intra_vlc_format);
        self.closed.code(&of_output, &self.parsed, drift, &self.importance, lambda, inputs);
        if self.may_change_table() {
            self.intra_vlc_format = self.closed.choose_intra_table();
        }
        self.writer.clear();
        let declare = self.declare(context, self.intra_vlc_format);
        let (parsed, closed, data) = (&self.parsed, &self.closed, &self.unit.data);
        write_unit(&mut self.writer, &self.unit, &parsed.slices, declare, |writer, i| {
            rewrite_slice(writer, context, parsed, data, &parsed.slices[i], closed);
        });
        let report = &mut self.report;
        report.codes = [parsed.codes.len() as u64, closed.codes()];
        report.blocks = [parsed.blocks.len() as u64, closed.blocks()];
        report.lambda = f64::from(lambda);
        report.quantiser_factor = closed.quantiser_factor;
        report.distortion = closed.distortion;
        report.closed_loop = true;
        if self.writer.bit_length() > 8 * self.unit.data.len() {
            // No picture grows.
            report.codes[1] = report.codes[0];
            report.blocks[1] = report.blocks[0];
            *drift = before;
            self.copy_in_loop(drift);
        }
    }

    /// Writes the unit with unchanged slices. Its picture has the errors of those before it.
    pub(super) fn copy_in_loop(&mut self, drift: &mut Drift) {
        if let Some(context) = self.context.as_ref().filter(|context| context.kind() != PictureKind::D) {
            drift.open(context, self.closed_group);
            drift.follow(context, &self.parsed, |_, _, _| {});
        }
        self.copy();
    }

    /// What the headers of the output declare.
    fn declare(&self, context: &PictureContext, intra_vlc_format: bool) -> Declare {
        Declare {
            variable: self.declare_variable,
            mpeg2: context.mpeg2,
            intra_vlc_format: Some(intra_vlc_format),
        }
    }

    /// Writes the unit with unchanged slices.
    pub(crate) fn copy(&mut self) {
        self.writer.clear();
        let mpeg2 = self.context.as_ref().is_none_or(|context| context.mpeg2);
        let declare = Declare { variable: self.declare_variable, mpeg2, intra_vlc_format: None };
        write_unit(&mut self.writer, &self.unit, &[], declare, |_, _| {});
    }

    /// The unit as it was written, with its report.
    pub(crate) fn shaped(&mut self) -> Shaped {
        self.report.bits_out = self.writer.bit_length() as u64;
        Shaped { bytes: self.writer.bytes().to_vec(), report: self.report.clone() }
    }
}

#[cfg(test)]
impl PictureShaper {
    /// The pictures of a stream, ready to be coded.
    pub(crate) fn all_of(stream: &[u8]) -> Vec<Self> {
        let mut state = crate::header::SequenceState::default();
        let picture = |unit: AccessUnit| {
            let mut picture = Self { context: unit.read_headers(&mut state), unit, ..Self::default() };
            picture.closed_group = state.group().is_some_and(|group| group.closed);
            picture.parse();
            picture.reopen();
            picture
        };
        AccessUnit::all_of(stream).into_iter().map(picture).collect()
    }
}

/// Length of `End of block` in a block that is not intra (13818-2, table B-14).
const END_BITS: u64 = 2;
/// The end is near where at most this many pictures of the same size follow.
const NEAR: f64 = 3.0;
/// Factors of the quantiser scales, tried in order while each is better than the one before.
const FACTORS: [f64; 6] = [1.0, 1.25, 1.6, 2.0, 2.5, 3.2];
/// How much more a coarser scale must save than the one before.
const FACTOR_MARGIN: f64 = 1.04;
/// One macroblock in so many is sampled, at most, ...
const SAMPLING: usize = 32;
/// ... and so many of a picture, at least.
const SAMPLE: usize = 40;

/// The kept codes of each block, with unchanged scales.
struct Truncated<'a> {
    parsed: &'a Picture,
    keep: &'a [u8],
}

impl Content for Truncated<'_> {
    fn codes(&self, _: usize, block: usize) -> Codes<'_> {
        Codes::First(usize::from(self.keep[block]))
    }

    fn quantiser(&self, macroblock: usize) -> u8 {
        self.parsed.macroblocks[macroblock].quantiser
    }

    fn is_unchanged(&self, macroblock: usize) -> bool {
        let blocks = self.parsed.macroblocks[macroblock].block_range();
        self.parsed.blocks[blocks.clone()]
            .iter()
            .zip(&self.keep[blocks])
            .all(|(block, &keep)| keep == block.count)
    }

    fn coded_blocks(&self, _: usize, macroblock: &Macroblock) -> u16 {
        let keep = self.keep[macroblock.block_range()].iter();
        keep.rev().fold(0, |coded, &keep| coded << 1 | u16::from(keep > 0))
    }
}
