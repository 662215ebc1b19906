//! Coded pictures of an input as they stand there, for a sender that does not decode them.

use super::coded::{Coded, Tracks, open_sound};
use crate::Error;
use crate::audio::{AudioSource, PipedTrack};
use crate::h264::{NalType, append_from_lengths, append_nal, nal_units};
use seaway_units::TimeDelta;

/// A coded picture of an input, in decoding order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodedPicture {
    /// An access unit in Annex B form. A key frame has its parameter sets with it.
    pub data: Vec<u8>,
    /// When it is shown, since the first picture.
    pub time: TimeDelta,
    /// When it is decoded, on the same scale; it never decreases within one reading of the input.
    pub decode: TimeDelta,
    /// An IDR picture: neither it nor a later one needs a picture before it.
    pub is_key: bool,
    /// Other pictures may need it (`nal_ref_idc`).
    pub is_reference: bool,
    /// Its temporal layer, where the stream says so (ITU-T H.264 section G.7.3.1.1): no picture needs one of a higher layer.
    pub layer: u8,
}

/// An input of H.264 that is not decoded.
pub struct CodedInput {
    track: Coded,
    left_out: Vec<String>,
    sound: Option<PipedTrack>,
    sample: Vec<u8>,
    /// The parameter sets in force, as a byte stream.
    parameter_sets: Vec<u8>,
    /// The latest decoding time.
    decoded: TimeDelta,
}

/// What the NAL units of a picture say of it.
#[derive(Debug, Default)]
struct Contents {
    /// Access unit delimiters, which come first.
    delimiters: Vec<u8>,
    parameter_sets: Vec<u8>,
    /// All but the delimiters.
    units: Vec<u8>,
    has_slice: bool,
    is_key: bool,
    is_reference: bool,
    layer: u8,
}

impl Contents {
    /// `nal_unit_type` of a prefix unit, which holds the layers (section 7.4.2.12).
    const PREFIX: u8 = 14;

    fn of(access_unit: &[u8]) -> Self {
        let mut contents = Self::default();
        for unit in nal_units(access_unit) {
            match NalType::of(unit) {
                Some(NalType::Delimiter) => {
                    append_nal(unit, &mut contents.delimiters);
                    continue;
                }
                Some(NalType::SequenceParameters | NalType::PictureParameters) => {
                    append_nal(unit, &mut contents.parameter_sets);
                }
                Some(kind @ (NalType::Slice | NalType::IdrSlice)) => {
                    contents.has_slice = true;
                    contents.is_key |= kind == NalType::IdrSlice;
                    contents.is_reference |= unit[0] & 0x60 != 0;
                }
                Some(NalType::Other(Self::PREFIX)) if unit.len() >= 4 && unit[1] & 0x80 != 0 => {
                    contents.layer = unit[3] >> 5;
                }
                _ => {}
            }
            append_nal(unit, &mut contents.units);
        }
        contents
    }
}

impl CodedInput {
    pub(super) fn new((track, tracks): (Coded, Tracks)) -> Self {
        let parameter_sets = track.configuration.parameter_sets.clone();
        Self {
            track,
            left_out: tracks.left_out,
            sound: tracks.sound,
            sample: Vec::new(),
            parameter_sets,
            decoded: TimeDelta::ZERO,
        }
    }

    /// The next picture; `None` at the end. A live input blocks until it comes.
    ///
    /// # Errors
    /// The input is damaged or cannot be read.
    pub fn next_picture(&mut self) -> Result<Option<CodedPicture>, Error> {
        while let Some(sample) = self.track.reader.next_sample(&mut self.sample)? {
            let mut stream = Vec::new();
            let data = match self.track.configuration.length_size {
                0 => &self.sample,
                length_size => {
                    append_from_lengths(&self.sample, length_size, &mut stream);
                    &stream
                }
            };
            let contents = Contents::of(data);
            if !contents.parameter_sets.is_empty() {
                self.parameter_sets.clone_from(&contents.parameter_sets);
            }
            if !contents.has_slice {
                continue;
            }
            self.decoded = self.decoded.max(sample.decode.unwrap_or(sample.time));
            let mut data = contents.delimiters;
            if contents.is_key && contents.parameter_sets.is_empty() {
                data.extend_from_slice(&self.parameter_sets);
            }
            data.extend_from_slice(&contents.units);
            let Contents { is_key, is_reference, layer, .. } = contents;
            let (time, decode) = (sample.time, self.decoded);
            return Ok(Some(CodedPicture { data, time, decode, is_key, is_reference, layer }));
        }
        Ok(None)
    }

    /// Begins again with the first picture.
    ///
    /// # Errors
    /// The input cannot be read again: a pipe, a socket.
    pub fn rewind(&mut self) -> Result<(), Error> {
        self.decoded = TimeDelta::ZERO;
        self.track.reader.rewind()
    }

    /// As [`PictureSource::take_sound`](super::PictureSource::take_sound).
    pub fn take_sound(&mut self) -> Option<Result<Box<dyn AudioSource>, Error>> {
        let track = self.sound.take()?;
        let first = track.first;
        Some(open_sound(track, first))
    }

    /// Descriptions of the tracks that are not used.
    pub fn left_out(&self) -> &[String] {
        &self.left_out
    }
}

impl std::fmt::Debug for CodedInput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CodedInput").field("decoded", &self.decoded).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clip::BIG_BUCK_BUNNY;
    use crate::input::open_coded_pipe;

    fn stream(units: &[&[u8]]) -> Vec<u8> {
        let mut stream = Vec::new();
        units.iter().for_each(|unit| append_nal(unit, &mut stream));
        stream
    }

    fn pictures(stream: Vec<u8>) -> Vec<CodedPicture> {
        let mut input = open_coded_pipe(Box::new(std::io::Cursor::new(stream)), "-").unwrap();
        std::iter::from_fn(|| input.next_picture().unwrap()).collect()
    }

    #[test]
    fn pictures_say_who_needs_them() {
        let units: [&[u8]; 9] = [
            &[0x67, 66, 0, 30],
            &[0x68, 0xCE],
            &[0x65, 0x88],
            &[0x41, 0x9A],
            &[0x01, 0x9E],
            &[0x6E, 0x80, 0x80, 0x47],
            &[0x61, 0x9A],
            &[0x09, 0xF0],
            &[0x65, 0x88],
        ];
        let pictures = pictures(stream(&units));
        let seen: Vec<_> = pictures.iter().map(|p| (p.is_key, p.is_reference, p.layer)).collect();
        let key = (true, true, 0);
        assert_eq!(seen, [key, (false, true, 0), (false, false, 0), (false, true, 2), key]);
        // The second key frame gets the parameter sets of the first, behind its delimiter.
        let with_sets = stream(&[units[7], units[0], units[1], units[8]]);
        assert_eq!(pictures.last().unwrap().data, with_sets);
    }

    #[test]
    fn a_container_gives_every_picture_with_its_times() {
        let mut input = super::super::open::open_coded_bytes(BIG_BUCK_BUNNY).unwrap();
        for _ in 0..2 {
            let pictures: Vec<_> = std::iter::from_fn(|| input.next_picture().unwrap()).collect();
            assert_eq!(pictures.len(), 132);
            assert!(pictures[0].is_key && nal_units(&pictures[0].data).count() >= 3);
            assert!(pictures.is_sorted_by_key(|picture| picture.decode));
            input.rewind().unwrap();
        }
    }
}
