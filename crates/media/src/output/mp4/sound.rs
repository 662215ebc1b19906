//! Opus as a track of a fragmented MP4 ("Encapsulation of Opus in ISO Base Media File Format", version 0.6.8).

use super::{MATRIX, Media, boxed, full, media, words};

/// The number of the track.
pub(super) const TRACK: u32 = 2;
/// Units of time a second: samples.
const TIMESCALE: u32 = 48_000;
/// Sound that waits for pictures at most.
const LONGEST: u64 = 2 * TIMESCALE as u64;

/// Packets that are not written yet.
#[derive(Debug, Default)]
pub(super) struct SoundTrack {
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
    pub(super) fn push(&mut self, packet: &[u8], start: u64, duration: u32) {
        self.pending.push(Packet { start, duration, size: packet.len() as u32 });
        self.data.extend_from_slice(packet);
    }

    /// More waits than a fragment of pictures lasts: none come.
    pub(super) fn is_long(&self) -> bool {
        let ends = self.pending.first().zip(self.pending.last());
        ends.is_some_and(|(first, last)| last.start - first.start >= LONGEST)
    }

    /// Takes what waits, and its octets.
    pub(super) fn take(&mut self) -> Option<(Vec<Packet>, Vec<u8>)> {
        let Self { pending, data } = std::mem::take(self);
        (!pending.is_empty()).then_some((pending, data))
    }
}

/// Appends the `trak` box of the sound.
pub(super) fn track(out: &mut Vec<u8>) {
    boxed(out, b"trak", |out| {
        // Enabled, in the movie, in the preview; full volume, no size.
        full(out, b"tkhd", 0, 7, |out| {
            words(out, &[0, 0, TRACK, 0, 0, 0, 0, 0, 0x0100_0000]);
            words(out, &MATRIX);
            words(out, &[0, 0]);
        });
        let sound = Media {
            timescale: TIMESCALE,
            duration: 0,
            handler: b"soun\0\0\0\0\0\0\0\0\0\0\0\0Sound\0",
            header: (b"smhd", 0, &[0]),
            entry: &|out| boxed(out, b"Opus", sample_entry),
            index: None,
        };
        boxed(out, b"mdia", |out| media(out, &sound));
    });
}

fn sample_entry(out: &mut Vec<u8>) {
    // Two channels of 16 bits.
    words(out, &[0, 1, 0, 0, 0x0002_0010, 0, TIMESCALE << 16]);
    boxed(out, b"dOps", |out| {
        // Version, channels; nothing to skip at the beginning: a recording begins amid the sound.
        out.extend_from_slice(&[0, 2, 0, 0]);
        out.extend(TIMESCALE.to_be_bytes());
        // No gain, mapping family 0: mono or stereo.
        out.extend_from_slice(&[0, 0, 0]);
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
        track(&mut file);
        // Section 4.3.2: version, channels, pre-skip, sample rate, gain, mapping family.
        assert_eq!(content(&file, b"dOps", 11), [0, 2, 0, 0, 0, 0, 0xBB, 0x80, 0, 0, 0]);
        assert_eq!(content(&file, b"Opus", 28)[16..20], [0, 2, 0, 16]);
        assert_eq!(word(content(&file, b"mdhd", 24), 3), 48_000);
    }

    #[test]
    fn a_packet_lasts_to_the_next_and_the_last_as_long_as_itself() {
        let mut sound = SoundTrack::default();
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
        let mut sound = SoundTrack::default();
        sound.push(&[0xFC], 0, 960);
        sound.push(&[0xFC], LONGEST, 960);
        assert!(sound.is_long(), "no picture takes it along");
    }
}
