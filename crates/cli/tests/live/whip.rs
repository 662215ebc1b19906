//! `seaway send` to media servers: one of Pion's, and others that give no session.

use super::process::{Live, TIMEOUT, has, seaway, skip};
use super::stream::INPUT;
use rcgen::{CertificateParams, KeyPair};
use seaway_net::Clock;
use seaway_units::TimeDelta;
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::rustls::{ServerConfig, ServerConnection, StreamOwned};

/// A server that gives every request the answer that `answer` makes of its own address.
pub(crate) fn serve(
    requests: usize,
    answer: impl Fn(SocketAddr) -> String + Send + 'static,
) -> (SocketAddr, JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let thread = std::thread::spawn(move || {
        let mut seen = Vec::new();
        for _ in 0..requests {
            let (mut stream, _) = listener.accept().unwrap();
            seen.push(head(&mut stream));
            // The client may have seen enough.
            let _ = stream.write_all(answer(address).as_bytes());
        }
        seen
    });
    (address, thread)
}

/// The head of a request.
fn head(stream: &mut impl Read) -> String {
    let (mut head, mut octet) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut octet).is_ok_and(|read| read == 1) {
        head.push(octet[0]);
    }
    String::from_utf8(head).unwrap()
}

pub(crate) fn publish(folder: &Path, url: &str, arguments: &[&str]) -> Command {
    let mut command = seaway(folder, &[&["send", INPUT, url], arguments].concat());
    command.env_remove("SEAWAY_TOKEN");
    command
}

/// Publishes there in vain; what it prints.
fn refused(url: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().unwrap();
    let output = publish(folder.path(), url, arguments).stdin(Stdio::null()).output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

pub(crate) fn response(status: &str, lines: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\n{lines}Content-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len())
}

#[test]
fn a_server_that_gives_no_session_is_named_in_a_sentence() {
    type Answer = fn(SocketAddr) -> String;
    let cases: [(Answer, &str); 8] = [
        (
            |_| response("401 Unauthorized", "", "no\x1b[31m token\nmore"),
            "the server refused: 401 Unauthorized: no[31m token\n",
        ),
        (
            |_| response("201 Created", "Content-Type: text/html\r\n", "<html>"),
            "it is no session description",
        ),
        (|_| response("201 Created", "", "v=0\r\nm=audio 9 RTP/AVP 0\r\n"), "it does not accept the video"),
        (|_| response("201 Created", "", &"v=0\r\n".repeat(20_000)), "more than 65536 octets"),
        (|_| format!("HTTP/1.1 201 Created\r\n{}", "X: y\r\n".repeat(20_000)), "seaway: "),
        (|_| response("201 Created", "", "v=0").replace("Length: 3", "Length: 300"), "seaway: "),
        (|_| "SSH-2.0-OpenSSH_9.2\r\n\r\n".to_owned(), "seaway: "),
        (|_| response("204 No Content", "", ""), "the server refused: 204"),
    ];
    for (answer, why) in cases {
        let (address, server) = serve(1, answer);
        let (code, notes) = refused(&format!("whip+http://{address}/whip"), &[]);
        assert_eq!(code, Some(1), "{why}: {notes}");
        assert!(notes.contains(why) && notes.lines().count() == 1, "{why}: {notes}");
        let seen = server.join().unwrap();
        assert!(seen[0].starts_with("POST /whip HTTP/1.1\r\n"), "{seen:?}");
        assert!(!seen[0].to_lowercase().contains("authorization"), "{seen:?}");
    }
}

#[test]
fn where_no_server_listens_the_note_says_so() {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (code, notes) = refused(&format!("whip+http://{address}/whip"), &[]);
    assert_eq!(code, Some(1), "{notes}");
    assert!(notes.starts_with("seaway: no connection to the server: "), "{notes}");
}

#[test]
fn redirections_are_bounded_and_keep_the_token() {
    let circle = |_| response("307 Temporary Redirect", "Location: /whip\r\n", "");
    let (address, server) = serve(4, circle);
    let (code, notes) = refused(&format!("whip+http://{address}/whip"), &["--token", "secret"]);
    assert_eq!(code, Some(1), "{notes}");
    assert!(notes.contains("the server redirects in a circle"), "{notes}");
    let seen = server.join().unwrap();
    assert!(seen.iter().all(|head| head.to_lowercase().contains("authorization: bearer secret")), "{seen:?}");
    // Another server gets the offer and not the token.
    let (other, there) = serve(1, |_| response("403 Forbidden", "", ""));
    let (address, server) =
        serve(1, move |_| response("308 Permanent Redirect", &format!("Location: http://{other}/b\r\n"), ""));
    let (code, notes) = refused(&format!("whip+http://{address}/a"), &["--token", "secret"]);
    assert!(code == Some(1) && notes.contains("403"), "{notes}");
    server.join().unwrap();
    let seen = there.join().unwrap();
    assert!(seen[0].starts_with("POST /b ") && !seen[0].contains("secret"), "{seen:?}");
}

/// It gives an octet a second, for ever.
#[test]
fn a_slow_server_is_given_up() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let clock = Clock::start();
        while stream.write_all(b"H").is_ok() {
            clock.sleep_until(clock.now() + TimeDelta::from_secs(1));
        }
    });
    let (code, notes) = refused(&format!("whip+http://{address}/whip"), &[]);
    assert_eq!(code, Some(1), "{notes}");
    assert!(notes.contains("seaway: "), "{notes}");
}

const ANSWER: &str = "v=0\r\no=- 1 2 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\na=group:BUNDLE 0\r\n\
    a=fingerprint:sha-256 00:11:22:33:44:55:66:77:88:99:AA:BB:CC:DD:EE:FF:00:11:22:33:44:55:66:77:88:99:AA:BB:CC:DD:EE:FF\r\n\
    m=video 9 UDP/TLS/RTP/SAVPF 96\r\nc=IN IP4 0.0.0.0\r\na=ice-ufrag:abcd\r\na=ice-pwd:abcdefghijklmnopqrstuvwx\r\n\
    a=setup:passive\r\na=mid:0\r\na=recvonly\r\na=rtcp-mux\r\na=rtpmap:96 H264/90000\r\n\
    a=fmtp:96 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f\r\n\
    a=candidate:1 1 udp 2130706431 127.0.0.1 PORT typ host\r\n";

/// Its TURN servers are asked first: one that is silent, and what names none.
#[test]
fn a_server_that_does_not_connect_is_given_up_and_its_session_deleted() {
    let silent = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = silent.local_addr().unwrap().port().to_string();
    let account = "rel=\"ice-server\"; username=\"a\"; credential=\"b\"; credential-type=\"password\"";
    let links = format!(
        "Link: <turn:127.0.0.1:{port}>; {account}, <turn:127.0.0.1:9?transport=tcp>; {account}\r\nLink: <turn:ä>; rel=x, <\r\n"
    );
    let named = format!("the TURN server 127.0.0.1:{port}: no answer within 4 s");
    let (address, server) = serve(2, move |_| {
        let lines = format!("Location: /session/7\r\n{links}");
        response("201 Created", &lines, &ANSWER.replace("PORT", &port))
    });
    let (code, notes) = refused(&format!("whip+http://{address}/whip"), &[]);
    assert_eq!(code, Some(1), "{notes}");
    assert!(notes.contains(&named) && notes.matches("TURN").count() == 1, "{notes}");
    assert!(notes.contains("no connection to the server's media port within 10 s"), "{notes}");
    assert!(server.join().unwrap()[1].starts_with("DELETE /session/7 "), "{notes}");
}

/// What was cut or changed anywhere ends in a sentence, or in a connection that does not come.
#[test]
fn answers_that_were_changed_end_in_order() {
    let lines: Vec<&str> = ANSWER.split_inclusive("\r\n").collect();
    for missing in 1..lines.len() {
        let mut left = lines.clone();
        left.remove(missing);
        let answer = left.concat().replace("PORT", "9");
        let (address, server) = serve(1, move |_| response("201 Created", "", &answer));
        let (code, notes) = refused(&format!("whip+http://{address}/whip"), &["--duration", "1ms"]);
        assert_eq!(code, Some(1), "without {}: {notes}", lines[missing]);
        assert!(!notes.contains("panicked"), "without {}: {notes}", lines[missing]);
        server.join().unwrap();
    }
}

#[test]
fn the_certificate_of_the_server_is_checked() {
    let folder = tempfile::tempdir().unwrap();
    let key = KeyPair::generate().unwrap();
    let certificate =
        CertificateParams::new(vec!["localhost".to_owned()]).unwrap().self_signed(&key).unwrap();
    let file = folder.path().join("server.pem");
    std::fs::write(&file, certificate.pem()).unwrap();
    let private = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let builder = ServerConfig::builder_with_provider(Arc::new(default_provider()));
    let builder = builder.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    let config = Arc::new(builder.with_single_cert(vec![certificate.der().clone()], private).unwrap());
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = std::thread::spawn(move || {
        let accept = || {
            let (socket, _) = listener.accept().unwrap();
            socket.set_read_timeout(Some(TIMEOUT)).unwrap();
            let connection = ServerConnection::new(config.clone()).unwrap();
            let mut stream: StreamOwned<ServerConnection, TcpStream> = StreamOwned::new(connection, socket);
            let head = head(&mut stream);
            let _ = stream.write_all(response("418 I'm a teapot", "", "short and stout").as_bytes());
            head
        };
        (accept(), accept())
    });
    let url = format!("whip+https://localhost:{port}/whip");
    let known = file.to_str().unwrap();
    let (code, notes) = refused(&url, &["--ca", known]);
    assert!(code == Some(1) && notes.contains("418 I'm a teapot: short and stout"), "{notes}");
    let other = folder.path().join("other.pem");
    let strange = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    std::fs::write(&other, strange.self_signed(&KeyPair::generate().unwrap()).unwrap().pem()).unwrap();
    let (code, notes) = refused(&url, &["--ca", other.to_str().unwrap()]);
    assert!(code == Some(1) && notes.contains("certificate"), "{notes}");
    let (trusted, untrusted) = server.join().unwrap();
    assert!(trusted.starts_with("POST /whip ") && untrusted.is_empty(), "{untrusted}");
    let (code, notes) = refused(&url, &["--ca", "missing.pem"]);
    assert!(code == Some(2) && notes.contains("missing.pem"), "{notes}");
}

#[test]
fn wrong_usage_is_refused() {
    for (url, arguments, why) in [
        ("whip+https://", &[][..], "expected whip+https://host/path"),
        ("whip+https://user@a/b", &[], "--token"),
        ("whep+https://a/b", &[], "`recv` watches by whep+https://"),
        ("whip+http://192.0.2.7/whip", &[], "use https in its URL"),
        ("whip+http://127.0.0.1/whip", &["--sdp", "a.sdp"], "--sdp does not apply"),
        ("whip+http://127.0.0.1/whip", &["--control", "multfrc"], "one connection"),
        ("whip+http://127.0.0.1/whip", &["--control", "buffer-type1"], "reports none"),
        ("whip+http://127.0.0.1/whip", &["--key-file", "key"], "--key-file does not apply"),
        ("rtp://127.0.0.1:5004", &["--token", "x"], "--token is for a media server"),
    ] {
        let (code, notes) = refused(url, arguments);
        assert_eq!(code, Some(2), "{url} {arguments:?}: {notes}");
        assert!(notes.contains(why), "{url} {arguments:?}: {notes}");
    }
}

/// Pion's example has one port.
pub(crate) static PORT_8080: Mutex<()> = Mutex::new(());

/// Pion's example, built by Go once.
pub(crate) fn pion() -> Option<PathBuf> {
    const MODULE: &str = "github.com/pion/webrtc/v4/examples/whip-whep@v4.1.0";
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pion");
    let program = folder.join("whip-whep");
    if program.exists() {
        return Some(program);
    }
    if !has("go", "version") {
        return None;
    }
    let mut command = Command::new("go");
    command.args(["install", MODULE]).env("GOBIN", &folder).stdin(Stdio::null());
    let built = command.output().is_ok_and(|output| output.status.success());
    if !built {
        skip("go install could not get Pion's whip-whep");
    }
    built.then_some(program)
}

/// An address of this host that is not the loopback one, which Pion does not offer.
pub(crate) fn address() -> Option<Ipv4Addr> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    socket.connect((Ipv4Addr::new(192, 0, 2, 1), 9)).ok()?;
    match socket.local_addr().ok()? {
        SocketAddr::V4(address) if !address.ip().is_loopback() => Some(*address.ip()),
        _ => None,
    }
}

#[test]
fn pion_takes_the_video_and_its_reports_steer_the_rate() {
    let Some(program) = pion() else { return };
    let Some(address) = address() else { return skip("no address but the loopback one") };
    let _held = PORT_8080.lock().unwrap_or_else(PoisonError::into_inner);
    if TcpListener::bind("0.0.0.0:8080").is_err() {
        return skip("port 8080 is in use, and Pion's example has no other");
    }
    let folder = tempfile::tempdir().unwrap();
    let mut server = Live::start(Command::new(program));
    server.wait_for_output("Open http://localhost:8080");
    let url = format!("whip+http://{address}:8080/whip");
    let arguments = ["--insecure", "--stats", "json", "--duration", "60s"];
    let mut sender = Live::start(publish(folder.path(), &url, &arguments));
    sender.wait_for_note("the controller runs on transport-wide feedback");
    let rate = |line: &Value| line["allowance_bps"].as_u64().unwrap_or(0);
    // It begins at 300 kbit/s and stays there without reports; this picture gives 0.4 Mbit/s at the most, which
    // holds the rate of a busy machine below a megabit.
    sender.wait_for("a rate above the first", |line| rate(line) > 400_000);
    // It asks for a key frame every three seconds.
    sender.wait_for("a request for a key frame", |line| line["kind"] == "key-frame");
    // A busy machine is overloaded at first.
    let live = |line: &Value| line["loss_ratio"].is_number() && line["state"] == "live";
    let sample = sender.wait_for("a live sample", live);
    assert_eq!(sample["loss_ratio"].as_f64(), Some(0.0), "{sample}");
    // This server ends where a track ends.
    sender.interrupt();
    let (status, _, notes) = sender.end();
    assert!(status.success(), "{notes}");
    server.kill();
}
