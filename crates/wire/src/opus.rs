//! Opus packets (RFC 6716 section 3), of which RFC 7587 puts one into each RTP packet.

use crate::Error;

/// Samples a second of the media clock, whatever the packets carry (RFC 7587 section 4.1).
pub const CLOCK_RATE: u32 = 48_000;
/// The longest packet, in samples: 120 ms (RFC 6716 section 3.2.5).
const LONGEST: u32 = 5760;
/// The largest frame (section 3.2.1).
const LARGEST_FRAME: usize = 1275;
/// Each frame has at least 2.5 ms.
const MOST_FRAMES: u8 = 48;

/// What the first octets of an Opus packet say of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// Samples of each frame at [`CLOCK_RATE`]: 120 to 2880.
    pub frame: u16,
    /// Frames: 1 to 48.
    pub frames: u8,
    /// Two channels; else one.
    pub stereo: bool,
}

impl Packet {
    /// Reads a packet, which must be well formed by the rules R1 to R7 of RFC 6716 section 3.4.
    ///
    /// # Errors
    /// An empty packet, a length that exceeds what is there, a frame that is too large, or more than 120 ms.
    pub fn parse(octets: &[u8]) -> Result<Self, Error> {
        let (&toc, frames) = octets.split_first().ok_or(truncated("Opus TOC", 0, 1, 0))?;
        let frame = frame_size(toc >> 3);
        let stereo = toc & 4 != 0;
        let count = match toc & 3 {
            0 => constant(frames, 1)?,
            1 => constant(frames, 2)?,
            2 => two_frames(frames)?,
            _ => any_frames(frames)?,
        };
        let packet = Self { frame, frames: count, stereo };
        if packet.duration() > LONGEST {
            let seen = packet.duration().into();
            return Err(Error::TooLarge { field: "Opus packet, samples", seen, limit: LONGEST.into() });
        }
        Ok(packet)
    }

    /// Its duration in samples at [`CLOCK_RATE`]: 120 to 5760.
    pub fn duration(&self) -> u32 {
        u32::from(self.frame) * u32::from(self.frames)
    }

    /// Whether `octets`, of which this was read, have the frame before them too, coded at a lower rate (LBRR, RFC 6716 section 4.2.4).
    /// Only of packets of one frame of 20 ms it is known.
    pub fn has_previous(&self, octets: &[u8]) -> bool {
        let [toc, first, ..] = octets else { return false };
        // SILK and hybrid have it; behind the flags of voice activity of each channel.
        let is_one = matches!(toc >> 3, 1 | 5 | 9 | 13 | 15) && self.frames == 1 && toc & 3 == 0;
        is_one && (first & 0x40 != 0 || self.stereo && first & 0x10 != 0)
    }

    /// A packet as long as one with this first octet and one frame, whose frame was lost: a decoder conceals it
    /// (RFC 6716 section 3.2.1).
    pub const fn lost(toc: u8) -> [u8; 1] {
        [toc & !3]
    }
}

/// Samples of a frame by the configuration number (RFC 6716 table 2).
const fn frame_size(configuration: u8) -> u16 {
    match configuration {
        // SILK: 10, 20, 40 and 60 ms.
        0..=11 => [480, 960, 1920, 2880][configuration as usize % 4],
        // Hybrid: 10 and 20 ms.
        12..=15 => [480, 960][configuration as usize % 2],
        // CELT: 2.5 to 20 ms.
        _ => [120, 240, 480, 960][configuration as usize % 4],
    }
}

/// `count` frames of equal size.
fn constant(octets: &[u8], count: u8) -> Result<u8, Error> {
    if !octets.len().is_multiple_of(count.into()) {
        let expected = "a multiple of the number of frames";
        return Err(Error::Invalid { field: "Opus frames", offset: 1, seen: octets.len() as u64, expected });
    }
    check_frame(octets.len() / usize::from(count))?;
    Ok(count)
}

/// Two frames, the length of the first before it.
fn two_frames(octets: &[u8]) -> Result<u8, Error> {
    let (first, rest) = frame_length(octets)?;
    let second = rest.len().checked_sub(first).ok_or(truncated("Opus frame", 1, first, rest.len()))?;
    check_frame(second)?;
    Ok(2)
}

/// A number of frames, with padding where that is flagged, of one size or each with its length.
fn any_frames(octets: &[u8]) -> Result<u8, Error> {
    const VARIABLE: u8 = 0x80;
    const PADDED: u8 = 0x40;
    let (&head, mut rest) = octets.split_first().ok_or(truncated("Opus frame count", 1, 1, 0))?;
    let count = head & 0x3F;
    if !(1..=MOST_FRAMES).contains(&count) {
        return Err(Error::Invalid {
            field: "Opus frame count",
            offset: 1,
            seen: count.into(),
            expected: "1 to 48",
        });
    }
    if head & PADDED != 0 {
        rest = without_padding(rest)?;
    }
    if head & VARIABLE == 0 {
        return constant(rest, count);
    }
    let mut lengths = 0;
    for _ in 1..count {
        let (length, behind) = frame_length(rest)?;
        (lengths, rest) = (lengths + length, behind);
    }
    let last = rest.len().checked_sub(lengths).ok_or(truncated("Opus frames", 2, lengths, rest.len()))?;
    check_frame(last)?;
    Ok(count)
}

/// What stands before the padding: each octet 255 of its length counts 254 and announces another.
fn without_padding(mut octets: &[u8]) -> Result<&[u8], Error> {
    let mut padding = 0;
    loop {
        let (&more, rest) = octets.split_first().ok_or(truncated("Opus padding", 2, 1, 0))?;
        octets = rest;
        padding += usize::from(more.min(254));
        if more < 255 {
            break;
        }
    }
    let len = octets.len().checked_sub(padding).ok_or(truncated("Opus padding", 2, padding, octets.len()))?;
    Ok(&octets[..len])
}

/// The length of a frame in one octet or two (section 3.2.1), and what is behind it.
fn frame_length(octets: &[u8]) -> Result<(usize, &[u8]), Error> {
    let (&first, rest) = octets.split_first().ok_or(truncated("Opus frame length", 1, 1, 0))?;
    if first < 252 {
        return Ok((first.into(), rest));
    }
    let (&second, rest) = rest.split_first().ok_or(truncated("Opus frame length", 2, 1, 0))?;
    Ok((usize::from(second) * 4 + usize::from(first), rest))
}

fn check_frame(len: usize) -> Result<(), Error> {
    if len > LARGEST_FRAME {
        return Err(Error::TooLarge { field: "Opus frame", seen: len as u64, limit: LARGEST_FRAME as u64 });
    }
    Ok(())
}

const fn truncated(field: &'static str, offset: usize, needed: usize, available: usize) -> Error {
    Error::Truncated { field, offset, needed, available }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(octets: &[u8]) -> (u16, u8, bool) {
        let packet = Packet::parse(octets).unwrap();
        (packet.frame, packet.frames, packet.stereo)
    }

    /// By RFC 6716 figures 2 to 6 and table 2.
    #[test]
    fn what_has_the_frame_before_it() {
        let has_it = |octets: &[u8]| Packet::parse(octets).unwrap().has_previous(octets);
        // SILK narrowband of 20 ms, mono: voice activity, then LBRR.
        assert!(has_it(&[1 << 3, 0x40]) && has_it(&[1 << 3, 0xC0]) && !has_it(&[1 << 3, 0x80]));
        // Hybrid fullband of 20 ms, stereo: the flags of the second channel are behind those of the first.
        assert!(has_it(&[15 << 3 | 4, 0x10]) && !has_it(&[15 << 3, 0x10]) && has_it(&[15 << 3 | 4, 0x40]));
        // CELT has none, of two frames and of 60 ms it is not known, and an empty frame has nothing.
        assert!(!has_it(&[0xFC, 0xFF]) && !has_it(&[1 << 3 | 1, 0x40, 0x40]) && !has_it(&[3 << 3, 0x40]));
        assert!(!has_it(&[1 << 3]) && !has_it(&[15 << 3 | 4, 0x80]));
    }

    #[test]
    fn worked_octets() {
        // CELT fullband of 20 ms, stereo, one frame; what browsers send.
        assert_eq!(parse(&[0xFC, 1, 2, 3]), (960, 1, true));
        // SILK narrowband of 60 ms, mono; an empty frame is a lost one.
        assert_eq!(parse(&[3 << 3]), (2880, 1, false));
        // Hybrid super-wideband of 10 ms, two frames of one size.
        assert_eq!(parse(&[12 << 3 | 1, 7, 7]), (480, 2, false));
        // Two frames, the first of 252 + 4 octets.
        let mut two = vec![16 << 3 | 2, 252, 1];
        two.resize(2 + 1 + 256 + 10, 0);
        assert_eq!(parse(&two), (120, 2, false));
        // Three frames of lengths 1, 0 and the rest, behind padding of 254 + 2 octets.
        let mut padded = vec![31 << 3 | 3, 0xC3, 255, 2, 1, 0, 9, 8, 8];
        padded.resize(padded.len() + 256, 0);
        assert_eq!(parse(&padded), (960, 3, false));
        assert_eq!(Packet::parse(&padded).unwrap().duration(), 2880);
        assert_eq!(parse(&Packet::lost(0xFF)), (960, 1, true));
        // Six frames of an octet, 120 ms; two frames of 1000 octets.
        assert_eq!(parse(&[31 << 3 | 3, 6, 1, 1, 1, 1, 1, 1]), (960, 6, false));
        assert_eq!(parse(&[[31 << 3 | 1].as_slice(), &[0; 2000]].concat()), (960, 2, false));
    }

    /// Octets behind the head, so that what is left are frames of one size, or just a frame as long as it says.
    #[test]
    fn lengths_in_two_octets() {
        let refused = |head: &[u8], len| Packet::parse(&[head, &vec![0; len]].concat()).is_err();
        // Three frames of an octet, behind 254 + 1 octets of padding, or before one.
        assert!(
            !refused(&[31 << 3 | 3, 0x43, 255, 1], 3 + 255) && refused(&[31 << 3 | 3, 0x43, 255, 1], 3 + 254)
        );
        assert!(!refused(&[31 << 3 | 3, 0x43, 1], 3 + 1));
        // Two frames, of 252 + 2 * 4 octets and none.
        assert!(!refused(&[16 << 3 | 2, 252, 2], 260) && refused(&[16 << 3 | 2, 252, 2], 259));
    }

    #[test]
    fn malformed_packets() {
        let refused = |octets: &[u8]| Packet::parse(octets).is_err();
        assert!(refused(&[]));
        assert!(refused(&[31 << 3 | 1, 7]), "R3: an odd length");
        assert!(refused(&[31 << 3 | 2, 5, 1]), "R4: longer than what is there");
        assert!(refused(&[31 << 3 | 3]), "R5: no count");
        assert!(refused(&[31 << 3 | 3, 0]), "R5: no frame");
        assert!(refused(&[31 << 3 | 3, 7]), "R5: 140 ms");
        assert!(refused(&[3 << 3 | 3, 3, 1, 1, 1]), "R5: 180 ms");
        assert!(refused(&[31 << 3 | 3, 0x42, 9, 1]), "R6: padding beyond the end");
        assert!(refused(&[31 << 3 | 3, 3, 1, 1]), "R6: two octets for three frames");
        assert!(refused(&[31 << 3 | 3, 0x83, 1, 9, 1]), "R7");
        assert!(refused(&[0xFC; 1277]), "R2: 1276 octets");
        assert!(!refused(&[0xFC; 1276]));
    }

    proptest! {
        #[test]
        fn damage_never_panics(octets in prop::collection::vec(any::<u8>(), 0..64)) {
            if let Ok(packet) = Packet::parse(&octets) {
                prop_assert!((120..=5760).contains(&packet.duration()));
            }
        }
    }
}
