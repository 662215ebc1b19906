//! Access units before a decoder sees them: what passes once passes again, and is cut the same way.

#![no_main]

use libfuzzer_sys::fuzz_target;
use seaway_media::h264::{AccessUnitSplitter, Inspector, nal_units};

fuzz_target!(|stream: &[u8]| {
    let mut splitter = AccessUnitSplitter::default();
    let mut units: Vec<_> = nal_units(stream).filter_map(|nal| splitter.push(nal)).collect();
    units.extend(splitter.finish());
    let (mut inspector, mut again) = (Inspector::default(), Inspector::default());
    for unit in units {
        let Ok(first) = inspector.inspect(&unit) else { continue };
        // Parameter sets of refused units come along; short start codes become long ones.
        assert!(first.size.pixels() <= 3840 * 2160 && first.stream.len() <= 2 * stream.len());
        if let Ok(second) = again.inspect(first.stream) {
            assert_eq!((first.key, first.size, first.stream), (second.key, second.size, second.stream));
        }
    }
});
