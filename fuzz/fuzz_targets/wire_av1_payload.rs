#![no_main]
//! AV1 payloads (AOM).

#[path = "../../crates/wire/tests/exercise/mod.rs"]
mod exercise;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| exercise::av1_payload(bytes));
