#![no_main]
//! H.264 payloads (RFC 6184).

#[path = "../../crates/wire/tests/exercise/mod.rs"]
mod exercise;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| exercise::h264_payload(bytes));
