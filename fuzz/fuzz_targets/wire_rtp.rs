#![no_main]
//! RTP packets, their extensions, and their payloads in every format.

#[path = "../../crates/wire/tests/exercise/mod.rs"]
mod exercise;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| exercise::rtp(bytes));
