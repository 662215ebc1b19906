//! Sends a clip live to another host, again and again: `udp_send 192.0.2.7:5004 clip.mp4`.
use seaway_media::input::open;
use seaway_stream::{Error, SendEvent, Sender};
use seaway_units::TimeDelta;
use std::net::SocketAddr;
use std::time::Duration;

/// Sends `input` to `to` for so long; returns the number of frames captured.
pub(crate) fn send(to: SocketAddr, input: &str, duration: TimeDelta) -> Result<u64, Error> {
    let mut sender = Sender::builder(to).control("nada".parse()?).pictures(open(input)?, true).start()?;
    let end = sender.now() + duration;
    while sender.now() < end {
        match sender.next_event(Duration::from_millis(100)) {
            Some((_, SendEvent::SourceFailed(error))) => return Err(error),
            Some((at, SendEvent::Session(event))) => println!("{at:?}: {event:?}"),
            _ => {}
        }
    }
    sender.close()?;
    while sender.poll_event().is_some() {}
    let state = sender.state();
    println!("rate {:?}, loss {:?}", state.sent_rate(), state.loss_ratio());
    Ok(state.session.as_ref().map_or(0, |session| session.statistics.frames.captured))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, to, input] = &arguments[..] else { return Err("expected: ADDRESS CLIP".into()) };
    send(to.parse()?, input, TimeDelta::from_secs(60))?;
    Ok(())
}
