//! The pictures of a window in a closed loop, on several threads: what is predicted from an I picture is a chain, in which each reference
//! picture needs the one before it. Chains need nothing from each other, nor do B pictures, but for the reference frames on either side.

use super::drift::Drift;
use super::parallel::{self, Scope};
use super::picture::PictureShaper;
use crate::header::{PictureContext, PictureKind};
use std::num::NonZeroUsize;

/// A run of pictures that begins with an I picture, or with the window.
struct Chain<'a> {
    pictures: &'a mut [PictureShaper],
    /// The picture ahead of which the drift is asked for, if it is in this chain.
    asked_for: Option<usize>,
    drift: Drift,
    /// The drift that was asked for.
    halfway: Option<Drift>,
    /// B pictures that may be predicted from the chain before, each with the drift that is known of this one.
    leading: Vec<(&'a mut PictureShaper, Drift)>,
}

/// Codes pictures in a closed loop for `lambda` and writes them. `before` is the drift ahead of them; returns it ahead of picture `half`
/// and behind them all. The result does not depend on the number of threads.
pub(super) fn write(
    threads: NonZeroUsize,
    pictures: &mut [PictureShaper],
    half: usize,
    lambda: f32,
    before: &Drift,
) -> [Drift; 2] {
    let mut chains = split(pictures, half, before);
    parallel::scope(threads, |scope| {
        for (index, chain) in chains.iter_mut().enumerate() {
            scope.spawn(move |scope| chain.write(lambda, index == 0, scope));
        }
    });
    for k in 1..chains.len() {
        let (ahead, rest) = chains.split_at_mut(k);
        rest[0].follow_on(&ahead[k - 1]);
    }
    let mut leading: Vec<_> = chains.iter_mut().flat_map(|chain| chain.leading.drain(..)).collect();
    parallel::for_each(threads, &mut leading, |(picture, drift)| picture.write_closed(lambda, drift));
    drop(leading);
    let halfway = chains.iter_mut().find_map(|chain| chain.halfway.take());
    let after = chains.pop().map_or_else(|| before.clone(), |chain| chain.drift);
    [halfway.unwrap_or_else(|| after.clone()), after]
}

fn split<'a>(pictures: &'a mut [PictureShaper], half: usize, before: &Drift) -> Vec<Chain<'a>> {
    let mut begin = 0;
    let mut chains: Vec<_> = pictures
        .chunk_by_mut(|_, next| !begins_chain(next))
        .map(|pictures| {
            let asked_for = half.checked_sub(begin).filter(|&half| half < pictures.len());
            begin += pictures.len();
            let (drift, halfway, leading) = (Drift::default(), None, Vec::new());
            Chain { pictures, asked_for, drift, halfway, leading }
        })
        .collect();
    if let Some(first) = chains.first_mut() {
        first.drift = before.clone();
    }
    chains
}

/// True for an I picture of a whole frame: the second field of an I frame may be predicted from the frame before it.
fn begins_chain(picture: &PictureShaper) -> bool {
    let is_whole = |context: &PictureContext| context.kind() == PictureKind::I && !context.is_field();
    picture.is_shapeable() && picture.context.as_ref().is_some_and(is_whole)
}

impl<'a> Chain<'a> {
    /// Writes all pictures but B pictures that may be predicted from the chain before, if this is not the `first`.
    fn write<'env>(&mut self, lambda: f32, first: bool, scope: &Scope<'_, 'env>)
    where
        'a: 'env,
    {
        for (index, picture) in std::mem::take(&mut self.pictures).iter_mut().enumerate() {
            if self.asked_for == Some(index) {
                self.halfway = Some(self.drift.clone());
            }
            let context = picture.context.as_ref().filter(|context| context.kind() == PictureKind::B);
            if let Some(context) = context {
                self.drift.open(context, picture.closed_group);
                let mut drift = self.drift.clone();
                if first || drift.has_both() {
                    scope.spawn(move |_| picture.write_closed(lambda, &mut drift));
                } else {
                    self.leading.push((picture, drift));
                }
            } else {
                picture.write_closed(lambda, &mut self.drift);
            }
        }
    }

    /// The reference frames ahead of its I picture are those of the chain before.
    fn follow_on(&mut self, before: &Self) {
        let of_b_pictures = self.leading.iter_mut().map(|(_, drift)| drift);
        for drift in of_b_pictures.chain(&mut self.halfway).chain([&mut self.drift]) {
            drift.follow_on(&before.drift);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAMS: [&[u8]; 2] = [
        include_bytes!("../../tests/fixtures/elementary.m2v"),
        include_bytes!("../../tests/fixtures/interlaced.m2v"),
    ];
    const LAMBDA: f32 = 300.0;

    fn bytes(pictures: &[PictureShaper]) -> Vec<Vec<u8>> {
        pictures.iter().map(|picture| picture.writer.bytes().to_vec()).collect()
    }

    #[test]
    fn chains_give_what_pictures_in_turn_give() {
        for stream in STREAMS {
            let mut in_turn = PictureShaper::all_of(stream);
            let mut drift = Drift::default();
            in_turn.iter_mut().for_each(|picture| picture.write_closed(LAMBDA, &mut drift));
            let begins = in_turn.iter().filter(|picture| begins_chain(picture)).count();
            assert!(begins > 1 && in_turn.iter().any(|picture| picture.report.kind == Some(PictureKind::B)));
            for (threads, half) in (0..in_turn.len()).flat_map(|half| [(1, half), (3, half)]) {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                let threads = NonZeroUsize::new(threads).unwrap();
                let mut shaped = PictureShaper::all_of(stream);
                let write = |pictures: &mut [PictureShaper], half, before: &Drift| {
                    pool.install(|| write(threads, pictures, half, LAMBDA, before))
                };
                let [halfway, after] = write(&mut shaped, half, &Drift::default());
                assert!(bytes(&shaped) == bytes(&in_turn), "{threads} threads");
                assert!(after.newest() == drift.clone().newest());
                let mut rest = PictureShaper::all_of(stream).split_off(half);
                let [_, after] = write(&mut rest, 1, &halfway);
                assert!(bytes(&rest) == bytes(&in_turn[half..]), "{threads} threads from {half} on");
                assert!(after.newest() == drift.clone().newest());
            }
        }
    }
}
