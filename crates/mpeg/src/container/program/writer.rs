//! Writes the packs of a program or system stream around smaller video packets.

use std::ops::Range;

use super::ProgramReport;
use crate::container::pes::{self, Header, Syntax};
use crate::container::track::VideoTrack;

/// The output, and the pack that is being written.
#[derive(Debug, Default)]
pub(super) struct Writer {
    output: Vec<u8>,
    /// Freed bytes become padding, so that packs keep their length.
    keep: bool,
    /// Header of the present pack, as long as nothing was written in it.
    pending_pack: Option<Vec<u8>>,
    /// Bytes of packets that were removed from that pack.
    removed: usize,
    /// Packs keep their length, because they are sectors of a disc; emptied ones are dropped whole.
    sectors: bool,
    syntax: Option<Syntax>,
    /// System clock reference of the last pack written, 90 kHz.
    last_reference: Option<u64>,
    scratch: Vec<u8>,
}

/// Empty packs are removed unless the last SCR is so long ago: 0.5 s at 90 kHz, where ISO/IEC 13818-1, 2.7.1 allows 0.7.
const PACK_INTERVAL: u64 = 90_000 / 2;

impl Writer {
    pub(super) fn new(keep: bool) -> Writer {
        Writer { keep, ..Writer::default() }
    }

    /// Packs keep their length from now on.
    pub(super) fn keep_sectors(&mut self) {
        self.sectors = true;
    }

    pub(super) fn output(&mut self) -> &mut Vec<u8> {
        &mut self.output
    }

    pub(super) fn pack(&mut self, header: Vec<u8>, report: &mut ProgramReport) {
        if let Some(pending_pack) = &self.pending_pack {
            let due = |last| clock_reference(pending_pack).wrapping_sub(last) >= PACK_INTERVAL;
            if self.removed > 0 && !self.last_reference.is_none_or(due) {
                report.removed_packs += 1;
                self.pending_pack = None;
            }
        }
        self.open_pack(report);
        self.pending_pack = Some(header);
        self.removed = 0;
    }

    /// Writes the header of the present pack if it was not written yet.
    fn open_pack(&mut self, report: &mut ProgramReport) {
        let Some(header) = self.pending_pack.take() else { return };
        self.last_reference = Some(clock_reference(&header));
        self.output.extend_from_slice(&header);
        if self.sectors && self.removed > 0 {
            pes::push_padding(&mut self.output, self.syntax.unwrap_or(Syntax::Mpeg2), self.removed);
            report.padding_bytes += self.removed as u64;
        }
    }

    pub(super) fn other(&mut self, bytes: &[u8], report: &mut ProgramReport) {
        let pads_emptied =
            self.sectors && self.removed > 0 && bytes.starts_with(&[0, 0, 1, pes::PADDING_STREAM]);
        if pads_emptied && self.pending_pack.is_some() {
            self.removed += bytes.len();
            return;
        }
        self.open_pack(report);
        self.output.extend_from_slice(bytes);
    }

    pub(super) fn finish(&mut self, report: &mut ProgramReport) {
        if self.removed == 0 {
            self.open_pack(report);
        } else if self.pending_pack.take().is_some() {
            report.removed_packs += 1;
        }
    }

    /// Writes a packet of the shaped video.
    pub(super) fn video(
        &mut self,
        bytes: &[u8],
        header: Header,
        video: &Range<u64>,
        track: &VideoTrack,
        report: &mut ProgramReport,
    ) {
        let (head, payload) = bytes.split_at(header.len);
        self.syntax = Some(header.syntax);
        self.scratch.clear();
        track.write(video, payload, &mut self.scratch);
        let freed = payload.len() - self.scratch.len();
        if freed > 0 && self.scratch.is_empty() && !track.starts_in(video) {
            report.emptied_packets += 1;
            self.remove_packet(bytes.len(), header, report);
            return;
        }
        self.open_pack(report);
        let mut head = head.to_vec();
        if freed > 0 && header.aligned && track.shrunk_before(video.start) {
            pes::clear_alignment(&mut head);
        }
        let pads = self.keep || self.sectors;
        let padded = pads && freed >= pes::least_padding(header.syntax);
        let stuffed = pads && !padded && pes::stuff(&mut head, header.syntax, freed);
        let length = header.packet_length - if stuffed { 0 } else { freed };
        pes::set_packet_length(&mut head, length as u16);
        self.output.extend_from_slice(&head);
        self.output.extend_from_slice(&self.scratch);
        if padded {
            pes::push_padding(&mut self.output, header.syntax, freed);
        }
        if padded || stuffed {
            report.padding_bytes += freed as u64;
        }
    }

    /// Removes a whole packet of `len` bytes, or replaces it by padding.
    fn remove_packet(&mut self, len: usize, header: Header, report: &mut ProgramReport) {
        if self.keep || (self.sectors && self.pending_pack.is_none()) {
            self.open_pack(report);
            pes::push_padding(&mut self.output, header.syntax, len);
            report.padding_bytes += len as u64;
        } else {
            self.removed += len;
        }
    }
}

/// The base of the SCR, 90 kHz in 33 bits.
fn clock_reference(pack: &[u8]) -> u64 {
    let bits = pack[4..9].iter().fold(0u64, |bits, byte| bits << 8 | u64::from(*byte));
    let field = |low: u32, width: u32| bits >> low & ((1 << width) - 1);
    if pack[4] >> 6 == 0b01 {
        field(35, 3) << 30 | field(19, 15) << 15 | field(3, 15)
    } else {
        field(33, 3) << 30 | field(17, 15) << 15 | field(1, 15)
    }
}

#[cfg(test)]
mod tests {
    use super::clock_reference;

    #[test]
    fn both_syntaxes_of_the_clock_reference() {
        // 33 ones.
        assert_eq!(clock_reference(&[0, 0, 1, 0xba, 0x2f, 0xff, 0xff, 0xff, 0xff]), (1 << 33) - 1);
        assert_eq!(clock_reference(&[0, 0, 1, 0xba, 0x7f, 0xff, 0xff, 0xff, 0xff]), (1 << 33) - 1);
        // 90 000: 2 << 15 | 24 464.
        let high: u64 = 2;
        let low: u64 = 24_464;
        let mpeg1 = 0x2100000000u64 | high << 17 | 1 << 16 | low << 1 | 1;
        let bytes = [&[0, 0, 1, 0xba][..], &mpeg1.to_be_bytes()[3..]].concat();
        assert_eq!(clock_reference(&bytes), 90_000);
        let mpeg2 = 0x4400000000u64 | high << 19 | 1 << 18 | low << 3 | 1 << 2;
        let bytes = [&[0, 0, 1, 0xba][..], &mpeg2.to_be_bytes()[3..]].concat();
        assert_eq!(clock_reference(&bytes), 90_000);
    }
}
