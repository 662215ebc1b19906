//! Files of other programs, and our recordings in other programs, compared with an installed FFmpeg. H.264 decoding is
//! exact, so pictures are compared exactly.

use seaway_media::Error;
use seaway_media::encoder::{Encoded, LiveEncoder, LiveEncoderConfig, VideoEncoder};
use seaway_media::input::{self, PictureSource, Synthetic};
use seaway_media::output::{AnnexBWriter, Mp4Writer};
use seaway_testkit::shared;
use seaway_units::{Bitrate, TimeDelta};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The standard output of FFmpeg; `None`, with a message, where it is not installed.
fn ffmpeg(input: &Path, arguments: &[&str]) -> Option<Vec<u8>> {
    let mut command = Command::new("ffmpeg");
    command.args(["-v", "error", "-nostdin", "-y", "-i"]).arg(input).args(arguments);
    let Ok(output) = command.output() else {
        let _ = writeln!(std::io::stderr(), "*** SKIPPED: no ffmpeg to compare with ***");
        return None;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(output.stdout)
}

/// All samples of the first pictures, as FFmpeg decodes them.
fn decoded_by_ffmpeg(input: &Path, pictures: &str) -> Option<Vec<u8>> {
    let raw = [
        "-fps_mode",
        "passthrough",
        "-frames:v",
        pictures,
        "-pix_fmt",
        "yuv420p",
        "-f",
        "rawvideo",
        "pipe:1",
    ];
    ffmpeg(input, &raw)
}

/// The same of our decoder, and the time of the last picture.
fn decoded_by_us(source: &mut dyn PictureSource, pictures: usize) -> (Vec<u8>, TimeDelta) {
    let (mut samples, mut time) = (Vec::new(), TimeDelta::ZERO);
    for index in 0..pictures {
        let Some(picture) = source.next_picture().unwrap() else { break };
        assert_eq!(picture.id().0, index as u64);
        time = picture.time();
        for plane in picture.planes() {
            samples.extend_from_slice(plane.data);
        }
    }
    (samples, time)
}

fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

fn open(path: &Path) -> Box<dyn PictureSource> {
    input::open(path.to_str().unwrap()).unwrap()
}

#[test]
fn containers_of_others_decode_as_ffmpeg_decodes_them() {
    let clip = scratch("clip.mp4");
    std::fs::write(&clip, seaway_media::clip::BIG_BUCK_BUNNY).unwrap();
    let Some(expected) = decoded_by_ffmpeg(&clip, "12") else { return };
    for ending in ["mp4", "mkv", "late.mkv", "fragmented.mp4", "h264"] {
        let copy = scratch(&format!("copy.{ending}"));
        let form: &[&str] = match ending {
            "fragmented.mp4" => &["-movflags", "frag_keyframe+empty_moov+default_base_moof"],
            "h264" => &["-bsf:v", "h264_mp4toannexb"],
            // As behind a packet of Opus.
            "late.mkv" => &["-output_ts_offset", "0.007"],
            _ => &[],
        };
        ffmpeg(&clip, &[&["-c", "copy", "-frames:v", "20"], form, &[copy.to_str().unwrap()]].concat())
            .unwrap();
        let mut source = open(&copy);
        assert_eq!(source.format().frame_rate.to_string(), "25", "{ending}");
        for round in 0..2 {
            let (samples, time) = decoded_by_us(&mut *source, 12);
            assert!(samples == expected, "{ending}, round {round}");
            let late = if ending == "late.mkv" { 7 } else { 0 };
            assert_eq!(time, TimeDelta::from_millis(440 + late), "{ending}, round {round}");
            source.rewind().unwrap();
        }
    }
}

#[test]
fn a_reference_is_exact_where_b_pictures_are_not() {
    let Some(clip) = shared("media/masters/bus_cif.mp4") else { return };
    let Some(expected) = decoded_by_ffmpeg(&clip, "30") else { return };
    let mut reference = input::open_reference(clip.to_str().unwrap()).unwrap();
    assert!(decoded_by_us(&mut *reference, 30).0 == expected);
    assert!(decoded_by_us(&mut *open(&clip), 30).0 != expected, "open_reference has become needless");
}

#[test]
fn mpeg_streams_are_read() {
    let Some(clip) = shared("media/es/foreman_cif.mpeg1.mpeg2enc.vcd.m1v") else { return };
    let mut source = open(&clip);
    assert_eq!(source.format().size.to_string(), "352x288");
    assert_eq!(source.format().frame_rate.to_string(), "25");
    let (first, _) = decoded_by_us(&mut *source, 1000);
    assert_eq!(first.len(), 300 * 352 * 288 * 3 / 2);
    source.rewind().unwrap();
    let (again, time) = decoded_by_us(&mut *source, 3);
    assert_eq!((again.as_slice(), time), (&first[..again.len()], TimeDelta::from_millis(80)));
}

#[test]
fn anything_else_goes_through_ffmpeg() {
    let Some(clip) = shared("media/masters/foreman_cif.mp4") else { return };
    // MPEG-4 part 2 inside MP4.
    let Some(expected) = decoded_by_ffmpeg(&clip, "5") else { return };
    let mut source = open(&clip);
    let (samples, _) = decoded_by_us(&mut *source, 5);
    assert!(samples == expected);
    source.rewind().unwrap();
    assert!(decoded_by_us(&mut *source, 5).0 == expected);
}

#[test]
fn what_is_no_video_is_refused_with_a_reason() {
    let path = scratch("no-video.txt");
    std::fs::write(&path, "Two roads diverged in a wood").unwrap();
    let error = input::open(path.to_str().unwrap()).unwrap_err().to_string();
    assert!(error.contains("no-video.txt"), "{error}");
    assert!(matches!(input::open("/no/such/file.mp4"), Err(Error::Io { .. })));
    assert!(matches!(input::open("test:banana"), Err(Error::Specification { .. })));
}

/// An EBML header that says `matroska`, versions 4 and 2, and the beginning of a segment of unknown length.
const MATROSKA: &[u8] = b"\x1A\x45\xDF\xA3\x93\x42\x82\x88matroska\x42\x87\x81\x04\x42\x85\x81\x02\
    \x18\x53\x80\x67\x01\xFF\xFF\xFF\xFF\xFF\xFF\xFF";

#[test]
fn what_is_wrong_with_a_matroska_file_is_said() {
    let message = |octets: &[u8]| input::open_bytes(octets.to_vec()).unwrap_err().to_string();
    for length in 4..=MATROSKA.len() {
        let message = message(&MATROSKA[..length]);
        let says_why = message.starts_with("Matroska, headers: ") && message.contains("was cut off");
        assert!(says_why, "{length}: {message}");
    }
    // An empty element in the segment.
    let message = message(&[MATROSKA, &[0xEC, 0x80]].concat());
    assert!(message.starts_with("Matroska, headers: the file has no Cluster element"), "{message}");
}

/// Twelve coded pictures at 5 pictures/s, the sixth smaller.
fn record(mut write: impl FnMut(&seaway_media::encoder::EncodedFrame)) {
    let mut large = Synthetic::from_specification("320x180@5").unwrap();
    let mut small = Synthetic::from_specification("160x90@5").unwrap();
    let frame_rate = large.format().frame_rate;
    let start = Bitrate::from_kbps(400);
    let config = LiveEncoderConfig { frame_rate, start, latency: TimeDelta::ZERO };
    let mut encoder = LiveEncoder::new(config).unwrap();
    for index in 0..12 {
        let (large, small) = (large.next_picture().unwrap().unwrap(), small.next_picture().unwrap().unwrap());
        let picture = if index < 5 { large } else { small };
        if let Encoded::Frame(frame) = encoder.encode(&picture).unwrap() {
            write(&frame);
        }
    }
}

#[test]
fn recordings_play() {
    let mut mp4 = Mp4Writer::new(Vec::new());
    let mut stream = AnnexBWriter::new(Vec::new());
    let mut count = 0;
    record(|frame| {
        mp4.write(&frame.data, frame.time, frame.key, frame.size).unwrap();
        stream.write(&frame.data, frame.key).unwrap();
        count += 1;
    });
    assert_eq!(count, 12);
    for (name, bytes) in [("record.mp4", mp4.finish().unwrap()), ("record.h264", stream.finish().unwrap())] {
        let mut source = input::open_bytes(bytes.clone()).unwrap();
        let (ours, time) = decoded_by_us(&mut *source, 20);
        assert_eq!(ours.len(), (5 * 320 * 180 + 7 * 160 * 90) * 3 / 2, "{name}");
        if name == "record.mp4" {
            assert_eq!(time, TimeDelta::from_millis(2200));
        }
        let path = scratch(name);
        std::fs::write(&path, bytes).unwrap();
        let Some(theirs) = decoded_by_ffmpeg(&path, "20") else { return };
        // FFmpeg scales what follows to the size of the first picture, or does not, as its version goes.
        let large = 5 * 320 * 180 * 3 / 2;
        assert!(ours[..large] == theirs[..large] && theirs.len() >= ours.len(), "{name}");
    }
}

#[test]
fn a_recording_begins_with_a_key_frame() {
    let mut mp4 = Mp4Writer::new(Vec::new());
    let mut first = true;
    record(|frame| {
        if !std::mem::take(&mut first) {
            mp4.write(&frame.data, frame.time, frame.key, frame.size).unwrap();
        }
    });
    let mut source = input::open_bytes(mp4.finish().unwrap()).unwrap();
    assert_eq!(source.format().size.to_string(), "160x90");
    assert_eq!(decoded_by_us(&mut *source, 20).1, TimeDelta::from_millis(1200));
}
