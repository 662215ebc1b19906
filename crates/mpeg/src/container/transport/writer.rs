//! Writes packets, with the null packets that the multiplex mode asks for.

use super::cbr::CbrMultiplexer;
use super::packet::{NULL_PID, Packet};
use super::report::PacingReport;
use crate::container::config::Multiplex;
use crate::container::error::Error;
use crate::container::track::WrittenPicture;

/// Writes packets in one of the modes of [`Multiplex`].
#[derive(Debug)]
pub(super) enum PacketWriter {
    /// At their old places: null packets stay.
    Keep(Vec<u8>),
    /// Without null packets. The rate between two clock references falls.
    WithoutNulls(Vec<u8>),
    /// At a constant rate.
    Constant(Box<CbrMultiplexer>),
}

impl PacketWriter {
    pub(super) fn new(multiplex: Multiplex, memory: usize) -> PacketWriter {
        match multiplex {
            Multiplex::Keep => PacketWriter::Keep(Vec::new()),
            Multiplex::Variable => PacketWriter::WithoutNulls(Vec::new()),
            Multiplex::Constant(rate) => PacketWriter::Constant(Box::new(CbrMultiplexer::new(rate, memory))),
        }
    }

    /// Sets the PIDs of the video and of its clock references.
    pub(super) fn follow(&mut self, video_pid: u16, clock_pid: u16) {
        if let PacketWriter::Constant(multiplexer) = self {
            multiplexer.follow(video_pid, clock_pid);
        }
    }

    /// Writes a packet with `video_bytes` of the video in it.
    pub(super) fn packet(&mut self, packet: Packet, video_bytes: u64) -> Result<(), Error> {
        match self {
            PacketWriter::WithoutNulls(_) if packet.pid() == NULL_PID => {}
            PacketWriter::Keep(output) | PacketWriter::WithoutNulls(output) => {
                output.extend_from_slice(packet.wire())
            }
            PacketWriter::Constant(multiplexer) => multiplexer.packet(packet, video_bytes)?,
        }
        Ok(())
    }

    /// All packets of a picture were written; `buffer` is the size of the decoder's buffer in bytes.
    pub(super) fn picture(&mut self, picture: WrittenPicture, buffer: Option<u64>) {
        if let PacketWriter::Constant(multiplexer) = self {
            multiplexer.picture(picture, buffer);
        }
    }

    /// Copies bytes between packets; drops them at a constant rate.
    pub(super) fn junk(&mut self, bytes: &[u8]) {
        if let PacketWriter::Keep(output) | PacketWriter::WithoutNulls(output) = self {
            output.extend_from_slice(bytes);
        }
    }

    /// The stream has ended.
    pub(super) fn finish(&mut self) -> Result<(), Error> {
        if let PacketWriter::Constant(multiplexer) = self { multiplexer.finish() } else { Ok(()) }
    }

    pub(super) fn output(&mut self) -> &mut Vec<u8> {
        match self {
            PacketWriter::Keep(output) | PacketWriter::WithoutNulls(output) => output,
            PacketWriter::Constant(multiplexer) => multiplexer.output(),
        }
    }

    pub(super) fn pacing(&self) -> Option<PacingReport> {
        if let PacketWriter::Constant(multiplexer) = self { Some(multiplexer.report()) } else { None }
    }
}
