//! Big-endian fields at fixed offsets. Callers check the length once, with [`take`] or [`room`].

use crate::Error;

pub(crate) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

pub(crate) fn u24_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([0, bytes[at], bytes[at + 1], bytes[at + 2]])
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

pub(crate) fn put_u16(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

/// The low 24 bits of `value`.
pub(crate) fn put_u24(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 3].copy_from_slice(&value.to_be_bytes()[1..]);
}

pub(crate) fn put_u32(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_be_bytes());
}

/// The `len` octets of `field` that begin at `offset`.
pub(crate) fn take<'a>(
    bytes: &'a [u8],
    offset: usize,
    len: usize,
    field: &'static str,
) -> Result<&'a [u8], Error> {
    let rest = bytes.get(offset..).unwrap_or_default();
    rest.get(..len).ok_or(Error::Truncated { field, offset, needed: len, available: rest.len() })
}

/// The first `len` octets of a buffer that `field` is to be written into.
pub(crate) fn room<'b>(buffer: &'b mut [u8], len: usize, field: &'static str) -> Result<&'b mut [u8], Error> {
    let available = buffer.len();
    buffer.get_mut(..len).ok_or(Error::NoRoom { field, needed: len, available })
}

/// `value` where it is at most `limit`.
pub(crate) fn fits<T: Copy + Into<u64>>(value: T, limit: u64, field: &'static str) -> Result<T, Error> {
    let seen = value.into();
    if seen <= limit { Ok(value) } else { Err(Error::TooLarge { field, seen, limit }) }
}

/// `len` rounded up to a whole number of 32-bit words.
pub(crate) const fn padded(len: usize) -> usize {
    len.next_multiple_of(4)
}
