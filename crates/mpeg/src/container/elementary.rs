//! Elementary streams: nothing around the video.

use super::track::VideoTrack;

/// The machine for a bare video stream.
#[derive(Debug)]
pub(super) struct Elementary {
    /// Bytes taken and not given back, from `start` on.
    waiting: Vec<u8>,
    start: u64,
    memory: usize,
    output: Vec<u8>,
}

impl Elementary {
    pub(super) fn new(memory: usize) -> Elementary {
        Elementary { waiting: Vec::new(), start: 0, memory, output: Vec::new() }
    }

    pub(super) fn push(&mut self, bytes: &[u8], track: &mut VideoTrack) {
        self.waiting.extend_from_slice(bytes);
        track.push(bytes);
        if self.waiting.len() > self.memory {
            track.give_up();
            self.advance(track);
        }
    }

    pub(super) fn advance(&mut self, track: &mut VideoTrack) {
        let ready = self.start..track.resolved();
        if ready.is_empty() {
            return;
        }
        let len = (ready.end - ready.start) as usize;
        track.render(&ready, &self.waiting[..len], &mut self.output);
        self.waiting.drain(..len);
        self.start = ready.end;
        track.forget(self.start, |_| ());
    }

    pub(super) fn output(&mut self) -> &mut Vec<u8> {
        &mut self.output
    }
}
