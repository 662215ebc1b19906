//! Ends whose network lets no datagram pass but to a TURN server: browsers at the page, and `send` and `recv` at media servers.

use super::browser::{self, SCRIPTS};
use super::namespaces::within;
use super::nat::{INNER, Network, OPEN, OUTER, start};
use super::process::{Live, has};
use super::whip::pion;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// The router forwards no datagram. Those of its own TURN server pass.
const RULES: &str =
    "table ip closed { chain forward { type filter hook forward priority 0; ip protocol udp drop; }\n}";
const USER: &str = "me";
/// With signs that are others in a URL and in a header.
const PASSWORD: [&str; 2] = ["a\"b:c", "a%22b%3Ac"];

/// A network whose router forwards no datagram, and the TURN server on that router; a folder for it.
fn closed(name: &str) -> Option<(Network, TempDir, Live)> {
    if !has("turnserver", "--version") {
        return None;
    }
    let network = Network::new(name)?;
    let mut command = Command::new("ip");
    command.args(["netns", "exec", &network.translator, "nft", RULES]);
    assert!(command.status().unwrap().success());
    let folder = tempfile::tempdir().unwrap();
    let mut turn = turn_server(&network.translator, folder.path());
    turn.wait_for_output("Total General servers");
    Some((network, folder, turn))
}

/// The TURN server with this password, at this port.
fn server(password: &str, port: u16) -> String {
    format!("turn:{USER}:{password}@{INNER}:{port}?transport=udp")
}

const PORT: u16 = 3478;

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
    if !browser::is_there() {
        return;
    }
    let Some((network, folder, turn)) = closed("q") else { return };
    let (sender, receiver, address) = page(&network, &folder);
    let url = format!("http://{address}");
    let mut viewer = within(&network.inside, "node", Path::new(SCRIPTS), &["relay.mjs", &url]);
    viewer.env("HOME", folder.path());
    let (status, steps, notes) = Live::start(viewer).end();
    assert!(status.success(), "{steps}{notes}");
    sender.finish_sender();
    receiver.finish();
    turn.kill();
}

/// A session in the open whose page names the relay: its ends, and the address of the page.
fn page(network: &Network, folder: &TempDir) -> (Live, Live, String) {
    let receiver = start(&network.open, folder.path(), &["recv", "rtp://127.0.0.1:5004"]);
    let (page, server) = (format!("{OPEN}:8090"), server(PASSWORD[1], PORT));
    let web = ["--web", &page, "--web-insecure", "--ice-server", &server];
    let arguments = [&["send", "test:320x180@25", "rtp://127.0.0.1:5004"], &web[..]].concat();
    let mut sender = start(&network.open, folder.path(), &arguments);
    let address = sender.wait_for_address("page");
    (sender, receiver, address)
}

/// `recv` knows of the relay by the answer alone.
#[test]
fn a_player_uses_the_relay_that_the_answer_names() {
    let Some((network, folder, turn)) = closed("p") else { return };
    let (sender, receiver, address) = page(&network, &folder);
    let url = format!("whep+http://{}", address.replace("/?", "/whep?"));
    let arguments = ["recv", &url, "--insecure", "--stats", "json"];
    let mut player = start(&network.inside, folder.path(), &arguments);
    player.wait_for_frames(50);
    player.finish();
    sender.finish_sender();
    receiver.finish();
    turn.kill();
}

/// One publishes at Pion's example by a relay, and one receives from there; others have another password, or no TURN server.
#[test]
fn a_media_server_is_reached_by_a_relay() {
    let Some(program) = pion() else { return };
    let Some((network, folder, turn)) = closed("m") else { return };
    let mut media_server = Live::start(within(&network.open, program.to_str().unwrap(), folder.path(), &[]));
    media_server.wait_for_output("Open http://localhost:8080");
    let [whip, whep] = ["whip", "whep"].map(|kind| format!("{kind}+http://{OPEN}:8080/{kind}"));
    let publish = |server: &str| {
        let arguments = ["send", "test:320x180@25", &whip, "--insecure", "--ice-server", server];
        start(&network.inside, folder.path(), &arguments)
    };
    let mut sender = publish(&server(PASSWORD[1], PORT));
    sender.wait_for_note("the media server is connected");
    let others = [
        (publish(&server("other", PORT)), "it refuses the name or the password (401)"),
        (publish(&server(PASSWORD[1], 9)), "no answer within 4 s"),
    ];
    let relay = server(PASSWORD[1], PORT);
    let arguments = ["recv", &whep, "--insecure", "--ice-server", &relay, "--stats", "json"];
    let mut receiver = start(&network.inside, folder.path(), &arguments);
    receiver.wait_for_frames(50);
    receiver.finish();
    for (other, why) in others {
        let (status, _, notes) = other.end();
        assert_eq!(status.code(), Some(1), "{notes}");
        assert!(notes.contains(&format!("the TURN server {INNER}:")) && notes.contains(why), "{notes}");
        assert!(notes.contains("no connection to the server's media port within 10 s"), "{notes}");
    }
    // Pion's example ends where a track ends.
    sender.interrupt();
    let (status, _, notes) = sender.end();
    assert!(status.success(), "{notes}");
    media_server.kill();
    turn.kill();
}
