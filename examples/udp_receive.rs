//! Receives live video and records it until the sender leaves: `SEAWAY_KEY=… udp_receive 0.0.0.0:5004 received.mp4`.
use seaway_session::{ReceiverEvent, SessionKey};
use seaway_stream::sink::{Displayed, Recorder};
use seaway_stream::{Error, ReceiveEvent, Receiver};
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

/// Records at `bind` to the new MP4 file `output` until the sender leaves; returns the number of frames displayed. Other
/// hosts need a key.
pub(crate) fn receive(bind: SocketAddr, key: Option<SessionKey>, output: &str) -> Result<u64, Error> {
    let (recorder, file) = Recorder::create(Path::new(output), None)?;
    println!("recording to {}", file.display());
    let mut receiver = Receiver::builder(bind)
        .key(key)
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
    let key = std::env::var("SEAWAY_KEY").ok().map(|key| key.parse()).transpose()?;
    println!("{} frames", receive(bind.parse()?, key, output)?);
    Ok(())
}
