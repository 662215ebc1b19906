//! A sender and a media server: WHIP, DTLS-SRTP, the rate on the server's reports.

mod media_server;

use media_server::{Manner, MediaServerStub};
use seaway_media::audio;
use seaway_media::input::open;
use seaway_media::transport::SoundFormat;
use seaway_net::webrtc::{ServerEnd, ServerState, WhipError};
use seaway_session::{FeedbackKind, Limits, SenderEvent};
use seaway_stream::{Error, MediaServer, SendEvent, Sender, SenderBuilder};
use seaway_units::{Bitrate, TimeDelta};
use std::io::Write;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A bound for what hangs.
const TIMEOUT: TimeDelta = TimeDelta::from_secs(60);

const USUAL: Manner =
    Manner { has_rtx: true, has_sound: true, reports_sound: true, has_own_fingerprint: true };
const LIMITS: Limits =
    Limits { min: Bitrate::from_kbps(150), start: Bitrate::from_kbps(500), max: Bitrate::from_mbps(3) };

fn publish(server: &MediaServerStub) -> Result<Sender, Error> {
    publish_pictures(server, "test:320x180@25")
}

fn publish_pictures(server: &MediaServerStub, pictures: &str) -> Result<Sender, Error> {
    let sound = audio::open(pictures).unwrap();
    builder(server)?.sound(sound).pictures(open(pictures).unwrap(), true).start()
}

fn builder(server: &MediaServerStub) -> Result<SenderBuilder, Error> {
    let url = format!("whip+http://{}/live?stream=1", server.address).parse().unwrap();
    let server =
        MediaServer { url, token: Some("secret".into()), authorities: None, stun: None, relays: vec![] };
    Ok(Sender::to_server(server)?.limits(LIMITS))
}

/// Takes events until `is_enough`; gives them.
fn run(sender: &mut Sender, mut is_enough: impl FnMut(&Sender, &SendEvent) -> bool) {
    let begin = sender.now();
    while sender.now().since(begin) < TIMEOUT {
        if let Some((_, event)) = sender.next_event(Duration::from_millis(10))
            && is_enough(sender, &event)
        {
            return;
        }
    }
    panic!("waited in vain: {:?}", sender.state().session);
}

/// Takes events while it is so.
fn run_while(sender: &mut Sender, is_so: impl Fn(&Sender) -> bool) {
    let begin = sender.now();
    while is_so(sender) {
        assert!(sender.now().since(begin) < TIMEOUT, "waited in vain: {:?}", sender.state());
        let _ = sender.next_event(Duration::from_millis(10));
    }
}

/// Takes events until the server has counted `count` more.
fn run_until(sender: &mut Sender, counter: &AtomicU64, count: u64) {
    let (begin, first) = (sender.now(), counter.load(Ordering::Relaxed));
    while counter.load(Ordering::Relaxed) < first + count {
        assert!(sender.now().since(begin) < TIMEOUT, "waited in vain: {:?}", sender.state().session);
        let _ = sender.next_event(Duration::from_millis(10));
    }
}

#[test]
fn a_server_gets_the_pictures_and_key_frames_on_request() {
    let server = MediaServerStub::start(USUAL);
    let mut sender = publish(&server).unwrap();
    let mut kinds = Vec::new();
    run(&mut sender, |_, event| {
        kinds.extend(match event {
            SendEvent::Session(SenderEvent::FeedbackFound { kind }) => Some(*kind),
            _ => None,
        });
        kinds.contains(&FeedbackKind::Twcc)
    });
    run_until(&mut sender, &server.shared.pictures, 25);
    // The encoder sends none by itself.
    run_until(&mut sender, &server.shared.pictures, 25);
    let before = server.shared.key_pictures.load(Ordering::Relaxed);
    server.want_key_frame();
    run_until(&mut sender, &server.shared.key_pictures, 1);
    // The state is ten times a second.
    run_until(&mut sender, &server.shared.pictures, 25);
    let statistics = &sender.state().session.as_ref().unwrap().statistics;
    assert!(before >= 1 && statistics.received > 20 && statistics.picture_losses == 1, "{statistics:?}");
    assert_eq!((statistics.refused.malformed, statistics.refused.unknown_ssrc), (0, 0), "{statistics:?}");
    sender.close().unwrap();
    let requests = server.requests();
    assert_eq!(requests.len(), 2, "{requests:?}");
    assert!(requests[0].starts_with("POST /live?stream=1 HTTP/1.1\r\n"), "{requests:?}");
    assert!(requests[1].starts_with("DELETE /session/1 HTTP/1.1\r\n"), "{requests:?}");
    for request in &requests {
        assert!(request.to_lowercase().contains("authorization: bearer secret\r\n"), "{request}");
    }
}

/// Sound is of the session's feedback: none of its packets counts as lost.
#[test]
fn a_server_gets_the_sound() {
    let server = MediaServerStub::start(USUAL);
    let mut sender = publish_pictures(&server, "test:320x180@25+tone").unwrap();
    run_until(&mut sender, &server.shared.sound, 100);
    run_until(&mut sender, &server.shared.pictures, 25);
    let statistics = &sender.state().session.as_ref().unwrap().statistics;
    assert!(statistics.audio.sent.packets >= 100, "{statistics:?}");
    assert_eq!(statistics.lost, 0, "{statistics:?}");
    sender.close().unwrap();
    // By them a player synchronises both.
    let reports = server.shared.reports.lock().unwrap();
    let instants: Vec<u64> = reports.values().copied().collect();
    assert!(matches!(instants[..], [pictures, sound] if pictures == sound), "{reports:?}");
}

/// As LiveKit. With transport-wide numbers its packets would count as lost.
#[test]
fn a_server_that_reports_pictures_alone_gets_the_sound() {
    let server = MediaServerStub::start(Manner { reports_sound: false, ..USUAL });
    let mut sender = publish_pictures(&server, "test:320x180@25+tone").unwrap();
    run_until(&mut sender, &server.shared.sound, 100);
    run_until(&mut sender, &server.shared.pictures, 25);
    let statistics = &sender.state().session.as_ref().unwrap().statistics;
    assert!(statistics.received > 20 && statistics.lost == 0, "{statistics:?}");
    sender.close().unwrap();
}

/// In packets of 60 ms.
#[test]
fn a_server_gets_opus_of_a_file_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("clip.mp4");
    let mut ffmpeg = Command::new("ffmpeg");
    ffmpeg.args(["-v", "error", "-f", "lavfi", "-i", "testsrc2=size=320x180:rate=25", "-f", "lavfi", "-i"]);
    ffmpeg.args([
        "sine=frequency=440:sample_rate=48000",
        "-t",
        "6",
        "-c:v",
        "libx264",
        "-preset",
        "veryfast",
    ]);
    ffmpeg.args(["-pix_fmt", "yuv420p", "-c:a", "libopus", "-frame_duration", "60"]).arg(&file);
    match ffmpeg.status() {
        Ok(status) => assert!(status.success()),
        Err(_) => {
            let _ = writeln!(std::io::stderr(), "SKIPPED: Opus of a file by FFmpeg, which is not installed");
            return;
        }
    }
    let name = file.to_str().unwrap();
    let track = || audio::open(name).unwrap().unwrap().take_coded(SoundFormat::Opus).unwrap().unwrap();
    let server = MediaServerStub::start(USUAL);
    let builder = builder(&server).unwrap().copied_sound(track());
    let mut sender = builder.pictures(open(name).unwrap(), false).start().unwrap();
    run_until(&mut sender, &server.shared.sound, 50);
    sender.close().unwrap();
    let (got, mut track) = (server.shared.opus.lock().unwrap(), track());
    let wanted: Vec<_> = std::iter::from_fn(|| track.next_frame().unwrap()).collect();
    let first = wanted.iter().position(|frame| frame.octets == got[0].1).unwrap();
    let is_as_it_was = got.iter().zip(&wanted[first..]).all(|(packet, frame)| packet.1 == frame.octets);
    assert!(is_as_it_was, "{first}");
    let steps: Vec<_> = got.windows(2).map(|pair| pair[1].0.wrapping_sub(pair[0].0)).collect();
    assert!(steps.iter().all(|step| *step == 2_880), "{steps:?}");
}

#[test]
fn a_server_without_sound_gets_the_pictures() {
    let server = MediaServerStub::start(Manner { has_sound: false, ..USUAL });
    let mut sender = publish_pictures(&server, "test:320x180@25+tone").unwrap();
    run(&mut sender, |_, event| matches!(event, SendEvent::SoundRefused));
    run_until(&mut sender, &server.shared.pictures, 50);
    assert_eq!(server.shared.sound.load(Ordering::Relaxed), 0);
    sender.close().unwrap();
}

#[test]
fn what_is_lost_is_sent_again() {
    let server = MediaServerStub::start(USUAL);
    let mut sender = publish(&server).unwrap();
    run_until(&mut sender, &server.shared.pictures, 25);
    server.lose_one();
    run_until(&mut sender, &server.shared.repaired, 1);
    sender.close().unwrap();
}

/// Without a source of retransmissions in the answer none leaves, and all the rest does.
#[test]
fn a_server_without_retransmissions_is_served() {
    let server = MediaServerStub::start(Manner { has_rtx: false, ..USUAL });
    let mut sender = publish(&server).unwrap();
    run_until(&mut sender, &server.shared.pictures, 25);
    server.lose_one();
    run_until(&mut sender, &server.shared.pictures, 50);
    assert_eq!(server.shared.repaired.load(Ordering::Relaxed), 0);
    // It need not ask for key frames.
    run_until(&mut sender, &server.shared.key_pictures, 2);
    sender.close().unwrap();
}

#[test]
fn the_encoder_follows_a_drop_of_the_link_within_two_seconds() {
    const LOW: Bitrate = Bitrate::from_kbps(400);
    let server = MediaServerStub::start(USUAL);
    server.set_rate(4_000_000);
    let mut sender = publish_pictures(&server, "test:640x360@25").unwrap();
    let target = |sender: &Sender| sender.state().source.target.unwrap_or(Bitrate::ZERO);
    // What leaves, not what might: a source below the new rate would see no change of the link.
    run_while(&mut sender, |sender| {
        sender.state().sent_rate().is_none_or(|rate| rate < Bitrate::from_kbps(900))
    });
    server.set_rate(LOW.as_bps());
    let dropped = sender.now();
    run_while(&mut sender, |sender| target(sender) > LOW);
    let took = sender.now().since(dropped);
    assert!(took < TimeDelta::from_secs(2), "{took:?}");
    sender.close().unwrap();
}

#[test]
fn another_certificate_than_that_of_the_answer_gets_nothing() {
    let server = MediaServerStub::start(Manner { has_own_fingerprint: false, ..USUAL });
    let mut sender = publish(&server).unwrap();
    run(&mut sender, |_, event| {
        assert!(!matches!(event, SendEvent::Server(ServerState::Connected)));
        matches!(event, SendEvent::Server(ServerState::Ended(ServerEnd::NotConnected)))
    });
    assert_eq!(server.shared.packets.load(Ordering::Relaxed), 0);
    sender.close().unwrap();
}

#[test]
fn the_end_of_the_server_is_reported() {
    let server = MediaServerStub::start(USUAL);
    let mut sender = publish(&server).unwrap();
    run_until(&mut sender, &server.shared.pictures, 5);
    server.end();
    run(&mut sender, |_, event| matches!(event, SendEvent::Server(ServerState::Ended(ServerEnd::Closed))));
    sender.close().unwrap();
}

#[test]
fn plain_http_and_other_media_are_refused() {
    let server = |url: &str| MediaServer {
        url: url.parse().unwrap(),
        token: None,
        authorities: None,
        stun: None,
        relays: vec![],
    };
    let to = |url| Sender::to_server(server(url)).unwrap();
    assert!(matches!(to("whip+http://192.0.2.7/live").start(), Err(Error::PlainHttp(_))));
    let several = to("whip+http://127.0.0.1:9/live").control("multfrc".parse().unwrap()).start();
    assert!(matches!(several, Err(Error::NotForServer)));
    let refused = to("whip+http://127.0.0.1:9/live").start();
    assert!(matches!(refused, Err(Error::Publish(WhipError::Request(_)))));
}
