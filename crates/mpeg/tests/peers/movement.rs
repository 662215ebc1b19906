//! Shaping does not change the motion of any macroblock where it may not.

use crate::stream::{Dice, Syntax, sequence};
use crate::syntax::KINDS;
use crate::tools::shaped_by;
use seaway_mpeg::header::{
    PictureCodingExtension, PictureContext, PictureKind, PictureStructure, SequenceState,
};
use seaway_mpeg::picture::{Macroblock, MotionType, Picture, Vectors};
use seaway_mpeg::shape::{Config, Method, Target};
use seaway_mpeg::tables::macroblock::{BACKWARD, FORWARD, INTRA};
use seaway_mpeg::unit::{AccessUnit, Splitter};

#[test]
fn vectors_stay_whatever_is_cut() {
    for (name, syntax) in KINDS {
        let before = stream(&syntax, 7);
        for (method, how) in Method::ALL {
            let config = Config { new_motion: false, ..Config::new(how, Target::Ratio(0.3)) };
            let after = shaped_by(&before, config).0;
            assert!(after.len() < before.len());
            let (units, cut) = (units(&before), units(&after));
            assert_eq!(units.len(), cut.len(), "{name}, {method}");
            let mut states = [SequenceState::default(), SequenceState::default()];
            for (unit, cut) in units.iter().zip(&cut) {
                let [before, after] = [(unit, 0), (cut, 1)].map(|(unit, i)| parsed(unit, &mut states[i]));
                compare(&before, &after, &format!("{name}, {method}"));
            }
        }
    }
}

fn stream(syntax: &Syntax, seed: u64) -> Vec<u8> {
    let mut stream = Vec::new();
    sequence(syntax, &mut Dice(seed), &mut stream);
    stream
}

fn units(data: &[u8]) -> Vec<AccessUnit> {
    let mut splitter = Splitter::default();
    splitter.push(data);
    splitter.finish();
    std::iter::from_fn(|| splitter.pull()).collect()
}

fn parsed(unit: &AccessUnit, state: &mut SequenceState) -> (PictureContext, Picture) {
    let context = unit.read_headers(state).expect("a picture");
    let mut picture = Picture::default();
    unit.read_slices(&context, &mut picture);
    assert!(picture.slices.iter().all(|slice| slice.damage.is_none()));
    (context, picture)
}

/// The motion of a macroblock: directions, prediction type, vectors in use, reference fields, `dmvector`.
#[derive(Debug, PartialEq)]
struct Movement(u8, MotionType, Vectors, u8, [i8; 2]);

impl Movement {
    fn of(context: &PictureContext, macroblock: &Macroblock) -> Self {
        let directions = macroblock.flags & (FORWARD | BACKWARD | INTRA);
        if directions == 0 {
            return Self::zero(context);
        }
        let mut vectors = macroblock.vectors;
        let two = macroblock.motion == MotionType::Split
            || (macroblock.motion == MotionType::Field && !context.is_field());
        for direction in &mut vectors {
            // The second is the first again where there is but one.
            direction[1] = if two { direction[1] } else { Default::default() };
        }
        Self(directions, macroblock.motion, vectors, macroblock.field_select, macroblock.dmvector)
    }

    /// Forward, by nothing, from the same field.
    fn zero(context: &PictureContext) -> Self {
        let motion = if context.is_field() { MotionType::Field } else { MotionType::Frame };
        let bottom = context.coding.structure == PictureStructure::BottomField;
        Self(FORWARD, motion, Vectors::default(), u8::from(bottom), [0; 2])
    }
}

fn compare(before: &(PictureContext, Picture), after: &(PictureContext, Picture), label: &str) {
    let context = &before.0;
    // The table of intra blocks alone may be another one.
    let intra_vlc_format = context.coding.intra_vlc_format;
    let coding = PictureCodingExtension { intra_vlc_format, ..after.0.coding.clone() };
    assert_eq!(context.coding, coding, "{label}");
    let mut written = after.1.macroblocks.iter().peekable();
    for macroblock in &before.1.macroblocks {
        let found = written.next_if(|found| found.address == macroblock.address);
        let movement = Movement::of(context, macroblock);
        match found {
            Some(found) => {
                assert_eq!(Movement::of(context, found), movement, "{label}");
                assert!(found.blocks == 0 || found.field_dct == macroblock.field_dct, "{label}");
                let sources = before.1.blocks_of(macroblock);
                for block in after.1.blocks_of(found) {
                    let source = sources.iter().find(|source| source.index() == block.index());
                    assert_eq!(source.map(|source| source.dc), Some(block.dc), "{label}");
                }
            }
            // Skipped now.
            None => {
                assert_eq!(context.kind(), PictureKind::P, "{label}");
                assert_eq!(Movement::zero(context), movement, "{label}");
            }
        }
    }
    assert!(written.next().is_none(), "{label}");
}
