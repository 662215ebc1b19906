//! The shaper on any bytes: ratio 1 is identity; any other output has the same units, and no slice that was sound
//! is damaged.

#![no_main]

use libfuzzer_sys::fuzz_target;
use seaway_mpeg::header::SequenceState;
use seaway_mpeg::picture::Picture;
use seaway_mpeg::shape::{ClosedLoop, Cluster, Config, Method, Shaper, Target};
use seaway_mpeg::unit::Splitter;
use std::num::NonZeroU16;

/// Larger pictures cost time and show nothing new.
const LARGEST: usize = 400;

fuzz_target!(|data: &[u8]| {
    let [choice, share, closed_loop, data @ ..] = data else { return };
    let Some(before) = sound_slices(data) else { return };
    let (_, method) = Method::ALL[usize::from(*choice) % Method::ALL.len()];
    assert_eq!(shape(Config::new(method, Target::Ratio(1.0)), data).concat(), data);

    let mut config = Config::new(method, Target::Ratio(f64::from(*share) / 256.0));
    (_, config.closed_loop) = ClosedLoop::ALL[usize::from(*closed_loop) % ClosedLoop::ALL.len()];
    config.cluster = match choice >> 4 {
        0 => Cluster::Block,
        n => Cluster::Macroblocks(NonZeroU16::new(u16::from(n)).expect("not 0")),
    };
    let shaped = shape(config, data).concat();
    let after = sound_slices(&shaped);
    assert_eq!(after.as_deref(), Some(&*before));
});

fn shape(config: Config, data: &[u8]) -> Vec<Vec<u8>> {
    let mut shaper = Shaper::new(config);
    shaper.push(data);
    shaper.finish();
    std::iter::from_fn(|| shaper.pull()).map(|shaped| shaped.bytes).collect()
}

/// Sound slices of each unit; `None` where a picture is large.
fn sound_slices(data: &[u8]) -> Option<Vec<usize>> {
    let mut splitter = Splitter::default();
    splitter.push(data);
    splitter.finish();
    let mut state = SequenceState::default();
    let mut picture = Picture::default();
    let mut counts = Vec::new();
    while let Some(unit) = splitter.pull() {
        picture.clear();
        if let Some(context) = unit.read_headers(&mut state) {
            if context.columns * context.rows > LARGEST {
                return None;
            }
            unit.read_slices(&context, &mut picture);
        }
        counts.push(picture.slices.iter().filter(|slice| slice.damage.is_none()).count());
    }
    Some(counts)
}
