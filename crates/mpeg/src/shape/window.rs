//! One budget for a window of pictures.

use super::importance;
use super::picture::PictureShaper;
use super::rate_control::RateControl;

/// Shapes a window by `fit`, which is given the budget in bits; copies it where it is within its budget. `future` is
/// the importance that the newest reference picture gathers from pictures behind the window.
pub(super) fn shape(
    rate_control: &mut RateControl,
    pictures: &mut [PictureShaper],
    future: f32,
    fit: impl FnOnce(&mut [PictureShaper], f64),
) {
    let allowed = allowance(rate_control, pictures);
    let budget = allowed + rate_control.carry_over();
    let whole: u64 = pictures.iter().map(PictureShaper::bits_in).sum();
    if budget >= whole as f64 {
        for picture in &mut *pictures {
            picture.leave_alone(f64::INFINITY);
            picture.copy();
        }
    } else {
        importance::weigh(pictures, future);
        fit(pictures, budget);
    }
    let spent = pictures.iter().map(|picture| picture.writer.bit_length() as u64).sum();
    rate_control.charge(allowed, spent);
}

/// The budget of a window without the carry-over. The budget of each picture enters its report.
fn allowance(rate_control: &mut RateControl, pictures: &mut [PictureShaper]) -> f64 {
    pictures.iter().for_each(|picture| rate_control.observe(picture.bits_in(), picture.seconds));
    let mut allowed = 0.0;
    for picture in &mut *pictures {
        let share = rate_control.allowance(&picture.budget_request());
        picture.report.budget = share as i64;
        allowed += share;
    }
    let ends = pictures.last().is_some_and(|picture| picture.last);
    if ends { allowed + rate_control.take_reserve() } else { allowed }
}

/// True where fewer bits of the stream follow than the window has, as far as that is known: the rest of the stream may
/// not be able to absorb its deviation.
pub(super) fn is_near_the_end(pictures: &[PictureShaper]) -> bool {
    let whole: u64 = pictures.iter().map(PictureShaper::bits_in).sum();
    let is_short = |left: f64| left < whole as f64;
    pictures.last().is_some_and(|picture| picture.last || picture.bits_left.is_some_and(is_short))
}
