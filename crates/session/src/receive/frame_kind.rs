//! How the frames of each format are known by the payloads of their packets: where one begins, and how others depend on it.

use crate::config::Format;
use crate::payload::Payload;

/// How frames of several packets are known.
#[derive(Debug)]
pub(super) struct FrameSyntax {
    /// True where a frame begins with this payload, whatever was lost before it.
    pub(super) begins: fn(&Payload) -> bool,
    /// Whether a frame of these payloads can be decoded without others, and whether none needs it.
    pub(super) kind: fn(&mut dyn Iterator<Item = &Payload>) -> (bool, bool),
    /// A frame has one packet as a rule, so missing packets are counted as frames.
    pub(super) is_short: bool,
}

impl FrameSyntax {
    /// That of a format; `None` where each packet is a frame.
    pub(super) fn of(format: Format) -> Option<&'static Self> {
        match format {
            Format::H264 => {
                Some(&Self { begins: h264::begins_access_unit, kind: h264::kind, is_short: false })
            }
            Format::H265 => {
                Some(&Self { begins: h265::begins_access_unit, kind: h265::kind, is_short: false })
            }
            Format::Av1 => {
                Some(&Self { begins: av1::begins_temporal_unit, kind: av1::kind, is_short: false })
            }
            Format::Aac(_) => Some(&Self { begins: aac::is_whole, kind: aac::kind, is_short: true }),
            Format::Opaque | Format::Mpv | Format::Opus | Format::Mp2t => None,
        }
    }
}

/// Access units of RFC 3640.
mod aac {
    use crate::payload::Payload;
    use seaway_wire::aac;

    /// True where this payload has no part of an access unit: whether a part is the first one, it does not say.
    pub(super) fn is_whole(payload: &Payload) -> bool {
        let contents = payload.contents();
        let parsed = aac::Payload::parse(&contents);
        parsed.is_ok_and(|payload| payload.units().all(|(size, unit)| unit.len() == size))
    }

    /// Each is decoded without others.
    pub(super) fn kind(_: &mut dyn Iterator<Item = &Payload>) -> (bool, bool) {
        (true, false)
    }
}

/// NAL units of RFC 6184.
mod h264 {
    use crate::payload::Payload;
    use seaway_wire::h264::{NalHeader, Payload as Wire};

    /// NAL unit types by which a frame is known (ITU-T H.264 table 7-1).
    mod nal_type {
        pub(super) const IDR: u8 = 5;
        pub(super) const SEI: u8 = 6;
        pub(super) const SPS: u8 = 7;
        pub(super) const PPS: u8 = 8;
        pub(super) const DELIMITER: u8 = 9;
    }

    /// The first octet of the NAL unit that begins in this payload, `None` in the middle of one. Of an aggregate it is that of its
    /// first unit.
    fn first_nal(payload: &Payload) -> Option<(NalHeader, u8)> {
        use seaway_wire::h264::nal_type::{FU_A, STAP_A};
        let [first] = payload.peek()?;
        match NalHeader(first).nal_type() {
            FU_A => {
                let [indicator, head, data] = payload.peek()?;
                let is_start = head & 0x80 != 0;
                is_start.then_some((NalHeader(indicator & 0xE0 | head & 0x1F), data))
            }
            STAP_A => {
                let [_, _, _, unit, data] = payload.peek()?;
                Some((NalHeader(unit), data))
            }
            _ => Some((NalHeader(first), payload.peek().map_or(0, |[_, data]: [u8; 2]| data))),
        }
    }

    /// True where a frame begins with this payload: units that stand before a picture, or a slice whose first macroblock is the
    /// first of the picture (`first_mb_in_slice` is 0, one bit in its code).
    pub(super) fn begins_access_unit(payload: &Payload) -> bool {
        first_nal(payload).is_some_and(|(nal, data)| match nal.nal_type() {
            nal_type::SEI..=nal_type::DELIMITER => true,
            1..=nal_type::IDR => data & 0x80 != 0,
            _ => false,
        })
    }

    /// Whether a decoder can begin with a frame that has a NAL unit of this type.
    fn begins_sequence(kind: u8) -> bool {
        matches!(kind, nal_type::IDR | nal_type::SPS | nal_type::PPS)
    }

    /// Whether an aggregate has such a unit, perhaps behind supplemental information.
    fn has_beginning(payload: &Payload) -> bool {
        let contents = payload.contents();
        let Ok(Wire::Aggregate(units)) = Wire::parse(&contents) else { return false };
        let mut types = units.units().filter_map(<[u8]>::first).map(|first| NalHeader(*first).nal_type());
        types.any(begins_sequence)
    }

    /// Whether a frame of these payloads can be decoded without others, and whether none needs it: no unit of it has a reference
    /// indication (`nal_ref_idc`), which fragments repeat.
    pub(super) fn kind(payloads: &mut dyn Iterator<Item = &Payload>) -> (bool, bool) {
        use seaway_wire::h264::nal_type::{FU_A, STAP_A};
        let (mut independent, mut reference) = (false, false);
        for payload in payloads {
            let Some([first]) = payload.peek() else { continue };
            reference |= first & 0x60 != 0;
            independent |= match (NalHeader(first).nal_type(), payload.peek()) {
                (FU_A, Some([_, head])) => begins_sequence(head & 0x1F),
                (STAP_A, _) => has_beginning(payload),
                (single, _) => begins_sequence(single),
            };
        }
        (independent, !independent && !reference)
    }
}

/// NAL units of RFC 7798.
mod h265 {
    use crate::payload::Payload;
    use seaway_wire::h265::{self, HEADER_LEN, NalHeader, nal_type};

    /// Type and first octet behind the header of the NAL unit that begins in this payload, `None` in the middle of one. Of an aggregate
    /// it is that of its first unit.
    fn first_nal(payload: &Payload) -> Option<(u8, u8)> {
        let [first, second] = payload.peek()?;
        match NalHeader([first, second]).nal_type() {
            nal_type::FRAGMENT => {
                let [_, _, head, data] = payload.peek()?;
                (head & 0x80 != 0).then_some((head & 0x3F, data))
            }
            nal_type::AGGREGATE => {
                let [_, _, _, _, first, second, data] = payload.peek()?;
                Some((NalHeader([first, second]).nal_type(), data))
            }
            other => Some((other, payload.peek().map_or(0, |[_, _, data]: [u8; HEADER_LEN + 1]| data))),
        }
    }

    /// True where a frame begins with this payload: units that stand before a picture, or its first slice
    /// (`first_slice_segment_in_pic_flag`).
    pub(super) fn begins_access_unit(payload: &Payload) -> bool {
        first_nal(payload).is_some_and(|(kind, data)| match kind {
            nal_type::VPS..=nal_type::DELIMITER | nal_type::PREFIX_SEI | 41..=44 => true,
            0..nal_type::VPS => data & 0x80 != 0,
            _ => false,
        })
    }

    /// Whether a frame of these payloads can be decoded without others, and whether none needs it.
    pub(super) fn kind(payloads: &mut dyn Iterator<Item = &Payload>) -> (bool, bool) {
        let (mut independent, mut reference) = (false, false);
        let mut on_type = |kind: u8| {
            independent |=
                nal_type::is_random_access(kind) || (nal_type::VPS..=nal_type::PPS).contains(&kind);
            reference |= kind < nal_type::VPS && !nal_type::is_non_reference(kind);
        };
        payloads.for_each(|payload| each_type(payload, &mut on_type));
        (independent, !independent && !reference)
    }

    /// The types of the NAL units of which something is in this payload.
    fn each_type(payload: &Payload, on_type: &mut impl FnMut(u8)) {
        match h265::Payload::parse(&payload.contents()) {
            Ok(h265::Payload::Single(nal)) => {
                NalHeader::of(nal).map(NalHeader::nal_type).into_iter().for_each(on_type);
            }
            Ok(h265::Payload::Aggregate(units)) => {
                units.units().filter_map(NalHeader::of).map(NalHeader::nal_type).for_each(on_type);
            }
            Ok(h265::Payload::Fragment(part)) => on_type(part.nal_header.nal_type()),
            Err(_) => {}
        }
    }
}

/// OBUs of AOM's payload format.
mod av1 {
    use crate::payload::Payload;
    use seaway_wire::av1::{self, Obu, obu_type};

    /// True where a coded video sequence begins, or a temporal unit with its delimiter. After a loss only the first is of use.
    pub(super) fn begins_temporal_unit(payload: &Payload) -> bool {
        begins_with(payload, &[obu_type::SEQUENCE_HEADER, obu_type::TEMPORAL_DELIMITER])
    }

    /// Whether a frame of these payloads can be decoded without others. That none needs it does not show.
    pub(super) fn kind(payloads: &mut dyn Iterator<Item = &Payload>) -> (bool, bool) {
        let mut begin = payloads.map(|payload| begins_with(payload, &[obu_type::SEQUENCE_HEADER]));
        (begin.any(|begins| begins), false)
    }

    /// Whether a coded video sequence begins with this payload, or an OBU of one of these types begins it.
    fn begins_with(payload: &Payload, types: &[u8]) -> bool {
        av1::Payload::parse(&payload.contents()).is_ok_and(|payload| {
            let first = payload.elements().next().filter(|_| !payload.continues);
            let obu_type = first.and_then(|element| Some(Obu::type_of(*element.first()?)));
            payload.begins_sequence || obu_type.is_some_and(|obu_type| types.contains(&obu_type))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    fn payload(octets: &'static [u8]) -> Payload {
        Payload::from(Bytes::from_static(octets))
    }

    fn kind(syntax: &FrameSyntax, payloads: &[&Payload]) -> (bool, bool) {
        (syntax.kind)(&mut payloads.iter().copied())
    }

    #[test]
    fn frames_of_h264() {
        let syntax = FrameSyntax::of(Format::H264).unwrap();
        let begins = |octets| (syntax.begins)(&payload(octets));
        // Whole slices, fragments and aggregates: the first slice of a picture, and one that is not the first.
        for octets in [
            &[0x41, 0x80][..],
            &[0x65, 0x88],
            &[0x7C, 0x85, 0x88],
            &[0x5C, 0x81, 0x9A],
            &[0x78, 0, 2, 0x41, 0x9A],
        ] {
            assert!(begins(octets), "{octets:?}");
        }
        for octets in [
            &[0x41, 0x40][..],
            &[0x65, 0x48],
            &[0x7C, 0x85, 0x48],
            &[0x5C, 0x81, 0x5A],
            &[0x78, 0, 2, 0x41, 0x5A],
        ] {
            assert!(!begins(octets), "{octets:?}");
        }
        // The middle and the end of a fragmented slice, and what is cut off.
        for octets in [&[0x7C, 0x05, 0x88][..], &[0x7C, 0x45, 0x88], &[0x7C, 0x85], &[0x78, 0, 2, 0x41], &[]]
        {
            assert!(!begins(octets), "{octets:?}");
        }
        // What stands before a picture; the end of a stream and reserved types do not.
        for octets in [&[0x06, 5][..], &[0x67, 0x42], &[0x68, 0x4E], &[0x09, 0x10], &[0x7C, 0x87, 0x42]] {
            assert!(begins(octets), "{octets:?}");
        }
        assert!(!begins(&[0x0B]) && !begins(&[0x54, 0x80]) && !begins(&[0x40, 0x80]));
        // An aggregate without parameter sets.
        assert_eq!(kind(syntax, &[&payload(&[0x78, 0, 2, 0x41, 0x9A])]), (false, false));
        assert_eq!(kind(syntax, &[&payload(&[0x78, 0, 2, 0x67, 0x42])]), (true, false));
    }

    /// A part of a frame may be the first one or not.
    #[test]
    fn frames_of_aac() {
        let config = seaway_wire::aac::Config::parse([0x12, 0x10]).unwrap();
        let syntax = FrameSyntax::of(Format::Aac(config)).unwrap();
        assert!((syntax.begins)(&payload(&[0, 16, 0, 16, 1, 2])));
        assert!(!(syntax.begins)(&payload(&[0, 16, 0, 32, 1, 2])) && !(syntax.begins)(&payload(&[0, 16])));
    }

    #[test]
    fn frames_of_av1() {
        let syntax = FrameSyntax::of(Format::Av1).unwrap();
        // A key frame with N, one that begins with its sequence header alone, another frame, the end of one.
        let [key, header, frame, end] =
            [&[0x18, 0x30, 1][..], &[0x20, 2, 0x08, 1, 0x30, 1], &[0x10, 0x30, 0x40], &[0x90, 1]]
                .map(payload);
        assert_eq!(kind(syntax, &[&key, &end]), (true, false));
        assert_eq!(kind(syntax, &[&header]), (true, false));
        assert_eq!(kind(syntax, &[&frame, &end]), (false, false));
        assert!((syntax.begins)(&key) && (syntax.begins)(&header));
        assert!(!(syntax.begins)(&frame) && !(syntax.begins)(&end));
    }

    #[test]
    fn frames_of_h265() {
        let syntax = FrameSyntax::of(Format::H265).unwrap();
        // An aggregate of a video parameter set and a sequence parameter set, an IDR slice, its last fragment.
        let sets = payload(&[0x60, 1, 0, 3, 0x40, 1, 0x0C, 0, 3, 0x42, 1, 1]);
        let [begin, end] = [payload(&[0x62, 1, 0x93, 0xAF]), payload(&[0x62, 1, 0x53, 0xAF])];
        assert_eq!(kind(syntax, &[&sets, &begin, &end]), (true, false));
        assert!((syntax.begins)(&sets) && (syntax.begins)(&begin) && !(syntax.begins)(&end));
        // TRAIL_R, TRAIL_N, and TRAIL_N whose slice is not the first.
        let [trail, unused, second] =
            [payload(&[2, 1, 0x80]), payload(&[0, 1, 0x80]), payload(&[0, 1, 0x40])];
        assert_eq!(kind(syntax, &[&trail]), (false, false));
        assert_eq!(kind(syntax, &[&unused, &second]), (false, true));
        assert!((syntax.begins)(&unused) && !(syntax.begins)(&second));
        // A delimiter and a reference in one aggregate.
        assert_eq!(
            kind(syntax, &[&payload(&[0x60, 1, 0, 3, 0x46, 1, 0x50, 0, 3, 2, 1, 0x80])]),
            (false, false)
        );
    }
}
