//! What of the sound is played, and how far from the pictures.

use seaway_quality::histogram::Histogram;
use seaway_units::TimeDelta;

/// The delays of sound, and their distance from those of pictures.
#[derive(Debug, Default)]
pub(crate) struct SoundSink {
    /// Capture to display of the picture that was shown last.
    picture: Option<TimeDelta>,
    /// Capture of a frame to its beginning at the loudspeaker.
    delays: Histogram,
    offsets: Histogram,
}

impl SoundSink {
    /// A picture is shown so long after its capture.
    pub(crate) const fn on_picture(&mut self, delay: TimeDelta) {
        self.picture = Some(delay);
    }

    /// A frame of sound is played so long after its capture.
    pub(crate) fn on_played(&mut self, delay: TimeDelta) {
        self.delays.add(delay);
        if let Some(picture) = self.picture {
            self.offsets.add((delay - picture).abs());
        }
    }

    /// From capture to playing.
    pub(crate) fn delays(&self) -> &Histogram {
        &self.delays
    }

    /// The absolute differences between the delays of sound and pictures.
    pub(crate) fn offsets(&self) -> &Histogram {
        &self.offsets
    }
}
