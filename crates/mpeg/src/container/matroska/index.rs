//! What points at clusters: the cues, by which players seek, and the seek head, which finds the cues.

use std::ops::Range;

use super::ebml::{self, id};

/// Where the elements of a segment were, and where they are now, counted from its content.
#[derive(Debug, Default)]
pub(super) struct Moves {
    moves: Vec<(u64, u64)>,
}

/// The most elements whose places are kept; what points at others is dropped.
const MOST: usize = 1 << 20;

impl Moves {
    pub(super) fn add(&mut self, before: u64, now: u64) {
        if self.moves.len() < MOST {
            self.moves.push((before, now));
        }
    }

    fn find(&self, before: u64) -> Option<u64> {
        let at = self.moves.binary_search_by_key(&before, |(before, _)| *before).ok()?;
        Some(self.moves[at].1)
    }
}

/// An element that points at others, seek head or cues, with its header.
#[derive(Clone, Debug)]
pub(super) struct Index {
    bytes: Vec<u8>,
    head: usize,
    /// Fields with places.
    places: Vec<Range<usize>>,
    /// Elements that do not hold once anything has moved: check sums and places within a cluster.
    stale: Vec<usize>,
}

impl Index {
    /// Reads an element with a header of `head` bytes.
    pub(super) fn new(bytes: &[u8], head: usize) -> Index {
        let mut index = Index { bytes: bytes.to_vec(), head, places: Vec::new(), stale: Vec::new() };
        index.read(head..bytes.len());
        index
    }

    fn read(&mut self, content: Range<usize>) {
        let children: Vec<_> = ebml::children(&self.bytes[content.clone()]).collect();
        for (child, range) in children {
            let range = content.start + range.start..content.start + range.end;
            match child.id {
                id::SEEK | id::CUE_POINT | id::CUE_TRACK_POSITIONS => self.read(range),
                id::SEEK_POSITION | id::CUE_CLUSTER_POSITION => self.places.push(range),
                id::CRC_32 | id::CUE_RELATIVE_POSITION => self.stale.push(range.start - child.len()),
                _ => {}
            }
        }
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The element with all places as they are now; an element to be ignored where one is not known.
    pub(super) fn moved(&self, moves: &Moves) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        let mut changed = false;
        for place in &self.places {
            let field = &mut bytes[place.clone()];
            let before = ebml::uint(field);
            let Some(now) = moves.find(before).filter(|&now| ebml::set_uint(field, now)) else {
                return self.ignored();
            };
            changed |= now != before;
        }
        if changed {
            self.stale.iter().for_each(|&at| ebml::make_void(&mut bytes[at..]));
        }
        bytes
    }

    /// An element of the same length that is to be ignored.
    pub(super) fn ignored(&self) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        ebml::make_void(&mut bytes);
        // The identifier has one byte, and so the size has the rest of the header.
        let size = (bytes.len() - self.head) as u64;
        let field = &mut bytes[1..self.head];
        field.fill(0);
        let len = field.len().min(8);
        let skipped = field.len() - len;
        ebml::set_size(&mut field[..len], Some(size + skipped as u64));
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_follow_and_what_is_lost_is_ignored() {
        // Cues: check sum, one point with a place of 300 and one within the cluster.
        let cues = [
            &[0x1c, 0x53, 0xbb, 0x6b, 0x8f, 0xbf, 0x82, 9, 9][..],
            &[0xbb, 0x89, 0xb7, 0x87, 0xf1, 0x82, 1, 44, 0xf0, 0x81, 7],
        ]
        .concat();
        let index = Index::new(&cues, 5);
        let mut moves = Moves::default();
        moves.add(300, 300);
        assert_eq!(index.moved(&moves), cues);
        let mut moves = Moves::default();
        moves.add(300, 280);
        let moved = index.moved(&moves);
        assert_eq!((&moved[15..17], moved[5], moved[17]), (&[1, 24][..], 0xec, 0xec));
        let ignored = index.moved(&Moves::default());
        assert_eq!(
            ebml::parse(&ignored),
            ebml::Parsed::Header(ebml::Header { id: 0xec, id_len: 1, size_len: 4, size: Some(15) })
        );
    }
}
