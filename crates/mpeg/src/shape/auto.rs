//! `auto`: trellis requantisation over a window of pictures with one lambda. Levels are lowered or dropped and scales
//! made coarser; the errors of each macroblock are weighted by its importance.

use super::config::Config;
use super::parallel;
use super::picture::PictureShaper;
use super::rate_control::RateControl;
use super::window::{self, Fit};

/// How close a window comes to its budget, as a share of it; the rest is carried over.
const TOLERANCE: f64 = 0.05;
/// How close a sample of its macroblocks comes before all are recoded.
const SAMPLE_TOLERANCE: f64 = 0.03;
/// Both tolerances are at most this share of the bits to be saved.
const OF_SAVING: f64 = 0.4;
/// How close it comes to a rate, so that the mean holds at the end of any window.
const RATE_TOLERANCE: f64 = 0.005;
/// How close it comes where the rest of the stream is too short to carry over to.
const LAST_TOLERANCE: f64 = 0.0002;
/// A window that exceeds its budget by this share has reached its floor.
const FLOOR_EXCESS: f64 = 0.1;
/// Trials of lambda, at most.
const ROUNDS: usize = 12;
/// One macroblock in so many is sampled, at most, ...
const SAMPLING: usize = 32;
/// ... and so many of a window, at least.
const SAMPLE: usize = 600;

/// Coarser scales are tried below this share of the input only; above it they gain nothing over lower levels.
const REQUANTISES_BELOW: f64 = 0.75;
/// The bits beyond the aim, as a share of it, that coarser scales must leave while no level is dropped.
const ROOM: f64 = 0.05;
/// With this lambda no level is dropped.
const LEAST_LAMBDA: f64 = 1e-2;
/// With this lambda every level is dropped.
const HIGHEST_LAMBDA: f64 = 1e7;
/// Where the first search starts.
const FIRST_LAMBDA: f64 = 30.0;
/// The highest lambda at which a later search starts.
const LARGEST_LAMBDA: f64 = 1e4;
/// The share of the aim by which bits fall where lambda grows by a factor of e: the first guess.
const FIRST_FALL: f64 = 0.25;
/// The least and the most of it.
const FALLS: (f64, f64) = (1e-3, 2.0);

/// The state that `auto` keeps from window to window.
#[derive(Debug, Clone)]
pub(super) struct Auto {
    lambda: f64,
    /// The share of the aim by which bits last fell where lambda grew by a factor of e.
    fall: f64,
}

impl Auto {
    pub(super) fn new() -> Self {
        Self { lambda: FIRST_LAMBDA, fall: FIRST_FALL }
    }

    /// Shapes a window of pictures; `future` as for [`window::shape`].
    pub(super) fn shape(
        &mut self,
        config: &Config,
        rate_control: &mut RateControl,
        pictures: &mut [PictureShaper],
        future: f32,
    ) {
        window::shape(rate_control, pictures, future, |pictures, budget, fit| match fit {
            Fit::Window => self.fit(config, pictures, budget.max(1.0)),
            // The next window begins where this one as a whole has ended.
            Fit::Run => self.clone().refit(config, pictures, budget),
        });
    }

    /// Writes pictures whose scales are chosen already in `budget` bits; returns the bits they take.
    pub(super) fn fit_last(&mut self, config: &Config, pictures: &mut [PictureShaper], budget: f64) -> f64 {
        self.search(pictures, budget, LAST_TOLERANCE, &mut |pictures: &mut [PictureShaper], lambda| {
            write(config, pictures, lambda)
        })
    }

    /// Writes pictures that were too large for the bucket in `budget` bits.
    pub(super) fn refit(&mut self, config: &Config, pictures: &mut [PictureShaper], budget: f64) {
        let bits = self.fit_last(config, pictures, budget);
        if bits > budget * (1.0 + LAST_TOLERANCE) {
            pictures.iter_mut().for_each(|picture| picture.report.at_floor = true);
        }
    }

    /// Writes the pictures in `budget` bits.
    fn fit(&mut self, config: &Config, pictures: &mut [PictureShaper], budget: f64) {
        let macroblocks: usize = pictures.iter().map(|picture| picture.parsed.macroblocks.len()).sum();
        let sampling = (macroblocks / SAMPLE).clamp(1, SAMPLING);
        let threads = config.threads;
        let mut sample = |pictures: &mut [PictureShaper], lambda: f64| {
            parallel::for_each(threads, pictures, |picture| picture.recode(lambda as f32, sampling));
            pictures.iter().map(|picture| picture.expected_bits(sampling)).sum()
        };
        let whole: f64 = pictures.iter().map(|picture| picture.bits_in() as f64).sum();
        let saving = OF_SAVING * (whole / budget - 1.0);
        self.choose_factors(config, pictures, budget, &mut sample);
        self.search(pictures, budget, SAMPLE_TOLERANCE.min(saving), &mut sample);
        let tolerance = if window::is_near_the_end(pictures) {
            LAST_TOLERANCE
        } else if window::must_be_exact(pictures) {
            RATE_TOLERANCE.min(saving)
        } else {
            TOLERANCE.min(saving)
        };
        let mut written = |pictures: &mut [PictureShaper], lambda| write(config, pictures, lambda);
        let bits = self.search(pictures, budget, tolerance, &mut written);
        let at_floor = bits > budget * (1.0 + FLOOR_EXCESS);
        pictures.iter_mut().for_each(|picture| picture.report.at_floor = at_floor);
    }

    /// Tries coarser scales, where many bits are to be saved. They are compared by the lambda of the window before; the
    /// first window searches for one.
    fn choose_factors(
        &mut self,
        config: &Config,
        pictures: &mut [PictureShaper],
        aim: f64,
        sample: &mut impl FnMut(&mut [PictureShaper], f64) -> f64,
    ) {
        let whole: f64 = pictures.iter().map(|picture| picture.bits_in() as f64).sum();
        if aim >= whole * REQUANTISES_BELOW {
            return;
        }
        if self.lambda == FIRST_LAMBDA {
            self.search(pictures, aim, SAMPLE_TOLERANCE, sample);
        }
        parallel::for_each(config.threads, pictures, |picture| picture.choose_factor(self.lambda as f32));
        // Bits that coarser scales save cannot be spent again, so they must leave more than the aim.
        if sample(pictures, LEAST_LAMBDA) < aim * (1.0 + ROOM) {
            pictures.iter_mut().for_each(|picture| picture.factor = 1.0);
        }
    }

    /// Searches for the lambda with which the pictures take `aim` bits, within `tolerance`; returns the bits they take
    /// with the last one tried. `take` gives the bits for a lambda, which fall about linearly with its logarithm.
    fn search(
        &mut self,
        pictures: &mut [PictureShaper],
        aim: f64,
        tolerance: f64,
        take: &mut impl FnMut(&mut [PictureShaper], f64) -> f64,
    ) -> f64 {
        let (mut low, mut high) = (0.0, HIGHEST_LAMBDA * 2.0);
        self.lambda = self.lambda.min(LARGEST_LAMBDA);
        let mut before: Option<(f64, f64)> = None;
        let mut excess = 0.0f64;
        for round in 0..ROUNDS {
            let logarithm = libm::log(self.lambda);
            excess = take(pictures, self.lambda) / aim - 1.0;
            if let Some((lambda, other)) = before.filter(|&(lambda, _)| lambda != logarithm) {
                self.fall = ((other - excess) / (logarithm - lambda)).clamp(FALLS.0, FALLS.1);
            }
            let at_floor = excess > 0.0 && self.lambda >= HIGHEST_LAMBDA;
            if excess.abs() < tolerance || at_floor || round + 1 == ROUNDS {
                break;
            }
            before = Some((logarithm, excess));
            *(if excess > 0.0 { &mut low } else { &mut high }) = self.lambda;
            let next = libm::exp(logarithm + (excess / self.fall).clamp(-LONGEST_STEP, LONGEST_STEP));
            let next = next.clamp(LEAST_LAMBDA / 10.0, HIGHEST_LAMBDA);
            self.lambda = if next > low && next <= high { next } else { between(low, high) };
        }
        (1.0 + excess) * aim
    }
}

/// Recodes and writes all pictures; returns their bits.
fn write(config: &Config, pictures: &mut [PictureShaper], lambda: f64) -> f64 {
    parallel::for_each(config.threads, pictures, |picture| {
        picture.recode(lambda as f32, 1);
        picture.write_recoded();
    });
    pictures.iter().map(|picture| picture.writer.bit_length() as f64).sum()
}

/// The largest change of the logarithm of lambda in one round.
const LONGEST_STEP: f64 = 2.0;

fn between(low: f64, high: f64) -> f64 {
    (low.max(LEAST_LAMBDA / 10.0) * high).sqrt()
}
