//! FFmpeg, libmpeg2 and this crate, each as a function from bytes to bytes.

use seaway_mpeg::decode::Decoder;
use seaway_mpeg::shape::{Config, Method, Shaper, Target};
use std::io::Write;
use std::process::{Command, Stdio};

/// Runs a tool with `input`; returns its output and its messages. `None` where it is not installed.
pub(crate) fn run(tool: &str, arguments: &str, input: &[u8]) -> Option<(Vec<u8>, String)> {
    let mut command = Command::new(tool);
    command.args(arguments.split_whitespace());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let Ok(mut child) = command.spawn() else {
        let _ = writeln!(std::io::stderr(), "*** SKIPPED: no {tool} ***");
        return None;
    };
    let mut stdin = child.stdin.take().unwrap();
    let output = std::thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(input));
        child.wait_with_output().unwrap()
    });
    Some((output.stdout, String::from_utf8_lossy(&output.stderr).into_owned()))
}

/// FFmpeg with one thread, with warnings only.
pub(crate) fn ffmpeg(input: &[u8], arguments: &str) -> Option<(Vec<u8>, String)> {
    run("ffmpeg", &format!("-nostdin -hide_banner -v warning -threads 1 {arguments}"), input)
}

/// Samples of all frames as FFmpeg decodes them, and its warnings.
pub(crate) fn decoded_by_ffmpeg(stream: &[u8]) -> Option<(Vec<u8>, String)> {
    ffmpeg(stream, "-f mpegvideo -i pipe:0 -fps_mode passthrough -autoscale 0 -f rawvideo pipe:1")
}

/// A frame of one plane: width and samples.
pub(crate) type Luma = (usize, Vec<u8>);

/// Luminance of the frames that libmpeg2 decodes, and its errors.
pub(crate) fn decoded_by_libmpeg2(stream: &[u8]) -> Option<(Vec<Luma>, String)> {
    let (bytes, said) = run("mpeg2dec", "-o pgmpipe", stream)?;
    let chatter = |line: &&str| line.is_empty() || line.starts_with("libmpeg2-") || line.contains(" fps)");
    let errors: Vec<_> = said.lines().filter(|line| !chatter(line)).collect();
    Some((greymaps(&bytes), errors.join("\n")))
}

/// Parses a sequence of portable grey maps; two thirds of each are luminance.
fn greymaps(mut bytes: &[u8]) -> Vec<Luma> {
    let mut frames = Vec::new();
    while let Some(end) = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(2) {
        let header = String::from_utf8_lossy(&bytes[..end.0]);
        let mut numbers = header.split_ascii_whitespace().skip(1).map(|word| word.parse::<usize>().unwrap());
        let (width, height) = (numbers.next().unwrap(), numbers.next().unwrap());
        let samples = &bytes[end.0 + 1..][..width * height];
        frames.push((width, samples[..width * (height * 2 / 3)].to_vec()));
        bytes = &bytes[end.0 + 1 + width * height..];
    }
    frames
}

/// All frames that our decoder gives.
pub(crate) fn decoded_here(stream: &[u8]) -> Vec<u8> {
    let mut samples = Vec::new();
    frames_here(stream).iter().for_each(|frame| frame.write_planar(&mut samples));
    samples
}

pub(crate) fn frames_here(stream: &[u8]) -> Vec<std::sync::Arc<seaway_mpeg::decode::Frame>> {
    let mut decoder = Decoder::new();
    decoder.push(stream);
    decoder.finish();
    let frames = std::iter::from_fn(|| decoder.pull()).map(|decoded| decoded.frame).collect();
    assert_eq!((decoder.stats().damaged_slices, decoder.stats().skipped_pictures), (0, 0));
    frames
}

/// The shaped stream, and whether it has reached its floor.
pub(crate) fn shaped(stream: &[u8], method: Method, ratio: f64) -> (Vec<u8>, bool) {
    shaped_by(stream, Config::new(method, Target::Ratio(ratio)))
}

pub(crate) fn shaped_by(stream: &[u8], config: Config) -> (Vec<u8>, bool) {
    let mut shaper = Shaper::new(config);
    shaper.push(stream);
    shaper.finish();
    let (mut bytes, mut at_floor) = (Vec::new(), false);
    while let Some(shaped) = shaper.pull() {
        bytes.extend(shaped.bytes);
        at_floor |= shaped.report.at_floor;
    }
    (bytes, at_floor)
}

/// The mean squared difference.
pub(crate) fn error(a: &[u8], b: &[u8]) -> f64 {
    let sum: u64 = a.iter().zip(b).map(|(&a, &b)| u64::from(a.abs_diff(b)).pow(2)).sum();
    sum as f64 / a.len() as f64
}
