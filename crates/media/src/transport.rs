//! H.264 out of a transport stream (ISO/IEC 13818-1) that comes in pieces: access units with their times, and the sound beside them.

use crate::audio::{AudioSource, CodedTrack, PipedTrack, Tap};
use crate::h264::{AccessUnitSplitter, NalType, nal_units};
use crate::{Error, FrameRate};
use seaway_mpeg::container::{AAC, Companion, Demultiplexer, ElementaryPacket, Framing, H264};
use seaway_units::TimeDelta;
use seaway_wire::aac::AdtsHeader;
use std::collections::VecDeque;

pub use seaway_mpeg::container::{AccessUnitTimes, Multiplexer, SoundFormat};

/// Octets that are kept for the sound until the first picture is there.
const MOST_SEEN: usize = 8 << 20;
/// The first frame of AAC is waited for so long, by the time of the pictures: FFmpeg collects sound for 350 ms.
const SOUND_WITHIN: TimeDelta = TimeDelta::from_millis(500);
/// The 33 bits of time stamps.
const WRAP: u64 = 1 << 33;

/// The first H.264 stream of a transport stream.
///
/// Any octets are safe. What is damaged or has no time is left out; after a loss the stream goes on with the next access unit.
#[derive(Debug)]
pub struct TransportStream {
    demultiplexer: Demultiplexer,
    clock: TimeStamps,
    pace: Pace,
    /// Between access units that share a time stamp.
    interval: TimeDelta,
    ready: VecDeque<TransportUnit>,
    framing: Framing,
    /// What came so far, until the sound is opened or was not asked for.
    seen: Option<Vec<u8>>,
    tap: Tap,
    /// Looks for the first frame of AAC.
    first_sound: Option<Demultiplexer>,
    /// Whether the first frame of AAC says how it is configured, once it came.
    is_configured: Option<bool>,
    /// Access units were left out since the last one.
    follows_loss: bool,
}

/// An access unit of a transport stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransportUnit {
    /// As a byte stream (ITU-T H.264 Annex B).
    pub data: Vec<u8>,
    /// When it is shown, since the first access unit was decoded.
    pub shown: TimeDelta,
    /// When it is decoded, on the same clock.
    pub decoded: TimeDelta,
    /// When it is shown, by the time stamp of the stream: 90 kHz, modulo 2^33.
    pub stamp: u64,
    /// A decoder can begin with it.
    pub key: bool,
    follows_loss: bool,
}

impl TransportStream {
    /// A stream of plain packets of 188 octets, as networks carry it, of which nothing came yet.
    pub fn new() -> Self {
        Self::of(Framing::Plain, true)
    }

    /// A stream of which nothing came yet; its sound can be [opened](Self::open_sound) if that is wanted.
    pub(crate) fn of(framing: Framing, wants_sound: bool) -> Self {
        Self {
            demultiplexer: Demultiplexer::new(framing, H264),
            framing,
            clock: TimeStamps::default(),
            pace: Pace::default(),
            interval: FrameRate::USUAL.interval(),
            ready: VecDeque::new(),
            seen: wants_sound.then(Vec::new),
            tap: Tap::default(),
            first_sound: None,
            is_configured: None,
            follows_loss: false,
        }
    }

    /// The next octets came.
    pub fn push(&mut self, octets: &[u8]) {
        self.demultiplexer.push(octets);
        self.seen = self.seen.take().filter(|seen| seen.len() + octets.len() <= MOST_SEEN);
        self.seen.iter_mut().for_each(|seen| seen.extend_from_slice(octets));
        self.tap.push(octets);
        self.first_sound.iter_mut().for_each(|sound| sound.push(octets));
        self.take_packets();
    }

    /// Octets before the next ones are missing.
    pub fn on_loss(&mut self) {
        self.demultiplexer.on_loss();
    }

    /// The stream has ended: what came last is whole.
    pub fn finish(&mut self) {
        self.demultiplexer.finish();
        self.tap.finish();
        self.take_packets();
    }

    /// The stream has broken off, perhaps in the middle of an access unit, which is left out.
    pub fn break_off(&mut self) {
        self.demultiplexer.break_off();
        self.tap.finish();
        self.take_packets();
    }

    /// The next access unit, in decoding order. It is whole once the next one begins.
    pub fn poll(&mut self) -> Option<TransportUnit> {
        self.ready.pop_front()
    }

    /// The next access unit, which stays.
    pub fn peek(&self) -> Option<&TransportUnit> {
        self.ready.front()
    }

    /// Whether others are missing before the next access unit; true once.
    pub fn take_loss(&mut self) -> bool {
        self.ready.front_mut().is_some_and(|unit| std::mem::take(&mut unit.follows_loss))
    }

    /// Whether H.264 was found.
    pub fn is_found(&self) -> bool {
        self.demultiplexer.is_found()
    }

    /// What the stream has in place of H.264, once that is known.
    pub fn others(&self) -> Option<String> {
        let others = self.demultiplexer.others()?;
        Some(if others.is_empty() { "nothing".into() } else { others.join(", ") })
    }

    /// Whether to wait for the first frame of the sound, which is AAC: it says how that is configured. Not for ever.
    pub fn awaits_sound(&mut self) -> bool {
        if self.is_configured.is_some() || of_ticks(self.pace.ticks) >= SOUND_WITHIN {
            return false;
        }
        if self.first_sound.is_none() {
            let sound = self.companions().into_iter().find(Companion::is_sound).filter(Companion::is_aac);
            let (Some(sound), Some(seen)) = (sound, &self.seen) else { return false };
            let first_sound = self.first_sound.insert(Demultiplexer::new(self.framing, AAC).only(sound.pid));
            first_sound.push(seen);
        }
        let Some(packet) = self.first_sound.as_mut().and_then(Demultiplexer::poll) else { return true };
        let header = AdtsHeader::parse(&packet.payload);
        self.is_configured = Some(header.is_ok_and(|header| header.config().is_some()));
        self.first_sound = None;
        false
    }

    /// The other streams of the programme, once it is found.
    pub(crate) fn companions(&self) -> Vec<Companion> {
        self.demultiplexer.companions()
    }

    /// The sound of the programme, from the picture that is shown at `first` on; `None` where it has none, it was taken, or the
    /// pictures came too late for it.
    pub(crate) fn take_sound(&mut self, first: TimeDelta) -> Option<PipedTrack> {
        let seen = self.seen.take()?;
        let sound = self.companions().into_iter().find(Companion::is_sound)?;
        let (tap, track) = Tap::new(seen, self.framing, sound, self.clock.origin, first);
        self.tap = tap;
        Some(track)
    }

    /// The sound of the programme, from the picture that is shown at `first` on: FFmpeg decodes it from what is pushed. `None` where
    /// it has none, it was opened before, or the pictures came too late for it.
    ///
    /// # Errors
    /// FFmpeg is not installed, or the system grants no process or thread.
    pub fn open_sound(&mut self, first: TimeDelta) -> Option<Result<Box<dyn AudioSource>, Error>> {
        let track = self.take_sound(first)?;
        Some(track.open(first).map(|sound| Box::new(sound) as Box<dyn AudioSource>))
    }

    /// The same as it is coded, where that is AAC whose first frame came, as [`awaits_sound`](Self::awaits_sound) found.
    pub fn open_aac(&mut self, first: TimeDelta) -> Option<CodedTrack> {
        let track =
            self.is_configured.filter(|is_configured| *is_configured).and_then(|_| self.take_sound(first))?;
        Some(track.into_coded(SoundFormat::Aac, first))
    }

    /// The rate of the pictures by the time stamps of the first ones; `None` until those came.
    pub(crate) fn rate(&self) -> Option<FrameRate> {
        self.pace.rate()
    }

    /// Whether as many pictures came as [`rate`](Self::rate) needs.
    pub(crate) fn is_measured(&self) -> bool {
        self.pace.before >= Pace::INTERVALS
    }

    /// The access units that came, which stay.
    pub(crate) fn units(&self) -> impl Iterator<Item = &TransportUnit> {
        self.ready.iter()
    }

    /// The rate of the pictures is known from elsewhere.
    pub(crate) fn set_rate(&mut self, rate: FrameRate) {
        self.interval = rate.interval();
    }

    fn take_packets(&mut self) {
        while let Some(packet) = self.demultiplexer.poll() {
            match packet.pts.filter(|_| !packet.damaged) {
                Some(pts) => self.take_packet(&packet, pts),
                None => self.follows_loss = true,
            }
        }
    }

    /// The access units of a packet: one as a rule.
    fn take_packet(&mut self, packet: &ElementaryPacket, pts: u64) {
        let dts = packet.dts.unwrap_or(pts);
        let mut decoded = self.clock.time(dts);
        let reorder = of_ticks(signed(pts.wrapping_sub(dts)));
        let mut splitter = AccessUnitSplitter::default();
        let (mut units, mut is_key) = (Vec::new(), false);
        for nal in nal_units(&packet.payload) {
            units.extend(splitter.push(nal).map(|data| (data, std::mem::take(&mut is_key))));
            is_key |= begins(nal);
        }
        units.extend(splitter.finish().map(|data| (data, is_key)));
        self.pace.on_packet(self.clock.ticks, units.len() as u32);
        for (data, key) in units {
            let follows_loss = std::mem::take(&mut self.follows_loss);
            let shown = decoded + reorder;
            self.ready.push_back(TransportUnit { data, shown, decoded, stamp: pts, key, follows_loss });
            decoded += self.interval;
        }
    }
}

impl Default for TransportStream {
    fn default() -> Self {
        Self::new()
    }
}

/// Whether a decoder can begin with the access unit of this NAL unit: an IDR picture, or one behind a sequence parameter set.
fn begins(nal: &[u8]) -> bool {
    matches!(NalType::of(nal), Some(NalType::IdrSlice | NalType::SequenceParameters))
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

/// A difference of time stamps modulo the wrap: by the way that is shorter.
pub(crate) const fn signed(difference: u64) -> i64 {
    let difference = difference % WRAP;
    if difference >= WRAP / 2 { difference as i64 - WRAP as i64 } else { difference as i64 }
}

/// Of 90 kHz.
pub(crate) fn of_ticks(ticks: i64) -> TimeDelta {
    TimeDelta::from_nanos(ticks.saturating_mul(100_000) / 9)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_octets_are_safe(pieces in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..400), any::<bool>()), 0..20)) {
            let mut stream = TransportStream::new();
            for (mut octets, is_packet) in pieces {
                if is_packet {
                    octets.resize(188, 0xFF);
                    octets[..4].copy_from_slice(&[0x47, 0x40, 0, 0x10]);
                }
                stream.push(&octets);
                stream.on_loss();
                while stream.poll().is_some() {}
            }
            stream.finish();
        }
    }

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

    #[test]
    fn differences_of_stamps_go_the_shorter_way() {
        let since = |stamp: u64, before: i64| signed(stamp.wrapping_sub(before as u64));
        assert_eq!((since(5, 3), since(WRAP - 2, 0), since(1, WRAP as i64 - 1)), (2, -2, 2));
        assert_eq!(since(WRAP - 2090, -2090), 0);
    }
}
