//! The run-time options of the encoder that its safe wrapper does not offer.

#![expect(unsafe_code, reason = "the wrapper offers no run-time options but through its raw interface")]

use crate::Error;
use openh264::encoder::Encoder;
use openh264_sys2 as sys;
use seaway_units::Bitrate;
use std::ffi::c_void;

/// The rates OpenH264 takes; it clamps to these itself.
const RATES: std::ops::RangeInclusive<u64> = 1..=2_147_483;

/// Sets the rate of a running encoder. `raised` says that it is above the one before.
///
/// The order matters: a layer has a maximum of its own, which rejects a higher rate, and asking for a lower
/// maximum than the present rate is an error in its turn. So raise the maximum of layer 0 before raising the
/// rate, and leave it alone when lowering.
pub(super) fn set_rate(encoder: &mut Encoder, rate: Bitrate, raised: bool) -> Result<(), Error> {
    let rate = (rate.as_bps() / 1000).clamp(*RATES.start(), *RATES.end()) as i32 * 1000;
    if raised {
        let mut maximum = sys::SBitrateInfo { iLayer: sys::SPATIAL_LAYER_0, iBitrate: rate };
        set(encoder, "maximum rate", sys::ENCODER_OPTION_MAX_BITRATE, &mut maximum)?;
    }
    let mut target = sys::SBitrateInfo { iLayer: sys::SPATIAL_LAYER_ALL, iBitrate: rate };
    set(encoder, "rate", sys::ENCODER_OPTION_BITRATE, &mut target)
}

/// The mean quantiser of the picture coded last.
pub(super) fn last_quantiser(encoder: &mut Encoder) -> Result<u8, Error> {
    let mut statistics = sys::SEncoderStatistics::default();
    // SAFETY: GET_STATISTICS fills one SEncoderStatistics, which lives on this stack frame; the encoder is
    // initialised, because a picture has been coded.
    let code = unsafe {
        encoder
            .raw_api()
            .get_option(sys::ENCODER_OPTION_GET_STATISTICS, (&raw mut statistics).cast::<c_void>())
    };
    check("statistics", code)?;
    Ok(statistics.uiAverageFrameQP.min(51) as u8)
}

fn set<T>(
    encoder: &mut Encoder,
    operation: &'static str,
    option: sys::ENCODER_OPTION,
    value: &mut T,
) -> Result<(), Error> {
    // SAFETY: each caller passes the structure that this option reads, on its own stack frame; the library
    // copies from it and keeps no pointer. The encoder is initialised: callers ask only after a picture.
    let code = unsafe { encoder.raw_api().set_option(option, (&raw mut *value).cast::<c_void>()) };
    check(operation, code)
}

fn check(operation: &'static str, code: std::ffi::c_int) -> Result<(), Error> {
    match code {
        0 => Ok(()),
        code => Err(Error::Codec { operation, reason: format!("return code {code}") }),
    }
}
