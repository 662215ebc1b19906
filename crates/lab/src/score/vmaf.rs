//! VMAF by the `libvmaf` filter of an installed FFmpeg. Both pictures go through one pipe, the reference above.

use super::align::Pair;
use seaway_media::{FrameRate, Picture, PictureSize};
use std::io::{BufWriter, Write};
use std::process::{Child, ChildStdin, Command, Stdio};

/// A running filter.
#[derive(Debug)]
pub(super) struct Vmaf {
    child: Child,
    pipe: Option<BufWriter<ChildStdin>>,
    log: tempfile::NamedTempFile,
}

impl Vmaf {
    /// Whether FFmpeg is installed and has the filter.
    pub(super) fn is_there() -> bool {
        let mut command = Command::new("ffmpeg");
        command.args(["-hide_banner", "-v", "error", "-filters"]).stdin(Stdio::null());
        command.output().is_ok_and(|output| has_filter(&String::from_utf8_lossy(&output.stdout), "libvmaf"))
    }

    /// Starts the filter for pictures of this size.
    pub(super) fn start(size: PictureSize, rate: FrameRate) -> Result<Self, String> {
        let log = tempfile::NamedTempFile::new().map_err(|error| error.to_string())?;
        // The name stands in a filter's options, where colons and backslashes separate.
        let path = log.path().display().to_string();
        if path.contains(['\\', ':', '\'', ',', ';', '[', ']']) {
            return Err(format!("the temporary folder's name {path:?} cannot be given to FFmpeg"));
        }
        let mut child = command(size, rate, &format!("libvmaf=log_fmt=json:log_path={path}"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("ffmpeg: {error}"))?;
        let pipe = child.stdin.take().map(|pipe| BufWriter::with_capacity(1 << 20, pipe));
        Ok(Self { child, pipe, log })
    }

    /// Passes a pair to the filter. An error of the filter is returned by `finish`.
    pub(super) fn put(&mut self, pair: &Pair) {
        let (Some(pipe), Some(shown)) = (&mut self.pipe, &pair.shown) else { return };
        if write_stacked(pipe, &pair.reference, shown).is_err() {
            self.pipe = None;
        }
    }

    /// The scores of all pictures that were handed over, in order.
    pub(super) fn finish(mut self) -> Result<Vec<f64>, String> {
        drop(self.pipe.take());
        let status = self.child.wait().map_err(|error| format!("ffmpeg: {error}"))?;
        if !status.success() {
            return Err(format!("ffmpeg's libvmaf filter failed ({status})"));
        }
        let log = std::fs::read(self.log.path()).map_err(|error| error.to_string())?;
        parse(&log).ok_or_else(|| "ffmpeg's libvmaf filter wrote no scores".to_owned())
    }
}

impl Drop for Vmaf {
    fn drop(&mut self) {
        self.pipe = None;
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// FFmpeg, comparing the lower half of its input with the upper by `filter`.
fn command(size: PictureSize, rate: FrameRate, filter: &str) -> Command {
    let mut command = Command::new("ffmpeg");
    let (width, height) = (size.width(), size.height());
    let (numerator, denominator) = rate.ratio();
    command.args(["-hide_banner", "-v", "error", "-f", "rawvideo", "-pix_fmt", "yuv420p"]);
    command.args(["-s", &format!("{width}x{}", 2 * height), "-r", &format!("{numerator}/{denominator}")]);
    command.args(["-i", "pipe:0", "-lavfi"]);
    let crop = |name: &str, y: u32| format!("crop={width}:{height}:0:{y}[{name}]");
    let [above, below] = [crop("reference", 0), crop("shown", height)];
    command.arg(format!("split[a][b];[a]{above};[b]{below};[shown][reference]{filter}"));
    command.args(["-f", "null", "-"]).stdin(Stdio::piped());
    command
}

fn write_stacked(out: &mut impl Write, above: &Picture, below: &Picture) -> std::io::Result<()> {
    for (above, below) in above.planes().into_iter().zip(below.planes()) {
        out.write_all(above.data)?;
        out.write_all(below.data)?;
    }
    Ok(())
}

/// Names stand in the second column of FFmpeg's list.
fn has_filter(list: &str, name: &str) -> bool {
    list.lines().any(|line| line.split_whitespace().nth(1) == Some(name))
}

fn parse(log: &[u8]) -> Option<Vec<f64>> {
    let log: serde_json::Value = serde_json::from_slice(log).ok()?;
    log["frames"].as_array()?.iter().map(|frame| frame["metrics"]["vmaf"].as_f64()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use seaway_media::input::{PictureSource, Synthetic};

    #[test]
    fn the_list_is_read_by_columns() {
        let list = " ... libvmaf_x   VV->V  Calculate\n ... psnr   VV->V  libvmaf\n";
        assert!(has_filter(list, "psnr") && !has_filter(list, "libvmaf"));
    }

    #[test]
    fn the_log_is_read() {
        let log =
            br#"{"frames":[{"frameNum":0,"metrics":{"vmaf":97.5}},{"frameNum":1,"metrics":{"vmaf":90}}]}"#;
        assert_eq!(parse(log), Some(vec![97.5, 90.0]));
        assert_eq!(parse(br#"{"frames":[{}]}"#), None);
    }

    /// The same pipe with a filter that every FFmpeg has: each picture arrives whole and in its half.
    #[test]
    fn stacked_pictures_come_apart_again() {
        let mut source = Synthetic::from_specification("64x48@25").unwrap();
        let [a, b] = [0; 2].map(|_| source.next_picture().unwrap().unwrap());
        let compare = |above: &Picture, below: &Picture| {
            let mut child = command(a.size(), FrameRate::USUAL, "psnr=stats_file=-")
                .stdout(Stdio::piped())
                .spawn()
                .ok()?;
            let mut pipe = child.stdin.take().unwrap();
            write_stacked(&mut pipe, above, below).unwrap();
            drop(pipe);
            Some(String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap())
        };
        let Some(same) = compare(&a, &a) else {
            let _ = writeln!(std::io::stderr(), "*** SKIPPED: no ffmpeg ***");
            return;
        };
        assert!(same.contains("mse_avg:0.00"), "{same}");
        let other = compare(&a, &b).unwrap();
        assert!(!other.contains("mse_avg:0.00") && other.contains("mse_avg"), "{other}");
    }
}
