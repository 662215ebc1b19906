#![no_main]
//! A sender and a receiver under attack.

#[path = "../../crates/session/tests/exercise/mod.rs"]
mod exercise;

libfuzzer_sys::fuzz_target!(|octets: &[u8]| exercise::endpoints(octets));
