//! `auto`: trellis requantisation over a window of pictures with one lambda. Levels are lowered or dropped and scales
//! made coarser; the errors of each macroblock are weighted by its importance. At low rates in a closed loop.

use super::chains;
use super::config::Config;
use super::drift::Drift;
use super::importance::{self, Propagation};
use super::inputs::Inputs;
use super::lambda_search::{LAST_TOLERANCE, LambdaSearch, OF_SAVING, ROUNDS};
use super::loop_choice::LoopChoice;
use super::parallel;
use super::picture::PictureShaper;
use super::rate_control::RateControl;
use super::window::{self, Fit};

/// How close a window comes to its budget, as a share of it; the rest is carried over.
const TOLERANCE: f64 = 0.05;
/// The same in a closed loop, where a trial costs much more.
const CLOSED_TOLERANCE: f64 = 0.08;
/// How close it comes to a rate, so that the mean holds at the end of any window.
const RATE_TOLERANCE: f64 = 0.005;
/// How close the first trials of a window at the end come, ...
const END_TOLERANCE: f64 = 0.015;
/// ... as a share of what [`OF_SAVING`] allows at most.
const END_OF_SAVING: f64 = 0.08;
/// A window that exceeds its budget by this share has reached its floor.
const FLOOR_EXCESS: f64 = 0.1;
/// Trials of lambda in a closed loop before a part of the pictures is left as it is.
const CLOSED_ROUNDS: usize = 4;
/// So many times they are repeated where the rest of the pictures could not take the bits that are left over.
const AGAIN: usize = 3;

/// The state that `auto` keeps from window to window.
#[derive(Debug, Clone)]
pub(super) struct Auto {
    open: LambdaSearch,
    /// Of the closed loop, where there was one.
    closed: Option<LambdaSearch>,
    /// The error of the reference pictures, as far as they came from a closed loop.
    drift: Drift,
    /// The reference pictures of the input, as far as windows were coded in a closed loop.
    inputs: Inputs,
    choice: LoopChoice,
}

impl Auto {
    pub(super) fn new() -> Self {
        let (drift, inputs) = (Drift::default(), Inputs::default());
        Self { open: LambdaSearch::new(), closed: None, drift, inputs, choice: LoopChoice::default() }
    }

    /// Shapes a window of pictures; `future` as for [`importance::weigh`].
    pub(super) fn shape(
        &mut self,
        config: &Config,
        rate_control: &mut RateControl,
        pictures: &mut [PictureShaper],
        future: f32,
    ) {
        let before = std::mem::take(&mut self.drift);
        window::shape(rate_control, pictures, |pictures, budget, fit| match fit {
            Fit::Window => self.fit(config, pictures, budget.max(1.0), future, &before),
            Fit::Run => {
                // The next window begins where this one as a whole has ended, but for its errors, which are unknown now.
                self.open.clone().refit(config, pictures, budget);
                self.drift = Drift::default();
            }
        });
    }

    /// Writes the pictures in `budget` bits. `before` is the drift ahead of them.
    fn fit(
        &mut self,
        config: &Config,
        pictures: &mut [PictureShaper],
        budget: f64,
        future: f32,
        before: &Drift,
    ) {
        parallel::for_each(config.threads, pictures, PictureShaper::choose_intra_table);
        let whole: f64 = pictures.iter().map(|picture| picture.bits_in() as f64).sum();
        if saved_by_table(pictures) > whole - budget {
            // More would be saved than is to be saved, and nothing could spend it.
            pictures.iter_mut().for_each(PictureShaper::keep_intra_table);
        }
        let saving = OF_SAVING * (whole / budget - 1.0);
        let is_closed = self.choice.is_closed(config, pictures, budget);
        importance::weigh(pictures, future, if is_closed { Propagation::Closed } else { Propagation::Open });
        let tolerance = if window::is_near_the_end(pictures) {
            LAST_TOLERANCE
        } else if window::must_be_exact(pictures) {
            RATE_TOLERANCE.min(saving)
        } else {
            saving.min(if is_closed { CLOSED_TOLERANCE } else { TOLERANCE })
        };
        let (bits, is_least) = if is_closed {
            pictures.iter_mut().for_each(|picture| picture.closed.chooses_scales = config.new_motion);
            if config.new_motion {
                self.inputs.decode(pictures);
            }
            self.fit_closed(config, pictures, budget, tolerance, before)
        } else {
            self.inputs = Inputs::default();
            let of_whole = END_TOLERANCE.min(END_OF_SAVING * saving).max(tolerance);
            let tolerances =
                if window::is_near_the_end(pictures) { [of_whole, tolerance] } else { [tolerance; 2] };
            (self.open.fit_with_scales(config, pictures, budget, tolerances), false)
        };
        let excess = if is_least { tolerance } else { FLOOR_EXCESS };
        let at_floor = bits > budget * (1.0 + excess);
        pictures.iter_mut().for_each(|picture| picture.report.at_floor = at_floor);
    }

    /// The same in a closed loop; returns the bits that they take, and whether these are the least. Sizes do not follow lambda smoothly, because each picture
    /// depends on the errors of those before it. So where a few trials miss the budget, the first half of the pictures
    /// stays and the rest is fitted again.
    fn fit_closed(
        &mut self,
        config: &Config,
        pictures: &mut [PictureShaper],
        budget: f64,
        tolerance: f64,
        before: &Drift,
    ) -> (f64, bool) {
        let mut search = self.closed.take().unwrap_or_else(|| {
            self.open.fit_sample(config, pictures, budget);
            self.open.clone()
        });
        let allowed = tolerance * budget;
        let (mut rest, mut left, mut before, mut again) = (pictures, budget, before.clone(), 0);
        loop {
            let half = rest.len() / 2;
            let rounds = if half == 0 { ROUNDS } else { CLOSED_ROUNDS };
            let [mut halfway, mut after] = [Drift::default(), Drift::default()];
            let bits =
                search.search(rest, left, allowed / left, rounds, &mut |pictures: &mut [_], lambda| {
                    [halfway, after] = chains::write(config.threads, pictures, half, lambda as f32, &before);
                    pictures.iter().map(PictureShaper::written_bits).sum()
                });
            self.closed.get_or_insert_with(|| search.clone());
            if half == 0 || (bits - left).abs() <= allowed || search.is_at_floor() {
                self.drift = after;
                return (budget - left + bits, search.is_at_floor());
            }
            if again < AGAIN && left - bits > spendable(&rest[half..]) / 2.0 {
                again += 1;
                continue;
            }
            let (first, second) = rest.split_at_mut(half);
            left = (left - first.iter().map(PictureShaper::written_bits).sum::<f64>()).max(1.0);
            (rest, before) = (second, halfway);
        }
    }
}

/// Bits by which pictures are smaller than in the input.
fn spendable(pictures: &[PictureShaper]) -> f64 {
    pictures.iter().map(|picture| picture.bits_in() as f64 - picture.written_bits()).sum()
}

fn saved_by_table(pictures: &[PictureShaper]) -> f64 {
    pictures.iter().map(|picture| picture.saved_by_table as f64).sum()
}
