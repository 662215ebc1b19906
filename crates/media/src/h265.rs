//! H.265 byte streams: what a recording needs of their parameter sets (ITU-T H.265 section 7.3). Pictures are not decoded.

use crate::PictureSize;
use crate::h264::nal_units;
use h264_reader::rbsp::{BitRead, BitReader, BitReaderError, ByteReader};
use seaway_wire::h265::{self, nal_type};
use std::num::NonZeroUsize;

/// Octets of a NAL unit's header.
const HEADER_LEN: NonZeroUsize = NonZeroUsize::new(h265::HEADER_LEN).expect("two");
/// Octets of the general part of profile, tier and level.
const GENERAL: usize = 12;

/// The type of a NAL unit; `None` where it has no header.
pub(crate) fn type_of(nal: &[u8]) -> Option<u8> {
    h265::NalHeader::of(nal).map(h265::NalHeader::nal_type)
}

/// What a sequence parameter set says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SequenceParameters {
    /// The size of the pictures as they are shown.
    pub(crate) size: PictureSize,
    /// Pictures are decoded in another order than they are shown.
    pub(crate) reorders: bool,
    /// Profile, tier and level as they are coded.
    pub(crate) general: [u8; GENERAL],
    pub(crate) chroma_format: u8,
    pub(crate) luma_depth: u8,
    pub(crate) chroma_depth: u8,
    /// How many temporal layers there are, and whether their pictures refer to lower ones alone.
    pub(crate) layers: u8,
    pub(crate) is_nested: bool,
}

impl SequenceParameters {
    /// Those of the first sequence parameter set of an access unit; `None` where it has none that can be read.
    pub(crate) fn of(access_unit: &[u8]) -> Option<Self> {
        let unit = nal_units(access_unit).find(|unit| type_of(unit) == Some(nal_type::SPS))?;
        Self::parse(unit).ok().flatten()
    }

    /// Reads a NAL unit; `None` where it holds what the format forbids, or a size beyond what is received.
    fn parse(unit: &[u8]) -> Result<Option<Self>, BitReaderError> {
        let mut reader = BitReader::new(ByteReader::skipping_bytes(unit, HEADER_LEN));
        reader.skip(4, "sps_video_parameter_set_id")?;
        let layers = reader.read::<3, u8>("sps_max_sub_layers_minus1")? + 1;
        let is_nested = reader.read_bit("sps_temporal_id_nesting_flag")?;
        let mut general = [0; GENERAL];
        for octet in &mut general {
            *octet = reader.read::<8, u8>("profile_tier_level")?;
        }
        skip_sub_layers(&mut reader, layers - 1)?;
        reader.read_ue("sps_seq_parameter_set_id")?;
        let chroma_format = reader.read_ue("chroma_format_idc")?;
        if chroma_format == 3 {
            reader.read_bit("separate_colour_plane_flag")?;
        }
        let coded = [reader.read_ue("pic_width")?, reader.read_ue("pic_height")?];
        let mut cropped = [0_u64; 4];
        if reader.read_bit("conformance_window_flag")? {
            for side in &mut cropped {
                *side = reader.read_ue("conf_win_offset")?.into();
            }
        }
        let depths = [reader.read_ue("bit_depth_luma_minus8")?, reader.read_ue("bit_depth_chroma_minus8")?];
        reader.read_ue("log2_max_pic_order_cnt_lsb_minus4")?;
        let has_all = reader.read_bit("sps_sub_layer_ordering_info_present_flag")?;
        let mut reorders = false;
        for _ in if has_all { 0 } else { layers - 1 }..layers {
            reader.read_ue("sps_max_dec_pic_buffering_minus1")?;
            reorders = reader.read_ue("sps_max_num_reorder_pics")? > 0;
            reader.read_ue("sps_max_latency_increase_plus1")?;
        }
        // Table 6-1: what a unit of the cropping window is in luma samples.
        let units: [u64; 2] = match chroma_format {
            1 => [2, 2],
            2 => [2, 1],
            0 | 3 => [1, 1],
            _ => return Ok(None),
        };
        let [left, right, top, bottom] = cropped;
        let width = u64::from(coded[0]).checked_sub((left + right) * units[0]);
        let height = u64::from(coded[1]).checked_sub((top + bottom) * units[1]);
        let side = |side: Option<u64>| u32::try_from(side.unwrap_or(0)).unwrap_or(0);
        let size = PictureSize::new(side(width), side(height)).ok();
        // What three bits of a recording hold; seven layers are the most that there can be.
        let is_known = layers <= 7 && depths.iter().all(|depth| *depth <= 7);
        Ok(size.filter(|_| is_known).map(|size| Self {
            size,
            reorders,
            general,
            chroma_format: chroma_format as u8,
            luma_depth: depths[0] as u8,
            chroma_depth: depths[1] as u8,
            layers,
            is_nested,
        }))
    }
}

/// Profiles and levels of temporal layers below the highest.
fn skip_sub_layers(reader: &mut impl BitRead, below: u8) -> Result<(), BitReaderError> {
    let mut present = Vec::new();
    for _ in 0..below {
        present.push([
            reader.read_bit("sub_layer_profile_present_flag")?,
            reader.read_bit("sub_layer_level_present_flag")?,
        ]);
    }
    if below > 0 {
        reader.skip(2 * u32::from(8 - below), "reserved_zero_2bits")?;
    }
    for [has_profile, has_level] in present {
        reader.skip(
            if has_profile { 88 } else { 0 } + if has_level { 8 } else { 0 },
            "sub_layer_profile_level",
        )?;
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// As x265 writes it for 320x180 with B pictures.
    pub(crate) const SPS: [u8; 46] = [
        0, 0, 1, 0x42, 1, 1, 1, 0x60, 0, 0, 3, 0, 0x90, 0, 0, 3, 0, 0, 3, 0, 0x3c, 0xa0, 0x0a, 8, 0x0b, 0x9f,
        0x79, 0x65, 0x66, 0x92, 0x4c, 0xaf, 1, 0x68, 8, 0, 0, 3, 0, 8, 0, 0, 3, 0, 0xc8, 0x40,
    ];

    #[test]
    fn what_x265_writes() {
        let parameters = SequenceParameters::of(&SPS).unwrap();
        assert_eq!(parameters.size, PictureSize::new(320, 180).unwrap());
        assert!(parameters.reorders && parameters.is_nested);
        let SequenceParameters { chroma_format, luma_depth, chroma_depth, layers, .. } = parameters;
        assert_eq!((chroma_format, luma_depth, chroma_depth, layers), (1, 0, 0, 1));
        assert_eq!(parameters.general[0], 1, "the main profile");
        for length in 0..SPS.len() / 2 {
            assert_eq!(SequenceParameters::of(&SPS[..length]), None, "{length}");
        }
    }

    proptest! {
        #[test]
        fn any_octets_are_safe(octets in prop::collection::vec(any::<u8>(), 0..80), changes in prop::collection::vec((0..40_usize, any::<u8>()), 0..4)) {
            SequenceParameters::of(&[&[0, 0, 1, 0x42, 1][..], &octets].concat());
            let mut set = SPS.to_vec();
            for (at, value) in changes {
                let at = at % set.len();
                set[at] = value;
            }
            SequenceParameters::of(&set);
        }
    }
}
