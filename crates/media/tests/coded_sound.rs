//! The coded sound of files.

use seaway_media::audio::{self, CodedTrack, SoundFrame};
use seaway_media::transport::SoundFormat;
use std::path::Path;
use std::process::Command;

/// All frames from the present one on.
fn frames(track: &mut CodedTrack) -> Vec<SoundFrame> {
    std::iter::from_fn(|| track.next_frame().unwrap()).collect()
}

/// The first frames are kept, and what is behind them is read anew.
#[test]
fn a_file_begins_again_with_its_first_frame() {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("begins-again.mp4");
    let (aac, opus) = (("aac", SoundFormat::Aac), ("libopus", SoundFormat::Opus));
    for (seconds, (codec, format), least) in [("4", aac, 170), ("1", aac, 40), ("4", opus, 190)] {
        let mut command = Command::new("ffmpeg");
        command.args(["-v", "error", "-y", "-f", "lavfi", "-i", "testsrc2=size=64x64:rate=25"]);
        command
            .args(["-f", "lavfi", "-i", "sine", "-t", seconds, "-c:v", "libx264", "-c:a", codec])
            .arg(&path);
        let Ok(status) = command.status() else { return };
        assert!(status.success());
        let mut sound = audio::open(path.to_str().unwrap()).unwrap().unwrap();
        let mut track = sound.take_coded(format).unwrap().unwrap();
        let first = frames(&mut track);
        assert!(first.len() >= least, "{}", first.len());
        for read in [first.len(), 150, 3] {
            track.rewind().unwrap();
            let part: Vec<_> = (0..read).map_while(|_| track.next_frame().unwrap()).collect();
            assert!(part[..] == first[..part.len()]);
        }
        track.rewind().unwrap();
        assert!(frames(&mut track) == first);
    }
}
