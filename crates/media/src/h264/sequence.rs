//! What the sequence parameter set of a stream says of the times of its pictures.

use super::{NalType, nal_units};
use crate::FrameRate;
use h264_reader::nal::sps::{PicOrderCntType, SeqParameterSet};
use h264_reader::nal::{Nal, RefNal};

/// The rate in the usability information of a sequence parameter set (ITU-T H.264 section E.2.1: two ticks a picture).
pub(crate) fn named_rate(access_unit: &[u8]) -> Option<FrameRate> {
    let timing = parameters(access_unit)?.vui_parameters?.timing_info?;
    FrameRate::new(timing.time_scale, timing.num_units_in_tick.checked_mul(2)?)
}

/// Whether pictures are decoded in another order than they are shown, as with B pictures; `None` for an access unit without a
/// sequence parameter set. One that says nothing of it may do so.
pub fn reorders(access_unit: &[u8]) -> Option<bool> {
    let parameters = parameters(access_unit)?;
    if matches!(parameters.pic_order_cnt, PicOrderCntType::TypeTwo) {
        return Some(false);
    }
    let restrictions = parameters.vui_parameters.and_then(|vui| vui.bitstream_restrictions);
    let is_baseline = u8::from(parameters.profile_idc) == BASELINE;
    Some(restrictions.map_or(!is_baseline, |restrictions| restrictions.max_num_reorder_frames > 0))
}

/// The profile without B slices (section A.2.1).
const BASELINE: u8 = 66;

fn parameters(access_unit: &[u8]) -> Option<SeqParameterSet> {
    let unit = nal_units(access_unit).find(|unit| NalType::of(unit) == Some(NalType::SequenceParameters))?;
    SeqParameterSet::from_bits(RefNal::new(unit, &[], true).rbsp_bits()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoder::{Encoded, LiveEncoder, LiveEncoderConfig, VideoEncoder};
    use crate::input::{PictureSource, Synthetic, open_coded_bytes};
    use seaway_units::{Bitrate, TimeDelta};

    #[test]
    fn what_streams_say() {
        let mut source = Synthetic::from_specification("64x48").unwrap();
        let (frame_rate, start) = (source.format().frame_rate, Bitrate::from_mbps(1));
        let mut encoder =
            LiveEncoder::new(LiveEncoderConfig { frame_rate, start, latency: TimeDelta::ZERO }).unwrap();
        let Encoded::Frame(live) = encoder.encode(&source.next_picture().unwrap().unwrap()).unwrap() else {
            panic!("the rate carries the first picture");
        };
        assert_eq!(reorders(&live.data), Some(false));
        let mut clip = open_coded_bytes(crate::clip::BIG_BUCK_BUNNY).unwrap();
        let first = clip.next_picture().unwrap().unwrap().data;
        assert_eq!((reorders(&first), named_rate(&first)), (Some(false), Some(FrameRate::USUAL)));
        let second = clip.next_picture().unwrap().unwrap().data;
        assert_eq!((reorders(&second), named_rate(&second)), (None, None));
    }

    /// As x264 writes it with B pictures, and the same set cut off before it says so.
    #[test]
    fn pictures_may_be_reordered() {
        let set = [
            0, 0, 1, 0x67, 0x64, 0, 0x0c, 0xac, 0xd9, 0x41, 0x41, 0x9f, 0x9f, 1, 0x10, 0, 0, 3, 0, 0x10, 0,
            0, 3, 3, 0x20, 0xf1, 0x42, 0x99, 0x60,
        ];
        assert_eq!((reorders(&set), named_rate(&set)), (Some(true), Some(FrameRate::USUAL)));
        for length in 0..set.len() {
            assert_ne!(reorders(&set[..length]), Some(false), "{length}");
        }
    }
}
