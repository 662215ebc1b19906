//! OpenH264 at a constant quantiser.

use super::EncodedFrame;
use super::LiveEncoder;
use crate::codec::Encoder;
use crate::{Error, FrameRate, Picture, PictureSize};
use seaway_units::Bitrate;

/// H.264 constrained baseline at a constant quantiser, for recordings and for tables of sizes.
pub struct ConstantQpEncoder {
    codec: Encoder,
    quantiser: u8,
    size: Option<PictureSize>,
}

impl ConstantQpEncoder {
    /// An encoder that has coded nothing; it takes the size of each picture. `quantiser` is 10 to 51, 51 the coarsest.
    ///
    /// # Errors
    /// Where the library cannot be set up.
    pub fn new(frame_rate: FrameRate, quantiser: u8) -> Result<Self, Error> {
        Ok(Self { codec: Encoder::new(frame_rate, &LiveEncoder::QUANTISERS)?, quantiser, size: None })
    }

    /// Codes one picture, with `key` as a key frame. The first picture and those of a new size are always key frames.
    ///
    /// # Errors
    /// Where the library refuses the picture.
    pub fn encode(&mut self, picture: &Picture, key: bool) -> Result<EncodedFrame, Error> {
        let is_new = self.size.replace(picture.size()) != Some(picture.size());
        if is_new {
            // The codec accepts a quantiser only once it knows the size, so this attempt is discarded.
            self.codec.encode(picture)?;
            self.codec.set_quantiser(self.quantiser)?;
        }
        let key = key || is_new;
        if key {
            self.codec.force_key_frame();
        }
        let data = self.codec.encode(picture)?;
        Ok(EncodedFrame {
            data,
            id: picture.id(),
            time: picture.time(),
            key,
            quantiser: self.quantiser,
            target: Bitrate::ZERO,
            size: picture.size(),
        })
    }
}

impl std::fmt::Debug for ConstantQpEncoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ConstantQpEncoder").field("quantiser", &self.quantiser).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::{PictureSource, Synthetic};

    #[test]
    fn a_repeated_picture_takes_few_bits() {
        let mut source = Synthetic::from_specification("320x180@25").unwrap();
        let mut encoder = ConstantQpEncoder::new(FrameRate::USUAL, 30).unwrap();
        let picture = source.next_picture().unwrap().unwrap();
        let sizes: Vec<_> = (0..4)
            .map(|index| {
                let picture = picture.with_identity(picture.id(), FrameRate::USUAL.time_of(index));
                let frame = encoder.encode(&picture, index == 2).unwrap();
                (frame.key, frame.data.len())
            })
            .collect();
        assert_eq!(sizes.iter().map(|(key, _)| *key).collect::<Vec<_>>(), [true, false, true, false]);
        assert!(sizes[3].1 * 20 < sizes[2].1, "{sizes:?}");
    }
}
