//! Matroska (RFC 9559) with MPEG-1 or MPEG-2 video.
//!
//! Blocks of the video become smaller, and with them the sizes of their groups, of the cluster and of the segment. Every other
//! element is copied. What points at clusters follows: cues behind them as they are written, all else by a [`Patch`] at
//! the end. An output that cannot be patched is a segment of unknown size, and what has not been patched is ignored.

mod cluster;
mod ebml;
mod index;

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::Serialize;

use super::config::Config;
use super::error::Error;
use super::format::{Container, ContainerReport, Patch};
use super::track::VideoTrack;
use cluster::{Cluster, VideoInfo};
use ebml::{Header, Parsed, id};
use index::{Index, Moves};

/// Counts of a Matroska file.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct MatroskaReport {
    /// Number of the track that is shaped.
    pub track: u64,
    /// Clusters read.
    pub clusters: u64,
    /// Bytes at the end that were dropped, because their element is cut.
    pub cut_bytes: u64,
}

/// Input that waits to be written.
#[derive(Debug)]
enum Entry {
    Copy(Vec<u8>),
    /// The header of the segment and the bytes of its size.
    Segment(Vec<u8>, usize),
    /// An element of the segment begins here in the input, counted from the content of the segment.
    Begin(u64),
    Index(Index),
    Cluster(Cluster),
}

/// What is read next.
#[derive(Debug)]
enum State {
    Header,
    Segment,
    Element,
    /// The rest of an element that is copied.
    Copy(u64),
    /// Children of a cluster, up to this position.
    Cluster(Cluster, Option<u64>),
    /// What is behind the segment.
    Behind,
}

#[derive(Debug)]
pub(super) struct MatroskaStream {
    memory: usize,
    input: Vec<u8>,
    at: usize,
    /// Position of `input[at]` in the whole input.
    position: u64,
    state: State,
    /// Where the content of the segment begins, in input and output alike, and where it ends in the input.
    content: u64,
    end: Option<u64>,
    scale: u64,
    video: Option<VideoInfo>,
    pending: VecDeque<Entry>,
    pending_bytes: usize,
    output: Vec<u8>,
    /// Bytes written before `output`.
    taken: u64,
    moves: Moves,
    /// Length of the last cluster.
    before: u64,
    /// Field of the segment's size in the output.
    size_at: Option<(u64, usize)>,
    later: Vec<(u64, Index)>,
    later_bytes: usize,
    report: MatroskaReport,
}

/// The largest element that is read as a whole, blocks aside.
const LARGEST: u64 = 16 << 20;
/// Nanoseconds of a unit of time where the file does not say.
const SCALE: u64 = 1_000_000;
/// Bytes of an identifier of an element of the segment.
const TOP_LEVEL: usize = 4;

/// True where a stream begins as Matroska.
pub(super) fn probe(head: &[u8]) -> bool {
    head.starts_with(&id::EBML.to_be_bytes())
}

impl MatroskaStream {
    pub(super) fn new(config: &Config) -> MatroskaStream {
        MatroskaStream {
            memory: config.memory,
            input: Vec::new(),
            at: 0,
            position: 0,
            state: State::Header,
            content: 0,
            end: None,
            scale: SCALE,
            video: None,
            pending: VecDeque::new(),
            pending_bytes: 0,
            output: Vec::new(),
            taken: 0,
            moves: Moves::default(),
            before: 0,
            size_at: None,
            later: Vec::new(),
            later_bytes: 0,
            report: MatroskaReport::default(),
        }
    }
}

impl Container for MatroskaStream {
    fn push(&mut self, bytes: &[u8], track: &mut VideoTrack) -> Result<(), Error> {
        self.input.drain(..self.at);
        self.at = 0;
        self.input.extend_from_slice(bytes);
        while self.step(track)? {
            if self.pending_bytes > self.memory {
                track.copy_pending();
                self.advance(track)?;
            }
        }
        self.advance(track)
    }

    fn finish(&mut self, track: &mut VideoTrack) -> Result<(), Error> {
        if let State::Cluster(cluster, _) = std::mem::replace(&mut self.state, State::Behind) {
            self.hold(Entry::Cluster(cluster));
        }
        self.report.cut_bytes = (self.input.len() - self.at) as u64;
        track.close();
        if self.video.is_none() {
            return Err(Error::NoVideo { found: "a Matroska file without tracks".to_owned() });
        }
        self.advance(track)
    }

    fn advance(&mut self, track: &mut VideoTrack) -> Result<(), Error> {
        while let Some(entry) = self.pending.pop_front() {
            if let Entry::Cluster(cluster) = &entry
                && !cluster.is_ready(track)
            {
                self.pending.push_front(entry);
                break;
            }
            self.pending_bytes -= entry.len();
            self.write(entry, track);
        }
        Ok(())
    }

    fn output(&mut self) -> &mut Vec<u8> {
        &mut self.output
    }

    fn count_taken(&mut self, bytes: u64) {
        self.taken += bytes;
    }

    fn patches(&self) -> Vec<Patch> {
        let mut patches: Vec<Patch> =
            self.later.iter().map(|(at, index)| Patch { at: *at, bytes: index.moved(&self.moves) }).collect();
        if let Some((at, len)) = self.size_at {
            let mut bytes = vec![0; len];
            ebml::set_size(&mut bytes, Some(self.here()));
            patches.push(Patch { at, bytes });
        }
        patches
    }

    fn report(&self) -> Option<ContainerReport> {
        Some(ContainerReport::Matroska(self.report.clone()))
    }
}

impl Entry {
    fn len(&self) -> usize {
        match self {
            Entry::Copy(bytes) | Entry::Segment(bytes, _) => bytes.len(),
            Entry::Begin(_) => size_of::<Entry>(),
            Entry::Index(index) => index.len(),
            Entry::Cluster(cluster) => cluster.len(),
        }
    }
}

impl MatroskaStream {
    fn hold(&mut self, entry: Entry) {
        self.pending_bytes += entry.len();
        self.pending.push_back(entry);
    }

    /// Takes bytes of the input.
    fn take(&mut self, len: usize) -> Vec<u8> {
        let bytes = self.input[self.at..self.at + len].to_vec();
        self.at += len;
        self.position += len as u64;
        bytes
    }

    /// The next element as a whole, with its header; `None` where it is not all there.
    fn whole(&mut self, header: Header, most: u64) -> Result<Option<Vec<u8>>, Error> {
        let Some(size) = header.size.filter(|&size| size <= most) else {
            return Err(Error::Unsupported { what: "a Matroska file with an element of excessive size" });
        };
        let len = header.len() + size as usize;
        Ok((self.input.len() - self.at >= len).then(|| self.take(len)))
    }

    /// Reads the next part; false where more input is needed.
    fn step(&mut self, track: &mut VideoTrack) -> Result<bool, Error> {
        let left = self.input.len() - self.at;
        match &mut self.state {
            State::Behind => {
                let bytes = self.take(left);
                self.hold(Entry::Copy(bytes));
                return Ok(false);
            }
            State::Copy(rest) => {
                let len = (*rest).min(left as u64);
                if len == 0 {
                    return Ok(false);
                }
                *rest -= len;
                if *rest == 0 {
                    self.state = State::Element;
                }
                let bytes = self.take(len as usize);
                self.hold(Entry::Copy(bytes));
                return Ok(true);
            }
            State::Element if self.end.is_some_and(|end| self.position >= end) => {
                self.state = State::Behind;
                return Ok(true);
            }
            State::Cluster(_, Some(end)) if self.position >= *end => {
                self.end_cluster();
                return Ok(true);
            }
            _ => {}
        }
        let header = match ebml::parse(&self.input[self.at..]) {
            Parsed::Header(header) => header,
            Parsed::Incomplete => return Ok(false),
            Parsed::Malformed => return Err(Error::Unsupported { what: "a damaged Matroska file" }),
        };
        match self.state {
            State::Header => self.read_header(header),
            State::Segment => self.read_segment(header),
            State::Cluster(..) => self.read_child(header, track),
            _ => self.read_element(header),
        }
    }

    fn read_header(&mut self, header: Header) -> Result<bool, Error> {
        let Some(bytes) = self.whole(header, LARGEST)? else { return Ok(false) };
        self.hold(Entry::Copy(bytes));
        self.state = State::Segment;
        Ok(true)
    }

    fn read_segment(&mut self, header: Header) -> Result<bool, Error> {
        if header.id != id::SEGMENT {
            let Some(bytes) = self.whole(header, LARGEST)? else { return Ok(false) };
            self.hold(Entry::Copy(bytes));
            return Ok(true);
        }
        let bytes = self.take(header.len());
        self.content = self.position;
        self.end = header.size.and_then(|size| self.position.checked_add(size));
        self.hold(Entry::Segment(bytes, header.size_len));
        self.state = State::Element;
        Ok(true)
    }

    /// Reads an element of the segment.
    fn read_element(&mut self, header: Header) -> Result<bool, Error> {
        let begin = self.position - self.content;
        match header.id {
            id::CLUSTER => {
                if self.video.is_none() {
                    return Err(Error::Unsupported {
                        what: "a Matroska file with clusters before its tracks",
                    });
                }
                self.report.clusters += 1;
                let bytes = self.take(header.len());
                let end = header.size.and_then(|size| self.position.checked_add(size));
                let cluster = Cluster::new(&bytes, header.size_len, header.size.is_none(), begin);
                self.state = State::Cluster(cluster, end);
            }
            id::EBML | id::SEGMENT => {
                return Err(Error::Unsupported { what: "a Matroska file of several segments" });
            }
            id::SEEK_HEAD | id::CUES | id::INFO | id::TRACKS => {
                let Some(bytes) = self.whole(header, LARGEST)? else { return Ok(false) };
                self.hold(Entry::Begin(begin));
                match header.id {
                    id::INFO => self.read_info(&bytes[header.len()..]),
                    id::TRACKS => self.read_tracks(&bytes[header.len()..])?,
                    _ => {}
                }
                let points = matches!(header.id, id::SEEK_HEAD | id::CUES);
                self.hold(if points {
                    Entry::Index(Index::new(&bytes, header.len()))
                } else {
                    Entry::Copy(bytes)
                });
            }
            _ => {
                let Some(size) = header.size else {
                    return Err(Error::Unsupported { what: "a damaged Matroska file" });
                };
                self.hold(Entry::Begin(begin));
                self.state = State::Copy(size.saturating_add(header.len() as u64));
            }
        }
        Ok(true)
    }

    /// Reads a child of the cluster.
    fn read_child(&mut self, header: Header, track: &mut VideoTrack) -> Result<bool, Error> {
        let State::Cluster(_, end) = &self.state else { return Ok(false) };
        let beyond = end.is_some_and(|end| {
            header.size.is_none_or(|size| {
                size > end - self.position || header.len() as u64 + size > end - self.position
            })
        });
        if header.id_len == TOP_LEVEL || beyond {
            // A cluster of unknown size ends at an element of the segment; another one is damaged.
            self.end_cluster();
            return Ok(true);
        }
        let most = LARGEST.min(self.memory as u64).max(LARGEST / 16);
        let Some(bytes) = self.whole(header, most)? else { return Ok(false) };
        let begin = self.position - bytes.len() as u64 - self.content;
        let (Some(info), State::Cluster(cluster, _)) = (self.video, &mut self.state) else {
            return Ok(false);
        };
        if cluster.len() + self.pending_bytes > self.memory {
            track.copy_pending();
            let rest = cluster.split(begin);
            let full = std::mem::replace(cluster, rest);
            self.hold(Entry::Cluster(full));
            self.advance(track)?;
        }
        let State::Cluster(cluster, _) = &mut self.state else { return Ok(false) };
        if cluster.push(&bytes, info, track) {
            Ok(true)
        } else {
            Err(Error::Unsupported { what: "a Matroska file with laced video" })
        }
    }

    fn end_cluster(&mut self) {
        if let State::Cluster(cluster, _) = std::mem::replace(&mut self.state, State::Element) {
            self.hold(Entry::Cluster(cluster));
        }
    }

    fn read_info(&mut self, content: &[u8]) {
        let found = ebml::children(content).find(|(child, _)| child.id == id::TIMESTAMP_SCALE);
        self.scale = found.map_or(self.scale, |(_, range)| ebml::uint(&content[range]));
        if let Some(video) = &mut self.video {
            video.scale = self.scale;
        }
    }

    /// Finds the first track with MPEG video.
    fn read_tracks(&mut self, content: &[u8]) -> Result<(), Error> {
        if self.video.is_some() {
            return Ok(());
        }
        let mut names = Vec::new();
        for (_, entry) in ebml::children(content).filter(|(child, _)| child.id == id::TRACK_ENTRY) {
            let entry = &content[entry];
            let field = |wanted| ebml::children(entry).find(|(child, _)| child.id == wanted);
            let value = |wanted| field(wanted).map_or(&[][..], |(_, range)| &entry[range]);
            let name = String::from_utf8_lossy(value(id::CODEC_ID)).into_owned();
            if matches!(name.as_str(), "V_MPEG1" | "V_MPEG2") {
                if field(id::CONTENT_ENCODINGS).is_some() {
                    return Err(Error::Unsupported {
                        what: "a Matroska file with compressed or encrypted video",
                    });
                }
                let number = ebml::uint(value(id::TRACK_NUMBER));
                self.report.track = number;
                self.video = Some(VideoInfo { number, scale: self.scale });
                return Ok(());
            }
            names.push(name);
        }
        Err(Error::NoVideo { found: format!("a Matroska file with {}", names.join(", ")) })
    }

    /// Bytes of the output from the content of the segment on.
    fn here(&self) -> u64 {
        (self.taken + self.output.len() as u64).saturating_sub(self.content)
    }

    fn write(&mut self, entry: Entry, track: &mut VideoTrack) {
        let position = self.taken + self.output.len() as u64;
        match entry {
            Entry::Copy(bytes) => self.output.extend_from_slice(&bytes),
            Entry::Segment(mut bytes, size_len) => {
                if self.end.is_some() {
                    let field = bytes.len() - size_len;
                    self.size_at = Some((position + field as u64, size_len));
                    ebml::set_size(&mut bytes[field..], None);
                }
                self.output.extend_from_slice(&bytes);
            }
            Entry::Begin(begin) => self.moves.add(begin, self.here()),
            Entry::Index(index) => {
                let bytes = index.moved(&self.moves);
                self.output.extend_from_slice(&bytes);
                // Places behind it are not known yet.
                if bytes.first() == Some(&id::VOID) && self.later_bytes + index.len() <= self.memory {
                    self.later_bytes += index.len();
                    self.later.push((position, index));
                }
            }
            Entry::Cluster(cluster) => {
                let here = self.here();
                self.moves.add(cluster.begin, here);
                self.before = cluster.write(track, (here, self.before), &mut self.output);
            }
        }
    }
}
