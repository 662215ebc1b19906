//! H.265, of which headers are read and nothing is decoded.

use super::{Decoded, Freeze, ReceivedFrame, VideoDecoder};
use crate::h264::nal_units;
use crate::h265::{SequenceParameters, type_of};
use crate::{Error, PictureSize};

/// Says of each access unit whether a decoder could decode it.
#[derive(Debug, Default)]
pub(crate) struct H265HeaderDecoder {
    size: Option<PictureSize>,
    has_begun: bool,
    /// Leading pictures refer to pictures before the random access point, which did not come.
    skips_leading: bool,
}

/// What a slice is of (ITU-T H.265 table 7-1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Slice {
    /// An IDR picture: what follows refers to nothing before it.
    Idr,
    /// Another random access point (CRA).
    OpenRandomAccess,
    /// A random access point behind a splice (BLA): what its leading pictures refer to is never there.
    BrokenLink,
    /// A picture that is shown before the random access point and may refer to pictures before that.
    SkippedLeading,
    Other,
}

impl Slice {
    fn of(nal: &[u8]) -> Option<Self> {
        match type_of(nal)? {
            19 | 20 => Some(Self::Idr),
            21 => Some(Self::OpenRandomAccess),
            16..=18 => Some(Self::BrokenLink),
            8 | 9 => Some(Self::SkippedLeading),
            0..=7 => Some(Self::Other),
            _ => None,
        }
    }
}

impl VideoDecoder for H265HeaderDecoder {
    fn decode(&mut self, frame: &ReceivedFrame<'_>) -> Result<Decoded, Error> {
        self.size = SequenceParameters::of(frame.data).map(|parameters| parameters.size).or(self.size);
        self.has_begun &= !frame.after_loss;
        let Some(slice) = nal_units(frame.data).find_map(Slice::of) else {
            // Parameter sets may come alone.
            return Ok(Decoded::Frozen(Freeze::Delayed));
        };
        let is_key = matches!(slice, Slice::Idr | Slice::OpenRandomAccess | Slice::BrokenLink);
        if is_key {
            let is_first = !self.has_begun;
            self.skips_leading = slice == Slice::BrokenLink || is_first && slice == Slice::OpenRandomAccess;
        }
        self.has_begun |= is_key;
        let Some(size) = self.size.filter(|_| self.has_begun) else {
            return Ok(Decoded::Frozen(Freeze::ReferencesMissing));
        };
        if slice == Slice::SkippedLeading && self.skips_leading {
            return Ok(Decoded::Frozen(Freeze::Delayed));
        }
        Ok(Decoded::Unseen(size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FrameId;
    use crate::h265::tests::SPS;
    use seaway_units::TimeDelta;

    /// Slices by their types, whether others are lost before, and whether they could be decoded.
    fn follow(slices: &[(u8, bool)]) -> Vec<bool> {
        let mut decoder = H265HeaderDecoder::default();
        let decoded = slices.iter().map(|(kind, after_loss)| {
            let sets = if (16..=21).contains(kind) { &SPS[..] } else { &[] };
            let data = [sets, &[0, 0, 1, kind << 1, 1, 0x80]].concat();
            let (id, time, after_loss) = (FrameId(0), TimeDelta::ZERO, *after_loss);
            let decoded = decoder.decode(&ReceivedFrame { data: &data, id, time, after_loss });
            matches!(decoded.unwrap(), Decoded::Unseen(_))
        });
        decoded.collect()
    }

    #[test]
    fn leading_pictures_need_what_came_before() {
        // IDR, trailing, CRA and its leading picture; a loss up to the next CRA, whose leading picture refers to what is missing.
        let slices = [
            (1, false),
            (19, false),
            (1, false),
            (21, false),
            (9, false),
            (1, true),
            (21, false),
            (9, false),
            (1, false),
        ];
        assert_eq!(follow(&slices), [false, true, true, true, true, false, true, false, true]);
        assert_eq!(follow(&[(21, true), (8, false)]), [true, false]);
        assert_eq!(follow(&[(19, false), (16, false), (9, false), (1, false)]), [true, true, false, true]);
        // A delimiter comes alone behind the loss.
        assert_eq!(follow(&[(19, false), (35, true), (1, false)]), [true, false, false]);
    }
}
