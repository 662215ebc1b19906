//! Our PSNR and SSIM against the filters of an installed FFmpeg, picture by picture, on a real clip and an
//! MPEG-2 coding of it.

use seaway_quality::{Plane, psnr, ssim};
use seaway_testkit::shared;
use std::io::Write;
use std::path::Path;
use std::process::Command;

const WIDTH: usize = 352;
const HEIGHT: usize = 288;
const PICTURES: usize = 40;

/// What FFmpeg writes on its standard output; `None`, said loudly, where it is not installed.
fn ffmpeg(inputs: &[&Path], arguments: &[&str]) -> Option<Vec<u8>> {
    let mut command = Command::new("ffmpeg");
    command.args(["-v", "error", "-nostdin"]);
    for input in inputs {
        command.arg("-i").arg(input);
    }
    match command.args(arguments).output() {
        Ok(output) => {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            Some(output.stdout)
        }
        Err(_) => {
            let _ = writeln!(std::io::stderr(), "*** SKIPPED: no ffmpeg to compare with ***");
            None
        }
    }
}

fn decode(clip: &Path) -> Option<Vec<u8>> {
    let count = PICTURES.to_string();
    ffmpeg(&[clip], &["-frames:v", &count, "-pix_fmt", "yuv420p", "-f", "rawvideo", "pipe:1"])
}

/// What a comparing filter says of each picture. Pictures are paired by number, because the two containers
/// count time differently.
fn statistics(filter: &str, reference: &Path, coded: &Path) -> Option<String> {
    let number = "settb=1/25,setpts=N";
    let graph = format!("[0:v]{number}[a];[1:v]{number}[b];[b][a]{filter}=stats_file=-");
    let count = PICTURES.to_string();
    let run = ["-lavfi", &graph, "-frames:v", &count, "-f", "null", "-"];
    ffmpeg(&[reference, coded], &run).map(|output| String::from_utf8(output).unwrap())
}

/// The values behind `key:` in a statistics file, one a line.
fn column(statistics: &str, key: &str) -> Vec<f64> {
    let value = |line: &str| {
        let word = line.split_whitespace().find_map(|word| word.strip_prefix(key)?.strip_prefix(':'));
        word.map(|word| word.parse().unwrap())
    };
    statistics.lines().filter_map(value).collect()
}

fn planes(pictures: &[u8]) -> impl Iterator<Item = [Plane<'_>; 3]> {
    let luma = WIDTH * HEIGHT;
    pictures.chunks_exact(luma * 3 / 2).map(move |picture| {
        let chroma = |at| Plane::new(&picture[at..], WIDTH / 2, WIDTH / 2, HEIGHT / 2);
        [Plane::new(picture, WIDTH, WIDTH, HEIGHT), chroma(luma), chroma(luma * 5 / 4)]
    })
}

#[test]
fn psnr_and_ssim_equal_the_filters() {
    let Some(reference) = shared("media/masters/paris_cif.mp4") else { return };
    let Some(coded) = shared("media/es/paris_cif.mpeg2.ipp.1500k.m2v") else { return };
    let Some(psnr_file) = statistics("psnr", &reference, &coded) else { return };
    let Some(ssim_file) = statistics("ssim", &reference, &coded) else { return };
    let (reference, coded) = (decode(&reference).unwrap(), decode(&coded).unwrap());

    let mut compared = 0;
    let expected = column(&psnr_file, "psnr_y").into_iter().zip(column(&ssim_file, "Y"));
    let expected = expected.zip(column(&ssim_file, "All"));
    for ((a, b), ((level, luma), all)) in planes(&reference).zip(planes(&coded)).zip(expected) {
        assert!((psnr::psnr(&a[0], &b[0]).unwrap().get() - level).abs() < 0.01);
        let ours: [f64; 3] = std::array::from_fn(|plane| ssim::ssim(&a[plane], &b[plane]).unwrap());
        assert!((ours[0] - luma).abs() < 1e-5, "{} {luma}", ours[0]);
        assert!((ssim::all_planes(ours[0], ours[1], ours[2]) - all).abs() < 1e-5);
        compared += 1;
    }
    assert_eq!(compared, PICTURES);
}
