//! The sending endpoint by worked numbers: packets of 1200 octets at 1 Mbit/s, which take 9.6 ms each.

use super::*;
use crate::config::{AdaptiveRepair, FeedbackFormat, Format, PlainReceiver, RepairLimits};
use crate::describe::StreamDescription;
use crate::frame::FrameData;
use crate::message::{RtpPacket, payload_type};
use seaway_control::policy::Direct;
use seaway_control::{Feedback, SentPacket};
use seaway_wire::List;
use seaway_wire::rtcp::{self, Nack, NackEntry, Pli};
use std::sync::{Arc, Mutex};
use std::time::Duration;

mod packets;
mod signals;

const RATE: Bitrate = Bitrate::from_mbps(1);
const SESSION: u32 = 0x5EA0_0000;

fn at(millis: u64) -> Timestamp {
    Timestamp::from_nanos(millis * 1_000_000)
}

fn ms(millis: i64) -> TimeDelta {
    TimeDelta::from_millis(millis)
}

/// One stream at a constant rate.
fn config() -> SenderConfig {
    let limits = Limits { min: Bitrate::ZERO, start: RATE, max: Bitrate::from_mbps(8) };
    SenderConfig::new(SESSION, "fixed".parse().unwrap(), limits, Format::Opaque)
}

/// A stream of video and one of sound.
fn with_sound() -> SenderConfig {
    let mut config = config();
    let description = StreamDescription::opus();
    config.streams.push(StreamConfig::audio(description, Bitrate::from_kbps(64)));
    config
}

fn sender(config: SenderConfig) -> Sender {
    let mut sender = Sender::new(at(0), config, Box::new(Direct::new())).unwrap();
    events(&mut sender);
    sender
}

fn frame(millis: u64, kind: FrameKind, octets: u64) -> Frame {
    Frame::new(at(millis), kind, FrameData::Synthetic(DataSize::from_bytes(octets)), ms(40))
}

/// A frame of sound: an Opus packet of 20 ms (RFC 6716 section 3.1: configuration 31, one frame).
fn sound(millis: u64) -> Frame {
    let data = FrameData::Coded(bytes::Bytes::from(vec![31 << 3; 100]));
    Frame { stream: StreamId(1), ..Frame::new(at(millis), FrameKind::Key, data, ms(20)) }
}

fn events(sender: &mut Sender) -> Vec<SenderEvent> {
    std::iter::from_fn(|| sender.poll_event()).collect()
}

/// The requests for key frames.
fn wanted(sender: &mut Sender) -> Vec<KeyFrameCause> {
    let cause = |event| match event {
        SenderEvent::KeyFrameWanted { cause, .. } => Some(cause),
        _ => None,
    };
    events(sender).into_iter().filter_map(cause).collect()
}

/// What leaves by a driver that comes when it is wanted, until `end`: the media of these packets, and when.
fn drive(sender: &mut Sender, from: u64, end: u64) -> Vec<(Timestamp, Message)> {
    let (mut now, mut left) = (at(from), Vec::new());
    while now <= at(end) {
        sender.handle_timeout(now);
        let mut message = Message::default();
        while let Some(transmit) = sender.poll_transmit(now, now, &mut message) {
            assert_eq!(transmit.at, now);
            left.push((now, message.clone()));
        }
        let Some(due) = sender.poll_timeout() else { break };
        assert!(due > now, "not drained at {now}");
        now = due;
    }
    left
}

fn packets(left: &[(Timestamp, Message)]) -> usize {
    left.iter().filter(|(_, message)| matches!(message, Message::Rtp(_))).count()
}

/// Wire octets of RTP that left.
fn octets(left: &[(Timestamp, Message)]) -> u64 {
    let rtp = left.iter().filter(|(_, message)| matches!(message, Message::Rtp(_)));
    rtp.map(|(_, message)| 28 + message.wire_len() as u64).sum()
}

#[test]
fn a_stream_that_is_not_configured_is_an_error() {
    let mut sender = sender(config());
    let error = sender.handle_frame(at(0), &Frame { stream: StreamId(1), ..frame(0, FrameKind::Key, 10) });
    assert_eq!(error, Err(Error::TooLarge { field: "stream", seen: 1, limit: 0 }));
    assert_eq!(sender.statistics().frames.captured, 0);
    assert_eq!((sender.share(StreamId(1)), sender.media_clock(StreamId(1)).rate), (Share::default(), 90_000));
}

/// The queue holds 8000 octets: a frame of more is refused before it is cut, and one behind what fills the queue too.
#[test]
fn the_send_queue_is_bounded() {
    let mut config = config();
    config.queue.size = DataSize::from_bytes(8000);
    let mut sender = sender(config);
    sender.handle_frame(at(0), &frame(0, FrameKind::Key, 8001)).unwrap();
    assert_eq!((sender.backlog(), sender.statistics().frames.skipped), (DataSize::ZERO, 1));
    sender.handle_frame(at(40), &frame(40, FrameKind::Key, 8000)).unwrap();
    let backlog = sender.backlog();
    assert!((8000..9000).contains(&backlog.as_bytes()), "{backlog}");
    sender.handle_frame(at(80), &frame(80, FrameKind::Reference, 10)).unwrap();
    assert_eq!(sender.backlog(), backlog);
    let frames = sender.statistics().frames;
    assert_eq!((frames.captured, frames.queued, frames.skipped), (3, 1, 2));
    // A reference is missing: nothing but a key frame helps, which is requested once there is room.
    assert_eq!(wanted(&mut sender), []);
    drive(&mut sender, 80, 200);
    sender.handle_frame(at(200), &frame(200, FrameKind::Reference, 10)).unwrap();
    assert_eq!(wanted(&mut sender), [KeyFrameCause::Dropped]);
    sender.handle_frame(at(240), &frame(240, FrameKind::Reference, 10)).unwrap();
    assert_eq!(wanted(&mut sender), [], "once");
    // A key frame that is refused has to be requested again.
    sender.handle_frame(at(280), &frame(280, FrameKind::Key, 9000)).unwrap();
    assert_eq!(wanted(&mut sender), [KeyFrameCause::Dropped]);
    sender.handle_frame(at(320), &frame(320, FrameKind::Key, 10)).unwrap();
    sender.handle_frame(at(360), &frame(360, FrameKind::Reference, 10)).unwrap();
    let frames = sender.statistics().frames;
    assert_eq!((frames.captured, frames.queued, frames.skipped), (8, 3, 5));
    sender.on_frame_skipped(at(400));
    assert_eq!((sender.statistics().frames.captured, sender.statistics().frames.skipped), (9, 6));
}

/// Frames are dropped half a second after the oldest came, and their streams' key frames requested; sound goes by its own age.
#[test]
fn stale_frames_are_dropped_when_they_are_due() {
    let mut config = with_sound();
    config.limits.start = Bitrate::ZERO;
    let mut sender = sender(config);
    sender.handle_frame(at(100), &frame(100, FrameKind::Key, 3000)).unwrap();
    sender.handle_frame(at(140), &frame(140, FrameKind::Reference, 3000)).unwrap();
    sender.handle_frame(at(150), &sound(150)).unwrap();
    events(&mut sender);
    drive(&mut sender, 150, 599);
    sender.handle_timeout(at(599));
    assert_eq!((sender.statistics().frames.queued, sender.statistics().audio.queued), (2, 1));
    sender.handle_timeout(at(600));
    assert_eq!((sender.statistics().frames.queued, sender.statistics().audio.queued), (0, 1));
    let happened = events(&mut sender);
    assert!(happened.contains(&SenderEvent::FramesDropped { frames: 2 }), "{happened:?}");
    let key = SenderEvent::KeyFrameWanted { stream: StreamId(0), cause: KeyFrameCause::Dropped };
    assert!(happened.contains(&key), "{happened:?}");
    assert_eq!(sender.statistics().frames.skipped, 2);
    sender.handle_timeout(at(649));
    assert_eq!(sender.statistics().audio.queued, 1);
    sender.handle_timeout(at(650));
    let audio = sender.statistics().audio;
    assert_eq!((audio.queued, audio.dropped, sender.backlog()), (0, 1, DataSize::ZERO));
    let happened = events(&mut sender);
    let is_other = |event: &SenderEvent| {
        matches!(event, SenderEvent::KeyFrameWanted { .. } | SenderEvent::FramesDropped { .. })
    };
    assert!(!happened.iter().any(is_other), "sound has no key frames, and is no picture: {happened:?}");
}

/// What a shorter latency leaves of the queue is the time of two latencies.
#[test]
fn a_shorter_latency_drops_frames_earlier() {
    let mut config = config();
    config.limits.start = Bitrate::ZERO;
    let mut sender = sender(config);
    sender.on_latency(ms(100));
    sender.handle_frame(at(100), &frame(100, FrameKind::Key, 3000)).unwrap();
    sender.handle_timeout(at(299));
    assert_eq!(sender.statistics().frames.skipped, 0);
    sender.handle_timeout(at(300));
    assert_eq!(sender.statistics().frames.skipped, 1);
}

/// Half of the half second that the queue may take are 31 250 octets at 1 Mbit/s. A source that paused, and one at rate zero, skips.
#[test]
fn a_source_skips_frames_where_much_waits() {
    let mut sender = sender(config());
    assert!(!sender.should_skip());
    sender.handle_frame(at(0), &frame(0, FrameKind::Key, 29_000)).unwrap();
    assert!(sender.backlog() < DataSize::from_bytes(31_250) && !sender.should_skip());
    sender.handle_frame(at(0), &frame(1, FrameKind::Reference, 2500)).unwrap();
    assert!(sender.backlog() > DataSize::from_bytes(31_250) && sender.should_skip());
    let mut never_stale = config();
    never_stale.queue.delay = None;
    let mut sender = self::sender(never_stale);
    sender.handle_frame(at(0), &frame(0, FrameKind::Key, 60_000)).unwrap();
    assert!(!sender.should_skip());
    sender.on_paused(at(1), true);
    assert!(sender.should_skip());
    sender.on_paused(at(2), false);
    assert!(!sender.should_skip());
    let mut sender = self::sender(config());
    sender.on_rate_bound(at(0), Some(Bitrate::ZERO));
    assert!(sender.should_skip());
}

/// The bound of a circuit breaker holds for all that leaves and for the shares, whatever the limits say, until it is lifted.
#[test]
fn a_rate_bound_holds_whatever_the_limits_say() {
    let bound = Bitrate::from_kbps(100);
    let mut config = config();
    config.limits.min = Bitrate::from_kbps(300);
    config.queue.delay = None;
    let mut sender = sender(config);
    assert_eq!(sender.share(StreamId(0)).media, RATE);
    sender.on_rate_bound(at(0), Some(bound));
    assert_eq!((sender.target().rate, sender.share(StreamId(0)).media), (bound, bound));
    let limits = Limits { min: Bitrate::from_kbps(500), ..sender.limits() };
    sender.on_limits(at(0), limits);
    assert_eq!(sender.limits(), limits);
    assert_eq!((sender.target().rate, sender.share(StreamId(0)).media), (bound, bound));
    sender.handle_frame(at(0), &frame(0, FrameKind::Key, 60_000)).unwrap();
    // In two seconds 25 000 octets, and a packet that is due at the beginning.
    let left = drive(&mut sender, 0, 2000);
    assert!((24_000..=26_200).contains(&octets(&left)), "{}", octets(&left));
    sender.on_rate_bound(at(2000), None);
    assert_eq!(sender.target().rate, RATE);
    let left = drive(&mut sender, 2000, 2080);
    assert!((9_000..=11_200).contains(&octets(&left)), "{}", octets(&left));
}

/// At 1 Mbit/s a frame of eleven packets leaves one packet each 9.6 ms or less, and no two at once.
#[test]
fn a_frame_is_paced() {
    let mut sender = sender(config());
    drive(&mut sender, 0, 99);
    sender.handle_frame(at(100), &frame(100, FrameKind::Key, 12_000)).unwrap();
    assert!(sender.next_wake().is_some_and(|wake| wake.at <= at(100) && wake.why == WakeReason::Pacing));
    let left = drive(&mut sender, 100, 500);
    let media: Vec<_> = left.iter().filter(|(_, message)| matches!(message, Message::Rtp(_))).collect();
    assert_eq!(media.len(), 11);
    for pair in media.windows(2) {
        let size = DataSize::from_bytes(28 + pair[0].1.wire_len() as u64);
        assert_eq!(pair[1].0 - pair[0].0, RATE.time_to_send(size).unwrap());
    }
    let frames = sender.statistics().frames;
    let took = media[10].0 - at(100);
    assert_eq!((frames.begun, frames.waited, frames.sent, frames.took), (1, TimeDelta::ZERO, 1, took));
    let statistics = sender.statistics();
    assert_eq!(
        (statistics.sent, statistics.media.packets, statistics.sent.size.as_bytes()),
        (statistics.media, 11, octets(&left))
    );
}

/// One that looks ahead gets each packet at the instant it leaves, before `until` and before any timer or report.
#[test]
fn a_driver_may_look_ahead() {
    let mut sender = sender(config());
    let mut message = Message::default();
    assert!(sender.poll_transmit(at(0), at(1000), &mut message).is_some(), "the first report");
    sender.handle_frame(at(0), &frame(0, FrameKind::Key, 60_000)).unwrap();
    let mut left = Vec::new();
    let mut now = at(0);
    while let Some(transmit) = sender.poll_transmit(now, at(50), &mut message) {
        assert!(matches!(message, Message::Rtp(_)));
        now = transmit.at;
        left.push(now);
    }
    assert!(left.iter().all(|at| *at < self::at(50)) && left.len() == 6, "{left:?}");
    // A packet that leaves at exactly `until` is not before it.
    let next = sender.poll_timeout().expect("a packet");
    assert!(now < next && sender.poll_transmit(now, next, &mut message).is_none());
    // The next report is due at 100 ms and comes before the packets behind it.
    while let Some(transmit) = sender.poll_transmit(now, at(1000), &mut message) {
        now = transmit.at;
    }
    assert!(now < at(100) && sender.poll_timeout() == Some(at(100)), "{now}");
    assert!(sender.poll_transmit(at(100), at(1000), &mut message).is_some());
    assert!(matches!(message, Message::Rtcp(_)));
}

/// Sender reports leave each 100 ms until a receiver reports, then each second; the last has a goodbye, once.
#[test]
fn reports_leave_each_second() {
    let mut sender = sender(config());
    let reports = |left: &[(Timestamp, Message)]| {
        left.iter().map(|(at, _)| at.as_nanos() / 1_000_000).collect::<Vec<_>>()
    };
    assert_eq!(reports(&drive(&mut sender, 0, 250)), [0, 100, 200]);
    request(&mut sender, 250, 0);
    assert_eq!(reports(&drive(&mut sender, 250, 2400)), [300, 1300, 2300]);
    let control = sender.statistics().control;
    assert!(control.packets == 6 && control.size > DataSize::from_bytes(6 * 56), "{control:?}");
    let mut message = Message::default();
    assert_eq!(sender.poll_goodbye(at(2400), &mut message), None, "nothing ends");
    sender.on_close(at(2400));
    assert!(sender.poll_goodbye(at(2400), &mut message).is_some());
    let Message::Rtcp(octets) = &message else { panic!("{message:?}") };
    let byes = rtcp::packets(octets).filter_map(|packet| match packet.and_then(rtcp::Message::parse) {
        Ok(rtcp::Message::Bye(bye)) => Some(bye.ssrcs.iter().collect::<Vec<_>>()),
        _ => None,
    });
    assert_eq!(byes.collect::<Vec<_>>(), [[SESSION]]);
    assert_eq!(sender.poll_goodbye(at(2400), &mut message), None, "once");
    assert_eq!(drive(&mut sender, 2400, 9000), []);
}

/// A sender report has the stream's media time at the instant of the report, and counts what left.
#[test]
fn a_report_maps_the_media_clock_and_counts() {
    let mut config = config();
    config.timestamp_offset = 1000;
    config.plain = Some(PlainReceiver {
        cname: "abc".into(),
        wall_clock: Duration::new(5, 250_000_000),
        unreported: None,
    });
    let mut sender = sender(config);
    sender.handle_frame(at(0), &frame(0, FrameKind::Key, 2000)).unwrap();
    let left = drive(&mut sender, 0, 100);
    let Some((_, Message::Rtcp(octets))) = left.last() else { panic!("{left:?}") };
    let mut parts = rtcp::packets(octets).map(|packet| packet.and_then(rtcp::Message::parse).unwrap());
    let Some(rtcp::Message::SenderReport(report)) = parts.next() else { panic!("no sender report") };
    assert_eq!(report.ssrc, SESSION, "the stream's first source");
    assert_eq!(report.rtp_timestamp, 1000 + 9000, "a tenth of a second at 90 kHz");
    let statistics = sender.statistics();
    assert_eq!((report.packet_count, u64::from(report.octet_count)), (2, statistics.sent.size.as_bytes()));
    // 5.25 s and 0.1 s since 1900: the time of day at our clock's origin.
    assert_eq!(report.ntp_time.bits() >> 32, 5);
    let fraction = (report.ntp_time.bits() & 0xFFFF_FFFF) as f64 / 4_294_967_296.0;
    assert!((fraction - 0.35).abs() < 1e-6, "{fraction}");
    assert!(parts.next().is_some(), "the name");
}

/// The receiver `1` asks for a key frame of a stream.
fn request(sender: &mut Sender, millis: u64, stream: u8) {
    let source = SourceId { stream: StreamId(stream), subflow: seaway_control::Subflow(0), repair: false };
    let pli = Pli { sender_ssrc: 1, media_ssrc: source.ssrc(SESSION) };
    let mut octets = vec![0; pli.buffer_len()];
    pli.emit(&mut octets).unwrap();
    sender.handle_message(at(millis), at(millis), &Message::Rtcp(octets.into()));
}

/// A key frame is requested once, and not within a round-trip time of the last one, as its effect is on its way: 100 ms where none is known.
#[test]
fn key_frames_are_requested_no_more_than_needed() {
    let mut sender = sender(with_sound());
    request(&mut sender, 0, 0);
    assert_eq!(wanted(&mut sender), [KeyFrameCause::PictureLoss]);
    request(&mut sender, 500, 0);
    assert_eq!(wanted(&mut sender), [], "it is requested");
    sender.handle_frame(at(1000), &frame(1000, FrameKind::Key, 100)).unwrap();
    request(&mut sender, 1099, 0);
    assert_eq!(wanted(&mut sender), [], "one is on its way");
    request(&mut sender, 1100, 0);
    assert_eq!(wanted(&mut sender), [KeyFrameCause::PictureLoss]);
    request(&mut sender, 1100, 1);
    assert_eq!(wanted(&mut sender), [], "sound has none");
    assert_eq!(sender.statistics().picture_losses, 5);
}

/// Sound is counted apart from pictures, and what does not fit its queue is dropped.
#[test]
fn sound_is_counted_apart() {
    let mut config = with_sound();
    config.queue.size = DataSize::from_bytes(120);
    let mut sender = sender(config);
    sender.handle_frame(at(0), &sound(0)).unwrap();
    sender.handle_frame(at(0), &sound(1)).unwrap();
    let audio = sender.statistics().audio;
    assert_eq!((audio.queued, audio.dropped, sender.statistics().frames.captured), (1, 1, 0));
    let left = drive(&mut sender, 0, 50);
    let statistics = sender.statistics();
    assert_eq!((packets(&left), statistics.audio.sent, statistics.frames.begun), (1, statistics.media, 0));
}

/// Nothing happens early: a timer that is not due changes nothing, and what is due is done once.
#[test]
fn a_spurious_timer_changes_nothing() {
    let mut sender = sender(config());
    drive(&mut sender, 0, 10);
    let (before, wake) = (sender.statistics(), sender.poll_timeout());
    for millis in 10..99 {
        sender.handle_timeout(at(millis));
        let mut message = Message::default();
        assert_eq!(sender.poll_transmit(at(millis), at(millis), &mut message), None);
    }
    assert_eq!((sender.statistics(), sender.poll_timeout()), (before, wake));
    assert_eq!(sender.next_wake(), Some(Wake { at: at(100), why: WakeReason::Report }));
}

/// A picture should leave in three tenths of the latency: of 100 ms 30, which are three quarters of the 40 ms to the next picture.
#[test]
fn encoders_get_the_part_of_the_time_in_which_a_picture_leaves() {
    let share = |latency| {
        let mut sender = sender(config().within(ms(latency)));
        sender.handle_frame(at(0), &frame(0, FrameKind::Key, 100)).unwrap();
        sender.share(StreamId(0)).media
    };
    assert_eq!(share(120), RATE.mul_f64(0.9));
    assert_eq!(share(200), RATE, "more than the time to the next picture");
    assert_eq!(share(20), RATE.mul_f64(0.75), "no less than keeps the controller's target");
}

/// Where lanes or repair packets are configured the description says so.
#[test]
fn the_description_has_what_is_configured() {
    let described = |config: SenderConfig| sender(config).description();
    let plain = described(config());
    assert!(!plain.lanes && !plain.fec && plain.streams.len() == 1 && plain.session == SESSION);
    let adaptive = Some(AdaptiveRepair { deadline: ms(200), fec: true });
    let other = described(SenderConfig { lanes: 2, adaptive, ..with_sound() });
    assert!(other.lanes && other.fec && other.streams.len() == 2);
}

/// Another controller takes over with its own rate, and the new description leaves at once.
#[test]
fn a_controller_takes_over() {
    let mut sender = sender(config());
    drive(&mut sender, 0, 150);
    assert!(sender.on_control(at(150), "none-such".parse().unwrap()).is_err());
    assert_eq!((sender.poll_timeout(), sender.target().rate), (Some(at(200)), RATE));
    sender.on_control(at(150), "fixed(rate=2 Mbit/s)".parse().unwrap()).unwrap();
    assert_eq!(sender.target().rate, Bitrate::from_mbps(2));
    assert_eq!(sender.description().control.to_string(), "fixed(rate=2 Mbit/s)");
    assert_eq!(sender.poll_timeout(), Some(at(150)), "the description changed");
    let decisions = sender.statistics().decisions;
    assert!(decisions > 0);
    assert!(events(&mut sender).iter().any(
        |event| matches!(event, SenderEvent::Share { share, .. } if share.media == Bitrate::from_mbps(2))
    ));
}

/// The receiver `1` requests a packet of the first stream again.
fn request_packet(sender: &mut Sender, millis: u64, number: u16) {
    let entries = [NackEntry { packet_id: number, bitmask: 0 }];
    let nack = Nack { sender_ssrc: 1, media_ssrc: SESSION, entries: List::from(&entries[..]) };
    let mut octets = vec![0; nack.buffer_len()];
    nack.emit(&mut octets).unwrap();
    sender.handle_message(at(millis), at(millis), &Message::Rtcp(octets.into()));
}

fn rtp(left: &[(Timestamp, Message)]) -> Vec<&RtpPacket> {
    let packet = |(_, message): &'_ (Timestamp, Message)| matches!(message, Message::Rtp(_));
    left.iter()
        .filter(|left| packet(left))
        .map(|(_, message)| match message {
            Message::Rtp(packet) => packet,
            Message::Rtcp(_) => unreachable!("filtered"),
        })
        .collect()
}

/// Of two streams the one whose frames were dropped needs a key frame.
#[test]
fn the_stream_whose_frames_were_dropped_needs_a_key_frame() {
    for stream in [0, 1].map(StreamId) {
        let mut config = config();
        config.limits.start = Bitrate::ZERO;
        config.streams = vec![config.streams[0]; 2];
        let mut sender = sender(config);
        sender.handle_frame(at(100), &Frame { stream, ..frame(100, FrameKind::Key, 3000) }).unwrap();
        events(&mut sender);
        sender.handle_timeout(at(600));
        let cause = KeyFrameCause::Dropped;
        let keys: Vec<_> = events(&mut sender)
            .into_iter()
            .filter(|event| matches!(event, SenderEvent::KeyFrameWanted { .. }))
            .collect();
        assert_eq!(keys, [SenderEvent::KeyFrameWanted { stream, cause }]);
    }
}

/// 4096 events wait to be read, and those before them are counted.
#[test]
fn unread_events_are_counted() {
    let change = |sender: &mut Sender, count: u64| {
        let most = Bitrate::from_kbps(100 + count % 2);
        sender.on_rate_bound(at(count), Some(most));
    };
    let (mut read, mut unread) = (sender(config()), sender(config()));
    let mut all = 0;
    for count in 0..3000 {
        change(&mut read, count);
        change(&mut unread, count);
        all += events(&mut read).len() as u64;
    }
    assert!(all > 5000, "{all}");
    assert_eq!(read.statistics().refused.overflow, 0);
    assert_eq!(unread.statistics().refused.overflow, all - 4096);
    assert_eq!(events(&mut unread).len(), 4096);
}
