//! The sample entry of video: the codec, the picture size, and the parameter sets of the decoder (ISO/IEC 14496-15).

use super::{boxed, words};
use crate::av1::{self, SequenceHeader};
use crate::h264::{NalType, nal_units};
use crate::h265::{SequenceParameters, type_of};
use crate::{PictureSize, VideoCodec};
use seaway_wire::h265::nal_type;

/// Units of one type in an `hvcC` box at most; more than a stream has.
const MOST_SETS: usize = 16;

/// The sample entry of a video track, and how its samples are written.
#[derive(Debug)]
pub(super) struct Entry {
    kind: &'static [u8; 4],
    pub(super) size: PictureSize,
    /// The box with the parameters of the decoder.
    configuration: Vec<u8>,
    samples: Samples,
}

/// How frames become samples.
#[derive(Debug)]
enum Samples {
    /// NAL units behind their lengths, without these parameter sets, which stand in the entry.
    NalUnits(Vec<Vec<u8>>),
    /// As they are.
    Obus,
}

impl Entry {
    /// The entry of a stream that begins with this key frame; `None` where it has no parameter sets, or others than can be written.
    pub(super) fn of(codec: VideoCodec, key_frame: &[u8], size: PictureSize) -> Option<Self> {
        match codec {
            VideoCodec::H264 => Self::of_h264(key_frame, size),
            VideoCodec::H265 => Self::of_h265(key_frame, size),
            VideoCodec::Av1 => Self::of_av1(key_frame, size),
        }
    }

    /// Parameter sets stay in the samples too (`avc3`), so that the picture size may change.
    fn of_h264(key_frame: &[u8], size: PictureSize) -> Option<Self> {
        let (sequence, picture) = parameter_sets(key_frame)?;
        let mut configuration = Vec::new();
        boxed(&mut configuration, b"avcC", |out| {
            // Version, profile, constraints, level; length fields of four octets; one set of each kind.
            out.extend_from_slice(&[1, sequence[1], sequence[2], sequence[3], 0xFF, 0xE1]);
            append_set(out, sequence);
            out.push(1);
            append_set(out, picture);
        });
        Some(Self { kind: b"avc3", size, configuration, samples: Samples::NalUnits(Vec::new()) })
    }

    /// Parameter sets stand in the entry (`hvc1`), which players of Apple require. If others come later, samples have all from then on.
    fn of_h265(key_frame: &[u8], size: PictureSize) -> Option<Self> {
        let parameters = SequenceParameters::of(key_frame)?;
        let of_type = |kind| {
            let units = nal_units(key_frame).filter(move |unit| type_of(unit) == Some(kind));
            units.filter(|unit| u16::try_from(unit.len()).is_ok()).take(MOST_SETS).collect::<Vec<_>>()
        };
        let kinds = [nal_type::VPS, nal_type::SPS, nal_type::PPS];
        let sets = kinds.map(|kind| (kind, of_type(kind)));
        if sets.iter().any(|(_, units)| units.is_empty()) {
            return None;
        }
        let mut configuration = Vec::new();
        boxed(&mut configuration, b"hvcC", |out| {
            let SequenceParameters {
                general,
                chroma_format,
                luma_depth,
                chroma_depth,
                layers,
                is_nested,
                ..
            } = parameters;
            out.push(1);
            out.extend(general);
            // Segmentation and parallelism unknown; chroma format, bit depths; frame rate unknown.
            out.extend([0xF0, 0, 0xFC, 0xFC | chroma_format, 0xF8 | luma_depth, 0xF8 | chroma_depth, 0, 0]);
            // Temporal layers, length fields of four octets, three arrays.
            out.extend([layers << 3 | u8::from(is_nested) << 2 | 3, 3]);
            for (kind, units) in &sets {
                // The array is complete.
                out.extend([0x80 | kind, 0, units.len() as u8]);
                units.iter().for_each(|unit| append_set(out, unit));
            }
        });
        let sets = sets.into_iter().flat_map(|(_, units)| units).map(<[u8]>::to_vec).collect();
        Some(Self { kind: b"hvc1", size, configuration, samples: Samples::NalUnits(sets) })
    }

    /// AOM, "AV1 Codec ISO Media File Format Binding": the sequence header stands in the entry and in the samples.
    fn of_av1(key_frame: &[u8], size: PictureSize) -> Option<Self> {
        let header = SequenceHeader::of(key_frame)?;
        let mut configuration = Vec::new();
        boxed(&mut configuration, b"av1C", |out| {
            let flags = [
                header.tier,
                header.has_high_depth,
                header.has_twelve_bits,
                header.is_monochrome,
                header.subsampling[0],
                header.subsampling[1],
            ];
            let flags = flags.into_iter().fold(0, |flags, flag| flags << 1 | u8::from(flag));
            // Marker and version; no delay of the presentation is known.
            out.extend([0x81, header.profile << 5 | header.level, flags << 2 | header.chroma_position, 0]);
            av1::sequence_header(key_frame).iter().for_each(|obu| obu.append_sized(out));
        });
        Some(Self { kind: b"av01", size, configuration, samples: Samples::Obus })
    }

    /// Appends a frame as a sample.
    pub(super) fn append_sample(&mut self, frame: &[u8], data: &mut Vec<u8>) {
        let Samples::NalUnits(sets) = &mut self.samples else { return data.extend_from_slice(frame) };
        let is_set = |unit: &[u8]| matches!(type_of(unit), Some(nal_type::VPS..=nal_type::PPS));
        let is_known = |sets: &[Vec<u8>], unit: &[u8]| sets.iter().any(|set| set == unit);
        if !sets.is_empty() && nal_units(frame).any(|unit| is_set(unit) && !is_known(sets, unit)) {
            // Others: from now on all stand in the samples.
            sets.clear();
        }
        for unit in nal_units(frame).filter(|unit| !is_known(sets, unit)) {
            data.extend((unit.len() as u32).to_be_bytes());
            data.extend_from_slice(unit);
        }
    }

    /// Appends the box.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        boxed(out, self.kind, |out| {
            words(out, &[0, 1, 0, 0, 0, 0, self.size.width() << 16 | self.size.height()]);
            // 72 dots an inch, one picture a sample, no name, 24 bits deep.
            words(out, &[0x48_0000, 0x48_0000, 0]);
            out.extend_from_slice(&[0, 1]);
            out.extend_from_slice(&[0; 32]);
            out.extend_from_slice(&[0, 0x18, 0xFF, 0xFF]);
            out.extend_from_slice(&self.configuration);
        });
    }
}

/// The first sequence and picture parameter sets of an H.264 key frame.
fn parameter_sets(access_unit: &[u8]) -> Option<(&[u8], &[u8])> {
    let set = |kind| nal_units(access_unit).find(|unit| NalType::of(unit) == Some(kind));
    let sets = set(NalType::SequenceParameters).zip(set(NalType::PictureParameters));
    let fits = |set: &[u8]| u16::try_from(set.len()).is_ok();
    sets.filter(|(sequence, picture)| sequence.len() > 3 && fits(sequence) && fits(picture))
}

/// Appends a parameter set behind its length, which fits.
fn append_set(out: &mut Vec<u8>, set: &[u8]) {
    out.extend((set.len() as u16).to_be_bytes());
    out.extend_from_slice(set);
}
