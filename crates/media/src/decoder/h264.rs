//! OpenH264 as a decoder.

use super::continuity::Continuity;
use super::{Decoded, Freeze, ReceivedFrame, VideoDecoder};
use crate::codec::Decoder;
use crate::picture::PlaneView;
use crate::{Error, Picture, PicturePool, PictureSize};

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

impl VideoDecoder for H264Decoder {
    fn decode(&mut self, frame: &ReceivedFrame<'_>) -> Result<Decoded, Error> {
        let concealment = self.continuity.concealment();
        let inspection = match self.continuity.follow(frame) {
            Ok(inspection) => inspection,
            Err(freeze) => return Ok(Decoded::Frozen(freeze)),
        };
        let size = inspection.size;
        let output = self.codec.decode(inspection.stream, !inspection.reorders);
        let trusted = output.sound || concealment == Concealment::Conceal;
        self.continuity.set_frozen(!trusted);
        Ok(match output.picture.filter(|_| trusted) {
            Some(planes) => match copy(&mut self.pool, size, planes, frame) {
                Some(picture) => Decoded::Picture(picture),
                None => Decoded::Frozen(Freeze::Damaged),
            },
            None if output.sound => Decoded::Frozen(Freeze::Delayed),
            None => Decoded::Frozen(Freeze::Damaged),
        })
    }
}

impl std::fmt::Debug for H264Decoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("H264Decoder").field("continuity", &self.continuity).finish_non_exhaustive()
    }
}

/// Copies a picture from the decoder's memory; `None` where it is smaller than its parameter set says.
fn copy(
    pool: &mut Option<PicturePool>,
    size: PictureSize,
    planes: [PlaneView<'_>; 3],
    frame: &ReceivedFrame<'_>,
) -> Option<Picture> {
    if planes[0].width < size.width() as usize || planes[0].height < size.height() as usize {
        return None;
    }
    if pool.as_ref().is_none_or(|pool| pool.size() != size) {
        *pool = Some(PicturePool::new(size));
    }
    let mut buffer = pool.as_ref()?.take();
    buffer.copy_from(planes);
    Some(buffer.finish(frame.id, frame.time))
}
