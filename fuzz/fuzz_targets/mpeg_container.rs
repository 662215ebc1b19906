#![no_main]
//! Containers: the first four bytes say how a stream is run, the rest is the stream.

use std::collections::VecDeque;

use seaway_mpeg::container::{CodedPicture, Config, Multiplex, Remuxer, Replacement};
use seaway_units::Bitrate;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((&[multiplex, share, chunk, delay], stream)) = bytes.split_first_chunk() else { return };
    let config = Config {
        multiplex: match multiplex % 4 {
            0 | 1 => Multiplex::Keep,
            2 => Multiplex::Variable,
            _ => Multiplex::Constant(Bitrate::from_kbps(u64::from(multiplex) * 40)),
        },
        program: (multiplex & 0x80 != 0).then_some(2),
        memory: if delay & 0x80 == 0 { 64 << 20 } else { 4 << 10 },
    };
    let (chunk, delay) = (1 + usize::from(chunk) * 8, usize::from(delay % 16));
    let kept = run(stream, config, chunk, delay, |_| Replacement::Kept);
    // A Matroska file gets other sizes, and loses an element that is cut.
    let is_matroska = stream.starts_with(&[0x1a, 0x45, 0xdf, 0xa3]);
    if let (Some(output), Multiplex::Keep, false) = (kept, config.multiplex, is_matroska) {
        assert!(output == stream);
    }
    run(stream, config, chunk, delay, |picture| {
        let len = picture.unit.data.len() * usize::from(share) / 255;
        Replacement::Bytes(picture.unit.data[..len].to_vec())
    });
});

/// The output, where the stream was taken to its end.
fn run(
    stream: &[u8],
    config: Config,
    chunk: usize,
    delay: usize,
    shape: impl Fn(&CodedPicture) -> Replacement,
) -> Option<Vec<u8>> {
    let mut remuxer = Remuxer::new(config);
    let (mut output, mut held) = (Vec::new(), VecDeque::new());
    let mut turn = |remuxer: &mut Remuxer, delay: usize| {
        held.extend(std::iter::from_fn(|| remuxer.poll_picture()));
        while held.len() > delay {
            remuxer.replace(shape(&held.pop_front()?)).ok()?;
        }
        remuxer.drain_output(&mut output);
        Some(())
    };
    for chunk in stream.chunks(chunk) {
        remuxer.push(chunk).ok()?;
        turn(&mut remuxer, delay)?;
    }
    remuxer.finish().ok()?;
    turn(&mut remuxer, 0)?;
    Some(output)
}
