#![no_main]
//! SRT: octets become packets to both ends of a connection, and to an end without one.

#[path = "../../crates/srt/tests/suite/exercise/mod.rs"]
mod exercise;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| exercise::endpoints(bytes));
