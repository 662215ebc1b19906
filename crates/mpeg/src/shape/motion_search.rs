//! The search for the cheapest motion of a macroblock: candidates, then step by step the neighbours of the best one.

use crate::decode::predict::Motion;
use crate::header::PictureContext;
use crate::motion::{directions, has_two};
use crate::picture::{MotionType, Vector};

/// Half a sample further may cost less only where the error costs more than this, in bits.
const LEAST_REFINED: f32 = 16.0;
/// The search goes on where its last step has saved more bits than this.
const LEAST_SAVED: f32 = 4.0;
/// Steps of the search, at most.
const STEPS: usize = 8;

/// Motion without any code.
#[derive(Debug, Clone, Copy)]
pub(super) struct Trial {
    pub(super) motion: Motion,
    /// Weighted, in bits.
    pub(super) error: f32,
    bits: u32,
}

impl Trial {
    fn cost(&self) -> f32 {
        self.error + self.bits as f32
    }
}

/// The search, with what gives the bits of a motion and its weighted error, and whether it may be coded.
pub(super) struct Search<B, E, I> {
    bits: B,
    error: E,
    is_inside: I,
    /// Bits of the first motion.
    most: u32,
    pub(super) best: Trial,
}

impl<B: Fn(&Motion) -> u32, E: FnMut(&Motion) -> f32, I: Fn(&Motion) -> bool> Search<B, E, I> {
    /// Begins with `motion`.
    pub(super) fn new(bits: B, mut error: E, is_inside: I, motion: Motion) -> Self {
        let best = Trial { motion, error: error(&motion), bits: bits(&motion) };
        Self { bits, error, is_inside, most: best.bits, best }
    }

    /// Takes a motion if it is cheaper.
    pub(super) fn attempt(&mut self, motion: Motion) {
        if !(self.is_inside)(&motion) {
            return;
        }
        let error = (self.error)(&motion);
        if error < self.best.cost() {
            let trial = Trial { motion, error, bits: (self.bits)(&motion) };
            if trial.cost() < self.best.cost() {
                self.best = trial;
            }
        }
    }

    /// Takes a motion if it is cheaper and has fewer bits than the first one.
    pub(super) fn attempt_with_fewer_bits(&mut self, motion: Motion) {
        if (self.bits)(&motion) < self.most {
            self.attempt(motion);
        }
    }

    /// Moves vectors of the best motion by half a sample, one in each step, while that saves enough.
    pub(super) fn refine(&mut self, context: &PictureContext) {
        for _ in 0..STEPS {
            let before = self.best;
            if before.error <= LEAST_REFINED {
                return;
            }
            neighbours(context, before.motion).for_each(|motion| self.attempt(motion));
            if before.cost() - self.best.cost() <= LEAST_SAVED {
                return;
            }
        }
    }
}

/// Motion with one vector moved by half a sample; none for dual prime.
fn neighbours(context: &PictureContext, motion: Motion) -> impl Iterator<Item = Motion> + use<> {
    let two = has_two(context, motion.motion);
    let vectors = directions(&motion).filter(move |_| motion.motion != MotionType::DualPrime);
    vectors.flat_map(move |s| (0..1 + usize::from(two)).map(move |r| (s, r))).flat_map(move |(s, r)| {
        AROUND.into_iter().map(move |(x, y)| {
            let mut moved = motion;
            let Vector { x: across, y: down } = motion.vectors[s][r];
            let vector = Vector { x: across.saturating_add(x), y: down.saturating_add(y) };
            match two {
                true => moved.vectors[s][r] = vector,
                false => moved.vectors[s] = [vector; 2],
            }
            moved
        })
    })
}

/// The four nearest neighbours of a vector.
const AROUND: [(i16, i16); 4] = [(0, -1), (-1, 0), (1, 0), (0, 1)];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header::{PictureStructure, SequenceState};
    use crate::unit::Splitter;

    /// A frame picture.
    fn context() -> PictureContext {
        let mut splitter = Splitter::default();
        splitter.push(include_bytes!("../../tests/fixtures/elementary.m2v"));
        let unit = splitter.pull().expect("a picture");
        let mut context = unit.read_headers(&mut SequenceState::default()).expect("a context");
        context.coding.structure = PictureStructure::Frame;
        context
    }

    fn forward(context: &PictureContext, x: i16, y: i16) -> Motion {
        Motion { vectors: [[Vector { x, y }; 2]; 2], ..Motion::zero(context) }
    }

    #[test]
    fn the_search_goes_on_while_it_saves_enough() {
        let context = context();
        // Errors fall by 10 a half sample to the right, up to the fourth; a vector takes as many bits as it is long.
        let error = |motion: &Motion| 100.0 - 10.0 * f32::from(motion.vectors[0][0].x.min(4));
        let bits = |motion: &Motion| u32::from(motion.vectors[0][0].x.unsigned_abs());
        let zero = forward(&context, 0, 0);
        let mut search = Search::new(bits, error, |_| true, zero);
        search.refine(&context);
        assert_eq!((search.best.motion.vectors[0][0].x, search.best.error, search.best.bits), (4, 60.0, 4));
        // Beyond the second is the end of the picture.
        let mut search = Search::new(bits, error, |motion: &Motion| motion.vectors[0][0].x < 3, zero);
        search.refine(&context);
        assert_eq!(search.best.motion.vectors[0][0].x, 2);
        // One of more bits is taken where it is cheaper, but not where it has to have fewer.
        let mut search = Search::new(bits, error, |_| true, zero);
        search.attempt_with_fewer_bits(forward(&context, 3, 0));
        assert_eq!(search.best.motion.vectors[0][0].x, 0);
        search.attempt(forward(&context, 3, 0));
        assert_eq!(search.best.motion.vectors[0][0].x, 3);
    }

    #[test]
    fn vectors_move_by_half_a_sample() {
        let context = context();
        let around = neighbours(&context, forward(&context, 3, -2));
        let vectors: Vec<_> = around.map(|motion| (motion.vectors[0][0].x, motion.vectors[0][0].y)).collect();
        assert_eq!(vectors, [(3, -3), (2, -2), (4, -2), (3, -1)]);
        let fields = Motion { motion: MotionType::Field, ..forward(&context, 3, -2) };
        // Either vector alone.
        assert_eq!(neighbours(&context, fields).count(), 8);
        let last = neighbours(&context, fields).last().expect("a neighbour");
        assert_eq!(last.vectors[0], [Vector { x: 3, y: -2 }, Vector { x: 3, y: -1 }]);
        let dual = Motion { motion: MotionType::DualPrime, ..fields };
        assert_eq!(neighbours(&context, dual).count(), 0);
    }
}
