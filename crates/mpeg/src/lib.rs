//! MPEG-1 and MPEG-2 video: parser, writer, decoder and rate shaper.

pub mod bits;
pub mod container;
pub mod decode;
pub mod header;
mod motion;
pub mod picture;
pub mod pipeline;
pub mod shape;
mod slice;
pub mod startcode;
pub mod tables;
pub mod unit;
mod vlc;
mod write;
