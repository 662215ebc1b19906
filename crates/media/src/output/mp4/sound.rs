//! Sound as a track of a fragmented MP4: Opus ("Encapsulation of Opus in ISO Base Media File Format", version 0.6.8), and AAC (ISO/IEC
//! 14496-14 section 5.6).

use super::{MATRIX, Media, boxed, full, media, words};
use seaway_wire::aac;
use seaway_wire::opus;

/// The number of the track.
pub(super) const TRACK: u32 = 2;
/// Sound that waits for pictures at most, in seconds.
const LONGEST: u64 = 2;

/// What a sound track holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SoundCodec {
    /// Opus packets.
    Opus,
    /// Frames of AAC of this configuration, without headers.
    Aac(aac::Config),
}

impl SoundCodec {
    /// Samples a second, by which its times count.
    pub fn sample_rate(self) -> u32 {
        match self {
            Self::Opus => opus::CLOCK_RATE,
            Self::Aac(config) => config.sample_rate(),
        }
    }
}

/// Packets that are not written yet.
#[derive(Debug)]
pub(super) struct SoundTrack {
    pub(super) codec: SoundCodec,
    pending: Vec<Packet>,
    data: Vec<u8>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Packet {
    start: u64,
    duration: u32,
    size: u32,
}

impl SoundTrack {
    pub(super) const fn new(codec: SoundCodec) -> Self {
        Self { codec, pending: Vec::new(), data: Vec::new() }
    }

    pub(super) fn push(&mut self, packet: &[u8], start: u64, duration: u32) {
        self.pending.push(Packet { start, duration, size: packet.len() as u32 });
        self.data.extend_from_slice(packet);
    }

    /// More waits than a fragment of pictures lasts: none come.
    pub(super) fn is_long(&self) -> bool {
        let ends = self.pending.first().zip(self.pending.last());
        let longest = LONGEST * u64::from(self.codec.sample_rate());
        ends.is_some_and(|(first, last)| last.start - first.start >= longest)
    }

    /// Takes what waits, and its octets.
    pub(super) fn take(&mut self) -> Option<(Vec<Packet>, Vec<u8>)> {
        let Self { pending, data, .. } = std::mem::replace(self, Self::new(self.codec));
        (!pending.is_empty()).then_some((pending, data))
    }
}

/// Appends the `trak` box of the sound.
pub(super) fn track(out: &mut Vec<u8>, codec: SoundCodec) {
    boxed(out, b"trak", |out| {
        // Enabled, in the movie, in the preview; full volume, no size.
        full(out, b"tkhd", 0, 7, |out| {
            words(out, &[0, 0, TRACK, 0, 0, 0, 0, 0, 0x0100_0000]);
            words(out, &MATRIX);
            words(out, &[0, 0]);
        });
        let sound = Media {
            timescale: codec.sample_rate(),
            duration: 0,
            handler: b"soun\0\0\0\0\0\0\0\0\0\0\0\0Sound\0",
            header: (b"smhd", 0, &[0]),
            entry: &|out| match codec {
                SoundCodec::Opus => boxed(out, b"Opus", opus_entry),
                SoundCodec::Aac(config) => boxed(out, b"mp4a", |out| aac_entry(out, config)),
            },
            index: None,
        };
        boxed(out, b"mdia", |out| media(out, &sound));
    });
}

/// What every sample entry of sound begins with.
fn begin_entry(out: &mut Vec<u8>, channels: u8, rate: u32) {
    // Samples of 16 bits. A rate that does not fit is left out, and stands elsewhere.
    let rate = u16::try_from(rate).unwrap_or(0);
    words(out, &[0, 1, 0, 0, u32::from(channels) << 16 | 16, 0, u32::from(rate) << 16]);
}

fn opus_entry(out: &mut Vec<u8>) {
    begin_entry(out, 2, opus::CLOCK_RATE);
    boxed(out, b"dOps", |out| {
        // Version, channels; nothing to skip at the beginning: a recording begins amid the sound.
        out.extend_from_slice(&[0, 2, 0, 0]);
        out.extend(opus::CLOCK_RATE.to_be_bytes());
        // No gain, mapping family 0: mono or stereo.
        out.extend_from_slice(&[0, 0, 0]);
    });
}

fn aac_entry(out: &mut Vec<u8>, config: aac::Config) {
    begin_entry(out, config.channels(), config.sample_rate());
    full(out, b"esds", 0, 0, |out| {
        // Descriptors of ISO/IEC 14496-1 section 7.2.6: of the stream, of its decoder (MPEG-4 audio, no bounds known), of what that must
        // know, and of time stamps that the file has.
        out.extend([3, 25, 0, 0, 0]);
        out.extend([4, 17, 0x40, 0x15, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        out.extend([5, 2]);
        out.extend(config.to_bytes());
        out.extend([6, 1, 2]);
    });
}

/// A fragment of these packets, whose octets are at `offset`.
pub(super) fn fragment(packets: &[Packet], number: u32, offset: u32) -> Vec<u8> {
    let start = packets.first().map_or(0, |first| first.start);
    let nexts = packets.iter().skip(1).map(|packet| Some(packet.start)).chain([None]);
    let mut out = Vec::with_capacity(128 + 8 * packets.len());
    boxed(&mut out, b"moof", |out| {
        full(out, b"mfhd", 0, 0, |out| words(out, &[number]));
        boxed(out, b"traf", |out| {
            // Offsets count from this box; every packet is a sync sample.
            full(out, b"tfhd", 0, 0x2_0020, |out| words(out, &[TRACK, 0x0200_0000]));
            full(out, b"tfdt", 1, 0, |out| out.extend(start.to_be_bytes()));
            // Each with duration and size. A packet lasts to the next, also over a gap.
            full(out, b"trun", 0, 0x301, |out| {
                words(out, &[packets.len() as u32, offset]);
                for (packet, next) in packets.iter().zip(nexts) {
                    let lasting =
                        next.map_or(packet.duration.into(), |next| next.saturating_sub(packet.start));
                    words(out, &[u32::try_from(lasting).unwrap_or(u32::MAX), packet.size]);
                }
            });
        });
    });
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What stands behind the only box of this kind.
    fn content<'a>(file: &'a [u8], kind: &[u8; 4], len: usize) -> &'a [u8] {
        let at = file.windows(4).position(|window| window == kind).expect("the box");
        &file[at + 4..at + 4 + len]
    }

    fn word(octets: &[u8], index: usize) -> u32 {
        u32::from_be_bytes([0, 1, 2, 3].map(|octet| octets[4 * index + octet]))
    }

    #[test]
    fn the_track_is_opus_in_two_channels() {
        let mut file = Vec::new();
        track(&mut file, SoundCodec::Opus);
        // Section 4.3.2: version, channels, pre-skip, sample rate, gain, mapping family.
        assert_eq!(content(&file, b"dOps", 11), [0, 2, 0, 0, 0, 0, 0xBB, 0x80, 0, 0, 0]);
        assert_eq!(content(&file, b"Opus", 28)[16..20], [0, 2, 0, 16]);
        assert_eq!(word(content(&file, b"mdhd", 24), 3), 48_000);
    }

    #[test]
    fn the_track_is_aac_of_its_configuration() {
        let mut file = Vec::new();
        // AAC-LC at 44.1 kHz in one channel.
        track(&mut file, SoundCodec::Aac(aac::Config::parse([0x12, 0x08]).unwrap()));
        let entry = content(&file, b"mp4a", 28);
        assert_eq!((&entry[16..20], word(entry, 6)), (&[0, 1, 0, 16][..], 44_100 << 16));
        assert_eq!(word(content(&file, b"mdhd", 24), 3), 44_100);
        let esds = content(&file, b"esds", 31);
        // Each descriptor holds what follows, to the last octet.
        assert_eq!((esds[5], esds[10], &esds[24..]), (25, 17, &[5, 2, 0x12, 0x08, 6, 1, 2][..]));
    }

    #[test]
    fn a_packet_lasts_to_the_next_and_the_last_as_long_as_itself() {
        let mut sound = SoundTrack::new(SoundCodec::Opus);
        for (start, duration) in [(480, 960), (1_440, 960), (3_360, 960)] {
            sound.push(&[0xFC, 1, 2], start, duration);
        }
        assert!(!sound.is_long());
        let (packets, data) = sound.take().unwrap();
        assert_eq!((data.len(), sound.take().is_none()), (9, true));
        let file = fragment(&packets, 7, 99);
        assert_eq!(content(&file, b"tfdt", 12), [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xE0]);
        let run = content(&file, b"trun", 36);
        let words: Vec<u32> = (1..9).map(|index| word(run, index)).collect();
        assert_eq!(words, [3, 99, 960, 3, 1_920, 3, 960, 3]);
        let mut sound = SoundTrack::new(SoundCodec::Opus);
        sound.push(&[0xFC], 0, 960);
        sound.push(&[0xFC], 96_000, 960);
        assert!(sound.is_long(), "no picture takes it along");
    }
}
