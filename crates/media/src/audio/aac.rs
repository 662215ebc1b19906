//! AAC as it is coded: the frames of a track with their times, out of a transport stream.

use super::piped::Copied;
use crate::Error;
use crate::subprocess::Subprocess;
use crate::transport::{of_ticks, signed};
use seaway_mpeg::container::{AAC, Demultiplexer, Framing};
use seaway_units::TimeDelta;
use std::collections::VecDeque;
use std::io::Read;
use std::process::{ChildStdout, Command, Stdio};

/// Octets of a header without a checksum.
const HEADER: usize = 7;
/// Samples of a block of AAC.
const BLOCK: u64 = 1024;
/// Sampling rates by their number in the header (ISO/IEC 14496-3, table 1.18).
const RATES: [u32; 13] =
    [96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350];

/// A frame of AAC in an ADTS header (ISO/IEC 13818-7 section 6.2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AacFrame {
    /// The header and what it is of.
    pub octets: Vec<u8>,
    /// When it is played, after the first picture is shown; the first one may be before.
    pub at: TimeDelta,
    /// How long it is played.
    pub duration: TimeDelta,
}

/// The frames of a track of AAC.
#[derive(Debug)]
pub struct AacTrack {
    /// The file, where it is one.
    file: Option<String>,
    octets: Octets,
    demultiplexer: Demultiplexer,
    /// The time stamp of the first picture, 90 kHz.
    first: i64,
    frames: Frames,
    has_ended: bool,
}

/// Frames out of PES packets, whose boundaries they need not keep.
#[derive(Debug, Default)]
struct Frames {
    ready: VecDeque<AacFrame>,
    /// The beginning of a frame.
    rest: Vec<u8>,
    /// The time of the next frame, once one is known.
    next: Option<TimeDelta>,
}

#[derive(Debug)]
enum Octets {
    /// FFmpeg multiplexes what a file has. It is killed on drop.
    Process { pipe: ChildStdout, _process: Subprocess },
    /// A copy of a stream that is read once.
    Copied(Copied),
}

impl AacTrack {
    /// The first sound track of the file `name`, whose first picture has the time stamp `first`, in ticks of 90 kHz.
    pub(super) fn of_file(name: &str, first: i64) -> Result<Self, Error> {
        let demultiplexer = Demultiplexer::new(Framing::Plain, AAC);
        let (frames, octets) = (Frames::default(), multiplexed(name)?);
        Ok(Self { file: Some(name.to_owned()), octets, demultiplexer, first, frames, has_ended: false })
    }

    /// The track of `pid` in the stream that is copied.
    pub(super) fn of_pipe(octets: Copied, framing: Framing, pid: u16, first: i64) -> Self {
        let demultiplexer = Demultiplexer::new(framing, AAC).only(pid);
        let (frames, octets) = (Frames::default(), Octets::Copied(octets));
        Self { file: None, octets, demultiplexer, first, frames, has_ended: false }
    }

    /// The next frame; waits for it where the input is live. `None` at the end.
    ///
    /// # Errors
    /// The input cannot be read.
    pub fn next_frame(&mut self) -> Result<Option<AacFrame>, Error> {
        while self.frames.ready.is_empty() && !self.has_ended {
            match self.octets.next()? {
                Some(octets) => self.demultiplexer.push(&octets),
                None => {
                    self.has_ended = true;
                    self.demultiplexer.finish();
                }
            }
            while let Some(packet) = self.demultiplexer.poll() {
                let ticks = packet.pts.map(|pts| signed(pts.wrapping_sub(self.first as u64)));
                let at = ticks.map(of_ticks);
                if packet.damaged {
                    self.frames.on_loss();
                } else {
                    self.frames.push(&packet.payload, at);
                }
            }
        }
        Ok(self.frames.ready.pop_front())
    }

    /// Begins again with the first frame.
    ///
    /// # Errors
    /// The input cannot be read again: a pipe, a socket.
    pub fn rewind(&mut self) -> Result<(), Error> {
        let name = self.file.as_ref();
        let name =
            name.ok_or_else(|| Error::Unsupported("the sound of a pipe cannot be read again".into()))?;
        *self = Self::of_file(name, self.first)?;
        Ok(())
    }
}

impl Octets {
    fn next(&mut self) -> Result<Option<Vec<u8>>, Error> {
        match self {
            Self::Process { pipe, .. } => {
                let mut octets = vec![0; 188 * 7];
                let read = pipe.read(&mut octets).map_err(Error::io("the sound"))?;
                octets.truncate(read);
                Ok((read > 0).then_some(octets))
            }
            Self::Copied(copied) => Ok(copied.next()),
        }
    }
}

/// Starts FFmpeg, which writes the first sound track of a file as it is, with its time stamps.
fn multiplexed(name: &str) -> Result<Octets, Error> {
    let mut command = Command::new("ffmpeg");
    command.args(["-hide_banner", "-nostdin", "-nostats", "-loglevel", "error", "-copyts", "-i"]);
    command.arg(super::ffmpeg::file(name)).args([
        "-map",
        "0:a:0",
        "-c",
        "copy",
        "-avoid_negative_ts",
        "disabled",
    ]);
    command.args(["-muxdelay", "0", "-muxpreload", "0", "-pes_payload_size", "0", "-flush_packets", "1"]);
    command.args(["-f", "mpegts", "pipe:1"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let process = Subprocess::spawn(&mut command).map_err(|error| super::ffmpeg::missing(name, &error))?;
    let pipe = process.child().stdout.take();
    let pipe = pipe.ok_or_else(|| Error::Ffmpeg("ffmpeg: no pipe".into()))?;
    Ok(Octets::Process { pipe, _process: process })
}

impl Frames {
    /// The octets of a PES packet; the first frame that begins in it is played at `at`.
    fn push(&mut self, payload: &[u8], mut at: Option<TimeDelta>) {
        let begin = self.rest.len();
        self.rest.extend_from_slice(payload);
        let mut place = 0;
        while let Some((length, duration)) = header(&self.rest[place..]) {
            let Some(octets) = self.rest.get(place..place + length) else { break };
            if place >= begin {
                self.next = at.take().or(self.next);
            }
            if let Some(at) = self.next {
                self.ready.push_back(AacFrame { octets: octets.to_vec(), at, duration });
                self.next = Some(at + duration);
            }
            place += length;
        }
        self.rest.drain(..place);
        if self.rest.len() >= HEADER && header(&self.rest).is_none() {
            self.on_loss();
        }
    }

    /// What follows does not go on.
    fn on_loss(&mut self) {
        (self.rest, self.next) = (Vec::new(), None);
    }
}

/// Length and duration of the frame that begins here.
fn header(octets: &[u8]) -> Option<(usize, TimeDelta)> {
    let &[0xff, second, third, fourth, fifth, sixth, seventh, ..] = octets else { return None };
    if second & 0xf6 != 0xf0 {
        return None;
    }
    let rate = *RATES.get(usize::from(third >> 2 & 15))?;
    let length = usize::from(fourth & 3) << 11 | usize::from(fifth) << 3 | usize::from(sixth >> 5);
    let samples = BLOCK * (u64::from(seventh & 3) + 1);
    let duration = TimeDelta::from_nanos((samples * 1_000_000_000 / u64::from(rate)) as i64);
    (length >= HEADER).then_some((length, duration))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// 44.1 kHz, two channels.
    fn frame(length: usize) -> Vec<u8> {
        let mut octets = vec![0xff, 0xf1, 0x50, 0x80 | (length >> 11) as u8, (length >> 3) as u8];
        octets.extend([(length << 5) as u8 | 0x1f, 0xfc]);
        octets.resize(length, 7);
        octets
    }

    const DURATION: TimeDelta = TimeDelta::from_nanos(23_219_954);

    /// Lengths and times of the frames of packets.
    fn found(packets: &[(&[u8], Option<i64>)]) -> Vec<(usize, TimeDelta)> {
        let mut frames = Frames::default();
        packets.iter().for_each(|(octets, at)| frames.push(octets, at.map(TimeDelta::from_millis)));
        frames.ready.iter().map(|frame| (frame.octets.len(), frame.at)).collect()
    }

    #[test]
    fn frames_of_packets() {
        let ms = TimeDelta::from_millis;
        let both = [frame(300), frame(7)].concat();
        assert_eq!(found(&[(&both, Some(-10))]), [(300, ms(-10)), (7, ms(-10) + DURATION)]);
        // The second one is cut, and the time is that of the third.
        let three = [both.clone(), frame(20)].concat();
        let cut = found(&[(&three[..303], Some(0)), (&three[303..], Some(100))]);
        assert_eq!(cut, [(300, ms(0)), (7, DURATION), (20, ms(100))]);
        // Without a time stamp the time goes on; before the first one there is none.
        assert_eq!(found(&[(&both, None)]), []);
        assert_eq!(found(&[(&frame(9), Some(5)), (&frame(8), None)]), [(9, ms(5)), (8, ms(5) + DURATION)]);
        // No frame, and a length that leads nowhere: the next packet counts.
        assert_eq!(found(&[(&[0; 20], Some(0)), (&frame(6)[..6], Some(0)), (&frame(9), Some(7))]), []);
        assert_eq!(found(&[(&[0; 20], Some(0)), (&frame(9), Some(7))]), [(9, ms(7))]);
    }

    proptest! {
        #[test]
        fn any_octets_are_safe(pieces in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..400), any::<Option<i32>>()), 0..20)) {
            let mut frames = Frames::default();
            for (octets, at) in pieces {
                frames.push(&[&[0xff, 0xf1, 0x50][..], &octets].concat(), at.map(|at| TimeDelta::from_millis(at.into())));
                prop_assert!(frames.rest.len() < 9_000);
            }
        }
    }
}
