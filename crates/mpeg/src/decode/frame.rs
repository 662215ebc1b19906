//! Decoded frames.

use crate::header::{Chroma, PictureContext};

/// A sample of a frame that motion compensation interpolates.
pub trait Sample: Copy + Send + Sync {
    /// The sample of a missing reference frame.
    const NEUTRAL: Self;

    fn mean(a: Self, b: Self) -> Self;
    fn mean_of_four(samples: [Self; 4]) -> Self;
    /// The sample plus a coded difference, clamped.
    fn plus(self, difference: i32) -> Self;
    /// A sample of an intra block, clamped.
    fn intra(value: i32) -> Self;
}

/// Of pictures, rounded as in 13818-2, 7.6.4.
impl Sample for u8 {
    const NEUTRAL: Self = 128;

    #[inline]
    fn mean(a: Self, b: Self) -> Self {
        (u16::from(a) + u16::from(b)).div_ceil(2) as Self
    }

    #[inline]
    fn mean_of_four(samples: [Self; 4]) -> Self {
        ((samples.map(u16::from).iter().sum::<u16>() + 2) >> 2) as Self
    }

    #[inline]
    fn plus(self, difference: i32) -> Self {
        Self::intra(i32::from(self) + difference)
    }

    #[inline]
    fn intra(value: i32) -> Self {
        value.clamp(0, 255) as Self
    }
}

/// Of differences between two pictures, [`DIFFERENCE`] units a sample.
impl Sample for i16 {
    const NEUTRAL: Self = 0;

    #[inline]
    fn mean(a: Self, b: Self) -> Self {
        (a + b) >> 1
    }

    #[inline]
    fn mean_of_four([a, b, c, d]: [Self; 4]) -> Self {
        (a + b + c + d) >> 2
    }

    #[inline]
    fn plus(self, difference: i32) -> Self {
        Self::intra(i32::from(self) + difference)
    }

    #[inline]
    fn intra(value: i32) -> Self {
        // Four of them can be added.
        value.clamp(-0x1fff, 0x1fff) as Self
    }
}

/// So many units of a difference are one sample.
pub(crate) const DIFFERENCE: i32 = 8;

/// One component of a frame, eight bits a sample.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plane<S = u8> {
    /// Samples, row by row, of whole macroblocks; so wider and higher than the displayed part.
    pub data: Vec<S>,
    /// Samples from one row to the next.
    pub stride: usize,
    /// Rows in `data`.
    pub rows: usize,
    /// Displayed width.
    pub width: usize,
    /// Displayed height.
    pub height: usize,
}

impl<S: Sample> Plane<S> {
    fn new(stride: usize, rows: usize, width: usize, height: usize) -> Self {
        Self { data: vec![S::NEUTRAL; stride * rows], stride, rows, width, height }
    }
}

impl Plane {
    /// The displayed samples of each row.
    pub fn lines(&self) -> impl Iterator<Item = &[u8]> {
        self.data.chunks_exact(self.stride).take(self.height).map(|row| &row[..self.width])
    }
}

/// A decoded frame: Y, Cb and Cr.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame<S = u8> {
    /// Y, Cb, Cr.
    pub planes: [Plane<S>; 3],
    /// How Cb and Cr are sampled.
    pub chroma: Chroma,
}

impl<S: Sample> Frame<S> {
    /// A neutral frame for pictures of this context.
    pub(crate) fn new(context: &PictureContext) -> Self {
        let rows = if context.is_field() { 2 * context.rows } else { context.rows };
        let (columns, rows) = (16 * context.columns, 16 * rows);
        let (dx, dy) = context.chroma.shift();
        let (width, height) = (context.width, context.height);
        let chroma = Plane::new(columns >> dx, rows >> dy, width.div_ceil(1 << dx), height.div_ceil(1 << dy));
        let luma = Plane::new(columns, rows, width, height);
        Self { planes: [luma, chroma.clone(), chroma], chroma: context.chroma }
    }

    /// True where a picture of this context can be predicted from it.
    pub(crate) fn fits(&self, context: &PictureContext) -> bool {
        let rows = if context.is_field() { 2 * context.rows } else { context.rows };
        self.chroma == context.chroma
            && self.planes[0].stride == 16 * context.columns
            && self.planes[0].rows == 16 * rows
    }
}

impl Frame {
    /// The frame with `differences` added to its samples; both are of the same size.
    pub(crate) fn plus(&self, differences: &Frame<i16>) -> Self {
        let mut sum = self.clone();
        for (plane, differences) in sum.planes.iter_mut().zip(&differences.planes) {
            for (sample, &difference) in plane.data.iter_mut().zip(&differences.data) {
                *sample = sample.plus((i32::from(difference) + DIFFERENCE / 2) >> DIFFERENCE.ilog2());
            }
        }
        sum
    }

    /// Appends the displayed samples: Y, then Cb, then Cr.
    pub fn write_planar(&self, out: &mut Vec<u8>) {
        for plane in &self.planes {
            plane.lines().for_each(|line| out.extend_from_slice(line));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_rounded_to_samples_and_clamped() {
        let chroma = Plane::new(0, 0, 0, 0);
        let frame = |data: Vec<u8>| Frame {
            planes: [Plane { data, ..Plane::new(1, 5, 1, 5) }, chroma.clone(), chroma.clone()],
            chroma: Chroma::Yuv420,
        };
        let none = Plane::new(0, 0, 0, 0);
        // Eighths of a sample: a half, less than that, one and a half down, and beyond either end.
        let luma = Plane { data: vec![4, 3, -13, -80, 80], ..Plane::new(1, 5, 1, 5) };
        let differences = Frame { planes: [luma, none.clone(), none], chroma: Chroma::Yuv420 };
        let sum = frame(vec![100, 100, 100, 5, 250]).plus(&differences);
        assert_eq!(sum.planes[0].data, [101, 100, 98, 0, 255]);
    }
}
