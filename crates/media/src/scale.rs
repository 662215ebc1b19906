//! Scales pictures.

use crate::{Picture, PicturePool, PictureSize};
use std::ops::Range;

/// Scales pictures from one size to another by a triangle filter: linear interpolation upwards; downwards, a mean that is
/// wide enough to avoid aliasing.
#[derive(Debug)]
pub struct Scaler {
    from: PictureSize,
    pool: PicturePool,
    /// Columns and rows, of luma and of chroma.
    filters: [[Filter; 2]; 2],
    /// A plane with its new width and old height.
    narrowed: Vec<u8>,
    sums: Vec<i32>,
}

impl Scaler {
    /// A scaler from one size to another.
    pub fn new(from: PictureSize, to: PictureSize) -> Self {
        let filters = [1, 2].map(|part| {
            [(from.width(), to.width()), (from.height(), to.height())]
                .map(|(from, to)| Filter::new((from / part) as usize, (to / part) as usize))
        });
        Self { from, pool: PicturePool::new(to), filters, narrowed: Vec::new(), sums: Vec::new() }
    }

    /// The size of the pictures it takes.
    pub fn from(&self) -> PictureSize {
        self.from
    }

    /// The size of the pictures it makes.
    pub fn to(&self) -> PictureSize {
        self.pool.size()
    }

    /// The picture in the other size, with the same number and time.
    ///
    /// # Panics
    /// Where the picture is not of the size this scaler was made for.
    pub fn scale(&mut self, picture: &Picture) -> Picture {
        assert_eq!(picture.size(), self.from, "a scaler is made for one size");
        if self.from == self.to() {
            return picture.clone();
        }
        let mut buffer = self.pool.take();
        for (index, (to, from)) in buffer.planes_mut().into_iter().zip(picture.planes()).enumerate() {
            let [columns, rows] = &self.filters[usize::from(index > 0)];
            columns.narrow(from.data, from.stride, &mut self.narrowed);
            rows.shorten(&self.narrowed, to.width, to.data, &mut self.sums);
        }
        buffer.finish(picture.id(), picture.time())
    }
}

/// Weights of one direction, by sample of the result.
#[derive(Debug)]
struct Filter {
    taps: Vec<Taps>,
    weights: Vec<i32>,
}

/// The source samples of a sample of the result, and the range of their weights.
#[derive(Debug, Clone)]
struct Taps {
    source: Range<usize>,
    weights: Range<usize>,
}

impl Filter {
    /// Binary places of the fixed-point weights; the weights of a sample sum to one.
    const PLACES: u32 = 14;
    const ONE: i32 = 1 << Self::PLACES;

    fn new(from: usize, to: usize) -> Self {
        let ratio = from as f64 / to as f64;
        let reach = ratio.max(1.0);
        let mut filter = Self { taps: Vec::with_capacity(to), weights: Vec::new() };
        for at in 0..to {
            let centre = (at as f64 + 0.5) * ratio - 0.5;
            let first = (centre - reach).ceil().max(0.0) as usize;
            let last = ((centre + reach).floor() as usize).min(from - 1);
            let exact: Vec<_> = (first..=last)
                .map(|source| (1.0 - (source as f64 - centre).abs() / reach).max(0.0))
                .collect();
            filter.push(first, &exact);
        }
        filter
    }

    fn push(&mut self, first: usize, exact: &[f64]) {
        let sum: f64 = exact.iter().sum();
        let start = self.weights.len();
        self.weights.extend(exact.iter().map(|weight| (weight / sum * f64::from(Self::ONE)).round() as i32));
        // The middle weight absorbs the rounding error, so that a flat picture stays unchanged.
        let lost = Self::ONE - self.weights[start..].iter().sum::<i32>();
        self.weights[start + exact.len() / 2] += lost;
        self.taps.push(Taps { source: first..first + exact.len(), weights: start..self.weights.len() });
    }

    /// Filters each row of a plane.
    fn narrow(&self, plane: &[u8], stride: usize, into: &mut Vec<u8>) {
        into.clear();
        for row in plane.chunks_exact(stride) {
            into.extend(self.taps.iter().map(|taps| {
                let weights = &self.weights[taps.weights.clone()];
                let sum: i32 =
                    row[taps.source.clone()].iter().zip(weights).map(|(&s, w)| i32::from(s) * w).sum();
                rounded(sum)
            }));
        }
    }

    /// Filters each column of a plane.
    fn shorten(&self, plane: &[u8], width: usize, into: &mut [u8], sums: &mut Vec<i32>) {
        for (to, taps) in into.chunks_exact_mut(width).zip(&self.taps) {
            sums.clear();
            sums.resize(width, 0);
            let rows = plane[taps.source.start * width..taps.source.end * width].chunks_exact(width);
            for (row, weight) in rows.zip(&self.weights[taps.weights.clone()]) {
                for (sum, &sample) in sums.iter_mut().zip(row) {
                    *sum += i32::from(sample) * weight;
                }
            }
            for (to, &sum) in to.iter_mut().zip(sums.iter()) {
                *to = rounded(sum);
            }
        }
    }
}

fn rounded(sum: i32) -> u8 {
    ((sum + Filter::ONE / 2) >> Filter::PLACES).clamp(0, 255) as u8
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FrameId;
    use seaway_units::TimeDelta;

    fn size(text: &str) -> PictureSize {
        let (width, height) = text.split_once('x').unwrap();
        PictureSize::new(width.parse().unwrap(), height.parse().unwrap()).unwrap()
    }

    fn picture(size: PictureSize, luma: impl Fn(usize, usize) -> u8) -> Picture {
        let mut buffer = PicturePool::new(size).take();
        let [plane, blue, red] = buffer.planes_mut();
        for (at, sample) in plane.data.iter_mut().enumerate() {
            *sample = luma(at % plane.width, at / plane.width);
        }
        blue.data.fill(90);
        red.data.fill(160);
        buffer.finish(FrameId(3), TimeDelta::from_millis(120))
    }

    #[test]
    fn a_flat_picture_stays_flat() {
        for (from, to) in
            [("64x36", "22x18"), ("22x18", "64x36"), ("1280x720", "16x16"), ("16x16", "1280x720")]
        {
            let scaled = Scaler::new(size(from), size(to)).scale(&picture(size(from), |_, _| 200));
            assert_eq!((scaled.size(), scaled.id(), scaled.time().as_millis()), (size(to), FrameId(3), 120));
            for (plane, value) in scaled.planes().into_iter().zip([200, 90, 160]) {
                assert!(plane.data.iter().all(|&sample| sample == value), "{from} {to}");
            }
        }
    }

    #[test]
    fn a_gradient_stays_a_gradient() {
        let wide = picture(size("256x16"), |x, _| x as u8);
        let half = Scaler::new(size("256x16"), size("128x16")).scale(&wide);
        // Away from the edges, a sample is the mean about its centre at 2 x + 1/2.
        assert!(half.luma().data[4..124].iter().zip(4..).all(|(&sample, x)| sample.abs_diff(2 * x) <= 1));
        let back = Scaler::new(size("128x16"), size("256x16")).scale(&half);
        assert!(
            back.luma().data[8..248].iter().zip(8..).all(|(&sample, x): (_, u8)| sample.abs_diff(x) <= 1)
        );
    }

    #[test]
    fn fine_stripes_do_not_alias() {
        let striped = picture(size("256x16"), |x, _| if x % 2 == 0 { 0 } else { 255 });
        let small = Scaler::new(size("256x16"), size("64x16")).scale(&striped);
        assert!(small.luma().data[..64].iter().all(|sample| sample.abs_diff(128) < 24));
    }
}
