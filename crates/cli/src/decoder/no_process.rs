//! Where pipes cannot be waited for with a limit, the decoder has no process of its own.

use seaway_media::Error;
use seaway_media::decoder::{Decoded, ReceivedFrame, VideoDecoder};
use std::convert::Infallible;
use std::io;

/// A decoder in a process of its own, which there is not.
#[derive(Debug)]
pub(super) struct DecoderProcess(Infallible);

impl DecoderProcess {
    /// Refuses.
    ///
    /// # Errors
    /// Always.
    pub(super) fn start() -> io::Result<Self> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "not on this system"))
    }
}

impl VideoDecoder for DecoderProcess {
    fn decode(&mut self, _frame: &ReceivedFrame<'_>) -> Result<Decoded, Error> {
        match self.0 {}
    }
}
