#![no_main]
//! AAC payloads (RFC 3640 section 3.3.6).

#[path = "../../crates/wire/tests/exercise/mod.rs"]
mod exercise;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| exercise::aac_payload(bytes));
