//! What the payload formats of H.264 (RFC 6184) and of H.265 (RFC 7798) have in common: NAL units behind their sizes, and the marks of
//! a part of one.

use crate::Error;
use crate::bytes::{take, u16_at};

/// Octets of the size before each unit of an aggregate.
pub(crate) const SIZE_LEN: usize = 2;
const START: u8 = 0x80;
const END: u8 = 0x40;

/// Size(16) and NAL unit, repeated: the units of `aggregate` behind its own header.
///
/// # Errors
/// No unit, sizes that do not add up, or a unit that `single` refuses.
pub(crate) fn parse_units<T>(
    aggregate: &[u8],
    header_len: usize,
    single: impl Fn(&[u8]) -> Result<T, Error>,
) -> Result<&[u8], Error> {
    let mut rest = &aggregate[header_len..];
    loop {
        let base = aggregate.len() - rest.len();
        let (unit, left) = split_unit(rest).map_err(|error| error.moved(base))?;
        single(unit).map_err(|error| error.moved(base + SIZE_LEN))?;
        rest = left;
        if rest.is_empty() {
            return Ok(&aggregate[header_len..]);
        }
    }
}

/// What [`parse_units`] has checked, in order.
pub(crate) fn units(sized: &[u8]) -> impl Iterator<Item = &[u8]> + Clone {
    let mut rest = sized;
    // Fails at the end only.
    std::iter::from_fn(move || {
        let (unit, left) = split_unit(rest).ok()?;
        rest = left;
        Some(unit)
    })
}

/// The first unit and what follows it.
fn split_unit(bytes: &[u8]) -> Result<(&[u8], &[u8]), Error> {
    let size = usize::from(u16_at(take(bytes, 0, SIZE_LEN, "size of a NAL unit")?, 0));
    let unit = take(bytes, SIZE_LEN, size, "NAL unit of an aggregate")?;
    Ok((unit, &bytes[SIZE_LEN + size..]))
}

/// S and E, by which the header of a fragment marks the first and the last part of a unit.
pub(crate) const fn marks(octet: u8) -> (bool, bool) {
    (octet & START != 0, octet & END != 0)
}

/// The bits of S and E.
pub(crate) const fn mark_bits(start: bool, end: bool) -> u8 {
    (if start { START } else { 0 }) | (if end { END } else { 0 })
}
