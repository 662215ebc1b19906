//! Matroska and WebM files with H.264.

use super::ReadSeek;
use super::coded::{Coded, Sample, SampleReader, Tracks};
use crate::Error;
use crate::h264::DecoderConfiguration;
use matroska_demuxer::{DemuxError, Frame, MatroskaFile, TrackEntry, TrackType};
use seaway_units::TimeDelta;
use std::io;

/// True for an EBML header.
pub(super) fn probe(prefix: &[u8]) -> bool {
    prefix.starts_with(&[0x1A, 0x45, 0xDF, 0xA3])
}

/// Opens a Matroska file: its first H.264 track, and the descriptions of the others.
pub(super) fn open(file: Box<dyn ReadSeek>) -> Result<(Coded, Tracks), Error> {
    let file = MatroskaFile::open(file).map_err(|error| malformed("headers", error))?;
    let mut tracks = Tracks::default();
    let mut chosen = None;
    for track in file.tracks() {
        match configuration(track) {
            Some(configuration) if chosen.is_none() => {
                chosen = Some((track.track_number().get(), configuration, track.default_duration()));
            }
            _ => tracks.leave_out(description(track)),
        }
    }
    let (track, configuration, duration) = chosen.ok_or_else(|| tracks.without_h264("Matroska"))?;
    // Nanoseconds a picture, often rounded: 33366700 stands for 30000/1001.
    let frame_rate = duration.and_then(|nanos| rate_of(nanos.get()));
    let scale = file.info().timestamp_scale().get();
    let reader = MatroskaSamples { scale, file, track, frame: Frame::default(), first: None };
    Ok((Coded { reader: Box::new(reader), configuration, frame_rate }, tracks))
}

/// What is wrong with the file. The library's own words leave out what an error of the system or of a conversion was.
fn malformed(at: &str, error: DemuxError) -> Error {
    let found = match error {
        DemuxError::IoError(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            "the file ends within an element: it was cut off".into()
        }
        DemuxError::IoError(error) => return Error::io("the Matroska file")(error),
        DemuxError::ElementSizeExceedsStream { declared, available } => {
            format!("an element has {declared} octets, of which {available} are there: the file was cut off")
        }
        DemuxError::FromUtf8Error(_) => "a text that is not UTF-8".into(),
        DemuxError::TryFromIntError(_) => "a number that is too large".into(),
        DemuxError::ElementNotFound(element) => format!("the file has no {element:?} element"),
        DemuxError::CantFindCluster => "the file has no Cluster element".into(),
        other => other.to_string(),
    };
    Error::Malformed {
        container: "Matroska",
        at: at.into(),
        found,
        expected: "a segment with tracks and clusters",
    }
}

fn configuration(track: &TrackEntry) -> Option<DecoderConfiguration> {
    let plain = track.codec_id() == "V_MPEG4/ISO/AVC" && track.content_encodings().is_none();
    track.codec_private().filter(|_| plain).and_then(DecoderConfiguration::parse)
}

fn description(track: &TrackEntry) -> String {
    let kind = match track.track_type() {
        TrackType::Video => "video",
        TrackType::Audio => "audio",
        TrackType::Subtitle => "subtitle",
        _ => "other",
    };
    let codec: String = track.codec_id().chars().filter(char::is_ascii_graphic).take(40).collect();
    format!("{kind} track {} ({codec})", track.track_number())
}

/// The rate with this interval: a common one if it is close, or else the nearest in thousandths.
fn rate_of(nanos: u64) -> Option<crate::FrameRate> {
    let usual = [(24_000, 1001), (30_000, 1001), (60_000, 1001), (24, 1), (25, 1), (30, 1), (50, 1), (60, 1)];
    let near = |&(numerator, denominator): &(u64, u64)| {
        (nanos * numerator).abs_diff(denominator * 1_000_000_000) < denominator * 100_000
    };
    let (numerator, denominator) = usual.into_iter().find(near).unwrap_or((1_000_000_000_000 / nanos, 1000));
    crate::FrameRate::new(u32::try_from(numerator).ok()?, u32::try_from(denominator).ok()?)
}

struct MatroskaSamples {
    file: MatroskaFile<Box<dyn ReadSeek>>,
    track: u64,
    /// Nanoseconds a unit.
    scale: u64,
    frame: Frame,
    /// The time stamp of the first frame, in units: where sound stands before it, pictures begin later than zero.
    first: Option<u64>,
}

impl SampleReader for MatroskaSamples {
    fn next_sample(&mut self, data: &mut Vec<u8>) -> Result<Option<Sample>, Error> {
        loop {
            if !self.file.next_frame(&mut self.frame).map_err(|error| malformed("frames", error))? {
                return Ok(None);
            }
            self.first.get_or_insert(self.frame.timestamp);
            if self.frame.track == self.track {
                break;
            }
        }
        std::mem::swap(data, &mut self.frame.data);
        let nanos = self.frame.timestamp.saturating_mul(self.scale);
        let time = TimeDelta::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX));
        Ok(Some(Sample { time, decode: None }))
    }

    fn rewind(&mut self) -> Result<(), Error> {
        // The library finds no frame for a time before the first one.
        self.file.seek(self.first.unwrap_or(0)).map_err(|error| malformed("first frame", error))
    }
}
