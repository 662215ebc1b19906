//! The control channel of `seaway shape`: rates, a line each, from a descriptor, a pipe or a file.

use crate::failure::{Failure, note};
use seaway_mpeg::pipeline::{Pipeline, parse_change};
use seaway_mpeg::shape::Target;
use seaway_units::{Bitrate, TimeDelta};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::sync::mpsc::{Receiver, sync_channel};

/// The longest line that is read, in bytes.
const LONGEST_LINE: u64 = 4096;
/// Lines of a file, at most.
const MOST_LINES: usize = 100_000;
/// Lines of a pipe that may wait.
const WAITING: usize = 1024;

/// Lines that a thread of its own reads, so that a silent writer holds up nothing.
#[derive(Debug)]
pub(super) struct Control {
    name: String,
    /// Lines of a file.
    early: VecDeque<String>,
    lines: Receiver<String>,
    number: u64,
}

impl Control {
    /// Opens `path`; `/dev/fd/3` is descriptor 3. A named pipe may have no writer yet. The lines of a file are all there
    /// before the first picture.
    pub(super) fn open(path: &str) -> Result<Control, Failure> {
        let failed = |error| Failure::input(&format!("{path}: {error}"));
        let is_file = std::fs::metadata(path).map_err(failed)?.is_file();
        let mut early = VecDeque::new();
        let (sender, lines) = sync_channel(WAITING);
        if is_file {
            each_line(path, |line| {
                early.push_back(line);
                early.len() < MOST_LINES
            })
            .map_err(failed)?;
        } else {
            let name = path.to_owned();
            std::thread::spawn(move || {
                if let Err(error) = each_line(&name, |line| sender.send(line).is_ok()) {
                    note(&format!("{name}: {error}; the last rate stays"));
                }
            });
        }
        Ok(Control { name: path.to_owned(), early, lines, number: 0 })
    }

    /// Applies the lines that have come.
    pub(super) fn apply(&mut self, pipeline: &mut Pipeline) {
        while let Some(line) = self.early.pop_front().or_else(|| self.lines.try_recv().ok()) {
            self.number += 1;
            let content = line.split('#').next().unwrap_or_default().trim();
            if content.is_empty() {
                continue;
            }
            match parse(content) {
                Ok((at, rate)) => pipeline.change_target(at, Target::Rate(rate)),
                Err(problem) => note(&format!("{}: line {}: {problem}; ignored", self.name, self.number)),
            }
        }
    }
}

/// Calls `take` with the lines of a file until it ends or `take` wants no more.
fn each_line(path: &str, mut take: impl FnMut(String) -> bool) -> std::io::Result<()> {
    let mut reader = BufReader::new(File::open(path)?);
    loop {
        let mut line = String::new();
        let len = (&mut reader).take(LONGEST_LINE).read_line(&mut line)?;
        if len == 0 || !take(line) {
            return Ok(());
        }
    }
}

/// Reads `rate`, for the next picture on, or `time, rate`.
fn parse(line: &str) -> Result<(Option<TimeDelta>, Bitrate), String> {
    if line.contains(',') {
        return parse_change(line).map(|(time, rate)| (Some(time), rate));
    }
    line.parse().map(|rate| (None, rate)).map_err(|error| format!("{error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_rate_or_a_time_and_a_rate() {
        assert_eq!(parse("3 Mbit/s"), Ok((None, Bitrate::from_mbps(3))));
        assert_eq!(parse("2 s, 3 Mbit/s"), Ok((Some(TimeDelta::from_secs(2)), Bitrate::from_mbps(3))));
        assert!(parse("3").is_err() && parse("soon, 3 Mbit/s").is_err());
    }
}
