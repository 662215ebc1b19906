//! Drift: the error that shaped pictures hand on to the pictures predicted from them. One prediction loop carries the
//! difference between output and input, because motion compensation is linear but for its rounding.

use crate::decode::block::{dequantise, dequantise_codes};
use crate::decode::frame::{DIFFERENCE, Frame, Sample};
use crate::decode::idct;
use crate::decode::predict::{Motion, Prediction, References, predict, predict_luma};
use crate::decode::prediction_loop::{Opened, PredictionLoop};
use crate::decode::reconstruct::{BlockPlace, Reconstructor, reconstruct_with};
use crate::header::{PictureContext, PictureKind};
use crate::picture::{Block, Code, Macroblock, Picture};
use std::borrow::Cow;

/// The largest frame whose drift is followed, in macroblocks.
const LARGEST_FRAME: usize = 1 << 18;

/// The prediction loop of the error. An unknown reference frame counts as one without error.
#[derive(Debug, Clone, Default)]
pub(super) struct Drift {
    errors: PredictionLoop<i16>,
    /// The present picture is followed.
    follows: bool,
}

impl Drift {
    /// Opens a picture.
    pub(super) fn open(&mut self, context: &PictureContext, closed_group: bool) {
        self.follows = context.columns * context.rows <= LARGEST_FRAME;
        if !self.follows {
            *self = Self::default();
        } else if context.kind() == PictureKind::B {
            // Nothing is predicted from it, so its own error need not be kept.
            self.errors.complete();
            self.follows = self.errors.fits(context);
        } else {
            self.follows = !matches!(self.errors.open(context, closed_group), Opened::Undecodable(_));
        }
    }

    /// True where two reference frames are known.
    pub(super) fn has_both(&self) -> bool {
        self.errors.has_both()
    }

    /// What is unknown of the reference frames is as behind `before`.
    pub(super) fn follow_on(&mut self, before: &Self) {
        self.errors.follow_on(&before.errors);
    }

    /// The error of the newest reference frame.
    #[cfg(test)]
    pub(super) fn newest(mut self) -> Option<std::sync::Arc<Frame<i16>>> {
        self.errors.complete();
        self.errors.newest()
    }

    /// Calls `act` with each macroblock of the opened picture, and with its predicted error. Those without blocks have none,
    /// nor have intra macroblocks.
    pub(super) fn visit(
        &self,
        context: &PictureContext,
        macroblocks: &[Macroblock],
        mut act: impl FnMut(&Macroblock, Option<&PredictedError>),
    ) {
        let mut predicted = PredictedError(Prediction::new());
        self.errors.with_references(context, |references| {
            for macroblock in macroblocks {
                let follows = self.follows && !macroblock.is_intra() && macroblock.blocks > 0;
                if follows {
                    let address = macroblock.address as usize;
                    let (column, row) = (address % context.columns, address / context.columns);
                    let motion = Motion::of(context, macroblock);
                    predict(context, references, &motion, column, row, &mut predicted.0);
                }
                act(macroblock, follows.then_some(&predicted));
            }
        });
    }

    /// Calls `act` with each macroblock of the opened picture as [`Drift::visit`] does. In a reference picture `act` also
    /// takes the macroblock's own error.
    pub(super) fn follow(
        &mut self,
        context: &PictureContext,
        parsed: &Picture,
        mut act: impl FnMut(&Macroblock, Option<&PredictedError>, Option<&mut ErrorSink<'_, '_>>),
    ) {
        if !self.follows || context.kind() == PictureKind::B {
            return self
                .visit(context, &parsed.macroblocks, |macroblock, error| act(macroblock, error, None));
        }
        let mut predicted = PredictedError(Prediction::new());
        self.errors.reconstruct(context, |references, frame| {
            reconstruct_with(context, parsed, references, frame, |macroblock, reconstructor| {
                predicted.0.clone_from(&reconstructor.prediction);
                let error = (!macroblock.is_intra()).then_some(&predicted);
                act(macroblock, error, Some(&mut ErrorSink { context, reconstructor }));
            })
        });
    }

    /// Calls `act` with each macroblock of the opened picture and with what predicts it in any way. `inputs` has the reference
    /// frames of the input. In a reference picture `act` also takes the macroblock's own error.
    pub(super) fn follow_with_motion(
        &mut self,
        context: &PictureContext,
        parsed: &Picture,
        inputs: &PredictionLoop,
        mut act: impl FnMut(&Macroblock, &mut MotionError<'_>, Option<&mut ErrorSink<'_, '_>>),
    ) {
        inputs.with_references(context, |inputs| {
            if !self.follows || context.kind() == PictureKind::B {
                return self.errors.with_references(context, |errors| {
                    let mut errors = MotionError::new(context, self.follows.then_some(errors), inputs);
                    parsed.macroblocks.iter().for_each(|macroblock| act(macroblock, &mut errors, None));
                });
            }
            self.errors.reconstruct(context, |references, frame| {
                let mut errors = MotionError::new(context, Some(references), inputs);
                reconstruct_with(context, parsed, references, frame, |macroblock, reconstructor| {
                    act(macroblock, &mut errors, Some(&mut ErrorSink { context, reconstructor }));
                })
            });
        });
    }
}

/// The reference frames of the output.
struct Outputs<'a> {
    forward: Cow<'a, Frame>,
    /// `None` where it is the same.
    backward: Option<Cow<'a, Frame>>,
}

impl<'a> Outputs<'a> {
    fn new(
        context: &PictureContext,
        inputs: &References<'a, u8>,
        errors: Option<&References<'_, i16>>,
    ) -> Self {
        let sum = |input: &'a Frame, error: Option<&Frame<i16>>| match error {
            Some(error) => Cow::Owned(input.plus(error)),
            None => Cow::Borrowed(input),
        };
        let is_b = context.kind() == PictureKind::B;
        Self {
            forward: sum(inputs.forward, errors.map(|errors| errors.forward)),
            backward: is_b.then(|| sum(inputs.backward, errors.map(|errors| errors.backward))),
        }
    }

    fn references(&self) -> References<'_, u8> {
        let backward = self.backward.as_deref().unwrap_or(&self.forward);
        References { forward: &self.forward, backward, first_field: None }
    }
}

/// The error that a macroblock has if it is predicted in another way than in the input.
pub(super) struct MotionError<'a> {
    context: &'a PictureContext,
    errors: Option<&'a References<'a, i16>>,
    inputs: &'a References<'a, u8>,
    /// Made where motion is searched for.
    outputs: Option<Outputs<'a>>,
    /// The prediction of the input, and that of the input's frames by the other motion.
    before: Prediction<u8>,
    after: Prediction<u8>,
    error: PredictedError,
    /// What that is the error of, if it was asked for since the macroblock was begun.
    last: Option<(Motion, Coding)>,
    /// The macroblock of the input, where it was asked for since then.
    input: Prediction<u8>,
    has_input: bool,
}

/// What an error counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Coding {
    /// With the blocks of the input.
    OfInput,
    /// Without blocks.
    None,
}

impl<'a> MotionError<'a> {
    fn new(
        context: &'a PictureContext,
        errors: Option<&'a References<'a, i16>>,
        inputs: &'a References<'a, u8>,
    ) -> Self {
        // Chrominance fills a part of its planes alone; the rest stays equal, also behind intra macroblocks.
        let [before, after] = [0, 1].map(|_| Prediction { planes: [[0; 256]; 3] });
        Self {
            context,
            errors,
            inputs,
            outputs: None,
            before,
            after,
            error: PredictedError(Prediction::new()),
            last: None,
            input: Prediction::new(),
            has_input: false,
        }
    }

    /// The macroblock at `address`, which has `motion` in the input, comes next. An intra one is predicted as 0.
    pub(super) fn begin(&mut self, address: u32, motion: &Motion) {
        let (column, row) = self.place(address);
        match motion.is_intra() {
            true => self.before.planes = [[0; 256]; 3],
            false => predict(self.context, self.inputs, motion, column, row, &mut self.before),
        }
        (self.last, self.has_input) = (None, false);
    }

    /// Its error without other motion.
    pub(super) fn of_input(&mut self, address: u32, motion: &Motion) -> &PredictedError {
        let (column, row) = self.place(address);
        self.last = None;
        match self.errors {
            Some(errors) => predict(self.context, errors, motion, column, row, &mut self.error.0),
            None => self.error.0 = Prediction::new(),
        }
        &self.error
    }

    /// Its error with `motion`: what that predicts from the output, less what the input was predicted as.
    pub(super) fn of_other(&mut self, address: u32, motion: &Motion) -> &PredictedError {
        if self.is_last(motion, Coding::OfInput) {
            return &self.error;
        }
        let (column, row) = self.place(address);
        self.of_input(address, motion);
        predict(self.context, self.inputs, motion, column, row, &mut self.after);
        for (error, (after, before)) in
            self.error.0.planes.iter_mut().zip(self.after.planes.iter().zip(&self.before.planes))
        {
            for (error, (&after, &before)) in error.iter_mut().zip(after.iter().zip(before)) {
                *error += DIFFERENCE as i16 * (i16::from(after) - i16::from(before));
            }
        }
        self.last = Some((*motion, Coding::OfInput));
        &self.error
    }

    /// Its error with `motion` if nothing is coded: what that predicts from the output, less the macroblock of the input.
    pub(super) fn bare(
        &mut self,
        parsed: &Picture,
        macroblock: &Macroblock,
        motion: &Motion,
    ) -> &PredictedError {
        if self.is_last(motion, Coding::None) {
            return &self.error;
        }
        self.input(parsed, macroblock);
        if motion.is_intra() {
            let less = |sample: u8| -(DIFFERENCE as i16) * i16::from(sample);
            self.error.0.planes = self.input.planes.map(|plane| plane.map(less));
        } else {
            self.of_other(macroblock.address, motion);
            let inputs = self.input.planes.as_flattened().iter().zip(self.before.planes.as_flattened());
            for (error, (&input, &before)) in self.error.0.planes.as_flattened_mut().iter_mut().zip(inputs) {
                *error -= DIFFERENCE as i16 * (i16::from(input) - i16::from(before));
            }
        }
        self.last = Some((*motion, Coding::None));
        &self.error
    }

    /// The macroblock of the input that was begun.
    pub(super) fn input(&mut self, parsed: &Picture, macroblock: &Macroblock) -> &Prediction<u8> {
        if std::mem::replace(&mut self.has_input, true) {
            return &self.input;
        }
        self.input.clone_from(&self.before);
        let mut samples = [0; 64];
        for block in parsed.blocks_of(macroblock) {
            dequantise(self.context, macroblock, block, parsed.codes_of(block), &mut samples);
            idct::inverse(&mut samples);
            let place = BlockPlace::of(self.context, macroblock, block.index());
            let plane = &mut self.input.planes[place.component];
            for (at, samples) in place.lines().zip(samples.chunks_exact(8)) {
                for (sample, &value) in plane[at..at + 8].iter_mut().zip(samples) {
                    *sample = sample.plus(value);
                }
            }
        }
        &self.input
    }

    /// The luminance that the macroblock at `address` is predicted as in the output with `motion`.
    pub(super) fn predicted_luma(&mut self, address: u32, motion: &Motion) -> &[u8; 256] {
        let place = self.place(address);
        let outputs =
            self.outputs.get_or_insert_with(|| Outputs::new(self.context, self.inputs, self.errors));
        predict_luma(self.context, &outputs.references(), motion, place, &mut self.after);
        &self.after.planes[0]
    }

    /// True where the error is that of this motion already.
    fn is_last(&self, motion: &Motion, coding: Coding) -> bool {
        self.last.is_some_and(|(last, of)| of == coding && last.is_as(motion))
    }

    fn place(&self, address: u32) -> (usize, usize) {
        (address as usize % self.context.columns, address as usize / self.context.columns)
    }
}

/// The error of the prediction of a macroblock: output less input.
#[derive(Debug)]
pub(super) struct PredictedError(pub(super) Prediction<i16>);

impl PredictedError {
    /// The samples of one block, line by line.
    pub(super) fn samples(
        &self,
        context: &PictureContext,
        macroblock: &Macroblock,
        block: u8,
    ) -> ErrorSamples {
        let place = BlockPlace::of(context, macroblock, block);
        let plane = &self.0.planes[place.component];
        let mut samples = [0.0; 64];
        for (at, samples) in place.lines().zip(samples.chunks_exact_mut(8)) {
            for (sample, &error) in samples.iter_mut().zip(&plane[at..at + 8]) {
                *sample = f32::from(error) * (1.0 / DIFFERENCE as f32);
            }
        }
        ErrorSamples(samples)
    }
}

/// The error of the prediction of a block, in samples.
pub(super) struct ErrorSamples(pub(super) [f32; 64]);

impl ErrorSamples {
    /// The transform, in raster order: `A` of S002, equation 9.
    pub(super) fn coefficients(&self) -> [f32; 64] {
        idct::forward(&self.0)
    }
}

/// The sum of squares of a block: of its samples and of its coefficients alike.
pub(super) fn energy(block: &[f32; 64]) -> f32 {
    let mut sums = [0.0; 8];
    for line in block.chunks_exact(8) {
        sums.iter_mut().zip(line).for_each(|(sum, value)| *sum += value * value);
    }
    sums.iter().sum()
}

/// Takes the error of a macroblock of a reference picture.
pub(super) struct ErrorSink<'a, 'b> {
    context: &'a PictureContext,
    reconstructor: &'a mut Reconstructor<'b, i16>,
}

impl ErrorSink<'_, '_> {
    /// The macroblock at `address` has another predicted error than by the motion of the input.
    pub(super) fn predict(&mut self, address: u32, error: &PredictedError) {
        self.reconstructor.replace(address, &error.0);
    }

    /// Adds the difference of the coefficients of a block, in raster order.
    pub(super) fn add(&mut self, macroblock: &Macroblock, block: u8, output: &[i32; 64], input: &[i32; 64]) {
        if output != input {
            let mut difference = std::array::from_fn(|i| DIFFERENCE * (output[i] - input[i]));
            idct::inverse(&mut difference);
            self.reconstructor.add(macroblock, block, &difference);
        }
    }

    /// Adds the coefficients of a block, in raster order, to the error without any.
    pub(super) fn add_whole(&mut self, macroblock: &Macroblock, block: u8, mut output: [i32; 64]) {
        idct::inverse(&mut output);
        self.reconstructor.add(macroblock, block, &output.map(|value| DIFFERENCE * value));
    }

    /// Adds the error of dropped codes.
    pub(super) fn add_dropped(&mut self, macroblock: &Macroblock, block: &Block, codes: &[Code]) {
        let mut dropped = [0; 64];
        let (intra, quantiser) = (macroblock.is_intra(), macroblock.quantiser);
        dequantise_codes(self.context, intra, block.index(), quantiser, codes, &mut dropped);
        self.add(macroblock, block.index(), &[0; 64], &dropped);
    }
}
