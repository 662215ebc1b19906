//! The search for the cheapest motion of a macroblock: candidates, then step by step the neighbours of the best one.

use crate::decode::predict::Motion;
use crate::header::PictureContext;
use crate::motion::{directions, has_two};
use crate::picture::{MotionType, Vector};

/// Half a sample further may cost less only where the error costs more than this, in bits.
const LEAST_REFINED: f32 = 20.0;
/// The search goes on where its last step has saved more bits than this.
const LEAST_SAVED: f32 = 6.0;
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

    /// Moves each vector of the best motion in turn by half a sample, while that saves enough.
    pub(super) fn refine(&mut self, context: &PictureContext) {
        for (s, r) in vectors(context, &self.best.motion) {
            let mut last = None;
            for _ in 0..STEPS {
                last = self.step(context, (s, r), last);
                if last.is_none() {
                    break;
                }
            }
        }
    }

    /// Moves one vector by half a sample, but not back from the direction `last`; `None` where that does not save enough.
    fn step(
        &mut self,
        context: &PictureContext,
        vector: (usize, usize),
        last: Option<Vector>,
    ) -> Option<Vector> {
        let before = self.best;
        if before.error <= LEAST_REFINED {
            return None;
        }
        let mut found = None;
        for (x, y) in AROUND {
            let cost = self.best.cost();
            if last != Some(Vector { x: -x, y: -y }) {
                self.attempt(moved(context, before.motion, vector, (x, y)));
            }
            if self.best.cost() < cost {
                found = Some(Vector { x, y });
            }
        }
        found.filter(|_| before.cost() - self.best.cost() > LEAST_SAVED)
    }
}

/// The vectors of a motion, by direction and number; none for dual prime.
fn vectors(context: &PictureContext, motion: &Motion) -> impl Iterator<Item = (usize, usize)> + use<> {
    let count = match motion.motion {
        MotionType::DualPrime => 0,
        of => 1 + usize::from(has_two(context, of)),
    };
    directions(motion).flat_map(move |s| (0..count).map(move |r| (s, r)))
}

/// Motion with the vector `r` of direction `s` moved.
fn moved(context: &PictureContext, motion: Motion, (s, r): (usize, usize), (x, y): (i16, i16)) -> Motion {
    let mut moved = motion;
    let Vector { x: across, y: down } = motion.vectors[s][r];
    let vector = Vector { x: across.saturating_add(x), y: down.saturating_add(y) };
    match has_two(context, motion.motion) {
        true => moved.vectors[s][r] = vector,
        false => moved.vectors[s] = [vector; 2],
    }
    moved
}

/// The way to the four nearest neighbours of a vector.
const AROUND: [(i16, i16); 4] = [(0, -1), (-1, 0), (1, 0), (0, 1)];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header::PictureStructure;

    /// A frame picture.
    fn context() -> PictureContext {
        let mut context = PictureContext::of_fixture();
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
    fn vectors_move_one_by_one() {
        let context = context();
        let frame = forward(&context, 3, -2);
        assert_eq!(vectors(&context, &frame).collect::<Vec<_>>(), [(0, 0)]);
        // The second vector of one that has a single one is the same.
        assert_eq!(moved(&context, frame, (0, 0), (-1, 0)).vectors[0], [Vector { x: 2, y: -2 }; 2]);
        let fields = Motion { motion: MotionType::Field, ..frame };
        assert_eq!(vectors(&context, &fields).collect::<Vec<_>>(), [(0, 0), (0, 1)]);
        let second = moved(&context, fields, (0, 1), (0, 1));
        assert_eq!(second.vectors[0], [Vector { x: 3, y: -2 }, Vector { x: 3, y: -1 }]);
        let dual = Motion { motion: MotionType::DualPrime, ..fields };
        assert_eq!(vectors(&context, &dual).count(), 0);
    }
}
