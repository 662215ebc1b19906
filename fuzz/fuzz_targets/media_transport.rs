#![no_main]
//! A transport stream that comes in pieces, of which some are lost.

use seaway_media::transport::TransportStream;

libfuzzer_sys::fuzz_target!(|pieces: Vec<Option<Vec<u8>>>| {
    let mut stream = TransportStream::new();
    for piece in pieces {
        match piece {
            Some(octets) => stream.push(&octets),
            None => stream.on_loss(),
        }
        while stream.poll().is_some() {}
    }
    stream.finish();
});
