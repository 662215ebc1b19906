//! `auto`: levels chosen anew over a window of pictures, one lambda, each macroblock weighed by how far its
//! errors spread.

use super::budget::Account;
use super::config::{Config, Target};
use super::curve::{BINS, bin_of, slope_of};
use super::importance;
use super::parallel;
use super::recode::Recoder;
use super::shaper::leave_alone;
use super::truncation::allow_window;
use super::work::Work;

/// How close to the budget a window must come, as a share of it; the rest is carried over.
const TOLERANCE: f64 = 0.04;
/// The same where nothing follows to carry it to.
const LAST_TOLERANCE: f64 = 0.0004;
/// So much above its budget a window has reached its floor.
const FLOOR_EXCESS: f64 = 0.1;
/// How often the last window is written, at most, to come that close.
const LAST_ATTEMPTS: usize = 4;
/// Rounds of adjusting lambda, at most.
const ROUNDS: usize = 8;
/// One macroblock in so many is looked at for the slopes.
const SAMPLING: usize = 8;

/// Above this share of the input coarser scales do not pay: dropping and lowering levels do as well.
const REQUANTISES_BELOW: f64 = 0.75;

/// How much more than the aim the coarser scales must leave while nothing is dropped.
const ROOM: f64 = 0.05;
/// With this nothing is dropped.
const LEAST_LAMBDA: f32 = 1e-2;

/// What `auto` remembers from window to window.
#[derive(Debug)]
pub(super) struct Auto {
    /// Bits saved at a lambda, as a share of those of the codes whose slope lies below it.
    yield_of_slopes: f64,
    /// The lambda of the window before; 0 at first.
    lambda: f64,
}

impl Auto {
    pub(super) fn new() -> Self {
        Self { yield_of_slopes: 1.0, lambda: 0.0 }
    }

    /// Shapes a window of pictures. `ends` says that the stream ends with it.
    pub(super) fn shape(
        &mut self,
        config: &Config,
        account: &mut Account,
        works: &mut [Work],
        targets: &[Target],
        ends: bool,
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
            importance::weigh(works, if ends { 0.0 } else { BEYOND });
            self.fit(config, works, budget, ends);
        }
        let spent = works.iter().map(|work| work.writer.bit_length() as u64).sum();
        account.settle(allowed, spent);
    }

    /// Meets the budget, and writes the pictures.
    fn fit(&mut self, config: &Config, works: &mut [Work], budget: f64, ends: bool) {
        let slopes = Slopes::of(works);
        let mut aim = budget;
        let mut written = 0.0;
        let tolerance = if ends { LAST_TOLERANCE } else { TOLERANCE };
        self.choose_scales(config, works, &slopes, aim);
        for _ in 0..if ends { LAST_ATTEMPTS } else { 1 } {
            let expected = self.search(config, works, &slopes, aim, tolerance);
            parallel::for_each(config.threads, works, Work::write_recoded);
            written = works.iter().map(|work| work.writer.bit_length() as f64).sum();
            if ((written - budget) / budget).abs() < LAST_TOLERANCE {
                break;
            }
            aim = budget - (written - expected);
        }
        let at_floor = written > budget * (1.0 + FLOOR_EXCESS);
        works.iter_mut().for_each(|work| work.report.at_floor = at_floor);
    }

    /// Tries coarser scales, where much is to be saved. The lambda of the window before tells what they are worth;
    /// at the very first it must be found.
    fn choose_scales(&mut self, config: &Config, works: &mut [Work], slopes: &Slopes, aim: f64) {
        let whole: f64 = works.iter().map(|work| work.bits_in() as f64).sum();
        if aim >= whole * REQUANTISES_BELOW {
            return;
        }
        if self.lambda == 0.0 {
            self.search(config, works, slopes, aim, TOLERANCE);
        }
        parallel::for_each(config.threads, works, |work| work.choose_factor(self.lambda as f32));
        // They must leave room for the aim: what they save cannot be had back.
        parallel::for_each(config.threads, works, |work| work.recode(LEAST_LAMBDA));
        let least: f64 = works.iter().map(Work::expected_bits).sum();
        if least < aim * (1.0 + ROOM) {
            works.iter_mut().for_each(|work| work.factor = 1.0);
        }
    }

    /// Finds the lambda with which the pictures are expected to take `aim` bits; returns what they are expected
    /// to take with the lambda found.
    fn search(
        &mut self,
        config: &Config,
        works: &mut [Work],
        slopes: &Slopes,
        aim: f64,
        tolerance: f64,
    ) -> f64 {
        let whole: f64 = works.iter().map(|work| work.bits_in() as f64).sum();
        let (mut low, mut high) = (0.0, HIGHEST_LAMBDA);
        let mut bits = whole;
        for _ in 0..ROUNDS {
            let guess = slopes.lambda((whole - aim) / self.yield_of_slopes);
            let lambda = if guess > low && guess < high { guess } else { between(low, high) };
            parallel::for_each(config.threads, works, |work| work.recode(lambda as f32));
            self.lambda = lambda;
            bits = works.iter().map(Work::expected_bits).sum();
            self.yield_of_slopes = ((whole - bits) / slopes.bits_below(lambda).max(1.0)).clamp(0.1, 10.0);
            if ((bits - aim) / aim).abs() < tolerance || lambda >= HIGHEST_LAMBDA {
                break;
            }
            if bits > aim {
                low = lambda;
            } else {
                high = lambda;
            }
        }
        bits
    }
}

/// Beyond this nothing is worth a bit.
const HIGHEST_LAMBDA: f64 = 1e7;
/// What the last reference picture of a window passes on to the next window.
const BEYOND: f32 = 1.0;

fn between(low: f64, high: f64) -> f64 {
    (low.max(1e-3) * high).sqrt()
}

/// Bits of codes by the slope at which they pay, over a window.
struct Slopes {
    /// Bits in all bins below.
    below: Vec<f64>,
}

impl Slopes {
    fn of(works: &[Work]) -> Self {
        let mut bits = vec![0u64; BINS];
        for work in works.iter().filter(|work| work.is_shapeable()) {
            let Some(context) = &work.context else { continue };
            let recoder = Recoder::new(context);
            for (macroblock, &importance) in
                work.picture.macroblocks.iter().zip(&work.importance).step_by(SAMPLING)
            {
                for block in work.picture.blocks_of(macroblock) {
                    let codes = work.picture.codes_of(block);
                    for (code, energy) in codes.iter().zip(recoder.energies(macroblock, block, codes)) {
                        let length = f32::from(code.bits());
                        bits[usize::from(bin_of(energy * importance / length))] += u64::from(code.bits());
                    }
                }
            }
        }
        let mut sum = 0.0;
        let mut below = Vec::with_capacity(BINS + 1);
        for bits in bits {
            below.push(sum);
            sum += bits as f64 * SAMPLING as f64;
        }
        below.push(sum);
        Self { below }
    }

    /// The lambda below which codes of so many bits lie.
    fn lambda(&self, bits: f64) -> f64 {
        let bin = self.below.partition_point(|&below| below < bits).saturating_sub(1);
        if bin + 1 >= BINS {
            return HIGHEST_LAMBDA;
        }
        let inside = (bits - self.below[bin]) / (self.below[bin + 1] - self.below[bin]).max(1.0);
        slope_of(bin) + inside.clamp(0.0, 1.0) * (slope_of(bin + 1) - slope_of(bin))
    }

    /// Bits of the codes below a lambda.
    fn bits_below(&self, lambda: f64) -> f64 {
        let bin = usize::from(bin_of(lambda as f32));
        let width = slope_of(bin + 1) - slope_of(bin);
        let inside = if width > 0.0 { ((lambda - slope_of(bin)) / width).clamp(0.0, 1.0) } else { 0.0 };
        self.below[bin] + inside * (self.below[bin + 1] - self.below[bin])
    }
}
