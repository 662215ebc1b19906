//! The motion of B pictures, and of P pictures of whole frames, in a closed loop. At low rates vectors take a large part of the
//! bits. So a macroblock may get other motion: one direction in place of two, one vector in place of one for each field, the predicted
//! vectors, that of the macroblock before or of one above, or none; and then it may be skipped. The reference frames of the output have errors, so the best vector may
//! also be another than in the input: all are compared by what the output predicts.

use super::drift::MotionError;
use super::form_choice;
use super::motion_search::Search;
use crate::dc::{DcPredictors, difference_bits};
use crate::decode::predict::Motion;
use crate::header::{Chroma, PictureContext, PictureKind};
use crate::motion::{Predictors, directions};
use crate::picture::{Macroblock, MotionType, Picture, Vector};
use crate::tables::macroblock::{BACKWARD, FORWARD, INTRA, PATTERN};
use crate::vlc;
use crate::write::rewrite::{NewBlocks, before_any};

/// Finds motion for the macroblocks of a picture, in their order.
pub(super) struct MotionChoice<'a> {
    context: &'a PictureContext,
    /// Behind the last macroblock of the output.
    predictors: Predictors,
    /// What a skipped macroblock would have behind it.
    skipped: Option<Motion>,
    /// Likewise.
    dc: DcPredictors,
    /// The luminance of the present macroblock of the input.
    target: [u8; 256],
    /// The squared error of its best prediction.
    distance: f32,
    /// Of the output by address, where it is known and not intra.
    motions: Vec<Option<Motion>>,
}

impl<'a> MotionChoice<'a> {
    /// `None` where all motion stays as it is.
    pub(super) fn new(context: &'a PictureContext) -> Option<Self> {
        let is_plain = !context.coding.concealment_motion_vectors && context.header.full_pel == [false; 2];
        let may_change = match context.kind() {
            PictureKind::B => true,
            PictureKind::P => !context.is_field(),
            _ => false,
        };
        (may_change && is_plain).then(|| Self {
            context,
            predictors: Predictors::default(),
            skipped: before_any(context),
            dc: DcPredictors::new(context),
            target: [0; 256],
            distance: 0.0,
            motions: vec![None; context.columns * context.rows],
        })
    }

    /// A slice begins, or a macroblock without prediction has come.
    pub(super) fn reset(&mut self) {
        (self.predictors, self.skipped) = (Predictors::default(), before_any(self.context));
        self.dc = DcPredictors::new(self.context);
    }

    /// The next macroblock is intra, with these DC coefficients.
    fn take_intra(&mut self, dc: &[i16]) {
        (self.predictors, self.skipped) = (Predictors::default(), before_any(self.context));
        for (index, &dc) in dc.iter().enumerate() {
            self.dc.difference(index as u8, dc);
        }
    }

    /// Bits of an intra macroblock with these DC coefficients beside its codes and the ends of its blocks.
    pub(super) fn intra_bits(&self, dc: &[i16]) -> u32 {
        let types = if self.in_p() { &vlc::TYPE_P } else { &vlc::TYPE_B };
        let dct_type = u32::from(form_choice::has_dct_type(self.context));
        let mut predictors = self.dc;
        let blocks = dc
            .iter()
            .enumerate()
            .map(|(index, &dc)| difference_bits(index as u8, predictors.difference(index as u8, dc)));
        1 + types.length(INTRA) + dct_type + blocks.sum::<u32>()
    }

    /// True where an intra macroblock may cost less than a predicted one.
    pub(super) fn may_be_intra(&self, weight: f32) -> bool {
        form_choice::may_be_intra(&self.target, self.distance, weight)
    }

    /// The next macroblock, at `address`, has this motion and these blocks in the output.
    pub(super) fn take(&mut self, address: u32, motion: &Motion, blocks: NewBlocks<'_>, inner: bool) {
        if motion.is_intra() {
            return self.take_intra(blocks.dc);
        }
        let coded = blocks.coded;
        self.motions[address as usize] = Some(*motion);
        self.dc = DcPredictors::new(self.context);
        if self.in_p() {
            self.predictors.pass(self.context, motion, !motion.is_zero(self.context));
        } else if !self.is_skipped(motion, coded, inner) {
            // A skipped one leaves the predictors as they are.
            self.predictors.follow(self.context, motion);
            self.skipped = Some(motion.repeated(self.context));
        }
    }

    fn in_p(&self) -> bool {
        self.context.kind() == PictureKind::P
    }

    fn is_skipped(&self, motion: &Motion, coded: u16, inner: bool) -> bool {
        inner && coded == 0 && self.skipped.is_some_and(|skipped| skipped.is_as(motion))
    }

    /// Bits of a macroblock beside its codes and the ends of its blocks. `coded` are its coded blocks, the first in bit 0. An
    /// `inner` one may be skipped.
    pub(super) fn bits(&self, motion: &Motion, coded: u16, inner: bool) -> u32 {
        if self.is_skipped(motion, coded, inner) {
            return 1;
        }
        let in_field = self.context.is_field();
        let either = in_field || !self.context.coding.frame_pred_frame_dct;
        let dct_type = u32::from(either && !in_field && coded != 0);
        let is_bare = self.in_p() && coded != 0 && motion.is_zero(self.context);
        let directions = if is_bare { 0 } else { motion.flags };
        let flags = directions | if coded == 0 { 0 } else { PATTERN };
        let types = if self.in_p() { &vlc::TYPE_P } else { &vlc::TYPE_B };
        let vectors = match directions {
            0 => 0,
            _ => 2 * u32::from(either) + self.predictors.bits(self.context, motion),
        };
        1 + types.length(flags) + vectors + dct_type + pattern_bits(self.context.chroma, coded)
    }

    /// The motion that costs least without any code: bits, and the squared error times `weight`. `None` for that of the input.
    pub(super) fn cheapest(
        &mut self,
        parsed: &Picture,
        macroblock: &Macroblock,
        errors: &mut MotionError<'_>,
        weight: f32,
        inner: bool,
    ) -> Option<Motion> {
        let (address, of_input) = (macroblock.address, Motion::of(self.context, macroblock));
        self.target = errors.input(parsed, macroblock).planes[0];
        let bits = |motion: &Motion| self.bits(motion, 0, inner);
        let error = |motion: &Motion| weight * distance(&self.target, errors.predicted_luma(address, motion));
        let is_inside = |motion: &Motion| self.is_inside(address, motion);
        let mut search = Search::new(bits, error, is_inside, of_input);
        self.above(address).for_each(|other| search.attempt(other));
        self.others(&of_input).for_each(|other| search.attempt_with_fewer_bits(other));
        search.refine(self.context);
        let best = search.best;
        self.distance = best.error / weight;
        (macroblock.is_intra() || !best.motion.is_as(&of_input)).then_some(best.motion)
    }

    /// The motion of the macroblocks above, and above to the right.
    fn above(&self, address: u32) -> impl Iterator<Item = Motion> + use<> {
        let of = |right: usize| {
            let above = (address as usize + right).checked_sub(self.context.columns);
            above.and_then(|above| self.motions[above])
        };
        [of(0), of(1)].into_iter().flatten()
    }

    /// Motion that may be cheaper.
    fn others(&self, motion: &Motion) -> impl Iterator<Item = Motion> + use<> {
        let whole = self.whole(motion);
        one_direction(*motion)
            .chain(whole)
            .chain(whole.into_iter().flat_map(one_direction))
            .chain(self.skipped)
            .chain(self.skipped.into_iter().flat_map(one_direction))
            .chain(self.in_p().then(|| self.predicted()))
            .chain(self.of_fields_predicted(motion))
    }

    /// Vectors for each field of a frame picture, of which the first, the second or both have no difference.
    fn of_fields_predicted(&self, motion: &Motion) -> impl Iterator<Item = Motion> + use<> {
        let (motion, predictors) = (*motion, self.predictors.vectors);
        let in_fields = motion.motion == MotionType::Field && !self.context.is_field();
        let fields: &[&[usize]] = if in_fields { &[&[0], &[1], &[0, 1]] } else { &[] };
        fields.iter().map(move |fields| {
            let mut predicted = motion;
            for (s, &r) in directions(&motion).flat_map(|s| fields.iter().map(move |r| (s, r))) {
                let Vector { x, y } = predictors[s][r];
                predicted.vectors[s][r] = Vector { x, y: y >> 1 };
            }
            predicted
        })
    }

    /// The vector of a frame whose difference is zero.
    fn predicted(&self) -> Motion {
        let [first, _] = self.predictors.vectors[0];
        Motion { vectors: [[first; 2], Default::default()], ..Motion::zero(self.context) }
    }

    /// The mean of the vectors of both fields of a frame picture, for the frame.
    fn whole(&self, motion: &Motion) -> Option<Motion> {
        let in_frame = motion.motion == MotionType::Field && !self.context.is_field();
        in_frame.then(|| {
            let mean =
                |[top, bottom]: [Vector; 2]| Vector { x: (top.x + bottom.x) >> 1, y: top.y + bottom.y };
            let vectors = motion.vectors.map(|pair| [mean(pair); 2]);
            Motion { flags: motion.flags, vectors, ..Motion::zero(self.context) }
        })
    }

    /// True where all vectors have a code and point into the picture.
    fn is_inside(&self, address: u32, motion: &Motion) -> bool {
        let context = self.context;
        let (column, row) = (address as usize % context.columns, address as usize / context.columns);
        // Lines of the frame or the field that is predicted from, and how many of them a vector takes.
        let in_fields = motion.motion == MotionType::Field && !context.is_field();
        let all = (16 * context.rows) >> u8::from(in_fields);
        let rows = if in_fields || motion.motion == MotionType::Split { 8 } else { 16 };
        let fits = |at: usize, size: usize, all: usize, half_samples: i16| {
            let first = 2 * at as i32 + i32::from(half_samples);
            first >= 0 && first + 2 * size as i32 <= 2 * all as i32
        };
        directions(motion).all(|s| {
            // Of field vectors in a frame picture half is allowed (13818-2, table 7-8).
            let [across, down] = context.coding.f_code[s].map(|f_code| 8 << f_code.min(9));
            let down = down >> u8::from(in_fields);
            motion.vectors[s].iter().enumerate().all(|(r, &Vector { x, y })| {
                let line = if motion.motion == MotionType::Split { 16 * row + 8 * r } else { rows * row };
                (-across..across).contains(&i32::from(x))
                    && (-down..down).contains(&i32::from(y))
                    && fits(16 * column, 16, 16 * context.columns, x)
                    && fits(line, rows, all, y)
            })
        })
    }
}

/// The squared error of luminance if it is as predicted.
fn distance(target: &[u8; 256], predicted: &[u8; 256]) -> f32 {
    let square = |(&a, &b): (&u8, &u8)| u32::from(a.abs_diff(b)) * u32::from(a.abs_diff(b));
    target.iter().zip(predicted).map(square).sum::<u32>() as f32
}

/// Either direction alone, of motion that has both.
fn one_direction(motion: Motion) -> impl Iterator<Item = Motion> {
    let both = directions(&motion).count() == 2;
    [FORWARD, BACKWARD].into_iter().filter(move |_| both).map(move |flags| Motion { flags, ..motion })
}

/// Bits of `coded_block_pattern`; none without coded blocks.
fn pattern_bits(chroma: Chroma, coded: u16) -> u32 {
    if coded == 0 {
        return 0;
    }
    let blocks = chroma.blocks() as u32;
    let pattern = coded.reverse_bits() >> (16 - blocks);
    vlc::PATTERN_420.length((pattern >> (blocks - 6)) as u8) + blocks - 6
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header::PictureStructure;

    /// A frame picture of this kind with one type of prediction, whose vectors have residuals of one bit.
    fn context(kind: PictureKind) -> PictureContext {
        let mut context = PictureContext::of_fixture();
        context.header.kind = kind;
        context.coding.structure = PictureStructure::Frame;
        context.coding.frame_pred_frame_dct = true;
        context.coding.f_code = [[2; 2]; 2];
        context
    }

    fn forward(context: &PictureContext, x: i16, y: i16) -> Motion {
        Motion { vectors: [[Vector { x, y }; 2]; 2], ..Motion::zero(context) }
    }

    fn blocks(coded: u16) -> NewBlocks<'static> {
        NewBlocks { coded, codes: &[], ends: &[], dc: &[] }
    }

    #[test]
    fn macroblocks_of_p_pictures_take_the_bits_of_their_tables() {
        let context = context(PictureKind::P);
        let mut choice = MotionChoice::new(&context).expect("a choice");
        let (zero, moved) = (forward(&context, 0, 0), forward(&context, 3, 0));
        // An increment of 1 for what follows, or "MC, not coded" (001) with two zero differences behind an increment.
        assert_eq!(choice.bits(&zero, 0, true), 1);
        assert_eq!(choice.bits(&zero, 0, false), 1 + 3 + 2);
        // "No MC, coded" (01), and a pattern of block 0 alone, 32 (1010): it takes no vector.
        assert_eq!(choice.bits(&zero, 1, true), 1 + 2 + 4);
        // A difference of 3 is motion_code 2 (001), its sign and a residual bit; the other one is 0.
        assert_eq!(choice.bits(&moved, 0, true), 1 + 3 + 5 + 1);
        assert_eq!(choice.bits(&moved, 1, true), 1 + 1 + 5 + 1 + 4);
        // Behind the same vector both differences are 0; a skipped macroblock resets the predictors.
        choice.take(0, &moved, blocks(1), true);
        assert_eq!(choice.bits(&moved, 0, true), 1 + 3 + 2);
        choice.take(1, &zero, blocks(0), true);
        assert_eq!(choice.bits(&moved, 0, true), 1 + 3 + 5 + 1);
    }

    #[test]
    fn intra_macroblocks_take_the_bits_of_their_tables() {
        let mut context = context(PictureKind::P);
        context.coding.intra_dc_precision = 0;
        let mut choice = MotionChoice::new(&context).expect("a choice");
        // An increment of 1 and type 00011; sizes of differences: luminance 3 (101), then 0 (100) three times, chrominance 0 (00) and
        // 1 (01).
        let dc = [132, 132, 132, 132, 128, 127];
        assert_eq!(choice.intra_bits(&dc), 1 + 5 + (3 + 3) + 3 * 3 + 2 + (2 + 1));
        // Behind it all differences are 0, but for a macroblock in between that is not intra.
        choice.take(0, &Motion::INTRA, NewBlocks { dc: &dc, ..blocks(0x3f) }, true);
        assert_eq!(choice.intra_bits(&dc), 1 + 5 + 4 * 3 + 2 * 2);
        choice.take(1, &forward(&context, 3, 0), blocks(1), true);
        assert_eq!(choice.intra_bits(&dc), 1 + 5 + (3 + 3) + 3 * 3 + 2 + (2 + 1));
        // In a B picture the type is 00011 as well; the DCT type takes a bit.
        context.coding.frame_pred_frame_dct = false;
        let choice = MotionChoice::new(&context).expect("a choice");
        assert_eq!(choice.intra_bits(&[128; 6]), 1 + 5 + 1 + 4 * 3 + 2 * 2);
    }

    #[test]
    fn vectors_of_fields_are_predicted_each_from_its_own() {
        let context = context(PictureKind::P);
        let mut choice = MotionChoice::new(&context).expect("a choice");
        let fields = |first: (i16, i16), second: (i16, i16)| {
            let pair = [first, second].map(|(x, y)| Vector { x, y });
            Motion { motion: MotionType::Field, vectors: [pair; 2], ..Motion::zero(&context) }
        };
        choice.take(0, &fields((4, 3), (-2, 1)), blocks(1), true);
        let of_input = fields((8, 8), (9, 9));
        let found: Vec<_> = choice.of_fields_predicted(&of_input).map(|motion| motion.vectors[0]).collect();
        let wanted = [fields((4, 3), (9, 9)), fields((8, 8), (-2, 1)), fields((4, 3), (-2, 1))];
        assert_eq!(found, wanted.map(|motion| motion.vectors[0]));
        // Two bits for the fields, and four differences of 0.
        assert_eq!(choice.predictors.bits(&context, &wanted[2]), 2 + 4);
        assert_eq!(choice.of_fields_predicted(&forward(&context, 1, 1)).count(), 0);
    }

    #[test]
    fn vectors_of_fields_reach_half_as_far_down() {
        let mut context = context(PictureKind::P);
        (context.columns, context.rows) = (10, 20);
        let choice = MotionChoice::new(&context).expect("a choice");
        // In row 10, where the picture is no limit: half samples from -32 to 31, of fields from -16 to 15.
        let address = 105;
        let fields = |y| Motion { motion: MotionType::Field, ..forward(&context, 0, y) };
        let is_inside = |motion: Motion| choice.is_inside(address, &motion);
        assert_eq!(
            [-33, -32, 31, 32].map(|y| is_inside(forward(&context, 0, y))),
            [false, true, true, false]
        );
        assert_eq!([-17, -16, 15, 16].map(|y| is_inside(fields(y))), [false, true, true, false]);
    }
}
