#![no_main]
//! H.264 byte streams, cut into payloads and put together again.

#[path = "../../crates/wire/tests/exercise/mod.rs"]
mod exercise;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| exercise::h264_stream(bytes));
