//! Names of inputs that are not MPEG video, for the error message.

use crate::startcode;

/// H.264 or H.265 in the byte stream format of its Annex B, by the first two bytes of a NAL unit.
pub(super) fn nal_unit(code: u8, next: u8) -> Option<&'static str> {
    match (code, next) {
        (0x40 | 0x42 | 0x44 | 0x46, 0x01) => Some("an H.265 byte stream (Annex B)"),
        (0x67 | 0x47 | 0x27, 0x42 | 0x4d | 0x58 | 0x64 | 0x6e | 0x7a | 0xf4) => {
            Some("an H.264 byte stream (Annex B)")
        }
        (0x09, 0x10 | 0x30 | 0x50 | 0x70 | 0x90 | 0xb0 | 0xd0 | 0xf0) => {
            Some("an H.264 byte stream (Annex B)")
        }
        // SEI first, as x264 writes it. An MPEG slice cannot begin so: its quantiser_scale_code is not 0.
        (0x06, 0..8) => Some("an H.264 byte stream (Annex B)"),
        _ => None,
    }
}

/// Signatures that are not at the start: their offset, their bytes, and what they are of.
const DEEP: [(usize, &[u8], &str); 3] = [
    (257, b"ustar", "a tar archive"),
    (32_769, b"CD001", "a disc image (ISO 9660); extract its files first"),
    (0, b"\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\0", "a raw disc image; extract its MPEG stream first"),
];

/// A file with a signature of its own.
pub(super) fn by_signature(head: &[u8]) -> Option<&'static str> {
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
    for (offset, magic, what) in DEEP {
        if at(offset, magic) {
            return Some(what);
        }
    }
    let table: [(&[u8], &'static str); 30] = [
        (b"\xb7\xd8\x00\x20\x37\x49\xda\x11", "a Windows TV recording (WTV)"),
        (b"nut/multimedia container", "a NUT file"),
        (b"AV\x01", "a PVA file"),
        (b"AV\x02", "a PVA file"),
        (b".RMF", "a RealMedia file"),
        (b"\xf5\x46\x7a\xbd", "a TiVo recording"),
        (b"NuppelVideo", "a NuppelVideo file"),
        (b"MythTVVideo", "a NuppelVideo file"),
        (b"LEITCH\0\0", "an LXF file"),
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

/// A stream whose first start code is not of MPEG-1 or MPEG-2.
pub(super) fn by_start_code(head: &[u8]) -> Option<&'static str> {
    let first = startcode::codes(head).next()?;
    match first.tail {
        _ if first.code == 0xb0 => Some("an MPEG-4 Visual stream"),
        [next, ..] if first.leads => nal_unit(first.code, *next),
        _ => None,
    }
}

/// Anything else: text, audio frames, or nothing known.
pub(super) fn by_text(head: &[u8]) -> &'static str {
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
