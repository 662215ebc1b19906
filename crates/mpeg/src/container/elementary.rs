//! Elementary streams: nothing around the video.

use super::config::Config;
use super::error::Error;
use super::format::{Container, ContainerReport};
use super::track::VideoTrack;
use crate::header::{PictureKind, SequenceState};
use crate::picture::Picture;
use crate::startcode::{self, Found};
use crate::unit::Splitter;

#[derive(Debug)]
pub(super) struct ElementaryStream {
    /// Input that is not yet written, behind `written` bytes that are.
    pending: Vec<u8>,
    written: usize,
    /// Position of the first byte that is not yet written.
    start: u64,
    memory: usize,
    output: Vec<u8>,
}

impl ElementaryStream {
    pub(super) fn new(config: &Config) -> ElementaryStream {
        let (pending, output) = (Vec::new(), Vec::new());
        ElementaryStream { pending, written: 0, start: 0, memory: config.memory, output }
    }

    /// Drops the bytes that are written once they are half of the memory, so that each byte moves about once.
    fn drop_written(&mut self) {
        if self.written > self.pending.len() / 2 {
            self.pending.drain(..self.written);
            self.written = 0;
        }
    }
}

impl Container for ElementaryStream {
    fn push(&mut self, bytes: &[u8], track: &mut VideoTrack) -> Result<(), Error> {
        self.drop_written();
        self.pending.extend_from_slice(bytes);
        track.push(bytes);
        if self.pending.len() - self.written > self.memory {
            track.copy_pending();
            self.advance(track)?;
        }
        Ok(())
    }

    fn finish(&mut self, track: &mut VideoTrack) -> Result<(), Error> {
        track.close();
        Ok(())
    }

    fn advance(&mut self, track: &mut VideoTrack) -> Result<(), Error> {
        let ready = self.start..track.writable;
        if !ready.is_empty() {
            let len = (ready.end - ready.start) as usize;
            let end = self.written + len;
            track.write(&ready, &self.pending[self.written..end], &mut self.output);
            self.written = end;
            self.start = ready.end;
            track.release(self.start, |_| ());
        }
        Ok(())
    }

    fn output(&mut self) -> &mut Vec<u8> {
        &mut self.output
    }

    fn report(&self) -> Option<ContainerReport> {
        None
    }
}

/// The most bytes of a packet of a program stream. A recording that starts inside a packet begins with video, so
/// that much is searched for a pack header before it counts as elementary.
const LONGEST_PACKET: usize = 6 + 0xffff;

/// True where a stream begins with a sequence header.
pub(super) fn begins(head: &[u8]) -> bool {
    startcode::codes(head).next().is_some_and(|first| first.leads && is_sequence_header(&first))
}

/// True where a stream is a part of an elementary one that begins inside a picture: it has a sequence header somewhere,
/// or, with `complete`, at least two slices, and nothing but video around them.
pub(super) fn probe(head: &[u8], complete: bool) -> bool {
    let has_header = || startcode::codes(head).any(|found| is_sequence_header(&found));
    let is_slice = |found: &Found<'_>| (0x01..=0xaf).contains(&found.code) && !found.leads;
    let enough = (complete || head.len() > LONGEST_PACKET + 16) && has_header()
        || complete && startcode::codes(head).filter(is_slice).count() >= 2;
    enough && is_nothing_but_video(head)
}

/// True where each picture behind the first sequence header is sound, but for the last, which may be cut. The headers of
/// a container that is not known are inside pictures or behind them.
fn is_nothing_but_video(head: &[u8]) -> bool {
    let mut splitter = Splitter::default();
    splitter.push(head);
    let mut state = SequenceState::default();
    let mut picture = Picture::default();
    while let Some(unit) = splitter.pull() {
        let Some(context) = unit.read_headers(&mut state) else { continue };
        if context.kind() != PictureKind::D {
            unit.read_slices(&context, &mut picture);
            if picture.slices.iter().any(|slice| slice.damage.is_some()) {
                return false;
            }
        }
    }
    startcode::codes(head).all(|found| found.code < PACK_CODES)
}

/// Start codes from here on are of the system layer.
const PACK_CODES: u8 = 0xb9;

/// True for a sequence header with a size and a frame rate.
fn is_sequence_header(found: &Found<'_>) -> bool {
    let (0xb3, [width, height_high, height_low, rates, ..]) = (found.code, found.tail) else { return false };
    let horizontal = usize::from(*width) << 4 | usize::from(*height_high) >> 4;
    let vertical = usize::from(height_high & 15) << 8 | usize::from(*height_low);
    horizontal > 0 && vertical > 0 && rates & 15 != 0
}
