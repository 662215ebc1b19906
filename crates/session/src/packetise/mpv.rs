//! MPEG-1/2 video pictures by RFC 2250 section 3, without copies.

use crate::payload::Payload;
use bytes::Bytes;
use seaway_wire::Error;
use seaway_wire::mpv::{self, MotionCodes, Mpeg2Header, PayloadHeader, PictureType};

/// Start codes (ISO/IEC 13818-2 table 6-1).
mod code {
    pub(super) const PICTURE: u8 = 0x00;
    pub(super) const LAST_SLICE: u8 = 0xAF;
    pub(super) const SEQUENCE: u8 = 0xB3;
    pub(super) const EXTENSION: u8 = 0xB5;
    pub(super) const GROUP: u8 = 0xB8;
}

/// RFC 2250 section 3.1: no header is larger, so none has to be split.
const MIN_LIMIT: usize = 261;

/// A slice is not begun for fewer octets.
const FEWEST: usize = 16;

/// A start code and what follows it up to the next.
#[derive(Debug, Clone, Copy)]
struct Unit {
    code: u8,
    start: usize,
    end: usize,
}

impl Unit {
    fn is_slice(self) -> bool {
        (1..=code::LAST_SLICE).contains(&self.code)
    }

    fn len(self) -> usize {
        self.end - self.start
    }
}

/// The state of a packet that is being filled.
#[derive(Debug, Clone, Copy, Default)]
struct Open {
    start: usize,
    end: usize,
    sequence_header: bool,
    picture_header: bool,
    has_slice: bool,
    begins_slice: bool,
    ends_slice: bool,
}

/// Cuts a picture, or the two fields of one, with the headers before it.
pub(super) fn cut(frame: &Bytes, limit: usize, payloads: &mut Vec<Payload>) -> Result<(), Error> {
    let mut cutter = Cutter::new(frame, limit)?;
    let units: Vec<Unit> = units(frame).collect();
    for unit in units {
        cutter.add(unit, payloads)?;
    }
    cutter.close(payloads)
}

struct Cutter<'a> {
    frame: &'a Bytes,
    limit: usize,
    open: Open,
    header: PayloadHeader<'static>,
}

impl<'a> Cutter<'a> {
    fn new(frame: &'a Bytes, limit: usize) -> Result<Self, Error> {
        let field = "MPEG picture";
        let missing = Error::Truncated { field, offset: 0, needed: frame.len() + 1, available: frame.len() };
        let picture = units(frame).find(|unit| unit.code == code::PICTURE).ok_or(missing)?;
        let first = units(frame).next().map_or(0, |unit| unit.start);
        let mut header = picture_header(&frame[picture.start..picture.end])?;
        header.mpeg2 = picture_extension(frame, picture.end);
        let needed = MIN_LIMIT + header.buffer_len();
        if limit < needed {
            return Err(Error::NoRoom { field: "MPEG video payload", needed, available: limit });
        }
        let open = Open { start: first, end: first, ..Open::default() };
        Ok(Self { frame, limit, open, header })
    }

    fn room(&self) -> usize {
        self.limit - self.header.buffer_len()
    }

    fn len(&self) -> usize {
        self.open.end - self.open.start
    }

    fn add(&mut self, unit: Unit, payloads: &mut Vec<Payload>) -> Result<(), Error> {
        // A sequence header is first; a group header is first or follows it; a picture header is first or
        // follows a group header.
        let must_be_first = match unit.code {
            code::SEQUENCE => true,
            code::GROUP | code::PICTURE => self.open.picture_header || self.open.has_slice,
            _ => false,
        };
        if must_be_first {
            self.close(payloads)?;
        }
        if unit.code == code::PICTURE {
            let mut header = picture_header(&self.frame[unit.start..unit.end])?;
            header.mpeg2 = picture_extension(self.frame, unit.end);
            self.header = header;
        }
        // A slice that is larger than a packet begins behind the headers, any other where it fits whole.
        let oversize = unit.len() > self.room();
        let behind_headers =
            oversize && unit.is_slice() && !self.open.has_slice && self.len() + FEWEST <= self.room();
        if self.len() + unit.len() > self.room() && !behind_headers {
            self.close(payloads)?;
        }
        self.open.sequence_header |= unit.code == code::SEQUENCE;
        self.open.picture_header |= unit.code == code::PICTURE;
        if unit.is_slice() {
            self.open.begins_slice |= !self.open.has_slice;
            self.open.has_slice = true;
        }
        let mut left = unit.len();
        while self.len() + left > self.room() {
            let piece = self.room() - self.len();
            self.open.end += piece;
            left -= piece;
            self.open.ends_slice = false;
            self.close(payloads)?;
            self.open.has_slice = unit.is_slice();
        }
        self.open.end += left;
        self.open.ends_slice = unit.is_slice();
        if oversize {
            // Behind the rest of a slice nothing else may follow.
            self.close(payloads)?;
        }
        Ok(())
    }

    /// Ends the packet.
    fn close(&mut self, payloads: &mut Vec<Payload>) -> Result<(), Error> {
        let open = self.open;
        self.open = Open { start: open.end, end: open.end, ..Open::default() };
        if open.start == open.end {
            return Ok(());
        }
        let header = PayloadHeader {
            sequence_header: open.sequence_header,
            beginning_of_slice: open.begins_slice,
            end_of_slice: open.ends_slice,
            ..self.header
        };
        let mut head = [0; Payload::HEAD];
        let len = header.emit(&mut head)?;
        let data = self.frame.slice(open.start..open.end);
        payloads.push(Payload::from(data).behind(&head[..len]));
        Ok(())
    }
}

/// Reassembles a picture; `None` where a payload is malformed.
pub(super) fn join<'a>(payloads: impl Iterator<Item = &'a Payload> + Clone) -> Option<Bytes> {
    let mut frame = Vec::with_capacity(payloads.clone().map(Payload::len).sum());
    let mut octets = Vec::new();
    for payload in payloads {
        octets.clear();
        payload.write(&mut octets);
        let (_, video) = mpv::PayloadHeader::parse(&octets).ok()?;
        frame.extend_from_slice(video);
    }
    Some(Bytes::from(frame))
}

/// The units of a stream; what stands before the first start code is left out.
fn units(stream: &[u8]) -> impl Iterator<Item = Unit> + '_ {
    let mut next = find_start_code(stream, 0);
    std::iter::from_fn(move || {
        let start = next?;
        next = find_start_code(stream, start + 3);
        Some(Unit { code: stream[start + 3], start, end: next.unwrap_or(stream.len()) })
    })
}

/// Where the next 0x000001 with a code behind it begins.
fn find_start_code(stream: &[u8], from: usize) -> Option<usize> {
    let rest = stream.get(from..)?;
    let at = rest.windows(4).position(|window| window[..3] == [0, 0, 1])?;
    Some(from + at)
}

/// The fields of a picture header (ISO/IEC 13818-2 section 6.2.3) that each packet repeats.
fn picture_header(unit: &[u8]) -> Result<PayloadHeader<'static>, Error> {
    let field = "MPEG picture header";
    let (needed, available) = (9, unit.len());
    // A P picture's header ends within 9 octets; where a shorter one ends, its motion codes are not used.
    let octet = |at: usize| u32::from(unit.get(4 + at).copied().unwrap_or(0));
    if available < 8 {
        return Err(Error::Truncated { field, offset: 0, needed, available });
    }
    let picture_type = match octet(1) >> 3 & 7 {
        1 => PictureType::I,
        2 => PictureType::P,
        3 => PictureType::B,
        4 => PictureType::D,
        other => {
            return Err(Error::Invalid {
                field,
                offset: 5,
                seen: other.into(),
                expected: "a type of 1 to 4",
            });
        }
    };
    // Behind temporal reference (10), type (3) and vbv_delay (16): 29 bits.
    let codes = octet(3) << 16 | octet(4) << 8 | octet(5);
    let (forward, backward) = (codes >> 15 & 0xF, codes >> 11 & 0xF);
    let predicted = matches!(picture_type, PictureType::P | PictureType::B);
    let mut motion = MotionCodes::default();
    if predicted {
        (motion.full_pel_forward, motion.forward_f_code) = (forward >> 3 & 1 == 1, (forward & 7) as u8);
    }
    if picture_type == PictureType::B {
        (motion.full_pel_backward, motion.backward_f_code) = (backward >> 3 & 1 == 1, (backward & 7) as u8);
    }
    Ok(PayloadHeader {
        temporal_reference: (octet(0) << 2 | octet(1) >> 6) as u16,
        active_n: false,
        new_picture_header: false,
        sequence_header: false,
        beginning_of_slice: false,
        end_of_slice: false,
        picture_type,
        motion,
        mpeg2: None,
    })
}

/// The picture coding extension that follows the picture header, which only MPEG-2 has.
fn picture_extension(frame: &[u8], after: usize) -> Option<Mpeg2Header<'static>> {
    units(&frame[after..])
        .take_while(|unit| !unit.is_slice() && unit.code != code::PICTURE)
        .filter(|unit| unit.code == code::EXTENSION)
        .find_map(|unit| {
            Mpeg2Header::of_extension(&frame[..after + unit.end], after + unit.start + 4).ok().flatten()
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SEQUENCE: &[u8] = &[0, 0, 1, 0xB3, 0x2C, 0x01, 0x20, 0x13, 0xFF, 0xFF, 0xE0, 0x18];
    const GROUP: &[u8] = &[0, 0, 1, 0xB8, 0x00, 0x08, 0x00, 0x40];
    /// Temporal reference 5, type B, vbv_delay 0xFFFF, full pel off, forward 7, backward 7 (MPEG-2's values).
    const B_PICTURE: &[u8] = &[0, 0, 1, 0x00, 0x01, 0x5F, 0xFF, 0xFB, 0xBC];
    /// f_codes 3 4 5 6, precision 1, frame picture, frame_pred_frame_dct and progressive frame, no composite.
    const CODING: &[u8] = &[0, 0, 1, 0xB5, 0x83, 0x45, 0x67, 0x40, 0x80];

    fn slice(row: u8, len: usize) -> Vec<u8> {
        let mut slice = vec![0, 0, 1, row];
        slice.resize(len.max(5), 0x55);
        slice
    }

    fn cut_all(frame: &[u8], limit: usize) -> Vec<(PayloadHeader<'static>, Vec<u8>)> {
        let frame = Bytes::copy_from_slice(frame);
        let mut payloads = Vec::new();
        cut(&frame, limit, &mut payloads).unwrap();
        assert!(payloads.iter().all(|payload| payload.len() <= limit));
        assert_eq!(join(payloads.iter()), Some(frame));
        let parsed = |payload: &Payload| {
            let mut octets = Vec::new();
            payload.write(&mut octets);
            let (header, video) = PayloadHeader::parse(&octets).unwrap();
            let mpeg2 = header.mpeg2.map(|mpeg2| Mpeg2Header { extensions: None, ..mpeg2 });
            (PayloadHeader { mpeg2, ..header }, video.to_vec())
        };
        payloads.iter().map(parsed).collect()
    }

    #[test]
    fn every_packet_repeats_the_picture_header() {
        let frame = [SEQUENCE, GROUP, B_PICTURE, CODING, &slice(1, 100), &slice(2, 250)].concat();
        let packets = cut_all(&frame, 300);
        assert_eq!(packets.len(), 2);
        for (header, _) in &packets {
            assert_eq!((header.temporal_reference, header.picture_type), (5, PictureType::B));
            assert_eq!((header.motion.forward_f_code, header.motion.backward_f_code), (7, 7));
            let mpeg2 = header.mpeg2.unwrap();
            assert_eq!(
                (mpeg2.f_codes, mpeg2.intra_dc_precision, mpeg2.picture_structure),
                ([3, 4, 5, 6], 1, 3)
            );
            let flags = mpv::PictureFlags::FRAME_PRED_FRAME_DCT.with(mpv::PictureFlags::PROGRESSIVE_FRAME);
            assert_eq!((mpeg2.flags, mpeg2.composite), (flags, None));
        }
        assert!(packets[0].0.sequence_header && !packets[1].0.sequence_header);
        assert!(packets.iter().all(|(header, _)| header.beginning_of_slice && header.end_of_slice));
        assert_eq!(packets[1].1, slice(2, 250));
    }

    #[test]
    fn nothing_follows_the_rest_of_a_slice() {
        let frame = [B_PICTURE, CODING, &slice(1, 700), &slice(2, 20)].concat();
        let flags: Vec<_> = cut_all(&frame, 300)
            .iter()
            .map(|(header, _)| (header.beginning_of_slice, header.end_of_slice))
            .collect();
        assert_eq!(flags, [(true, false), (false, false), (false, true), (true, true)]);
    }

    /// Section 3.1: a sequence header begins a packet, and so does the header of a group or of a second field behind what is of a picture.
    #[test]
    fn headers_begin_packets() {
        let first = [B_PICTURE, CODING, &slice(1, 20)].concat();
        let field = [B_PICTURE, CODING, &slice(2, 20)].concat();
        let rest = [&[B_PICTURE, CODING].concat()[..], &slice(1, 400)].concat();
        let sequence = [SEQUENCE, GROUP, &field].concat();
        let group = [GROUP, &field].concat();
        for second in [&sequence, &group, &field] {
            let parts: Vec<_> =
                cut_all(&[&first[..], second].concat(), 290).into_iter().map(|(_, part)| part).collect();
            assert_eq!(parts, [first.clone(), second.clone()]);
            // Behind a packet that was full and one with small slices.
            let frame = [&rest[..], &slice(3, 20), second].concat();
            let parts: Vec<_> = cut_all(&frame, 290).into_iter().map(|(_, part)| part).collect();
            assert_eq!(parts[parts.len() - 2..], [slice(3, 20), second.clone()]);
        }
        let parts = cut_all(&[B_PICTURE, CODING, &field].concat(), 290);
        assert_eq!(parts.len(), 2, "a picture without slices");
    }

    /// A slice that fits exactly is not cut, and one that does not begins behind the headers.
    #[test]
    fn packets_are_filled() {
        let headers = [B_PICTURE, CODING].concat();
        let parts = |len| cut_all(&[&headers[..], &slice(1, len)].concat(), 290);
        let room = 290 - parts(20)[0].0.buffer_len();
        let lens = |len| parts(len).iter().map(|(_, part)| part.len()).collect::<Vec<_>>();
        assert_eq!(lens(room - headers.len()), [room]);
        assert_eq!(lens(room - headers.len() + 1), [headers.len(), room - headers.len() + 1]);
        assert_eq!(lens(room), [headers.len(), room]);
        assert_eq!(lens(room + 1), [room, headers.len() + 1]);
    }

    /// A picture header with these codes: full pel and `f_code` in four bits, forward and backward.
    fn picture(picture_type: u64, forward: u64, backward: u64) -> Vec<u8> {
        let bits = 0x2A5 << 54 | picture_type << 51 | 0x5A5A << 35 | forward << 31 | backward << 27;
        [&[0, 0, 1, 0][..], &u64::to_be_bytes(bits)[..5]].concat()
    }

    #[test]
    fn motion_codes_are_those_of_the_picture() {
        let of = |picture_type, forward, backward| {
            let header = picture_header(&picture(picture_type, forward, backward)).unwrap();
            assert_eq!(header.temporal_reference, 0x2A5);
            let MotionCodes { full_pel_forward, forward_f_code, full_pel_backward, backward_f_code } =
                header.motion;
            ((full_pel_forward, forward_f_code), (full_pel_backward, backward_f_code))
        };
        assert_eq!(of(1, 0b1011, 0b1101), ((false, 0), (false, 0)), "I");
        assert_eq!(of(2, 0b1011, 0b1101), ((true, 3), (false, 0)), "P");
        assert_eq!(of(2, 0b0010, 0b1101), ((false, 2), (false, 0)), "P");
        assert_eq!(of(3, 0b1010, 0b0101), ((true, 2), (false, 5)), "B");
        assert_eq!(of(3, 0b0101, 0b1010), ((false, 5), (true, 2)), "B");
        let intra = picture(1, 0, 0);
        assert!(picture_header(&intra[..8]).is_ok() && picture_header(&intra[..7]).is_err());
    }

    /// The extension of a picture follows its header, behind others of its own and before its first slice and the next picture.
    #[test]
    fn an_extension_belongs_to_its_picture() {
        let user: &[u8] = &[0, 0, 1, 0xB2, 9, 9, 9];
        let slices = [slice(1, 20), slice(2, 20)].concat();
        let of = |units: &[&[u8]]| {
            let frame = [B_PICTURE, &units.concat()].concat();
            picture_extension(&frame, B_PICTURE.len()).map(|mpeg2| mpeg2.f_codes)
        };
        assert_eq!(of(&[CODING, &slices]), Some([3, 4, 5, 6]));
        assert_eq!(of(&[user, CODING, &slices]), Some([3, 4, 5, 6]));
        assert_eq!(of(&[&slices, CODING]), None);
        assert_eq!(of(&[B_PICTURE, CODING, &slices]), None);
    }

    #[test]
    fn what_is_no_picture_is_refused() {
        let mut payloads = Vec::new();
        for wrong in [&[][..], &[1, 2, 3], SEQUENCE, &[0, 0, 1, 0, 0, 0], &[0, 0, 1, 0, 0, 0, 0, 0]] {
            assert!(cut(&Bytes::copy_from_slice(wrong), 1000, &mut payloads).is_err(), "{wrong:?}");
        }
        assert!(cut(&Bytes::copy_from_slice(B_PICTURE), 200, &mut payloads).is_err(), "limit below 261");
    }

    proptest! {
        #[test]
        fn rules_of_section_3_1(
            slices in prop::collection::vec((1u8..0xB0, 5usize..900), 1..20),
            limit in 280usize..1400,
            intra in any::<bool>(),
        ) {
            let mut frame = if intra { [SEQUENCE, GROUP].concat() } else { Vec::new() };
            frame.extend_from_slice(B_PICTURE);
            frame.extend_from_slice(CODING);
            for (row, len) in &slices {
                frame.extend(slice(*row, *len));
            }
            for (header, video) in cut_all(&frame, limit) {
                let units: Vec<Unit> = units(&video).collect();
                let continued = units.first().is_none_or(|unit| unit.start > 0);
                // The rest of a slice stands alone; headers and slice beginnings are whole.
                prop_assert!(!continued || units.is_empty());
                prop_assert_eq!(header.beginning_of_slice, units.iter().any(|unit| unit.is_slice()));
                prop_assert_eq!(header.sequence_header, units.iter().any(|unit| unit.code == code::SEQUENCE));
            }
        }

        #[test]
        fn any_octets_are_cut_or_refused(frame in prop::collection::vec(0u8..3, 0..600)) {
            let mut payloads = Vec::new();
            let _ = cut(&Bytes::from(frame), 300, &mut payloads);
        }
    }
}
