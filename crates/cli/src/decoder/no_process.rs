//! Without Unix sockets the decoder has no process of its own.

use crate::failure::Failure;
use seaway_media::Error;
use seaway_media::decoder::{Decoded, ReceivedFrame, VideoDecoder};
use std::convert::Infallible;
use std::io;
use std::process::ExitCode;

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

/// Refuses.
///
/// # Errors
/// Always.
pub(crate) fn serve() -> Result<ExitCode, Failure> {
    Err(Failure::running(&"the decoder has no process of its own on this system"))
}
