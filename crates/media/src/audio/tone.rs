//! The sound of `test:…+tone`: a beep each second.

use super::{AudioSource, BLOCK_SAMPLES, Block, SAMPLE_RATE};
use crate::Error;

/// A quiet hum, and at each whole second of the clock in the picture 100 ms of a loud tone: where picture and sound are
/// apart, the recording shows by how much.
#[derive(Debug, Default)]
pub struct TestTone {
    /// Samples so far.
    next: u64,
}

impl TestTone {
    /// Samples of a beep.
    const BEEP: u64 = SAMPLE_RATE as u64 / 10;
    /// Hertz of the beep: 48 samples a turn.
    const PITCH: u64 = 1_000;
    /// Hertz of the hum, and both amplitudes as parts of the full scale.
    const HUM: u64 = 250;
    const LOUD: f64 = 0.5;
    const QUIET: f64 = 0.002;

    fn sample(at: u64) -> i16 {
        let second = at % u64::from(SAMPLE_RATE);
        let (pitch, amplitude) =
            if second < Self::BEEP { (Self::PITCH, Self::LOUD) } else { (Self::HUM, Self::QUIET) };
        // Both have a whole number of turns in a second.
        let turn = (second * pitch) as f64 / f64::from(SAMPLE_RATE);
        let value = amplitude * libm::sin(std::f64::consts::TAU * turn);
        (value * f64::from(i16::MAX)) as i16
    }
}

impl AudioSource for TestTone {
    fn next_block(&mut self, block: &mut Block) -> Result<bool, Error> {
        for (channels, at) in block.as_chunks_mut::<2>().0.iter_mut().zip(self.next..) {
            *channels = [Self::sample(at); 2];
        }
        self.next += BLOCK_SAMPLES as u64;
        Ok(true)
    }

    fn codec(&self) -> &'static str {
        "tone"
    }

    fn rewind(&mut self) -> Result<(), Error> {
        self.next = 0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audio::level;

    #[test]
    fn a_beep_each_second() {
        let mut tone = TestTone::default();
        let mut block = [0; 2 * BLOCK_SAMPLES];
        let levels: Vec<f64> = (0..150)
            .map(|_| {
                assert!(tone.next_block(&mut block).unwrap());
                level(&block).unwrap().get()
            })
            .collect();
        for (index, level) in levels.iter().enumerate() {
            let expected = if index % 50 < 5 { -9.0 } else { -57.0 };
            assert!((level - expected).abs() < 0.2, "block {index}: {level} dB");
        }
    }
}
