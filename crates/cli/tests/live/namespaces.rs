//! Two hosts and a narrow link between them: network namespaces, a veth pair, a token bucket at either end.

use super::process::{Live, TIMEOUT, has, seaway, skip};
use seaway_net::Clock;
use seaway_units::TimeDelta;
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// Rate of the link, both ways, in bit/s.
pub(crate) const RATE: f64 = 2e6;
const PORT: u16 = 5004;
/// Last numbers of the hosts' addresses.
const NEAR: u8 = 1;
const FAR: u8 = 2;

/// The namespaces; gone with the test. The address of the near one is 10.97.0.1, that of the far one 10.97.0.2.
pub(crate) struct Hosts {
    pub(crate) near: String,
    pub(crate) far: String,
}

impl Hosts {
    /// Makes them, or says why the test is skipped.
    pub(crate) fn new() -> Option<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        if !has("ip", "-V") || !has("tc", "-V") {
            return None;
        }
        let name = format!("sw{}x{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let hosts = Self { near: format!("{name}n"), far: format!("{name}f") };
        let done = hosts.set_up();
        if done.is_none() {
            skip("network namespaces need root and a kernel that has them");
        }
        done.map(|()| hosts)
    }

    fn set_up(&self) -> Option<()> {
        for host in [&self.near, &self.far] {
            ip(&format!("netns add {host}"))?;
        }
        let end = |host: &str, number| format!("lane address {} netns {host}", hardware(number));
        let (near, far) = (end(&self.near, NEAR), end(&self.far, FAR));
        ip(&format!("link add name {near} type veth peer name {far}"))?;
        for (host, number, other) in [(&self.near, NEAR, FAR), (&self.far, FAR, NEAR)] {
            ip(&format!("-n {host} link set lo up"))?;
            ip(&format!("-n {host} addr add 10.97.0.{number}/24 dev lane"))?;
            link_up(host, other)?;
            let bucket = format!("tbf rate {RATE:.0}bit burst 16kb latency 100ms");
            ip(&format!("netns exec {host} tc qdisc add dev lane root {bucket}"))?;
        }
        Some(())
    }

    /// A receiver on the far host and a sender on the near one.
    fn session(&self, folder: &Path) -> (Live, Live) {
        self.session_with(folder, &[], &["test:320x180@25"])
    }

    /// The same where both have these arguments too.
    fn session_with(&self, folder: &Path, both: &[&str], sender: &[&str]) -> (Live, Live) {
        let start = |host: &str, arguments: &[&str]| {
            let command = seaway(folder, arguments);
            Live::start(within(host, command.get_program().to_str().unwrap(), folder, arguments))
        };
        let listen = format!("rtp://0.0.0.0:{PORT}");
        let mut receiver = start(&self.far, &[&["recv", &listen, "--stats", "json"], both].concat());
        let note = receiver.wait_for_note("send to rtp://10.97.0.2:");
        let to = note.split_whitespace().last().unwrap();
        let sender =
            start(&self.near, &[&["send", sender[0], to, "--stats", "json"], &sender[1..], both].concat());
        (receiver, sender)
    }
}

/// The hardware address of a host.
fn hardware(number: u8) -> String {
    format!("02:00:00:00:00:{number:02x}")
}

/// Brings up a host's link, with the other host's hardware address known. A link that goes down loses its neighbours,
/// and the kernel repeats a lost request for an address each second only: its delay, not ours.
fn link_up(host: &str, other: u8) -> Option<()> {
    ip(&format!("-n {host} link set lane up"))?;
    ip(&format!("-n {host} neigh replace 10.97.0.{other} lladdr {} dev lane nud permanent", hardware(other)))
}

impl Drop for Hosts {
    fn drop(&mut self) {
        // The link goes with either of them.
        for host in [&self.near, &self.far] {
            let _ = ip(&format!("netns del {host}"));
        }
    }
}

/// Runs `ip`; `None` where it refuses.
pub(crate) fn ip(arguments: &str) -> Option<()> {
    let output = Command::new("ip").args(arguments.split(' ')).output().ok()?;
    output.status.success().then_some(())
}

pub(crate) fn within(host: &str, program: &str, folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("ip");
    command.args(["netns", "exec", host, program]).args(arguments).current_dir(folder);
    command
}

#[test]
fn video_and_tcp_share_a_link() {
    if !has("iperf3", "--version") {
        return;
    }
    let Some(hosts) = Hosts::new() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (mut receiver, sender) = hosts.session(folder.path());
    let before = receiver.wait_for_frames(50);
    let server = Live::start(within(&hosts.far, "iperf3", folder.path(), &["-s"]));
    let rate = tcp_rate(&hosts.near, folder.path());
    assert!(rate >= 0.2 * RATE, "TCP had {rate} bit/s of {RATE}");
    // Video was squeezed, not stopped: the lines of that time are still to be read.
    let begin = receiver.wait_for("a sample", |line| line["type"] == "sample")["time"].as_f64().unwrap();
    let after = receiver.wait_for("8 s", |line| {
        line["type"] == "sample" && line["time"].as_f64().is_some_and(|time| time >= begin + 8.0)
    });
    let shown = after["frames_displayed"].as_u64().unwrap() - before;
    assert!(shown >= 50, "{shown} frames shown in 8 s beside TCP");
    drop(server);
    sender.finish();
    receiver.finish();
}

/// What a transfer of 8 s from `host` to the other gets, in bit/s.
fn tcp_rate(host: &str, folder: &Path) -> f64 {
    let clock = Clock::start();
    let end = clock.now() + TimeDelta::from_secs(TIMEOUT.as_secs() as i64);
    while clock.now() < end {
        let run = within(host, "iperf3", folder, &["-c", "10.97.0.2", "-t", "8", "-J"]).output().unwrap();
        let report: Value = serde_json::from_slice(&run.stdout).unwrap();
        let rate = report["end"]["sum_received"]["bits_per_second"].as_f64();
        if let (true, Some(rate)) = (run.status.success(), rate) {
            return rate;
        }
        // The server does not listen yet, or could not report in time what it received.
        clock.sleep_until(clock.now() + TimeDelta::from_millis(100));
    }
    panic!("iperf3 finds no server");
}

#[test]
fn video_is_back_two_seconds_after_the_link() {
    let Some(hosts) = Hosts::new() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (mut receiver, mut sender) = hosts.session(folder.path());
    receiver.wait_for_frames(50);
    ip(&format!("-n {} link set lane down", hosts.near)).unwrap();
    let mut at = |what, from: f64| {
        receiver.wait_for(what, |line| {
            line["type"] == "sample" && line["time"].as_f64().is_some_and(|time| time >= from)
        })
    };
    let down = at("the link's end", 0.0)["time"].as_f64().unwrap();
    let still = at("10 s without a link", down + 10.0);
    let (up, shown) = (still["time"].as_f64().unwrap(), still["frames_displayed"].as_u64().unwrap());
    link_up(&hosts.near, FAR).unwrap();
    let back = receiver.wait_for("pictures", |line| line["frames_displayed"].as_u64() > Some(shown));
    let waited = back["time"].as_f64().unwrap() - up;
    // Values come ten times a second: the link is up after `up`, and the picture was shown before `back`.
    assert!(waited <= 2.2, "{waited} s until the first picture");
    receiver.wait_for_frames(shown + 25);
    assert!(sender.is_running());
    sender.finish();
    receiver.finish();
}

/// Length, codepoint of differentiated services, ECN and source of each packet on the link.
fn captured(file: &Path) -> Vec<[String; 4]> {
    let mut command = Command::new("tshark");
    command.arg("-r").arg(file).args(["-Y", "udp && !icmp", "-T", "fields"]);
    command.args(
        ["ip.len", "ip.dsfield.dscp", "ip.dsfield.ecn", "ip.src"].iter().flat_map(|field| ["-e", field]),
    );
    let output = String::from_utf8(command.output().unwrap().stdout).unwrap();
    let line = |line: &str| {
        let mut fields = line.split('\t').map(str::to_owned);
        std::array::from_fn(|_| fields.next().unwrap())
    };
    output.lines().map(line).collect()
}

/// A link that is too narrow, so that retransmissions and repair packets leave too, as an observer sees it.
#[test]
fn datagrams_are_marked_and_no_larger_than_allowed() {
    const MTU: u64 = 600;
    if !has("tshark", "--version") {
        return;
    }
    let Some(hosts) = Hosts::new() else { return };
    // The observer sees datagrams, not the trains that a device would cut.
    ip(&format!("-n {} link set lane gso_max_segs 1", hosts.near)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("link.pcapng");
    let capture = ["-i", "lane", "-q", "-w", file.to_str().unwrap()];
    let mut capture = Live::start(within(&hosts.near, "tshark", folder.path(), &capture));
    capture.wait_for_note("Capturing on");
    let both = ["--mtu", "600", "--dscp", "af41", "--interface", "lane"];
    super::lanes::write_noise(&folder.path().join("noise.y4m"));
    let sender = ["noise.y4m", "--repeat", "--control", "fixed(rate=3 Mbit/s)"];
    let (mut receiver, sender) = hosts.session_with(folder.path(), &both, &sender);
    let repairs = |line: &Value| line["packets_repaired"].as_u64().is_some_and(|repaired| repaired > 20);
    receiver.wait_for("repair", repairs);
    sender.finish_sender();
    receiver.finish();
    capture.interrupt();
    capture.end();
    let packets = captured(&file);
    let lengths = |from: &str| -> Vec<u64> {
        packets.iter().filter(|packet| packet[3] == from).map(|packet| packet[0].parse().unwrap()).collect()
    };
    let (sent, reports) = (lengths("10.97.0.1"), lengths("10.97.0.2"));
    assert!(sent.len() > 200 && reports.len() > 50, "{} and {}", sent.len(), reports.len());
    let longest = |lengths: &[u64]| *lengths.iter().max().unwrap();
    assert!((MTU - 20..=MTU).contains(&longest(&sent)), "{}", longest(&sent));
    assert!(longest(&reports) <= MTU, "{}", longest(&reports));
    // AF41 (RFC 2597).
    let other = packets.iter().find(|packet| packet[1] != "34");
    assert!(other.is_none(), "{other:?}");
}
