//! Transport streams (ISO/IEC 13818-1, 2.4).
//!
//! Only packets of the video PID change. A packet keeps its place, its adaptation field and its PES header. Its payload
//! shrinks by stuffing the adaptation field. A packet that loses its payload becomes a null packet, unless its adaptation
//! field carries information. [`PacketWriter`] then decides which packets are written and when.

mod cbr;
mod clock;
mod demultiplexer;
mod framer;
mod framing;
mod multiplexer;
mod packet;
mod programs;
mod psi;
mod reed_solomon;
mod report;
mod video;
mod writer;

use std::collections::VecDeque;

pub use demultiplexer::{AAC, Companion, Demultiplexer, ElementaryPacket, H264};
pub use framing::Framing;
pub use multiplexer::{AccessUnitTimes, Multiplexer, SoundFormat};
pub use programs::{PacketView, ProgramTable, VideoProgram};
pub use report::{PacingReport, TransportReport};

use super::config::Config;
use super::error::Error;
use super::format::{Container, ContainerReport};
use super::track::VideoTrack;
use framer::{Framed, Framer};
use packet::{NULL_PID, Packet};
use psi::Tables;
use video::{VideoPacket, VideoPid};
use writer::PacketWriter;

/// Input that waits for replacements.
#[derive(Debug)]
enum Entry {
    Junk(Vec<u8>),
    Packet(Packet),
    Video(VideoPacket),
}

#[derive(Debug)]
pub(super) struct TransportStream {
    framer: Framer,
    tables: Tables,
    wanted: Option<u16>,
    /// The tables choose no PID.
    is_fixed: bool,
    video: Option<VideoPid>,
    pending: VecDeque<Entry>,
    memory: usize,
    writer: PacketWriter,
    finished: bool,
    report: TransportReport,
}

impl TransportStream {
    pub(super) fn new(framing: Framing, config: &Config) -> TransportStream {
        TransportStream {
            framer: Framer::new(framing),
            tables: Tables::default(),
            wanted: config.program,
            is_fixed: config.video_pid.is_some(),
            video: config.video_pid.map(VideoPid::new),
            pending: VecDeque::new(),
            memory: config.memory / size_of::<Entry>(),
            writer: PacketWriter::new(config.multiplex, config.memory),
            finished: false,
            report: TransportReport {
                program: config.program.unwrap_or(0),
                video_pid: config.video_pid.unwrap_or(0),
                ..TransportReport::default()
            },
        }
    }
}

impl Container for TransportStream {
    fn push(&mut self, bytes: &[u8], track: &mut VideoTrack) -> Result<(), Error> {
        self.framer.push(bytes);
        // A packet whose tables have no video passes all the same.
        let mut outcome = Ok(());
        while let Some(framed) = self.framer.poll() {
            let entry = match framed {
                Framed::Packet(packet) => {
                    let (entry, selected) = self.packet(packet, track);
                    outcome = outcome.and(selected);
                    entry
                }
                Framed::Junk(bytes) => {
                    self.report.sync_losses += 1;
                    self.report.junk_bytes += bytes.len() as u64;
                    Entry::Junk(bytes)
                }
            };
            self.pending.push_back(entry);
            if self.pending.len() > self.memory {
                self.give_up(track)?;
            } else if self.pending.len() == 1 {
                self.advance(track)?;
            }
        }
        self.advance(track)?;
        outcome
    }

    fn finish(&mut self, track: &mut VideoTrack) -> Result<(), Error> {
        self.framer.finish();
        self.push(&[], track)?;
        track.close();
        let Some(video) = &mut self.video else { return Err(self.tables.no_video(self.wanted)) };
        video.end_packet(track);
        self.finished = true;
        self.advance(track)
    }

    fn advance(&mut self, track: &mut VideoTrack) -> Result<(), Error> {
        while let Some(entry) = self.pending.pop_front() {
            match entry {
                Entry::Junk(bytes) => self.writer.junk(&bytes),
                Entry::Packet(packet) => self.writer.packet(packet, 0)?,
                Entry::Video(packet) => {
                    let Some(video) = &mut self.video else { continue };
                    if !video.is_ready(&packet, track) {
                        self.pending.push_front(Entry::Video(packet));
                        return Ok(());
                    }
                    let buffer = track.buffer_size();
                    track.release(video.needed_from(&packet), |picture| self.writer.picture(picture, buffer));
                    let (packet, bytes) = video.rewrite(packet, track, &mut self.report);
                    self.writer.packet(packet, bytes)?;
                }
            }
        }
        if self.finished { self.writer.finish() } else { Ok(()) }
    }

    fn give_up(&mut self, track: &mut VideoTrack) -> Result<(), Error> {
        track.copy_pending();
        if let Some(video) = &mut self.video {
            video.end_packet(track);
        }
        self.advance(track)
    }

    fn output(&mut self) -> &mut Vec<u8> {
        self.writer.output()
    }

    fn report(&self) -> Option<ContainerReport> {
        let (crc_errors, pacing) = (self.tables.crc_errors, self.writer.pacing());
        Some(ContainerReport::Transport(TransportReport { crc_errors, pacing, ..self.report.clone() }))
    }

    fn is_scrambled(&self) -> bool {
        self.report.scrambled_packets > 0
    }
}

impl TransportStream {
    fn packet(&mut self, packet: Packet, track: &mut VideoTrack) -> (Entry, Result<(), Error>) {
        self.report.packets += 1;
        self.report.transport_errors += u64::from(packet.transport_error());
        let pid = packet.pid();
        if pid == NULL_PID {
            self.report.null_packets += 1;
            return (Entry::Packet(packet), Ok(()));
        }
        if let Some(video) = self.video.as_mut().filter(|video| video.pid() == pid) {
            return (Entry::Video(video.take(packet, track, &mut self.report)), Ok(()));
        }
        let selected = if self.tables.push(&packet) { self.select(track) } else { Ok(()) };
        (Entry::Packet(packet), selected)
    }

    /// Chooses the video PID by the tables, at first and when they change.
    fn select(&mut self, track: &mut VideoTrack) -> Result<(), Error> {
        let wanted = self.wanted;
        let mut programs = self.tables.programs().iter();
        let program = programs.find(|program| match wanted {
            Some(number) => program.number == number,
            None => program.video().is_some(),
        });
        let fixed = self.video.as_ref().filter(|_| self.is_fixed).map(VideoPid::pid);
        let pid = program.and_then(|program| fixed.or(program.video()));
        let Some((program, pid)) = program.zip(pid) else {
            let known = self.tables.complete() || program.is_some();
            let is_missing = known && self.video.is_none();
            return if is_missing { Err(self.tables.no_video(self.wanted)) } else { Ok(()) };
        };
        self.wanted = Some(program.number);
        (self.report.program, self.report.video_pid) = (program.number, pid);
        self.writer.follow(pid, program.pcr_pid);
        match &mut self.video {
            Some(video) => video.follow(pid, track),
            None => self.video = Some(VideoPid::new(pid)),
        }
        Ok(())
    }
}
