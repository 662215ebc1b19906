//! Opens an input by its content.

use super::coded::{Coded, CodedSource, Tracks};
use super::copied::CodedInput;
use super::pipe::Pipe;
use super::{PictureSource, ReadSeek, Synthetic, annexb, ffmpeg, matroska, mp4, mpeg, transport, y4m};
use crate::Error;
use std::fs::File;
use std::io::{BufReader, Cursor, Read, Seek, SeekFrom};
use std::path::Path;

/// A format that is read here.
struct Format {
    name: &'static str,
    /// Recognises the format by the first octets of an input.
    probe: fn(&[u8]) -> bool,
    /// It needs only these octets, and can be read from a pipe.
    is_stream: bool,
    /// There is no sound beside its pictures.
    is_silent: bool,
    open: Open,
}

type Opener<T> = fn(Box<dyn ReadSeek>) -> Result<T, Error>;

enum Open {
    Pictures(Opener<Box<dyn PictureSource>>),
    /// H.264 in a container.
    Coded(Opener<(Coded, Tracks)>),
    /// H.264, MPEG-1 or MPEG-2 video.
    Transport,
}

/// All formats, in the order they are probed. FFmpeg reads other inputs.
static FORMATS: [Format; 6] = [
    Format {
        name: "Y4M",
        probe: y4m::probe,
        is_stream: true,
        is_silent: true,
        open: Open::Pictures(|file| Ok(Box::new(y4m::Y4mSource::from_file(file)?))),
    },
    Format {
        name: "Matroska",
        probe: matroska::probe,
        is_stream: false,
        is_silent: false,
        open: Open::Coded(matroska::open),
    },
    Format {
        name: "MP4",
        probe: mp4::probe,
        is_stream: false,
        is_silent: false,
        open: Open::Coded(mp4::open),
    },
    Format {
        name: "H.264",
        probe: annexb::probe,
        is_stream: true,
        is_silent: true,
        open: Open::Coded(annexb::open),
    },
    Format {
        name: "MPEG-TS",
        probe: transport::probe,
        is_stream: true,
        is_silent: false,
        open: Open::Transport,
    },
    Format {
        name: "MPEG",
        probe: mpeg::probe,
        is_stream: true,
        is_silent: false,
        open: Open::Pictures(|file| Ok(Box::new(mpeg::MpegSource::new(file)?))),
    },
];

impl Format {
    /// The pictures of `file`, which begins with `prefix`.
    fn pictures(&self, file: Box<dyn ReadSeek>, prefix: &[u8]) -> Result<Box<dyn PictureSource>, Error> {
        match self.open {
            Open::Pictures(open) => open(file),
            Open::Coded(open) => CodedSource::open(open(file)?),
            Open::Transport => match transport::open(file, prefix)? {
                Ok(track) => CodedSource::open(track),
                Err(mut without) => match without.file.seek(SeekFrom::Start(0)) {
                    Ok(_) => Ok(Box::new(mpeg::MpegSource::new(without.file)?)),
                    Err(_) => Err(without_h264(&without.found)),
                },
            },
        }
    }

    /// The coded pictures of `file`, which begins with `prefix`.
    fn coded(&self, file: Box<dyn ReadSeek>, prefix: &[u8]) -> Result<CodedInput, Error> {
        match self.open {
            Open::Pictures(_) => {
                Err(Error::Unsupported(format!("{} is no H.264 that could be copied", self.name)))
            }
            Open::Coded(open) => Ok(CodedInput::new(open(file)?)),
            Open::Transport => match transport::open(file, prefix)? {
                Ok(track) => Ok(CodedInput::new(track)),
                Err(without) => Err(without_h264(&without.found)),
            },
        }
    }
}

fn without_h264(found: &str) -> Error {
    Error::Unsupported(format!("a transport stream without H.264 video: it has {found}"))
}

/// Octets that are probed; the sync bytes of a transport stream need so many.
const PREFIX: usize = 2048;

fn find(prefix: &[u8]) -> Option<&'static Format> {
    FORMATS.iter().find(|format| (format.probe)(prefix))
}

/// Opens an input by name: a file or a named pipe, `-` for standard input, `test:…` for the synthetic scene, or
/// anything else FFmpeg takes where it is installed (a camera device, an `rtsp://` address).
///
/// # Errors
/// Where it cannot be opened or holds no video; the message says what was found.
pub fn open(name: &str) -> Result<Box<dyn PictureSource>, Error> {
    if let Some(specification) = name.strip_prefix("test:") {
        return Ok(Box::new(Synthetic::from_specification(specification)?));
    }
    if name == "-" {
        return open_pipe(Box::new(std::io::stdin()), name);
    }
    if name.contains("://") {
        return Ok(Box::new(ffmpeg::FfmpegSource::open(name)?));
    }
    let path = Path::new(name);
    let metadata = std::fs::metadata(path).map_err(Error::io(path))?;
    if is_pipe(&metadata) {
        return open_pipe(Box::new(File::open(path).map_err(Error::io(path))?), name);
    }
    if !metadata.is_file() {
        // A camera device, which must not be read here.
        return Ok(Box::new(ffmpeg::FfmpegSource::open(name)?));
    }
    let mut file = BufReader::new(File::open(path).map_err(Error::io(path))?);
    let prefix = prefix(&mut file).map_err(Error::io(path))?;
    let Some(format) = find(&prefix) else {
        return Ok(Box::new(ffmpeg::FfmpegSource::open(name)?));
    };
    match format.pictures(Box::new(file), &prefix) {
        // A container with another codec.
        Err(Error::Unsupported(reason)) => match ffmpeg::FfmpegSource::open(name) {
            Ok(source) => Ok(Box::new(source)),
            Err(Error::Ffmpeg(missing)) => Err(Error::Unsupported(format!("{name}: {reason}; {missing}"))),
            Err(other) => Err(other),
        },
        result => result,
    }
}

#[cfg(unix)]
fn is_pipe(metadata: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt;
    metadata.file_type().is_fifo()
}

#[cfg(not(unix))]
fn is_pipe(_metadata: &std::fs::Metadata) -> bool {
    false
}

/// True for a file whose format has pictures alone: there is no sound to look for in it.
pub fn is_silent(file: &Path) -> bool {
    let prefix = File::open(file).and_then(|mut file| prefix(&mut file)).unwrap_or_default();
    find(&prefix).is_some_and(|format| format.is_silent)
}

/// Opens what is read once, such as a pipe or a socket: Y4M, an H.264 byte stream, or MPEG-TS with H.264. `name` stands in
/// messages.
///
/// # Errors
/// It is none of these, or holds no video.
pub fn open_pipe(pipe: Box<dyn Read + Send>, name: &str) -> Result<Box<dyn PictureSource>, Error> {
    let (format, pipe) = probe_pipe(pipe, name)?;
    let prefix = pipe.seen().to_vec();
    format.pictures(Box::new(pipe), &prefix)
}

/// As [`open_pipe`], of coded pictures that are not decoded.
///
/// # Errors
/// It is no H.264 byte stream and no MPEG-TS with H.264.
pub fn open_coded_pipe(pipe: Box<dyn Read + Send>, name: &str) -> Result<CodedInput, Error> {
    let (format, pipe) = probe_pipe(pipe, name)?;
    let prefix = pipe.seen().to_vec();
    format.coded(Box::new(pipe), &prefix)
}

fn probe_pipe<R: Read>(pipe: R, name: &str) -> Result<(&'static Format, Pipe<R>), Error> {
    // The last formats are only recognised by many octets.
    let is_known = |seen: &[u8]| FORMATS[..4].iter().any(|format| (format.probe)(seen));
    let pipe = Pipe::look(pipe, PREFIX, is_known).map_err(Error::io(name))?;
    match find(pipe.seen()) {
        Some(format) if format.is_stream => Ok((format, pipe)),
        Some(format) => Err(Error::Unsupported(format!(
            "{name}: {} cannot be read from a pipe; MPEG-TS can",
            format.name
        ))),
        None => {
            let what = if pipe.seen().is_empty() { "nothing" } else { "none of these" };
            Err(Error::Unsupported(format!("{name}: expected Y4M, H.264 or MPEG-TS, found {what}")))
        }
    }
}

/// Opens an input of H.264 by name as its coded pictures: a file, a named pipe, or `-` for standard input.
///
/// # Errors
/// It cannot be opened, or is no H.264 in MPEG-TS, MP4, Matroska or a byte stream.
pub fn open_coded(name: &str) -> Result<CodedInput, Error> {
    if name == "-" {
        return open_coded_pipe(Box::new(std::io::stdin()), name);
    }
    let path = Path::new(name);
    let metadata = std::fs::metadata(path).map_err(Error::io(path))?;
    if is_pipe(&metadata) {
        return open_coded_pipe(Box::new(File::open(path).map_err(Error::io(path))?), name);
    }
    if !metadata.is_file() {
        return Err(Error::Unsupported(format!("{name} gives no coded video that could be copied")));
    }
    let mut file = BufReader::new(File::open(path).map_err(Error::io(path))?);
    let prefix = prefix(&mut file).map_err(Error::io(path))?;
    let unknown = || Error::Unsupported(format!("{name}: expected H.264 in MPEG-TS, MP4, Matroska or alone"));
    find(&prefix).ok_or_else(unknown)?.coded(Box::new(file), &prefix)
}

#[cfg(test)]
pub(crate) fn open_coded_bytes(bytes: &'static [u8]) -> Result<CodedInput, Error> {
    let prefix = &bytes[..PREFIX];
    find(prefix).expect("a known format").coded(Box::new(Cursor::new(bytes)), prefix)
}

/// Opens an input as the reference of a quality measurement. As [`open`], but H.264 in a container is decoded by FFmpeg
/// if that is installed: OpenH264 is not exact with weighted B pictures (32 dB in the worst picture of the clip "bus"),
/// which does not matter for a source to be encoded.
///
/// # Errors
/// As [`open`].
pub fn open_reference(name: &str) -> Result<Box<dyn PictureSource>, Error> {
    let source = open(name)?;
    if !source.is_approximate() {
        return Ok(source);
    }
    match ffmpeg::FfmpegSource::open(name) {
        Ok(exact) => Ok(Box::new(exact.with_times(source.has_times()))),
        Err(_) => Ok(source),
    }
}

/// Opens a file in memory.
///
/// # Errors
/// Where it is of no format that is read here, or is damaged.
pub fn open_bytes(bytes: impl AsRef<[u8]> + Send + 'static) -> Result<Box<dyn PictureSource>, Error> {
    match find(bytes.as_ref().get(..PREFIX).unwrap_or(bytes.as_ref())) {
        Some(format) => {
            let prefix = bytes.as_ref().get(..PREFIX).unwrap_or(bytes.as_ref()).to_vec();
            format.pictures(Box::new(Cursor::new(bytes)), &prefix)
        }
        None => {
            let names = FORMATS.each_ref().map(|format| format.name).join(", ");
            Err(Error::Unsupported(format!("expected one of {names}")))
        }
    }
}

/// The bundled clip.
///
/// # Errors
/// In a build without it, or where the codec cannot be set up.
pub fn bundled_clip() -> Result<Box<dyn PictureSource>, Error> {
    open_bytes(crate::clip::mp4()?)
}

fn prefix(file: &mut (impl Read + Seek)) -> std::io::Result<Vec<u8>> {
    let mut prefix = Vec::with_capacity(PREFIX);
    file.by_ref().take(PREFIX as u64).read_to_end(&mut prefix)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(prefix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_recognised_by_content() {
        let name = |prefix: &[u8]| find(prefix).map(|format| format.name);
        assert_eq!(name(b"YUV4MPEG2 W352 H288"), Some("Y4M"));
        assert_eq!(name(&[0x1A, 0x45, 0xDF, 0xA3, 1]), Some("Matroska"));
        assert_eq!(name(b"\0\0\0\x20ftypisom"), Some("MP4"));
        assert_eq!(name(&[0, 0, 0, 1, 0x67, 0x42]), Some("H.264"));
        assert_eq!(name(&[0, 0, 1, 0x09, 0xF0]), Some("H.264"));
        assert_eq!(name(&[0, 0, 1, 0xB3, 0x16, 1, 0x20, 0x13, 0xFF, 0xFF]), Some("MPEG"));
        for other in [b"".as_slice(), b"RIFF", &[0, 0, 1], b"Two roads"] {
            assert_eq!(name(other), None, "{other:?}");
        }
    }

    #[test]
    fn some_formats_have_pictures_alone() {
        let folder = tempfile::tempdir().unwrap();
        let is_silent = |name: &str, data: &[u8]| {
            let path = folder.path().join(name);
            std::fs::write(&path, data).unwrap();
            is_silent(&path)
        };
        assert!(is_silent("pictures.y4m", b"YUV4MPEG2 W352 H288 F25:1\n"));
        assert!(is_silent("pictures.mp4", &[0, 0, 0, 1, 0x67, 0x42]));
        assert!(!is_silent("both.mp4", b"\0\0\0\x20ftypisom"));
        assert!(!is_silent("both.mpg", &[0, 0, 1, 0xBA, 0x44]));
        assert!(!is_silent("empty", b""));
        assert!(!super::is_silent(&folder.path().join("missing")));
    }
}
