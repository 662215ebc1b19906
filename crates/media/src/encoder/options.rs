//! The run-time option of the encoder that its safe wrapper does not offer.

#![expect(unsafe_code, reason = "the wrapper offers no run-time options but through its raw interface")]

use crate::Error;
use openh264::encoder::Encoder;
use openh264_sys2 as sys;
use std::ffi::{c_int, c_void};

/// Sets the quantiser of the pictures from the next on. The encoder must have coded a picture, and its own
/// rate control must be off.
///
/// There is no option for the quantiser alone: all parameters are read, one is changed, and all are set again. If the size
/// is unchanged the library applies them without a restart.
pub(super) fn set_quantiser(encoder: &mut Encoder, quantiser: u8) -> Result<(), Error> {
    let option = sys::ENCODER_OPTION_SVC_ENCODE_PARAM_EXT;
    let mut parameters = sys::SEncParamExt::default();
    // SAFETY: this option writes one SEncParamExt, which lives on this stack frame. The encoder is
    // initialised, because a picture has been coded; the library keeps no pointer.
    let code = unsafe { encoder.raw_api().get_option(option, (&raw mut parameters).cast::<c_void>()) };
    check("read parameters", code)?;
    parameters.sSpatialLayers[0].iDLayerQp = c_int::from(quantiser);
    // SAFETY: this option reads one SEncParamExt; the pointer leads to the one filled above.
    let code = unsafe { encoder.raw_api().set_option(option, (&raw mut parameters).cast::<c_void>()) };
    check("set quantiser", code)
}

fn check(operation: &'static str, code: c_int) -> Result<(), Error> {
    match code {
        0 => Ok(()),
        code => Err(Error::Codec { operation, reason: format!("return code {code}") }),
    }
}
