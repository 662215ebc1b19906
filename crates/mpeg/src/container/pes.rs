//! Headers of PES packets (ISO/IEC 13818-1, 2.4.3.6) and of MPEG-1 packets (ISO/IEC 11172-1, 2.4.3.3).

/// Bytes before the fields of either header: prefix, stream id and packet length.
pub(super) const START: usize = 6;

/// Bytes of an MPEG-2 header before its optional fields.
pub(super) const FIXED: usize = 9;

/// Most stuffing bytes: 32 in MPEG-2 headers, 16 in MPEG-1 ones.
const STUFFING: (usize, usize) = (32, 16);

/// True for `stream_id` of video streams, `1110 xxxx`.
pub(super) fn is_video(stream_id: u8) -> bool {
    stream_id >> 4 == 0b1110
}

/// The two syntaxes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Syntax {
    Mpeg1,
    Mpeg2,
}

/// The header of a video packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) syntax: Syntax,
    /// Bytes from the start code prefix to the first byte of the payload.
    pub(super) len: usize,
    /// `PES_packet_length`: bytes behind that field; 0 for a packet of unbounded length.
    pub(super) packet_length: usize,
    pub(super) pts: Option<u64>,
    pub(super) dts: Option<u64>,
    pub(super) scrambled: bool,
    pub(super) aligned: bool,
}

impl Header {
    /// Bytes of payload; `None` for an unbounded packet, or a length shorter than the header.
    pub(super) fn payload_len(&self) -> Option<u64> {
        let behind = self.packet_length.checked_sub(self.len - START)?;
        (self.packet_length > 0).then_some(behind as u64)
    }
}

/// Why a [`Header`] could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HeaderError {
    /// It continues behind the bytes given.
    Incomplete,
    /// It breaks the syntax.
    Malformed,
}

/// Reads the header of a video packet at the start of `bytes`.
pub(super) fn parse(bytes: &[u8]) -> Result<Header, HeaderError> {
    let Some(start) = bytes.first_chunk::<START>() else { return Err(HeaderError::Incomplete) };
    if start[..3] != [0, 0, 1] {
        return Err(HeaderError::Malformed);
    }
    let packet_length = usize::from(u16::from_be_bytes([start[4], start[5]]));
    match bytes.get(START) {
        None => Err(HeaderError::Incomplete),
        Some(byte) if byte >> 6 == 0b10 => mpeg2(bytes, packet_length),
        Some(_) => mpeg1(bytes, packet_length),
    }
}

fn mpeg2(bytes: &[u8], packet_length: usize) -> Result<Header, HeaderError> {
    let Some(&[first, flags, data_len]) = bytes.get(START..FIXED) else {
        return Err(HeaderError::Incomplete);
    };
    let len = FIXED + usize::from(data_len);
    let Some(fields) = bytes.get(FIXED..len) else { return Err(HeaderError::Incomplete) };
    let (pts, dts) = match flags >> 6 {
        0b10 => (time_stamp(fields, 0), None),
        0b11 => (time_stamp(fields, 0), time_stamp(fields, 5)),
        _ => (None, None),
    };
    let (scrambled, aligned) = (first >> 4 & 0b11 != 0, first >> 2 & 1 == 1);
    Ok(Header { syntax: Syntax::Mpeg2, len, packet_length, pts, dts, scrambled, aligned })
}

fn mpeg1(bytes: &[u8], packet_length: usize) -> Result<Header, HeaderError> {
    let mut at = START + bytes[START..].iter().take_while(|&&byte| byte == 0xff).count();
    if at > START + STUFFING.1 {
        return Err(HeaderError::Malformed);
    }
    let peek = |at: usize| bytes.get(at).copied().ok_or(HeaderError::Incomplete);
    if peek(at)? >> 6 == 0b01 {
        at += 2; // STD_buffer_scale, STD_buffer_size
    }
    let (fields, pts, dts) = match peek(at)? {
        byte if byte >> 4 == 0b0010 => (5, time_stamp(&bytes[at..], 0), None),
        byte if byte >> 4 == 0b0011 => (10, time_stamp(&bytes[at..], 0), time_stamp(&bytes[at..], 5)),
        0x0f => (1, None, None),
        _ => return Err(HeaderError::Malformed),
    };
    let len = at + fields;
    if bytes.len() < len {
        return Err(HeaderError::Incomplete);
    }
    Ok(Header { syntax: Syntax::Mpeg1, len, packet_length, pts, dts, scrambled: false, aligned: false })
}

/// A time stamp of 33 bits at 90 kHz, in three parts with a marker bit after each.
fn time_stamp(fields: &[u8], at: usize) -> Option<u64> {
    let bytes = fields.get(at..at + 5)?;
    let part =
        |at: usize, shift: u32| u64::from(u16::from_be_bytes([bytes[at], bytes[at + 1]]) >> 1) << shift;
    Some(u64::from(bytes[0] >> 1 & 0b111) << 30 | part(1, 15) | part(3, 0))
}

/// Writes `PES_packet_length`.
pub(super) fn set_packet_length(header: &mut [u8], length: u16) {
    header[4..6].copy_from_slice(&length.to_be_bytes());
}

/// Clears `data_alignment_indicator`, where the payload no longer begins with a start code.
pub(super) fn clear_alignment(header: &mut [u8]) {
    header[START] &= !0b100;
}

/// Makes a header `count` bytes longer by stuffing; `PES_packet_length` is not updated. False where the syntax has no
/// room for so many.
pub(super) fn stuff(header: &mut Vec<u8>, syntax: Syntax, count: usize) -> bool {
    let (at, most) = match syntax {
        Syntax::Mpeg1 => (START, STUFFING.1),
        Syntax::Mpeg2 => (header.len(), STUFFING.0.min(255 - usize::from(header[FIXED - 1]))),
    };
    let present = match syntax {
        Syntax::Mpeg1 => header[START..].iter().take_while(|&&byte| byte == 0xff).count(),
        Syntax::Mpeg2 => header[FIXED..].iter().rev().take_while(|&&byte| byte == 0xff).count(),
    };
    if present + count > most {
        return false;
    }
    header.splice(at..at, std::iter::repeat_n(0xff, count));
    if syntax == Syntax::Mpeg2 {
        header[FIXED - 1] += count as u8;
    }
    true
}

/// Fewest bytes of a padding packet.
pub(super) fn least_padding(syntax: Syntax) -> usize {
    match syntax {
        Syntax::Mpeg1 => START + 1,
        Syntax::Mpeg2 => START,
    }
}

/// Appends a padding packet of `len` bytes in all, at least [`least_padding`].
pub(super) fn push_padding(out: &mut Vec<u8>, syntax: Syntax, len: usize) {
    let end = out.len() + len;
    out.extend([0, 0, 1, PADDING_STREAM]);
    out.extend(((len - START) as u16).to_be_bytes());
    if syntax == Syntax::Mpeg1 {
        out.push(0x0f); // no buffer size, no time stamps
    }
    out.resize(end, 0xff);
}

/// `stream_id` of `padding_stream`.
pub(super) const PADDING_STREAM: u8 = 0xbe;

#[cfg(test)]
mod tests {
    use super::*;

    const WITH_BOTH: [u8; 20] = [
        0, 0, 1, 0xe0, 0, 0, 0x84, 0xc0, 0x0a, 0x31, 0x00, 0x07, 0xd8, 0x61, 0x11, 0x00, 0x07, 0xa9, 0x75,
        0x55,
    ];

    #[test]
    fn mpeg2_time_stamps() {
        let header = parse(&WITH_BOTH).unwrap();
        assert_eq!((header.pts, header.dts), (Some(126_000), Some(119_994)));
        assert_eq!((header.len, header.aligned, header.payload_len()), (19, true, None));
        for cut in 0..19 {
            assert_eq!(parse(&WITH_BOTH[..cut]), Err(HeaderError::Incomplete), "{cut}");
        }
    }

    #[test]
    fn mpeg1_with_stuffing_and_buffer_size() {
        let packet = [0, 0, 1, 0xe0, 0, 12, 0xff, 0xff, 0x60, 0x2e, 0x21, 0, 1, 0, 1, 0xaa, 0xbb, 0xcc];
        let header = parse(&packet).unwrap();
        assert_eq!((header.syntax, header.len, header.pts), (Syntax::Mpeg1, 15, Some(0)));
        assert_eq!(header.payload_len(), Some(3));
        assert_eq!(parse(&[0, 0, 1, 0xe0, 0, 3, 0x0f, 1, 2]).unwrap().len, 7);
        assert_eq!(parse(&[0, 0, 1, 0xe0, 0, 3, 0x1f, 1, 2]), Err(HeaderError::Malformed));
    }

    #[test]
    fn stuffing_keeps_the_fields() {
        for count in 1..6 {
            let mut header = WITH_BOTH[..19].to_vec();
            assert!(stuff(&mut header, Syntax::Mpeg2, count));
            let read = parse(&header).unwrap();
            assert_eq!((read.len, read.pts), (19 + count, parse(&WITH_BOTH).unwrap().pts));

            let mut header = vec![0, 0, 1, 0xe0, 0, 3, 0x0f];
            assert!(stuff(&mut header, Syntax::Mpeg1, count));
            assert_eq!(parse(&header).unwrap().len, 7 + count);
        }
        assert!(!stuff(&mut vec![0, 0, 1, 0xe0, 0, 3, 0x0f], Syntax::Mpeg1, 17));
    }

    #[test]
    fn padding_has_the_length_asked_for() {
        for (syntax, len) in
            [(Syntax::Mpeg2, 6), (Syntax::Mpeg2, 300), (Syntax::Mpeg1, 7), (Syntax::Mpeg1, 2000)]
        {
            let mut out = vec![9];
            push_padding(&mut out, syntax, len);
            assert_eq!(out.len(), 1 + len);
            assert_eq!(usize::from(u16::from_be_bytes([out[5], out[6]])), len - 6);
        }
    }
}
