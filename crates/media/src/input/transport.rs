//! H.264 in MPEG transport streams (ISO/IEC 13818-1): access units with their times.

use super::ReadSeek;
use super::coded::{Coded, Sample, SampleReader, Tracks};
use crate::audio::Tap;
use crate::h264::{AccessUnitSplitter, DecoderConfiguration, nal_units, named_rate};
use crate::{Error, FrameRate};
use seaway_mpeg::container::{self, Demultiplexer, ElementaryPacket, Format, Framing, H264};
use seaway_units::TimeDelta;
use std::collections::VecDeque;
use std::io::{Read, Seek, SeekFrom};

/// Octets that are read at once: a live stream is not to wait for more.
const CHUNK: usize = 16 << 10;
/// Octets in which the programme map must stand.
const SEARCH: usize = 2 << 20;
/// Octets in which the first pictures must stand whose time stamps give the rate: a stream may have none.
const LONGEST_START: usize = 4 << 20;
/// The 33 bits of time stamps.
const WRAP: u64 = 1 << 33;

/// True for a transport stream, whatever is in it.
pub(super) fn probe(prefix: &[u8]) -> bool {
    framing(prefix).is_some()
}

fn framing(prefix: &[u8]) -> Option<Framing> {
    match container::sniff(prefix, true) {
        Ok(Some(Format::Transport(framing))) => Some(framing),
        _ => None,
    }
}

/// A transport stream without H.264 video.
pub(super) struct Without {
    /// The input, read in part.
    pub(super) file: Box<dyn ReadSeek>,
    /// What the stream has.
    pub(super) found: String,
}

/// Opens the first H.264 stream of a transport stream, if it has one.
///
/// # Errors
/// The input cannot be read.
pub(super) fn open(
    mut file: Box<dyn ReadSeek>,
    prefix: &[u8],
) -> Result<Result<(Coded, Tracks), Without>, Error> {
    let framing = framing(prefix).ok_or_else(|| Error::Unsupported("no transport stream".into()))?;
    // The sound of an input that can be opened again is read beside it.
    let seen = file.stream_position().is_err().then(Vec::new);
    let mut reader = TransportSamples {
        file,
        seen,
        tap: Tap::default(),
        framing,
        demultiplexer: Demultiplexer::new(framing, H264),
        chunk: vec![0; CHUNK],
        ready: VecDeque::new(),
        clock: TimeStamps::default(),
        pace: Pace::default(),
        interval: FrameRate::USUAL.interval(),
        ended: false,
    };
    let mut searched = 0;
    while !reader.demultiplexer.is_found() {
        let others = reader.demultiplexer.others();
        if reader.ended || others.is_some() || searched > SEARCH {
            let found = others.map_or_else(|| "no programme map".to_owned(), |others| others.join(", "));
            return Ok(Err(Without { file: reader.file, found }));
        }
        searched += reader.read()?;
    }
    let frame_rate = reader.frame_rate()?;
    let configuration = DecoderConfiguration { length_size: 0, parameter_sets: Vec::new() };
    let tracks = reader.tracks();
    Ok(Ok((Coded { reader: Box::new(reader), configuration, frame_rate }, tracks)))
}

struct TransportSamples {
    file: Box<dyn ReadSeek>,
    /// What was read while a pipe is opened.
    seen: Option<Vec<u8>>,
    tap: Tap,
    framing: Framing,
    demultiplexer: Demultiplexer,
    chunk: Vec<u8>,
    ready: VecDeque<(Sample, Vec<u8>)>,
    clock: TimeStamps,
    pace: Pace,
    /// Between access units that share a time stamp.
    interval: TimeDelta,
    ended: bool,
}

/// The decoding times of the first access units.
#[derive(Debug, Default)]
struct Pace {
    first: Option<i64>,
    /// Of the latest time stamp, ticks since the first.
    ticks: i64,
    /// Access units before the latest time stamp, and those that have it.
    before: u32,
    latest: u32,
}

impl Pace {
    /// So many intervals are measured: 59.94 pictures a second have whole ticks over two.
    const INTERVALS: u32 = 2;

    fn on_packet(&mut self, ticks: i64, units: u32) {
        self.ticks = ticks - *self.first.get_or_insert(ticks);
        self.before += std::mem::replace(&mut self.latest, units);
    }

    fn rate(&self) -> Option<FrameRate> {
        let ticks = u32::try_from(self.ticks).ok().filter(|_| self.before >= Self::INTERVALS)?;
        FrameRate::new(self.before.checked_mul(90_000)?, ticks)
    }
}

/// Time stamps without their wrap, as time since the first one.
#[derive(Debug, Default)]
struct TimeStamps {
    last: Option<u64>,
    /// The first one.
    origin: u64,
    /// Ticks since the first one.
    ticks: i64,
}

impl TimeStamps {
    /// The time of a decoding time stamp, which follows the one before.
    fn time(&mut self, stamp: u64) -> TimeDelta {
        let stamp = stamp % WRAP;
        if let Some(last) = self.last {
            self.ticks += signed(stamp.wrapping_sub(last));
        } else {
            self.origin = stamp;
        }
        self.last = Some(stamp);
        of_ticks(self.ticks)
    }
}

/// A difference of time stamps modulo the wrap.
const fn signed(difference: u64) -> i64 {
    let difference = difference % WRAP;
    if difference >= WRAP / 2 { difference as i64 - WRAP as i64 } else { difference as i64 }
}

/// Of 90 kHz.
fn of_ticks(ticks: i64) -> TimeDelta {
    TimeDelta::from_nanos(ticks.saturating_mul(100_000) / 9)
}

impl TransportSamples {
    /// Reads the first access units. Their rate is that of their time stamps, or else that which the parameter sets name.
    fn frame_rate(&mut self) -> Result<Option<FrameRate>, Error> {
        let mut searched = 0;
        while self.pace.before < Pace::INTERVALS && !self.ended && searched < LONGEST_START {
            searched += self.read()?;
        }
        let named = || self.ready.iter().find_map(|(_, unit)| named_rate(unit));
        let frame_rate = self.pace.rate().or_else(named);
        if let Some(rate) = frame_rate {
            self.interval = rate.interval();
        }
        Ok(frame_rate)
    }

    /// The other tracks of the programme, once it is found.
    fn tracks(&mut self) -> Tracks {
        let mut tracks = Tracks::default();
        let companions = self.demultiplexer.companions();
        for (index, companion) in companions.iter().enumerate() {
            let kind = if companion.is_sound() { "audio" } else { "other" };
            tracks.leave_out(format!("{kind} track {} ({})", index + 2, companion.name()));
        }
        let sound = companions.iter().find(|companion| companion.is_sound());
        if let (Some(seen), Some(sound)) = (self.seen.take(), sound) {
            let first = self.ready.front().map_or(TimeDelta::ZERO, |(sample, _)| sample.time);
            let (tap, track) = Tap::new(seen, sound.pid, sound.name(), self.clock.origin, first);
            (self.tap, tracks.sound) = (tap, Some(track));
        }
        tracks
    }

    /// Reads once; gives the number of octets.
    fn read(&mut self) -> Result<usize, Error> {
        let length = self.file.read(&mut self.chunk).map_err(Error::io("input"))?;
        self.ended = length == 0;
        let octets = &self.chunk[..length];
        if self.ended {
            self.demultiplexer.finish();
            self.tap.finish();
        } else {
            self.demultiplexer.push(octets);
            self.seen.iter_mut().for_each(|seen| seen.extend_from_slice(octets));
            self.tap.push(octets);
        }
        while let Some(packet) = self.demultiplexer.poll() {
            self.take(&packet);
        }
        Ok(length)
    }

    /// The access units of a packet: one as a rule. What is damaged or has no time is left out.
    fn take(&mut self, packet: &ElementaryPacket) {
        let Some(pts) = packet.pts.filter(|_| !packet.damaged) else { return };
        let dts = packet.dts.unwrap_or(pts);
        let mut decode = self.clock.time(dts);
        let reorder = of_ticks(signed(pts.wrapping_sub(dts)));
        let mut splitter = AccessUnitSplitter::default();
        let mut units: Vec<_> = nal_units(&packet.payload).filter_map(|nal| splitter.push(nal)).collect();
        units.extend(splitter.finish());
        self.pace.on_packet(self.clock.ticks, units.len() as u32);
        for unit in units {
            self.ready.push_back((Sample { time: decode + reorder, decode: Some(decode) }, unit));
            decode += self.interval;
        }
    }
}

impl SampleReader for TransportSamples {
    fn next_sample(&mut self, data: &mut Vec<u8>) -> Result<Option<Sample>, Error> {
        while self.ready.is_empty() && !self.ended {
            self.read()?;
        }
        let Some((sample, unit)) = self.ready.pop_front() else { return Ok(None) };
        *data = unit;
        Ok(Some(sample))
    }

    fn rewind(&mut self) -> Result<(), Error> {
        self.file.seek(SeekFrom::Start(0)).map_err(Error::io("input"))?;
        self.demultiplexer = Demultiplexer::new(self.framing, H264);
        self.ready.clear();
        (self.clock, self.ended) = (TimeStamps::default(), false);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_that_of_the_time_stamps() {
        let rate = |packets: &[(i64, u32)]| {
            let mut pace = Pace::default();
            packets.iter().for_each(|&(ticks, units)| pace.on_packet(ticks, units));
            pace.rate().map(FrameRate::ratio)
        };
        assert_eq!(rate(&[(0, 1), (3600, 1), (7200, 1)]), Some((25, 1)));
        assert_eq!(rate(&[(900, 1), (2401, 1), (3903, 1)]), Some((60_000, 1001)));
        // Two access units to a time stamp.
        assert_eq!(rate(&[(0, 2), (3600, 2)]), Some((50, 1)));
        for unknown in [&[][..], &[(0, 1), (3600, 1)], &[(0, 1), (0, 1), (0, 1)], &[(0, 1), (9, 1), (-9, 1)]]
        {
            assert_eq!(rate(unknown), None, "{unknown:?}");
        }
    }

    #[test]
    fn time_stamps_go_on_over_their_wrap() {
        let mut clock = TimeStamps::default();
        assert_eq!(clock.time(WRAP - 3600), TimeDelta::ZERO);
        assert_eq!(clock.time(0), TimeDelta::from_millis(40));
        assert_eq!(clock.time(3600), TimeDelta::from_millis(80));
        assert_eq!(clock.time(1800), TimeDelta::from_millis(60));
    }
}
