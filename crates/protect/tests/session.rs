//! Keyed sessions over a path that loses, repeats, reorders and is watched.

mod exercise;

use exercise::*;
use proptest::prelude::*;
use seaway_protect::Error;
use seaway_protect::channel::{Received, SenderChannel};
use seaway_protect::handshake::HELLO_LEN;
use seaway_units::{TimeDelta, Timestamp};

fn ms(millis: i64) -> TimeDelta {
    TimeDelta::from_millis(millis)
}

fn at(millis: u64) -> Timestamp {
    Timestamp::from_nanos(millis * 1_000_000)
}

#[test]
fn media_follows_one_round_trip_after_the_hello() {
    let mut ends = Ends::new(1);
    ends.run(200, |_| true);
    // A path of 20 ms: hello 20, reply 40, proof and media 60, and the first step is at 1 ms.
    assert_eq!(ends.came[0], (at(61), 0));
    assert!(ends.came.iter().map(|(_, number)| *number).eq(0..ends.came.len() as u32), "none is lost");
    assert_eq!(ends.handshakes, 2, "a hello and a proof");
}

#[test]
fn another_key_opens_nothing_and_both_ends_learn_it() {
    let mut ends = Ends::new(2);
    let mut refusals = 0;
    for _ in 0..3000 {
        ends.now += TimeDelta::from_millis(1);
        ends.send();
        for datagram in std::mem::take(&mut ends.launched) {
            if datagram.to == ends.sender_at {
                let answer = ends.sender.handle_datagram(ends.now, datagram.from, &datagram.octets);
                refusals += u32::from(answer == Err(Error::OtherKey));
            } else {
                let refused = ends.receiver.handle_datagram(ends.now, datagram.from, &datagram.octets);
                assert_eq!(refused, Err(Error::OtherKey));
                let mut answer = Vec::new();
                let to = ends.receiver.poll_datagram(ends.now, &mut answer).unwrap();
                assert!(answer.len() < datagram.octets.len());
                let (at, from) = (ends.now, ends.receiver_at);
                ends.launched.push(Flying { at, from, to, octets: answer });
            }
        }
    }
    assert!(refusals > 0 && !ends.sender.is_ready(ends.now) && !ends.sender.was_ready());
    assert_eq!(ends.receiver.peer(), None);
}

#[test]
fn a_recorded_session_gives_no_access() {
    let mut ends = Ends::new(1);
    ends.run(500, |_| true);
    ends.now += DELAY;
    ends.deliver();
    let (record, count) = (ends.record.clone(), ends.came.len());
    assert!(record.len() > 400);
    // Beside the session, from the sender's own address and from another.
    for from in [ends.sender_at, address(666)] {
        record.iter().for_each(|octets| ends.arrive(from, octets));
    }
    assert_eq!(ends.came.len(), count);
    assert_eq!(ends.receiver.peer(), Some(ends.sender_at));
    // After it, when another sender has come and gone.
    ends.restart_sender(1001, SESSION + 1024, 33);
    ends.run(300, |_| true);
    ends.now += DELAY;
    ends.deliver();
    let count = ends.came.len();
    for from in [address(1000), address(666)] {
        record.iter().for_each(|octets| ends.arrive(from, octets));
    }
    assert_eq!(ends.came.len(), count);
    assert_eq!(ends.receiver.peer(), Some(address(1001)));
    // And to a receiver that was started again with the same key.
    ends.receiver = receiver(ends.now, 1, 44);
    record.iter().for_each(|octets| ends.arrive(address(1000), octets));
    assert_eq!((ends.came.len(), ends.receiver.peer()), (count, None));
}

#[test]
fn a_restarted_sender_replaces_the_old_one_by_its_proof() {
    let mut ends = Ends::new(1);
    ends.run(300, |_| true);
    let mut old = ends.restart_sender(1001, SESSION + 1024, 33);
    let (begin, before) = (ends.now, ends.came.len());
    let mut seen = None;
    ends.run(200, |datagram| {
        if datagram.to == address(1000)
            && let Err(error) = old.handle_datagram(datagram.at, datagram.from, &datagram.octets)
        {
            seen = Some(error);
        }
        true
    });
    assert_eq!(seen, Some(Error::Replaced));
    assert!(!old.is_ready(ends.now) && old.poll_timeout().is_none());
    assert!(old.seal(&mut vec![0x80; 12]).is_err());
    let (first, _) = ends.came[before..].iter().find(|(at, _)| at.since(begin) > DELAY).unwrap();
    assert_eq!(*first, begin + DELAY * 3 + TimeDelta::from_millis(1));
}

#[test]
fn a_restarted_receiver_is_found_again() {
    let mut ends = Ends::new(1);
    ends.run(300, |_| true);
    ends.receiver = receiver(ends.now, 1, 44);
    let (begin, before) = (ends.now, ends.came.len());
    ends.run(2000, |_| true);
    let (first, _) = ends.came[before];
    assert!(first.since(begin) < TimeDelta::from_millis(1200), "{first}");
}

#[test]
fn a_sender_that_moves_needs_no_handshake() {
    let mut ends = Ends::new(1);
    ends.run(300, |_| true);
    let before = ends.handshakes;
    ends.sender_at = address(2000);
    ends.run(300, |_| true);
    assert_eq!(ends.handshakes, before);
    assert_eq!(ends.receiver.peer(), Some(address(2000)));
    assert_eq!(ends.came.len(), ends.came.last().unwrap().1 as usize + 1, "no packet is lost");
}

#[test]
fn a_receiver_that_moves_is_followed_once_it_answers_there() {
    let mut ends = Ends::new(1);
    ends.run(300, |_| true);
    ends.receiver_at = address(6000);
    // Its next report comes from there.
    let mut report = vec![0x80, 201, 0, 1];
    report.extend(SOURCE.to_be_bytes());
    let to = ends.receiver.seal(&mut report).unwrap();
    let (at, from) = (ends.now, ends.receiver_at);
    ends.flying.push(Flying { at, from, to, octets: report });
    let before = ends.came.len();
    ends.run(300, |_| true);
    assert_eq!(ends.sender.peer(), Some(address(6000)));
    assert!(ends.came.len() > before + 200);
}

/// It moved, perhaps by an attacker's doing, and does not answer there any more.
#[test]
fn a_receiver_that_is_lost_where_it_moved_is_found_at_home() {
    let mut ends = Ends::new(1);
    ends.run(300, |_| true);
    let home = std::mem::replace(&mut ends.receiver_at, address(6000));
    let mut report = vec![0x80, 201, 0, 1];
    report.extend(SOURCE.to_be_bytes());
    let to = ends.receiver.seal(&mut report).unwrap();
    let (at, from) = (ends.now, ends.receiver_at);
    ends.flying.push(Flying { at, from, to, octets: report });
    ends.run(300, |_| true);
    assert_eq!(ends.sender.peer(), Some(address(6000)));
    ends.receiver_at = home;
    let begin = ends.now;
    ends.run(10_000, |_| true);
    assert_eq!(ends.sender.peer(), Some(home));
    let (back, _) = ends.came.iter().find(|(at, _)| *at > begin + DELAY).unwrap();
    // A second of silence, 3 s for an answer, a round trip.
    assert!(back.since(begin) < TimeDelta::from_millis(4200), "{back}");
}

#[test]
fn a_forwarded_report_does_not_turn_media_on_a_victim() {
    let mut ends = Ends::new(1);
    let victim = address(80);
    let mut to_victim = 0;
    ends.run(5000, |datagram| {
        // An attacker on the path sends each report on as if it came from the victim, before the true one arrives.
        if datagram.from == address(5004) {
            datagram.from = victim;
        }
        true
    });
    let receiver_at = ends.receiver_at;
    ends.run(5000, |datagram| {
        to_victim += if datagram.to == victim { datagram.octets.len() } else { 0 };
        assert!(datagram.to != victim || datagram.octets.len() == HELLO_LEN);
        if datagram.from == receiver_at {
            datagram.from = victim;
        }
        true
    });
    assert!(to_victim < 5000 * 24, "{to_victim} octets for 24 octets of each report");
    assert_eq!(ends.sender.peer(), Some(ends.receiver_at));
}

/// An attacker on the path copies what the sender sends, and its copies arrive first, from its own address.
#[test]
fn who_is_faster_than_the_path_does_not_take_the_reports_away() {
    let mut ends = Ends::new(1);
    ends.run(300, |_| true);
    let (receiver_at, handshakes) = (ends.receiver_at, ends.handshakes);
    let mut reports = 0;
    for _ in 0..10_000 {
        let mut copies = Vec::new();
        ends.run(1, |datagram| {
            if datagram.to == receiver_at {
                copies.push(Flying { at: datagram.at - ms(5), from: address(666), ..datagram.clone() });
            }
            reports += u32::from(datagram.to == address(1000));
            true
        });
        ends.flying.append(&mut copies);
    }
    assert_eq!(ends.receiver.peer(), Some(address(666)));
    assert!(reports > 9_900, "{reports} of 10 000");
    assert_eq!((ends.handshakes, ends.receiver.former_peer(ends.now)), (handshakes, Some(address(1000))));
    ends.check_unique();
    // When the attacker has gone, so has its address.
    ends.run(4_000, |_| true);
    assert_eq!((ends.receiver.peer(), ends.receiver.former_peer(ends.now)), (Some(address(1000)), None));
}

#[test]
fn a_lost_rollover_is_healed() {
    let mut ends = Ends::new(1);
    ends.run(300, |_| true);
    // More packets are lost than half the sequence numbers, as in an outage of a minute.
    ends.run(100, |_| false);
    for _ in 0..40_000 {
        ends.send();
        ends.launched.clear();
    }
    let begin = ends.now;
    ends.run(3000, |_| true);
    let (back, _) = ends.came.iter().find(|(at, _)| *at > begin).unwrap();
    assert!(back.since(begin) < TimeDelta::from_millis(1500), "{back}");
}

#[test]
fn consent_to_send_expires() {
    let mut ends = Ends::new(1);
    ends.run(300, |_| true);
    let mut media = 0;
    ends.run(60_000, |datagram| {
        media += u32::from(datagram.octets[0] == 0x90);
        false
    });
    assert!((14_500..15_500).contains(&media), "{media} packets in 60 s of silence");
    ends.run(2000, |_| true);
    assert!(ends.sender.is_ready(ends.now), "the path is back");
}

#[test]
fn who_plays_a_hello_again_gains_little() {
    let mut ends = Ends::new(1);
    ends.send();
    let hello = ends.record[0].clone();
    let mut answers = 0;
    for port in 0..20_000u16 {
        // 20 000 a second.
        ends.now += TimeDelta::from_micros(50);
        let _ = ends.receiver.handle_datagram(ends.now, address(port), &hello);
        answers += u32::from(ends.receiver.poll_datagram(ends.now, &mut Vec::new()).is_some());
    }
    assert!((6..=10).contains(&answers), "{answers} handshakes in a second");
    assert_eq!(ends.receiver.peer(), None);
}

#[test]
fn who_plays_a_hello_again_keeps_no_other_out() {
    let mut ends = Ends::new(1);
    ends.run(500, |_| true);
    let hello = ends.record.iter().find(|octets| octets.len() == HELLO_LEN).expect("the first").clone();
    ends.restart_sender(2000, SESSION + 1024, 33);
    let (came, begin) = (ends.came.len(), ends.now);
    for port in 0..1000u16 {
        for _ in 0..10 {
            ends.arrive(address(10_000 + port), &hello);
        }
        ends.run(1, |_| true);
    }
    let first = ends.came[came..].iter().map(|(at, _)| *at).find(|at| *at > begin + DELAY + DELAY);
    assert!(first.is_some_and(|at| at < begin + ms(100)), "{first:?}");
}

#[test]
fn nothing_secret_is_printed() {
    let mut ends = Ends::new(1);
    ends.run(100, |_| true);
    let text = format!("{:?} {:?}", ends.sender, ends.receiver);
    assert!(text.contains("secret") && !text.contains("[1, 1"), "{text}");
    assert!(!text.contains("11, 11, 11"), "{text}");
}

#[test]
fn without_a_key_only_the_peer_is_accepted() {
    let mut channel = SenderChannel::plain(address(1));
    assert!(channel.is_ready(at(0)) && channel.poll_timeout().is_none());
    assert_eq!(channel.handle_datagram(at(0), address(2), b"x"), Err(Error::UnknownSource));
    assert_eq!(channel.handle_datagram(at(0), address(1), b"x"), Ok(Received::Packet(b"x"[..].into())));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_session_begins_on_a_path_that_loses_a_third_and_repeats(seed in any::<u64>()) {
        let mut ends = Ends::new(1);
        let mut state = seed | 1;
        let mut random = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        ends.run(20_000, |datagram| {
            datagram.at += TimeDelta::from_millis((random() % 40) as i64);
            !random().is_multiple_of(3)
        });
        let copies: Vec<_> = ends.record.iter().step_by(3).cloned().collect();
        copies.iter().for_each(|octets| ends.arrive(address(1000), octets));
        ends.check_unique();
        prop_assert!(ends.came.len() > 5_000, "{} packets of some 20 000 came", ends.came.len());
    }

    #[test]
    fn attacks_change_nothing(programme in proptest::collection::vec(any::<u8>(), 0..400)) {
        channels(&programme);
    }
}
