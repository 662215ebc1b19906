//! Streams of random choices: three decoders agree on each, and on the shaped streams.

use crate::stream::{Dice, Pictures, Syntax, sequence};
use crate::tools::{decoded_by_ffmpeg, decoded_by_libmpeg2, decoded_here, error, frames_here, shaped};
use seaway_mpeg::decode::Frame;
use seaway_mpeg::header::Chroma;
use seaway_mpeg::shape::Method;
use std::sync::Arc;

pub(crate) const KINDS: [(&str, Syntax); 12] = [
    ("mpeg-1", Syntax::MPEG1),
    ("mpeg-1, wide", Syntax { width: 720, height: 32, ..Syntax::MPEG1 }),
    ("progressive", Syntax { width: 101, height: 67, ..Syntax::MPEG2 }),
    ("frames", Syntax { pictures: Pictures::Frames, ..Syntax::INTERLACED }),
    ("fields", Syntax { pictures: Pictures::Fields, ..Syntax::INTERLACED }),
    ("frames and fields", Syntax { width: 100, height: 90, ..Syntax::INTERLACED }),
    ("dual prime", Syntax { groups: &["IPPP", "IPPP"], ..Syntax::INTERLACED }),
    ("low delay", Syntax { low_delay: true, groups: &["IPPPP"], ..Syntax::MPEG2 }),
    ("4:2:2", Syntax { chroma: Chroma::Yuv422, ..Syntax::INTERLACED }),
    ("4:4:4", Syntax { chroma: Chroma::Yuv444, ..Syntax::INTERLACED }),
    ("4:4:4, dual prime", Syntax { chroma: Chroma::Yuv444, groups: &["IPPP", "IP"], ..Syntax::INTERLACED }),
    ("tall", Syntax { width: 32, height: 2880, groups: &["IPB"], ..Syntax::INTERLACED }),
];

/// Mean squared difference that different inverse transforms may cause, over several predictions.
const TOLERANCE: f64 = 1.0;

fn stream(parts: &[Syntax], seed: u64) -> Vec<u8> {
    let mut stream = Vec::new();
    let mut dice = Dice(seed);
    parts.iter().for_each(|syntax| sequence(syntax, &mut dice, &mut stream));
    stream
}

#[test]
fn three_decoders_see_the_same() {
    let mut failures = Vec::new();
    for (name, syntax) in KINDS {
        for seed in seeds() {
            match check(&stream(&[syntax], seed)) {
                Some(Ok(())) => {}
                Some(Err(failure)) => failures.push(format!("{name}, seed {seed}: {failure}")),
                None => return,
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Number of seeds, by `SEAWAY_SEEDS`.
fn seeds() -> std::ops::RangeInclusive<u64> {
    1..=std::env::var("SEAWAY_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(1)
}

/// Checks a stream and its shaped versions; `None` where a decoder is missing.
fn check(stream: &[u8]) -> Option<Result<(), String>> {
    let mut versions = vec![("as it came".to_owned(), stream.to_vec())];
    for (name, method) in Method::ALL {
        assert!(shaped(stream, method, 1.0).0 == stream, "{name} at 1.0");
        for ratio in [0.8, 0.5] {
            let label = format!("{name} at {ratio}");
            let (output, at_floor) = shaped(stream, method, ratio);
            if !at_floor && output.len() as f64 > (ratio + 0.02) * stream.len() as f64 {
                return Some(Err(format!("{label}: {} B of {}", output.len(), stream.len())));
            }
            versions.push((label, output));
        }
    }
    agree(&versions)
}

/// Compares our decoder with two others, which decode all versions in one stream; `None` where one is missing.
fn agree(versions: &[(String, Vec<u8>)]) -> Option<Result<(), String>> {
    let whole = versions.iter().flat_map(|(_, bytes)| bytes.clone()).collect::<Vec<_>>();
    let (ffmpeg, ffmpeg_said) = decoded_by_ffmpeg(&whole)?;
    let (libmpeg2, libmpeg2_said) = decoded_by_libmpeg2(&whole)?;
    if !ffmpeg_said.is_empty() || !libmpeg2_said.is_empty() {
        return Some(Err(format!("{ffmpeg_said}{libmpeg2_said}")));
    }
    let (mut ffmpeg, mut libmpeg2) = (&ffmpeg[..], libmpeg2.iter());
    for (label, bytes) in versions {
        for (number, frame) in frames_here(bytes).into_iter().enumerate() {
            let mut samples = Vec::new();
            frame.write_planar(&mut samples);
            let (Some((theirs, rest)), Some(luma)) =
                (ffmpeg.split_at_checked(samples.len()), libmpeg2.next())
            else {
                return Some(Err(format!("{label}: no frame {number}")));
            };
            ffmpeg = rest;
            let off = [error(&samples, theirs), luma_error(&frame, luma.0, &luma.1)];
            if off.iter().any(|&off| off > TOLERANCE) {
                return Some(Err(format!(
                    "{label}: frame {number} is off FFmpeg's and libmpeg2's by {off:?}"
                )));
            }
        }
    }
    let all = ffmpeg.is_empty() && libmpeg2.next().is_none();
    Some(if all { Ok(()) } else { Err("frames are left".to_owned()) })
}

fn luma_error(frame: &Arc<Frame>, width: usize, theirs: &[u8]) -> f64 {
    let lines = frame.planes[0].lines().zip(theirs.chunks(width));
    let sums = lines.map(|(ours, theirs)| error(ours, theirs)).collect::<Vec<_>>();
    sums.iter().sum::<f64>() / sums.len() as f64
}

/// A sequence of another kind may follow the end of a sequence. FFmpeg loses the frame before it.
#[test]
fn a_sequence_of_another_size_follows() {
    let tall = Syntax { width: 64, height: 96, ..Syntax::INTERLACED };
    let bytes = stream(&[Syntax::MPEG2, tall, Syntax::MPEG1], 5);
    for (name, method) in Method::ALL {
        assert!(shaped(&bytes, method, 1.0).0 == bytes, "{name}");
        let output = shaped(&bytes, method, 0.7).0;
        let Some((theirs, said)) = decoded_by_libmpeg2(&output) else { return };
        assert_eq!(said, "", "{name}");
        let ours = frames_here(&output);
        assert_eq!(ours.len(), theirs.len(), "{name}");
        for (number, (frame, (width, samples))) in ours.iter().zip(&theirs).enumerate() {
            assert!(luma_error(frame, *width, samples) < TOLERANCE, "{name}: {number}");
        }
    }
}

/// D pictures of MPEG-1, which FFmpeg does not decode, are copied.
#[test]
fn dc_pictures_are_copied() {
    let bytes = stream(&[Syntax { groups: &["DDD"], ..Syntax::MPEG1 }], 1);
    let frames = decoded_here(&bytes).len() / (96 * 64 * 3 / 2);
    assert_eq!(frames, 3);
    for (name, method) in Method::ALL {
        assert!(shaped(&bytes, method, 0.5).0.len() == bytes.len(), "{name}");
    }
    let Some((theirs, _)) = decoded_by_libmpeg2(&bytes) else { return };
    for (number, (frame, (width, samples))) in frames_here(&bytes).iter().zip(&theirs).enumerate() {
        assert!(luma_error(frame, *width, samples) < TOLERANCE, "{number}");
    }
}
