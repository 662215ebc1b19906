//! `requantize`: coarser quantiser scales picture by picture, levels chosen by rate and distortion, open loop.

use super::coder::best_lambda;
use super::config::Config;
use super::lambda_search::LambdaSearch;
use super::parallel;
use super::picture::PictureShaper;
use super::rate_control::RateControl;
use crate::header::PictureKind;

/// How close a sample of a picture comes to its budget, ...
const TOLERANCE: f64 = 0.005;
/// ... and the picture; the others of its batch make up for the rest.
const PICTURE_TOLERANCE: f64 = 0.04;
/// Trials of the factor on a sample of the macroblocks, at most.
const ROUNDS: usize = 10;
/// Trials on the whole picture, at most.
const WRITINGS: usize = 4;
/// One macroblock in so many is sampled, at most, ...
const SAMPLING: usize = 8;
/// ... and so many of a picture, at least.
const SAMPLE: usize = 150;
/// With this factor nothing is dropped.
const LEAST_FACTOR: f64 = 0.01;
/// The factor from the finest scale to the coarsest.
const LARGEST_FACTOR: f64 = 112.0;
/// Trials on a batch, at most.
const ATTEMPTS: usize = 4;
/// How close a batch comes to its budget, as a share of it; the rest is carried over.
const CLOSE: f64 = 0.02;
/// The same for a rate, whose mean holds at the end of any batch.
const CLOSE_TO_RATE: f64 = 0.005;
/// The same as a share of all bits so far.
const CLOSE_OVERALL: f64 = 0.003;
/// The most that the last pictures lack, as a share of their budget.
const CLOSE_AT_END: f64 = 0.0005;
/// Share by which the last pictures exceed their budget at first.
const END_MARGIN: f64 = 0.005;

/// The estimate of the next pictures from those so far, by kind: I, P and others.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Experience([Option<Found>; 3]);

/// What was found for a picture.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found {
    /// The factor, and the share of its bits that was asked for.
    factor: f64,
    share: f64,
    /// Its bits beside those that a sample predicted.
    bias: f64,
}

impl Experience {
    fn of(&self, picture: &PictureShaper) -> Option<Found> {
        self.0[index_of(picture)]
    }

    fn learn(&mut self, pictures: &[PictureShaper]) {
        for picture in pictures.iter().filter(|picture| picture.is_shapeable()) {
            self.0[index_of(picture)] = picture.found;
        }
    }
}

/// The index of a picture's kind: I, P and others.
pub(super) fn index_of(picture: &PictureShaper) -> usize {
    match picture.report.kind {
        Some(PictureKind::I) => 0,
        Some(PictureKind::P) => 1,
        _ => 2,
    }
}

/// Shapes a batch of pictures.
pub(super) fn shape(
    config: &Config,
    rate_control: &mut RateControl,
    experience: &mut Experience,
    pictures: &mut [PictureShaper],
) {
    let ends = pictures.last().is_some_and(|picture| picture.last);
    let mut allowed = 0.0;
    for picture in &mut *pictures {
        let share = rate_control.budget(&picture.budget_request());
        picture.report.budget = share as i64;
        allowed += share;
    }
    let budget = (allowed + rate_control.carry_over()).max(1.0);
    let mut part = budget / f64::max(allowed, 1.0);
    if ends {
        part *= 1.0 + END_MARGIN;
    }
    let close = if pictures.last().is_some_and(PictureShaper::has_rate) { CLOSE_TO_RATE } else { CLOSE };
    let close = close.min(CLOSE_OVERALL * rate_control.total_bits() / budget);
    // At the end of the stream a picture is copied only where the whole batch may be.
    let whole: u64 = pictures.iter().map(PictureShaper::bits_in).sum();
    let may_copy = !ends || budget >= whole as f64;
    let mut written = 0.0;
    let before = *experience;
    for _ in 0..ATTEMPTS {
        parallel::for_each(config.threads, pictures, |picture| {
            let share = picture.report.budget as f64 * part;
            if (may_copy && picture.leave_alone(share)) || !picture.is_shapeable() {
                picture.copy();
            } else {
                requantise_to(picture, share, before.of(picture));
            }
        });
        written = pictures.iter().map(|picture| picture.writer.bit_length() as f64).sum::<f64>();
        // The scales leave the last pictures slightly too large, and then levels are dropped until they fit.
        let (least, most) = if ends { (0.0, 4.0 * END_MARGIN) } else { (-close, close) };
        let excess = written / budget - 1.0;
        if excess >= least && excess <= most {
            break;
        }
        part *= if ends { 1.0 + END_MARGIN } else { 1.0 } / (1.0 + excess);
    }
    if ends && (written > budget || written < budget * (1.0 - CLOSE_AT_END)) {
        LambdaSearch::new().refit(config, pictures, budget);
    }
    experience.learn(pictures);
    let mut bucket = rate_control.bucket;
    bucket.hold(pictures, |run, bits| LambdaSearch::new().refit(config, run, bits));
    rate_control.bucket = bucket;
    let written: f64 = pictures.iter().map(PictureShaper::written_bits).sum();
    rate_control.charge(allowed, written as u64, pictures.last().and_then(PictureShaper::even_rate));
}

/// Multiplies the scales until the picture fits, and writes it.
fn requantise_to(picture: &mut PictureShaper, share: f64, before: Option<Found>) {
    let share = share.max(1.0);
    let bits_in = picture.bits_in() as f64;
    // A batch that is written again begins where it was.
    let before = picture.found.or(before);
    picture.importance.clear();
    picture.importance.resize(picture.parsed.macroblocks.len(), 1.0);
    let sampling = (picture.parsed.macroblocks.len() / SAMPLE).clamp(1, SAMPLING);
    let mut bias = before.map_or(1.0, |found| found.bias);
    // Bits fall about as the factor rises.
    let mut guess = before.map_or(bits_in / share, |found| found.factor * found.share * bits_in / share);
    let scale = picture.mean_scale();
    // Below a factor of 1 the scale stays, and fewer levels are dropped the smaller it is.
    let lambda_of = |factor: f64| {
        let part = factor.min(1.0) as f32;
        best_lambda(scale * factor as f32) * part * part
    };
    for _ in 0..WRITINGS {
        let (factor, predicted) = find_factor(picture, guess, (share / bias).max(1.0), sampling, lambda_of);
        picture.recode(lambda_of(factor), 1);
        picture.write_recoded();
        let bits = picture.writer.bit_length() as f64;
        picture.report.at_floor = picture.factor > LARGEST_FACTOR * 0.98 && bits > share;
        bias = (bits / predicted.max(1.0)).clamp(0.5, 2.0);
        picture.found = Some(Found { factor, share: share / bits_in, bias });
        if (bits / share - 1.0).abs() < PICTURE_TOLERANCE || picture.report.at_floor {
            break;
        }
        guess = factor * bits / share;
    }
}

/// Finds the factor with which the picture should take `aim` bits, from a `guess` on; returns it with the bits predicted.
fn find_factor(
    picture: &mut PictureShaper,
    guess: f64,
    aim: f64,
    sampling: usize,
    lambda_of: impl Fn(f64) -> f32,
) -> (f64, f64) {
    let (mut low, mut high) = (LEAST_FACTOR, LARGEST_FACTOR);
    let mut factor = guess.clamp(low, high);
    let (mut tried, mut predicted) = (factor, aim);
    for _ in 0..ROUNDS {
        tried = factor;
        picture.factor = factor.max(1.0);
        picture.recode(lambda_of(factor), sampling);
        predicted = picture.expected_bits(sampling);
        let excess = predicted / aim;
        if (excess - 1.0).abs() < TOLERANCE || high / low < 1.001 {
            break;
        }
        if excess > 1.0 {
            low = factor;
        } else {
            high = factor;
        }
        let guess = factor * excess;
        factor = if guess > low && guess < high { guess } else { (low * high).sqrt() };
    }
    (tried, predicted)
}
