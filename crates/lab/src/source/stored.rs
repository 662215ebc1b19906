//! Frames of a stored clip, whatever the target is: coded once, played at its frame rate, over at its end.

use super::model::{FrameSource, ModelFrame, interval, octets};
use seaway_session::FrameKind;
use seaway_units::{Bitrate, TimeDelta, Timestamp};
use std::sync::Arc;

/// The frames of a clip, or of every n-th group of its pictures: S003 section II.C deals groups out to connections,
/// each of which plays its own back to back.
#[derive(Debug)]
pub(crate) struct Stored {
    frames: Arc<[u32]>,
    fps: f64,
    /// Frames of a group of pictures; the first is a key frame.
    group: usize,
    /// Of so many players, which this is.
    part: (usize, usize),
    next: usize,
}

impl Stored {
    /// `group` and the number of players are above zero.
    pub(crate) fn new(frames: Arc<[u32]>, fps: f64, group: usize, part: (usize, usize)) -> Self {
        Self { frames, fps, group, part, next: part.0 * group }
    }

    /// Reads sizes in octets, one a line; `#` begins a remark.
    pub(crate) fn parse(text: &str) -> Result<Arc<[u32]>, String> {
        let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
        let sizes =
            lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')).map(|(number, line)| {
                let size = line.parse::<u32>().ok().filter(|size| (1..=10_000_000).contains(size));
                let shown: String = line.chars().take(40).collect();
                size.ok_or_else(|| {
                    format!("line {number}: found {shown:?}, expected octets from 1 to 10000000")
                })
            });
        let sizes: Arc<[u32]> = sizes.collect::<Result<_, _>>()?;
        if sizes.is_empty() { Err("line 1: found no frame".to_owned()) } else { Ok(sizes) }
    }
}

impl FrameSource for Stored {
    fn interval(&self) -> TimeDelta {
        interval(self.fps)
    }

    fn on_rate(&mut self, _now: Timestamp, _rate: Bitrate) {}

    fn on_key_frame_wanted(&mut self) {}

    fn is_over(&self) -> bool {
        self.next >= self.frames.len()
    }

    fn frame(&mut self, _now: Timestamp) -> ModelFrame {
        let size = octets(f64::from(self.frames.get(self.next).copied().unwrap_or_default()));
        let is_key = self.next.is_multiple_of(self.group);
        self.next += 1;
        if self.next.is_multiple_of(self.group) {
            self.next += self.group * (self.part.1 - 1);
        }
        let kind = if is_key { FrameKind::Key } else { FrameKind::Reference };
        ModelFrame { size, target: size, kind, interval: interval(self.fps) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn played(part: (usize, usize)) -> Vec<u64> {
        let frames = Stored::parse("# ten\n1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n").unwrap();
        let mut source = Stored::new(frames, 15.0, 3, part);
        let mut sizes = Vec::new();
        while !source.is_over() {
            sizes.push(source.frame(Timestamp::ZERO).size.as_bytes());
        }
        sizes
    }

    #[test]
    fn groups_are_dealt_out_and_the_short_one_has_its_player() {
        assert_eq!(played((0, 1)), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
        assert_eq!(played((0, 2)), [1, 2, 3, 7, 8, 9]);
        assert_eq!(played((1, 2)), [4, 5, 6, 10]);
        // More players than groups: the rest idle.
        assert_eq!(played((4, 5)), [0; 0]);
    }

    #[test]
    fn what_is_no_size_is_refused() {
        for text in ["", "x\n", "0\n", "-1\n", "99999999\n"] {
            assert!(Stored::parse(text).is_err(), "{text:?}");
        }
    }
}
