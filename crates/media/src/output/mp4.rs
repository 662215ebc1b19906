//! MP4 writers (ISO/IEC 14496-12): fragmented (section 8.8), which is playable at any time, and progressive.

mod entry;
mod sound;

use self::entry::Entry;
pub use self::sound::SoundCodec;
use self::sound::SoundTrack;
use crate::{Error, PictureSize, VideoCodec};
use seaway_units::TimeDelta;
use std::io::Write;

/// Units of time a second, the RTP clock rate of video.
const TIMESCALE: i64 = 90_000;
/// The shortest time between two samples.
const UNIT: TimeDelta = TimeDelta::from_nanos(1_000_000_000 / TIMESCALE + 1);
/// A fragment is written once it holds this much, in time or in octets.
const FRAGMENT: TimeDelta = TimeDelta::from_secs(1);
const FRAGMENT_OCTETS: usize = 8 << 20;
/// With B pictures: more than any is decoded before it is shown.
const REORDERING: TimeDelta = TimeDelta::from_millis(500);

/// Writes access units with their times to a fragmented MP4, and sound as a second track.
#[derive(Debug)]
pub struct Mp4Writer<W> {
    out: W,
    codec: VideoCodec,
    /// The header is written with it, at the first key frame.
    entry: Option<Entry>,
    fragments: u32,
    pending: Vec<Sample>,
    data: Vec<u8>,
    /// When the last sample is decoded.
    decoded: Option<TimeDelta>,
    /// Pictures are written as shown later by this, and an edit list takes it away: none is decoded after it is shown.
    delay: TimeDelta,
    /// `None`: the file has no sound.
    sound: Option<SoundTrack>,
}

#[derive(Debug, Clone, Copy)]
struct Sample {
    /// When it is decoded.
    time: TimeDelta,
    /// When it is shown, after that.
    shown_after: TimeDelta,
    size: u32,
    key: bool,
}

impl<W: Write> Mp4Writer<W> {
    /// Writes to `out`.
    pub fn new(out: W) -> Self {
        Self {
            out,
            codec: VideoCodec::default(),
            entry: None,
            fragments: 0,
            pending: Vec::new(),
            data: Vec::new(),
            decoded: None,
            delay: TimeDelta::ZERO,
            sound: None,
        }
    }

    /// The video is of this codec, H.264 by default. False where the header is written already, for another one.
    pub fn set_codec(&mut self, codec: VideoCodec) -> bool {
        if self.entry.is_none() {
            self.codec = codec;
        }
        self.codec == codec
    }

    /// Pictures come in decoding order, which is not that of their times: with B pictures. Before the header.
    pub fn reorder(&mut self) {
        if self.entry.is_none() {
            self.delay = REORDERING;
        }
    }

    /// Gives the file a sound track of this codec. False where the header is written already, without one or for another one.
    pub fn set_sound(&mut self, codec: SoundCodec) -> bool {
        if self.entry.is_none() {
            self.sound = Some(SoundTrack::new(codec));
        }
        self.sound.as_ref().is_some_and(|sound| sound.codec == codec)
    }

    /// Appends a packet of `duration` that is played from `start` on, both in samples, the start since time zero
    /// of the pictures and not before the end of the packet before. Packets before the first key frame are dropped, and so are those
    /// of another codec than the track's.
    ///
    /// # Errors
    /// Where writing to `out` fails.
    pub fn write_sound(
        &mut self,
        codec: SoundCodec,
        packet: &[u8],
        start: u64,
        duration: u32,
    ) -> Result<(), Error> {
        let has_header = self.entry.is_some();
        let sound = self.sound.as_mut().filter(|sound| has_header && sound.codec == codec);
        let Some(sound) = sound else { return Ok(()) };
        sound.push(packet, start, duration);
        // Where pictures come, their fragments take the sound with them.
        if sound.is_long() { self.write_fragments(None) } else { Ok(()) }
    }

    /// Appends an access unit (Annex B) of presentation time `shown`, in decoding order. Access units before the first
    /// key frame with parameter sets cannot be decoded and are dropped.
    ///
    /// # Errors
    /// Where writing to `out` fails.
    pub fn write(
        &mut self,
        access_unit: &[u8],
        shown: TimeDelta,
        key: bool,
        size: PictureSize,
    ) -> Result<(), Error> {
        if self.entry.is_none() {
            let entry = key.then(|| Entry::of(self.codec, access_unit, size)).flatten();
            let Some(entry) = entry else { return Ok(()) };
            self.write_header(&entry)?;
            self.entry = Some(entry);
        }
        // With B pictures, times of decoding go on where those of presentation go back.
        let time = self.decoded.map_or(shown, |decoded| shown.max(decoded + UNIT));
        self.decoded = Some(time);
        let is_long = self.pending.first().is_some_and(|first| time - first.time >= FRAGMENT);
        if is_long || self.data.len() >= FRAGMENT_OCTETS {
            self.write_fragments(Some(time))?;
        }
        let before = self.data.len();
        self.entry.iter_mut().for_each(|entry| entry.append_sample(access_unit, &mut self.data));
        let size = (self.data.len() - before) as u32;
        self.pending.push(Sample { time, shown_after: shown + self.delay - time, size, key });
        Ok(())
    }

    /// Writes the last fragment. The last picture is shown as long as the one before.
    ///
    /// # Errors
    /// Where writing to `out` fails.
    pub fn finish(mut self) -> Result<W, Error> {
        if let Some(&last) = self.pending.last() {
            let before = self.pending.len().checked_sub(2).map(|index| self.pending[index].time);
            let usual = before.map_or(TimeDelta::from_millis(40), |before| last.time - before);
            self.write_fragments(Some(last.time + usual))?;
        }
        self.write_fragments(None)?;
        self.out.flush().map_err(Error::io("output"))?;
        Ok(self.out)
    }

    fn write_header(&mut self, entry: &Entry) -> Result<(), Error> {
        let mut header = Vec::new();
        boxed(&mut header, b"ftyp", |out| out.extend_from_slice(b"isom\0\0\x02\0isomiso6mp41"));
        let content =
            Content::Fragments { sound: self.sound.as_ref().map(|sound| sound.codec), delay: self.delay };
        movie(&mut header, entry, content);
        self.out.write_all(&header).map_err(Error::io("output"))
    }

    /// Writes the pending sound, and the pending pictures where the next is shown at `next`. Then the file can be played so far.
    fn write_fragments(&mut self, next: Option<TimeDelta>) -> Result<(), Error> {
        if let Some(next) = next {
            let samples = std::mem::take(&mut self.pending);
            let data = std::mem::take(&mut self.data);
            self.write_fragment(&data, |number, offset| fragment(&samples, next, number, offset))?;
        }
        if let Some((samples, data)) = self.sound.as_mut().and_then(SoundTrack::take) {
            self.write_fragment(&data, |number, offset| sound::fragment(&samples, number, offset))?;
        }
        self.out.flush().map_err(Error::io("output"))
    }

    fn write_fragment(&mut self, data: &[u8], head: impl Fn(u32, u32) -> Vec<u8>) -> Result<(), Error> {
        self.fragments += 1;
        // The offset of the data depends on the length of the box, which does not depend on the offset.
        let offset = head(self.fragments, 0).len() as u32 + 8;
        let mut head = head(self.fragments, offset);
        head.extend((data.len() as u32 + 8).to_be_bytes());
        head.extend_from_slice(b"mdat");
        self.out.write_all(&head).and_then(|()| self.out.write_all(data)).map_err(Error::io("output"))
    }
}

/// A complete MP4 file in memory, with the index before the samples, so that every player can seek in it. All pictures
/// have the same size.
#[derive(Debug)]
pub struct ProgressiveMp4 {
    size: PictureSize,
    samples: Vec<Sample>,
    data: Vec<u8>,
    /// By the first key frame.
    entry: Option<Entry>,
}

impl ProgressiveMp4 {
    /// A file of pictures of this size.
    pub fn new(size: PictureSize) -> Self {
        Self { size, samples: Vec::new(), data: Vec::new(), entry: None }
    }

    /// Appends an access unit (Annex B) of presentation time `time`, which increases. The first must be a key frame.
    ///
    /// # Errors
    /// Where the first has no parameter sets, or the file exceeds 4 GB.
    pub fn push(&mut self, access_unit: &[u8], time: TimeDelta, key: bool) -> Result<(), Error> {
        if self.entry.is_none() {
            let entry = Entry::of(VideoCodec::H264, access_unit, self.size).ok_or(Error::Malformed {
                container: "H.264",
                at: "the first key frame".into(),
                found: "none".into(),
                expected: "parameter sets",
            })?;
            self.entry = Some(entry);
        }
        let before = self.data.len();
        self.entry.iter_mut().for_each(|entry| entry.append_sample(access_unit, &mut self.data));
        if u32::try_from(self.data.len() + (1 << 20)).is_err() {
            return Err(Error::Unsupported("an MP4 file of more than 4 GB".into()));
        }
        let size = (self.data.len() - before) as u32;
        self.samples.push(Sample { time, shown_after: TimeDelta::ZERO, size, key });
        Ok(())
    }

    /// The file. Its last picture is shown until `end`.
    ///
    /// # Errors
    /// Where nothing was appended.
    pub fn finish(self, end: TimeDelta) -> Result<Vec<u8>, Error> {
        let Some(entry) = &self.entry else {
            return Err(Error::Unsupported("an MP4 file without a picture".into()));
        };
        let layout = |offset| {
            let mut header = Vec::new();
            boxed(&mut header, b"ftyp", |out| out.extend_from_slice(b"isom\0\0\x02\0isomiso2avc1mp41"));
            let index = Index { samples: &self.samples, end, offset };
            movie(&mut header, entry, Content::Indexed(&index));
            header
        };
        // Lengths do not depend on the offset.
        let mut file = layout(layout(0).len() as u32 + 8);
        boxed(&mut file, b"mdat", |out| out.extend_from_slice(&self.data));
        Ok(file)
    }
}

/// What a movie box describes.
#[derive(Clone, Copy)]
enum Content<'a> {
    /// Pictures, and maybe sound, in fragments.
    Fragments { sound: Option<SoundCodec>, delay: TimeDelta },
    /// Pictures of a progressive file.
    Indexed(&'a Index<'a>),
}

impl<'a> Content<'a> {
    const fn index(self) -> Option<&'a Index<'a>> {
        match self {
            Self::Fragments { .. } => None,
            Self::Indexed(index) => Some(index),
        }
    }
}

/// The index of a progressive file: positions and times of its samples.
struct Index<'a> {
    samples: &'a [Sample],
    end: TimeDelta,
    offset: u32,
}

impl Index<'_> {
    fn duration(&self) -> u32 {
        units(self.end).clamp(0, i64::from(u32::MAX)) as u32
    }

    /// The tables of `stbl`: durations, sync samples, samples of the one chunk, sizes, and the offset of the chunk.
    fn tables(&self, out: &mut Vec<u8>) {
        let starts = self.samples.iter().map(|sample| units(sample.time));
        let ends = starts.clone().skip(1).chain([units(self.end)]);
        let durations =
            starts.zip(ends).map(|(start, end)| (end - start).clamp(1, i64::from(u32::MAX)) as u32);
        let mut runs: Vec<[u32; 2]> = Vec::new();
        for duration in durations {
            match runs.last_mut() {
                Some([count, last]) if *last == duration => *count += 1,
                _ => runs.push([1, duration]),
            }
        }
        let numbered = self.samples.iter().zip(1_u32..);
        let keys: Vec<u32> = numbered.filter(|(sample, _)| sample.key).map(|(_, number)| number).collect();
        let sizes: Vec<u32> = self.samples.iter().map(|sample| sample.size).collect();
        let count = self.samples.len() as u32;
        full(out, b"stts", 0, 0, |out| {
            words(out, &[runs.len() as u32]);
            words(out, runs.as_flattened());
        });
        full(out, b"stss", 0, 0, |out| {
            words(out, &[keys.len() as u32]);
            words(out, &keys);
        });
        full(out, b"stsc", 0, 0, |out| words(out, &[1, 1, count, 1]));
        full(out, b"stsz", 0, 0, |out| {
            words(out, &[0, count]);
            words(out, &sizes);
        });
        full(out, b"stco", 0, 0, |out| words(out, &[1, self.offset]));
    }
}

fn units(time: TimeDelta) -> i64 {
    (i128::from(time.as_nanos()) * i128::from(TIMESCALE) / 1_000_000_000) as i64
}

/// Appends a box; its length is set after its content is written.
fn boxed(out: &mut Vec<u8>, kind: &[u8; 4], content: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(kind);
    content(out);
    let length = (out.len() - start) as u32;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
}

/// Appends a full box, which begins with version and flags.
fn full(out: &mut Vec<u8>, kind: &[u8; 4], version: u8, flags: u32, content: impl FnOnce(&mut Vec<u8>)) {
    boxed(out, kind, |out| {
        words(out, &[u32::from(version) << 24 | flags]);
        content(out);
    });
}

fn words(out: &mut Vec<u8>, words: &[u32]) {
    out.extend(words.iter().flat_map(|word| word.to_be_bytes()));
}

/// The unit matrix of `mvhd` and `tkhd`.
const MATRIX: [u32; 9] = [0x1_0000, 0, 0, 0, 0x1_0000, 0, 0, 0, 0x4000_0000];

/// Appends the `moov` box.
fn movie(out: &mut Vec<u8>, entry: &Entry, content: Content<'_>) {
    let index = content.index();
    let (sound, delay) = match content {
        Content::Fragments { sound, delay } => (sound, delay),
        Content::Indexed(_) => (None, TimeDelta::ZERO),
    };
    let duration = index.map_or(0, Index::duration);
    boxed(out, b"moov", |out| {
        full(out, b"mvhd", 0, 0, |out| {
            // Times unknown, rate and volume one.
            words(out, &[0, 0, TIMESCALE as u32, duration, 0x1_0000, 0x0100_0000, 0, 0]);
            words(out, &MATRIX);
            words(out, &[0, 0, 0, 0, 0, 0, if sound.is_some() { 3 } else { 2 }]);
        });
        boxed(out, b"trak", |out| {
            // Enabled, in the movie, in the preview.
            full(out, b"tkhd", 0, 7, |out| {
                words(out, &[0, 0, 1, 0, duration, 0, 0, 0, 0]);
                words(out, &MATRIX);
                words(out, &[entry.size.width() << 16, entry.size.height() << 16]);
            });
            edit_list(out, units(delay) as u32);
            let video = Media {
                timescale: TIMESCALE as u32,
                duration: index.map_or(0, Index::duration),
                handler: b"vide\0\0\0\0\0\0\0\0\0\0\0\0Video\0",
                header: (b"vmhd", 1, &[0, 0]),
                entry: &|out| entry.write(out),
                index,
            };
            boxed(out, b"mdia", |out| media(out, &video));
        });
        if let Some(codec) = sound {
            sound::track(out, codec);
        }
        if index.is_none() {
            boxed(out, b"mvex", |out| {
                full(out, b"trex", 0, 0, |out| words(out, &[1, 1, 0, 0, 0]));
                if sound.is_some() {
                    full(out, b"trex", 0, 0, |out| words(out, &[sound::TRACK, 1, 0, 0, 0]));
                }
            });
        }
    });
}

/// Appends an edit list where the track begins at this time of its media, and not at zero.
fn edit_list(out: &mut Vec<u8>, begin: u32) {
    if begin > 0 {
        // One edit without end, at the usual rate.
        boxed(out, b"edts", |out| full(out, b"elst", 0, 0, |out| words(out, &[1, 0, begin, 0x1_0000])));
    }
}

/// How the `mdia` boxes of tracks differ.
struct Media<'a> {
    /// Units of time a second.
    timescale: u32,
    duration: u32,
    /// Type and name of the handler.
    handler: &'a [u8],
    /// Type, flags and content of the media header.
    header: (&'a [u8; 4], u32, &'a [u32]),
    /// Writes the sample entry.
    entry: &'a dyn Fn(&mut Vec<u8>),
    /// Of samples that are not in fragments.
    index: Option<&'a Index<'a>>,
}

fn media(out: &mut Vec<u8>, media: &Media<'_>) {
    // Language "und".
    let times = [0, 0, media.timescale, media.duration, 0x55C4_0000];
    full(out, b"mdhd", 0, 0, |out| words(out, &times));
    full(out, b"hdlr", 0, 0, |out| {
        words(out, &[0]);
        out.extend_from_slice(media.handler);
    });
    boxed(out, b"minf", |out| {
        let (kind, flags, header) = media.header;
        full(out, kind, 0, flags, |out| words(out, header));
        boxed(out, b"dinf", |out| {
            full(out, b"dref", 0, 0, |out| {
                words(out, &[1]);
                // The samples are in this file.
                full(out, b"url ", 0, 1, |_| {});
            });
        });
        boxed(out, b"stbl", |out| {
            full(out, b"stsd", 0, 0, |out| {
                words(out, &[1]);
                (media.entry)(out);
            });
            if let Some(index) = media.index {
                return index.tables(out);
            }
            // Empty: the samples are in the fragments.
            for table in [b"stts", b"stsc", b"stco"] {
                full(out, table, 0, 0, |out| words(out, &[0]));
            }
            full(out, b"stsz", 0, 0, |out| words(out, &[0, 0]));
        });
    });
}

fn fragment(samples: &[Sample], next: TimeDelta, number: u32, offset: u32) -> Vec<u8> {
    let start = samples.first().map_or(0, |first| units(first.time)) as u64;
    let ends = samples.iter().skip(1).map(|sample| sample.time).chain([next]);
    let mut out = Vec::with_capacity(128 + 12 * samples.len());
    boxed(&mut out, b"moof", |out| {
        full(out, b"mfhd", 0, 0, |out| words(out, &[number]));
        boxed(out, b"traf", |out| {
            // Offsets count from this box.
            full(out, b"tfhd", 0, 0x2_0000, |out| words(out, &[1]));
            full(out, b"tfdt", 1, 0, |out| out.extend(start.to_be_bytes()));
            // Each sample with duration, size and flags; with a signed composition offset where one is needed.
            let has_offsets = samples.iter().any(|sample| sample.shown_after != TimeDelta::ZERO);
            let (version, flags) = if has_offsets { (1, 0xF01) } else { (0, 0x701) };
            full(out, b"trun", version, flags, |out| {
                words(out, &[samples.len() as u32, offset]);
                for (sample, end) in samples.iter().zip(ends) {
                    let duration = (units(end) - units(sample.time)).clamp(1, i64::from(u32::MAX)) as u32;
                    // Sync sample, or not.
                    let flags = if sample.key { 0x0200_0000 } else { 0x0101_0000 };
                    words(out, &[duration, sample.size, flags]);
                    if has_offsets {
                        words(out, &[units(sample.shown_after) as i32 as u32]);
                    }
                }
            });
        });
    });
    out
}
