//! Start codes as typed spans of the input (ISO/IEC 13818-2, 6.2.1).

use std::ops::Range;

/// What a start code introduces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartCode {
    /// `picture_start_code`
    Picture,
    /// `slice_start_code` with its vertical position, 1 to 175.
    Slice(u8),
    /// `user_data_start_code`
    UserData,
    /// `sequence_header_code`
    SequenceHeader,
    /// `sequence_error_code`
    SequenceError,
    /// `extension_start_code`
    Extension,
    /// `sequence_end_code`
    SequenceEnd,
    /// `group_start_code`
    Group,
    /// Reserved in video (B0, B1, B6) or a system start code (B9 to FF).
    Other(u8),
}

impl StartCode {
    /// From the byte behind `00 00 01`.
    pub fn from_byte(byte: u8) -> Self {
        match byte {
            0x00 => Self::Picture,
            0x01..=0xaf => Self::Slice(byte),
            0xb2 => Self::UserData,
            0xb3 => Self::SequenceHeader,
            0xb4 => Self::SequenceError,
            0xb5 => Self::Extension,
            0xb7 => Self::SequenceEnd,
            0xb8 => Self::Group,
            other => Self::Other(other),
        }
    }

    /// True for the start codes that may begin an access unit, so that the picture before is complete.
    pub fn begins_access_unit(self) -> bool {
        matches!(self, Self::Picture | Self::SequenceHeader | Self::Group)
    }
}

/// A start code with all bytes up to the next one, stuffing included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// The start code.
    pub code: StartCode,
    /// Its position, with the four bytes of the start code.
    pub range: Range<usize>,
}

impl Span {
    /// The bytes behind the start code.
    pub fn payload<'a>(&self, data: &'a [u8]) -> &'a [u8] {
        &data[self.range.start + 4..self.range.end]
    }
}

/// The offset of the first `00 00 01` at or behind `from` that is followed by a byte.
pub fn find(data: &[u8], from: usize) -> Option<usize> {
    let begins = |at: usize| matches!(data.get(at..), Some([0, 0, 1, _, ..]));
    let mut at = from;
    while let Some(word) = data.get(at..).and_then(<[u8]>::first_chunk) {
        match pair_of_zeros(u64::from_le_bytes(*word)) {
            // The last byte may be the first zero.
            None => at += 7,
            Some(pair) if begins(at + pair) => return Some(at + pair),
            Some(pair) => at += pair + 1,
        }
    }
    (at..data.len()).find(|&at| begins(at))
}

/// The place of the first two bytes of a word that are 0, from the lowest byte on. Behind a 0 a byte of 1 may count as one too.
#[inline]
fn pair_of_zeros(word: u64) -> Option<usize> {
    const ONES: u64 = u64::MAX / 0xff;
    // The highest bit of each byte that is 0, because only these borrow and have not had that bit.
    let zeros = word.wrapping_sub(ONES) & !word & (ONES << 7);
    let pairs = zeros & zeros >> 8;
    (pairs != 0).then(|| pairs.trailing_zeros() as usize / 8)
}

/// A start code found by [`codes`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Found<'a> {
    /// The byte behind `00 00 01`.
    pub(crate) code: u8,
    /// The bytes behind that.
    pub(crate) tail: &'a [u8],
    /// It is the first, and only zeros precede it.
    pub(crate) leads: bool,
}

/// The start codes of `data`, in order.
pub(crate) fn codes(data: &[u8]) -> impl Iterator<Item = Found<'_>> {
    let mut from = 0;
    std::iter::from_fn(move || {
        let at = find(data, from)?;
        let leads = from == 0 && data[..at].iter().all(|&byte| byte == 0);
        from = at + 3;
        Some(Found { code: data[at + 3], tail: &data[at + 4..], leads })
    })
}

/// All spans of `data`; bytes before the first start code are in none.
pub fn spans(data: &[u8]) -> Vec<Span> {
    let mut spans = Vec::new();
    let mut start = find(data, 0);
    while let Some(at) = start {
        let next = find(data, at + 4);
        spans.push(Span { code: StartCode::from_byte(data[at + 3]), range: at..next.unwrap_or(data.len()) });
        start = next;
    }
    spans
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn spans_include_stuffing() {
        let data = [9, 0, 0, 1, 0xb3, 5, 0, 0, 0, 0, 1, 0x00, 0, 0, 1, 0x01, 7];
        let found: Vec<_> = spans(&data).into_iter().map(|span| (span.code, span.range)).collect();
        assert_eq!(
            found,
            [(StartCode::SequenceHeader, 1..8), (StartCode::Picture, 8..12), (StartCode::Slice(1), 12..17)]
        );
    }

    proptest! {
        #[test]
        fn finds_what_a_plain_search_finds(data in proptest::collection::vec(0u8..3, 0..40), from in 0usize..40) {
            let plain = (from..data.len().saturating_sub(3)).find(|&i| data[i..].starts_with(&[0, 0, 1]));
            prop_assert_eq!(find(&data, from), plain);
        }
    }
}
