//! The programmes of a transport stream, and what a packet says of itself, for who keeps the packets apart.

use super::framing::{Framing, PACKET, SYNC};
use super::packet::{NULL_PID, Packet};
use super::psi::Tables;
use crate::container::error::Error;
use std::collections::BTreeSet;

/// The programmes of a transport stream, as far as its tables have come.
#[derive(Debug, Default)]
pub struct ProgramTable {
    tables: Tables,
}

/// A programme with MPEG-1 or MPEG-2 video.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VideoProgram {
    /// `program_number`
    pub number: u16,
    /// PID of its video.
    pub video_pid: u16,
    /// PID of its clock references.
    pub clock_pid: u16,
}

impl VideoProgram {
    /// True for the same programme with the same PID of its video.
    pub(crate) fn has_video_of(&self, other: &VideoProgram) -> bool {
        (self.number, self.video_pid) == (other.number, other.video_pid)
    }
}

impl ProgramTable {
    /// Reads the next packet; true where the map of a programme changed.
    pub fn push(&mut self, packet: &PacketView) -> bool {
        self.tables.push(&packet.packet)
    }

    /// True where the maps of all programmes were read.
    pub fn is_complete(&self) -> bool {
        self.tables.complete()
    }

    /// The PIDs of all elementary streams in the maps that were read.
    pub(crate) fn elementary_pids(&self) -> BTreeSet<u16> {
        self.tables.elementary_pids()
    }

    /// The error that names what there is in place of MPEG-1 or MPEG-2 video.
    pub(crate) fn no_video(&self, wanted: Option<u16>) -> Error {
        self.tables.no_video(wanted)
    }

    /// The programmes with video whose maps were read.
    pub fn with_video(&self) -> Vec<VideoProgram> {
        let programs = self.tables.programs().iter();
        programs
            .filter_map(|program| {
                let (number, clock_pid) = (program.number, program.pcr_pid);
                Some(VideoProgram { number, video_pid: program.video()?, clock_pid })
            })
            .collect()
    }
}

/// A transport packet of 188 bytes.
#[derive(Clone, Debug)]
pub struct PacketView {
    packet: Packet,
}

impl PacketView {
    /// Octets of a packet.
    pub const LEN: usize = PACKET;

    /// A packet; `None` where the bytes are not 188 that begin with the sync byte.
    pub fn new(bytes: &[u8]) -> Option<PacketView> {
        let whole = bytes.len() == PACKET && bytes[0] == SYNC;
        whole.then(|| PacketView { packet: Packet::new(bytes, Framing::Plain) })
    }

    /// Its 188 bytes.
    pub fn bytes(&self) -> &[u8] {
        self.packet.wire()
    }

    /// Its PID.
    pub fn pid(&self) -> u16 {
        self.packet.pid()
    }

    /// True for a packet that only fills the rate.
    pub fn is_null(&self) -> bool {
        self.pid() == NULL_PID
    }

    /// Its clock reference in periods of 27 MHz, and whether the clock jumps here (`discontinuity_indicator`).
    pub fn clock_reference(&self) -> Option<(u64, bool)> {
        Some((self.packet.pcr()?, self.packet.discontinuity()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_of_two_programmes() {
        let stream = include_bytes!("../../../tests/fixtures/two_programmes.ts");
        let mut table = ProgramTable::default();
        let mut references = 0;
        for bytes in stream.chunks_exact(PacketView::LEN) {
            let packet = PacketView::new(bytes).unwrap();
            references += u32::from(packet.clock_reference().is_some());
            table.push(&packet);
        }
        let programs = table.with_video();
        assert!(table.is_complete() && references > 2);
        assert!(!programs.is_empty() && programs.iter().all(|program| program.clock_pid != NULL_PID));
        assert!(PacketView::new(&stream[1..189]).is_none() && PacketView::new(&stream[..187]).is_none());
    }
}
