//! The decoder (13818-2, clause 7), exact within the tolerance of the inverse transform.

pub(crate) mod block;
mod decoder;
pub(crate) mod frame;
pub(crate) mod idct;
pub(crate) mod predict;
pub(crate) mod prediction_loop;
pub(crate) mod reconstruct;

pub use decoder::{Decoded, Decoder, DecoderStats};
pub use frame::{Frame, Plane};
