//! What leaves: packets, how often, and in which order.

use super::*;

/// However often a receiver requests a packet, it is sent again so often as is configured, at the usual pace.
#[test]
fn requests_do_not_make_a_sender_send_more_than_its_budget() {
    let mut config = config();
    config.repair = Some(RepairLimits { repeats: 3, age: ms(1000) });
    let mut sender = sender(config);
    sender.handle_frame(at(0), &frame(0, FrameKind::Key, 2000)).unwrap();
    let left = drive(&mut sender, 0, 50);
    let [first, second] = rtp(&left)[..] else { panic!("{left:?}") };
    assert_eq!((first.sequence_number, second.sequence_number), (0, 1));
    let mut again = Vec::new();
    for millis in 50..250 {
        request_packet(&mut sender, millis, 0);
        again.extend(drive(&mut sender, millis, millis));
    }
    let times: Vec<_> =
        again.iter().filter(|(_, message)| matches!(message, Message::Rtp(_))).map(|(at, _)| *at).collect();
    let again = rtp(&again);
    assert_eq!(again.len(), 3);
    let size = DataSize::from_bytes(28 + Message::Rtp(again[0].clone()).wire_len() as u64);
    assert!(times.windows(2).all(|pair| pair[1] - pair[0] >= RATE.time_to_send(size).unwrap()), "{times:?}");
    for (packet, number) in again.iter().zip(0..) {
        let source = SourceId::of(packet.ssrc, SESSION).unwrap();
        assert!(source.repair && source.stream == StreamId(0));
        assert_eq!(
            (packet.payload_type, packet.sequence_number),
            (payload_type::retransmission(StreamId(0)), number)
        );
        assert_eq!((packet.timestamp, packet.payload.peek::<2>()), (first.timestamp, Some([0, 0])));
        assert_eq!(packet.payload.len(), first.payload.len() + 2);
    }
    let statistics = sender.statistics();
    assert_eq!((statistics.requested, statistics.repair.packets, statistics.media.packets), (200, 3, 2));
    // Nor is a packet that was sent again, by its own number.
    for id in 2..5 {
        let buffer = &mut sender.scheduler.retransmissions;
        assert!(buffer.on_request(at(250), at(240), None, seaway_control::PacketId(id)).is_none());
    }
    // What left a second ago is not sent again.
    request_packet(&mut sender, 1200, 1);
    assert_eq!(rtp(&drive(&mut sender, 1200, 1300)).len(), 0);
}

/// Repair packets that are planned leave behind the picture, with payload type and numbers of their own, and no more of them than there
/// is to cover.
#[test]
fn repair_packets_have_a_source_of_their_own() {
    let adaptive = Some(AdaptiveRepair { deadline: ms(200), fec: true });
    let mut sender = sender(SenderConfig { adaptive, initial_sequence: 500, ..config() });
    sender.scheduler.add_repairs(StreamId(0), 2);
    assert_eq!(rtp(&drive(&mut sender, 0, 50)).len(), 0, "nothing is to be repaired");
    sender.handle_frame(at(50), &frame(50, FrameKind::Key, 2000)).unwrap();
    drive(&mut sender, 50, 100);
    sender.scheduler.add_repairs(StreamId(0), 2);
    sender.handle_frame(at(100), &frame(100, FrameKind::Reference, 10)).unwrap();
    let left = drive(&mut sender, 100, 200);
    let [first, second, media] = rtp(&left)[..] else { panic!("{left:?}") };
    assert_eq!(media.payload_type, payload_type::OPAQUE);
    for (packet, number) in [first, second].into_iter().zip(500..) {
        let source = SourceId::of(packet.ssrc, SESSION).unwrap();
        assert!(source.repair && !packet.payload.is_empty());
        assert_eq!((packet.payload_type, packet.sequence_number), (payload_type::fec(StreamId(0)), number));
    }
    assert_eq!((sender.statistics().repair.packets, sender.statistics().media.packets), (2, 3));
    // 200 ms later nothing that left is of use.
    sender.scheduler.add_repairs(StreamId(0), 2);
    assert_eq!(rtp(&drive(&mut sender, 400, 450)).len(), 0);
}

/// Of video the marker ends a frame, of AAC each, of other sound and of a transport stream none; the extension has what the frame is.
#[test]
fn packets_are_marked_by_their_frames() {
    let mut sender = sender(with_sound());
    for (millis, kind, octets) in
        [(0, FrameKind::Key, 2500), (40, FrameKind::Reference, 10), (80, FrameKind::Discardable, 10)]
    {
        sender.handle_frame(at(millis), &frame(millis, kind, octets)).unwrap();
        sender.handle_frame(at(millis), &sound(millis)).unwrap();
    }
    let left = drive(&mut sender, 80, 200);
    let video: Vec<_> =
        rtp(&left).into_iter().filter(|packet| packet.payload_type == payload_type::OPAQUE).collect();
    assert_eq!(
        video.iter().map(|packet| packet.marker).collect::<Vec<_>>(),
        [false, false, true, true, true]
    );
    let markings: Vec<_> = video
        .iter()
        .map(|packet| packet.marking.as_ref().expect("a marking"))
        .map(|marking| {
            (
                marking.start,
                marking.end,
                marking.independent,
                marking.discardable,
                marking.frame,
                marking.sequence_number,
            )
        })
        .collect();
    assert_eq!(
        markings,
        [
            (true, false, true, false, 0, 0),
            (false, false, true, false, 0, 1),
            (false, true, true, false, 0, 2),
            (true, true, false, false, 1, 3),
            (true, true, false, true, 2, 4),
        ]
    );
    let sound: Vec<_> =
        rtp(&left).into_iter().filter(|packet| packet.payload_type == payload_type::OPUS).collect();
    assert!(sound.len() == 3 && sound.iter().all(|packet| !packet.marker));
    // Pictures alone count in what repair packets cover.
    assert_eq!((sender.protected[0].packets, sender.protected[1].packets), (0, 0));
    let aac = seaway_wire::aac::Config::parse([0x12, 0x10]).unwrap();
    let mut config = with_sound();
    config.streams[1].description = StreamDescription::aac(aac);
    let mut sender = self::sender(config);
    let octets = [&aac.adts_header(50).unwrap()[..], &[7; 50]].concat();
    sender.handle_frame(at(0), &Frame { data: FrameData::Coded(octets.into()), ..self::sound(0) }).unwrap();
    let left = drive(&mut sender, 0, 50);
    assert!(rtp(&left).len() == 1 && rtp(&left)[0].marker);
    let mut transport = self::config();
    transport.streams[0].description = StreamDescription::video(Format::Mp2t);
    let mut sender = self::sender(transport);
    let octets: Vec<u8> = std::iter::once(0x47).chain(std::iter::repeat_n(0xFF, 187)).collect();
    let data = FrameData::Coded(octets.into());
    sender.handle_frame(at(0), &Frame::new(at(0), FrameKind::Key, data, ms(40))).unwrap();
    let left = drive(&mut sender, 0, 50);
    assert!(rtp(&left).len() == 1 && !rtp(&left)[0].marker);
}

/// Sound that no feedback covers leaves at once, without a transport-wide number, and takes nothing of the pace.
#[test]
fn what_no_feedback_covers_is_counted_alone() {
    let plain =
        PlainReceiver { cname: "abc".into(), wall_clock: Duration::ZERO, unreported: Some(StreamId(1)) };
    let mut sender =
        sender(SenderConfig { plain: Some(plain), feedback: FeedbackFormat::Twcc, ..with_sound() });
    drive(&mut sender, 0, 99);
    sender.handle_frame(at(100), &frame(100, FrameKind::Key, 2000)).unwrap();
    sender.handle_frame(at(100), &sound(100)).unwrap();
    let left = drive(&mut sender, 100, 150);
    let [sound, first, second] = rtp(&left)[..] else { panic!("{left:?}") };
    assert_eq!((sound.payload_type, sound.transport_sequence), (payload_type::OPUS, None));
    assert_eq!([first, second].map(|packet| packet.transport_sequence), [Some(0), Some(1)]);
    assert!([sound, first, second].iter().all(|packet| packet.control.is_none() && packet.marking.is_none()));
    let at_100 = left.iter().filter(|(left, message)| *left == at(100) && matches!(message, Message::Rtp(_)));
    assert_eq!(at_100.count(), 2, "both left at once");
    assert_eq!(sender.feedback.next_id(), seaway_control::PacketId(2));
    assert_eq!(sender.statistics().media.packets, 3);
}

/// An endless source fills each packet to the octet, as padding that no receiver assembles.
#[test]
fn an_endless_source_fills_its_packets() {
    let twcc = SenderConfig { endless: true, feedback: FeedbackFormat::Twcc, ..config() };
    let mut sender = sender(twcc.clone());
    assert!(drive(&mut sender, 0, 95).iter().all(|(_, message)| 28 + message.wire_len() == 1200));
    let mut sender = self::sender(SenderConfig { feedback: FeedbackFormat::Native, ..twcc });
    let left = drive(&mut sender, 0, 95);
    assert!(left.iter().all(|(_, message)| 28 + message.wire_len() == 1200));
    let left = rtp(&left);
    assert_eq!(left.len(), 10, "9.6 ms each");
    for packet in left {
        assert!(!packet.marker && packet.marking.is_none() && packet.timestamp == 0);
        assert_eq!(packet.payload_type, payload_type::PADDING);
    }
    assert_eq!(sender.statistics().media.packets, 10);
    sender.on_paused(at(96), true);
    assert_eq!(drive(&mut sender, 96, 500), []);
}

/// A timer that is due comes before a report that is due, for a driver that looks ahead; for another one the report leaves.
#[test]
fn timers_come_first_for_a_driver_that_looks_ahead() {
    let stale = || {
        let mut config = config();
        config.limits.start = Bitrate::ZERO;
        let mut sender = sender(config);
        sender.handle_frame(at(100), &frame(100, FrameKind::Key, 3000)).unwrap();
        drive(&mut sender, 100, 599);
        (sender, Message::default())
    };
    let (mut sender, mut message) = stale();
    assert_eq!(sender.poll_timeout(), Some(at(600)));
    assert_eq!(sender.poll_transmit(at(600), at(1000), &mut message), None);
    sender.handle_timeout(at(600));
    assert!(sender.poll_transmit(at(600), at(1000), &mut message).is_some());
    let (mut sender, mut message) = stale();
    assert!(sender.poll_transmit(at(600), at(600), &mut message).is_some());
    // What is stale goes before the next packet is chosen, timer or no timer.
    assert_eq!(sender.statistics().frames.queued, 1);
    assert_eq!(sender.poll_transmit(at(600), at(600), &mut message), None);
    assert_eq!(sender.statistics().frames.queued, 0);
}
