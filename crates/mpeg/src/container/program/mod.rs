//! Program streams (ISO/IEC 13818-1, 2.5) and system streams (ISO/IEC 11172-1).
//!
//! Pack headers, system headers and packets of other streams stay unchanged, and with them the SCR and the multiplex
//! rate. A video packet keeps its header. The bytes that its payload loses become padding in the same pack, or are
//! removed; then the rest of the pack arrives slightly earlier, never later. Packs of 2048 bytes are sectors of a disc: they
//! keep their length, or are dropped whole.

mod reader;
mod writer;

use std::collections::VecDeque;
use std::ops::Range;

use super::config::{Config, Multiplex};
use super::error::Error;
use super::format::{Container, ContainerReport, Format};
use super::pes;
use super::track::VideoTrack;
use crate::startcode;
use reader::{Element, Reader};
use schemars::JsonSchema;
use serde::Serialize;
use writer::Writer;

/// Counts of a program or system stream.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct ProgramReport {
    /// `stream_id` of the shaped video.
    pub video_stream_id: u8,
    /// Packs read.
    pub packs: u64,
    /// Packets of the shaped video read.
    pub video_packets: u64,
    /// Packets of the shaped video that lost their whole payload.
    pub emptied_packets: u64,
    /// Packs dropped with them.
    pub removed_packs: u64,
    /// Bytes that became padding.
    pub padding_bytes: u64,
    /// Video packets copied unchanged because they are scrambled or malformed.
    pub opaque_packets: u64,
    /// Packets of `private_stream_2`, which point at sectors of the input.
    pub navigation_packets: u64,
    /// Bytes outside packs and packets, copied.
    pub junk_bytes: u64,
}

impl ProgramReport {
    /// Counts that a user must know of, each with a description.
    pub(super) fn warnings(&self) -> Vec<(u64, &'static str)> {
        let stale = if self.removed_packs > 0 { self.navigation_packets } else { 0 };
        vec![(stale, "navigation packets point at sectors of the input; author the disc anew")]
    }
}

/// Bytes of a sector of a disc. A stream whose first pack has that length is of a disc or for one.
const SECTOR: usize = 2048;
/// The start of a packet with the pointers of a DVD, of `private_stream_2`.
const NAVIGATION: [u8; 4] = [0, 0, 1, 0xbf];

/// Input that waits for replacements.
#[derive(Debug)]
enum Entry {
    /// A pack header.
    Pack(Vec<u8>),
    /// Anything that is copied.
    Other(Vec<u8>),
    /// A packet of the shaped video, with the positions of its payload.
    Video { bytes: Vec<u8>, header: pes::Header, video: Range<u64> },
}

impl Entry {
    fn len(&self) -> usize {
        match self {
            Entry::Pack(bytes) | Entry::Other(bytes) | Entry::Video { bytes, .. } => bytes.len(),
        }
    }
}

#[derive(Debug)]
pub(super) struct ProgramStream {
    reader: Reader,
    stream_id: Option<u8>,
    pending: VecDeque<Entry>,
    pending_bytes: usize,
    memory: usize,
    /// Bytes since the begin of the last pack.
    since_pack: usize,
    writer: Writer,
    report: ProgramReport,
}

impl ProgramStream {
    pub(super) fn new(config: &Config) -> ProgramStream {
        ProgramStream {
            reader: Reader::default(),
            stream_id: None,
            pending: VecDeque::new(),
            pending_bytes: 0,
            memory: config.memory,
            since_pack: 0,
            writer: Writer::new(config.multiplex == Multiplex::Keep),
            report: ProgramReport::default(),
        }
    }
}

impl Container for ProgramStream {
    fn push(&mut self, bytes: &[u8], track: &mut VideoTrack) -> Result<(), Error> {
        self.reader.push(bytes);
        while let Some(element) = self.reader.poll() {
            let entry = self.entry(element, track);
            self.pending_bytes += entry.len();
            self.pending.push_back(entry);
            if self.pending_bytes > self.memory {
                track.copy_pending();
                self.advance(track)?;
            }
        }
        self.advance(track)
    }

    fn finish(&mut self, track: &mut VideoTrack) -> Result<(), Error> {
        self.reader.finish();
        self.push(&[], track)?;
        track.close();
        if self.report.video_packets == 0 {
            return Err(Error::NoVideo { found: "a program stream without a video stream".to_owned() });
        }
        self.advance(track)
    }

    fn advance(&mut self, track: &mut VideoTrack) -> Result<(), Error> {
        while let Some(entry) = self.pending.pop_front() {
            if let Entry::Video { video, .. } = &entry
                && video.end > track.writable
            {
                self.pending.push_front(entry);
                return Ok(());
            }
            self.pending_bytes -= entry.len();
            match entry {
                Entry::Pack(bytes) => self.writer.pack(bytes, &mut self.report),
                Entry::Other(bytes) => self.writer.other(&bytes, &mut self.report),
                Entry::Video { bytes, header, video } => {
                    track.release(video.start, |_| ());
                    self.writer.video(&bytes, header, &video, track, &mut self.report);
                }
            }
        }
        if self.reader.is_finished() {
            self.writer.finish(&mut self.report);
        }
        Ok(())
    }

    fn output(&mut self) -> &mut Vec<u8> {
        self.writer.output()
    }

    fn report(&self) -> Option<ContainerReport> {
        Some(ContainerReport::Program(self.report.clone()))
    }
}

impl ProgramStream {
    fn entry(&mut self, element: Element, track: &mut VideoTrack) -> Entry {
        if let Element::Packet(bytes) | Element::Junk(bytes) = &element {
            self.since_pack += bytes.len();
            self.report.navigation_packets += u64::from(bytes.starts_with(&NAVIGATION));
        }
        match element {
            Element::Pack(bytes) => {
                self.report.packs += 1;
                if self.report.packs == 2 && self.since_pack == SECTOR {
                    self.writer.keep_sectors();
                }
                self.since_pack = bytes.len();
                Entry::Pack(bytes)
            }
            Element::Junk(bytes) => {
                self.report.junk_bytes += bytes.len() as u64;
                Entry::Other(bytes)
            }
            Element::Packet(bytes) if pes::is_video(bytes[3]) => self.video(bytes, track),
            Element::Packet(bytes) => Entry::Other(bytes),
        }
    }

    fn video(&mut self, bytes: Vec<u8>, track: &mut VideoTrack) -> Entry {
        let stream_id = *self.stream_id.get_or_insert(bytes[3]);
        if bytes[3] != stream_id {
            return Entry::Other(bytes);
        }
        self.report.video_stream_id = stream_id;
        self.report.video_packets += 1;
        match pes::parse(&bytes) {
            Ok(header) if !header.scrambled && header.len <= bytes.len() => {
                if let Some(pts) = header.pts {
                    track.push_time_stamp(pts, header.dts);
                }
                let start = track.position;
                track.push(&bytes[header.len..]);
                Entry::Video { bytes, header, video: start..track.position }
            }
            _ => {
                self.report.opaque_packets += 1;
                track.mark_damage();
                Entry::Other(bytes)
            }
        }
    }
}

/// A program or system stream, by its first pack header, or by the first packet of a stream without packs. A stream that
/// begins elsewhere must be one of packs and packets from its first pack on.
pub(super) fn probe(head: &[u8]) -> Option<Format> {
    let format = startcode::codes(head).find_map(|found| match (found.code, found.tail) {
        (0xba, [next, ..]) if next >> 6 == 0b01 => Some((Format::Program, found)),
        (0xba, [next, ..]) if next >> 4 == 0b0010 => Some((Format::System, found)),
        (0xc0..=0xef | 0xbd, [_, _, flags, ..]) if found.leads => {
            Some((if flags >> 6 == 0b10 { Format::Program } else { Format::System }, found))
        }
        _ => None,
    });
    let (format, found) = format?;
    let stream = &head[head.len() - found.tail.len() - PREFIX..];
    (found.leads || mostly_packets(stream)).then_some(format)
}

/// Bytes of a start code.
const PREFIX: usize = 4;

/// True where at most one in four packs and packets, and one more, is followed by something else, zero bytes aside.
fn mostly_packets(stream: &[u8]) -> bool {
    let mut reader = Reader::default();
    reader.push(stream);
    let (mut elements, mut junk) = (0, 0);
    while let Some(element) = reader.poll() {
        elements += 1;
        junk += usize::from(matches!(element, Element::Junk(bytes) if bytes.iter().any(|&byte| byte != 0)));
    }
    junk <= 1 + elements / 4
}
