//! `recv` from media servers (WHEP): our own page, Pion's example, and others that give no stream.

use super::process::{Live, free_port, has, seaway};
use super::sound::{beeps, check_in_step, shown, track_durations, with_sound};
use super::stream::receive;
use super::web::{answer, parts};
use super::whip::{PORT_8080, address, pion, publish, response, serve};
use seaway_media::input::read_code;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::PoisonError;

fn watch(folder: &Path, url: &str, arguments: &[&str]) -> Command {
    let mut command = seaway(folder, &[&["recv", url], arguments].concat());
    command.env_remove("SEAWAY_TOKEN");
    command
}

/// Watches there in vain; what it prints.
fn refused(url: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().unwrap();
    let output = watch(folder.path(), url, arguments).stdin(Stdio::null()).output().unwrap();
    let files = std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(files, 0, "a file was left behind");
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

/// Records pictures and sound of the page at one end of a session, as a player of others gets them.
fn record_page(of_sender: bool) {
    if !has("ffmpeg", "-version") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let port = free_port();
    let page = ["--web", "127.0.0.1:0"].as_slice();
    let mut receiver = receive(folder.path(), port, if of_sender { &[] } else { page });
    let to = format!("rtp://127.0.0.1:{port}");
    let input = ["send", "test:320x180@25+tone", &to];
    let arguments = [&input[..], if of_sender { page } else { &[] }].concat();
    let mut sender = Live::start(seaway(folder.path(), &arguments));
    let server = if of_sender { &mut sender } else { &mut receiver };
    let (host, path) = parts(&server.wait_for_address("page"));
    let token = path.trim_start_matches("/?token=");
    let url = format!("whep+http://{host}/whep");
    let mut command = watch(folder.path(), &url, &["-o", "got.mp4", "--stats", "json"]);
    command.env("SEAWAY_TOKEN", token);
    let mut player = Live::start(command);
    player.wait_for_note("the media server is connected");
    player.wait_for_frames(200);
    let sample = player.wait_for("sound", |line| line["sound_packets"].as_u64() > Some(300));
    assert_eq!(sample["state"], "live", "{sample}");
    // On a busy machine a packet may come late.
    assert!(sample["sound_lost"].as_u64().is_some_and(|lost| lost < 10), "{sample}");
    player.interrupt();
    let (status, _, notes) = player.end();
    assert!(status.success(), "{notes}");
    // The session was deleted: there is none of that number.
    let bearer = format!("Host: {host}\r\nAuthorization: Bearer {token}\r\n");
    let gone = answer(&host, "DELETE /whep/0", &bearer);
    assert!(gone.starts_with("HTTP/1.1 404"), "{gone}");
    sender.finish_sender();
    receiver.finish();
    let file = folder.path().join("got.mp4");
    let seconds = shown(&file, |luma| read_code(luma).is_some_and(|number| number % 25 == 0));
    check_in_step(&with_sound(seconds, &file), &beeps(&file), 4);
    let tracks = track_durations(&file);
    let codecs: Vec<_> = tracks.iter().map(|(codec, _)| codec.as_str()).collect();
    assert_eq!(codecs, ["h264", "opus"], "{tracks:?}");
}

#[test]
fn our_own_page_is_recorded_with_its_sound() {
    record_page(true);
}

#[test]
fn the_page_of_a_receiver_is_recorded_with_its_sound() {
    record_page(false);
}

/// Who has no token, or another one, gets nothing.
#[test]
fn a_wrong_token_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = receive(folder.path(), free_port(), &["--web", "127.0.0.1:0"]);
    let (host, _) = parts(&server.wait_for_address("page"));
    for token in ["", "x"] {
        let (code, notes) = refused(&format!("whep+http://{host}/whep?token={token}"), &["-o", "got.mp4"]);
        assert!(code == Some(1) && notes.contains("the server refused: 403 Forbidden"), "{notes}");
    }
    server.finish_empty();
}

#[test]
fn a_server_that_gives_no_stream_is_named_in_a_sentence() {
    const FINGERPRINT: &str = "a=fingerprint:sha-256 00\r\n";
    const CANDIDATE: &str = "a=candidate:1 1 udp 1 127.0.0.1 9 typ host\r\n";
    type Answer = fn(SocketAddr) -> String;
    let cases: [(Answer, &str); 7] = [
        (
            |_| response("404 Not Found", "", "no such stream\nmore"),
            "the server refused: 404 Not Found: no such stream\n",
        ),
        (|_| response("201 Created", "", "<html>"), "it is no session description"),
        (|_| response("201 Created", "", ""), "it is no session description"),
        (
            |_| response("201 Created", "", "v=0\r\nm=audio 9 UDP/TLS/RTP/SAVPF 111\r\n"),
            "it does not accept the video",
        ),
        (
            |_| {
                response(
                    "201 Created",
                    "",
                    &format!("v=0\r\n{FINGERPRINT}m=video 9 UDP/TLS/RTP/SAVPF 96\r\n"),
                )
            },
            "no address for UDP",
        ),
        (
            |_| {
                let vp8 = "m=video 9 UDP/TLS/RTP/SAVPF 96\r\na=rtpmap:96 VP8/90000\r\n";
                response("201 Created", "", &format!("v=0\r\n{FINGERPRINT}{vp8}{CANDIDATE}"))
            },
            "the server's answer cannot be used: ",
        ),
        (|_| "SSH-2.0-OpenSSH_9.2\r\n\r\n".to_owned(), "seaway: "),
    ];
    for (answer, why) in cases {
        let (address, server) = serve(1, answer);
        let (code, notes) = refused(&format!("whep+http://{address}/live"), &["-o", "got.mp4"]);
        assert_eq!(code, Some(1), "{why}: {notes}");
        assert!(notes.contains(why) && notes.lines().count() == 1, "{why}: {notes}");
        let seen = server.join().unwrap();
        assert!(seen[0].starts_with("POST /live HTTP/1.1\r\n"), "{seen:?}");
    }
}

#[test]
fn wrong_usage_is_refused() {
    for (url, arguments, why) in [
        ("whep+https://", &[][..], "expected whep+https://host/path"),
        ("whip+https://a/b", &[], "`send` publishes by whip+https://"),
        ("whep+https://user@a/b", &[], "--token"),
        ("whep+http://192.0.2.7/whep", &[], "use https in its URL"),
        ("whep+http://127.0.0.1/whep", &["--sdp", "a.sdp"], "--sdp does not apply"),
        (
            "whep+http://127.0.0.1/whep",
            &["--buffer", "16384 B", "--consume", "8 kbit/s"],
            "--buffer does not apply",
        ),
        ("whep+http://127.0.0.1/whep", &["--key-file", "key"], "--key-file does not apply"),
        ("whep+http://127.0.0.1/whep", &["--stun", "a b"], "expected host:port of a STUN server"),
        ("whep+https://127.0.0.1/whep", &["--ca", "missing.pem"], "missing.pem"),
        ("rtp://127.0.0.1:5004", &["--token", "x"], "--token is for a media server"),
        ("rtp://127.0.0.1:5004", &["--stun", "127.0.0.1"], "--stun is for WebRTC"),
    ] {
        let (code, notes) = refused(url, arguments);
        assert_eq!(code, Some(2), "{url} {arguments:?}: {notes}");
        assert!(notes.contains(why), "{url} {arguments:?}: {notes}");
    }
}

/// What is published at Pion's example is watched from there.
#[test]
fn pion_gives_what_it_takes() {
    let Some(program) = pion() else { return };
    let Some(address) = address() else { return super::process::skip("no address but the loopback one") };
    let _held = PORT_8080.lock().unwrap_or_else(PoisonError::into_inner);
    if TcpListener::bind("0.0.0.0:8080").is_err() {
        return super::process::skip("port 8080 is in use, and Pion's example has no other");
    }
    let folder = tempfile::tempdir().unwrap();
    let mut server = Live::start(Command::new(program));
    server.wait_for_output("Open http://localhost:8080");
    let at = |scheme: &str, path: &str| format!("{scheme}+http://{address}:8080/{path}");
    let arguments = ["--insecure", "--stats", "json", "--duration", "60s"];
    let mut sender = Live::start(publish(folder.path(), &at("whip", "whip"), &arguments));
    sender.wait_for_note("the media server is connected");
    let arguments = ["--insecure", "-o", "got.mp4", "--stats", "json"];
    let mut player = Live::start(watch(folder.path(), &at("whep", "whep"), &arguments));
    player.wait_for_frames(50);
    player.interrupt();
    let (status, _, notes) = player.end();
    assert!(status.success(), "{notes}");
    sender.interrupt();
    sender.end();
    server.kill();
    assert!(folder.path().join("got.mp4").exists());
}
