//! Which format the payloads of an unknown source have: by their content, where that leaves no doubt.

use crate::config::Format;
use seaway_wire::h264::{self, NalHeader};
use seaway_wire::{h265, mp2t};

/// The first of the dynamic payload types (RFC 3551 section 6). The static ones name their format.
const DYNAMIC: u8 = 96;

/// A format that can be recognised.
struct Candidate {
    format: Format,
    /// Whether a payload of this type can be of the format.
    is_possible: fn(u8, &[u8]) -> bool,
    /// Whether a decoder can begin with this payload, which also shows the format.
    begins: fn(&[u8]) -> bool,
}

const CANDIDATES: [Candidate; 3] = [
    Candidate { format: Format::Mp2t, is_possible: is_mp2t, begins: |_| true },
    Candidate {
        format: Format::H264,
        is_possible: |payload_type, payload| payload_type >= DYNAMIC && is_h264(payload),
        begins: has_h264_parameters,
    },
    Candidate {
        format: Format::H265,
        is_possible: |payload_type, payload| payload_type >= DYNAMIC && is_h265(payload),
        begins: has_h265_parameters,
    },
];

/// What is known of a source after some of its packets.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Recognition {
    /// By the index of the candidate.
    is_refuted: [bool; CANDIDATES.len()],
    format: Option<Format>,
}

impl Recognition {
    /// The next payload of the source.
    pub(super) fn on_payload(&mut self, payload_type: u8, payload: &[u8]) {
        for (candidate, is_refuted) in CANDIDATES.iter().zip(&mut self.is_refuted) {
            *is_refuted |= !(candidate.is_possible)(payload_type, payload);
            if self.format == Some(candidate.format) && *is_refuted {
                self.format = None;
            }
            if self.format.is_none() && !*is_refuted && (candidate.begins)(payload) {
                self.format = Some(candidate.format);
            }
        }
    }

    /// No format that is received has such payloads.
    pub(super) fn is_hopeless(&self) -> bool {
        self.is_refuted.iter().all(|is_refuted| *is_refuted)
    }

    /// The format, once a decoder can begin.
    pub(super) fn format(&self) -> Option<Format> {
        self.format
    }
}

/// Whether a payload can be a transport stream. By the static payload type it may be cut anywhere, as UDP without RTP carries it.
/// A single transport packet under a dynamic one can also be H.264.
fn is_mp2t(payload_type: u8, payload: &[u8]) -> bool {
    match payload_type {
        crate::message::payload_type::MP2T => mp2t::phase(payload).is_some(),
        DYNAMIC.. => payload.len() > mp2t::PACKET && mp2t::is_packets(payload),
        _ => false,
    }
}

/// Whether a payload can be H.264 as RFC 6184 has it in packetization modes 0 and 1: none of the reserved types, which H.265 and
/// AV1 soon show in their place, and no transport stream.
fn is_h264(payload: &[u8]) -> bool {
    let Some(&first) = payload.first() else { return false };
    let nal = NalHeader(first);
    first & 0x80 == 0
        && matches!(nal.nal_type(), 1 | 5..=12 | 19 | h264::nal_type::STAP_A | h264::nal_type::FU_A)
        && !is_mp2t(DYNAMIC, payload)
}

/// Whether a sequence parameter set is in this payload.
fn has_h264_parameters(payload: &[u8]) -> bool {
    let is_sps =
        |nal: &[u8]| nal.first().is_some_and(|first| NalHeader(*first).nal_type() == h264::nal_type::SPS);
    match h264::Payload::parse(payload) {
        Ok(h264::Payload::Single(nal)) => is_sps(nal),
        Ok(h264::Payload::Aggregate(units)) => units.units().any(is_sps),
        _ => false,
    }
}

/// Whether a payload can be H.265 as RFC 7798 has it without PACI packets: a type that is not reserved, and the base layer.
fn is_h265(payload: &[u8]) -> bool {
    use h265::nal_type::{AGGREGATE, FRAGMENT};
    h265::NalHeader::of(payload).is_some_and(|header| {
        let [first, _] = header.0;
        let is_known = matches!(header.nal_type(), 0..=9 | 16..=21 | 32..=40 | AGGREGATE | FRAGMENT);
        first & 0x80 == 0 && is_known && header.layer() == 0 && h265::Payload::parse(payload).is_ok()
    })
}

/// Whether a video parameter set is in this payload. It has sixteen set bits behind its first two octets, `vps_reserved_0xffff_16bits`,
/// which nothing has by chance that has the type too.
fn has_h265_parameters(payload: &[u8]) -> bool {
    let is_vps = |nal: &[u8]| {
        let is_type = h265::NalHeader::of(nal).is_some_and(|header| header.nal_type() == h265::nal_type::VPS);
        is_type && nal.get(h265::HEADER_LEN + 2..h265::HEADER_LEN + 4) == Some(&[0xFF, 0xFF])
    };
    match h265::Payload::parse(payload) {
        Ok(h265::Payload::Single(nal)) => is_vps(nal),
        Ok(h265::Payload::Aggregate(units)) => units.units().any(is_vps),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recognise(payload_type: u8, payloads: &[&[u8]]) -> (Option<Format>, bool) {
        let mut recognition = Recognition::default();
        payloads.iter().for_each(|payload| recognition.on_payload(payload_type, payload));
        (recognition.format(), recognition.is_hopeless())
    }

    /// Transport packets: so many.
    fn transport(packets: usize) -> Vec<u8> {
        let packet = [&[0x47][..], &[0x1F; mp2t::PACKET - 1]].concat();
        packet.repeat(packets)
    }

    #[test]
    fn h264_is_known_by_its_parameter_set() {
        assert_eq!(recognise(96, &[&[0x41, 0x9A]]), (None, false));
        assert_eq!(recognise(96, &[&[0x41, 0x9A], &[0x67, 0x42]]), (Some(Format::H264), false));
        assert_eq!(recognise(32, &[&[0x67, 0x42]]), (None, true));
        assert_eq!(
            recognise(96, &[&[0x78, 0, 2, 0x67, 0x42]]),
            (Some(Format::H264), false),
            "in an aggregate"
        );
    }

    /// As x265 writes them: parameter sets alone, in an aggregate, and a slice.
    #[test]
    fn h265_is_known_by_its_video_parameter_set() {
        let vps: &[u8] = &[0x40, 1, 0x0C, 1, 0xFF, 0xFF, 1, 0x60];
        let slice: &[u8] = &[2, 1, 0xD0];
        let aggregate = [&[0x60, 1, 0, 8][..], vps].concat();
        assert_eq!(recognise(96, &[slice]), (None, false));
        assert_eq!(recognise(96, &[slice, vps]), (Some(Format::H265), false));
        assert_eq!(recognise(96, &[&aggregate, &[0x62, 1, 0x93, 0xAF]]), (Some(Format::H265), false));
        assert_eq!(recognise(32, &[vps]), (None, true));
        assert_eq!(recognise(96, &[vps, &[0x67, 0x42, 0]]), (None, true), "both are refuted");
        assert_eq!(recognise(96, &[&[0x40, 1, 0x0C, 1, 0xFF, 0, 1, 0x60]]), (None, false));
    }

    /// The sync byte is also the first octet of a parameter set of H.264.
    #[test]
    fn a_transport_stream_is_known_by_its_packets() {
        assert_eq!(recognise(33, &[&transport(1)]), (Some(Format::Mp2t), false));
        assert_eq!(recognise(33, &[&transport(7)]), (Some(Format::Mp2t), false));
        assert_eq!(recognise(33, &[&transport(7)[1..]]), (Some(Format::Mp2t), false), "cut elsewhere");
        assert_eq!(recognise(33, &[&[0; 1316]]), (None, true));
        assert_eq!(recognise(96, &[&transport(2)]), (Some(Format::Mp2t), false));
        assert_eq!(recognise(96, &[&transport(1)]), (Some(Format::H264), false));
        assert_eq!(recognise(96, &[&transport(2), &[0x41, 0x9A]]), (None, true));
    }
}
