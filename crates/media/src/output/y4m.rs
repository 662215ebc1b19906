//! YUV4MPEG2 writer.

use crate::{Error, FrameRate, Picture, PictureSize, Scaler};
use std::io::Write;

/// Writes pictures, all in the size of the first.
#[derive(Debug)]
pub struct Y4mWriter<W> {
    out: W,
    frame_rate: FrameRate,
    size: Option<PictureSize>,
    scaler: Option<Scaler>,
}

impl<W: Write> Y4mWriter<W> {
    /// Writes to `out`. The format has no times, so the caller repeats a picture that is shown longer.
    pub fn new(out: W, frame_rate: FrameRate) -> Self {
        Self { out, frame_rate, size: None, scaler: None }
    }

    /// Appends a picture, scaled to the size of the first.
    ///
    /// # Errors
    /// Where writing to `out` fails.
    pub fn write(&mut self, picture: &Picture) -> Result<(), Error> {
        let size = match self.size {
            Some(size) => size,
            None => {
                self.write_parameters(picture.size())?;
                *self.size.insert(picture.size())
            }
        };
        let fits = |scaler: &Scaler| scaler.from() == picture.size() && scaler.to() == size;
        let mut scaler = self.scaler.take().filter(fits).unwrap_or_else(|| Scaler::new(picture.size(), size));
        let written = self.write_picture(&scaler.scale(picture));
        self.scaler = Some(scaler);
        written.map_err(Error::io("output"))
    }

    /// Flushes, and returns `out`.
    ///
    /// # Errors
    /// Where writing to `out` fails.
    pub fn finish(mut self) -> Result<W, Error> {
        self.out.flush().map_err(Error::io("output"))?;
        Ok(self.out)
    }

    fn write_parameters(&mut self, size: PictureSize) -> Result<(), Error> {
        let (numerator, denominator) = self.frame_rate.ratio();
        let (width, height) = (size.width(), size.height());
        let line = format!("YUV4MPEG2 W{width} H{height} F{numerator}:{denominator} Ip A1:1 C420\n");
        self.out.write_all(line.as_bytes()).map_err(Error::io("output"))
    }

    fn write_picture(&mut self, picture: &Picture) -> std::io::Result<()> {
        self.out.write_all(b"FRAME\n")?;
        picture.planes().iter().try_for_each(|plane| self.out.write_all(plane.data))?;
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::{PictureSource, Synthetic, open_bytes};

    #[test]
    fn comes_back_as_written() {
        let mut source = Synthetic::from_specification("64x36@30000/1001").unwrap();
        let mut small = Synthetic::from_specification("32x18").unwrap();
        let first = source.next_picture().unwrap().unwrap();
        let mut writer = Y4mWriter::new(Vec::new(), source.format().frame_rate);
        writer.write(&first).unwrap();
        writer.write(&small.next_picture().unwrap().unwrap()).unwrap();
        let mut back = open_bytes(writer.finish().unwrap()).unwrap();
        assert_eq!(back.format(), source.format());
        assert_eq!(back.next_picture().unwrap().unwrap().luma().data, first.luma().data);
        assert_eq!(back.next_picture().unwrap().unwrap().size(), first.size());
        assert!(back.next_picture().unwrap().is_none());
    }
}
