//! Pictures in planar YUV 4:2:0, and the pool of their memory.

use crate::Error;
use seaway_units::TimeDelta;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Width and height of a picture in pixels, both even.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PictureSize {
    width: u32,
    height: u32,
}

impl PictureSize {
    /// The longest side: level 5.2 of H.264, the limit of the codec.
    pub const MAX_SIDE: u32 = 3840;
    const MIN_SIDE: u32 = 16;
    /// One macroblock.
    pub const SMALLEST: Self = Self { width: Self::MIN_SIDE, height: Self::MIN_SIDE };

    /// A size of two even sides.
    ///
    /// # Errors
    /// [`Error::Size`] for an odd side, one outside 16..=3840, or more pixels than 3840x2160.
    pub const fn new(width: u32, height: u32) -> Result<Self, Error> {
        let sides = [width, height];
        let mut i = 0;
        while i < 2 {
            if !sides[i].is_multiple_of(2) || sides[i] < Self::MIN_SIDE || sides[i] > Self::MAX_SIDE {
                return Err(Error::Size { width, height });
            }
            i += 1;
        }
        // 2160 is the shorter side of the codec's largest picture.
        if width > 2160 && height > 2160 {
            return Err(Error::Size { width, height });
        }
        Ok(Self { width, height })
    }

    /// Width in pixels.
    pub const fn width(self) -> u32 {
        self.width
    }

    /// Height in pixels.
    pub const fn height(self) -> u32 {
        self.height
    }

    /// Luma samples.
    pub const fn pixels(self) -> u64 {
        self.width as u64 * self.height as u64
    }

    /// Width and height of a plane: the picture's for luma, half for chroma.
    const fn plane(self, plane: usize) -> (usize, usize) {
        let shift = (plane > 0) as u32;
        ((self.width >> shift) as usize, (self.height >> shift) as usize)
    }

    /// The range of a plane in a buffer of the three planes.
    fn span(self, plane: usize) -> std::ops::Range<usize> {
        let luma = self.pixels() as usize;
        match plane {
            0 => 0..luma,
            1 => luma..luma + luma / 4,
            _ => luma + luma / 4..self.bytes(),
        }
    }

    const fn bytes(self) -> usize {
        self.pixels() as usize / 2 * 3
    }
}

impl fmt::Display for PictureSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.width, self.height)
    }
}

/// Pictures per second as a fraction, so that 30000/1001 is exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FrameRate {
    numerator: u32,
    denominator: u32,
}

impl FrameRate {
    /// The rate assumed for a stream that has none.
    pub const USUAL: Self = Self { numerator: 25, denominator: 1 };

    /// `numerator / denominator` pictures per second, kept in lowest terms; `None` outside 1/60 to 1000
    /// pictures per second.
    pub fn new(numerator: u32, denominator: u32) -> Option<Self> {
        let wide = u64::from(denominator);
        let sane =
            denominator > 0 && u64::from(numerator) * 60 >= wide && u64::from(numerator) <= wide * 1000;
        let common = greatest_common_divisor(numerator, denominator);
        sane.then(|| Self { numerator: numerator / common, denominator: denominator / common })
    }

    /// Pictures per second.
    pub fn hz(self) -> f64 {
        f64::from(self.numerator) / f64::from(self.denominator)
    }

    /// Numerator and denominator.
    pub const fn ratio(self) -> (u32, u32) {
        (self.numerator, self.denominator)
    }

    /// The media time of picture `index`, counted from zero, rounded down to a nanosecond.
    pub fn time_of(self, index: u64) -> TimeDelta {
        let nanos =
            u128::from(index) * u128::from(self.denominator) * 1_000_000_000 / u128::from(self.numerator);
        TimeDelta::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX))
    }

    /// From one picture to the next.
    pub fn interval(self) -> TimeDelta {
        self.time_of(1)
    }
}

impl fmt::Display for FrameRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.denominator {
            1 => write!(f, "{}", self.numerator),
            denominator => write!(f, "{}/{denominator}", self.numerator),
        }
    }
}

fn greatest_common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

/// Number of a picture in its source, counted from zero through all repetitions of a loop. It stays with the picture
/// through encoder, network and decoder, so that the displayed picture can be compared with the original.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct FrameId(pub u64);

impl fmt::Display for FrameId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// One plane of samples, borrowed.
#[derive(Debug, Clone, Copy)]
pub struct PlaneView<'a> {
    /// Samples, row by row.
    pub data: &'a [u8],
    /// Samples from the start of a row to the start of the next.
    pub stride: usize,
    /// Samples in a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
}

/// One plane of samples, mutably borrowed.
#[derive(Debug)]
pub struct PlaneViewMut<'a> {
    /// Samples, row by row, no gap between rows.
    pub data: &'a mut [u8],
    /// Samples in a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
}

/// A finished picture. A clone shares the samples.
#[derive(Clone)]
pub struct Picture {
    memory: Arc<Memory>,
    size: PictureSize,
    id: FrameId,
    time: TimeDelta,
}

impl Picture {
    /// Width and height.
    pub fn size(&self) -> PictureSize {
        self.size
    }

    /// Number of the picture in its source.
    pub fn id(&self) -> FrameId {
        self.id
    }

    /// Presentation time, from the start of the stream.
    pub fn time(&self) -> TimeDelta {
        self.time
    }

    /// The same samples with another number and time.
    #[must_use]
    pub fn with_identity(&self, id: FrameId, time: TimeDelta) -> Self {
        Self { id, time, ..self.clone() }
    }

    /// Luma, blue difference, red difference.
    pub fn planes(&self) -> [PlaneView<'_>; 3] {
        std::array::from_fn(|plane| self.plane(plane))
    }

    /// Luma.
    pub fn luma(&self) -> PlaneView<'_> {
        self.plane(0)
    }

    fn plane(&self, plane: usize) -> PlaneView<'_> {
        let (width, height) = self.size.plane(plane);
        PlaneView { data: &self.memory.bytes[self.size.span(plane)], stride: width, width, height }
    }
}

impl fmt::Debug for Picture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Picture {} {} at {}", self.id, self.size, self.time)
    }
}

/// A picture that is being written. Its initial content is arbitrary.
pub struct PictureBuffer {
    memory: Memory,
    size: PictureSize,
}

impl PictureBuffer {
    /// Width and height.
    pub fn size(&self) -> PictureSize {
        self.size
    }

    /// Luma, blue difference, red difference.
    pub fn planes_mut(&mut self) -> [PlaneViewMut<'_>; 3] {
        let luma = self.size.pixels() as usize;
        let (y, chroma) = self.memory.bytes.split_at_mut(luma);
        let (u, v) = chroma.split_at_mut(luma / 4);
        let (width, height) = self.size.plane(1);
        [
            PlaneViewMut { data: y, width: 2 * width, height: 2 * height },
            PlaneViewMut { data: u, width, height },
            PlaneViewMut { data: v, width, height },
        ]
    }

    /// Copies the three planes from rows of any stride. A larger source is cropped at the right and at the bottom.
    ///
    /// # Panics
    /// Where a plane of `from` is smaller than this picture's, or its data is too short.
    pub fn copy_from(&mut self, from: [PlaneView<'_>; 3]) {
        for (to, from) in self.planes_mut().into_iter().zip(from) {
            assert!(from.width >= to.width && from.height >= to.height, "the source covers the picture");
            let rows = to.data.chunks_exact_mut(to.width).zip(from.data.chunks(from.stride));
            for (to, from) in rows {
                to.copy_from_slice(&from[..to.len()]);
            }
        }
    }

    /// All samples, plane by plane.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.memory.bytes
    }

    /// Makes it a picture, which can be shared.
    pub fn finish(self, id: FrameId, time: TimeDelta) -> Picture {
        Picture { memory: Arc::new(self.memory), size: self.size, id, time }
    }
}

impl fmt::Debug for PictureBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PictureBuffer {}", self.size)
    }
}

/// A pool of the memory of pictures of one size, so that a running stream does not allocate. A clone is the same pool. A
/// picture may outlive its pool.
#[derive(Debug, Clone)]
pub struct PicturePool {
    size: PictureSize,
    free: Arc<FreeList>,
}

type FreeList = Mutex<Vec<Box<[u8]>>>;

impl PicturePool {
    /// The most free pictures that are kept.
    const KEEP: usize = 16;

    /// An empty pool for pictures of `size`.
    pub fn new(size: PictureSize) -> Self {
        Self { size, free: Arc::default() }
    }

    /// The size of its pictures.
    pub fn size(&self) -> PictureSize {
        self.size
    }

    /// A picture to write.
    pub fn take(&self) -> PictureBuffer {
        let reused = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let bytes = reused.unwrap_or_else(|| vec![0; self.size.bytes()].into_boxed_slice());
        PictureBuffer { memory: Memory { bytes, home: Arc::downgrade(&self.free) }, size: self.size }
    }
}

struct Memory {
    bytes: Box<[u8]>,
    home: Weak<FreeList>,
}

impl Drop for Memory {
    fn drop(&mut self) {
        let Some(home) = self.home.upgrade() else { return };
        let mut free = home.lock().unwrap_or_else(PoisonError::into_inner);
        if free.len() < PicturePool::KEEP {
            free.push(std::mem::take(&mut self.bytes));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_even_and_bounded() {
        assert!(PictureSize::new(1280, 720).is_ok());
        assert!(PictureSize::new(2160, 3840).is_ok());
        for (width, height) in [(0, 0), (15, 16), (17, 16), (3842, 2160), (3840, 3840), (u32::MAX, 2)] {
            assert!(PictureSize::new(width, height).is_err(), "{width}x{height}");
        }
    }

    #[test]
    fn memory_is_reused() {
        let pool = PicturePool::new(PictureSize::new(32, 16).unwrap());
        let mut buffer = pool.take();
        buffer.bytes_mut().fill(7);
        let picture = buffer.finish(FrameId(1), TimeDelta::ZERO);
        let shared = picture.clone();
        drop(picture);
        assert_eq!(shared.luma().data[0], 7, "a clone keeps the samples");
        drop(shared);
        let mut again = pool.take();
        assert_eq!(again.bytes_mut()[0], 7, "and the pool gets them back");
        assert_eq!(pool.take().bytes_mut()[0], 0, "but only once");
    }

    #[test]
    fn planes_do_not_overlap() {
        let pool = PicturePool::new(PictureSize::new(32, 16).unwrap());
        let mut buffer = pool.take();
        for (value, plane) in (1..).zip(buffer.planes_mut()) {
            plane.data.fill(value);
        }
        let picture = buffer.finish(FrameId(0), TimeDelta::ZERO);
        for (value, plane) in (1..).zip(picture.planes()) {
            assert_eq!(plane.data.len(), plane.width * plane.height);
            assert!(plane.data.iter().all(|&sample| sample == value));
        }
    }

    #[test]
    fn times_of_a_fractional_rate_do_not_drift() {
        let ntsc = FrameRate::new(30000, 1001).unwrap();
        assert_eq!(ntsc.time_of(30000), TimeDelta::from_secs(1001));
        assert_eq!(FrameRate::new(25, 1).unwrap().interval(), TimeDelta::from_millis(40));
        assert_eq!(FrameRate::new(12_800, 512), Some(FrameRate::USUAL));
        assert_eq!(FrameRate::new(1, 0), None);
        assert_eq!(FrameRate::new(u32::MAX, 1), None);
    }
}
