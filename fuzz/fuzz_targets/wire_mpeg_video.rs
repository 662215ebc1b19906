#![no_main]
//! MPEG video payload headers (RFC 2250).

#[path = "../../crates/wire/tests/exercise/mod.rs"]
mod exercise;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| exercise::mpeg_video(bytes));
