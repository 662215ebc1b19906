//! Sender and receiver over paths in virtual time.

mod common;

use common::*;
use seaway_session::*;
use seaway_units::{Bitrate, DataSize, Timestamp};

fn run(control: &str, there: Path, back: Path) -> Run {
    Run::new(sender(Timestamp::ZERO, config(control)), receiver(Timestamp::ZERO), there, back)
}

#[test]
fn every_frame_is_shown_over_an_ideal_path() {
    let mut run = run("fixed", ideal(ms(20)), ideal(ms(20)));
    run.until(at(10_000));
    let (sent, received) = (run.sender.statistics(), run.receiver.statistics());
    assert_eq!(sent.frames.captured, 251);
    assert!(received.frames.displayed >= 249, "{received:#?}");
    assert_eq!((received.frames.lost, received.missing, received.requests), (0, 0, 0));
    assert_eq!(received.refused, Refused::default());
    assert_eq!(sent.refused, Refused::default());
    assert_eq!((sent.lost, sent.late), (0, 0));
    let rtt = sent.rtt.expect("feedback came").as_millis_f64();
    assert!((39.0..42.0).contains(&rtt), "{rtt}");
    assert_eq!(received.picture_losses, 0);
    let late = run.delays().into_iter().max().unwrap();
    assert!(late < ms(75), "pacing spreads a frame over 40 ms: {late}");
}

#[test]
fn each_wake_up_has_a_reason() {
    let mut run = run("fixed(rate=1 Mbit/s)", ideal(ms(20)), ideal(ms(20)));
    let wake = |run: &Run| run.sender.next_wake().map(|wake| (wake.why, wake.at));
    assert_eq!(wake(&run), Some((WakeReason::Report, at(0))));
    run.until(at(0));
    assert_eq!(wake(&run).map(|wake| wake.0), Some(WakeReason::Pacing), "of the first frame");
    run.source = None;
    run.until(at(100));
    assert_eq!(wake(&run).map(|wake| wake.0), Some(WakeReason::Report), "all is sent and reported");
}

#[test]
fn the_wire_rate_is_the_allowance_and_no_more() {
    let mut run = run("fixed(rate=1 Mbit/s)", ideal(ms(20)), ideal(ms(20)));
    // The source wants more than it gets.
    run.source = None;
    run.until(at(1));
    for index in 0..500u64 {
        let data = FrameData::Synthetic(DataSize::from_bytes(3000));
        let frame = Frame::new(at(index * 10), FrameKind::Key, data, ms(10));
        run.until(at(index * 10 + 1));
        run.sender.handle_frame(run.now, &frame).unwrap();
        run.drain();
    }
    let size: DataSize = run.departures.iter().map(|(_, size)| *size).sum();
    let rate = size.over(ms(5000)).unwrap();
    assert!((Bitrate::from_kbps(990)..=Bitrate::from_kbps(1005)).contains(&rate), "{rate}");
    let statistics = run.sender.statistics();
    assert!(statistics.frames.skipped > 200, "{statistics:?}");
    assert_eq!(run.receiver.statistics().frames.lost, 0, "what is dropped here is not missed there");
}

#[test]
fn retransmission_repairs_loss_in_time() {
    let mut run = run("fixed", lossy(ms(20), 0.05, 7), lossy(ms(20), 0.01, 8));
    run.until(at(20_000));
    let (sent, received) = (run.sender.statistics(), run.receiver.statistics());
    let missed = received.missing - received.reordered;
    assert!(missed > 150, "{received:#?}");
    assert!(received.repaired * 100 >= missed * 97, "{received:#?}");
    assert!(received.frames.displayed * 100 >= sent.frames.captured * 97, "{received:#?} {sent:#?}");
    assert!(sent.lost * 100 > sent.sent.packets * 3 && sent.lost * 100 < sent.sent.packets * 7, "{sent:#?}");
    assert!(sent.late < 5, "{sent:#?}");
    assert!(received.freezes.longest < ms(600), "{:?}", received.freezes);
}

/// No round trip is measured by then.
#[test]
fn the_first_packets_are_repaired_too() {
    for lost in [10, 50, 90, 130, 170] {
        let there = outage(ideal(ms(20)), at(lost), at(lost + 20));
        let mut run = run("seaway", there, ideal(ms(20)));
        run.until(at(2000));
        let received = run.receiver.statistics();
        assert!(received.repaired > 0, "{lost} ms: {received:#?}");
        assert_eq!(received.frames.lost, 0, "{lost} ms: {received:#?}");
    }
}

#[test]
fn without_retransmission_a_key_frame_ends_the_freeze() {
    let mut run = run("fixed", lossy(ms(20), 0.01, 3), ideal(ms(20)));
    let config = ReceiverConfig { repair: None, ..ReceiverConfig::new(1) };
    run.receiver = Receiver::new(Timestamp::ZERO, config);
    run.until(at(20_000));
    let received = run.receiver.statistics();
    assert!(received.picture_losses > 5, "{received:#?}");
    assert_eq!(received.requests, 0);
    assert!(received.frames.lost > 10 && received.frames.displayed > 300, "{received:#?}");
    let frozen =
        run.receiver_events.iter().filter(|(_, event)| matches!(event, ReceiverEvent::Frozen { .. })).count();
    assert!(frozen > 5, "{frozen}");
    assert!(received.freezes.longest < ms(400), "{:?}", received.freezes);
}

#[test]
fn ten_seconds_of_outage_end_within_two() {
    for control in ["fixed", "tfrc", "nada", "window", "gcc"] {
        let cut = |path| outage(path, at(5_000), at(15_000));
        let there = bottleneck(ms(20), Bitrate::from_mbps(5), ms(200));
        let mut run = run(control, cut(there), cut(ideal(ms(20))));
        run.until(at(20_000));
        let resumed = run.frames.iter().map(|(shown, _)| *shown).find(|shown| *shown > at(14_000));
        assert!(resumed.is_some_and(|resumed| resumed < at(17_000)), "{control}: {resumed:?}");
        let shown = run.frames.iter().filter(|(shown, _)| *shown > at(17_000)).count();
        assert!(shown >= 65, "{control}: {shown}");
    }
}

/// Probes leave at many times the rate of the moment: the pauses for them at that rate must not silence what follows.
#[test]
fn probes_after_an_outage_owe_nothing() {
    for control in ["gcc", "gcc(variant=draft)"] {
        let cut = |path| outage(path, at(30_000), at(50_000));
        let there = bottleneck(ms(20), Bitrate::from_mbps(4), ms(200));
        let mut run = run(control, cut(there), cut(ideal(ms(20))));
        let start = Bitrate::from_kbps(300);
        run.sender
            .on_limits(run.now, Limits { min: Bitrate::from_kbps(50), start, max: Bitrate::from_mbps(6) });
        run.until(at(65_000));
        for second in 52..65 {
            let shown =
                |(shown, _): &&(Timestamp, _)| (at(second * 1000)..at(second * 1000 + 1000)).contains(shown);
            let shown = run.frames.iter().filter(shown).count();
            assert!(shown > 10, "{control}: {shown} frames in second {second}");
        }
    }
}

#[test]
fn either_side_may_start_anew() {
    let mut run = run("fixed", ideal(ms(20)), ideal(ms(20)));
    run.until(at(5_000));
    run.receiver = Receiver::new(run.now, ReceiverConfig::new(0xBEE));
    run.until(at(10_000));
    let shown = |run: &Run, from: u64| run.frames.iter().filter(|(shown, _)| *shown > at(from)).count();
    assert!(shown(&run, 7_000) >= 70, "a new receiver");
    let other = SenderConfig { session: 0x0BAD_0000, timestamp_offset: 5, ..config("fixed") };
    run.sender = sender(run.now, other);
    run.source.as_mut().unwrap().key_wanted = true;
    run.until(at(15_000));
    assert!(shown(&run, 12_500) >= 60, "a new sender: {}", shown(&run, 12_500));
    let unlocked = run.receiver_events.iter().any(|(_, event)| *event == ReceiverEvent::SessionEnded);
    assert!(unlocked);
}

#[test]
fn a_goodbye_lets_the_next_sender_in_at_once() {
    let mut run = run("fixed", ideal(ms(20)), ideal(ms(20)));
    run.until(at(2_000));
    run.sender.on_close(run.now);
    run.drain();
    run.until(at(2_100));
    run.sender = sender(run.now, SenderConfig { session: 0x0BAD_0000, ..config("fixed") });
    run.source.as_mut().unwrap().key_wanted = true;
    run.until(at(3_000));
    let shown = run.frames.iter().filter(|(shown, _)| *shown > at(2_200)).count();
    assert!(shown >= 17, "{shown}");
    run.receiver.on_close(run.now);
    run.drain();
    run.until(at(3_100));
    assert!(run.sender_events.iter().any(|(_, event)| matches!(event, SenderEvent::PeerLeft { .. })));
}

#[test]
fn bytes_and_messages_are_the_same() {
    let outcome = |bytes: bool, feedback: FeedbackFormat| {
        let config = SenderConfig { feedback, ..config("fixed") };
        let (there, back) = (lossy(ms(20), 0.03, 5), lossy(ms(30), 0.02, 6));
        let mut run = Run::new(sender(Timestamp::ZERO, config), receiver(Timestamp::ZERO), there, back);
        run.bytes = bytes;
        run.until(at(5_000));
        let shown: Vec<(Timestamp, u32, DataSize)> =
            run.frames.iter().map(|(shown, frame)| (*shown, frame.timestamp, frame.data.size())).collect();
        (shown, run.departures, run.sender.statistics(), run.receiver.statistics())
    };
    for feedback in [FeedbackFormat::Native, FeedbackFormat::Ccfb, FeedbackFormat::Twcc] {
        assert_eq!(outcome(true, feedback), outcome(false, feedback), "{feedback:?}");
    }
}

#[test]
fn every_feedback_format_reports_the_same_losses() {
    for feedback in [FeedbackFormat::Native, FeedbackFormat::Ccfb, FeedbackFormat::Twcc] {
        let config = SenderConfig { feedback, ..config("fixed") };
        let (there, back) = (lossy(ms(20), 0.03, 5), ideal(ms(30)));
        let mut run = Run::new(sender(Timestamp::ZERO, config), receiver(Timestamp::ZERO), there, back);
        run.until(at(10_000));
        let (sent, received) = (run.sender.statistics(), run.receiver.statistics());
        let unknown = sent.sent.packets - sent.received - sent.lost + sent.late;
        assert!(unknown < 60, "{feedback:?}: {sent:#?}");
        assert!(received.received.packets - sent.received < 40, "{feedback:?}: {sent:#?}");
        assert_eq!(sent.late, 0, "{feedback:?}");
        let rtt = sent.rtt.unwrap().as_millis_f64();
        assert!((49.0..56.0).contains(&rtt), "{feedback:?}: {rtt}");
    }
}

#[test]
fn a_full_queue_is_survived() {
    let there = bottleneck(ms(20), Bitrate::from_mbps(1), ms(200));
    let blind = SenderConfig { pushback: None, ..config("fixed(rate=2 Mbit/s)") };
    let mut run = Run::new(sender(Timestamp::ZERO, blind), receiver(Timestamp::ZERO), there, ideal(ms(20)));
    run.until(at(10_000));
    let sent = run.sender.statistics();
    assert!(sent.lost * 10 > sent.sent.packets * 3, "half of it cannot arrive: {sent:#?}");
    let rtt = sent.rtt.unwrap();
    assert!(rtt > ms(200) && rtt < ms(300), "{rtt}");
}

/// What waits is taken off an encoder's share, down to nothing. It then codes no frame, and no frame may be needed for
/// the share to come back.
#[test]
fn a_share_of_nothing_comes_back_without_a_frame() {
    let mut run = run("fixed", ideal(ms(20)), ideal(ms(20)));
    run.until(at(1_000));
    let stream = seaway_control::StreamId(0);
    let data = FrameData::Synthetic(DataSize::from_bytes(30_000));
    let frame = Frame::new(at(1_001), FrameKind::Reference, data, ms(40));
    run.source = None;
    run.until(at(1_001));
    let limits = Limits { min: Bitrate::from_kbps(50), start: Bitrate::from_kbps(800), ..LIMITS };
    run.sender.on_limits(run.now, limits);
    for control in ["fixed(rate=800 kbit/s)", "fixed(rate=400 kbit/s)"] {
        run.sender.on_control(run.now, control.parse().unwrap()).unwrap();
        run.sender.handle_frame(run.now, &frame).unwrap();
        run.drain();
        assert_eq!(run.sender.share(stream).media, Bitrate::ZERO, "{control}");
        // The first leaves in 300 ms, the second becomes too old.
        run.until(run.now + ms(1_500));
        let share = run.sender.share(stream).media;
        assert!(share >= Bitrate::from_kbps(400), "{control}: {share}");
    }
}

/// A requested key frame may be refused like any other.
#[test]
fn a_stream_goes_on_after_its_queue_overflowed() {
    let policy = seaway_control::policy::build(&"pd(floor=1, buffer=1 s)".parse().unwrap()).unwrap();
    let sender = Sender::new(Timestamp::ZERO, config("fixed(rate=400 kbit/s)"), policy).unwrap();
    let mut run = Run::new(sender, receiver(Timestamp::ZERO), ideal(ms(20)), ideal(ms(20)));
    run.until(at(30_000));
    let skipped = run.sender.statistics().frames.skipped;
    assert!(skipped > 20, "400 kbit/s do not carry 4 Mbit/s: {skipped} skipped");
    let late = run.frames.iter().filter(|(shown, _)| *shown > at(25_000)).count();
    assert!(late > 5, "{late} frames in the last five seconds");
}

#[test]
fn a_controller_may_be_exchanged_while_it_runs() {
    let mut run = run("fixed(rate=2 Mbit/s)", ideal(ms(20)), ideal(ms(20)));
    run.until(at(3_000));
    assert!(run.sender.on_control(run.now, "nothing".parse().unwrap()).is_err());
    run.sender.on_control(run.now, "fixed(rate=500 kbit/s)".parse().unwrap()).unwrap();
    run.until(at(6_000));
    let reannounced = |(_, event): &(_, ReceiverEvent)| matches!(event, ReceiverEvent::SessionChanged(_));
    assert!(run.receiver_events.iter().any(reannounced));
    let since =
        |from: u64| run.departures.iter().filter(move |(when, _)| *when > at(from)).map(|(_, size)| *size);
    let rate = since(4_000).sum::<DataSize>().over(ms(2_000)).unwrap();
    assert!(rate < Bitrate::from_kbps(505) && rate > Bitrate::from_kbps(400), "{rate}");
    assert_eq!(run.receiver.statistics().frames.lost, 0);
}

/// Access units of a stream: a key frame in twelve, content that is never a start code by chance.
fn access_unit(index: u64, random: &mut Random) -> bytes::Bytes {
    let mut unit = Vec::new();
    let mut nal = |header: u8, len: usize| {
        unit.extend_from_slice(&[0, 0, 0, 1, header]);
        unit.extend((0..len).map(|_| 1 + (random.draw() * 255.0) as u8));
    };
    if index.is_multiple_of(12) {
        nal(0x67, 20);
        nal(0x68, 5);
        nal(0x65, 9_000);
    } else {
        nal(0x41, 3_000);
        nal(0x41, 40);
    }
    unit.into()
}

/// A picture of MPEG-1 video: headers, eighteen slices.
fn picture(index: u64, random: &mut Random) -> bytes::Bytes {
    let key = index.is_multiple_of(12);
    let mut picture = Vec::new();
    if key {
        picture.extend_from_slice(&[0, 0, 1, 0xB3, 0x16, 0x01, 0x20, 0x13, 0xFF, 0xFF, 0xE0, 0x18]);
        picture.extend_from_slice(&[0, 0, 1, 0xB8, 0x00, 0x08, 0x00, 0x40]);
    }
    let coding_type = if key { 1 } else { 2 };
    picture.extend_from_slice(&[0, 0, 1, 0, 0, coding_type << 3 | 7, 0xFF, 0xF8, 0x80]);
    for row in 1..=18 {
        picture.extend_from_slice(&[0, 0, 1, row]);
        picture.extend((0..(random.draw() * 500.0) as usize + 5).map(|_| 1 + (random.draw() * 255.0) as u8));
    }
    picture.into()
}

#[test]
fn coded_frames_arrive_as_they_were() {
    type Make = fn(u64, &mut Random) -> bytes::Bytes;
    for (format, make) in [(Format::H264, access_unit as Make), (Format::Mpv, picture as Make)] {
        let mut config = config("fixed");
        config.streams[0].description = StreamDescription::video(format);
        let (there, back) = (lossy(ms(20), 0.03, 5), ideal(ms(20)));
        let mut run = Run::new(sender(Timestamp::ZERO, config), receiver(Timestamp::ZERO), there, back);
        (run.source, run.bytes) = (None, true);
        let mut random = Random::new(3);
        let mut sent = std::collections::BTreeMap::new();
        for index in 0..200 {
            run.until(at(index * 40 + 1));
            let data = make(index, &mut random);
            let kind = if index.is_multiple_of(12) { FrameKind::Key } else { FrameKind::Reference };
            let frame = Frame::new(run.now, kind, FrameData::Coded(data.clone()), ms(40));
            run.sender.handle_frame(run.now, &frame).unwrap();
            sent.insert(run.sender.media_clock(seaway_control::StreamId(0)).timestamp(run.now), data);
            run.drain();
        }
        run.until(at(9_000));
        assert!(run.frames.len() >= 196, "{format:?}: {:#?}", run.receiver.statistics());
        for (_, frame) in &run.frames {
            let FrameData::Coded(data) = &frame.data else { panic!("{format:?}: no content") };
            assert!(data == &sent[&frame.timestamp], "{format:?}: frame {}", frame.timestamp);
        }
        assert!(run.receiver.statistics().repaired > 10, "{format:?}");
    }
}

#[test]
fn a_frame_that_is_not_in_its_format_is_refused() {
    let mut config = config("fixed");
    config.streams[0].description = StreamDescription::video(Format::H264);
    let mut sender = sender(Timestamp::ZERO, config);
    let data = FrameData::Coded(bytes::Bytes::from_static(b"no NAL unit"));
    let stream = seaway_control::StreamId(0);
    let (captured, target, interval) = (at(0), DataSize::ZERO, ms(40));
    let frame = Frame { stream, captured, kind: FrameKind::Key, data, target, interval };
    assert!(sender.handle_frame(at(0), &frame).is_err());
    let elsewhere = Frame { stream: seaway_control::StreamId(1), ..frame };
    assert!(sender.handle_frame(at(0), &elsewhere).is_err());
    let none = SenderConfig { streams: Vec::new(), ..common::config("fixed") };
    assert!(Sender::new(at(0), none, Box::new(seaway_control::policy::Direct::new())).is_err());
}

/// Notes when packets left, as the receiver understands it.
#[derive(Debug)]
struct Departures(std::sync::Arc<std::sync::Mutex<Vec<seaway_units::RemoteTimestamp>>>);

impl Observer for Departures {
    fn on_arrival(&mut self, _now: Timestamp, arrival: &seaway_control::Arrival) {
        self.0.lock().unwrap().push(arrival.sent);
    }
}

#[test]
fn clocks_that_have_run_for_long_are_understood() {
    // Beyond half a turn of the 32 bits of a report time (9.1 h), of transport-wide feedback (6.2 d), and of the
    // microseconds on packets.
    for hours in [1, 24, 220, 9_600] {
        for feedback in [FeedbackFormat::Native, FeedbackFormat::Ccfb, FeedbackFormat::Twcc] {
            let start = Timestamp::from_nanos(hours * 3_600_000_000_000 + 12_345);
            let config = SenderConfig { feedback, ..config("tfrc") };
            let (sender, receiver) = (sender(start, config), receiver(start));
            let mut run = Run::new(sender, receiver, ideal(ms(20)), ideal(ms(20)));
            run.now = start;
            run.source.as_mut().unwrap().next = start;
            let departures = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
            run.receiver.observe(Box::new(Departures(departures.clone())));
            run.until(start + ms(5_000));
            let departures = departures.lock().unwrap();
            assert!(departures.is_sorted() && departures.len() > 500, "{hours} {feedback:?}");
            let span = departures[departures.len() - 1] - departures[0];
            assert!(span > ms(4_800) && span < ms(5_000), "{hours} {feedback:?}: {span}");
            let statistics = run.sender.statistics();
            let rtt = statistics.rtt.unwrap().as_millis_f64();
            assert!((39.0..46.0).contains(&rtt), "{hours} {feedback:?}: {rtt}");
            assert_eq!(
                (statistics.lost, statistics.refused),
                (0, Refused::default()),
                "{hours} {feedback:?}"
            );
            assert!(run.frames.len() >= 120, "{hours} {feedback:?}: {}", run.frames.len());
            assert!(run.delays().into_iter().all(|delay| delay < ms(150)), "{hours} {feedback:?}");
        }
    }
}

#[test]
fn reordering_is_no_loss() {
    let mut run = run("fixed", reordering(ms(20), ms(8), 4), reordering(ms(20), ms(8), 5));
    run.until(at(10_000));
    let (sent, received) = (run.sender.statistics(), run.receiver.statistics());
    assert!(received.reordered > 100 && received.missing == received.reordered, "{received:#?}");
    assert_eq!((received.frames.lost, received.refused.duplicates), (0, received.repair.packets));
    assert!(received.frames.displayed >= 248, "{received:#?}");
    assert!(received.requests <= received.reordered / 4, "three later packets are rare: {received:#?}");
    assert!(sent.late * 20 < sent.sent.packets, "{sent:#?}");
}

/// Packets overtake one another by up to 60 ms, in place of one they overtake dozens. Once that is known, nothing is declared lost
/// or requested for it.
#[test]
fn far_reordering_is_no_loss_either() {
    for control in ["fixed", "scream", "gcc"] {
        let mut run = run(control, reordering(ms(20), ms(60), 4), ideal(ms(20)));
        run.until(at(5_000));
        let (lost, requests) = (run.sender.statistics().lost, run.receiver.statistics().requests);
        run.until(at(30_000));
        let (sent, received) = (run.sender.statistics(), run.receiver.statistics());
        assert!(received.reordered > 1000, "{control}: {received:#?}");
        assert!(sent.lost - lost <= 2, "{control}: {lost}, then {sent:#?}");
        assert!(received.requests - requests <= 2, "{control}: {requests}, then {received:#?}");
        let rate = run.sender.controller().target().rate;
        assert!(control == "fixed" || rate >= seaway_units::Bitrate::from_kbps(3500), "{control}: {rate}");
    }
}

#[test]
fn marks_come_back() {
    for feedback in [FeedbackFormat::Native, FeedbackFormat::Ccfb] {
        let config = SenderConfig { feedback, ecn: seaway_units::Ecn::Ect0, ..config("tfrc") };
        let mut run = Run::new(
            sender(Timestamp::ZERO, config),
            receiver(Timestamp::ZERO),
            ideal(ms(20)),
            ideal(ms(20)),
        );
        run.mark_every = 100;
        run.until(at(10_000));
        let (sent, received) = (run.sender.statistics(), run.receiver.statistics());
        let marked = received.with_ecn(seaway_units::Ecn::Ce);
        assert!(marked > 5 && marked - sent.marked <= 2, "{feedback:?}: {marked} {}", sent.marked);
        assert_eq!(sent.lost, 0);
        assert_eq!(run.sender.controller().phase(), "congestion avoidance", "{feedback:?}");
    }
}

/// Half a second of arrivals does not fit one datagram of 500 octets: it takes several, of which none is longer, and the fate of each
/// packet is known all the same.
#[test]
fn a_long_report_takes_several_datagrams() {
    let small = ReceiverConfig { packet: DataSize::from_bytes(500), ..ReceiverConfig::new(0xACE) };
    let config =
        SenderConfig { packet: DataSize::from_bytes(300), ..config("fixed(rate=2 Mbit/s, feedback=500 ms)") };
    let receiver = Receiver::new(Timestamp::ZERO, small);
    let mut run = Run::new(sender(Timestamp::ZERO, config), receiver, ideal(ms(20)), ideal(ms(20)));
    let tap = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
    run.tap = Some(std::rc::Rc::clone(&tap));
    run.until(at(10_000));
    let longest = 500 - 28 - 4;
    let tap = tap.borrow();
    let lengths = tap.iter().filter(|message| matches!(message, Message::Rtcp(_))).map(Message::wire_len);
    let full = lengths.inspect(|len| assert!(*len <= longest, "{len}")).filter(|len| *len > longest - 4);
    assert!(full.count() >= 10);
    let sent = run.sender.statistics();
    assert!(sent.lost == 0 && sent.received + 1000 > sent.sent.packets, "{sent:#?}");
}

/// Reports of 100 ms become reports of a second: what is in flight is waited for at once.
#[test]
fn a_longer_interval_is_known_before_its_reports() {
    let mut run = run("fixed(rate=2 Mbit/s)", ideal(ms(40)), ideal(ms(40)));
    run.until(at(3_000));
    run.sender.on_control(run.now, "fixed(rate=2 Mbit/s, feedback=1 s)".parse().unwrap()).unwrap();
    run.until(at(12_000));
    let sent = run.sender.statistics();
    assert_eq!((sent.lost, sent.late), (0, 0), "{sent:#?}");
}

/// A report of several datagrams is one report: what is in flight is waited for until the next one.
#[test]
fn datagrams_of_a_report_do_not_shorten_the_wait() {
    for feedback in [FeedbackFormat::Native, FeedbackFormat::Ccfb, FeedbackFormat::Twcc] {
        let small = ReceiverConfig { packet: DataSize::from_bytes(500), ..ReceiverConfig::new(0xACE) };
        let control = config("fixed(rate=4 Mbit/s, feedback=1 s)");
        let packet = DataSize::from_bytes(300);
        let config = SenderConfig { packet, feedback, pushback: None, ..control };
        let receiver = Receiver::new(Timestamp::ZERO, small);
        let mut run = Run::new(sender(Timestamp::ZERO, config), receiver, ideal(ms(40)), ideal(ms(40)));
        run.until(at(10_000));
        let sent = run.sender.statistics();
        assert!(sent.sent.packets > 10_000, "{feedback:?}: {sent:#?}");
        assert_eq!((sent.lost, sent.late), (0, 0), "{feedback:?}: {sent:#?}");
    }
}

/// Both ends count what the receiver requested; on the way there are no more than a round trip of it.
#[test]
fn both_ends_count_the_requests() {
    let mut run = run("fixed", lossy(ms(20), 0.03, 6), ideal(ms(20)));
    run.until(at(10_000));
    let (sent, received) = (run.sender.statistics(), run.receiver.statistics());
    assert!(sent.requested > 40, "{sent:#?}");
    assert!((sent.requested..=sent.requested + 5).contains(&received.requests), "{sent:#?} {received:#?}");
}
