//! Where packets leave.

use super::pacer::Pacer;
use super::packet::{NULL_PID, Packet};
use super::report::PacingReport;
use crate::container::config::Multiplex;
use crate::container::error::Error;
use crate::container::track::Departed;

/// Writes packets.
#[derive(Debug)]
pub(super) enum Outlet {
    /// At the places they had: null packets stay.
    Keep(Vec<u8>),
    /// Without null packets. Each PCR still tells when its packet arrives; the rate between two of them is
    /// lower.
    WithoutNulls(Vec<u8>),
    /// At a constant rate.
    Paced(Box<Pacer>),
}

impl Outlet {
    pub(super) fn new(multiplex: Multiplex, memory: usize) -> Outlet {
        match multiplex {
            Multiplex::Keep => Outlet::Keep(Vec::new()),
            Multiplex::Variable => Outlet::WithoutNulls(Vec::new()),
            Multiplex::Constant(rate) => Outlet::Paced(Box::new(Pacer::new(rate, memory))),
        }
    }

    /// Where the video and its clock are.
    pub(super) fn follow(&mut self, video_pid: u16, clock_pid: u16) {
        if let Outlet::Paced(pacer) = self {
            pacer.follow(video_pid, clock_pid);
        }
    }

    /// Writes a packet with so many bytes of the video in it.
    pub(super) fn packet(&mut self, packet: Packet, video_bytes: u64) -> Result<(), Error> {
        match self {
            Outlet::WithoutNulls(_) if packet.pid() == NULL_PID => {}
            Outlet::Keep(output) | Outlet::WithoutNulls(output) => output.extend_from_slice(packet.wire()),
            Outlet::Paced(pacer) => pacer.packet(packet, video_bytes)?,
        }
        Ok(())
    }

    /// All packets of a picture were written.
    pub(super) fn picture(&mut self, picture: Departed, buffer: Option<u64>) {
        if let Outlet::Paced(pacer) = self {
            pacer.picture(picture, buffer);
        }
    }

    /// Bytes between packets; they have no place at a constant rate.
    pub(super) fn junk(&mut self, bytes: &[u8]) {
        if let Outlet::Keep(output) | Outlet::WithoutNulls(output) = self {
            output.extend_from_slice(bytes);
        }
    }

    /// Nothing follows.
    pub(super) fn finish(&mut self) -> Result<(), Error> {
        if let Outlet::Paced(pacer) = self { pacer.finish() } else { Ok(()) }
    }

    pub(super) fn output(&mut self) -> &mut Vec<u8> {
        match self {
            Outlet::Keep(output) | Outlet::WithoutNulls(output) => output,
            Outlet::Paced(pacer) => pacer.output(),
        }
    }

    pub(super) fn pacing(&self) -> Option<PacingReport> {
        if let Outlet::Paced(pacer) = self { Some(pacer.report()) } else { None }
    }
}
