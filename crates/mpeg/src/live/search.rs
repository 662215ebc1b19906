//! Which programmes are shaped, by the tables of the stream.

use super::Programs;
use super::branch::Branch;
use super::presence::Presence;
use crate::container::{Error, PacketView, ProgramTable, VideoProgram};
use seaway_units::{TimeDelta, Timestamp};
use std::collections::BTreeSet;

/// Tables that are not complete so long after their last change will not be; those known count.
const TABLES_WAIT: TimeDelta = TimeDelta::from_secs(2);
/// A stream whose tables name no video to shape for so long is refused.
const REFUSED_AFTER: TimeDelta = TimeDelta::from_secs(3);
/// Programmes that are shaped, at most. Each takes memory, and a look at every packet.
const MOST_PROGRAMS: usize = 32;
/// A longer silence is the end of a stream.
const LONGEST_GAP: TimeDelta = TimeDelta::from_secs(1);
/// A programme that the tables no longer name stays while its packets come: none is missing for so long.
const LONGEST_PAUSE: TimeDelta = TimeDelta::from_millis(500);
/// Besides, its packets have to give a picture so long after they came.
const PROOF: TimeDelta = TimeDelta::from_secs(5);

/// Finds programmes. What other sources have sent before is forgotten with their tables.
#[derive(Debug)]
pub(super) struct ProgramSearch {
    programs: Programs,
    delay: TimeDelta,
    table: ProgramTable,
    presence: Presence,
    /// Those with video by the present tables.
    listed: Vec<VideoProgram>,
    /// Since when programmes are looked for: the last change before the first programme, the first change behind it.
    since: Option<Timestamp>,
    /// All elementary streams of the present tables.
    pids: BTreeSet<u16>,
    /// Since when a stream without video to shape comes, and its last packet.
    unusable: Option<(Timestamp, Timestamp)>,
}

impl ProgramSearch {
    pub(super) fn new(programs: Programs, delay: TimeDelta) -> ProgramSearch {
        ProgramSearch {
            programs,
            delay,
            table: ProgramTable::default(),
            presence: Presence::default(),
            listed: Vec::new(),
            since: None,
            pids: BTreeSet::new(),
            unusable: None,
        }
    }

    /// Before a programme is shaped: those to begin with. `held` are the packets before this one, from the newest association table on.
    ///
    /// # Errors
    /// [`Error::NoVideo`] for a stream that has carried other programmes alone for a while. Everything is forgotten then.
    pub(super) fn first(
        &mut self,
        now: Timestamp,
        packet: &PacketView,
        held: impl Iterator<Item = PacketView>,
    ) -> Result<Vec<VideoProgram>, Error> {
        self.presence.note(now, packet.pid());
        let was_complete = self.table.is_complete();
        let has_changed = self.table.push(packet);
        if has_changed {
            if was_complete {
                self.read_anew(packet, held);
            }
            (self.since, self.unusable) = (Some(now), None);
            self.read_tables();
        }
        if self.asked_for().next().is_none() && self.is_refused(now, packet) {
            let error = self.no_video();
            *self = ProgramSearch::new(self.programs, self.delay);
            return Err(error);
        }
        Ok(self.newcomers(now))
    }

    /// Tables that were complete have changed: those of another source have to be complete by themselves.
    fn read_anew(&mut self, packet: &PacketView, held: impl Iterator<Item = PacketView>) {
        self.table = ProgramTable::default();
        for packet in held {
            self.table.push(&packet);
        }
        self.table.push(packet);
    }

    /// A map alone, which anyone may have sent, refuses nothing: packets of the streams that it names have to come.
    fn is_refused(&mut self, now: Timestamp, packet: &PacketView) -> bool {
        if !self.table.is_complete() || !self.pids.contains(&packet.pid()) {
            return false;
        }
        let since = match self.unusable {
            Some((since, last)) if now.since(last) <= LONGEST_GAP => since,
            _ => now,
        };
        self.unusable = Some((since, now));
        self.is_unusable()
    }

    fn read_tables(&mut self) {
        self.pids = self.table.elementary_pids();
        self.listed = self.table.with_video();
    }

    fn no_video(&self) -> Error {
        self.table.no_video(if let Programs::One(number) = self.programs { number } else { None })
    }

    /// While `present` are shaped: the programmes to shape from now on, where these are others. Tables alone, which anyone may have
    /// sent, end no programme whose packets come, and begin none whose packets do not.
    pub(super) fn next(
        &mut self,
        now: Timestamp,
        packet: &PacketView,
        present: &[Branch],
    ) -> Option<Vec<VideoProgram>> {
        self.presence.note(now, packet.pid());
        if self.table.push(packet) {
            self.read_tables();
            self.look_again(now);
        }
        self.since?;
        let wanted = self.successors(now, present);
        let is_complete = match self.programs {
            Programs::One(_) => !wanted.is_empty(),
            Programs::All => wanted.len() == self.listed.len(),
        };
        if is_complete && self.lists_all(&wanted) {
            self.since = None;
        }
        let stays = wanted.len() == present.len()
            && wanted.iter().zip(present).all(|(program, branch)| program.has_video_of(&branch.program));
        (!wanted.is_empty() && !stays).then_some(wanted)
    }

    /// Compares the programmes with the present tables once more.
    pub(super) fn look_again(&mut self, now: Timestamp) {
        self.since.get_or_insert(now);
    }

    /// Looks whether the stream still carries video to shape: its tables name some, or the packets of `present` give pictures. Says
    /// whether it does where that has changed.
    pub(super) fn watch(&mut self, now: Timestamp, packet: &PacketView, present: &[Branch]) -> Option<bool> {
        let was_usable = !self.is_unusable();
        let has_some = self.asked_for().next().is_some()
            || present.iter().any(|branch| self.is_alive(now, branch) && self.is_proven(now, branch));
        if has_some {
            self.unusable = None;
        } else {
            self.is_refused(now, packet);
        }
        let is_usable = !self.is_unusable();
        (is_usable != was_usable).then_some(is_usable)
    }

    fn is_unusable(&self) -> bool {
        self.unusable.is_some_and(|(since, last)| last.since(since) > REFUSED_AFTER)
    }

    /// Why the present stream cannot be shaped, once it has carried no such video for some seconds.
    pub(super) fn refusal(&self) -> Option<Error> {
        self.is_unusable().then(|| self.no_video())
    }

    /// This programme cannot be shaped, as long as the tables stay.
    pub(super) fn leave_out(&mut self, program: VideoProgram) {
        self.listed.retain(|listed| !listed.has_video_of(&program));
    }

    /// PID of the clock references of a programme, by the present tables.
    pub(super) fn clock_pid(&self, program: &VideoProgram) -> Option<u16> {
        let listed = self.listed.iter().find(|listed| listed.has_video_of(program));
        listed.map(|listed| listed.clock_pid)
    }

    /// True where no packet of this programme's video came for longer than streams pause.
    pub(super) fn is_silent(&self, now: Timestamp, program: &VideoProgram) -> bool {
        !self.presence.is_within(now, program.video_pid, self.delay + LONGEST_GAP)
    }

    /// Those that stay, and those that take their places.
    fn successors(&self, now: Timestamp, present: &[Branch]) -> Vec<VideoProgram> {
        let stays = |branch: &&Branch| {
            let is_proven = self.programs == Programs::All || self.is_proven(now, branch);
            self.lists_all(&[branch.program]) || self.is_alive(now, branch) && is_proven
        };
        let program = |branch: &Branch| branch.program;
        let kept: Vec<_> = present.iter().filter(stays).map(program).collect();
        if kept.is_empty() {
            return self.newcomers(now);
        }
        if self.programs != Programs::All {
            return kept;
        }
        // Those that are no longer listed may end one behind the other, before others take their places.
        let is_recent = self.since.is_some_and(|since| now.since(since) <= LONGEST_GAP);
        if !self.is_known(now) || is_recent && !self.lists_all(&kept) {
            return present.iter().map(program).collect();
        }
        let is_new = |program: &VideoProgram| !kept.iter().any(|kept| kept.has_video_of(program));
        let new: Vec<_> =
            self.asked_for().filter(|program| is_new(program) && self.comes(now, program)).collect();
        kept.into_iter().chain(new).take(MOST_PROGRAMS).collect()
    }

    /// Where none is shaped: the first one that is listed or, if that does not come, another; of all, once all are known.
    fn newcomers(&self, now: Timestamp) -> Vec<VideoProgram> {
        let mut listed = self.asked_for();
        let comes = |program: &VideoProgram| self.comes(now, program);
        match self.programs {
            Programs::One(_) => {
                let has_time = self.since.is_some_and(|since| now.since(since) <= LONGEST_GAP);
                let next = if has_time { listed.next().filter(comes) } else { listed.find(comes) };
                next.into_iter().collect()
            }
            Programs::All if self.is_known(now) && self.asked_for().any(|program| comes(&program)) => {
                listed.take(MOST_PROGRAMS).collect()
            }
            Programs::All => Vec::new(),
        }
    }

    /// The programmes with video, as far as they are asked for, by the present tables.
    fn asked_for(&self) -> impl Iterator<Item = VideoProgram> {
        let only = if let Programs::One(number) = self.programs { number } else { None };
        self.listed.iter().filter(move |program| only.is_none_or(|only| only == program.number)).copied()
    }

    fn comes(&self, now: Timestamp, program: &VideoProgram) -> bool {
        self.presence.is_within(now, program.video_pid, LONGEST_GAP)
    }

    fn is_alive(&self, now: Timestamp, branch: &Branch) -> bool {
        self.presence.is_within(now, branch.program.video_pid, LONGEST_PAUSE)
    }

    fn is_proven(&self, now: Timestamp, branch: &Branch) -> bool {
        now.since(branch.proven) <= PROOF + self.delay
    }

    fn lists_all(&self, programs: &[VideoProgram]) -> bool {
        programs.iter().all(|program| self.listed.iter().any(|listed| listed.has_video_of(program)))
    }

    fn is_known(&self, now: Timestamp) -> bool {
        self.table.is_complete() || self.since.is_some_and(|since| now.since(since) > TABLES_WAIT)
    }
}
