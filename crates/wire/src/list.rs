//! Lists of records of one size, borrowed from a packet or from memory.

use std::fmt;

/// A record of fixed size inside a packet.
pub trait Record: Copy + PartialEq + fmt::Debug {
    /// Octets on the wire.
    const SIZE: usize;

    /// Reads `SIZE` octets. Every pattern of bits is a value.
    ///
    /// # Panics
    /// Where `bytes` is shorter than `SIZE`.
    fn read(bytes: &[u8]) -> Self;

    /// Writes `SIZE` octets.
    ///
    /// # Panics
    /// Where `bytes` is shorter than `SIZE`.
    fn write(self, bytes: &mut [u8]);
}

impl Record for u16 {
    const SIZE: usize = 2;
    fn read(bytes: &[u8]) -> Self {
        crate::bytes::u16_at(bytes, 0)
    }
    fn write(self, bytes: &mut [u8]) {
        crate::bytes::put_u16(bytes, 0, self);
    }
}

impl Record for u32 {
    const SIZE: usize = 4;
    fn read(bytes: &[u8]) -> Self {
        crate::bytes::u32_at(bytes, 0)
    }
    fn write(self, bytes: &mut [u8]) {
        crate::bytes::put_u32(bytes, 0, self);
    }
}

/// A borrowed list of records: still in network order when it was parsed, plain values when it is to be
/// emitted (`List::from(&values[..])`). Two lists are equal where their records are.
#[derive(Clone, Copy)]
pub struct List<'a, T>(Source<'a, T>);

#[derive(Clone, Copy)]
enum Source<'a, T> {
    Wire(&'a [u8]),
    Values(&'a [T]),
}

impl<'a, T: Record> List<'a, T> {
    /// The records in `bytes`; an incomplete one at the end is left out.
    pub(crate) fn on_wire(bytes: &'a [u8]) -> Self {
        Self(Source::Wire(bytes))
    }

    /// Number of records.
    pub fn len(&self) -> usize {
        match self.0 {
            Source::Wire(bytes) => bytes.len() / T::SIZE,
            Source::Values(values) => values.len(),
        }
    }

    /// True without records.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Octets on the wire.
    pub fn buffer_len(&self) -> usize {
        self.len() * T::SIZE
    }

    /// The record at `index`, from zero.
    pub fn get(&self, index: usize) -> Option<T> {
        match self.0 {
            Source::Wire(bytes) => {
                let start = index.checked_mul(T::SIZE)?;
                bytes.get(start..start.checked_add(T::SIZE)?).map(T::read)
            }
            Source::Values(values) => values.get(index).copied(),
        }
    }

    /// The records in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = T> + Clone + use<'a, T> {
        let (wire, values) = match self.0 {
            Source::Wire(bytes) => (bytes, &[][..]),
            Source::Values(values) => (&[][..], values),
        };
        Records { wire: wire.chunks_exact(T::SIZE), values: values.iter() }
    }

    /// Writes all records to the front of `buffer`, which holds them all.
    pub(crate) fn write(&self, buffer: &mut [u8]) {
        for (record, place) in self.iter().zip(buffer.chunks_exact_mut(T::SIZE)) {
            record.write(place);
        }
    }
}

/// One of the two is empty.
#[derive(Clone)]
struct Records<'a, T> {
    wire: std::slice::ChunksExact<'a, u8>,
    values: std::slice::Iter<'a, T>,
}

impl<T: Record> Iterator for Records<'_, T> {
    type Item = T;
    fn next(&mut self) -> Option<T> {
        self.wire.next().map(T::read).or_else(|| self.values.next().copied())
    }
    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.wire.len() + self.values.len();
        (left, Some(left))
    }
}

impl<T: Record> ExactSizeIterator for Records<'_, T> {}

impl<T> Default for List<'_, T> {
    fn default() -> Self {
        Self(Source::Values(&[]))
    }
}

impl<'a, T> From<&'a [T]> for List<'a, T> {
    fn from(values: &'a [T]) -> Self {
        Self(Source::Values(values))
    }
}

impl<T: Record> PartialEq for List<'_, T> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<T: Record + Eq> Eq for List<'_, T> {}

impl<T: Record> fmt::Debug for List<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wire_and_memory_are_the_same_list() {
        let values = [0x0102u16, 0xFFFE];
        let memory = List::from(&values[..]);
        let mut bytes = [0; 5];
        memory.write(&mut bytes);
        assert_eq!(bytes, [1, 2, 0xFF, 0xFE, 0]);
        let wire = List::<u16>::on_wire(&bytes);
        assert_eq!(wire, memory);
        assert_ne!(wire, List::from(&values[..1]));
        assert_eq!(format!("{wire:?}"), "[258, 65534]");
        assert_eq!((wire.len(), wire.buffer_len(), wire.get(1), wire.get(2)), (2, 4, Some(0xFFFE), None));
        assert_eq!((wire.is_empty(), List::<u16>::default().is_empty()), (false, true));
        assert_eq!(wire.get(usize::MAX), None);
        assert_eq!(wire.iter().len(), 2);
    }
}
