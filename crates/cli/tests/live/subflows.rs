//! The connections of a controller that has several, on sockets of their own.

use super::process::{Live, free_port, seaway};
use super::stream::{INPUT, receive};
use pcap_file::pcap::PcapReader;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::Path;

/// Media packets: their source port and RTP timestamp.
fn media(capture: &Path, port: u16) -> Vec<(u16, u32)> {
    let mut reader = PcapReader::new(File::open(capture).unwrap()).unwrap();
    let mut packets = Vec::new();
    while let Some(packet) = reader.next_packet() {
        let data = packet.unwrap().data.into_owned();
        let number = |at: usize| u16::from_be_bytes([data[at], data[at + 1]]);
        let rtp = &data[28..];
        let is_media = rtp[1] & 0x7f == 96 || rtp[1] & 0x7f == 97;
        // Of the first stream; odd synchronisation sources repair.
        if number(22) == port && is_media && rtp[11] & 1 == 0 {
            packets.push((number(20), u32::from_be_bytes([rtp[4], rtp[5], rtp[6], rtp[7]])));
        }
    }
    packets
}

#[test]
fn each_connection_has_a_socket_and_whole_groups_of_pictures() {
    let (folder, port) = (tempfile::tempdir().unwrap(), free_port());
    let mut receiver = receive(folder.path(), port, &["--stats", "json"]);
    receiver.wait_for("its start", |line| line["type"] == "sample");
    let url = format!("rtp://127.0.0.1:{port}");
    let striped = ["--control", "tfrc(count=4)", "--stripe", "gop", "--sockets", "--key-every", "400 ms"];
    let arguments = [&["send", INPUT, &url, "--pcap", "sent.pcap", "--repair", "off"][..], &striped].concat();
    let sender = Live::start(seaway(folder.path(), &arguments));
    receiver.wait_for_frames(150);
    sender.finish();
    receiver.finish();
    let packets = media(&folder.path().join("sent.pcap"), port);
    let mut of_frame: BTreeMap<u32, BTreeSet<u16>> = BTreeMap::new();
    let mut of_port: BTreeMap<u16, BTreeSet<u32>> = BTreeMap::new();
    for (from, timestamp) in packets {
        of_frame.entry(timestamp).or_default().insert(from);
        of_port.entry(from).or_default().insert(timestamp);
    }
    assert_eq!(of_port.len(), 4, "{:?}", of_port.keys());
    assert!(of_port.values().all(|frames| frames.len() >= 15), "{of_port:?}");
    assert!(of_frame.values().all(|ports| ports.len() == 1), "a frame on two connections");
}
