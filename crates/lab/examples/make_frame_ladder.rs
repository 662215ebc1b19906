//! Makes the ladder of the source `recorded`: octets of each frame of six rounds of the bundled clip by the live encoder,
//! at each of eight rates.
//!
//! `cargo run --release -p seaway-lab --example make_frame_ladder > crates/lab/src/source/bigbuckbunny.ladder.csv`
//!
//! Codecs differ from one processor to the next in the last octet, so what ships is not compared with what comes out here.

#![allow(clippy::print_stdout)] // It is a program.

use seaway_media::encoder::LadderRule;
use seaway_media::input::bundled_clip;
use seaway_stream::source::{EncodedSource, EncoderSettings, FrameControls, PacketOverhead, Source};
use seaway_units::{Bitrate, DataSize, TimeDelta, Timestamp};
use std::error::Error;

const FRAMES: usize = 6 * 132;

fn column(rate: Bitrate) -> Result<Vec<u64>, Box<dyn Error>> {
    let clip = bundled_clip()?;
    // RTP headers alone.
    let overhead = PacketOverhead::new(DataSize::from_bytes(1200), DataSize::ZERO);
    let start = overhead.payload_rate(rate, clip.format().frame_rate);
    let sizes = LadderRule::LIVE;
    let settings = EncoderSettings { start, latency: TimeDelta::ZERO, repeat: true, sizes, threads: 1 };
    let mut source = EncodedSource::new(clip, settings)?;
    let controls = FrameControls { share: rate, overhead, skip: false, key_frame: false };
    (0..FRAMES)
        .map(|_| {
            let captured = source.capture(Timestamp::ZERO, &controls)?.ok_or("the clip ended")?;
            Ok(captured.frame.map_or(0, |frame| frame.data.len() as u64))
        })
        .collect()
}

fn main() -> Result<(), Box<dyn Error>> {
    let rates: Vec<Bitrate> = (1..=8).map(|step| Bitrate::from_kbps(200 * step)).collect();
    let columns = rates.iter().map(|&rate| column(rate)).collect::<Result<Vec<_>, _>>()?;
    println!(
        "# Big Buck Bunny (c) Blender Foundation, CC BY 3.0: octets of each frame of six rounds by our live encoder."
    );
    println!("25 fps{}", rates.iter().map(|rate| format!(",{rate}")).collect::<String>());
    for frame in 0..FRAMES {
        println!("{frame}{}", columns.iter().map(|column| format!(",{}", column[frame])).collect::<String>());
    }
    Ok(())
}
