//! MP4 and QuickTime files, fragmented or not (ISO/IEC 14496-12): positions and times of the samples of the first H.264
//! track.
//!
//! There is a reader of our own because the crates that read both forms index tables by unchecked numbers from the file,
//! and an input must not make the program panic.

mod boxes;
mod fragments;

use super::coded::{Coded, Sample, SampleReader, Tracks};
use super::{ReadSeek, read_exactly};
use crate::h264::DecoderConfiguration;
use crate::{Error, FrameRate};
use boxes::{Fields, boxes, find, table};
use seaway_units::TimeDelta;
use std::io::SeekFrom;

/// The most samples of a file, 19 hours at 60 pictures/s; the rest is ignored.
const MAX_SAMPLES: usize = 1 << 22;
/// The most octets of index boxes, which are held in memory.
const MAX_INDEX: u64 = 512 << 20;
/// The longest access unit.
const MAX_SAMPLE: u32 = 12 << 20;

/// True where the first box is one that such files begin with.
pub(super) fn probe(prefix: &[u8]) -> bool {
    matches!(prefix.get(4..8), Some(b"ftyp" | b"moov" | b"mdat" | b"styp" | b"wide" | b"skip" | b"free"))
}

/// Opens an MP4 file: its first H.264 track, and the descriptions of the others.
pub(super) fn open(mut file: Box<dyn ReadSeek>) -> Result<(Coded, Tracks), Error> {
    let index = read_index(&mut *file)?;
    let movie =
        index.iter().find(|(kind, _)| kind == b"moov").ok_or_else(|| malformed("moov box", "none"))?;
    let mut tracks = Tracks::default();
    let mut chosen = None;
    for (_, payload) in boxes(&movie.1).filter(|(kind, _)| kind == b"trak") {
        let Some(track) = Track::parse(payload) else { continue };
        match track.configuration {
            Some(_) if chosen.is_none() => chosen = Some((track, payload)),
            _ => tracks.leave_out(track.description()),
        }
    }
    let (track, payload) = chosen.ok_or_else(|| tracks.without_h264("MP4"))?;
    let mut entries = track.samples(payload).unwrap_or_default();
    for (_, fragment) in index.iter().filter(|(kind, _)| kind == b"moof") {
        fragments::append(fragment, &movie.1, track.id, &mut entries);
    }
    let reader = Mp4Samples::new(file, entries, &track)?;
    let configuration = track.configuration.ok_or_else(|| malformed("avcC box", "none"))?;
    let frame_rate = reader.frame_rate();
    Ok((Coded { reader: Box::new(reader), configuration, frame_rate }, tracks))
}

fn malformed(expected: &'static str, found: impl Into<String>) -> Error {
    Error::Malformed { container: "MP4", at: "index".into(), found: found.into(), expected }
}

type IndexBox = ([u8; 4], Vec<u8>);

/// The index boxes, in the order of the file. The payload of a `moof` is preceded by eight octets with its position in
/// the file, which its sample offsets count from.
fn read_index(file: &mut dyn ReadSeek) -> Result<Vec<IndexBox>, Error> {
    let end = file.seek(SeekFrom::End(0)).map_err(Error::io("input"))?;
    let (mut at, mut held) = (0, 0);
    let mut index = Vec::new();
    while end - at >= 8 {
        file.seek(SeekFrom::Start(at)).map_err(Error::io("input"))?;
        let mut header = [0; 16];
        let longest = (end - at).min(16) as usize;
        read_exactly(file, &mut header[..longest])?;
        let mut fields = Fields(&header);
        let (Some(short), Some(kind)) = (fields.u32(), fields.take(4)) else { break };
        let (length, header) = match short {
            0 => (end - at, 8),
            1 => (fields.u64().unwrap_or(0), 16),
            short => (u64::from(short), 8),
        };
        if length < header || length > end - at {
            // The file is cut short, or still being written.
            break;
        }
        if kind == b"moov" || kind == b"moof" {
            held += length;
            if held > MAX_INDEX {
                return Err(malformed("an index of at most 512 Mbyte", format!("more, at byte {at}")));
            }
            file.seek(SeekFrom::Start(at + header)).map_err(Error::io("input"))?;
            let mut payload = if kind == b"moof" { at.to_be_bytes().to_vec() } else { Vec::new() };
            let start = payload.len();
            payload.resize(start + (length - header) as usize, 0);
            read_exactly(file, &mut payload[start..])?;
            index.push(([kind[0], kind[1], kind[2], kind[3]], payload));
        }
        at += length;
    }
    Ok(index)
}

struct Track {
    id: u32,
    timescale: u32,
    handler: [u8; 4],
    codec: [u8; 4],
    configuration: Option<DecoderConfiguration>,
}

impl Track {
    fn parse(trak: &[u8]) -> Option<Self> {
        let mut header = Fields(find(trak, &[b"tkhd"])?);
        let (version, _) = header.version_and_flags()?;
        header.take(if version == 0 { 8 } else { 16 })?;
        let id = header.u32()?;
        let mut media = Fields(find(trak, &[b"mdia", b"mdhd"])?);
        let (version, _) = media.version_and_flags()?;
        media.take(if version == 0 { 8 } else { 16 })?;
        let timescale = media.u32().filter(|&timescale| timescale > 0)?;
        let handler = find(trak, &[b"mdia", b"hdlr"])?.get(8..12)?.try_into().ok()?;
        let descriptions = find(trak, &[b"mdia", b"minf", b"stbl", b"stsd"])?;
        let (codec, entry) = boxes(descriptions.get(8..)?).next()?;
        // A visual sample entry has 78 octets of fields before its own boxes.
        let visual = matches!(&codec, b"avc1" | b"avc3").then(|| entry.get(78..)).flatten();
        let configuration =
            visual.and_then(|entry| find(entry, &[b"avcC"])).and_then(DecoderConfiguration::parse);
        Some(Self { id, timescale, handler, codec, configuration })
    }

    /// A description, such as "audio track 2 (mp4a)".
    fn description(&self) -> String {
        let kind = match &self.handler {
            b"vide" => "video",
            b"soun" => "audio",
            b"sbtl" | b"subt" | b"text" => "subtitle",
            _ => "other",
        };
        format!("{kind} track {} ({})", self.id, self.codec.escape_ascii())
    }

    /// The samples of an unfragmented track, in decoding order.
    fn samples(&self, trak: &[u8]) -> Option<Vec<Entry>> {
        let tables = find(trak, &[b"mdia", b"minf", b"stbl"])?;
        let mut sizes = sizes(find(tables, &[b"stsz"])?)?;
        let mut times = times(tables)?;
        let runs: Vec<_> = table::<3>(find(tables, &[b"stsc"])?)?.collect();
        let mut runs = runs.into_iter().peekable();
        let mut per_chunk = 0;
        let mut samples = Vec::new();
        for (chunk, mut offset) in (1..).zip(chunk_offsets(tables)?) {
            while let Some([_, count, _]) = runs.next_if(|[first, ..]| *first <= chunk) {
                per_chunk = count;
            }
            for _ in 0..per_chunk {
                let (Some(size), Some(time)) = (sizes.next(), times.next()) else { return Some(samples) };
                if samples.len() == MAX_SAMPLES {
                    return Some(samples);
                }
                samples.push(Entry { offset, size, time });
                offset = offset.saturating_add(u64::from(size));
            }
        }
        Some(samples)
    }
}

/// One sample: its position, and its presentation time in units of the track.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Entry {
    offset: u64,
    size: u32,
    time: i64,
}

/// `stsz`: one size for all samples, or one for each.
fn sizes(payload: &[u8]) -> Option<impl Iterator<Item = u32>> {
    let mut fields = Fields(payload);
    fields.version_and_flags()?;
    let (same, count) = (fields.u32()?, fields.u32()? as usize);
    let alike = std::iter::repeat_n(same, if same == 0 { 0 } else { count });
    let each = if same == 0 { fields.0 } else { &[] };
    let each =
        each.chunks_exact(4).take(count).map(|size| u32::from_be_bytes([size[0], size[1], size[2], size[3]]));
    Some(alike.chain(each))
}

/// `stts` and `ctts`: presentation times of the samples. Where the tables are too short, the last duration is repeated.
fn times(tables: &[u8]) -> Option<impl Iterator<Item = i64>> {
    let durations: Vec<_> = table::<2>(find(tables, &[b"stts"])?)?.collect();
    let last = durations.last().map_or(1, |run| run[1]);
    let durations = durations.into_iter().flat_map(|[count, step]| std::iter::repeat_n(step, count as usize));
    let mut durations = durations.chain(std::iter::repeat(last));
    let shifts: Vec<_> = find(tables, &[b"ctts"]).and_then(table::<2>).into_iter().flatten().collect();
    let shifts = shifts.into_iter().flat_map(|[count, shift]| std::iter::repeat_n(shift, count as usize));
    let mut shifts = shifts.chain(std::iter::repeat(0));
    let mut decoded_at = 0_i64;
    Some(std::iter::from_fn(move || {
        // Offsets are signed in version 1 of the table, and never so large in version 0.
        let shown_at = decoded_at.saturating_add(i64::from(shifts.next()? as i32));
        decoded_at = decoded_at.saturating_add(i64::from(durations.next()?));
        Some(shown_at)
    }))
}

fn chunk_offsets(tables: &[u8]) -> Option<Vec<u64>> {
    if let Some(payload) = find(tables, &[b"stco"]) {
        return Some(table::<1>(payload)?.map(|[offset]| u64::from(offset)).collect());
    }
    let wide = table::<2>(find(tables, &[b"co64"])?)?;
    Some(wide.map(|[high, low]| u64::from(high) << 32 | u64::from(low)).collect())
}

/// Reads the samples of one track in decoding order.
struct Mp4Samples {
    file: Box<dyn ReadSeek>,
    entries: Vec<Entry>,
    next: usize,
    timescale: u32,
    first_shown: i64,
}

impl Mp4Samples {
    fn new(file: Box<dyn ReadSeek>, entries: Vec<Entry>, track: &Track) -> Result<Self, Error> {
        let first_shown = entries.iter().map(|entry| entry.time).min();
        let first_shown = first_shown.ok_or_else(|| malformed("samples of the H.264 track", "none"))?;
        Ok(Self { file, entries, next: 0, timescale: track.timescale, first_shown })
    }

    /// The most frequent interval between pictures in display order, as a rate; `None` where that is out of range.
    fn frame_rate(&self) -> Option<FrameRate> {
        let mut times: Vec<_> = self.entries.iter().map(|entry| entry.time).collect();
        times.sort_unstable();
        let mut steps: Vec<_> =
            times.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).filter(|step| *step > 0).collect();
        steps.sort_unstable();
        let common = steps.chunk_by(|a, b| a == b).max_by_key(|alike| alike.len())?;
        FrameRate::new(self.timescale, u32::try_from(common[0]).ok()?)
    }

    fn time_of(&self, entry: Entry) -> TimeDelta {
        let units = i128::from(entry.time) - i128::from(self.first_shown);
        let nanos = units * 1_000_000_000 / i128::from(self.timescale);
        TimeDelta::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX))
    }
}

impl SampleReader for Mp4Samples {
    fn next_sample(&mut self, data: &mut Vec<u8>) -> Result<Option<Sample>, Error> {
        let Some(&entry) = self.entries.get(self.next) else { return Ok(None) };
        self.next += 1;
        let at = || format!("sample {} at byte {}", self.next - 1, entry.offset);
        if entry.size > MAX_SAMPLE {
            let found = format!("{} B", entry.size);
            return Err(Error::Malformed { container: "MP4", at: at(), found, expected: "at most 12 Mbyte" });
        }
        data.resize(entry.size as usize, 0);
        let read = self.file.seek(SeekFrom::Start(entry.offset)).and_then(|_| self.file.read_exact(data));
        read.map_err(|error| Error::Malformed {
            container: "MP4",
            at: at(),
            found: error.to_string(),
            expected: "a whole sample",
        })?;
        Ok(Some(Sample { time: self.time_of(entry), decode: None }))
    }

    fn rewind(&mut self) -> Result<(), Error> {
        self.next = 0;
        Ok(())
    }
}
