//! What goes through the socket: access units to the decoder, its answers back. Numbers are little-endian. The samples of a picture
//! are in memory that both processes have, as a file, so that the two do not take turns for each part of it.

use seaway_media::decoder::Freeze;
use seaway_media::{Picture, PicturePool, PictureSize};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;

/// An access unit has at most so many octets; the session's frames are smaller.
const LONGEST: usize = 16 << 20;

/// Octets of the largest picture.
pub(super) const LARGEST: u64 = 3840 * 2160 / 2 * 3;

/// An access unit on its way to the decoder.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) after_loss: bool,
    pub(super) data: Vec<u8>,
}

/// First octet of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Picture,
    ReferencesMissing,
    Damaged,
    Delayed,
    /// The decoder has become unusable.
    Failed,
}

impl Kind {
    const ALL: [Self; 5] =
        [Self::Picture, Self::ReferencesMissing, Self::Damaged, Self::Delayed, Self::Failed];

    pub(super) const fn of_freeze(freeze: Freeze) -> Self {
        match freeze {
            Freeze::ReferencesMissing => Self::ReferencesMissing,
            Freeze::Delayed => Self::Delayed,
            _ => Self::Damaged,
        }
    }
}

/// Writes an access unit.
///
/// # Errors
/// The decoder is gone, or the unit is too long.
pub(super) fn write_request(to: &mut impl Write, after_loss: bool, data: &[u8]) -> io::Result<()> {
    if data.len() > LONGEST {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // At once, since each write wakes the other process.
    let length = (data.len() as u32).to_le_bytes();
    to.write_all(&[&length[..], &[u8::from(after_loss)], data].concat())
}

/// Reads the next access unit into `request`; false at the end.
///
/// # Errors
/// The socket ends inside a unit, or the unit is too long.
pub(super) fn read_request(from: &mut impl Read, request: &mut Request) -> io::Result<bool> {
    let mut length = [0; 4];
    match from.read_exact(&mut length) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
        read => read?,
    }
    let length = u32::from_le_bytes(length) as usize;
    if length > LONGEST {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut after_loss = [0];
    from.read_exact(&mut after_loss)?;
    request.after_loss = after_loss != [0];
    request.data.resize(length, 0);
    from.read_exact(&mut request.data)?;
    Ok(true)
}

/// Writes an answer without a picture.
pub(super) fn write_kind(to: &mut impl Write, kind: Kind) -> io::Result<()> {
    to.write_all(&[kind as u8])
}

/// Writes a picture: its samples into the memory, then width and height.
pub(super) fn write_picture(to: &mut impl Write, memory: impl AsFd, picture: &Picture) -> io::Result<()> {
    let mut at = 0;
    for plane in picture.planes() {
        // The rows of a picture have no gaps between them.
        let mut left = plane.data;
        while !left.is_empty() {
            let written = nix::sys::uio::pwrite(&memory, left, at as nix::libc::off_t)?;
            (left, at) = (&left[written..], at + written);
        }
    }
    let [width, height] = [picture.size().width(), picture.size().height()].map(u32::to_le_bytes);
    to.write_all(&[&[Kind::Picture as u8][..], &width, &height].concat())
}

/// Reads an answer; its picture has neither number nor time yet. The process that wrote it may have been taken over.
///
/// # Errors
/// The socket ends, or what comes is no answer.
pub(super) fn read_answer(
    from: &mut impl Read,
    memory: &File,
    pool: &mut Option<PicturePool>,
) -> io::Result<(Kind, Option<seaway_media::PictureBuffer>)> {
    let invalid = || io::Error::from(io::ErrorKind::InvalidData);
    let mut kind = [0];
    from.read_exact(&mut kind)?;
    let kind = *Kind::ALL.get(usize::from(kind[0])).ok_or_else(invalid)?;
    if kind != Kind::Picture {
        return Ok((kind, None));
    }
    let mut sides = [[0; 4]; 2];
    for side in &mut sides {
        from.read_exact(side)?;
    }
    let [width, height] = sides.map(u32::from_le_bytes);
    let size = PictureSize::new(width, height).map_err(|_| invalid())?;
    let pool = match pool {
        Some(pool) if pool.size() == size => pool,
        pool => pool.insert(PicturePool::new(size)),
    };
    let mut buffer = pool.take();
    let mut at = 0;
    for plane in buffer.planes_mut() {
        memory.read_exact_at(plane.data, at)?;
        at += plane.data.len() as u64;
    }
    Ok((kind, Some(buffer)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use seaway_media::FrameId;
    use seaway_units::TimeDelta;

    #[test]
    fn what_is_written_is_read() {
        let mut pipe = Vec::new();
        write_request(&mut pipe, true, b"unit").unwrap();
        write_request(&mut pipe, false, b"").unwrap();
        let (mut from, mut request) = (pipe.as_slice(), Request::default());
        assert!(read_request(&mut from, &mut request).unwrap());
        assert_eq!(request, Request { after_loss: true, data: b"unit".to_vec() });
        assert!(read_request(&mut from, &mut request).unwrap() && !request.after_loss);
        assert!(!read_request(&mut from, &mut request).unwrap());
        assert!(read_request(&mut &pipe[..7], &mut request).is_err(), "cut inside a unit");
        assert!(read_request(&mut [255; 9].as_slice(), &mut request).is_err(), "longer than any unit");
    }

    #[test]
    fn pictures_come_back_whole() {
        let size = PictureSize::new(32, 16).unwrap();
        let mut buffer = PicturePool::new(size).take();
        for (plane, samples) in buffer.planes_mut().into_iter().enumerate() {
            samples.data.iter_mut().enumerate().for_each(|(index, sample)| *sample = (index + plane) as u8);
        }
        let picture = buffer.finish(FrameId(0), TimeDelta::ZERO);
        let (mut pipe, memory) = (Vec::new(), tempfile::tempfile().unwrap());
        write_picture(&mut pipe, &memory, &picture).unwrap();
        write_kind(&mut pipe, Kind::Delayed).unwrap();
        let (mut from, mut pool) = (pipe.as_slice(), None);
        let (kind, read) = read_answer(&mut from, &memory, &mut pool).unwrap();
        let read = read.unwrap().finish(FrameId(0), TimeDelta::ZERO);
        assert_eq!((kind, read.size()), (Kind::Picture, size));
        for (read, written) in read.planes().iter().zip(picture.planes()) {
            assert_eq!(read.data, written.data);
        }
        assert_eq!(read_answer(&mut from, &memory, &mut pool).unwrap().0, Kind::Delayed);
    }

    #[test]
    fn other_answers_are_refused() {
        let memory = tempfile::tempfile().unwrap();
        let odd = [[0, 33, 0, 0, 0, 16, 0, 0, 0], [0, 255, 255, 255, 255, 255, 255, 255, 255], [9; 9]];
        for answer in odd.iter().map(<[u8; 9]>::as_slice).chain([&[][..], &[0, 32], &[5]]) {
            assert!(read_answer(&mut &*answer, &memory, &mut None).is_err(), "{answer:?}");
        }
    }
}
