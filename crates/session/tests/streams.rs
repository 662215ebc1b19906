//! Several streams in one session.

mod common;

use common::*;
use seaway_control::StreamId;
use seaway_session::*;
use seaway_units::{DataSize, TimeDelta, Timestamp};
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
