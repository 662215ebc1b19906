//! The 8x8 transform, both ways. Constants are sqrt(2) cos(k pi / 16), in 11 bits of fraction.

const FRACTION: u32 = 11;
const W1: i32 = 2841;
const W2: i32 = 2676;
const W3: i32 = 2408;
const W5: i32 = 1609;
const W6: i32 = 1108;
const W7: i32 = 565;

/// One number of each of eight parallel transforms.
type Lanes = [i32; 8];

/// Inverse transform in place, in raster order. Meets IEEE 1180's accuracy; any input is safe.
pub(crate) fn inverse(block: &mut [i32; 64]) {
    if block[1..].iter().all(|&value| value == 0) {
        let flat = (block[0] + 4) >> 3;
        block.fill(flat);
        return;
    }
    let rows = transpose(block);
    let first = pass(&rows, 8).map(|lanes| lanes.map(|value| value.clamp(-0x7fff, 0x7fff)));
    let second = pass(&transpose(first.as_flattened().try_into().expect("64 numbers")), 17);
    block.copy_from_slice(second.as_flattened());
}

fn transpose(block: &[i32; 64]) -> [Lanes; 8] {
    std::array::from_fn(|row| std::array::from_fn(|column| block[8 * column + row]))
}

/// One dimension: `x[k]` holds coefficient `k` of eight transforms. Results are scaled by 2^(11 - shift).
#[inline]
fn pass(x: &[Lanes; 8], shift: u32) -> [Lanes; 8] {
    let mut out = [[0; 8]; 8];
    for lane in 0..8 {
        let round = 1 << (shift - 1);
        let sum = ((x[0][lane] + x[4][lane]) << FRACTION) + round;
        let difference = ((x[0][lane] - x[4][lane]) << FRACTION) + round;
        let low = W6 * x[2][lane] - W2 * x[6][lane];
        let high = W2 * x[2][lane] + W6 * x[6][lane];
        let even = [sum + high, difference + low, difference - low, sum - high];
        let (x1, x3, x5, x7) = (x[1][lane], x[3][lane], x[5][lane], x[7][lane]);
        let odd = [
            W1 * x1 + W3 * x3 + W5 * x5 + W7 * x7,
            W3 * x1 - W7 * x3 - W1 * x5 - W5 * x7,
            W5 * x1 - W1 * x3 + W7 * x5 + W3 * x7,
            W7 * x1 - W5 * x3 + W3 * x5 - W1 * x7,
        ];
        for i in 0..4 {
            out[i][lane] = (even[i] + odd[i]) >> shift;
            out[7 - i][lane] = (even[i] - odd[i]) >> shift;
        }
    }
    out
}

/// Forward transform of differences, in raster order, to the scale of the coefficients of a stream.
pub(crate) fn forward(block: &[f32; 64]) -> [f32; 64] {
    transpose_f32(&transform_columns(&transpose_f32(&transform_columns(block))))
}

fn transpose_f32(block: &[f32; 64]) -> [f32; 64] {
    let mut out = [0.0; 64];
    for (row, line) in block.chunks_exact(8).enumerate() {
        for (column, &value) in line.iter().enumerate() {
            out[8 * column + row] = value;
        }
    }
    out
}

/// One dimension by its definition (13818-2, annex A), eight columns in parallel. Even frequencies take the sums of lines
/// that mirror each other, odd ones the differences.
fn transform_columns(block: &[f32; 64]) -> [f32; 64] {
    let lines: &[[f32; 8]; 8] = &std::array::from_fn(|line| std::array::from_fn(|i| block[8 * line + i]));
    let mut folded = [[[0.0; 8]; 4]; 2];
    for line in 0..4 {
        for lane in 0..8 {
            folded[0][line][lane] = lines[line][lane] + lines[7 - line][lane];
            folded[1][line][lane] = lines[line][lane] - lines[7 - line][lane];
        }
    }
    let mut out = [0.0; 64];
    for (frequency, (row, basis)) in out.chunks_exact_mut(8).zip(&BASIS).enumerate() {
        let [a, b, c, d] = &folded[frequency & 1];
        for (lane, sum) in row.iter_mut().enumerate() {
            *sum = (basis[0] * a[lane] + basis[1] * b[lane]) + (basis[2] * c[lane] + basis[3] * d[lane]);
        }
    }
    out
}

/// The basis by frequency and position, from the same constants as the inverse.
const BASIS: [[f32; 8]; 8] = {
    const COSINES: [i32; 8] = [2048, W1, W2, W3, 2048, W5, W6, W7];
    let mut basis = [[0.0; 8]; 8];
    let mut i = 0;
    while i < 64 {
        let (frequency, x) = (i / 8, i % 8);
        // cos((2x + 1) u pi / 16), folded into the first quarter.
        let angle = (2 * x + 1) * frequency % 32;
        let folded = if angle > 16 { 32 - angle } else { angle };
        let cosine = match folded {
            0..8 => COSINES[folded],
            8 => 0,
            _ => -COSINES[16 - folded],
        };
        // Entry 0 is the constant of frequency 0, which is smaller by the square root of two.
        let at_end = frequency > 0 && (folded == 0 || folded == 16);
        let scale = if at_end { std::f32::consts::SQRT_2 } else { 1.0 };
        basis[frequency][x] = cosine as f32 * scale / (2048.0 * 2.0 * std::f32::consts::SQRT_2);
        i += 1;
    }
    basis
};

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::f64::consts::PI;

    fn basis(x: usize, u: usize) -> f64 {
        let scale = if u == 0 { (0.125f64).sqrt() } else { 0.5 };
        scale * libm::cos((2 * x + 1) as f64 * u as f64 * PI / 16.0)
    }

    /// The definition (13818-2, annex A).
    fn reference(block: &[i32; 64]) -> [f64; 64] {
        let mut rows = [0.0; 64];
        for (i, value) in rows.iter_mut().enumerate() {
            *value = (0..8).map(|u| f64::from(block[i / 8 * 8 + u]) * basis(i % 8, u)).sum();
        }
        std::array::from_fn(|i| (0..8).map(|v| rows[8 * v + i % 8] * basis(i / 8, v)).sum())
    }

    /// The procedure of IEEE 1180-1990 for the range -256 to 255, on fewer blocks.
    #[test]
    fn accuracy_of_ieee_1180() {
        let mut seed = 1u32;
        let mut random = |range: i32| {
            seed = seed.wrapping_mul(1_103_515_245).wrapping_add(12345);
            ((seed & 0x7fff_fffe) as f64 / f64::from(0x7fff_ffff) * f64::from(2 * range + 1)) as i32 - range
        };
        let blocks = 2000;
        let (mut sums, mut squares) = ([0.0; 64], [0.0; 64]);
        for _ in 0..blocks {
            let pixels: [i32; 64] = std::array::from_fn(|_| random(256).min(255));
            let mut block = exact_forward(&pixels).map(|value| libm::rint(value) as i32);
            let expected = reference(&block).map(|value| libm::rint(value).clamp(-256.0, 255.0));
            inverse(&mut block);
            for i in 0..64 {
                let error = f64::from(block[i].clamp(-256, 255)) - expected[i];
                assert!(error.abs() <= 1.0);
                sums[i] += error;
                squares[i] += error * error;
            }
        }
        let blocks = f64::from(blocks);
        assert!(squares.iter().all(|square| square / blocks <= 0.06));
        assert!(squares.iter().sum::<f64>() / 64.0 / blocks <= 0.02);
        assert!(sums.iter().all(|sum: &f64| (sum / blocks).abs() <= 0.025));
        assert!((sums.iter().sum::<f64>() / 64.0 / blocks).abs() <= 0.0025);
    }

    #[test]
    fn forward_is_the_definition() {
        let pixels: [i32; 64] = std::array::from_fn(|i| (i as i32 * 37 + 11) % 511 - 255);
        let expected = exact_forward(&pixels);
        let found = forward(&pixels.map(|value| value as f32));
        assert!(
            found.iter().zip(expected).all(|(&a, b)| (f64::from(a) - b).abs() < 0.5),
            "{found:?} {expected:?}"
        );
    }

    fn exact_forward(pixels: &[i32; 64]) -> [f64; 64] {
        std::array::from_fn(|i| {
            (0..64).map(|p| f64::from(pixels[p]) * basis(p % 8, i % 8) * basis(p / 8, i / 8)).sum()
        })
    }

    proptest! {
        #[test]
        fn any_input_is_safe(block in proptest::collection::vec(-2048i32..=2047, 64)) {
            let mut block: [i32; 64] = block.try_into().unwrap();
            inverse(&mut block);
        }

        #[test]
        fn dc_alone_is_flat(dc in -2048i32..=2047) {
            let mut block = [0; 64];
            block[0] = dc;
            inverse(&mut block);
            prop_assert!(block.iter().all(|&value| value == (dc + 4) >> 3));
        }
    }
}
