//! Makes the ladder of a clip: octets and PSNR of each frame at several rates of the live encoder.
//!
//! `cargo run --release -p seaway-media --example make_ladder [CLIP] [KBPS,KBPS,…] > clip.ladder.csv`

#![expect(clippy::print_stdout, reason = "the table is what it is for")]

use seaway_media::decoder::{Concealment, Decoded, H264Decoder, ReceivedFrame, VideoDecoder};
use seaway_media::encoder::{
    Encoded, Ladder, LadderEncoder, LadderRule, LiveEncoder, LiveEncoderConfig, VideoEncoder,
};
use seaway_media::input::{PictureFormat, bundled_clip, open_reference};
use seaway_media::{Error, FrameId, Picture, Scaler};
use seaway_quality::Plane;
use seaway_quality::psnr::{mean_squared_error, of_error};
use seaway_units::{Bitrate, TimeDelta};

/// Ages, in pictures, of an earlier picture shown in place of one, whose distortion is in the table.
const OFFSETS: [usize; 12] = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64];

/// The default start rate of a flow.
const START: Bitrate = Bitrate::from_kbps(300);

fn main() -> Result<(), Error> {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next();
    let rates = arguments.next().unwrap_or_else(|| "150,300,500,800,1200,1800,2500,4000".into());
    let rates: Vec<Bitrate> =
        rates.split(',').filter_map(|text| text.parse().ok()).map(Bitrate::from_kbps).collect();
    let mut source = name.as_deref().map_or_else(bundled_clip, open_reference)?;
    let format = source.format();
    let mut clip = Vec::new();
    while let Some(picture) = source.next_picture()? {
        clip.push(picture);
    }
    let columns = rates.iter().map(|&rate| code(&clip, format, rate)).collect::<Result<Vec<_>, _>>()?;
    println!(
        "# {}: two rounds by our live encoder.",
        name.as_deref().unwrap_or(seaway_media::clip::ATTRIBUTION)
    );
    let heads = rates.iter().map(|rate| format!(",{rate}"));
    let offsets = OFFSETS.iter().map(|offset| format!(",+{offset}"));
    println!("{} fps{}", format.frame_rate.hz(), heads.chain(offsets).collect::<String>());
    for frame in 0..2 * clip.len() {
        let mut row = frame.to_string();
        for column in &columns {
            let (octets, psnr) = column[frame];
            row += &format!(",{octets} {psnr:.1}");
        }
        if frame < clip.len() {
            for offset in OFFSETS {
                row += &format!(",{:.0}", difference(&clip[frame], &clip[(frame + offset) % clip.len()]));
            }
        }
        println!("{row}");
    }
    Ok(())
}

/// Octets and PSNR of each frame of two repetitions; a skipped frame has no octets.
fn code(clip: &[Picture], format: PictureFormat, rate: Bitrate) -> Result<Vec<(usize, f64)>, Error> {
    let PictureFormat { size, frame_rate } = format;
    let config = LiveEncoderConfig { frame_rate, start: rate, latency: TimeDelta::ZERO };
    // Pictures grow from small ones, as those of a flow do that begins slowly; they would shrink later than they grow.
    let ladder = Ladder::new(size, frame_rate, LadderRule::LIVE).starting_at(rate.min(START));
    let mut encoder = LadderEncoder::new(LiveEncoder::new(config)?, ladder);
    let mut decoder = H264Decoder::new(Concealment::Freeze)?;
    encoder.set_target(rate);
    let (mut shown, mut frames) = (None, Vec::new());
    for index in 0..2 * clip.len() {
        let id = FrameId(index as u64);
        let picture = clip[index % clip.len()].with_identity(id, frame_rate.time_of(index as u64));
        let mut octets = 0;
        if let Encoded::Frame(frame) = encoder.encode(&picture)? {
            octets = frame.data.len();
            let received = ReceivedFrame { data: &frame.data, id, time: picture.time(), after_loss: false };
            if let Decoded::Picture(decoded) = decoder.decode(&received)? {
                shown = Some(Scaler::new(decoded.size(), size).scale(&decoded));
            }
        }
        let psnr = shown.as_ref().map_or(0.0, |shown| of_error(difference(&picture, shown)).get());
        frames.push((octets, psnr));
    }
    Ok(frames)
}

/// Mean squared error of luma; the sizes are the same.
fn difference(a: &Picture, b: &Picture) -> f64 {
    let [a, b] = [a.luma(), b.luma()].map(|luma| Plane::new(luma.data, luma.stride, luma.width, luma.height));
    mean_squared_error(&a, &b).unwrap_or(f64::NAN)
}
