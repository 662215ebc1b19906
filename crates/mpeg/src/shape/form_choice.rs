//! Which macroblocks may cost less as intra ones, and which DCT type suits one.

use super::drift::PredictedError;
use crate::header::PictureContext;

/// An intra macroblock is tried where the luminance differs from the means of its blocks by at most this many times the squared
/// error of its best prediction, ...
const MOST_ACTIVE: f32 = 3.0;
/// ... and where that costs at least so many bits.
const LEAST_ERROR: f32 = 50.0;

/// True where macroblocks of the picture have a DCT type of their own (13818-2, 6.3.17.1).
pub(super) fn has_dct_type(context: &PictureContext) -> bool {
    !context.is_field() && !context.coding.frame_pred_frame_dct
}

/// True where a macroblock of this luminance may cost less as an intra one than predicted with a squared error of `distance`.
pub(super) fn may_be_intra(luma: &[u8; 256], distance: f32, weight: f32) -> bool {
    distance * weight > LEAST_ERROR && activity(luma) < MOST_ACTIVE * distance
}

/// The squared difference from the means of the four blocks.
fn activity(luma: &[u8; 256]) -> f32 {
    let (mut sums, mut squares) = ([0u32; 4], 0u32);
    for (line, samples) in luma.chunks_exact(16).enumerate() {
        for (half, samples) in samples.chunks_exact(8).enumerate() {
            sums[2 * (line / 8) + half] += samples.iter().map(|&sample| u32::from(sample)).sum::<u32>();
            squares += samples.iter().map(|&sample| u32::from(sample) * u32::from(sample)).sum::<u32>();
        }
    }
    squares as f32 - sums.iter().map(|&sum| (sum * sum) as f32 / 64.0).sum::<f32>()
}

/// True where the lines of each field are more alike than those of the frame.
pub(super) fn suits_fields(error: &PredictedError) -> bool {
    let lines = &error.0.planes[0];
    let between = |a: usize, b: usize| -> u32 {
        let [a, b] = [a, b].map(|line| &lines[16 * line..16 * line + 16]);
        a.iter().zip(b).map(|(&a, &b)| u32::from(a.abs_diff(b))).sum()
    };
    // Seven pairs in either block of a column.
    let frame: u32 = (0..15).filter(|&line| line != 7).map(|line| between(line, line + 1)).sum();
    let field: u32 = (0..14).map(|line| between(line, line + 2)).sum();
    field < frame
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::predict::Prediction;

    #[test]
    fn activity_counts_from_the_mean_of_each_block() {
        // Four flat blocks, and one sample that is 8 above: 64 less 1 for the mean that it moves by an eighth.
        let mut luma: [u8; 256] = std::array::from_fn(|i| [10, 200][i / 8 % 2]);
        assert_eq!(activity(&luma), 0.0);
        luma[0] += 8;
        assert_eq!(activity(&luma), 63.0);
        assert!(may_be_intra(&luma, 100.0, 1.0));
        assert!(!may_be_intra(&luma, 15.0, 10.0));
        assert!(!may_be_intra(&luma, 100.0, 0.1));
    }

    #[test]
    fn lines_that_alternate_suit_fields() {
        let mut error = PredictedError(Prediction::new());
        assert!(!suits_fields(&error));
        error.0.planes[0] = std::array::from_fn(|i| [0, 9][i / 16 % 2]);
        assert!(suits_fields(&error));
        // A slope differs twice as much from the line of the same field.
        error.0.planes[0] = std::array::from_fn(|i| (i / 16) as i16);
        assert!(!suits_fields(&error));
    }
}
