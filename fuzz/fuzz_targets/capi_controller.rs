#![no_main]
//! Calls of a controller through the C library, in any order and with any numbers.

#[path = "../../crates/capi/tests/exercise/mod.rs"]
mod exercise;

libfuzzer_sys::fuzz_target!(|octets: &[u8]| exercise::calls(octets));
