//! Writes an access unit: copies its headers, except for the declared rate, and calls back for its slices.

use crate::bits::BitWriter;
use crate::header::{Extension, PictureCodingExtension, PictureHeader, SequenceHeader};
use crate::picture::Slice;
use crate::startcode::{Span, StartCode};
use crate::unit::AccessUnit;

/// The declarations of the headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Declare {
    /// A variable rate: `vbv_delay` 0xFFFF, and in MPEG-1 `bit_rate` 0x3FFFF.
    pub(crate) variable: bool,
    pub(crate) mpeg2: bool,
    /// `intra_vlc_format` of MPEG-2, where it may be another one than that of the input.
    pub(crate) intra_vlc_format: Option<bool>,
}

/// Writes `unit`. Undamaged slices are written by `write_slice`; everything else is copied.
pub(crate) fn write_unit(
    writer: &mut BitWriter,
    unit: &AccessUnit,
    slices: &[Slice],
    declare: Declare,
    mut write_slice: impl FnMut(&mut BitWriter, usize),
) {
    let lead = unit.spans.first().map_or(unit.data.len(), |span| span.range.start);
    writer.append(&unit.data[..lead]);
    let (mut next_slice, mut declare) = (0, declare);
    for span in &unit.spans {
        let is_slice = matches!(span.code, StartCode::Slice(_)) && next_slice < slices.len();
        if is_slice {
            next_slice += 1;
        }
        if matches!(span.code, StartCode::Slice(_)) {
            // Headers behind the first slice do not count.
            declare.intra_vlc_format = None;
        }
        if is_slice && slices[next_slice - 1].damage.is_none() {
            write_slice(writer, next_slice - 1);
        } else {
            write_header(writer, span, &unit.data, declare);
        }
    }
    writer.align();
}

fn write_header(writer: &mut BitWriter, span: &Span, data: &[u8], declare: Declare) {
    let bytes = &data[span.range.clone()];
    match new_field(span, data, declare) {
        Some(((at, bits), value)) if bytes.len() * 8 >= 32 + at + bits as usize => {
            let (from, to) = (32 + at, 32 + at + bits as usize);
            writer.copy(bytes, 0, from);
            writer.put(value, bits);
            writer.copy(bytes, to, bytes.len() * 8);
        }
        _ => writer.append(bytes),
    }
}

/// The field of a header that changes: where it is behind the start code, its length and its new value.
fn new_field(span: &Span, data: &[u8], declare: Declare) -> Option<((usize, u32), u32)> {
    let all_ones = |field: (usize, u32)| (field, (1 << field.1) - 1);
    match span.code {
        StartCode::Picture if declare.variable => Some(all_ones(PictureHeader::VBV_DELAY_FIELD)),
        StartCode::SequenceHeader if declare.variable && !declare.mpeg2 => {
            Some(all_ones(SequenceHeader::BIT_RATE_FIELD))
        }
        StartCode::Extension => match (Extension::parse(span.payload(data))?, declare.intra_vlc_format?) {
            (Extension::PictureCoding(_), format) => {
                Some(((PictureCodingExtension::INTRA_VLC_FORMAT_BIT, 1), u32::from(format)))
            }
            _ => None,
        },
        _ => None,
    }
}

/// Size in bytes of the unit that [`write_unit`] writes if undamaged slice `i` takes `slice_bits(i)` bits.
pub(crate) fn unit_bytes(unit: &AccessUnit, slices: &[Slice], slice_bits: impl Fn(usize) -> u64) -> u64 {
    let mut bytes = unit.data.len() as u64;
    for (i, slice) in slices.iter().enumerate().filter(|(_, slice)| slice.damage.is_none()) {
        bytes -= slice.bytes.len() as u64;
        bytes += slice_bits(i).div_ceil(8);
    }
    bytes
}
