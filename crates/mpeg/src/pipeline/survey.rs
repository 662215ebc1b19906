//! A first pass over a stream that can be read twice: how many bits its groups of pictures have, and how long they are
//! shown. It turns a rate into a ratio for each group, so that the file comes out at its rate and no picture is cut for
//! being the first.

use super::schedule::Schedule;
use crate::container::{self, Error, Multiplex, Remuxer, Replacement};
use crate::header::{PictureContext, PictureKind, SequenceState};
use crate::shape::Target;
use seaway_units::TimeDelta;

/// A group that is shown for less, in seconds, takes the next in ...
const SHORTEST: f64 = 0.5;
/// ... and one is ended that has no I picture for so long.
const LONGEST: f64 = 10.0;

/// Pictures that get one ratio.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Group {
    /// Index behind the last of them.
    end: u64,
    bits: f64,
    /// Bits that the schedule has for the time they are shown.
    due: f64,
    seconds: f64,
    /// What the schedule says of them.
    target: Option<Target>,
}

/// The first pass. Takes the whole stream by [`Survey::push`], then [`Survey::finish`] gives what the second one needs.
#[derive(Debug)]
pub struct Survey {
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

/// A ratio for each picture of a stream, by which it meets a schedule of rates as a whole.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// One past the last picture, and the ratio of those up to it.
    ratios: Vec<(u64, f64)>,
    /// Bytes of the whole video.
    pub(super) bytes: u64,
}

impl Survey {
    /// Before the first byte. `config` chooses the programme as it will in the second pass.
    pub fn new(config: container::Config, schedule: Schedule) -> Survey {
        Survey {
            remuxer: Remuxer::new(container::Config { multiplex: Multiplex::Keep, ..config }),
            scratch: Vec::new(),
            schedule,
            state: SequenceState::new(),
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

    /// Nothing follows: what came of it.
    ///
    /// # Errors
    /// As [`Remuxer::finish`].
    pub fn finish(mut self) -> Result<Plan, Error> {
        self.remuxer.finish()?;
        self.count()?;
        self.close();
        let mut ratios = Vec::with_capacity(self.groups.len());
        // What a schedule allows at one time is not for another.
        for groups in self.groups.chunk_by(|a, b| a.target == b.target) {
            let most = highest_share(groups);
            let ratio = |group: &Group| (most * group.due / group.bits.max(1.0)).min(1.0);
            ratios.extend(groups.iter().map(|group| (group.end, ratio(group))));
        }
        Ok(Plan { ratios, bytes: self.bytes })
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
        self.group.due += match target {
            Target::Rate(rate) => rate.as_bps_f64() * seconds,
            Target::Ratio(ratio) => ratio * bits,
        };
    }

    /// Ends a group. What is short goes with the one before, if the target is the same.
    fn close(&mut self) {
        let group = std::mem::take(&mut self.group);
        let before = self.groups.last_mut().filter(|before| before.target == group.target);
        match before.filter(|_| group.seconds < SHORTEST) {
            Some(before) => {
                before.end = group.end;
                before.bits += group.bits;
                before.due += group.due;
                before.seconds += group.seconds;
            }
            None => self.groups.push(group),
        }
    }
}

/// By how much all rates must be raised for the whole to be what is due in sum: where a group has fewer bits than are due,
/// others get more, and the highest of the rates as little more as can be.
fn highest_share(groups: &[Group]) -> f64 {
    let spent = |share: f64| groups.iter().map(|group| group.bits.min(share * group.due)).sum::<f64>();
    let due: f64 = groups.iter().map(|group| group.due).sum();
    let (mut low, mut high) = (1.0, 1.0);
    // Beyond this all that can be kept is.
    while spent(high) < due && high < MOST {
        (low, high) = (high, 2.0 * high);
    }
    for _ in 0..ROUNDS {
        let middle = f64::midpoint(low, high);
        *(if spent(middle) < due { &mut low } else { &mut high }) = middle;
    }
    high
}

/// No group gets more than so many times its due.
const MOST: f64 = 1e6;
/// Halvings of the interval.
const ROUNDS: usize = 50;

impl Plan {
    /// The ratio of a picture, by its index in coding order.
    pub fn ratio(&self, index: u64) -> f64 {
        let at = self.ratios.partition_point(|&(end, _)| end <= index);
        self.ratios.get(at).or(self.ratios.last()).map_or(1.0, |&(_, ratio)| ratio)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(bits: f64, due: f64) -> Group {
        Group { bits, due, ..Group::default() }
    }

    #[test]
    fn what_one_group_cannot_use_the_others_get() {
        let share = |groups: &[Group]| highest_share(groups);
        assert!((share(&[group(200.0, 100.0); 3]) - 1.0).abs() < 1e-9);
        // 50 of 100 stay with the first; the others get 125 each.
        let uneven = [group(50.0, 100.0), group(200.0, 100.0), group(200.0, 100.0)];
        assert!((share(&uneven) - 1.25).abs() < 1e-9);
        // All there is.
        assert!(share(&[group(50.0, 100.0); 2]) >= 1.0);
    }

    #[test]
    fn a_plan_holds_beyond_its_end() {
        let plan = Plan { ratios: vec![(12, 0.5), (24, 0.8)], bytes: 0 };
        assert_eq!([plan.ratio(0), plan.ratio(11), plan.ratio(12), plan.ratio(99)], [0.5, 0.5, 0.8, 0.8]);
    }
}
