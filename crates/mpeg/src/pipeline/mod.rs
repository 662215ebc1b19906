//! From a stream in its container to the shaped stream in the same container.

mod buffer;
mod report;
mod schedule;
mod survey;

use std::collections::VecDeque;

pub use buffer::{BufferReport, Filling, Fullness};
pub use report::{LeftAloneCounts, PictureRecord, Report, Totals};
pub use schedule::{Schedule, ScheduleError};
pub use survey::{Plan, Survey};

use crate::container::{self, CodedPicture, Error, Remuxer, Replacement};
use crate::shape::{self, Shaper, Target};

/// How a [`Pipeline`] works.
#[derive(Clone, Debug)]
pub struct Config {
    /// How pictures are shaped; its target is the one at the start.
    pub shaper: shape::Config,
    /// Where they stand.
    pub container: container::Config,
}

/// A picture inside the shaper.
#[derive(Debug)]
struct Pending {
    index: u64,
    pts: Option<u64>,
    seconds: f64,
    target: Target,
    buffer: Option<buffer::Entry>,
}

/// Takes a stream in pieces and gives it back with its video shaped. What is held back is bounded by the
/// shaper's delay in pictures and by [`container::Config::memory`].
///
/// After each input take the output by [`Pipeline::drain_output`], and the pictures' records by
/// [`Pipeline::poll_record`].
#[derive(Debug)]
pub struct Pipeline {
    remuxer: Remuxer,
    shaper: Shaper,
    schedule: Schedule,
    pending: VecDeque<Pending>,
    records: VecDeque<PictureRecord>,
    totals: Totals,
    meter: buffer::Meter,
    /// Bytes of the whole stream, where that is known.
    length: Option<u64>,
    /// What a first pass over it found.
    plan: Option<Plan>,
}

impl Pipeline {
    /// A pipeline that has seen nothing.
    pub fn new(config: Config) -> Pipeline {
        Pipeline {
            remuxer: Remuxer::new(config.container),
            schedule: Schedule::constant(config.shaper.target),
            shaper: Shaper::new(config.shaper),
            pending: VecDeque::new(),
            records: VecDeque::new(),
            totals: Totals::default(),
            meter: buffer::Meter::default(),
            length: None,
            plan: None,
        }
    }

    /// Says how many bytes the whole stream has, container and all, so that its size comes out even at its end.
    pub fn announce_length(&mut self, bytes: u64) {
        self.length = Some(bytes);
    }

    /// Gives each picture the ratio that a [`Survey`] of this very stream has for it, with the schedule given there: rates
    /// are met over the whole stream.
    pub fn follow(&mut self, plan: Plan) {
        self.shaper.announce_length(plan.bytes);
        self.plan = Some(plan);
    }

    /// From the next picture on, the target is this.
    pub fn set_target(&mut self, target: Target) {
        self.set_schedule(Schedule::constant(target));
    }

    /// From the next picture on, the target follows this.
    pub fn set_schedule(&mut self, schedule: Schedule) {
        self.schedule = schedule;
    }

    /// The format of the stream, once known.
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

    /// Nothing follows.
    ///
    /// # Errors
    /// As [`Remuxer::finish`] and [`Remuxer::replace`]. The output drained until then is the whole stream all
    /// the same, as far as it could be read.
    pub fn finish(&mut self) -> Result<(), Error> {
        let result = self.remuxer.finish();
        self.shape(true)?;
        self.shaper.finish();
        self.collect()?;
        result
    }

    /// Appends the output that is ready.
    pub fn drain_output(&mut self, into: &mut Vec<u8>) {
        self.remuxer.drain_output(into);
    }

    /// What was done to the next picture, in coding order.
    pub fn poll_record(&mut self) -> Option<PictureRecord> {
        self.records.pop_front()
    }

    /// What was done so far.
    pub fn report(&self) -> Report {
        Report { totals: self.totals.clone(), buffer: self.meter.report(), container: self.remuxer.report() }
    }

    /// Tells the shaper how much video there will be, if the rest has as large a share of it as what came.
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

    /// Gives the shaper what the container has; at the end that is all.
    fn shape(&mut self, ends: bool) -> Result<(), Error> {
        self.announce_video(ends);
        let mut picture = self.remuxer.poll_picture();
        while let Some(CodedPicture { index, unit, pts, .. }) = picture {
            picture = self.remuxer.poll_picture();
            if ends && picture.is_none() {
                self.shaper.announce_end();
            }
            let buffer = self.meter.read(&unit);
            let begin = self.shaper.elapsed();
            let target = self.schedule.at(begin);
            let planned = self.plan.as_ref().map(|plan| Target::Ratio(plan.ratio(index)));
            self.shaper.set_target(planned.unwrap_or(target));
            self.shaper.push_unit(unit);
            let seconds = (self.shaper.elapsed() - begin).as_secs_f64();
            self.pending.push_back(Pending { index, pts, seconds, target, buffer });
            self.collect()?;
        }
        Ok(())
    }

    /// Gives the container what the shaper has.
    fn collect(&mut self) -> Result<(), Error> {
        while let Some(shaped) = self.shaper.pull() {
            let Some(pending) = self.pending.pop_front() else { return Err(Error::NotPending) };
            let mut shaping = shaped.report;
            match self.remuxer.replace(Replacement::Bytes(shaped.bytes)) {
                Err(Error::Grew { .. }) => {
                    self.totals.would_have_grown += 1;
                    shaping.bits_out = shaping.bits_in;
                    self.remuxer.replace(Replacement::Kept)?;
                }
                result => result?,
            }
            if let Some(entry) = pending.buffer {
                self.meter.take(entry, [shaping.bits_in, shaping.bits_out], self.shaper.declares());
            }
            let allowed = match pending.target {
                Target::Ratio(ratio) => ratio * shaping.bits_in as f64,
                Target::Rate(rate) => rate.as_bps_f64() * pending.seconds,
            };
            self.totals.add(&shaping, pending.seconds, allowed);
            self.records.push_back(PictureRecord { index: pending.index, pts: pending.pts, shaping });
        }
        Ok(())
    }
}
