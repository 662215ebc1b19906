//! The file of a recording, under its own name from the beginning.

use super::Output;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A file that can be read while it grows and that replaces nothing.
///
/// [`flush`](Write::flush) ends a whole piece. If a write fails, for example because the disk is full, the file is cut
/// back to its whole pieces. A file without a whole piece is removed.
#[derive(Debug)]
pub struct RecordingFile {
    path: PathBuf,
    file: File,
    written: u64,
    /// Length of the whole pieces.
    whole: u64,
    /// False for a device or a pipe, which stays what it is.
    is_regular: bool,
}

impl RecordingFile {
    /// Numbers that are tried.
    const MOST: u32 = 1_000_000;

    /// Creates the file `path`. If it exists, the name gets the first free number: `clip.mp4`, `clip-1.mp4`, `clip-2.mp4`.
    /// What is no file, such as a pipe, is written to.
    ///
    /// # Errors
    /// The file cannot be created, or `path` is a folder.
    pub fn create(path: &Path) -> io::Result<Self> {
        Self::open(path).map_err(|error| named(path, &error))
    }

    fn open(path: &Path) -> io::Result<Self> {
        if path.is_dir() {
            return Err(io::Error::other("a folder; expected a file to write"));
        }
        if path.exists() && !path.is_file() {
            let file = File::options().write(true).open(path)?;
            return Ok(Self { path: path.to_owned(), file, written: 0, whole: 0, is_regular: false });
        }
        for number in 0..Self::MOST {
            let path = numbered(path, number);
            match File::create_new(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
                Ok(file) => return Ok(Self { path, file, written: 0, whole: 0, is_regular: true }),
            }
        }
        Err(io::Error::new(io::ErrorKind::AlreadyExists, "every number up to a million is taken"))
    }

    /// Its name, with the number it got.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Leaves the whole pieces in the file.
    fn cut_back(&mut self) {
        if self.is_regular && self.file.set_len(self.whole).is_ok() {
            self.written = self.whole;
        }
    }
}

impl Write for RecordingFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.file.write(bytes) {
            Ok(count) => {
                self.written += count as u64;
                Ok(count)
            }
            Err(error) => {
                if error.kind() != io::ErrorKind::Interrupted {
                    self.cut_back();
                }
                Err(named(&self.path, &error))
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.whole = self.written;
        Ok(())
    }
}

impl Output for RecordingFile {
    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.cut_back();
        if self.is_regular { self.file.sync_all().map_err(|error| named(&self.path, &error)) } else { Ok(()) }
    }
}

impl Drop for RecordingFile {
    fn drop(&mut self) {
        if self.is_regular && self.whole == 0 {
            // Another process may have removed it.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// `clip.mp4` for 0, `clip-3.mp4` for 3.
fn numbered(path: &Path, number: u32) -> PathBuf {
    if number == 0 {
        return path.to_owned();
    }
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(format!("-{number}"));
    if let Some(ending) = path.extension() {
        name.push(".");
        name.push(ending);
    }
    path.with_file_name(name)
}
