//! A recording of the screen that browsers play.

use seaway_media::encoder::ConstantQpEncoder;
use seaway_media::output::ProgressiveMp4;
use seaway_media::{Error, FrameId, FrameRate, Picture, PicturePool, PictureSize, Scaler};
use seaway_units::{TimeDelta, Timestamp};

/// How a screen is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScreenRecorderConfig {
    /// Size of the recorded pictures.
    pub size: PictureSize,
    /// Pictures a second.
    pub frame_rate: FrameRate,
    /// Quantiser of all pictures, 10 to 51.
    pub quantiser: u8,
}

/// Records the picture on a screen at a constant frame rate, black before the first one, so that freezes keep their
/// duration.
#[derive(Debug)]
pub struct ScreenRecorder {
    config: ScreenRecorderConfig,
    encoder: ConstantQpEncoder,
    scaler: Option<Scaler>,
    file: ProgressiveMp4,
    /// The picture on the screen.
    displayed: Picture,
    /// Index of the next recorded picture.
    next: u64,
}

impl ScreenRecorder {
    /// Key frame interval: a player can seek to each.
    const KEY_INTERVAL: TimeDelta = TimeDelta::from_secs(2);

    /// A recording that begins at time zero.
    ///
    /// # Errors
    /// Where the encoder cannot be set up.
    pub fn new(config: ScreenRecorderConfig) -> Result<Self, Error> {
        let mut black = PicturePool::new(config.size).take();
        for (plane, value) in black.planes_mut().into_iter().zip([16, 128, 128]) {
            plane.data.fill(value);
        }
        Ok(Self {
            encoder: ConstantQpEncoder::new(config.frame_rate, config.quantiser)?,
            scaler: None,
            file: ProgressiveMp4::new(config.size),
            displayed: black.finish(FrameId(0), TimeDelta::ZERO),
            next: 0,
            config,
        })
    }

    /// Displays `picture` from `now` on. Time does not run back.
    ///
    /// # Errors
    /// Where the encoder fails.
    pub fn show(&mut self, now: Timestamp, picture: &Picture) -> Result<(), Error> {
        self.run_until(now)?;
        let fits = |scaler: &Scaler| scaler.from() == picture.size();
        let mut scaler =
            self.scaler.take().filter(fits).unwrap_or_else(|| Scaler::new(picture.size(), self.config.size));
        self.displayed = scaler.scale(picture);
        self.scaler = Some(scaler);
        Ok(())
    }

    /// The recording up to `end`, an MP4 file.
    ///
    /// # Errors
    /// Where the encoder fails.
    pub fn finish(mut self, end: Timestamp) -> Result<Vec<u8>, Error> {
        self.run_until(end)?;
        self.file.finish(end - Timestamp::ZERO)
    }

    fn run_until(&mut self, now: Timestamp) -> Result<(), Error> {
        loop {
            let time = self.config.frame_rate.time_of(self.next);
            if Timestamp::ZERO + time >= now {
                return Ok(());
            }
            let every = (Self::KEY_INTERVAL.as_secs_f64() * self.config.frame_rate.hz()).round().max(1.0);
            let key = self.next.is_multiple_of(every as u64);
            let frame = self.encoder.encode(&self.displayed.with_identity(FrameId(self.next), time), key)?;
            self.file.push(&frame.data, time, frame.key)?;
            self.next += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seaway_media::input::{PictureSource, Synthetic, open_bytes};

    #[test]
    fn a_freeze_keeps_its_duration() {
        let config = ScreenRecorderConfig {
            size: PictureSize::new(160, 96).unwrap(),
            frame_rate: FrameRate::USUAL,
            quantiser: 20,
        };
        let mut recorder = ScreenRecorder::new(config).unwrap();
        let mut source = Synthetic::from_specification("320x192@25").unwrap();
        let at = |millis| Timestamp::ZERO + TimeDelta::from_millis(millis);
        // Nothing before 100 ms; one picture stands from 200 ms to 600 ms.
        for millis in [100, 140, 180, 600, 640] {
            recorder.show(at(millis), &source.next_picture().unwrap().unwrap()).unwrap();
        }
        let mut recording = open_bytes(recorder.finish(at(1000)).unwrap()).unwrap();
        let mut pictures = Vec::new();
        while let Some(picture) = recording.next_picture().unwrap() {
            pictures.push(picture);
        }
        assert_eq!(pictures.len(), 25);
        assert!(
            pictures
                .iter()
                .zip(0..)
                .all(|(picture, index)| picture.time() == FrameRate::USUAL.time_of(index))
        );
        let mean = |index: usize| {
            let luma = pictures[index].luma();
            luma.data.iter().map(|&sample| f64::from(sample)).sum::<f64>() / luma.data.len() as f64
        };
        assert!(mean(2) < 20.0 && mean(3) > 30.0, "{} {}", mean(2), mean(3));
        let differs = |a: usize, b: usize| {
            let (a, b) = (pictures[a].luma(), pictures[b].luma());
            a.data.iter().zip(b.data).map(|(a, b)| u32::from(a.abs_diff(*b))).sum::<u32>()
                / a.data.len() as u32
        };
        assert_eq!(differs(5, 14), 0);
    }
}
