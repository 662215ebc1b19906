//! Files of every container that is read here, recognised by content: pictures or an error, within bounds.

#![no_main]

use libfuzzer_sys::fuzz_target;
use seaway_media::input::open_bytes;

fuzz_target!(|bytes: Vec<u8>| {
    let Ok(mut source) = open_bytes(bytes) else { return };
    assert!(source.left_out().len() <= 32);
    for _ in 0..2 {
        for _ in 0..4 {
            let Ok(Some(picture)) = source.next_picture() else { break };
            assert!(picture.size().pixels() <= 3840 * 2160);
        }
        if source.rewind().is_err() {
            return;
        }
    }
});
