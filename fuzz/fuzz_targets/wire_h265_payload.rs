#![no_main]
//! H.265 payloads (RFC 7798).

#[path = "../../crates/wire/tests/exercise/mod.rs"]
mod exercise;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| exercise::h265_payload(bytes));
