//! Inverse scan, inverse quantisation and mismatch control (13818-2, 7.3 and 7.4; 11172-2, 2.4.4).

use crate::header::PictureContext;
use crate::picture::{Block, Code, Macroblock};

/// Fills `out` with the coefficients of a block, in raster order. `codes` are the first of its codes, or all.
pub(crate) fn dequantise(
    context: &PictureContext,
    macroblock: &Macroblock,
    block: &Block,
    codes: &[Code],
    out: &mut [i32; 64],
) {
    let intra = macroblock.is_intra();
    dequantise_codes(context, intra, block.index(), macroblock.quantiser, codes, out);
    if intra {
        out[0] = i32::from(block.dc) * (8 >> context.coding.intra_dc_precision);
    }
    if context.mpeg2 && out.iter().sum::<i32>() & 1 == 0 {
        out[63] ^= 1;
    }
}

/// Fills `out` with the coefficients of the codes of block `index` of a macroblock, without mismatch control.
pub(crate) fn dequantise_codes(
    context: &PictureContext,
    intra: bool,
    index: u8,
    quantiser: u8,
    codes: &[Code],
    out: &mut [i32; 64],
) {
    out.fill(0);
    let scale = i32::from(context.quantiser_scales()[usize::from(quantiser)]);
    let matrix = context.matrices.of(intra, index >= 4);
    let scan = context.scan();
    for code in codes {
        let position = usize::from(scan[usize::from(code.position())]);
        let level = i32::from(code.level());
        let doubled = 2 * level + if intra { 0 } else { level.signum() };
        let mut value = doubled * i32::from(matrix[position]) * scale / 32;
        if !context.mpeg2 && value & 1 == 0 {
            value -= value.signum();
        }
        out[position] = value.clamp(-2048, 2047);
    }
}
