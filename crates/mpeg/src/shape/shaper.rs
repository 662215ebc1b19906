//! The shaper: bytes in, shaped pictures out.

use super::batch::Batch;
use super::config::{Config, Target, Vbv};
use super::importance::Groups;
use super::parallel::{Line, STAGES};
use super::report::{LeftAlone, PictureReport};
use super::work::Work;
use crate::header::{PictureKind, SequenceState};
use crate::unit::{AccessUnit, Splitter};
use seaway_units::TimeDelta;
use std::collections::VecDeque;

/// One access unit as it leaves: the same position in the stream as the unit that came in.
#[derive(Debug, Clone)]
pub struct Shaped {
    /// The bytes to send.
    pub bytes: Vec<u8>,
    /// What was done.
    pub report: PictureReport,
}

/// Lowers the rate of an MPEG-1 or MPEG-2 video elementary stream.
///
/// Feed it with [`Shaper::push`], then drain [`Shaper::pull`] until it is empty; after the last bytes call
/// [`Shaper::finish`] and drain again. All units pulled, one behind the other, are the output. What is held
/// back is at most [`Shaper::delay`] pictures and the unit being collected.
///
/// The same input and calls give the same output, whatever the number of threads.
#[derive(Debug)]
pub struct Shaper {
    config: Config,
    splitter: Splitter,
    state: SequenceState,
    line: Line,
    /// The target of pictures that come now; those in the queue keep theirs.
    target: Target,
    queue: Vec<(Work, Target)>,
    groups: Groups,
    spare: Vec<Work>,
    ready: VecDeque<Shaped>,
    /// The unit pushed next is the last.
    ends: bool,
    /// Bytes taken so far, and of the whole stream where that is known.
    taken: u64,
    length: Option<u64>,
    /// How long the units taken are shown, in seconds.
    elapsed: f64,
    /// True once anything was asked to be changed: from then on headers are declared anew.
    declares: bool,
}

impl Shaper {
    /// A shaper at the start of a stream.
    pub fn new(config: Config) -> Self {
        let target = config.target;
        Self {
            line: Line::new(&config),
            declares: config.vbv == Vbv::Variable && target != Target::Ratio(1.0),
            config,
            splitter: Splitter::new(),
            state: SequenceState::new(),
            target,
            queue: Vec::new(),
            groups: Groups::default(),
            spare: Vec::new(),
            ready: VecDeque::new(),
            ends: false,
            taken: 0,
            length: None,
            elapsed: 0.0,
        }
    }

    /// How many pictures may wait for a decision. One means: a picture leaves when it is complete. With several threads
    /// batches are parsed, decided and collected at the same time.
    pub fn delay(&self) -> usize {
        let stages = if self.config.threads.get() > 1 { STAGES } else { 1 };
        stages * self.config.batch()
    }

    /// How long all pictures taken so far are shown.
    pub fn elapsed(&self) -> TimeDelta {
        TimeDelta::from_secs_f64(self.elapsed)
    }

    /// Changes the target from the next picture on that is not yet complete.
    pub fn set_target(&mut self, target: Target) {
        self.target = target;
        self.declares |= self.config.vbv == Vbv::Variable && target != Target::Ratio(1.0);
    }

    /// True once headers are declared anew: [`Vbv::Variable`], and a target that asks for less.
    pub fn declares(&self) -> bool {
        self.declares
    }

    /// Takes the next bytes of the stream.
    pub fn push(&mut self, bytes: &[u8]) {
        self.splitter.push(bytes);
        self.collect();
    }

    /// Takes the next unit of a stream that was cut elsewhere, instead of its bytes by [`Shaper::push`]. For each
    /// there is one [`Shaped`], in order.
    pub fn push_unit(&mut self, unit: AccessUnit) {
        let mut work = self.spare.pop().unwrap_or_default();
        work.unit = unit;
        work.context = work.unit.read_headers(&mut self.state);
        work.seconds = work.context.as_ref().map_or(0.0, |context| self.state.display_seconds(context));
        work.declared_rate = self.state.bit_rate().map(|rate| rate as f64);
        self.elapsed += work.seconds;
        work.closed_group = self.state.group().is_some_and(|group| group.closed);
        work.declare_variable = self.declares;
        work.last = self.ends;
        self.taken += work.unit.data.len() as u64;
        work.bits_left = self.length.map(|length| 8.0 * length.saturating_sub(self.taken) as f64);
        if self.begins_group(&work) {
            if self.lacks_room() {
                self.decide();
            }
            self.groups.begin();
        }
        self.groups.count();
        self.queue.push((work, self.target));
        if self.queue.len() >= self.config.batch() {
            self.decide();
        }
    }

    /// Says how many bytes the whole stream will have, as nearly as is known by now, so that nothing is put off towards
    /// its end that its last pictures cannot make up for.
    pub fn announce_length(&mut self, bytes: u64) {
        self.length = Some(bytes);
    }

    /// Says that the unit pushed next is the last, so that the budgets come out even with it.
    pub fn announce_end(&mut self) {
        self.ends = true;
    }

    /// Says that the stream has ended.
    pub fn finish(&mut self) {
        self.splitter.finish();
        let mut unit = self.splitter.pull();
        while let Some(next) = unit {
            unit = self.splitter.pull();
            self.ends = unit.is_none();
            self.push_unit(next);
        }
        self.ends = true;
        if let Some((last, _)) = self.queue.last_mut() {
            last.last = true;
        }
        // The batch that this makes, and those that it drives out.
        for _ in 0..STAGES {
            self.decide();
        }
    }

    /// The next unit of the output.
    pub fn pull(&mut self) -> Option<Shaped> {
        self.ready.pop_front()
    }

    fn collect(&mut self) {
        while let Some(unit) = self.splitter.pull() {
            self.push_unit(unit);
        }
    }

    /// True where a group of pictures begins. In a stream of I pictures there is none but the first.
    fn begins_group(&self, work: &Work) -> bool {
        let is_intra =
            |work: &Work| work.context.as_ref().is_some_and(|context| context.kind() == PictureKind::I);
        let follows_others = self.queue.last().is_some_and(|(last, _)| !is_intra(last));
        is_intra(work) && follows_others
    }

    /// What is predicted from an I picture is decided with it: true where the window has no room for a group that
    /// begins, if it is as long as the one before.
    fn lacks_room(&self) -> bool {
        self.config.method.looks_ahead() && self.queue.len() + self.groups.since_intra() > self.config.batch()
    }

    /// Sends everything in the queue on its way, to be decided and written.
    fn decide(&mut self) {
        let (works, targets): (Vec<_>, Vec<_>) = std::mem::take(&mut self.queue).into_iter().unzip();
        let ends = works.last().is_some_and(|work: &Work| work.last);
        let beyond = if ends { 0.0 } else { self.groups.beyond(&works) };
        let mut decided = self.line.pass(Batch { works, targets, beyond });
        self.ready.extend(decided.shaped());
        self.spare.append(&mut decided.works);
    }
}

/// Leaves a picture as it is where its budget allows that or nothing can be changed; true where that was done.
pub(super) fn leave_alone(work: &mut Work, budget: f64) -> bool {
    if work.is_shapeable() && budget >= work.bits_in() as f64 {
        work.report.left_alone = Some(LeftAlone::NothingToDo);
    }
    !work.is_shapeable()
}
