//! The page's server against who has no token, and against who floods it.

use super::browser;
use super::process::{Live, TIMEOUT, seaway};
use super::stream::{INPUT, receive};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The answer to a request with these further header lines, which end with a line break each.
pub(crate) fn answer(host: &str, request: &str, lines: &str) -> String {
    let mut stream = TcpStream::connect(host).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    write!(stream, "{request} HTTP/1.1\r\nConnection: close\r\n{lines}\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// `host:port` and the path with the token.
pub(crate) fn parts(address: &str) -> (String, String) {
    let (host, path) = address.split_once('/').unwrap();
    (host.to_owned(), format!("/{path}"))
}

#[test]
fn every_request_needs_the_token() {
    let folder = tempfile::tempdir().unwrap();
    let options = ["--web", "127.0.0.1:0", "--metrics", "127.0.0.1:0"];
    let mut receiver = receive(folder.path(), super::process::free_port(), &options);
    for what in ["page", "metrics"] {
        let (host, path) = parts(&receiver.wait_for_address(what));
        let own = format!("Host: {host}\r\n");
        let page = answer(&host, &format!("GET {path}"), &own);
        assert!(page.starts_with("HTTP/1.1 200"), "{what}: {page}");
        let headers = page.to_lowercase();
        for wanted in ["frame-ancestors 'none'", "no-referrer", "nosniff", "no-store"] {
            assert!(headers.contains(wanted), "{what}: no {wanted}");
        }
        let bare = path.split('?').next().unwrap();
        let wrong = format!("{}x", &path[..path.len() - 1]);
        for (request, lines) in [
            (format!("GET {bare}"), own.clone()),
            (format!("GET {wrong}"), own.clone()),
            (format!("GET {path}"), "Host: evil.example\r\n".to_owned()),
            (format!("GET {path}"), format!("{own}Origin: http://evil.example\r\n")),
            ("GET /api/live".to_owned(), own.clone()),
            ("POST /whep".to_owned(), format!("{own}Content-Length: 0\r\n")),
            ("DELETE /whep/0".to_owned(), own.clone()),
        ] {
            let refused = answer(&host, &request, &lines);
            assert!(refused.starts_with("HTTP/1.1 403"), "{request} {lines}: {refused}");
        }
    }
    receiver.finish_empty();
}

#[test]
fn half_open_connections_block_no_viewer() {
    let folder = tempfile::tempdir().unwrap();
    let mut receiver = receive(folder.path(), super::process::free_port(), &["--web", "127.0.0.1:0"]);
    let (host, path) = parts(&receiver.wait_for_address("page"));
    let open = |index| {
        let mut stream = TcpStream::connect(&host).unwrap();
        if index % 2 == 0 {
            // It may have given way to a later one by now.
            let _ = write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\n");
        }
        stream
    };
    let half_open: Vec<_> = (0..1000).map(open).collect();
    let page = answer(&host, &format!("GET {path}"), &format!("Host: {host}\r\n"));
    assert!(page.starts_with("HTTP/1.1 200"), "{page}");
    drop(half_open);
    receiver.finish_empty();
}

/// What a browser offers to watch one track, without a candidate: nothing will ever connect.
const OFFER: &str = "v=0\r\no=- 1 2 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\na=group:BUNDLE 0\r\n\
    m=video 9 UDP/TLS/RTP/SAVPF 108\r\nc=IN IP4 0.0.0.0\r\na=rtcp:9 IN IP4 0.0.0.0\r\na=ice-ufrag:abcd\r\n\
    a=ice-pwd:abcdefghijklmnopqrstuvwx\r\na=setup:actpass\r\na=mid:0\r\na=recvonly\r\na=rtcp-mux\r\n\
    a=rtpmap:108 H264/90000\r\n\
    a=fmtp:108 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f\r\n\
    a=fingerprint:sha-256 00:11:22:33:44:55:66:77:88:99:AA:BB:CC:DD:EE:FF:00:11:22:33:44:55:66:77:88:99:AA:BB:CC:DD:EE:FF\r\n";

#[test]
fn half_open_offers_keep_no_viewer_out() {
    let folder = tempfile::tempdir().unwrap();
    let mut receiver = receive(folder.path(), super::process::free_port(), &["--web", "127.0.0.1:0"]);
    let (host, path) = parts(&receiver.wait_for_address("page"));
    let watch = path.replacen("/?", "/whep?", 1);
    let lines = offer_of(&host, "application/sdp");
    // Five times as many as there are slots.
    for index in 0..40 {
        let answered = answer(&host, &format!("POST {watch}"), lines.trim_end_matches("\r\n"));
        assert!(answered.starts_with("HTTP/1.1 201"), "{index}: {answered}");
    }
    receiver.finish_empty();
}

fn offer_of(host: &str, kind: &str) -> String {
    format!("Host: {host}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n{OFFER}", OFFER.len())
}

/// The session of a player that is none of ours: it has a URL, and ends by it.
#[test]
fn a_player_makes_and_ends_a_session_by_whep() {
    let folder = tempfile::tempdir().unwrap();
    let mut receiver = receive(folder.path(), super::process::free_port(), &["--web", "127.0.0.1:0"]);
    let (host, path) = parts(&receiver.wait_for_address("page"));
    let token = path.trim_start_matches("/?token=");
    let own = format!("Host: {host}\r\n");
    let bearer = format!("{own}Authorization: Bearer {token}\r\n");
    let status = |answer: &str| answer[9..12].to_owned();
    let watch = path.replacen("/?", "/whep?", 1);
    let with = |kind: &str| offer_of(&host, kind);
    let other = answer(&host, &format!("POST {watch}"), with("text/plain").trim_end_matches("\r\n"));
    assert_eq!(status(&other), "415", "{other}");
    let made = answer(&host, &format!("POST {watch}"), with("application/sdp").trim_end_matches("\r\n"));
    assert_eq!(status(&made), "201", "{made}");
    let place = made.lines().find_map(|line| line.strip_prefix("location: ")).unwrap().to_owned();
    assert!(place.starts_with("/whep/") && place.ends_with(&format!("?token={token}")), "{place}");
    assert!(
        made.contains("content-type: application/sdp") && made.contains("a=fingerprint:sha-256 "),
        "{made}"
    );
    assert_eq!(status(&answer(&host, &format!("PATCH {place}"), &own)), "405");
    let bare = place.split('?').next().unwrap();
    assert_eq!(status(&answer(&host, &format!("DELETE {bare}"), &own)), "403");
    assert_eq!(status(&answer(&host, &format!("DELETE {bare}"), &bearer)), "200");
    assert_eq!(status(&answer(&host, &format!("DELETE {place}"), &own)), "404");
    let options = answer(&host, "OPTIONS /whep", &bearer);
    assert!(options.contains("accept-post: application/sdp"), "{options}");
    receiver.finish_empty();
}

/// A text frame of a client (RFC 6455 section 5.2), masked with zeros.
fn frame(text: &str) -> Vec<u8> {
    let mut frame = vec![0x81, 0x80 | 126];
    frame.extend((text.len() as u16).to_be_bytes());
    frame.extend([0; 4]);
    frame.extend(text.as_bytes());
    frame
}

#[test]
fn a_flood_of_settings_does_not_stop_the_pictures() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["demo", INPUT, "--web", "127.0.0.1:0", "--stats", "json"];
    let mut demo = Live::start(seaway(folder.path(), &arguments));
    let (host, path) = parts(&demo.wait_for_address("page"));
    let mut socket = TcpStream::connect(&host).unwrap();
    let key = "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n";
    let live = path.replacen("/?", "/api/live?", 1);
    let upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\n";
    write!(socket, "GET {live} HTTP/1.1\r\nHost: {host}\r\n{upgrade}{key}\r\n").unwrap();
    let mut head = [0; 12];
    socket.read_exact(&mut head).unwrap();
    assert_eq!(&head, b"HTTP/1.1 101");
    let before = demo.wait_for_frames(0);
    let (stop, sent) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let settings: Vec<u8> = (0..100)
                .flat_map(|step| {
                    let max = 1_000 + 10 * (step % 50);
                    frame(&format!(
                        r#"{{"type":"set","settings":{{"max":"{max} kbit/s","control":"tfrc"}}}}"#
                    ))
                })
                .collect();
            // What the server does not read waits in the connection, and here.
            while !stop.load(Ordering::Relaxed) && socket.write_all(&settings).is_ok() {
                sent.fetch_add(100, Ordering::Relaxed);
            }
        });
        demo.wait_for_frames(before + 75);
        let page = answer(&host, &format!("GET {path}"), &format!("Host: {host}\r\n"));
        assert!(page.starts_with("HTTP/1.1 200"), "{page}");
        stop.store(true, Ordering::Relaxed);
        demo.interrupt();
        demo.wait_for_end();
    });
    assert!(sent.load(Ordering::Relaxed) >= 100);
}

/// Pictures captured and pictures displayed, as the next line says.
fn pictures(demo: &mut Live) -> [u64; 2] {
    let line = demo.wait_for("pictures", |line| line["frames_displayed"].is_number());
    ["frames_captured", "frames_displayed"].map(|name| line[name].as_u64().unwrap())
}

/// 600 000 settings wait in the tab and are read at the server's pace for the rest of the test.
#[test]
fn a_tab_that_floods_does_not_stop_the_pictures() {
    if !browser::is_there() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["demo", INPUT, "--web", "127.0.0.1:0", "--stats", "json"];
    let mut demo = Live::start(seaway(folder.path(), &arguments));
    let address = demo.wait_for_address("page");
    demo.wait_for_frames(25);
    let mut command = Command::new("node");
    command.arg("flood.mjs").arg(format!("http://{address}")).current_dir(browser::SCRIPTS);
    let mut tab = Live::start(command);
    let flooded = tab.wait_for("the flood", |line| line["sent"].is_number());
    assert_eq!(flooded["sent"], 600_000);
    let [captured, displayed] = pictures(&mut demo);
    demo.wait_for_frames(displayed + 250);
    let after = pictures(&mut demo);
    let share = (after[1] - displayed) as f64 / (after[0] - captured) as f64;
    // The rest may be the load of this machine; docs/results/security.md has the figure of a quiet one.
    assert!(share > 0.9, "{share}: {captured} {displayed} {after:?}");
    let (host, path) = parts(&address);
    let page = answer(&host, &format!("GET {path}"), &format!("Host: {host}\r\n"));
    assert!(page.starts_with("HTTP/1.1 200"), "{page}");
    tab.kill();
    demo.interrupt();
    demo.wait_for_end();
}
