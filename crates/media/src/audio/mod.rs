//! Sound: inputs of PCM, the Opus encoder and decoder, levels.
//!
//! A [`Block`] is 20 ms of sound, which is also what an Opus packet of ours carries.

mod aac;
mod coded;
mod command;
mod ffmpeg;
mod opus;
mod opus_units;
mod piped;
mod recovery;
mod tone;

pub use coded::{CodedTrack, SoundFrame};
pub use command::CommandAudio;
pub use ffmpeg::FfmpegAudio;
pub use opus::{OpusDecoder, OpusEncoder};
pub(crate) use piped::{PipedTrack, Tap};
pub use recovery::{DecodedSound, SoundRecovery};
pub use tone::TestTone;

use crate::Error;
use crate::input::Synthetic;
use crate::transport::SoundFormat;
use seaway_units::{Decibels, TimeDelta};
use std::fmt;

/// Samples a second.
pub const SAMPLE_RATE: u32 = 48_000;
/// Samples of a block, each of two channels.
pub const BLOCK_SAMPLES: usize = 960;
/// The duration of a block.
pub const BLOCK_TIME: TimeDelta = TimeDelta::from_millis(20);

/// 20 ms of sound: left and right in turn.
pub type Block = [i16; 2 * BLOCK_SAMPLES];

/// A source of sound that belongs to pictures. Its first sample is played when the first picture is shown.
pub trait AudioSource: fmt::Debug + Send {
    /// Writes the next 20 ms over `block`, silence behind the last sample. False at the end: nothing was written.
    ///
    /// # Errors
    /// The input is damaged or cannot be read.
    fn next_block(&mut self, block: &mut Block) -> Result<bool, Error>;

    /// Where the sound comes from in a word: a codec, or `tone`.
    fn codec(&self) -> &str;

    /// It comes as it is captured, and what is not read in time is lost or late.
    fn is_live(&self) -> bool {
        false
    }

    /// The frames that it is decoded from, as they are, beside its blocks; `None` where there are none of this format, or where
    /// blocks were taken.
    fn take_coded(&mut self, _format: SoundFormat) -> Option<Result<CodedTrack, Error>> {
        None
    }

    /// Begins again with the first sample.
    ///
    /// # Errors
    /// The input cannot be opened again.
    fn rewind(&mut self) -> Result<(), Error>;
}

/// The sound that belongs to the pictures of `name`, as [`input::open`](crate::input::open) opens them: that of `test:…+tone` is
/// a beep each second, that of a file is decoded by FFmpeg. `None` where the input has none; a camera and a network stream are
/// not searched, and the sound of a pipe comes with [its pictures](crate::input::PictureSource::take_sound).
///
/// # Errors
/// It has sound that cannot be decoded, for example because FFmpeg is not installed.
pub fn open(name: &str) -> Result<Option<Box<dyn AudioSource>>, Error> {
    if name.starts_with("test:") {
        let has_tone = name.ends_with(Synthetic::TONE);
        return Ok(has_tone.then(|| Box::new(TestTone::default()) as Box<dyn AudioSource>));
    }
    if !std::fs::metadata(name).is_ok_and(|metadata| metadata.is_file()) {
        return Ok(None);
    }
    let source = FfmpegAudio::open(name)?;
    Ok(source.map(|source| Box::new(source) as Box<dyn AudioSource>))
}

/// The level of samples, as RMS over all of them: 0 dB is that of a square wave at full scale (dBFS as in RFC 6465 section 4).
/// `None` for silence.
pub fn level(samples: &[i16]) -> Option<Decibels> {
    let power: f64 = samples.iter().map(|&sample| f64::from(sample) * f64::from(sample)).sum();
    let full = f64::from(i16::MAX) * f64::from(i16::MAX) * samples.len() as f64;
    (power > 0.0).then(|| Decibels::from_ratio(power / full))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels() {
        assert_eq!(level(&[]), None);
        assert_eq!(level(&[0; 100]), None);
        assert_eq!(level(&[i16::MAX, -i16::MAX]), Some(Decibels::new(0.0)));
        let half = level(&[16384, -16384, 0, 0]).unwrap().get();
        assert!((half + 9.03).abs() < 0.01, "{half}: half the amplitude, half the time");
    }
}
