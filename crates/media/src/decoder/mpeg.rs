//! MPEG-1 and MPEG-2 video in its container.

use super::{Decoded, Freeze, ReceivedFrame, VideoDecoder};
use crate::input::mpeg::copy;
use crate::{Error, Picture, PicturePool, PictureSize};
use seaway_mpeg::container::{self, Config, Remuxer, Replacement};
use seaway_mpeg::decode::{self, Decoder};
use seaway_mpeg::header::PictureKind;
use std::collections::VecDeque;
use std::fmt;

/// Decodes a stream that arrives in pieces, one for each picture. The picture comes with a later piece, because pictures are
/// displayed in another order than they are coded.
///
/// After a loss the last picture stays to the next I picture.
pub struct MpegDecoder {
    remuxer: Remuxer,
    decoder: Decoder,
    pool: PicturePool,
    ready: VecDeque<Picture>,
    /// Pictures before the next I picture have no references, or damaged ones.
    is_frozen: bool,
    discarded: Vec<u8>,
}

/// Pictures that wait to be displayed at most: a piece may hold two fields, or the end of one picture and a whole one.
const MOST_READY: usize = 3;

impl MpegDecoder {
    /// A decoder at the start of a stream.
    pub fn new() -> Self {
        Self {
            remuxer: Remuxer::new(Config::default()),
            decoder: Decoder::new(),
            pool: PicturePool::new(PictureSize::SMALLEST),
            ready: VecDeque::new(),
            is_frozen: true,
            discarded: Vec::new(),
        }
    }

    fn push(&mut self, octets: &[u8]) -> Result<(), container::Error> {
        self.remuxer.push(octets)?;
        while let Some(picture) = self.remuxer.poll_picture() {
            self.is_frozen |= picture.damaged;
            self.decoder.decode_unit(&picture.unit);
            self.remuxer.replace(Replacement::Kept)?;
        }
        self.remuxer.drain_output(&mut self.discarded);
        self.discarded.clear();
        Ok(())
    }

    fn display(&mut self, decoded: &decode::Decoded) {
        if decoded.concealed > 0 {
            self.is_frozen = true;
        } else if decoded.kind == PictureKind::I {
            self.is_frozen = false;
        }
        if self.is_frozen {
            return;
        }
        if let Ok(picture) = copy(&mut self.pool, &decoded.frame) {
            if self.ready.len() == MOST_READY {
                self.ready.pop_front();
            }
            self.ready.push_back(picture);
        }
    }
}

impl Default for MpegDecoder {
    fn default() -> Self {
        Self::new()
    }
}

impl VideoDecoder for MpegDecoder {
    fn decode(&mut self, frame: &ReceivedFrame<'_>) -> Result<Decoded, Error> {
        self.is_frozen |= frame.after_loss;
        if self.push(frame.data).is_err() {
            // Another stream may begin with the next piece.
            self.remuxer = Remuxer::new(Config::default());
            self.is_frozen = true;
        }
        while let Some(decoded) = self.decoder.pull() {
            self.display(&decoded);
        }
        Ok(match self.ready.pop_front() {
            Some(picture) => Decoded::Picture(picture.with_identity(frame.id, frame.time)),
            None if self.is_frozen => Decoded::Frozen(Freeze::ReferencesMissing),
            None => Decoded::Frozen(Freeze::Delayed),
        })
    }
}

impl fmt::Debug for MpegDecoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MpegDecoder").field("decoder", &self.decoder.stats()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FrameId;
    use crate::shaped::{Encapsulation, Method, ShapedStream};
    use seaway_units::{Bitrate, TimeDelta};

    const CLIP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../assets/bigbuckbunny_320x180.m2v");

    fn shown(lost: impl Fn(usize) -> bool) -> Vec<bool> {
        let mut stream =
            ShapedStream::open(CLIP, Encapsulation::Container, Method::Memoryless, false).unwrap();
        let (mut decoder, mut after_loss, mut shown) = (MpegDecoder::new(), false, Vec::new());
        for index in 0.. {
            let Some(piece) = stream.next_piece(Bitrate::from_kbps(200)).unwrap() else { break };
            if lost(index) {
                after_loss = true;
                continue;
            }
            let (data, id, time) = (&piece.octets[..], FrameId(index as u64), TimeDelta::ZERO);
            let frame = ReceivedFrame { data, id, time, after_loss: std::mem::take(&mut after_loss) };
            shown.push(matches!(decoder.decode(&frame).unwrap(), Decoded::Picture(_)));
        }
        shown
    }

    #[test]
    fn every_picture_is_displayed() {
        let shown = shown(|_| false);
        assert_eq!(shown.len(), 132);
        // One piece is incomplete until the next begins, one reference is held for reordering.
        assert!(shown.iter().filter(|shown| **shown).count() >= 129, "{shown:?}");
    }

    #[test]
    fn a_loss_freezes_to_the_next_intra_picture() {
        let shown = shown(|index| index == 40);
        let frozen = shown[40..].iter().take_while(|shown| !**shown).count();
        assert!((2..=20).contains(&frozen), "{frozen}");
        assert!(shown[40 + frozen + 1..].iter().all(|shown| *shown));
    }

    #[test]
    fn any_octets_are_safe() {
        let mut decoder = MpegDecoder::new();
        for index in 0..200u32 {
            let data: Vec<u8> = (0..500u32).map(|at| (at * at + index * 7919) as u8).collect();
            let frame =
                ReceivedFrame { data: &data, id: FrameId(0), time: TimeDelta::ZERO, after_loss: false };
            assert!(matches!(decoder.decode(&frame), Ok(Decoded::Frozen(_))));
        }
    }
}
