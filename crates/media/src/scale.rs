//! Scales pictures.

use crate::{Picture, PicturePool, PictureSize};

/// Scales pictures from one size to another by a triangle filter: linear interpolation upwards; downwards, a mean that is
/// wide enough to avoid aliasing.
#[derive(Debug)]
pub struct Scaler {
    from: PictureSize,
    pool: PicturePool,
    /// Columns and rows, of luma and of chroma.
    filters: [[Filter; 2]; 2],
    between: Vec<u8>,
    sums: Vec<u16>,
}

impl Scaler {
    /// A scaler from one size to another.
    pub fn new(from: PictureSize, to: PictureSize) -> Self {
        let filters = [1, 2].map(|part| {
            [(from.width(), to.width()), (from.height(), to.height())]
                .map(|(from, to)| Filter::new((from / part) as usize, (to / part) as usize))
        });
        Self { from, pool: PicturePool::new(to), filters, between: Vec::new(), sums: Vec::new() }
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
            let between = &mut self.between;
            // Rows cost less than columns, and the second pass has what the first one left.
            if to.height < from.height {
                between.resize(from.width * to.height, 0);
                rows.filter_columns((from.data, from.stride), from.width, between, &mut self.sums);
                columns.filter_rows((between, from.width), to.width, to.data);
            } else {
                between.resize(to.width * from.height, 0);
                columns.filter_rows((from.data, from.stride), to.width, between);
                rows.filter_columns((between, to.width), to.width, to.data, &mut self.sums);
            }
        }
        buffer.finish(picture.id(), picture.time())
    }
}

/// Weights of one direction: the same number for each sample of the result.
#[derive(Debug)]
struct Filter {
    count: usize,
    /// The first source sample of each sample of the result.
    starts: Vec<usize>,
    weights: Vec<u16>,
}

impl Filter {
    /// Binary places of the weights. Those of a sample sum to one, so that its sum fits into 16 bits, of which a vector
    /// holds most.
    const PLACES: u32 = 8;
    const HALF: u16 = 1 << (Self::PLACES - 1);

    fn new(from: usize, to: usize) -> Self {
        let ratio = from as f64 / to as f64;
        let reach = ratio.max(1.0);
        let spans: Vec<_> =
            (0..to).map(|at| Span::new((at as f64 + 0.5) * ratio - 0.5, reach, from)).collect();
        let count = spans.iter().map(|span| span.weights.len()).max().unwrap_or(0);
        let mut filter = Self { count, starts: Vec::with_capacity(to), weights: vec![0; to * count] };
        for (span, weights) in spans.iter().zip(filter.weights.chunks_exact_mut(count.max(1))) {
            let start = span.first.min(from - count);
            weights[span.first - start..][..span.weights.len()].copy_from_slice(&span.weights);
            filter.starts.push(start);
        }
        filter
    }

    /// Filters along the rows of a plane with that stride, so that each has `width` samples.
    fn filter_rows(&self, (plane, stride): (&[u8], usize), width: usize, into: &mut [u8]) {
        let rows = into.chunks_exact_mut(width).zip(plane.chunks_exact(stride));
        match self.count {
            2 => rows.for_each(|(to, row)| self.filter_row::<2>(row, to)),
            3 => rows.for_each(|(to, row)| self.filter_row::<3>(row, to)),
            4 => rows.for_each(|(to, row)| self.filter_row::<4>(row, to)),
            count => rows.for_each(|(to, row)| {
                let weights = self.weights.chunks_exact(count.max(1));
                for ((to, &start), weights) in to.iter_mut().zip(&self.starts).zip(weights) {
                    *to = weighted(&row[start..start + count], weights);
                }
            }),
        }
    }

    /// The same with a number of weights that the compiler knows.
    fn filter_row<const COUNT: usize>(&self, row: &[u8], to: &mut [u8]) {
        let (weights, _) = self.weights.as_chunks::<COUNT>();
        for ((to, &start), weights) in to.iter_mut().zip(&self.starts).zip(weights) {
            *to = weighted(&row[start..start + COUNT], weights);
        }
    }

    /// Filters along the columns of a plane with that stride, of which `width` are used.
    fn filter_columns(
        &self,
        (plane, stride): (&[u8], usize),
        width: usize,
        into: &mut [u8],
        sums: &mut Vec<u16>,
    ) {
        let weights = self.weights.chunks_exact(self.count.max(1));
        for ((to, &start), weights) in into.chunks_exact_mut(width).zip(&self.starts).zip(weights) {
            sums.clear();
            sums.resize(width, Self::HALF);
            for (row, &weight) in plane[start * stride..].chunks(stride).zip(weights).filter(|(_, w)| **w > 0)
            {
                for (sum, &sample) in sums.iter_mut().zip(row) {
                    *sum = sum.wrapping_add(u16::from(sample).wrapping_mul(weight));
                }
            }
            for (to, &sum) in to.iter_mut().zip(sums.iter()) {
                *to = (sum >> Self::PLACES) as u8;
            }
        }
    }
}

#[inline]
fn weighted(samples: &[u8], weights: &[u16]) -> u8 {
    let products =
        samples.iter().zip(weights).map(|(&sample, &weight)| u16::from(sample).wrapping_mul(weight));
    (products.fold(Filter::HALF, u16::wrapping_add) >> Filter::PLACES) as u8
}

/// The source samples of one sample of the result.
struct Span {
    first: usize,
    weights: Vec<u16>,
}

impl Span {
    /// A triangle of that reach about `centre`.
    fn new(centre: f64, reach: f64, from: usize) -> Self {
        let first = (centre - reach).ceil().max(0.0) as usize;
        let last = ((centre + reach).floor() as usize).min(from - 1);
        let exact: Vec<_> =
            (first..=last).map(|source| (1.0 - (source as f64 - centre).abs() / reach).max(0.0)).collect();
        let one = f64::from(1_u16 << Filter::PLACES) / exact.iter().sum::<f64>();
        // Sums are rounded, and not weights, so that the weights sum to one.
        let (mut sum, mut before) = (0.0, 0);
        let weights = exact.iter().map(|weight| {
            sum += weight * one;
            let rounded = sum.round() as u16;
            rounded - std::mem::replace(&mut before, rounded)
        });
        Self { first, weights: weights.collect() }
    }
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
