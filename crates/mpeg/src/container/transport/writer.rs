//! Writes packets, with the null packets that the multiplex mode asks for.

use super::cbr::CbrMultiplexer;
use super::packet::{NULL_PID, Packet};
use super::report::PacingReport;
use crate::container::config::Multiplex;
use crate::container::error::Error;
use crate::container::track::WrittenPicture;

/// Writes packets in one of the modes of [`Multiplex`].
#[derive(Debug)]
pub(super) struct PacketWriter {
    output: Vec<u8>,
    /// [`Multiplex::Variable`]: the rate between two clock references falls.
    drops_nulls: bool,
    constant: Option<Box<CbrMultiplexer>>,
}

impl PacketWriter {
    pub(super) fn new(multiplex: Multiplex, memory: usize) -> PacketWriter {
        let constant = match multiplex {
            Multiplex::Constant(rate) => Some(Box::new(CbrMultiplexer::new(rate, memory))),
            Multiplex::Keep | Multiplex::Variable => None,
        };
        PacketWriter { output: Vec::new(), drops_nulls: multiplex == Multiplex::Variable, constant }
    }

    /// Sets the PIDs of the video and of its clock references.
    pub(super) fn follow(&mut self, video_pid: u16, clock_pid: u16) {
        self.constant.iter_mut().for_each(|constant| constant.follow(video_pid, clock_pid));
    }

    /// Writes a packet with `video_bytes` of the video in it.
    pub(super) fn packet(&mut self, packet: Packet, video_bytes: u64) -> Result<(), Error> {
        match &mut self.constant {
            Some(constant) => return constant.packet(packet, video_bytes, &mut self.output),
            None if self.drops_nulls && packet.pid() == NULL_PID => {}
            None => self.output.extend_from_slice(packet.wire()),
        }
        Ok(())
    }

    /// All packets of a picture were written; `buffer` is the size of the decoder's buffer in bytes.
    pub(super) fn picture(&mut self, picture: WrittenPicture, buffer: Option<u64>) {
        self.constant.iter_mut().for_each(|constant| constant.picture(picture, buffer));
    }

    /// Copies bytes between packets; drops them at a constant rate.
    pub(super) fn junk(&mut self, bytes: &[u8]) {
        if self.constant.is_none() {
            self.output.extend_from_slice(bytes);
        }
    }

    pub(super) fn finish(&mut self) -> Result<(), Error> {
        self.constant.as_mut().map_or(Ok(()), |constant| constant.finish(&mut self.output))
    }

    pub(super) fn output(&mut self) -> &mut Vec<u8> {
        &mut self.output
    }

    pub(super) fn pacing(&self) -> Option<PacingReport> {
        self.constant.as_ref().map(|constant| constant.report())
    }
}
