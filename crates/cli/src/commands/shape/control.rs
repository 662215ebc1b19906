//! The control channel of `seaway shape`: rates, a line each, from a descriptor, a pipe or a file.

use crate::failure::{Failure, note};
use seaway_mpeg::pipeline::{Schedule, parse_change};
use seaway_mpeg::shape::Target;
use seaway_net::Clock;
use seaway_units::{Bitrate, TimeDelta};
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;
use std::sync::mpsc::{Receiver, sync_channel};

/// The longest line that is read, in octets.
const LONGEST_LINE: usize = 4096;
/// What has no end of a line for so long is no text.
const LONGEST_SKIPPED: usize = 1 << 20;
/// Changes of a file, at most.
const MOST_CHANGES: usize = 100_000;
/// Changes of a pipe that may wait, and those that are taken together.
const WAITING: usize = 1024;
const AT_ONCE: usize = 64;
/// Lines that cannot be read are reported so often.
const MOST_REPORTED: u64 = 100;
/// Behind them a pipe is read so often: a writer that repeats nonsense takes no processor.
const PAUSE: TimeDelta = TimeDelta::from_millis(20);

/// A rate for the next picture on, or from a time on.
pub(super) type Change = (Option<TimeDelta>, Bitrate);

/// Lines that a thread of its own reads, so that a silent writer holds up nothing.
#[derive(Debug)]
pub(super) struct Control {
    name: String,
    /// A change was dropped, which is reported once.
    is_full: bool,
    /// Those of a file.
    early: Vec<Change>,
    changes: Receiver<Change>,
}

impl Control {
    /// Opens `path`; `/dev/fd/3` is descriptor 3. A named pipe may have no writer yet, and one writer behind the other. The lines of
    /// a file are all there before the first picture.
    pub(super) fn open(path: &str) -> Result<Control, Failure> {
        let failed = |error| Failure::input(&format!("{path}: {error}"));
        let kind = std::fs::metadata(path).map_err(failed)?.file_type();
        if kind.is_dir() {
            return Err(failed(ErrorKind::IsADirectory.into()));
        }
        let (sender, changes) = sync_channel(WAITING);
        let mut early = Vec::new();
        if kind.is_file() {
            let take = |change| {
                early.push(change);
                early.len() < MOST_CHANGES
            };
            File::open(path).and_then(|file| read_changes(path, file, None, take)).map_err(failed)?;
            if early.len() >= MOST_CHANGES {
                note(&format!("{path}: lines behind {MOST_CHANGES} changes of the rate are ignored"));
            }
        } else {
            let name = path.to_owned();
            std::thread::spawn(move || {
                let read = open_pipe(&name).and_then(|pipe| {
                    read_changes(&name, pipe, Some(Clock::start()), |change| sender.send(change).is_ok())
                });
                if let Err(error) = read {
                    note(&format!("{name}: {error}; the last rate stays"));
                }
            });
        }
        Ok(Control { name: path.to_owned(), is_full: false, early, changes })
    }

    /// Hands what has come to `change`, which returns false where too many changes are to come already. Never blocks.
    pub(super) fn apply(&mut self, mut change: impl FnMut(Option<TimeDelta>, Target) -> bool) {
        for (at, rate) in self.take() {
            if !change(at, Target::Rate(rate)) && !std::mem::replace(&mut self.is_full, true) {
                note(&format!(
                    "{}: changes beyond {} that are to come are ignored",
                    self.name,
                    Schedule::MOST_CHANGES
                ));
            }
        }
    }

    /// The changes that have come; of a pipe a bounded number at a time.
    fn take(&mut self) -> Vec<Change> {
        let mut taken = std::mem::take(&mut self.early);
        taken.extend(self.changes.try_iter().take(AT_ONCE));
        taken
    }
}

/// A named pipe is opened for both directions, where that is allowed: then it does not end with its first writer.
fn open_pipe(path: &str) -> io::Result<File> {
    let is_named = Path::new(path).canonicalize().is_ok();
    let both = is_named.then(|| File::options().read(true).write(true).open(path));
    both.and_then(Result::ok).map_or_else(|| File::open(path), Ok)
}

/// Reports lines that cannot be read, and calls `take` with all others until the end or until it wants no more. With a clock it
/// pauses between reads once there were many of the former.
fn read_changes(
    name: &str,
    mut file: impl Read,
    clock: Option<Clock>,
    mut take: impl FnMut(Change) -> bool,
) -> io::Result<()> {
    let (mut lines, mut buffer, mut bad) = (Lines::default(), [0; LONGEST_LINE], 0);
    loop {
        let length = match file.read(&mut buffer) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            length => length?,
        };
        for (number, change) in if length > 0 { lines.push(&buffer[..length]) } else { lines.finish() } {
            match change {
                Ok(change) if !take(change) => return Ok(()),
                Ok(_) => {}
                Err(problem) => {
                    bad += 1;
                    if bad <= MOST_REPORTED {
                        note(&format!("{name}: line {number}: {problem}; ignored"));
                    }
                    if bad == MOST_REPORTED {
                        note(&format!("{name}: further lines that cannot be read are not reported"));
                    }
                }
            }
        }
        if length == 0 {
            return Ok(());
        }
        if let Some(clock) = clock.filter(|_| bad > MOST_REPORTED) {
            clock.sleep_until(clock.now() + PAUSE);
        }
        if lines.skipped > LONGEST_SKIPPED {
            return Err(io::Error::new(ErrorKind::InvalidData, "no lines of text"));
        }
    }
}

/// A line with its number.
type Line = (u64, Result<Change, String>);

/// Splits octets into lines.
#[derive(Debug, Default)]
struct Lines {
    /// The beginning of a line.
    pending: Vec<u8>,
    /// Octets of a line that is too long.
    skipped: usize,
    /// Lines that have ended.
    ended: u64,
}

impl Lines {
    /// The lines that end here, but those without content. The last one may lack its line feed: a writer may not send it.
    fn push(&mut self, octets: &[u8]) -> Vec<Line> {
        let mut lines = Vec::new();
        for piece in octets.split_inclusive(|&octet| octet == b'\n') {
            let length = self.pending.len() + piece.len();
            if self.skipped > 0 || length > LONGEST_LINE {
                self.skipped += length;
                self.pending.clear();
            } else {
                self.pending.extend_from_slice(piece);
            }
            if piece.ends_with(b"\n") {
                lines.extend(self.finish());
            }
        }
        if let Some(Ok(change)) = parse(&self.pending) {
            lines.push((self.ended + 1, Ok(change)));
            self.pending.clear();
        }
        lines
    }

    /// The line that ends here, if it has content.
    fn finish(&mut self) -> Vec<Line> {
        self.ended += 1;
        let line = match self.skipped {
            0 => parse(&self.pending),
            _ => Some(Err(format!("longer than {LONGEST_LINE} octets"))),
        };
        self.pending.clear();
        self.skipped = 0;
        line.map(|line| (self.ended, line)).into_iter().collect()
    }
}

/// Reads `rate`, for the next picture on, or `time, rate`; `None` where there is nothing before a comment.
fn parse(line: &[u8]) -> Option<Result<Change, String>> {
    let line = String::from_utf8_lossy(line);
    let content = line.split('#').next().unwrap_or_default().trim();
    match content {
        "" => None,
        _ if content.contains(',') => Some(parse_change(content).map(|(time, rate)| (Some(time), rate))),
        _ => Some(content.parse().map(|rate| (None, rate)).map_err(|error| format!("{error}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MBPS: Bitrate = Bitrate::from_mbps(3);

    #[test]
    fn a_line_is_a_rate_or_a_time_and_a_rate() {
        assert_eq!(parse(b"3 Mbit/s"), Some(Ok((None, MBPS))));
        assert_eq!(parse(b"2 s, 3 Mbit/s # later\n"), Some(Ok((Some(TimeDelta::from_secs(2)), MBPS))));
        assert_eq!((parse(b" # 3 Mbit/s"), parse(b"\r\n")), (None, None));
        for wrong in
            [&b"3"[..], b"soon, 3 Mbit/s", b"-3 Mbit/s", b"nan Mbit/s", b"99999999999999999 Mbit/s", b"\xff"]
        {
            assert!(matches!(parse(wrong), Some(Err(_))), "{wrong:?}");
        }
    }

    /// The lines of pieces, with their numbers; 0 for one that cannot be read.
    fn lines(pieces: &[&[u8]]) -> Vec<(u64, u64)> {
        let mut lines = Lines::default();
        let mut all: Vec<Line> = pieces.iter().flat_map(|piece| lines.push(piece)).collect();
        all.extend(lines.finish());
        all.into_iter().map(|(number, line)| (number, line.map_or(0, |(_, rate)| rate.as_bps()))).collect()
    }

    #[test]
    fn lines_are_the_same_in_any_pieces() {
        let text: &[u8] = b"1 bit/s\n\n# none\nfast\n2 bit/s\n\xffthree\n9 s,4 bit/s";
        let expected = [(1, 1), (4, 0), (5, 2), (6, 0), (7, 4)];
        for length in 1..text.len() {
            assert_eq!(lines(&text.chunks(length).collect::<Vec<_>>()), expected, "{length}");
        }
    }

    #[test]
    fn a_rate_counts_before_its_line_feed_and_a_long_line_not_at_all() {
        assert_eq!(Lines::default().push(b"3 Mbit/s"), [(1, Ok((None, MBPS)))]);
        let long = [&[b'x'; 5000][..], b"3 bit/s\n4 bit/s\n"].concat();
        for length in [7, 4096, 9000] {
            assert_eq!(lines(&long.chunks(length).collect::<Vec<_>>()), [(1, 0), (2, 4)], "{length}");
        }
    }

    /// Neither an endless line nor endless lines keep the reader, and what is taken at a time is bounded.
    #[test]
    fn what_has_no_end_is_bounded() {
        let endless = io::repeat(b' ');
        assert_eq!(read_changes("x", endless, None, |_| true).unwrap_err().kind(), ErrorKind::InvalidData);
        let (sender, changes) = sync_channel(WAITING);
        (0..WAITING).for_each(|_| sender.send((None, MBPS)).unwrap());
        let mut control =
            Control { name: "x".to_owned(), is_full: false, early: vec![(None, MBPS)], changes };
        assert_eq!(control.take().len(), 1 + AT_ONCE);
        assert!(!control.is_full);
        control.apply(|_, _| false);
        assert!(control.is_full);
    }
}
