//! OpenH264 as a decoder.

use super::continuity::Continuity;
use super::{Decoded, Freeze, ReceivedFrame, VideoDecoder};
use crate::codec::Decoder;
use crate::picture::PlaneView;
use crate::{Error, PicturePool, PictureSize};

/// What to do where reference pictures are missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Concealment {
    /// Output nothing until the next key frame.
    #[default]
    Freeze,
    /// Continue with the available references; pictures are damaged until the next key frame.
    Conceal,
}

/// Decodes progressive H.264 with 8 bits and 4:2:0. Without B pictures each access unit is output at once, otherwise pictures
/// come in the order in which they are shown.
pub struct H264Decoder {
    codec: Decoder,
    continuity: Continuity,
    pool: Option<PicturePool>,
}

impl H264Decoder {
    /// A decoder at the start of a stream.
    ///
    /// # Errors
    /// Where the library cannot be set up.
    pub fn new(concealment: Concealment) -> Result<Self, Error> {
        let mut codec = Decoder::new()?;
        if concealment == Concealment::Conceal {
            codec.conceal()?;
        }
        Ok(Self { codec, continuity: Continuity::new(concealment), pool: None })
    }
}

impl H264Decoder {
    /// As [`VideoDecoder::decode`], but the picture stays where the library has it, until the next call: its planes, of even sides.
    ///
    /// # Errors
    /// Why there is no new picture.
    pub fn decode_in_place(&mut self, frame: &ReceivedFrame<'_>) -> Result<[PlaneView<'_>; 3], Freeze> {
        decode(&mut self.codec, &mut self.continuity, frame).map(|(_, planes)| planes)
    }
}

impl VideoDecoder for H264Decoder {
    fn decode(&mut self, frame: &ReceivedFrame<'_>) -> Result<Decoded, Error> {
        Ok(match decode(&mut self.codec, &mut self.continuity, frame) {
            Ok((size, planes)) => {
                let pool = match &mut self.pool {
                    Some(pool) if pool.size() == size => pool,
                    pool => pool.insert(PicturePool::new(size)),
                };
                let mut buffer = pool.take();
                buffer.copy_from(planes);
                Decoded::Picture(buffer.finish(frame.id, frame.time))
            }
            Err(freeze) => Decoded::Frozen(freeze),
        })
    }
}

impl std::fmt::Debug for H264Decoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("H264Decoder").field("continuity", &self.continuity).finish_non_exhaustive()
    }
}

/// Decodes an access unit to a picture in the memory of the library, or says why there is none.
fn decode<'a>(
    codec: &'a mut Decoder,
    continuity: &mut Continuity,
    frame: &ReceivedFrame<'_>,
) -> Result<(PictureSize, [PlaneView<'a>; 3]), Freeze> {
    let concealment = continuity.concealment();
    let inspection = continuity.follow(frame)?;
    let size = inspection.size;
    let output = codec.decode(inspection.stream, !inspection.reorders);
    let trusted = output.sound || concealment == Concealment::Conceal;
    continuity.set_frozen(!trusted);
    match output.picture.filter(|_| trusted) {
        Some(planes) => cropped(planes, size).map(|planes| (size, planes)).ok_or(Freeze::Damaged),
        None if output.sound => Err(Freeze::Delayed),
        None => Err(Freeze::Damaged),
    }
}

/// The planes of a picture without what its parameter set crops; `None` where it is smaller than that says.
fn cropped(planes: [PlaneView<'_>; 3], size: PictureSize) -> Option<[PlaneView<'_>; 3]> {
    let (width, height) = (size.width() as usize, size.height() as usize);
    let [luma, u, v] = planes;
    (luma.width >= width && luma.height >= height).then_some([
        PlaneView { width, height, ..luma },
        PlaneView { width: width / 2, height: height / 2, ..u },
        PlaneView { width: width / 2, height: height / 2, ..v },
    ])
}
