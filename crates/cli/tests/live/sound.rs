//! Sound beside pictures, through a lossy network into a recording.

use super::lane::emulate;
use super::process::{Live, free_port, has, seaway};
use super::schema::check;
use super::stream::receive;
use seaway_media::PlaneView;
use seaway_media::input::{open, read_code};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};

/// 2 Mbit/s and 25 ms each way, with losses in bursts.
const LANE: &str = r#"
rate = "2 Mbit/s"
delay = "25 ms"
loss = { kind = "gilbert-elliott", mean = 0.02, burst = 3 }
queue = { kind = "drop-tail", packets = 100 }
"#;

/// Picture and sound may be apart by so much.
const APART: f64 = 0.040;

/// Sends `input` through the network with these options; gives the reports of both ends, what the sender said, and the recording's
/// name.
fn through_loss(folder: &Path, input: &str, options: &[&str]) -> (Value, Value, String) {
    through_loss_from(folder, input, None, options)
}

/// As [`through_loss`], with this standard input.
fn through_loss_from(
    folder: &Path,
    input: &str,
    stdin: Option<Stdio>,
    options: &[&str],
) -> (Value, Value, String) {
    let port = free_port();
    let (emulator, relay) = emulate(folder, LANE, port);
    let receiver = receive(folder, port, &["-o", "got.mp4", "--json"]);
    let url = format!("rtp://127.0.0.1:{relay}");
    let command = seaway(folder, &[&["send", input, &url, "--json"], options].concat());
    let sender = Live::start_with(command, stdin.unwrap_or_else(Stdio::null));
    let (status, sent, notes) = sender.end();
    assert!(status.success(), "{notes}");
    let received = receiver.finish();
    emulator.finish();
    let report = |output: &str| {
        let report = serde_json::from_str(output).unwrap();
        check("session", &report);
        report
    };
    (report(&sent), report(&received), notes)
}

/// When the sound of a recording becomes loud, by FFmpeg's decoder.
pub(crate) fn beeps(file: &Path) -> Vec<f64> {
    const RATE: usize = 48_000;
    let mut command = Command::new("ffmpeg");
    command.args(["-v", "error", "-copyts", "-i"]).arg(file);
    // Gaps and the beginning are filled with silence.
    command.args(["-map", "0:a", "-af", "aresample=48000:async=1:min_hard_comp=0.001:first_pts=0"]);
    let output = command.args(["-ac", "1", "-f", "s16le", "-"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let samples: Vec<i16> =
        output.stdout.chunks_exact(2).map(|octets| i16::from_le_bytes([octets[0], octets[1]])).collect();
    let (mut beeps, mut last_loud) = (Vec::new(), None);
    for (index, _) in samples.iter().enumerate().filter(|(_, sample)| sample.unsigned_abs() > 3_000) {
        if last_loud.is_none_or(|last| index - last > RATE / 2) {
            beeps.push(index as f64 / RATE as f64);
        }
        last_loud = Some(index);
    }
    beeps
}

/// When pictures of a recording are shown of which this is true, and was not of the one before.
pub(crate) fn shown(file: &Path, is_it: impl Fn(&PlaneView<'_>) -> bool) -> Vec<f64> {
    let mut source = open(file.to_str().unwrap()).unwrap();
    let (mut times, mut was_it) = (Vec::new(), true);
    let begin = begin_of_pictures(file);
    while let Some(picture) = source.next_picture().unwrap() {
        let is_now = is_it(&picture.luma());
        if is_now && !was_it {
            times.push(begin + picture.time().as_secs_f64());
        }
        was_it = is_now;
    }
    times
}

/// When a player shows the first picture; our reader counts from there.
fn begin_of_pictures(file: &Path) -> f64 {
    let mut command = Command::new("ffprobe");
    command.args(["-v", "error", "-select_streams", "v", "-show_entries", "stream=start_time"]);
    let output = command.args(["-of", "csv=p=0"]).arg(file).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().trim_end_matches(',').parse().unwrap()
}

/// Those of these times at which a player has sound to play, also 0.1 s later. There is none before the sender report that says
/// what it belongs to, at the end behind the last picture, and where the machine stood still.
pub(crate) fn with_sound(times: Vec<f64>, file: &Path) -> Vec<f64> {
    let mut command = Command::new("ffprobe");
    command.args(["-v", "error", "-select_streams", "a", "-show_entries", "packet=pts_time"]);
    let output = command.args(["-of", "csv=p=0"]).arg(file).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let packets: Vec<f64> = text.lines().filter_map(|line| line.trim_end_matches(',').parse().ok()).collect();
    let is_there = |at: f64| packets.iter().any(|packet| (packet - at).abs() < 0.03);
    times.into_iter().filter(|at| is_there(*at) && is_there(at + 0.1)).collect()
}

/// Each flash has its beep.
pub(crate) fn check_in_step(flashes: &[f64], beeps: &[f64], count: usize) {
    assert!(flashes.len() >= count, "{flashes:?}");
    for flash in flashes {
        let apart = beeps.iter().map(|beep| beep - flash).min_by(|a, b| a.abs().total_cmp(&b.abs()));
        let apart = apart.unwrap_or(f64::INFINITY);
        assert!(apart.abs() <= APART, "{apart} s at {flash} s: {flashes:?}, {beeps:?}");
    }
}

pub(crate) fn track_durations(file: &Path) -> Vec<(String, f64)> {
    let entries = "stream=codec_name,duration";
    let mut command = Command::new("ffprobe");
    let output =
        command.args(["-v", "error", "-of", "csv=p=0", "-show_entries", entries]).arg(file).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let of_line = |line: &str| {
        let (codec, duration) = line.split_once(',').unwrap();
        (codec.to_owned(), duration.trim_end_matches(',').parse().unwrap())
    };
    text.lines().filter(|line| !line.is_empty()).map(of_line).collect()
}

/// The tone begins with each second of the clock in the picture.
#[test]
fn the_test_tone_arrives_with_its_pictures() {
    if !has("ffmpeg", "-version") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (sent, received, notes) =
        through_loss(folder.path(), "test:320x180@25+tone", &["--duration", "8.5 s"]);
    assert!(notes.contains("sound: tone, sent as Opus"), "{notes}");
    let file = folder.path().join("got.mp4");
    let seconds = shown(&file, |luma| read_code(luma).is_some_and(|number| number % 25 == 0));
    check_in_step(&seconds, &beeps(&file), 5);
    let tracks = track_durations(&file);
    let [(video, pictures), (audio, sound)] = &tracks[..] else { panic!("{tracks:?}") };
    assert_eq!((video.as_str(), audio.as_str()), ("h264", "opus"));
    assert!(*pictures > 6.0 && (pictures - sound).abs() < 0.5, "{tracks:?}");
    let count = |report: &Value, name: &str| report["sound"][name].as_u64().unwrap();
    let (left, played, lost) = (count(&sent, "sent"), count(&received, "played"), count(&received, "lost"));
    assert!(left >= 390 && played + lost + 20 >= left && lost * 50 <= left, "{left} {played} {lost}");
    let level = received["sound"]["level_dbfs"].as_f64().unwrap();
    assert!((-60.0..=-8.0).contains(&level) && received["sound"]["level_measured"].is_null(), "{received}");
}

/// FFmpeg's options for a clip with a flash and a beep each second, six seconds, with B pictures and AAC.
pub(crate) fn clip(rate: u32) -> Vec<String> {
    let flash = "drawbox=color=white:t=fill:enable='lt(mod(t,1),0.08)'";
    let pictures = format!("color=black:size=320x180:rate={rate},{flash}");
    let beep = "aevalsrc='0.5*sin(2*PI*1000*t)*lt(mod(t,1),0.1)':s=44100";
    let inputs = ["-f", "lavfi", "-i", &pictures, "-f", "lavfi", "-i", beep];
    let video = ["-t", "6", "-c:v", "libx264", "-preset", "veryfast", "-pix_fmt", "yuv420p"];
    inputs.into_iter().chain(video).chain(["-c:a", "aac"]).map(str::to_owned).collect()
}

pub(crate) fn make_clip(folder: &Path, name: &str) {
    let mut command = Command::new("ffmpeg");
    command.current_dir(folder).args(["-v", "error"]).args(clip(25)).arg(name);
    assert!(command.status().unwrap().success());
}

pub(crate) fn flashes(file: &Path) -> Vec<f64> {
    shown(file, |luma| {
        let sum: u64 = luma.data.iter().map(|&sample| u64::from(sample)).sum();
        sum > 128 * luma.data.len() as u64
    })
}

fn clip_in_step(name: &str, options: &[&str], count: usize) {
    let folder = tempfile::tempdir().unwrap();
    make_clip(folder.path(), name);
    let (_, received, notes) = through_loss(folder.path(), name, options);
    assert!(notes.contains("sound: aac, sent as it is"), "{notes}");
    assert!(!notes.contains("left out"), "{notes}");
    let file = folder.path().join("got.mp4");
    check_in_step(&flashes(&file), &beeps(&file), count);
    assert!(received["sound"]["played"].as_u64().unwrap() > 200, "{received}");
    // It is not decoded here, which is no silence.
    assert_eq!(received["sound"]["level_measured"], false);
    assert!(received["sound"]["level_dbfs"].is_null(), "{received}");
}

#[test]
fn the_sound_of_a_file_stays_with_its_pictures() {
    if has("ffmpeg", "-version") {
        clip_in_step("clip.mp4", &[], 4);
    }
}

/// With B pictures, which are decoded before they are shown; the times of a transport stream begin anywhere.
#[test]
fn the_sound_of_a_copied_stream_stays_with_its_pictures() {
    if has("ffmpeg", "-version") {
        clip_in_step("clip.ts", &["--copy"], 4);
    }
}

/// What an encoder of others gives through a pipe, at a rate that is not the usual one.
fn pipe_in_step(options: &[&str]) {
    if !has("ffmpeg", "-version") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut encoder = Command::new("ffmpeg");
    encoder.args(["-v", "error", "-re"]).args(clip(50)).args(["-f", "mpegts", "-"]);
    let mut encoder = encoder.stdout(Stdio::piped()).spawn().unwrap();
    let pipe = encoder.stdout.take().unwrap();
    let (sent, received, notes) = through_loss_from(folder.path(), "-", Some(pipe.into()), options);
    encoder.wait().unwrap();
    assert!(notes.contains("sound: aac, sent as it is"), "{notes}");
    let due = sent["flows"][0]["frames"]["due"].as_u64().unwrap();
    assert!((290..=310).contains(&due), "{due} of 300");
    let file = folder.path().join("got.mp4");
    check_in_step(&flashes(&file), &beeps(&file), 4);
    assert!(received["sound"]["played"].as_u64().unwrap() > 200, "{received}");
}

#[test]
fn the_sound_of_a_pipe_stays_with_its_pictures() {
    pipe_in_step(&[]);
}

#[test]
fn the_sound_of_a_copied_pipe_stays_with_its_pictures() {
    pipe_in_step(&["--copy"]);
}

/// Each repetition begins with its sound.
#[test]
fn a_repeated_file_stays_in_step() {
    if has("ffmpeg", "-version") {
        clip_in_step("clip.mp4", &["--repeat", "--duration", "14.5 s"], 10);
    }
}

/// Without retransmission packets have the sound of those before them too, once the loss is known.
#[test]
fn lost_sound_is_recovered_from_the_packet_behind_it() {
    if !has("ffmpeg", "-version") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let pitch = "(140*t-4.9*cos(8.2*t))*2*PI";
    let harmonics: Vec<_> = (1..=6).map(|n| format!("sin({n}*{pitch})/{n}")).collect();
    let voice = format!("0.18*({})*(0.55+0.45*sin(25*t))", harmonics.join("+"));
    let mut command = Command::new("ffmpeg");
    command.current_dir(folder.path()).args([
        "-v",
        "error",
        "-f",
        "lavfi",
        "-i",
        "testsrc2=size=320x180:rate=25",
    ]);
    command.args(["-f", "lavfi", "-i", &format!("aevalsrc='{voice}':s=48000"), "-t", "14"]);
    command.args(["-c:v", "libx264", "-preset", "veryfast", "-c:a", "flac", "clip.mkv"]);
    assert!(command.status().unwrap().success());
    let port = free_port();
    let lossy = "rate = \"4 Mbit/s\"\ndelay = \"25 ms\"\nloss = { kind = \"independent\", rate = 0.15 }\n\
        queue = { kind = \"drop-tail\", packets = 100 }";
    let (emulator, relay) = emulate(folder.path(), lossy, port);
    let receiver = receive(folder.path(), port, &["-o", "got.mp4", "--json"]);
    let url = format!("rtp://127.0.0.1:{relay}");
    let options = ["--repair", "off", "--control", "fixed(rate=1 Mbit/s)"];
    let sender = Live::start(seaway(folder.path(), &[&["send", "clip.mkv", &url], &options[..]].concat()));
    let (status, _, notes) = sender.end();
    assert!(status.success(), "{notes}");
    let received: Value = serde_json::from_str(&receiver.finish()).unwrap();
    check("session", &received);
    emulator.finish();
    let count = |name: &str| received["sound"][name].as_u64().unwrap();
    let (played, lost, recovered) = (count("played"), count("lost"), count("recovered"));
    assert!(played > 450 && lost > 40, "{played} {lost}");
    // Two in a row are lost, and pauses have none.
    assert!(recovered * 5 > lost * 2 && recovered <= lost, "{recovered} of {lost}");
}

/// Pictures by a pipe, as of a camera, and the sound of the same program by another command.
#[test]
fn the_sound_of_a_command_stays_with_live_pictures() {
    if !has("ffmpeg", "-version") || !has("mkfifo", "--version") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    assert!(Command::new("mkfifo").arg(folder.path().join("sound")).status().unwrap().success());
    let flash = "drawbox=color=white:t=fill:enable='lt(mod(t,1),0.08)'";
    let pictures = format!("color=black:size=320x180:rate=25,{flash}");
    let beep = "aevalsrc='0.5*sin(2*PI*1000*t)*lt(mod(t,1),0.1)':s=48000";
    // It opens its outputs before it gives a picture, and the reader of the sound begins behind that.
    let mut camera = Command::new("sh");
    camera.current_dir(folder.path()).args(["-c", "exec 3<>sound; exec ffmpeg \"$@\"", "sh", "-y"]);
    camera.args(["-v", "error", "-re", "-f", "lavfi", "-i", &pictures, "-re", "-f", "lavfi", "-i", beep]);
    camera.args(["-t", "9", "-map", "0:v", "-pix_fmt", "yuv420p", "-f", "yuv4mpegpipe", "pipe:1"]);
    camera.args(["-t", "9", "-map", "1:a", "-ac", "2", "-f", "s16le", "-flush_packets", "1", "sound"]);
    let mut camera = camera.stdout(Stdio::piped()).spawn().unwrap();
    let pipe = camera.stdout.take().unwrap();
    let (sent, received, notes) =
        through_loss_from(folder.path(), "-", Some(pipe.into()), &["--sound", "cat sound"]);
    camera.wait().unwrap();
    assert!(notes.contains("sound: PCM of a command, sent as Opus"), "{notes}");
    let file = folder.path().join("got.mp4");
    check_in_step(&flashes(&file), &beeps(&file), 5);
    let count = |report: &Value, name: &str| report["sound"][name].as_u64().unwrap();
    assert!(count(&sent, "sent") > 350 && count(&received, "played") > 300, "{sent} {received}");
}

/// An encoder of others with a camera of its own, and a microphone that fails in the end: the pictures go on.
#[test]
fn the_sound_of_a_command_goes_with_an_encoder() {
    if !has("ffmpeg", "-version") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let camera = "ffmpeg -v error -re -f lavfi -i testsrc2=size=320x180:rate=25 -c:v libx264 -preset ultrafast \
        -tune zerolatency -g 25 -b:v 200k -maxrate 200k -bufsize 50k -f h264 -";
    let microphone = "ffmpeg -v error -re -f lavfi -i sine=frequency=440:sample_rate=48000 -t 6 -ac 2 -f s16le \
        -flush_packets 1 -; exit 3";
    let options = ["--encoder", camera, "--sound", microphone, "--sound-delay", "40 ms", "--duration", "9 s"];
    let (sent, received, notes) = through_loss(folder.path(), "none", &options);
    assert!(
        notes.contains("the sound has ended, the pictures go on: ") && notes.contains("exit status: 3"),
        "{notes}"
    );
    let count = |report: &Value, name: &str| report["sound"][name].as_u64().unwrap();
    let (left, played) = (count(&sent, "sent"), count(&received, "played"));
    // What the microphone gave before the two ends knew each other is not sent, and a loaded machine takes its time for that.
    assert!((150..=305).contains(&left) && played + 25 >= left, "{left} {played}");
    let tracks = track_durations(&folder.path().join("got.mp4"));
    assert!(tracks.len() == 2 && tracks[0].1 > 6.0, "{tracks:?}");
}

#[test]
fn what_is_left_out_is_reported() {
    if !has("ffmpeg", "-version") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    make_clip(folder.path(), "clip.mp4");
    let (_, received, notes) = through_loss(folder.path(), "clip.mp4", &["--no-audio"]);
    assert!(notes.contains("left out: audio track 2 (mp4a): --no-audio"), "{notes}");
    assert!(received.get("sound").is_none(), "{received}");
    assert_eq!(track_durations(&folder.path().join("got.mp4")).len(), 1);
}
