//! Unsolicited datagrams at the receiver's port.

use super::process::free_port;
use super::stream::{receive, send, wait_for_metric};
use pcap_file::pcap::PcapReader;
use seaway_net::Clock;
use seaway_units::TimeDelta;
use serde_json::Value;
use std::fs::File;
use std::net::UdpSocket;
use std::path::Path;

/// Datagrams a second, for so long.
pub(crate) const RATE: u64 = 10_000;
pub(crate) const SECONDS: u64 = 3;

/// A generator of bytes that are none of a protocol (xorshift64).
pub(crate) struct Bytes(pub(crate) u64);

impl Bytes {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(crate) fn fill(&mut self, buffer: &mut [u8]) {
        for chunk in buffer.chunks_mut(8) {
            chunk.copy_from_slice(&self.next().to_le_bytes()[..chunk.len()]);
        }
    }
}

/// Sends what `make` gives, at [`RATE`] in steps of a hundredth of a second.
pub(crate) fn flood(port: u16, mut make: impl FnMut(u64) -> Vec<u8>) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(("127.0.0.1", port)).unwrap();
    let clock = Clock::start();
    let begin = clock.now();
    let step = TimeDelta::from_millis(10);
    for packet in 0..RATE * SECONDS {
        if packet % (RATE / 100) == 0 {
            clock.sleep_until(begin + step * (packet / (RATE / 100)) as i64);
        }
        // A full queue is the attacker's loss.
        let _ = socket.send(&make(packet));
    }
}

#[test]
fn garbage_does_not_stop_the_video() {
    let folder = tempfile::tempdir().unwrap();
    let port = free_port();
    let mut receiver = receive(folder.path(), port, &["--json", "--metrics", "127.0.0.1:0"]);
    let metrics = receiver.wait_for_address("metrics");
    let sender = send(folder.path(), port, &[]);
    let before = wait_for_metric(&metrics, "frames_displayed_total", 10.0);
    let mut bytes = Bytes(7);
    flood(port, |packet| {
        let mut datagram = vec![0; 1 + (packet % 1400) as usize];
        bytes.fill(&mut datagram);
        datagram
    });
    let during = wait_for_metric(&metrics, "frames_displayed_total", before + 25.0);
    wait_for_metric(&metrics, "frames_displayed_total", during + 25.0);
    assert!(receiver.is_running());
    let report: Value = serde_json::from_str(&receiver.finish()).unwrap();
    let unknown = report["refused"]["unknown_ssrc"].as_u64().unwrap();
    assert!(unknown > RATE * SECONDS / 10, "{report}");
    sender.finish();
}

#[test]
fn replayed_and_cut_packets_do_not_stop_the_video() {
    let folder = tempfile::tempdir().unwrap();
    // A recorded session.
    let port = free_port();
    let mut receiver = receive(folder.path(), port, &["--stats", "json", "--pcap", "tap.pcap"]);
    let sender = send(folder.path(), port, &[]);
    receiver.wait_for_frames(25);
    sender.finish();
    receiver.finish();
    let recorded = datagrams(&folder.path().join("tap.pcap"), port);
    assert!(recorded.len() > 20);

    // Before the sender comes, an attacker plays the record, whole and cut: it may be taken for a sender, since it was
    // one, but must give way to the one that lives.
    let mut receiver = receive(folder.path(), port, &["--json", "--metrics", "127.0.0.1:0"]);
    let metrics = receiver.wait_for_address("metrics");
    flood(port, |packet| {
        let datagram = &recorded[packet as usize % recorded.len()];
        let kept = if packet % 2 == 0 { datagram.len() } else { packet as usize % (datagram.len() + 1) };
        datagram[..kept].to_vec()
    });
    let sender = send(folder.path(), port, &[]);
    let shown = wait_for_metric(&metrics, "frames_displayed_total", 1.0);
    wait_for_metric(&metrics, "frames_displayed_total", shown + 50.0);
    // Once more, beside the live one.
    flood(port, |packet| recorded[packet as usize % recorded.len()].clone());
    let shown = wait_for_metric(&metrics, "frames_displayed_total", 1.0);
    wait_for_metric(&metrics, "frames_displayed_total", shown + 25.0);
    assert!(receiver.is_running());
    let report: Value = serde_json::from_str(&receiver.finish()).unwrap();
    for counter in ["unknown_ssrc", "malformed", "duplicates"] {
        assert!(report["refused"][counter].as_u64().unwrap() > 0, "{counter}: {report}");
    }
    sender.finish();
}

/// The payloads to `port` in a capture of ours.
pub(crate) fn datagrams(file: &Path, port: u16) -> Vec<Vec<u8>> {
    let mut reader = PcapReader::new(File::open(file).unwrap()).unwrap();
    let mut found = Vec::new();
    while let Some(packet) = reader.next_packet() {
        let packet = packet.unwrap();
        if packet.data[22..24] == port.to_be_bytes() {
            found.push(packet.data[28..].to_vec());
        }
    }
    found
}
