//! Opens an input by its content.

use super::coded::CodedSource;
use super::{PictureSource, ReadSeek, Synthetic, annexb, ffmpeg, matroska, mp4, mpeg, y4m};
use crate::Error;
use std::fs::File;
use std::io::{BufReader, Cursor, Read, Seek, SeekFrom};
use std::path::Path;

/// A format that is read here.
struct Format {
    name: &'static str,
    /// Recognises the format by the first octets of an input.
    probe: fn(&[u8]) -> bool,
    open: Open,
}

type Open = fn(Box<dyn ReadSeek>) -> Result<Box<dyn PictureSource>, Error>;

/// All formats, in the order they are probed. FFmpeg reads other inputs.
static FORMATS: [Format; 5] = [
    Format { name: "Y4M", probe: y4m::probe, open: |file| Ok(Box::new(y4m::Y4mSource::from_file(file)?)) },
    Format {
        name: "Matroska",
        probe: matroska::probe,
        open: |file| CodedSource::open(matroska::open(file)?),
    },
    Format { name: "MP4", probe: mp4::probe, open: |file| CodedSource::open(mp4::open(file)?) },
    Format { name: "H.264", probe: annexb::probe, open: |file| CodedSource::open(annexb::open(file)?) },
    Format { name: "MPEG", probe: mpeg::probe, open: |file| Ok(Box::new(mpeg::MpegSource::new(file)?)) },
];

/// Octets that are probed; the sync bytes of a transport stream need so many.
const PREFIX: usize = 2048;

fn find(prefix: &[u8]) -> Option<&'static Format> {
    FORMATS.iter().find(|format| (format.probe)(prefix))
}

/// Opens an input by name: a file, `-` for standard input (Y4M), `test:…` for the synthetic scene, or
/// anything else FFmpeg takes where it is installed (a camera device, an `rtsp://` address).
///
/// # Errors
/// Where it cannot be opened or holds no video; the message says what was found.
pub fn open(name: &str) -> Result<Box<dyn PictureSource>, Error> {
    if let Some(specification) = name.strip_prefix("test:") {
        return Ok(Box::new(Synthetic::from_specification(specification)?));
    }
    if name == "-" {
        return Ok(Box::new(y4m::Y4mSource::from_pipe(Box::new(std::io::stdin()), "-")?));
    }
    if name.contains("://") {
        return Ok(Box::new(ffmpeg::FfmpegSource::open(name)?));
    }
    let path = Path::new(name);
    let metadata = std::fs::metadata(path).map_err(Error::io(path))?;
    if !metadata.is_file() {
        // A camera device, which must not be read here.
        return Ok(Box::new(ffmpeg::FfmpegSource::open(name)?));
    }
    let mut file = BufReader::new(File::open(path).map_err(Error::io(path))?);
    let Some(format) = find(&prefix(&mut file).map_err(Error::io(path))?) else {
        return Ok(Box::new(ffmpeg::FfmpegSource::open(name)?));
    };
    match (format.open)(Box::new(file)) {
        // A container with another codec.
        Err(Error::Unsupported(reason)) => match ffmpeg::FfmpegSource::open(name) {
            Ok(source) => Ok(Box::new(source)),
            Err(Error::Ffmpeg(missing)) => Err(Error::Unsupported(format!("{name}: {reason}; {missing}"))),
            Err(other) => Err(other),
        },
        result => result,
    }
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
        Some(format) => (format.open)(Box::new(Cursor::new(bytes))),
        None => {
            let names = FORMATS.each_ref().map(|format| format.name).join(", ");
            Err(Error::Unsupported(format!("expected one of {names}")))
        }
    }
}

/// The bundled clip.
///
/// # Errors
/// Where the codec cannot be set up.
pub fn bundled_clip() -> Result<Box<dyn PictureSource>, Error> {
    open_bytes(crate::clip::BIG_BUCK_BUNNY)
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
}
