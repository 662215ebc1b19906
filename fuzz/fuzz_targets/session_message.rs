#![no_main]
//! Datagrams of a session, read and written.

#[path = "../../crates/session/tests/exercise/mod.rs"]
mod exercise;

libfuzzer_sys::fuzz_target!(|octets: &[u8]| exercise::message(octets));
