//! Recordings: one time line, whole pieces, no file replaced.

use seaway_control::StreamId;
use seaway_media::FrameRate;
use seaway_media::Picture;
use seaway_media::encoder::ConstantQpEncoder;
use seaway_media::input::{PictureSource, Synthetic, open};
use seaway_session::{Format, FrameData, FrameKind, ReceivedFrame, StreamDescription};
use seaway_stream::Error;
use seaway_stream::sink::{Displayed, Output, Played, Recorder, RecordingFile, Sink};
use seaway_units::{RemoteTimestamp, TimeDelta, Timestamp};
use std::io::Write;
use std::path::Path;
use std::process::Command;

/// A coded test picture every 40 ms.
struct Camera {
    source: Synthetic,
    encoder: ConstantQpEncoder,
}

impl Camera {
    fn new() -> Self {
        let source = Synthetic::from_specification("160x96@25").unwrap();
        Self { source, encoder: ConstantQpEncoder::new(FrameRate::USUAL, 30).unwrap() }
    }

    /// Shows the next picture at `at`.
    fn show(&mut self, sink: &mut Recorder, at: Timestamp, timestamp: u32, key: bool) -> Result<(), Error> {
        let picture: Picture = self.source.next_picture().unwrap().unwrap();
        let coded = self.encoder.encode(&picture, key).unwrap();
        let frame = ReceivedFrame {
            stream: StreamId(0),
            timestamp,
            captured: Some(captured(at.since(Timestamp::ZERO).as_millis())),
            kind: if coded.key { FrameKind::Key } else { FrameKind::Reference },
            data: FrameData::Coded(coded.data.into()),
            first_arrival: at,
            completed: at,
            due: at,
        };
        sink.on_frame(&Displayed { at, frame: &frame, picture: Some(&picture), size: Some(picture.size()) })
    }
}

/// The Opus packets of these numbers, of 20 ms each; the first begins 10 ms before the first picture.
fn play_sound(sink: &mut Recorder, numbers: impl Iterator<Item = u32>) {
    for index in numbers {
        let millis = 20 * i64::from(index) - 10;
        let frame = ReceivedFrame {
            stream: StreamId(1),
            timestamp: 7 + 960 * index,
            captured: Some(captured(millis)),
            kind: FrameKind::Key,
            data: FrameData::Coded(vec![0xFC; 50].into()),
            first_arrival: at(millis + 50),
            completed: at(millis + 50),
            due: at(millis + 50),
        };
        sink.on_sound(&Played { at: at(millis + 50), frame: &frame }).unwrap();
    }
}

/// On the sender's clock.
fn captured(millis: i64) -> RemoteTimestamp {
    RemoteTimestamp::from_nanos((10_000 + millis) as u64 * 1_000_000)
}

/// Start and size of the packets of sound, by FFmpeg; `None`, and a line on standard error, without it.
fn packets(file: &Path) -> Option<Vec<(f64, usize)>> {
    let wanted =
        ["-v", "error", "-select_streams", "a", "-show_entries", "packet=pts_time,size", "-of", "csv=p=0"];
    let Ok(output) = Command::new("ffprobe").args(wanted).arg(file).output() else {
        let _ = writeln!(std::io::stderr(), "SKIPPED: packets by ffprobe, which is not installed");
        return None;
    };
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{}", file.display());
    let text = String::from_utf8(output.stdout).unwrap();
    let packet = |line: &str| {
        let mut fields = line.split(',');
        let mut next = || fields.next().unwrap().to_owned();
        (next().parse().unwrap(), next().parse().unwrap())
    };
    Some(text.lines().filter(|line| !line.is_empty()).map(packet).collect())
}

/// Sound that came before the first picture is there, lost packets are concealed, and it goes on where the pictures end.
#[test]
fn sound_stands_beside_the_pictures() {
    let folder = tempfile::tempdir().unwrap();
    let (mut recorder, path) = Recorder::create(&folder.path().join("clip.mp4"), None).unwrap();
    recorder.on_session(&[StreamDescription::video(Format::H264), StreamDescription::opus()]);
    let mut camera = Camera::new();
    play_sound(&mut recorder, (0..20).filter(|number| !(5..7).contains(number)));
    for index in 0..25_u32 {
        camera.show(&mut recorder, at(40 * i64::from(index)), 3_600 * index, index == 0).unwrap();
    }
    play_sound(&mut recorder, 20..220);
    Box::new(recorder).finish().unwrap();
    assert_eq!(times(&path).len(), 25);
    let Some(packets) = packets(&path) else { return };
    // The first packet began before the first picture.
    assert_eq!(packets.len(), 219);
    for (index, (start, size)) in packets.iter().enumerate() {
        assert!((start - (0.01 + 0.02 * index as f64)).abs() < 1e-4, "{index}: {start}");
        assert_eq!(*size, if (4..6).contains(&index) { 1 } else { 50 }, "{index}");
    }
}

fn at(millis: i64) -> Timestamp {
    Timestamp::ZERO + TimeDelta::from_millis(millis)
}

fn times(file: &Path) -> Vec<TimeDelta> {
    let mut source = open(file.to_str().unwrap()).unwrap();
    std::iter::from_fn(|| source.next_picture().unwrap().map(|picture| picture.time())).collect()
}

/// The duration in seconds by FFmpeg's, which must not complain; `None`, and a line on standard error, without it.
fn probed(file: &Path) -> Option<f64> {
    let wanted = ["-v", "error", "-show_entries", "format=duration", "-of", "csv=p=0"];
    let Ok(output) = Command::new("ffprobe").args(wanted).arg(file).output() else {
        let _ = writeln!(std::io::stderr(), "SKIPPED: durations by ffprobe, which is not installed");
        return None;
    };
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{}", file.display());
    Some(String::from_utf8(output.stdout).unwrap().trim().parse().unwrap())
}

#[test]
fn a_wrap_and_a_restart_leave_one_time_line() {
    let folder = tempfile::tempdir().unwrap();
    let (mut recorder, path) = Recorder::create(&folder.path().join("clip.mp4"), None).unwrap();
    let mut camera = Camera::new();
    // The timestamp wraps in the second 1 of 2.
    let begin = u32::MAX - 90_000;
    for index in 0..50 {
        let timestamp = begin.wrapping_add(index * 3_600);
        camera.show(&mut recorder, at(40 * i64::from(index)), timestamp, false).unwrap();
    }
    // A second without pictures, and another sender.
    let mut camera = Camera::new();
    for index in 0..50 {
        camera.show(&mut recorder, at(3_000 + 40 * i64::from(index)), 77 + index * 3_600, false).unwrap();
    }
    Box::new(recorder).finish().unwrap();
    let expected: Vec<_> =
        (0..50).map(|index| 40 * index).chain((0..50).map(|index| 3_000 + 40 * index)).collect();
    assert_eq!(times(&path), expected.into_iter().map(TimeDelta::from_millis).collect::<Vec<_>>());
    if let Some(seconds) = probed(&path) {
        assert!((seconds - 5.0).abs() < 0.001, "{seconds}");
    }
}

#[test]
fn a_recording_can_be_played_while_it_grows() {
    let folder = tempfile::tempdir().unwrap();
    let (mut recorder, path) = Recorder::create(&folder.path().join("clip.mp4"), None).unwrap();
    let mut camera = Camera::new();
    for index in 0..60_u32 {
        camera.show(&mut recorder, at(40 * i64::from(index)), 3_600 * index, false).unwrap();
    }
    // As after a kill: two seconds are there.
    assert_eq!(times(&path).len(), 50);
    assert!(probed(&path).is_none_or(|seconds| (seconds - 2.0).abs() < 0.001));
}

#[test]
fn segments_begin_with_a_key_frame_that_is_requested() {
    let folder = tempfile::tempdir().unwrap();
    let segment = Some(TimeDelta::from_secs(1));
    let (mut recorder, path) = Recorder::create(&folder.path().join("clip.mp4"), segment).unwrap();
    let mut camera = Camera::new();
    let mut requests = Vec::new();
    for index in 0..75_u32 {
        // The key frame comes 200 ms after its request.
        let key = requests.last().is_some_and(|last| index == last + 5);
        camera.show(&mut recorder, at(40 * i64::from(index)), 3_600 * index, key).unwrap();
        if recorder.take_key_frame_request() {
            requests.push(index);
        }
    }
    Box::new(recorder).finish().unwrap();
    assert_eq!(requests, [25, 55]);
    let names = ["clip.mp4", "clip-1.mp4", "clip-2.mp4"];
    let lengths = names.map(|name| times(&path.with_file_name(name)).len());
    assert_eq!(lengths, [30, 30, 15]);
    for (name, length) in names.into_iter().zip(lengths) {
        let seconds = probed(&path.with_file_name(name));
        assert!(
            seconds.is_none_or(|seconds| (seconds - 0.04 * length as f64).abs() < 0.001),
            "{name}: {seconds:?}"
        );
    }
}

#[test]
fn a_file_that_exists_stays() {
    let folder = tempfile::tempdir().unwrap();
    let wanted = folder.path().join("clip.mp4");
    std::fs::write(&wanted, "precious").unwrap();
    let (mut recorder, path) = Recorder::create(&wanted, None).unwrap();
    assert_eq!(path, folder.path().join("clip-1.mp4"));
    Camera::new().show(&mut recorder, at(0), 0, true).unwrap();
    Box::new(recorder).finish().unwrap();
    assert_eq!(times(&path).len(), 1);
    assert_eq!(std::fs::read_to_string(&wanted).unwrap(), "precious");
    assert!(Recorder::create(folder.path(), None).is_err());
}

#[test]
fn nothing_received_is_an_error_and_no_file() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["clip.mp4", "clip.h264", "clip.y4m"] {
        let (recorder, path) = Recorder::create(&folder.path().join(name), None).unwrap();
        assert!(matches!(Box::new(recorder).finish(), Err(Error::NothingRecorded)), "{name}");
        assert!(!path.exists(), "{name}");
    }
}

#[test]
fn a_file_is_cut_back_to_whole_pieces() {
    let folder = tempfile::tempdir().unwrap();
    let mut file = RecordingFile::create(&folder.path().join("pieces")).unwrap();
    let path = file.path().to_owned();
    file.write_all(b"whole").unwrap();
    file.flush().unwrap();
    file.write_all(b" and a part").unwrap();
    Box::new(file).finish().unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"whole");
}
