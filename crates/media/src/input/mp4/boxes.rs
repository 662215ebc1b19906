//! Boxes of ISO/IEC 14496-12, read from memory with every length checked.

/// Reads fields from the front of a payload; `None` past the end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields<'a>(pub(super) &'a [u8]);

impl<'a> Fields<'a> {
    pub(super) fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(head)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_be_bytes)
    }

    /// A field of 32 bits in version 0 of a box, of 64 bits in version 1.
    pub(super) fn word(&mut self, version: u8) -> Option<u64> {
        if version == 0 { self.u32().map(u64::from) } else { self.u64() }
    }

    /// Version and flags at the start of a full box.
    pub(super) fn version_and_flags(&mut self) -> Option<(u8, u32)> {
        let word = self.u32()?;
        Some(((word >> 24) as u8, word & 0xFF_FFFF))
    }
}

/// The boxes of a payload: type and payload of each. Ends at the first that is cut short.
pub(super) fn boxes(payload: &[u8]) -> impl Iterator<Item = ([u8; 4], &[u8])> {
    let mut rest = Fields(payload);
    std::iter::from_fn(move || {
        let whole = rest;
        let (short, kind) = (rest.u32()?, rest.array::<4>()?);
        let (length, header) = match short {
            0 => (whole.0.len(), 8),
            1 => (usize::try_from(rest.u64()?).ok()?, 16),
            length => (length as usize, 8),
        };
        let (this, after) = whole.0.split_at_checked(length)?;
        rest = Fields(after);
        Some((kind, this.get(header..)?))
    })
}

/// The payload of the box at `path`, with the first box of the name at each step.
pub(super) fn find<'a>(payload: &'a [u8], path: &[&[u8; 4]]) -> Option<&'a [u8]> {
    path.iter().try_fold(payload, |payload, name| {
        boxes(payload).find(|(kind, _)| kind == *name).map(|(_, payload)| payload)
    })
}

/// The entries of a table: a count, and as many entries of `N` words. A count beyond the end is reduced.
pub(super) fn table<const N: usize>(payload: &[u8]) -> Option<impl Iterator<Item = [u32; N]> + Clone> {
    let mut fields = Fields(payload);
    fields.version_and_flags()?;
    let count = fields.u32()? as usize;
    let entries = fields.0.chunks_exact(4 * N).take(count);
    Some(entries.map(|entry| {
        std::array::from_fn(|i| {
            u32::from_be_bytes([entry[4 * i], entry[4 * i + 1], entry[4 * i + 2], entry[4 * i + 3]])
        })
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_all_three_forms() {
        let mut stream = Vec::new();
        stream.extend([0, 0, 0, 10, b'a', b'a', b'a', b'a', 1, 2]);
        stream.extend([0, 0, 0, 1, b'b', b'b', b'b', b'b', 0, 0, 0, 0, 0, 0, 0, 17, 3]);
        stream.extend([0, 0, 0, 0, b'c', b'c', b'c', b'c', 4, 5]);
        let found: Vec<_> = boxes(&stream).collect();
        assert_eq!(found, [(*b"aaaa", &[1, 2][..]), (*b"bbbb", &[3]), (*b"cccc", &[4, 5])]);
        assert_eq!(boxes(&[0, 0, 0, 9, 1, 1, 1, 1]).count(), 0, "longer than the payload");
        assert_eq!(boxes(&[0, 0, 0, 4, 1, 1, 1, 1]).count(), 0, "shorter than its header");
        assert_eq!(boxes(&[0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 9]).count(), 0);
    }

    #[test]
    fn a_count_beyond_the_end_is_cut() {
        let stsc = [0, 0, 0, 0, 255, 255, 255, 255, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 9];
        assert_eq!(table::<3>(&stsc).unwrap().collect::<Vec<_>>(), [[1, 2, 3]]);
        assert!(table::<3>(&stsc[..7]).is_none());
    }
}
