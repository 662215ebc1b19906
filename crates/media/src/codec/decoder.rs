//! OpenH264's decoder.

#![expect(unsafe_code, reason = "the wrapper offers no concealment but through its raw interface")]

use super::Output;
use crate::Error;
use crate::picture::PlaneView;
use openh264::decoder as library;
use openh264::formats::YUVSource;
use openh264_sys2 as sys;
use std::ffi::{c_int, c_void};

pub(crate) struct Decoder(library::Decoder);

impl Decoder {
    pub(crate) fn new() -> Result<Self, Error> {
        library::Decoder::new().map(Self).map_err(failed("decoder set-up"))
    }

    /// Enables error concealment, across key frames too.
    pub(crate) fn conceal(&mut self) -> Result<(), Error> {
        let mut method = sys::ERROR_CON_SLICE_MV_COPY_CROSS_IDR_FREEZE_RES_CHANGE;
        // SAFETY: this option reads one int, which lives on this stack frame; the decoder is initialised by the
        // wrapper's constructor.
        let code = unsafe {
            self.0.raw_api().set_option(sys::DECODER_OPTION_ERROR_CON_IDC, (&raw mut method).cast::<c_void>())
        };
        match code {
            0 => Ok(()),
            code => Err(Error::Codec { operation: "concealment", reason: format!("return code {code}") }),
        }
    }

    /// Decodes one access unit. Outputs its picture `at_once`, even if the stream allows reordering; else the one that is next
    /// to be shown, if there is one.
    pub(crate) fn decode(&mut self, unit: &[u8], at_once: bool) -> Output<'_> {
        let Ok(length) = c_int::try_from(unit.len()) else { return Output { sound: false, picture: None } };
        let mut planes = Planes::EMPTY;
        let mut info = sys::SBufferInfo::default();
        // SAFETY: `unit` is readable for `length` octets during the call; `planes` and `info` are ours, of the
        // types the call fills. The decoder is initialised by the wrapper's constructor.
        let mut state = unsafe {
            let planes = (&raw mut planes.0).cast();
            self.0.raw_api().decode_frame_no_delay(unit.as_ptr(), length, planes, &raw mut info)
        };
        if info.iBufferStatus != 1 && at_once && self.holds_back() {
            // SAFETY: as above.
            state |= unsafe { self.0.raw_api().flush_frame((&raw mut planes.0).cast(), &raw mut info) };
        }
        Output { sound: state == 0, picture: planes.views(&info) }
    }

    fn holds_back(&mut self) -> bool {
        let mut count: c_int = 0;
        let option = sys::DECODER_OPTION_NUM_OF_FRAMES_REMAINING_IN_BUFFER;
        // SAFETY: this option writes one int, which lives on this stack frame.
        let code = unsafe { self.0.raw_api().get_option(option, (&raw mut count).cast::<c_void>()) };
        code == 0 && count > 0
    }

    /// Decodes one access unit and gives `take` the picture that is next to be shown, if there is one.
    pub(crate) fn decode_in_order(
        &mut self,
        unit: &[u8],
        take: impl FnOnce([PlaneView<'_>; 3]),
    ) -> Result<(), Error> {
        let later = library::DecodeOptions::new().flush_after_decode(library::Flush::NoFlush);
        let picture = self.0.decode_with_options(unit, later).map_err(failed("decode"))?;
        if let Some(picture) = picture {
            take(views(&picture));
        }
        Ok(())
    }

    /// Gives `take` the pictures that are held for reordering.
    pub(crate) fn drain(&mut self, mut take: impl FnMut([PlaneView<'_>; 3])) {
        let pictures = self.0.flush_remaining().unwrap_or_default();
        pictures.iter().for_each(|picture| take(views(picture)));
    }
}

fn failed(operation: &'static str) -> impl FnOnce(openh264::Error) -> Error {
    move |error| Error::Codec { operation, reason: error.to_string() }
}

fn views<'a>(picture: &'a library::DecodedYUV<'_>) -> [PlaneView<'a>; 3] {
    let (width, height) = picture.dimensions();
    let (luma, chroma, _) = picture.strides();
    [
        PlaneView { data: picture.y(), stride: luma, width, height },
        PlaneView { data: picture.u(), stride: chroma, width: width / 2, height: height / 2 },
        PlaneView { data: picture.v(), stride: chroma, width: width / 2, height: height / 2 },
    ]
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
