#![no_main]
//! Datagrams of RTCP packets, every report.

#[path = "../../crates/wire/tests/exercise/mod.rs"]
mod exercise;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| exercise::rtcp(bytes));
