//! Our controllers behind crate `rtc`'s `BandwidthEstimator`: live H.264 to Chromium, at the rate that they estimate from
//! its transport-wide feedback.

use super::browser;
use super::process::TIMEOUT;
use seaway_media::encoder::{Encoded, LiveEncoder, LiveEncoderConfig, VideoEncoder};
use seaway_media::input::{PictureSource, Synthetic};
use seaway_net::Clock;
use seaway_net::webrtc::{AccessUnit, Broadcast, Estimate, Rates};
use seaway_units::{Bitrate, TimeDelta, Timestamp};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::net::Ipv4Addr;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use tokio::sync::oneshot;

const RATES: Rates =
    Rates { min: Bitrate::from_kbps(150), start: Bitrate::from_kbps(400), max: Bitrate::from_mbps(3) };

/// Chromium under `watch.mjs`.
struct Viewer {
    child: Child,
    /// Its standard input; closed, it ends and takes Chromium along.
    answer: Option<ChildStdin>,
    lines: Receiver<Value>,
}

impl Viewer {
    fn start() -> Self {
        let mut command = Command::new("node");
        command.arg("watch.mjs").current_dir(browser::SCRIPTS).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (answer, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                let _ = sender.send(serde_json::from_str(&line).unwrap());
            }
        });
        Self { child, answer: Some(answer), lines }
    }

    /// How many pictures it has shown by now.
    fn shown(&self) -> Option<u64> {
        self.lines.try_iter().filter_map(|line| line["shown"].as_u64()).last()
    }
}

impl Drop for Viewer {
    fn drop(&mut self) {
        self.answer = None;
        while self.lines.recv_timeout(TIMEOUT).is_ok() {}
        // It has ended by now where all went well.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What was seen of a controller at work.
#[derive(Debug, Default)]
struct Seen {
    arrived: u64,
    lowest: Bitrate,
    highest: Bitrate,
    shown: u64,
}

impl Seen {
    /// Chromium reported arrivals, the estimate has moved from the first rate, and pictures are shown.
    fn is_enough(&self) -> bool {
        self.arrived > 100 && self.shown > 30 && (self.lowest < RATES.start || self.highest > RATES.start)
    }
}

/// Streams the moving scene to a viewer at the estimate, until enough was seen of it.
fn stream(control: &str) -> Seen {
    let broadcast = Broadcast::controlled(vec!["sent"], control.parse().unwrap(), RATES).unwrap();
    let mut viewer = Viewer::start();
    let offer = viewer.lines.recv_timeout(TIMEOUT).unwrap()["offer"].as_str().unwrap().to_owned();
    let (answer, _served) = serve(broadcast.clone(), offer);
    writeln!(viewer.answer.as_mut().unwrap(), "{}", json!({ "answer": answer })).unwrap();
    let reading = broadcast.estimates().pop().unwrap();
    encode(&broadcast, &reading, &viewer)
}

/// The answer to an offer; the viewer is served until what comes with it is dropped.
fn serve(broadcast: Broadcast, offer: String) -> (String, oneshot::Sender<()>) {
    let (sender, answered) = channel();
    let (served, end) = oneshot::channel::<()>();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            sender.send(broadcast.answer(Ipv4Addr::LOCALHOST.into(), offer).await.unwrap().0).unwrap();
            let _ = end.await;
        });
    });
    (answered.recv_timeout(TIMEOUT).unwrap(), served)
}

fn encode(broadcast: &Broadcast, reading: &Arc<Estimate>, viewer: &Viewer) -> Seen {
    let mut source = Synthetic::from_specification("320x180@25").unwrap();
    let (frame_rate, start, latency) = (source.format().frame_rate, RATES.start, TimeDelta::ZERO);
    let mut encoder = LiveEncoder::new(LiveEncoderConfig { frame_rate, start, latency }).unwrap();
    let (clock, bound) = (Clock::start(), TimeDelta::from_secs(TIMEOUT.as_secs() as i64));
    let mut seen = Seen { lowest: RATES.start, highest: RATES.start, ..Seen::default() };
    while !seen.is_enough() && clock.now().since(Timestamp::ZERO) < bound {
        let picture = source.next_picture().unwrap().unwrap();
        clock.sleep_until(Timestamp::ZERO + picture.time());
        let rate = reading.rate();
        encoder.set_target(rate);
        if broadcast.take_key_frame_request() {
            encoder.request_key_frame();
        }
        if let Encoded::Frame(frame) = encoder.encode(&picture).unwrap() {
            broadcast.publish(0, &AccessUnit { data: frame.data.into(), at: frame.time, is_key: frame.key });
        }
        seen.arrived = reading.arrived();
        (seen.lowest, seen.highest) = (seen.lowest.min(rate), seen.highest.max(rate));
        seen.shown = viewer.shown().unwrap_or(seen.shown);
    }
    seen
}

#[test]
fn chromium_is_served_at_the_rate_of_our_controllers() {
    if !browser::is_there() {
        return;
    }
    for control in ["gcc", "nada"] {
        let seen = stream(control);
        assert!(seen.is_enough(), "{control}: {seen:?}");
    }
}
