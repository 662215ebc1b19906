//! Wrong usage: exit 2, and a line that helps.

use super::process::{Live, free_port, seaway};
use std::net::UdpSocket;

/// Runs to the end, which is 2; the first line on standard error.
fn refused(arguments: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("notes"), "no video\n".repeat(100)).unwrap();
    let (status, output, notes) = Live::start(seaway(folder.path(), arguments)).end();
    assert_eq!(status.code(), Some(2), "{arguments:?}: {notes}");
    assert_eq!(output, "", "{arguments:?}");
    // What the parser of arguments adds is a blank line and how to ask for help.
    let lines: Vec<_> = notes.lines().take_while(|line| !line.is_empty()).collect();
    assert_eq!(lines.len(), 1, "{arguments:?}: {notes}");
    lines[0].to_owned()
}

#[test]
fn each_mistake_is_named() {
    const INPUT: &str = "test:320x180@25";
    let to = format!("rtp://127.0.0.1:{}", free_port());
    let to = to.as_str();
    let cases: &[(&[&str], &str)] = &[
        (&["send", "absent.mp4", to], "absent.mp4"),
        (&["send", "notes", to], "notes"),
        (&["send", "-", to], "nothing"),
        (&["send", "test:0x0@0", to], "test:WIDTHxHEIGHT@RATE"),
        (&["send", INPUT, "ftp://127.0.0.1:5004"], "rtp://host:port"),
        (&["send", INPUT, "rtp://127.0.0.1"], "rtp://host:port"),
        (&["send", INPUT, "udp://127.0.0.1"], "udp://host:port"),
        (&["send", INPUT, "udp://127.0.0.1:5004?ttl=4"], "--ttl"),
        (&["send", INPUT, "udp://192.0.2.7:5004"], "--insecure"),
        (&["send", INPUT, "srt://192.0.2.7:5004"], "passphrase"),
        (&["send", INPUT, "srt://127.0.0.1:5004", "--mtu", "1000"], "--mtu"),
        (&["send", INPUT, "udp://127.0.0.1:5004", "--control", "gcc"], "--control"),
        (&["send", INPUT, "udp://127.0.0.1:5004", "--ttl", "4"], "--ttl"),
        (&["send", INPUT, to, "--ttl", "4"], "--ttl"),
        (&["send", INPUT, to, "--sound", "true", "--sound-delay", "3 s"], "--sound-delay"),
        (&["recv", "udp://127.0.0.1:5004?key=abc"], "udp://host:port"),
        (&["recv", "udp://0.0.0.0:5004"], "--insecure"),
        (&["send", INPUT, to, "--rate", "1..2 Mfoo/s"], "Mbit/s"),
        (&["send", INPUT, to, "--rate", "3..2 Mbit/s"], "3..2 Mbit/s"),
        (&["send", INPUT, to, "--start", "fast"], "fast"),
        (&["send", INPUT, to, "--control", "nope"], "tfrc"),
        (&["send", INPUT, to, "--control", "fixed(speed=1)"], "speed"),
        (&["send", INPUT, to, "--duration", "3 q"], "3 q"),
        (&["send", INPUT, "rtp://192.0.2.7:5004"], "--insecure"),
        (&["send", INPUT, "rtp://192.0.2.7:5004?key=abc"], "43 characters"),
        (&["send", INPUT, to, "--key-file", "absent"], "absent"),
        (&["send", INPUT, to, "--key-file", "notes"], "43 characters"),
        (&["send", INPUT, to, "--insecure", "--key-file", "notes"], "--insecure"),
        (&["send", INPUT, to, "--latency", "11 s"], "--latency"),
        (&["demo", "--headless", "--latency", "0 s"], "--latency"),
        (&["recv", to, "--latency", "0 s"], "--latency"),
        (&["recv", to, "-o", "received.doc"], ".mp4"),
        (&["recv", to, "-o", "-", "--stats", "json"], "standard output"),
        (&["send", INPUT, to, "--dscp", "af44"], "af41"),
        (&["send", INPUT, to, "--mtu", "499"], "500"),
        (&["recv", to, "--interface", "none0"], "none0"),
        (
            &["recv", to, "--web", "127.0.0.1:0", "--ice-server", "turn:me:word"],
            "--ice-server, number 1: expected",
        ),
        (&["recv", to, "--mtu", "9001"], "9000"),
        (&["demo", "--headless", "--network", "nope"], "clean"),
        (&["demo", "--headless", "--control", "nope"], "tfrc"),
        // Not even a page first.
        (&["demo", "--web", "127.0.0.1:0", "--control", "tfrk"], "did you mean tfrc"),
        (&["send", INPUT, to, "--web", "127.0.0.1:0", "--control", "ctfrc(gama=1)"], "did you mean gamma"),
        (&["compare", "clean", "--control", "fixed,nada(variant=drat)"], "rfc8698 or draft"),
    ];
    for (arguments, wanted) in cases {
        let line = refused(arguments);
        assert!(line.contains(wanted), "{arguments:?}: {line}");
    }
}

#[test]
fn a_port_in_use_is_named() {
    let taken = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let line = refused(&["recv", &format!("rtp://{address}")]);
    assert!(line.contains(&address), "{line}");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let here = format!("rtp://127.0.0.1:{}", free_port());
    for option in ["--web", "--metrics"] {
        let line = refused(&["recv", &here, option, &address]);
        assert!(line.contains(&address), "{line}");
    }
}
