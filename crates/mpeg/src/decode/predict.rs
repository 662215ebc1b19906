//! Motion compensation (13818-2, 7.6).

use super::frame::{Frame, Plane, Sample};
use crate::header::{PictureContext, PictureKind, PictureStructure};
use crate::picture::{Macroblock, MotionType, Vector};
use crate::tables::macroblock::{BACKWARD, FORWARD, INTRA};

#[derive(Debug, Clone, Copy)]
pub(crate) struct References<'a, S> {
    pub(crate) forward: &'a Frame<S>,
    pub(crate) backward: &'a Frame<S>,
    /// In the second field of a frame: the frame that holds the first. A P field may be predicted from that field too,
    /// which has the opposite parity.
    pub(crate) first_field: Option<&'a Frame<S>>,
}

/// The lines of a frame or of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lines {
    All,
    Top,
    Bottom,
}

impl Lines {
    fn of(bottom: bool) -> Self {
        if bottom { Self::Bottom } else { Self::Top }
    }
}

/// A predicted macroblock, 16 samples from row to row in all planes.
#[derive(Debug, Clone)]
pub(crate) struct Prediction<S> {
    pub(crate) planes: [[S; 256]; 3],
}

impl<S: Sample> Prediction<S> {
    pub(crate) fn new() -> Self {
        Self { planes: [[S::NEUTRAL; 256]; 3] }
    }
}

/// The part of a macroblock that one vector predicts, in luminance samples.
#[derive(Debug, Clone, Copy)]
struct Part {
    /// Lines of the prediction that are filled.
    to: Lines,
    /// First line and number of lines, counted in `to`.
    row: usize,
    rows: usize,
}

/// The motion of one macroblock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Motion {
    pub(crate) flags: u8,
    pub(crate) motion: MotionType,
    pub(crate) vectors: crate::picture::Vectors,
    /// As [`Macroblock::field_select`].
    pub(crate) field_select: u8,
    pub(crate) dmvector: [i8; 2],
}

impl Motion {
    /// None: an intra macroblock, which is not predicted.
    pub(crate) const INTRA: Self = Self {
        flags: INTRA,
        motion: MotionType::Frame,
        vectors: [[Vector { x: 0, y: 0 }; 2]; 2],
        field_select: 0,
        dmvector: [0; 2],
    };

    /// True for [`Motion::INTRA`].
    pub(crate) fn is_intra(&self) -> bool {
        self.flags & INTRA != 0
    }

    /// Forward with a zero vector: a macroblock "no MC", or a skipped one of a P picture.
    pub(crate) fn zero(context: &PictureContext) -> Self {
        let bottom = context.coding.structure == PictureStructure::BottomField;
        Self {
            flags: FORWARD,
            motion: if context.is_field() { MotionType::Field } else { MotionType::Frame },
            vectors: Default::default(),
            field_select: u8::from(bottom) | u8::from(bottom) << 1,
            dmvector: [0; 2],
        }
    }

    /// Of a coded macroblock that is not intra.
    pub(crate) fn of(context: &PictureContext, macroblock: &Macroblock) -> Self {
        if macroblock.flags & (FORWARD | BACKWARD) == 0 {
            return Self::zero(context);
        }
        Self {
            flags: macroblock.flags & (FORWARD | BACKWARD),
            motion: macroblock.motion,
            vectors: macroblock.vectors,
            field_select: macroblock.field_select,
            dmvector: macroblock.dmvector,
        }
    }

    /// Of a skipped macroblock behind `before` (7.6.6).
    pub(crate) fn skipped(context: &PictureContext, before: &Macroblock) -> Self {
        if context.kind() == PictureKind::P || before.flags & (FORWARD | BACKWARD) == 0 {
            return Self::zero(context);
        }
        Self::of(context, before).repeated(context)
    }

    /// Of a skipped macroblock of a B picture behind one with this motion: the predictors are used again. For field vectors in
    /// frame pictures they are in frame lines.
    pub(crate) fn repeated(&self, context: &PictureContext) -> Self {
        let frame_lines = !context.is_field() && self.motion == MotionType::Field;
        let scale = |vector: Vector| Vector { y: vector.y << u8::from(frame_lines), ..vector };
        let vectors = self.vectors.map(|[first, _]| [scale(first); 2]);
        Self { flags: self.flags, vectors, ..Self::zero(context) }
    }

    /// True for [`Motion::zero`].
    pub(crate) fn is_zero(&self, context: &PictureContext) -> bool {
        self.is_as(&Self::zero(context))
    }

    /// True where both predict alike; vectors of a direction that is not used do not count.
    pub(crate) fn is_as(&self, other: &Self) -> bool {
        let used = FORWARD | BACKWARD;
        let same = |s: usize, flag: u8| {
            let selects = 0b101 << s;
            self.flags & flag == 0
                || (self.vectors[s] == other.vectors[s]
                    && self.field_select & selects == other.field_select & selects)
        };
        let is_dual_prime = self.motion == MotionType::DualPrime;
        (self.flags & used, self.motion) == (other.flags & used, other.motion)
            && (!is_dual_prime || self.dmvector == other.dmvector)
            && same(0, FORWARD)
            && same(1, BACKWARD)
    }
}

/// Predicts the macroblock at (`column`, `row`).
pub(crate) fn predict<S: Sample>(
    context: &PictureContext,
    references: &References<'_, S>,
    motion: &Motion,
    column: usize,
    row: usize,
    out: &mut Prediction<S>,
) {
    predict_components(context, references, motion, (column, row), 3, out);
}

/// Predicts the luminance alone of the macroblock at (`column`, `row`).
pub(crate) fn predict_luma<S: Sample>(
    context: &PictureContext,
    references: &References<'_, S>,
    motion: &Motion,
    place: (usize, usize),
    out: &mut Prediction<S>,
) {
    predict_components(context, references, motion, place, 1, out);
}

fn predict_components<S: Sample>(
    context: &PictureContext,
    references: &References<'_, S>,
    motion: &Motion,
    (column, row): (usize, usize),
    components: usize,
    out: &mut Prediction<S>,
) {
    let mut predictor = Predictor { context, column, row, components, out, average: false };
    for (s, flag) in [FORWARD, BACKWARD].into_iter().enumerate() {
        if motion.flags & flag != 0 {
            predictor.direction(references, motion, s);
            predictor.average = true;
        }
    }
}

struct Predictor<'a, S> {
    context: &'a PictureContext,
    column: usize,
    row: usize,
    /// The first of Y, Cb and Cr, this many, are predicted.
    components: usize,
    out: &'a mut Prediction<S>,
    average: bool,
}

impl<S: Sample> Predictor<'_, S> {
    fn direction(&mut self, references: &References<'_, S>, motion: &Motion, s: usize) {
        let selects = |r: usize| Lines::of(motion.field_select >> (2 * r + s) & 1 != 0);
        let [first, second] = motion.vectors[s];
        let frame = if s == 0 { references.forward } else { references.backward };
        let all = Part { to: Lines::All, row: 0, rows: 16 };
        match (motion.motion, self.context.is_field()) {
            (MotionType::DualPrime, false) => self.dual_prime_frame(frame, motion),
            (MotionType::DualPrime, true) => self.dual_prime_field(references, motion),
            (MotionType::Field, false) => {
                for (r, (to, vector)) in
                    [(Lines::Top, first), (Lines::Bottom, second)].into_iter().enumerate()
                {
                    self.part(frame, selects(r), vector, Part { to, row: 0, rows: 8 });
                }
            }
            (MotionType::Field, true) => {
                self.part(self.field_frame(references, s, selects(0)), selects(0), first, all);
            }
            (MotionType::Split, _) => {
                for (r, vector) in [first, second].into_iter().enumerate() {
                    let part = Part { to: Lines::All, row: 8 * r, rows: 8 };
                    self.part(self.field_frame(references, s, selects(r)), selects(r), vector, part);
                }
            }
            (MotionType::Frame, _) => self.part(frame, Lines::All, first, all),
        }
    }

    /// The frame that holds a reference field (7.6.2.1).
    fn field_frame<'a>(&self, references: &References<'a, S>, s: usize, lines: Lines) -> &'a Frame<S> {
        let own = Lines::of(self.context.coding.structure == PictureStructure::BottomField);
        match references.first_field {
            Some(current) if self.context.kind() == PictureKind::P && lines != own => current,
            _ if s == 0 => references.forward,
            _ => references.backward,
        }
    }

    /// 7.6.3.6: predicts each field from the field of its own parity and, with the derived vector, from the other.
    fn dual_prime_frame(&mut self, frame: &Frame<S>, motion: &Motion) {
        let vector = motion.vectors[0][0];
        let top_first = self.context.coding.top_field_first;
        for (bottom, to) in [(false, Lines::Top), (true, Lines::Bottom)] {
            let part = Part { to, row: 0, rows: 8 };
            // Distance of the opposite field, in field periods.
            let distance = if bottom == top_first { 3 } else { 1 };
            let derived = derive(vector, distance, motion.dmvector, bottom);
            let average = self.average;
            self.part(frame, to, vector, part);
            self.average = true;
            self.part(frame, Lines::of(!bottom), derived, part);
            self.average = average;
        }
    }

    fn dual_prime_field(&mut self, references: &References<'_, S>, motion: &Motion) {
        let bottom = self.context.coding.structure == PictureStructure::BottomField;
        let vector = motion.vectors[0][0];
        let part = Part { to: Lines::All, row: 0, rows: 16 };
        let derived = derive(vector, 1, motion.dmvector, bottom);
        let average = self.average;
        let own = Lines::of(bottom);
        self.part(self.field_frame(references, 0, own), own, vector, part);
        self.average = true;
        let other = Lines::of(!bottom);
        self.part(self.field_frame(references, 0, other), other, derived, part);
        self.average = average;
    }

    /// Predicts a part of the macroblock in the planes that are wanted.
    fn part(&mut self, frame: &Frame<S>, from: Lines, vector: Vector, part: Part) {
        let (dx, dy) = self.context.chroma.shift();
        for (component, plane) in frame.planes.iter().enumerate().take(self.components) {
            let (dx, dy) = if component == 0 { (0, 0) } else { (dx, dy) };
            // Halved towards zero (7.6.3.7).
            let x = i32::from(vector.x) / (1 << dx);
            let y = i32::from(vector.y) / (1 << dy);
            let height = if part.to == Lines::All { 16 } else { 8 };
            let area = Area {
                x: 2 * ((16 * self.column as i32) >> dx) + x,
                y: 2 * ((height * self.row + part.row) as i32 >> dy) + y,
                width: 16 >> dx,
                height: part.rows >> dy,
            };
            let (step, offset) = match part.to {
                Lines::All => (16, 16 * (part.row >> dy)),
                Lines::Top => (32, 0),
                Lines::Bottom => (32, 16),
            };
            fetch(plane, from, area, &mut self.out.planes[component][offset..], step, self.average);
        }
    }
}

/// The vector to the field of opposite parity (7.6.3.6).
fn derive(vector: Vector, distance: i32, dmvector: [i8; 2], to_bottom: bool) -> Vector {
    let scale = |value: i16, delta: i8| {
        let value = i32::from(value);
        ((value * distance + i32::from(value > 0)) >> 1) + i32::from(delta)
    };
    let shift = if to_bottom { 1 } else { -1 };
    Vector { x: scale(vector.x, dmvector[0]) as i16, y: (scale(vector.y, dmvector[1]) + shift) as i16 }
}

/// An area of a plane: position in half samples, size in samples.
#[derive(Debug, Clone, Copy)]
struct Area {
    x: i32,
    y: i32,
    width: usize,
    height: usize,
}

/// Interpolates an area of a plane's lines to half samples (7.6.4), and with `average` averages it with `out` (7.6.7.1).
/// Outside of the plane its border is repeated.
fn fetch<S: Sample>(plane: &Plane<S>, lines: Lines, area: Area, out: &mut [S], step: usize, average: bool) {
    let (offset, skip) = match lines {
        Lines::All => (0, 1),
        Lines::Top => (0, 2),
        Lines::Bottom => (plane.stride, 2),
    };
    let stride = plane.stride * skip;
    let rows = (plane.rows / skip) as i32;
    let (x, y) = (area.x >> 1, area.y >> 1);
    let half = (area.x & 1 != 0, area.y & 1 != 0);
    let (width, height) = (area.width + usize::from(half.0), area.height + usize::from(half.1));
    let inside = x >= 0 && y >= 0 && x as usize + width <= plane.stride && y + height as i32 <= rows;
    if inside {
        let source = &plane.data[offset + y as usize * stride + x as usize..];
        return interpolate(source, stride, half, area, out, step, average);
    }
    let mut border = [S::NEUTRAL; 17 * 17];
    for row in 0..height {
        let line = offset + (y + row as i32).clamp(0, rows - 1) as usize * stride;
        for column in 0..width {
            let at = (x + column as i32).clamp(0, plane.stride as i32 - 1) as usize;
            border[17 * row + column] = plane.data[line + at];
        }
    }
    interpolate(&border, 17, half, area, out, step, average);
}

fn interpolate<S: Sample>(
    source: &[S],
    stride: usize,
    half: (bool, bool),
    area: Area,
    out: &mut [S],
    step: usize,
    average: bool,
) {
    match area.width {
        16 => interpolate_width::<S, 16, 17>(source, stride, half, area.height, out, step, average),
        _ => interpolate_width::<S, 8, 9>(source, stride, half, area.height, out, step, average),
    }
}

/// `WIDE` is `WIDTH` + 1.
fn interpolate_width<S: Sample, const WIDTH: usize, const WIDE: usize>(
    source: &[S],
    stride: usize,
    half: (bool, bool),
    height: usize,
    out: &mut [S],
    step: usize,
    average: bool,
) {
    for row in 0..height {
        let line = &source[row * stride..];
        let mut samples = [S::NEUTRAL; WIDTH];
        match half {
            (false, false) => samples.copy_from_slice(&line[..WIDTH]),
            (true, false) => {
                let line: &[S; WIDE] = line[..WIDE].try_into().expect("WIDE samples");
                for (i, sample) in samples.iter_mut().enumerate() {
                    *sample = S::mean(line[i], line[i + 1]);
                }
            }
            (false, true) => {
                let next: &[S; WIDTH] = line[stride..stride + WIDTH].try_into().expect("WIDTH samples");
                let line: &[S; WIDTH] = line[..WIDTH].try_into().expect("WIDTH samples");
                for (i, sample) in samples.iter_mut().enumerate() {
                    *sample = S::mean(line[i], next[i]);
                }
            }
            (true, true) => {
                let next: &[S; WIDE] = line[stride..stride + WIDE].try_into().expect("WIDE samples");
                let line: &[S; WIDE] = line[..WIDE].try_into().expect("WIDE samples");
                for (i, sample) in samples.iter_mut().enumerate() {
                    *sample = S::mean_of_four([line[i], line[i + 1], next[i], next[i + 1]]);
                }
            }
        }
        let out = &mut out[row * step..row * step + WIDTH];
        if average {
            out.iter_mut().zip(samples).for_each(|(out, sample)| *out = S::mean(*out, sample));
        } else {
            out.copy_from_slice(&samples);
        }
    }
}
