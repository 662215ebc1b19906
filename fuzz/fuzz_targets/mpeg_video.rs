//! MPEG-1/2 video: any bytes are cut into units without loss, parsed within bounds, and decoded.

#![no_main]

use libfuzzer_sys::fuzz_target;
use seaway_mpeg::decode::Decoder;
use seaway_mpeg::header::SequenceState;
use seaway_mpeg::picture::Picture;
use seaway_mpeg::unit::Splitter;

/// Larger pictures are parsed only: decoding megabytes of grey for a few bytes of input finds nothing.
const LARGEST_DECODED: usize = 400;

fuzz_target!(|data: &[u8]| {
    let mut splitter = Splitter::default();
    data.chunks(997).for_each(|piece| splitter.push(piece));
    splitter.finish();
    let mut state = SequenceState::default();
    let mut picture = Picture::default();
    let mut decoder = Decoder::new();
    let mut seen = 0;
    while let Some(unit) = splitter.pull() {
        assert_eq!(unit.data, data[seen..seen + unit.data.len()]);
        seen += unit.data.len();
        let mut small = true;
        if let Some(context) = unit.read_headers(&mut state) {
            unit.read_slices(&context, &mut picture);
            small = context.columns * context.rows <= LARGEST_DECODED;
            for block in &picture.blocks {
                assert!(picture.codes_of(block).is_sorted_by(|a, b| a.position() < b.position()));
            }
        }
        if small {
            decoder.decode_unit(&unit);
            while decoder.pull().is_some() {}
        }
    }
    assert_eq!(seen, data.len());
});
