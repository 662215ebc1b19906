//! Headers of the sequence, group and picture layers, and the context that they give the slices.

mod extension;
mod group;
mod picture;
mod sequence;
mod state;

pub use extension::{
    Extension, PictureCodingExtension, PictureStructure, QuantMatrixExtension, SequenceExtension,
};
pub use group::GroupHeader;
pub use picture::{PictureHeader, PictureKind};
pub use sequence::SequenceHeader;
pub use state::{Chroma, MatrixSet, PictureContext, SequenceState};

use crate::bits::BitReader;
use crate::tables::scan::ZIG_ZAG;

/// A quantiser matrix in raster order. Entries are 1 to 255; a 0 in the stream is read as 1.
pub type Matrix = [u8; 64];

/// Reads 64 entries, which are always in zig-zag order (13818-2, 7.3.1).
fn read_matrix(reader: &mut BitReader<'_>) -> Matrix {
    let mut matrix = [0; 64];
    for position in ZIG_ZAG {
        matrix[usize::from(position)] = reader.bits(8).max(1) as u8;
    }
    matrix
}

/// Reads a matrix where its load flag is set.
fn read_optional_matrix(reader: &mut BitReader<'_>) -> Option<Matrix> {
    reader.flag().then(|| read_matrix(reader))
}
