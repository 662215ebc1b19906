//! The bundled clip: five seconds of *Big Buck Bunny*, (c) 2008 Blender Foundation,
//! <https://peach.blender.org>, Creative Commons Attribution 3.0. A build without the feature `codec` leaves it out.

use crate::Error;

/// The MP4 file, 1280x720, 25 pictures/s, 132 pictures.
#[cfg(feature = "codec")]
pub static BIG_BUCK_BUNNY: &[u8] = include_bytes!("../assets/bigbuckbunny_720p.mp4");

/// The same as an MPEG-2 elementary stream, 320x180, 250 kbit/s: an input of the shaper.
#[cfg(feature = "codec")]
pub static BIG_BUCK_BUNNY_MPEG2: &[u8] = include_bytes!("../assets/bigbuckbunny_320x180.m2v");

/// The attribution to show with the clip.
pub const ATTRIBUTION: &str = "Big Buck Bunny, (c) 2008 Blender Foundation, peach.blender.org, CC BY 3.0";

/// The MP4 file.
///
/// # Errors
/// In a build without the feature `codec`.
pub fn mp4() -> Result<&'static [u8], Error> {
    #[cfg(feature = "codec")]
    return Ok(BIG_BUCK_BUNNY);
    #[cfg(not(feature = "codec"))]
    Err(absent())
}

/// The MPEG-2 elementary stream.
///
/// # Errors
/// In a build without the feature `codec`.
pub fn mpeg2() -> Result<&'static [u8], Error> {
    #[cfg(feature = "codec")]
    return Ok(BIG_BUCK_BUNNY_MPEG2);
    #[cfg(not(feature = "codec"))]
    Err(absent())
}

#[cfg(not(feature = "codec"))]
fn absent() -> Error {
    Error::Unsupported("this build has no bundled clip".into())
}
