//! Hostile and broken input is counted, causes no panic and no growth, and the video goes on.

mod common;
mod exercise;

use bytes::Bytes;
use common::*;
use proptest::prelude::*;
use seaway_session::*;
use seaway_units::{Ecn, Timestamp};

fn run() -> Run {
    Run::new(sender(Timestamp::ZERO, config("tfrc")), receiver(Timestamp::ZERO), ideal(ms(20)), ideal(ms(20)))
}

/// Both endpoints get the octets, where they can be read at all.
fn throw(run: &mut Run, octets: &[u8]) {
    if let Ok(message) = Message::decode(&Bytes::copy_from_slice(octets)) {
        throw_message(run, &message);
    }
}

fn throw_message(run: &mut Run, message: &Message) {
    run.receiver.handle_message(run.now, run.now, Ecn::NotEct, &mut message.clone());
    run.sender.handle_message(run.now, run.now, message);
    run.drain();
}

/// Messages as they crossed in two seconds, both ways.
fn captured() -> Vec<Message> {
    let mut run = run();
    let tap = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
    run.tap = Some(std::rc::Rc::clone(&tap));
    run.until(at(2_000));
    drop(run);
    std::rc::Rc::into_inner(tap).expect("the run is over").into_inner()
}

fn assert_goes_on(run: &mut Run) {
    let before = run.receiver.statistics().frames.displayed;
    let from = run.now;
    run.until(from + ms(2_000));
    let shown = run.receiver.statistics().frames.displayed - before;
    assert!(shown >= 45, "{shown} frames in 2 s: {:#?}", run.receiver.statistics());
}

#[test]
fn ten_thousand_packets_of_garbage_a_second() {
    let mut run = run();
    run.until(at(2_000));
    let mut random = Random::new(1);
    for index in 0..20_000u64 {
        run.until(at(2_000) + ms(0) + seaway_units::TimeDelta::from_micros(index as i64 * 100));
        let len = (random.draw() * 80.0) as usize;
        let mut octets: Vec<u8> = (0..len).map(|_| (random.draw() * 256.0) as u8).collect();
        if let Some(first) = octets.first_mut() {
            *first = 0x80 | *first & 0x3F;
        }
        if index % 2 == 0 && len > 1 {
            octets[1] = 200 + (random.draw() * 8.0) as u8;
        }
        throw(&mut run, &octets);
    }
    assert_goes_on(&mut run);
    let (sent, received) = (run.sender.statistics(), run.receiver.statistics());
    assert!(
        sent.refused.unknown_ssrc > 100 && received.refused.unknown_ssrc > 100,
        "{sent:#?} {received:#?}"
    );
    assert_eq!(received.frames.lost, 0);
}

#[test]
fn a_replay_of_everything_changes_nothing() {
    let messages = captured();
    assert!(messages.len() > 500);
    let mut run = run();
    run.until(at(2_000));
    for message in &messages {
        throw_message(&mut run, message);
    }
    assert_goes_on(&mut run);
    assert!(run.receiver.statistics().refused.duplicates > 400, "{:#?}", run.receiver.statistics());
    assert_eq!(run.receiver.statistics().frames.lost, 0);
}

#[test]
fn another_session_is_not_let_in_and_not_answered() {
    let messages = captured();
    let other = SenderConfig { session: 0x7777_0000, ..config("fixed") };
    let mut run =
        Run::new(sender(Timestamp::ZERO, other), receiver(Timestamp::ZERO), ideal(ms(20)), ideal(ms(20)));
    run.until(at(2_000));
    let unknown_ssrc = |run: &Run| run.receiver.statistics().refused.unknown_ssrc;
    let before = unknown_ssrc(&run);
    for message in &messages {
        throw_message(&mut run, message);
    }
    assert!(unknown_ssrc(&run) - before > 400, "{:#?}", run.receiver.statistics());
    let locked = run
        .receiver_events
        .iter()
        .filter(|(_, event)| matches!(event, ReceiverEvent::SessionStarted(_)))
        .count();
    assert_eq!(locked, 1);
    assert_goes_on(&mut run);
}

#[test]
fn far_numbers_do_no_harm() {
    let messages = captured();
    let mut run = run();
    run.until(at(2_000));
    for (index, message) in messages.iter().enumerate() {
        let Message::Rtp(packet) = message else { continue };
        let far = RtpPacket {
            sequence_number: packet
                .sequence_number
                .wrapping_add((index as u16).wrapping_mul(513).wrapping_add(7_000)),
            timestamp: packet.timestamp.wrapping_add(0x4000_0000),
            ..packet.clone()
        };
        throw_message(&mut run, &Message::Rtp(far));
    }
    assert_goes_on(&mut run);
}

#[test]
fn forged_reports_of_another_name_are_dropped() {
    let mut run = run();
    run.until(at(2_000));
    let before = run.sender.statistics();
    let nack = seaway_wire::rtcp::Nack {
        sender_ssrc: 0xBAD,
        media_ssrc: 0x5EA0_0000,
        entries: seaway_wire::List::from(
            &[seaway_wire::rtcp::NackEntry { packet_id: 0, bitmask: 0xFFFF }][..],
        ),
    };
    let mut octets = vec![0; nack.buffer_len()];
    nack.emit(&mut octets).unwrap();
    for _ in 0..100 {
        throw(&mut run, &octets);
    }
    let after = run.sender.statistics();
    assert_eq!(after.refused.unknown_ssrc - before.refused.unknown_ssrc, 100);
    assert_eq!((after.requested, after.repair.packets), (before.requested, before.repair.packets));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn repair_packets_of_any_content(octets in prop::collection::vec(any::<u8>(), 0..600)) {
        exercise::repair_packets(&octets);
    }

    #[test]
    fn damaged_messages_never_panic(seed in any::<u64>(), flips in 1usize..6) {
        let mut random = Random::new(seed);
        let mut run = run();
        let tap = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
        run.tap = Some(std::rc::Rc::clone(&tap));
        run.until(at(500));
        let messages = tap.take();
        run.tap = None;
        for message in &messages {
            let mut octets = Vec::new();
            message.encode(&mut octets);
            for _ in 0..flips {
                let place = (random.draw() * octets.len().min(64) as f64) as usize;
                octets[place] ^= 1 << (random.draw() * 8.0) as u8;
            }
            let keep = (random.draw() * 3.0 * octets.len() as f64) as usize;
            octets.truncate(keep.max(1));
            throw(&mut run, &octets);
        }
        run.until(at(3_000));
    }

    #[test]
    fn what_is_read_is_written_the_same(octets in prop::collection::vec(any::<u8>(), 0..120), rtp in any::<bool>()) {
        let mut octets = octets;
        if let [first, second, ..] = &mut octets[..] {
            *first = 0x80 | *first & 0x10;
            *second = if rtp { 96 } else { *second };
        }
        if octets.len() > 16 && rtp {
            octets[12..16].copy_from_slice(&[0x10, 0, 0, 4]);
        }
        exercise::message(&octets);
    }

    #[test]
    fn programmes_of_attacks(octets in prop::collection::vec(any::<u8>(), 0..600)) {
        exercise::endpoints(&octets);
    }

    #[test]
    fn attacks_on_the_window_transport(octets in prop::collection::vec(any::<u8>(), 0..2000)) {
        exercise::window(&octets);
    }
}

#[test]
fn what_a_first_round_trip_time_makes_overdue_is_done_at_once() {
    let mut programme = vec![0x3d, 0x11, 0xff, 0x73];
    programme.extend([0xcc; 25]);
    programme.extend([0x0d, 0x28, 0x11, 0x11]);
    exercise::endpoints(&programme);
    let programme = [
        0x25, 0x05, 0x25, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
        0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
        0x90, 0x90, 0x90, 0x90, 0x05, 0x05, 0x25, 0x05, 0x25, 0x05, 0x05, 0x05, 0x68, 0x1b, 0x07, 0x05, 0x05,
    ];
    exercise::endpoints(&programme);
}

/// Found by fuzzing: an element with the identifier of our transport-wide number in a packet that has no other of ours is of others. It
/// was read by our identifier, written in the form of others, and then not read again.
#[test]
fn a_transport_wide_number_alone_is_of_others() {
    let octets = [
        0x90, 0x25, 0xF8, 0xFF, 0xE2, 0x71, 0x71, 0xF1, 0x71, 1, 0, 0, 0x10, 0, 0, 1, 4, 2, 0x82, 0x82, 0,
        0x97, 0,
    ];
    exercise::message(&octets);
    let octets = Bytes::copy_from_slice(&octets);
    let number = |message: Result<Message, _>| match message {
        Ok(Message::Rtp(packet)) => packet.transport_sequence,
        other => panic!("{other:?}"),
    };
    assert_eq!(number(Message::decode(&octets)), None);
    assert_eq!(number(Message::decode_plain(&octets, Some(4))), Some(0x8282));
    assert_eq!(number(Message::decode_plain(&octets, Some(5))), None);
}
