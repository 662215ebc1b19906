//! Receives live video and records it until the sender leaves: `udp_receive 0.0.0.0:5004 received.mp4`.
use seaway_media::output::RecordingFormat;
use seaway_session::ReceiverEvent;
use seaway_stream::sink::{Displayed, Recorder};
use seaway_stream::{Error, ReceiveEvent, Receiver};
use std::fs::File;
use std::net::SocketAddr;
use std::time::Duration;

/// Records at `bind` to the MP4 file `output` until the sender leaves; returns the number of frames displayed.
pub(crate) fn receive(bind: SocketAddr, output: &str) -> Result<u64, Error> {
    let recorder = Recorder::new(RecordingFormat::Mp4, Box::new(File::create(output)?));
    let mut receiver = Receiver::builder(bind)
        .sink(recorder)
        .sink(|displayed: &Displayed<'_>| println!("{:?}: displayed", displayed.at))
        .start()?;
    while !receiver.has_failed() {
        match receiver.next_event(Duration::from_millis(100)) {
            Some((_, ReceiveEvent::Session(ReceiverEvent::SessionEnded))) => break,
            Some((at, event)) => println!("{at:?}: {event:?}"),
            None => {}
        }
    }
    receiver.close()?;
    while receiver.poll_event().is_some() {}
    Ok(receiver.state().displayed)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, bind, output] = &arguments[..] else { return Err("expected: ADDRESS FILE".into()) };
    println!("{} frames", receive(bind.parse()?, output)?);
    Ok(())
}
