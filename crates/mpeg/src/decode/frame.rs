//! Decoded frames.

use crate::header::{Chroma, PictureContext};

/// One component of a frame, eight bits a sample.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plane {
    /// Samples, row by row, of whole macroblocks; so wider and higher than the displayed part.
    pub data: Vec<u8>,
    /// Samples from one row to the next.
    pub stride: usize,
    /// Rows in `data`.
    pub rows: usize,
    /// Displayed width.
    pub width: usize,
    /// Displayed height.
    pub height: usize,
}

impl Plane {
    fn new(stride: usize, rows: usize, width: usize, height: usize) -> Self {
        Self { data: vec![128; stride * rows], stride, rows, width, height }
    }

    /// The displayed samples of each row.
    pub fn lines(&self) -> impl Iterator<Item = &[u8]> {
        self.data.chunks_exact(self.stride).take(self.height).map(|row| &row[..self.width])
    }
}

/// A decoded frame: Y, Cb and Cr.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// Y, Cb, Cr.
    pub planes: [Plane; 3],
    /// How Cb and Cr are sampled.
    pub chroma: Chroma,
}

impl Frame {
    /// A grey frame for pictures of this context.
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

    /// Appends the displayed samples: Y, then Cb, then Cr.
    pub fn write_planar(&self, out: &mut Vec<u8>) {
        for plane in &self.planes {
            plane.lines().for_each(|line| out.extend_from_slice(line));
        }
    }
}
