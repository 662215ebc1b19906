//! Two-pass rate control of a stream that can be read twice. The first pass measures the bits and the display time of
//! each GOP and turns a rate into a ratio for each, so that the whole stream meets the rate.

use super::schedule::Schedule;
use crate::container::{self, Error, Multiplex, Remuxer, Replacement};
use crate::header::{PictureContext, PictureKind, SequenceState};
use crate::shape::Target;
use seaway_units::TimeDelta;

/// A group shorter than this, in seconds, is extended by the next GOP.
const SHORTEST: f64 = 0.5;
/// The longest group without another I picture, in seconds.
const LONGEST: f64 = 10.0;

/// Pictures that are shaped by one ratio.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Group {
    /// Index behind the last of its pictures.
    end: u64,
    bits: f64,
    /// Bits that the schedule allows for their display time.
    allowed: f64,
    seconds: f64,
    /// Their target by the schedule.
    target: Option<Target>,
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
    bytes: u64,
}

/// A ratio for each picture of a stream, so that the whole stream meets a schedule of rates.
#[derive(Clone, Debug, PartialEq)]
pub struct RatePlan {
    /// By group: the index behind its last picture, and its ratio.
    ratios: Vec<(u64, f64)>,
    /// Bytes of the whole video.
    pub(super) bytes: u64,
}

impl FirstPass {
    /// A first pass that has read nothing. `config` is that of the second pass, except for its multiplex.
    pub fn new(config: container::Config, schedule: Schedule) -> FirstPass {
        FirstPass {
            remuxer: Remuxer::new(container::Config { multiplex: Multiplex::Keep, ..config }),
            scratch: Vec::new(),
            schedule,
            state: SequenceState::default(),
            elapsed: 0.0,
            groups: Vec::new(),
            group: Group::default(),
            pictures: 0,
            bytes: 0,
        }
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
        let mut ratios = Vec::with_capacity(self.groups.len());
        // Bits are shared among groups of the same target only.
        for groups in self.groups.chunk_by(|a, b| a.target == b.target) {
            let most = water_fill(groups);
            let ratio = |group: &Group| (most * group.allowed / group.bits.max(1.0)).min(1.0);
            ratios.extend(groups.iter().map(|group| (group.end, ratio(group))));
        }
        Ok(RatePlan { ratios, bytes: self.bytes })
    }

    fn count(&mut self) -> Result<(), Error> {
        while let Some(picture) = self.remuxer.poll_picture() {
            self.remuxer.replace(Replacement::Kept)?;
            let context = picture.unit.read_headers(&mut self.state);
            self.add(context.as_ref(), picture.unit.data.len() as u64);
        }
        self.remuxer.drain_output(&mut self.scratch);
        self.scratch.clear();
        Ok(())
    }

    fn add(&mut self, context: Option<&PictureContext>, bytes: u64) {
        let target = self.schedule.at(TimeDelta::from_secs_f64(self.elapsed));
        let begins = context.is_some_and(|context| context.kind() == PictureKind::I);
        let changes = self.group.target.is_some_and(|before| before != target);
        if changes || (begins && self.group.seconds >= SHORTEST) || self.group.seconds >= LONGEST {
            self.close();
        }
        let seconds = context.map_or(0.0, |context| self.state.display_seconds(context));
        let bits = 8.0 * bytes as f64;
        self.pictures += 1;
        self.bytes += bytes;
        self.elapsed += seconds;
        self.group.end = self.pictures;
        self.group.bits += bits;
        self.group.seconds += seconds;
        self.group.target = Some(target);
        self.group.allowed += match target {
            Target::Rate(rate) => rate.as_bps_f64() * seconds,
            Target::Ratio(ratio) => ratio * bits,
        };
    }

    /// Ends a group. A short one is merged with the one before if that has the same target.
    fn close(&mut self) {
        let group = std::mem::take(&mut self.group);
        let before = self.groups.last_mut().filter(|before| before.target == group.target);
        match before.filter(|_| group.seconds < SHORTEST) {
            Some(before) => {
                before.end = group.end;
                before.bits += group.bits;
                before.allowed += group.allowed;
                before.seconds += group.seconds;
            }
            None => self.groups.push(group),
        }
    }
}

/// Water filling: the factor on the allowed bits of each group with which all groups together spend the sum of the allowed
/// bits. A group that has fewer bits leaves the rest to the others.
fn water_fill(groups: &[Group]) -> f64 {
    let spent = |share: f64| groups.iter().map(|group| group.bits.min(share * group.allowed)).sum::<f64>();
    let allowed: f64 = groups.iter().map(|group| group.allowed).sum();
    let (mut low, mut high) = (1.0, 1.0);
    // Above the highest share every group keeps all its bits.
    while spent(high) < allowed && high < HIGHEST_SHARE {
        (low, high) = (high, 2.0 * high);
    }
    for _ in 0..ROUNDS {
        let middle = f64::midpoint(low, high);
        *(if spent(middle) < allowed { &mut low } else { &mut high }) = middle;
    }
    high
}

/// The largest factor.
const HIGHEST_SHARE: f64 = 1e6;
/// Rounds of the bisection.
const ROUNDS: usize = 50;

impl RatePlan {
    /// The ratio of a picture by its index in coding order.
    pub fn ratio(&self, index: u64) -> f64 {
        let at = self.ratios.partition_point(|&(end, _)| end <= index);
        self.ratios.get(at).or(self.ratios.last()).map_or(1.0, |&(_, ratio)| ratio)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(bits: f64, allowed: f64) -> Group {
        Group { bits, allowed, ..Group::default() }
    }

    #[test]
    fn groups_share_the_bits_that_one_cannot_use() {
        let share = |groups: &[Group]| water_fill(groups);
        assert!((share(&[group(200.0, 100.0); 3]) - 1.0).abs() < 1e-9);
        // 50 of 100 stay with the first; the others get 125 each.
        let uneven = [group(50.0, 100.0), group(200.0, 100.0), group(200.0, 100.0)];
        assert!((share(&uneven) - 1.25).abs() < 1e-9);
        // All bits are kept.
        assert!(share(&[group(50.0, 100.0); 2]) >= 1.0);
    }

    #[test]
    fn a_plan_holds_beyond_its_end() {
        let plan = RatePlan { ratios: vec![(12, 0.5), (24, 0.8)], bytes: 0 };
        assert_eq!([plan.ratio(0), plan.ratio(11), plan.ratio(12), plan.ratio(99)], [0.5, 0.5, 0.8, 0.8]);
    }
}
