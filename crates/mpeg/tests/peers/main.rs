//! Streams of all kinds next to other people's decoders: ours sees what they see, and what the shaper makes of a stream
//! is read there without a word. Skipped where a tool is missing.

mod encoders;
mod macroblocks;
mod movement;
mod stream;
mod syntax;
mod tools;
