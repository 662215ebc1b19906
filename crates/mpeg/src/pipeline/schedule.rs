//! A target that changes over the time of the video.

use std::fmt;
use std::str::FromStr;

use seaway_units::{Bitrate, TimeDelta};

use crate::shape::Target;

/// Targets, each from an instant of the video on, counted from its first picture in coding order.
///
/// The text form has one line `time, rate` for each. The first time is zero and the times rise. Empty lines and
/// comments behind `#` are ignored.
///
/// ```
/// use seaway_mpeg::pipeline::Schedule;
/// use seaway_mpeg::shape::Target;
/// use seaway_units::{Bitrate, TimeDelta};
///
/// let schedule: Schedule = "0 s, 4 Mbit/s\n10 s, 2.5 Mbit/s  # less motion".parse().unwrap();
/// assert_eq!(schedule.at(TimeDelta::from_secs(12)), Target::Rate(Bitrate::from_kbps(2500)));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    first: Target,
    later: Vec<(TimeDelta, Target)>,
}

impl Schedule {
    /// One target throughout.
    pub fn constant(target: Target) -> Schedule {
        Schedule { first: target, later: Vec::new() }
    }

    /// The most changes that [`Schedule::change`] makes.
    pub const MOST_CHANGES: usize = 100_000;

    /// Sets the target from `time` on. What was to change later is dropped. False, without effect, where
    /// [`Schedule::MOST_CHANGES`] come before.
    pub fn change(&mut self, time: TimeDelta, target: Target) -> bool {
        let before = self.later.partition_point(|(from, _)| *from < time);
        if before >= Self::MOST_CHANGES {
            return false;
        }
        self.later.truncate(before);
        if time <= TimeDelta::ZERO {
            self.first = target;
        } else {
            self.later.push((time, target));
        }
        true
    }

    /// As [`Schedule::change`], at `now` or later. Changes before `now` are forgotten, so that those of a long run are not kept.
    pub(crate) fn change_from(&mut self, now: TimeDelta, at: Option<TimeDelta>, target: Target) -> bool {
        let passed = self.later.partition_point(|(from, _)| *from <= now);
        if let Some((_, present)) = self.later.drain(..passed).next_back() {
            self.first = present;
        }
        self.change(at.unwrap_or(now).max(now), target)
    }

    /// The target of a picture that is decoded at `time`.
    pub fn at(&self, time: TimeDelta) -> Target {
        let passed = self.later.partition_point(|(from, _)| *from <= time);
        passed.checked_sub(1).map_or(self.first, |last| self.later[last].1)
    }
}

/// Reads a line `time, rate`.
///
/// # Errors
/// What is wrong with it.
pub fn parse_change(line: &str) -> Result<(TimeDelta, Bitrate), String> {
    let Some((time, rate)) = line.split_once(',') else {
        return Err(format!("{line:?}: expected a time, a comma and a rate"));
    };
    let time = time.parse().map_err(|error| format!("{error}"))?;
    let rate = rate.parse().map_err(|error| format!("{error}"))?;
    Ok((time, rate))
}

/// An error in the text of a [`Schedule`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleError {
    /// The line, from 1; 0 for the text as a whole.
    pub line: usize,
    /// The error.
    pub problem: String,
}

impl fmt::Display for ScheduleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.problem),
            line => write!(f, "line {line}: {}", self.problem),
        }
    }
}

impl std::error::Error for ScheduleError {}

impl FromStr for Schedule {
    type Err = ScheduleError;

    fn from_str(text: &str) -> Result<Schedule, ScheduleError> {
        let mut entries: Vec<(TimeDelta, Target)> = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let content = line.split('#').next().unwrap_or_default().trim();
            if content.is_empty() {
                continue;
            }
            let wrong = |problem: String| ScheduleError { line: number + 1, problem };
            let (time, rate) = parse_change(content).map_err(wrong)?;
            match entries.last() {
                None if time != TimeDelta::ZERO => {
                    return Err(wrong(format!("starts at {time}: expected 0 s")));
                }
                Some((before, _)) if time <= *before => {
                    return Err(wrong(format!("{time} is not after {before}")));
                }
                _ => entries.push((time, Target::Rate(rate))),
            }
        }
        let mut entries = entries.into_iter();
        let Some((_, first)) = entries.next() else {
            return Err(ScheduleError { line: 0, problem: "no line with a time and a rate".to_owned() });
        };
        Ok(Schedule { first, later: entries.collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &str) -> String {
        text.parse::<Schedule>().unwrap_err().to_string()
    }

    #[test]
    fn targets_hold_to_the_next() {
        let schedule: Schedule = "# evening\n0 s, 4 Mbit/s\n\n40 ms,1 Mbit/s\n2 s, 3 Mbit/s".parse().unwrap();
        let rate = |millis| schedule.at(TimeDelta::from_millis(millis));
        let mbps = |mbps| Target::Rate(Bitrate::from_mbps(mbps));
        assert_eq!([rate(0), rate(39), rate(40), rate(1999)], [mbps(4), mbps(4), mbps(1), mbps(1)]);
        assert_eq!([rate(2000), rate(1_000_000)], [mbps(3), mbps(3)]);
    }

    #[test]
    fn a_change_replaces_what_was_to_come() {
        let mut schedule: Schedule = "0 s, 4 Mbit/s\n2 s, 3 Mbit/s".parse().unwrap();
        let mbps = |mbps| Target::Rate(Bitrate::from_mbps(mbps));
        schedule.change(TimeDelta::from_secs(1), mbps(2));
        assert_eq!(schedule.at(TimeDelta::from_millis(999)), mbps(4));
        assert_eq!(schedule.at(TimeDelta::from_secs(3)), mbps(2));
        schedule.change(TimeDelta::from_secs(1), mbps(1));
        assert_eq!(schedule.at(TimeDelta::from_secs(1)), mbps(1));
    }

    #[test]
    fn changes_that_have_passed_are_forgotten_and_others_bounded() {
        let rate = |kbps| Target::Rate(Bitrate::from_kbps(kbps));
        let mut schedule = Schedule::constant(rate(1));
        let at = |millis| TimeDelta::from_millis(millis);
        for millis in 0..300_000 {
            assert!(schedule.change_from(at(millis), None, rate(millis as u64)));
            assert!(schedule.later.len() < 3);
        }
        assert_eq!(schedule.at(at(300_000)), rate(299_999));
        let later = (0..).map(|index| at(300_000 + index));
        let taken = later.take_while(|time| schedule.change_from(at(300_000), Some(*time), rate(7))).count();
        assert!((Schedule::MOST_CHANGES..Schedule::MOST_CHANGES + 2).contains(&taken), "{taken}");
        // An earlier change takes the place of all later ones.
        assert!(schedule.change_from(at(300_000), Some(at(300_010)), rate(8)));
        assert_eq!(schedule.at(at(900_000)), rate(8));
    }

    #[test]
    fn errors_name_the_line() {
        assert!(problem("0 s, 1 Mbit/s\n5 s 2 Mbit/s").starts_with("line 2"));
        assert!(problem("1 s, 1 Mbit/s").contains("expected 0 s"));
        assert!(problem("0 s, 1 Mbit/s\n2 s, 1 Mbit/s\n2 s, 2 Mbit/s").starts_with("line 3"));
        assert!(problem("0 s, 3").contains("unit"));
        assert!(problem("\n# nothing\n").contains("no line"));
    }
}
