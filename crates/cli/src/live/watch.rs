//! The state of a live session in one word, and warnings to the operator.

use crate::failure::{MISSED, note};
use seaway_stream::source::Thinned;
use seaway_stream::{Shortage, Supply};
use std::collections::VecDeque;
use std::fmt;
use std::process::ExitCode;

/// The state of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum State {
    /// The other end was not found yet.
    #[default]
    Waiting,
    /// All is well.
    Live,
    /// Nothing comes from the other end any more.
    Silent,
    /// The picture stands still, though packets come.
    Frozen,
    /// The input gives fewer frames than its rate promises.
    Starved,
    /// Coding takes longer than the time between frames.
    Overloaded,
}

impl State {
    /// As the line, the page and the JSON lines name it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Live => "live",
            Self::Silent => "silent",
            Self::Frozen => "frozen",
            Self::Starved => "starved",
            Self::Overloaded => "overloaded",
        }
    }
}

/// What is seen of a session at an instant.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Seen {
    /// Seconds since the beginning.
    pub(crate) time: f64,
    /// The other end was found.
    pub(crate) has_peer: bool,
    /// What came from the other end so far: packets or reports.
    pub(crate) came: u64,
    /// Seconds without anything from the other end after which a warning follows.
    pub(crate) silence_limit: f64,
    /// Frames shown, at a receiver.
    pub(crate) displayed: Option<u64>,
    /// The supply of frames, at a sender.
    pub(crate) supply: Option<Supply>,
    /// Coded pictures that were left out, at a sender that copies.
    pub(crate) thinned: Thinned,
}

/// Watches a session.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    state: State,
    came: Changed,
    displayed: Changed,
    /// The supply of the last [`WINDOW`] seconds.
    supplies: VecDeque<(f64, Supply)>,
    peer_is_silent: bool,
    input_is_silent: bool,
    shortage: Option<Shortage>,
    thinned: Thinned,
    /// When pictures were left out last.
    thinned_at: Option<f64>,
}

/// After so many seconds without it another loss of coded pictures causes another warning.
const QUIET: f64 = 10.0;
/// The supply is judged over so many seconds.
const WINDOW: f64 = 3.0;
/// An input that gave nothing for so many seconds has stalled.
const STALL: f64 = 1.0;
/// One that has not begun gets so many.
const START: f64 = 2.0;
/// A picture that is older stands still, seconds.
const FREEZE: f64 = 0.5;

/// A count, and when it grew last.
#[derive(Debug, Clone, Copy, Default)]
struct Changed {
    count: u64,
    at: f64,
}

impl Changed {
    fn set(&mut self, time: f64, count: u64) {
        if count != self.count {
            *self = Self { count, at: time };
        }
    }
}

impl Watch {
    /// The present state.
    pub(crate) const fn state(&self) -> State {
        self.state
    }

    /// Takes what is seen; gives the warnings that are new.
    pub(crate) fn observe(&mut self, seen: &Seen) -> Vec<String> {
        let mut warnings = Vec::new();
        self.came.set(seen.time, seen.came);
        self.displayed.set(seen.time, seen.displayed.unwrap_or(0));
        self.observe_peer(seen, &mut warnings);
        if let Some(supply) = seen.supply {
            self.observe_input(seen.time, &supply, &mut warnings);
            self.observe_shortage(seen.time, supply, &mut warnings);
        }
        self.observe_thinning(seen, &mut warnings);
        self.state = self.judge(seen);
        warnings
    }

    fn judge(&self, seen: &Seen) -> State {
        let is_frozen = || seen.displayed.is_some() && seen.time - self.displayed.at > FREEZE;
        match self.shortage {
            _ if !seen.has_peer => State::Waiting,
            _ if self.peer_is_silent => State::Silent,
            _ if self.input_is_silent => State::Starved,
            Some(Shortage::Input) => State::Starved,
            Some(Shortage::Encoder) => State::Overloaded,
            None if is_frozen() => State::Frozen,
            None => State::Live,
        }
    }

    fn observe_peer(&mut self, seen: &Seen, warnings: &mut Vec<String>) {
        let silence = seen.time - self.came.at;
        let is_silent = seen.has_peer && silence >= seen.silence_limit;
        if is_silent != std::mem::replace(&mut self.peer_is_silent, is_silent) {
            warnings.push(if is_silent {
                format!("nothing has come from the other end for {silence:.0} s")
            } else {
                "the other end is back".into()
            });
        }
    }

    fn observe_input(&mut self, time: f64, supply: &Supply, warnings: &mut Vec<String>) {
        let silence = supply.silent.as_secs_f64();
        let silence_limit = if supply.captured == 0 { START } else { STALL };
        let is_silent = silence >= silence_limit;
        if is_silent != std::mem::replace(&mut self.input_is_silent, is_silent) {
            warnings.push(match supply.captured {
                0 if is_silent => format!("the input has given no picture for {silence:.0} s"),
                _ if is_silent => format!("the input stalls: no picture for {silence:.0} s"),
                _ => "the input gives pictures again".into(),
            });
            // It is judged afresh.
            self.supplies.clear();
            self.supplies.push_back((time, *supply));
        }
    }

    fn observe_thinning(&mut self, seen: &Seen, warnings: &mut Vec<String>) {
        let before = std::mem::replace(&mut self.thinned, seen.thinned);
        if seen.thinned == before {
            return;
        }
        let last = self.thinned_at.replace(seen.time);
        let until_key = seen.thinned.until_key > before.until_key;
        let is_new = last.is_none_or(|last| seen.time - last >= QUIET) || until_key && before.until_key == 0;
        if is_new {
            let what =
                if until_key { "all until the next key frame" } else { "those that others can do without" };
            warnings.push(format!("the network does not carry the coded pictures: {what} are left out"));
        }
    }

    fn observe_shortage(&mut self, time: f64, supply: Supply, warnings: &mut Vec<String>) {
        self.supplies.push_back((time, supply));
        while self.supplies.get(1).is_some_and(|(at, _)| time - at >= WINDOW) {
            self.supplies.pop_front();
        }
        let Some((at, earlier)) = self.supplies.front() else { return };
        let span = time - at;
        if span < WINDOW || self.input_is_silent {
            return;
        }
        let recent = supply.since(earlier);
        let shortage = recent.shortage();
        if shortage != std::mem::replace(&mut self.shortage, shortage) {
            let (captured, due) = (recent.captured as f64 / span, recent.due() as f64 / span);
            let what = format!("{captured:.1} of {due:.1} pictures/s");
            warnings.push(match shortage {
                Some(Shortage::Input) => format!("the input is too slow: it gives {what}"),
                Some(Shortage::Encoder) => {
                    format!("the encoder is too slow: it codes {what}; lower their size or rate")
                }
                None => "the pictures keep up again".into(),
            });
        }
    }
}

/// Frames that were due over a whole session and did not come.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Missed(pub(crate) Shortage, pub(crate) Supply);

impl Missed {
    /// Says it; gives the exit code of a missed threshold.
    pub(crate) fn report(&self) -> ExitCode {
        note(&self.to_string());
        ExitCode::from(MISSED)
    }
}

impl fmt::Display for Missed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(shortage, supply) = self;
        let why = match shortage {
            Shortage::Input => "the input was too slow",
            Shortage::Encoder => "the encoder was too slow",
        };
        write!(f, "{} of {} pictures that were due did not come: {why}", supply.missing, supply.due())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seaway_units::TimeDelta;

    fn at(time: f64, supply: Supply) -> Seen {
        let came = (time * 10.0) as u64;
        let supply = Some(supply);
        Seen { time, has_peer: true, came, silence_limit: 2.0, supply, ..Seen::default() }
    }

    fn supply(captured: u64, missing: u64, coded: i64) -> Supply {
        let coded = TimeDelta::from_millis(coded);
        Supply { captured, missing, coded, waited: TimeDelta::from_secs(1), silent: TimeDelta::ZERO }
    }

    #[test]
    fn a_shortage_causes_one_warning_with_its_cause() {
        for (coding, state, wanted) in [
            (0, State::Starved, "the input is too slow: it gives 10.0 of 25.0"),
            (9000, State::Overloaded, "the encoder"),
        ] {
            let mut watch = Watch::default();
            let seen =
                |second: u64| at(second as f64, supply(second * 10, second * 15, coding * second as i64));
            let warnings: Vec<String> = (0..10).flat_map(|second| watch.observe(&seen(second))).collect();
            assert_eq!(warnings.len(), 1, "{warnings:?}");
            assert!(warnings[0].starts_with(wanted), "{warnings:?}");
            assert_eq!(watch.state(), state);
        }
    }

    #[test]
    fn silence_of_either_end_causes_a_warning_and_its_end_another() {
        let mut watch = Watch::default();
        let mut supply = supply(100, 0, 0);
        assert_eq!(watch.observe(&at(4.0, supply)), Vec::<String>::new());
        assert_eq!(watch.state(), State::Live);
        let silent = Seen { came: 40, ..at(7.0, supply) };
        assert_eq!(watch.observe(&silent), ["nothing has come from the other end for 3 s"]);
        assert_eq!(watch.state(), State::Silent);
        assert_eq!(watch.observe(&at(7.5, supply)), ["the other end is back"]);
        supply.silent = TimeDelta::from_millis(1500);
        assert_eq!(watch.observe(&at(8.0, supply)), ["the input stalls: no picture for 2 s"]);
        assert_eq!(watch.state(), State::Starved);
        supply.silent = TimeDelta::ZERO;
        assert_eq!(watch.observe(&at(8.5, supply)), ["the input gives pictures again"]);
    }

    #[test]
    fn a_picture_that_stands_still_is_frozen() {
        let mut watch = Watch::default();
        let seen = |time, displayed| Seen {
            time,
            has_peer: true,
            came: (time * 10.0) as u64,
            silence_limit: 2.0,
            displayed: Some(displayed),
            ..Seen::default()
        };
        watch.observe(&seen(1.0, 25));
        assert_eq!(watch.state(), State::Live);
        watch.observe(&seen(2.0, 25));
        assert_eq!(watch.state(), State::Frozen);
    }
}
