//! How closely an encoder follows its target rate.

use super::Encoded;
use seaway_units::{Bitrate, Probability, TimeDelta};
use std::fmt;
use std::ops::RangeInclusive;

/// Compares the bits of an encoder with its target, in consecutive windows of one second of media time. Windows whose
/// quantiser is at one of its bounds are counted and left out: there the scene decides the rate.
#[derive(Debug, Clone)]
pub struct RateAdherence {
    quantisers: RangeInclusive<u8>,
    current: OpenWindow,
    last: Option<(TimeDelta, Bitrate)>,
    report: AdherenceReport,
}

/// One second of media time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AdherenceWindow {
    /// Bits of the target.
    pub target_bits: f64,
    /// Bits of the coded pictures.
    pub coded_bits: f64,
    /// Mean quantiser of the coded pictures; 0 where there were none.
    pub mean_quantiser: f64,
    /// Pictures that were skipped.
    pub skipped: u64,
    /// The mean quantiser is inside its bounds.
    pub inside: bool,
}

/// All complete windows.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct AdherenceReport {
    /// Windows.
    pub windows: u64,
    /// Windows whose mean quantiser was inside its bounds.
    pub inside: u64,
    /// Of these, windows within a tenth of the target.
    pub within: u64,
    /// Largest deviation inside the bounds, relative to the target.
    pub worst: f64,
    /// Bits of the target, in all windows.
    pub target_bits: f64,
    /// Bits of the coded pictures, in all windows.
    pub coded_bits: f64,
    /// Pictures, in all windows.
    pub pictures: u64,
    /// Pictures that were skipped.
    pub skipped: u64,
}

/// The window that is being filled.
#[derive(Debug, Clone, Copy, Default)]
struct OpenWindow {
    start: TimeDelta,
    target_bits: f64,
    coded_bits: f64,
    quantisers: u64,
    coded: u64,
    skipped: u64,
}

impl RateAdherence {
    const WINDOW: TimeDelta = TimeDelta::from_secs(1);

    /// For an encoder whose quantiser has these bounds.
    pub fn new(quantisers: RangeInclusive<u8>) -> Self {
        Self { quantisers, current: OpenWindow::default(), last: None, report: AdherenceReport::default() }
    }

    /// Adds the picture of this time; `target` holds until the next picture. Returns the window that ends before this
    /// picture.
    pub fn on_picture(
        &mut self,
        time: TimeDelta,
        target: Bitrate,
        encoded: &Encoded,
    ) -> Option<AdherenceWindow> {
        match self.last.replace((time, target)) {
            Some((last, target)) => {
                self.current.target_bits += target.as_bps_f64() * (time - last).as_secs_f64().max(0.0);
            }
            None => self.current.start = time,
        }
        let closed = (time - self.current.start >= Self::WINDOW).then(|| self.close(time));
        match encoded {
            Encoded::Frame(frame) => {
                self.current.coded_bits += frame.length().as_bytes() as f64 * 8.0;
                self.current.quantisers += u64::from(frame.quantiser);
                self.current.coded += 1;
            }
            Encoded::Skipped => self.current.skipped += 1,
        }
        closed
    }

    /// The windows so far.
    pub fn report(&self) -> AdherenceReport {
        self.report
    }

    fn close(&mut self, time: TimeDelta) -> AdherenceWindow {
        let open = std::mem::replace(&mut self.current, OpenWindow { start: time, ..OpenWindow::default() });
        let mean_quantiser = open.quantisers as f64 / open.coded.max(1) as f64;
        let bounds = f64::from(*self.quantisers.start())..f64::from(*self.quantisers.end());
        let inside = open.target_bits > 0.0 && mean_quantiser > bounds.start && mean_quantiser < bounds.end;
        let window = AdherenceWindow {
            target_bits: open.target_bits,
            coded_bits: open.coded_bits,
            mean_quantiser,
            skipped: open.skipped,
            inside,
        };
        self.report.add(&window, open.coded + open.skipped);
        window
    }
}

impl AdherenceWindow {
    /// Coded bits over target bits; infinite or not-a-number with a target of zero.
    pub fn ratio(&self) -> f64 {
        self.coded_bits / self.target_bits
    }
}

impl AdherenceReport {
    fn add(&mut self, window: &AdherenceWindow, pictures: u64) {
        self.windows += 1;
        self.target_bits += window.target_bits;
        self.coded_bits += window.coded_bits;
        self.pictures += pictures;
        self.skipped += window.skipped;
        if window.inside {
            let deviation = (window.ratio() - 1.0).abs();
            self.inside += 1;
            self.within += u64::from(deviation <= 0.1);
            self.worst = self.worst.max(deviation);
        }
    }

    /// Share of the windows that are left out because the quantiser was at a bound.
    pub fn left_out(&self) -> Probability {
        Probability::of(self.windows - self.inside, self.windows)
    }

    /// Share of the other windows that were within a tenth of the target; `None` where all are left out.
    pub fn within_tenth(&self) -> Option<Probability> {
        (self.inside > 0).then(|| Probability::of(self.within, self.inside))
    }

    /// Coded bits over target bits, in all windows; `None` with a target of zero.
    pub fn ratio(&self) -> Option<f64> {
        (self.target_bits > 0.0).then(|| self.coded_bits / self.target_bits)
    }
}

impl fmt::Display for AdherenceReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { within, inside, windows, worst, skipped, pictures, .. } = self;
        write!(f, "{within} of {inside} windows within 10 %, the worst {:.1} %; ", 100.0 * worst)?;
        write!(
            f,
            "{} of {windows} left coded_bits; ratio {:.3}; ",
            windows - inside,
            self.ratio().unwrap_or(0.0)
        )?;
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

    /// Three seconds at 10 pictures/s and 1 Mbit/s: 100 kbit a picture are on target.
    #[test]
    fn windows_of_a_second() {
        let mut adherence = RateAdherence::new(10..=51);
        let mut windows = Vec::new();
        for index in 0..31 {
            let encoded = match index {
                0..10 => frame(95, 30),
                10 => Encoded::Skipped,
                11..20 => frame(100, 51),
                _ => frame(130, 30),
            };
            let time = TimeDelta::from_millis(100 * index);
            windows.extend(adherence.on_picture(time, Bitrate::from_mbps(1), &encoded));
        }
        let ratios: Vec<_> = windows.iter().map(AdherenceWindow::ratio).collect();
        assert!(ratios.iter().zip([0.95, 0.9, 1.3]).all(|(found, ratio)| (found - ratio).abs() < 1e-9));
        let report = adherence.report();
        assert_eq!((report.windows, report.inside, report.within, report.skipped), (3, 2, 1, 1));
        assert!((report.worst - 0.3).abs() < 1e-9);
        assert_eq!(report.within_tenth(), Probability::new(0.5));
    }

    #[test]
    fn windows_without_a_target_are_left_out() {
        let mut adherence = RateAdherence::new(10..=51);
        for second in 0..3 {
            adherence.on_picture(TimeDelta::from_secs(second), Bitrate::ZERO, &Encoded::Skipped);
        }
        let report = adherence.report();
        assert_eq!((report.windows, report.inside, report.ratio()), (2, 0, None));
        assert_eq!(report.within_tenth(), None);
    }
}
