//! Matroska.

use crate::harness::{ELEMENTARY, RunConfig, cut, expected, run};
use seaway_mpeg::container::{Config, ContainerReport, Error, Remuxer, Replacement};

/// An element with a size of four bytes.
fn element(id: &[u8], content: &[u8]) -> Vec<u8> {
    let size = 0x1000_0000 | content.len() as u32;
    [id, &size.to_be_bytes(), content].concat()
}

fn number(id: &[u8], value: u32) -> Vec<u8> {
    element(id, &value.to_be_bytes())
}

const CLUSTER: [u8; 4] = [0x1f, 0x43, 0xb6, 0x75];
const CUES: [u8; 4] = [0x1c, 0x53, 0xbb, 0x6b];

fn block(track: u8, time: u16, payload: &[u8]) -> Vec<u8> {
    [&[0x80 | track][..], &time.to_be_bytes(), &[0x80], payload].concat()
}

/// The fixture in clusters of five blocks of 1500 bytes, with sound between them that looks like check sums; two in three
/// blocks are in groups.
/// A seek head points at the cues, which stand at the end; both have check sums.
fn file(codec: &str) -> Vec<u8> {
    let sum = element(&[0xbf], &[1, 2, 3, 4]);
    let track = [number(&[0xd7], 2), element(&[0x86], codec.as_bytes())].concat();
    let tracks = [
        element(&[0xae], &[number(&[0xd7], 1), element(&[0x86], b"A_AC3")].concat()),
        element(&[0xae], &track),
    ]
    .concat();
    let tracks = element(&[0x16, 0x54, 0xae, 0x6b], &tracks);
    let seek_head = |cues: u32| {
        let seek = [element(&[0x53, 0xab], &CUES), number(&[0x53, 0xac], cues)].concat();
        element(&[0x11, 0x4d, 0x9b, 0x74], &[sum.clone(), element(&[0x4d, 0xbb], &seek)].concat())
    };
    let mut content = [seek_head(0), tracks].concat();
    let (mut points, mut before) = (sum.clone(), 0);
    for (index, video) in ELEMENTARY.chunks(7500).enumerate() {
        let place = content.len() as u32;
        let mut cluster = [sum.clone(), number(&[0xe7], 200 * index as u32), number(&[0xa7], place)].concat();
        cluster.extend(number(&[0xab], before));
        for (part, payload) in video.chunks(1500).enumerate() {
            let block = block(2, 40 * part as u16, payload);
            cluster.extend(match part % 3 {
                0 => element(&[0xa3], &block),
                _ => element(&[0xa0], &[element(&[0xa1], &block), number(&[0x9b], 40)].concat()),
            });
            cluster.extend(element(&[0xa3], &self::block(1, 40 * part as u16, &[0xbf, 0x81].repeat(40))));
        }
        let cluster = element(&CLUSTER, &cluster);
        before = cluster.len() as u32;
        content.extend(cluster);
        let place = [number(&[0xf7], 2), number(&[0xf1], place), number(&[0xf0], 40)].concat();
        points.extend(element(
            &[0xbb],
            &[number(&[0xb3], 200 * index as u32), element(&[0xb7], &place)].concat(),
        ));
    }
    let cues = content.len() as u32;
    let head = seek_head(cues);
    content[..head.len()].copy_from_slice(&head);
    content.extend(element(&CUES, &points));
    [element(&[0x1a, 0x45, 0xdf, 0xa3], &[]), element(&[0x18, 0x53, 0x80, 0x67], &content)].concat()
}

/// Identifier, content and offset of the elements in `bytes`; every size must fit.
fn elements(bytes: &[u8]) -> Vec<(u32, &[u8], usize)> {
    let (mut at, mut found) = (0, Vec::new());
    while at < bytes.len() {
        let id = bytes[at].leading_zeros() as usize + 1;
        let size = bytes[at + id].leading_zeros() as usize + 1;
        let value = |range: &[u8]| range.iter().fold(0u64, |value, &byte| value << 8 | u64::from(byte));
        let length = value(&bytes[at + id..at + id + size]) & ((1u64 << (7 * size)) - 1);
        let begin = at + id + size;
        found.push((value(&bytes[at..at + id]) as u32, &bytes[begin..begin + length as usize], at));
        at = begin + length as usize;
    }
    found
}

fn value(content: &[u8]) -> usize {
    content.iter().fold(0, |value, &byte| value << 8 | usize::from(byte))
}

/// Video and sound of a file, once its clusters, cues and seek head are found to point at each other.
fn tracks(file: &[u8]) -> [Vec<u8>; 2] {
    let top = elements(file);
    let segment = elements(top[1].1);
    let mut tracks = [Vec::new(), Vec::new()];
    let mut before = 0;
    for (_, cluster, at) in segment.iter().filter(|(id, ..)| *id == 0x1f43_b675) {
        for (id, content, _) in elements(cluster) {
            let block = match id {
                0xa3 => content,
                0xa0 => elements(content)[0].1,
                0xa7 => {
                    assert_eq!(value(content), *at);
                    continue;
                }
                0xab => {
                    assert_eq!(value(content), before);
                    continue;
                }
                _ => continue,
            };
            tracks[usize::from(block[0] & 1)].extend_from_slice(&block[4..]);
        }
        before = cluster.len() + 8;
    }
    let places: Vec<usize> = segment.iter().filter(|s| s.0 == 0x1f43_b675).map(|s| s.2).collect();
    let (_, cues, at) = segment.iter().find(|(id, ..)| *id == 0x1c53_bb6b).unwrap();
    let points = elements(cues).into_iter().filter(|(id, ..)| *id == 0xbb);
    let cued: Vec<usize> = points
        .map(|(_, point, _)| {
            elements(elements(point)[1].1).iter().find(|e| e.0 == 0xf1).map(|e| value(e.1)).unwrap()
        })
        .collect();
    assert_eq!(cued, places);
    let seek = elements(segment[0].1).into_iter().find(|(id, ..)| *id == 0x4dbb).unwrap();
    assert_eq!(value(elements(seek.1)[1].1), *at);
    tracks
}

fn patched(mut remuxer: Remuxer, mut output: Vec<u8>) -> Vec<u8> {
    remuxer.drain_output(&mut output);
    for patch in remuxer.patches() {
        let at = patch.at as usize;
        output[at..at + patch.bytes.len()].copy_from_slice(&patch.bytes);
    }
    output
}

fn shaped(input: &[u8], chunk: usize, config: Config, share: f64) -> (Vec<u8>, Vec<u8>) {
    let (mut remuxer, mut output, mut wanted) = (Remuxer::new(config), Vec::new(), Vec::new());
    let mut turn = |remuxer: &mut Remuxer, output: &mut Vec<u8>| {
        while let Some(picture) = remuxer.poll_picture() {
            let kept = (picture.unit.data.len() as f64 * share) as usize;
            wanted.extend_from_slice(&picture.unit.data[..kept]);
            remuxer.replace(Replacement::Bytes(picture.unit.data[..kept].to_vec())).unwrap();
        }
        remuxer.drain_output(output);
    };
    for chunk in input.chunks(chunk) {
        remuxer.push(chunk).unwrap();
        turn(&mut remuxer, &mut output);
    }
    remuxer.finish().unwrap();
    turn(&mut remuxer, &mut output);
    (patched(remuxer, output), wanted)
}

#[test]
fn sizes_cues_and_seek_head_follow_the_smaller_video() {
    let input = file("V_MPEG2");
    let [sound_before, video_before] = match tracks(&input) {
        [video, sound] => [sound, video],
    };
    assert!(video_before == ELEMENTARY);
    for chunk in [1, 77, 4096, input.len()] {
        let (same, _) = shaped(&input, chunk, Config::default(), 1.0);
        assert!(same == input, "{chunk}");
    }
    for percent in 1..100 {
        let (output, wanted) = shaped(&input, 4096, Config::default(), f64::from(percent) / 100.0);
        let [video, sound] = tracks(&output);
        assert!(video == wanted && sound == sound_before, "{percent}");
        assert_eq!(input.len() - output.len(), ELEMENTARY.len() - wanted.len());
    }
}

#[test]
fn a_pipe_gets_a_segment_of_unknown_size() {
    let outcome = run(&file("V_MPEG2"), RunConfig::default(), cut(0.5));
    let segment = 8 + 4;
    assert_eq!(&outcome.output[segment..segment + 4], [0x1f, 0xff, 0xff, 0xff]);
    // The seek head is left out.
    assert_eq!(outcome.output[segment + 4], 0xec);
    assert!(!expected(&outcome.pictures, 0.5).is_empty());
    assert!(matches!(outcome.report.container, Some(ContainerReport::Matroska(report)) if report.track == 2));
}

#[test]
fn memory_is_bounded_and_clusters_are_split() {
    let input = file("V_MPEG2");
    let config = Config { memory: 3000, ..Config::default() };
    let outcome = run(&input, RunConfig { delay: 1000, config, ..RunConfig::default() }, cut(0.5));
    assert!(outcome.result.is_ok() && outcome.report.given_up > 0);
}

#[test]
fn other_video_is_named_and_damage_ends_the_run() {
    let mut remuxer = Remuxer::new(Config::default());
    let error = remuxer.push(&file("V_MPEG4/ISO/AVC")).unwrap_err();
    assert_eq!(error, Error::NoVideo { found: "a Matroska file with A_AC3, V_MPEG4/ISO/AVC".to_owned() });
    let input = file("V_MPEG2");
    for cut_at in (0..input.len()).step_by(997) {
        let mut remuxer = Remuxer::new(Config::default());
        let _ = remuxer.push(&input[..cut_at]).and_then(|()| remuxer.finish());
        let mut damaged = input.clone();
        damaged[cut_at] ^= 0xff;
        damaged[cut_at / 2] = 0;
        let mut remuxer = Remuxer::new(Config::default());
        let _ = remuxer.push(&damaged).and_then(|()| remuxer.finish());
    }
}
