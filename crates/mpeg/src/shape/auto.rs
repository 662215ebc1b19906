//! `auto`: trellis requantisation over a window of pictures with one lambda. Levels are lowered or dropped and scales
//! made coarser; the errors of each macroblock are weighted by its importance. At low rates in a closed loop.

use super::chains;
use super::config::{Config, Target};
use super::drift::Drift;
use super::inputs::Inputs;
use super::parallel;
use super::picture::PictureShaper;
use super::rate_control::RateControl;
use super::spare::Spare;
use super::window::{self, Fit};
use crate::header::{PictureContext, PictureKind};
use std::sync::Arc;

/// How close a window comes to its budget, as a share of it; the rest is carried over.
const TOLERANCE: f64 = 0.05;
/// The same in a closed loop, where a trial costs much more.
const CLOSED_TOLERANCE: f64 = 0.08;
/// How close a sample of its macroblocks comes before all are recoded.
const SAMPLE_TOLERANCE: f64 = 0.03;
/// Both tolerances are at most this share of the bits to be saved.
const OF_SAVING: f64 = 0.4;
/// How close it comes to a rate, so that the mean holds at the end of any window.
const RATE_TOLERANCE: f64 = 0.005;
/// How close it comes where the rest of the stream is too short to carry over to.
const LAST_TOLERANCE: f64 = 0.0002;
/// How close the first trials of a window at the end come, ...
const END_TOLERANCE: f64 = 0.015;
/// ... as a share of what [`OF_SAVING`] allows at most.
const END_OF_SAVING: f64 = 0.08;
/// One picture in so many, the last ones, then makes up for the rest.
const END_PART: usize = 4;
/// A window that exceeds its budget by this share has reached its floor.
const FLOOR_EXCESS: f64 = 0.1;
/// Trials of lambda, at most, ...
const ROUNDS: usize = 12;
/// ... and in a closed loop before a part of the pictures is left as it is.
const CLOSED_ROUNDS: usize = 4;
/// ... unless all of them missed their aim by this share of it.
const FAR: f64 = 0.2;
/// So many times they are repeated where the rest of the pictures could not take the bits that are left over.
const AGAIN: usize = 3;
/// One macroblock in so many is sampled, at most, ...
const SAMPLING: usize = 32;
/// ... and so many of a window, at least.
const SAMPLE: usize = 600;

/// Coarser scales are tried below this share of the input only; above it they gain nothing over lower levels.
const REQUANTISES_BELOW: f64 = 0.75;
/// They are chosen at this share of the lambda that the scales of the input take: with coarser ones it is lower. Where they save too much,
/// the next share chooses finer ones.
const COMPARED_AT: [f64; 3] = [0.7, 0.3, 0.1];
/// With this lambda no level is dropped.
const LEAST_LAMBDA: f64 = 1e-2;
/// With this lambda every level is dropped.
const HIGHEST_LAMBDA: f64 = 1e7;
/// Where the first search starts.
const FIRST_LAMBDA: f64 = 30.0;
/// The highest lambda at which a later search starts.
const LARGEST_LAMBDA: f64 = 1e4;
/// The share of the aim by which bits fall where lambda grows by a factor of e: the first guess.
const FIRST_FALL: f64 = 0.25;
/// Where a step changed nothing, the next one is longer: this share of the fall is expected.
const FALL_OF_NONE: f64 = 0.5;
/// The least and the most of it.
const FALLS: (f64, f64) = (1e-3, 2.0);

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
    share_of_b: ShareOfB,
}

impl Auto {
    pub(super) fn new() -> Self {
        let (drift, inputs) = (Drift::default(), Inputs::default());
        Self { open: LambdaSearch::new(), closed: None, drift, inputs, share_of_b: ShareOfB::default() }
    }

    /// Shapes a window of pictures; `future` as for [`window::shape`].
    pub(super) fn shape(
        &mut self,
        config: &Config,
        rate_control: &mut RateControl,
        pictures: &mut [PictureShaper],
        future: f32,
    ) {
        let before = std::mem::take(&mut self.drift);
        window::shape(rate_control, pictures, future, |pictures, budget, fit| match fit {
            Fit::Window => self.fit(config, pictures, budget.max(1.0), &before),
            Fit::Run => {
                // The next window begins where this one as a whole has ended, but for its errors, which are unknown now.
                self.open.clone().refit(config, pictures, budget);
                self.drift = Drift::default();
            }
        });
    }

    /// Writes the pictures in `budget` bits. `before` is the drift ahead of them.
    fn fit(&mut self, config: &Config, pictures: &mut [PictureShaper], budget: f64, before: &Drift) {
        parallel::for_each(config.threads, pictures, PictureShaper::choose_intra_table);
        let whole: f64 = pictures.iter().map(|picture| picture.bits_in() as f64).sum();
        if saved_by_table(pictures) > whole - budget {
            // More would be saved than is to be saved, and nothing could spend it.
            pictures.iter_mut().for_each(PictureShaper::keep_intra_table);
        }
        let saving = OF_SAVING * (whole / budget - 1.0);
        let with_fields = pictures
            .iter()
            .filter_map(|picture| picture.context.as_ref())
            .any(PictureContext::has_field_motion);
        let closed_below = config.closed_below(self.share_of_b.pass(pictures), with_fields);
        let is_closed = share_of_stream(pictures, budget / whole) < closed_below
            && pictures.iter().all(|picture| picture.may_be_closed);
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
            self.open.fit_scales(config, pictures, budget);
            let bits = if window::is_near_the_end(pictures) {
                let of_whole = END_TOLERANCE.min(END_OF_SAVING * saving).max(tolerance);
                self.open.fit_end(config, pictures, budget, [of_whole, tolerance])
            } else {
                self.open.fit(config, pictures, budget, tolerance)
            };
            (bits, false)
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
            if half == 0 || (bits - left).abs() <= allowed || search.lambda >= HIGHEST_LAMBDA {
                self.drift = after;
                return (budget - left + bits, search.lambda >= HIGHEST_LAMBDA);
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

/// The share of its bits that the stream as a whole keeps, where a plan shares it out; else that of the window.
fn share_of_stream(pictures: &[PictureShaper], of_window: f64) -> f64 {
    match pictures.first().map(|picture| (picture.planned, picture.target)) {
        Some((Some(_), Target::Ratio(ratio))) => ratio,
        _ => of_window,
    }
}

/// How many pictures are B pictures. A window may be short, so those before it count too, each half as much as the one behind it.
#[derive(Debug, Clone, Copy, Default)]
struct ShareOfB {
    b_pictures: f64,
    pictures: f64,
}

impl ShareOfB {
    /// Counts a window; returns the share with it.
    fn pass(&mut self, pictures: &[PictureShaper]) -> f64 {
        let is_b = |picture: &&PictureShaper| picture.report.kind == Some(PictureKind::B);
        self.b_pictures = self.b_pictures / 2.0 + pictures.iter().filter(is_b).count() as f64;
        self.pictures = self.pictures / 2.0 + pictures.len() as f64;
        self.b_pictures / self.pictures.max(1.0)
    }
}

/// The search for lambda.
#[derive(Debug, Clone)]
pub(super) struct LambdaSearch {
    lambda: f64,
    /// The share of the aim by which bits last fell where lambda grew by a factor of e.
    fall: f64,
    /// What a sample of the last window took with the scales of the input, where coarser ones were tried.
    unscaled: Option<f64>,
    /// Those that begin where this one is share it.
    spare: Arc<Spare>,
}

impl LambdaSearch {
    pub(super) fn new() -> Self {
        Self { lambda: FIRST_LAMBDA, fall: FIRST_FALL, unscaled: None, spare: Arc::default() }
    }

    /// Writes pictures whose scales are chosen already in `budget` bits; returns the bits they take.
    fn fit(&mut self, config: &Config, pictures: &mut [PictureShaper], budget: f64, tolerance: f64) -> f64 {
        let spare = self.spare.clone();
        self.search(pictures, budget, tolerance, ROUNDS, &mut |pictures: &mut [PictureShaper], lambda| {
            write(config, pictures, lambda, &spare)
        })
    }

    /// The same with a tolerance of the first trials, on all pictures, and one in the end: the last pictures make up for the rest, so that
    /// not all are written so often.
    fn fit_end(
        &mut self,
        config: &Config,
        pictures: &mut [PictureShaper],
        budget: f64,
        [of_whole, tolerance]: [f64; 2],
    ) -> f64 {
        let misses = |bits: f64, tolerance: f64| (bits / budget - 1.0).abs() >= tolerance;
        let mut bits = self.fit(config, pictures, budget, of_whole);
        if misses(bits, of_whole) || !misses(bits, tolerance) {
            return bits;
        }
        let (others, last) = pictures.split_at_mut(pictures.len() - pictures.len() / END_PART);
        if !last.is_empty() {
            let others: f64 = others.iter().map(PictureShaper::written_bits).sum();
            let left = (budget - others).max(1.0);
            let mut search = self.clone();
            search.step((bits - others) / left - 1.0);
            bits = others + search.fit(config, last, left, tolerance * budget / left);
        }
        if misses(bits, tolerance) { self.fit(config, pictures, budget, tolerance) } else { bits }
    }

    /// Writes pictures that were too large for the bucket in `budget` bits.
    pub(super) fn refit(&mut self, config: &Config, pictures: &mut [PictureShaper], budget: f64) {
        let bits = self.fit(config, pictures, budget, LAST_TOLERANCE);
        if bits > budget * (1.0 + LAST_TOLERANCE) {
            pictures.iter_mut().for_each(|picture| picture.report.at_floor = true);
        }
    }

    /// Finds the lambda with which a sample of the macroblocks takes `budget` bits; returns the bits that it takes.
    fn fit_sample(&mut self, config: &Config, pictures: &mut [PictureShaper], budget: f64) -> f64 {
        let (spare, sampling) = (self.spare.clone(), sampling_of(pictures));
        let whole: f64 = pictures.iter().map(|picture| picture.bits_in() as f64).sum();
        let tolerance = SAMPLE_TOLERANCE.min(OF_SAVING * (whole / budget - 1.0));
        self.search(pictures, budget, tolerance, ROUNDS, &mut |pictures: &mut [PictureShaper], lambda| {
            parallel::for_each(config.threads, pictures, |picture| {
                spare.lend(picture, |picture| picture.recode(lambda as f32, sampling));
            });
            pictures.iter().map(|picture| picture.expected_bits(sampling)).sum()
        })
    }

    /// The same, and the scales: where many bits are to be saved, coarser ones are tried. All pictures keep those of the input if that has
    /// less error at the same size.
    fn fit_scales(&mut self, config: &Config, pictures: &mut [PictureShaper], budget: f64) {
        let whole: f64 = pictures.iter().map(|picture| picture.bits_in() as f64).sum();
        if budget >= whole * REQUANTISES_BELOW {
            self.fit_sample(config, pictures, budget);
            return;
        }
        self.lambda = self.unscaled.unwrap_or(self.lambda);
        let bits = self.fit_sample(config, pictures, budget);
        let (unscaled, lambda) = (self.cost(pictures, bits - budget), self.lambda);
        self.unscaled = Some(lambda);
        for share in COMPARED_AT {
            self.lambda = share * lambda;
            let compared = self.lambda as f32;
            parallel::for_each(config.threads, pictures, |picture| picture.choose_factor(compared));
            let bits = self.fit_sample(config, pictures, budget);
            // Bits that coarser scales save beyond need cannot be spent again: finer ones are tried.
            if bits >= budget * (1.0 - SAMPLE_TOLERANCE) {
                if self.cost(pictures, bits - budget) < unscaled {
                    return;
                }
                break;
            }
        }
        pictures.iter_mut().for_each(|picture| picture.factor = 1.0);
        self.lambda = lambda;
    }

    /// The weighted error of pictures of which a sample was recoded, with what their size misses the budget by.
    fn cost(&self, pictures: &[PictureShaper], excess: f64) -> f64 {
        let error: f64 = pictures.iter().map(|picture| picture.weighted_error).sum();
        error * sampling_of(pictures) as f64 + self.lambda * excess
    }

    /// Searches for the lambda with which the pictures take `aim` bits, within `tolerance`; returns the bits they take
    /// with the last one tried. `take` gives the bits for a lambda, which fall about linearly with its logarithm.
    fn search(
        &mut self,
        pictures: &mut [PictureShaper],
        aim: f64,
        tolerance: f64,
        rounds: usize,
        take: &mut impl FnMut(&mut [PictureShaper], f64) -> f64,
    ) -> f64 {
        let (mut low, mut high) = (0.0, HIGHEST_LAMBDA * 2.0);
        self.lambda = self.lambda.min(LARGEST_LAMBDA);
        let mut before: Option<(f64, f64)> = None;
        let mut nearest = (f64::INFINITY, self.lambda);
        let mut excess = 0.0f64;
        for round in 0..ROUNDS {
            let logarithm = libm::log(self.lambda);
            excess = take(pictures, self.lambda) / aim - 1.0;
            if let Some((lambda, other)) = before.filter(|&(lambda, _)| lambda != logarithm) {
                let fall = (other - excess) / (logarithm - lambda);
                // Sizes in a closed loop may rise a little.
                if fall > 0.0 {
                    self.fall = fall.clamp(FALLS.0, FALLS.1);
                } else if other == excess {
                    self.fall = (FALL_OF_NONE * self.fall).max(FALLS.0);
                }
            }
            if excess.abs() < nearest.0 {
                nearest = (excess.abs(), self.lambda);
            }
            let at_floor = excess > 0.0 && self.lambda >= HIGHEST_LAMBDA;
            let at_ceiling = excess < 0.0 && self.lambda <= LEAST_LAMBDA;
            if excess.abs() < tolerance || at_floor || at_ceiling {
                break;
            }
            if round + 1 == ROUNDS || (round + 1 >= rounds && nearest.0 < FAR) {
                if nearest.0 < excess.abs() {
                    self.lambda = nearest.1;
                    excess = take(pictures, self.lambda) / aim - 1.0;
                }
                break;
            }
            before = Some((logarithm, excess));
            *(if excess > 0.0 { &mut low } else { &mut high }) = self.lambda;
            self.step(excess);
            let next = self.lambda;
            self.lambda = if next > low && next <= high { next } else { between(low, high) };
        }
        (1.0 + excess) * aim
    }

    /// Moves lambda to where pictures that exceed their aim by a share should have it.
    fn step(&mut self, excess: f64) {
        let step = (excess / self.fall).clamp(-LONGEST_STEP, LONGEST_STEP);
        let next = libm::exp(libm::log(self.lambda) + step);
        self.lambda = next.clamp(LEAST_LAMBDA / 10.0, HIGHEST_LAMBDA);
    }
}

/// One macroblock in so many is in a sample of these pictures.
fn sampling_of(pictures: &[PictureShaper]) -> usize {
    let macroblocks: usize = pictures.iter().map(|picture| picture.parsed.macroblocks.len()).sum();
    (macroblocks / SAMPLE).clamp(1, SAMPLING)
}

/// Recodes and writes all pictures; returns their bits.
fn write(config: &Config, pictures: &mut [PictureShaper], lambda: f64, spare: &Spare) -> f64 {
    parallel::for_each(config.threads, pictures, |picture| {
        spare.lend(picture, |picture| {
            picture.recode(lambda as f32, 1);
            picture.write_recoded();
        });
    });
    pictures.iter().map(|picture| picture.writer.bit_length() as f64).sum()
}

/// The largest change of the logarithm of lambda in one round.
const LONGEST_STEP: f64 = 2.0;

fn between(low: f64, high: f64) -> f64 {
    (low.max(LEAST_LAMBDA / 10.0) * high).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header::SequenceState;
    use crate::shape::Method;
    use crate::unit::{AccessUnit, Splitter};

    /// The pictures of a stream, ready for the choice of lambda, and their bits.
    fn pictures(stream: &[u8]) -> (Vec<PictureShaper>, f64) {
        let (mut splitter, mut state) = (Splitter::default(), SequenceState::default());
        splitter.push(stream);
        splitter.finish();
        let units = std::iter::from_fn(|| splitter.pull());
        let picture = |unit: AccessUnit| {
            let mut picture = PictureShaper::default();
            picture.context = unit.read_headers(&mut state);
            picture.unit = unit;
            picture.parse();
            picture.reopen();
            picture
        };
        let pictures: Vec<_> = units.map(picture).collect();
        let bits = pictures.iter().map(|picture| picture.bits_in() as f64).sum();
        (pictures, bits)
    }

    /// Fits the end of a stream to a share of its bits; returns the share that it misses, and whether the pictures ahead of the last
    /// ones are as the first trials left them.
    fn miss_at_the_end(share: f64, tolerances: [f64; 2]) -> (f64, bool) {
        let config = Config::new(Method::Auto, Target::Ratio(share));
        let (mut pictures, whole) = pictures(include_bytes!("../../tests/fixtures/elementary.m2v"));
        let budget = share * whole;
        LambdaSearch::new().fit(&config, &mut pictures, budget, tolerances[0]);
        let bytes = |pictures: &[PictureShaper]| -> Vec<Vec<u8>> {
            let ahead = &pictures[..pictures.len() - pictures.len() / END_PART];
            ahead.iter().map(|picture| picture.writer.bytes().to_vec()).collect()
        };
        let first = bytes(&pictures);
        let bits = LambdaSearch::new().fit_end(&config, &mut pictures, budget, tolerances);
        let written: f64 = pictures.iter().map(PictureShaper::written_bits).sum();
        assert_eq!(bits, written);
        ((written / budget - 1.0).abs(), bytes(&pictures) == first)
    }

    #[test]
    fn the_last_pictures_alone_make_the_end_exact() {
        for share in [0.9, 0.8, 0.7] {
            let (miss, is_first) = miss_at_the_end(share, [0.02, 0.001]);
            assert!(miss < 0.001 && is_first, "{share}: {miss}, {is_first}");
        }
    }

    #[test]
    fn a_search_that_begins_far_from_its_aim_goes_on() {
        let mut trials = 0;
        // Bits fall by a quarter of the aim where lambda grows by a factor of e, but no further than to twice the aim and to nothing.
        let mut take = |_: &mut [PictureShaper], lambda: f64| {
            trials += 1;
            100.0 * (1.0 - 0.25 * libm::log(lambda / 70.0)).clamp(0.0, 2.0)
        };
        let mut search = LambdaSearch { lambda: 1e-3, ..LambdaSearch::new() };
        let bits = search.search(&mut [], 100.0, 1e-3, CLOSED_ROUNDS, &mut take);
        assert!((bits / 100.0 - 1.0).abs() < FAR && trials <= ROUNDS, "{bits} after {trials}");
        // With no error nothing more can be spent.
        let mut take = |_: &mut [PictureShaper], _| 50.0;
        assert_eq!(search.search(&mut [], 100.0, 1e-3, ROUNDS, &mut take), 50.0);
        assert!(search.lambda <= LEAST_LAMBDA);
    }

    #[test]
    fn coarser_scales_leave_the_size_within_reach() {
        for share in [0.74, 0.7, 0.65, 0.6, 0.55, 0.5] {
            let config = Config::new(Method::Auto, Target::Ratio(share));
            // The scale of the first picture is fine, so that a coarser one may save too much.
            let (mut pictures, _) = pictures(include_bytes!("../../tests/fixtures/elementary.m2v"));
            pictures.truncate(1);
            let budget = share * pictures[0].bits_in() as f64;
            let mut search = LambdaSearch::new();
            search.fit_scales(&config, &mut pictures, budget);
            let bits = search.fit_sample(&config, &mut pictures, budget);
            assert!((bits / budget - 1.0).abs() <= SAMPLE_TOLERANCE, "{share}: {bits} of {budget}");
        }
    }

    #[test]
    fn an_end_that_no_lambda_reaches_is_left_as_it_is() {
        let (miss, is_first) = miss_at_the_end(0.05, [0.02, 0.001]);
        assert!(miss > 0.02 && is_first);
    }

    fn window(kinds: &str) -> Vec<PictureShaper> {
        let kind = |letter| match letter {
            'I' => PictureKind::I,
            'P' => PictureKind::P,
            _ => PictureKind::B,
        };
        let picture = |letter| {
            let mut picture = PictureShaper::default();
            picture.report.kind = Some(kind(letter));
            picture
        };
        kinds.chars().map(picture).collect()
    }

    #[test]
    fn a_short_window_is_judged_with_those_before_it() {
        let mut share = ShareOfB::default();
        assert_eq!(share.pass(&window("IBBPBBPBBPBB")), 8.0 / 12.0);
        // Alone it would have one B picture in three.
        assert_eq!(share.pass(&window("IPB")), (4.0 + 1.0) / (6.0 + 3.0));
    }

    #[test]
    fn the_loop_is_closed_earlier_where_b_pictures_are_few() {
        let config = Config::new(Method::Auto, Target::Ratio(0.8));
        let live = Config { new_motion: false, ..config.clone() };
        let of = |config: &Config, with_fields| {
            ["IBBPBBPBB", "IBPBPBPB", "IPPPPPPP"]
                .map(|kinds| config.closed_below(ShareOfB::default().pass(&window(kinds)), with_fields))
        };
        assert_eq!(of(&config, false), [0.65, 0.92, 0.92]);
        assert_eq!(of(&config, true), [0.75, 0.92, 0.92]);
        assert_eq!([of(&live, false), of(&live, true)], [[0.65, 0.65, 0.9]; 2]);
    }
}
