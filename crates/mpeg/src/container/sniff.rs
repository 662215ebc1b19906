//! What a stream is, told by its first bytes and never by its name.

use super::error::Error;
use crate::startcode;

/// As many bytes as [`sniff`] ever looks at: what is not known by then is refused.
pub const SNIFF_LIMIT: usize = 128 << 10;

/// Sync bytes in a row that make a transport stream.
const SYNC_RUN: usize = 5;

/// A stream this crate reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// ISO/IEC 11172-2 or 13818-2 video without a container.
    Elementary,
    /// ISO/IEC 11172-1 system stream.
    System,
    /// ISO/IEC 13818-1 program stream.
    Program,
    /// ISO/IEC 13818-1 transport stream.
    Transport(Framing),
}

impl Format {
    /// The name for a report.
    pub fn name(self) -> &'static str {
        match self {
            Format::Elementary => "elementary stream",
            Format::System => "MPEG-1 system stream",
            Format::Program => "program stream",
            Format::Transport(_) => "transport stream",
        }
    }
}

/// What surrounds each transport packet of 188 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// Nothing.
    Plain,
    /// Four bytes before it with the arrival time, 27 MHz in 30 bits (BDAV, M2TS).
    ArrivalTime,
    /// Sixteen bytes after it, the Reed-Solomon parity of EN 300 429 or filler.
    Parity,
}

impl Framing {
    /// Every framing, the usual one first.
    pub const ALL: [Framing; 3] = [Framing::Plain, Framing::ArrivalTime, Framing::Parity];

    /// Bytes from one packet to the next.
    pub fn stride(self) -> usize {
        match self {
            Framing::Plain => 188,
            Framing::ArrivalTime => 192,
            Framing::Parity => 204,
        }
    }

    /// Bytes before the sync byte.
    pub fn lead(self) -> usize {
        if self == Framing::ArrivalTime { 4 } else { 0 }
    }
}

/// Tells the format from the first bytes of a stream: `Ok(None)` asks for more of them.
///
/// # Errors
/// [`Error::Foreign`] with the name of what it is where that is known. `complete` says that no more bytes
/// follow, so that an answer is always given then.
pub fn sniff(head: &[u8], complete: bool) -> Result<Option<Format>, Error> {
    if let Some(what) = foreign_magic(head) {
        return Err(Error::Foreign { what });
    }
    let complete = complete || head.len() >= SNIFF_LIMIT;
    if let Some(framing) = transport(head, complete) {
        return Ok(Some(Format::Transport(framing)));
    }
    match start_codes(head, complete) {
        StartCodes::Is(format) => Ok(Some(format)),
        StartCodes::Foreign(what) => Err(Error::Foreign { what }),
        StartCodes::Unknown if complete => Err(Error::Foreign { what: describe(head) }),
        StartCodes::Unknown => Ok(None),
    }
}

/// The framing whose sync bytes stand in a row somewhere in `head`, with the least before the first.
fn transport(head: &[u8], complete: bool) -> Option<Framing> {
    let run = |start: usize, stride: usize| {
        head[start..].iter().step_by(stride).take(SYNC_RUN).take_while(|&&byte| byte == SYNC).count()
    };
    for (at, _) in head.iter().enumerate().filter(|(_, byte)| **byte == SYNC) {
        for framing in Framing::ALL {
            let stride = framing.stride();
            // A whole short stream of one to four packets counts when nothing else stands in it.
            let packets = (head.len() - at).div_ceil(stride);
            let whole = complete && at == framing.lead() && head.len() >= at + 188;
            let needed = if whole { SYNC_RUN.min(packets) } else { SYNC_RUN };
            if at >= framing.lead() && run(at, stride) >= needed {
                return Some(framing);
            }
        }
    }
    None
}

const SYNC: u8 = 0x47;

enum StartCodes {
    Is(Format),
    Foreign(&'static str),
    Unknown,
}

/// A recording of packs may begin in the middle of one, and the video in it looks elementary: no packet is longer than
/// this, and so far must be looked for the next.
const LONGEST_PACKET: usize = 6 + 0xffff;

/// Walks over the start codes until one is decisive.
fn start_codes(head: &[u8], complete: bool) -> StartCodes {
    let mut slices = 0;
    let mut looks_elementary = false;
    let mut rest = head;
    let mut first = true;
    while let Some(at) = startcode::find(rest, 0) {
        let [code, tail @ ..] = &rest[at + 3..] else { break };
        let stuffing_only = rest[..at].iter().all(|&byte| byte == 0);
        match (*code, tail) {
            (0xba, [next, ..]) if next >> 6 == 0b01 => return StartCodes::Is(Format::Program),
            (0xba, [next, ..]) if next >> 4 == 0b0010 => return StartCodes::Is(Format::System),
            // Packets without packs, as some recorders write them.
            (0xc0..=0xef | 0xbd, [_, _, flags, ..]) if first && stuffing_only => {
                return StartCodes::Is(if flags >> 6 == 0b10 { Format::Program } else { Format::System });
            }
            (0xb3, [width, height_high, height_low, rates, ..]) => {
                let horizontal = usize::from(*width) << 4 | usize::from(*height_high) >> 4;
                let vertical = usize::from(height_high & 15) << 8 | usize::from(*height_low);
                if horizontal > 0 && vertical > 0 && rates & 15 != 0 {
                    if first && stuffing_only {
                        return StartCodes::Is(Format::Elementary);
                    }
                    looks_elementary = true;
                }
            }
            (0xb0, _) if first => return StartCodes::Foreign("an MPEG-4 Visual stream"),
            (code, [next, ..]) if first && stuffing_only => {
                if let Some(what) = network_abstraction_layer(code, *next) {
                    return StartCodes::Foreign(what);
                }
            }
            (0x01..=0xaf, _) => slices += 1,
            _ => {}
        }
        first = false;
        rest = &rest[at + 3..];
    }
    let enough = complete || head.len() > LONGEST_PACKET + 16;
    // Without a header, a stream that starts between two of them: a picture followed by its slices.
    if (enough && looks_elementary) || (complete && slices >= 2) {
        return StartCodes::Is(Format::Elementary);
    }
    StartCodes::Unknown
}

/// H.264 and H.265 in the byte stream format of their annexes B, by the unit they begin with.
pub(super) fn network_abstraction_layer(code: u8, next: u8) -> Option<&'static str> {
    match (code, next) {
        (0x40 | 0x42 | 0x44 | 0x46, 0x01) => Some("an H.265 byte stream (Annex B)"),
        (0x67 | 0x47 | 0x27, 0x42 | 0x4d | 0x58 | 0x64 | 0x6e | 0x7a | 0xf4) => {
            Some("an H.264 byte stream (Annex B)")
        }
        (0x09, 0x10 | 0x30 | 0x50 | 0x70 | 0x90 | 0xb0 | 0xd0 | 0xf0) => {
            Some("an H.264 byte stream (Annex B)")
        }
        // Supplemental information first, as x264 has it: a slice of ours has no quantiser scale of 0 there.
        (0x06, 0..8) => Some("an H.264 byte stream (Annex B)"),
        _ => None,
    }
}

/// Containers and files with a signature of their own.
fn foreign_magic(head: &[u8]) -> Option<&'static str> {
    let at = |offset: usize, magic: &[u8]| head.get(offset..).is_some_and(|rest| rest.starts_with(magic));
    let boxes: [&[u8]; 8] = [b"ftyp", b"moov", b"mdat", b"styp", b"moof", b"free", b"skip", b"wide"];
    if boxes.iter().any(|name| at(4, name)) {
        return Some("an MP4 or QuickTime file");
    }
    if at(0, b"RIFF") {
        return Some(if at(8, b"AVI ") {
            "an AVI file"
        } else if at(8, b"CDXA") {
            "a Video CD image (RIFF CDXA); extract its MPEG stream first"
        } else {
            "a RIFF file"
        });
    }
    let table: [(&[u8], &'static str); 22] = [
        (b"\x1a\x45\xdf\xa3", "a Matroska or WebM file"),
        (b"FLV\x01", "a Flash video file"),
        (b"OggS", "an Ogg file"),
        (b"\x30\x26\xb2\x75\x8e\x66\xcf\x11", "an ASF (WMV) file"),
        (b"\x06\x0e\x2b\x34", "an MXF file"),
        (b"\x00\x00\x00\x00\x01\xbc", "a GXF file"),
        (b"\x1f\x07\x00", "a raw DV stream"),
        (b"DKIF", "an IVF file"),
        (b"YUV4MPEG2", "uncompressed video (YUV4MPEG2)"),
        (b"ID3", "an MP3 file"),
        (b"fLaC", "a FLAC file"),
        (b"\x0b\x77", "an AC-3 audio stream"),
        (b"\xff\xd8\xff", "a JPEG image"),
        (b"\x89PNG\r\n\x1a\n", "a PNG image"),
        (b"GIF8", "a GIF image"),
        (b"%PDF-", "a PDF document"),
        (b"PK\x03\x04", "a ZIP archive"),
        (b"\x1f\x8b", "gzip-compressed data"),
        (b"\xfd7zXZ\x00", "xz-compressed data"),
        (b"\x28\xb5\x2f\xfd", "zstd-compressed data"),
        (b"BZh", "bzip2-compressed data"),
        (b"\x7fELF", "an ELF program"),
    ];
    table.iter().find(|(magic, _)| at(0, magic)).map(|(_, what)| *what)
}

/// The last resort.
fn describe(head: &[u8]) -> &'static str {
    let text = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\r' | 0x20..=0x7e | 0x80..);
    let readable = match std::str::from_utf8(head) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none(), // only cut short inside a character
    };
    match head {
        [] => "empty",
        _ if readable && head.iter().all(text) => "text",
        _ if head.iter().all(|&byte| byte == 0) => "nothing but zero bytes",
        [0xff, second, ..] if second & 0xf6 == 0xf0 => "an AAC audio stream",
        [0xff, second, ..] if second & 0xe0 == 0xe0 => "an MPEG audio stream",
        _ => "of an unknown format",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packets(framing: Framing, count: usize) -> Vec<u8> {
        let mut stream = Vec::new();
        for _ in 0..count {
            let start = stream.len();
            stream.resize(start + framing.stride(), 0xff);
            stream[start + framing.lead()] = SYNC;
        }
        stream
    }

    #[test]
    fn transport_streams_of_every_framing_and_offset() {
        for framing in Framing::ALL {
            for junk in [0, 1, 100, 187, 400] {
                let mut stream = vec![0x11; junk];
                stream.extend(packets(framing, 6));
                assert_eq!(sniff(&stream, false).unwrap(), Some(Format::Transport(framing)), "{junk}");
            }
            let one = packets(framing, 1);
            assert_eq!(sniff(&one, true).unwrap(), Some(Format::Transport(framing)));
            assert_eq!(sniff(&one, false).unwrap(), None);
        }
    }

    #[test]
    fn start_codes_decide() {
        let elementary = [0, 0, 0, 1, 0xb3, 0x16, 0x01, 0x20, 0x13, 0xff];
        assert_eq!(sniff(&elementary, false).unwrap(), Some(Format::Elementary));
        // A pack that lost its beginning.
        let cut = [&[7, 7][..], &elementary, &[0, 0, 1, 0xba, 0x44]].concat();
        assert_eq!(sniff(&cut[..12], false).unwrap(), None);
        assert_eq!(sniff(&cut[..12], true).unwrap(), Some(Format::Elementary));
        assert_eq!(sniff(&cut, false).unwrap(), Some(Format::Program));
        assert_eq!(sniff(&[0, 0, 1, 0xba, 0x44], false).unwrap(), Some(Format::Program));
        assert_eq!(sniff(&[0, 0, 1, 0xba, 0x21], false).unwrap(), Some(Format::System));
        assert_eq!(sniff(&[0, 0, 1], false).unwrap(), None);
    }

    #[test]
    fn the_foreign_are_named() {
        let told = |head: &[u8]| match sniff(head, true) {
            Err(Error::Foreign { what }) => what,
            other => panic!("{other:?}"),
        };
        assert!(told(b"\x00\x00\x00\x20ftypisom").contains("MP4"));
        assert!(told(b"\x1a\x45\xdf\xa3 rest").contains("Matroska"));
        assert!(told(b"RIFF....AVI LIST").contains("AVI"));
        assert!(told(&[0, 0, 0, 1, 0x67, 0x64, 0, 0x1f]).contains("H.264"));
        assert!(told(&[0, 0, 0, 1, 0x09, 0xf0, 0, 0, 0, 1, 0x67, 0x64]).contains("H.264"));
        assert!(told(&[0, 0, 0, 1, 0x06, 0x05, 0xff, 0xff]).contains("H.264"));
        assert!(told(&[0, 0, 0, 1, 0x40, 0x01, 0x0c]).contains("H.265"));
        assert_eq!(told("# Größe\n".as_bytes()), "text");
        assert_eq!(told(b""), "empty");
    }
}
