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
    let mut at = 2;
    while at < bytes.len() {
        match bytes[at] {
            1 if bytes[at - 1] == 0 && bytes[at - 2] == 0 => {
                return Some((&bytes[..at - 2], &bytes[at + 1..]));
            }
            // A zero may be the first or second octet of a start code; anything else rules out all three.
            0 => at += 1,
            _ => at += 3,
        }
    }
    None
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
}
