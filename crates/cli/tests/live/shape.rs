//! `seaway shape` from the network to the network, with FFmpeg as the source.

use super::process::{Live, free_port, has, seaway, signal};
use super::stream::{check_by_promtool, exposition, wait_for_metric};
use seaway_net::Clock;
use seaway_units::TimeDelta;
use serde_json::Value;
use std::net::UdpSocket;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Pictures of the clip: eight seconds.
pub(super) const PICTURES: u64 = 200;
/// A group that stays on the host.
const GROUP: &str = "239.255.77.19";

pub(super) fn ffmpeg(folder: &Path, arguments: &str) -> Command {
    let mut command = Command::new("ffmpeg");
    command.current_dir(folder).args(["-nostdin", "-hide_banner", "-loglevel", "error", "-y"]);
    command.args(arguments.split_whitespace());
    command.stdin(Stdio::null());
    command
}

/// As many programmes as there are rates, at a constant multiplex rate.
pub(super) fn make_clip(folder: &Path, rates: &[&str], multiplex: &str) {
    let mut inputs = String::new();
    let mut outputs = String::new();
    for (index, rate) in rates.iter().enumerate() {
        inputs += &format!("-f lavfi -i testsrc2=size=352x288:rate=25,noise=alls=12:allf=t,hue=h={index} ");
        outputs += &format!(
            "-map {index}:v -b:v:{index} {rate} -maxrate:v:{index} {rate} -bufsize:v:{index} 300k -program st={index} "
        );
    }
    let coding = "-t 8 -c:v mpeg2video -g 12 -bf 2 -threads 1";
    let made = ffmpeg(folder, &format!("{inputs} {coding} {outputs} -f mpegts -muxrate {multiplex} clip.ts"));
    assert!({ made }.status().unwrap().success());
}

/// Keeps what comes until nothing does for three seconds.
fn record(socket: UdpSocket) -> std::thread::JoinHandle<Vec<Vec<u8>>> {
    std::thread::spawn(move || {
        let mut buffer = [0; 2048];
        let mut datagrams = Vec::new();
        socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        while let Ok(length) = socket.recv(&mut buffer) {
            datagrams.push(buffer[..length].to_vec());
            socket.set_read_timeout(Some(Duration::from_secs(3))).unwrap();
        }
        datagrams
    })
}

/// Plays the clip through `seaway shape`; returns what came out and the last line of its statistics.
fn play(
    folder: &Path,
    [input, from, programs]: [&str; 3],
    output: &str,
    options: &[&str],
) -> (Vec<Vec<u8>>, Value) {
    let source = format!("-re -i clip.ts -map 0 -c copy {programs} -f mpegts -muxrate 3M {from}");
    play_all(folder, input, &[source], output, options)
}

/// Plays sources one behind the other.
fn play_all(
    folder: &Path,
    input: &str,
    sources: &[String],
    output: &str,
    options: &[&str],
) -> (Vec<Vec<u8>>, Value) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let to = output.replace("PORT", &socket.local_addr().unwrap().port().to_string());
    let recording = record(socket);
    let mut shape = seaway(folder, &["shape", input, &to, "--stats", "json"]);
    shape.args(options);
    let mut shape = Live::start(shape);
    shape.wait_for("its start", |line| line["type"] == "sample");
    for source in sources {
        assert!(ffmpeg(folder, source).status().unwrap().success());
    }
    let datagrams = recording.join().unwrap();
    signal("INT", shape.id());
    let (status, lines, notes) = shape.end();
    let last: Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
    // A machine with other work may send packets late; that the command says so is what is tested.
    let expected = if last["delay_held"] == true { 0 } else { 3 };
    assert_eq!((last["type"].as_str(), status.code()), (Some("end"), Some(expected)), "{notes}");
    assert_eq!(notes.contains("left more than"), expected == 3, "{notes}");
    (datagrams, last)
}

/// Frames by FFmpeg, which is to find nothing wrong.
pub(super) fn decoded(folder: &Path, program: u32) -> u64 {
    let decode = format!("-i got.ts -map 0:p:{program}:v -f framemd5 -fps_mode passthrough -");
    let output = ffmpeg(folder, &decode).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    output.stdout.split(|&octet| octet == b'\n').filter(|line| !line.is_empty() && line[0] != b'#').count()
        as u64
}

fn checked(last: &Value, delay: f64) {
    assert_eq!(last["ceiling_held"].as_bool(), Some(true), "{last}");
    assert_eq!(last["stated_delay_ms"].as_f64(), Some(delay));
    assert_eq!((last["input"]["malformed"].as_u64(), last["output"]["refused"].as_u64()), (Some(0), Some(0)));
    // The end of the last picture is not marked.
    assert!(last["given_up"].as_u64().unwrap() <= 3, "{last}");
}

#[test]
fn a_multicast_becomes_rtp_at_a_rate() {
    if !has("ffmpeg", "-version") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    make_clip(folder.path(), &["1500k"], "2M");
    let port = free_port();
    let input = format!("udp://{GROUP}:{port}?interface=127.0.0.1");
    let from = format!("udp://{GROUP}:{port}?localaddr=127.0.0.1&ttl=0&pkt_size=1316");
    let options = ["--rate", "1 Mbit/s", "--delay", "700 ms", "--multiplex", "variable"];
    let (datagrams, last) = play(folder.path(), [&input, &from, ""], "rtp://127.0.0.1:PORT", &options);
    checked(&last, 700.0);
    let rtp = |datagram: &Vec<u8>| datagram[0] == 0x80 && datagram[1] == 33;
    assert!(datagrams.iter().all(rtp));
    let numbers: Vec<u16> = datagrams.iter().map(|data| u16::from_be_bytes([data[2], data[3]])).collect();
    assert!(numbers.windows(2).all(|pair| pair[1] == pair[0].wrapping_add(1)));
    let got: Vec<u8> = datagrams.iter().flat_map(|datagram| datagram[12..].to_vec()).collect();
    std::fs::write(folder.path().join("got.ts"), got).unwrap();
    assert!(decoded(folder.path(), 1) >= PICTURES - 5);
    let totals = &last["programs"][0]["totals"];
    let rate = totals["rate_out_bps"].as_f64().unwrap();
    assert!((0.93e6..1.02e6).contains(&rate), "{rate}");
    assert!(last["null_packets_dropped"].as_u64().unwrap() > 0);
}

#[test]
fn programmes_of_a_multicast_share_a_rate() {
    if !has("ffmpeg", "-version") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    make_clip(folder.path(), &["800k", "800k"], "2500k");
    let port = free_port();
    let input = format!("udp://127.0.0.1:{port}");
    let from = format!("udp://127.0.0.1:{port}?pkt_size=1316");
    let options = ["--rate", "1200 kbit/s", "--programs", "all"];
    let (datagrams, last) =
        play(folder.path(), [&input, &from, "-program st=0 -program st=1"], "udp://127.0.0.1:PORT", &options);
    checked(&last, 1500.0);
    std::fs::write(folder.path().join("got.ts"), datagrams.concat()).unwrap();
    let programs = last["programs"].as_array().unwrap();
    assert_eq!(programs.len(), 2);
    for program in programs {
        let number = program["program"].as_u64().unwrap() as u32;
        assert!(decoded(folder.path(), number) >= PICTURES - 5);
    }
    let rates: f64 = programs.iter().map(|program| program["totals"]["rate_out_bps"].as_f64().unwrap()).sum();
    assert!((1.0e6..1.22e6).contains(&rates), "{rates}");
}

#[test]
fn a_source_that_restarts_with_other_programmes_is_shaped_on() {
    if !has("ffmpeg", "-version") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    make_clip(folder.path(), &["1500k"], "2M");
    let input = format!("udp://127.0.0.1:{}", free_port());
    let others = "-streamid 0:400 -mpegts_service_id 7 -mpegts_pmt_start_pid 0x500";
    let sources = ["", others].map(|names| {
        format!("-re -i clip.ts -t 5 -map 0 -c copy {names} -f mpegts -muxrate 3M {input}?pkt_size=1316")
    });
    let options = ["--rate", "1 Mbit/s", "--delay", "700 ms"];
    let (_, last) = play_all(folder.path(), &input, &sources, "udp://127.0.0.1:PORT", &options);
    assert_eq!(last["program_changes"].as_u64(), Some(1), "{last}");
    let programs = last["programs"].as_array().unwrap();
    let numbers: Vec<u64> = programs.iter().filter_map(|program| program["program"].as_u64()).collect();
    assert_eq!(numbers, [1, 7]);
    for program in programs {
        let (totals, rate) = (&program["totals"], program["totals"]["rate_out_bps"].as_f64().unwrap());
        assert!(totals["pictures"].as_u64().unwrap() > 100 && (0.9e6..1.05e6).contains(&rate), "{totals}");
    }
}

/// A clip of MPEG-4 video, which is not shaped.
pub(super) fn make_other_clip(folder: &Path) {
    let made =
        "-f lavfi -i testsrc2=size=320x240:rate=25 -t 20 -c:v mpeg4 -b:v 800k -threads 1 -f mpegts other.ts";
    assert!(ffmpeg(folder, made).status().unwrap().success());
}

/// Tables of a programme whose packets do not come.
const TABLES: &[u8] = include_bytes!("../../../mpeg/tests/fixtures/another_programme.ts");

/// The packets of such tables, each with the next continuity counter.
fn forged_tables(counter: u8) -> Vec<u8> {
    let is_table = |packet: &&[u8]| packet[1] & 0x40 != 0 && packet[4..5] == [0] && packet[5] <= 2;
    let mut packets: Vec<u8> = TABLES.chunks_exact(188).filter(is_table).take(2).flatten().copied().collect();
    packets.chunks_exact_mut(188).for_each(|packet| packet[3] = packet[3] & 0xf0 | counter & 15);
    packets
}

/// Sends what is no stream until it is dropped: noise, transport packets of no programme, and tables alone.
struct Strangers {
    is_over: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Strangers {
    fn start(port: u16) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let ends = is_over.clone();
        let thread = std::thread::spawn(move || {
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            let clock = Clock::start();
            let mut packet = [0x5a; 188];
            packet[..4].copy_from_slice(&[0x47, 0x03, 0x21, 0x10]);
            let datagrams = [vec![0x33; 700], packet.repeat(2), vec![0x47; 187], vec![]];
            for counter in (0..=u8::MAX).cycle() {
                if ends.load(Ordering::Relaxed) {
                    break;
                }
                for datagram in datagrams.iter().chain([&forged_tables(counter)]) {
                    // Nothing may listen yet.
                    let _ = socket.send_to(datagram, ("127.0.0.1", port));
                }
                clock.sleep_until(clock.now() + TimeDelta::from_millis(5));
            }
        });
        Self { is_over, thread: Some(thread) }
    }
}

impl Drop for Strangers {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(std::thread::JoinHandle::join);
    }
}

#[test]
fn it_waits_for_its_source_whatever_others_send() {
    if !has("ffmpeg", "-version") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    make_clip(folder.path(), &["1500k"], "2M");
    let port = free_port();
    let strangers = Strangers::start(port);
    let input = format!("udp://127.0.0.1:{port}");
    let output = format!("udp://127.0.0.1:{}", free_port());
    let options = ["--rate", "1 Mbit/s", "--delay", "700 ms", "--stats", "json"];
    let mut shape = Live::start(seaway(folder.path(), &[&["shape", &input, &output][..], &options].concat()));
    assert!(shape.wait_for_note("; waiting").contains("no programme"));
    let before = shape.wait_for("a line", |line| line["time_s"].as_f64() > Some(5.0));
    assert!(before["input"]["malformed"].as_u64() > Some(0), "{before}");
    assert!(before["dropped_without_program"].as_u64() > Some(0), "{before}");
    assert_eq!((before["packets_out"].as_u64(), before["output"]["datagrams"].as_u64()), (Some(0), Some(0)));
    let source = format!("-re -i clip.ts -map 0 -c copy -f mpegts -muxrate 3M {input}?pkt_size=1316");
    assert!(ffmpeg(folder.path(), &source).status().unwrap().success());
    drop(strangers);
    shape.wait_for("all pictures", |line| line["video"][0]["pictures"].as_u64() >= Some(PICTURES - 5));
    shape.interrupt();
    let (status, lines, notes) = shape.end();
    let last: Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
    assert!(matches!(status.code(), Some(0 | 3)), "{notes}");
    assert_eq!((&last["ceiling_held"], last["program_changes"].as_u64()), (&true.into(), Some(0)), "{last}");
    let totals = &last["programs"][0]["totals"];
    assert!((0.93e6..1.02e6).contains(&totals["rate_out_bps"].as_f64().unwrap()), "{totals}");
}

#[test]
fn a_run_that_shaped_nothing_fails() {
    let folder = tempfile::tempdir().unwrap();
    let port = free_port();
    let _strangers = Strangers::start(port);
    let (input, output) = (format!("udp://127.0.0.1:{port}"), format!("udp://127.0.0.1:{}", free_port()));
    let command = seaway(folder.path(), &["shape", &input, &output, "--ratio", "0.8", "--stats", "json"]);
    let mut shape = Live::start(command);
    shape.wait_for("the strangers", |line| line["packets_in"].as_u64() > Some(100));
    shape.interrupt();
    let (status, lines, notes) = shape.end();
    assert_eq!(status.code(), Some(1), "{notes}");
    assert!(lines.lines().last().is_some_and(|line| line.contains(r#""type":"end""#)), "{lines}");
    let sentences: Vec<_> = notes.lines().filter(|line| line.contains("no programme")).collect();
    assert!(sentences.len() == 1 && !notes.contains("packets in"), "{notes}");
}

#[test]
fn a_source_without_mpeg_video_is_refused() {
    if !has("ffmpeg", "-version") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    make_other_clip(folder.path());
    let (input, output) =
        (format!("udp://127.0.0.1:{}", free_port()), format!("udp://127.0.0.1:{}", free_port()));
    let mut shape =
        Live::start(seaway(folder.path(), &["shape", &input, &output, "--ratio", "0.8", "--stats", "json"]));
    shape.wait_for("its start", |line| line["type"] == "sample");
    let source = format!("-re -i other.ts -map 0 -c copy -f mpegts {input}?pkt_size=1316");
    let mut source = ffmpeg(folder.path(), &source).spawn().unwrap();
    let (status, _, notes) = shape.end();
    let _ = source.kill();
    let _ = source.wait();
    assert_eq!(status.code(), Some(2), "{notes}");
    assert!(notes.contains("MPEG-4 Visual"), "{notes}");
}

#[test]
fn a_source_that_turns_to_other_video_is_named() {
    if !has("ffmpeg", "-version") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    make_clip(folder.path(), &["1500k"], "2M");
    make_other_clip(folder.path());
    let (input, output) =
        (format!("udp://127.0.0.1:{}", free_port()), format!("udp://127.0.0.1:{}", free_port()));
    let mut shape = Live::start(seaway(
        folder.path(),
        &["shape", &input, &output, "--ratio", "0.8", "--delay", "500 ms", "--stats", "json"],
    ));
    shape.wait_for("its start", |line| line["type"] == "sample");
    let source = |clip: &str, span: u32| {
        format!("-re -i {clip} -t {span} -map 0 -c copy -f mpegts {input}?pkt_size=1316")
    };
    assert!(ffmpeg(folder.path(), &source("clip.ts", 3)).status().unwrap().success());
    let mut other = ffmpeg(folder.path(), &source("other.ts", 20)).spawn().unwrap();
    let note = shape.wait_for_note("passes unchanged");
    let _ = other.kill();
    let _ = other.wait();
    assert!(note.contains("MPEG-4 Visual"), "{note}");
    let mut again = ffmpeg(folder.path(), &source("clip.ts", 3)).spawn().unwrap();
    shape.wait_for_note("video to shape comes again");
    assert!(again.wait().unwrap().success());
    shape.interrupt();
    let (status, lines, notes) = shape.end();
    let last: Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
    assert_eq!((status.code(), last["without_video"].as_u64()), (Some(3), Some(1)), "{notes}");
}

/// The bits of the pictures in the output, in coding order.
fn picture_bits(folder: &Path) -> Vec<f64> {
    let mut probe = Command::new("ffprobe");
    probe
        .current_dir(folder)
        .args("-v error -select_streams v:0 -show_entries packet=size -of csv=p=0".split(' '));
    let output = probe.arg("got.ts").stdin(Stdio::null()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.split_whitespace().map(|size| 8.0 * size.trim_end_matches(',').parse::<f64>().unwrap()).collect()
}

/// By a schedule, then by two writers of a named pipe, one behind the other.
#[test]
#[cfg(unix)]
fn a_live_rate_changes_at_its_time_and_at_once() {
    if !has("ffmpeg", "-version") || !has("ffprobe", "-version") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    make_clip(folder.path(), &["1500k"], "2M");
    std::fs::write(folder.path().join("schedule"), "0 s, 1200 kbit/s\n3 s, 600 kbit/s\n").unwrap();
    let rates = folder.path().join("rates");
    assert!(Command::new("mkfifo").arg(&rates).status().unwrap().success());
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let output = format!("udp://127.0.0.1:{}", socket.local_addr().unwrap().port());
    let recording = record(socket);
    let input = format!("udp://127.0.0.1:{}", free_port());
    let options =
        ["--rate-schedule", "schedule", "--control", "rates", "--multiplex", "variable", "--stats", "json"];
    let mut shape = Live::start(seaway(folder.path(), &[&["shape", &input, &output][..], &options].concat()));
    let at = |rate: u64| move |line: &Value| line["rate_bps"].as_u64() == Some(1000 * rate);
    shape.wait_for("its start", at(1200));
    let source = format!("-re -i clip.ts -map 0 -c copy -f mpegts -muxrate 3M {input}?pkt_size=1316");
    let mut source = ffmpeg(folder.path(), &source).spawn().unwrap();
    shape.wait_for("the second rate", at(600));
    shape.wait_for("a second", |_| true);
    shape.wait_for("another one", |_| true);
    for (line, rate) in [("fast\n800 kbit/s\n", 800), ("900 kbit/s", 900)] {
        std::fs::write(&rates, line).unwrap();
        shape.wait_for("the rate", at(rate));
    }
    assert!(source.wait().unwrap().success());
    std::fs::write(folder.path().join("got.ts"), recording.join().unwrap().concat()).unwrap();
    shape.interrupt();
    let (status, lines, notes) = shape.end();
    assert!(matches!(status.code(), Some(0 | 3)), "{notes}");
    assert!(notes.contains("rates: line 1") && !notes.contains("line 2"), "{notes}");
    let last: Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
    assert_eq!((&last["ceiling_held"], &last["programs"][0]["rate_bps"]), (&true.into(), &900_000.into()));
    let bits = picture_bits(folder.path());
    let seconds = |from: usize| bits[from..].chunks_exact(25).map(|second| second.iter().sum::<f64>());
    let before: Vec<f64> = seconds(0).take(2).collect();
    assert!(before.iter().all(|rate| (1.1e6..1.03 * 1.2e6).contains(rate)), "{before:?}");
    // The change is at 3 s by the clock, which is near the 75th picture: there is one from which on seconds keep the new rate.
    let keep = |from: &usize| seconds(*from).take(2).all(|rate| (0.5e6..1.03 * 0.6e6).contains(&rate));
    let change = (68..82).find(keep);
    assert!(change.is_some(), "{:?}", seconds(75).collect::<Vec<_>>());
}

#[test]
fn metrics_of_a_live_stream() {
    if !has("ffmpeg", "-version") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    make_clip(folder.path(), &["800k", "800k"], "2500k");
    let input = format!("udp://127.0.0.1:{}", free_port());
    let output = format!("udp://127.0.0.1:{}", free_port());
    let options =
        ["--rate", "1200 kbit/s", "--programs", "all", "--delay", "1 s", "--metrics", "127.0.0.1:0"];
    let mut shape = Live::start(seaway(folder.path(), &[&["shape", &input, &output][..], &options].concat()));
    let address = shape.wait_for_address("metrics");
    // The address is taken, and only its token opens it.
    let host = address.split('/').next().unwrap();
    let second = ["shape", &input, &output, "--ratio", "0.8", "--metrics", host];
    let (status, _, notes) = Live::start(seaway(folder.path(), &second)).end();
    assert!(status.code() == Some(2) && notes.contains("no metrics at"), "{notes}");
    wait_for_metric(&address, "shape_input_datagrams_total", 0.0);
    check_by_promtool(&exposition(&address));
    let source = format!(
        "-re -i clip.ts -map 0 -c copy -program st=0 -program st=1 -f mpegts -muxrate 3M {input}?pkt_size=1316"
    );
    assert!(ffmpeg(folder.path(), &source).status().unwrap().success());
    wait_for_metric(&address, "shape_packets_out_total", 2000.0);
    let text = exposition(&address);
    check_by_promtool(&text);
    assert!(text.contains("\nseaway_shape_target_bps 1200000\n"), "{text}");
    let value = |name: &str| -> f64 {
        let line = text.lines().find_map(|line| line.strip_prefix(&format!("seaway_shape_{name} ")));
        line.unwrap_or_else(|| panic!("{name}: {text}")).parse().unwrap()
    };
    for program in [1, 2] {
        assert!(value(&format!("pictures_total{{program=\"{program}\"}}")) > 50.0);
        let of = |name: &str| value(&format!("{name}{{program=\"{program}\"}}"));
        assert!(of("video_in_bytes_total") > of("video_out_bytes_total"));
        assert!((2e5..1e6).contains(&of("program_target_bps")));
    }
    // Of all packets that have left.
    assert!(value("delay_seconds_bucket{le=\"+Inf\"}") > 2000.0);
    assert!(value("delay_seconds_count") >= value("delay_seconds_bucket{le=\"1\"}"));
    assert_eq!(value("given_up_total").fract(), 0.0);
    shape.interrupt();
    assert!(matches!(shape.end().0.code(), Some(0 | 3)));
}

#[test]
fn what_is_not_for_live_streams_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let live = ["shape", "udp://127.0.0.1:1", "udp://127.0.0.1:2"];
    let refused = |arguments: &[&str]| {
        let (status, _, notes) = Live::start(seaway(folder.path(), arguments)).end();
        assert_eq!(status.code(), Some(2), "{notes}");
        notes
    };
    for options in [
        &["--ratio", "0.8", "--json"][..],
        &["--ratio", "0.8", "--delay", "10 ms"],
        &["--ratio", "0.8", "--programs", "all"],
        &["--rate", "1 Mbit/s", "--multiplex", "2 Mbit/s"],
        &["--rate", "1 Mbit/s", "--threads", "2"],
        &["--rate", "1 Mbit/s", "--control", "missing"],
        &["--rate", "1 Mbit/s", "--control", "."],
        &["--rate-schedule", "missing"],
        &["--ratio", "0.8", "--metrics", "nowhere"],
    ] {
        refused(&[&live[..], options].concat());
    }
    let one_way = refused(&["shape", "udp://127.0.0.1:1", "out.ts", "--ratio", "0.8"]);
    assert!(one_way.contains("both names"), "{one_way}");
    let file = refused(&["shape", "in.ts", "out.ts", "--ratio", "0.8", "--delay", "1 s"]);
    assert!(file.contains("--delay"), "{file}");
    assert!(refused(&["shape", "tcp://127.0.0.1:1", live[2], "--ratio", "0.8"]).contains("tcp"));
}
