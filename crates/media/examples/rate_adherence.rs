//! How closely the live encoder follows its target rate in 1 s windows, and its quality.
//!
//! `cargo run --release -p seaway-media --example rate_adherence [INPUT] [KBPS,KBPS,…] [SECONDS] [ROWS]`
//!
//! Each rate is held for `SECONDS`; then the rates change every three seconds. With `ROWS`, pictures are coded in that
//! height and scaled back for the comparison.

#![expect(clippy::print_stdout, reason = "the table is what it is for")]

use seaway_media::decoder::{Concealment, Decoded, H264Decoder, ReceivedFrame, VideoDecoder};
use seaway_media::encoder::{Encoded, LiveEncoder, LiveEncoderConfig, RateAdherence, VideoEncoder};
use seaway_media::input::{self, Looped, PictureFormat, PictureSource};
use seaway_media::{Error, Picture, PictureSize, Scaler};
use seaway_quality::{Plane, psnr};
use seaway_units::{Bitrate, TimeDelta};

fn main() -> Result<(), Error> {
    let mut arguments = std::env::args().skip(1);
    let input = arguments.next().unwrap_or_else(|| "clip".into());
    let rates = arguments.next().unwrap_or_else(|| "300,500,1000,2000,3500".into());
    let seconds: u64 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(30);
    let rows: Option<u32> = arguments.next().and_then(|text| text.parse().ok());
    let rates: Vec<_> =
        rates.split(',').filter_map(|text| text.parse().ok()).map(Bitrate::from_kbps).collect();
    for &rate in &rates {
        run(&input, rows, &rate.to_string(), seconds, |_| rate)?;
    }
    run(&input, rows, "in turn", seconds, |time| rates[time.as_millis() as usize / 3000 % rates.len()])
}

fn run(
    input: &str,
    rows: Option<u32>,
    name: &str,
    seconds: u64,
    rate: impl Fn(TimeDelta) -> Bitrate,
) -> Result<(), Error> {
    let source = if input == "clip" { input::bundled_clip()? } else { input::open(input)? };
    let mut source = Looped::new(source);
    let PictureFormat { size, frame_rate } = source.format();
    let rows = rows.unwrap_or(size.height());
    let coded = PictureSize::new((size.width() * rows / size.height()) & !1, rows)?;
    let (mut shrink, mut grow) = (Scaler::new(size, coded), Scaler::new(coded, size));
    let start = rate(TimeDelta::ZERO);
    let mut encoder = LiveEncoder::new(LiveEncoderConfig { frame_rate, start, latency: TimeDelta::ZERO })?;
    let mut decoder = H264Decoder::new(Concealment::Freeze)?;
    let mut adherence = RateAdherence::new(LiveEncoder::QUANTISERS);
    let mut windows = Vec::new();
    let mut quality = psnr::Sequence::default();
    let (mut shown, mut largest): (Option<Picture>, f64) = (None, 0.0);
    while let Some(picture) = source.next_picture()? {
        if picture.time() >= TimeDelta::from_secs(seconds as i64) {
            break;
        }
        encoder.set_target(rate(picture.time()));
        let encoded = encoder.encode(&shrink.scale(&picture))?;
        let window = adherence.on_picture(picture.time(), encoder.target(), &encoded);
        windows.extend(window.map(|window| format!("{:.2}@{:.0}", window.ratio(), window.mean_quantiser)));
        if let Encoded::Frame(frame) = &encoded {
            let budget = frame.target.as_bps_f64() * frame_rate.interval().as_secs_f64() / 8.0;
            largest = largest.max(frame.data.len() as f64 / budget);
            let received =
                ReceivedFrame { data: &frame.data, id: frame.id, time: frame.time, after_loss: false };
            if let Decoded::Picture(picture) = decoder.decode(&received)? {
                shown = Some(grow.scale(&picture));
            }
        }
        if let Some(shown) = &shown {
            let error = psnr::mean_squared_error(&luma(&picture), &luma(shown));
            quality.push(error.unwrap_or(f64::INFINITY));
        }
    }
    println!("{name:>10}: {}; largest picture {largest:.1} shares", adherence.report());
    println!("{:>10}  {}", "", windows.join(" "));
    let (mean, of_mean) = (quality.mean(), quality.of_mean_error());
    if let (Some(mean), Some(of_mean)) = (mean, of_mean) {
        println!("{:>10}  PSNR {mean:.2}, of the mean error {of_mean:.2}", "");
    }
    Ok(())
}

fn luma(picture: &Picture) -> Plane<'_> {
    let plane = picture.luma();
    Plane::new(plane.data, plane.stride, plane.width, plane.height)
}
