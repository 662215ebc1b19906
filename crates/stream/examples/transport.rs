//! A session without an encoder: frames of a fixed size, by which the cost of the transport alone is measured.
//!
//! `transport recv 127.0.0.1:5004` receives until the sender leaves, and `transport send 127.0.0.1:5004 '100 Mbit/s' '10 s'`
//! sends. Each prints one line of JSON at its end.

#![expect(clippy::print_stdout, reason = "the lines are what it is for")]

use bytes::Bytes;
use seaway_session::{Limits, ReceiverEvent};
use seaway_stream::source::CodedFrame;
use seaway_stream::{ReceiveEvent, Receiver, Sender};
use seaway_units::{Bitrate, DataSize, TimeDelta, Timestamp};
use std::error::Error;
use std::net::SocketAddr;
use std::time::Duration;

/// Frames are as large as those of video at 60 frames/s, and no larger than this: above, there are more of them.
const LARGEST: DataSize = DataSize::from_bytes(200_000);
/// Part of the rate that frames use: the rest is for headers and reports, so that no backlog builds up.
const LOAD: f64 = 0.9;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["send", to, rate, duration] => send(to.parse()?, rate.parse()?, duration.parse()?),
        ["recv", bind] => receive(bind.parse()?),
        _ => Err("expected: send ADDRESS RATE DURATION, or recv ADDRESS".into()),
    }
}

/// One H.264 access unit of `size` that no decoder reads.
fn frame(size: DataSize, is_key: bool, interval: TimeDelta) -> CodedFrame {
    let mut data = vec![0xAA; size.as_bytes() as usize];
    data[..5].copy_from_slice(&[0, 0, 0, 1, if is_key { 0x65 } else { 0x41 }]);
    CodedFrame { data: Bytes::from(data), is_key, target: size, interval }
}

fn send(to: SocketAddr, rate: Bitrate, duration: TimeDelta) -> Result<(), Box<dyn Error>> {
    let control = format!("fixed(rate={rate})").parse()?;
    let limits = Limits { min: rate, start: rate, max: rate };
    let mut sender = Sender::builder(to).control(control).limits(limits).start()?;
    let input = sender.input();
    let media = rate.mul_f64(LOAD);
    let at_sixty = TimeDelta::from_secs_f64(1.0 / 60.0);
    let interval = media.time_to_send(LARGEST).map_or(at_sixty, |least| least.min(at_sixty));
    let size = media.size_in(interval);
    let (began, mut due, mut is_key) = (sender.now(), sender.now(), true);
    while due.since(began) < duration {
        sender.next_event(Duration::from_nanos(due.since(sender.now()).as_nanos().max(0) as u64));
        if sender.now() < due {
            continue;
        }
        let controls = input.controls();
        input.send(sender.now(), frame(size, is_key || controls.key_frame, interval));
        is_key = false;
        due += interval;
    }
    // What waits still leaves.
    let end = sender.now() + TimeDelta::from_millis(300);
    while sender.now() < end {
        sender.next_event(Duration::from_millis(50));
    }
    let lateness = sender.close()?.ok_or("a media thread of its own")?;
    while sender.poll_event().is_some() {}
    let statistics = &sender.state().session.as_ref().ok_or("no snapshot")?.statistics;
    println!(
        "{{\"sent\": {}, \"lost\": {}, \"skipped\": {}, \"late_p99_ms\": {:.3}}}",
        statistics.sent.packets,
        statistics.lost,
        statistics.frames.skipped,
        lateness.percentile(0.99).as_millis_f64(),
    );
    Ok(())
}

fn receive(bind: SocketAddr) -> Result<(), Box<dyn Error>> {
    let mut receiver = Receiver::builder(bind).without_decoder().start()?;
    let mut began: Option<Timestamp> = None;
    let mut last = receiver.now();
    while !receiver.has_failed() {
        match receiver.next_event(Duration::from_secs(1)) {
            Some((_, ReceiveEvent::Session(ReceiverEvent::SessionEnded))) => break,
            _ if receiver.state().displayed > 0 => {
                began.get_or_insert(receiver.now());
                last = receiver.now();
            }
            _ => {}
        }
    }
    receiver.close()?;
    while receiver.poll_event().is_some() {}
    let state = receiver.state();
    let statistics = &state.session.as_ref().ok_or("no snapshot")?.statistics;
    let span = began.map_or(0.0, |began| last.since(began).as_secs_f64());
    println!(
        "{{\"received\": {}, \"frames\": {}, \"missing\": {}, \"seconds\": {span:.3}}}",
        statistics.received.packets, state.displayed, statistics.missing,
    );
    Ok(())
}
