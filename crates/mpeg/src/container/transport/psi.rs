//! Programme association and map tables (ISO/IEC 13818-1, 2.4.4), as far as they lead to the video.

use std::collections::{BTreeMap, BTreeSet};

use super::packet::Packet;
use crate::container::error::Error;

/// `stream_type` of ISO/IEC 11172-2 and 13818-2 video.
const VIDEO_TYPES: [u8; 2] = [0x01, 0x02];

/// `stream_type` of private data, which a registration names.
pub(super) const PRIVATE_DATA: u8 = 0x06;
/// The registration of Opus.
pub(super) const OPUS: [u8; 4] = *b"Opus";

/// Longest section of these tables, in bytes.
const LONGEST: usize = 1024;
/// Programmes of an association, at most; further ones are ignored.
const MOST_PROGRAMS: usize = 512;

/// One elementary stream of a programme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Component {
    pub(super) stream_type: u8,
    pub(super) pid: u16,
    /// Private data that its registration descriptor (2.6.8) names as Opus.
    pub(super) is_opus: bool,
    /// Opus in one channel or in two of one stream, so that a packet is one of RFC 6716.
    pub(super) is_plain_opus: bool,
}

impl Component {
    /// True for sound.
    pub(super) fn is_sound(&self) -> bool {
        self.is_opus || is_sound(self.stream_type)
    }

    /// Its codec, or the number of its type, for a message.
    pub(super) fn name(&self) -> String {
        if self.is_opus { "Opus audio".into() } else { type_name(self.stream_type) }
    }
}

/// A programme map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Program {
    pub(super) number: u16,
    pub(super) pcr_pid: u16,
    pub(super) components: Vec<Component>,
}

impl Program {
    /// The PID of its first MPEG-1 or MPEG-2 video stream.
    pub(super) fn video(&self) -> Option<u16> {
        self.components.iter().find(|c| VIDEO_TYPES.contains(&c.stream_type)).map(|c| c.pid)
    }
}

/// The tables read so far.
#[derive(Debug, Default)]
pub(super) struct Tables {
    association: Sections,
    /// Sections of the programme maps, by PID.
    maps: BTreeMap<u16, Sections>,
    listed: Vec<u16>,
    programs: Vec<Program>,
    complete: bool,
    pub(super) crc_errors: u64,
}

impl Tables {
    /// The programmes whose maps were read, in the order of the first map of each.
    pub(super) fn programs(&self) -> &[Program] {
        &self.programs
    }

    /// True where the maps of all programmes in the association were read.
    pub(super) fn complete(&self) -> bool {
        self.complete
    }

    /// The PIDs of all elementary streams.
    pub(super) fn elementary_pids(&self) -> BTreeSet<u16> {
        self.programs.iter().flat_map(|program| &program.components).map(|component| component.pid).collect()
    }

    /// The error for a stream without MPEG-1 or MPEG-2 video, or without it in the programme that is wanted.
    pub(super) fn no_video(&self, wanted: Option<u16>) -> Error {
        let of_interest =
            self.programs.iter().filter(|program| wanted.is_none_or(|number| program.number == number));
        let mut names: Vec<String> =
            of_interest.flat_map(|program| &program.components).map(Component::name).collect();
        names.dedup();
        let found = match (names.is_empty(), wanted) {
            (false, _) => format!("a transport stream with {}", names.join(", ")),
            (true, Some(number)) => format!("a transport stream without programme {number}"),
            (true, None) => "a transport stream without a programme map".to_owned(),
        };
        Error::NoVideo { found }
    }

    /// Reads a packet; true where a programme changed.
    pub(super) fn push(&mut self, packet: &Packet) -> bool {
        let sections = match packet.pid() {
            0 => &mut self.association,
            pid => match self.maps.get_mut(&pid) {
                Some(sections) => sections,
                None => return false,
            },
        };
        if packet.transport_error() || packet.scrambled() {
            return false;
        }
        let mut changed = false;
        for section in sections.push(packet) {
            if crc32(&section) != 0 {
                self.crc_errors += 1;
                continue;
            }
            // Only tables that are valid now, by current_next_indicator.
            match section[0] {
                0x00 if packet.pid() == 0 && section[5] & 1 == 1 => self.associate(&section),
                0x02 if packet.pid() != 0 && section[5] & 1 == 1 => changed |= self.map(&section),
                _ => continue,
            }
            let has_map = |number: &u16| self.programs.iter().any(|program| program.number == *number);
            self.complete = !self.listed.is_empty() && self.listed.iter().all(has_map);
        }
        changed
    }

    fn associate(&mut self, section: &[u8]) {
        let entries = section[8..section.len() - 4].chunks_exact(4).map(|entry| {
            let number = u16::from_be_bytes([entry[0], entry[1]]);
            (number, u16::from_be_bytes([entry[2], entry[3]]) & 0x1fff)
        });
        let programs: Vec<(u16, u16)> = entries.filter(|(number, _)| *number != 0).collect();
        // A table of a single section replaces the list. One of several sections only adds to it.
        if section[6] == 0 && section[7] == 0 {
            self.listed.retain(|number| programs.iter().any(|(listed, _)| listed == number));
            self.maps.retain(|pid, _| programs.iter().any(|(_, listed)| listed == pid));
            self.programs.retain(|program| self.listed.contains(&program.number));
        }
        for (number, pid) in programs {
            if !self.listed.contains(&number) {
                if self.listed.len() >= MOST_PROGRAMS {
                    return;
                }
                self.listed.push(number);
            }
            self.maps.entry(pid).or_default();
        }
    }

    fn map(&mut self, section: &[u8]) -> bool {
        let Some(program) = parse_map(section) else { return false };
        match self.programs.iter_mut().find(|known| known.number == program.number) {
            Some(known) if *known == program => false,
            Some(known) => {
                *known = program;
                true
            }
            None if self.listed.contains(&program.number) => {
                self.programs.push(program);
                true
            }
            None => false,
        }
    }
}

fn parse_map(section: &[u8]) -> Option<Program> {
    let body = &section[..section.len() - 4];
    let word = |at: usize| body.get(at..at + 2).map(|pair| u16::from_be_bytes([pair[0], pair[1]]));
    let (number, pcr_pid) = (word(3)?, word(8)? & 0x1fff);
    let mut at = 12 + usize::from(word(10)? & 0x0fff);
    let mut components = Vec::new();
    while at + 5 <= body.len() {
        let (stream_type, pid, length) = (body[at], word(at + 1)? & 0x1fff, word(at + 3)? & 0x0fff);
        let descriptors = body.get(at + 5..).unwrap_or_default();
        let descriptors = &descriptors[..descriptors.len().min(length.into())];
        let is_opus = stream_type == PRIVATE_DATA && registers(descriptors, OPUS);
        let is_plain_opus = is_opus && matches!(opus_channels(descriptors), Some(1 | 2));
        components.push(Component { stream_type, pid, is_opus, is_plain_opus });
        at += 5 + usize::from(length);
    }
    Some(Program { number, pcr_pid, components })
}

/// Whether a registration descriptor among them has this identifier.
fn registers(descriptors: &[u8], identifier: [u8; 4]) -> bool {
    const REGISTRATION: u8 = 5;
    contents(descriptors).any(|(tag, content)| tag == REGISTRATION && content.starts_with(&identifier))
}

/// The code of the channels in the descriptor of Opus: their number where it is 1 or 2 ("Encapsulation of Opus in MPEG-TS", table 4).
fn opus_channels(descriptors: &[u8]) -> Option<u8> {
    const EXTENSION: u8 = 0x7f;
    const OPUS_AUDIO: u8 = 0x80;
    contents(descriptors).find_map(|descriptor| match descriptor {
        (EXTENSION, &[OPUS_AUDIO, code, ..]) => Some(code),
        _ => None,
    })
}

/// Tags and contents of descriptors; the last one may be cut.
fn contents(mut descriptors: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    std::iter::from_fn(move || {
        let [tag, length, rest @ ..] = descriptors else { return None };
        let (content, behind) = rest.split_at(usize::from(*length).min(rest.len()));
        descriptors = behind;
        Some((*tag, content))
    })
}

/// Puts sections together from the packets of one PID.
#[derive(Debug, Default)]
struct Sections {
    partial: Vec<u8>,
    counter: Option<u8>,
}

impl Sections {
    /// The sections that end in this packet, each at least twelve bytes long.
    fn push(&mut self, packet: &Packet) -> Vec<Vec<u8>> {
        let mut done = Vec::new();
        let payload = packet.payload();
        if payload.is_empty() || self.counter == Some(packet.continuity_counter()) {
            return done; // nothing, or a repeated packet
        }
        if self.counter.is_some_and(|counter| (counter + 1) & 15 != packet.continuity_counter()) {
            self.partial.clear();
        }
        self.counter = Some(packet.continuity_counter());
        if packet.payload_unit_start() {
            let pointer = usize::from(payload[0]);
            let Some((tail, fresh)) = payload[1..].split_at_checked(pointer) else { return done };
            if !self.partial.is_empty() {
                self.extend(tail, &mut done);
            }
            self.partial.clear();
            self.extend(fresh, &mut done);
        } else if !self.partial.is_empty() {
            self.extend(payload, &mut done);
        }
        done
    }

    fn extend(&mut self, bytes: &[u8], done: &mut Vec<Vec<u8>>) {
        self.partial.extend_from_slice(bytes);
        loop {
            let Some(&[table, high, low]) = self.partial.first_chunk::<3>() else { return };
            let len = 3 + (usize::from(high & 0x0f) << 8 | usize::from(low));
            if table == 0xff || len > LONGEST {
                self.partial.clear(); // stuffing to the end of the packet
                return;
            }
            if self.partial.len() < len {
                return;
            }
            let rest = self.partial.split_off(len);
            let section = std::mem::replace(&mut self.partial, rest);
            if len >= 12 {
                done.push(section);
            }
        }
    }
}

/// The CRC of annex A, 04C11DB7 from all ones; zero over a section with its own CRC.
pub(super) fn crc32(bytes: &[u8]) -> u32 {
    bytes.iter().fold(!0, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte) << 24, |crc, _| {
            crc << 1 ^ if crc >> 31 == 1 { 0x04c1_1db7 } else { 0 }
        })
    })
}

/// `stream_type` of sound: MPEG-1 and MPEG-2, AAC in ADTS and LATM, AC-3 and Enhanced AC-3 (ATSC A/53).
fn is_sound(stream_type: u8) -> bool {
    matches!(stream_type, 0x03 | 0x04 | 0x0f | 0x11 | 0x81 | 0x87)
}

/// The name of a `stream_type`, for a message.
fn type_name(stream_type: u8) -> String {
    let name = match stream_type {
        0x01 => "MPEG-1 video",
        0x02 => "MPEG-2 video",
        0x03 | 0x04 => "MPEG audio",
        0x06 => "private data",
        0x0f | 0x11 => "AAC audio",
        0x10 => "MPEG-4 Visual",
        0x1b => "H.264 video",
        0x24 => "H.265 video",
        0x33 => "H.266 video",
        0x81 => "AC-3 audio",
        0x87 => "E-AC-3 audio",
        _ => return format!("stream type 0x{stream_type:02x}"),
    };
    name.to_owned()
}
