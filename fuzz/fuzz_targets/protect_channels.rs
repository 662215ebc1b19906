#![no_main]
//! The two ends of a keyed session under attack: forged, damaged, replayed and reordered datagrams.

#[path = "../../crates/protect/tests/exercise/mod.rs"]
mod exercise;

libfuzzer_sys::fuzz_target!(|octets: &[u8]| exercise::channels(octets));
