//! Two-pass rate control of a stream that can be read twice. The first pass measures the bits, the display time and the complexity of
//! each GOP and gives each a ratio, so that the whole stream meets its target at equal scales, as far as the leaky bucket of a rate
//! allows it. Methods that shape single pictures have a rate in equal shares of time.

use super::Config;
use super::complexity::complexity;
use super::schedule::Schedule;
use super::smoothing::Smoothing;
use super::survey::Survey;
use crate::container::{self, Error, Multiplex, Remuxer, Replacement};
use crate::header::{PictureContext, PictureKind, SequenceState};
use crate::shape::{self, Planned, Target};
use seaway_units::TimeDelta;

/// A group shorter than this, in seconds, is extended by the next GOP.
const SHORTEST: f64 = 0.5;
/// The same where a leaky bucket is filled: a cut between scenes is to lie between two groups.
const SHORTEST_IN_BUCKET: f64 = 0.2;
/// The longest group without another I picture, in seconds.
const LONGEST: f64 = 10.0;

/// Groups by which a pass is judged.
const JUDGED: usize = 3;
/// From this spread of their scales on a plan is worth its time in an open loop too.
const VARIED: f64 = 0.18;

/// Pictures that are shaped by one ratio.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Group {
    /// Index behind the last of its pictures.
    pub(super) end: u64,
    pub(super) bits: f64,
    /// Bits that the schedule allows for their display time, or as a share of theirs.
    pub(super) allowed: f64,
    /// What its bits are shared out by: its complexity, or the allowed bits of a rate ([`FirstPass::by_time`]).
    pub(super) weight: f64,
    pub(super) seconds: f64,
    /// Their target by the schedule.
    pub(super) target: Option<Target>,
}

/// The first pass. Takes the whole stream by [`FirstPass::push`]; [`FirstPass::finish`] gives the plan for the second.
#[derive(Debug)]
pub struct FirstPass {
    remuxer: Remuxer,
    scratch: Vec<u8>,
    schedule: Schedule,
    state: SequenceState,
    elapsed: f64,
    groups: Vec<Group>,
    group: Group,
    pictures: u64,
    survey: Survey,
    bytes: u64,
    shaper: shape::Config,
    /// A rate is shared out by display time: by methods that shape single pictures, and for a constant multiplex rate, which has little room
    /// for groups that keep more than the mean.
    by_time: bool,
    needless: Option<bool>,
    /// Depth of the leaky bucket, and bits and seconds of each picture; empty without a bucket.
    bucket: Option<TimeDelta>,
    sizes: Vec<(f32, f32)>,
}

/// A ratio for each picture of a stream, so that the whole stream meets a schedule of targets.
#[derive(Clone, Debug, PartialEq)]
pub struct RatePlan {
    /// By group: the index behind its last picture, and what each of its pictures keeps.
    pub(super) groups: Vec<(u64, Planned)>,
    /// Bytes of the whole video.
    pub(super) bytes: u64,
    pub(super) gains_from_trial: bool,
}

impl FirstPass {
    /// A first pass that has read nothing. `config` is that of the second pass.
    pub fn new(config: &Config, schedule: Schedule) -> FirstPass {
        let container = container::Config { multiplex: Multiplex::Keep, ..config.container };
        FirstPass {
            remuxer: Remuxer::new(container),
            bucket: config.shaper.ceiling.map(|ceiling| ceiling.bucket),
            sizes: Vec::new(),
            scratch: Vec::new(),
            schedule,
            state: SequenceState::default(),
            elapsed: 0.0,
            groups: Vec::new(),
            group: Group::default(),
            pictures: 0,
            survey: Survey::default(),
            bytes: 0,
            shaper: config.shaper.clone(),
            by_time: !config.shaper.method.looks_ahead()
                || matches!(config.container.multiplex, Multiplex::Constant(_)),
            needless: None,
        }
    }

    /// True once the first groups show that a plan costs more time than it is worth, so that the pass may be given up: for a share of the
    /// input that the shaper meets in an open loop, where all groups have about the same quantiser scale.
    pub fn is_needless(&self) -> bool {
        self.needless == Some(true)
    }

    /// [`FirstPass::is_needless`], once enough groups are known.
    fn judge(&self) -> Option<bool> {
        let first = self.groups.get(..JUDGED)?;
        let is_share = matches!(self.shaper.target, Target::Ratio(_));
        Some(
            is_share && !self.common_share_is(Survey::is_for_closed_loop) && spread_of_scales(first) < VARIED,
        )
    }

    /// True where all of the stream is to keep one share of its bits, of which the survey says this.
    fn common_share_is(&self, so: impl Fn(&Survey, &shape::Config, f64) -> bool) -> bool {
        let target = self.groups.first().and_then(|group| group.target);
        matches!(target, Some(Target::Ratio(share)) if so(&self.survey, &self.shaper, share))
            && self.groups.iter().all(|group| group.target == target)
    }

    /// Takes the next bytes of the stream.
    ///
    /// # Errors
    /// As [`Remuxer::push`].
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.remuxer.push(bytes)?;
        self.count()
    }

    /// The stream has ended: returns the plan.
    ///
    /// # Errors
    /// As [`Remuxer::finish`].
    pub fn finish(mut self) -> Result<RatePlan, Error> {
        self.remuxer.finish()?;
        self.count()?;
        self.close();
        Ok(self.plan())
    }

    /// The plan for the groups so far.
    fn plan(mut self) -> RatePlan {
        let mut shares = Vec::with_capacity(self.groups.len());
        let (mut begin, mut level) = (0, 0.0);
        // Bits are shared among groups of the same target only.
        for groups in self.groups.chunk_by_mut(|a, b| a.target == b.target) {
            let end = groups.last().map_or(begin, |group| group.end as usize);
            if let (Some(bucket), Some(Target::Rate(rate))) = (self.bucket, groups[0].target) {
                let sizes = &self.sizes[begin..end];
                let (rate, depth) = (rate.as_bps_f64(), FILLED * bucket.as_secs_f64());
                let (smooth, behind) = Smoothing { groups, begin, sizes, rate, depth, level }.shares();
                shares.extend(smooth);
                level = behind;
            } else {
                shares.extend(std::iter::repeat_n(water_fill(groups), groups.len()));
            }
            begin = end;
        }
        let ratios: Vec<f64> =
            self.groups.iter().zip(&shares).map(|(group, &share)| group.ratio(share)).collect();
        let mut groups = planned(&self.groups, &ratios);
        number_segments(&mut groups, &self.groups, &shares);
        self.choose_loops(&mut groups);
        let gains_from_trial = self.common_share_is(Survey::gains_from_trial);
        RatePlan { groups, bytes: self.bytes, gains_from_trial }
    }

    /// Chooses the loop of each segment by the share of its bits that it keeps.
    fn choose_loops(&self, planned: &mut [(u64, Planned)]) {
        let mut groups = self.groups.iter();
        for segment in planned.chunk_by_mut(|(_, a), (_, b)| a.segment == b.segment) {
            let (mut kept, mut bits) = (0.0, 0.0);
            for ((_, planned), group) in segment.iter().zip(groups.by_ref()) {
                kept += planned.ratio * group.bits;
                bits += group.bits;
            }
            let closed = self.survey.is_for_closed_loop(&self.shaper, kept / bits.max(1.0));
            segment.iter_mut().for_each(|(_, planned)| planned.closed = closed);
        }
    }

    fn count(&mut self) -> Result<(), Error> {
        while let Some(picture) = self.remuxer.poll_picture() {
            self.remuxer.replace(Replacement::Kept)?;
            let context = picture.unit.read_headers(&mut self.state);
            let seconds = self.state.unit_seconds(&picture.unit, context.as_ref());
            let complexity = context.as_ref().map_or(0.0, |context| complexity(context, &picture.unit));
            self.add(context.as_ref(), picture.unit.data.len() as u64, seconds, complexity);
            if let Some(context) = context.as_ref().filter(|_| self.asks_for_survey()) {
                self.survey.add(context, &picture.unit);
            }
        }
        self.remuxer.drain_output(&mut self.scratch);
        self.scratch.clear();
        Ok(())
    }

    /// A share always does, because the survey decides whether the pass is given up; a rate only where the loop is chosen by it.
    fn asks_for_survey(&self) -> bool {
        let chooses_loop = self.shaper.method == shape::Method::Auto
            && self.shaper.closed_loop == shape::ClosedLoop::WhereItGains;
        chooses_loop || matches!(self.group.target, Some(Target::Ratio(_)))
    }

    /// A group shorter than this, in seconds, is extended by the next GOP.
    fn shortest(&self) -> f64 {
        if self.bucket.is_some() { SHORTEST_IN_BUCKET } else { SHORTEST }
    }

    fn add(&mut self, context: Option<&PictureContext>, bytes: u64, seconds: f64, complexity: f64) {
        let target = self.schedule.at(TimeDelta::from_secs_f64(self.elapsed));
        let begins = context.is_some_and(|context| context.kind() == PictureKind::I);
        let changes = self.group.target.is_some_and(|before| before != target);
        if changes || (begins && self.group.seconds >= self.shortest()) || self.group.seconds >= LONGEST {
            self.close();
            self.needless = self.needless.or_else(|| self.judge());
        }
        let bits = 8.0 * bytes as f64;
        if self.bucket.is_some() {
            self.sizes.push((bits as f32, seconds as f32));
        }
        self.pictures += 1;
        self.bytes += bytes;
        self.elapsed += seconds;
        self.group.end = self.pictures;
        self.group.bits += bits;
        self.group.seconds += seconds;
        self.group.target = Some(target);
        let (allowed, weight) = match target {
            Target::Rate(rate) if self.by_time => [rate.as_bps_f64() * seconds; 2].into(),
            Target::Rate(rate) => (rate.as_bps_f64() * seconds, complexity),
            Target::Ratio(ratio) => (ratio * bits, complexity),
        };
        self.group.allowed += allowed;
        self.group.weight += weight;
    }

    /// Ends a group. A short one is merged with the one before if that has the same target.
    fn close(&mut self) {
        let group = std::mem::take(&mut self.group);
        let is_short = group.seconds < self.shortest();
        let before = self.groups.last_mut().filter(|before| before.target == group.target);
        match before.filter(|_| is_short) {
            Some(before) => {
                before.end = group.end;
                before.bits += group.bits;
                before.allowed += group.allowed;
                before.weight += group.weight;
                before.seconds += group.seconds;
            }
            None => self.groups.push(group),
        }
    }
}

/// What the pictures of groups keep, whose ratios are these.
pub(super) fn planned(groups: &[Group], ratios: &[f64]) -> Vec<(u64, Planned)> {
    let cut = |(group, ratio): (&Group, &f64)| group.bits * (1.0 - ratio);
    let all = || groups.iter().zip(ratios);
    let (bits, cut_in_all) =
        (groups.iter().map(|group| group.bits).sum::<f64>(), all().map(cut).sum::<f64>());
    let mut left = cut_in_all;
    let mut plan = |(group, &ratio)| {
        left -= cut((group, &ratio));
        let bits_behind = bits * (left / cut_in_all.max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
        (group.end, Planned { ratio, bits_behind, closed: false, segment: 0 })
    };
    all().map(&mut plan).collect()
}

/// Begins a segment where the target or the share of groups changes.
fn number_segments(planned: &mut [(u64, Planned)], groups: &[Group], shares: &[f64]) {
    let mut segment = 0;
    for (index, (_, planned)) in planned.iter_mut().enumerate() {
        let changes = index > 0
            && (groups[index].target != groups[index - 1].target
                || (shares[index] / shares[index - 1] - 1.0).abs() > CHANGED);
        segment += u32::from(changes);
        planned.segment = segment;
    }
}

/// The standard deviation of the scales of groups, with what is added to them, as a share of their mean.
fn spread_of_scales(groups: &[Group]) -> f64 {
    let scales = groups.iter().map(|group| group.weight / group.bits.max(1.0));
    let mean = scales.clone().sum::<f64>() / groups.len() as f64;
    let square = scales.map(|scale| (scale - mean) * (scale - mean)).sum::<f64>() / groups.len() as f64;
    square.sqrt() / mean.max(f64::MIN_POSITIVE)
}

/// Water filling: the factor on the weight of each group with which all groups together spend the sum of the allowed
/// bits. A group that has fewer bits leaves the rest to the others. Weights are brought to the same sum.
pub(super) fn water_fill(groups: &mut [Group]) -> f64 {
    let sum = |of: fn(&Group) -> f64| groups.iter().map(of).sum::<f64>();
    let (allowed, weight) = (sum(|group| group.allowed), sum(|group| group.weight));
    groups.iter_mut().for_each(|group| group.weight *= allowed / weight.max(1.0));
    let spent = |share: f64| groups.iter().map(|group| group.kept(share)).sum::<f64>();
    least_share(1.0, |share| spent(share) < allowed)
}

/// The least share from `low` on that is not too low, or one at which every group keeps all its bits.
pub(super) fn least_share(mut low: f64, mut is_too_low: impl FnMut(f64) -> bool) -> f64 {
    let mut high = low;
    while high < HIGHEST_SHARE && is_too_low(high) {
        (low, high) = (high, 2.0 * high);
    }
    bisect(low, high, is_too_low).1
}

/// The largest number that is too low and the least that is not, both about the same.
pub(super) fn bisect(mut low: f64, mut high: f64, mut is_too_low: impl FnMut(f64) -> bool) -> (f64, f64) {
    for _ in 0..ROUNDS {
        let middle = f64::midpoint(low, high);
        *(if is_too_low(middle) { &mut low } else { &mut high }) = middle;
        if high - low <= PRECISION * high {
            break;
        }
    }
    (low, high)
}

impl Group {
    /// The bits that it keeps of `share` times its weight.
    pub(super) fn kept(&self, share: f64) -> f64 {
        self.bits.min(share * self.weight)
    }

    /// The same as a share of its bits.
    pub(super) fn ratio(&self, share: f64) -> f64 {
        (self.kept(share) / self.bits.max(1.0)).min(1.0)
    }
}

/// A share that differs by more than this from the one before begins a segment.
const CHANGED: f64 = 0.02;
/// How far a plan fills the bucket; the rest is for pictures that are cut less than their group.
const FILLED: f64 = 0.9;
/// The largest factor.
const HIGHEST_SHARE: f64 = 1e6;
/// Rounds of a bisection at most, and its precision.
const ROUNDS: usize = 50;
const PRECISION: f64 = 1e-7;

impl RatePlan {
    /// True where a [`Trial`](super::Trial) would find a better plan: for a share of the input at which the quicker loop too is a closed one. It takes a
    /// part of the time of the pass that writes.
    pub fn gains_from_trial(&self) -> bool {
        self.gains_from_trial
    }

    /// What a picture keeps, by its index in coding order.
    pub(super) fn planned(&self, index: u64) -> Planned {
        let at = self.groups.partition_point(|&(end, _)| end <= index);
        let all = Planned { ratio: 1.0, bits_behind: 0.0, closed: false, segment: 0 };
        self.groups.get(at).or(self.groups.last()).map_or(all, |&(_, planned)| planned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::Pipeline;

    fn group(bits: f64, allowed: f64) -> Group {
        Group { bits, allowed, weight: allowed, ..Group::default() }
    }

    /// Of 36 pictures, of which so many are B pictures, in groups of these scales.
    fn is_needless(target: Target, b_pictures: u64, scales: &[f64]) -> bool {
        let shaper = shape::Config::new(shape::Method::Auto, target);
        let config = Config { shaper, container: container::Config::default() };
        let pass = FirstPass::new(&config, Schedule::constant(target));
        let groups = scales
            .iter()
            .map(|scale| Group { weight: 300.0 * scale, target: Some(target), ..group(300.0, 150.0) })
            .collect();
        FirstPass { pictures: 36, survey: Survey::of(b_pictures, 0.9, 12.0), groups, ..pass }.judge()
            == Some(true)
    }

    #[test]
    fn a_plan_is_for_a_closed_loop_or_scales_that_vary() {
        let (share, even) = (Target::Ratio, [12.0, 13.0, 12.5]);
        // Two B pictures between two others, one, and none.
        assert_eq!([24, 18, 0].map(|b| is_needless(share(0.8), b, &even)), [true, false, false]);
        assert!(!is_needless(share(0.6), 24, &even));
        // Just below the input's size it counts too how the scales vary.
        assert!(!is_needless(share(0.95), 24, &[10.0, 16.0, 16.0]) && is_needless(share(0.95), 24, &even));
        // The mean is 14, the standard deviation 2.83: 0.2 of it.
        assert!(!is_needless(share(0.8), 24, &[10.0, 16.0, 16.0]));
        // Too few groups to know, and a rate, whose plan holds its ceiling.
        assert!(!is_needless(share(0.8), 24, &even[..2]));
        assert!(!is_needless(Target::Rate(seaway_units::Bitrate::from_mbps(2)), 24, &even));
    }

    #[test]
    fn groups_share_the_bits_that_one_cannot_use() {
        let share = |groups: &[Group]| water_fill(&mut groups.to_vec());
        assert!((share(&[group(200.0, 100.0); 3]) - 1.0).abs() < 1e-9);
        // 50 of 100 stay with the first; the others get 125 each.
        let uneven = [group(50.0, 100.0), group(200.0, 100.0), group(200.0, 100.0)];
        assert!((share(&uneven) - 1.25).abs() < 1e-9);
        // All bits are kept.
        assert!(share(&[group(50.0, 100.0); 2]) >= 1.0);
    }

    #[test]
    fn a_share_is_kept_at_equal_scales() {
        // Half of 300 bits each at scales of 10, 20 and 30: 450 bits as 1 to 2 to 3.
        let mut groups =
            [10.0, 20.0, 30.0].map(|scale| Group { weight: 300.0 * scale, ..group(300.0, 150.0) });
        let kept = |groups: &mut [Group]| {
            let share = water_fill(groups);
            groups.iter().map(|group| group.kept(share).round()).collect::<Vec<_>>()
        };
        assert_eq!(kept(&mut groups), [75.0, 150.0, 225.0]);
        // Two thirds: the last one keeps all, the others 300 bits as 1 to 2.
        groups.iter_mut().for_each(|group| group.allowed = 200.0);
        assert_eq!(kept(&mut groups), [100.0, 200.0, 300.0]);
        groups.iter_mut().for_each(|group| group.allowed = 230.0);
        assert_eq!(kept(&mut groups), [130.0, 260.0, 300.0]);
    }

    #[test]
    fn a_rate_is_shared_by_complexity_where_pictures_are_shaped_together() {
        // Two groups of 2 Mbit each, the second with twice the scale, to 1 Mbit/s.
        let ratios = |method, multiplex| {
            let target = Target::Rate(seaway_units::Bitrate::from_mbps(1));
            let config = Config {
                shaper: shape::Config::new(method, target),
                container: container::Config { multiplex, ..container::Config::default() },
            };
            let mut pass = FirstPass::new(&config, Schedule::constant(target));
            for scale in [10.0, 20.0] {
                pass.add(None, 250_000, 1.5, 2e6 * scale);
                pass.close();
            }
            let share = water_fill(&mut pass.groups);
            pass.groups.iter().map(|group| (1000.0 * group.ratio(share)).round()).collect::<Vec<_>>()
        };
        let constant = Multiplex::Constant(seaway_units::Bitrate::from_mbps(2));
        assert_eq!(ratios(shape::Method::Auto, Multiplex::Keep), [500.0, 1000.0]);
        assert_eq!(ratios(shape::Method::Window, Multiplex::Variable), [500.0, 1000.0]);
        assert_eq!(ratios(shape::Method::Memoryless, Multiplex::Keep), [750.0, 750.0]);
        assert_eq!(ratios(shape::Method::Auto, constant), [750.0, 750.0]);
    }

    const STREAM: &[u8] = include_bytes!("../../tests/fixtures/elementary.m2v");

    #[test]
    fn a_segment_begins_where_target_or_share_changes() {
        let segments = |targets: [f64; 5], shares: [f64; 5]| {
            let groups =
                targets.map(|ratio| Group { target: Some(Target::Ratio(ratio)), ..group(100.0, 100.0) });
            let mut planned = planned(&groups, &[1.0; 5]);
            number_segments(&mut planned, &groups, &shares);
            planned.iter().map(|(_, planned)| planned.segment).collect::<Vec<_>>()
        };
        assert_eq!(segments([0.8; 5], [1.0, 1.01, 1.5, 1.5, 1.0]), [0, 0, 1, 1, 2]);
        assert_eq!(segments([0.5, 0.5, 0.9, 0.9, 0.5], [1.0; 5]), [0, 0, 1, 1, 2]);
    }

    #[test]
    fn a_full_bucket_ends_a_segment() {
        let segments = |kbps, bucket| {
            let target = Target::Rate(seaway_units::Bitrate::from_kbps(kbps));
            let bucket = TimeDelta::from_millis(bucket);
            let ceiling = Some(shape::Ceiling { bucket, even_seconds: false });
            let shaper = shape::Config { ceiling, ..shape::Config::new(shape::Method::Auto, target) };
            let config = Config { shaper, container: container::Config::default() };
            let mut pass = FirstPass::new(&config, Schedule::constant(target));
            pass.push(STREAM).unwrap();
            let plan = pass.finish().unwrap();
            [0, 7].map(|index| (plan.planned(index).ratio < 1.0, plan.planned(index).segment))
        };
        // The I picture at the beginning is large; nothing else is.
        assert_eq!(segments(200, 200), [(true, 0), (false, 1)]);
        assert_eq!(segments(100, 2000), [(true, 0), (true, 0)]);
    }

    #[test]
    fn a_bucket_stays_as_full_when_the_rate_changes() {
        // A second of 0.2 Mbit and one of 2 at 1 Mbit/s, one of 2 and one of 0.1 at 0.5, in ten pictures each.
        let schedule: Schedule = "0 s, 1 Mbit/s\n2 s, 500 kbit/s".parse().unwrap();
        let target = schedule.at(TimeDelta::ZERO);
        let ceiling = Some(shape::Ceiling { bucket: TimeDelta::from_secs(1), even_seconds: false });
        let shaper = shape::Config { ceiling, ..shape::Config::new(shape::Method::Memoryless, target) };
        let mut pass = FirstPass::new(&Config { shaper, container: container::Config::default() }, schedule);
        let bits = [0.2, 2.0, 2.0, 0.1];
        for mbit in bits {
            (0..10).for_each(|_| pass.add(None, (mbit * 12_500.0) as u64, 0.1, 0.0));
            pass.close();
        }
        let plan = pass.plan();
        let kept =
            |(bits, (_, planned)): (f64, &(u64, Planned))| (100.0 * bits * planned.ratio).round() / 100.0;
        let kept: Vec<f64> = bits.into_iter().zip(&plan.groups).map(kept).collect();
        // 0.8 s are in the bucket where the rate changes, so that the third second may not have the 0.9 that are allowed to both.
        assert_eq!(kept, [0.2, 1.8, 0.5, 0.1]);
    }

    #[test]
    fn a_rate_has_a_survey() {
        // Two B pictures of three, so that the loop is closed below 0.65.
        let closed = |kbps| {
            let config =
                shape::Config::new(shape::Method::Auto, Target::Rate(seaway_units::Bitrate::from_kbps(kbps)));
            let schedule = Schedule::constant(config.target);
            let mut pass =
                FirstPass::new(&Config { shaper: config, container: container::Config::default() }, schedule);
            pass.push(STREAM).unwrap();
            pass.finish().unwrap().planned(0).closed
        };
        // It has 30 020 octets in 1.2 s: 0.55 of its rate, and 0.8.
        assert_eq!([110, 160].map(closed), [true, false]);
    }

    #[test]
    fn each_segment_chooses_its_loop() {
        let config = Config {
            shaper: shape::Config::new(
                shape::Method::Auto,
                Target::Rate(seaway_units::Bitrate::from_mbps(1)),
            ),
            container: container::Config::default(),
        };
        // Two B pictures of three: closed below 0.65. Together the first two groups keep 0.7 of their bits, the others 0.5 and all.
        let groups = [(100.0, 0.3, 0), (400.0, 0.8, 0), (200.0, 0.5, 1), (100.0, 1.0, 2)];
        let segment = |&(bits, ratio, segment): &(f64, f64, u32)| {
            (bits as u64, Planned { ratio, bits_behind: 0.0, closed: false, segment })
        };
        let mut planned: Vec<_> = groups.iter().map(segment).collect();
        let groups = groups.map(|(bits, ..)| group(bits, bits)).to_vec();
        let pass = FirstPass::new(&config, Schedule::constant(config.shaper.target));
        FirstPass { survey: Survey::of(24, 0.9, 12.0), groups, ..pass }.choose_loops(&mut planned);
        assert_eq!(
            planned.iter().map(|(_, planned)| planned.closed).collect::<Vec<_>>(),
            [false, false, true, false]
        );
    }

    #[test]
    fn a_window_ends_with_its_segment() {
        let lambdas = |second: u32| {
            let shaper = shape::Config::new(shape::Method::Auto, Target::Ratio(0.8));
            let mut pipeline = Pipeline::new(Config { shaper, container: container::Config::default() });
            let planned = |segment| Planned { ratio: 0.8, bits_behind: 0.0, closed: false, segment };
            let groups = vec![(12, planned(0)), (24, planned(second))];
            pipeline.set_plan(RatePlan { groups, bytes: 0, gains_from_trial: false });
            pipeline.push(STREAM).unwrap();
            pipeline.finish().unwrap();
            let records: Vec<_> = std::iter::from_fn(|| pipeline.poll_record()).collect();
            [11, 12].map(|index| records[index].shaping.lambda)
        };
        let ([one, same], [first, second]) = (lambdas(0), lambdas(1));
        assert!(one == same && first != second, "{one} {same}, {first} {second}");
    }

    #[test]
    fn a_plan_holds_beyond_its_end() {
        let planned = |ratio| Planned { ratio, bits_behind: 0.0, closed: false, segment: 0 };
        let plan = RatePlan {
            groups: vec![(12, planned(0.5)), (24, planned(0.8))],
            bytes: 0,
            gains_from_trial: false,
        };
        assert_eq!([0, 11, 12, 99].map(|index| plan.planned(index).ratio), [0.5, 0.5, 0.8, 0.8]);
    }

    #[test]
    fn bits_that_are_not_cut_make_up_for_nothing() {
        let groups = [100.0, 300.0, 200.0].map(|bits| group(bits, bits));
        let behind = |ratios: [f64; 3]| {
            planned(&groups, &ratios).iter().map(|(_, planned)| planned.bits_behind).collect::<Vec<_>>()
        };
        assert_eq!(behind([0.5; 3]), [500.0, 200.0, 0.0]);
        // 50 of 100 bits are cut of the first group, 10 of 200 of the last one.
        assert_eq!(
            behind([0.5, 1.0, 0.95]).iter().map(|bits| bits.round()).collect::<Vec<_>>(),
            [100.0, 100.0, 0.0]
        );
        assert_eq!(behind([1.0; 3]), [0.0; 3]);
    }
}
