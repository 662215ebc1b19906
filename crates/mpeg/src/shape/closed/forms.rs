//! The form of each macroblock of a closed loop: that of the input, or with other motion, another DCT type or as an intra one, where that
//! costs less. An intra macroblock inherits no error.

use super::super::coder::Coder;
use super::super::drift::{Drift, ErrorSink, MotionError, PredictedError};
use super::super::form_choice;
use super::super::motion_choice::MotionChoice;
use super::super::place::Place;
use super::ClosedLoop;
use crate::decode::predict::Motion;
use crate::decode::prediction_loop::PredictionLoop;
use crate::picture::{Macroblock, Picture};
use crate::tables::macroblock::INTRA;
use crate::vlc::coefficients;
use crate::write::form::Form;
use crate::write::rewrite::{NewBlocks, code_bits};

/// Forms that were chosen stay while lambda is within this factor.
const SAME_LAMBDA: f32 = 1.25;

/// A picture whose macroblocks may get other forms.
pub(super) struct Moving<'a, 'b> {
    pub(super) coder: &'a mut Coder<'b>,
    pub(super) choice: MotionChoice<'b>,
    pub(super) parsed: &'a Picture,
}

/// The trials of one macroblock, and the form that costs least of them.
pub(super) struct Trials<'a, 'b> {
    pub(super) macroblock: &'a Macroblock,
    errors: &'a mut MotionError<'b>,
    place: Place,
    /// Ahead of the macroblock.
    start: Mark,
    pub(super) form: Form,
    pub(super) cost: f32,
}

/// How much was coded.
pub(super) struct Mark {
    macroblocks: usize,
    codes: usize,
    ends: usize,
    dc: usize,
    distortion: f64,
}

/// True where the blocks of a macroblock are of another kind than in the input: its samples are transformed anew.
fn is_bare(macroblock: &Macroblock, form: Form) -> bool {
    form.motion.is_intra() != macroblock.is_intra() || form.field_dct != macroblock.field_dct
}

/// A macroblock of this DCT type whose blocks are added to what is there.
fn added(macroblock: &Macroblock, field_dct: bool) -> Macroblock {
    Macroblock { field_dct, flags: macroblock.flags & !INTRA, ..macroblock.clone() }
}

impl ClosedLoop {
    /// The forms that are known of the last trial, where lambda is about the same as when they were chosen.
    pub(super) fn known_forms(&mut self, lambda: f32, macroblocks: usize) -> Option<Vec<Form>> {
        let ratio = lambda / self.form_lambda;
        let known = std::mem::take(&mut self.forms);
        let stays = known.len() == macroblocks && (1.0 / SAME_LAMBDA..SAME_LAMBDA).contains(&ratio);
        if !stays {
            self.form_lambda = lambda;
        }
        stays.then_some(known)
    }

    /// Codes the macroblocks of the picture that is opened in `drift`, each with a form of its own.
    pub(super) fn code_with_forms(
        &mut self,
        mut moving: Moving<'_, '_>,
        drift: &mut Drift,
        inputs: &PredictionLoop,
        weights: &[f32],
        known: Option<&[Form]>,
    ) {
        let (context, parsed) = (moving.coder.context, moving.parsed);
        let mut places = Place::all(context, parsed, known).zip(weights);
        drift.follow_with_motion(context, parsed, inputs, |macroblock, errors, sink| {
            let Some((place, &weight)) = places.next() else { return };
            let form = if moving.coder.begin(macroblock, weight) {
                self.push_with_form(&mut moving, macroblock, errors, sink, place)
            } else {
                self.begin(macroblock, macroblock.quantiser);
                Form::of(context, macroblock)
            };
            self.forms.push(form);
        });
    }

    /// Codes a macroblock that may get another form, or has that which is known; gives that which it has.
    fn push_with_form(
        &mut self,
        moving: &mut Moving<'_, '_>,
        macroblock: &Macroblock,
        errors: &mut MotionError<'_>,
        sink: Option<&mut ErrorSink<'_, '_>>,
        place: Place,
    ) -> Form {
        if place.resets {
            moving.choice.reset();
        }
        let form = self.push_cheapest(moving, macroblock, errors, place);
        if let Some(sink) = sink {
            self.pass_on_last(moving, macroblock, errors, form, sink);
        }
        moving.choice.take(macroblock.address, &form.motion, self.last_blocks(), place.is_inner);
        form
    }

    /// Gives the error of the macroblock that was coded last in this form to `sink`.
    fn pass_on_last(
        &self,
        Moving { coder, parsed, .. }: &mut Moving<'_, '_>,
        macroblock: &Macroblock,
        errors: &mut MotionError<'_>,
        form: Form,
        sink: &mut ErrorSink<'_, '_>,
    ) {
        let is_bare = is_bare(macroblock, form);
        if is_bare {
            sink.predict(macroblock.address, errors.bare(parsed, macroblock, &form.motion));
        } else if !form.is_as(&Form::of(coder.context, macroblock)) {
            sink.predict(macroblock.address, errors.of_other(macroblock.address, &form.motion));
        }
        coder.intra = form.motion.is_intra();
        let added = added(macroblock, form.field_dct);
        let blocks = self.last_blocks();
        let (mut ends, mut first) = (blocks.ends.iter().peekable(), 0);
        let mut old = parsed.blocks_of(macroblock).iter().peekable();
        for index in 0..coder.context.chroma.blocks() as u8 {
            let before = old.next_if(|block| block.index() == index).map(|block| parsed.codes_of(block));
            let is_coded = blocks.coded >> index & 1 != 0;
            let end = ends.next_if(|_| is_coded).map_or(first, |&end| usize::from(end));
            let codes = &blocks.codes[first..end];
            if is_bare {
                coder.pass_on_bare(&added, index, (blocks.dc.get(usize::from(index)), codes), sink);
            } else {
                coder.pass_on_between(macroblock, index, [before.unwrap_or_default(), codes], sink);
            }
            first = end;
        }
    }

    /// Codes a macroblock in the form of the input, or in another one if that costs less; gives that which it has.
    fn push_cheapest(
        &mut self,
        moving: &mut Moving<'_, '_>,
        macroblock: &Macroblock,
        errors: &mut MotionError<'_>,
        place: Place,
    ) -> Form {
        let of_input = Form::of(moving.coder.context, macroblock);
        let form = place.known.unwrap_or(of_input);
        let stays = place.is_repeated || place.known.is_some();
        if !stays || !form.is_as(&of_input) {
            errors.begin(macroblock.address, &of_input.motion);
        }
        let start = self.mark();
        self.push_form(moving, macroblock, errors, form);
        let cost = self.last_cost(moving, macroblock, form, place);
        let mut trials = Trials { macroblock, errors, place, start, form, cost };
        if !stays {
            self.try_motion(moving, &mut trials);
            self.try_dct_type(moving, &mut trials);
            self.try_intra(moving, &mut trials);
        }
        self.try_scales(moving, &mut trials);
        trials.form
    }

    /// Tries the motion that costs least without any code.
    fn try_motion(&mut self, moving: &mut Moving<'_, '_>, trials: &mut Trials<'_, '_>) {
        let Moving { coder, choice, parsed } = moving;
        let Trials { macroblock, errors, place, .. } = trials;
        if let Some(motion) = choice.cheapest(parsed, macroblock, errors, coder.weight, place.is_inner) {
            self.try_form(moving, trials, Form { motion, ..trials.form });
        }
    }

    /// Tries the other DCT type, where that suits the error of a macroblock with coded luminance.
    fn try_dct_type(&mut self, moving: &mut Moving<'_, '_>, trials: &mut Trials<'_, '_>) {
        let has_luma = self.last_blocks().coded & 0xf != 0;
        if has_luma && form_choice::has_dct_type(moving.coder.context) {
            let bare = trials.errors.bare(moving.parsed, trials.macroblock, &trials.form.motion);
            let field_dct = form_choice::suits_fields(bare);
            if field_dct != trials.form.field_dct {
                self.try_form(moving, trials, Form { field_dct, ..trials.form });
            }
        }
    }

    /// Tries an intra macroblock, where its samples are not much less alike than its prediction errors.
    fn try_intra(&mut self, moving: &mut Moving<'_, '_>, trials: &mut Trials<'_, '_>) {
        if moving.choice.may_be_intra(moving.coder.weight) {
            let motion = Motion::INTRA;
            let bare = trials.errors.bare(moving.parsed, trials.macroblock, &motion);
            let field_dct =
                form_choice::has_dct_type(moving.coder.context) && form_choice::suits_fields(bare);
            self.try_form(moving, trials, Form { motion, field_dct });
        }
    }

    /// Codes a macroblock in another form or at another scale, and keeps that which costs less; true where that is the new one.
    pub(super) fn try_form(
        &mut self,
        moving: &mut Moving<'_, '_>,
        trials: &mut Trials<'_, '_>,
        form: Form,
    ) -> bool {
        let before = self.mark();
        self.push_form(moving, trials.macroblock, trials.errors, form);
        let cost = self.last_cost(moving, trials.macroblock, form, trials.place);
        let is_cheaper = cost < trials.cost;
        if is_cheaper {
            self.remove(&trials.start, &before);
            (trials.form, trials.cost) = (form, cost);
        } else {
            self.return_to(&before);
        }
        is_cheaper
    }

    /// Codes a macroblock in this form.
    fn push_form(
        &mut self,
        Moving { coder, parsed, .. }: &mut Moving<'_, '_>,
        macroblock: &Macroblock,
        errors: &mut MotionError<'_>,
        form: Form,
    ) {
        let (address, motion) = (macroblock.address, &form.motion);
        coder.intra = motion.is_intra();
        if is_bare(macroblock, form) {
            let bare = errors.bare(parsed, macroblock, motion);
            return self.push_bare(coder, &added(macroblock, form.field_dct), bare);
        }
        let error = match motion {
            _ if coder.intra => None,
            _ if form.is_as(&Form::of(coder.context, macroblock)) => Some(errors.of_input(address, motion)),
            _ => Some(errors.of_other(address, motion)),
        };
        self.push(coder, parsed, macroblock, error, None);
    }

    /// What the macroblock costs that was coded last, in bits with its weighted error.
    fn last_cost(
        &self,
        Moving { coder, choice, .. }: &Moving<'_, '_>,
        macroblock: &Macroblock,
        form: Form,
        place: Place,
    ) -> f32 {
        let blocks = self.last_blocks();
        let table = coefficients(coder.context, !blocks.dc.is_empty());
        let bits = code_bits(table, blocks)
            + match form.motion.is_intra() {
                true => choice.intra_bits(blocks.dc),
                false => choice.bits(&form.motion, blocks.coded, place.is_inner),
            };
        let of_scale = if blocks.coded == 0 { 0.0 } else { coder.scale_bits(macroblock) };
        coder.weighted + bits as f32 + of_scale
    }

    pub(super) fn last_blocks(&self) -> NewBlocks<'_> {
        self.blocks_of(self.macroblocks.len() - 1)
    }

    /// Codes a macroblock whose error is `bare` where nothing is coded. `macroblock` has the DCT type of the output.
    fn push_bare(&mut self, coder: &mut Coder<'_>, macroblock: &Macroblock, bare: &PredictedError) {
        self.begin(macroblock, coder.quantiser);
        coder.weighted = 0.0;
        let first = self.codes.len();
        let mut coded = 0;
        for index in 0..coder.context.chroma.blocks() as u8 {
            let before = self.codes.len();
            if coder.code_bare(macroblock, index, bare, &mut self.dc, &mut self.codes)
                && (self.codes.len() > before || coder.intra)
            {
                coded |= 1 << index;
                self.ends.push((self.codes.len() - first) as u16);
            }
        }
        self.end(coder, coded);
    }

    pub(super) fn mark(&self) -> Mark {
        Mark {
            macroblocks: self.macroblocks.len(),
            codes: self.codes.len(),
            ends: self.ends.len(),
            dc: self.dc.len(),
            distortion: self.distortion,
        }
    }

    pub(super) fn return_to(&mut self, mark: &Mark) {
        self.macroblocks.truncate(mark.macroblocks);
        self.codes.truncate(mark.codes);
        self.ends.truncate(mark.ends);
        self.dc.truncate(mark.dc);
        self.distortion = mark.distortion;
    }

    /// Removes what was coded between two marks; one macroblock follows.
    fn remove(&mut self, start: &Mark, end: &Mark) {
        self.macroblocks.drain(start.macroblocks..end.macroblocks);
        self.codes.drain(start.codes..end.codes);
        self.ends.drain(start.ends..end.ends);
        self.dc.drain(start.dc..end.dc);
        self.distortion -= end.distortion - start.distortion;
        if let Some(last) = self.macroblocks.last_mut() {
            (last.first_code, last.first_end) = (start.codes as u32, start.ends as u32);
            last.first_dc = start.dc as u32;
        }
    }
}
