#![no_main]
//! RTP header extensions (RFC 8285) behind the profile in the first two octets.

#[path = "../../crates/wire/tests/exercise/mod.rs"]
mod exercise;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| exercise::extension(bytes));
