//! The search for the lambda with which pictures take their budget, by a sample of their macroblocks and by all.

use super::config::Config;
use super::parallel;
use super::picture::PictureShaper;
use super::spare::Spare;
use std::sync::Arc;

/// How close sizes come is at most this share of the bits to be saved.
pub(super) const OF_SAVING: f64 = 0.4;
/// How close a sample of the macroblocks of a window comes before all are recoded.
const SAMPLE_TOLERANCE: f64 = 0.03;
/// How close a window comes where the rest of the stream is too short to carry over to.
pub(super) const LAST_TOLERANCE: f64 = 0.0002;
/// At the end of a stream one picture in so many, the last ones, makes up for the others.
const END_PART: usize = 4;
/// Where coarser scales have saved too much at the end, one picture in so many returns to those of the input, until that is enough.
const FINER_PARTS: [usize; 3] = [4, 2, 1];
/// Trials of lambda, at most.
pub(super) const ROUNDS: usize = 12;
/// A search of fewer trials goes on up to these where all missed their aim by this share of it.
const FAR: f64 = 0.2;
/// One macroblock in so many is sampled, at most, ...
const SAMPLING: usize = 32;
/// ... and so many of a window, at least.
const SAMPLE: usize = 600;
/// Coarser scales are tried below this share of the input only; above it they gain nothing over lower levels.
const REQUANTISES_BELOW: f64 = 0.75;
/// They are chosen at this share of the lambda that the scales of the input take: with coarser ones it is lower. Where they save too much,
/// the next share chooses finer ones.
const COMPARED_AT: [f64; 3] = [0.7, 0.3, 0.1];
/// With this lambda no level is dropped.
pub(crate) const LEAST_LAMBDA: f64 = 1e-2;
/// With this lambda every level is dropped.
const HIGHEST_LAMBDA: f64 = 1e7;
/// Where the first search starts.
const FIRST_LAMBDA: f64 = 30.0;
/// The highest lambda at which a later search starts.
const LARGEST_LAMBDA: f64 = 1e4;
/// The share of the aim by which bits fall where lambda grows by a factor of e: the first guess.
const FIRST_FALL: f64 = 0.25;
/// Where a step changed nothing, the next one is longer: this share of the fall is expected.
const FALL_OF_NONE: f64 = 0.5;
/// The least and the most of it.
const FALLS: (f64, f64) = (1e-3, 2.0);
/// The largest change of the logarithm of lambda in one round.
const LONGEST_STEP: f64 = 2.0;

/// The search for lambda.
#[derive(Debug, Clone)]
pub(super) struct LambdaSearch {
    lambda: f64,
    /// The share of the aim by which bits last fell where lambda grew by a factor of e.
    fall: f64,
    /// What a sample of the last window took with the scales of the input, where coarser ones were tried.
    unscaled: Option<f64>,
    /// Those that begin where this one is share it.
    spare: Arc<Spare>,
}

impl LambdaSearch {
    pub(super) fn new() -> Self {
        Self { lambda: FIRST_LAMBDA, fall: FIRST_FALL, unscaled: None, spare: Arc::default() }
    }

    /// True where lambda is so high that every level is dropped.
    pub(super) fn is_at_floor(&self) -> bool {
        self.lambda >= HIGHEST_LAMBDA
    }

    /// True where lambda is so low that every level stays.
    pub(super) fn spends_all(&self) -> bool {
        self.lambda <= LEAST_LAMBDA
    }

    /// Writes pictures whose scales are chosen already in `budget` bits; returns the bits they take.
    pub(super) fn fit(
        &mut self,
        config: &Config,
        pictures: &mut [PictureShaper],
        budget: f64,
        tolerance: f64,
    ) -> f64 {
        let spare = self.spare.clone();
        self.search(pictures, budget, tolerance, ROUNDS, &mut |pictures: &mut [PictureShaper], lambda| {
            write(config, pictures, lambda, &spare)
        })
    }

    /// Chooses the scales of pictures and writes them in `budget` bits, with tolerances as for [`LambdaSearch::fit_end`]; returns the bits they take.
    pub(super) fn fit_with_scales(
        &mut self,
        config: &Config,
        pictures: &mut [PictureShaper],
        budget: f64,
        tolerances: [f64; 2],
    ) -> f64 {
        self.fit_scales(config, pictures, budget);
        let bits = self.fit_end(config, pictures, budget, tolerances);
        let misses = |bits: f64| bits < budget * (1.0 - tolerances[1]);
        // What is left over before the end goes to the rest of the stream.
        if tolerances[1] > LAST_TOLERANCE || !self.spends_all() || !misses(bits) {
            return bits;
        }
        // Coarser scales save more of the whole than of the sample: as few of the last pictures as take the rest return to those of the input.
        for part in FINER_PARTS {
            let (others, last) = pictures.split_at_mut(pictures.len() - pictures.len() / part);
            let others: f64 = others.iter().map(PictureShaper::written_bits).sum();
            let left = (budget - others).max(1.0);
            self.keep_scales(last);
            let bits = others + self.fit(config, last, left, tolerances[1] * budget / left);
            if !misses(bits) || part == 1 {
                return bits;
            }
        }
        bits
    }

    /// Writes pictures whose scales are chosen already, with a tolerance of the first trials, on all pictures, and one in the end: the last pictures make up for the rest, so that
    /// not all are written so often.
    pub(super) fn fit_end(
        &mut self,
        config: &Config,
        pictures: &mut [PictureShaper],
        budget: f64,
        [of_whole, tolerance]: [f64; 2],
    ) -> f64 {
        let misses = |bits: f64, tolerance: f64| (bits / budget - 1.0).abs() >= tolerance;
        let mut bits = self.fit(config, pictures, budget, of_whole);
        if misses(bits, of_whole) || !misses(bits, tolerance) {
            return bits;
        }
        let (others, last) = pictures.split_at_mut(pictures.len() - pictures.len() / END_PART);
        if !last.is_empty() {
            let others: f64 = others.iter().map(PictureShaper::written_bits).sum();
            let left = (budget - others).max(1.0);
            let mut search = self.clone();
            search.step((bits - others) / left - 1.0);
            bits = others + search.fit(config, last, left, tolerance * budget / left);
        }
        if misses(bits, tolerance) { self.fit(config, pictures, budget, tolerance) } else { bits }
    }

    /// Writes pictures that were too large for the bucket in `budget` bits.
    pub(super) fn refit(&mut self, config: &Config, pictures: &mut [PictureShaper], budget: f64) {
        let bits = self.fit(config, pictures, budget, LAST_TOLERANCE);
        if bits > budget * (1.0 + LAST_TOLERANCE) {
            pictures.iter_mut().for_each(|picture| picture.report.at_floor = true);
        }
    }

    /// Finds the lambda with which a sample of the macroblocks takes `budget` bits; returns the bits that it takes.
    pub(super) fn fit_sample(&mut self, config: &Config, pictures: &mut [PictureShaper], budget: f64) -> f64 {
        let (spare, sampling) = (self.spare.clone(), sampling_of(pictures));
        let whole: f64 = pictures.iter().map(|picture| picture.bits_in() as f64).sum();
        let tolerance = SAMPLE_TOLERANCE.min(OF_SAVING * (whole / budget - 1.0));
        self.search(pictures, budget, tolerance, ROUNDS, &mut |pictures: &mut [PictureShaper], lambda| {
            parallel::for_each(config.threads, pictures, |picture| {
                spare.lend(picture, |picture| picture.recode(lambda as f32, sampling));
            });
            pictures.iter().map(|picture| picture.expected_bits(sampling)).sum()
        })
    }

    /// The same, and the scales: where many bits are to be saved, coarser ones are tried. All pictures keep those of the input if that has
    /// less error at the same size.
    pub(super) fn fit_scales(&mut self, config: &Config, pictures: &mut [PictureShaper], budget: f64) {
        let whole: f64 = pictures.iter().map(|picture| picture.bits_in() as f64).sum();
        if budget >= whole * REQUANTISES_BELOW {
            self.fit_sample(config, pictures, budget);
            return;
        }
        self.lambda = self.unscaled.unwrap_or(self.lambda);
        let bits = self.fit_sample(config, pictures, budget);
        let (unscaled, lambda) = (self.cost(pictures, bits - budget), self.lambda);
        self.unscaled = Some(lambda);
        for share in COMPARED_AT {
            self.lambda = share * lambda;
            let compared = self.lambda as f32;
            parallel::for_each(config.threads, pictures, |picture| picture.choose_factor(compared));
            let bits = self.fit_sample(config, pictures, budget);
            // Bits that coarser scales save beyond need cannot be spent again: finer ones are tried.
            if bits >= budget * (1.0 - SAMPLE_TOLERANCE) {
                if self.cost(pictures, bits - budget) < unscaled {
                    return;
                }
                break;
            }
        }
        self.keep_scales(pictures);
    }

    /// Returns to the scales of the input, and to the lambda that a sample took with them.
    fn keep_scales(&mut self, pictures: &mut [PictureShaper]) {
        pictures.iter_mut().for_each(|picture| picture.factor = 1.0);
        self.lambda = self.unscaled.unwrap_or(self.lambda);
    }

    /// The weighted error of pictures of which a sample was recoded, with what their size misses the budget by.
    fn cost(&self, pictures: &[PictureShaper], excess: f64) -> f64 {
        let error: f64 = pictures.iter().map(|picture| picture.weighted_error).sum();
        error * sampling_of(pictures) as f64 + self.lambda * excess
    }

    /// Searches for the lambda with which the pictures take `aim` bits, within `tolerance`; returns the bits they take
    /// with the last one tried. `take` gives the bits for a lambda, which fall about linearly with its logarithm.
    pub(super) fn search(
        &mut self,
        pictures: &mut [PictureShaper],
        aim: f64,
        tolerance: f64,
        rounds: usize,
        take: &mut impl FnMut(&mut [PictureShaper], f64) -> f64,
    ) -> f64 {
        let (mut low, mut high) = (0.0, HIGHEST_LAMBDA * 2.0);
        self.lambda = self.lambda.min(LARGEST_LAMBDA);
        let mut before: Option<(f64, f64)> = None;
        let mut nearest = (f64::INFINITY, self.lambda);
        let mut excess = 0.0f64;
        for round in 0..ROUNDS {
            let logarithm = libm::log(self.lambda);
            excess = take(pictures, self.lambda) / aim - 1.0;
            if let Some((lambda, other)) = before.filter(|&(lambda, _)| lambda != logarithm) {
                let fall = (other - excess) / (logarithm - lambda);
                // Sizes in a closed loop may rise a little.
                if fall > 0.0 {
                    self.fall = fall.clamp(FALLS.0, FALLS.1);
                } else if other == excess {
                    self.fall = (FALL_OF_NONE * self.fall).max(FALLS.0);
                }
            }
            if excess.abs() < nearest.0 {
                nearest = (excess.abs(), self.lambda);
            }
            let at_floor = excess > 0.0 && self.is_at_floor();
            let at_ceiling = excess < 0.0 && self.spends_all();
            if excess.abs() < tolerance || at_floor || at_ceiling {
                break;
            }
            if round + 1 == ROUNDS || (round + 1 >= rounds && nearest.0 < FAR) {
                if nearest.0 < excess.abs() {
                    self.lambda = nearest.1;
                    excess = take(pictures, self.lambda) / aim - 1.0;
                }
                break;
            }
            before = Some((logarithm, excess));
            *(if excess > 0.0 { &mut low } else { &mut high }) = self.lambda;
            self.step(excess);
            let next = self.lambda;
            self.lambda = if next > low && next <= high { next } else { between(low, high) };
        }
        (1.0 + excess) * aim
    }

    /// Moves lambda to where pictures that exceed their aim by a share should have it.
    fn step(&mut self, excess: f64) {
        let step = (excess / self.fall).clamp(-LONGEST_STEP, LONGEST_STEP);
        let next = libm::exp(libm::log(self.lambda) + step);
        self.lambda = next.clamp(LEAST_LAMBDA / 10.0, HIGHEST_LAMBDA);
    }
}

/// One macroblock in so many is in a sample of these pictures.
fn sampling_of(pictures: &[PictureShaper]) -> usize {
    let macroblocks: usize = pictures.iter().map(|picture| picture.parsed.macroblocks.len()).sum();
    (macroblocks / SAMPLE).clamp(1, SAMPLING)
}

/// Recodes and writes all pictures; returns their bits.
fn write(config: &Config, pictures: &mut [PictureShaper], lambda: f64, spare: &Spare) -> f64 {
    parallel::for_each(config.threads, pictures, |picture| {
        spare.lend(picture, |picture| {
            picture.recode(lambda as f32, 1);
            picture.write_recoded();
        });
    });
    pictures.iter().map(|picture| picture.writer.bit_length() as f64).sum()
}

fn between(low: f64, high: f64) -> f64 {
    (low.max(LEAST_LAMBDA / 10.0) * high).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::{Method, Target};

    /// The pictures of a stream, and their bits.
    fn pictures(stream: &[u8]) -> (Vec<PictureShaper>, f64) {
        let pictures = PictureShaper::all_of(stream);
        let bits = pictures.iter().map(|picture| picture.bits_in() as f64).sum();
        (pictures, bits)
    }

    /// Fits the end of a stream to a share of its bits; returns the share that it misses, and whether the pictures ahead of the last
    /// ones are as the first trials left them.
    fn miss_at_the_end(share: f64, tolerances: [f64; 2]) -> (f64, bool) {
        let config = Config::new(Method::Auto, Target::Ratio(share));
        let (mut pictures, whole) = pictures(include_bytes!("../../tests/fixtures/elementary.m2v"));
        let budget = share * whole;
        LambdaSearch::new().fit(&config, &mut pictures, budget, tolerances[0]);
        let bytes = |pictures: &[PictureShaper]| -> Vec<Vec<u8>> {
            let ahead = &pictures[..pictures.len() - pictures.len() / END_PART];
            ahead.iter().map(|picture| picture.writer.bytes().to_vec()).collect()
        };
        let first = bytes(&pictures);
        let bits = LambdaSearch::new().fit_end(&config, &mut pictures, budget, tolerances);
        let written: f64 = pictures.iter().map(PictureShaper::written_bits).sum();
        assert_eq!(bits, written);
        ((written / budget - 1.0).abs(), bytes(&pictures) == first)
    }

    #[test]
    fn the_last_pictures_alone_make_the_end_exact() {
        for share in [0.9, 0.8, 0.7] {
            let (miss, is_first) = miss_at_the_end(share, [0.02, 0.001]);
            assert!(miss < 0.001 && is_first, "{share}: {miss}, {is_first}");
        }
    }

    #[test]
    fn a_search_that_begins_far_from_its_aim_goes_on() {
        let mut trials = 0;
        // Bits fall by a quarter of the aim where lambda grows by a factor of e, but no further than to twice the aim and to nothing.
        let mut take = |_: &mut [PictureShaper], lambda: f64| {
            trials += 1;
            100.0 * (1.0 - 0.25 * libm::log(lambda / 70.0)).clamp(0.0, 2.0)
        };
        let mut search = LambdaSearch { lambda: 1e-3, ..LambdaSearch::new() };
        let bits = search.search(&mut [], 100.0, 1e-3, 4, &mut take);
        assert!((bits / 100.0 - 1.0).abs() < FAR && trials <= ROUNDS, "{bits} after {trials}");
        // With no error nothing more can be spent.
        let mut trials = 0;
        let mut take = |_: &mut [PictureShaper], _| {
            trials += 1;
            50.0
        };
        assert_eq!(search.search(&mut [], 100.0, 1e-3, ROUNDS, &mut take), 50.0);
        assert!(search.lambda <= LEAST_LAMBDA && trials < ROUNDS, "{trials}");
    }

    #[test]
    fn coarser_scales_leave_the_size_within_reach() {
        for share in [0.74, 0.7, 0.65, 0.6, 0.55, 0.5] {
            let config = Config::new(Method::Auto, Target::Ratio(share));
            // The scale of the first picture is fine, so that a coarser one may save too much.
            let (mut pictures, _) = pictures(include_bytes!("../../tests/fixtures/elementary.m2v"));
            pictures.truncate(1);
            let budget = share * pictures[0].bits_in() as f64;
            let mut search = LambdaSearch::new();
            search.fit_scales(&config, &mut pictures, budget);
            let bits = search.fit_sample(&config, &mut pictures, budget);
            assert!((bits / budget - 1.0).abs() <= SAMPLE_TOLERANCE, "{share}: {bits} of {budget}");
        }
    }

    #[test]
    fn coarser_scales_that_save_too_much_of_the_whole_are_given_up() {
        let config = Config::new(Method::Auto, Target::Ratio(0.56));
        let first = || {
            let (mut pictures, _) = pictures(include_bytes!("../../tests/fixtures/elementary.m2v"));
            pictures.truncate(1);
            let budget = 0.56 * pictures[0].bits_in() as f64;
            (pictures, budget)
        };
        let tolerances = [0.005, LAST_TOLERANCE];
        let (mut search, (mut pictures, budget)) = (LambdaSearch::new(), first());
        search.fit_scales(&config, &mut pictures, budget);
        let too_little = search.fit_end(&config, &mut pictures, budget, tolerances);
        assert!(
            pictures[0].factor > 1.0 && search.spends_all() && too_little < 0.98 * budget,
            "{too_little}"
        );
        let (mut pictures, _) = first();
        let bits = LambdaSearch::new().fit_with_scales(&config, &mut pictures, budget, tolerances);
        assert!((bits / budget - 1.0).abs() < 0.001, "{bits} of {budget}");
        assert_eq!(pictures[0].factor, 1.0);
    }

    #[test]
    fn an_end_that_no_lambda_reaches_is_left_as_it_is() {
        let (miss, is_first) = miss_at_the_end(0.05, [0.02, 0.001]);
        assert!(miss > 0.02 && is_first);
    }
}
