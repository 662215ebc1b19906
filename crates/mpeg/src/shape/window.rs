//! One budget for a window of pictures.

use super::picture::PictureShaper;
use super::rate_control::{BudgetRequest, RateControl};

/// Shapes a window by `fit`, which is given the budget in bits; copies it where it is within its budget. Runs of pictures
/// that overflow the bucket of a rate are fitted again.
pub(super) fn shape(
    rate_control: &mut RateControl,
    pictures: &mut [PictureShaper],
    mut fit: impl FnMut(&mut [PictureShaper], f64, Fit),
) {
    let allowed = allowance(rate_control, pictures);
    let requests: Vec<BudgetRequest> = pictures.iter().map(PictureShaper::budget_request).collect();
    let budget = rate_control.window_budget(&requests, allowed);
    let whole: u64 = pictures.iter().map(PictureShaper::bits_in).sum();
    let overflows = rate_control.bucket.overflows(pictures, |picture| picture.bits_in() as f64);
    if budget >= whole as f64 && !overflows {
        for picture in &mut *pictures {
            picture.leave_alone(f64::INFINITY);
            picture.copy();
        }
    } else {
        fit(pictures, budget.min(whole as f64), Fit::Window);
    }
    let mut refit = |run: &mut [PictureShaper], bits: f64| fit(run, bits, Fit::Run);
    let mut held = rate_control.bucket;
    let behind = held.hold(pictures, &mut refit);
    let left = budget - written(pictures);
    if behind > 0 && spend_rest(&mut pictures[behind..], left, &mut refit) {
        held = rate_control.bucket;
        held.hold(pictures, &mut refit);
    }
    rate_control.bucket = held;
    let spent = pictures.iter().map(|picture| picture.writer.bit_length() as u64).sum();
    rate_control.share.learn(pictures);
    rate_control.charge(allowed, spent, None);
}

/// Gives the bits that a full bucket took from the pictures ahead to those behind; true where those were written again.
fn spend_rest(
    pictures: &mut [PictureShaper],
    bits: f64,
    refit: &mut impl FnMut(&mut [PictureShaper], f64),
) -> bool {
    let before = written(pictures);
    let whole: f64 = pictures.iter().map(|picture| picture.bits_in() as f64).sum();
    let spendable = bits.min(whole - before);
    if spendable <= LEAST_GAIN * before {
        return false;
    }
    pictures.iter_mut().for_each(PictureShaper::reopen);
    refit(pictures, before + spendable);
    true
}

fn written(pictures: &[PictureShaper]) -> f64 {
    pictures.iter().map(PictureShaper::written_bits).sum()
}

/// Fewer bits than this share of what the pictures have are not worth another writing.
const LEAST_GAIN: f64 = 0.002;

/// The pictures that are fitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fit {
    /// A window.
    Window,
    /// A run of its pictures that overflowed the bucket.
    Run,
}

/// The budget of a window without the carry-over. The budget of each picture enters its report.
fn allowance(rate_control: &mut RateControl, pictures: &mut [PictureShaper]) -> f64 {
    pictures.iter().for_each(|picture| rate_control.observe(picture.bits_in(), picture.seconds));
    let mut allowed = 0.0;
    for picture in &mut *pictures {
        let share = rate_control.share_of_window(&picture.budget_request());
        picture.report.budget = share as i64;
        allowed += share;
    }
    allowed
}

/// True where the rest of the stream may not absorb how far the window misses its budget: fewer bits follow than it has,
/// as far as that is known, or its target is a rate that holds at the end of any window.
pub(super) fn must_be_exact(pictures: &[PictureShaper]) -> bool {
    pictures.last().is_some_and(PictureShaper::has_rate) || is_near_the_end(pictures)
}

/// True where fewer bits of the stream follow than the window has, as far as that is known, or few of them are cut: the rest of the
/// stream may not be able to absorb its deviation.
pub(super) fn is_near_the_end(pictures: &[PictureShaper]) -> bool {
    let whole: u64 = pictures.iter().map(PictureShaper::bits_in).sum();
    let is_short = |left: f64| left < whole as f64;
    pictures.last().is_some_and(|picture| {
        picture.last
            || picture.bits_left.is_some_and(is_short)
            || picture.planned.is_some_and(|planned| is_short(planned.bits_behind))
    })
}
