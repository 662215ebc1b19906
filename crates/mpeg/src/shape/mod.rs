//! Dynamic rate shaping (S002, section 2): lowers the rate of a coded stream without encoding it again.
//!
//! ```
//! use seaway_mpeg::shape::{Config, Method, Shaper, Target};
//!
//! # let input: &[u8] = b"\x00\x00\x01\xb3\x16\x01\x20\x13\xff\xff\xe0\x18\x00\x00\x01\x00\x00\x08\xff\xf8";
//! let mut shaper = Shaper::new(Config::new(Method::Memoryless, Target::Ratio(1.0)));
//! shaper.push(input);
//! shaper.finish();
//! let output: Vec<u8> = std::iter::from_fn(|| shaper.pull()).flat_map(|shaped| shaped.bytes).collect();
//! assert_eq!(output, input);
//! ```

mod auto;
mod batch;
mod candidates;
mod causal;
mod ceiling;
mod chains;
mod closed;
mod coder;
mod config;
mod curve;
mod drift;
mod energy;
mod executor;
mod form_choice;
mod importance;
mod inputs;
mod intra_table;
mod lagrangian;
mod lambda_search;
mod lengths;
mod levels;
mod loop_choice;
mod motion_choice;
mod motion_search;
mod parallel;
mod path;
mod picture;
mod place;
mod rate_control;
mod recode;
mod report;
mod requantize;
mod requantize_closed;
mod scale_choice;
mod scale_map;
mod seconds;
mod shaper;
mod slope;
mod spare;
mod trellis;
mod truncation;
mod window;
mod window_share;

pub use config::{Budget, Ceiling, ClosedLoop, Cluster, Config, Method, Target, Vbv};
pub(crate) use lambda_search::LEAST_LAMBDA;
#[cfg(test)]
pub(crate) use picture::PictureShaper;
pub(crate) use rate_control::Planned;
pub use report::{LeftAlone, PictureReport, Shaped};
pub use shaper::Shaper;
