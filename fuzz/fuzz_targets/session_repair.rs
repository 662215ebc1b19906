#![no_main]
//! Repair packets of forward error correction, of any content, between media packets.

#[path = "../../crates/session/tests/exercise/mod.rs"]
mod exercise;

libfuzzer_sys::fuzz_target!(|octets: &[u8]| exercise::repair_packets(octets));
