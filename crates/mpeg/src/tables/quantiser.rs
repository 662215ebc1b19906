//! Quantiser scales and default matrices (13818-2, 6.3.11 and table 7-6).

/// `quantiser_scale` for each `quantiser_scale_code` where `q_scale_type = 1`; code 0 is forbidden.
pub const NON_LINEAR: [u8; 32] = [
    0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 18, 20, 22, 24, 28, 32, 36, 40, 44, 48, 52, 56, 64, 72, 80,
    88, 96, 104, 112,
];

/// `quantiser_scale` for each code where `q_scale_type = 0`. MPEG-1's scale is half of it and its formula
/// twice ours, so the same table serves.
pub const LINEAR: [u8; 32] = [
    0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 34, 36, 38, 40, 42, 44, 46, 48, 50, 52,
    54, 56, 58, 60, 62,
];

/// Default intra matrix in raster order; the default non-intra matrix is 16 throughout.
pub const DEFAULT_INTRA: [u8; 64] = [
    8, 16, 19, 22, 26, 27, 29, 34, 16, 16, 22, 24, 27, 29, 34, 37, 19, 22, 26, 27, 29, 34, 34, 38, 22, 22,
    26, 27, 29, 34, 37, 40, 22, 26, 27, 29, 32, 35, 40, 48, 26, 27, 29, 32, 35, 40, 48, 58, 26, 27, 29, 34,
    38, 46, 56, 69, 27, 29, 35, 38, 46, 56, 69, 83,
];
