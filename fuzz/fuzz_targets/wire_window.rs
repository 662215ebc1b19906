#![no_main]
//! The window transport, both directions.

#[path = "../../crates/wire/tests/exercise/mod.rs"]
mod exercise;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| exercise::window_transport(bytes));
