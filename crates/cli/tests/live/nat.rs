//! Address translators between the ends, in network namespaces with nftables: one between sender and receiver, and one before each
//! end of a WebRTC session.

use super::namespaces::{ip, within};
use super::process::{Live, has, seaway, skip};
use std::path::Path;
use std::process::{Command, Stdio};

const PORT: u16 = 5004;
/// Addresses of the host in the open, of the translator there, of the translator inside, and of the host inside.
pub(super) const OPEN: &str = "203.0.113.1";
pub(super) const OUTER: &str = "203.0.113.9";
pub(super) const INNER: &str = "192.168.7.1";
const INSIDE: &str = "192.168.7.2";

/// What leaves for the open has the translator's address, and what comes to the port goes inside.
const RULES: &str = "table ip nat {
 chain post { type nat hook postrouting priority 100; oifname \"wan\" masquerade; }
 chain pre { type nat hook prerouting priority -100; iifname \"wan\" udp dport 5004 dnat to 192.168.7.2; }
}";

/// The namespaces; gone with the test.
pub(super) struct Network {
    pub(super) open: String,
    pub(super) translator: String,
    pub(super) inside: String,
}

impl Network {
    /// Makes it, or says why the test is skipped.
    pub(super) fn new(name: &str) -> Option<Self> {
        if !has("ip", "-V") || !has("nft", "--version") {
            return None;
        }
        let host = |end: &str| format!("sw{}{name}{end}", std::process::id());
        let network = Self { open: host("o"), translator: host("t"), inside: host("i") };
        let done = network.set_up();
        if done.is_none() {
            skip("network namespaces with NAT need root and a kernel that has them");
        }
        done.map(|()| network)
    }

    fn set_up(&self) -> Option<()> {
        let Self { open, translator, inside } = self;
        for host in [open, translator, inside] {
            ip(&format!("netns add {host}"))?;
            ip(&format!("-n {host} link set lo up"))?;
        }
        for (host, device, own, outer) in [(open, "wan", OPEN, OUTER), (inside, "lan", INSIDE, INNER)] {
            ip(&format!(
                "link add name {device} netns {host} type veth peer name {device} netns {translator}"
            ))?;
            for (host, address) in [(host, own), (translator, outer)] {
                ip(&format!("-n {host} addr add {address}/24 dev {device}"))?;
                ip(&format!("-n {host} link set {device} up"))?;
            }
        }
        ip(&format!("-n {inside} route add default via {INNER}"))?;
        ip(&format!("netns exec {translator} sysctl -qw net.ipv4.ip_forward=1"))?;
        let mut command = Command::new("ip");
        command.args(["netns", "exec", translator, "nft", RULES]).stdin(Stdio::null());
        command.output().ok()?.status.success().then_some(())
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for host in [&self.open, &self.translator, &self.inside] {
            let _ = ip(&format!("netns del {host}"));
        }
    }
}

pub(super) fn start(host: &str, folder: &Path, arguments: &[&str]) -> Live {
    let command = seaway(folder, arguments);
    Live::start(within(host, command.get_program().to_str().unwrap(), folder, arguments))
}

/// A keyed session of pictures and sound; the sender has the receiver's address from `to`, and the key as the receiver prints it.
fn session(sender: &str, receiver: &str, to: &str) {
    let folder = tempfile::tempdir().unwrap();
    let listen = format!("rtp://0.0.0.0:{PORT}");
    let mut receiver = start(receiver, folder.path(), &["recv", &listen, "--stats", "json"]);
    let printed = receiver.wait_for_note("send to rtp://").split_whitespace().last().unwrap().to_owned();
    let url = format!("rtp://{to}:{PORT}?{}", printed.split_once('?').expect("a key").1);
    let sender = start(sender, folder.path(), &["send", "test:320x180@25+tone", &url]);
    receiver.wait_for_frames(50);
    let has_sound =
        |line: &serde_json::Value| line["sound_packets"].as_u64().is_some_and(|count| count > 100);
    receiver.wait_for("sound", has_sound);
    sender.finish_sender();
    receiver.finish();
}

#[test]
fn a_receiver_behind_nat_needs_a_forwarded_port() {
    let Some(network) = Network::new("r") else { return };
    session(&network.open, &network.inside, OUTER);
}

#[test]
fn a_sender_behind_nat_needs_nothing() {
    let Some(network) = Network::new("s") else { return };
    session(&network.inside, &network.open, OPEN);
}

/// A keyed session of pictures and sound: the receiver calls the sender by the URL that it prints, or by the one at `at`.
fn call(sender: &str, receiver: &str, at: Option<&str>, options: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let listen = format!("rtp://0.0.0.0:{PORT}?mode=listener");
    let arguments = [&["send", "test:320x180@25+tone", &listen], options].concat();
    let mut sender = start(sender, folder.path(), &arguments);
    let printed = sender.wait_for_note("receive from rtp://").split_whitespace().last().unwrap().to_owned();
    let url = match at {
        Some(host) => format!("rtp://{host}:{PORT}?{}", printed.split_once('?').expect("a key").1),
        None => printed,
    };
    let mut receiver = start(receiver, folder.path(), &["recv", &url, "--stats", "json"]);
    receiver.wait_for_frames(50);
    let has_sound =
        |line: &serde_json::Value| line["sound_packets"].as_u64().is_some_and(|count| count > 100);
    receiver.wait_for("sound", has_sound);
    receiver.finish();
    sender.finish_sender();
}

#[test]
fn a_receiver_behind_nat_may_call() {
    let Some(network) = Network::new("c") else { return };
    // Nothing is forwarded to it.
    let mut command = Command::new("ip");
    command.args(["netns", "exec", &network.translator, "nft", "flush chain ip nat pre"]);
    assert!(command.status().unwrap().success());
    call(&network.open, &network.inside, Some(OPEN), &[]);
}

/// The sender is the one whose port is forwarded; the URL that it prints has the router's address.
#[test]
fn a_sender_behind_nat_learns_its_address() {
    let (Some(network), true) = (Network::new("l"), has("python3", "--version")) else { return };
    let folder = tempfile::tempdir().unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/live/stun_server.py");
    let mut stun =
        Live::start(within(&network.open, "python3", folder.path(), &[script.to_str().unwrap(), STUN]));
    stun.wait_for_output("ready");
    call(&network.inside, &network.open, None, &["--stun", STUN]);
    stun.kill();
}

/// A host behind an address translator that lets in nothing unasked but HTTP, and the network outside.
struct Home {
    inside: String,
    translator: String,
    net: &'static str,
    outer: &'static str,
}

/// Two homes at a network in the open, which has a STUN server.
struct Homes {
    open: String,
    homes: [Home; 2],
}

const HTTP: u16 = 8090;
const PAGE: &str = "192.168.7.2";
const PAGE_OUTSIDE: &str = "203.0.113.9";
const STUN: &str = "203.0.113.1:3478";

impl Homes {
    /// Makes them, or says why the test is skipped.
    fn new() -> Option<Self> {
        if !has("ip", "-V") || !has("nft", "--version") || !has("python3", "--version") {
            return None;
        }
        let name = |end: &str| format!("sw{}{end}", std::process::id());
        let home = |end: &str, net, outer| Home {
            inside: name(&format!("i{end}")),
            translator: name(&format!("t{end}")),
            net,
            outer,
        };
        let homes = Self {
            open: name("w"),
            homes: [home("a", "192.168.7", "203.0.113"), home("b", "192.168.8", "198.51.100")],
        };
        let done = homes.set_up();
        if done.is_none() {
            skip("network namespaces with NAT need root and a kernel that has them");
        }
        done.map(|()| homes)
    }

    fn set_up(&self) -> Option<()> {
        let open = &self.open;
        ip(&format!("netns add {open}"))?;
        ip(&format!("netns exec {open} sysctl -qw net.ipv4.ip_forward=1"))?;
        self.homes.iter().try_for_each(|home| home.set_up(open))
    }
}

impl Home {
    /// What leaves has the translator's address, which nothing reaches unasked but HTTP.
    fn rules(&self) -> String {
        format!(
            "table ip nat {{
 chain post {{ type nat hook postrouting priority 100; oifname \"wan\" masquerade; }}
 chain pre {{ type nat hook prerouting priority -100; iifname \"wan\" tcp dport {HTTP} dnat to {}.2; }}
 chain in {{ type filter hook input priority 0; iifname \"wan\" ct state new drop; }}
}}",
            self.net
        )
    }

    fn set_up(&self, open: &str) -> Option<()> {
        let Self { inside, translator, net, outer } = self;
        for host in [inside, translator] {
            ip(&format!("netns add {host}"))?;
            ip(&format!("-n {host} link set lo up"))?;
        }
        let wan = format!("wan{}", &outer[..3]);
        ip(&format!("link add name {wan} netns {open} type veth peer name wan netns {translator}"))?;
        ip(&format!("link add name lan netns {inside} type veth peer name lan netns {translator}"))?;
        let addresses = [
            (open, &*wan, outer, 1),
            (translator, "wan", outer, 9),
            (translator, "lan", net, 1),
            (inside, "lan", net, 2),
        ];
        for (host, device, network, number) in addresses {
            ip(&format!("-n {host} addr add {network}.{number}/24 dev {device}"))?;
            ip(&format!("-n {host} link set {device} up"))?;
        }
        ip(&format!("-n {inside} route add default via {net}.1"))?;
        ip(&format!("-n {translator} route add default via {outer}.1"))?;
        ip(&format!("netns exec {translator} sysctl -qw net.ipv4.ip_forward=1"))?;
        let mut command = Command::new("ip");
        command.args(["netns", "exec", translator, "nft", &self.rules()]).stdin(Stdio::null());
        command.output().ok()?.status.success().then_some(())
    }
}

impl Drop for Homes {
    fn drop(&mut self) {
        let homes = self.homes.iter().flat_map(|home| [&home.inside, &home.translator]);
        for host in homes.chain([&self.open]) {
            let _ = ip(&format!("netns del {host}"));
        }
    }
}

/// Both ends learn their address from the STUN server, and each opens its translator by its own checks.
#[test]
fn both_ends_of_webrtc_may_be_behind_nat() {
    let Some(network) = Homes::new() else { return };
    let folder = tempfile::tempdir().unwrap();
    let [page, player] = &network.homes;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/live/stun_server.py");
    let mut stun =
        Live::start(within(&network.open, "python3", folder.path(), &[script.to_str().unwrap(), STUN]));
    stun.wait_for_output("ready");
    let receiver = start(&page.inside, folder.path(), &["recv", "rtp://127.0.0.1:5004"]);
    let web = format!("{PAGE}:{HTTP}");
    let arguments = [
        "send",
        "test:320x180@25+tone",
        "rtp://127.0.0.1:5004",
        "--web",
        &web,
        "--web-insecure",
        "--stun",
        STUN,
    ];
    let mut sender = start(&page.inside, folder.path(), &arguments);
    let token = sender.wait_for_address("page").split_once("token=").unwrap().1.to_owned();
    let url = format!("whep+http://{PAGE_OUTSIDE}:{HTTP}/whep?token={token}");
    let watch = |options: &[&str]| {
        start(
            &player.inside,
            folder.path(),
            &[&["recv", &url, "--insecure", "--stats", "json"], options].concat(),
        )
    };
    let mut watching = watch(&["--stun", STUN]);
    watching.wait_for_frames(50);
    watching.wait_for("sound", |line| line["sound_packets"].as_u64().is_some_and(|count| count > 50));
    watching.finish();
    let (status, _, notes) = watch(&[]).end();
    assert!(!status.success() && notes.contains("no connection to the server's media port"), "{notes}");
    let (status, _, notes) = watch(&["--stun", "203.0.113.1:9"]).end();
    assert!(!status.success() && notes.contains("the STUN server 203.0.113.1:9: no answer"), "{notes}");
    sender.finish_sender();
    receiver.finish();
    stun.kill();
}
