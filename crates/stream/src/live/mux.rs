//! Pictures and sound of a sender as one MPEG transport stream.

use super::copied::EARLY;
use super::sound;
use bytes::Bytes;
use seaway_media::transport::{AccessUnitTimes, Multiplexer, SoundFormat};
use seaway_session::{Frame, FrameData, FrameKind, SentAudio};
use seaway_units::{Bitrate, DataSize, TimeDelta, Timestamp};

/// Octets of a transport packet.
pub(super) const PACKET: u64 = 188;
/// More than this waits only where a source gives what no network carries.
const MOST_WAITING: usize = 32 << 20;

/// A transport stream in the making: its pictures are shown, and its sound is played, a latency after their capture.
#[derive(Debug)]
pub(super) struct Mux {
    multiplexer: Multiplexer,
    /// From the capture of a frame to its time stamp: what coding and sending may take.
    latency: TimeDelta,
    /// The decoding time of the last picture.
    decoded: Option<u64>,
    sound: SoundRate,
    audio: SentAudio,
    /// When the oldest sound was captured that waits for a picture.
    silent_since: Option<Timestamp>,
}

impl Mux {
    pub(super) fn new(sound: Option<SoundFormat>, latency: TimeDelta) -> Self {
        Self {
            multiplexer: Multiplexer::new(sound),
            latency,
            decoded: None,
            sound: SoundRate::new(sound),
            audio: SentAudio::default(),
            silent_since: None,
        }
    }

    pub(super) const fn latency(&self) -> TimeDelta {
        self.latency
    }

    pub(super) fn set_latency(&mut self, latency: TimeDelta) {
        self.latency = latency;
    }

    /// Takes a picture; gives when it is decoded, a latency before. `None` where too much waits: it is left out.
    pub(super) fn push_picture(&mut self, now: Timestamp, frame: &Frame) -> Option<Timestamp> {
        let FrameData::Coded(data) = &frame.data else { return None };
        if self.waiting() + data.len() > MOST_WAITING {
            return None;
        }
        let shown = ticks(frame.captured + self.latency);
        // A copied picture comes shortly before it is decoded; a coded one is decoded when it is shown.
        let decoded = ticks(now + EARLY + self.latency).min(shown);
        let dts = self.decoded.map_or(decoded, |last| decoded.max(last + 1));
        self.decoded = Some(dts);
        let times = AccessUnitTimes { pts: shown.max(dts), dts, is_key: frame.kind == FrameKind::Key };
        self.multiplexer.push_video(data, times);
        Some(Timestamp::from_nanos((dts * 100_000).div_ceil(9)) - self.latency)
    }

    /// Takes a frame of sound, which leaves before pictures. True where the rate of the sound was measured anew.
    pub(super) fn push_sound(&mut self, frame: &Frame) -> bool {
        let FrameData::Coded(data) = &frame.data else { return false };
        if self.waiting() + data.len() > MOST_WAITING {
            self.sound_dropped();
            return false;
        }
        self.multiplexer.push_sound(data, ticks(frame.captured + self.latency));
        self.audio.queued += 1;
        self.audio.sent.packets += 1;
        self.audio.sent.size += DataSize::of(data);
        self.sound.on_frame(frame.captured, data.len())
    }

    /// A frame of sound is left out.
    pub(super) fn sound_dropped(&mut self) {
        self.audio.dropped += 1;
    }

    /// A picture as a frame of whole transport packets, behind the sound that came before it. `None` where it is left out.
    pub(super) fn picture_frame(&mut self, now: Timestamp, frame: &Frame) -> Option<Frame> {
        /// As many as wait.
        const ALL: usize = 2 * MOST_WAITING / PACKET as usize;
        self.silent_since = None;
        let captured = self.push_picture(now, frame)?;
        let mut packets = Vec::with_capacity(self.waiting() * 9 / 8 + 4 * PACKET as usize);
        self.write(now, ALL, &mut packets);
        // What comes beside the picture is no deviation of its encoder.
        let beside = DataSize::of(&packets).saturating_sub(frame.data.size());
        let (data, target) = (FrameData::Coded(Bytes::from(packets)), frame.target + beside);
        Some(Frame { captured, data, target, ..*frame })
    }

    /// Takes a frame of sound for [`picture_frame`](Self::picture_frame). What waits longer than the latency for a picture is of no
    /// use to anyone: where none comes, further sound is left out.
    pub(super) fn push_sound_beside(&mut self, frame: &Frame) {
        let since = *self.silent_since.get_or_insert(frame.captured);
        match frame.captured.since(since) > self.latency {
            true => self.sound_dropped(),
            false => drop(self.push_sound(frame)),
        }
    }

    /// Octets that wait.
    pub(super) fn waiting(&self) -> usize {
        self.multiplexer.waiting()
    }

    /// Pictures that wait, in part or whole.
    pub(super) fn pictures(&self) -> u64 {
        self.multiplexer.pictures()
    }

    /// Sound that was taken and left out.
    pub(super) const fn audio(&self) -> SentAudio {
        self.audio
    }

    /// When a clock reference is due; `None` before the first one.
    pub(super) fn clock_due(&self) -> Option<Timestamp> {
        self.multiplexer.clock_due().map(|due| Timestamp::from_nanos(due.div_ceil(27) * 1_000))
    }

    /// Writes up to `most` packets that leave at `now`.
    pub(super) fn write(&mut self, now: Timestamp, most: usize, out: &mut Vec<u8>) {
        self.multiplexer.write(now.as_nanos() * 27 / 1_000, most, out);
    }

    /// The rate of coded pictures that fits `wire` in packets of `payload` behind headers of `overhead`, beside tables, clock references
    /// and the sound.
    pub(super) fn picture_rate(&self, wire: Bitrate, payload: DataSize, overhead: DataSize) -> Bitrate {
        /// Tables ten times a second; headers and stuffing of a picture each 40 ms.
        const TABLES: f64 = 10.0 * 2.0 * 188.0 * 8.0;
        const PICTURES: f64 = 25.0 * 120.0 * 8.0;
        if wire == Bitrate::MAX {
            return Bitrate::MAX;
        }
        let (payload, overhead) = (payload.as_bytes_f64(), overhead.as_bytes_f64());
        let stream = wire.as_bps_f64() * payload / (payload + overhead);
        let pictures = (stream - TABLES - PICTURES - self.sound.rate.as_bps_f64()) * 184.0 / 188.0;
        Bitrate::from_bps_f64(pictures.max(20_000.0))
    }
}

/// What the sound takes of the stream, with its headers and stuffing.
#[derive(Debug)]
struct SoundRate {
    rate: Bitrate,
    /// Frames are measured since then; they had so many packets.
    began: Option<Timestamp>,
    packets: u64,
}

impl SoundRate {
    /// Over which it is measured.
    const WINDOW: TimeDelta = TimeDelta::from_secs(1);
    /// Headers of a PES packet, and of an access unit of Opus in it.
    const HEADERS: u64 = 18;

    /// As usual: an Opus packet and its headers take a packet and a third in the mean, and AAC has twice the rate.
    fn new(format: Option<SoundFormat>) -> Self {
        let rate = match format {
            None => Bitrate::ZERO,
            Some(SoundFormat::Opus) => Bitrate::from_bps_f64(sound::RATE.as_bps_f64() * 1.6),
            Some(SoundFormat::Aac) => Bitrate::from_bps_f64(sound::RATE.as_bps_f64() * 3.2),
        };
        Self { rate, began: None, packets: 0 }
    }

    /// A frame of so many octets was captured at that instant. True where the rate was measured anew.
    fn on_frame(&mut self, captured: Timestamp, octets: usize) -> bool {
        let time = captured.since(*self.began.get_or_insert(captured));
        let is_measured = (Self::WINDOW..Self::WINDOW * 2).contains(&time);
        if is_measured {
            let size = DataSize::from_bytes(self.packets * PACKET);
            self.rate = size.over(time).unwrap_or(self.rate);
        }
        if is_measured || time >= Self::WINDOW {
            (self.began, self.packets) = (Some(captured), 0);
        }
        self.packets += (octets as u64 + Self::HEADERS).div_ceil(PACKET - 4);
        is_measured
    }
}

/// A time on the clock of the stream, 90 kHz.
const fn ticks(at: Timestamp) -> u64 {
    at.as_nanos() * 9 / 100_000
}

#[cfg(test)]
mod tests {
    use super::*;
    use seaway_media::transport::TransportStream;

    fn millis(at: i64) -> Timestamp {
        Timestamp::ZERO + TimeDelta::from_millis(at)
    }

    fn frame(captured: i64, len: usize) -> Frame {
        let data = [&[0, 0, 0, 1, 0x65][..], &vec![1; len]].concat();
        let (data, interval) = (FrameData::Coded(Bytes::from(data)), TimeDelta::from_millis(40));
        Frame::new(millis(captured), FrameKind::Key, data, interval)
    }

    fn pid(packet: &[u8]) -> u16 {
        u16::from_be_bytes([packet[1], packet[2]]) & 0x1fff
    }

    /// A picture is a frame of its own, behind the tables and the sound before it, and no octet stays behind.
    #[test]
    fn each_picture_leaves_with_the_sound_before_it() {
        let mut mux = Mux::new(Some(SoundFormat::Opus), TimeDelta::from_millis(100));
        let mut stream = TransportStream::new();
        let mut order = Vec::new();
        for index in 0..10 {
            mux.push_sound_beside(&frame(40 * index, 160));
            let picture = mux.picture_frame(millis(40 * index + 5), &frame(40 * index, 3000)).unwrap();
            assert_eq!((picture.captured, mux.waiting()), (millis(40 * index), 0));
            let FrameData::Coded(packets) = &picture.data else { panic!("{picture:?}") };
            assert_eq!(packets.len() as u64 % PACKET, 0);
            order.push(packets.chunks(PACKET as usize).map(pid).collect::<Vec<_>>());
            stream.push(packets);
        }
        assert_eq!(order[0][..3], [0, 0x1000, 0x101]);
        assert_eq!((order[1][0], order[1].last()), (0x101, Some(&0x100)));
        stream.finish();
        let units: Vec<_> = std::iter::from_fn(|| stream.poll()).collect();
        assert_eq!(units.len(), 10);
        assert!(units.iter().zip(0..).all(|(unit, index)| unit.stamp == (40 * index + 100) * 90));
    }

    /// Copied pictures come in the order of decoding, and so do the frames: no two have the same time.
    #[test]
    fn frames_have_the_times_of_decoding() {
        let mut mux = Mux::new(None, TimeDelta::from_millis(100));
        let shown = [80, 200, 120, 160];
        let times: Vec<_> = shown
            .iter()
            .zip(0..)
            .map(|(shown, index)| {
                mux.picture_frame(millis(40 * index), &frame(*shown, 900)).unwrap().captured
            })
            .collect();
        assert!(times.windows(2).all(|pair| pair[1] > pair[0]), "{times:?}");
        assert_eq!(times[1], millis(90), "it comes 50 ms early");
    }

    /// The camera stands still, and the sound goes on.
    #[test]
    fn sound_without_pictures_does_not_pile_up() {
        let mut mux = Mux::new(Some(SoundFormat::Opus), TimeDelta::from_millis(100));
        (0..1000).for_each(|index| mux.push_sound_beside(&frame(20 * index, 160)));
        assert_eq!((mux.audio().queued, mux.audio().dropped), (6, 994));
        mux.picture_frame(millis(20_000), &frame(20_000, 3000)).unwrap();
        mux.push_sound_beside(&frame(20_020, 160));
        assert_eq!(mux.audio().queued, 7);
    }
}
