//! Finds the packets in a stream of bytes, and resynchronises after a loss of sync.

use super::framing::{Framing, SYNC};
use super::packet::Packet;

/// Sync bytes in a row that regain sync.
const REGAIN: usize = 3;

/// The next part of the stream.
#[derive(Debug)]
pub(super) enum Framed {
    Packet(Packet),
    /// Bytes between packets.
    Junk(Vec<u8>),
}

/// Splits bytes into packets.
#[derive(Debug)]
pub(super) struct Framer {
    framing: Framing,
    bytes: Vec<u8>,
    at: usize,
    complete: bool,
}

impl Framer {
    pub(super) fn new(framing: Framing) -> Framer {
        Framer { framing, bytes: Vec::new(), at: 0, complete: false }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.at);
        self.at = 0;
        self.bytes.extend_from_slice(bytes);
    }

    pub(super) fn finish(&mut self) {
        self.complete = true;
    }

    pub(super) fn poll(&mut self) -> Option<Framed> {
        let stride = self.framing.stride();
        let rest = &self.bytes[self.at..];
        if rest.len() >= stride && self.synced(0) {
            let packet = Packet::new(&rest[..stride], self.framing);
            self.at += stride;
            return Some(Framed::Packet(packet));
        }
        // With more bytes a single damaged sync byte differs from a loss of sync.
        if rest.len() <= stride * REGAIN && !self.complete {
            return None;
        }
        let junk = self.junk();
        (junk > 0).then(|| {
            let bytes = self.bytes[self.at..self.at + junk].to_vec();
            self.at += junk;
            Framed::Junk(bytes)
        })
    }

    fn synced(&self, offset: usize) -> bool {
        self.bytes.get(self.at + offset + self.framing.lead()) == Some(&SYNC)
    }

    /// Number of bytes before the next packet, as far as it is known.
    fn junk(&self) -> usize {
        let (stride, rest) = (self.framing.stride(), self.bytes.len() - self.at);
        if rest < stride {
            return rest; // the stream is complete, and its last packet is cut short
        }
        if self.synced(stride) {
            return stride;
        }
        let last = if self.complete { rest } else { rest - stride * (REGAIN - 1) - self.framing.lead() };
        let regained = |offset: &usize| {
            let in_reach = |step: &usize| offset + step * stride + self.framing.lead() < rest;
            (0..REGAIN).filter(in_reach).all(|step| self.synced(offset + step * stride))
                && offset + stride <= rest
        };
        (1..last).find(regained).unwrap_or(last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn poll_all(framing: Framing, stream: &[u8], chunk: usize) -> (usize, Vec<u8>, Vec<u8>) {
        let mut framer = Framer::new(framing);
        let (mut packets, mut junk, mut all) = (0, Vec::new(), Vec::new());
        let mut take = |framer: &mut Framer| {
            while let Some(framed) = framer.poll() {
                match framed {
                    Framed::Packet(packet) => {
                        packets += 1;
                        all.extend_from_slice(packet.wire());
                    }
                    Framed::Junk(bytes) => {
                        all.extend_from_slice(&bytes);
                        junk.extend(bytes);
                    }
                }
            }
        };
        for chunk in stream.chunks(chunk) {
            framer.push(chunk);
            take(&mut framer);
        }
        framer.finish();
        take(&mut framer);
        (packets, junk, all)
    }

    fn stream(framing: Framing, packets: usize) -> Vec<u8> {
        (0..packets * framing.stride())
            .map(|at| if at % framing.stride() == framing.lead() { SYNC } else { (at % 251) as u8 & 0x3f })
            .collect()
    }

    #[test]
    fn sync_is_found_lost_and_found_again() {
        for framing in Framing::ALL {
            let stride = framing.stride();
            let good = stream(framing, 10);
            let mut damaged = good.clone();
            damaged[3 * stride + framing.lead()] = 0; // one sync byte
            let mut shifted = good.clone();
            shifted.splice(5 * stride..5 * stride, [1, 2, 3, 4, 5]); // five bytes too many
            let cut = &good[..good.len() - 7];
            for chunk in [1, 187, 188, 1000, 5000] {
                assert_eq!(poll_all(framing, &good, chunk), (10, vec![], good.clone()));
                let (packets, junk, all) = poll_all(framing, &damaged, chunk);
                assert_eq!((packets, junk.len(), all), (9, stride, damaged.clone()));
                let (packets, junk, all) = poll_all(framing, &shifted, chunk);
                assert_eq!((packets, junk.len(), all), (10, 5, shifted.clone()));
                let (packets, junk, all) = poll_all(framing, cut, chunk);
                assert_eq!((packets, junk.len(), all), (9, stride - 7, cut.to_vec()));
            }
        }
    }

    #[test]
    fn noise_passes() {
        let noise = vec![0x12; 3000];
        let (packets, junk, _) = poll_all(Framing::Plain, &noise, 100);
        assert_eq!((packets, junk), (0, noise));
    }
}
