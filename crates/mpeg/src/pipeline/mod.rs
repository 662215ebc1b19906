//! Shapes a stream in its container: demultiplexes it, shapes the video, and multiplexes it again.

mod ceiling;
mod complexity;
mod report;
mod schedule;
mod smoothing;
mod survey;
mod trial;
mod two_pass;
mod vbv;

use std::collections::VecDeque;

pub use ceiling::CeilingReport;
pub use report::{LeftAloneCounts, PictureRecord, Report, Totals};
pub use schedule::{Schedule, ScheduleError, parse_change};
pub use trial::Trial;
pub use two_pass::{FirstPass, RatePlan};
pub use vbv::{Fullness, VbvMode, VbvReport};

use crate::container::{self, CodedPicture, Error, Remuxer, Replacement};
use crate::shape::{self, LeftAlone, Shaper, Target};
use seaway_units::TimeDelta;

/// How a [`Pipeline`] works.
#[derive(Clone, Debug)]
pub struct Config {
    /// How pictures are shaped; its target holds at the start.
    pub shaper: shape::Config,
    /// How the container is read and written.
    pub container: container::Config,
}

/// A picture inside the shaper.
#[derive(Debug)]
struct Pending {
    index: u64,
    pts: Option<u64>,
    seconds: f64,
    target: Target,
    vbv: Option<vbv::VbvPicture>,
    /// It is a part of a picture, and not the last one.
    goes_on: bool,
}

/// Shapes the video of a stream that arrives in pieces. It holds at most as many pictures as the shaper, and
/// [`container::Config::memory`] bytes.
///
/// After each input take the output by [`Pipeline::drain_output`] and the records of the pictures by
/// [`Pipeline::poll_record`].
#[derive(Debug)]
pub struct Pipeline {
    remuxer: Remuxer,
    shaper: Shaper,
    schedule: Schedule,
    pending: VecDeque<Pending>,
    records: VecDeque<PictureRecord>,
    totals: Totals,
    vbv: vbv::VbvModel,
    ceiling: Option<ceiling::CeilingMeter>,
    /// Bytes of the whole stream, where that is known.
    length: Option<u64>,
    /// Ratios found by a first pass.
    plan: Option<RatePlan>,
}

impl Pipeline {
    /// A pipeline that has read nothing.
    pub fn new(config: Config) -> Pipeline {
        Pipeline {
            remuxer: Remuxer::new(config.container),
            schedule: Schedule::constant(config.shaper.target),
            ceiling: config.shaper.ceiling.map(ceiling::CeilingMeter::new),
            shaper: Shaper::new(config.shaper),
            pending: VecDeque::new(),
            records: VecDeque::new(),
            totals: Totals::default(),
            vbv: vbv::VbvModel::default(),
            length: None,
            plan: None,
        }
    }

    /// Announces the length of the whole stream in bytes, container included, so that the stream ends on its target.
    pub fn announce_length(&mut self, bytes: u64) {
        self.length = Some(bytes);
    }

    /// Sets the ratios that a [`FirstPass`] over the same stream has found. They share out the bits that the schedule allows.
    pub fn set_plan(&mut self, plan: RatePlan) {
        self.shaper.announce_length(plan.bytes);
        self.plan = Some(plan);
    }

    /// Sets the target from the next picture on.
    pub fn set_target(&mut self, target: Target) {
        self.set_schedule(Schedule::constant(target));
    }

    /// Sets the schedule of targets from the next picture on.
    pub fn set_schedule(&mut self, schedule: Schedule) {
        self.schedule = schedule;
    }

    /// Sets the target from an instant of the video on, or from the next picture on. What the schedule has later is
    /// dropped. False, without effect, where [`Schedule::MOST_CHANGES`] are to come before.
    pub fn change_target(&mut self, at: Option<TimeDelta>, target: Target) -> bool {
        self.schedule.change_from(self.shaper.elapsed(), at, target)
    }

    /// As [`Shaper::set_longest_window`].
    pub fn set_longest_window(&mut self, longest: TimeDelta) {
        self.shaper.set_longest_window(longest);
    }

    /// As [`Shaper::allow_closed_loop`].
    pub fn allow_closed_loop(&mut self, allowed: bool) {
        self.shaper.allow_closed_loop(allowed);
    }

    /// The format of the stream; `None` while it is not known.
    pub fn format(&self) -> Option<container::Format> {
        self.remuxer.format()
    }

    /// Takes the next bytes of the stream.
    ///
    /// # Errors
    /// As [`Remuxer::push`] and [`Remuxer::replace`].
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.remuxer.push(bytes)?;
        self.shape(false)
    }

    /// The stream has ended.
    ///
    /// # Errors
    /// As [`Remuxer::finish`] and [`Remuxer::replace`]. The output is complete all the same, as far as the input could be
    /// read.
    pub fn finish(&mut self) -> Result<(), Error> {
        let result = self.remuxer.finish();
        self.shape(true)?;
        self.shaper.finish();
        self.collect()?;
        result
    }

    /// Ends the window that is being collected: its pictures are shaped now.
    ///
    /// # Errors
    /// As [`Remuxer::replace`].
    pub fn end_window(&mut self) -> Result<(), Error> {
        self.shaper.end_window();
        self.collect()
    }

    /// As [`Pipeline::end_window`] with what has come of the next picture, as far as its slices are complete.
    ///
    /// # Errors
    /// As [`Remuxer::replace`].
    pub fn end_slices(&mut self) -> Result<(), Error> {
        self.remuxer.close_slices();
        self.shape(false)?;
        self.end_window()
    }

    /// Copies everything unchanged that has come and is not shaped, also a part of a picture.
    ///
    /// # Errors
    /// As [`Remuxer::give_up`].
    pub fn give_up(&mut self) -> Result<(), Error> {
        self.shaper.leave_alone();
        self.remuxer.give_up()?;
        self.shape(false)
    }

    /// Appends the output that is ready.
    pub fn drain_output(&mut self, into: &mut Vec<u8>) {
        self.remuxer.drain_output(into);
    }

    /// What is to be written over the output once the stream has ended and all output is taken.
    pub fn patches(&self) -> Vec<container::Patch> {
        self.remuxer.patches()
    }

    /// The record of the next picture, in coding order.
    pub fn poll_record(&mut self) -> Option<PictureRecord> {
        self.records.pop_front()
    }

    /// The report on everything so far.
    pub fn report(&self) -> Report {
        Report {
            totals: self.totals.clone(),
            ceiling: self.ceiling.as_ref().map(ceiling::CeilingMeter::report),
            vbv: self.vbv.report(),
            container: self.remuxer.report(),
        }
    }

    /// Announces the length of the video, estimated by its share of the bytes so far.
    fn announce_video(&mut self, ends: bool) {
        if self.plan.is_some() {
            return;
        }
        let container::Report { bytes_in, video_bytes_in, .. } = self.remuxer.report();
        let length = if ends { Some(bytes_in) } else { self.length };
        if let Some(length) = length.filter(|_| bytes_in > 0) {
            let rest = length.saturating_sub(bytes_in) as f64;
            let share = video_bytes_in as f64 / bytes_in as f64;
            self.shaper.announce_length(video_bytes_in + (rest * share) as u64);
        }
    }

    /// Shapes the pictures that the container has. With `ends` the last of them is the last of the stream.
    fn shape(&mut self, ends: bool) -> Result<(), Error> {
        self.announce_video(ends);
        let mut picture = self.remuxer.poll_picture();
        while let Some(CodedPicture { index, unit, pts, is_written, .. }) = picture {
            picture = self.remuxer.poll_picture();
            if ends && picture.is_none() {
                self.shaper.announce_end();
            }
            let (vbv, goes_on) = (self.vbv.read_picture(&unit), unit.goes_on);
            let begin = self.shaper.elapsed();
            let target = self.schedule.at(begin);
            self.shaper.set_plan(self.plan.as_ref().map(|plan| plan.planned(index)));
            self.shaper.set_target(target);
            if is_written {
                self.shaper.push_written(unit);
            } else {
                self.shaper.push_unit(unit);
            }
            let seconds = (self.shaper.elapsed() - begin).as_secs_f64();
            self.pending.push_back(Pending { index, pts, seconds, target, vbv, goes_on });
            self.collect()?;
        }
        Ok(())
    }

    /// Multiplexes the pictures that are shaped.
    fn collect(&mut self) -> Result<(), Error> {
        while let Some(shaped) = self.shaper.pull() {
            let Some(pending) = self.pending.pop_front() else { return Err(Error::NotPending) };
            let mut shaping = shaped.report;
            let is_used = match self.remuxer.replace(Replacement::Bytes(shaped.bytes)) {
                Err(Error::Grew { .. }) => {
                    self.totals.would_have_grown += 1;
                    shaping = shaping.copied(None);
                    self.remuxer.replace(Replacement::Kept)?
                }
                result => result?,
            };
            if !is_used && shaping.left_alone.is_none() {
                shaping = shaping.copied(Some(LeftAlone::TooLate));
            }
            let Pending { index, pts, seconds, target, vbv, goes_on } = pending;
            self.vbv.add_part(vbv, [shaping.bits_in, shaping.bits_out], goes_on, self.shaper.declares());
            let allowed = match target {
                Target::Ratio(ratio) => ratio * shaping.bits_in as f64,
                Target::Rate(rate) => rate.as_bps_f64() * seconds,
            };
            self.totals.add(&shaping, seconds, allowed, goes_on);
            if let Some(ceiling) = &mut self.ceiling {
                ceiling.add(target, shaping.bits_out, seconds);
            }
            self.records.push_back(PictureRecord { index, pts, seconds, shaping });
        }
        Ok(())
    }
}
