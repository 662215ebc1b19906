//! How a picture leaves the decoder's process. The receiver reads it where the decoder has it: that is one copy of each picture. Where the
//! kernel does not let one process read another, or has no such call, the decoder copies it into memory that both have as a file.
//! So neither process maps what the other one changes.

use super::protocol::{Answer, Order, read_answer, write_request};
use seaway_media::{PictureBuffer, PicturePool, PictureSize, PlaneView};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;

/// Octets of the largest picture.
pub(super) const LARGEST: u64 = 3840 * 2160 / 2 * 3;

/// Where a picture is in the decoder's process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) size: PictureSize,
    pub(super) planes: [PlanePlace; 3],
}

/// Where a plane is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PlanePlace {
    pub(super) address: u64,
    /// Octets from row to row.
    pub(super) stride: u64,
}

impl Place {
    /// Of planes of this process; `None` for what is no picture.
    pub(super) fn of(planes: &[PlaneView<'_>; 3]) -> Option<Self> {
        let [luma, ..] = planes;
        let [width, height] = [luma.width, luma.height].map(|side| u32::try_from(side).ok());
        let place = |plane: &PlaneView<'_>| PlanePlace {
            address: plane.data.as_ptr().addr() as u64,
            stride: plane.stride as u64,
        };
        Some(Self { size: PictureSize::new(width?, height?).ok()?, planes: planes.each_ref().map(place) })
    }
}

/// Copies the samples of a picture into the memory, row behind row.
pub(super) fn copy_into(memory: impl AsFd, planes: &[PlaneView<'_>; 3]) -> io::Result<()> {
    let rows = planes
        .iter()
        .flat_map(|plane| plane.data.chunks(plane.stride).take(plane.height).map(|row| &row[..plane.width]));
    let samples = rows.collect::<Vec<_>>().concat();
    let mut at = 0;
    while at < samples.len() {
        at += nix::sys::uio::pwrite(&memory, &samples[at..], at as nix::libc::off_t)?;
    }
    Ok(())
}

/// The receiver's end.
#[derive(Debug)]
pub(super) struct Pictures {
    /// Number of the decoder's process.
    process: u32,
    memory: File,
    /// It could not be read.
    is_closed: bool,
    pool: Option<PicturePool>,
}

impl Pictures {
    pub(super) fn new(process: u32, memory: File) -> Self {
        Self { process, memory, is_closed: false, pool: None }
    }

    /// The picture of the decoder's last answer. The process may have been taken over.
    ///
    /// # Errors
    /// The decoder does not copy it, or the socket ends.
    pub(super) fn take(
        &mut self,
        place: &Place,
        socket: &mut (impl Read + Write),
    ) -> io::Result<PictureBuffer> {
        let pool = match &mut self.pool {
            Some(pool) if pool.size() == place.size => pool,
            pool => pool.insert(PicturePool::new(place.size)),
        };
        let mut picture = pool.take();
        self.is_closed = self.is_closed || read_process(self.process, place, &mut picture).is_err();
        if self.is_closed {
            write_request(socket, Order::Copy, &[])?;
            if read_answer(socket)? != Answer::Copied {
                return Err(io::ErrorKind::InvalidData.into());
            }
            let mut at = 0;
            for plane in picture.planes_mut() {
                self.memory.read_exact_at(plane.data, at)?;
                at += plane.data.len() as u64;
            }
        }
        Ok(picture)
    }
}

/// Reads a picture in the memory of another process, with what is between its rows: the fewer parts there are, the less the kernel has to do.
#[cfg(target_os = "linux")]
fn read_process(process: u32, place: &Place, picture: &mut PictureBuffer) -> io::Result<()> {
    use io::IoSliceMut;
    use nix::sys::uio::{RemoteIoVec, process_vm_readv};

    /// One call takes 1024 parts.
    const ROWS: usize = 512;
    /// Octets between two rows; more than the decoder has.
    const GAP: usize = 256;
    let process = nix::unistd::Pid::from_raw(process as nix::libc::pid_t);
    let mut gaps = [[0; GAP]; ROWS];
    for (plane, place) in picture.planes_mut().into_iter().zip(place.planes) {
        let (stride, width) = (place.stride as usize, plane.width);
        let gap = stride.checked_sub(width).filter(|&gap| gap <= GAP).ok_or(io::ErrorKind::InvalidData)?;
        let mut base = place.address as usize;
        for rows in plane.data.chunks_mut(ROWS * width) {
            let len = rows.len() / width * stride - gap;
            let parts = rows.chunks_mut(width).zip(&mut gaps);
            let mut to: Vec<_> = parts
                .flat_map(|(row, between)| [IoSliceMut::new(row), IoSliceMut::new(&mut between[..gap])])
                .collect();
            if process_vm_readv(process, &mut to, &[RemoteIoVec { base, len }])? < len {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            base = base.wrapping_add(len + gap);
        }
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn read_process(_: u32, _: &Place, _: &mut PictureBuffer) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use seaway_media::FrameId;
    use seaway_units::TimeDelta;

    /// A socket with answers in it, which keeps what it is asked.
    struct Socket {
        answers: &'static [u8],
        asked: usize,
    }

    impl Read for Socket {
        fn read(&mut self, data: &mut [u8]) -> io::Result<usize> {
            self.answers.read(data)
        }
    }

    impl Write for Socket {
        fn write(&mut self, data: &[u8]) -> io::Result<usize> {
            self.asked += 1;
            Ok(data.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Copied, twice.
    const COPIED: &[u8] = &[1, 1];
    const WIDTH: usize = 32;
    /// More than one call reads.
    const HEIGHT: usize = 1400;

    /// The samples of planes that have `gap` octets between their rows.
    fn samples(gap: usize) -> [Vec<u8>; 3] {
        let plane = |shift: usize| {
            let (width, height) = (WIDTH >> shift.min(1), HEIGHT >> shift.min(1));
            let rows = (0..height).map(|row| {
                let samples = (0..width).map(|at| (row * 7 + at * 3 + shift) as u8);
                samples.chain(std::iter::repeat_n(0xee, gap)).collect::<Vec<_>>()
            });
            let mut samples = rows.collect::<Vec<_>>().concat();
            samples.truncate(samples.len() - gap);
            samples
        };
        [0, 1, 2].map(plane)
    }

    fn views(samples: &[Vec<u8>; 3], gap: usize) -> [PlaneView<'_>; 3] {
        [0, 1, 2].map(|plane: usize| {
            let (width, height) = (WIDTH >> plane.min(1), HEIGHT >> plane.min(1));
            PlaneView { data: &samples[plane], stride: width + gap, width, height }
        })
    }

    /// Takes a picture of this very process, which is at `place`; the number of requests to copy it.
    fn taken(pictures: &mut Pictures, place: &Place) -> io::Result<usize> {
        let mut socket = Socket { answers: COPIED, asked: 0 };
        let picture = pictures.take(place, &mut socket)?.finish(FrameId(0), TimeDelta::ZERO);
        for (plane, wanted) in picture.planes().iter().zip(samples(0)) {
            assert!(plane.data == wanted);
        }
        Ok(socket.asked)
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_picture_is_read_where_it_is() {
        for gap in [0, 1, 64, 256] {
            let samples = samples(gap);
            let place = Place::of(&views(&samples, gap)).unwrap();
            // The memory is empty.
            let mut pictures = Pictures::new(std::process::id(), tempfile::tempfile().unwrap());
            assert_eq!(taken(&mut pictures, &place).unwrap(), 0, "{gap}");
        }
    }

    #[test]
    fn a_picture_that_cannot_be_read_is_copied() {
        let samples = samples(64);
        let views = views(&samples, 64);
        let whole = Place::of(&views).unwrap();
        let [mut elsewhere, mut narrow, mut far, mut short] = [whole; 4];
        elsewhere.planes[1].address = 0;
        narrow.planes[2].stride = 15;
        far.planes[0].stride = u64::MAX;
        // Its last rows are not there.
        short.planes[2].address = end_of_data().map_or(0, |end| end - 600 * short.planes[2].stride);
        for place in [elsewhere, narrow, far, short] {
            let memory = tempfile::tempfile().unwrap();
            copy_into(&memory, &views).unwrap();
            let mut pictures = Pictures::new(std::process::id(), memory);
            assert_eq!(taken(&mut pictures, &place).unwrap(), 1);
            assert_eq!(taken(&mut pictures, &whole).unwrap(), 1, "nor is it tried again");
        }
    }

    /// The address behind the static data of this program, where there is nothing.
    fn end_of_data() -> Option<u64> {
        let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
        let spans = maps.lines().filter_map(|line| {
            let (span, rest) = line.split_once(' ')?;
            let (begin, end) = span.split_once('-')?;
            let [begin, end] = [begin, end].map(|number| u64::from_str_radix(number, 16).ok());
            Some((begin?, end?, rest.starts_with("rw")))
        });
        let mut data = spans.skip_while(|&(.., is_writable)| !is_writable);
        let (_, first, _) = data.next()?;
        Some(data.fold(first, |end, (begin, next, _)| if begin == end { next } else { end }))
    }

    #[test]
    fn a_picture_that_is_not_copied_is_none() {
        let place = Place { size: PictureSize::SMALLEST, planes: [PlanePlace { address: 0, stride: 16 }; 3] };
        let (empty, full) = (tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap());
        full.set_len(LARGEST).unwrap();
        let take = |memory: &File, answers| {
            let mut pictures = Pictures::new(std::process::id(), memory.try_clone().unwrap());
            pictures.take(&place, &mut Socket { answers, asked: 0 })
        };
        assert!(take(&full, COPIED).is_ok() && take(&empty, COPIED).is_err());
        assert!(take(&full, &[]).is_err() && take(&full, &[3]).is_err());
    }
}
