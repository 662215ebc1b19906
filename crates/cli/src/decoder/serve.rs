//! The decoder's own process: `seaway decode`.

use super::confine::confine;
use super::protocol::{Kind, Request, read_request, write_kind, write_picture};
use crate::failure::{Failure, note};
use seaway_media::FrameId;
use seaway_media::decoder::{Concealment, Decoded, H264Decoder, ReceivedFrame, VideoDecoder};
use seaway_units::TimeDelta;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::process::ExitCode;

/// Decodes what comes by standard input until it ends. Standard output is the memory for its pictures.
pub(crate) fn serve() -> Result<ExitCode, Failure> {
    let decoder = H264Decoder::new(Concealment::default()).map_err(|error| Failure::running(&error))?;
    for lacking in confine() {
        note(&format!(
            "the decoder has a process of its own, which is less confined than it should be: {lacking}"
        ));
    }
    answer(decoder, io::stdin().lock(), Socket(io::stdin()), io::stdout())
        .map_err(|error| Failure::output(&error))?;
    Ok(ExitCode::SUCCESS)
}

/// The socket, which is standard input in both directions.
struct Socket(io::Stdin);

impl Write for Socket {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        Ok(nix::unistd::write(&self.0, data)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn answer(
    mut decoder: H264Decoder,
    mut input: impl io::Read,
    mut output: impl Write,
    memory: impl AsFd,
) -> io::Result<()> {
    let mut request = Request::default();
    while read_request(&mut input, &mut request)? {
        let after_loss = request.after_loss;
        let frame = ReceivedFrame { data: &request.data, id: FrameId(0), time: TimeDelta::ZERO, after_loss };
        match decoder.decode(&frame) {
            Ok(Decoded::Picture(picture)) => write_picture(&mut output, &memory, &picture)?,
            Ok(Decoded::Unseen(_)) | Err(_) => write_kind(&mut output, Kind::Failed)?,
            Ok(Decoded::Frozen(freeze)) => write_kind(&mut output, Kind::of_freeze(freeze))?,
        }
    }
    Ok(())
}
