//! From a coded picture to payloads, by the rules of RFC 2250 section 3.1: no header is cut, a slice begins a
//! payload or follows headers or whole slices, and what is too large goes on in the next payload.

use super::{MotionCodes, Mpeg2Header, PayloadHeader, PictureType};
use crate::Error;
use crate::bytes::take;

const START_CODE_LEN: usize = 4;

/// What follows 00 00 01.
mod start_code {
    use std::ops::RangeInclusive;

    pub(super) const PICTURE: u8 = 0x00;
    pub(super) const SLICES: RangeInclusive<u8> = 0x01..=0xAF;
    pub(super) const SEQUENCE: u8 = 0xB3;
    pub(super) const EXTENSION: u8 = 0xB5;
}

/// Cuts one coded picture, with the sequence and group headers before it, into payloads.
#[derive(Debug, Clone)]
pub struct Packetizer<'a> {
    /// What is the same in all payloads.
    picture: PayloadHeader<'a>,
    rest: &'a [u8],
    limit: usize,
    cut: Option<Unit>,
}

/// One RTP payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Payload<'a> {
    /// What goes first.
    pub header: PayloadHeader<'a>,
    /// The video after the header.
    pub video: &'a [u8],
    /// The last of the picture: its packet has the RTP marker.
    pub ends_picture: bool,
}

/// What stands between two start codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Slice,
    SequenceHeader,
    Other,
}

/// What goes into one payload.
#[derive(Debug, Default)]
struct Fill {
    len: usize,
    sequence_header: bool,
    begins_slice: bool,
    ends_slice: bool,
    /// The unit that goes on in the next payload.
    cut: Option<Unit>,
}

impl<'a> Packetizer<'a> {
    /// Smallest limit: the largest header of a stream, 261 octets, fits behind the largest payload header.
    pub const MIN_LIMIT: usize = 261 + 12;

    /// The payloads of `coded`, each of at most `limit` octets, payload header included. `coded` begins with
    /// a start code and has one picture; where it has a picture coding extension (MPEG-2), each payload
    /// header repeats it.
    ///
    /// # Errors
    /// A limit below [`Self::MIN_LIMIT`], no start code in front, no picture header, or one that is cut off.
    pub fn new(coded: &'a [u8], limit: usize) -> Result<Self, Error> {
        if limit < Self::MIN_LIMIT {
            return Err(Error::NoRoom {
                field: "MPEG video payload",
                needed: Self::MIN_LIMIT,
                available: limit,
            });
        }
        Ok(Self { picture: describe(coded)?, rest: coded, limit, cut: None })
    }
}

impl<'a> Iterator for Packetizer<'a> {
    type Item = Payload<'a>;

    fn next(&mut self) -> Option<Payload<'a>> {
        if self.rest.is_empty() {
            return None;
        }
        let room = self.limit - self.picture.buffer_len();
        let fill = match self.cut {
            Some(unit) => Fill::rest_of(unit, self.rest, room),
            None => Fill::whole_units(self.rest, room),
        };
        let (video, rest) = self.rest.split_at(fill.len);
        (self.rest, self.cut) = (rest, fill.cut);
        let header = PayloadHeader {
            sequence_header: fill.sequence_header,
            beginning_of_slice: fill.begins_slice,
            end_of_slice: fill.ends_slice,
            ..self.picture
        };
        Some(Payload { header, video, ends_picture: rest.is_empty() })
    }
}

impl Fill {
    /// As many units as fit, and a part of a slice that would otherwise leave headers alone.
    fn whole_units(bytes: &[u8], room: usize) -> Self {
        let mut fill = Self::default();
        while let Some((unit, len)) = next_unit(&bytes[fill.len..]) {
            if fill.len + len > room {
                let whole_start_code = fill.len + START_CODE_LEN < room;
                if fill.len == 0 || unit == Unit::Slice && !fill.begins_slice && whole_start_code {
                    fill.add(unit, room - fill.len);
                    fill.ends_slice = false;
                    fill.cut = Some(unit);
                }
                break;
            }
            fill.add(unit, len);
        }
        fill
    }

    fn add(&mut self, unit: Unit, len: usize) {
        self.len += len;
        self.sequence_header |= unit == Unit::SequenceHeader;
        self.begins_slice |= unit == Unit::Slice;
        self.ends_slice = unit == Unit::Slice;
    }

    /// More of a unit that began in an earlier payload. Nothing may follow its end here, as the number of
    /// slices before would not be whole.
    fn rest_of(unit: Unit, bytes: &[u8], room: usize) -> Self {
        let left = find_start_code(bytes, 0).unwrap_or(bytes.len());
        let ends = left <= room;
        Self {
            len: left.min(room),
            ends_slice: ends && unit == Unit::Slice,
            cut: (!ends).then_some(unit),
            ..Self::default()
        }
    }
}

/// The unit at the front and its length, the zeros before the next start code included.
fn next_unit(bytes: &[u8]) -> Option<(Unit, usize)> {
    let unit = match *bytes.get(START_CODE_LEN - 1)? {
        start_code::SEQUENCE => Unit::SequenceHeader,
        code if start_code::SLICES.contains(&code) => Unit::Slice,
        _ => Unit::Other,
    };
    Some((unit, find_start_code(bytes, START_CODE_LEN).unwrap_or(bytes.len())))
}

/// Where the next 00 00 01 and an octet stand, at `from` or later.
fn find_start_code(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    while let Some(window) = bytes.get(at..at + START_CODE_LEN) {
        match window[2] {
            1 if window[..2] == [0, 0] => return Some(at),
            // A zero may be the first or second octet of a start code; anything else rules out all three.
            0 => at += 1,
            _ => at += 3,
        }
    }
    None
}

/// The payload header of a picture whose slices are still to be looked at.
fn describe(coded: &[u8]) -> Result<PayloadHeader<'_>, Error> {
    let field = "coded picture";
    if find_start_code(coded, 0) != Some(0) {
        let seen = coded.first().copied().unwrap_or_default().into();
        return Err(Error::Invalid { field, offset: 0, seen, expected: "a start code, 00 00 01" });
    }
    let (mut at, mut picture) = (0, None);
    while let Some((_, len)) = next_unit(&coded[at..]).filter(|(unit, _)| *unit != Unit::Slice) {
        let body = at + START_CODE_LEN;
        match (coded[body - 1], &mut picture) {
            (start_code::PICTURE, None) => picture = Some(picture_header(coded, body)?),
            (start_code::EXTENSION, Some(header)) if header.mpeg2.is_none() => {
                header.mpeg2 = Mpeg2Header::of_extension(coded, body)?;
            }
            _ => {}
        }
        at += len;
    }
    picture.ok_or(Error::Truncated { field, offset: at, needed: START_CODE_LEN, available: 0 })
}

/// The fields of a picture header (ISO/IEC 11172-2 section 2.4.2.5) that begins at `offset`, behind its start
/// code: temporal_reference(10) type(3) vbv_delay(16), then full_pel(1) and f_code(3) forward and backward.
fn picture_header(coded: &[u8], offset: usize) -> Result<PayloadHeader<'static>, Error> {
    let bits = take(coded, offset, 5, "picture header")?;
    let bits = bits.iter().fold(0u64, |bits, &octet| bits << 8 | u64::from(octet));
    let picture_type =
        PictureType::from_bits((bits >> 27 & 7) as u32).map_err(|error| error.moved(offset))?;
    let mut motion = MotionCodes::default();
    if matches!(picture_type, PictureType::P | PictureType::B) {
        motion.full_pel_forward = bits >> 10 & 1 == 1;
        motion.forward_f_code = (bits >> 7 & 7) as u8;
    }
    if picture_type == PictureType::B {
        motion.full_pel_backward = bits >> 6 & 1 == 1;
        motion.backward_f_code = (bits >> 3 & 7) as u8;
    }
    Ok(PayloadHeader {
        temporal_reference: (bits >> 30) as u16,
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

#[cfg(test)]
mod tests {
    use super::*;

    /// temporal_reference 5, B, full_pel_forward 0, forward_f_code 7, full_pel_backward 0, backward_f_code 7.
    const PICTURE: [u8; 9] = [0, 0, 1, 0, 0x01, 0x5F, 0xFF, 0xFB, 0xB8];
    /// f_codes 3 4 15 15, precision 1, frame, progressive.
    const CODING: [u8; 9] = [0, 0, 1, 0xB5, 0x83, 0x4F, 0xF7, 0x00, 0x80];

    fn slice(row: u8, len: usize) -> Vec<u8> {
        let mut slice = vec![0xAA; len];
        slice[..4].copy_from_slice(&[0, 0, 1, row]);
        slice
    }

    fn shape(coded: &[u8], limit: usize) -> Vec<(usize, bool, bool, bool)> {
        let payloads: Vec<_> = Packetizer::new(coded, limit).unwrap().collect();
        assert_eq!(payloads.iter().map(|payload| payload.video).collect::<Vec<_>>().concat(), coded);
        let marked = payloads.iter().filter(|payload| payload.ends_picture).count();
        assert!(marked == 1 && payloads.last().unwrap().ends_picture);
        let flags = |payload: &Payload<'_>| {
            let header = payload.header;
            (payload.video.len(), header.sequence_header, header.beginning_of_slice, header.end_of_slice)
        };
        payloads.iter().map(flags).collect()
    }

    #[test]
    fn fields_of_the_picture() {
        let mpeg_1 = [&PICTURE[..], &slice(1, 10)].concat();
        let payload = Packetizer::new(&mpeg_1, 300).unwrap().next().unwrap();
        assert_eq!((payload.header.temporal_reference, payload.header.picture_type), (5, PictureType::B));
        let motion = MotionCodes { forward_f_code: 7, backward_f_code: 7, ..MotionCodes::default() };
        assert_eq!((payload.header.motion, payload.header.mpeg2), (motion, None));

        let mpeg_2 = [&PICTURE[..], &CODING, &slice(1, 10)].concat();
        let payload = Packetizer::new(&mpeg_2, 300).unwrap().next().unwrap();
        let mpeg2 = payload.header.mpeg2.unwrap();
        assert_eq!(
            (mpeg2.f_codes, mpeg2.intra_dc_precision, mpeg2.picture_structure),
            ([3, 4, 15, 15], 1, 3)
        );
        assert_eq!(mpeg2.flags, super::super::PictureFlags::PROGRESSIVE_FRAME);
        assert_eq!(mpeg2.composite, None);
    }

    #[test]
    fn slices_stay_whole_where_they_fit() {
        let sequence = [0, 0, 1, 0xB3, 9, 9, 9, 9];
        let parts = [&sequence[..], &PICTURE, &slice(1, 100), &slice(2, 100), &slice(3, 100), &slice(4, 20)];
        let coded = parts.concat();
        // 276 octets of video a payload: 17 of headers and two slices, then the others.
        assert_eq!(shape(&coded, 280), [(217, true, true, true), (120, false, true, true)]);
    }

    #[test]
    fn a_large_slice_goes_on_and_nothing_follows_its_end() {
        let coded = [&PICTURE[..], &slice(1, 700), &slice(2, 30), &slice(3, 700)].concat();
        let expected = [
            (276, false, true, false),
            (276, false, false, false),
            (157, false, false, true),
            (30, false, true, true),
            (276, false, true, false),
            (276, false, false, false),
            (148, false, false, true),
        ];
        assert_eq!(shape(&coded, 280), expected);
    }

    #[test]
    fn a_start_code_is_not_cut() {
        for user_data in 250..276 {
            let mut data = slice(0xB2, user_data);
            data[3] = 0xB2;
            let coded = [&PICTURE[..], &data, &slice(1, 300)].concat();
            let payloads: Vec<_> = Packetizer::new(&coded, 280).unwrap().collect();
            for payload in &payloads {
                let starts = find_start_code(payload.video, 0) == Some(0);
                assert!(starts || !payload.header.beginning_of_slice);
            }
            let codes = |bytes: &[u8]| {
                (0..bytes.len()).filter(|&at| find_start_code(&bytes[at..], 0) == Some(0)).count()
            };
            assert_eq!(payloads.iter().map(|payload| codes(payload.video)).sum::<usize>(), 3);
        }
    }

    #[test]
    fn what_is_no_picture_is_refused() {
        assert!(Packetizer::new(&PICTURE, 272).is_err());
        assert!(Packetizer::new(&[], 1_000).is_err());
        assert!(Packetizer::new(&PICTURE[..8], 1_000).is_err());
        assert!(Packetizer::new(&slice(1, 20), 1_000).is_err());
        assert!(Packetizer::new(&[1, 2, 3, 4, 5], 1_000).is_err());
    }
}
