//! Several streams in one session.

mod common;

use bytes::Bytes;
use common::*;
use seaway_control::StreamId;
use seaway_session::*;
use seaway_units::{Bitrate, DataSize, TimeDelta, Timestamp};
use seaway_wire::aac::Config;
use std::collections::BTreeSet;

/// Video of 90 kHz and sound of 48 kHz through loss: each arrives in order and in time, under its own source and payload
/// type, and the sender reports map both media clocks to the sender's clock.
#[test]
fn two_streams_share_a_clock() {
    let sound = StreamDescription::audio(Format::Opaque, 111, 48_000);
    let mut config = config("fixed(rate=2 Mbit/s)");
    config.streams.push(StreamConfig::new(sound, LIMITS.max));
    let session = config.session;
    let (there, back) = (lossy(ms(20), 0.03, 5), lossy(ms(20), 0.01, 6));
    let mut run = Run::new(sender(Timestamp::ZERO, config), receiver(Timestamp::ZERO), there, back);
    let tap = std::rc::Rc::default();
    (run.source, run.bytes, run.tap) = (None, true, Some(std::rc::Rc::clone(&tap)));
    for index in 0..500 {
        run.until(at(index * 20 + 1));
        let now = run.now;
        let frame = |stream, kind, size, interval| Frame {
            stream: StreamId(stream),
            ..Frame::new(now, kind, FrameData::Synthetic(DataSize::from_bytes(size)), ms(interval))
        };
        if index % 2 == 0 {
            let kind = if index == 0 { FrameKind::Key } else { FrameKind::Reference };
            let picture = frame(0, kind, 4_000, 40);
            run.sender.handle_frame(run.now, &picture).unwrap();
        }
        let sound = frame(1, FrameKind::Key, 160, 20);
        run.sender.handle_frame(run.now, &sound).unwrap();
        run.drain();
    }
    run.until(at(11_000));
    assert_eq!(run.receiver.description().unwrap().streams[1], sound);
    for (stream, interval, size, frames) in [(0, 40, 4_000, 250), (1, 20, 160, 500)] {
        let of_stream: Vec<_> =
            run.frames.iter().filter(|(_, frame)| frame.stream == StreamId(stream)).collect();
        assert!(of_stream.len() * 100 >= frames * 98, "{stream}: {} of {frames}", of_stream.len());
        for pair in of_stream.windows(2) {
            let captured = |index: usize| pair[index].1.captured.expect("a sender report came first");
            let gap = captured(1) - captured(0);
            let off = TimeDelta::from_nanos(gap.as_nanos() % ms(interval).as_nanos());
            let tick = TimeDelta::from_micros(42);
            assert!(gap > ms(interval / 2) && off.min(ms(interval) - off) <= tick, "{stream}: {gap}");
        }
        for (shown, frame) in of_stream {
            let captured = frame.captured.unwrap().as_nanos() as i64;
            let delay = TimeDelta::from_nanos(shown.as_nanos() as i64 - captured);
            assert!(delay > ms(19) && delay < ms(200), "{stream}: {delay}");
            assert_eq!(frame.data.size(), DataSize::from_bytes(size));
        }
    }
    assert!(run.receiver.statistics().repaired > 20, "{:#?}", run.receiver.statistics());
    let media: BTreeSet<(u32, u8)> = tap
        .borrow()
        .iter()
        .filter_map(|message| match message {
            Message::Rtp(packet) => Some((packet.ssrc, packet.payload_type)),
            Message::Rtcp(_) => None,
        })
        .collect();
    let ssrc = |stream, repair| {
        SourceId { stream: StreamId(stream), subflow: seaway_control::Subflow(0), repair }.ssrc(session)
    };
    let expected = [
        (ssrc(0, false), payload_type::OPAQUE),
        (ssrc(0, true), payload_type::retransmission(StreamId(0))),
        (ssrc(1, false), 111),
        (ssrc(1, true), payload_type::retransmission(StreamId(1))),
    ];
    assert_eq!(media, BTreeSet::from(expected));
}

/// A session of pictures and Opus, a packet of `SIZE` octets every 20 ms.
struct WithSound {
    run: Run,
    frames: u64,
}

impl WithSound {
    const SIZE: usize = 120;
    /// With headers.
    const RATE: Bitrate = Bitrate::from_kbps(80);

    fn new(control: &str, playout: Playout, there: Path) -> Self {
        let mut config = config(control);
        config.streams.push(StreamConfig::audio(StreamDescription::opus(), Self::RATE));
        let receiver =
            Receiver::new(Timestamp::ZERO, ReceiverConfig { playout, ..ReceiverConfig::new(0xACE) });
        let mut run = Run::new(sender(Timestamp::ZERO, config), receiver, there, ideal(ms(20)));
        run.bytes = true;
        Self { run, frames: 0 }
    }

    /// Sound until `end`.
    fn until(&mut self, end: u64) {
        while self.frames * 20 < end {
            self.run.until(at(self.frames * 20 + 1));
            let mut packet = vec![self.frames as u8; Self::SIZE];
            packet[0] = 0xFC;
            let data = FrameData::Coded(packet.into());
            let frame =
                Frame { stream: StreamId(1), ..Frame::new(self.run.now, FrameKind::Key, data, ms(20)) };
            self.run.sender.handle_frame(self.run.now, &frame).unwrap();
            self.run.drain();
            self.frames += 1;
        }
    }

    /// Capture-to-playout delays of a stream from an instant on.
    fn delays(&self, stream: u8, from: u64) -> Vec<TimeDelta> {
        let of_stream = |(shown, frame): &&(Timestamp, ReceivedFrame)| {
            frame.stream == StreamId(stream) && *shown >= at(from)
        };
        let delay = |(shown, frame): &(Timestamp, ReceivedFrame)| {
            let captured = frame.captured.expect("a sender report came first").as_nanos();
            TimeDelta::from_nanos(shown.as_nanos() as i64 - captured as i64)
        };
        self.run.frames.iter().filter(of_stream).map(delay).collect()
    }
}

/// Where the rate carries little but sound, sound comes whole and does not wait behind pictures.
#[test]
fn sound_goes_before_pictures() {
    let playout = Playout::LowLatency { max: ms(500) };
    let mut session = WithSound::new("fixed(rate=200 kbit/s)", playout, ideal(ms(20)));
    session.until(10_000);
    let shares = [0, 1].map(|stream| session.run.sender.share(StreamId(stream)).media);
    assert_eq!(shares, [120, 80].map(Bitrate::from_kbps));
    let delays = session.delays(1, 0);
    assert!(delays.len() >= 495, "{}", delays.len());
    // A packet waits for the one that is leaving, which may be a full one of pictures.
    let longest = delays.iter().max().unwrap();
    assert!(*longest <= ms(20) + ms(1200 * 8 / 200 + 8), "{longest}");
    let statistics = session.run.sender.statistics();
    assert_eq!((statistics.audio.queued, statistics.audio.dropped), (500, 0));
    assert!(statistics.frames.captured <= 251, "pictures alone: {:?}", statistics.frames);
    let received = session.run.receiver.statistics();
    assert_eq!(received.audio.lost, 0);
    assert_eq!(received.picture_losses, 0, "sound needs no key frame");
}

/// Whole pictures take long to arrive on this link, and sound waits for its picture.
#[test]
fn sound_is_played_with_the_pictures_of_its_time() {
    let playout = Playout::Adaptive { min: TimeDelta::ZERO, max: ms(500) };
    let slow = bottleneck(ms(20), Bitrate::from_kbps(900), ms(400));
    let mut session = WithSound::new("fixed(rate=800 kbit/s)", playout, slow);
    session.until(20_000);
    let mean = |stream| {
        let delays = session.delays(stream, 5_000);
        delays.iter().map(|delay| delay.as_millis_f64()).sum::<f64>() / delays.len() as f64
    };
    let (pictures, sound) = (mean(0), mean(1));
    assert!(pictures > 50.0 && (pictures - sound).abs() < 20.0, "{pictures} ms, {sound} ms");
}

#[test]
fn either_goes_on_without_the_other() {
    let playout = Playout::Adaptive { min: TimeDelta::ZERO, max: ms(500) };
    let mut session = WithSound::new("fixed(rate=1 Mbit/s)", playout, lossy(ms(20), 0.03, 9));
    session.until(4_000);
    session.run.until(at(8_000));
    assert!(session.delays(0, 5_000).len() >= 74, "pictures without sound");
    session.run.source = None;
    session.frames = 400;
    session.until(12_000);
    session.run.until(at(13_000));
    assert!(session.delays(1, 8_000).len() >= 197, "sound without pictures");
    let audio = session.run.receiver.statistics().audio;
    assert!(audio.displayed >= 396 && audio.lost + audio.late <= 4, "{audio:?}");
}

/// AAC goes to a receiver that takes it. Another one has a session with Opus, in which what it was offered is no loss.
#[test]
fn aac_is_offered() {
    // AAC-LC at 48 kHz in two channels.
    let aac = Config::parse([0x11, 0x90]).unwrap();
    let unit = [7; 2_000];
    let frame = Bytes::from([&aac.adts_header(unit.len()).unwrap()[..], &unit].concat());
    let opus = Bytes::from_static(&[0xFC, 1, 2, 3]);
    for takes_aac in [true, false] {
        let mut config = config("fixed(rate=2 Mbit/s)");
        config.streams.push(StreamConfig::audio(StreamDescription::aac(aac), Bitrate::from_kbps(800)));
        let receiver_config = ReceiverConfig { takes_aac, ..ReceiverConfig::new(0xACE) };
        let receiver = Receiver::new(Timestamp::ZERO, receiver_config);
        let mut run = Run::new(sender(Timestamp::ZERO, config), receiver, ideal(ms(20)), ideal(ms(20)));
        run.bytes = true;
        let (mut sent, mut refused) = (0, None);
        for index in 0..100 {
            run.until(at(index * 20 + 1));
            let is_aac = run.sender.description().streams[1].format == Format::Aac(aac);
            refused = refused.or((!is_aac).then_some(index * 20));
            let data = FrameData::Coded(if is_aac { frame.clone() } else { opus.clone() });
            let frame = Frame { stream: StreamId(1), ..Frame::new(run.now, FrameKind::Key, data, ms(20)) };
            run.sender.handle_frame(run.now, &frame).unwrap();
            run.drain();
            sent += u64::from(is_aac == takes_aac);
        }
        run.until(at(3_000));
        let got = run.frames.iter().filter(|(_, frame)| frame.stream == StreamId(1));
        let wanted = FrameData::Coded(if takes_aac { frame.clone() } else { opus.clone() });
        assert!(got.clone().all(|(_, frame)| frame.data == wanted), "{takes_aac}");
        assert_eq!(got.count() as u64, sent);
        assert!(refused.is_some_and(|at| at <= 200) != takes_aac, "{refused:?}");
        let expected = if takes_aac { StreamDescription::aac(aac) } else { StreamDescription::opus() };
        assert_eq!(run.receiver.description().unwrap().streams[1], expected);
        let refusals =
            run.sender_events.iter().filter(|(_, event)| matches!(event, SenderEvent::AacRefused { .. }));
        assert_eq!(refusals.count(), usize::from(!takes_aac));
        let refused = run.receiver.statistics().refused;
        assert_eq!((refused.malformed, run.sender.statistics().lost), (0, 0));
    }
}
