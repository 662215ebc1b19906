//! `requantize`: coarser quantiser scales, every level rounded to the nearest, open loop.

use super::auto::Auto;
use super::budget::{Account, Opening};
use super::config::{Config, Target};
use super::parallel;
use super::shaper::leave_alone;
use super::work::Work;
use crate::header::PictureContext;

/// Pictures that are decided together, whatever the number of threads.
pub(super) const BATCH: usize = 8;
/// How close a picture must come to its share; the rest is carried over.
const TOLERANCE: f64 = 0.005;
/// Rounds of adjusting the factor by a sample, and of writing.
const ROUNDS: usize = 10;
const WRITINGS: usize = 2;
/// One macroblock in so many is a sample, at most, and so many of them at least.
const SAMPLING: usize = 8;
const SAMPLE: usize = 150;
/// From any scale to any other.
const LARGEST_FACTOR: f64 = 112.0;
/// With this every level goes to the nearest, whatever it costs.
const ROUNDING_ONLY: f32 = 1e-2;
/// How often a batch is tried, at most, and how close it must come; the rest is carried over.
const ATTEMPTS: usize = 4;
const CLOSE: f64 = 0.02;
/// The same as a share of all bits so far.
const CLOSE_OVERALL: f64 = 0.003;
/// So much more than their share the last pictures get at first.
const SPARE: f64 = 0.005;

/// Shapes a batch of pictures, each as much as all.
pub(super) fn by_batch(config: &Config, account: &mut Account, works: &mut [Work], targets: &[Target]) {
    let ends = works.last().is_some_and(|work| work.last);
    let mut allowed = 0.0;
    for (work, &target) in works.iter_mut().zip(targets) {
        // Coarser scales spare no kind of picture.
        let share = account.open(target, &Opening { kind: None, ..work.opening() });
        work.report.budget = share as i64;
        allowed += share;
    }
    let budget = (allowed + account.carry()).max(1.0);
    let mut part = budget / f64::max(allowed, 1.0);
    if ends {
        part *= 1.0 + SPARE;
    }
    let close = CLOSE.min(CLOSE_OVERALL * account.whole() / budget);
    // Only where nothing is asked for stay the last pictures as they are for certain.
    let whole: u64 = works.iter().map(Work::bits_in).sum();
    let leaves = !ends || budget >= whole as f64;
    let mut written = 0.0;
    for _ in 0..ATTEMPTS {
        parallel::for_each(config.threads, works, |work| {
            let share = work.report.budget as f64 * part;
            if (leaves && leave_alone(work, share)) || !work.is_shapeable() {
                work.copy();
            } else {
                requantise_to(work, share);
            }
        });
        written = works.iter().map(|work| work.writer.bit_length() as f64).sum::<f64>();
        // The last pictures get a little too much by their scales, and then levels go until it fits.
        let (least, most) = if ends { (0.0, 4.0 * SPARE) } else { (-close, close) };
        let excess = written / budget - 1.0;
        if excess >= least && excess <= most {
            break;
        }
        part *= if ends { 1.0 + SPARE } else { 1.0 } / (1.0 + excess);
    }
    if ends && written > budget {
        written = Auto::new().settle(config, works, budget);
    }
    account.settle(allowed, written as u64);
}

/// Stretches the scales until the picture fits, and writes it.
fn requantise_to(work: &mut Work, share: f64) {
    let share = share.max(1.0);
    work.importance.clear();
    work.importance.resize(work.picture.macroblocks.len(), 1.0);
    let sampling = (work.picture.macroblocks.len() / SAMPLE).clamp(1, SAMPLING);
    let mut aim = share;
    for _ in 0..WRITINGS {
        let expected = stretch_to(work, aim, sampling);
        work.recode(ROUNDING_ONLY, 1);
        work.write_recoded();
        let bits = work.writer.bit_length() as f64;
        work.report.at_floor = work.factor > LARGEST_FACTOR * 0.98 && bits > share;
        if (bits / share - 1.0).abs() < TOLERANCE || work.report.at_floor {
            break;
        }
        aim = (share - (bits - expected)).max(1.0);
    }
}

/// Finds the factor with which the picture is expected to take `aim` bits; returns what it is expected to take.
fn stretch_to(work: &mut Work, aim: f64, sampling: usize) -> f64 {
    let (mut low, mut high) = (1.0, LARGEST_FACTOR);
    let mut factor = (work.bits_in() as f64 / aim).clamp(low, high);
    let mut bits = 0.0;
    for _ in 0..ROUNDS {
        work.factor = factor;
        work.recode(ROUNDING_ONLY, sampling);
        bits = work.expected_bits(sampling);
        let excess = bits / aim;
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
    bits
}

/// Coarser scales for a picture.
#[derive(Debug)]
pub(super) struct Coarser {
    /// By code: the code whose scale is no finer than wanted, and the share of rows that have it and not the one below.
    codes: [(u8, f64); 32],
}

impl Coarser {
    /// Scales by `factor`.
    pub(super) fn new(context: &PictureContext, factor: f64) -> Self {
        let scales = context.quantiser_scales().map(f64::from);
        let coarser = |code: usize| {
            let wanted = scales[code] * factor;
            let above = (code..32).find(|&code| scales[code] >= wanted).unwrap_or(31);
            let share = if above == code {
                1.0
            } else {
                (wanted - scales[above - 1]) / (scales[above] - scales[above - 1])
            };
            (above as u8, share)
        };
        let same = |code: usize| (code as u8, 1.0);
        Self { codes: std::array::from_fn(|code| if factor > 1.0 { coarser(code) } else { same(code) }) }
    }

    /// The code in place of `code`: between two scales, rows of macroblocks are shared out so that the mean is right.
    #[inline]
    pub(super) fn of(&self, code: u8, row: u32) -> u8 {
        let (above, share) = self.codes[usize::from(code & 31)];
        // Multiples of the golden ratio: evenly spread for any number of rows.
        let place = f64::from(row.wrapping_mul(0x9e37_79b9)) / 4_294_967_296.0;
        if share > place { above } else { above - 1 }
    }
}
