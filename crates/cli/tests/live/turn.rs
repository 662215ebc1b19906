//! A viewer of the page whose network lets no datagram pass: its browser has a TURN server from the page.

use super::browser::{self, SCRIPTS};
use super::namespaces::within;
use super::nat::{INNER, Network, OPEN, OUTER, start};
use super::process::{Live, has};
use std::path::Path;
use std::process::Command;

/// The router forwards no datagram. Those of its own TURN server pass.
const RULES: &str =
    "table ip closed { chain forward { type filter hook forward priority 0; ip protocol udp drop; }\n}";
const USER: &str = "me";
/// With signs that are others in a URL and in a header.
const PASSWORD: [&str; 2] = ["a\"b:c", "a%22b%3Ac"];

/// One with an account, on the host of this name: coturn.
fn turn_server(host: &str, folder: &Path) -> Live {
    let account = format!("{USER}:{}", PASSWORD[0]);
    let plain =
        ["-n", "-a", "--no-tls", "--no-dtls", "--no-cli", "--realm", "seaway", "--log-file", "stdout"];
    let places = ["--listening-ip", INNER, "--relay-ip", OUTER, "--user", &account];
    let files = ["--pidfile", "turn.pid", "--userdb", "turn.db"];
    Live::start(within(host, "turnserver", folder, &[&plain[..], &places, &files].concat()))
}

#[test]
fn the_page_names_a_relay_to_its_viewers() {
    if !browser::is_there() || !has("turnserver", "--version") {
        return;
    }
    let Some(network) = Network::new("q") else { return };
    let mut command = Command::new("ip");
    command.args(["netns", "exec", &network.translator, "nft", RULES]);
    assert!(command.status().unwrap().success());
    let folder = tempfile::tempdir().unwrap();
    // A browser that comes before it is ready tries again.
    let turn = turn_server(&network.translator, folder.path());
    let receiver = start(&network.open, folder.path(), &["recv", "rtp://127.0.0.1:5004"]);
    let server = format!("turn:{USER}:{}@{INNER}:3478?transport=udp", PASSWORD[1]);
    let page = format!("{OPEN}:8090");
    let web = ["--web", &page, "--web-insecure", "--ice-server", &server];
    let arguments = [&["send", "test:320x180@25", "rtp://127.0.0.1:5004"], &web[..]].concat();
    let mut sender = start(&network.open, folder.path(), &arguments);
    let url = format!("http://{}", sender.wait_for_address("page"));
    let mut viewer = within(&network.inside, "node", Path::new(SCRIPTS), &["relay.mjs", &url]);
    viewer.env("HOME", folder.path());
    let (status, steps, notes) = Live::start(viewer).end();
    assert!(status.success(), "{steps}{notes}");
    sender.finish_sender();
    receiver.finish();
    turn.kill();
}
