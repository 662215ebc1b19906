//! `seaway score` on real clips, beside the filters of an installed FFmpeg.

use crate::schema::check;
use crate::util::Bench;
use seaway_testkit::shared;
use serde_json::Value;
use std::io::Write;
use std::path::Path;
use std::process::Command;

/// Runs FFmpeg in the folder; `None`, said loudly, where it is not installed. What it says is the result.
fn ffmpeg(folder: &Path, arguments: &str, filter: &str) -> Option<String> {
    let mut command = Command::new("ffmpeg");
    command.args(["-hide_banner", "-nostdin", "-nostats", "-y"]).current_dir(folder);
    for word in arguments.split(' ') {
        command.arg(if word == "FILTER" { filter } else { word });
    }
    let Ok(output) = command.output() else {
        let _ = writeln!(std::io::stderr(), "*** SKIPPED: no ffmpeg to compare with ***");
        return None;
    };
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{arguments}: {said}");
    Some(said)
}

/// Sixty pictures of a clip, and the same coded badly, both as Y4M and the latter as MP4 too.
fn clips() -> Option<Bench> {
    let master = shared("media/masters/foreman_cif.mp4")?;
    let bench = Bench::new();
    let at = bench.path();
    let master = master.canonicalize().unwrap();
    ffmpeg(at, &format!("-i {} -frames:v 60 -pix_fmt yuv420p sent.y4m", master.display()), "")?;
    ffmpeg(at, "-i sent.y4m -c:v mpeg4 -q:v 12 -bf 0 received.mp4", "")?;
    ffmpeg(at, "-i received.mp4 -pix_fmt yuv420p received.y4m", "")?;
    Some(bench)
}

fn score(bench: &Bench, received: &str, more: &[&str]) -> Value {
    let run = bench.run(&[["score", "sent.y4m", received, "--json"].as_slice(), more].concat());
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    check("score", &run.json());
    run.json()
}

/// The number behind `key:` in what FFmpeg said.
fn said(text: &str, key: &str) -> f64 {
    let rest = text.split(&format!(" {key}:")).nth(1).unwrap_or_else(|| panic!("{key}: {text}"));
    rest.split([' ', '\n']).next().unwrap().parse().unwrap()
}

fn number(report: &Value, pointer: &str) -> f64 {
    report.pointer(pointer).and_then(Value::as_f64).unwrap_or_else(|| panic!("{pointer}: {report}"))
}

#[test]
fn psnr_and_ssim_equal_ffmpegs_filters() {
    let Some(bench) = clips() else { return };
    let filters = "[0:v][1:v]psnr;[0:v][1:v]ssim";
    let compare = "-i received.y4m -i sent.y4m -lavfi FILTER -f null -";
    let Some(filters) = ffmpeg(bench.path(), compare, filters) else { return };
    for received in ["received.y4m", "received.mp4"] {
        let report = score(&bench, received, &[]);
        let pairs = [
            ("/psnr_db/of_mean_mse", "y", 0.01),
            ("/psnr_all_db/of_mean_mse", "average", 0.01),
            ("/psnr_all_db/min", "min", 0.01),
            ("/ssim/mean", "Y", 0.001),
            ("/ssim_all/mean", "All", 0.001),
        ];
        for (ours, theirs, tolerance) in pairs {
            let (ours, theirs) = (number(&report, ours), said(&filters, theirs));
            assert!((ours - theirs).abs() < tolerance, "{received}: {ours} {theirs}");
        }
        assert_eq!(number(&report, "/frames/displayed"), 60.0);
        assert_eq!(report["kind"], "decoded");
    }
}

/// EvalVid puts the picture before in place of each that is missing and compares by number: the same sequence is
/// made here with FFmpeg and compared by its filter.
#[test]
fn every_tenth_picture_dropped_is_scored_as_evalvid_does() {
    let Some(bench) = clips() else { return };
    let at = bench.path();
    let drop = "select='mod(n+1,10)'";
    // With times, and without: the container shows where pictures are missing, or only their content does.
    let Some(_) = ffmpeg(at, "-i received.y4m -vf FILTER -vsync vfr -c:v ffv1 drop.mkv", drop) else {
        return;
    };
    ffmpeg(at, "-i received.y4m -vf FILTER -vsync passthrough drop.y4m", drop);
    make_concealed(&bench);
    let compare = "-i concealed.y4m -i sent.y4m -lavfi FILTER -f null -";
    let Some(filters) = ffmpeg(at, compare, "[0:v][1:v]psnr=stats_file=psnr.log;[0:v][1:v]ssim") else {
        return;
    };
    let log = bench.read("psnr.log");
    let levels: Vec<f64> = log.lines().map(|line| said(line, "psnr_y")).collect();
    let mean = levels.iter().sum::<f64>() / levels.len() as f64;
    for (received, frames) in [("drop.mkv", None), ("drop.y4m", Some(54.0))] {
        let report = score(&bench, received, &["--mode", "evalvid", "--metrics", "ssim"]);
        assert!((number(&report, "/psnr_db/mean") - mean).abs() < 0.01, "{received}: {mean} {report}");
        assert!((number(&report, "/psnr_db/of_mean_mse") - said(&filters, "y")).abs() < 0.01);
        assert!((number(&report, "/ssim/mean") - said(&filters, "Y")).abs() < 0.001);
        assert_eq!(number(&report, "/frames/displayed"), 54.0, "{received}: {report}");
        assert!(report.pointer("/mos/mean").is_some() && report.get("ssim_gaussian").is_none());
        if let Some(frames) = frames {
            assert_eq!(
                (number(&report, "/received/frames"), number(&report, "/frames/missing")),
                (frames, 6.0)
            );
        }
    }
}

/// `received.y4m` with every tenth picture replaced by the one before.
fn make_concealed(bench: &Bench) {
    let file = std::fs::read(bench.path().join("received.y4m")).unwrap();
    let header = file.iter().position(|&octet| octet == b'\n').unwrap() + 1;
    let pictures: Vec<&[u8]> = file[header..].chunks_exact(6 + 352 * 288 * 3 / 2).collect();
    let mut concealed = file[..header].to_vec();
    for index in 0..pictures.len() {
        concealed.extend_from_slice(pictures[if index % 10 == 9 { index - 1 } else { index }]);
    }
    std::fs::write(bench.path().join("concealed.y4m"), concealed).unwrap();
}

#[test]
fn a_folder_holds_scores_table_plot_and_command() {
    let bench = Bench::new();
    let y4m = |level: u8| {
        let mut file = b"YUV4MPEG2 W32 H32 F25:1\n".to_vec();
        for picture in 0..10 {
            file.extend(b"FRAME\n");
            file.extend((0..32 * 32).map(|at: u32| (at as u8 ^ picture).wrapping_mul(3) & 0xF0 | level));
            file.extend([128; 512]);
        }
        file
    };
    std::fs::write(bench.path().join("sent.y4m"), y4m(0)).unwrap();
    std::fs::write(bench.path().join("received.y4m"), y4m(1)).unwrap();
    let report = score(&bench, "received.y4m", &["-o", "out", "--csv", "frames.csv", "--metrics", "psnr"]);
    // An error of one everywhere: 20 log10 255.
    assert!((number(&report, "/psnr_db/mean") - 48.130_803_6).abs() < 1e-6, "{report}");
    assert_eq!(bench.names("out"), ["frames.csv", "plot.svg", "run.json", "score.json"]);
    assert_eq!(bench.read("out/frames.csv"), bench.read("frames.csv"));
    assert_eq!(bench.read("frames.csv").lines().count(), 11);
    assert!(bench.read("out/run.json").contains("score sent.y4m received.y4m"));
    let same = score(&bench, "sent.y4m", &[]);
    assert_eq!((number(&same, "/psnr_db/mean"), number(&same, "/psnr_db/of_mean_mse")), (100.0, 100.0));
    let table = bench.run(&["score", "sent.y4m", "received.y4m"]);
    assert!(table.stdout.contains("48.13 dB mean"), "{}", table.stdout);
}

#[test]
fn bad_input_is_refused_with_the_reason() {
    let bench = Bench::new();
    let write = |name: &str, size: usize, pictures: usize| {
        let mut file = format!("YUV4MPEG2 W{size} H{size} F25:1\n").into_bytes();
        for _ in 0..pictures {
            file.extend(b"FRAME\n");
            file.extend(vec![90; size * size * 3 / 2]);
        }
        std::fs::write(bench.path().join(name), &file).unwrap();
        file
    };
    let whole = write("good.y4m", 32, 3);
    write("large.y4m", 64, 3);
    write("empty.y4m", 32, 0);
    std::fs::write(bench.path().join("cut.y4m"), &whole[..whole.len() - 100]).unwrap();
    bench.write("poem.txt", "Two roads diverged in a yellow wood");
    for (received, reason) in [
        ("large.y4m", "the reference is 32x32, the received picture 64x64"),
        ("empty.y4m", "the received file holds no picture"),
        ("cut.y4m", "frame 2"),
        ("poem.txt", "poem.txt"),
        ("nowhere.y4m", "nowhere.y4m"),
    ] {
        let run = bench.run(&["score", "good.y4m", received, "--json", "-o", "out"]);
        assert_eq!(run.code, Some(2), "{received}: {}{}", run.stdout, run.stderr);
        assert!(run.stderr.contains(reason) && run.stdout.is_empty(), "{received}: {}", run.stderr);
        assert!(!bench.path().join("out").exists());
    }
    let scaled = bench.run(&["score", "good.y4m", "large.y4m", "--scale", "--json"]);
    assert_eq!(number(&scaled.json(), "/psnr_db/mean"), 100.0);
    assert_eq!(bench.run(&["score", "good.y4m"]).code, Some(2));
    assert_eq!(bench.run(&["score", "empty.y4m", "good.y4m"]).code, Some(2));
}

/// An MP4 that was cut in the middle of its pictures is damaged for every reader.
#[test]
fn a_cut_mp4_is_refused() {
    let Some(master) = shared("media/masters/bigbuckbunny_720p.mp4") else { return };
    let whole = std::fs::read(&master).unwrap();
    let bench = Bench::new();
    std::fs::write(bench.path().join("cut.mp4"), &whole[..whole.len() / 3]).unwrap();
    let run = bench.run(&[
        "score",
        master.canonicalize().unwrap().to_str().unwrap(),
        "cut.mp4",
        "--metrics",
        "psnr",
    ]);
    assert_eq!(run.code, Some(2), "{}{}", run.stdout, run.stderr);
    assert!(run.stderr.contains("cut.mp4"), "{}", run.stderr);
}
