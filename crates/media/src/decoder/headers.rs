//! H.264 whose pictures no sink needs: headers alone.

use super::continuity::Continuity;
use super::{Concealment, Decoded, ReceivedFrame, VideoDecoder};
use crate::Error;

/// Says of each access unit whether it can be decoded, and decodes none: for recordings and statistics. It looks at the headers of
/// the slices, so damage inside a slice passes.
#[derive(Debug)]
pub struct HeaderDecoder(Continuity);

impl HeaderDecoder {
    /// At the start of a stream.
    pub fn new() -> Self {
        Self(Continuity::new(Concealment::Freeze))
    }
}

impl Default for HeaderDecoder {
    fn default() -> Self {
        Self::new()
    }
}

impl VideoDecoder for HeaderDecoder {
    fn decode(&mut self, frame: &ReceivedFrame<'_>) -> Result<Decoded, Error> {
        Ok(match self.0.follow(frame) {
            Ok(inspection) => Decoded::Unseen(inspection.size),
            Err(freeze) => Decoded::Frozen(freeze),
        })
    }
}
