//! Shapes a transport stream while it comes, and says when each packet is to leave.
//!
//! Every packet of the input becomes one of the output: it leaves by the stream's own clock, before a stated delay has passed, so its
//! clock references stay true and no octet stays longer in a decoder's buffer than before. What is not shaped in time leaves
//! unchanged, and is counted.

mod branch;
mod departures;
mod playout;
mod search;
mod share;

pub use departures::{Departure, Departures, PACKETS_A_DATAGRAM};

use crate::container::{Error, PacketView};
use crate::pipeline::{self, Schedule};
use crate::shape::{self, Target};
use branch::{Branch, Work};
use playout::PlayoutClock;
use search::ProgramSearch;
use seaway_units::{Bitrate, TimeDelta, Timestamp};
use serde::Serialize;
use share::RateShare;
use std::collections::VecDeque;

/// The programmes that are shaped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Programs {
    /// One: the first with MPEG-1 or MPEG-2 video, or the one of this number.
    One(Option<u16>),
    /// All with such video, 32 of them at most: they share the rate of the target, each second by how hard they are to code.
    All,
}

/// How a [`LiveShaper`] works.
#[derive(Clone, Debug)]
pub struct Config {
    /// How pictures are shaped. A window also ends where its first picture would leave too late.
    pub shaper: shape::Config,
    /// What is shaped.
    pub programs: Programs,
    /// 99 of 100 packets leave within this of their arrival; at least [`Config::LEAST_DELAY`].
    pub delay: TimeDelta,
    /// Null packets of the input and of the freed room are sent, so that the multiplex rate stays.
    pub null_packets: bool,
    /// Octets that may wait, for each programme. Beyond it pictures pass unchanged.
    pub memory: usize,
}

impl Config {
    /// The shortest delay.
    pub const LEAST_DELAY: TimeDelta = TimeDelta::from_millis(60);

    /// What of the delay is for computing, and for packets that come late by less.
    fn reserve(&self) -> TimeDelta {
        (self.delay / 4).max(TimeDelta::from_millis(20))
    }
}

/// Counts of a live stream.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    /// Packets that came, null packets included.
    pub packets_in: u64,
    /// Packets that were given a departure.
    pub packets_out: u64,
    /// Packets that were left out because no programme was known.
    pub dropped_without_program: u64,
    /// Null packets that were left out.
    pub null_packets_dropped: u64,
    /// Times at which the source's clock was recovered anew: it jumped, or the source paused.
    pub resyncs: u64,
    /// Times at which a part of a picture passed unchanged because it did not come in time.
    pub given_up: u64,
    /// Programmes that could not be shaped beside others, and pass unchanged.
    pub unshaped_programs: u64,
    /// Times at which the tables named other programmes than before.
    pub program_changes: u64,
    /// What the programmes were given together last, in bit/s; `None` for a target that is a ratio.
    pub rate_bps: Option<u64>,
    /// By programme, those of former tables first, 32 of them at most.
    pub programs: Vec<ProgramReport>,
}

/// Counts of one programme.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProgramReport {
    /// `program_number`
    pub program: u16,
    /// What it was given last, in bit/s; `None` for a target that is a ratio.
    pub rate_bps: Option<u64>,
    /// Of its shaping since the beginning.
    #[serde(flatten)]
    pub report: pipeline::Report,
}

/// A packet that waits for its shaper.
#[derive(Debug)]
struct Waiting {
    arrival: Timestamp,
    due: Option<Timestamp>,
    bytes: [u8; PacketView::LEN],
}

impl Waiting {
    fn new(arrival: Timestamp, packet: &PacketView) -> Waiting {
        let mut bytes = [0; PacketView::LEN];
        bytes.copy_from_slice(packet.bytes());
        Waiting { arrival, due: None, bytes }
    }

    /// The packet with its arrival.
    fn view(&self) -> Option<(Timestamp, PacketView)> {
        Some((self.arrival, PacketView::new(&self.bytes)?))
    }
}

/// Behind a change of the programmes another one is put off for so long: each reads again what waits.
const LEAST_STAY: TimeDelta = TimeDelta::from_millis(500);
/// PID of the association table.
const ASSOCIATION: u16 = 0;
/// Programmes of former tables that are reported.
const FORMER: usize = 32;
/// Rates of several programmes are divided anew so often.
const DIVISION: TimeDelta = TimeDelta::from_secs(1);

/// Shapes a live transport stream, packet by packet.
///
/// Inputs are [`LiveShaper::push`] and [`LiveShaper::handle_timeout`]; drain [`LiveShaper::pull`] after each.
#[derive(Debug)]
pub struct LiveShaper {
    config: Config,
    search: ProgramSearch,
    /// Targets by the time since the first packet that is shaped, which came then.
    schedule: Schedule,
    started: Option<Timestamp>,
    /// When the programmes changed last.
    changed: Option<Timestamp>,
    clock: PlayoutClock,
    clock_pid: Option<u16>,
    /// One for each programme that is shaped; none before the first is known.
    branches: Vec<Branch>,
    waiting: VecDeque<Waiting>,
    /// How many of them have a departure.
    timed: usize,
    /// Their number so far, of which the first of `waiting` is the next.
    passed: u64,
    /// The numbers of association tables among them, before a programme is known.
    held_tables: VecDeque<u64>,
    /// For this packet windows were ended already.
    hurried: Option<u64>,
    ready: VecDeque<Departure>,
    share: RateShare,
    divided: Option<Timestamp>,
    /// What the programmes had to shape in the last seconds, and how many these are.
    work: Vec<Work>,
    work_seconds: f64,
    rates: Vec<u64>,
    former: VecDeque<ProgramReport>,
    report: Report,
}

impl LiveShaper {
    /// A shaper that has read nothing.
    pub fn new(config: Config) -> LiveShaper {
        let clock = PlayoutClock::new(config.delay, config.reserve());
        LiveShaper {
            search: ProgramSearch::new(config.programs),
            schedule: Schedule::constant(config.shaper.target),
            started: None,
            config,
            changed: None,
            clock,
            clock_pid: None,
            branches: Vec::new(),
            waiting: VecDeque::new(),
            timed: 0,
            passed: 0,
            held_tables: VecDeque::new(),
            hurried: None,
            ready: VecDeque::new(),
            share: RateShare::default(),
            divided: None,
            work: Vec::new(),
            work_seconds: 0.0,
            rates: Vec::new(),
            former: VecDeque::new(),
            report: Report::default(),
        }
    }

    /// Sets the targets, each for what arrives so long after the first packet that is shaped.
    pub fn set_schedule(&mut self, schedule: Schedule) {
        self.schedule = schedule;
    }

    /// Sets the target for pictures that arrive `at` so long after the first packet that is shaped, or from the next one on. What
    /// the schedule has later is dropped. False, without effect, where [`Schedule::MOST_CHANGES`] are to come before.
    pub fn change_target(&mut self, now: Timestamp, at: Option<TimeDelta>, target: Target) -> bool {
        let is_taken = self.schedule.change_from(self.time(now), at, target);
        self.follow_schedule(now);
        is_taken
    }

    /// Takes the next packet of the stream, which came at `now`.
    ///
    /// Until a programme is known packets are held for a part of the delay, and then left out.
    ///
    /// # Errors
    /// [`Error::NoVideo`] where no programme was known yet and the stream has carried others alone for some seconds. The shaper
    /// has forgotten that stream then, and may be given another.
    pub fn push(&mut self, now: Timestamp, packet: &PacketView) -> Result<(), Error> {
        self.report.packets_in += 1;
        if self.branches.is_empty() {
            if !self.begin(now, packet)? {
                return Ok(());
            }
        } else {
            self.follow_tables(now, packet)?;
            self.follow_schedule(now);
        }
        let reference = packet.clock_reference().filter(|_| self.clock_pid == Some(packet.pid()));
        self.clock.push(now, reference);
        self.waiting.push_back(Waiting::new(now, packet));
        self.each_branch(|branch| branch.push(packet))?;
        self.advance();
        if self.waiting.len() > self.config.memory / size_of::<Waiting>() {
            self.hasten()?;
        }
        Ok(())
    }

    /// Does what is due. A call that comes early changes nothing.
    ///
    /// # Errors
    /// As [`LiveShaper::push`].
    pub fn handle_timeout(&mut self, now: Timestamp) -> Result<(), Error> {
        self.divide(now);
        while let Some(first) = self.waiting.front().filter(|_| !self.branches.is_empty()) {
            let (due, number) = (self.expected_due(first), self.passed);
            let is_hurried = self.hurried == Some(number);
            // What other programmes computed meanwhile may have taken the time from one deadline to the other.
            if !is_hurried && self.hurry_at(due) <= now && now < self.too_late_at(due) {
                self.hurried = Some(number);
                self.each_branch(
                    |branch| if branch.available() == 0 { branch.end_window() } else { Ok(()) },
                )?;
                self.advance();
            } else if self.late_at(due) <= now {
                self.hasten()?;
            }
            if self.passed == number {
                break;
            }
        }
        Ok(())
    }

    /// Lets the oldest packet pass, shaped or not.
    fn hasten(&mut self) -> Result<(), Error> {
        let Some(first) = self.waiting.front() else { return Ok(()) };
        let number = self.passed;
        self.clock.release(first.arrival);
        let mut given_up = 0;
        self.each_branch(|branch| {
            if branch.available() == 0 {
                given_up += 1;
                branch.give_up()?;
                branch.pass_unseen();
            }
            Ok(())
        })?;
        self.report.given_up += given_up;
        self.advance();
        if self.passed == number {
            self.pass();
        }
        Ok(())
    }

    /// When to call [`LiveShaper::handle_timeout`].
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        let division = self.divided.map(|last| last + DIVISION);
        let shaped = self.waiting.front().filter(|_| !self.branches.is_empty());
        let first = shaped.map(|first| match self.hurried {
            Some(number) if number == self.passed => self.late_at(self.expected_due(first)),
            _ => self.hurry_at(self.expected_due(first)),
        });
        [division, first].into_iter().flatten().min()
    }

    /// The next packet that is shaped, with its departure.
    pub fn pull(&mut self) -> Option<Departure> {
        self.ready.pop_front()
    }

    /// Counts so far.
    pub fn report(&self) -> Report {
        let programs = self.former.iter().cloned().chain(self.present()).collect();
        Report { resyncs: self.clock.resyncs, rate_bps: self.rate_bps(), programs, ..self.report.clone() }
    }

    fn rate_bps(&self) -> Option<u64> {
        match self.config.shaper.target {
            Target::Rate(rate) => Some(rate.as_bps()),
            Target::Ratio(_) => None,
        }
    }

    fn present(&self) -> impl Iterator<Item = ProgramReport> {
        let alone = self.rate_bps().filter(|_| self.rates.is_empty());
        self.branches.iter().enumerate().map(move |(index, branch)| ProgramReport {
            program: branch.program,
            rate_bps: self.rates.get(index).copied().or(alone),
            report: branch.report(),
        })
    }

    /// When a packet is to leave, as far as that is known: no earlier.
    fn expected_due(&self, packet: &Waiting) -> Timestamp {
        packet.due.unwrap_or(packet.arrival + self.clock.shortest_delay())
    }

    /// When the window of a packet that is due then ends.
    fn hurry_at(&self, due: Timestamp) -> Timestamp {
        due - self.config.reserve()
    }

    /// When it is given up, if it is not there though its window has ended.
    fn late_at(&self, due: Timestamp) -> Timestamp {
        due - self.config.reserve() / 2
    }

    /// When it is given up without that.
    fn too_late_at(&self, due: Timestamp) -> Timestamp {
        due - self.config.reserve() / 4
    }

    /// Holds packets until a programme is known; true where it is, and the packet is the next to be shaped.
    fn begin(&mut self, now: Timestamp, packet: &PacketView) -> Result<bool, Error> {
        let newest = self.held_tables.back().map(|number| (number - self.passed) as usize);
        let behind = self.waiting.range(newest.unwrap_or(self.waiting.len())..).filter_map(Waiting::view);
        let found = match self.search.first(now, packet, behind.map(|(_, packet)| packet)) {
            Ok(found) => found.to_vec(),
            Err(error) => {
                self.report.dropped_without_program += 1;
                self.drop_held(self.waiting.len());
                return Err(error);
            }
        };
        // What is older would leave too late to be shaped.
        let longest = self.clock.shortest_delay() - self.config.reserve();
        let old = self.waiting.partition_point(|packet| now.since(packet.arrival) > longest);
        let most = self.config.memory / size_of::<Waiting>();
        self.drop_held(old.max((self.waiting.len() + 1).saturating_sub(most)));
        if packet.pid() == ASSOCIATION {
            self.held_tables.push_back(self.passed + self.waiting.len() as u64);
        }
        // Without its association table nothing finds the programme.
        let table = self.held_tables.front().map(|number| (number - self.passed) as usize);
        let (Some(first), Some(table)) = (found.first(), table) else {
            self.waiting.push_back(Waiting::new(now, packet));
            return Ok(false);
        };
        self.drop_held(table);
        self.held_tables.clear();
        self.started = Some(self.waiting.front().map_or(now, |first| first.arrival));
        self.follow_schedule(now);
        self.clock_pid = Some(first.clock_pid);
        for (arrival, packet) in self.waiting.iter().filter_map(Waiting::view) {
            let reference = packet.clock_reference().filter(|_| packet.pid() == first.clock_pid);
            self.clock.push(arrival, reference);
        }
        self.open(found.iter().map(|program| program.number))?;
        Ok(true)
    }

    fn drop_held(&mut self, count: usize) {
        self.waiting.drain(..count);
        self.passed += count as u64;
        while self.held_tables.pop_front_if(|number| *number < self.passed).is_some() {}
        self.report.dropped_without_program += count as u64;
    }

    /// Shapes other programmes where the tables name others.
    fn follow_tables(&mut self, now: Timestamp, packet: &PacketView) -> Result<(), Error> {
        let present = self.branches.first().map(|branch| branch.program);
        let Some(wanted) = self.search.next(now, packet, present) else { return Ok(()) };
        let numbers = || wanted.iter().map(|program| program.number);
        let stays = self.branches.iter().map(|branch| branch.program).eq(numbers());
        if !stays && self.changed.is_some_and(|last| now.since(last) < LEAST_STAY) {
            self.search.look_again(now);
            return Ok(());
        }
        self.clock_pid = wanted.first().map(|first| first.clock_pid);
        if stays {
            return Ok(());
        }
        self.changed = Some(now);
        self.leave_programs()?;
        self.open(numbers())
    }

    /// Hands over what there is of the programmes of former tables.
    fn leave_programs(&mut self) -> Result<(), Error> {
        self.report.program_changes += 1;
        self.each_branch(Branch::give_up)?;
        self.advance();
        let left: Vec<ProgramReport> = self.present().collect();
        self.former.extend(left.into_iter().map(|program| ProgramReport { rate_bps: None, ..program }));
        self.former.drain(..self.former.len().saturating_sub(FORMER));
        Ok(())
    }

    /// Begins to shape programmes. The packets that wait are read again: their tables are among them.
    fn open(&mut self, programs: impl Iterator<Item = u16>) -> Result<(), Error> {
        let Config { shaper, memory, .. } = &self.config;
        // Windows have a quarter of the delay for computing.
        let shaper = shape::Config { new_motion: false, ..shaper.clone() };
        self.branches = programs.map(|program| Branch::new(program, shaper.clone(), *memory)).collect();
        (self.share, self.work_seconds) = (RateShare::default(), 0.0);
        if let Some(rate) = self.shared_rate() {
            let count = self.branches.len();
            self.work = vec![Work::default(); count];
            self.give(&vec![rate / count.max(1) as f64; count]);
        }
        let waiting: Vec<PacketView> =
            self.waiting.iter().filter_map(Waiting::view).map(|(_, packet)| packet).collect();
        waiting.iter().try_for_each(|packet| self.each_branch(|branch| branch.push(packet)))
    }

    /// The time since the first packet that is shaped.
    fn time(&self, now: Timestamp) -> TimeDelta {
        self.started.map_or(TimeDelta::ZERO, |started| now.since(started))
    }

    /// Sets the target that the schedule has now.
    fn follow_schedule(&mut self, now: Timestamp) {
        let target = self.schedule.at(self.time(now));
        if target == self.config.shaper.target {
            return;
        }
        self.config.shaper.target = target;
        match self.shared_rate() {
            // Each gets its share of the new rate, until the next division.
            Some(rate) => {
                let (sum, count) = (self.rates.iter().sum::<u64>() as f64, self.rates.len() as f64);
                let share = |&old: &u64| if sum > 0.0 { rate * old as f64 / sum } else { rate / count };
                let rates: Vec<f64> = self.rates.iter().map(share).collect();
                self.give(&rates);
            }
            None => self.branches.iter_mut().for_each(|branch| branch.set_target(target)),
        }
    }

    /// The rate in bit/s that several programmes share.
    fn shared_rate(&self) -> Option<f64> {
        match (self.config.programs, self.config.shaper.target) {
            (Programs::All, Target::Rate(rate)) => Some(rate.as_bps_f64()),
            _ => None,
        }
    }

    /// Calls `job` for each programme. One of several that cannot be shaped passes unchanged from then on.
    fn each_branch(&mut self, mut job: impl FnMut(&mut Branch) -> Result<(), Error>) -> Result<(), Error> {
        let mut index = 0;
        while index < self.branches.len() {
            match job(&mut self.branches[index]) {
                // It has no pictures so far.
                Err(Error::NoVideo { .. }) if self.branches.len() == 1 => index += 1,
                Err(_) if self.branches.len() > 1 => {
                    self.branches.remove(index);
                    if index < self.work.len() {
                        self.work.remove(index);
                        self.rates.remove(index);
                        self.share = RateShare::default();
                    }
                    self.report.unshaped_programs += 1;
                }
                result => {
                    result?;
                    index += 1;
                }
            }
        }
        Ok(())
    }

    /// Divides the rate among several programmes once a second.
    fn divide(&mut self, now: Timestamp) {
        let Some(rate) = self.shared_rate() else { return };
        if self.branches.is_empty() {
            return;
        }
        let last = *self.divided.get_or_insert(now);
        if now.since(last) < DIVISION {
            return;
        }
        self.divided = Some(now);
        self.work_seconds = MEMORY * self.work_seconds + now.since(last).as_secs_f64();
        for (sum, branch) in self.work.iter_mut().zip(&mut self.branches) {
            sum.forget(MEMORY);
            sum.add(branch.take_work());
        }
        if self.work.iter().all(|work| work.bits_in > 0) {
            let rates = self.share.divide(rate, &self.work, self.work_seconds);
            let changes =
                |(new, old): (&f64, &u64)| (new / (*old as f64).max(1.0) - 1.0).abs() > SLIGHT_CHANGE;
            if rates.iter().zip(&self.rates).any(changes) {
                self.give(&rates);
            }
        }
    }

    fn give(&mut self, rates: &[f64]) {
        self.rates = rates.iter().map(|&rate| rate as u64).collect();
        for (branch, &rate) in self.branches.iter_mut().zip(&self.rates) {
            branch.set_target(Target::Rate(Bitrate::from_bps(rate)));
        }
    }

    /// Hands over the packets that are shaped and have their departure.
    fn advance(&mut self) {
        while let Some(packet) = self.waiting.get_mut(self.timed) {
            let Some(due) = self.clock.pull() else { break };
            packet.due = Some(due);
            self.timed += 1;
        }
        let shaped = self.branches.iter().map(Branch::available).min().unwrap_or(0);
        for _ in 0..shaped.min(self.timed) {
            self.pass();
        }
    }

    /// Hands over the oldest packet: a programme has changed it, or none.
    fn pass(&mut self) {
        let Some(packet) = self.waiting.pop_front() else { return };
        let due = self.expected_due(&packet);
        let Waiting { arrival, mut bytes, .. } = packet;
        let input = bytes;
        for branch in &mut self.branches {
            if let Some(shaped) = branch.take().filter(|shaped| **shaped != input) {
                bytes = *shaped;
            }
        }
        self.timed = self.timed.saturating_sub(1);
        self.passed += 1;
        let is_null = PacketView::new(&bytes).is_some_and(|packet| packet.is_null());
        if is_null && !self.config.null_packets {
            self.report.null_packets_dropped += 1;
            return;
        }
        self.report.packets_out += 1;
        self.ready.push_back(Departure { arrival, due, bytes });
    }
}

/// What of the work of a second counts in the next.
const MEMORY: f64 = 0.6;
/// Rates that differ by less stay: a change ends the windows.
const SLIGHT_CHANGE: f64 = 0.02;

#[cfg(test)]
mod tests;
