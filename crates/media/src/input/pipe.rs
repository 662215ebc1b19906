//! An input that is read once: a pipe, a socket.

use std::io::{self, Cursor, Read, Seek, SeekFrom};

/// Reads what was looked at first, then the rest.
pub(super) struct Pipe<R> {
    seen: Cursor<Vec<u8>>,
    rest: R,
}

impl<R: Read> Pipe<R> {
    /// Reads from `rest` until `is_enough` says so of what was read, or there is no more.
    pub(super) fn look(mut rest: R, most: usize, is_enough: impl Fn(&[u8]) -> bool) -> io::Result<Self> {
        let mut seen = Vec::new();
        let mut chunk = [0; 2048];
        while seen.len() < most && !is_enough(&seen) {
            match rest.read(&mut chunk) {
                Ok(0) => break,
                Ok(length) => seen.extend_from_slice(&chunk[..length]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Self { seen: Cursor::new(seen), rest })
    }

    /// What was looked at.
    pub(super) fn seen(&self) -> &[u8] {
        self.seen.get_ref()
    }
}

impl<R: Read> Read for Pipe<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.seen.read(buffer)? {
            0 => self.rest.read(buffer),
            length => Ok(length),
        }
    }
}

impl<R> Seek for Pipe<R> {
    fn seek(&mut self, _to: SeekFrom) -> io::Result<u64> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "a pipe cannot be read again"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_seen_is_read_again() {
        let mut pipe = Pipe::look(&b"abcdef"[..], 100, |seen| seen.len() >= 3).unwrap();
        assert_eq!(pipe.seen(), b"abcdef");
        let mut all = String::new();
        pipe.read_to_string(&mut all).unwrap();
        assert_eq!(all, "abcdef");
        assert!(pipe.seek(SeekFrom::Start(0)).is_err());
    }
}
