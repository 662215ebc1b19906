//! One programme of a live stream: its shaper, whose output has the packets of its input one for one.

use super::load::Coded;
use crate::container::{self, Error, Multiplex, PacketView, VideoProgram};
use crate::pipeline::{self, Pipeline, Report};
use crate::shape::{self, Target};
use seaway_units::{TimeDelta, Timestamp};

/// Taken output is dropped once it is so long.
const COMPACT: usize = 256 << 10;

#[derive(Debug)]
pub(super) struct Branch {
    pub(super) program: VideoProgram,
    /// When it gave a picture last that can be read whole; before the first one, when it was opened.
    pub(super) proven: Timestamp,
    /// Its packets do not come.
    pub(super) is_silent: bool,
    /// The last call.
    now: Timestamp,
    pipeline: Pipeline,
    output: Vec<u8>,
    /// Octets of it that are taken.
    taken: usize,
    /// Packets that passed without it, whose output is dropped.
    unseen: usize,
    /// What was shaped since [`Branch::take_coded`].
    pub(super) coded: Coded,
    /// What was read and shaped since [`Branch::take_work`], in bits, and the sums of the pictures' lambdas.
    work: Work,
}

/// What a programme had to shape in a stretch of time.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Work {
    pub(super) bits_in: u64,
    pub(super) bits_out: u64,
    /// Sum of lambda times bits of the output.
    pub(super) weighted_lambda: f64,
}

impl Work {
    /// Keeps a share of what was.
    pub(super) fn forget(&mut self, kept: f64) {
        self.bits_in = (self.bits_in as f64 * kept) as u64;
        self.bits_out = (self.bits_out as f64 * kept) as u64;
        self.weighted_lambda *= kept;
    }

    pub(super) fn add(&mut self, other: Work) {
        self.bits_in += other.bits_in;
        self.bits_out += other.bits_out;
        self.weighted_lambda += other.weighted_lambda;
    }
}

impl Branch {
    /// A programme whose video keeps its PID: another one is another branch.
    pub(super) fn new(program: VideoProgram, shaper: shape::Config, memory: usize, now: Timestamp) -> Branch {
        let VideoProgram { number, video_pid, .. } = program;
        let container = container::Config {
            multiplex: Multiplex::Keep,
            program: Some(number),
            video_pid: Some(video_pid),
            memory,
        };
        let mut pipeline = Pipeline::new(pipeline::Config { shaper, container });
        // What it takes is not known.
        pipeline.allow_closed_loop(false);
        Branch {
            program,
            proven: now,
            is_silent: false,
            now,
            pipeline,
            output: Vec::new(),
            taken: 0,
            unseen: 0,
            coded: Coded::default(),
            work: Work::default(),
        }
    }

    pub(super) fn push(&mut self, now: Timestamp, packet: &PacketView) -> Result<(), Error> {
        self.now = now;
        let pushed = self.pipeline.push(packet.bytes());
        self.collect();
        pushed
    }

    /// Shapes the pictures that are complete.
    pub(super) fn end_window(&mut self) -> Result<(), Error> {
        self.pipeline.end_window()?;
        self.collect();
        Ok(())
    }

    /// Shapes the slices that are complete.
    pub(super) fn end_slices(&mut self) -> Result<(), Error> {
        self.pipeline.end_slices()?;
        self.collect();
        Ok(())
    }

    /// Copies what is not complete.
    pub(super) fn give_up(&mut self) -> Result<(), Error> {
        self.pipeline.give_up()?;
        self.pipeline.end_window()?;
        self.collect();
        Ok(())
    }

    /// Where no packet can be taken even so: the next one passes as it came, and what is made of it is dropped.
    pub(super) fn pass_unseen(&mut self) {
        self.unseen += usize::from(self.available() == 0);
    }

    pub(super) fn set_target(&mut self, target: Target) {
        self.pipeline.set_target(target);
    }

    /// As [`Pipeline::set_longest_window`].
    pub(super) fn set_longest_window(&mut self, longest: TimeDelta) {
        self.pipeline.set_longest_window(longest);
    }

    /// As [`Pipeline::allow_closed_loop`].
    pub(super) fn allow_closed_loop(&mut self, allowed: bool) {
        self.pipeline.allow_closed_loop(allowed);
    }

    /// What was shaped since the last call.
    pub(super) fn take_coded(&mut self) -> Coded {
        std::mem::take(&mut self.coded)
    }

    /// Packets that may be taken.
    pub(super) fn available(&self) -> usize {
        (self.output.len() - self.taken) / PacketView::LEN
    }

    /// The next packet.
    pub(super) fn take(&mut self) -> Option<&[u8; PacketView::LEN]> {
        if self.taken >= COMPACT {
            self.output.drain(..self.taken);
            self.taken = 0;
        }
        let packet = self.output[self.taken..].first_chunk()?;
        self.taken += PacketView::LEN;
        Some(packet)
    }

    pub(super) fn report(&self) -> Report {
        self.pipeline.report()
    }

    /// What was shaped since the last call.
    pub(super) fn take_work(&mut self) -> Work {
        std::mem::take(&mut self.work)
    }

    fn collect(&mut self) {
        self.pipeline.drain_output(&mut self.output);
        let unseen = self.unseen.min(self.available());
        self.taken += unseen * PacketView::LEN;
        self.unseen -= unseen;
        while let Some(record) = self.pipeline.poll_record() {
            let picture = &record.shaping;
            // Units of another codec pass for slices.
            if picture.kind.is_some() && picture.damaged_slices == 0 {
                self.proven = self.now;
            }
            self.coded.seconds += record.seconds;
            self.coded.bits[usize::from(picture.closed_loop)] += picture.bits_in;
            self.coded.bits_out += picture.bits_out;
            self.work.bits_in += picture.bits_in;
            self.work.bits_out += picture.bits_out;
            self.work.weighted_lambda += picture.lambda * picture.bits_out as f64;
        }
    }
}
