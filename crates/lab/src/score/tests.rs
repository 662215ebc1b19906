use super::*;
use seaway_media::input::PictureFormat;
use seaway_media::{FrameId, FrameRate, PicturePool};
use seaway_units::TimeDelta;

/// Pictures at given times, each with a bar at a place and a little noise of its own.
#[derive(Debug, Clone)]
struct Made {
    pictures: Vec<Picture>,
    next: usize,
    has_times: bool,
}

const RATE: FrameRate = FrameRate::USUAL;

fn picture(bar: u64, noise: u8) -> Picture {
    let size = PictureSize::new(192, 176).unwrap();
    let mut buffer = PicturePool::new(size).take();
    for plane in buffer.planes_mut() {
        for (at, sample) in plane.data.iter_mut().enumerate() {
            let (x, y) = ((at % plane.width) as u64, (at / plane.width) as u64);
            let inside = (bar * 3..bar * 3 + 24).contains(&x);
            *sample = if inside { 200 } else { (40 + x / 2 + y / 4) as u8 } + noise * (at % 2) as u8;
        }
    }
    buffer.finish(FrameId(bar), TimeDelta::ZERO)
}

impl Made {
    fn new(bars: impl IntoIterator<Item = u64>, noise: u8) -> Self {
        let pictures = bars
            .into_iter()
            .zip(0..)
            .map(|(bar, index)| picture(bar, noise).with_identity(FrameId(index), RATE.time_of(index)));
        Self { pictures: pictures.collect(), next: 0, has_times: false }
    }

    /// The same pictures where they belong in time.
    fn timed(mut self, indices: impl IntoIterator<Item = u64>) -> Self {
        for (picture, index) in self.pictures.iter_mut().zip(indices) {
            *picture = picture.with_identity(picture.id(), RATE.time_of(index));
        }
        self.has_times = true;
        self
    }
}

impl PictureSource for Made {
    fn format(&self) -> PictureFormat {
        PictureFormat { size: PictureSize::new(192, 176).unwrap(), frame_rate: RATE }
    }

    fn next_picture(&mut self) -> Result<Option<Picture>, Error> {
        let picture = self.pictures.get(self.next).cloned();
        self.next += usize::from(picture.is_some());
        Ok(picture)
    }

    fn rewind(&mut self) -> Result<(), Error> {
        self.next = 0;
        Ok(())
    }

    fn has_times(&self) -> bool {
        self.has_times
    }
}

fn run(reference: Made, received: Made, mode: Mode) -> Report {
    let metrics = Metrics { vmaf: false, ..Metrics::default() };
    let options = Options { align: Align::Auto, mode, metrics, scale: false };
    score(Box::new(reference), Box::new(received), options, &mut || ControlFlow::Continue(())).unwrap()
}

fn kept(count: u64) -> impl Iterator<Item = u64> + Clone {
    (0..count).filter(|index| index % 10 != 9)
}

#[test]
fn the_same_twice_is_the_cap() {
    let report = run(Made::new(0..30, 0), Made::new(0..30, 0), Mode::Viewer);
    assert_eq!((report.psnr_db.mean, report.psnr_db.of_mean_mse), (100.0, 100.0));
    assert_eq!((report.align, report.frames.displayed, report.freezes.count), (Align::Index, 30, 0));
    assert!(report.ssim.unwrap().mean == 1.0 && report.ms_ssim.unwrap().mean > 1.0 - 1e-6);
}

/// Every tenth picture dropped: by EvalVid the one before stands in its place. The expectation is made of such a
/// sequence, compared picture by picture.
#[test]
fn every_tenth_dropped_is_scored_as_evalvid_does() {
    let concealed = (0..50).map(|index| if index % 10 == 9 { index - 1 } else { index });
    let expected = run(Made::new(0..50, 0), Made::new(concealed, 1), Mode::EvalVid);
    assert_eq!((expected.align, expected.frames.repeated), (Align::Index, 5));
    let untimed = run(Made::new(0..50, 0), Made::new(kept(50), 1), Mode::EvalVid);
    let timed = run(Made::new(0..50, 0), Made::new(kept(50), 1).timed(kept(50)), Mode::EvalVid);
    assert_eq!((untimed.align, timed.align), (Align::Content, Align::Time));
    for found in [&untimed, &timed] {
        assert_eq!((found.psnr_db, found.ssim, found.mos), (expected.psnr_db, expected.ssim, expected.mos));
        assert_eq!((found.frames.displayed, found.frames.missing), (45, 5));
        assert_eq!(found.received.frames, 45);
        assert!((found.stalls.total_s - 0.2).abs() < 1e-9 && found.freezes.count == 0);
    }
}

#[test]
fn a_freeze_is_seen() {
    let frozen = (0..50).filter(|index| !(20..30).contains(index));
    let report = run(Made::new(0..50, 0), Made::new(frozen.clone(), 0).timed(frozen), Mode::Viewer);
    assert_eq!((report.freezes.count, report.frames.missing, report.stalls.count), (1, 10, 1));
    // From picture 19 to picture 30.
    assert!((report.freezes.total_s - 0.44).abs() < 1e-9 && (report.stalls.longest_s - 0.4).abs() < 1e-9);
}

#[test]
fn a_late_beginning_shifts_nothing() {
    // Times of a recording count from its own first picture.
    let report = run(Made::new(0..50, 0), Made::new(12..50, 0).timed(0..38), Mode::Viewer);
    assert_eq!((report.frames.not_begun, report.frames.displayed, report.psnr_db.mean), (12, 38, 100.0));
    let black = run(Made::new(0..50, 0), Made::new(12..50, 0).timed(0..38), Mode::EvalVid);
    assert!(black.psnr_db.mean < 80.0 && black.psnr_db.min < 12.0);
}

#[test]
fn delay_is_measured_by_content() {
    let times = kept(50).map(|index| index + u64::from(index >= 25) * 5);
    let received = Made::new(kept(50), 1).timed(times);
    let metrics = Metrics { ssim: false, gaussian: false, vmaf: false };
    let options = Options { align: Align::Content, mode: Mode::Viewer, metrics, scale: false };
    let reference = Box::new(Made::new(0..50, 0));
    let report = score(reference, Box::new(received), options, &mut || ControlFlow::Continue(())).unwrap();
    let delay = report.delay_ms.unwrap();
    assert_eq!((delay.p50, delay.max), (0.0, 200.0));
    assert_eq!((report.ssim, report.ms_ssim), (None, None));
}

#[test]
fn what_cannot_be_scored_is_refused() {
    let options =
        Options { align: Align::Auto, mode: Mode::Viewer, metrics: Metrics::default(), scale: false };
    let refuse = |reference: Made, received: Made| {
        let run = &mut || ControlFlow::Continue(());
        score(Box::new(reference), Box::new(received), options, run).unwrap_err().to_string()
    };
    assert_eq!(refuse(Made::new(0..0, 0), Made::new(0..5, 0)), "the reference holds no picture");
    assert_eq!(refuse(Made::new(0..5, 0), Made::new(0..0, 0)), "the received file holds no picture");
    let broken = &mut || ControlFlow::Break(());
    let error = score(Box::new(Made::new(0..5, 0)), Box::new(Made::new(0..5, 0)), options, broken);
    assert!(matches!(error, Err(ScoreError::Interrupted)));
}

#[test]
fn one_row_a_picture() {
    let report = run(Made::new(0..3, 0), Made::new(0..3, 1), Mode::Viewer);
    let mut csv = Vec::new();
    report.write_csv(&mut csv).unwrap();
    let csv = String::from_utf8(csv).unwrap();
    let columns: Vec<usize> = csv.lines().map(|line| line.split(',').count()).collect();
    assert_eq!(columns, [12; 4], "{csv}");
    assert!(csv.lines().nth(2).unwrap().starts_with("1,0.04,displayed,,"), "{csv}");
}
