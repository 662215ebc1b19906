#![no_main]
//! Both ends of the window transport under attack.

#[path = "../../crates/session/tests/exercise/mod.rs"]
mod exercise;

libfuzzer_sys::fuzz_target!(|octets: &[u8]| exercise::window(octets));
