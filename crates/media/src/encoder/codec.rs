//! OpenH264's encoder with what its safe wrapper does not offer: the quantiser of each picture, from the first one on.

#![expect(unsafe_code, reason = "the wrapper sets no quantiser but through its raw interface")]

use super::LiveEncoder;
use crate::{Error, FrameId, FrameRate, Picture, PicturePool, PictureSize};
use openh264::encoder as wrapper;
use openh264::formats::YUVSource;
use openh264_sys2 as sys;
use seaway_units::TimeDelta;
use std::ffi::{c_int, c_void};
use std::slice;

/// The codec with one thread, its own rate control off, and key frames on request only. It takes the size of each picture.
pub(super) struct Codec {
    encoder: wrapper::Encoder,
    /// As they are set.
    parameters: sys::SEncParamExt,
}

impl Codec {
    /// The codec before its first picture.
    ///
    /// # Errors
    /// The library cannot be set up.
    pub(super) fn new(frame_rate: FrameRate) -> Result<Self, Error> {
        let quantisers = LiveEncoder::QUANTISERS;
        let setup = wrapper::EncoderConfig::new()
            .usage_type(wrapper::UsageType::CameraVideoRealTime)
            .rate_control_mode(wrapper::RateControlMode::Off)
            .max_frame_rate(wrapper::FrameRate::from_hz(frame_rate.hz() as f32))
            .qp(wrapper::QpRange::new(*quantisers.start(), *quantisers.end()))
            // Receivers request key frames; one on a scene change would only make the burst larger.
            .scene_change_detect(false)
            .intra_frame_period(wrapper::IntraFramePeriod::from_num_frames(0))
            .skip_frames(false)
            .num_threads(1);
        let library = openh264::OpenH264API::from_source();
        let mut encoder =
            wrapper::Encoder::with_api_config(library, setup).map_err(Error::codec("set-up"))?;
        // Parameters can be set once a picture was coded: the smallest one, which nobody sees.
        let smallest = PicturePool::new(PictureSize::new(16, 16)?).take();
        encoder.encode(&smallest.finish(FrameId(0), TimeDelta::ZERO)).map_err(Error::codec("set-up"))?;
        let parameters = read_parameters(&mut encoder)?;
        Ok(Self { encoder, parameters })
    }

    /// Codes a picture with a quantiser of 10 to 51; with `key`, or where it has another size than the one before, as a key frame.
    ///
    /// # Errors
    /// The library refuses the picture or a setting.
    pub(super) fn code(&mut self, picture: &Picture, quantiser: u8, key: bool) -> Result<Vec<u8>, Error> {
        let is_new_size = self.set(picture.size(), quantiser)?;
        if key || is_new_size {
            self.encoder.force_intra_frame();
        }
        let (width, height) = picture.dimensions_i32();
        let (luma, blue, red) = picture.strides_i32();
        let source = sys::SSourcePicture {
            iColorFormat: sys::videoFormatI420,
            iStride: [luma, blue, red, 0],
            pData: [
                picture.y().as_ptr().cast_mut(),
                picture.u().as_ptr().cast_mut(),
                picture.v().as_ptr().cast_mut(),
                std::ptr::null_mut(),
            ],
            iPicWidth: width,
            iPicHeight: height,
            uiTimeStamp: picture.time().as_millis().max(0),
            ..sys::SSourcePicture::default()
        };
        let mut output = sys::SFrameBSInfo::default();
        // SAFETY: the planes live as long as the call, which only reads them, and are as large as the size and the strides say. The
        // encoder is initialised, because a picture has been coded; it fills one SFrameBSInfo, which is ours.
        let code = unsafe { self.encoder.raw_api().encode_frame(&raw const source, &raw mut output) };
        check("encode", code)?;
        Ok(octets(&output))
    }

    /// Sets what differs; true where the size does, and the picture is to be a key frame.
    ///
    /// There is no option for the quantiser alone, so all parameters are set. If the size is unchanged the library applies them
    /// without a restart.
    fn set(&mut self, size: PictureSize, quantiser: u8) -> Result<bool, Error> {
        let (width, height) = (size.width() as c_int, size.height() as c_int);
        let is_new_size = (width, height) != (self.parameters.iPicWidth, self.parameters.iPicHeight);
        let quantiser = c_int::from(quantiser);
        if !is_new_size && quantiser == self.parameters.sSpatialLayers[0].iDLayerQp {
            return Ok(false);
        }
        let mut parameters = self.parameters;
        (parameters.iPicWidth, parameters.iPicHeight) = (width, height);
        let layer = &mut parameters.sSpatialLayers[0];
        (layer.iVideoWidth, layer.iVideoHeight, layer.iDLayerQp) = (width, height, quantiser);
        if is_new_size {
            layer.uiLevelIdc = sys::LEVEL_UNKNOWN;
        }
        let option = sys::ENCODER_OPTION_SVC_ENCODE_PARAM_EXT;
        // SAFETY: this option reads one SEncParamExt, which lives on this stack frame; the library keeps no pointer. The encoder is
        // initialised, because a picture has been coded.
        let code =
            unsafe { self.encoder.raw_api().set_option(option, (&raw mut parameters).cast::<c_void>()) };
        check("set quantiser", code)?;
        self.parameters = read_parameters(&mut self.encoder)?;
        Ok(is_new_size)
    }
}

/// The parameters of an encoder that has coded a picture.
fn read_parameters(encoder: &mut wrapper::Encoder) -> Result<sys::SEncParamExt, Error> {
    let mut parameters = sys::SEncParamExt::default();
    let option = sys::ENCODER_OPTION_SVC_ENCODE_PARAM_EXT;
    // SAFETY: this option writes one SEncParamExt, which lives on this stack frame; the library keeps no pointer.
    let code = unsafe { encoder.raw_api().get_option(option, (&raw mut parameters).cast::<c_void>()) };
    check("read parameters", code)?;
    Ok(parameters)
}

/// The coded picture as one byte stream.
fn octets(output: &sys::SFrameBSInfo) -> Vec<u8> {
    let mut data = Vec::with_capacity(usize::try_from(output.iFrameSizeInBytes).unwrap_or(0));
    let layers = usize::try_from(output.iLayerNum).unwrap_or(0);
    for layer in output.sLayerInfo.iter().take(layers) {
        let count = usize::try_from(layer.iNalCount).unwrap_or(0);
        if count == 0 || layer.pBsBuf.is_null() || layer.pNalLengthInByte.is_null() {
            continue;
        }
        // SAFETY: the codec wrote `count` lengths, and in `pBsBuf` their NAL units one behind the other. Both stay until the next
        // call, which needs the codec mutably.
        unsafe {
            let lengths = slice::from_raw_parts(layer.pNalLengthInByte, count);
            let length = lengths.iter().filter_map(|&length| usize::try_from(length).ok()).sum();
            data.extend_from_slice(slice::from_raw_parts(layer.pBsBuf, length));
        }
    }
    data
}

fn check(operation: &'static str, code: c_int) -> Result<(), Error> {
    match code {
        0 => Ok(()),
        code => Err(Error::Codec { operation, reason: format!("return code {code}") }),
    }
}

/// A picture is an input of the codec as it is.
impl YUVSource for Picture {
    fn dimensions(&self) -> (usize, usize) {
        (self.size().width() as usize, self.size().height() as usize)
    }

    fn strides(&self) -> (usize, usize, usize) {
        self.planes().map(|plane| plane.stride).into()
    }

    fn y(&self) -> &[u8] {
        self.planes()[0].data
    }

    fn u(&self) -> &[u8] {
        self.planes()[1].data
    }

    fn v(&self) -> &[u8] {
        self.planes()[2].data
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::h264::{NalType, nal_units};
    use crate::input::{PictureSource, Synthetic};
    use h264_reader::nal::pps::PicParameterSet;
    use h264_reader::nal::slice::SliceHeader;
    use h264_reader::nal::sps::SeqParameterSet;
    use h264_reader::nal::{Nal, RefNal};

    /// The quantiser in the header of the first slice (ITU-T H.264 section 7.4.3, `SliceQPY`), and whether it is of a key frame.
    fn quantiser(context: &mut h264_reader::Context, data: &[u8]) -> (i32, bool) {
        for unit in nal_units(data) {
            let nal = RefNal::new(unit, &[], true);
            match NalType::of(unit) {
                Some(NalType::SequenceParameters) => {
                    context.put_seq_param_set(SeqParameterSet::from_bits(nal.rbsp_bits()).unwrap());
                }
                Some(NalType::PictureParameters) => {
                    let parameters = PicParameterSet::from_bits(context, nal.rbsp_bits()).unwrap();
                    context.put_pic_param_set(parameters);
                }
                Some(kind @ (NalType::Slice | NalType::IdrSlice)) => {
                    let (mut bits, header) = (nal.rbsp_bits(), nal.header().unwrap());
                    let (slice, _, picture) =
                        SliceHeader::from_bits(context, &mut bits, header, None).unwrap();
                    let quantiser = 26 + picture.pic_init_qp_minus26 + slice.slice_qp_delta;
                    return (quantiser, kind == NalType::IdrSlice);
                }
                _ => {}
            }
        }
        panic!("no slice");
    }

    /// The first picture and those of a new size too, each coded once.
    #[test]
    fn every_key_frame_has_its_quantiser() {
        let mut codec = Codec::new(FrameRate::USUAL).unwrap();
        let mut context = h264_reader::Context::default();
        for (size, wanted) in [("320x180@25", 40), ("320x180@25", 20), ("160x90@25", 33), ("640x360@25", 33)]
        {
            let mut source = Synthetic::from_specification(size).unwrap();
            let picture = source.next_picture().unwrap().unwrap();
            let data = codec.code(&picture, wanted, true).unwrap();
            assert_eq!(quantiser(&mut context, &data), (i32::from(wanted), true), "{size}");
            let next = source.next_picture().unwrap().unwrap();
            let (_, is_key) = quantiser(&mut context, &codec.code(&next, wanted + 1, false).unwrap());
            assert!(!is_key, "{size}");
        }
        let mut source = Synthetic::from_specification("160x90@25").unwrap();
        let picture = source.next_picture().unwrap().unwrap();
        let data = codec.code(&picture, 25, false).unwrap();
        assert_eq!(quantiser(&mut context, &data), (25, true), "a new size needs a key frame");
    }
}
