//! A sender and a receiver with an address translator between them: three network namespaces, nftables in the middle.

use super::namespaces::{ip, within};
use super::process::{Live, has, seaway, skip};
use std::path::Path;
use std::process::{Command, Stdio};

const PORT: u16 = 5004;
/// Addresses of the host in the open, of the translator there, of the translator inside, and of the host inside.
const OPEN: &str = "203.0.113.1";
const OUTER: &str = "203.0.113.9";
const INNER: &str = "192.168.7.1";
const INSIDE: &str = "192.168.7.2";

/// What leaves for the open has the translator's address, and what comes to the port goes inside.
const RULES: &str = "table ip nat {
 chain post { type nat hook postrouting priority 100; oifname \"wan\" masquerade; }
 chain pre { type nat hook prerouting priority -100; iifname \"wan\" udp dport 5004 dnat to 192.168.7.2; }
}";

/// The namespaces; gone with the test.
struct Network {
    open: String,
    translator: String,
    inside: String,
}

impl Network {
    /// Makes it, or says why the test is skipped.
    fn new(name: &str) -> Option<Self> {
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

fn start(host: &str, folder: &Path, arguments: &[&str]) -> Live {
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
