//! Real streams through parser and shaper.

use seaway_mpeg::header::{PictureKind, SequenceState};
use seaway_mpeg::picture::{Damage, Picture};
use seaway_mpeg::shape::{Budget, Cluster, Config, Method, PictureReport, Shaper, Target};
use seaway_mpeg::unit::{AccessUnit, Splitter};
use seaway_testkit::shared;
use std::num::{NonZeroU16, NonZeroUsize};
use std::path::PathBuf;

/// All real MPEG-1 and MPEG-2 streams.
fn streams() -> Vec<PathBuf> {
    let folders = ["media/es", "media/real"].into_iter().filter_map(shared);
    let files = folders.flat_map(|folder| std::fs::read_dir(folder).unwrap());
    let mut paths: Vec<_> = files.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

fn units(data: &[u8]) -> Vec<AccessUnit> {
    let mut splitter = Splitter::default();
    splitter.push(data);
    splitter.finish();
    std::iter::from_fn(|| splitter.pull()).collect()
}

fn shape(config: Config, data: &[u8], piece: usize) -> (Vec<u8>, Vec<PictureReport>) {
    let mut shaper = Shaper::new(config);
    shaper.announce_length(data.len() as u64);
    let (mut bytes, mut reports) = (Vec::new(), Vec::new());
    let mut pull = |shaper: &mut Shaper| {
        while let Some(shaped) = shaper.pull() {
            bytes.extend(shaped.bytes);
            reports.push(shaped.report);
        }
    };
    for piece in data.chunks(piece) {
        shaper.push(piece);
        pull(&mut shaper);
    }
    shaper.finish();
    pull(&mut shaper);
    (bytes, reports)
}

/// Every slice is read to its end, and the next start code follows. Only the stream that is cut short has a damaged
/// slice.
#[test]
fn sound_streams_are_read_without_damage() {
    for path in streams() {
        let data = std::fs::read(&path).unwrap();
        let mut state = SequenceState::default();
        let mut picture = Picture::default();
        let mut damages = Vec::new();
        for unit in units(&data) {
            let context = unit.read_headers(&mut state).expect("a picture");
            unit.read_slices(&context, &mut picture);
            damages.extend(picture.slices.iter().filter_map(|slice| slice.damage));
        }
        let cut_off = path.to_string_lossy().contains("roundup1414");
        assert_eq!(damages.len(), usize::from(cut_off), "{}: {damages:?}", path.display());
        assert!(damages.iter().all(|&damage| damage == Damage::Truncated || damage == Damage::Code));
    }
}

/// The first whole pictures of a stream, a few hundred thousand bytes.
fn beginning(path: &PathBuf) -> Vec<u8> {
    let mut data = Vec::new();
    for unit in units(&std::fs::read(path).unwrap()) {
        data.extend(unit.data);
        if data.len() > 400_000 {
            break;
        }
    }
    data
}

/// Numbers of pictures and of undamaged slices.
fn inventory(data: &[u8]) -> (usize, usize) {
    let mut state = SequenceState::default();
    let mut picture = Picture::default();
    let (mut pictures, mut slices) = (0, 0);
    for unit in units(data) {
        let Some(context) = unit.read_headers(&mut state) else { continue };
        unit.read_slices(&context, &mut picture);
        pictures += 1;
        slices += picture.slices.iter().filter(|slice| slice.damage.is_none()).count();
    }
    (pictures, slices)
}

#[test]
fn ratio_one_is_identity() {
    for path in streams() {
        let data = beginning(&path);
        for (_, method) in Method::ALL {
            let (shaped, _) = shape(Config::new(method, Target::Ratio(1.0)), &data, 10_007);
            assert!(shaped == data, "{} {method:?}", path.display());
        }
    }
}

/// The size is within 0.1 % of the target over a file, unless the floor is higher, and every slice is readable.
#[test]
fn sizes_meet_the_target_and_slices_stay_sound() {
    for path in streams() {
        let data = beginning(&path);
        let before = inventory(&data);
        for ((_, method), target) in Method::ALL.into_iter().flat_map(|method| [(method, 0.8), (method, 0.4)])
        {
            let (shaped, reports) = shape(Config::new(method, Target::Ratio(target)), &data, 1 << 20);
            let label = format!("{} {method:?} {target}", path.display());
            let ratio = shaped.len() as f64 / data.len() as f64;
            let floored = reports.iter().any(|report| report.at_floor);
            // A stream of a few pictures has no later ones to make up for its last.
            let bound = if floored { f64::INFINITY } else { 1.001 + 0.004 / before.0 as f64 };
            assert!(ratio / target < bound, "{label}: {ratio}");
            assert!(ratio / target > 0.99, "{label}: {ratio}");
            let out: u64 = reports.iter().map(|report| report.bits_out).sum();
            assert_eq!(out, shaped.len() as u64 * 8, "{label}");
            assert_eq!(inventory(&shaped), before, "{label}");
            assert!(reports.iter().all(|report| report.bits_out <= report.bits_in), "{label}");
            // A closed loop gives codes to blocks that had none.
            let fewer = reports.iter().all(|report| report.codes[1] <= report.codes[0]);
            assert!(fewer || method == Method::Auto, "{label}");
        }
    }
}

#[test]
fn threads_and_pieces_change_nothing() {
    let Some(path) = shared("media/es/mobile_cif.mpeg2.ibbp.4000k.m2v") else { return };
    let data = std::fs::read(path).unwrap();
    for (_, method) in Method::ALL {
        let mut config = Config::new(method, Target::Ratio(0.7));
        let (one, _) = shape(config.clone(), &data, 1 << 20);
        config.threads = NonZeroUsize::new(3).unwrap();
        let (three, _) = shape(config, &data, 999);
        assert!(one == three, "{method:?}");
    }
}

#[test]
fn a_proportional_budget_cuts_all_kinds_alike() {
    let shares = |budget: Budget| {
        let data = include_bytes!("fixtures/elementary.m2v");
        let config = Config { budget, ..Config::new(Method::Memoryless, Target::Ratio(0.8)) };
        let (_, reports) = shape(config, data, 1000);
        [PictureKind::I, PictureKind::B].map(|kind| {
            let of_kind = reports.iter().filter(|report| report.kind == Some(kind));
            let sum = |bits: fn(&PictureReport) -> u64| of_kind.clone().map(bits).sum::<u64>() as f64;
            sum(|report| report.bits_out) / sum(|report| report.bits_in)
        })
    };
    let [intra, b] = shares(Budget::Proportional);
    assert!((intra - b).abs() < 0.03, "{intra} and {b}");
    let [intra, b] = shares(Budget::ByKind);
    assert!(intra > b + 0.1, "{intra} and {b}");
}

#[test]
fn clusters_wider_than_a_picture_still_meet_the_target() {
    let Some(path) = shared("media/es/mobile_cif.mpeg2.ibbp.4000k.m2v") else { return };
    let data = std::fs::read(path).unwrap();
    let mut config = Config::new(Method::Memoryless, Target::Ratio(0.8));
    config.cluster = Cluster::Macroblocks(NonZeroU16::MAX);
    let (shaped, _) = shape(config, &data, 1 << 20);
    assert!(shaped.len() as f64 / (data.len() as f64) < 0.801);
}

/// Found by fuzzing: pictures of two sizes in one window, the later predicted from the earlier.
#[test]
fn a_size_may_change_in_the_middle() {
    let first = include_bytes!("fixtures/elementary.m2v");
    for smaller_by in [16_i32, -16] {
        let mut units = units(first).into_iter().map(|unit| unit.data);
        let mut headers = units.next().unwrap();
        headers.truncate(headers.windows(4).position(|code| code == [0, 0, 1, 0]).unwrap());
        // The size stands in two fields of 12 bits behind the start code.
        let size = i32::from_be_bytes([0, headers[4], headers[5], headers[6]]) - smaller_by;
        headers[4..7].copy_from_slice(&size.to_be_bytes()[1..]);
        let data = [first.to_vec(), headers, units.flatten().collect()].concat();
        for (_, method) in Method::ALL {
            let (shaped, _) = shape(Config::new(method, Target::Ratio(0.7)), &data, 10_007);
            assert_eq!(inventory(&shaped), inventory(&data), "{method:?}");
        }
    }
}
