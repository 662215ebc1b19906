//! A build without the H.264 library: no encoder or decoder can be made, so none of their methods can be called.

use super::Output;
use crate::picture::PlaneView;
use crate::{Error, FrameRate, Picture};
use std::ops::RangeInclusive;

#[derive(Debug)]
pub(crate) enum Encoder {}

impl Encoder {
    pub(crate) fn new(_: FrameRate, _: &RangeInclusive<u8>) -> Result<Self, Error> {
        Err(absent())
    }

    pub(crate) fn set_quantiser(&mut self, _: u8) -> Result<(), Error> {
        match *self {}
    }

    pub(crate) fn cut_into(&mut self, _: u16) -> Result<(), Error> {
        match *self {}
    }

    pub(crate) fn force_key_frame(&mut self) {
        match *self {}
    }

    pub(crate) fn encode(&mut self, _: &Picture) -> Result<Vec<u8>, Error> {
        match *self {}
    }
}

#[derive(Debug)]
pub(crate) enum Decoder {}

impl Decoder {
    pub(crate) fn new() -> Result<Self, Error> {
        Err(absent())
    }

    pub(crate) fn conceal(&mut self) -> Result<(), Error> {
        match *self {}
    }

    pub(crate) fn decode(&mut self, _: &[u8], _: bool) -> Output<'_> {
        match *self {}
    }

    pub(crate) fn decode_in_order(
        &mut self,
        _: &[u8],
        _: impl FnOnce([PlaneView<'_>; 3]),
    ) -> Result<(), Error> {
        match *self {}
    }

    pub(crate) fn drain(&mut self, _: impl FnMut([PlaneView<'_>; 3])) {
        match *self {}
    }
}

fn absent() -> Error {
    Error::Unsupported("this build has no H.264 codec".into())
}
