//! Shapes a transport stream while it comes, and says when each packet is to leave.
//!
//! Every packet of the input becomes one of the output: it leaves by the stream's own clock, before a stated delay has passed, so its
//! clock references stay true and no octet stays longer in a decoder's buffer than before. What is not shaped in time leaves
//! unchanged, and is counted.

mod branch;
mod config;
mod departures;
mod division;
mod load;
mod playout;
mod presence;
mod programs;
mod report;
mod search;
mod share;

pub use config::{Config, Programs};
pub use departures::{Departure, Departures, PACKETS_A_DATAGRAM};
pub use report::{ProgramReport, Report};

use crate::container::{Error, PacketView};
use crate::pipeline::Schedule;
use crate::shape::Target;
use branch::{Branch, Work};
use division::DIVISION;
use load::{Coded, Load};
use playout::PlayoutClock;
use search::ProgramSearch;
use seaway_units::{TimeDelta, Timestamp};
use share::RateShare;
use std::collections::VecDeque;

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
    /// The last clock reference.
    clock_seen: Timestamp,
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
    load: Load,
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
        let longest = config.delay - Config::WAKE_UP;
        let clock = PlayoutClock::new(longest, config.reserve(), config.longest_lead());
        LiveShaper {
            search: ProgramSearch::new(config.programs, config.delay),
            load: Load::new(config.delay),
            schedule: Schedule::constant(config.shaper.target),
            started: None,
            config,
            changed: None,
            clock,
            clock_pid: None,
            clock_seen: Timestamp::ZERO,
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
        if reference.is_some() {
            self.clock_seen = now;
        }
        self.clock.push(now, reference);
        self.waiting.push_back(Waiting::new(now, packet));
        self.each_branch(|branch| branch.push(now, packet))?;
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
                self.each_branch(|branch| {
                    if branch.available() == 0 {
                        branch.end_window()?;
                    }
                    // The first of a large picture is due before its last has come.
                    if branch.available() == 0 { branch.end_slices() } else { Ok(()) }
                })?;
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

    /// Says how long the calls since the last report took by the caller's clock. Windows end early enough for it, and programmes
    /// are coded in a closed loop only where there is time for that: never, where this is not called.
    pub fn report_computing(&mut self, spent: TimeDelta) {
        self.load.add(spent);
        if !Load::is_due(self.branches.iter().map(|branch| branch.coded)) {
            return;
        }
        let coded: Vec<Coded> = self.branches.iter_mut().map(Branch::take_coded).collect();
        for (branch, allowed) in self.branches.iter_mut().zip(self.load.measure(&coded)) {
            branch.allow_closed_loop(allowed);
        }
        self.set_longest_window();
    }

    /// Has windows end by themselves before their first packet has to leave.
    fn set_longest_window(&mut self) {
        let longest = self.clock.shortest_delay() - self.reserve();
        self.branches.iter_mut().for_each(|branch| branch.set_longest_window(longest));
    }

    /// What of the delay is for computing.
    fn reserve(&self) -> TimeDelta {
        self.load.reserve(self.clock.shortest_delay(), self.config.reserve())
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
        Report {
            resyncs: self.clock.resyncs,
            ahead_of_clock: self.clock.ahead,
            rate_bps: self.rate_bps(),
            load: self.load.share(),
            programs,
            ..self.report.clone()
        }
    }

    /// Why the present stream passes unchanged: it has carried no video to shape for some seconds.
    pub fn refusal(&self) -> Option<Error> {
        self.search.refusal()
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
            program: branch.program.number,
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
        due - self.reserve()
    }

    /// When it is given up, if it is not there though its window has ended.
    fn late_at(&self, due: Timestamp) -> Timestamp {
        due - self.config.reserve() / 2
    }

    /// When it is given up without that.
    fn too_late_at(&self, due: Timestamp) -> Timestamp {
        due - self.config.reserve() / 4
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

#[cfg(test)]
mod tests;
