//! Inspects access units before they are decoded.

use super::{NalType, append_nal, nal_units};
use crate::PictureSize;
use h264_reader::nal::pps::PicParameterSet;
use h264_reader::nal::slice::{SliceFamily, SliceHeader};
use h264_reader::nal::sps::{FrameMbsFlags, SeqParameterSet};
use h264_reader::nal::{Nal, RefNal};

/// Checks the headers of access units, and keeps their parameter sets.
///
/// The decoder is written in C++. It gets only NAL units of known types, valid parameter sets, pictures within the bounds
/// of [`PictureSize`], and slices that refer to a known parameter set.
#[derive(Debug, Default)]
pub struct Inspector {
    context: h264_reader::Context,
    /// `frame_num` of the last reference picture (`PrevRefFrameNum`).
    previous: Option<u16>,
    /// A B slice came since the last key frame.
    has_bidirectional: bool,
    /// Parameter sets that are not yet decoded, because they came alone or with a damaged picture.
    parameters: Vec<u8>,
    slices: Vec<u8>,
}

/// The result for one access unit.
#[derive(Debug)]
pub struct Inspection<'a> {
    /// The units to decode, as a byte stream.
    pub stream: &'a [u8],
    /// The picture size after cropping.
    pub size: PictureSize,
    /// It is an IDR picture.
    pub key: bool,
    /// Its `frame_num` does not follow the one before, so reference pictures are missing.
    pub follows_gap: bool,
    /// Pictures of the stream are shown in another order than they are decoded.
    pub reorders: bool,
}

/// Why an access unit is not decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// It has no slice.
    NoPicture,
    /// A slice header, or the parameter set it refers to, is missing or damaged.
    BadSlice,
    /// The picture is larger than the bounds, or its format is not progressive 8-bit 4:2:0.
    Format,
    /// It is longer than [`Inspector`] accepts.
    TooLong,
}

impl Inspector {
    /// The longest access unit: the size of the largest uncompressed picture.
    const MAX_LENGTH: usize = 12 << 20;

    /// The most octets of parameter sets that are kept.
    const MAX_PARAMETERS: usize = 64 << 10;

    /// Checks one access unit, in decoding order.
    ///
    /// # Errors
    /// [`Refusal`] where it must not be decoded. Its valid parameter sets are prepended to the next access unit.
    pub fn inspect(&mut self, access_unit: &[u8]) -> Result<Inspection<'_>, Refusal> {
        if access_unit.len() > Self::MAX_LENGTH {
            return Err(Refusal::TooLong);
        }
        if self.parameters.len() > Self::MAX_PARAMETERS {
            self.parameters.clear();
        }
        self.slices.clear();
        let mut first_slice = None;
        for unit in nal_units(access_unit) {
            match NalType::of(unit) {
                Some(NalType::SequenceParameters) if self.keep_sequence(unit)? => {
                    append_nal(unit, &mut self.parameters);
                }
                Some(NalType::PictureParameters) if self.keep_picture(unit) => {
                    append_nal(unit, &mut self.parameters);
                }
                Some(NalType::Slice | NalType::IdrSlice) => {
                    let slice = Slice::parse(&self.context, unit).ok_or(Refusal::BadSlice)?;
                    first_slice.get_or_insert(slice);
                    append_nal(unit, &mut self.slices);
                }
                // SEI and unknown types are not needed.
                _ => {}
            }
        }
        let slice = first_slice.ok_or(Refusal::NoPicture)?;
        let follows_gap = self.advance(&slice);
        self.has_bidirectional = slice.is_bidirectional || self.has_bidirectional && !slice.key;
        let reorders = slice.reorders || self.has_bidirectional;
        // Parameter sets first, with those of refused access units.
        self.parameters.append(&mut self.slices);
        std::mem::swap(&mut self.parameters, &mut self.slices);
        let (size, key) = (slice.size, slice.key);
        Ok(Inspection { stream: &self.slices, size, key, follows_gap, reorders })
    }

    /// Keeps a valid sequence parameter set with a supported picture size.
    fn keep_sequence(&mut self, unit: &[u8]) -> Result<bool, Refusal> {
        let Ok(parameters) = SeqParameterSet::from_bits(RefNal::new(unit, &[], true).rbsp_bits()) else {
            return Ok(false);
        };
        picture_size(&parameters).ok_or(Refusal::Format)?;
        self.context.put_seq_param_set(parameters);
        Ok(true)
    }

    fn keep_picture(&mut self, unit: &[u8]) -> bool {
        let bits = RefNal::new(unit, &[], true).rbsp_bits();
        let Ok(parameters) = PicParameterSet::from_bits(&self.context, bits) else { return false };
        self.context.put_pic_param_set(parameters);
        true
    }

    /// Section 7.4.3, `frame_num`: it stays, or is one more than that of the last reference picture.
    fn advance(&mut self, slice: &Slice) -> bool {
        let follows_gap = !slice.key
            && self.previous.is_none_or(|previous| {
                let next = (u32::from(previous) + 1) % slice.max_frame_num;
                slice.frame_num != previous && u32::from(slice.frame_num) != next
            });
        if slice.key || slice.reference {
            self.previous = Some(slice.frame_num);
        }
        follows_gap
    }
}

struct Slice {
    size: PictureSize,
    key: bool,
    reference: bool,
    frame_num: u16,
    max_frame_num: u32,
    is_bidirectional: bool,
    /// The parameter set announces reordering (ITU-T H.264 section E.2.1, `max_num_reorder_frames`).
    reorders: bool,
}

impl Slice {
    fn parse(context: &h264_reader::Context, unit: &[u8]) -> Option<Self> {
        let nal = RefNal::new(unit, &[], true);
        let header = nal.header().ok()?;
        let mut bits = nal.rbsp_bits();
        let (slice, sequence, _) = SliceHeader::from_bits(context, &mut bits, header, None).ok()?;
        let restrictions =
            sequence.vui_parameters.as_ref().and_then(|vui| vui.bitstream_restrictions.as_ref());
        Some(Self {
            is_bidirectional: slice.slice_type.family == SliceFamily::B,
            reorders: restrictions.is_some_and(|restrictions| restrictions.max_num_reorder_frames > 0),
            size: picture_size(sequence)?,
            key: NalType::of(unit) == Some(NalType::IdrSlice),
            reference: header.nal_ref_idc() != 0,
            frame_num: slice.frame_num,
            max_frame_num: 1 << sequence.log2_max_frame_num(),
        })
    }
}

/// The size of decoded pictures; `None` where it is out of bounds, interlaced or not 8-bit 4:2:0.
fn picture_size(parameters: &SeqParameterSet) -> Option<PictureSize> {
    use h264_reader::nal::sps::ChromaFormat;
    let chroma = &parameters.chroma_info;
    let plain = chroma.chroma_format == ChromaFormat::YUV420
        && chroma.bit_depth_luma_minus8 == 0
        && chroma.bit_depth_chroma_minus8 == 0
        && matches!(parameters.frame_mbs_flags, FrameMbsFlags::Frames);
    // Compared before any computation, because they may be any number.
    let most = PictureSize::MAX_SIDE / 16;
    let (width, height) = (parameters.pic_width_in_mbs_minus1, parameters.pic_height_in_map_units_minus1);
    if !plain || width >= most || height >= most {
        return None;
    }
    let (width, height) = parameters.pixel_dimensions().ok()?;
    PictureSize::new(width & !1, height & !1).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoder::{Encoded, LiveEncoder, LiveEncoderConfig, VideoEncoder};
    use crate::input::{PictureSource, Synthetic};
    use seaway_units::{Bitrate, TimeDelta};

    /// A key frame and the frame after it.
    fn frames() -> [Vec<u8>; 2] {
        let mut source = Synthetic::from_specification("64x48").unwrap();
        let (frame_rate, start) = (source.format().frame_rate, Bitrate::from_mbps(1));
        let config = LiveEncoderConfig { frame_rate, start, latency: TimeDelta::ZERO };
        let mut encoder = LiveEncoder::new(config).unwrap();
        std::array::from_fn(|_| match encoder.encode(&source.next_picture().unwrap().unwrap()).unwrap() {
            Encoded::Frame(frame) => frame.data,
            Encoded::Skipped => panic!("the rate carries every picture"),
        })
    }

    fn types(stream: &[u8]) -> Vec<NalType> {
        nal_units(stream).filter_map(NalType::of).collect()
    }

    #[test]
    fn parameter_sets_may_come_alone() {
        let [key, next] = frames();
        let (mut sets, mut slices) = (Vec::new(), Vec::new());
        for unit in nal_units(&key) {
            let idr = NalType::of(unit) == Some(NalType::IdrSlice);
            append_nal(unit, if idr { &mut slices } else { &mut sets });
        }
        let mut inspector = Inspector::default();
        assert_eq!(inspector.inspect(&slices).unwrap_err(), Refusal::BadSlice);
        assert_eq!(inspector.inspect(&sets).unwrap_err(), Refusal::NoPicture);
        let passed = inspector.inspect(&slices).unwrap();
        let expected = [NalType::SequenceParameters, NalType::PictureParameters, NalType::IdrSlice];
        assert_eq!((types(passed.stream).as_slice(), passed.key), (expected.as_slice(), true));
        assert_eq!(passed.size.to_string(), "64x48");
        let passed = inspector.inspect(&next).unwrap();
        assert_eq!(types(passed.stream), [NalType::Slice]);
        assert!(!passed.key && !passed.follows_gap);
    }

    #[test]
    fn a_frame_without_its_key_frame_follows_a_gap() {
        let [key, next] = frames();
        let mut inspector = Inspector::default();
        assert!(!inspector.inspect(&key).unwrap().follows_gap);
        inspector.previous = Some(7);
        assert!(inspector.inspect(&next).unwrap().follows_gap);
    }
}
