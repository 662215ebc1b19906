//! An application with an encoder of its own, which reads the session's target rate before each frame.
use seaway_media::FrameRate;
use seaway_media::encoder::{Encoded, LiveEncoder, LiveEncoderConfig, VideoEncoder};
use seaway_media::input::{PictureSource, Synthetic};
use seaway_stream::source::CodedFrame;
use seaway_stream::{Error, FrameInput, Receiver, Sender};
use seaway_units::{Bitrate, TimeDelta};
use std::time::Duration;

const RATE: FrameRate = FrameRate::USUAL;

/// The encoder here stands for the application's.
#[expect(clippy::disallowed_methods, reason = "an application waits for its camera")]
fn encode_and_send(input: &FrameInput, frames: u64) -> Result<(), Error> {
    let start = Bitrate::from_kbps(300);
    let config = LiveEncoderConfig { frame_rate: RATE, start, latency: TimeDelta::ZERO };
    let mut encoder = LiveEncoder::new(config)?;
    let mut pictures = Synthetic::from_specification("320x192@25")?;
    for _ in 0..frames {
        let (captured, controls) = (input.now(), input.controls());
        let Some(picture) = pictures.next_picture()? else { break };
        let target = controls.target(RATE);
        encoder.set_target(target);
        if controls.key_frame {
            encoder.request_key_frame();
        }
        match if controls.skip { Encoded::Skipped } else { encoder.encode(&picture)? } {
            Encoded::Skipped => input.skip(),
            Encoded::Frame(frame) => {
                let interval = RATE.interval();
                let (data, target) = (frame.data.into(), target.size_in(interval));
                input.send(captured, CodedFrame { data, is_key: frame.key, target, interval });
            }
        }
        std::thread::sleep(Duration::from_millis(40));
    }
    Ok(())
}

pub(crate) fn main() {
    let bind = ([127, 0, 0, 1], 0).into();
    let mut receiver = Receiver::builder(bind).start().unwrap();
    let mut sender = Sender::builder(receiver.local_address()).start().unwrap();
    encode_and_send(&sender.input(), 25).unwrap();
    sender.close().unwrap();
    receiver.close().unwrap();
    while sender.poll_event().is_some() || receiver.poll_event().is_some() {}
    println!("sent at {:?}, displayed {}", sender.state().sent_rate(), receiver.state().displayed);
    assert!(receiver.state().displayed > 0);
}
