//! The trial of a plan: the stream is shaped by it in the quicker closed loop, for no output, to learn the lambda of each window.
//! From headers alone it is known only about.

use super::two_pass::{Group, RatePlan, planned, water_fill};
use super::{Config, PictureRecord, Pipeline, Schedule};
use crate::container::{self, Error, Multiplex};
use crate::shape::{self, LEAST_LAMBDA};

/// The largest correction of what a window keeps; its inverse is the least.
const LARGEST: f64 = 2.0;

/// A pass over the whole stream between a [`FirstPass`](super::FirstPass) and the one that writes. Takes the stream by [`Trial::push`];
/// [`Trial::finish`] gives a better plan.
#[derive(Debug)]
pub struct Trial {
    pipeline: Pipeline,
    plan: RatePlan,
    windows: Vec<Window>,
    scratch: Vec<u8>,
}

/// Pictures in a row of one lambda and of one group of the plan: those of another group have another share of their bits.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Window {
    /// Index behind the last of them.
    end: u64,
    bits_in: f64,
    bits_out: f64,
    /// Bits by the plan.
    allowed: f64,
    lambda: f64,
    /// The share of its bits that the plan gives each.
    planned: f64,
    /// All were coded in a closed loop, and could have been smaller, and larger.
    is_free: bool,
}

impl Trial {
    /// A trial of `plan` that has read nothing. `config` and `schedule` are those of the pass that writes; the multiplex does not matter.
    pub fn new(config: &Config, schedule: Schedule, plan: RatePlan) -> Trial {
        let container = container::Config { multiplex: Multiplex::Keep, ..config.container };
        let shaper = config.shaper.without_new_motion();
        let mut pipeline = Pipeline::new(Config { shaper, container });
        pipeline.set_schedule(schedule);
        pipeline.set_plan(plan.clone());
        Trial { pipeline, plan, windows: Vec::new(), scratch: Vec::new() }
    }

    /// Takes the next bytes of the stream.
    ///
    /// # Errors
    /// As [`Pipeline::push`].
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.pipeline.push(bytes)?;
        self.collect();
        Ok(())
    }

    /// The stream has ended: returns the plan by which all windows have about the same lambda, which is the least error of the whole.
    /// Windows that were not coded in a closed loop, or could not be smaller or larger, keep what they have.
    ///
    /// # Errors
    /// As [`Pipeline::finish`].
    pub fn finish(mut self) -> Result<RatePlan, Error> {
        self.pipeline.finish()?;
        self.collect();
        let closed = self.plan.planned(0).closed;
        let groups = even(&self.windows).into_iter();
        let groups = groups.map(|(end, planned)| (end, shape::Planned { closed, ..planned })).collect();
        Ok(RatePlan { groups, ..self.plan })
    }

    fn collect(&mut self) {
        while let Some(record) = self.pipeline.poll_record() {
            self.add(&record);
        }
        self.pipeline.drain_output(&mut self.scratch);
        self.scratch.clear();
    }

    fn add(&mut self, PictureRecord { index, shaping, .. }: &PictureRecord) {
        let planned = self.plan.planned(*index).ratio;
        let goes_on = |window: &&mut Window| {
            shaping.kind.is_none() || (window.lambda == shaping.lambda && window.planned == planned)
        };
        if self.windows.last_mut().filter(goes_on).is_none() {
            self.windows.push(Window { lambda: shaping.lambda, planned, is_free: true, ..Window::default() });
        }
        let Some(window) = self.windows.last_mut() else { return };
        let is_free = shaping.closed_loop && !shaping.at_floor && shaping.lambda > LEAST_LAMBDA;
        window.is_free &= is_free || shaping.kind.is_none();
        window.end = index + 1;
        window.bits_in += shaping.bits_in as f64;
        window.bits_out += shaping.bits_out as f64;
        window.allowed += planned * shaping.bits_in as f64;
    }
}

/// Shares out bits so that the windows that are free have a common lambda. What the others leave over, or take beyond the plan, is theirs.
fn even(windows: &[Window]) -> Vec<(u64, shape::Planned)> {
    let is_free = |window: &&Window| window.is_free;
    let sum = |of: fn(&Window) -> f64| windows.iter().filter(is_free).map(of).sum::<f64>();
    let mean = sum(|window| window.bits_out * window.logarithm()) / sum(|window| window.bits_out).max(1.0);
    let taken: f64 = windows.iter().filter(|window| !window.is_free).map(Window::kept).sum();
    let left = (windows.iter().map(|window| window.allowed).sum::<f64>() - taken).max(0.0);
    let allowed = left / sum(|window| window.allowed).max(1.0);
    let group = |window: &Window| Group {
        end: window.end,
        bits: window.bits_in,
        allowed: allowed * window.allowed,
        weight: window.bits_out * window.correction(mean),
        ..Group::default()
    };
    let groups: Vec<Group> = windows.iter().map(group).collect();
    let mut free: Vec<Group> =
        windows.iter().zip(&groups).filter(|(window, _)| window.is_free).map(|(_, group)| *group).collect();
    let share = water_fill(&mut free);
    let mut free = free.iter().map(|group| group.ratio(share));
    let of_others = |window: &Window| (window.kept() / window.bits_in.max(1.0)).min(1.0);
    let ratio = |window| Some(window).filter(is_free).and_then(|_| free.next()).unwrap_or(of_others(window));
    let ratios: Vec<f64> = windows.iter().map(ratio).collect();
    planned(&groups, &ratios)
}

impl Window {
    /// Bits of a window that is not free: it may have missed its plan, and may do better in the end.
    fn kept(&self) -> f64 {
        self.bits_out.min(self.allowed)
    }

    fn logarithm(&self) -> f64 {
        libm::log(self.lambda.max(f64::MIN_POSITIVE))
    }

    /// The factor on its bits with which it would have a lambda of this logarithm. The nearer it is to its input, the less its bits follow
    /// lambda.
    fn correction(&self, logarithm: f64) -> f64 {
        let share = (self.bits_out / self.bits_in.max(1.0)).min(1.0);
        libm::exp((1.0 - share) * (self.logarithm() - logarithm)).clamp(LARGEST.recip(), LARGEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header::PictureKind;
    use crate::pipeline::FirstPass;
    use crate::unit::AccessUnit;

    fn window(end: u64, lambda: f64, bits_out: f64) -> Window {
        Window { end, bits_in: 1000.0, bits_out, allowed: 500.0, lambda, planned: 0.5, is_free: true }
    }

    fn kept(windows: &[Window]) -> Vec<f64> {
        even(windows).iter().map(|(_, planned)| 1000.0 * planned.ratio).collect()
    }

    #[test]
    fn windows_of_one_lambda_keep_what_they_had() {
        assert_eq!(kept(&[window(12, 80.0, 600.0), window(24, 80.0, 400.0)]), [600.0, 400.0]);
    }

    #[test]
    fn bits_go_where_lambda_is_high() {
        // At half of their size bits fall with the root of lambda: 2 to 1 where lambda is 4 to 1.
        let [first, second] = kept(&[window(12, 200.0, 500.0), window(24, 50.0, 500.0)])[..] else {
            panic!()
        };
        assert!((first + second - 1000.0).abs() < 1e-6 && (first / second - 2.0).abs() < 1e-6, "{first}");
        // Twice as much and half as much at most: 1400 to 150.
        let [first, second] = kept(&[window(12, 1e6, 700.0), window(24, 1e-3, 300.0)])[..] else { panic!() };
        assert!(
            (first + second - 1000.0).abs() < 1e-6 && (first / second - 28.0 / 3.0).abs() < 1e-6,
            "{first}"
        );
    }

    #[test]
    fn a_window_that_cannot_change_leaves_its_rest_to_the_others() {
        // It kept 300 of 500, whatever its lambda; the others are even.
        let copied = Window { is_free: false, ..window(12, 0.0, 300.0) };
        let shared = kept(&[copied, window(24, 80.0, 500.0), window(36, 80.0, 500.0)]);
        assert!(shared.iter().zip([300.0, 600.0, 600.0]).all(|(a, b)| (a - b).abs() < 1e-6), "{shared:?}");
        // At its floor it is above its budget.
        let floor = Window { is_free: false, ..window(12, 1e7, 700.0) };
        let shared = kept(&[floor, window(24, 80.0, 500.0), window(36, 80.0, 500.0)]);
        assert!(shared.iter().zip([500.0; 3]).all(|(a, b)| (a - b).abs() < 1e-6), "{shared:?}");
        assert_eq!(even(&[]), []);
    }

    /// What a trial makes of two groups of two pictures of 500 bits that keep 0.8 and 0.2 by the plan: the bits that came out, and the lambda
    /// of the second group; that of the first is 80.
    fn shares_of(bits_out: [u64; 4], lambda: f64) -> Vec<(u64, f64)> {
        let shaper = shape::Config::new(shape::Method::Auto, shape::Target::Ratio(0.5));
        let config = Config { shaper, container: container::Config::default() };
        let group = |end| Group { end, bits: 1000.0, ..Group::default() };
        let groups = planned(&[group(2), group(4)], &[0.8, 0.2]);
        let plan = RatePlan { groups, bytes: 250, gains_from_trial: true };
        let mut trial = Trial::new(&config, Schedule::constant(config.shaper.target), plan);
        for (index, bits_out) in (0..).zip(bits_out) {
            let lambda = if index < 2 { 80.0 } else { lambda };
            let kind = Some(PictureKind::P);
            let (bits_in, closed_loop) = (500, true);
            let shaping =
                shape::PictureReport { kind, bits_in, bits_out, lambda, closed_loop, ..Default::default() };
            trial.add(&PictureRecord { index, pts: None, seconds: 0.04, shaping });
        }
        even(&trial.windows).iter().map(|(end, planned)| (*end, planned.ratio)).collect()
    }

    #[test]
    fn groups_of_one_lambda_stay_apart() {
        let shares = shares_of([400, 400, 100, 100], 80.0);
        assert!(shares.len() == 2 && shares[0].0 == 2 && shares[1].0 == 4, "{shares:?}");
        assert!((shares[0].1 - 0.8).abs() < 1e-9 && (shares[1].1 - 0.2).abs() < 1e-9, "{shares:?}");
    }

    #[test]
    fn a_window_that_keeps_every_level_cannot_have_more() {
        // It leaves 40 % of what the plan gives it, and keeps the rest however low its lambda is.
        let shares = shares_of([400, 400, 60, 60], LEAST_LAMBDA / 2.0);
        assert!(shares.len() == 2 && (shares[1].1 - 0.12).abs() < 1e-9, "{shares:?}");
    }

    const STREAM: &[u8] = include_bytes!("../../tests/fixtures/elementary.m2v");

    /// The plan for this share of the stream, and what the trial makes of it, if that is worth its time.
    fn tried(ratio: f64) -> (RatePlan, Option<RatePlan>) {
        let shaper = shape::Config::new(shape::Method::Auto, shape::Target::Ratio(ratio));
        let config = Config { shaper, container: container::Config::default() };
        let schedule = Schedule::constant(config.shaper.target);
        let mut pass = FirstPass::new(&config, schedule.clone());
        pass.push(STREAM).unwrap();
        let plan = pass.finish().unwrap();
        let mut trial = Trial::new(&config, schedule, plan.clone());
        trial.push(STREAM).unwrap();
        let gains = plan.gains_from_trial();
        (plan, gains.then(|| trial.finish().unwrap()))
    }

    #[test]
    fn the_share_of_the_whole_stays() {
        let (plan, better) = tried(0.5);
        let better = better.unwrap();
        assert_ne!(plan, better);
        assert!((0..24).all(|index| better.planned(index).closed));
        let units = AccessUnit::all_of(STREAM);
        let kept = |ratio: &dyn Fn(u64) -> f64| -> f64 {
            (0..).zip(&units).map(|(index, unit)| unit.data.len() as f64 * ratio(index)).sum()
        };
        let [plan, better] = [plan, better].map(|plan| kept(&|index| plan.planned(index).ratio));
        let whole = kept(&|_| 1.0);
        assert!(
            (plan / whole - 0.5).abs() < 1e-6 && (better / whole - 0.5).abs() < 1e-6,
            "{plan} {better} of {whole}"
        );
    }

    #[test]
    fn a_trial_is_for_a_closed_loop() {
        assert!(tried(0.8).1.is_none() && tried(0.6).1.is_some());
    }
}
