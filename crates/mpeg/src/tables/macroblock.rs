//! Variable length codes of the macroblock layer (13818-2, tables B.1 to B.4, B.9 to B.13).

/// Value and code.
pub type Entry = (u8, &'static str);

/// Stands for `macroblock_escape` in [`ADDRESS_INCREMENT`].
pub const ADDRESS_ESCAPE: u8 = 34;
/// Stands for MPEG-1's `macroblock_stuffing` in [`ADDRESS_INCREMENT`].
pub const ADDRESS_STUFFING: u8 = 35;

/// Table B.1, `macroblock_address_increment`.
pub const ADDRESS_INCREMENT: [Entry; 35] = [
    (1, "1"),
    (2, "011"),
    (3, "010"),
    (4, "0011"),
    (5, "0010"),
    (6, "00011"),
    (7, "00010"),
    (8, "0000111"),
    (9, "0000110"),
    (10, "00001011"),
    (11, "00001010"),
    (12, "00001001"),
    (13, "00001000"),
    (14, "00000111"),
    (15, "00000110"),
    (16, "0000010111"),
    (17, "0000010110"),
    (18, "0000010101"),
    (19, "0000010100"),
    (20, "0000010011"),
    (21, "0000010010"),
    (22, "00000100011"),
    (23, "00000100010"),
    (24, "00000100001"),
    (25, "00000100000"),
    (26, "00000011111"),
    (27, "00000011110"),
    (28, "00000011101"),
    (29, "00000011100"),
    (30, "00000011011"),
    (31, "00000011010"),
    (32, "00000011001"),
    (33, "00000011000"),
    (ADDRESS_ESCAPE, "00000001000"),
    (ADDRESS_STUFFING, "00000001111"),
];

/// `macroblock_quant`: a quantiser scale follows.
pub const QUANT: u8 = 1;
/// `macroblock_motion_forward`
pub const FORWARD: u8 = 2;
/// `macroblock_motion_backward`
pub const BACKWARD: u8 = 4;
/// `macroblock_pattern`: coded_block_pattern follows.
pub const PATTERN: u8 = 8;
/// `macroblock_intra`
pub const INTRA: u8 = 16;

/// Table B.2, `macroblock_type` in I pictures.
pub const TYPE_I: [Entry; 2] = [(INTRA, "1"), (INTRA | QUANT, "01")];

/// Table B.3, `macroblock_type` in P pictures.
pub const TYPE_P: [Entry; 7] = [
    (FORWARD | PATTERN, "1"),
    (PATTERN, "01"),
    (FORWARD, "001"),
    (INTRA, "00011"),
    (FORWARD | PATTERN | QUANT, "00010"),
    (PATTERN | QUANT, "00001"),
    (INTRA | QUANT, "000001"),
];

/// Table B.4, `macroblock_type` in B pictures.
pub const TYPE_B: [Entry; 11] = [
    (FORWARD | BACKWARD, "10"),
    (FORWARD | BACKWARD | PATTERN, "11"),
    (BACKWARD, "010"),
    (BACKWARD | PATTERN, "011"),
    (FORWARD, "0010"),
    (FORWARD | PATTERN, "0011"),
    (INTRA, "00011"),
    (FORWARD | BACKWARD | PATTERN | QUANT, "00010"),
    (FORWARD | PATTERN | QUANT, "000011"),
    (BACKWARD | PATTERN | QUANT, "000010"),
    (INTRA | QUANT, "000001"),
];

/// MPEG-1's `macroblock_type` in D pictures.
pub const TYPE_D: [Entry; 1] = [(INTRA, "1")];

/// Table B.9, `coded_block_pattern_420`; 0 is for 4:2:2 and 4:4:4 only.
pub const PATTERN_420: [Entry; 64] = [
    (60, "111"),
    (4, "1101"),
    (8, "1100"),
    (16, "1011"),
    (32, "1010"),
    (12, "10011"),
    (48, "10010"),
    (20, "10001"),
    (40, "10000"),
    (28, "01111"),
    (44, "01110"),
    (52, "01101"),
    (56, "01100"),
    (1, "01011"),
    (61, "01010"),
    (2, "01001"),
    (62, "01000"),
    (24, "001111"),
    (36, "001110"),
    (3, "001101"),
    (63, "001100"),
    (5, "0010111"),
    (9, "0010110"),
    (17, "0010101"),
    (33, "0010100"),
    (6, "0010011"),
    (10, "0010010"),
    (18, "0010001"),
    (34, "0010000"),
    (7, "00011111"),
    (11, "00011110"),
    (19, "00011101"),
    (35, "00011100"),
    (13, "00011011"),
    (49, "00011010"),
    (21, "00011001"),
    (41, "00011000"),
    (14, "00010111"),
    (50, "00010110"),
    (22, "00010101"),
    (42, "00010100"),
    (15, "00010011"),
    (51, "00010010"),
    (23, "00010001"),
    (43, "00010000"),
    (25, "00001111"),
    (37, "00001110"),
    (26, "00001101"),
    (38, "00001100"),
    (29, "00001011"),
    (45, "00001010"),
    (53, "00001001"),
    (57, "00001000"),
    (30, "00000111"),
    (46, "00000110"),
    (54, "00000101"),
    (58, "00000100"),
    (31, "000000111"),
    (47, "000000110"),
    (55, "000000101"),
    (59, "000000100"),
    (27, "000000011"),
    (39, "000000010"),
    (0, "000000001"),
];

/// Table B.10, magnitude of `motion_code`; a sign bit follows all but 0.
pub const MOTION: [Entry; 17] = [
    (0, "1"),
    (1, "01"),
    (2, "001"),
    (3, "0001"),
    (4, "000011"),
    (5, "0000101"),
    (6, "0000100"),
    (7, "0000011"),
    (8, "000001011"),
    (9, "000001010"),
    (10, "000001001"),
    (11, "0000010001"),
    (12, "0000010000"),
    (13, "0000001111"),
    (14, "0000001110"),
    (15, "0000001101"),
    (16, "0000001100"),
];

/// Table B.12, `dct_dc_size_luminance`.
pub const DC_SIZE_LUMA: [Entry; 12] = [
    (0, "100"),
    (1, "00"),
    (2, "01"),
    (3, "101"),
    (4, "110"),
    (5, "1110"),
    (6, "11110"),
    (7, "111110"),
    (8, "1111110"),
    (9, "11111110"),
    (10, "111111110"),
    (11, "111111111"),
];

/// Table B.13, `dct_dc_size_chrominance`.
pub const DC_SIZE_CHROMA: [Entry; 12] = [
    (0, "00"),
    (1, "01"),
    (2, "10"),
    (3, "110"),
    (4, "1110"),
    (5, "11110"),
    (6, "111110"),
    (7, "1111110"),
    (8, "11111110"),
    (9, "111111110"),
    (10, "1111111110"),
    (11, "1111111111"),
];
