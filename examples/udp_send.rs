//! Sends a clip live to another host, again and again: `SEAWAY_KEY=… udp_send 192.0.2.7:5004 clip.mp4`.
use seaway_media::input::open;
use seaway_session::SessionKey;
use seaway_stream::{Error, SendEvent, Sender};
use seaway_units::TimeDelta;
use std::net::SocketAddr;
use std::time::Duration;

/// Sends `input` to `to` for so long; returns the number of frames captured. Another host needs a key.
pub(crate) fn send(
    to: SocketAddr,
    key: Option<SessionKey>,
    input: &str,
    duration: TimeDelta,
) -> Result<u64, Error> {
    let sender = Sender::builder(to).key(key).control("nada".parse()?);
    let mut sender = sender.pictures(open(input)?, true).start()?;
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
    let key = std::env::var("SEAWAY_KEY").ok().map(|key| key.parse()).transpose()?;
    send(to.parse()?, key, input, TimeDelta::from_secs(60))?;
    Ok(())
}
