#![no_main]
//! One RTCP report: the first two octets choose its type and count, the header around the rest is good.

#[path = "../../crates/wire/tests/exercise/mod.rs"]
mod exercise;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let [packet_type, count, body @ ..] = bytes {
        exercise::rtcp_body(200 + packet_type % 8, count % 32, body);
    }
});
