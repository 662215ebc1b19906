//! EBML elements (RFC 8794): identifiers, sizes and children.

/// Identifiers of Matroska (RFC 9559), and those of EBML itself.
pub(super) mod id {
    pub(in super::super) const EBML: u32 = 0x1a45_dfa3;
    pub(in super::super) const SEGMENT: u32 = 0x1853_8067;
    pub(in super::super) const SEEK_HEAD: u32 = 0x114d_9b74;
    pub(in super::super) const SEEK: u32 = 0x4dbb;
    pub(in super::super) const SEEK_POSITION: u32 = 0x53ac;
    pub(in super::super) const INFO: u32 = 0x1549_a966;
    pub(in super::super) const TIMESTAMP_SCALE: u32 = 0x2a_d7b1;
    pub(in super::super) const TRACKS: u32 = 0x1654_ae6b;
    pub(in super::super) const TRACK_ENTRY: u32 = 0xae;
    pub(in super::super) const TRACK_NUMBER: u32 = 0xd7;
    pub(in super::super) const CODEC_ID: u32 = 0x86;
    pub(in super::super) const CONTENT_ENCODINGS: u32 = 0x6d80;
    pub(in super::super) const CLUSTER: u32 = 0x1f43_b675;
    pub(in super::super) const TIMESTAMP: u32 = 0xe7;
    pub(in super::super) const POSITION: u32 = 0xa7;
    pub(in super::super) const PREV_SIZE: u32 = 0xab;
    pub(in super::super) const SIMPLE_BLOCK: u32 = 0xa3;
    pub(in super::super) const BLOCK_GROUP: u32 = 0xa0;
    pub(in super::super) const BLOCK: u32 = 0xa1;
    pub(in super::super) const CUES: u32 = 0x1c53_bb6b;
    pub(in super::super) const CUE_POINT: u32 = 0xbb;
    pub(in super::super) const CUE_TRACK_POSITIONS: u32 = 0xb7;
    pub(in super::super) const CUE_CLUSTER_POSITION: u32 = 0xf1;
    pub(in super::super) const CUE_RELATIVE_POSITION: u32 = 0xf0;
    pub(in super::super) const CRC_32: u32 = 0xbf;
    /// An element whose content is to be ignored.
    pub(in super::super) const VOID: u8 = 0xec;
}

/// The header of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) id: u32,
    /// Bytes of the identifier, and of the size.
    pub(super) id_len: usize,
    pub(super) size_len: usize,
    /// Bytes of the content; `None` where it is unknown.
    pub(super) size: Option<u64>,
}

impl Header {
    pub(super) fn len(&self) -> usize {
        self.id_len + self.size_len
    }
}

/// What is at the start of some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Parsed {
    Header(Header),
    /// More bytes are needed.
    Incomplete,
    Malformed,
}

/// Reads the header of an element.
pub(super) fn parse(bytes: &[u8]) -> Parsed {
    let Some(&first) = bytes.first() else { return Parsed::Incomplete };
    let id_len = first.leading_zeros() as usize + 1;
    if id_len > 4 {
        return Parsed::Malformed;
    }
    let Some(&second) = bytes.get(id_len) else { return Parsed::Incomplete };
    let size_len = second.leading_zeros() as usize + 1;
    if size_len > 8 {
        return Parsed::Malformed;
    }
    let Some(size) = bytes.get(id_len..id_len + size_len) else { return Parsed::Incomplete };
    let id = uint(&bytes[..id_len]) as u32;
    let mask = unknown(size_len);
    let size = uint(size) & mask;
    Parsed::Header(Header { id, id_len, size_len, size: (size != mask).then_some(size) })
}

/// The value of a size of `len` bytes that says it is unknown: all its bits are ones.
fn unknown(len: usize) -> u64 {
    (1 << (7 * len)) - 1
}

/// A number of at most eight bytes; of more only the last eight.
pub(super) fn uint(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

/// Writes a size over the one of the same length; one that does not fit, and `None`, as unknown.
pub(super) fn set_size(field: &mut [u8], size: Option<u64>) {
    let mask = unknown(field.len());
    let value = size.filter(|&size| size < mask).unwrap_or(mask) | 1 << (7 * field.len());
    set_uint(field, value);
}

/// Writes a number over the one of the same length; true where it fits.
pub(super) fn set_uint(field: &mut [u8], value: u64) -> bool {
    let octets = value.to_be_bytes();
    let len = field.len().min(8);
    let pad = field.len() - len;
    field[..pad].fill(0);
    field[pad..].copy_from_slice(&octets[8 - len..]);
    octets[..8 - len].iter().all(|&octet| octet == 0)
}

/// The children within `content`, each with its place there; ends at the first that is malformed or cut.
pub(super) fn children(content: &[u8]) -> impl Iterator<Item = (Header, std::ops::Range<usize>)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let Parsed::Header(header) = parse(content.get(at..)?) else { return None };
        let begin = at + header.len();
        let end = begin.checked_add(usize::try_from(header.size?).ok()?)?;
        if end > content.len() {
            return None;
        }
        at = end;
        Some((header, begin..end))
    })
}

/// Makes an element with an identifier of one byte into one that is ignored.
pub(super) fn make_void(element: &mut [u8]) {
    element[0] = id::VOID;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_keep_their_length() {
        let header = |bytes: &[u8]| match parse(bytes) {
            Parsed::Header(header) => header,
            other => panic!("{other:?}"),
        };
        assert_eq!(header(&[0xa3, 0x40, 0x05]), Header { id: 0xa3, id_len: 1, size_len: 2, size: Some(5) });
        assert_eq!(header(&[0x1f, 0x43, 0xb6, 0x75, 0xff]).size, None);
        assert_eq!(parse(&[0xa3, 0x40]), Parsed::Incomplete);
        assert_eq!(parse(&[0x08, 0x80]), Parsed::Malformed);
        assert_eq!(parse(&[0xa3, 0]), Parsed::Malformed);
        let mut field = [0x40, 0x05];
        set_size(&mut field, Some(0x123));
        assert_eq!(field, [0x41, 0x23]);
        set_size(&mut field, None);
        assert_eq!(field, [0x7f, 0xff]);
        let mut field = [0; 3];
        assert!(set_uint(&mut field, 0x1234) && field == [0, 0x12, 0x34]);
        assert!(!set_uint(&mut field, 0x0100_0000));
    }

    #[test]
    fn children_end_where_they_are_cut() {
        let content = [0xe7, 0x81, 5, 0xa3, 0x82, 1, 2, 0xa3, 0x85, 0];
        let found: Vec<_> = children(&content).map(|(header, range)| (header.id, range)).collect();
        assert_eq!(found, [(0xe7, 2..3), (0xa3, 5..7)]);
    }
}
