//! The shaper: bytes in, shaped pictures out.

use super::batch::Batch;
use super::ceiling::Bucket;
use super::config::{Budget, Config, Target, Vbv};
use super::executor::{Executor, STAGES};
use super::importance::GopTracker;
use super::picture::PictureShaper;
use super::rate_control::Planned;
use super::report::Shaped;
use super::seconds::{Ahead, SecondCounter, SecondOfVideo};
use crate::header::{PictureContext, SequenceState};
use crate::unit::{AccessUnit, Splitter};
use seaway_units::TimeDelta;
use std::collections::VecDeque;

/// Lowers the rate of an MPEG-1 or MPEG-2 video elementary stream.
///
/// Feed it with [`Shaper::push`], then drain [`Shaper::pull`] until it is empty. After the last bytes call
/// [`Shaper::finish`] and drain again. The units pulled, one behind the other, are the output. The shaper holds at
/// most [`Shaper::delay`] pictures and the unit being collected.
///
/// The same input and calls give the same output, whatever the number of threads.
#[derive(Debug)]
pub struct Shaper {
    config: Config,
    splitter: Splitter,
    state: SequenceState,
    executor: Executor,
    /// The target of the next picture; pictures in the queue keep theirs.
    target: Target,
    planned: Option<Planned>,
    /// The next picture may be coded in a closed loop.
    may_be_closed: bool,
    seconds: SecondCounter,
    /// Pictures that are read ahead of the queue, and how long they are shown, in seconds.
    ahead: VecDeque<PictureShaper>,
    seconds_ahead: f64,
    queue: Vec<PictureShaper>,
    gops: GopTracker,
    /// Unused pictures, kept for their memory.
    free: Vec<PictureShaper>,
    ready: VecDeque<Shaped>,
    /// The next unit is the last.
    ends: bool,
    /// Bytes taken so far, and of the whole stream where that is known.
    taken: u64,
    length: Option<u64>,
    /// How long the units taken so far are shown, in seconds.
    elapsed: f64,
    /// Headers declare a variable rate, from the first target on that asks for less.
    declares: bool,
}

/// The most pictures that are read ahead, however short they are shown.
const MOST_AHEAD: usize = 300;

impl Shaper {
    /// A shaper at the start of a stream.
    pub fn new(config: Config) -> Self {
        let target = config.target;
        Self {
            executor: Executor::new(&config),
            declares: config.vbv == Vbv::Variable && target != Target::Ratio(1.0),
            config,
            splitter: Splitter::default(),
            state: SequenceState::default(),
            target,
            planned: None,
            may_be_closed: true,
            seconds: SecondCounter::default(),
            ahead: VecDeque::new(),
            seconds_ahead: 0.0,
            queue: Vec::new(),
            gops: GopTracker::default(),
            free: Vec::new(),
            ready: VecDeque::new(),
            ends: false,
            taken: 0,
            length: None,
            elapsed: 0.0,
        }
    }

    /// The most pictures that are held at a time, beside those of [`Config::lookahead`]. With 1 a picture leaves as soon as it is complete. With several
    /// threads batches are collected, parsed and shaped at the same time.
    pub fn delay(&self) -> usize {
        let stages = if self.config.threads.get() > 1 { STAGES } else { 1 };
        stages * self.config.batch()
    }

    /// How long the pictures taken so far are shown.
    pub fn elapsed(&self) -> TimeDelta {
        TimeDelta::from_secs_f64(self.elapsed)
    }

    /// Sets the target of all pictures that are not yet complete. A change ends the window.
    pub fn set_target(&mut self, target: Target) {
        if target != self.target {
            self.end_lookahead();
            self.shape_queue();
            self.seconds.restart();
        }
        self.target = target;
        self.declares |= self.config.vbv == Vbv::Variable && target != Target::Ratio(1.0);
    }

    /// Sets what each following picture keeps, in place of the rate of its target.
    pub(crate) fn set_plan(&mut self, planned: Option<Planned>) {
        self.planned = planned;
    }

    /// Ends windows within even seconds so early that they are no longer than this, and about equally long: a window that another
    /// deadline ends may leave a few pictures for the rest of the second, and too many bits or too few for these.
    pub fn set_longest_window(&mut self, longest: TimeDelta) {
        self.seconds.divide(longest);
    }

    /// Says whether `auto` may code pictures that are not yet complete in a closed loop, which takes many times as long. It may at the start.
    pub fn allow_closed_loop(&mut self, allowed: bool) {
        self.may_be_closed = allowed;
    }

    /// True once headers declare a variable rate: with [`Vbv::Variable`], from the first target on that asks for less.
    pub fn declares(&self) -> bool {
        self.declares
    }

    /// Takes the next bytes of the stream.
    pub fn push(&mut self, bytes: &[u8]) {
        self.splitter.push(bytes);
        while let Some(unit) = self.splitter.pull() {
            self.push_unit(unit);
        }
    }

    /// Takes the next unit of a stream that the caller has split, in place of [`Shaper::push`]. For each unit there is
    /// one [`Shaped`], in order.
    pub fn push_unit(&mut self, unit: AccessUnit) {
        self.push_next(unit, false);
    }

    /// As [`Shaper::push_unit`] for a unit that has left unchanged: its bits count, and it stays as it is.
    pub fn push_written(&mut self, unit: AccessUnit) {
        self.push_next(unit, true);
    }

    /// The units that are held have left unchanged.
    pub fn leave_alone(&mut self) {
        self.queue.iter_mut().chain(&mut self.ahead).for_each(|picture| picture.is_written = true);
    }

    fn push_next(&mut self, unit: AccessUnit, is_written: bool) {
        let mut picture = self.free.pop().unwrap_or_default();
        picture.unit = unit;
        picture.is_written = is_written;
        picture.target = self.target;
        picture.context = picture.unit.read_headers(&mut self.state);
        picture.seconds = self.state.unit_seconds(&picture.unit, picture.context.as_ref());
        picture.planned = self.planned;
        picture.may_be_closed = self.may_be_closed && picture.is_whole();
        picture.proportional = self.config.budget == Budget::Proportional;
        picture.bucket = Bucket::new(self.config.ceiling, picture.target, picture.seconds);
        picture.second = self.second_of(&picture);
        picture.declared_rate = self.state.bit_rate().map(|rate| rate as f64);
        self.elapsed += picture.seconds;
        picture.closed_group = self.state.group().is_some_and(|group| group.closed);
        picture.declare_variable = self.declares;
        picture.last = self.ends;
        self.taken += picture.unit.data.len() as u64;
        picture.bits_left = self.length.map(|length| 8.0 * length.saturating_sub(self.taken) as f64);
        self.seconds_ahead += picture.seconds;
        self.ahead.push_back(picture);
        while self.is_read_ahead() {
            self.enqueue_next();
        }
    }

    /// True where enough video behind the next picture is known.
    fn is_read_ahead(&self) -> bool {
        let Some(next) = self.ahead.front() else { return false };
        let wanted = if self.config.method.looks_ahead() || next.second.is_none_or(|second| second.even) {
            0.0
        } else {
            self.config.lookahead.as_secs_f64()
        };
        wanted <= 0.0 || self.seconds_ahead > wanted || self.ahead.len() > MOST_AHEAD
    }

    /// Hands over all pictures that were read ahead.
    fn end_lookahead(&mut self) {
        while !self.ahead.is_empty() {
            self.enqueue_next();
        }
    }

    /// Hands the next picture over to its window or batch.
    fn enqueue_next(&mut self) {
        let Some(mut picture) = self.ahead.pop_front() else { return };
        self.seconds_ahead = if self.ahead.is_empty() { 0.0 } else { self.seconds_ahead - picture.seconds };
        picture.ahead = self.known_behind(&picture);
        self.enqueue(picture);
    }

    /// What of the video behind a picture shares its bits.
    fn known_behind(&self, picture: &PictureShaper) -> Option<Ahead> {
        let second =
            picture.second.filter(|second| !second.even && self.config.lookahead > TimeDelta::ZERO)?;
        let mut behind = Ahead { ends: self.ends, ..Ahead::default() };
        let shares = |other: &&PictureShaper| {
            self.ends || other.second.is_some_and(|other| other.index == second.index)
        };
        for other in self.ahead.iter().take_while(shares) {
            let kind = other.context.as_ref().map(PictureContext::kind);
            behind.add(kind, other.bits_in(), other.seconds);
        }
        Some(behind)
    }

    /// Adds a picture to its window or batch.
    fn enqueue(&mut self, picture: PictureShaper) {
        let bounds =
            |picture: &PictureShaper| (picture.even_second(), picture.planned.map(|planned| planned.segment));
        if self.queue.last().is_some_and(|last| bounds(last) != bounds(&picture)) {
            self.shape_queue();
        }
        let kind = picture.context.as_ref().map(PictureContext::kind);
        if self.gops.begins_with(kind) && !self.queue.is_empty() && self.lacks_room() {
            self.shape();
        }
        if picture.unit.has_picture() {
            self.gops.push(kind);
        }
        self.queue.push(picture);
        if self.queue.len() >= self.config.batch() {
            self.shape();
        }
    }

    /// Ends the window or batch that is being collected: its pictures are shaped now.
    pub fn end_window(&mut self) {
        self.end_lookahead();
        self.shape_queue();
    }

    /// Announces the length of the whole stream in bytes, as far as it is known. Near the end the rate control then
    /// defers no cuts that the last pictures cannot make.
    pub fn announce_length(&mut self, bytes: u64) {
        self.length = Some(bytes);
    }

    /// Announces that the next unit is the last, so that the stream ends on its target.
    pub fn announce_end(&mut self) {
        self.ends = true;
    }

    /// The stream has ended.
    pub fn finish(&mut self) {
        self.splitter.finish();
        let mut unit = self.splitter.pull();
        while let Some(next) = unit {
            unit = self.splitter.pull();
            self.ends = unit.is_none();
            self.push_unit(next);
        }
        self.ends = true;
        if let Some(last) = self.ahead.back_mut().or(self.queue.last_mut()) {
            last.last = true;
        }
        self.end_lookahead();
        // The last batch, and empty ones that drive the others out of the pipeline.
        for _ in 0..STAGES {
            self.shape();
        }
    }

    /// The next unit of the output.
    pub fn pull(&mut self) -> Option<Shaped> {
        self.ready.pop_front()
    }

    /// True where the window has no room for another GOP as long as the one before: an I picture is shaped together
    /// with the pictures predicted from it.
    fn lacks_room(&self) -> bool {
        self.config.method.looks_ahead() && self.queue.len() + self.gops.position() > self.config.batch()
    }

    /// The second of the next picture, where its target is a rate without a plan.
    fn second_of(&mut self, picture: &PictureShaper) -> Option<SecondOfVideo> {
        let even = self.config.ceiling.is_some_and(|ceiling| ceiling.even_seconds);
        let second = self.seconds.next(picture.seconds, even);
        picture.has_rate().then_some(second)
    }

    /// Ends the window or batch that is being collected.
    fn shape_queue(&mut self) {
        if !self.queue.is_empty() {
            self.shape();
        }
    }

    /// Hands the queue to the executor, and takes what that has shaped.
    fn shape(&mut self) {
        let pictures = std::mem::take(&mut self.queue);
        let ends = pictures.last().is_some_and(|picture| picture.last);
        let future = if ends { 0.0 } else { self.gops.future_importance() };
        let mut shaped = self.executor.pass(Batch { pictures, future });
        self.ready.extend(shaped.shaped());
        self.free.append(&mut shaped.pictures);
    }
}
