//! Which programmes are shaped, by the tables of the stream.

use super::Programs;
use crate::container::{Error, PacketView, ProgramTable, VideoProgram};
use seaway_units::{TimeDelta, Timestamp};
use std::collections::BTreeSet;

/// Tables that are not complete so long after their last change will not be; those known count.
const TABLES_WAIT: TimeDelta = TimeDelta::from_secs(2);
/// A stream whose tables name no video to shape for so long is refused.
const REFUSED_AFTER: TimeDelta = TimeDelta::from_secs(3);
/// Programmes that are shaped, at most. Each takes memory, and a look at every packet.
const MOST_PROGRAMS: usize = 32;
/// A longer silence is the end of such a stream.
const LONGEST_GAP: TimeDelta = TimeDelta::from_secs(1);

/// Finds programmes. What other sources have sent before is forgotten with their tables.
#[derive(Debug)]
pub(super) struct ProgramSearch {
    programs: Programs,
    table: ProgramTable,
    /// Since when programmes are looked for: the last change before the first programme, the first change behind it.
    since: Option<Timestamp>,
    /// By the present tables, before the first programme.
    found: Vec<VideoProgram>,
    /// The tables counted as known when those were found.
    was_known: bool,
    /// All elementary streams of the present tables, before the first programme.
    pids: BTreeSet<u16>,
    /// Since when a stream without video to shape comes, and its last packet.
    unusable: Option<(Timestamp, Timestamp)>,
}

impl ProgramSearch {
    pub(super) fn new(programs: Programs) -> ProgramSearch {
        ProgramSearch {
            programs,
            table: ProgramTable::default(),
            since: None,
            found: Vec::new(),
            was_known: false,
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
    ) -> Result<&[VideoProgram], Error> {
        let was_complete = self.table.is_complete();
        let has_changed = self.table.push(packet);
        if has_changed {
            if was_complete {
                self.read_anew(packet, held);
            }
            (self.since, self.unusable) = (Some(now), None);
            self.pids = self.table.elementary_pids();
        }
        let is_known = self.is_known(now);
        if has_changed || is_known != self.was_known {
            (self.found, self.was_known) = (self.wanted(is_known, None), is_known);
        }
        if self.found.is_empty() && self.is_refused(now, packet) {
            let number = if let Programs::One(number) = self.programs { number } else { None };
            let error = self.table.no_video(number);
            *self = ProgramSearch::new(self.programs);
            return Err(error);
        }
        Ok(&self.found)
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
        now.since(since) > REFUSED_AFTER
    }

    /// While `present` is shaped, alone or beside others: the programmes of tables that have changed, once they are known.
    pub(super) fn next(
        &mut self,
        now: Timestamp,
        packet: &PacketView,
        present: Option<u16>,
    ) -> Option<Vec<VideoProgram>> {
        if self.table.push(packet) {
            self.look_again(now);
        }
        self.since?;
        let is_known = self.is_known(now);
        let wanted = self.wanted(is_known, present);
        if is_known || !wanted.is_empty() {
            self.since = None;
        }
        (!wanted.is_empty()).then_some(wanted)
    }

    /// Gives the programmes of the present tables once more.
    pub(super) fn look_again(&mut self, now: Timestamp) {
        self.since.get_or_insert(now);
    }

    fn is_known(&self, now: Timestamp) -> bool {
        self.table.is_complete() || self.since.is_some_and(|since| now.since(since) > TABLES_WAIT)
    }

    /// The programmes to shape by the present tables; of all, once all are known.
    fn wanted(&self, is_known: bool, present: Option<u16>) -> Vec<VideoProgram> {
        let programs = self.table.with_video();
        let of = |number: u16| programs.iter().find(|program| program.number == number);
        match self.programs {
            Programs::One(None) => present.and_then(of).or(programs.first()).copied().into_iter().collect(),
            Programs::One(Some(number)) => of(number).copied().into_iter().collect(),
            Programs::All if is_known => programs.into_iter().take(MOST_PROGRAMS).collect(),
            Programs::All => Vec::new(),
        }
    }
}
