//! Other inputs by an installed FFmpeg: files of other formats, cameras, network streams.

use super::y4m::Y4mSource;
use super::{PictureFormat, PictureSource};
use crate::subprocess::Subprocess;
use crate::{Error, Picture};
use std::io::{BufRead, BufReader, Read};
use std::process::{ChildStderr, Command, Stdio};
use std::sync::mpsc;
use std::thread::JoinHandle;

/// Pictures that a subprocess decodes and writes as Y4M.
pub(super) struct FfmpegSource {
    name: String,
    pictures: Y4mSource,
    process: Process,
    has_times: bool,
    /// The file ends within a picture.
    is_cut: bool,
}

impl FfmpegSource {
    pub(super) fn open(name: &str) -> Result<Self, Error> {
        let mut process = Process::start(name)?;
        let pipe =
            process.child.child().stdout.take().ok_or_else(|| Error::Ffmpeg("ffmpeg: no pipe".into()))?;
        match Y4mSource::from_pipe(Box::new(BufReader::new(pipe)), name) {
            Ok(pictures) => {
                let messages = process.messages();
                if messages.contains(&Message::Text) {
                    return Err(Error::Ffmpeg(format!("{name} is text, not video")));
                }
                let is_cut = messages.contains(&Message::Cut);
                let left_out = messages.into_iter().filter_map(Message::track_left_out).collect();
                let pictures = pictures.with_left_out(left_out);
                Ok(Self { name: name.into(), pictures, process, has_times: true, is_cut })
            }
            // It wrote no picture; its last message is the reason.
            Err(_) => Err(Error::Ffmpeg(format!("ffmpeg cannot read {name}: {}", process.last_message()))),
        }
    }

    /// Sets whether the input has times.
    pub(super) fn with_times(self, has_times: bool) -> Self {
        Self { has_times, ..self }
    }
}

impl PictureSource for FfmpegSource {
    fn format(&self) -> PictureFormat {
        self.pictures.format()
    }

    fn next_picture(&mut self) -> Result<Option<Picture>, Error> {
        let picture = self.pictures.next_picture()?;
        if picture.is_none() {
            self.process.last_message();
            if self.is_cut || self.process.messages().contains(&Message::Cut) {
                return Err(Error::Ffmpeg(format!("{} is cut: it ends within a picture", self.name)));
            }
        }
        Ok(picture)
    }

    fn rewind(&mut self) -> Result<(), Error> {
        if is_live(&self.name) {
            return Err(Error::Unsupported(format!("{} is live and cannot be repeated", self.name)));
        }
        *self = Self::open(&self.name)?.with_times(self.has_times);
        Ok(())
    }

    fn has_times(&self) -> bool {
        self.has_times
    }

    fn left_out(&self) -> &[String] {
        self.pictures.left_out()
    }
}

impl std::fmt::Debug for FfmpegSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { name, process, .. } = self;
        f.debug_struct("FfmpegSource")
            .field("name", name)
            .field("process", &process.child.child().id())
            .finish()
    }
}

/// Cameras and network streams; a file can be opened again.
fn is_live(name: &str) -> bool {
    name.contains("://") || name.starts_with("/dev/")
}

fn arguments(name: &str) -> Vec<String> {
    let mut arguments = vec!["-hide_banner", "-nostdin", "-nostats", "-loglevel", "info"];
    if name.starts_with("/dev/video") {
        arguments.extend(["-f", "v4l2"]);
    }
    if is_live(name) {
        arguments.extend(["-fflags", "nobuffer", "-flags", "low_delay"]);
    }
    if name.starts_with("rtsp://") {
        arguments.extend(["-rtsp_transport", "tcp"]);
    }
    arguments.push("-i");
    // A name is a file unless it is an address; never an option or another protocol of FFmpeg.
    let input = if name.contains("://") { name.to_owned() } else { format!("file:{name}") };
    let input = if name.starts_with("/dev/video") { name.to_owned() } else { input };
    // By default FFmpeg fills a gap of a constant rate with the picture behind it; a viewer sees the one before.
    let hold: &[&str] = if is_live(name) { &[] } else { &["-vf", "fps=source_fps"] };
    let hold = hold.iter().map(|&message| message.to_owned());
    let output = [
        "-map",
        "0:v:0",
        "-an",
        "-sn",
        "-pix_fmt",
        "yuv420p",
        "-f",
        "yuv4mpegpipe",
        "-strict",
        "-1",
        "pipe:1",
    ];
    arguments
        .into_iter()
        .map(str::to_owned)
        .chain([input])
        .chain(hold)
        .chain(output.map(str::to_owned))
        .collect()
}

/// A message of FFmpeg about the input.
#[derive(Debug, PartialEq, Eq)]
enum Message {
    /// A track that is not used.
    LeftOut(String),
    /// The input is text, which FFmpeg would render.
    Text,
    /// The file ends before its last sample does.
    Cut,
}

impl Message {
    fn of_line(line: &str) -> Option<Self> {
        if line.starts_with("Input #0, tty,") {
            Some(Self::Text)
        } else if line.ends_with("partial file") || line.ends_with("File ended prematurely") {
            Some(Self::Cut)
        } else {
            track_left_out(line).map(Self::LeftOut)
        }
    }

    fn track_left_out(self) -> Option<String> {
        match self {
            Self::LeftOut(track) => Some(track),
            Self::Text | Self::Cut => None,
        }
    }
}

/// The subprocess, which is killed on drop, and the thread that reads its messages.
struct Process {
    child: Subprocess,
    messages: mpsc::Receiver<Message>,
    reader: Option<JoinHandle<String>>,
}

impl Process {
    fn start(name: &str) -> Result<Self, Error> {
        let mut command = Command::new("ffmpeg");
        command.args(arguments(name)).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = Subprocess::spawn(&mut command).map_err(|error| {
            Error::Ffmpeg(match error.kind() {
                std::io::ErrorKind::NotFound => format!(
                    "{name} needs FFmpeg to be read, and no ffmpeg is installed (MP4 or MKV with H.264, raw H.264 and Y4M need none)"
                ),
                _ => format!("ffmpeg: {error}"),
            })
        })?;
        let (sender, messages) = mpsc::sync_channel(32);
        let reader = child
            .child()
            .stderr
            .take()
            .map(|stderr| std::thread::spawn(move || read_messages(stderr, &sender)));
        Ok(Self { child, messages, reader })
    }

    fn messages(&self) -> Vec<Message> {
        self.messages.try_iter().collect()
    }

    /// Ends it; returns its last message.
    fn last_message(&mut self) -> String {
        self.child.kill();
        self.reader.take().and_then(|reader| reader.join().ok()).unwrap_or_default()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.last_message();
    }
}

/// Reads to the end, so that the process never blocks on its output; returns the last line.
fn read_messages(stderr: ChildStderr, sender: &mpsc::SyncSender<Message>) -> String {
    const LONGEST: u64 = 4096;
    let mut stderr = BufReader::new(stderr);
    let mut last = String::new();
    let mut line = Vec::new();
    while stderr.by_ref().take(LONGEST).read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
        let text = String::from_utf8_lossy(&line).trim().to_owned();
        if let Some(message) = Message::of_line(&text) {
            // Messages behind the first picture, or beyond the capacity, are dropped.
            let _ = sender.try_send(message);
        }
        if !text.is_empty() {
            last = text;
        }
        line.clear();
    }
    last
}

/// `Stream #0:1(und): Audio: aac (LC), 48000 Hz` of an input becomes `audio track 1 (aac)`.
fn track_left_out(line: &str) -> Option<String> {
    let (position, rest) = line.strip_prefix("Stream #0:")?.split_once(": ")?;
    let (kind, codec) = rest.split_once(": ")?;
    let number: String = position.chars().take_while(char::is_ascii_digit).collect();
    let codec: String = codec.chars().take_while(char::is_ascii_alphanumeric).collect();
    let kind = kind.to_ascii_lowercase();
    matches!(kind.as_str(), "audio" | "subtitle").then(|| format!("{kind} track {number} ({codec})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_not_video() {
        assert_eq!(Message::of_line("Input #0, tty, from 'file:notes.txt':"), Some(Message::Text));
        assert_eq!(Message::of_line("Input #0, avi, from 'file:a.avi':"), None);
    }

    #[test]
    fn audio_tracks_are_named() {
        let line = "Stream #0:1[0x2](und): Audio: aac (LC) (mp4a / 0x6134706D), 48000 Hz, 5.1, fltp";
        assert_eq!(track_left_out(line), Some("audio track 1 (aac)".into()));
        assert_eq!(track_left_out("Stream #0:0: Video: h264"), None);
        assert_eq!(track_left_out("Duration: 00:00:05.31"), None);
    }

    #[test]
    fn a_name_never_becomes_an_option() {
        assert!(arguments("-y.mov").contains(&"file:-y.mov".to_owned()));
        assert!(arguments("concat:a|b").contains(&"file:concat:a|b".to_owned()));
    }
}
