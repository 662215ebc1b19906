//! One cluster: its blocks of video become smaller, and all sizes around them.

use std::ops::Range;

use super::ebml::{self, Parsed, id};
use crate::container::track::VideoTrack;

/// A cluster of the input, or a part of one.
#[derive(Debug)]
pub(super) struct Cluster {
    /// Its header and its content.
    bytes: Vec<u8>,
    /// Bytes of the header.
    head: usize,
    /// Bytes of the field with its size.
    size_len: usize,
    /// The input did not know its size.
    endless: bool,
    /// Where it begins in the input, counted from the content of the segment.
    pub(super) begin: u64,
    /// Its time in units of [`VideoInfo::scale`].
    timestamp: u64,
    blocks: Vec<Block>,
}

/// A block of video.
#[derive(Debug)]
struct Block {
    /// The fields with the sizes of the block and of the group around it.
    sizes: [Option<Range<usize>>; 2],
    payload: Range<usize>,
    /// The payload as positions in the video.
    video: Range<u64>,
}

/// The video track and the unit of its time stamps.
#[derive(Clone, Copy, Debug)]
pub(super) struct VideoInfo {
    pub(super) number: u64,
    /// Nanoseconds of a unit of time.
    pub(super) scale: u64,
}

impl Cluster {
    /// A cluster with this header and no content yet.
    pub(super) fn new(header: &[u8], size_len: usize, endless: bool, begin: u64) -> Cluster {
        let (bytes, head) = (header.to_vec(), header.len());
        Cluster { bytes, head, size_len, endless, begin, timestamp: 0, blocks: Vec::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// A cluster for the rest of this one, with the same time.
    pub(super) fn split(&self, begin: u64) -> Cluster {
        let mut header = [&id::CLUSTER.to_be_bytes()[..], &[0; 8]].concat();
        ebml::set_size(&mut header[4..], None);
        let mut rest = Cluster::new(&header, 8, false, begin);
        let mut stamp = vec![id::TIMESTAMP as u8, 0x88];
        stamp.extend(self.timestamp.to_be_bytes());
        rest.bytes.extend(stamp);
        rest.timestamp = self.timestamp;
        rest
    }

    /// Adds a child of the cluster. False for a block of video with lacing.
    pub(super) fn push(&mut self, child: &[u8], info: VideoInfo, track: &mut VideoTrack) -> bool {
        let at = self.bytes.len();
        self.bytes.extend_from_slice(child);
        let Parsed::Header(header) = ebml::parse(child) else { return true };
        let content = &child[header.len()..];
        let size = at + header.id_len..at + header.len();
        match header.id {
            id::TIMESTAMP => self.timestamp = ebml::uint(content),
            id::SIMPLE_BLOCK => {
                return self.block(content, at + header.len(), [Some(size), None], info, track);
            }
            id::BLOCK_GROUP => {
                let found = ebml::children(content).find(|(child, _)| child.id == id::BLOCK);
                if let Some((block, range)) = found {
                    let base = at + header.len() + range.start;
                    let own = base - block.size_len..base;
                    return self.block(&content[range], base, [Some(own), Some(size)], info, track);
                }
            }
            _ => {}
        }
        true
    }

    /// Adds a block whose content stands at `base`.
    fn block(
        &mut self,
        content: &[u8],
        base: usize,
        sizes: [Option<Range<usize>>; 2],
        info: VideoInfo,
        track: &mut VideoTrack,
    ) -> bool {
        // Track number, time relative to the cluster, flags (RFC 9559, section 10).
        let number_len = content.first().map_or(9, |first| first.leading_zeros() as usize + 1);
        let Some(&[high, low, flags]) = content.get(number_len..number_len + 3) else { return true };
        let number = ebml::uint(&content[..number_len]) & ((1u64 << (7 * number_len)) - 1);
        if number != info.number {
            return true;
        }
        if flags & LACING != 0 {
            return false;
        }
        let time = i128::from(self.timestamp) + i128::from(i16::from_be_bytes([high, low]));
        let stamp = (time * i128::from(info.scale) * 9 / 100_000).rem_euclid(1 << 33);
        track.push_time_stamp(stamp as u64, None);
        let begin = track.position;
        track.push(&content[number_len + 3..]);
        let payload = base + number_len + 3..base + content.len();
        self.blocks.push(Block { sizes, payload, video: begin..track.position });
        true
    }

    /// True where all its video may be written.
    pub(super) fn is_ready(&self, track: &VideoTrack) -> bool {
        self.blocks.last().is_none_or(|block| block.video.end <= track.writable)
    }

    /// Appends it to `output` with its shaped video. `position` is where it begins now, and `before` the length of the
    /// cluster before it. Returns its own.
    pub(super) fn write(
        mut self,
        track: &mut VideoTrack,
        (position, before): (u64, u64),
        output: &mut Vec<u8>,
    ) -> u64 {
        let first = output.len();
        let payloads: Vec<Vec<u8>> = self
            .blocks
            .iter()
            .map(|block| {
                let mut payload = Vec::with_capacity(block.payload.len());
                track.write(&block.video, &self.bytes[block.payload.clone()], &mut payload);
                payload
            })
            .collect();
        let less: Vec<u64> = self
            .blocks
            .iter()
            .zip(&payloads)
            .map(|(block, payload)| (block.payload.len() - payload.len()) as u64)
            .collect();
        let freed: u64 = less.iter().sum();
        // Before the sizes change: it looks for children.
        if freed > 0 || position != self.begin {
            self.renew(position, before);
        }
        for (block, less) in self.blocks.iter().zip(less) {
            for field in block.sizes.iter().flatten() {
                let field = &mut self.bytes[field.clone()];
                let size = ebml::uint(field) & ((1u64 << (7 * field.len())) - 1);
                ebml::set_size(field, Some(size - less));
            }
        }
        if !self.endless {
            let size = (self.bytes.len() - self.head) as u64 - freed;
            ebml::set_size(&mut self.bytes[self.head - self.size_len..self.head], Some(size));
        }
        let mut from = 0;
        for (block, payload) in self.blocks.iter().zip(&payloads) {
            output.extend_from_slice(&self.bytes[from..block.payload.start]);
            output.extend_from_slice(payload);
            from = block.payload.end;
        }
        output.extend_from_slice(&self.bytes[from..]);
        if let Some(block) = self.blocks.last() {
            track.release(block.video.end, |_| ());
        }
        (output.len() - first) as u64
    }

    /// Renews what the cluster says of places: its own, and the length of the one before. A check sum no longer holds.
    fn renew(&mut self, position: u64, before: u64) {
        let content = &self.bytes[self.head..];
        let found: Vec<_> = ebml::children(content)
            .filter(|(child, _)| matches!(child.id, id::CRC_32 | id::POSITION | id::PREV_SIZE))
            .collect();
        for (child, range) in found {
            let range = self.head + range.start..self.head + range.end;
            let fits = match child.id {
                id::POSITION => ebml::set_uint(&mut self.bytes[range.clone()], position),
                id::PREV_SIZE => ebml::set_uint(&mut self.bytes[range.clone()], before),
                _ => false,
            };
            if !fits {
                ebml::make_void(&mut self.bytes[range.start - child.len()..]);
            }
        }
    }
}

/// The bits of a block's flags that say how several frames share it.
const LACING: u8 = 0x06;
