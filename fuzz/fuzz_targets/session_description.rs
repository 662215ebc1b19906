#![no_main]
//! Session descriptions (SDP) of senders of plain RTP.

use seaway_session::PlainRtp;

libfuzzer_sys::fuzz_target!(|text: &str| {
    if let Ok(plain) = text.parse::<PlainRtp>() {
        assert!(plain.video.is_some_and(|video| video.clock_rate > 0));
    }
});
