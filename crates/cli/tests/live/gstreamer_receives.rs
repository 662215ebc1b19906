//! GStreamer receives what `send` gives it: H.264 and a transport stream by plain RTP, with reports that drive the rate, and a transport
//! stream by UDP.

use super::namespaces::{Hosts, RATE, within};
use super::plain_rtp::{WANTED, conforms, ffmpeg, fields, gstreamer};
use super::process::{Live, TIMEOUT, free_port, has, seaway, skip};
use super::sound::{beeps, check_in_step, with_sound};
use super::stream::{INPUT, probed, send};
use super::transport_output::seconds;
use seaway_net::Clock;
use seaway_units::TimeDelta;
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

const FILE: &str = "video/x-h264,stream-format=byte-stream ! filesink location=got.h264";

/// What the packets carry: the end of their caps, and what writes it to a file.
type Carried = (&'static str, &'static str);
const H264: Carried = (
    "H264,payload=96",
    "rtph264depay ! h264parse ! video/x-h264,stream-format=byte-stream ! filesink location=got.h264",
);
const MP2T: Carried = ("MP2T,payload=33", "rtpmp2tdepay ! filesink location=got.ts");

/// A player of what `send --sdp` sends to `port`, with reports to port `reports` of `host`; it writes the stream to a file.
fn player(
    port: u16,
    (host, reports): (&str, u16),
    (profile, caps): (&str, &str),
    (name, sink): Carried,
) -> String {
    let control = port + 1;
    format!(
        "rtpbin name=bin rtp-profile={profile} udpsrc port={port} \
         caps=application/x-rtp,media=video,clock-rate=90000,encoding-name={name}{caps} ! bin.recv_rtp_sink_0 \
         bin. ! {sink} \
         udpsrc port={control} caps=application/x-rtcp ! bin.recv_rtcp_sink_0 \
         bin.send_rtcp_src_0 ! udpsink host={host} port={reports} sync=false async=false"
    )
}

/// Profile and caps of a player with transport-wide feedback, and of one with receiver reports alone.
const TRANSPORT_WIDE: (&str, &str) = (
    "avpf",
    ",extmap-4=(string)http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01,\
     rtcp-fb-transport-cc=(boolean)true",
);
const REPORTS: (&str, &str) = ("avp", "");

fn start(folder: &Path, pipeline: &str) -> Live {
    let mut command = gstreamer(pipeline);
    command.current_dir(folder);
    Live::start(command)
}

/// Waits until `player` has UDP port `port` and has read all that came there. A player that is not there yet misses the
/// first key frame, and two seconds until the next.
fn wait_until_read(player: &Live, port: u16) {
    let (local, clock) = (format!(":{port:04X}"), Clock::start());
    // Columns of the kernel's table: the local address is the second, the octets to be sent and to be read the fifth.
    let is_read = |line: &str| {
        let mut columns = line.split_whitespace().skip(1);
        columns.next().is_some_and(|address| address.ends_with(&local))
            && columns.nth(2).is_some_and(|queues| queues.ends_with(":00000000"))
    };
    let tables = ["udp", "udp6"].map(|table| format!("/proc/{}/net/{table}", player.id()));
    while !tables
        .iter()
        .any(|table| std::fs::read_to_string(table).is_ok_and(|table| table.lines().any(is_read)))
    {
        assert!(clock.now().as_nanos() < TIMEOUT.as_nanos() as u64, "no process reads port {port}");
        clock.sleep_until(clock.now() + TimeDelta::from_millis(20));
    }
}

/// The first sample of `sender` that is not before `time`, in seconds.
fn at(sender: &mut Live, time: f64) -> Value {
    // An event has a time and no counters.
    sender.wait_for("a time", |line| line["type"] == "sample" && line["time"].as_f64() >= Some(time))
}

/// Nearly all pictures that left before `sample` are in the file.
fn assert_played(folder: &Path, name: &str, sample: &Value, file: &str) {
    let left = sample["frames_captured"].as_u64().unwrap() - sample["frames_skipped"].as_u64().unwrap();
    let played = probed(&folder.join(file));
    assert!(played * 100 >= left * WANTED, "{name}: {played} of {left}");
}

/// The controller runs on transport-wide feedback, or on receiver reports where nothing else comes.
#[test]
fn its_reports_drive_the_rate() {
    if !has("gst-launch-1.0", "--version") || !has("ffprobe", "-version") {
        return;
    }
    for (format, kind) in [(TRANSPORT_WIDE, "transport-wide feedback"), (REPORTS, "receiver reports alone")] {
        let (folder, port, local) = (tempfile::tempdir().unwrap(), free_port(), free_port());
        let player = start(folder.path(), &player(port, ("127.0.0.1", local + 1), format, H264));
        wait_until_read(&player, port);
        let bind = format!("127.0.0.1:{local}");
        let options = ["--control", "gcc", "--sdp", "stream.sdp", "--bind", &bind, "--stats", "json"];
        let mut sender = send(folder.path(), port, &[&options[..], &["--pcap", "sent.pcap"]].concat());
        sender.wait_for("a rate above the first", |line| {
            line["target_bps"].as_f64().is_some_and(|rate| rate > 400_000.0)
        });
        let sent = at(&mut sender, 8.0);
        assert!(sender.prints_note(&format!("runs on {kind}")));
        sender.finish();
        player.interrupt();
        player.end();
        assert_played(folder.path(), kind, &sent, "got.h264");
        if has("tshark", "--version") {
            let capture = folder.path().join("sent.pcap");
            conforms(&capture, port, [local, local + 1], "200,202");
            // Padding and repair have payload types of their own.
            let pictures = format!("rtp.p_type == 96 && udp.dstport == {port}");
            let sent = fields(&capture, port, &pictures, "rtp.seq").lines().count();
            assert!(sent > 200, "{sent} packets of RTP");
        }
    }
}

/// `rtpbin` that gives transport-wide feedback at an interval; `None` where GStreamer has no Python side. Without one it waits for
/// markers, which a transport stream has none of.
fn reporting_at_an_interval(pipeline: &str) -> Option<Command> {
    const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/live/interval_player.py");
    let test = "import gi; gi.require_version('Gst', '1.0'); from gi.repository import Gst";
    let python = Command::new("/usr/bin/python3").args(["-c", test]).output();
    if !python.is_ok_and(|output| output.status.success()) {
        skip("no GStreamer in Python");
        return None;
    }
    let mut command = Command::new("/usr/bin/python3");
    command.args([SCRIPT, pipeline]);
    Some(command)
}

/// Its pictures and its sound, by either kind of report.
#[test]
fn a_transport_stream_by_rtp_follows_its_reports() {
    if !has("gst-launch-1.0", "--version") || !has("ffprobe", "-version") {
        return;
    }
    for (format, kind) in [(TRANSPORT_WIDE, "transport-wide feedback"), (REPORTS, "receiver reports alone")] {
        let (folder, port, local) = (tempfile::tempdir().unwrap(), free_port(), free_port());
        let pipeline = player(port, ("127.0.0.1", local + 1), format, MP2T);
        let player = match format == TRANSPORT_WIDE {
            true => reporting_at_an_interval(&pipeline),
            false => Some(gstreamer(&pipeline)),
        };
        let Some(mut player) = player else { continue };
        player.current_dir(folder.path());
        let player = Live::start(player);
        wait_until_read(&player, port);
        let (to, bind) = (format!("rtp://127.0.0.1:{port}"), format!("127.0.0.1:{local}"));
        let options = ["--sdp", "stream.sdp", "--mpegts", "--bind", &bind, "--stats", "json"];
        let more = ["--rate", "300kbit/s..4Mbit/s", "--pcap", "sent.pcap"];
        let input = "test:320x180@25+tone";
        let mut sender =
            Live::start(seaway(folder.path(), &[&["send", input, &to], &options[..], &more].concat()));
        sender.wait_for("a rate above the first", |line| {
            line["target_bps"].as_f64().is_some_and(|rate| rate > 300_000.0)
        });
        let sent = at(&mut sender, 8.0);
        assert!(sender.prints_note(&format!("runs on {kind}")));
        sender.finish();
        player.interrupt();
        player.end();
        // A busy machine loses a packet in the socket of the player, and with it a part of some sound.
        let copy = "-fflags +discardcorrupt -i got.ts -c copy got.mp4";
        assert!(ffmpeg(folder.path(), copy).status().unwrap().success());
        assert_played(folder.path(), kind, &sent, "got.mp4");
        let file = folder.path().join("got.mp4");
        check_in_step(&with_sound(seconds(&file), &file), &beeps(&file), 5);
        if has("tshark", "--version") {
            let capture = folder.path().join("sent.pcap");
            conforms(&capture, port, [local, local + 1], "200,202");
            // Whole packets, and the marker is for breaks of the clock.
            let stream = format!("rtp.p_type == 33 && udp.dstport == {port}");
            let sent = fields(&capture, port, &stream, "rtp.marker");
            assert!(
                sent.lines().count() > 200 && sent.lines().all(|marker| marker == "0" || marker == "False")
            );
        }
    }
}

/// A sender and a player on two hosts with a link of 2 Mbit/s between them.
struct Linked {
    hosts: Hosts,
    folder: TempDir,
    sender: Live,
    player: Live,
}

impl Linked {
    fn start(control: &str, format: (&str, &str), carried: Carried) -> Option<Self> {
        const PORT: u16 = 5004;
        let (hosts, folder) = (Hosts::new()?, tempfile::tempdir().unwrap());
        let on = |host: &str, command: Command| {
            let arguments: Vec<&str> =
                command.get_args().map(|argument| argument.to_str().unwrap()).collect();
            let program = command.get_program().to_str().unwrap();
            Live::start(within(host, program, folder.path(), &arguments))
        };
        let pipeline = player(PORT, ("10.97.0.1", PORT + 1), format, carried);
        let is_stream = carried == MP2T;
        let player = if is_stream { reporting_at_an_interval(&pipeline)? } else { gstreamer(&pipeline) };
        let player = on(&hosts.far, player);
        wait_until_read(&player, PORT);
        let to = format!("rtp://10.97.0.2:{PORT}");
        let arguments = ["send", "test:1280x720@15", &to, "--sdp", "stream.sdp", "--stats", "json"];
        let bind = format!("10.97.0.1:{PORT}");
        let more = ["--control", control, "--bind", &bind, "--insecure", "--rate", "150kbit/s..6Mbit/s"];
        let stream: &[&str] = if is_stream { &["--mpegts"] } else { &[] };
        let sender = on(&hosts.near, seaway(folder.path(), &[&arguments[..], &more, stream].concat()));
        Some(Self { hosts, folder, sender, player })
    }

    /// Octets that came to the player's host by the link.
    fn received(&self) -> u64 {
        let file = ["/sys/class/net/lane/statistics/rx_bytes"];
        let output = within(&self.hosts.far, "cat", self.folder.path(), &file).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().parse().unwrap()
    }
}

/// All begin far below the rate of the link, at the same time, each on a link of its own. Their pictures could fill it.
#[test]
fn its_reports_find_the_rate_of_a_link() {
    if !has("gst-launch-1.0", "--version") {
        return;
    }
    let cases = [
        ("seaway", TRANSPORT_WIDE, H264, 0.7),
        ("seaway", TRANSPORT_WIDE, MP2T, 0.7),
        ("seaway", REPORTS, H264, 0.4),
        ("gcc", REPORTS, H264, 0.4),
    ];
    let links: Option<Vec<Linked>> =
        cases.iter().map(|(control, format, carried, _)| Linked::start(control, *format, *carried)).collect();
    let Some(mut links) = links else { return };
    let mut octets_at = |time| {
        let time = at(&mut links[0].sender, time)["time"].as_f64().unwrap();
        (time, links.iter().map(Linked::received).collect::<Vec<_>>())
    };
    let ((from, before), (to, after)) = (octets_at(30.0), octets_at(45.0));
    for ((control, format, (name, _), least), (before, after)) in cases.iter().zip(before.iter().zip(&after))
    {
        let used = (after - before) as f64 * 8.0 / (to - from) / RATE;
        assert!(
            (*least..=1.05).contains(&used),
            "{control} with {format:?} of {name}: {used:.3} of the link"
        );
    }
    for link in links {
        link.sender.finish();
        link.player.interrupt();
        link.player.end();
    }
}

#[test]
fn a_transport_stream_is_played() {
    if !has("gst-launch-1.0", "--version") || !has("ffprobe", "-version") {
        return;
    }
    let (folder, port) = (tempfile::tempdir().unwrap(), free_port());
    let caps = "video/mpegts,systemstream=true,packetsize=188";
    // `-e` passes the end on to the demultiplexer, which then gives its last picture.
    let pipeline = format!("-e udpsrc port={port} caps={caps} ! tsdemux ! h264parse ! {FILE}");
    let player = start(folder.path(), &pipeline);
    wait_until_read(&player, port);
    let to = format!("udp://127.0.0.1:{port}");
    let arguments = ["send", INPUT, &to, "--duration", "6 s", "--rate", "0..2Mbit/s", "--json"];
    let (status, output, notes) = Live::start(seaway(folder.path(), &arguments)).end();
    assert!(status.success(), "{notes}");
    wait_until_read(&player, port);
    player.interrupt();
    player.end();
    let report: Value = serde_json::from_str(&output).unwrap();
    let sent = report["flows"][0]["frames"]["captured"].as_u64().unwrap_or_else(|| panic!("{report}"));
    let played = probed(&folder.path().join("got.h264"));
    assert!(played * 100 >= sent * WANTED && played <= sent, "{played} of {sent}");
}
