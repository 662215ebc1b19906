//! Truncation: curves of each picture, one slope for a picture or for a window.

use super::budget::{Account, Opening};
use super::causal::Causal;
use super::config::{Cluster, Config, Method, Target};
use super::curve::{Extent, Worth, slope_of};
use super::energy::Energy;
use super::importance;
use super::parallel;
use super::select::{Histogram, Threshold};
use super::shaper::leave_alone;
use super::work::{Work, end_is_near};
use std::num::NonZeroU16;

/// The smallest breakpoint at first, and where the budget is below what that leaves: blocks may go as a whole.
const FLOORS: [u8; 2] = [1, 0];

/// Builds the curves of a picture, by its own error alone or by shares.
fn build_curves(config: &Config, work: &mut Work, smallest: u8, extent: &Extent) {
    let Some(context) = work.context.as_ref().filter(|_| work.is_shapeable()) else { return };
    let energy = Energy::new(context);
    let worth = match config.method {
        Method::RateBased => Worth::Share(&energy),
        _ => Worth::Energy(&energy),
    };
    let weights = if config.method == Method::Window { &work.importance[..] } else { &[] };
    work.curves.build(&work.picture, config.cluster, smallest, &worth, weights, extent);
}

/// One macroblock in so many tells where the slope will lie.
const SAMPLING: usize = 16;

/// Builds the part of the curves where the slope is going to lie with `allowed` bits (the pruning of S002, 2.2).
fn build_pruned(config: &Config, work: &mut Work, allowed: f64) {
    let small = config.cluster == Cluster::Block || config.cluster == Cluster::Macroblocks(NonZeroU16::MIN);
    if config.method == Method::RateBased || !small {
        return build_curves(config, work, FLOORS[0], &Extent::Whole);
    }
    build_curves(config, work, FLOORS[0], &Extent::Sample(SAMPLING));
    let mut histogram = Histogram::new();
    histogram.add(&work.curves);
    let dropped = (work.bits_in() as f64 - allowed) / SAMPLING as f64;
    let bits = work.curves.total_bits.saturating_sub(dropped.max(0.0) as u64);
    build_curves(config, work, FLOORS[0], &Extent::Slopes(histogram.surroundings(bits)));
}

/// `memoryless` and `rate-based`: each picture by itself (S002, 2.2 and 2.3).
pub(super) fn by_picture(config: &Config, account: &mut Account, works: &mut [Work], targets: &[Target]) {
    // What each is going to be allowed, but for what is carried over.
    let mut ahead = account.clone();
    for (work, &target) in works.iter_mut().zip(targets) {
        work.report.budget = ahead.guess(target, &work.opening()) as i64;
    }
    let finer = finer(config);
    let config_of = |work: &Work| if work.is_near_the_end() { &finer } else { config };
    parallel::for_each(config.threads, works, |work| {
        let config = config_of(work);
        let allowed = work.report.budget as f64;
        if allowed < work.bits_in() as f64 {
            build_pruned(config, work, allowed);
        } else {
            build_curves(config, work, FLOORS[0], &Extent::Whole);
        }
    });
    for (work, &target) in works.iter_mut().zip(targets) {
        let opening = work.opening();
        let config = config_of(work);
        decide_one(account, work, target, &opening, |work, budget| {
            truncate_to(config, work, budget, |work, smallest| {
                build_curves(config, work, smallest, &Extent::Whole);
            })
        });
    }
    parallel::for_each(config.threads, works, Work::write_truncated);
}

/// `causal`: each picture with the error that those before it have left (S002, 2.3).
pub(super) fn causally(
    config: &Config,
    account: &mut Account,
    causal: &mut Causal,
    works: &mut [Work],
    targets: &[Target],
) {
    let finer = finer(config);
    for (work, &target) in works.iter_mut().zip(targets) {
        let config = if work.is_near_the_end() { &finer } else { config };
        let worth = causal.worth(work, config.threads);
        let build = |work: &mut Work, smallest| {
            work.curves.build(
                &work.picture,
                config.cluster,
                smallest,
                &Worth::Given(&worth),
                &[],
                &Extent::Whole,
            );
        };
        build(work, FLOORS[0]);
        let opening = work.opening();
        decide_one(account, work, target, &opening, |work, budget| truncate_to(config, work, budget, build));
        work.write_truncated();
        causal.follow(work, config.threads);
    }
}

/// The last pictures are cut by blocks whatever the clusters: no later ones can make up for what large ones leave.
fn finer(config: &Config) -> Config {
    Config { cluster: Cluster::Block, ..config.clone() }
}

/// Gives a picture its budget, and keeps the books on what it spends.
pub(super) fn decide_one(
    account: &mut Account,
    work: &mut Work,
    target: Target,
    opening: &Opening,
    decide: impl FnOnce(&mut Work, f64) -> u64,
) {
    let allowed = account.open(target, opening);
    let budget = allowed + account.carry();
    work.report.budget = budget as i64;
    let spent = if leave_alone(work, budget) { work.bits_in() } else { decide(work, budget) };
    account.settle(allowed, spent);
    if let Some(least) = work.least {
        account.note_least(opening.kind, opening.bits, least);
    }
}

/// Chooses the codes to keep, and returns the bits the picture will take.
fn truncate_to(config: &Config, work: &mut Work, budget: f64, build: impl Fn(&mut Work, u8)) -> u64 {
    let mut needed = work.bits_needed();
    let mut smallest = FLOORS[0];
    if needed as f64 > budget {
        smallest = FLOORS[1];
        build(work, smallest);
        needed = work.bits_needed();
    }
    let spendable = (budget - needed as f64).max(0.0) as u64;
    if !work.curves.reach(spendable) {
        build(work, smallest);
    }
    let mut histogram = Histogram::new();
    histogram.add(&work.curves);
    work.report.at_floor = needed as f64 > budget;
    work.least = Some(needed);
    // Only the last picture has no later one to make up for it.
    let tolerance = if smallest > 0 || !work.last { f64::INFINITY } else { TOLERANCE };
    come_close(budget, tolerance, |aim| {
        let spendable = (aim - needed as f64).max(0.0) as u64;
        let mut threshold = histogram.threshold(spendable.saturating_sub(work.curves.base_bits));
        work.report.lambda = slope_of(threshold.bin);
        let bits = work.truncate(config.cluster, smallest, &mut threshold);
        work.exact(bits)
    })
}

/// `window`: one slope for all of `works`, distortion weighed by how far it spreads; `beyond` is what the newest reference
/// picture passes on to later ones.
pub(super) fn by_window(
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
        });
    } else {
        importance::weigh(works, beyond);
        truncate_window(config, works, budget);
    }
    parallel::for_each(config.threads, works, Work::write_truncated);
    let spent = works.iter().map(|work| work.writer.bit_length() as u64).sum();
    account.settle(allowed, spent);
}

/// The budget of a window, carry-over left out. Each picture's share of it enters its report.
pub(super) fn allow_window(account: &mut Account, works: &mut [Work], targets: &[Target]) -> f64 {
    works.iter().for_each(|work| account.observe(work.bits_in(), work.seconds));
    let mut allowed = 0.0;
    for (work, &target) in works.iter_mut().zip(targets) {
        account.set_target(target);
        let share = account.allow(&work.opening());
        work.report.budget = share as i64;
        allowed += share;
    }
    let ends = works.last().is_some_and(|work| work.last);
    if ends { allowed + account.settle_promises() } else { allowed }
}

/// Blocks may go as a whole from the start: with one slope for all, those go whose codes are worth the least for their
/// bits.
fn truncate_window(config: &Config, works: &mut [Work], budget: f64) {
    let smallest = FLOORS[1];
    let end_is_near = end_is_near(works);
    let (shaped, left_alone): (Vec<_>, Vec<_>) = works.iter_mut().partition(|work| work.is_shapeable());
    let left_alone: u64 = left_alone.iter().map(|work| work.bits_in()).sum();
    let mut parts: Vec<_> = shaped.into_iter().map(Part::new).collect();
    parallel::for_each(config.threads, &mut parts, |part| {
        build_curves(config, part.work, smallest, &Extent::Whole);
        part.histogram.add(&part.work.curves);
    });
    let needed = left_alone + parts.iter().map(|part| part.work.bits_needed()).sum::<u64>();
    let mut histogram = Histogram::new();
    parts.iter().for_each(|part| histogram.merge(&part.histogram));
    // What the estimate is off by, a later window takes over.
    let tolerance = if end_is_near { TOLERANCE } else { f64::INFINITY };
    come_close(budget, tolerance, |aim| {
        let mut threshold = histogram.threshold((aim - needed as f64).max(0.0) as u64);
        parts.iter_mut().for_each(|part| part.threshold = threshold.give(&part.histogram));
        parallel::for_each(config.threads, &mut parts, |Part { work, threshold, bits, .. }| {
            work.report.lambda = slope_of(threshold.bin);
            work.report.at_floor = needed as f64 > budget;
            *bits = work.truncate(config.cluster, smallest, threshold);
            *bits = if end_is_near { work.exact(*bits) } else { *bits };
        });
        left_alone + parts.iter().map(|part| part.bits).sum::<u64>()
    });
}

/// A picture of a window.
struct Part<'a> {
    work: &'a mut Work,
    histogram: Histogram,
    /// What is taken of it, and the bits that it spends then.
    threshold: Threshold,
    bits: u64,
}

impl<'a> Part<'a> {
    fn new(work: &'a mut Work) -> Self {
        Self { work, histogram: Histogram::new(), threshold: Threshold::default(), bits: 0 }
    }
}

/// How often bits are shared out, at most, where what blocks save that go as a whole is known only afterwards.
const ATTEMPTS: usize = 4;
/// How close to the budget, as a share of it, is close enough.
const TOLERANCE: f64 = 0.0002;

/// Calls `share_out` with what to aim at until what it spends is the budget but for a share of `tolerance`; returns what
/// it spent last.
fn come_close(budget: f64, tolerance: f64, mut share_out: impl FnMut(f64) -> u64) -> u64 {
    let mut aim = budget;
    let mut spent = share_out(aim);
    for _ in 1..ATTEMPTS {
        let left = budget - spent as f64;
        if left.abs() < tolerance * budget {
            break;
        }
        aim += left;
        spent = share_out(aim);
    }
    spent
}
