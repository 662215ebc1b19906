//! A transport stream of one programme: H.264, and beside it Opus ("Encapsulation of Opus in MPEG-TS", as FFmpeg has it) or AAC (ADTS).

use super::demultiplexer::{AAC, H264};
use super::framing::{PACKET, SYNC};
use super::packet::PCR_WRAP;
use super::psi::{OPUS, PRIVATE_DATA, crc32};
use std::collections::VecDeque;

/// Numbers of the programme and of its streams.
const PROGRAM: u16 = 1;
const MAP_PID: u16 = 0x1000;
const VIDEO_PID: u16 = 0x100;
const SOUND_PID: u16 = 0x101;
/// The `stream_id` of video, of private data, in which Opus is, and of audio.
const VIDEO_ID: u8 = 0xe0;
const PRIVATE_ID: u8 = 0xbd;
const AUDIO_ID: u8 = 0xc0;
/// The longest payload of sound in a PES packet.
const LONGEST_SOUND: usize = 65_000;
/// Ticks of 27 MHz from one clock reference to the next: 40 ms, of 100 that are allowed (2.7.2).
const CLOCK_INTERVAL: u64 = 27_000 * 40;
/// The same of the tables.
const TABLE_INTERVAL: u64 = 27_000 * 100;
/// Payload of a packet without an adaptation field.
const PAYLOAD: usize = PACKET - 4;
/// The access unit delimiter that begins each access unit (2.14.1), of any slices.
const DELIMITER: [u8; 6] = [0, 0, 0, 1, 9, 0xf0];

/// Makes the packets of a transport stream at the time at which they leave, so that their clock references are those of the departure.
///
/// Times are 90 kHz and 27 MHz of one clock, of which the latter is that of departures. What is pushed waits without bound: the
/// caller looks at [`waiting`](Self::waiting).
#[derive(Debug)]
pub struct Multiplexer {
    video: Stream,
    sound: Option<(SoundFormat, Stream)>,
    association: Table,
    map: Table,
    /// When the last clock reference and the last tables left.
    clock_at: Option<u64>,
    tables_at: Option<u64>,
}

/// What the sound is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SoundFormat {
    /// Opus of two channels.
    Opus,
    /// AAC in ADTS frames (ISO/IEC 13818-7), which describe themselves.
    Aac,
}

/// An access unit of H.264 with its times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessUnitTimes {
    /// When it is shown, 90 kHz.
    pub pts: u64,
    /// When it is decoded, which is not later, 90 kHz.
    pub dts: u64,
    /// A decoder can begin with it.
    pub is_key: bool,
}

/// An elementary stream, and what of it waits.
#[derive(Debug)]
struct Stream {
    pid: u16,
    counter: u8,
    units: VecDeque<Unit>,
}

#[derive(Debug)]
struct Unit {
    /// A PES packet.
    octets: Vec<u8>,
    /// What of it has left.
    taken: usize,
    is_key: bool,
}

#[derive(Debug)]
struct Table {
    pid: u16,
    counter: u8,
    section: Vec<u8>,
}

impl Multiplexer {
    /// A stream of pictures, with sound beside them.
    pub fn new(sound: Option<SoundFormat>) -> Self {
        Self {
            video: Stream::new(VIDEO_PID),
            sound: sound.map(|format| (format, Stream::new(SOUND_PID))),
            association: Table::new(0, association()),
            map: Table::new(MAP_PID, map(sound)),
            clock_at: None,
            tables_at: None,
        }
    }

    /// The next access unit, as a byte stream (ITU-T H.264 Annex B), in decoding order.
    pub fn push_video(&mut self, access_unit: &[u8], times: AccessUnitTimes) {
        let AccessUnitTimes { pts, dts, is_key } = times;
        let mut octets = header(VIDEO_ID, None, pts, Some(dts).filter(|dts| *dts != pts));
        if !begins_with_delimiter(access_unit) {
            octets.extend_from_slice(&DELIMITER);
        }
        octets.extend_from_slice(access_unit);
        self.video.units.push_back(Unit { octets, taken: 0, is_key });
    }

    /// The next Opus packet or frame of AAC, and when it is played, 90 kHz. One that is longer than a PES packet can be is left out.
    pub fn push_sound(&mut self, packet: &[u8], pts: u64) {
        let Some((format, sound)) = &mut self.sound else { return };
        if packet.len() >= LONGEST_SOUND {
            return;
        }
        // The header of an access unit of Opus.
        let (stream_id, mut unit) = match format {
            SoundFormat::Opus => (PRIVATE_ID, vec![0x7f, 0xe0]),
            SoundFormat::Aac => (AUDIO_ID, Vec::new()),
        };
        if *format == SoundFormat::Opus {
            unit.extend(std::iter::repeat_n(0xff, packet.len() / 255));
            unit.push((packet.len() % 255) as u8);
        }
        let mut octets = header(stream_id, Some(unit.len() + packet.len()), pts, None);
        octets.extend_from_slice(&unit);
        octets.extend_from_slice(packet);
        sound.units.push_back(Unit { octets, taken: 0, is_key: false });
    }

    /// Octets that wait.
    pub fn waiting(&self) -> usize {
        let streams = std::iter::once(&self.video).chain(self.sound.as_ref().map(|(_, sound)| sound));
        streams.flat_map(|stream| &stream.units).map(|unit| unit.octets.len() - unit.taken).sum()
    }

    /// Access units of pictures that wait, in part or whole.
    pub fn pictures(&self) -> u64 {
        self.video.units.len() as u64
    }

    /// When a clock reference is due, 27 MHz; `None` before the first one.
    pub fn clock_due(&self) -> Option<u64> {
        self.clock_at.map(|at| at + CLOCK_INTERVAL)
    }

    /// Writes up to `most` packets that leave at `now`, 27 MHz: tables and a clock reference where they are due, then sound, then
    /// pictures.
    pub fn write(&mut self, now: u64, most: usize, out: &mut Vec<u8>) {
        let end = out.len() + most * PACKET;
        let is_due = |at: Option<u64>, interval: u64| at.is_none_or(|at| now.saturating_sub(at) >= interval);
        if is_due(self.tables_at, TABLE_INTERVAL) {
            self.tables_at = Some(now);
            self.association.write(out);
            self.map.write(out);
        }
        while let Some((_, sound)) = self.sound.as_mut().filter(|_| out.len() < end)
            && sound.write(None, out)
        {}
        while out.len() < end {
            let clock = is_due(self.clock_at, CLOCK_INTERVAL).then_some(now);
            if let Some(now) = clock {
                self.clock_at = Some(now);
            }
            if !self.video.write(clock, out) {
                break;
            }
        }
    }
}

impl Stream {
    const fn new(pid: u16) -> Self {
        Self { pid, counter: 0, units: VecDeque::new() }
    }

    /// Writes the next packet, with a clock reference where there is one; false where nothing is to be written.
    fn write(&mut self, clock: Option<u64>, out: &mut Vec<u8>) -> bool {
        let Some(unit) = self.units.front_mut() else {
            // A clock reference alone does not count.
            let last = self.counter.wrapping_sub(1);
            return clock.is_some() && write_packet(out, (self.pid, false, last), clock, false, &[]) == 0;
        };
        let is_start = unit.taken == 0;
        let (rest, is_entry) = (&unit.octets[unit.taken..], unit.is_key && is_start);
        unit.taken += write_packet(out, (self.pid, is_start, self.counter), clock, is_entry, rest);
        self.counter = self.counter.wrapping_add(1);
        if unit.taken == unit.octets.len() {
            self.units.pop_front();
        }
        true
    }
}

impl Table {
    const fn new(pid: u16, section: Vec<u8>) -> Self {
        Self { pid, counter: 0, section }
    }

    fn write(&mut self, out: &mut Vec<u8>) {
        let begin = out.len();
        out.extend(head(self.pid, true, self.counter, 0x10));
        out.push(0);
        out.extend_from_slice(&self.section);
        out.resize(begin + PACKET, 0xff);
        self.counter = self.counter.wrapping_add(1);
    }
}

/// The fixed header (2.4.3.2).
const fn head(pid: u16, is_start: bool, counter: u8, control: u8) -> [u8; 4] {
    let start = if is_start { 0x40 } else { 0 };
    [SYNC, start | (pid >> 8) as u8, pid as u8, control | counter & 15]
}

/// Writes a packet with as much of `payload` as it takes; gives that.
fn write_packet(
    out: &mut Vec<u8>,
    (pid, is_start, counter): (u16, bool, u8),
    clock: Option<u64>,
    is_entry: bool,
    payload: &[u8],
) -> usize {
    let mut field = Vec::new();
    if clock.is_some() || is_entry {
        field.push(if clock.is_some() { 0x10 } else { 0 } | if is_entry { 0x40 } else { 0 });
        field.extend(clock.into_iter().flat_map(reference));
    }
    // The length of the field, which is one octet, stands before it.
    let room = PAYLOAD - if field.is_empty() { 0 } else { 1 + field.len() };
    let taken = payload.len().min(room);
    let stuffing = room - taken;
    let has_field = !field.is_empty() || stuffing > 0;
    let control = if has_field { 0x20 } else { 0 } | if taken > 0 { 0x10 } else { 0 };
    out.extend(head(pid, is_start, counter, control));
    if has_field {
        let length = PAYLOAD - taken - 1;
        out.push(length as u8);
        if field.is_empty() && length > 0 {
            field.push(0);
        }
        field.resize(length, 0xff);
        out.extend_from_slice(&field);
    }
    out.extend_from_slice(&payload[..taken]);
    taken
}

/// A clock reference: 33 bits of 90 kHz, and 9 bits of 27 MHz (2.4.3.5).
fn reference(clock: u64) -> [u8; 6] {
    let clock = clock % PCR_WRAP;
    let (base, extension) = (clock / 300, clock % 300);
    let octets = (base << 15 | 0x7e00 | extension).to_be_bytes();
    [octets[2], octets[3], octets[4], octets[5], octets[6], octets[7]]
}

/// The header of a PES packet (2.4.3.6) whose payload has this length; video may leave it open.
fn header(stream_id: u8, length: Option<usize>, pts: u64, dts: Option<u64>) -> Vec<u8> {
    let stamps = if dts.is_some() { 10 } else { 5 };
    let length = length.map_or(0, |length| (length + 3 + stamps) as u16).to_be_bytes();
    let flags = if dts.is_some() { 0xc0 } else { 0x80 };
    // Each begins with an access unit: data_alignment_indicator.
    let mut octets = vec![0, 0, 1, stream_id, length[0], length[1], 0x84, flags, stamps as u8];
    octets.extend(time_stamp(if dts.is_some() { 3 } else { 2 }, pts));
    octets.extend(dts.into_iter().flat_map(|dts| time_stamp(1, dts)));
    octets
}

/// A time stamp behind its mark, with marker bits between (2.4.3.6).
fn time_stamp(mark: u8, ticks: u64) -> [u8; 5] {
    let bits = |shift: u32| (ticks >> shift) as u8;
    [mark << 4 | bits(29) & 0x0e | 1, bits(22), bits(14) | 1, bits(7), bits(0) << 1 | 1]
}

fn begins_with_delimiter(access_unit: &[u8]) -> bool {
    let start = access_unit.windows(4).take(4).find(|window| window[..3] == [0, 0, 1]);
    start.is_some_and(|window| window[3] & 0x1f == 9)
}

/// Adds length and CRC to a section whose length has a place at its second octet.
fn section(mut octets: Vec<u8>) -> Vec<u8> {
    let length = (octets.len() - 3 + 4) as u16 | 0xb000;
    octets[1..3].copy_from_slice(&length.to_be_bytes());
    let crc = crc32(&octets);
    octets.extend(crc.to_be_bytes());
    octets
}

fn word(value: u16) -> [u8; 2] {
    value.to_be_bytes()
}

/// The programme association (2.4.4.3).
fn association() -> Vec<u8> {
    let mut octets = vec![0, 0, 0, 0, 1, 0xc1, 0, 0];
    octets.extend(word(PROGRAM));
    octets.extend(word(0xe000 | MAP_PID));
    section(octets)
}

/// The programme map (2.4.4.8).
fn map(sound: Option<SoundFormat>) -> Vec<u8> {
    let mut octets = vec![2, 0, 0];
    octets.extend(word(PROGRAM));
    octets.extend([0xc1, 0, 0]);
    octets.extend(word(0xe000 | VIDEO_PID));
    octets.extend(word(0xf000));
    octets.push(H264);
    octets.extend(word(0xe000 | VIDEO_PID));
    octets.extend(word(0xf000));
    let [a, b, c, d] = OPUS;
    // The registration, and the extension descriptor of Opus: two channels.
    let of_opus = [5, 4, a, b, c, d, 0x7f, 2, 0x80, 2];
    let described: Option<(u8, &[u8])> = sound.map(|format| match format {
        SoundFormat::Opus => (PRIVATE_DATA, &of_opus[..]),
        SoundFormat::Aac => (AAC, &[][..]),
    });
    if let Some((stream_type, descriptors)) = described {
        octets.push(stream_type);
        octets.extend(word(0xe000 | SOUND_PID));
        octets.extend(word(0xf000 | descriptors.len() as u16));
        octets.extend(descriptors);
    }
    section(octets)
}

#[cfg(test)]
mod tests {
    use super::super::{Demultiplexer, Framing};
    use super::*;
    use proptest::prelude::*;

    const TICK: u64 = 300;

    fn times(pts: u64, dts: u64) -> AccessUnitTimes {
        AccessUnitTimes { pts, dts, is_key: pts == dts }
    }

    /// Writes all that waits, seven packets each millisecond from `now` on.
    fn drain(multiplexer: &mut Multiplexer, mut now: u64) -> Vec<u8> {
        let mut stream = Vec::new();
        while multiplexer.waiting() > 0 {
            multiplexer.write(now, 7, &mut stream);
            now += 27_000;
        }
        stream
    }

    /// Clock references by their place in the stream.
    fn references(stream: &[u8]) -> Vec<u64> {
        let has_one = |packet: &&[u8]| packet[3] & 0x20 != 0 && packet[4] > 0 && packet[5] & 0x10 != 0;
        let packets = stream.chunks(PACKET).filter(has_one);
        let value = |packet: &[u8]| {
            let base = u64::from(u32::from_be_bytes([packet[6], packet[7], packet[8], packet[9]])) << 1;
            let low = u64::from(packet[10]);
            (base | low >> 7) * 300 + ((low & 1) << 8 | u64::from(packet[11]))
        };
        packets.map(value).collect()
    }

    #[test]
    fn what_goes_in_comes_out() {
        let mut multiplexer = Multiplexer::new(Some(SoundFormat::Opus));
        let unit = |fill: u8, len: usize| [&[0, 0, 0, 1, 0x65][..], &vec![fill; len]].concat();
        multiplexer.push_video(&unit(7, 40_000), times(90_000, 90_000));
        multiplexer.push_sound(&[1; 300], 90_000);
        let mut stream = drain(&mut multiplexer, 27_000_000);
        multiplexer.push_video(&unit(8, 100), times(97_200, 93_600));
        multiplexer.push_sound(&[2; 160], 91_800);
        stream.extend(drain(&mut multiplexer, 28_080_000));
        assert!(stream.chunks(PACKET).all(|packet| packet.len() == PACKET && packet[0] == SYNC));
        let mut demultiplexer = Demultiplexer::new(Framing::Plain, H264);
        demultiplexer.push(&stream);
        demultiplexer.finish();
        let packets: Vec<_> = std::iter::from_fn(|| demultiplexer.poll()).collect();
        let seen: Vec<_> = packets.iter().map(|one| (one.pts, one.dts, one.damaged)).collect();
        assert_eq!(seen, [(Some(90_000), None, false), (Some(97_200), Some(93_600), false)]);
        assert_eq!(packets[0].payload, [&DELIMITER[..], &unit(7, 40_000)].concat());
        assert_eq!(packets[1].payload, [&DELIMITER[..], &unit(8, 100)].concat());
        let companions = demultiplexer.companions();
        let seen: Vec<_> = companions.iter().map(|one| (one.is_sound(), one.name(), one.pid)).collect();
        assert_eq!(seen, [(true, "Opus audio".to_owned(), SOUND_PID)]);
        // 40 ms and more went by between the two.
        assert_eq!(references(&stream), [27_000_000, 28_080_000]);
    }

    #[test]
    fn sound_leaves_first_and_is_framed() {
        let mut multiplexer = Multiplexer::new(Some(SoundFormat::Opus));
        multiplexer.push_video(&[0, 0, 1, 0x41, 9], times(0, 0));
        multiplexer.push_sound(&[5; 255], 0);
        let stream = drain(&mut multiplexer, 0);
        let pids: Vec<_> =
            stream.chunks(PACKET).map(|packet| u16::from_be_bytes([packet[1], packet[2]]) & 0x1fff).collect();
        assert_eq!(pids, [0, MAP_PID, SOUND_PID, SOUND_PID, VIDEO_PID]);
        let first = &stream[2 * PACKET..3 * PACKET];
        // The header of the PES packet, and that of the access unit: 255 octets are two lengths.
        assert_eq!(first[4..8], [0, 0, 1, PRIVATE_ID]);
        assert_eq!(u16::from_be_bytes([first[8], first[9]]), 8 + 4 + 255);
        assert_eq!(first[18..22], [0x7f, 0xe0, 0xff, 0]);
        let mut demultiplexer = Demultiplexer::plain_opus(Framing::Plain).only(SOUND_PID);
        demultiplexer.push(&stream);
        let packet = demultiplexer.poll().expect("it is whole by its length");
        assert_eq!((packet.pts, packet.payload.len()), (Some(0), 4 + 255));
    }

    #[test]
    fn aac_is_a_stream_of_its_type() {
        let mut multiplexer = Multiplexer::new(Some(SoundFormat::Aac));
        multiplexer.push_video(&[0, 0, 1, 0x41, 9], times(90_000, 90_000));
        multiplexer.push_sound(&[0xff; 300], 90_000);
        multiplexer.push_sound(&[0xfe; 100], 92_090);
        let stream = drain(&mut multiplexer, 27_000_000);
        let mut demultiplexer = Demultiplexer::new(Framing::Plain, AAC).only(SOUND_PID);
        demultiplexer.push(&stream);
        demultiplexer.finish();
        let packets: Vec<_> = std::iter::from_fn(|| demultiplexer.poll()).collect();
        let seen: Vec<_> = packets.iter().map(|one| (one.pts, one.payload.len(), one.damaged)).collect();
        assert_eq!(seen, [(Some(90_000), 300, false), (Some(92_090), 100, false)]);
        let mut others = Demultiplexer::new(Framing::Plain, H264);
        others.push(&stream);
        let seen: Vec<_> = others.companions().iter().map(|one| (one.is_aac(), one.name())).collect();
        assert_eq!(seen, [(true, "AAC audio".to_owned())]);
        let mut nothing = Demultiplexer::new(Framing::Plain, AAC).only(VIDEO_PID);
        nothing.push(&stream);
        assert!(!nothing.is_found());
    }

    #[test]
    fn the_clock_goes_on_without_pictures() {
        let mut multiplexer = Multiplexer::new(None);
        assert_eq!(multiplexer.clock_due(), None);
        let mut stream = Vec::new();
        for now in (0..100).map(|millis| millis * 90 * TICK) {
            multiplexer.write(now, 7, &mut stream);
        }
        assert_eq!(references(&stream), [0, 40, 80].map(|millis| millis * 90 * TICK));
        // A clock reference alone does not count.
        let counters: Vec<_> = stream
            .chunks(PACKET)
            .filter(|packet| packet[1..3] == [1, 0])
            .map(|packet| packet[3] & 15)
            .collect();
        assert_eq!(counters, [15, 15, 15]);
        multiplexer.push_sound(&[1], 0);
        assert_eq!(multiplexer.waiting(), 0, "there is no sound");
    }

    proptest! {
        /// Packets are whole whatever the length of an access unit, and the clock may wrap.
        #[test]
        fn any_access_unit_comes_out(len in 1usize..2_000, base in any::<u64>(), most in 1usize..9) {
            let mut multiplexer = Multiplexer::new(Some(SoundFormat::Opus));
            let unit = [&[0, 0, 1, 9, 0xf0][..], &vec![3; len]].concat();
            let (pts, mut stream) = (base % (1 << 33), Vec::new());
            multiplexer.push_video(&unit, times(pts, pts));
            while multiplexer.waiting() > 0 {
                multiplexer.write(base / 2, most, &mut stream);
            }
            let mut demultiplexer = Demultiplexer::new(Framing::Plain, H264);
            demultiplexer.push(&stream);
            demultiplexer.finish();
            let packet = demultiplexer.poll().unwrap();
            prop_assert_eq!((packet.pts, packet.payload), (Some(pts), unit));
        }
    }
}
