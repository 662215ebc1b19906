//! OpenH264's encoder.

#![expect(unsafe_code, reason = "the wrapper offers no run-time options but through its raw interface")]

use crate::{Error, FrameRate, Picture};
use openh264::encoder as library;
use openh264::formats::YUVSource;
use openh264_sys2 as sys;
use std::ffi::{c_int, c_void};
use std::ops::RangeInclusive;

/// The encoder with its own rate control off, and key frames on request only. It has one thread unless its pictures are
/// [cut](Self::cut_into).
pub(crate) struct Encoder(library::Encoder);

impl Encoder {
    pub(crate) fn new(frame_rate: FrameRate, quantisers: &RangeInclusive<u8>) -> Result<Self, Error> {
        let setup = library::EncoderConfig::new()
            .usage_type(library::UsageType::CameraVideoRealTime)
            .rate_control_mode(library::RateControlMode::Off)
            .max_frame_rate(library::FrameRate::from_hz(frame_rate.hz() as f32))
            .qp(library::QpRange::new(*quantisers.start(), *quantisers.end()))
            // Receivers request key frames; one on a scene change would only make the burst larger.
            .scene_change_detect(false)
            .intra_frame_period(library::IntraFramePeriod::from_num_frames(0))
            .skip_frames(false)
            // At equal octets medium gains at most 0.3 dB for a fifth more time.
            .complexity(library::Complexity::Low)
            // What it takes for background is not refined any more: 4.5 dB less on Akiyo at 600 kbit/s.
            .background_detection(false)
            // It changes no octet while the library's own rate control is off.
            .adaptive_quantization(false)
            .num_threads(1);
        let api = openh264::OpenH264API::from_source();
        library::Encoder::with_api_config(api, setup).map(Self).map_err(failed("set-up"))
    }

    /// Sets the quantiser of the pictures from the next on. The encoder must have coded a picture, and its own
    /// rate control must be off.
    ///
    /// If the size is unchanged the library applies it without a restart.
    pub(crate) fn set_quantiser(&mut self, quantiser: u8) -> Result<(), Error> {
        self.change(|parameters| parameters.sSpatialLayers[0].iDLayerQp = c_int::from(quantiser))
    }

    /// Cuts pictures of the present size into so many slices, each coded by a thread of its own. The encoder must have coded a
    /// picture, and begins anew: the next one is a key frame.
    pub(crate) fn cut_into(&mut self, slices: u16) -> Result<(), Error> {
        self.change(|parameters| {
            parameters.iMultipleThreadIdc = slices;
            // By the time that slices took before, two runs would differ.
            parameters.bUseLoadBalancing = false;
            let argument = &mut parameters.sSpatialLayers[0].sSliceArgument;
            argument.uiSliceMode = sys::SM_FIXEDSLCNUM_SLICE;
            argument.uiSliceNum = slices.into();
        })
    }

    /// There is no option for one parameter alone: all are read, some are changed, and all are set again.
    fn change(&mut self, change: impl FnOnce(&mut sys::SEncParamExt)) -> Result<(), Error> {
        let option = sys::ENCODER_OPTION_SVC_ENCODE_PARAM_EXT;
        let mut parameters = sys::SEncParamExt::default();
        // SAFETY: this option writes one SEncParamExt, which lives on this stack frame. The encoder is
        // initialised, because a picture has been coded; the library keeps no pointer.
        let code = unsafe { self.0.raw_api().get_option(option, (&raw mut parameters).cast::<c_void>()) };
        check("read parameters", code)?;
        change(&mut parameters);
        // SAFETY: this option reads one SEncParamExt; the pointer leads to the one filled above.
        let code = unsafe { self.0.raw_api().set_option(option, (&raw mut parameters).cast::<c_void>()) };
        check("set parameters", code)
    }

    /// Codes the next picture as a key frame.
    pub(crate) fn force_key_frame(&mut self) {
        self.0.force_intra_frame();
    }

    /// Codes one picture: an access unit as an Annex B byte stream.
    pub(crate) fn encode(&mut self, picture: &Picture) -> Result<Vec<u8>, Error> {
        let millis = u64::try_from(picture.time().as_millis()).unwrap_or(0);
        let time = openh264::Timestamp::from_millis(millis);
        Ok(self.0.encode_at(picture, time).map_err(failed("encode"))?.to_vec())
    }
}

fn check(operation: &'static str, code: c_int) -> Result<(), Error> {
    match code {
        0 => Ok(()),
        code => Err(Error::Codec { operation, reason: format!("return code {code}") }),
    }
}

fn failed(operation: &'static str) -> impl FnOnce(openh264::Error) -> Error {
    move |error| Error::Codec { operation, reason: error.to_string() }
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
