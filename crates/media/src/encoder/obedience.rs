//! How well an encoder obeys: bits out over bits asked.

use super::Encoded;
use seaway_units::{Bitrate, Probability, TimeDelta};
use std::fmt;
use std::ops::RangeInclusive;

/// Compares what was asked of an encoder with what came out, in windows of one second of media time that
/// follow one another. A window in which the quantiser stood at one of its bounds says nothing of obedience:
/// the scene needs less than was asked, or more. Such windows are counted and left out.
#[derive(Debug, Clone)]
pub struct Obedience {
    quantisers: RangeInclusive<u8>,
    current: Open,
    last: Option<(TimeDelta, Bitrate)>,
    report: ObedienceReport,
}

/// One second of media time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ObedienceWindow {
    /// Bits the target allowed.
    pub asked: f64,
    /// Bits that came out.
    pub out: f64,
    /// Mean quantiser of the coded pictures, 0 where there were none.
    pub mean_quantiser: f64,
    /// Pictures that were left out.
    pub skipped: u64,
    /// The mean quantiser lies inside the bounds.
    pub inside: bool,
}

/// All complete windows.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ObedienceReport {
    /// Windows.
    pub windows: u64,
    /// Those whose mean quantiser lay inside its bounds.
    pub inside: u64,
    /// Of these, those whose bits were within a tenth of what was asked.
    pub obeyed: u64,
    /// Largest deviation inside the bounds, as part of what was asked.
    pub worst: f64,
    /// Bits asked, in all windows.
    pub asked: f64,
    /// Bits out, in all windows.
    pub out: f64,
    /// Pictures, in all windows.
    pub pictures: u64,
    /// Pictures that were left out.
    pub skipped: u64,
}

/// The window that is being filled.
#[derive(Debug, Clone, Copy, Default)]
struct Open {
    start: TimeDelta,
    asked: f64,
    out: f64,
    quantisers: u64,
    coded: u64,
    skipped: u64,
}

impl Obedience {
    const WINDOW: TimeDelta = TimeDelta::from_secs(1);

    /// With the bounds of the encoder's quantiser.
    pub fn new(quantisers: RangeInclusive<u8>) -> Self {
        Self { quantisers, current: Open::default(), last: None, report: ObedienceReport::default() }
    }

    /// The picture of this time was handed to the encoder while `target` was asked, which holds until the
    /// next. Returns the window that this picture ends, not being part of it.
    pub fn on_picture(
        &mut self,
        time: TimeDelta,
        target: Bitrate,
        encoded: &Encoded,
    ) -> Option<ObedienceWindow> {
        match self.last.replace((time, target)) {
            Some((last, target)) => {
                self.current.asked += target.as_bps_f64() * (time - last).as_secs_f64().max(0.0);
            }
            None => self.current.start = time,
        }
        let closed = (time - self.current.start >= Self::WINDOW).then(|| self.close(time));
        match encoded {
            Encoded::Frame(frame) => {
                self.current.out += frame.length().as_bytes() as f64 * 8.0;
                self.current.quantisers += u64::from(frame.quantiser);
                self.current.coded += 1;
            }
            Encoded::Skipped => self.current.skipped += 1,
        }
        closed
    }

    /// The windows so far.
    pub fn report(&self) -> ObedienceReport {
        self.report
    }

    fn close(&mut self, time: TimeDelta) -> ObedienceWindow {
        let open = std::mem::replace(&mut self.current, Open { start: time, ..Open::default() });
        let mean_quantiser = open.quantisers as f64 / open.coded.max(1) as f64;
        let bounds = f64::from(*self.quantisers.start())..f64::from(*self.quantisers.end());
        let inside = open.asked > 0.0 && mean_quantiser > bounds.start && mean_quantiser < bounds.end;
        let window = ObedienceWindow {
            asked: open.asked,
            out: open.out,
            mean_quantiser,
            skipped: open.skipped,
            inside,
        };
        self.report.add(&window, open.coded + open.skipped);
        window
    }
}

impl ObedienceWindow {
    /// Bits out over bits asked; infinite or not-a-number where none were asked.
    pub fn ratio(&self) -> f64 {
        self.out / self.asked
    }
}

impl ObedienceReport {
    fn add(&mut self, window: &ObedienceWindow, pictures: u64) {
        self.windows += 1;
        self.asked += window.asked;
        self.out += window.out;
        self.pictures += pictures;
        self.skipped += window.skipped;
        if window.inside {
            let deviation = (window.ratio() - 1.0).abs();
            self.inside += 1;
            self.obeyed += u64::from(deviation <= 0.1);
            self.worst = self.worst.max(deviation);
        }
    }

    /// Part of the windows that are left out, because the quantiser stood at a bound.
    pub fn left_out(&self) -> Probability {
        Probability::of(self.windows - self.inside, self.windows)
    }

    /// Part of the others that were within a tenth of what was asked; `None` where all are left out.
    pub fn within_tenth(&self) -> Option<Probability> {
        (self.inside > 0).then(|| Probability::of(self.obeyed, self.inside))
    }

    /// Bits out over bits asked, all windows together; `None` where none were asked.
    pub fn ratio(&self) -> Option<f64> {
        (self.asked > 0.0).then(|| self.out / self.asked)
    }
}

impl fmt::Display for ObedienceReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { obeyed, inside, windows, worst, skipped, pictures, .. } = self;
        write!(f, "{obeyed} of {inside} windows within 10 %, the worst {:.1} %; ", 100.0 * worst)?;
        write!(f, "{} of {windows} left out; ratio {:.3}; ", windows - inside, self.ratio().unwrap_or(0.0))?;
        write!(f, "{skipped} of {pictures} pictures skipped")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoder::EncodedFrame;
    use crate::{FrameId, PictureSize};

    fn frame(kbit: usize, quantiser: u8) -> Encoded {
        Encoded::Frame(EncodedFrame {
            data: vec![0; kbit * 125],
            id: FrameId(0),
            time: TimeDelta::ZERO,
            key: false,
            quantiser,
            target: Bitrate::ZERO,
            size: PictureSize::SMALLEST,
        })
    }

    /// Three seconds at 10 pictures/s, 1 Mbit/s asked: 100 kbit a picture obeys.
    #[test]
    fn windows_of_a_second() {
        let mut obedience = Obedience::new(10..=51);
        let mut windows = Vec::new();
        for index in 0..31 {
            let encoded = match index {
                0..10 => frame(95, 30),
                10 => Encoded::Skipped,
                11..20 => frame(100, 51),
                _ => frame(130, 30),
            };
            let time = TimeDelta::from_millis(100 * index);
            windows.extend(obedience.on_picture(time, Bitrate::from_mbps(1), &encoded));
        }
        let ratios: Vec<_> = windows.iter().map(ObedienceWindow::ratio).collect();
        assert!(ratios.iter().zip([0.95, 0.9, 1.3]).all(|(found, ratio)| (found - ratio).abs() < 1e-9));
        let report = obedience.report();
        assert_eq!((report.windows, report.inside, report.obeyed, report.skipped), (3, 2, 1, 1));
        assert!((report.worst - 0.3).abs() < 1e-9);
        assert_eq!(report.within_tenth(), Probability::new(0.5));
    }

    #[test]
    fn nothing_asked_is_left_out() {
        let mut obedience = Obedience::new(10..=51);
        for second in 0..3 {
            obedience.on_picture(TimeDelta::from_secs(second), Bitrate::ZERO, &Encoded::Skipped);
        }
        let report = obedience.report();
        assert_eq!((report.windows, report.inside, report.ratio()), (2, 0, None));
        assert_eq!(report.within_tenth(), None);
    }
}
