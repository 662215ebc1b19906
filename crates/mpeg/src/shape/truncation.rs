//! Truncation: curves of each picture, one slope for a picture or for a window.

use super::budget::Account;
use super::config::{Config, Method, Target};
use super::curve::{BINS_PER_OCTAVE, Worth, slope_of};
use super::energy::Energy;
use super::parallel;
use super::select::Histogram;
use super::shaper::leave_alone;
use super::work::Work;
use crate::header::PictureKind;

/// Builds the curves of a picture.
fn build_curves(config: &Config, work: &mut Work, smallest: u8) {
    let Some(context) = work.context.as_ref().filter(|_| work.is_shapeable()) else { return };
    let energy;
    let worth = match config.method {
        Method::RateBased => Worth::Share,
        _ => {
            energy = Energy::new(context);
            Worth::Energy(&energy)
        }
    };
    work.curves.build(&work.picture, config.cluster, smallest, &worth);
}

/// `memoryless` and `rate-based`: each picture by itself (S002, 2.2 and 2.3).
pub(super) fn by_picture(config: &Config, account: &mut Account, works: &mut [Work], targets: &[Target]) {
    parallel::for_each(config.threads, works, |work| build_curves(config, work, 1));
    for (work, &target) in works.iter_mut().zip(targets) {
        account.set_target(target);
        account.observe(work.bits_in(), work.seconds);
        let allowed = account.allow(work.bits_in(), work.seconds);
        let budget = allowed + account.carry();
        work.report.budget = budget as i64;
        let spent =
            if leave_alone(work, budget) { work.bits_in() } else { truncate_to(config, work, budget) };
        account.settle(allowed, spent);
    }
    parallel::for_each(config.threads, works, write);
}

/// `window`: one slope for all of `works`, distortion weighed by how much is predicted from a picture.
pub(super) fn by_window(config: &Config, account: &mut Account, works: &mut [Work], targets: &[Target]) {
    parallel::for_each(config.threads, works, |work| build_curves(config, work, 1));
    let allowed = allow_window(account, works, targets);
    let budget = allowed + account.carry();
    let whole: u64 = works.iter().map(Work::bits_in).sum();
    if budget >= whole as f64 {
        works.iter_mut().for_each(|work| {
            leave_alone(work, f64::INFINITY);
        });
    } else {
        truncate_window(config, works, budget);
    }
    parallel::for_each(config.threads, works, write);
    let spent = works.iter().map(|work| work.writer.bit_length() as u64).sum();
    account.settle(allowed, spent);
}

/// The budget of a window, carry-over left out. Each picture's share of it enters its report.
pub(super) fn allow_window(account: &mut Account, works: &mut [Work], targets: &[Target]) -> f64 {
    works.iter().for_each(|work| account.observe(work.bits_in(), work.seconds));
    let mut allowed = 0.0;
    for (work, &target) in works.iter_mut().zip(targets) {
        account.set_target(target);
        let share = account.allow(work.bits_in(), work.seconds);
        work.report.budget = share as i64;
        allowed += share;
    }
    allowed
}

fn truncate_window(config: &Config, works: &mut [Work], budget: f64) {
    let mut needed = 0;
    let mut histogram = Histogram::new();
    for work in works.iter() {
        if work.is_shapeable() {
            needed += work.bits_without_stuffing() - work.curves.total_bits;
            histogram.add(&work.curves, drift_shift(work));
        } else {
            needed += work.bits_in();
        }
    }
    let mut threshold = histogram.threshold((budget - needed as f64).max(0.0) as u64);
    for work in works.iter_mut().filter(|work| work.is_shapeable()) {
        let shift = drift_shift(work);
        work.report.lambda = slope_of(threshold.bin);
        work.report.at_floor = needed as f64 > budget;
        work.truncate(config.cluster, 1, &mut threshold, shift);
    }
}

/// Weights I:P:B = 4:2:1 of distortion, in bins of slope.
fn drift_shift(work: &Work) -> i32 {
    match work.report.kind {
        Some(PictureKind::I) => 2 * BINS_PER_OCTAVE,
        Some(PictureKind::P) => BINS_PER_OCTAVE,
        _ => 0,
    }
}

/// Chooses the codes to keep, and returns the bits the picture will take.
fn truncate_to(config: &Config, work: &mut Work, budget: f64) -> u64 {
    let whole = work.bits_without_stuffing();
    let needed = whole - work.curves.total_bits.min(whole);
    let mut histogram = Histogram::new();
    histogram.add(&work.curves, 0);
    let mut threshold = histogram.threshold((budget - needed as f64).max(0.0) as u64);
    work.report.lambda = slope_of(threshold.bin);
    work.report.at_floor = (needed as f64) > budget;
    work.truncate(config.cluster, 1, &mut threshold, 0)
}

fn write(work: &mut Work) {
    if work.is_shapeable() {
        work.splice();
    } else {
        work.copy();
    }
}
