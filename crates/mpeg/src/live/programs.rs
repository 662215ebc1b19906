//! The programmes that are shaped: the first ones, and those that take their places.

use super::branch::Branch;
use super::{Config, LiveShaper, ProgramReport, RateShare, Waiting};
use crate::container::{Error, PacketView, VideoProgram};
use seaway_units::{TimeDelta, Timestamp};

/// Behind a change of the programmes another one is put off for so long: each reads again what waits.
const LEAST_STAY: TimeDelta = TimeDelta::from_millis(500);
/// PID of the association table.
pub(super) const ASSOCIATION: u16 = 0;
/// Clock references come every 100 ms (2.7.2); without one for so long those of the present tables count.
const CLOCK_PAUSE: TimeDelta = TimeDelta::from_millis(500);
/// Programmes of former tables that are reported.
const FORMER: usize = 32;

impl LiveShaper {
    /// Holds packets until a programme is known; true where it is, and the packet is the next to be shaped.
    pub(super) fn begin(&mut self, now: Timestamp, packet: &PacketView) -> Result<bool, Error> {
        let newest = self.held_tables.back().map(|number| (number - self.passed) as usize);
        let behind = self.waiting.range(newest.unwrap_or(self.waiting.len())..).filter_map(Waiting::view);
        let found = match self.search.first(now, packet, behind.map(|(_, packet)| packet)) {
            Ok(found) => found,
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
        (self.clock_pid, self.clock_seen) = (Some(first.clock_pid), now);
        for (arrival, packet) in self.waiting.iter().filter_map(Waiting::view) {
            let reference = packet.clock_reference().filter(|_| packet.pid() == first.clock_pid);
            self.clock.push(arrival, reference);
        }
        self.open(now, &found)?;
        Ok(true)
    }

    fn drop_held(&mut self, count: usize) {
        self.waiting.drain(..count);
        self.passed += count as u64;
        while self.held_tables.pop_front_if(|number| *number < self.passed).is_some() {}
        self.report.dropped_without_program += count as u64;
    }

    /// Shapes other programmes where the tables name others whose packets come.
    pub(super) fn follow_tables(&mut self, now: Timestamp, packet: &PacketView) -> Result<(), Error> {
        let others = self.search.next(now, packet, &self.branches);
        let are_others = others.is_some();
        let wanted = match self.search.watch(now, packet, &self.branches) {
            // The octets of other video do not count against what comes now.
            Some(true) => {
                others.or_else(|| Some(self.branches.iter().map(|branch| branch.program).collect()))
            }
            Some(false) => {
                self.report.without_video += 1;
                others
            }
            None => others,
        };
        if let Some(wanted) = wanted {
            if self.changed.is_some_and(|last| now.since(last) < LEAST_STAY) {
                self.search.look_again(now);
                return Ok(());
            }
            self.changed = Some(now);
            self.report.program_changes += u64::from(are_others);
            self.leave_programs()?;
            self.open(now, &wanted)?;
        }
        self.follow_clock(now);
        Ok(())
    }

    /// Takes the clock of the first programme by the tables, where the present one has stopped.
    fn follow_clock(&mut self, now: Timestamp) {
        let Some(first) = self.branches.first().filter(|_| now.since(self.clock_seen) > CLOCK_PAUSE) else {
            return;
        };
        self.clock_pid = self.search.clock_pid(&first.program).or(self.clock_pid);
    }

    /// Hands over what there is of the programmes that end.
    fn leave_programs(&mut self) -> Result<(), Error> {
        self.each_branch(Branch::give_up)?;
        self.advance();
        let left: Vec<ProgramReport> = self.present().collect();
        self.former.extend(left.into_iter().map(|program| ProgramReport { rate_bps: None, ..program }));
        self.former.drain(..self.former.len().saturating_sub(FORMER));
        Ok(())
    }

    /// Begins to shape programmes. The packets that wait are read again: their tables are among them.
    fn open(&mut self, now: Timestamp, programs: &[VideoProgram]) -> Result<(), Error> {
        let Config { shaper, memory, .. } = &self.config;
        // Windows have a quarter of the delay for computing.
        let shaper = shaper.without_new_motion();
        let branch = |program: &VideoProgram| Branch::new(*program, shaper.clone(), *memory, now);
        self.branches = programs.iter().map(branch).collect();
        self.set_longest_window();
        self.clock_pid = programs.first().map(|first| first.clock_pid);
        if let Some(rate) = self.shared_rate() {
            self.share_equally(rate);
        }
        let waiting: Vec<PacketView> =
            self.waiting.iter().filter_map(Waiting::view).map(|(_, packet)| packet).collect();
        waiting.iter().try_for_each(|packet| self.each_branch(|branch| branch.push(now, packet)))
    }

    /// Calls `job` for each programme. One of several that cannot be shaped passes unchanged from then on.
    pub(super) fn each_branch(
        &mut self,
        mut job: impl FnMut(&mut Branch) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut index = 0;
        while index < self.branches.len() {
            match job(&mut self.branches[index]) {
                // It has no pictures so far.
                Err(Error::NoVideo { .. }) if self.branches.len() == 1 => index += 1,
                Err(_) if self.branches.len() > 1 => {
                    let branch = self.branches.remove(index);
                    self.search.leave_out(branch.program);
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
}
