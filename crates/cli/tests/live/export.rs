//! `--export-keys`: with what it writes, others open a capture of a keyed session.

use super::hostile::datagrams;
use super::keyed::{self, KEY};
use super::process::{free_port, has, skip};
use pcap_file::pcap::{PcapReader, PcapWriter};
use seaway_session::{Message, payload_type};
use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

/// RFC 5761 section 4.
fn is_rtcp(datagram: &[u8]) -> bool {
    datagram[0] >> 6 == 2 && (192..=223).contains(&datagram[1])
}

fn is_rtp(datagram: &[u8]) -> bool {
    datagram[0] >> 6 == 2 && !is_rtcp(datagram)
}

/// A second of a keyed session: tap.pcap and keys. Gives the port of the receiver, to which media goes.
fn capture(folder: &Path) -> u16 {
    let port = free_port();
    let options = ["--stats", "json", "--pcap", "tap.pcap", "--export-keys", "keys"];
    let mut receiver = keyed::receive(folder, port, KEY, &options);
    let sender = keyed::send(folder, port, KEY, &[]);
    receiver.wait_for_frames(25);
    sender.finish();
    receiver.finish();
    port
}

/// Runs a tool in the folder; what it printed.
fn run(folder: &Path, tool: &str, arguments: &[&str]) -> String {
    let output = Command::new(tool).args(arguments).current_dir(folder).output().unwrap();
    let notes = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{tool}: {}: {notes}", output.status);
    String::from_utf8(output.stdout).unwrap()
}

/// The sender's key with its salt, in hexadecimal digits.
fn sender_key(folder: &Path) -> String {
    let keys = fs::read_to_string(folder.join("keys")).unwrap();
    keys.lines().find_map(|line| line.strip_prefix("sender-to-receiver ")).unwrap().to_owned()
}

/// All but the handshake is opened by a decryptor of its own, header extensions included, and then read by our parser and by tshark.
#[test]
fn the_exported_keys_open_a_capture() {
    let can_decrypt = |python: &&str| {
        let tried = Command::new(python).args(["-c", "import cryptography"]).output();
        tried.is_ok_and(|output| output.status.success())
    };
    let Some(python) = ["python3", "/usr/bin/python3"].into_iter().find(can_decrypt) else {
        skip("no Python with the package cryptography");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let port = capture(folder.path());
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../validation/security/decrypt.py");
    let counts = run(folder.path(), python, &[script, "tap.pcap", "keys", "clear.pcap"]);
    assert!(counts.ends_with("refused=0\n"), "{counts}");
    let clear = datagrams(&folder.path().join("clear.pcap"), port);
    let media: Vec<_> = clear.into_iter().filter(|datagram| is_rtp(datagram)).collect();
    let sealed = datagrams(&folder.path().join("tap.pcap"), port);
    let sealed: Vec<_> = sealed.into_iter().filter(|datagram| is_rtp(datagram)).collect();
    assert!(media.len() > 25 && media.len() == sealed.len(), "{} of {}", media.len(), sealed.len());
    for (opened, sealed) in media.iter().zip(&sealed) {
        assert_eq!(opened.len() + 16, sealed.len());
        let Ok(Message::Rtp(packet)) = Message::decode(&opened.clone().into()) else { panic!("{opened:?}") };
        assert!(packet.control.is_some(), "its extension has our send time: {packet:?}");
        let is_media = packet.payload_type == payload_type::H264;
        assert!(
            !is_media || packet.marking.is_some_and(|marking| marking.frame < 1000),
            "and its frame: {packet:?}"
        );
    }
    assert_tshark_reads(folder.path(), port, media.len());
}

/// tshark has no SRTP of its own: it reads what was opened, and finds the extensions' elements in each packet.
fn assert_tshark_reads(folder: &Path, port: u16, packets: usize) {
    if !has("tshark", "--version") {
        return;
    }
    let as_rtp = format!("udp.port=={port},rtp");
    let wanted = format!("rtp.version == 2 && udp.dstport == {port}");
    let fields = ["-T", "fields", "-e", "rtp.ssrc", "-e", "rtp.ext.rfc5285.id"];
    let arguments = [&["-r", "clear.pcap", "-d", &as_rtp, "-Y", &wanted][..], &fields].concat();
    let printed = run(folder, "tshark", &arguments);
    let with_elements = printed.lines().filter(|line| line.split('\t').all(|field| !field.is_empty()));
    assert_eq!(with_elements.count(), packets, "{printed}");
}

/// GStreamer's `srtpdec` opens the sender's reports with the exported key. Its libsrtp, 2.5, has no RFC 9335 for the media.
#[test]
fn gstreamer_opens_the_reports_with_the_exported_key() {
    if !has("gst-launch-1.0", "--version") || !has("gst-inspect-1.0", "srtpdec") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let port = capture(folder.path());
    let mut reader = PcapReader::new(File::open(folder.path().join("tap.pcap")).unwrap()).unwrap();
    let out = File::create(folder.path().join("reports.pcap")).unwrap();
    let mut writer = PcapWriter::with_header(out, reader.header()).unwrap();
    let mut sealed = Vec::new();
    while let Some(packet) = reader.next_packet() {
        let packet = packet.unwrap();
        if packet.data[22..24] == port.to_be_bytes() && is_rtcp(&packet.data[28..]) {
            sealed.push(packet.data[28..].to_vec());
            writer.write_packet(&packet).unwrap();
        }
    }
    drop(writer);
    let first = sealed.first().expect("the sender reports");
    let (ssrc, key) = (u32::from_be_bytes(first[4..8].try_into().unwrap()), sender_key(folder.path()));
    let cipher = "srtp-cipher=(string)aes-128-gcm,srtp-auth=(string)null,srtcp-cipher=(string)aes-128-gcm";
    let caps = format!(
        "caps=application/x-srtcp,payload=(int)96,ssrc=(uint){ssrc},srtp-key=(buffer){key},{cipher},\
         srtcp-auth=(string)null,roc=(uint)0"
    );
    // Without `identity` the packets come in lists, which `srtpdec` 1.22 passes as they are.
    let pipeline = "filesrc location=reports.pcap ! pcapparse CAPS ! identity ! d.rtcp_sink \
                    srtpdec name=d d.rtcp_src ! filesink location=opened";
    let words = pipeline.split_whitespace().map(|word| if word == "CAPS" { caps.as_str() } else { word });
    run(folder.path(), "gst-launch-1.0", &[&["-q"][..], &words.collect::<Vec<_>>()].concat());
    let opened = fs::read(folder.path().join("opened")).unwrap();
    // A tag of 16 octets and an index of 4 are gone.
    assert_eq!(opened.len(), sealed.iter().map(|report| report.len() - 20).sum::<usize>());
    assert_eq!(opened[..8], first[..8]);
    let begin = first.len() - 20;
    let holds = |text: &[u8]| opened[..begin].windows(text.len()).any(|window| window == text);
    assert!(holds(b"SEAW"), "the description is in clear: {:?}", &opened[..begin]);
}
