//! YUV4MPEG2 files and pipes: a line of parameters, then a line `FRAME` and the samples of each picture.

use super::{PictureFormat, PictureSource, ReadSeek};
use crate::{Error, FrameId, FrameRate, Picture, PictureBuffer, PicturePool, PictureSize};
use std::io::{Read, Seek, SeekFrom};

/// True for Y4M.
pub(super) fn probe(prefix: &[u8]) -> bool {
    prefix.starts_with(b"YUV4MPEG2 ")
}

/// The longest parameter line.
const MAX_LINE: usize = 1024;

/// Reads 8-bit 4:2:0. An odd side loses its last row or column.
pub(crate) struct Y4mSource {
    input: Input,
    name: String,
    /// Width and height in the file.
    stored: (usize, usize),
    format: PictureFormat,
    pool: PicturePool,
    next: u64,
    /// A row with the column that is cropped.
    row: Vec<u8>,
    left_out: Vec<String>,
}

enum Input {
    File(Box<dyn ReadSeek>),
    Pipe(Box<dyn Read + Send>),
}

impl Y4mSource {
    /// From a file, which can be read again.
    pub(super) fn from_file(file: Box<dyn ReadSeek>) -> Result<Self, Error> {
        Self::new(Input::File(file), "Y4M")
    }

    /// From a pipe, which is read once.
    pub(crate) fn from_pipe(pipe: Box<dyn Read + Send>, name: &str) -> Result<Self, Error> {
        Self::new(Input::Pipe(pipe), name)
    }

    /// Sets the descriptions of tracks that are not used.
    pub(super) fn with_left_out(mut self, left_out: Vec<String>) -> Self {
        self.left_out = left_out;
        self
    }

    fn new(mut input: Input, name: &str) -> Result<Self, Error> {
        let line = input.line(name)?.ok_or_else(|| malformed("the first line".into(), "nothing"))?;
        let (stored, format) = parameters(&line)?;
        Ok(Self {
            input,
            name: name.into(),
            stored,
            format,
            pool: PicturePool::new(format.size),
            next: 0,
            row: vec![0; stored.0],
            left_out: Vec::new(),
        })
    }

    fn read_planes(&mut self, buffer: &mut PictureBuffer) -> std::io::Result<()> {
        let (width, height) = self.stored;
        let reader = self.input.reader();
        if self.format.size.pixels() as usize == width * height {
            return reader.read_exact(buffer.bytes_mut());
        }
        let chroma = (width.div_ceil(2), height.div_ceil(2));
        for (plane, (width, height)) in buffer.planes_mut().into_iter().zip([(width, height), chroma, chroma])
        {
            let mut rows = plane.data.chunks_exact_mut(plane.width);
            for _ in 0..height {
                reader.read_exact(&mut self.row[..width])?;
                if let Some(row) = rows.next() {
                    row.copy_from_slice(&self.row[..row.len()]);
                }
            }
        }
        Ok(())
    }
}

fn malformed(at: String, found: &str) -> Error {
    let found: String = found.chars().take(60).collect();
    Error::Malformed {
        container: "Y4M",
        at,
        found: format!("{found:?}"),
        expected: "YUV4MPEG2 W… H… F…:… and frames",
    }
}

/// Width and height in the file, and the format of the pictures.
fn parameters(line: &str) -> Result<((usize, usize), PictureFormat), Error> {
    let wrong = || malformed("the first line".into(), line);
    let mut words = line.split(' ');
    if words.next() != Some("YUV4MPEG2") {
        return Err(wrong());
    }
    let (mut width, mut height, mut frame_rate) = (None, None, FrameRate::new(25, 1));
    for word in words {
        let Some((tag, value)) = word.split_at_checked(1) else { continue };
        match tag {
            "W" => width = value.parse::<u32>().ok(),
            "H" => height = value.parse::<u32>().ok(),
            "F" => {
                let ratio = value.split_once(':').and_then(|(n, d)| n.parse().ok().zip(d.parse().ok()));
                frame_rate = ratio.and_then(|(n, d)| FrameRate::new(n, d));
            }
            // Any 4:2:0 with 8 bits; the chroma location is ignored.
            "C" if !matches!(value, "420" | "420jpeg" | "420mpeg2" | "420paldv") => {
                return Err(Error::Unsupported(format!(
                    "Y4M with colour space {value}: expected 8-bit 4:2:0"
                )));
            }
            _ => {}
        }
    }
    let (Some(width), Some(height), Some(frame_rate)) = (width, height, frame_rate) else {
        return Err(wrong());
    };
    let size = PictureSize::new(width & !1, height & !1)?;
    Ok(((width as usize, height as usize), PictureFormat { size, frame_rate }))
}

impl Input {
    fn reader(&mut self) -> &mut dyn Read {
        match self {
            Self::File(file) => file,
            Self::Pipe(pipe) => pipe,
        }
    }

    /// The next line; `None` at the end of the input.
    fn line(&mut self, name: &str) -> Result<Option<String>, Error> {
        let mut line = Vec::new();
        let mut octet = [0];
        // One octet at a time is fast enough for short lines between large pictures.
        while self.reader().read(&mut octet).map_err(Error::io(name))? == 1 {
            match octet[0] {
                b'\n' => return Ok(Some(String::from_utf8_lossy(&line).into_owned())),
                other => line.push(other),
            }
            if line.len() > MAX_LINE {
                return Err(malformed("a line".into(), &String::from_utf8_lossy(&line)));
            }
        }
        if line.is_empty() {
            Ok(None)
        } else {
            Err(malformed("the end".into(), &String::from_utf8_lossy(&line)))
        }
    }
}

impl PictureSource for Y4mSource {
    fn format(&self) -> PictureFormat {
        self.format
    }

    fn next_picture(&mut self) -> Result<Option<Picture>, Error> {
        let Some(line) = self.input.line(&self.name)? else { return Ok(None) };
        if line.split(' ').next() != Some("FRAME") {
            return Err(malformed(format!("frame {}", self.next), &line));
        }
        let mut buffer = self.pool.take();
        self.read_planes(&mut buffer)
            .map_err(|error| malformed(format!("frame {}", self.next), &error.to_string()))?;
        let id = FrameId(self.next);
        let time = self.format.frame_rate.time_of(self.next);
        self.next += 1;
        Ok(Some(buffer.finish(id, time)))
    }

    fn has_times(&self) -> bool {
        false
    }

    fn rewind(&mut self) -> Result<(), Error> {
        let Input::File(file) = &mut self.input else {
            return Err(Error::Unsupported(format!("{} is a pipe and cannot be repeated", self.name)));
        };
        file.seek(SeekFrom::Start(0)).map_err(Error::io(&self.name))?;
        self.input.line(&self.name)?;
        self.next = 0;
        Ok(())
    }

    fn left_out(&self) -> &[String] {
        &self.left_out
    }
}

impl std::fmt::Debug for Y4mSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Y4mSource").field("name", &self.name).field("format", &self.format).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    fn source(bytes: Vec<u8>) -> Result<Y4mSource, Error> {
        Y4mSource::from_file(Box::new(Cursor::new(bytes)))
    }

    #[test]
    fn an_odd_size_is_cropped() {
        let (width, height) = (17, 19);
        let mut file =
            format!("YUV4MPEG2 W{width} H{height} F30000:1001 Ip A1:1 C420jpeg\nFRAME\n").into_bytes();
        file.extend((0..width * height).map(|at| (at % width) as u8));
        file.extend(vec![128; 9 * 10 * 2]);
        let mut source = source(file).unwrap();
        assert_eq!(source.format().size.to_string(), "16x18");
        for _ in 0..2 {
            let picture = source.next_picture().unwrap().unwrap();
            assert!(
                picture.luma().data.chunks(16).all(|row| row.iter().enumerate().all(|(x, &s)| s == x as u8))
            );
            assert!(source.next_picture().unwrap().is_none());
            source.rewind().unwrap();
        }
    }

    #[test]
    fn wrong_files_are_refused() {
        for wrong in [
            "",
            "YUV4MPEG2",
            "YUV4MPEG2 W16\n",
            "YUV4MPEG2 W16 H16 F0:0\n",
            "YUV4MPEG2 W99999 H16\n",
            "YUV4MPEG2 W16 H16 C444\n",
            "YUV4MPEG W16 H16\n",
            "YUV4MPEG2 W-1 H16\n",
        ] {
            assert!(source(wrong.into()).is_err(), "{wrong}");
        }
        assert!(source(vec![b'x'; 5000]).is_err());
        let mut cut = source(b"YUV4MPEG2 W16 H16 F25:1\nFRAME\nabc".to_vec()).unwrap();
        assert!(cut.next_picture().is_err());
    }
}
