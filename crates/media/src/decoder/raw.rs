//! Calls of the decoder that its safe wrapper does not offer: error concealment, and pictures with a warning, which the
//! wrapper replaces by an error.

#![expect(unsafe_code, reason = "the wrapper offers no concealment but through its raw interface")]

use crate::Error;
use crate::picture::PlaneView;
use openh264::decoder::Decoder;
use openh264_sys2 as sys;
use std::ffi::{c_int, c_void};

/// Enables error concealment, across key frames too.
pub(super) fn conceal(decoder: &mut Decoder) -> Result<(), Error> {
    let mut method = sys::ERROR_CON_SLICE_MV_COPY_CROSS_IDR_FREEZE_RES_CHANGE;
    // SAFETY: this option reads one int, which lives on this stack frame; the decoder is initialised by the
    // wrapper's constructor.
    let code = unsafe {
        decoder.raw_api().set_option(sys::DECODER_OPTION_ERROR_CON_IDC, (&raw mut method).cast::<c_void>())
    };
    match code {
        0 => Ok(()),
        code => Err(Error::Codec { operation: "concealment", reason: format!("return code {code}") }),
    }
}

/// The output for one access unit.
pub(super) struct Output<'a> {
    /// The decoder reported no error.
    pub(super) sound: bool,
    /// The picture, in the decoder's memory.
    pub(super) picture: Option<[PlaneView<'a>; 3]>,
}

/// Decodes one access unit. Outputs its picture `at_once`, even if the stream allows reordering; else the one that is next to be
/// shown, if there is one.
pub(super) fn decode<'a>(decoder: &'a mut Decoder, unit: &[u8], at_once: bool) -> Output<'a> {
    let Ok(length) = c_int::try_from(unit.len()) else { return Output { sound: false, picture: None } };
    let mut planes = Planes::EMPTY;
    let mut info = sys::SBufferInfo::default();
    // SAFETY: `unit` is readable for `length` octets during the call; `planes` and `info` are ours, of the
    // types the call fills. The decoder is initialised by the wrapper's constructor.
    let mut state = unsafe {
        let planes = (&raw mut planes.0).cast();
        decoder.raw_api().decode_frame_no_delay(unit.as_ptr(), length, planes, &raw mut info)
    };
    if info.iBufferStatus != 1 && at_once && held_back(decoder) {
        // SAFETY: as above.
        state |= unsafe { decoder.raw_api().flush_frame((&raw mut planes.0).cast(), &raw mut info) };
    }
    Output { sound: state == 0, picture: planes.views(&info) }
}

fn held_back(decoder: &mut Decoder) -> bool {
    let mut count: c_int = 0;
    let option = sys::DECODER_OPTION_NUM_OF_FRAMES_REMAINING_IN_BUFFER;
    // SAFETY: this option writes one int, which lives on this stack frame.
    let code = unsafe { decoder.raw_api().get_option(option, (&raw mut count).cast::<c_void>()) };
    code == 0 && count > 0
}

/// Pointers to the planes.
struct Planes([*mut u8; 3]);

impl Planes {
    const EMPTY: Self = Self([std::ptr::null_mut(); 3]);

    /// The planes as slices; `None` where there is no picture. The caller bounds `'a` by its borrow of the
    /// decoder, whose memory it is.
    fn views<'a>(&self, info: &sys::SBufferInfo) -> Option<[PlaneView<'a>; 3]> {
        if info.iBufferStatus != 1 || self.0.iter().any(|plane| plane.is_null()) {
            return None;
        }
        // SAFETY: the only member of the union that this interface fills, and any bits are valid integers.
        let layout = unsafe { info.UsrData.sSystemBuffer };
        let [width, height] = [layout.iWidth, layout.iHeight].map(|side| usize::try_from(side).unwrap_or(0));
        let [luma, chroma] = layout.iStride.map(|stride| usize::try_from(stride).unwrap_or(0));
        if width < 2 || height < 2 || luma < width || chroma < width / 2 {
            return None;
        }
        let view = |plane: usize, stride: usize, width: usize, height: usize| {
            // SAFETY: with status 1 the pointer leads to `height` rows of `stride` samples, which stay until
            // the next call; that call needs the decoder mutably, and the views borrow it. The last row is
            // taken only as far as the picture goes.
            let data = unsafe { std::slice::from_raw_parts(self.0[plane], stride * (height - 1) + width) };
            PlaneView { data, stride, width, height }
        };
        Some([
            view(0, luma, width, height),
            view(1, chroma, width / 2, height / 2),
            view(2, chroma, width / 2, height / 2),
        ])
    }
}
