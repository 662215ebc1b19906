//! MPEG-1 and MPEG-2 video: parser, writer, decoder, and a rate shaper for elementary, program and transport streams and
//! Matroska.
//!
//! Shapes a stream to 80 % of its video rate:
//!
//! ```
//! use seaway_mpeg::container;
//! use seaway_mpeg::pipeline::{Config, Pipeline};
//! use seaway_mpeg::shape::{self, Method, Target};
//!
//! # fn main() -> Result<(), container::Error> {
//! # let input: &[u8] = include_bytes!("../tests/fixtures/program.vob");
//! let shaper = shape::Config::new(Method::Auto, Target::Ratio(0.8));
//! let mut pipeline = Pipeline::new(Config { shaper, container: container::Config::default() });
//! pipeline.announce_length(input.len() as u64);
//! let mut output = Vec::new();
//! for chunk in input.chunks(64 << 10) {
//!     pipeline.push(chunk)?;
//!     pipeline.drain_output(&mut output);
//! }
//! pipeline.finish()?;
//! pipeline.drain_output(&mut output);
//! let totals = pipeline.report().totals;
//! assert!((totals.bits_out as f64 / totals.bits_in as f64 - 0.8).abs() < 0.01);
//! # Ok(())
//! # }
//! ```

pub mod bits;
pub mod container;
mod dc;
pub mod decode;
pub mod header;
pub mod live;
mod motion;
pub mod picture;
pub mod pipeline;
pub mod shape;
mod slice;
pub mod startcode;
mod steps;
pub mod tables;
pub mod unit;
mod vlc;
mod write;
