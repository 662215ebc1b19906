//! AAC of the input goes to the receiver as it is.

use super::copied_opus::{check, send};
use super::process::{Live, free_port, has, seaway};
use super::sound::{beeps, check_in_step, clip, flashes, track_durations};
use super::stream::receive;
use seaway_wire::aac::{Config, Payload};
use seaway_wire::rtp;
use std::net::UdpSocket;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Six channels, of which the first has the beeps and all have noise: frames of about 1700 octets.
const SURROUND: [&str; 4] = [
    "-af",
    "aeval='val(0)+0.05*(random(0)-0.5)|0.05*(random(1)-0.5)|0.05*(random(2)-0.5)|0.05*(random(3)-0.5)|0.05*(random(4)-0.5)|\
     0.05*(random(5)-0.5)',aformat=channel_layouts=5.1",
    "-b:a",
    "640k",
];

/// Six seconds with a flash and a beep each second, and AAC by these options.
fn make_clip(folder: &Path, name: &str, aac: &[&str]) {
    ffmpeg(folder, &[&clip(25).iter().map(String::as_str).collect::<Vec<_>>(), aac, &[name]].concat());
}

fn ffmpeg(folder: &Path, arguments: &[&str]) {
    let mut command = Command::new("ffmpeg");
    command.current_dir(folder).args(["-v", "error"]).args(arguments);
    assert!(command.status().unwrap().success(), "{arguments:?}");
}

/// In one channel; of a file whose times are rounded; in frames that do not fit into a datagram.
#[test]
fn frames_of_a_file_arrive_as_they_are() {
    if !has("ffmpeg", "-version") || !has("ffprobe", "-version") {
        return;
    }
    let files = [
        ("clip.mp4", &[][..], &[][..]),
        ("clip.mkv", &["-ac", "2", "-ar", "48000"], &["--copy"]),
        ("surround.mkv", &SURROUND, &[]),
    ];
    for (name, aac, options) in files {
        let folder = tempfile::tempdir().unwrap();
        make_clip(folder.path(), name, aac);
        let notes = send(folder.path(), name, Stdio::null(), options);
        assert!(notes.contains("sound: aac, sent as it is") && !notes.contains("left out"), "{notes}");
        check(folder.path(), name, 1_024);
    }
}

#[test]
fn frames_of_a_pipe_arrive_as_they_are() {
    if !has("ffmpeg", "-version") || !has("ffprobe", "-version") {
        return;
    }
    // Each frame in a packet, so that the first one comes with the first pictures; and as many as come in a third of a second.
    for options in [&["-pes_payload_size", "0"][..], &[]] {
        let folder = tempfile::tempdir().unwrap();
        make_clip(folder.path(), "clip.mp4", &[]);
        let mut source = Command::new("ffmpeg");
        source.current_dir(folder.path()).args(["-v", "error", "-re", "-i", "clip.mp4", "-c", "copy"]);
        source.args(options).args(["-f", "mpegts", "-"]);
        let mut source = source.stdout(Stdio::piped()).spawn().unwrap();
        let pipe = source.stdout.take().unwrap();
        let notes = send(folder.path(), "-", pipe.into(), &["--copy"]);
        source.wait().unwrap();
        assert!(notes.contains("sound: aac, sent as it is"), "{notes}");
        check(folder.path(), "clip.mp4", 1_024);
    }
}

/// The packets of AAC that `send` sends in three seconds, to a receiver that answers nothing.
fn payloads(folder: &Path, input: &str) -> Vec<Packet> {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    // Longer than it takes to begin.
    socket.set_read_timeout(Some(Duration::from_secs(3))).unwrap();
    let url = format!("rtp://{}", socket.local_addr().unwrap());
    let options = ["--duration", "3 s", "--control", "fixed(rate=3 Mbit/s)"];
    let sender = Live::start(seaway(folder, &[&["send", input, &url], &options[..]].concat()));
    let (mut octets, mut found) = ([0; 2_000], Vec::new());
    while let Ok(count) = socket.recv(&mut octets) {
        found.extend(Packet::of(&octets[..count]));
    }
    sender.end();
    found
}

/// A packet of AAC.
struct Packet {
    marker: bool,
    timestamp: u32,
    payload: Vec<u8>,
}

impl Packet {
    /// `None` of others.
    fn of(datagram: &[u8]) -> Option<Self> {
        let packet = rtp::Packet::parse(datagram).ok()?;
        let rtp::Header { marker, timestamp, payload_type, .. } = packet.header;
        (payload_type == 101).then(|| Self { marker, timestamp, payload: packet.payload.to_vec() })
    }
}

/// By RFC 3640: a unit in a packet, with its size before it, or in several, of which the last has the marker.
#[test]
fn packets_have_the_access_units_of_the_file() {
    if !has("ffmpeg", "-version") {
        return;
    }
    // AAC-LC at 44.1 kHz in one channel, and in six.
    for (config, aac) in [([0x12, 0x08], &[][..]), ([0x12, 0x30], &SURROUND)] {
        let folder = tempfile::tempdir().unwrap();
        make_clip(folder.path(), "clip.mp4", aac);
        ffmpeg(folder.path(), &["-i", "clip.mp4", "-vn", "-c", "copy", "-f", "adts", "clip.aac"]);
        let packets = payloads(folder.path(), "clip.mp4");
        let config = Config::parse(config).unwrap();
        let (mut stream, mut unit, mut times, mut frames) = (Vec::new(), Vec::new(), Vec::new(), 0);
        for packet in &packets {
            let [(size, part)] = Payload::parse(&packet.payload).unwrap().units().collect::<Vec<_>>()[..]
            else {
                panic!("several units")
            };
            unit.extend_from_slice(part);
            assert_eq!(packet.marker, unit.len() == size);
            if packet.marker {
                stream.extend(config.adts_header(size).unwrap());
                stream.append(&mut unit);
                times.push(packet.timestamp);
                frames += 1;
            }
        }
        assert!(frames > 20 && frames <= 135 && (packets.len() > frames) != aac.is_empty(), "{frames}");
        let file = std::fs::read(folder.path().join("clip.aac")).unwrap();
        assert!(is_part(&file, &stream), "{} octets of {}", stream.len(), file.len());
        let steps = times.windows(2).map(|pair| pair[1].wrapping_sub(pair[0]));
        assert!(steps.clone().all(|step| (1_023..=1_025).contains(&step)), "{:?}", steps.collect::<Vec<_>>());
    }
}

/// Whether frames follow each other so in a stream of ADTS.
fn is_part(stream: &[u8], part: &[u8]) -> bool {
    // Headers differ in what they say of the buffer, and of what is original.
    let units = |mut octets: &[u8]| {
        let mut units = Vec::new();
        while let Ok(header) = seaway_wire::aac::AdtsHeader::parse(octets) {
            units.push(octets[header.header_len()..header.frame_len].to_vec());
            octets = &octets[header.frame_len..];
        }
        units
    };
    let (stream, part) = (units(stream), units(part));
    !part.is_empty() && stream.windows(part.len()).any(|window| window == part)
}

/// A receiver with a page takes Opus, as browsers do.
#[test]
fn a_receiver_that_does_not_take_it_gets_opus() {
    if !has("ffmpeg", "-version") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    make_clip(folder.path(), "clip.mp4", &[]);
    let (port, page) = (free_port(), format!("127.0.0.1:{}", free_port()));
    let receiver = receive(folder.path(), port, &["-o", "got.mp4", "--json", "--web", &page]);
    let url = format!("rtp://127.0.0.1:{port}");
    let sender = Live::start(seaway(folder.path(), &["send", "clip.mp4", &url]));
    let (status, _, notes) = sender.end();
    assert!(status.success(), "{notes}");
    receiver.finish();
    assert!(notes.contains("the receiver does not take AAC: the sound is coded as Opus"), "{notes}");
    let recording = folder.path().join("got.mp4");
    assert_eq!(track_durations(&recording)[1].0, "opus");
    check_in_step(&flashes(&recording), &beeps(&recording), 4);
}
