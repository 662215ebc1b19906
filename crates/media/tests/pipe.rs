//! How far a pipe is read until it is open.

use seaway_media::input::open_coded_pipe;
use seaway_media::transport::{AccessUnitTimes, Multiplexer, SoundFormat};
use std::io::{Cursor, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts the octets that were read.
struct Counted(Cursor<Vec<u8>>, Arc<AtomicUsize>);

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let length = self.0.read(buffer)?;
        self.1.fetch_add(length, Ordering::Relaxed);
        Ok(length)
    }
}

const PICTURES: usize = 50;

/// A transport stream with a picture each 40 ms, and sound beside them from picture `first` on.
fn stream(sound: Option<SoundFormat>, first: u64) -> Vec<u8> {
    let (mut multiplexer, mut stream) = (Multiplexer::new(sound), Vec::new());
    let picture = [&[0, 0, 0, 1, 0x65, 0x88][..], &[7; 8_000]].concat();
    for index in 0..PICTURES as u64 {
        let pts = 90_000 + index * 3_600;
        multiplexer.push_video(&picture, AccessUnitTimes { pts, dts: pts, is_key: true });
        if index >= first {
            multiplexer.push_sound(&[0xFF; 100], pts);
        }
        while multiplexer.waiting() > 0 {
            multiplexer.write(pts * 300, 7, &mut stream);
        }
    }
    stream
}

/// How many pictures are read until the pipe is open.
fn looked_at(sound: Option<SoundFormat>, first: u64) -> usize {
    let stream = stream(sound, first);
    let (length, read) = (stream.len(), Arc::default());
    let pipe = Counted(Cursor::new(stream), Arc::clone(&read));
    open_coded_pipe(Box::new(pipe), "-").unwrap();
    read.load(Ordering::Relaxed) * PICTURES / length
}

/// Two pictures are read at once.
#[test]
fn the_first_frame_of_aac_is_waited_for_within_half_a_second() {
    let (aac, opus) = (Some(SoundFormat::Aac), Some(SoundFormat::Opus));
    for (sound, first, counts) in [
        (None, 0, 3..=6),
        (aac, 0, 3..=6),
        // Where it begins.
        (aac, 8, 7..=10),
        // Half a second.
        (aac, 40, 12..=16),
        // Its configuration is always the same.
        (opus, 40, 3..=6),
    ] {
        let count = looked_at(sound, first);
        assert!(counts.contains(&count), "{sound:?} from picture {first} on: {count}");
    }
}
