#![no_main]
//! Opus packets (RFC 6716 section 3).

#[path = "../../crates/wire/tests/exercise/mod.rs"]
mod exercise;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| exercise::opus_packet(bytes));
