//! DCT coefficient truncation: each block keeps its first codes, chosen by one slope of the rate-distortion curves for a
//! picture or for a window.

use super::causal::Causal;
use super::config::{Cluster, Config, Method};
use super::curve::{Distortion, Extent};
use super::energy::Energy;
use super::importance::{self, Propagation};
use super::lagrangian::{SlopeHistogram, SlopeThreshold};
use super::parallel;
use super::picture::PictureShaper;
use super::rate_control::RateControl;
use super::slope::slope_of;
use super::window::{self, Fit};
use std::num::NonZeroU16;

/// The smallest breakpoint of a block at first, ...
const KEEP_ONE: u8 = 1;
/// ... and where the budget is below what that leaves: blocks may lose all their codes.
const KEEP_NONE: u8 = 0;

/// Builds the curves of a picture, by its own error or by shares of bits.
fn build_curves(config: &Config, picture: &mut PictureShaper, smallest: u8, extent: &Extent) {
    let Some(context) = picture.context.as_ref().filter(|_| picture.is_shapeable()) else { return };
    let energy = Energy::new(context);
    let distortion = match config.method {
        Method::RateBased => Distortion::Share(&energy),
        _ => Distortion::Energy(&energy),
    };
    let weights = if config.method == Method::Window { &picture.importance[..] } else { &[] };
    picture.curves.build(&picture.parsed, config.cluster, smallest, &distortion, weights, extent);
}

/// One macroblock in so many is sampled to estimate the slope.
const SAMPLING: usize = 16;

/// Builds the part of the curves around the slope that `allowed` bits should lead to (the pruning of S002, 2.2).
fn build_pruned(config: &Config, picture: &mut PictureShaper, allowed: f64) {
    let small = config.cluster == Cluster::Block || config.cluster == Cluster::Macroblocks(NonZeroU16::MIN);
    if config.method == Method::RateBased || !small {
        return build_curves(config, picture, KEEP_ONE, &Extent::Whole);
    }
    build_curves(config, picture, KEEP_ONE, &Extent::Sample(SAMPLING));
    let mut histogram = SlopeHistogram::new();
    histogram.add(&picture.curves);
    let dropped = (picture.bits_in() as f64 - allowed) / SAMPLING as f64;
    let bits = picture.curves.total_bits.saturating_sub(dropped.max(0.0) as u64);
    build_curves(config, picture, KEEP_ONE, &Extent::Slopes(histogram.slopes_around(bits)));
}

/// `memoryless` and `rate-based`: each picture by itself (S002, 2.2 and 2.3).
pub(super) fn memoryless(config: &Config, rate_control: &mut RateControl, pictures: &mut [PictureShaper]) {
    // Estimates of the budgets, so that curves are built in parallel.
    let mut ahead = rate_control.clone();
    for picture in &mut *pictures {
        picture.report.budget = ahead.estimate(&picture.budget_request()) as i64;
    }
    let by_block = by_block(config);
    let config_of = |picture: &PictureShaper| if picture.is_near_the_end() { &by_block } else { config };
    parallel::for_each(config.threads, pictures, |picture| {
        let config = config_of(picture);
        let allowed = picture.report.budget as f64;
        if allowed < picture.bits_in() as f64 {
            build_pruned(config, picture, allowed);
        } else {
            build_curves(config, picture, KEEP_ONE, &Extent::Whole);
        }
    });
    for picture in &mut *pictures {
        let config = config_of(picture);
        shape_one(config, rate_control, picture, |picture, smallest| {
            build_curves(config, picture, smallest, &Extent::Whole);
        });
    }
    parallel::for_each(config.threads, pictures, PictureShaper::write_truncated);
}

/// `causal`: each picture with the error that earlier pictures have left (S002, 2.3).
pub(super) fn causal(
    config: &Config,
    rate_control: &mut RateControl,
    causal: &mut Causal,
    pictures: &mut [PictureShaper],
) {
    let by_block = by_block(config);
    for picture in pictures {
        let config = if picture.is_near_the_end() { &by_block } else { config };
        let distortion = causal.distortion(picture, config.threads);
        let distortion = Distortion::Given(&distortion);
        let build = |picture: &mut PictureShaper, smallest| {
            let PictureShaper { curves, parsed, .. } = picture;
            curves.build(parsed, config.cluster, smallest, &distortion, &[], &Extent::Whole);
        };
        build(picture, KEEP_ONE);
        shape_one(config, rate_control, picture, build);
        picture.write_truncated();
        causal.record(picture);
    }
}

/// The configuration for the last pictures: a breakpoint for each block, because no later picture corrects the deviation
/// of large clusters.
fn by_block(config: &Config) -> Config {
    Config { cluster: Cluster::Block, ..config.clone() }
}

/// Truncates a picture, whose curves are built, to its budget. `build` builds the whole curves from a smallest
/// breakpoint on.
fn shape_one(
    config: &Config,
    rate_control: &mut RateControl,
    picture: &mut PictureShaper,
    build: impl Fn(&mut PictureShaper, u8),
) {
    let request = picture.budget_request();
    let allowed = rate_control.budget(&request);
    // Each slice ends on a whole octet, which the curves do not count.
    let stuffing = 7.0 * picture.parsed.slices.len() as f64;
    let room = rate_control.bucket.room(picture) - stuffing;
    let budget = (allowed + rate_control.carry_over()).min(room);
    picture.report.budget = budget as i64;
    if picture.leave_alone(budget) {
        rate_control.bucket.add(picture, picture.bits_in() as f64);
        return rate_control.charge(allowed, picture.bits_in(), picture.even_rate());
    }
    let (spent, floor) = truncate_to(config, picture, budget, build);
    rate_control.bucket.add(picture, spent as f64);
    rate_control.charge(allowed, spent, picture.even_rate());
    rate_control.record_floor(request.kind, request.bits, floor);
}

/// Chooses the codes to keep; returns the bits that the picture will take, and the bits that it takes at the least.
fn truncate_to(
    config: &Config,
    picture: &mut PictureShaper,
    budget: f64,
    build: impl Fn(&mut PictureShaper, u8),
) -> (u64, u64) {
    let mut floor = picture.floor();
    let mut smallest = KEEP_ONE;
    if floor as f64 > budget {
        smallest = KEEP_NONE;
        build(picture, smallest);
        floor = picture.floor();
    }
    let spendable = (budget - floor as f64).max(0.0) as u64;
    if !picture.curves.reach(spendable) {
        build(picture, smallest);
    }
    let mut histogram = SlopeHistogram::new();
    histogram.add(&picture.curves);
    picture.report.at_floor = floor as f64 > budget;
    // A deviation of any picture but the last is carried over.
    let tolerance = if smallest > 0 || !picture.last { f64::INFINITY } else { TOLERANCE };
    let spent = converge(budget, tolerance, |aim| {
        let spendable = (aim - floor as f64).max(0.0) as u64;
        let mut threshold = histogram.threshold(spendable.saturating_sub(picture.curves.base_bits));
        picture.report.lambda = slope_of(threshold.bin);
        let bits = picture.truncate(config.cluster, smallest, &mut threshold);
        picture.exact_bits(bits)
    });
    (spent, floor)
}

/// `window`: one slope for all pictures, distortion weighted by importance; `future` as for [`importance::weigh`].
pub(super) fn window(
    config: &Config,
    rate_control: &mut RateControl,
    pictures: &mut [PictureShaper],
    future: f32,
) {
    window::shape(rate_control, pictures, |pictures, budget, fit| {
        if fit == Fit::Window {
            importance::weigh(pictures, future, Propagation::Open);
        }
        truncate_window(config, pictures, budget);
        parallel::for_each(config.threads, pictures, PictureShaper::write_truncated);
    });
}

/// Truncates a window. Blocks may lose all codes from the start: with one slope for all, these are the blocks whose
/// codes gain the least for their bits.
fn truncate_window(config: &Config, pictures: &mut [PictureShaper], budget: f64) {
    // Where a bucket binds, a later window may have no use for the bits that this one leaves.
    let is_bound = pictures.iter().any(|picture| picture.bucket.is_some());
    let is_exact = is_bound || window::must_be_exact(pictures);
    let (shaped, copied): (Vec<_>, Vec<_>) = pictures.iter_mut().partition(|picture| picture.is_shapeable());
    let copied: u64 = copied.iter().map(|picture| picture.bits_in()).sum();
    let mut parts: Vec<_> = shaped.into_iter().map(Part::new).collect();
    parallel::for_each(config.threads, &mut parts, |part| {
        build_curves(config, part.picture, KEEP_NONE, &Extent::Whole);
        part.histogram.add(&part.picture.curves);
    });
    let floor = copied + parts.iter().map(|part| part.picture.floor()).sum::<u64>();
    let mut histogram = SlopeHistogram::new();
    parts.iter().for_each(|part| histogram.merge(&part.histogram));
    // The error of the estimated size is carried over to a later window.
    let tolerance = if is_exact { TOLERANCE } else { f64::INFINITY };
    converge(budget, tolerance, |aim| {
        let mut threshold = histogram.threshold((aim - floor as f64).max(0.0) as u64);
        parts.iter_mut().for_each(|part| part.threshold = threshold.split(&part.histogram));
        parallel::for_each(config.threads, &mut parts, |Part { picture, threshold, bits, .. }| {
            picture.report.lambda = slope_of(threshold.bin);
            picture.report.at_floor = floor as f64 > budget;
            *bits = picture.truncate(config.cluster, KEEP_NONE, threshold);
            *bits = if is_exact { picture.exact_bits(*bits) } else { *bits };
        });
        copied + parts.iter().map(|part| part.bits).sum::<u64>()
    });
}

struct Part<'a> {
    picture: &'a mut PictureShaper,
    histogram: SlopeHistogram,
    /// Its part of the window's threshold, and its bits with that.
    threshold: SlopeThreshold,
    bits: u64,
}

impl<'a> Part<'a> {
    fn new(picture: &'a mut PictureShaper) -> Self {
        Self { picture, histogram: SlopeHistogram::new(), threshold: SlopeThreshold::default(), bits: 0 }
    }
}

/// Trials of [`converge`], at most. The bits that a block without codes saves are known only after it is written.
const ATTEMPTS: usize = 4;
/// How close the size comes to the budget, as a share of it.
const TOLERANCE: f64 = 0.0002;

/// Calls `truncate` with a size to aim at until the size that it returns is within `tolerance` of the budget; returns
/// the last size.
fn converge(budget: f64, tolerance: f64, mut truncate: impl FnMut(f64) -> u64) -> u64 {
    let mut aim = budget;
    let mut spent = truncate(aim);
    for _ in 1..ATTEMPTS {
        let left = budget - spent as f64;
        if left.abs() < tolerance * budget {
            break;
        }
        aim += left;
        spent = truncate(aim);
    }
    spent
}
