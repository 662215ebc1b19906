//! Differential coding of the DC coefficients of intra blocks (13818-2, 7.2.1).

use crate::bits::BitWriter;
use crate::header::PictureContext;
use crate::vlc;

/// `dc_dct_pred` of Y, Cb and Cr: the coefficients that came last.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DcPredictors(pub(crate) [i16; 3]);

impl DcPredictors {
    /// As they are at the start of a slice, and behind a macroblock that is skipped or not intra (table 7-2).
    pub(crate) fn new(context: &PictureContext) -> Self {
        Self([128 << context.coding.intra_dc_precision; 3])
    }

    /// The difference of the coefficient `dc` of block `index`, which predicts the next one.
    pub(crate) fn difference(&mut self, index: u8, dc: i16) -> i32 {
        let before = std::mem::replace(&mut self.0[component_of(index)], dc);
        i32::from(dc) - i32::from(before)
    }
}

/// The component of a block: 0 for Y, 1 and 2 for Cb and Cr, which alternate.
#[inline]
pub(crate) fn component_of(index: u8) -> usize {
    if index < 4 { 0 } else { 1 + usize::from(index & 1) }
}

/// Bits of a difference, with those of its size.
pub(crate) fn difference_bits(index: u8, difference: i32) -> u32 {
    let size = size_of(difference);
    size + match index {
        0..4 => vlc::DC_SIZE_LUMA.length(size as u8),
        _ => vlc::DC_SIZE_CHROMA.length(size as u8),
    }
}

/// Writes `dct_dc_size` and `dct_dc_differential`.
pub(crate) fn write_difference(writer: &mut BitWriter, index: u8, difference: i32) {
    let size = size_of(difference);
    match index {
        0..4 => vlc::DC_SIZE_LUMA.write(writer, size as u8),
        _ => vlc::DC_SIZE_CHROMA.write(writer, size as u8),
    }
    let bits = if difference < 0 { difference + (1 << size) - 1 } else { difference };
    writer.put(bits as u32, size);
}

/// Bits of the magnitude.
fn size_of(difference: i32) -> u32 {
    u32::BITS - difference.unsigned_abs().leading_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::BitReader;

    #[test]
    fn each_component_predicts_its_own_coefficients() {
        let mut context = PictureContext::of_fixture();
        context.coding.intra_dc_precision = 1;
        let mut predictors = DcPredictors::new(&context);
        let mut differences = |blocks: &[(u8, i16)]| {
            blocks.iter().map(|&(i, dc)| predictors.difference(i, dc)).collect::<Vec<_>>()
        };
        // Of nine bits the middle is 256. Blocks 4 and 6 of 4:2:2 are Cb, 5 and 7 Cr.
        assert_eq!(
            differences(&[(0, 250), (3, 260), (4, 256), (5, 200), (6, 255), (7, 201)]),
            [-6, 10, 0, -56, -1, 1]
        );
        // The next macroblock goes on from there.
        assert_eq!(differences(&[(0, 260), (4, 250)]), [0, -5]);
    }

    /// 13818-2, tables B.12, B.13 and 7.2.1.
    #[test]
    fn differences_take_the_bits_of_their_tables() {
        let cases = [
            // Size 0 is 100 for luminance and 00 for chrominance.
            (0, 0, 3, 0b100),
            (4, 0, 2, 0b00),
            // Size 1 is 00 and 01; -1 is 0.
            (1, 1, 3, 0b001),
            (5, -1, 3, 0b010),
            // Size 3 is 101 and 110; -6 is -6 + 7 = 1.
            (3, -6, 6, 0b101_001),
            (4, 5, 6, 0b110_101),
        ];
        for (index, difference, bits, code) in cases {
            assert_eq!(difference_bits(index, difference), bits, "{index} {difference}");
            let mut writer = BitWriter::default();
            write_difference(&mut writer, index, difference);
            assert_eq!(writer.bit_length(), bits as usize);
            writer.put(0, 32);
            let mut reader = BitReader::at(writer.bytes(), 0);
            assert_eq!(reader.bits(bits), code, "{index} {difference}");
        }
    }
}
