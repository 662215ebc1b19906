//! `auto`: levels chosen anew over a window of pictures, one lambda, each macroblock weighed by how far its
//! errors spread.

use super::budget::Account;
use super::config::{Config, Target};
use super::importance;
use super::parallel;
use super::shaper::leave_alone;
use super::truncation::allow_window;
use super::work::{Work, end_is_near};

/// How close to the budget a window must come, as a share of it; the rest is carried over.
const TOLERANCE: f64 = 0.05;
/// How close a sample of it must come before all is recoded.
const SAMPLE_TOLERANCE: f64 = 0.03;
/// How close both must come as a share of what is to be saved.
const OF_SAVING: f64 = 0.4;
/// How close it must come where too little follows to carry the rest to.
const LAST_TOLERANCE: f64 = 0.0002;
/// So much above its budget a window has reached its floor.
const FLOOR_EXCESS: f64 = 0.1;
/// Rounds of adjusting lambda, at most.
const ROUNDS: usize = 12;
/// One macroblock in so many is a sample, at most ...
const SAMPLING: usize = 32;
/// ... and so many of a window at least.
const SAMPLE: usize = 600;

/// Above this share of the input coarser scales do not pay: dropping and lowering levels do as well.
const REQUANTISES_BELOW: f64 = 0.75;
/// How much more than the aim the coarser scales must leave while nothing is dropped.
const ROOM: f64 = 0.05;
/// With this nothing is dropped.
const LEAST_LAMBDA: f64 = 1e-2;
/// Beyond this nothing is worth a bit.
const HIGHEST_LAMBDA: f64 = 1e7;
/// Where the search begins in a stream, and where it goes on at most.
const FIRST_LAMBDA: f64 = 30.0;
const LARGEST_LAMBDA: f64 = 1e4;
/// By what share of the aim bits fall where lambda grows by a factor of e: at first, and at least and at most.
const FIRST_FALL: f64 = 0.25;
const FALLS: (f64, f64) = (1e-3, 2.0);

/// What `auto` remembers from window to window.
#[derive(Debug)]
pub(super) struct Auto {
    lambda: f64,
    /// By what share of the aim bits fell where lambda grew by a factor of e.
    fall: f64,
}

impl Auto {
    pub(super) fn new() -> Self {
        Self { lambda: FIRST_LAMBDA, fall: FIRST_FALL }
    }

    /// Shapes a window of pictures; `beyond` is what its newest reference picture passes on to later ones.
    pub(super) fn shape(
        &mut self,
        config: &Config,
        account: &mut Account,
        works: &mut [Work],
        targets: &[Target],
        beyond: f32,
    ) {
        let allowed = allow_window(account, works, targets);
        let budget = allowed + account.carry();
        let whole: u64 = works.iter().map(Work::bits_in).sum();
        if budget >= whole as f64 {
            works.iter_mut().for_each(|work| {
                leave_alone(work, f64::INFINITY);
                work.copy();
            });
        } else {
            importance::weigh(works, beyond);
            self.fit(config, works, budget.max(1.0));
        }
        let spent = works.iter().map(|work| work.writer.bit_length() as u64).sum();
        account.settle(allowed, spent);
    }

    /// Writes the last pictures of a stream, whose scales are chosen, so that they come out even; returns the bits
    /// they take.
    pub(super) fn settle(&mut self, config: &Config, works: &mut [Work], budget: f64) -> f64 {
        self.search(works, budget, LAST_TOLERANCE, &mut |works: &mut [Work], lambda| {
            write(config, works, lambda)
        })
    }

    /// Meets the budget, and writes the pictures.
    fn fit(&mut self, config: &Config, works: &mut [Work], budget: f64) {
        let macroblocks: usize = works.iter().map(|work| work.picture.macroblocks.len()).sum();
        let sampling = (macroblocks / SAMPLE).clamp(1, SAMPLING);
        let threads = config.threads;
        let mut sample = |works: &mut [Work], lambda: f64| {
            parallel::for_each(threads, works, |work| work.recode(lambda as f32, sampling));
            works.iter().map(|work| work.expected_bits(sampling)).sum()
        };
        let whole: f64 = works.iter().map(|work| work.bits_in() as f64).sum();
        let saving = OF_SAVING * (whole / budget - 1.0);
        self.stretch(config, works, budget, &mut sample);
        self.search(works, budget, SAMPLE_TOLERANCE.min(saving), &mut sample);
        let tolerance = if end_is_near(works) { LAST_TOLERANCE } else { TOLERANCE.min(saving) };
        let mut written = |works: &mut [Work], lambda| write(config, works, lambda);
        let bits = self.search(works, budget, tolerance, &mut written);
        let at_floor = bits > budget * (1.0 + FLOOR_EXCESS);
        works.iter_mut().for_each(|work| work.report.at_floor = at_floor);
    }

    /// Tries coarser scales, where much is to be saved. The lambda of the window before tells what they are worth; at
    /// the very first it must be found.
    fn stretch(
        &mut self,
        config: &Config,
        works: &mut [Work],
        aim: f64,
        sample: &mut impl FnMut(&mut [Work], f64) -> f64,
    ) {
        let whole: f64 = works.iter().map(|work| work.bits_in() as f64).sum();
        if aim >= whole * REQUANTISES_BELOW {
            return;
        }
        if self.lambda == FIRST_LAMBDA {
            self.search(works, aim, SAMPLE_TOLERANCE, sample);
        }
        parallel::for_each(config.threads, works, |work| work.choose_factor(self.lambda as f32));
        // They must leave room for the aim: what they save cannot be had back.
        if sample(works, LEAST_LAMBDA) < aim * (1.0 + ROOM) {
            works.iter_mut().for_each(|work| work.factor = 1.0);
        }
    }

    /// Finds the lambda with which the pictures take `aim` bits, nearly; returns what they take with the lambda
    /// tried last, by `take`. Bits fall by about as much wherever lambda grows by one factor.
    fn search(
        &mut self,
        works: &mut [Work],
        aim: f64,
        tolerance: f64,
        take: &mut impl FnMut(&mut [Work], f64) -> f64,
    ) -> f64 {
        let (mut low, mut high) = (0.0, HIGHEST_LAMBDA * 2.0);
        self.lambda = self.lambda.min(LARGEST_LAMBDA);
        let mut before: Option<(f64, f64)> = None;
        let mut excess = 0.0f64;
        for round in 0..ROUNDS {
            let logarithm = libm::log(self.lambda);
            excess = take(works, self.lambda) / aim - 1.0;
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

/// Recodes all, and writes it; returns the bits.
fn write(config: &Config, works: &mut [Work], lambda: f64) -> f64 {
    parallel::for_each(config.threads, works, |work| {
        work.recode(lambda as f32, 1);
        work.write_recoded();
    });
    works.iter().map(|work| work.writer.bit_length() as f64).sum()
}

/// Lambda changes by this power of e at once, at most.
const LONGEST_STEP: f64 = 2.0;

fn between(low: f64, high: f64) -> f64 {
    (low.max(LEAST_LAMBDA / 10.0) * high).sqrt()
}
