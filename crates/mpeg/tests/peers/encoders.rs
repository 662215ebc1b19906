//! Streams that FFmpeg encodes with many settings, through decoder and shaper. FFmpeg must decode the output without a
//! warning.

use crate::tools::{decoded_by_ffmpeg, decoded_here, error, ffmpeg, shaped};
use seaway_mpeg::shape::Method;

const FRAMES: usize = 11;

/// Size, encoder and settings.
const KINDS: [(&str, &str, &str); 12] = [
    ("112x80", "mpeg1video", "-b:v 400k -bf 2"),
    ("112x80", "mpeg1video", "-q:v 1 -bf 3 -slices 1"),
    ("16x16", "mpeg1video", "-b:v 100k -bf 2"),
    ("101x67", "mpeg2video", "-b:v 500k -bf 2 -dc 11"),
    ("112x96", "mpeg2video", "-b:v 600k -bf 2 -flags +ildct+ilme -top 1"),
    ("112x96", "mpeg2video", "-b:v 600k -bf 2 -flags +ildct+ilme -alternate_scan 1 -intra_vlc 1"),
    ("112x80", "mpeg2video", "-q:v 3 -non_linear_quant 1 -qmax 28 -intra_vlc 1 -dc 9"),
    ("112x80", "mpeg2video", "-pix_fmt yuv422p -b:v 900k -bf 2 -intra_vlc 1"),
    ("112x96", "mpeg2video", "-pix_fmt yuv422p -b:v 900k -bf 1 -flags +ildct+ilme"),
    ("112x80", "mpeg2video", "-b:v 400k -flags +low_delay -g 100"),
    ("112x80", "mpeg2video", "-b:v 500k -flags +cgop -g 5 -bf 2 -sc_threshold 1000000000"),
    ("48x2832", "mpeg2video", "-b:v 1500k -bf 2"),
];

#[test]
fn streams_of_all_kinds_are_decoded_and_shaped() {
    for (size, encoder, settings) in KINDS {
        let source = format!("-f lavfi -i testsrc2=size={size}:rate=25,noise=alls=12:allf=t");
        let arguments =
            format!("{source} -frames:v {FRAMES} -g 9 -c:v {encoder} {settings} -f {encoder} pipe:1");
        let Some((stream, said)) = ffmpeg(&[], &arguments) else { return };
        assert!(!stream.is_empty(), "{settings}: {said}");
        let Some((expected, said_of_input)) = decoded_by_ffmpeg(&stream) else { return };
        let found = decoded_here(&stream);
        assert_eq!(found.len(), expected.len(), "{settings}");
        assert!(error(&found, &expected) < 0.1, "{settings}: {}", error(&found, &expected));
        for (name, method) in Method::ALL {
            assert!(shaped(&stream, method, 1.0).0 == stream, "{settings}: {name}");
            let (output, at_floor) = shaped(&stream, method, 0.75);
            let label = format!("{settings}: {name}, {} of {}", output.len(), stream.len());
            // A few small pictures leave little to be exact with.
            assert!(at_floor || output.len() as f64 / stream.len() as f64 <= 0.76, "{label}");
            assert_eq!(decoded_here(&output).len(), expected.len(), "{label}");
            // One that truncates and one that rewrites.
            if matches!(method, Method::Memoryless | Method::Auto) {
                let Some((samples, said)) = decoded_by_ffmpeg(&output) else { return };
                assert_eq!(samples.len(), expected.len(), "{label}");
                assert_eq!(said.lines().count(), said_of_input.lines().count(), "{label}: {said}");
            }
        }
    }
}
