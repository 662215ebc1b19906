//! Source, encoder and decoder in a chain, as in a sender and a receiver.

use seaway_media::decoder::{
    Concealment, Decoded, Freeze, H264Decoder, HeaderDecoder, ReceivedFrame, VideoDecoder,
};
use seaway_media::encoder::{
    Encoded, EncodedFrame, Ladder, LadderEncoder, LadderRule, LiveEncoder, LiveEncoderConfig, RateAdherence,
    VideoEncoder,
};
use seaway_media::input::{self, Looped, PictureSource, Synthetic, read_code};
use seaway_media::{Error, FrameId, FrameRate, Picture, PicturePool, PictureSize, Scaler};
use seaway_units::{Bitrate, TimeDelta};

fn encoder(source: &dyn PictureSource, start: Bitrate) -> LiveEncoder {
    let frame_rate = source.format().frame_rate;
    LiveEncoder::new(LiveEncoderConfig { frame_rate, start, latency: TimeDelta::from_millis(5) }).unwrap()
}

fn next_frame(encoder: &mut LiveEncoder, source: &mut dyn PictureSource) -> (Picture, EncodedFrame) {
    loop {
        let picture = source.next_picture().unwrap().unwrap();
        if let Encoded::Frame(frame) = encoder.encode(&picture).unwrap() {
            return (picture, frame);
        }
    }
}

fn received(frame: &EncodedFrame) -> ReceivedFrame<'_> {
    ReceivedFrame { data: &frame.data, id: frame.id, time: frame.time, after_loss: false }
}

fn luma_psnr(a: &Picture, b: &Picture) -> f64 {
    assert_eq!(a.size(), b.size());
    let squares = a.luma().data.iter().zip(b.luma().data).map(|(&a, &b)| u64::from(a.abs_diff(b)).pow(2));
    let mean = squares.sum::<u64>() as f64 / a.size().pixels() as f64;
    10.0 * libm::log10(255.0 * 255.0 / mean)
}

#[test]
fn the_bundled_clip_is_whole() {
    let mut clip = input::bundled_clip().unwrap();
    assert_eq!(clip.format().size.to_string(), "1280x720");
    assert_eq!(clip.format().frame_rate.to_string(), "25");
    assert_eq!(clip.left_out(), ["audio track 2 (mp4a)"]);
    for count in [132, 3] {
        for index in 0..count {
            let picture = clip.next_picture().unwrap().unwrap();
            assert_eq!(picture.id().0, index);
            assert_eq!(picture.time(), TimeDelta::from_millis(40 * index as i64));
        }
        assert_eq!(clip.next_picture().unwrap().is_none(), count == 132);
        clip.rewind().unwrap();
    }
}

#[test]
fn a_loop_counts_on() {
    let mut clip = Looped::new(input::bundled_clip().unwrap());
    let pictures = std::iter::from_fn(|| clip.next_picture().unwrap());
    let tail: Vec<_> = pictures.skip(131).take(2).map(|picture| (picture.id().0, picture.time())).collect();
    assert_eq!(tail, [(131, TimeDelta::from_millis(5240)), (132, TimeDelta::from_millis(5280))]);
}

#[test]
fn what_was_encoded_is_what_is_shown() {
    let mut source = Synthetic::from_specification("320x180@25").unwrap();
    let mut encoder = encoder(&source, Bitrate::from_kbps(500));
    let mut decoder = H264Decoder::new(Concealment::Freeze).unwrap();
    for index in 0..50 {
        let (picture, frame) = next_frame(&mut encoder, &mut source);
        assert_eq!(frame.key, index == 0);
        let Decoded::Picture(shown) = decoder.decode(&received(&frame)).unwrap() else { panic!("frozen") };
        assert_eq!(read_code(&shown.luma()), Some(picture.id().0 as u32));
        assert!(luma_psnr(&picture, &shown) > 30.0, "{}", luma_psnr(&picture, &shown));
    }
}

#[test]
fn a_key_frame_comes_when_asked_for() {
    let mut source = Synthetic::from_specification("320x180@25").unwrap();
    let mut encoder = encoder(&source, Bitrate::from_kbps(500));
    for index in 0..20 {
        if index == 10 {
            encoder.request_key_frame();
        }
        let (_, frame) = next_frame(&mut encoder, &mut source);
        assert_eq!(frame.key, index == 0 || index == 10, "frame {index}");
    }
}

#[test]
fn a_lost_frame_freezes_until_the_next_key_frame() {
    // Losses that the receiver reports, and losses that only `frame_num` shows.
    for noticed in [true, false] {
        let mut source = Synthetic::from_specification("160x90@25").unwrap();
        let mut encoder = encoder(&source, Bitrate::from_kbps(300));
        let mut decoder = H264Decoder::new(Concealment::Freeze).unwrap();
        let mut headers = HeaderDecoder::new();
        let mut shown = Vec::new();
        for index in 0..12 {
            if index == 8 {
                encoder.request_key_frame();
            }
            let (_, frame) = next_frame(&mut encoder, &mut source);
            if index == 4 {
                continue;
            }
            let after_loss = noticed && index == 5;
            let received = ReceivedFrame { after_loss, ..received(&frame) };
            // The headers say the same.
            match (decoder.decode(&received).unwrap(), headers.decode(&received).unwrap()) {
                (Decoded::Picture(picture), Decoded::Unseen(size)) => {
                    assert_eq!(size, picture.size());
                    shown.push(picture.id().0);
                }
                (Decoded::Frozen(reason), Decoded::Frozen(seen)) => {
                    assert_eq!((reason, seen), (Freeze::ReferencesMissing, Freeze::ReferencesMissing));
                }
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(shown, [0, 1, 2, 3, 8, 9, 10, 11]);
    }
}

#[test]
fn headers_show_damage_and_parameter_sets_alone() {
    let mut source = Synthetic::from_specification("160x90@25").unwrap();
    let mut encoder = encoder(&source, Bitrate::from_kbps(300));
    let (mut headers, (_, key)) = (HeaderDecoder::new(), next_frame(&mut encoder, &mut source));
    let mut decode = |data: &[u8]| headers.decode(&ReceivedFrame { data, ..received(&key) }).unwrap();
    let slice = key.data.windows(4).position(|window| window == [0, 0, 1, 0x65]).unwrap();
    let slice = slice - usize::from(key.data[slice - 1] == 0);
    assert!(matches!(decode(&key.data[slice..]), Decoded::Frozen(Freeze::Damaged)), "no parameter set");
    assert!(matches!(decode(&key.data[..slice]), Decoded::Frozen(Freeze::Delayed)));
    assert!(matches!(decode(&key.data[slice..]), Decoded::Unseen(size) if size.to_string() == "160x90"));
    assert!(matches!(decode(b"no access unit"), Decoded::Frozen(Freeze::Delayed)));
}

#[test]
fn concealment_keeps_moving() {
    let mut source = Synthetic::from_specification("160x90@25").unwrap();
    let mut encoder = encoder(&source, Bitrate::from_kbps(300));
    let mut decoder = H264Decoder::new(Concealment::Conceal).unwrap();
    let mut shown = 0;
    for index in 0..12 {
        let (_, frame) = next_frame(&mut encoder, &mut source);
        if index != 4 {
            shown += usize::from(matches!(decoder.decode(&received(&frame)).unwrap(), Decoded::Picture(_)));
        }
    }
    assert!(shown >= 9, "{shown} of 11");
}

#[test]
fn a_change_of_size_is_a_key_frame() -> Result<(), Error> {
    let mut decoder = H264Decoder::new(Concealment::Freeze)?;
    let mut large = Synthetic::from_specification("320x180@25")?;
    let mut small = Synthetic::from_specification("160x90@25")?;
    let mut encoder = encoder(&large, Bitrate::from_kbps(300));
    for round in 0..3 {
        for source in [&mut large, &mut small] {
            for index in 0..3 {
                let (picture, frame) = next_frame(&mut encoder, source);
                assert_eq!(frame.key, index == 0, "round {round}");
                let Decoded::Picture(shown) = decoder.decode(&received(&frame))? else { panic!("frozen") };
                assert_eq!(shown.size(), picture.size());
            }
        }
    }
    Ok(())
}

/// Coded slices by their start codes.
fn slices(frame: &EncodedFrame) -> usize {
    frame.data.windows(4).filter(|bytes| bytes[..3] == [0, 0, 1] && matches!(bytes[3] & 31, 1 | 5)).count()
}

/// Every picture is cut, key frames and those after a change of size too, and what is coded does not depend on which thread is quicker.
#[test]
fn threads_share_a_large_picture() -> Result<(), Error> {
    let run = |threads| -> Result<(Vec<EncodedFrame>, f64), Error> {
        let mut source = input::bundled_clip()?;
        let mut encoder = encoder(source.as_ref(), Bitrate::from_mbps(3)).with_threads(threads);
        let mut decoder = H264Decoder::new(Concealment::Freeze)?;
        let small = PictureSize::new(640, 360)?;
        let (mut frames, mut psnr) = (Vec::new(), 0.0);
        for index in 0..30 {
            if index == 10 {
                encoder.request_key_frame();
            }
            let picture = source.next_picture()?.expect("a picture");
            let picture =
                if index == 20 { Scaler::new(picture.size(), small).scale(&picture) } else { picture };
            let Encoded::Frame(frame) = encoder.encode(&picture)? else { continue };
            assert_eq!(frame.key, [0, 10, 20, 21].contains(&index), "{index}");
            let Decoded::Picture(shown) = decoder.decode(&received(&frame))? else {
                panic!("frozen at {index}")
            };
            psnr += luma_psnr(&picture, &shown) / 30.0;
            let wanted = if frame.size == small { 1 } else { usize::from(threads) };
            assert_eq!(slices(&frame), wanted, "{frame:?}");
            frames.push(frame);
        }
        Ok((frames, psnr))
    };
    let (one, two) = (run(1)?, run(2)?);
    assert!(two.0 == run(2)?.0, "two runs differ");
    assert!((one.1 - two.1).abs() < 0.2, "{} and {} dB", one.1, two.1);
    Ok(())
}

#[test]
fn the_rate_changes_while_it_runs() {
    let mut source = Looped::new(input::bundled_clip().unwrap());
    let mut encoder = encoder(&source, Bitrate::from_kbps(1000));
    for kbps in [1000, 500, 2000] {
        encoder.set_target(Bitrate::from_kbps(kbps));
        let sizes: Vec<_> = (0..40).map(|_| next_frame(&mut encoder, &mut source).1.length()).collect();
        // The first fifteen are for settling, one second remains.
        let bits: u64 = sizes[15..].iter().map(|size| size.as_bytes() * 8).sum();
        let ratio = bits as f64 / (kbps as f64 * 1000.0);
        assert!((0.9..1.1).contains(&ratio), "{kbps} kbit/s: {ratio:.3}");
    }
}

/// The rate is within a tenth of the target in 1 s windows where the quantiser is inside its bounds, and the quality above
/// 34 dB at the rates of a 4 Mbit/s network.
#[test]
fn the_encoder_follows_its_target_at_good_quality() {
    let mut source = Looped::new(input::bundled_clip().unwrap());
    let mut encoder = encoder(&source, Bitrate::from_kbps(1500));
    let mut decoder = H264Decoder::new(Concealment::Freeze).unwrap();
    let mut adherence = RateAdherence::new(LiveEncoder::QUANTISERS);
    let mut levels = Vec::new();
    // Two cuts: the clip begins again after 5.28 s. The rate changes between windows.
    for index in 0..=275 {
        encoder.set_target(Bitrate::from_kbps([1500, 3500, 800][index / 100]));
        let picture = source.next_picture().unwrap().unwrap();
        let encoded = encoder.encode(&picture).unwrap();
        adherence.on_picture(picture.time(), encoder.target(), &encoded);
        let Encoded::Frame(frame) = encoded else { continue };
        let Decoded::Picture(shown) = decoder.decode(&received(&frame)).unwrap() else { panic!("frozen") };
        levels.push(luma_psnr(&picture, &shown));
    }
    let report = adherence.report();
    assert_eq!((report.windows, report.inside), (11, 11), "{report}");
    assert!(report.within >= 10 && report.worst < 0.2, "{report}");
    let mean = levels.iter().sum::<f64>() / levels.len() as f64;
    assert!(mean > 36.0 && levels.len() > 270, "{mean:.2} dB, {} pictures", levels.len());
}

/// Those behind a picture wait while it leaves.
#[test]
fn pictures_are_held_to_their_budget() {
    for kbps in [1000, 2000, 3700] {
        let mut source = Looped::new(input::bundled_clip().unwrap());
        let mut encoder = encoder(&source, Bitrate::from_kbps(kbps));
        let budget = kbps as f64 * 1000.0 / 25.0;
        let (mut keys, mut others) = (Vec::new(), Vec::new());
        for index in 0..250 {
            if index % 60 == 59 {
                encoder.request_key_frame();
            }
            let (_, frame) = next_frame(&mut encoder, &mut source);
            let kind = if frame.key { &mut keys } else { &mut others };
            kind.push(frame.length().as_bytes_f64() * 8.0 / budget);
        }
        assert!(keys.len() == 5 && keys[1..].iter().all(|size| *size <= 1.5), "{kbps} kbit/s: {keys:.2?}");
        let large = others.iter().filter(|size| **size > 1.5).count() as f64 / others.len() as f64;
        assert!(large < 0.16, "{kbps} kbit/s: {large:.2} of the pictures are too large");
    }
}

#[test]
fn a_ladder_follows_the_rate() {
    let mut source = Looped::new(input::bundled_clip().unwrap());
    let format = source.format();
    let ladder = Ladder::new(format.size, format.frame_rate, LadderRule::LIVE);
    let mut encoder = LadderEncoder::new(encoder(&source, Bitrate::from_mbps(2)), ladder);
    let mut decoder = H264Decoder::new(Concealment::Freeze).unwrap();
    let mut heights = Vec::new();
    for index in 0..170 {
        if index == 20 {
            encoder.set_target(Bitrate::from_kbps(250));
        }
        let picture = source.next_picture().unwrap().unwrap();
        let Encoded::Frame(frame) = encoder.encode(&picture).unwrap() else { continue };
        let Decoded::Picture(shown) = decoder.decode(&received(&frame)).unwrap() else { panic!("frozen") };
        assert_eq!(shown.size(), frame.size);
        assert!(index == 0 || !frame.key || frame.size.height() != *heights.last().unwrap());
        heights.push(frame.size.height());
    }
    heights.dedup();
    assert_eq!(heights, [720, 540, 360]);
}

#[test]
fn garbage_neither_panics_nor_shows() {
    let mut source = Synthetic::from_specification("160x90@25").unwrap();
    let mut encoder = encoder(&source, Bitrate::from_kbps(300));
    let mut decoder = H264Decoder::new(Concealment::Freeze).unwrap();
    let (_, key) = next_frame(&mut encoder, &mut source);
    let (_, next) = next_frame(&mut encoder, &mut source);
    let mut state = 1_u64;
    for round in 0..500 {
        let mut data = if round % 2 == 0 { key.data.clone() } else { next.data.clone() };
        for _ in 0..4 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let at = (state >> 33) as usize % data.len();
            data[at] = (state >> 24) as u8;
        }
        data.truncate(data.len() - round % 40);
        let frame = ReceivedFrame { data: &data, ..received(&key) };
        if let Decoded::Picture(picture) = decoder.decode(&frame).unwrap() {
            assert!(picture.size().pixels() <= 3840 * 2160);
        }
    }
    // And it recovers.
    let Decoded::Picture(shown) = decoder.decode(&received(&key)).unwrap() else { panic!("frozen") };
    assert_eq!(read_code(&shown.luma()), Some(0));
}

/// Noise that changes with each picture is the hardest there is: the codec's buffers overflow at fine quantisers, and it codes no more.
struct Noise {
    pool: PicturePool,
    state: u32,
    count: u64,
}

impl Noise {
    fn next_picture(&mut self) -> Picture {
        let mut picture = self.pool.take();
        for plane in picture.planes_mut() {
            for sample in plane.data {
                self.state = self.state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                *sample = (self.state >> 24) as u8;
            }
        }
        let (id, time) = (self.count, FrameRate::USUAL.time_of(self.count));
        self.count += 1;
        picture.finish(FrameId(id), time)
    }
}

#[test]
fn noise_is_coded_and_ends_nothing() {
    code_noise(PictureSize::new(320, 192).unwrap(), 1, Bitrate::from_mbps(8));
    code_noise(PictureSize::new(1280, 720).unwrap(), 2, Bitrate::from_mbps(120));
}

fn code_noise(size: PictureSize, threads: u16, target: Bitrate) {
    let mut noise = Noise { pool: PicturePool::new(size), state: 1, count: 0 };
    let config =
        LiveEncoderConfig { frame_rate: FrameRate::USUAL, start: target, latency: TimeDelta::from_millis(5) };
    let mut encoder = LiveEncoder::new(config).unwrap().with_threads(threads);
    let mut decoder = H264Decoder::new(Concealment::Freeze).unwrap();
    let mut frames = Vec::new();
    for _ in 0..50 {
        if let Encoded::Frame(frame) = encoder.encode(&noise.next_picture()).unwrap() {
            decoder.decode(&received(&frame)).unwrap();
            frames.push(frame.data.len());
        }
    }
    let rate = frames.iter().sum::<usize>() as f64 * 8.0 / 2.0;
    assert!(frames.len() >= 25, "{size}: {}", frames.len());
    assert!((0.5..1.2).contains(&(rate / target.as_bps_f64())), "{size}: {rate}");
}
