//! The sound of a file, decoded by an installed FFmpeg.

use super::{AudioSource, Block, CodedTrack, SAMPLE_RATE};
use crate::Error;
use crate::subprocess::{Subprocess, hide_secrets};
use crate::transport::SoundFormat;
use std::io::{BufReader, ErrorKind, Read};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};

/// The first sound track of a file, from its first picture on.
#[derive(Debug)]
pub struct FfmpegAudio {
    name: String,
    codec: String,
    /// From the beginning of the file to its first picture, in samples.
    before: u64,
    /// The time stamp of the first picture, in ticks of 90 kHz.
    first: i64,
    pcm: Pcm,
}

/// What ffprobe says of a file.
#[derive(Debug, PartialEq)]
struct Tracks {
    /// The codec of the first sound track.
    codec: String,
    /// From the beginning of the file to its first picture, seconds.
    picture: f64,
    /// The time stamp of the first picture, seconds.
    stamp: f64,
}

impl FfmpegAudio {
    /// Opens the sound of a file; `None` where it has none.
    ///
    /// # Errors
    /// FFmpeg, with its ffprobe, is not installed or cannot read the file.
    pub fn open(name: &str) -> Result<Option<Self>, Error> {
        let Some(Tracks { codec, picture, stamp }) = probe(name)? else { return Ok(None) };
        let before = (picture.max(0.0) * f64::from(SAMPLE_RATE)) as u64;
        let first = (stamp * 90_000.0).round() as i64;
        let mut source = Self { name: name.to_owned(), codec, before, first, pcm: decode(name)? };
        source.skip()?;
        Ok(Some(source))
    }

    /// Drops what is played before the first picture.
    fn skip(&mut self) -> Result<(), Error> {
        self.pcm.skip(self.before).map_err(Error::io(&self.name))
    }
}

impl AudioSource for FfmpegAudio {
    fn next_block(&mut self, block: &mut Block) -> Result<bool, Error> {
        self.pcm.next_block(block).map_err(Error::io(&self.name))
    }

    /// The codec of the track, for example `aac`.
    fn codec(&self) -> &str {
        &self.codec
    }

    fn take_coded(&mut self, format: SoundFormat) -> Option<Result<CodedTrack, Error>> {
        let codec = match format {
            SoundFormat::Aac => "aac",
            SoundFormat::Opus => "opus",
        };
        (self.codec == codec).then(|| CodedTrack::of_file(&self.name, format, self.first).transpose())?
    }

    fn rewind(&mut self) -> Result<(), Error> {
        self.pcm = decode(&self.name)?;
        self.skip()
    }
}

/// Octets of a sample of two channels.
const OCTETS: usize = 4;

/// Samples that an FFmpeg process gives.
#[derive(Debug)]
pub(super) struct Pcm {
    pipe: BufReader<ChildStdout>,
    /// Killed on drop.
    _process: Subprocess,
}

impl Pcm {
    /// Starts FFmpeg with `input`, its input options, and decodes the track that `map` selects. The first sample is that of
    /// time `first`, in samples: where the track begins later, silence stands before it, and gaps are filled. With `is_fed` its
    /// standard input is a pipe, which is given back.
    ///
    /// # Errors
    /// FFmpeg is not installed, or the system grants no process.
    pub(super) fn decode(
        name: &str,
        input: &[&str],
        map: &str,
        first: i64,
        is_fed: bool,
    ) -> Result<(Self, Option<ChildStdin>), Error> {
        let mut command = Command::new("ffmpeg");
        command.args(["-hide_banner", "-nostdin", "-nostats", "-loglevel", "error"]).args(input);
        // Two steps: with another rate `first_pts` is off by a tenth of a second.
        let filter = format!("aresample={SAMPLE_RATE},aresample=async=1:first_pts={first}");
        command.args([
            "-map",
            map,
            "-vn",
            "-sn",
            "-af",
            &filter,
            "-ac",
            "2",
            "-ar",
            &SAMPLE_RATE.to_string(),
        ]);
        command.args(["-f", "s16le", "-flush_packets", "1", "pipe:1"]);
        command.stdin(if is_fed { Stdio::piped() } else { Stdio::null() });
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let process = Subprocess::spawn(&mut command).map_err(|error| missing(name, &error))?;
        let (stdin, pipe) = {
            let mut child = process.child();
            (child.stdin.take(), child.stdout.take())
        };
        let pipe = pipe.ok_or_else(|| Error::Ffmpeg("ffmpeg: no pipe".into()))?;
        Ok((Self { pipe: BufReader::new(pipe), _process: process }, stdin))
    }

    /// As [`AudioSource::next_block`].
    pub(super) fn next_block(&mut self, block: &mut Block) -> std::io::Result<bool> {
        block.fill(0);
        let mut octets = Vec::with_capacity(size_of::<Block>());
        self.pipe.by_ref().take(size_of::<Block>() as u64).read_to_end(&mut octets)?;
        for (sample, octets) in block.iter_mut().zip(octets.as_chunks::<2>().0) {
            *sample = i16::from_le_bytes(*octets);
        }
        Ok(!octets.is_empty())
    }

    /// Drops so many samples.
    fn skip(&mut self, samples: u64) -> std::io::Result<()> {
        let octets = samples * OCTETS as u64;
        std::io::copy(&mut self.pipe.by_ref().take(octets), &mut std::io::sink()).map(drop)
    }
}

/// Decodes a file from its beginning.
fn decode(name: &str) -> Result<Pcm, Error> {
    Pcm::decode(name, &["-i", &file(name)], "0:a:0", 0, false).map(|(pcm, _)| pcm)
}

fn probe(name: &str) -> Result<Option<Tracks>, Error> {
    let entries = "stream=codec_type,codec_name,start_time:format=start_time";
    let mut command = Command::new("ffprobe");
    command.args(["-v", "error", "-of", "compact", "-show_entries", entries, "-i"]).arg(file(name));
    let output =
        hide_secrets(&mut command).stdin(Stdio::null()).output().map_err(|error| missing(name, &error))?;
    if !output.status.success() {
        let reason = String::from_utf8_lossy(&output.stderr);
        let reason = reason.lines().last().unwrap_or("no reason given");
        return Err(Error::Ffmpeg(format!("ffprobe cannot read {name}: {reason}")));
    }
    Ok(tracks(&String::from_utf8_lossy(&output.stdout)))
}

/// A name is a file, never an option or a protocol of FFmpeg.
pub(super) fn file(name: &str) -> String {
    format!("file:{name}")
}

pub(super) fn missing(name: &str, error: &std::io::Error) -> Error {
    Error::Ffmpeg(match error.kind() {
        ErrorKind::NotFound => format!("the sound of {name} needs FFmpeg, which is not installed"),
        _ => format!("ffmpeg: {error}"),
    })
}

/// Reads lines such as `stream|codec_name=aac|codec_type=audio|start_time=0.000000`.
fn tracks(text: &str) -> Option<Tracks> {
    let value = |line: &str, key: &str| {
        line.split('|')
            .find_map(|field| field.split_once('=').filter(|(name, _)| *name == key)?.1.into())
            .map(str::to_owned)
    };
    let first = |kind: &str| {
        let is_it = |line: &&str| value(line, "codec_type").as_deref() == Some(kind);
        text.lines().filter(|line| line.starts_with("stream|")).find(is_it)
    };
    let start =
        |line: Option<&str>| value(line?, "start_time")?.parse::<f64>().ok().filter(|at| at.is_finite());
    let begin = start(text.lines().find(|line| line.starts_with("format|"))).unwrap_or(0.0);
    let codec = value(first("audio")?, "codec_name").unwrap_or_else(|| "unknown".into());
    let stamp = start(first("video")).unwrap_or(begin);
    Some(Tracks { codec, picture: (stamp - begin).max(0.0), stamp })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ffprobe_says() {
        let text = "stream|codec_name=h264|codec_type=video|start_time=1.480000\n\
            stream|codec_name=aac|codec_type=audio|start_time=1.400000\n\
            stream|codec_name=opus|codec_type=audio|start_time=1.400000\nformat|start_time=1.400000\n";
        let found = tracks(text).unwrap();
        assert_eq!(found.codec, "aac");
        assert!((found.picture - 0.08).abs() < 1e-9 && (found.stamp - 1.48).abs() < 1e-9);
        assert_eq!(tracks("stream|codec_name=h264|codec_type=video|start_time=0.0\n"), None);
        let odd = "stream|codec_type=audio|start_time=N/A\nformat|start_time=nan\n";
        assert_eq!(tracks(odd), Some(Tracks { codec: "unknown".into(), picture: 0.0, stamp: 0.0 }));
    }

    #[test]
    fn a_name_is_a_file() {
        assert_eq!(file("-y.mov"), "file:-y.mov");
        assert_eq!(file("concat:a|b"), "file:concat:a|b");
    }
}
