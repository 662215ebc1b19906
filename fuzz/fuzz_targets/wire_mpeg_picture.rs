#![no_main]
//! Coded pictures of MPEG video, cut into payloads (RFC 2250).

#[path = "../../crates/wire/tests/exercise/mod.rs"]
mod exercise;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| exercise::mpeg_picture(bytes));
