//! Codes, decodes and scales one 720p picture of the bundled clip at 2 Mbit/s.

use divan::Bencher;
use seaway_media::decoder::{Concealment, H264Decoder, ReceivedFrame, VideoDecoder};
use seaway_media::encoder::{Encoded, EncodedFrame, LiveEncoder, LiveEncoderConfig, VideoEncoder};
use seaway_media::input::{PictureSource, Synthetic, bundled_clip};
use seaway_media::{FrameId, FrameRate, Picture, PictureSize, Scaler};
use seaway_units::{Bitrate, TimeDelta};

fn main() {
    divan::main();
}

/// The clip, repeated, with continuous times.
fn clip() -> impl Iterator<Item = Picture> {
    let mut clip = bundled_clip().unwrap();
    let pictures: Vec<_> = std::iter::from_fn(|| clip.next_picture().unwrap()).collect();
    (0..).map(move |index: u64| {
        let time = FrameRate::USUAL.time_of(index);
        pictures[index as usize % pictures.len()].with_identity(FrameId(index), time)
    })
}

fn encoder() -> LiveEncoder {
    let (frame_rate, start) = (FrameRate::USUAL, Bitrate::from_mbps(2));
    LiveEncoder::new(LiveEncoderConfig { frame_rate, start, latency: TimeDelta::ZERO }).unwrap()
}

#[divan::bench]
fn encode_720p(bencher: Bencher<'_, '_>) {
    let (mut encoder, mut clip) = (encoder(), clip());
    bencher.bench_local(|| encoder.encode(&clip.next().unwrap()).unwrap());
}

#[divan::bench]
fn decode_720p(bencher: Bencher<'_, '_>) {
    let mut encoder = encoder();
    let frames: Vec<EncodedFrame> = clip()
        .take(132)
        .filter_map(|picture| match encoder.encode(&picture).unwrap() {
            Encoded::Frame(frame) => Some(frame),
            Encoded::Skipped => None,
        })
        .collect();
    let mut decoder = H264Decoder::new(Concealment::Freeze).unwrap();
    let mut frames = frames.iter().cycle();
    bencher.bench_local(|| {
        let EncodedFrame { data, id, time, .. } = frames.next().unwrap();
        decoder.decode(&ReceivedFrame { data, id: *id, time: *time, after_loss: false }).unwrap()
    });
}

#[divan::bench]
fn scale_720p_to_360p(bencher: Bencher<'_, '_>) {
    let size = |width, height| PictureSize::new(width, height).unwrap();
    let mut scaler = Scaler::new(size(1280, 720), size(640, 360));
    let picture = clip().next().unwrap();
    bencher.bench_local(|| scaler.scale(&picture));
}

#[divan::bench]
fn draw_test_picture_720p(bencher: Bencher<'_, '_>) {
    let mut source = Synthetic::from_specification("").unwrap();
    bencher.bench_local(|| source.next_picture().unwrap());
}
