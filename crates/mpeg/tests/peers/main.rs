//! Comparison with other decoders: they decode the same pictures as ours, and decode shaped streams without a warning.
//! Skipped where a tool is missing.

mod encoders;
mod macroblocks;
mod movement;
mod stream;
mod syntax;
mod tools;
