//! `requantize` in a closed loop: each picture is coded anew from its coefficients less the error that those before it left.

use super::config::Config;
use super::drift::Drift;
use super::lambda_search::{self, LAST_TOLERANCE, LambdaSearch};
use super::picture::PictureShaper;
use super::rate_control::RateControl;
use super::requantize::{self, Experience, index_of};
use std::slice::from_mut;

/// How close a picture comes to its budget, as a share of it, and the trials of lambda, at most; the rest is carried over.
const FIT: Fit = Fit { tolerance: 0.01, rounds: 6 };
/// The same where little or nothing follows.
const EXACT: Fit = Fit { tolerance: LAST_TOLERANCE, rounds: lambda_search::ROUNDS };

/// Trials to stay below a size, at most, and the share by which each aims lower than the one before.
const ATTEMPTS: u8 = 10;
const STEP: f64 = 0.02;

#[derive(Debug, Clone, Copy)]
struct Fit {
    tolerance: f64,
    rounds: usize,
}

/// The state from picture to picture.
#[derive(Debug)]
pub(super) struct ClosedRequantizer {
    /// By kind: I, P and others.
    searches: [LambdaSearch; 3],
    drift: Drift,
}

impl ClosedRequantizer {
    pub(super) fn new() -> Self {
        Self { searches: [(); 3].map(|()| LambdaSearch::new()), drift: Drift::default() }
    }

    /// Shapes pictures one by one; in an open loop those that may not be coded in a closed one.
    pub(super) fn shape(
        &mut self,
        config: &Config,
        rate_control: &mut RateControl,
        experience: &mut Experience,
        pictures: &mut [PictureShaper],
    ) {
        for picture in pictures {
            if picture.may_be_closed {
                self.shape_one(rate_control, picture);
            } else {
                self.drift = Drift::default();
                requantize::shape(config, rate_control, experience, from_mut(picture));
            }
        }
    }

    fn shape_one(&mut self, rate_control: &mut RateControl, picture: &mut PictureShaper) {
        let allowed = rate_control.budget(&picture.budget_request());
        let budget = allowed + rate_control.carry_over();
        picture.report.budget = budget as i64;
        let before = self.drift.clone();
        if picture.leave_alone(budget) {
            picture.copy_in_loop(&mut self.drift);
        } else {
            let fit = if picture.is_near_the_end() { EXACT } else { FIT };
            self.code(picture, budget.max(1.0), fit, &before);
            if picture.is_near_the_end() && picture.may_change_table() && self.has_left_over(picture, budget)
            {
                // Nothing could spend what a cheaper table saves.
                picture.keep_intra_table();
                self.code(picture, budget.max(1.0), fit, &before);
            }
        }
        let mut bucket = rate_control.bucket;
        bucket.hold(from_mut(picture), |run, bits| {
            run.iter_mut().for_each(|picture| self.code_below(picture, bits, &before));
        });
        rate_control.bucket = bucket;
        rate_control.charge(allowed, picture.written_bits() as u64, picture.even_rate());
    }

    /// True where the picture kept every level, and has bits left.
    fn has_left_over(&self, picture: &PictureShaper, budget: f64) -> bool {
        self.searches[index_of(picture)].spends_all() && picture.written_bits() < budget
    }

    /// Codes a picture in `most` bits or less, as far as it can be made so small.
    fn code_below(&mut self, picture: &mut PictureShaper, most: f64, before: &Drift) {
        for attempt in 0..ATTEMPTS {
            // Sizes do not follow lambda smoothly, so the nearest one may be above the aim.
            self.code(picture, most * (1.0 - STEP * f64::from(attempt)), EXACT, before);
            if picture.written_bits() <= most || picture.report.at_floor {
                break;
            }
        }
    }

    /// Codes a picture in `budget` bits. `before` is the drift ahead of it.
    fn code(&mut self, picture: &mut PictureShaper, budget: f64, fit: Fit, before: &Drift) {
        // All its macroblocks count the same.
        picture.reopen();
        let search = &mut self.searches[index_of(picture)];
        let drift = &mut self.drift;
        let Fit { tolerance, rounds } = fit;
        let bits = search.search(from_mut(picture), budget, tolerance, rounds, &mut |pictures, lambda| {
            *drift = before.clone();
            pictures.iter_mut().for_each(|picture| picture.write_closed(lambda as f32, drift));
            pictures.iter().map(PictureShaper::written_bits).sum()
        });
        picture.report.at_floor = search.is_at_floor() && bits > budget * (1.0 + tolerance);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::Decoder;
    use crate::pipeline::{self, Pipeline};
    use crate::shape::{Ceiling, ClosedLoop, Method, Shaped, Shaper, Target};
    use seaway_units::{Bitrate, TimeDelta};

    const STREAM: &[u8] = include_bytes!("../../tests/fixtures/elementary.m2v");

    fn shaped(closed_loop: ClosedLoop, ratio: f64, may_be_closed: impl Fn(usize) -> bool) -> Vec<Shaped> {
        let mut shaper =
            Shaper::new(Config { closed_loop, ..Config::new(Method::Requantize, Target::Ratio(ratio)) });
        shaper.announce_length(STREAM.len() as u64);
        for (index, piece) in STREAM.chunks(500).enumerate() {
            shaper.allow_closed_loop(may_be_closed(index));
            shaper.push(piece);
        }
        shaper.finish();
        std::iter::from_fn(|| shaper.pull()).collect()
    }

    fn samples(stream: &[u8]) -> Vec<u8> {
        let mut decoder = Decoder::new();
        decoder.push(stream);
        decoder.finish();
        let mut samples = Vec::new();
        std::iter::from_fn(|| decoder.pull()).for_each(|decoded| decoded.frame.write_planar(&mut samples));
        samples
    }

    /// Mean squared error of all samples, and the octets.
    fn error_and_size(pictures: &[Shaped]) -> (f64, usize) {
        let stream: Vec<u8> = pictures.iter().flat_map(|picture| picture.bytes.clone()).collect();
        let [before, after] = [STREAM, &stream].map(samples);
        assert_eq!(before.len(), after.len());
        let error: u64 = before.iter().zip(&after).map(|(&a, &b)| u64::from(a.abs_diff(b)).pow(2)).sum();
        (error as f64 / before.len() as f64, stream.len())
    }

    #[test]
    fn errors_do_not_add_up() {
        for ratio in [0.9, 0.8, 0.7, 0.6, 0.5] {
            let [open, closed] = [ClosedLoop::Never, ClosedLoop::Always].map(|closed_loop| {
                let pictures = shaped(closed_loop, ratio, |_| true);
                let is_closed = closed_loop == ClosedLoop::Always;
                assert!(pictures.iter().any(|picture| picture.report.closed_loop) == is_closed);
                error_and_size(&pictures)
            });
            let size = ratio * STREAM.len() as f64;
            assert!((closed.1 as f64 / size - 1.0).abs() < 0.0002, "{ratio}: {closed:?} of {size}");
            assert!(closed.0 < 0.9 * open.0, "{ratio}: {closed:?} {open:?}");
        }
    }

    #[test]
    fn pictures_that_may_not_be_closed_are_open() {
        let pictures = shaped(ClosedLoop::Always, 0.7, |piece| piece % 8 < 4);
        let closed = pictures.iter().filter(|picture| picture.report.closed_loop).count();
        assert!(closed > 5 && closed < pictures.len() - 5, "{closed} of {}", pictures.len());
        let size = 0.7 * STREAM.len() as f64;
        assert!((error_and_size(&pictures).1 as f64 / size - 1.0).abs() < 0.02);
    }

    #[test]
    fn what_a_table_saves_of_the_last_picture_is_spent() {
        for share in [0.999, 0.99, 0.9] {
            let mut picture = PictureShaper::all_of(STREAM).swap_remove(0);
            (picture.target, picture.last) = (Target::Ratio(share), true);
            ClosedRequantizer::new().shape_one(&mut RateControl::new(picture.target), &mut picture);
            let size = picture.written_bits() / (share * picture.bits_in() as f64);
            assert!((size - 1.0).abs() < 0.005, "{share}: {size}");
        }
    }

    #[test]
    fn no_bucket_overflows() {
        for (kbps, bucket) in
            [80, 110, 140, 170].into_iter().flat_map(|kbps| [80, 120, 200].map(|ms| (kbps, ms)))
        {
            let mut shaper = Config::new(Method::Requantize, Target::Rate(Bitrate::from_kbps(kbps)));
            shaper.closed_loop = ClosedLoop::Always;
            shaper.ceiling = Some(Ceiling { bucket: TimeDelta::from_millis(bucket), even_seconds: false });
            let mut pipeline = Pipeline::new(pipeline::Config { shaper, container: Default::default() });
            pipeline.push(STREAM).unwrap();
            pipeline.finish().unwrap();
            let report = pipeline.report();
            let ceiling = report.ceiling.unwrap();
            assert!(ceiling.is_kept(), "{kbps} kbit/s, {bucket} ms: {ceiling:?}");
        }
    }
}
