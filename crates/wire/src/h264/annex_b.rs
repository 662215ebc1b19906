//! The byte stream of ITU-T H.264 Annex B, and of H.265 Annex B: NAL units after start codes.

/// What stands before each NAL unit that is written.
pub const START_CODE: [u8; 4] = [0, 0, 0, 1];

/// The NAL units of a byte stream, without start codes and without the zeros before the next one. What comes
/// before the first start code is left out; empty units are skipped.
pub fn nal_units(stream: &[u8]) -> impl Iterator<Item = &[u8]> + Clone {
    let mut rest = split_at_start_code(stream).map(|(_, rest)| rest);
    std::iter::from_fn(move || {
        loop {
            let begun = rest?;
            let (unit, next) =
                split_at_start_code(begun).map_or((begun, None), |(unit, next)| (unit, Some(next)));
            rest = next;
            let unit = without_trailing_zeros(unit);
            if !unit.is_empty() {
                return Some(unit);
            }
        }
    })
}

/// Appends a NAL unit, or the beginning of one, behind a start code.
pub(crate) fn append(stream: &mut Vec<u8>, nal: &[u8]) {
    stream.extend_from_slice(&START_CODE);
    stream.extend_from_slice(nal);
}

/// The octets before the next 0x000001 and those after it.
fn split_at_start_code(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = find_start_code(bytes)?;
    Some((&bytes[..at], &bytes[at + 3..]))
}

/// Octets that are looked at together.
const BLOCK: usize = 32;

/// Where the first 0x000001 begins. Coded pictures hold two zeros in a row nearly nowhere else, so whole blocks are passed over.
fn find_start_code(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    while let Some(block) = bytes.get(at..).and_then(<[u8]>::first_chunk::<{ BLOCK + 1 }>) {
        if has_pair_of_zeros(block)
            && let Some(found) = (at..at + BLOCK).find(|&at| bytes[at..].starts_with(&[0, 0, 1]))
        {
            return Some(found);
        }
        at += BLOCK;
    }
    (at..bytes.len()).find(|&at| bytes[at..].starts_with(&[0, 0, 1]))
}

/// True where two zeros are one behind the other. Without branches, so that it compiles to vector instructions.
#[inline]
fn has_pair_of_zeros(block: &[u8; BLOCK + 1]) -> bool {
    block[..BLOCK].iter().zip(&block[1..]).fold(false, |found, (a, b)| found | (a | b == 0))
}

fn without_trailing_zeros(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    &bytes[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn units(stream: &[u8]) -> Vec<&[u8]> {
        nal_units(stream).collect()
    }

    #[test]
    fn both_start_codes_divide() {
        let stream = [9, 0, 0, 0, 1, 0x67, 1, 0, 0, 1, 0x68, 2, 0, 0, 0, 0, 1, 0x65, 0, 0, 3, 1];
        assert_eq!(units(&stream), [&[0x67, 1][..], &[0x68, 2], &[0x65, 0, 0, 3, 1]]);
    }

    #[test]
    fn nothing_and_almost_nothing() {
        for stream in [&[][..], &[0], &[0, 0, 1], &[0, 0, 1, 0, 0, 1, 0], &[0, 1, 2, 3]] {
            assert!(units(stream).is_empty(), "{stream:?}");
        }
        assert_eq!(units(&[0, 0, 1, 5]), [&[5][..]]);
        assert_eq!(units(&[0, 0, 1, 1, 0, 0, 1, 2]), [&[1][..], &[2]]);
        assert_eq!(units(&[0, 0, 1, 5, 9, 0, 1, 7]), [&[5, 9, 0, 1, 7][..]], "one zero is no start code");
    }

    /// Wherever it stands: within a block, across two, and in what is shorter than one. Pairs of zeros before it are none.
    #[test]
    fn a_start_code_is_found_at_any_place() {
        for len in 3..4 * BLOCK {
            for at in 0..=len - 3 {
                let mut stream = vec![9; len];
                stream[at..at + 3].copy_from_slice(&[0, 0, 1]);
                assert_eq!(find_start_code(&stream), Some(at), "of {len}");
                stream[at + 2] = 2;
                assert_eq!(find_start_code(&stream), None, "at {at} of {len}");
                stream[len - 3..].copy_from_slice(&[0, 0, 1]);
                assert_eq!(find_start_code(&stream), Some(len - 3), "behind {at}");
            }
        }
    }
}
