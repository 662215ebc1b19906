//! AV1, of which headers are read and nothing is decoded.

use super::{Decoded, Freeze, ReceivedFrame, VideoDecoder};
use crate::av1::{SequenceHeader, first_frame};
use crate::{Error, PictureSize};

/// Says of each temporal unit whether a decoder could decode it.
#[derive(Debug, Default)]
pub(crate) struct Av1HeaderDecoder {
    /// Of the present sequence, once a key frame came.
    size: Option<PictureSize>,
}

impl VideoDecoder for Av1HeaderDecoder {
    fn decode(&mut self, frame: &ReceivedFrame<'_>) -> Result<Decoded, Error> {
        if frame.after_loss {
            self.size = None;
        }
        let Some(is_key) = first_frame(frame.data) else { return Ok(Decoded::Frozen(Freeze::Delayed)) };
        if is_key {
            self.size = SequenceHeader::of(frame.data).map(|header| header.size);
        }
        Ok(self.size.map_or(Decoded::Frozen(Freeze::ReferencesMissing), Decoded::Unseen))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FrameId;
    use crate::av1::tests::SEQUENCE;
    use seaway_units::TimeDelta;

    #[test]
    fn a_loss_lasts_to_the_next_key_frame() {
        let mut decoder = Av1HeaderDecoder::default();
        let mut follow = |is_key: bool, after_loss| {
            let sequence = if is_key { &SEQUENCE[..] } else { &[] };
            let data = [sequence, &[0x32, 2, if is_key { 0x10 } else { 0x30 }, 1]].concat();
            let (id, time) = (FrameId(0), TimeDelta::ZERO);
            let decoded = decoder.decode(&ReceivedFrame { data: &data, id, time, after_loss });
            matches!(decoded.unwrap(), Decoded::Unseen(_))
        };
        let frames = [
            (false, false),
            (true, false),
            (false, false),
            (false, true),
            (false, false),
            (true, true),
            (false, false),
        ];
        let shown = frames.map(|(is_key, after_loss)| follow(is_key, after_loss));
        assert_eq!(shown, [false, true, true, false, false, true, true]);
    }
}
