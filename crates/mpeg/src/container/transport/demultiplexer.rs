//! One elementary stream out of a transport stream, as it stands there.

use super::framer::{Framed, Framer};
use super::framing::Framing;
use super::packet::Packet;
use super::psi::{Component, PRIVATE_DATA, Tables};
use crate::container::pes;
use std::collections::VecDeque;

/// `stream_type` of H.264 video (ISO/IEC 13818-1, table 2-34).
pub const H264: u8 = 0x1b;
/// That of AAC in ADTS frames (ISO/IEC 13818-7).
pub const AAC: u8 = 0x0f;

/// The most bytes from one time stamp to the next.
const LONGEST: usize = 16 << 20;

/// Bytes of a packet's payload behind a clock reference: with fewer the packet is filled up.
const WITH_CLOCK: usize = 184 - 8;

/// What lies in an elementary stream from one time stamp to the next: of video, an access unit as a rule.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ElementaryPacket {
    /// Presentation time, 90 kHz, modulo 2^33.
    pub pts: Option<u64>,
    /// Decoding time, 90 kHz, modulo 2^33, where it is another.
    pub dts: Option<u64>,
    /// Part of the elementary stream.
    pub payload: Vec<u8>,
    /// Part of it is missing.
    pub damaged: bool,
}

/// An elementary stream beside the one that is taken out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Companion {
    component: Component,
    /// PID of its packets.
    pub pid: u16,
}

impl Companion {
    /// True for sound.
    pub fn is_sound(&self) -> bool {
        self.component.is_sound()
    }

    /// True for AAC in ADTS frames.
    pub fn is_aac(&self) -> bool {
        self.component.stream_type == AAC
    }

    /// True for Opus of one channel, or of two in one stream.
    pub fn is_plain_opus(&self) -> bool {
        self.component.is_plain_opus
    }

    /// Its codec, or the number of its type.
    pub fn name(&self) -> String {
        self.component.name()
    }
}

/// Takes the first stream of a type out of a transport stream.
#[derive(Debug)]
pub struct Demultiplexer {
    framer: Framer,
    tables: Tables,
    stream_type: u8,
    /// Where only this one is taken.
    only: Option<u16>,
    pid: Option<u16>,
    counter: Option<u8>,
    partial: Option<ElementaryPacket>,
    /// The length of its payload, where it says so.
    length: Option<u64>,
    /// The last packet was filled up, so the next one begins something.
    is_filled_up: bool,
    ready: VecDeque<ElementaryPacket>,
}

impl Demultiplexer {
    /// Takes the first stream of `stream_type`.
    pub fn new(framing: Framing, stream_type: u8) -> Self {
        Self {
            framer: Framer::new(framing),
            tables: Tables::default(),
            stream_type,
            only: None,
            pid: None,
            counter: None,
            partial: None,
            length: None,
            is_filled_up: false,
            ready: VecDeque::new(),
        }
    }

    /// Takes the first stream of Opus of one channel, or of two in one stream, whose access units have headers of their own
    /// ("Encapsulation of Opus in MPEG-TS").
    pub fn plain_opus(framing: Framing) -> Self {
        Self::new(framing, PRIVATE_DATA)
    }

    /// Takes the stream of this PID alone, if it has the type.
    pub fn only(self, pid: u16) -> Self {
        Self { only: Some(pid), ..self }
    }

    /// Whether the stream was found.
    pub fn is_found(&self) -> bool {
        self.pid.is_some()
    }

    /// The types of the streams, once every programme map was read and none has the one that is looked for.
    pub fn others(&self) -> Option<Vec<String>> {
        let components = self.tables.programs().iter().flat_map(|program| &program.components);
        let names = components.map(Component::name).collect();
        (self.pid.is_none() && self.tables.complete()).then_some(names)
    }

    /// The other streams of the programme in which the stream was found.
    pub fn companions(&self) -> Vec<Companion> {
        let has_it = |components: &[Component]| components.iter().any(|one| self.pid == Some(one.pid));
        let mut programs = self.tables.programs().iter().map(|program| &program.components);
        let companions = programs.find(|components| has_it(components)).into_iter().flatten();
        let others = companions.filter(|component| self.pid != Some(component.pid));
        others.map(|&component| Companion { component, pid: component.pid }).collect()
    }

    /// Takes bytes of the transport stream.
    pub fn push(&mut self, bytes: &[u8]) {
        self.framer.push(bytes);
        while let Some(framed) = self.framer.poll() {
            match framed {
                Framed::Packet(packet) => self.take(&packet),
                Framed::Junk(_) => self.partial.iter_mut().for_each(|partial| partial.damaged = true),
            }
        }
    }

    /// Packets before the next ones are missing, perhaps so many that their counters do not show it.
    pub fn on_loss(&mut self) {
        self.partial.iter_mut().for_each(|partial| partial.damaged = true);
        self.counter = None;
    }

    /// The stream has ended: what came last is whole.
    pub fn finish(&mut self) {
        self.ready.extend(self.partial.take());
    }

    /// The stream has broken off: what came last is whole if its last packet was filled up (2.4.3.5).
    pub fn break_off(&mut self) {
        let is_filled_up = self.is_filled_up;
        self.ready.extend(self.partial.take().filter(|_| is_filled_up));
    }

    /// The next part that is whole, which shows with the beginning of another, or of sound by its length.
    pub fn poll(&mut self) -> Option<ElementaryPacket> {
        self.ready.pop_front()
    }

    fn take(&mut self, packet: &Packet) {
        if self.tables.push(packet) {
            self.find();
        }
        if self.pid != Some(packet.pid()) || packet.payload().is_empty() {
            return;
        }
        let counter = packet.continuity_counter();
        if self.counter == Some(counter) {
            return; // a repeated packet (2.4.3.3)
        }
        let follows = self.counter.is_none_or(|last| (last + 1) & 15 == counter) || packet.discontinuity();
        self.counter = Some(counter);
        self.is_filled_up = packet.payload().len() < WITH_CLOCK;
        if let Some(partial) = &mut self.partial {
            partial.damaged |= !follows || packet.transport_error() || packet.scrambled();
        }
        if packet.payload_unit_start() {
            self.begin_packet(packet.payload());
        } else if let Some(partial) = &mut self.partial {
            partial.payload.extend_from_slice(packet.payload());
        }
        // What follows may be long in coming, and sound is short of time. Pictures go on in packets without a time stamp.
        let is_whole = |partial: &ElementaryPacket| self.length == Some(partial.payload.len() as u64);
        let is_sound = matches!(self.stream_type, AAC | PRIVATE_DATA);
        if is_sound && self.partial.as_ref().is_some_and(is_whole) {
            self.ready.extend(self.partial.take());
        }
        if self.partial.as_ref().is_some_and(|partial| partial.payload.len() > LONGEST) {
            self.partial = None;
        }
    }

    /// Private data is taken where it is Opus.
    fn is_of_type(&self, component: &Component) -> bool {
        component.stream_type == self.stream_type
            && (self.stream_type != PRIVATE_DATA || component.is_plain_opus)
    }

    fn find(&mut self) {
        let programs = self.tables.programs();
        let mut components = programs.iter().flat_map(|program| &program.components);
        let is_wanted = |pid| self.only.is_none_or(|only| only == pid);
        let found = components.find(|component| self.is_of_type(component) && is_wanted(component.pid));
        if let Some(pid) = found.map(|component| component.pid).filter(|pid| self.pid != Some(*pid)) {
            self.pid = Some(pid);
            (self.partial, self.counter) = (None, None);
        }
    }

    /// A PES packet begins. One without a time stamp continues what was before.
    fn begin_packet(&mut self, bytes: &[u8]) {
        let Ok(header) = pes::parse(bytes) else {
            self.partial.iter_mut().for_each(|partial| partial.damaged = true);
            return;
        };
        let payload = &bytes[header.len.min(bytes.len())..];
        self.length = header.payload_len();
        match (&mut self.partial, header.pts) {
            (Some(partial), None) => {
                partial.payload.extend_from_slice(payload);
                partial.damaged |= header.scrambled;
            }
            (partial, _) => {
                self.ready.extend(partial.take());
                let (payload, damaged) = (payload.to_vec(), header.scrambled);
                *partial = Some(ElementaryPacket { pts: header.pts, dts: header.dts, payload, damaged });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A transport packet: the payload is filled up by an adaptation field.
    fn packet(pid: u16, start: bool, counter: u8, payload: &[u8]) -> Vec<u8> {
        let stuffing = 184 - payload.len();
        let mut bytes = vec![0x47, (pid >> 8) as u8 | if start { 0x40 } else { 0 }, pid as u8];
        bytes.push(counter & 15 | if stuffing > 0 { 0x30 } else { 0x10 });
        if stuffing > 0 {
            bytes.push(stuffing as u8 - 1);
            bytes.extend((1..stuffing).map(|at| if at == 1 { 0 } else { 0xff }));
        }
        bytes.extend_from_slice(payload);
        bytes
    }

    fn section(body: &[u8]) -> Vec<u8> {
        let crc = body.iter().fold(!0u32, |crc, byte| {
            (0..8).fold(crc ^ u32::from(*byte) << 24, |crc, _| {
                crc << 1 ^ if crc >> 31 == 1 { 0x04c1_1db7 } else { 0 }
            })
        });
        [&[0], body, &crc.to_be_bytes()].concat()
    }

    fn tables(stream_type: u8) -> Vec<u8> {
        let association = section(&[0, 0xb0, 13, 0, 1, 0xc1, 0, 0, 0, 1, 0xe1, 0]);
        let map = [2, 0xb0, 18, 0, 1, 0xc1, 0, 0, 0xe1, 1, 0xf0, 0, stream_type, 0xe1, 1, 0xf0, 0];
        [packet(0, true, 0, &association), packet(0x100, true, 0, &section(&map))].concat()
    }

    fn pes(pts: u8, payload: &[u8]) -> Vec<u8> {
        [&[0, 0, 1, 0xe0, 0, 0, 0x80, 0x80, 5, 0x21, 0, 1, 0, pts << 1 | 1], payload].concat()
    }

    #[test]
    fn a_stream_comes_out_whatever_the_chunks() {
        let mut stream = tables(H264);
        stream.extend(packet(0x101, true, 0, &pes(1, &[1; 150])));
        stream.extend(packet(0x101, false, 1, &[2; 184]));
        stream.extend(packet(0x101, false, 1, &[2; 184])); // repeated
        stream.extend(packet(0x101, true, 2, &pes(2, &[3; 10])));
        stream.extend(packet(0x101, true, 4, &pes(3, &[4; 10])));
        for chunk in [1, 100, 188, 5000] {
            let mut demultiplexer = Demultiplexer::new(Framing::Plain, H264);
            stream.chunks(chunk).for_each(|bytes| demultiplexer.push(bytes));
            demultiplexer.finish();
            let packets: Vec<_> = std::iter::from_fn(|| demultiplexer.poll()).collect();
            let seen: Vec<_> = packets.iter().map(|p| (p.pts, p.payload.len(), p.damaged)).collect();
            assert_eq!(seen, [(Some(1), 334, false), (Some(2), 10, true), (Some(3), 10, false)], "{chunk}");
        }
    }

    /// The sender may be killed in the middle of a picture.
    #[test]
    fn what_broke_off_is_whole_where_its_last_packet_is_filled_up() {
        let begin = [tables(H264), packet(0x101, true, 0, &pes(1, &[1; 170]))].concat();
        for (last, whole) in [(vec![2; 184], false), (vec![2; 176], false), (vec![2; 20], true)] {
            let mut demultiplexer = Demultiplexer::new(Framing::Plain, H264);
            demultiplexer.push(&[&begin[..], &packet(0x101, false, 1, &last)].concat());
            demultiplexer.break_off();
            assert_eq!(demultiplexer.poll().is_some(), whole, "{}", last.len());
        }
    }

    #[test]
    fn another_video_is_named() {
        let mut demultiplexer = Demultiplexer::new(Framing::Plain, H264);
        demultiplexer.push(&tables(0x24));
        assert_eq!(demultiplexer.others(), Some(vec!["H.265 video".to_owned()]));
        assert!(!demultiplexer.is_found());
    }

    #[test]
    fn companions_are_those_of_the_programme() {
        let stream = include_bytes!("../../../tests/fixtures/two_programmes.ts");
        let mut demultiplexer = Demultiplexer::new(Framing::Plain, 2);
        demultiplexer.push(stream);
        let companions = demultiplexer.companions();
        let seen: Vec<_> = companions.iter().map(|one| (one.is_sound(), one.name())).collect();
        assert_eq!(seen, [(true, "MPEG audio".to_owned())]);
    }
}
