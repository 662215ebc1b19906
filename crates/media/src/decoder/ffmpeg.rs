//! Codecs that we have no decoder for, by an installed FFmpeg.

use super::{Decoded, Freeze, ReceivedFrame, VideoDecoder};
use crate::input::{PictureSource, Y4mSource};
use crate::subprocess::Subprocess;
use crate::{Error, Picture, PictureSize, VideoCodec};
use std::io::{BufReader, ErrorKind, Write};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::Builder;
use std::time::Duration;

/// Access units that wait for FFmpeg, and pictures that wait to be taken. Where more would wait, it is too slow.
const MOST_UNITS: usize = 64;
const MOST_PICTURES: usize = 4;
/// The largest access unit that is decoded.
const LARGEST: usize = 8 << 20;
/// So long it is waited for the picture of an access unit, which may as well come with the next one.
const LONGEST_WAIT: Duration = Duration::from_millis(10);
/// Starts without a picture between them. After them it is taken for one that cannot decode the stream.
const MOST_STARTS: u32 = 5;

/// Decodes H.265 and AV1 in an FFmpeg process, which has none of our secrets.
///
/// A picture comes with its access unit or with a later one. Where the process ends or falls behind, another begins with the next key
/// frame, and pictures freeze until then. One that gives no picture however often it is started is given up.
#[derive(Debug)]
pub struct FfmpegDecoder {
    program: Program,
    codec: VideoCodec,
    running: Option<Running>,
    /// Starts since the last picture.
    starts: u32,
    /// Of the pictures, by their headers.
    size: Option<PictureSize>,
}

/// What is run as FFmpeg.
#[derive(Debug, Clone)]
struct Program {
    name: String,
    /// In place of its own.
    arguments: Option<Vec<String>>,
}

#[derive(Debug)]
struct Running {
    /// Says of each access unit whether the process can decode it: it begins with a key frame.
    gate: Box<dyn VideoDecoder>,
    units: SyncSender<Vec<u8>>,
    pictures: Receiver<Picture>,
    count: u64,
    /// Killed on drop.
    _process: Subprocess,
}

impl FfmpegDecoder {
    /// A decoder of this codec; `None` where FFmpeg is not installed, or is not needed.
    pub fn open(codec: VideoCodec) -> Option<Self> {
        let program = Program { name: "ffmpeg".into(), arguments: None };
        (!codec.is_decoded() && is_there(&program.name)).then(|| Self::of(program, codec))
    }

    const fn of(program: Program, codec: VideoCodec) -> Self {
        Self { program, codec, running: None, starts: 0, size: None }
    }

    /// Gives the process an access unit.
    fn feed(&mut self, frame: &ReceivedFrame<'_>) -> Result<(), Freeze> {
        let running = match &mut self.running {
            Some(running) => running,
            None => {
                self.starts += 1;
                let started = Running::start(&self.program, self.codec).map_err(|_| Freeze::Damaged)?;
                self.running.insert(started)
            }
        };
        if frame.data.len() > LARGEST {
            return Err(Freeze::Damaged);
        }
        let size = match running.gate.decode(frame) {
            Ok(Decoded::Unseen(size)) => Some(size),
            // Parameter sets may come alone.
            Ok(Decoded::Frozen(Freeze::Delayed)) if self.codec == VideoCodec::H265 => None,
            Ok(Decoded::Frozen(freeze)) => return Err(freeze),
            Ok(Decoded::Picture(_)) | Err(_) => return Err(Freeze::Damaged),
        };
        self.size = size.or(self.size);
        running.feed(self.codec, frame.data, size)
    }
}

impl VideoDecoder for FfmpegDecoder {
    fn decode(&mut self, frame: &ReceivedFrame<'_>) -> Result<Decoded, Error> {
        if let (None, Some(size)) = (&self.running, self.size.filter(|_| self.starts >= MOST_STARTS)) {
            return Ok(Decoded::Unseen(size));
        }
        if let Err(freeze) = self.feed(frame) {
            // It has ended, or falls behind: another one begins with a key frame.
            if freeze == Freeze::Damaged {
                self.running = None;
            }
            return Ok(Decoded::Frozen(freeze));
        }
        let Some(running) = &self.running else { return Ok(Decoded::Frozen(Freeze::Damaged)) };
        Ok(match running.pictures.recv_timeout(LONGEST_WAIT) {
            Ok(picture) => {
                self.starts = 0;
                Decoded::Picture(picture.with_identity(frame.id, frame.time))
            }
            Err(RecvTimeoutError::Timeout) => Decoded::Frozen(Freeze::Delayed),
            Err(RecvTimeoutError::Disconnected) => {
                self.running = None;
                Decoded::Frozen(Freeze::Damaged)
            }
        })
    }
}

impl Running {
    fn start(program: &Program, codec: VideoCodec) -> Result<Self, Error> {
        let mut command = Command::new(&program.name);
        command.args(program.arguments.clone().unwrap_or_else(|| arguments(codec)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let process =
            Subprocess::spawn(&mut command).map_err(|error| Error::Ffmpeg(format!("ffmpeg: {error}")))?;
        let pipes = {
            let mut child = process.child();
            child.stdin.take().zip(child.stdout.take())
        };
        let (stdin, stdout) = pipes.ok_or_else(|| Error::Ffmpeg("ffmpeg: no pipe".into()))?;
        let (units, waiting) = sync_channel(MOST_UNITS);
        let (ready, pictures) = sync_channel(MOST_PICTURES);
        let no_thread = |error| Error::Ffmpeg(format!("no thread for ffmpeg: {error}"));
        Builder::new()
            .name("decoder feed".into())
            .spawn(move || write(stdin, &waiting))
            .map_err(no_thread)?;
        Builder::new().name("decoder".into()).spawn(move || read(stdout, &ready)).map_err(no_thread)?;
        Ok(Self { gate: codec.header_decoder(), units, pictures, count: 0, _process: process })
    }

    /// Frames an access unit as FFmpeg reads it, so that it is whole without the one behind it.
    fn feed(&mut self, codec: VideoCodec, data: &[u8], size: Option<PictureSize>) -> Result<(), Freeze> {
        let framed = match codec {
            VideoCodec::H264 => return Err(Freeze::Damaged),
            VideoCodec::H265 => {
                // The delimiter of the next access unit ends this one.
                const DELIMITER: [u8; 7] = [0, 0, 0, 1, 35 << 1, 1, 0x50];
                let end = if size.is_some() { &DELIMITER[..] } else { &[] };
                [data, end].concat()
            }
            VideoCodec::Av1 => {
                let head = if self.count == 0 { size.map(ivf_head) } else { None };
                let length = u32::try_from(data.len()).map_err(|_| Freeze::Damaged)?;
                let begin = head.into_iter().flatten();
                begin
                    .chain(length.to_le_bytes())
                    .chain(self.count.to_le_bytes())
                    .chain(data.iter().copied())
                    .collect()
            }
        };
        self.count += 1;
        self.units.try_send(framed).map_err(|error| match error {
            TrySendError::Full(_) | TrySendError::Disconnected(_) => Freeze::Damaged,
        })
    }
}

/// The head of an IVF file of AV1 with pictures of this size.
fn ivf_head(size: PictureSize) -> Vec<u8> {
    let side = |side: u32| u16::try_from(side).unwrap_or(u16::MAX).to_le_bytes();
    let mut head = b"DKIF\0\0\x20\0AV01".to_vec();
    head.extend(side(size.width()).into_iter().chain(side(size.height())));
    // The clock: 25 Hz, which nothing looks at.
    head.extend([25, 0, 0, 0, 1, 0, 0, 0]);
    head.resize(32, 0);
    head
}

fn arguments(codec: VideoCodec) -> Vec<String> {
    let format = if codec == VideoCodec::Av1 { "ivf" } else { "hevc" };
    // It looks at one picture before it begins, and holds none back that the stream does not.
    let input =
        ["-flags", "low_delay", "-probesize", "32", "-analyzeduration", "0", "-threads", "1", "-f", format];
    let output = ["-map", "0:v:0", "-vsync", "passthrough", "-pix_fmt", "yuv420p", "-f", "yuv4mpegpipe"];
    let words = ["-hide_banner", "-nostdin", "-nostats", "-loglevel", "quiet"].into_iter().chain(input);
    let words = words.chain(["-i", "pipe:0"]).chain(output).chain(["-flush_packets", "1", "pipe:1"]);
    words.map(str::to_owned).collect()
}

fn write(mut stdin: ChildStdin, units: &Receiver<Vec<u8>>) {
    while let Ok(unit) = units.recv() {
        if stdin.write_all(&unit).is_err() {
            return;
        }
    }
}

/// Ends with the process, with what is no picture, or where no picture is taken any more.
fn read(stdout: ChildStdout, ready: &SyncSender<Picture>) {
    let Ok(mut pictures) = Y4mSource::from_pipe(Box::new(BufReader::new(stdout)), "ffmpeg") else { return };
    while let Ok(Some(picture)) = pictures.next_picture() {
        if ready.send(picture).is_err() {
            return;
        }
    }
}

/// Whether there is a program of this name.
fn is_there(name: &str) -> bool {
    let mut command = Command::new(name);
    command.arg("-version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match Subprocess::spawn(&mut command) {
        Ok(process) => process.child().wait().is_ok(),
        Err(error) => error.kind() != ErrorKind::NotFound,
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::FrameId;
    use crate::h265::tests::SPS;
    use seaway_units::TimeDelta;

    /// A script in place of FFmpeg.
    fn decoder(script: &str) -> FfmpegDecoder {
        let arguments = Some(vec!["-c".to_owned(), script.to_owned()]);
        FfmpegDecoder::of(Program { name: "sh".into(), arguments }, VideoCodec::H265)
    }

    fn decode(decoder: &mut FfmpegDecoder, kind: u8, len: usize) -> Decoded {
        let sets = if kind == 19 { &SPS[..] } else { &[] };
        let data = [sets, &[0, 0, 1, kind << 1, 1, 0x80], &vec![1; len]].concat();
        let frame = ReceivedFrame { data: &data, id: FrameId(7), time: TimeDelta::ZERO, after_loss: false };
        decoder.decode(&frame).unwrap()
    }

    const PICTURES: &str =
        "printf 'YUV4MPEG2 W16 H16 F25:1\\nFRAME\\n'; head -c 384 /dev/zero; exec cat >/dev/null";

    #[test]
    fn pictures_come_out() {
        let mut decoder = decoder(PICTURES);
        // Nothing begins without a key frame.
        assert!(matches!(decode(&mut decoder, 1, 9), Decoded::Frozen(Freeze::ReferencesMissing)));
        let mut decoded = decode(&mut decoder, 19, 9);
        while matches!(decoded, Decoded::Frozen(Freeze::Delayed)) {
            decoded = decode(&mut decoder, 1, 9);
        }
        let Decoded::Picture(picture) = decoded else { panic!("{decoded:?}") };
        assert_eq!((picture.id(), picture.luma().data), (FrameId(7), &[0; 256][..]));
    }

    /// It ends, is killed, gives what is no picture, takes nothing, or gives nothing: each time a freeze.
    #[test]
    fn whatever_the_process_does_is_a_freeze() {
        for script in ["exit 0", "kill -SEGV $$", "exec head -c 100000 /dev/urandom", "exec sleep 60"] {
            let mut decoder = decoder(script);
            let mut damaged = 0;
            // In the end it is given up.
            loop {
                match decode(&mut decoder, 19, 30_000) {
                    Decoded::Frozen(Freeze::Damaged) => damaged += 1,
                    Decoded::Frozen(_) => {}
                    Decoded::Unseen(_) => break,
                    Decoded::Picture(picture) => panic!("{script}: {picture:?}"),
                }
            }
            assert_eq!(damaged, MOST_STARTS, "{script}");
            assert!(decoder.running.is_none(), "{script}");
        }
    }

    #[test]
    fn the_head_of_ivf() {
        let head = ivf_head(PictureSize::new(320, 180).unwrap());
        assert_eq!((head.len(), &head[..4], &head[8..16]), (32, &b"DKIF"[..], &b"AV01\x40\x01\xb4\0"[..]));
    }
}
