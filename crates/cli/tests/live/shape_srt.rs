//! `seaway shape` by SRT, with FFmpeg's libsrt at the other ends.

use super::process::{Live, free_port, seaway, signal};
use super::shape::{PICTURES, decoded, ffmpeg, make_clip, make_other_clip};
use super::srt::is_there;
use seaway_net::Clock;
use seaway_units::TimeDelta;
use serde_json::Value;
use std::cell::Cell;
use std::net::{SocketAddr, UdpSocket};
use std::path::Path;
use std::process::Child;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

const SECRET: &str = "&passphrase=correct-horse";

fn url(port: u16, mode: &str, options: &str) -> String {
    format!("srt://127.0.0.1:{port}?mode={mode}{options}")
}

/// A process that does not outlive the test.
struct Peer(Child);

impl Peer {
    fn start(folder: &Path, arguments: &str) -> Self {
        Self(ffmpeg(folder, arguments).spawn().unwrap())
    }

    fn play(folder: &Path, to: &str) -> Self {
        Self::play_clip(folder, "clip.ts", to)
    }

    fn play_clip(folder: &Path, clip: &str, to: &str) -> Self {
        Self::start(folder, &format!("-re -i {clip} -map 0 -c copy -f mpegts -muxrate 3M {to}"))
    }

    /// Keeps the octets as they come.
    fn record(folder: &Path, from: &str) -> Self {
        Self::start(folder, &format!("-f data -i {from} -map 0 -c copy -f data got.ts"))
    }

    fn ends_well(mut self) -> bool {
        self.0.wait().unwrap().success()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn shape(folder: &Path, input: &str, output: &str) -> Live {
    let options = ["--ratio", "0.8", "--delay", "700 ms", "--stats", "json"];
    Live::start(seaway(folder, &[&["shape", input, output][..], &options].concat()))
}

/// A count of one end.
fn count(line: &Value, end: &str, what: &str) -> u64 {
    line[end]["srt"][what].as_u64().unwrap_or_else(|| panic!("{end} {what}: {line}"))
}

/// Ends the run; gives its last line and its notes.
fn end(shape: Live) -> (Value, String) {
    signal("INT", shape.id());
    let (status, lines, notes) = shape.end();
    // A machine with other work may send packets late.
    assert!(matches!(status.code(), Some(0 | 3)), "{status}: {notes}");
    (serde_json::from_str(lines.lines().last().unwrap()).unwrap(), notes)
}

/// Waits for the second line with as many packets as the one before: the source has ended, and all that was held has left.
fn wait_until_sent(shape: &mut Live) {
    let sent = Cell::new(None);
    shape.wait_for("the end of the stream", |line| {
        let packets = line["packets_out"].as_u64();
        packets > Some(0) && sent.replace(packets) == packets
    });
}

/// The stream was taken and given without loss, and its pictures are there.
fn whole(folder: &Path, last: &Value) {
    let packets = |end: &str| last[end]["octets"].as_u64().unwrap() / 188;
    assert_eq!(last["packets_in"].as_u64(), Some(packets("input")));
    assert_eq!(last["packets_out"].as_u64(), Some(packets("output")));
    for (end, what) in
        [("input", "dropped"), ("input", "undecryptable"), ("output", "dropped"), ("output", "unsent")]
    {
        assert_eq!(count(last, end, what), 0, "{end} {what}: {last}");
    }
    assert_eq!((count(last, "input", "connections"), count(last, "output", "connections")), (1, 1));
    let got = std::fs::read(folder.join("got.ts")).unwrap();
    assert_eq!((got.len() as u64 / 188, got.len() % 188), (packets("output"), 0));
    // The last pictures may still wait for their departure.
    assert!(decoded(folder, 1) >= PICTURES - 5);
}

/// Who calls: FFmpeg or `seaway`, before it and behind it.
fn through(seaway_calls: bool, options: &str) {
    if !is_there() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    make_clip(folder, &["1500k"], "2M");
    let (near, far) = (free_port(), free_port());
    let [ours, theirs] = if seaway_calls { ["caller", "listener"] } else { ["listener", "caller"] };
    let source = |folder: &Path| Peer::play(folder, &url(near, theirs, options));
    let record = |folder: &Path| Peer::record(folder, &url(far, theirs, options));
    let latency = format!("&latency=300{options}");
    let early = seaway_calls.then(|| record(folder));
    let mut shape = shape(folder, &url(near, ours, &latency), &url(far, ours, &latency));
    shape.wait_for("its start", |line| line["type"] == "sample");
    let recording = early.unwrap_or_else(|| record(folder));
    shape.wait_for("the player", |line| line["output"]["srt"]["connected"] == true);
    assert!(source(folder).ends_well());
    wait_until_sent(&mut shape);
    let (last, notes) = end(shape);
    assert!(recording.ends_well());
    whole(folder, &last);
    assert_eq!(notes.contains(", encrypted"), !options.is_empty(), "{notes}");
    assert!(!notes.contains("horse"), "{notes}");
    let latency = last["output"]["srt"]["latency_ms"].as_f64();
    assert_eq!(latency, Some(300.0));
}

#[test]
fn callers_come_to_it() {
    through(false, "");
}

#[test]
fn it_calls_listeners() {
    through(true, "");
}

#[test]
fn streams_are_encrypted_by_aes_128() {
    through(false, &format!("{SECRET}&pbkeylen=16"));
}

#[test]
fn streams_are_encrypted_by_aes_192() {
    through(true, &format!("{SECRET}&pbkeylen=24"));
}

#[test]
fn streams_are_encrypted_by_aes_256() {
    through(false, &format!("{SECRET}&pbkeylen=32"));
    through(true, &format!("{SECRET}&pbkeylen=32"));
}

/// Passes datagrams to a port and back, less one in twenty of the first ones. libsrt repairs nothing after its goodbye, so the last
/// ones all pass.
struct Relay {
    port: u16,
    lost: Arc<AtomicU64>,
    is_over: Arc<AtomicBool>,
    ways: Vec<JoinHandle<()>>,
}

/// Datagrams of which some are lost, each way: five seconds of the stream.
const LOSSY: u32 = 1200;

impl Relay {
    fn start(to: u16) -> Self {
        let bind = || UdpSocket::bind("127.0.0.1:0").unwrap();
        let (near, far) = (Arc::new(bind()), Arc::new(bind()));
        far.connect(("127.0.0.1", to)).unwrap();
        let port = near.local_addr().unwrap().port();
        let (lost, is_over) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let caller: Arc<AtomicU64> = Arc::default();
        let ways = [true, false].into_iter().map(|is_there| {
            let (near, far, caller) = (near.clone(), far.clone(), caller.clone());
            let (lost, is_over) = (lost.clone(), is_over.clone());
            thread::spawn(move || {
                let from = if is_there { &near } else { &far };
                from.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
                let (mut buffer, mut dice) = ([0; 2048], 0x1234_5678_9abc_def1_u64);
                let mut passed = 0;
                while !is_over.load(Ordering::Relaxed) {
                    let Ok((length, sender)) = from.recv_from(&mut buffer) else { continue };
                    if is_there {
                        caller.store(sender.port().into(), Ordering::Relaxed);
                    }
                    dice =
                        dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    passed += 1;
                    if passed < LOSSY && (dice >> 33) % 20 == 0 {
                        lost.fetch_add(1, Ordering::Relaxed);
                        continue;
                    }
                    let back: SocketAddr = ([127, 0, 0, 1], caller.load(Ordering::Relaxed) as u16).into();
                    let _ = match is_there {
                        true => far.send(&buffer[..length]),
                        false => near.send_to(&buffer[..length], back),
                    };
                }
            })
        });
        let ways = ways.collect();
        Self { port, lost, is_over, ways }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.ways.drain(..).for_each(|way| way.join().unwrap());
    }
}

#[test]
fn one_packet_in_twenty_is_lost_and_none_is_missed() {
    if !is_there() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    make_clip(folder, &["1500k"], "2M");
    let (near, far) = (free_port(), free_port());
    let (before, behind) = (Relay::start(near), Relay::start(far));
    let options = format!("&latency=400{SECRET}");
    let recording = Peer::record(folder, &url(far, "listener", SECRET));
    let mut shape = shape(folder, &url(near, "listener", &options), &url(behind.port, "caller", &options));
    shape.wait_for("the player", |line| line["output"]["srt"]["connected"] == true);
    assert!(Peer::play(folder, &url(before.port, "caller", SECRET)).ends_well());
    wait_until_sent(&mut shape);
    let (last, _) = end(shape);
    // The goodbye may be lost too: then libsrt ends the recording after its own time.
    assert!(recording.ends_well());
    assert!(before.lost.load(Ordering::Relaxed) > 30 && behind.lost.load(Ordering::Relaxed) > 30);
    assert!(count(&last, "input", "lost") > 20 && count(&last, "input", "retransmitted") > 20, "{last}");
    assert!(count(&last, "output", "retransmitted") > 20, "{last}");
    whole(folder, &last);
}

/// Random octets, requests for cookies and forged packets, as fast as a thread sends them.
fn flood(port: u16, is_over: &Arc<AtomicBool>) -> JoinHandle<()> {
    let is_over = is_over.clone();
    let mut induction = [0; 64];
    (induction[0], induction[19], induction[39], induction[43]) = (0x80, 4, 1, 9);
    thread::spawn(move || {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.connect(("127.0.0.1", port)).unwrap();
        let (clock, mut dice) = (Clock::start(), 7_u64);
        while !is_over.load(Ordering::Relaxed) {
            for _ in 0..20 {
                dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let mut junk = [0; 188];
                junk.chunks_mut(8)
                    .for_each(|chunk| chunk.copy_from_slice(&dice.to_be_bytes()[..chunk.len()]));
                let packet =
                    if dice >> 63 == 0 { &induction[..] } else { &junk[..(dice >> 56) as usize - 100] };
                let _ = socket.send(packet);
            }
            // Twenty thousand each second.
            clock.sleep_until(clock.now() + TimeDelta::from_millis(1));
        }
    })
}

#[test]
fn a_flood_does_not_disturb_a_connection() {
    if !is_there() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    make_clip(folder, &["1500k"], "2M");
    let (near, far) = (free_port(), free_port());
    let mut shape =
        shape(folder, &url(near, "listener", "&latency=400"), &url(far, "listener", "&latency=400"));
    shape.wait_for("its start", |line| line["type"] == "sample");
    let is_over = Arc::new(AtomicBool::new(false));
    let floods = [flood(near, &is_over), flood(far, &is_over)];
    let recording = Peer::record(folder, &url(far, "caller", ""));
    shape.wait_for("the player", |line| line["output"]["srt"]["connected"] == true);
    assert!(Peer::play(folder, &url(near, "caller", "")).ends_well());
    wait_until_sent(&mut shape);
    let status = std::fs::read_to_string(format!("/proc/{}/status", shape.id())).unwrap_or_default();
    let (last, _) = end(shape);
    is_over.store(true, Ordering::Relaxed);
    floods.into_iter().for_each(|flood| flood.join().unwrap());
    assert!(recording.ends_well());
    whole(folder, &last);
    for end in ["input", "output"] {
        assert!(count(&last, end, "malformed") + count(&last, end, "unrelated") > 1000, "{last}");
    }
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let resident: Option<u64> =
        resident.and_then(|text| text.trim().trim_end_matches(" kB").trim().parse().ok());
    assert!(resident.is_none_or(|kilobytes| kilobytes < 150_000), "{resident:?} kB");
}

#[test]
fn a_peer_that_was_killed_is_taken_again() {
    if !is_there() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    make_clip(folder, &["1500k"], "2M");
    let (near, far) = (free_port(), free_port());
    let source = || Peer::play(folder, &url(near, "caller", SECRET));
    let player = || Peer::record(folder, &url(far, "listener", ""));
    let first_player = player();
    let mut shape = shape(folder, &url(near, "listener", SECRET), &url(far, "caller", ""));
    shape.wait_for("the player", |line| line["output"]["srt"]["connected"] == true);
    let playing = source();
    shape.wait_for("the stream", |line| count(line, "output", "packets") > 100);
    // Dropped, a process is killed: no goodbye.
    drop(playing);
    drop(first_player);
    let again = (source(), player());
    shape.wait_for("both again", |line| {
        let connections = |end: &str| count(line, end, "connections");
        connections("input") == 2 && connections("output") == 2
    });
    let before = shape.wait_for("a line", |_| true);
    let before = count(&before, "output", "packets");
    shape.wait_for("the stream again", |line| count(line, "output", "packets") > before + 100);
    drop(again);
    let (_, notes) = end(shape);
    assert!(notes.contains("it is silent"), "{notes}");
}

#[test]
fn a_caller_without_mpeg_video_gives_way_to_the_next() {
    if !is_there() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    make_clip(folder, &["1500k"], "2M");
    make_other_clip(folder);
    let near = free_port();
    let output = format!("udp://127.0.0.1:{}", free_port());
    let mut shape = shape(folder, &url(near, "listener", ""), &output);
    shape.wait_for("its start", |line| line["type"] == "sample");
    let other = Peer::play_clip(folder, "other.ts", &url(near, "caller", ""));
    let note = shape.wait_for_note("this caller was refused");
    assert!(note.contains("MPEG-4 Visual"), "{note}");
    assert!(!other.ends_well());
    assert!(Peer::play(folder, &url(near, "caller", "")).ends_well());
    shape.wait_for("the stream", |line| line["video"][0]["pictures"].as_u64() > Some(PICTURES / 2));
    let (last, _) = end(shape);
    assert_eq!(last["input"]["srt"]["connections"].as_u64(), Some(2), "{last}");
}

#[test]
fn another_passphrase_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (near, far) = (free_port(), free_port());
    let other = "&passphrase=another-horse";
    let mut listener =
        shape(folder, &url(near, "listener", SECRET), &format!("udp://127.0.0.1:{}", free_port()));
    listener.wait_for("its start", |line| line["type"] == "sample");
    for options in [other, ""] {
        let caller = shape(folder, &format!("udp://127.0.0.1:{far}"), &url(near, "caller", options));
        let (status, _, notes) = caller.end();
        assert_eq!(status.code(), Some(1), "{notes}");
        let reason =
            if options.is_empty() { "one end has a passphrase" } else { "refused: wrong passphrase" };
        assert!(notes.contains(reason) && !notes.contains("horse"), "{notes}");
    }
    if is_there() {
        assert!(!Peer::record(folder, &url(near, "caller", other)).ends_well());
        let peer = Peer::record(folder, &url(far, "listener", other));
        let caller = shape(folder, &url(far, "caller", SECRET), &format!("udp://127.0.0.1:{}", free_port()));
        let (status, _, notes) = caller.end();
        assert_eq!(status.code(), Some(1), "{notes}");
        assert!(notes.contains("refused: wrong passphrase"), "{notes}");
        drop(peer);
    }
    // The listener waits on.
    assert!(listener.is_running());
    listener.interrupt();
    let (_, _, notes) = listener.end();
    assert!(notes.contains("refused: wrong passphrase"), "{notes}");
}

#[test]
fn a_wrong_address_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let good = "udp://127.0.0.1:2";
    for wrong in [
        "srt://127.0.0.1",
        "srt://0.0.0.0:9000",
        "srt://239.1.1.1:9000",
        "srt://127.0.0.1:9000?mode=rendezvous&passphrase=correct-horse",
        "srt://127.0.0.1:9000?passphrase=short",
        "srt://127.0.0.1:9000?latency=120000",
        "srt://127.0.0.1:9000?pbkeylen=16",
        "srt://127.0.0.1:9000?colour=red",
    ] {
        for names in [[wrong, good], [good, wrong]] {
            let command = seaway(folder.path(), &["shape", names[0], names[1], "--ratio", "0.8"]);
            let (status, _, notes) = Live::start(command).end();
            assert_eq!(status.code(), Some(2), "{wrong}: {notes}");
            assert!(notes.contains("srt://") && !notes.contains("horse"), "{notes}");
        }
    }
}
