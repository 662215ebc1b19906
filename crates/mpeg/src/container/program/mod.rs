//! Program streams (ISO/IEC 13818-1, 2.5) and system streams (ISO/IEC 11172-1).
//!
//! Packs keep their SCR, system headers and the packets of other streams stay as they are, and so do the
//! multiplex rate and its bounds. A video packet keeps its header; its payload shrinks, and what it freed
//! becomes padding in its pack, or leaves. Behind freed bytes that leave, the rest of a pack arrives a little
//! earlier, never later.

mod reader;
mod writer;

use std::collections::VecDeque;
use std::ops::Range;

use super::error::Error;
use super::pes;
use super::report::ProgramReport;
use super::track::VideoTrack;
use super::{Config, Multiplex};
use reader::{Element, Reader};
use writer::Writer;

/// What waits for the video before it.
#[derive(Debug)]
enum Entry {
    /// A pack header.
    Pack(Vec<u8>),
    Other(Vec<u8>),
    /// A packet of the video with its header and the positions of its payload.
    Video {
        bytes: Vec<u8>,
        header: pes::Header,
        video: Range<u64>,
    },
}

impl Entry {
    fn len(&self) -> usize {
        match self {
            Entry::Pack(bytes) | Entry::Other(bytes) | Entry::Video { bytes, .. } => bytes.len(),
        }
    }
}

/// The machine for one program or system stream.
#[derive(Debug)]
pub(super) struct Program {
    reader: Reader,
    stream_id: Option<u8>,
    pending: VecDeque<Entry>,
    pending_bytes: usize,
    memory: usize,
    writer: Writer,
    report: ProgramReport,
}

impl Program {
    pub(super) fn new(config: &Config) -> Program {
        Program {
            reader: Reader::default(),
            stream_id: None,
            pending: VecDeque::new(),
            pending_bytes: 0,
            memory: config.memory,
            writer: Writer::new(config.multiplex == Multiplex::Keep),
            report: ProgramReport::default(),
        }
    }

    pub(super) fn push(&mut self, bytes: &[u8], track: &mut VideoTrack) {
        self.reader.push(bytes);
        while let Some(element) = self.reader.poll() {
            let entry = self.entry(element, track);
            self.pending_bytes += entry.len();
            self.pending.push_back(entry);
            if self.pending_bytes > self.memory {
                track.give_up();
                self.advance(track);
            }
        }
        self.advance(track);
    }

    pub(super) fn finish(&mut self, track: &mut VideoTrack) -> Result<(), Error> {
        self.reader.finish();
        self.push(&[], track);
        track.close();
        if self.report.video_packets == 0 {
            return Err(Error::NoVideo { found: "a program stream without a video stream".to_owned() });
        }
        self.advance(track);
        Ok(())
    }

    /// Moves on what no longer waits.
    pub(super) fn advance(&mut self, track: &mut VideoTrack) {
        while let Some(entry) = self.pending.pop_front() {
            if let Entry::Video { video, .. } = &entry
                && video.end > track.resolved()
            {
                self.pending.push_front(entry);
                return;
            }
            self.pending_bytes -= entry.len();
            match entry {
                Entry::Pack(bytes) => self.writer.pack(bytes, &mut self.report),
                Entry::Other(bytes) => self.writer.other(&bytes),
                Entry::Video { bytes, header, video } => {
                    track.forget(video.start, |_| ());
                    self.writer.video(&bytes, header, &video, track, &mut self.report);
                }
            }
        }
        if self.reader.is_finished() {
            self.writer.finish();
        }
    }

    pub(super) fn output(&mut self) -> &mut Vec<u8> {
        self.writer.output()
    }

    pub(super) fn report(&self) -> ProgramReport {
        self.report.clone()
    }

    fn entry(&mut self, element: Element, track: &mut VideoTrack) -> Entry {
        match element {
            Element::Pack(bytes) => {
                self.report.packs += 1;
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
                    track.stamp(pts, header.dts);
                }
                let start = track.position();
                track.push(&bytes[header.len..]);
                Entry::Video { bytes, header, video: start..track.position() }
            }
            _ => {
                self.report.opaque_packets += 1;
                track.mark_damage();
                Entry::Other(bytes)
            }
        }
    }
}
