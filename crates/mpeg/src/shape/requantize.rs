//! `requantize`: coarser quantiser scales, every level rounded to the nearest, open loop.

use super::budget::{Account, Opening};
use super::config::{Config, Target};
use super::parallel;
use super::truncation::decide_one;
use super::work::Work;
use crate::header::PictureContext;

/// How close a picture must come to its budget, as a share of it; the rest is carried over.
const TOLERANCE: f64 = 0.001;
/// Rounds of adjusting the factor, at most.
const ROUNDS: usize = 12;
/// From any scale to any other.
const LARGEST_FACTOR: f64 = 112.0;
/// With this every level goes to the nearest, whatever it costs.
const ROUNDING_ONLY: f32 = 1e-2;

/// Shapes each picture by itself.
pub(super) fn by_picture(config: &Config, account: &mut Account, works: &mut [Work], targets: &[Target]) {
    for (work, &target) in works.iter_mut().zip(targets) {
        // Coarser scales spare no kind of picture.
        let opening = Opening { kind: None, ..work.opening() };
        decide_one(account, work, target, &opening, requantise_to);
    }
    parallel::for_each(config.threads, works, |work| {
        if !work.is_shapeable() {
            work.copy();
        }
    });
}

/// Stretches the scales until the picture fits; returns the bits it takes.
fn requantise_to(work: &mut Work, budget: f64) -> u64 {
    let budget = budget.max(1.0);
    let (mut low, mut high) = (1.0, LARGEST_FACTOR);
    let mut factor = (work.bits_in() as f64 / budget).clamp(low, high);
    let mut bits = 0.0;
    work.importance.clear();
    work.importance.resize(work.picture.macroblocks.len(), 1.0);
    for _ in 0..ROUNDS {
        work.factor = factor;
        work.recode(ROUNDING_ONLY, 1);
        work.write_recoded();
        bits = work.writer.bit_length() as f64;
        let excess = bits / budget;
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
    work.report.at_floor = bits > budget * (1.0 + TOLERANCE);
    bits as u64
}

/// The code whose scale is `factor` times that of `code`, or the one below it: between two scales, rows of
/// macroblocks are shared out so that the mean is right.
pub(super) fn coarser(context: &PictureContext, code: u8, factor: f64, row: u32) -> u8 {
    if factor <= 1.0 {
        return code;
    }
    let scales = context.quantiser_scales();
    let wanted = f64::from(scales[usize::from(code)]) * factor;
    let above = (code..32).find(|&code| f64::from(scales[usize::from(code)]) >= wanted).unwrap_or(31);
    if above == code {
        return code;
    }
    let [below, reached] = [above - 1, above].map(|code| f64::from(scales[usize::from(code)]));
    // Multiples of the golden ratio: evenly spread for any number of rows.
    let share = f64::from(row.wrapping_mul(0x9e37_79b9)) / 4_294_967_296.0;
    if (wanted - below) / (reached - below) > share { above } else { above - 1 }
}
