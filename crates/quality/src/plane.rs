//! One plane of samples.

use std::fmt;

/// A plane of 8-bit samples, borrowed.
#[derive(Clone, Copy)]
pub struct Plane<'a> {
    data: &'a [u8],
    stride: usize,
    width: usize,
    height: usize,
}

impl<'a> Plane<'a> {
    /// `height` rows of `width` samples, each row starting `stride` samples after the one before.
    ///
    /// # Panics
    /// Where the plane is empty, a row is longer than its stride, or `data` is too short for the last row.
    pub fn new(data: &'a [u8], stride: usize, width: usize, height: usize) -> Self {
        assert!(width > 0 && height > 0, "a plane has samples");
        assert!(
            stride >= width && data.len() >= stride * (height - 1) + width,
            "the rows lie inside the data"
        );
        Self { data, stride, width, height }
    }

    /// Samples in a row.
    pub const fn width(&self) -> usize {
        self.width
    }

    /// Rows.
    pub const fn height(&self) -> usize {
        self.height
    }

    /// One row.
    ///
    /// # Panics
    /// Where there is no such row.
    pub fn row(&self, y: usize) -> &'a [u8] {
        &self.data[y * self.stride..][..self.width]
    }

    /// The rows from the top.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &'a [u8]> + use<'a> {
        let width = self.width;
        self.data.chunks(self.stride).take(self.height).map(move |row| &row[..width])
    }

    /// Samples of the plane.
    pub(crate) fn samples(&self) -> f64 {
        self.width as f64 * self.height as f64
    }

    /// Both planes have the same sides, and none is shorter than `least`.
    pub(crate) fn check_like(&self, shown: &Self, least: usize) -> Result<(), Incomparable> {
        let (reference, shown) = ((self.width, self.height), (shown.width, shown.height));
        let side = self.width.min(self.height);
        if reference != shown {
            Err(Incomparable::Sizes { reference, shown })
        } else if side < least {
            Err(Incomparable::TooSmall { side, least })
        } else {
            Ok(())
        }
    }
}

impl fmt::Debug for Plane<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Plane {}x{}", self.width, self.height)
    }
}

/// Why two planes cannot be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Incomparable {
    /// Their sizes differ: scale one first.
    Sizes {
        /// Width and height of the first.
        reference: (usize, usize),
        /// Width and height of the second.
        shown: (usize, usize),
    },
    /// The metric's window does not fit in.
    TooSmall {
        /// The shorter side.
        side: usize,
        /// The shortest side it works on.
        least: usize,
    },
}

impl fmt::Display for Incomparable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sizes { reference: (width, height), shown } => {
                write!(f, "cannot compare {width}x{height} with {}x{}", shown.0, shown.1)
            }
            Self::TooSmall { side, least } => {
                write!(f, "a side of {side} pixels is too short for this metric, which needs {least}")
            }
        }
    }
}

impl std::error::Error for Incomparable {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_skip_what_is_beyond_the_width() {
        let plane = Plane::new(&[1, 2, 0, 3, 4], 3, 2, 2);
        assert_eq!(plane.rows().collect::<Vec<_>>(), [[1, 2], [3, 4]]);
        assert_eq!(plane.row(1), [3, 4]);
    }
}
