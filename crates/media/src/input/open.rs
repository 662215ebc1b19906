//! Which reader an input needs.

use super::coded::CodedSource;
use super::{PictureSource, ReadSeek, Synthetic, annexb, ffmpeg, matroska, mp4, mpeg, y4m};
use crate::Error;
use std::fs::File;
use std::io::{BufReader, Cursor, Read, Seek, SeekFrom};
use std::path::Path;

/// What the first octets of an input promise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Container {
    Y4m,
    Mp4,
    Matroska,
    AnnexB,
    Mpeg,
    /// Anything else: FFmpeg may know.
    Unknown,
}

/// Octets that [`sniff`] wants to see: transport streams show themselves by their period.
const PREFIX: usize = 2048;

fn sniff(prefix: &[u8]) -> Container {
    if prefix.starts_with(b"YUV4MPEG2 ") {
        Container::Y4m
    } else if prefix.starts_with(&[0x1A, 0x45, 0xDF, 0xA3]) {
        Container::Matroska
    } else if matches!(
        prefix.get(4..8),
        Some(b"ftyp" | b"moov" | b"mdat" | b"styp" | b"wide" | b"skip" | b"free")
    ) {
        Container::Mp4
    } else if begins_h264(prefix) {
        Container::AnnexB
    } else if seaway_mpeg::container::sniff(prefix, true).is_ok() {
        Container::Mpeg
    } else {
        Container::Unknown
    }
}

/// A start code and one of the NAL units that may come first. MPEG-1 and MPEG-2 streams share the start
/// code; their sequence and pack headers (0xB3, 0xBA) have the bit set that H.264 forbids.
fn begins_h264(prefix: &[u8]) -> bool {
    let zeros = prefix.iter().take_while(|&&octet| octet == 0).count();
    let header = prefix.get(zeros).filter(|&&octet| octet == 1).and_then(|_| prefix.get(zeros + 1));
    // A parameter set or slice that nothing refers to would be discarded: nal_ref_idc is not zero there.
    let first = |&header: &u8| match header & 0x1F {
        5 | 7 | 8 => header & 0x80 == 0 && header & 0x60 != 0,
        6 | 9 => header & 0xE0 == 0,
        _ => false,
    };
    zeros >= 2 && header.is_some_and(first)
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
        // A camera device: reading it here would disturb it.
        return Ok(Box::new(ffmpeg::FfmpegSource::open(name)?));
    }
    let mut file = BufReader::new(File::open(path).map_err(Error::io(path))?);
    let container = sniff(&prefix(&mut file).map_err(Error::io(path))?);
    match open_container(container, Box::new(file)) {
        None => Ok(Box::new(ffmpeg::FfmpegSource::open(name)?)),
        // A container of ours with another codec inside.
        Some(Err(Error::Unsupported(reason))) => match ffmpeg::FfmpegSource::open(name) {
            Ok(source) => Ok(Box::new(source)),
            Err(Error::Ffmpeg(missing)) => Err(Error::Unsupported(format!("{name}: {reason}; {missing}"))),
            Err(other) => Err(other),
        },
        Some(result) => result,
    }
}

/// Opens an input that others are measured against. As [`open`], but H.264 in a container is decoded by FFmpeg
/// where it is installed: OpenH264 strays from the standard where B pictures are weighted (by 32 dB at worst on
/// the standard clip "bus"), which a source to be encoded can bear and a reference cannot.
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

/// Opens a file that is already in memory.
///
/// # Errors
/// Where it is of no format that is read here, or is damaged.
pub fn open_bytes(bytes: impl AsRef<[u8]> + Send + 'static) -> Result<Box<dyn PictureSource>, Error> {
    let container = sniff(bytes.as_ref().get(..PREFIX).unwrap_or(bytes.as_ref()));
    let unknown =
        || Error::Unsupported("neither Y4M, MP4, Matroska, MPEG-1, MPEG-2 nor an H.264 byte stream".into());
    open_container(container, Box::new(Cursor::new(bytes))).ok_or_else(unknown)?
}

/// The clip that comes with the binary.
///
/// # Errors
/// Where the codec cannot be set up.
pub fn bundled_clip() -> Result<Box<dyn PictureSource>, Error> {
    open_bytes(crate::clip::BIG_BUCK_BUNNY)
}

fn open_container(
    container: Container,
    file: Box<dyn ReadSeek>,
) -> Option<Result<Box<dyn PictureSource>, Error>> {
    let coded = match container {
        Container::Unknown => return None,
        Container::Y4m => {
            return Some(y4m::Y4mSource::from_file(file).map(|source| Box::new(source) as Box<_>));
        }
        Container::Mpeg => {
            return Some(mpeg::MpegSource::new(file).map(|source| Box::new(source) as Box<_>));
        }
        Container::Mp4 => mp4::open(file),
        Container::Matroska => matroska::open(file),
        Container::AnnexB => annexb::open(file),
    };
    let source = coded.and_then(|(track, tracks)| CodedSource::new(track, tracks));
    Some(source.map(|source| Box::new(source) as Box<_>))
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
    fn content_tells() {
        assert_eq!(sniff(b"YUV4MPEG2 W352 H288"), Container::Y4m);
        assert_eq!(sniff(&[0x1A, 0x45, 0xDF, 0xA3, 1]), Container::Matroska);
        assert_eq!(sniff(b"\0\0\0\x20ftypisom"), Container::Mp4);
        assert_eq!(sniff(&[0, 0, 0, 1, 0x67, 0x42]), Container::AnnexB);
        assert_eq!(sniff(&[0, 0, 1, 0x09, 0xF0]), Container::AnnexB);
        assert_eq!(sniff(&[0, 0, 1, 0xB3, 0x16, 1, 0x20, 0x13, 0xFF, 0xFF]), Container::Mpeg);
        for other in [b"".as_slice(), b"RIFF", &[0, 0, 1], b"Two roads"] {
            assert_eq!(sniff(other), Container::Unknown, "{other:?}");
        }
    }
}
