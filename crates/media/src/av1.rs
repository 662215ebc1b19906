//! AV1: what a recording needs of the sequence header (AV1 bitstream specification section 5.5). Pictures are not decoded.

use crate::PictureSize;
use h264_reader::rbsp::{BitRead, BitReader, BitReaderError};
use seaway_wire::av1::{Obu, obu_type};

/// The OBUs of a temporal unit, up to the first that is malformed.
pub(crate) fn obus(temporal_unit: &[u8]) -> impl Iterator<Item = Obu<'_>> {
    let mut rest = temporal_unit;
    std::iter::from_fn(move || {
        let (obu, left) = Obu::split(rest).ok()?;
        rest = left;
        Some(obu)
    })
}

/// The sequence header of a temporal unit.
pub(crate) fn sequence_header(temporal_unit: &[u8]) -> Option<Obu<'_>> {
    obus(temporal_unit).find(|obu| obu.obu_type() == obu_type::SEQUENCE_HEADER)
}

/// Whether a temporal unit has a frame; and whether that is a key frame which no other is needed for.
pub(crate) fn first_frame(temporal_unit: &[u8]) -> Option<bool> {
    let frame =
        obus(temporal_unit).find(|obu| matches!(obu.obu_type(), obu_type::FRAME_HEADER | obu_type::FRAME))?;
    // `show_existing_frame`, and `frame_type`.
    let is_key = frame.data.first().is_some_and(|first| first & 0xE0 == 0);
    Some(is_key && sequence_header(temporal_unit).is_some())
}

/// What a sequence header says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SequenceHeader {
    pub(crate) size: PictureSize,
    pub(crate) profile: u8,
    /// Of the first operating point.
    pub(crate) level: u8,
    pub(crate) tier: bool,
    pub(crate) has_high_depth: bool,
    pub(crate) has_twelve_bits: bool,
    pub(crate) is_monochrome: bool,
    pub(crate) subsampling: [bool; 2],
    pub(crate) chroma_position: u8,
}

impl SequenceHeader {
    /// That of a temporal unit; `None` where it has none that can be read, or a size beyond what is received.
    pub(crate) fn of(temporal_unit: &[u8]) -> Option<Self> {
        Self::parse(&mut BitReader::new(sequence_header(temporal_unit)?.data)).ok().flatten()
    }

    fn parse(reader: &mut impl BitRead) -> Result<Option<Self>, BitReaderError> {
        let profile = reader.read::<3, u8>("seq_profile")?;
        reader.read_bit("still_picture")?;
        let is_reduced = reader.read_bit("reduced_still_picture_header")?;
        let (level, tier) = if is_reduced {
            (reader.read::<5, u8>("seq_level_idx")?, false)
        } else {
            operating_points(reader)?
        };
        let bits =
            [reader.read::<4, u32>("frame_width_bits")? + 1, reader.read::<4, u32>("frame_height_bits")? + 1];
        let width = reader.read_var::<u32>(bits[0], "max_frame_width_minus_1")? + 1;
        let height = reader.read_var::<u32>(bits[1], "max_frame_height_minus_1")? + 1;
        skip_tools(reader, is_reduced)?;
        let (depths, is_monochrome, subsampling, chroma_position) = color(reader, profile)?;
        let [has_high_depth, has_twelve_bits] = depths;
        Ok(PictureSize::new(width, height).ok().map(|size| Self {
            size,
            profile,
            level,
            tier,
            has_high_depth,
            has_twelve_bits,
            is_monochrome,
            subsampling,
            chroma_position,
        }))
    }
}

/// Level and tier of the first operating point, behind the times that stand before them.
fn operating_points(reader: &mut impl BitRead) -> Result<(u8, bool), BitReaderError> {
    let mut delay_bits = None;
    if reader.read_bit("timing_info_present_flag")? {
        reader.skip(64, "time_scale")?;
        if reader.read_bit("equal_picture_interval")? {
            // The code uvlc() has the bits of ue(v).
            reader.read_ue("num_ticks_per_picture_minus_1")?;
        }
        if reader.read_bit("decoder_model_info_present_flag")? {
            delay_bits = Some(reader.read::<5, u32>("buffer_delay_length_minus_1")? + 1);
            reader.skip(42, "decoder_model_info")?;
        }
    }
    let has_display_delay = reader.read_bit("initial_display_delay_present_flag")?;
    let mut first = None;
    for _ in 0..=reader.read::<5, u8>("operating_points_cnt_minus_1")? {
        reader.skip(12, "operating_point_idc")?;
        let level = reader.read::<5, u8>("seq_level_idx")?;
        let tier = level > 7 && reader.read_bit("seq_tier")?;
        if let Some(bits) = delay_bits
            && reader.read_bit("decoder_model_present_for_this_op")?
        {
            reader.skip(2 * bits + 1, "operating_parameters_info")?;
        }
        if has_display_delay && reader.read_bit("initial_display_delay_present_for_this_op")? {
            reader.skip(4, "initial_display_delay_minus_1")?;
        }
        first.get_or_insert((level, tier));
    }
    Ok(first.unwrap_or_default())
}

/// What stands between the size and the colours.
fn skip_tools(reader: &mut impl BitRead, is_reduced: bool) -> Result<(), BitReaderError> {
    if !is_reduced && reader.read_bit("frame_id_numbers_present_flag")? {
        reader.skip(7, "frame_id_length")?;
    }
    reader.skip(3, "use_128x128_superblock")?;
    if !is_reduced {
        reader.skip(4, "enable_interintra_compound")?;
        let has_order = reader.read_bit("enable_order_hint")?;
        if has_order {
            reader.skip(2, "enable_jnt_comp")?;
        }
        let chooses_tools = reader.read_bit("seq_choose_screen_content_tools")?;
        let has_tools = chooses_tools || reader.read_bit("seq_force_screen_content_tools")?;
        if has_tools && !reader.read_bit("seq_choose_integer_mv")? {
            reader.read_bit("seq_force_integer_mv")?;
        }
        if has_order {
            reader.skip(3, "order_hint_bits_minus_1")?;
        }
    }
    reader.skip(3, "enable_superres")
}

/// Depths above 8 and 10 bits, monochrome, subsampling of both axes, and where chroma samples are.
fn color(reader: &mut impl BitRead, profile: u8) -> Result<([bool; 2], bool, [bool; 2], u8), BitReaderError> {
    let is_high = reader.read_bit("high_bitdepth")?;
    let is_twelve = profile == 2 && is_high && reader.read_bit("twelve_bit")?;
    let depths = [is_high, is_twelve];
    let is_monochrome = profile != 1 && reader.read_bit("mono_chrome")?;
    let mut description = [2; 3];
    if reader.read_bit("color_description_present_flag")? {
        for part in &mut description {
            *part = reader.read::<8, u8>("color_description")?;
        }
    }
    if is_monochrome {
        return Ok((depths, true, [true; 2], 0));
    }
    // BT.709 primaries, sRGB, identity: 4:4:4.
    if description == [1, 13, 0] {
        return Ok((depths, false, [false; 2], 0));
    }
    reader.read_bit("color_range")?;
    let subsampling = match profile {
        0 => [true; 2],
        1 => [false; 2],
        _ if is_twelve => {
            let x = reader.read_bit("subsampling_x")?;
            [x, x && reader.read_bit("subsampling_y")?]
        }
        _ => [true, false],
    };
    let position =
        if subsampling == [true; 2] { reader.read::<2, u8>("chroma_sample_position")? } else { 0 };
    Ok((depths, false, subsampling, position))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// As SVT-AV1 writes it for 320x180, with its size.
    pub(crate) const SEQUENCE: [u8; 13] = [0x0A, 0x0B, 0, 0, 0, 4, 0x3C, 0xFE, 0xCC, 0x4A, 0xF9, 0, 0x40];

    #[test]
    fn what_svt_av1_writes() {
        let header = SequenceHeader::of(&SEQUENCE).unwrap();
        assert_eq!(header.size, PictureSize::new(320, 180).unwrap());
        assert_eq!((header.profile, header.level, header.tier), (0, 0, false));
        assert_eq!(
            (header.has_high_depth, header.is_monochrome, header.subsampling),
            (false, false, [true; 2])
        );
        for length in 0..SEQUENCE.len() {
            assert_eq!(SequenceHeader::of(&SEQUENCE[..length]), None, "{length}");
        }
        let unit = [&[0x12, 0][..], &SEQUENCE, &[0x32, 1, 0x10]].concat();
        assert_eq!(obus(&unit).map(|obu| obu.data.len()).collect::<Vec<_>>(), [0, 11, 1]);
        assert_eq!((first_frame(&unit), first_frame(&[0x32, 1, 0x30])), (Some(true), Some(false)));
        assert_eq!(first_frame(&[0x32, 1, 0x80]), Some(false), "a frame that was coded before");
        assert_eq!(first_frame(&SEQUENCE), None);
    }

    proptest! {
        #[test]
        fn any_octets_are_safe(octets in prop::collection::vec(any::<u8>(), 0..60), changes in prop::collection::vec((0..13_usize, any::<u8>()), 0..4)) {
            SequenceHeader::of(&octets);
            SequenceHeader::of(&[&[0x0A, octets.len() as u8][..], &octets].concat());
            let mut set = SEQUENCE;
            changes.into_iter().for_each(|(at, value)| set[at] = value);
            SequenceHeader::of(&set);
            first_frame(&octets);
        }
    }
}
