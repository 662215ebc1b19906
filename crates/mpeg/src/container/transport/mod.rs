//! Transport streams (ISO/IEC 13818-1, 2.4).
//!
//! Only packets of one PID change. A packet keeps its place, its adaptation field and its PES header; its
//! payload shrinks by stuffing of the adaptation field; a packet without payload keeps an adaptation field
//! that says something, or becomes a null packet. What then leaves is the [`Outlet`]'s business.

mod clock;
mod framer;
mod framing;
mod outlet;
mod pacer;
mod packet;
mod parity;
mod psi;
mod report;
mod video;

use std::collections::VecDeque;

pub use framing::Framing;
pub use report::{PacingReport, TransportReport};

use super::config::Config;
use super::error::Error;
use super::format::{Container, ContainerReport};
use super::track::VideoTrack;
use framer::{Framed, Framer};
use outlet::Outlet;
use packet::{NULL_PID, Packet};
use psi::Tables;
use video::{VideoPacket, VideoPid};

/// What waits for the video before it.
#[derive(Debug)]
enum Entry {
    Junk(Vec<u8>),
    Packet(Packet),
    Video(VideoPacket),
}

/// The machine for one transport stream.
#[derive(Debug)]
pub(super) struct TransportStream {
    framer: Framer,
    tables: Tables,
    wanted: Option<u16>,
    video: Option<VideoPid>,
    pending: VecDeque<Entry>,
    memory: usize,
    outlet: Outlet,
    finished: bool,
    report: TransportReport,
}

impl TransportStream {
    pub(super) fn new(framing: Framing, config: &Config) -> TransportStream {
        TransportStream {
            framer: Framer::new(framing),
            tables: Tables::default(),
            wanted: config.program,
            video: None,
            pending: VecDeque::new(),
            memory: config.memory / size_of::<Entry>(),
            outlet: Outlet::new(config.multiplex, config.memory),
            finished: false,
            report: TransportReport::default(),
        }
    }
}

impl Container for TransportStream {
    fn push(&mut self, bytes: &[u8], track: &mut VideoTrack) -> Result<(), Error> {
        self.framer.push(bytes);
        while let Some(framed) = self.framer.poll() {
            let entry = match framed {
                Framed::Packet(packet) => self.packet(packet, track)?,
                Framed::Junk(bytes) => {
                    self.report.sync_losses += 1;
                    self.report.junk_bytes += bytes.len() as u64;
                    Entry::Junk(bytes)
                }
            };
            self.pending.push_back(entry);
            if self.pending.len() > self.memory {
                track.give_up();
                if let Some(video) = &mut self.video {
                    video.end_packet(track);
                }
            }
            if self.pending.len() == 1 || self.pending.len() > self.memory {
                self.advance(track)?;
            }
        }
        self.advance(track)
    }

    fn finish(&mut self, track: &mut VideoTrack) -> Result<(), Error> {
        self.framer.finish();
        self.push(&[], track)?;
        track.close();
        let Some(video) = &mut self.video else { return Err(self.no_video()) };
        video.end_packet(track);
        self.finished = true;
        self.advance(track)
    }

    fn advance(&mut self, track: &mut VideoTrack) -> Result<(), Error> {
        while let Some(entry) = self.pending.pop_front() {
            match entry {
                Entry::Junk(bytes) => self.outlet.junk(&bytes),
                Entry::Packet(packet) => self.outlet.packet(packet, 0)?,
                Entry::Video(packet) => {
                    let Some(video) = &mut self.video else { continue };
                    if !video.is_ready(&packet, track) {
                        self.pending.push_front(Entry::Video(packet));
                        return Ok(());
                    }
                    let buffer = track.buffer_size();
                    track.release(video.needed_from(&packet), |picture| self.outlet.picture(picture, buffer));
                    let (packet, bytes) = video.emit(packet, track, &mut self.report);
                    self.outlet.packet(packet, bytes)?;
                }
            }
        }
        if self.finished { self.outlet.finish() } else { Ok(()) }
    }

    fn output(&mut self) -> &mut Vec<u8> {
        self.outlet.output()
    }

    fn report(&self) -> Option<ContainerReport> {
        let (crc_errors, pacing) = (self.tables.crc_errors, self.outlet.pacing());
        Some(ContainerReport::Transport(TransportReport { crc_errors, pacing, ..self.report.clone() }))
    }

    fn is_scrambled(&self) -> bool {
        self.report.scrambled_packets > 0
    }
}

impl TransportStream {
    /// Takes note of a packet.
    fn packet(&mut self, packet: Packet, track: &mut VideoTrack) -> Result<Entry, Error> {
        self.report.packets += 1;
        self.report.transport_errors += u64::from(packet.transport_error());
        let pid = packet.pid();
        if pid == NULL_PID {
            self.report.null_packets += 1;
            return Ok(Entry::Packet(packet));
        }
        if let Some(video) = self.video.as_mut().filter(|video| video.pid() == pid) {
            return Ok(Entry::Video(video.take(packet, track, &mut self.report)));
        }
        if self.tables.push(&packet) {
            self.select(track)?;
        }
        Ok(Entry::Packet(packet))
    }

    /// Chooses the video by the tables, at first and when they change.
    fn select(&mut self, track: &mut VideoTrack) -> Result<(), Error> {
        let wanted = self.wanted;
        let mut programs = self.tables.programs().iter();
        let program = programs.find(|program| match wanted {
            Some(number) => program.number == number,
            None => program.video().is_some(),
        });
        let Some((program, pid)) = program.and_then(|program| Some((program, program.video()?))) else {
            let known = self.tables.complete() || program.is_some();
            return if known && self.video.is_none() { Err(self.no_video()) } else { Ok(()) };
        };
        self.wanted = Some(program.number);
        (self.report.program, self.report.video_pid) = (program.number, pid);
        self.outlet.follow(pid, program.pcr_pid);
        match &mut self.video {
            Some(video) => video.follow(pid, track),
            None => self.video = Some(VideoPid::new(pid)),
        }
        Ok(())
    }

    /// What stands in the stream instead of MPEG-1 or MPEG-2 video.
    fn no_video(&self) -> Error {
        let programs = self.tables.programs().iter();
        let of_interest =
            programs.filter(|program| self.wanted.is_none_or(|number| program.number == number));
        let mut names: Vec<String> = of_interest
            .flat_map(|program| &program.components)
            .map(|c| psi::type_name(c.stream_type))
            .collect();
        names.dedup();
        let found = match (names.is_empty(), self.wanted) {
            (false, _) => format!("a transport stream with {}", names.join(", ")),
            (true, Some(number)) => format!("a transport stream without programme {number}"),
            (true, None) => "a transport stream without a programme map".to_owned(),
        };
        Error::NoVideo { found }
    }
}
