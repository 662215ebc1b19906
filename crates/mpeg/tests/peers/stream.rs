//! Streams with a random choice wherever the syntax allows one, in headers and pictures. Their pictures are noise; if three
//! decoders agree on the noise, each has read every choice according to the standard.

use crate::macroblocks;
use seaway_mpeg::bits::BitWriter;
use seaway_mpeg::header::{Chroma, PictureKind, PictureStructure};
use seaway_mpeg::tables::quantiser::DEFAULT_INTRA;
use seaway_mpeg::tables::scan::ZIG_ZAG;

/// The pictures of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pictures {
    Frames,
    /// Two fields, either first.
    Fields,
    /// One or the other.
    Either,
}

/// The syntax that a stream may use.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Syntax {
    pub(crate) mpeg2: bool,
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) chroma: Chroma,
    pub(crate) progressive: bool,
    pub(crate) pictures: Pictures,
    pub(crate) low_delay: bool,
    /// Kinds of the frames of each group, in coding order.
    pub(crate) groups: &'static [&'static str],
}

impl Syntax {
    pub(crate) const MPEG1: Self = Self {
        mpeg2: false,
        width: 96,
        height: 64,
        chroma: Chroma::Yuv420,
        progressive: true,
        pictures: Pictures::Frames,
        low_delay: false,
        groups: &["IPBBPBP", "IBBPP"],
    };
    pub(crate) const MPEG2: Self = Self { mpeg2: true, ..Self::MPEG1 };
    pub(crate) const INTERLACED: Self =
        Self { progressive: false, pictures: Pictures::Either, ..Self::MPEG2 };

    pub(crate) fn columns(&self) -> usize {
        self.width.div_ceil(16)
    }

    /// Rows of macroblocks of a frame.
    pub(crate) fn rows(&self) -> usize {
        if self.progressive { self.height.div_ceil(16) } else { 2 * self.height.div_ceil(32) }
    }

    /// Dual prime is for sequences without B pictures (13818-2, 7.6.3.6).
    pub(crate) fn has_dual_prime(&self) -> bool {
        self.mpeg2 && !self.groups.iter().any(|group| group.contains('B'))
    }
}

/// Pseudo-random choices (SplitMix64).
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// From `low` to `high`, both included.
    pub(crate) fn range(&mut self, low: i32, high: i32) -> i32 {
        let span = (i64::from(high) - i64::from(low) + 1) as u64;
        (i64::from(low) + (self.next() % span) as i64) as i32
    }

    /// True in `percent` of 100.
    pub(crate) fn chance(&mut self, percent: i32) -> bool {
        self.range(0, 99) < percent
    }
}

/// Matrices in force: intra, non-intra, chrominance intra, chrominance non-intra; raster order.
pub(crate) type Matrices = [[u8; 64]; 4];

/// Coding parameters of one picture.
#[derive(Debug, Clone)]
pub(crate) struct Coding {
    pub(crate) kind: PictureKind,
    pub(crate) structure: PictureStructure,
    /// A field predicted from the other field of its frame alone, since nothing came before.
    pub(crate) opposite_only: bool,
    pub(crate) f_code: [[u8; 2]; 2],
    pub(crate) dc_precision: u32,
    pub(crate) top_field_first: bool,
    pub(crate) frame_only: bool,
    pub(crate) concealment: bool,
    pub(crate) non_linear: bool,
    pub(crate) intra_vlc: bool,
    pub(crate) alternate_scan: bool,
    pub(crate) repeat_first_field: bool,
    pub(crate) progressive_frame: bool,
    pub(crate) matrices: Matrices,
}

impl Coding {
    pub(crate) fn is_field(&self) -> bool {
        self.structure != PictureStructure::Frame
    }
}

/// A whole sequence, from its header to its end code.
pub(crate) fn sequence(syntax: &Syntax, dice: &mut Dice, out: &mut Vec<u8>) {
    let mut sequence = Sequence { syntax, dice, out, matrices: default_matrices(), first: true };
    for (number, group) in syntax.groups.iter().enumerate() {
        if number == 0 || sequence.dice.chance(50) {
            sequence.write_header();
        }
        sequence.write_group(group, number == 0);
    }
    out.extend([0, 0, 1, 0xb7]);
}

fn default_matrices() -> Matrices {
    [DEFAULT_INTRA, [16; 64], DEFAULT_INTRA, [16; 64]]
}

struct Sequence<'a> {
    syntax: &'a Syntax,
    dice: &'a mut Dice,
    out: &'a mut Vec<u8>,
    matrices: Matrices,
    /// No frame was written yet.
    first: bool,
}

impl Sequence<'_> {
    fn write_header(&mut self) {
        let syntax = self.syntax;
        let mut bits = start_code(0xb3);
        bits.put(syntax.width as u32 & 0xfff, 12);
        bits.put(syntax.height as u32 & 0xfff, 12);
        bits.put(1, 4);
        bits.put(3, 4);
        bits.put(5000, 18);
        bits.put(1, 1);
        bits.put(112, 10);
        bits.put(0, 1);
        self.matrices = default_matrices();
        let (matrices, dice) = (&mut self.matrices, &mut *self.dice);
        for i in 0..2 {
            if let Some(matrix) = put_optional_matrix(&mut bits, dice, i == 0) {
                (matrices[i], matrices[i + 2]) = (matrix, matrix);
            }
        }
        self.out.extend(bits.finish());
        if syntax.mpeg2 {
            self.write_sequence_extension();
            self.write_display_extension();
        }
        self.write_user_data();
    }

    fn write_sequence_extension(&mut self) {
        let syntax = self.syntax;
        let (profile, chroma) = match syntax.chroma {
            Chroma::Yuv420 => (0x48, 1),
            Chroma::Yuv422 => (0x85, 2),
            Chroma::Yuv444 => (0x14, 3),
        };
        let mut bits = extension(1);
        bits.put(profile, 8);
        bits.put(u32::from(syntax.progressive), 1);
        bits.put(chroma, 2);
        bits.put(syntax.width as u32 >> 12, 2);
        bits.put(syntax.height as u32 >> 12, 2);
        bits.put(0, 12);
        bits.put(1, 1);
        bits.put(0, 8);
        bits.put(u32::from(syntax.low_delay), 1);
        bits.put(0, 7);
        self.out.extend(bits.finish());
    }

    fn write_display_extension(&mut self) {
        if self.dice.chance(50) {
            let mut bits = extension(2);
            bits.put(0b0101, 4);
            bits.put(0x01_0101, 24);
            bits.put(self.syntax.width as u32, 14);
            bits.put(1, 1);
            bits.put(self.syntax.height as u32, 14);
            self.out.extend(bits.finish());
        }
    }

    fn write_user_data(&mut self) {
        if self.dice.chance(40) {
            self.out.extend([0, 0, 1, 0xb2]);
            let len = self.dice.range(1, 40);
            self.out.extend((0..len).map(|_| self.dice.range(2, 255) as u8));
        }
    }

    /// Captions as ATSC A/53 carries them.
    fn write_captions(&mut self) {
        if self.dice.chance(60) {
            self.out.extend(*b"\0\0\x01\xb2GA94\x03\xc2\xff");
            for _ in 0..2 {
                self.out.extend([0xfc, self.dice.range(2, 255) as u8, self.dice.range(2, 255) as u8]);
            }
            self.out.push(0xff);
        }
    }

    fn write_group(&mut self, group: &str, opens: bool) {
        let mut bits = start_code(0xb8);
        bits.put(1 << 12, 25);
        // A group that needs the one before is open.
        let closed = opens || !group.starts_with("IB");
        bits.put(u32::from(closed), 1);
        bits.put(0, 1);
        self.out.extend(bits.finish());
        self.write_user_data();
        for (kind, place) in group.chars().zip(display_order(group)) {
            let kind = match kind {
                'I' => PictureKind::I,
                'P' => PictureKind::P,
                'B' => PictureKind::B,
                _ => PictureKind::D,
            };
            self.write_frame(kind, place);
            self.first = false;
        }
    }

    fn write_frame(&mut self, kind: PictureKind, place: u32) {
        let fields = match self.syntax.pictures {
            Pictures::Frames => false,
            Pictures::Fields => true,
            Pictures::Either => self.dice.chance(60),
        };
        if !fields {
            return self.write_picture(kind, PictureStructure::Frame, false, place);
        }
        let (top, bottom) = (PictureStructure::TopField, PictureStructure::BottomField);
        let (one, other) = if self.dice.chance(50) { (top, bottom) } else { (bottom, top) };
        self.write_picture(kind, one, false, place);
        let second = match kind {
            PictureKind::I if self.dice.chance(70) => PictureKind::P,
            kind => kind,
        };
        self.write_picture(second, other, self.first, place);
    }

    fn write_picture(
        &mut self,
        kind: PictureKind,
        structure: PictureStructure,
        opposite_only: bool,
        place: u32,
    ) {
        let mut coding = self.choose(kind, structure);
        coding.opposite_only = opposite_only;
        self.write_picture_header(&coding, place);
        if self.syntax.mpeg2 {
            self.write_coding_extension(&coding);
            self.write_matrices();
            coding.matrices = self.matrices;
            self.write_pan();
        }
        self.write_captions();
        macroblocks::write(self.syntax, &coding, self.dice, self.out);
        if self.dice.chance(20) {
            self.out.extend([0; 5]);
        }
    }

    fn choose(&mut self, kind: PictureKind, structure: PictureStructure) -> Coding {
        let (syntax, dice) = (self.syntax, &mut *self.dice);
        let mpeg2 = syntax.mpeg2;
        let field = structure != PictureStructure::Frame;
        let progressive_frame = !field && (syntax.progressive || dice.chance(30));
        let concealment = mpeg2 && dice.chance(30);
        let mut f_code = [[if mpeg2 { 15 } else { 1 }; 2]; 2];
        let used = match kind {
            PictureKind::P => 1,
            PictureKind::B => 2,
            _ => usize::from(concealment),
        };
        for direction in &mut f_code[..used] {
            direction[0] = dice.range(1, 5) as u8;
            direction[1] = if mpeg2 { dice.range(1, 4) as u8 } else { direction[0] };
        }
        let repeat_first_field = mpeg2 && progressive_frame && dice.chance(30);
        Coding {
            kind,
            structure,
            opposite_only: false,
            f_code,
            dc_precision: if mpeg2 { dice.range(0, 3) as u32 } else { 0 },
            top_field_first: mpeg2
                && !field
                && (!syntax.progressive || repeat_first_field)
                && dice.chance(50),
            frame_only: !mpeg2 || progressive_frame || (!field && dice.chance(20)),
            concealment,
            non_linear: mpeg2 && dice.chance(50),
            intra_vlc: mpeg2 && dice.chance(50),
            alternate_scan: mpeg2 && dice.chance(50),
            repeat_first_field,
            progressive_frame,
            matrices: self.matrices,
        }
    }

    fn write_picture_header(&mut self, coding: &Coding, place: u32) {
        let mut bits = start_code(0x00);
        bits.put(place, 10);
        bits.put(
            match coding.kind {
                PictureKind::I => 1,
                PictureKind::P => 2,
                PictureKind::B => 3,
                PictureKind::D => 4,
            },
            3,
        );
        bits.put(0xffff, 16);
        let directions = match coding.kind {
            PictureKind::P => 1,
            PictureKind::B => 2,
            _ => 0,
        };
        for f_code in &coding.f_code[..directions] {
            bits.put(0, 1);
            bits.put(if self.syntax.mpeg2 { 7 } else { u32::from(f_code[0]) }, 3);
        }
        // extra_information_picture is MPEG-1's.
        if !self.syntax.mpeg2 && self.dice.chance(20) {
            bits.put(1, 1);
            bits.put(0x5a, 8);
        }
        bits.put(0, 1);
        self.out.extend(bits.finish());
    }

    fn write_coding_extension(&mut self, coding: &Coding) {
        let mut bits = extension(8);
        coding.f_code.as_flattened().iter().for_each(|&code| bits.put(u32::from(code), 4));
        bits.put(coding.dc_precision, 2);
        bits.put(
            match coding.structure {
                PictureStructure::TopField => 1,
                PictureStructure::BottomField => 2,
                PictureStructure::Frame => 3,
            },
            2,
        );
        let interlaced_chroma = coding.progressive_frame && self.syntax.chroma == Chroma::Yuv420;
        for flag in [
            coding.top_field_first,
            coding.frame_only,
            coding.concealment,
            coding.non_linear,
            coding.intra_vlc,
            coding.alternate_scan,
            coding.repeat_first_field,
            interlaced_chroma,
            coding.progressive_frame,
            false,
        ] {
            bits.put(u32::from(flag), 1);
        }
        self.out.extend(bits.finish());
    }

    fn write_matrices(&mut self) {
        if !self.dice.chance(20) {
            return;
        }
        let mut bits = extension(3);
        let (matrices, dice) = (&mut self.matrices, &mut *self.dice);
        for i in 0..4 {
            if i >= 2 && self.syntax.chroma == Chroma::Yuv420 {
                bits.put(0, 1);
            } else if let Some(matrix) = put_optional_matrix(&mut bits, dice, i % 2 == 0) {
                matrices[i] = matrix;
                if i < 2 {
                    matrices[i + 2] = matrix;
                }
            }
        }
        self.out.extend(bits.finish());
    }

    /// `copyright_extension`, which decoders ignore.
    fn write_pan(&mut self) {
        if self.dice.chance(20) {
            let mut bits = extension(4);
            bits.put(0, 1);
            bits.put(0x12, 8);
            bits.put(1, 1);
            bits.put(0, 7);
            for len in [20, 22, 22] {
                bits.put(1, 1);
                bits.put(0x1_2345, len);
            }
            self.out.extend(bits.finish());
        }
    }
}

/// `temporal_reference` of each frame of a group in coding order.
fn display_order(group: &str) -> Vec<u32> {
    let mut places = vec![0; group.len()];
    let (mut next, mut held) = (0, None);
    let mut show = |place: &mut u32| {
        *place = next;
        next += 1;
    };
    for (i, kind) in group.chars().enumerate() {
        if kind == 'B' {
            show(&mut places[i]);
        } else if let Some(before) = held.replace(i) {
            show(&mut places[before]);
        }
    }
    held.iter().for_each(|&last| show(&mut places[last]));
    places
}

pub(crate) fn start_code(code: u8) -> BitWriter {
    let mut bits = BitWriter::default();
    bits.put(1, 24);
    bits.put(u32::from(code), 8);
    bits
}

fn extension(identifier: u32) -> BitWriter {
    let mut bits = start_code(0xb5);
    bits.put(identifier, 4);
    bits
}

/// Matrices are in zig-zag order, whatever the scan. The first entry of an intra matrix is 8.
fn put_optional_matrix(bits: &mut BitWriter, dice: &mut Dice, intra: bool) -> Option<[u8; 64]> {
    let load = dice.chance(30);
    bits.put(u32::from(load), 1);
    if !load {
        return None;
    }
    let mut matrix = [8; 64];
    for (i, &place) in ZIG_ZAG.iter().enumerate() {
        if !intra || i > 0 {
            matrix[usize::from(place)] = dice.range(8, 60) as u8;
        }
        bits.put(u32::from(matrix[usize::from(place)]), 8);
    }
    Some(matrix)
}
