//! How hard pictures are to code, from their headers alone: bits times the quantiser scale, the global complexity measure
//! of test model 5 (ISO/IEC JTC1/SC29/WG11 N0400, section 10).

use crate::bits::BitReader;
use crate::header::PictureContext;
use crate::startcode::StartCode;
use crate::unit::AccessUnit;

/// Added to the scale, because the bits of vectors and headers do not fall as it grows: at small scales a smaller part of the bits goes than of the
/// scale. Chosen by nine streams at half their size.
const SCALE_OF_OVERHEAD: f64 = 4.0;

/// The bits of a picture times its scale. Pictures that keep bits in proportion to it have the same scale in the output, and
/// so the same slope of error over bits.
pub(super) fn complexity(context: &PictureContext, unit: &AccessUnit) -> f64 {
    8.0 * unit.data.len() as f64 * (mean_scale(context, unit) + SCALE_OF_OVERHEAD)
}

/// The mean of the scales with which slices begin, by the length of the slices; 0 without slices.
fn mean_scale(context: &PictureContext, unit: &AccessUnit) -> f64 {
    let scales = context.quantiser_scales();
    let (mut sum, mut bytes) = (0.0, 0.0f64);
    for span in unit.spans.iter().filter(|span| matches!(span.code, StartCode::Slice(_))) {
        // Behind the start code.
        let mut reader = BitReader::at(&unit.data[span.range.clone()], 32);
        if context.has_row_extension() {
            reader.skip(3);
        }
        let length = span.range.len() as f64;
        sum += length * f64::from(scales[reader.bits(5) as usize]);
        bytes += length;
    }
    sum / bytes.max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header::SequenceState;

    /// A picture of MPEG-1 with two slices of these `quantiser_scale_code`, of eight and of 24 octets.
    fn picture(codes: [u8; 2]) -> (PictureContext, AccessUnit) {
        let mut stream =
            b"\x00\x00\x01\xb3\x16\x01\x20\x13\xff\xff\xe0\x18\x00\x00\x01\x00\x00\x08\xff\xf8".to_vec();
        for (row, (code, length)) in (1..).zip(codes.into_iter().zip([8, 24])) {
            stream.extend([0, 0, 1, row, code << 3 | 7]);
            stream.resize(stream.len() + length - 5, 0xff);
        }
        let unit = AccessUnit::all_of(&stream).swap_remove(0);
        (unit.read_headers(&mut SequenceState::default()).expect("a context"), unit)
    }

    #[test]
    fn scales_count_by_the_length_of_their_slices() {
        // Scales are twice the codes: (8 octets of 10 and 24 of 30) / 32.
        let (context, unit) = picture([5, 15]);
        assert_eq!(mean_scale(&context, &unit), 25.0);
        // 20 octets of headers and 32 of slices, in bits, times 25 and 4.
        assert_eq!(complexity(&context, &unit), 8.0 * 52.0 * 29.0);
    }

    #[test]
    fn a_picture_without_slices_has_no_scale() {
        let (context, mut unit) = picture([5, 15]);
        unit.spans.retain(|span| !matches!(span.code, StartCode::Slice(_)));
        assert_eq!(mean_scale(&context, &unit), 0.0);
    }
}
