//! AAC (ISO/IEC 14496-3): its configuration, the header before each frame in a stream (ADTS), and the RTP payload of RFC 3640 in mode
//! AAC-hbr.

use crate::Error;

/// Samples of a frame, of each channel.
pub const FRAME: u32 = 1024;
/// Octets of a payload before the data of one unit.
pub const PAYLOAD_HEAD: usize = 4;
/// Sampling rates by their index (table 1.18).
const RATES: [u32; 13] =
    [96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350];
/// The largest number of 13 bits: a size in both headers.
const LARGEST: usize = 0x1FFF;

/// What a decoder must know: an `AudioSpecificConfig` of two octets (section 1.6.2.1), of which a header of ADTS has the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Config {
    /// 1 to 4; AAC-LC is 2.
    object_type: u8,
    /// 0 to 12.
    rate_index: u8,
    /// 1 to 7.
    channels: u8,
}

impl Config {
    /// Octets.
    pub const LEN: usize = 2;

    fn new(object_type: u8, rate_index: u8, channels: u8) -> Result<Self, Error> {
        let is_valid = matches!((object_type, rate_index, channels), (1..=4, 0..=12, 1..=7));
        let seen = u64::from(object_type) << 8 | u64::from(rate_index) << 4 | u64::from(channels);
        let expected = "object type 1 to 4, rate index 0 to 12, channels 1 to 7";
        let invalid = Error::Invalid { field: "AAC configuration", offset: 0, seen, expected };
        if is_valid { Ok(Self { object_type, rate_index, channels }) } else { Err(invalid) }
    }

    /// Reads it.
    ///
    /// # Errors
    /// Another codec, a rate or an order of channels that has no number, or frames of another length.
    pub fn parse(octets: [u8; Self::LEN]) -> Result<Self, Error> {
        let bits = u16::from_be_bytes(octets);
        // frameLengthFlag, dependsOnCoreCoder, extensionFlag.
        if bits & 7 != 0 {
            let expected = "frames of 1024 samples that depend on nothing";
            return Err(Error::Invalid {
                field: "AAC configuration",
                offset: 1,
                seen: bits.into(),
                expected,
            });
        }
        Self::new((bits >> 11) as u8, (bits >> 7 & 15) as u8, (bits >> 3 & 15) as u8)
    }

    /// Its octets.
    pub const fn to_bytes(self) -> [u8; Self::LEN] {
        let Self { object_type, rate_index, channels } = self;
        ((object_type as u16) << 11 | (rate_index as u16) << 7 | (channels as u16) << 3).to_be_bytes()
    }

    /// Samples a second.
    pub fn sample_rate(self) -> u32 {
        RATES[usize::from(self.rate_index)]
    }

    /// Channels (table 1.19).
    pub const fn channels(self) -> u8 {
        if self.channels == 7 { 8 } else { self.channels }
    }

    /// The header of a frame of so many octets; `None` where they are too many.
    pub fn adts_header(self, len: usize) -> Option<[u8; AdtsHeader::LEN]> {
        let len = Some(len + AdtsHeader::LEN).filter(|len| *len <= LARGEST)?;
        let Self { object_type, rate_index, channels } = self;
        // No checksum, buffer fullness of a variable rate, one block.
        Some([
            0xFF,
            0xF1,
            (object_type - 1) << 6 | rate_index << 2 | channels >> 2,
            channels << 6 | (len >> 11) as u8,
            (len >> 3) as u8,
            (len << 5) as u8 | 0x1F,
            0xFC,
        ])
    }
}

/// The header of a frame in a stream (ISO/IEC 13818-7 section 6.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AdtsHeader {
    object_type: u8,
    rate_index: u8,
    /// 0: by the frame itself.
    channels: u8,
    /// Blocks behind it, 1 to 4.
    blocks: u8,
    /// A checksum follows.
    is_checked: bool,
    /// Octets of the frame, this header included.
    pub frame_len: usize,
}

impl AdtsHeader {
    /// Octets without a checksum.
    pub const LEN: usize = 7;

    /// Reads the header at the front of `octets`.
    ///
    /// # Errors
    /// Fewer than seven octets, no header, or a frame that is shorter than its header.
    pub fn parse(octets: &[u8]) -> Result<Self, Error> {
        let field = "ADTS header";
        let &[first, second, third, fourth, fifth, sixth, seventh, ..] = octets else {
            let (needed, available) = (Self::LEN, octets.len());
            return Err(Error::Truncated { field, offset: 0, needed, available });
        };
        let invalid =
            |offset, seen: u8, expected| Error::Invalid { field, offset, seen: seen.into(), expected };
        if first != 0xFF || second & 0xF6 != 0xF0 {
            return Err(invalid(0, second, "the sync word 0xFFF and layer 0"));
        }
        let rate_index = third >> 2 & 15;
        if usize::from(rate_index) >= RATES.len() {
            return Err(invalid(2, rate_index, "a rate index of 0 to 12"));
        }
        let frame_len = usize::from(fourth & 3) << 11 | usize::from(fifth) << 3 | usize::from(sixth >> 5);
        let header = Self {
            object_type: (third >> 6) + 1,
            rate_index,
            channels: third << 2 & 4 | fourth >> 6,
            blocks: (seventh & 3) + 1,
            is_checked: second & 1 == 0,
            frame_len,
        };
        if frame_len < header.header_len() {
            return Err(invalid(3, frame_len as u8, "a length that has room for the header"));
        }
        Ok(header)
    }

    /// Octets of the header.
    pub const fn header_len(&self) -> usize {
        Self::LEN + if self.is_checked { 2 } else { 0 }
    }

    /// Samples a second.
    pub fn sample_rate(&self) -> u32 {
        RATES[usize::from(self.rate_index)]
    }

    /// Samples of the frame, of each channel.
    pub fn samples(&self) -> u32 {
        FRAME * u32::from(self.blocks)
    }

    /// What a decoder must know of the frame; `None` where the frame itself says it, or is several.
    pub fn config(&self) -> Option<Config> {
        let config = Config::new(self.object_type, self.rate_index, self.channels).ok()?;
        (self.blocks == 1).then_some(config)
    }
}

/// A payload of RFC 3640 section 3.3.6: access units, each with a header of 13 bits of size and 3 bits of index; or a part of one
/// unit, whose size is that of the whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Payload<'a> {
    /// Two octets each.
    headers: &'a [[u8; 2]],
    data: &'a [u8],
}

impl<'a> Payload<'a> {
    /// Reads a payload.
    ///
    /// # Errors
    /// Headers of other lengths, none, units in another order than they are played, an empty unit, or sizes that are not those of
    /// the data.
    pub fn parse(octets: &'a [u8]) -> Result<Self, Error> {
        let field = "AU headers";
        let truncated = |offset, needed, available| Error::Truncated { field, offset, needed, available };
        let (bits, rest) = octets.split_first_chunk().ok_or(truncated(0, 2, octets.len()))?;
        let bits = usize::from(u16::from_be_bytes(*bits));
        let invalid =
            |offset, seen: usize, expected| Error::Invalid { field, offset, seen: seen as u64, expected };
        if bits == 0 || !bits.is_multiple_of(16) {
            return Err(invalid(0, bits, "a multiple of 16 bits"));
        }
        let (headers, data) = rest.split_at_checked(bits / 8).ok_or(truncated(2, bits / 8, rest.len()))?;
        let (headers, _) = headers.as_chunks();
        if let Some(header) = headers.iter().find(|header| header[1] & 7 != 0) {
            return Err(invalid(2, header[1].into(), "units that follow each other"));
        }
        let payload = Self { headers, data };
        if payload.sizes().any(|size| size == 0) {
            return Err(invalid(2, 0, "units that are not empty"));
        }
        let sum: usize = payload.sizes().sum();
        let is_part = headers.len() == 1 && data.len() < sum && !data.is_empty();
        if sum != data.len() && !is_part {
            return Err(invalid(2, sum, "the sizes of the units"));
        }
        Ok(payload)
    }

    /// What stands before a unit of so many octets, or before each part of one; `None` where they are too many.
    pub fn head(len: usize) -> Option<[u8; PAYLOAD_HEAD]> {
        let len = u16::try_from(len).ok().filter(|len| usize::from(*len) <= LARGEST)?;
        let [high, low] = (len << 3).to_be_bytes();
        Some([0, 16, high, low])
    }

    fn sizes(&self) -> impl Iterator<Item = usize> + use<'a> {
        self.headers.iter().map(|header| usize::from(u16::from_be_bytes(*header) >> 3))
    }

    /// The units in it. Where it has a part of one, that is shorter than the size beside it.
    pub fn units(&self) -> impl Iterator<Item = (usize, &'a [u8])> + use<'a> {
        let mut data = self.data;
        self.sizes().map(move |size| {
            let (unit, rest) = data.split_at(size.min(data.len()));
            data = rest;
            (size, unit)
        })
    }

    /// Octets of the payload.
    pub const fn buffer_len(&self) -> usize {
        2 + 2 * self.headers.len() + self.data.len()
    }

    /// Writes the payload to the front of `buffer`.
    ///
    /// # Errors
    /// A buffer below `buffer_len()`.
    pub fn emit(&self, buffer: &mut [u8]) -> Result<usize, Error> {
        let (needed, available) = (self.buffer_len(), buffer.len());
        let no_room = Error::NoRoom { field: "AAC payload", needed, available };
        let (head, rest) = buffer.get_mut(..needed).ok_or(no_room)?.split_at_mut(2);
        head.copy_from_slice(&((16 * self.headers.len()) as u16).to_be_bytes());
        let (headers, data) = rest.split_at_mut(2 * self.headers.len());
        headers.copy_from_slice(self.headers.as_flattened());
        data.copy_from_slice(self.data);
        Ok(needed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// As in the example of RFC 3640 section 3.3.6: `config=1190` is AAC-LC at 48 kHz in two channels.
    #[test]
    fn configurations() {
        for (octets, rate, channels) in
            [([0x11, 0x90], 48_000, 2), ([0x12, 0x08], 44_100, 1), ([0x13, 0xB8], 22_050, 8)]
        {
            let config = Config::parse(octets).unwrap();
            assert_eq!(
                (config.sample_rate(), config.channels(), config.to_bytes()),
                (rate, channels, octets)
            );
        }
        // SBR by name, rate index 13, no channels, frames of 960 samples.
        for octets in [[0x29, 0x90], [0x16, 0x90], [0x11, 0x80], [0x11, 0x94]] {
            assert!(Config::parse(octets).is_err(), "{octets:?}");
        }
    }

    /// The first frame of a file of FFmpeg: 44.1 kHz, two channels.
    #[test]
    fn headers_of_frames() {
        let octets = [0xFF, 0xF1, 0x50, 0x80, 0x2E, 0x7F, 0xFC];
        let header = AdtsHeader::parse(&octets).unwrap();
        assert_eq!((header.frame_len, header.header_len(), header.samples()), (371, 7, 1024));
        assert_eq!(header.config().map(Config::to_bytes), Some([0x12, 0x10]));
        assert_eq!(header.config().unwrap().adts_header(364), Some(octets));
        assert_eq!(header.config().unwrap().adts_header(8185), None);
        // A checksum; four blocks; channels by the frame; a frame shorter than its header; no header.
        let with = |place: usize, octet| {
            let mut octets = octets;
            octets[place] = octet;
            AdtsHeader::parse(&octets)
        };
        assert_eq!(with(1, 0xF0).unwrap().header_len(), 9);
        assert_eq!(with(6, 0xFF).map(|header| (header.samples(), header.config())), Ok((4096, None)));
        assert_eq!(with(3, 0).unwrap().config(), None);
        assert!(with(4, 0).is_err() && with(1, 0xE1).is_err() && with(2, 0x74).is_err());
        assert!(AdtsHeader::parse(&octets[..6]).is_err());
    }

    /// 13 bits in three octets: 8191 octets with the header, and 7, a frame without any.
    #[test]
    fn the_longest_and_the_shortest_frame() {
        let config = Config::parse([0x12, 0x10]).unwrap();
        for (len, octets) in
            [(8184, [0xFF, 0xF1, 0x50, 0x83, 0xFF, 0xFF, 0xFC]), (0, [0xFF, 0xF1, 0x50, 0x80, 0, 0xFF, 0xFC])]
        {
            assert_eq!(config.adts_header(len), Some(octets));
            let header = AdtsHeader::parse(&octets).unwrap();
            assert_eq!((header.frame_len, header.sample_rate()), (len + 7, 44_100));
        }
    }

    fn units(octets: &[u8]) -> Option<Vec<(usize, &[u8])>> {
        Payload::parse(octets).ok().map(|payload| payload.units().collect())
    }

    #[test]
    fn units_and_parts() {
        // Two units of 3 and 2 octets: 32 bits of headers.
        assert_eq!(
            units(&[0, 32, 0, 24, 0, 16, 1, 2, 3, 4, 5]),
            Some(vec![(3, &[1, 2, 3][..]), (2, &[4, 5])])
        );
        // Two octets of a unit of 500.
        let part = [&Payload::head(500).unwrap()[..], &[7, 8]].concat();
        assert_eq!(part, [0, 16, 0x0F, 0xA0, 7, 8]);
        assert_eq!(units(&part), Some(vec![(500, &[7, 8][..])]));
        assert_eq!((Payload::head(8191), Payload::head(8192)), (Some([0, 16, 0xFF, 0xF8]), None));
    }

    #[test]
    fn a_payload_is_written_as_it_was_read() {
        let octets = [0, 48, 0, 24, 0, 16, 0, 8, 1, 2, 3, 4, 5, 6];
        let payload = Payload::parse(&octets).unwrap();
        let mut buffer = [9; 15];
        assert_eq!((payload.buffer_len(), payload.emit(&mut buffer)), (14, Ok(14)));
        assert_eq!((&buffer[..14], buffer[14]), (&octets[..], 9));
        assert_eq!(
            payload.emit(&mut buffer[..13]),
            Err(Error::NoRoom { field: "AAC payload", needed: 14, available: 13 })
        );
    }

    #[test]
    fn an_error_says_how_long_the_headers_are() {
        let field = "AU headers";
        let beyond = Error::Truncated { field, offset: 2, needed: 4, available: 2 };
        assert_eq!(Payload::parse(&[0, 32, 0, 8]), Err(beyond));
        let none = Error::Invalid { field, offset: 0, seen: 0, expected: "a multiple of 16 bits" };
        assert_eq!(Payload::parse(&[0, 0]), Err(none));
    }

    #[test]
    fn malformed_payloads() {
        for (octets, why) in [
            (&[0][..], "no length"),
            (&[0, 0, 1], "no header"),
            (&[0, 15, 0, 8, 1], "a header of 15 bits"),
            (&[0, 32, 0, 8], "headers beyond the end"),
            (&[0xFF, 0xF0, 0, 8, 1], "8190 octets of headers"),
            (&[0, 16, 0, 0], "an empty unit"),
            (&[0, 16, 0, 8], "no data"),
            (&[0, 16, 0, 8, 1, 2], "more than the unit"),
            (&[0, 32, 0, 8, 0, 16, 1], "a part behind a unit"),
            (&[0, 16, 0, 9, 1], "an index"),
        ] {
            assert_eq!(units(octets), None, "{why}");
        }
    }

    proptest! {
        #[test]
        fn damage_never_panics(octets in prop::collection::vec(any::<u8>(), 0..64), headers in 0u8..8) {
            for octets in [octets.clone(), [&[0, headers * 16][..], &octets].concat()] {
                if let Ok(payload) = Payload::parse(&octets) {
                    let held: usize = payload.units().map(|(_, unit)| unit.len()).sum();
                    prop_assert!(held < octets.len() && payload.units().all(|(size, unit)| unit.len() <= size));
                }
                let _ = (AdtsHeader::parse(&octets), octets.first_chunk().map(|octets| Config::parse(*octets)));
            }
        }
    }
}
