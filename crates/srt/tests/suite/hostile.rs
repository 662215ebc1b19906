//! Packets of others, and packets that are wrong.

use crate::exercise;
use crate::path::{Dice, Path, caller_address, listener_address};
use proptest::prelude::*;
use seaway_srt::{
    Content, Control, Data, Direction, Endpoint, Event, HEADER_LEN, Handshake, KeyFlag, Packet, Passphrase,
    Refusal, Sequence, Settings, Step,
};
use seaway_units::TimeDelta;
use std::net::SocketAddr;

fn path(passphrase: Option<&str>) -> Path {
    let with = |direction| Settings {
        latency: TimeDelta::from_millis(400),
        passphrase: passphrase.map(|text| Passphrase::new(text).unwrap()),
        ..Settings::new(direction)
    };
    Path::new(with(Direction::Send), with(Direction::Receive), 20)
}

fn address(n: u64) -> SocketAddr {
    ([198, 51, (n >> 8) as u8, n as u8], 1024 + (n % 50_000) as u16).into()
}

fn handshake(step: Step) -> Handshake {
    Handshake {
        version: 5,
        encryption: 0,
        extension_field: 1,
        initial_sequence: Sequence::new(5),
        mtu: 1500,
        window: 8192,
        step,
        socket: 77,
        cookie: 0,
        peer: [0; 16],
        session: None,
        keys: None,
        stream_id: None,
    }
}

fn datagram(handshake: &Handshake) -> Vec<u8> {
    let body = handshake.emit(false);
    Packet::Control(Control { timestamp: 0, destination: 0, content: Content::Handshake(&body) }).emit()
}

/// A source that floods the listener with every kind of packet, from many addresses, changes nothing for the stream.
#[test]
fn a_flood_of_others_does_not_disturb_the_stream() {
    let mut path = path(Some("a passphrase"));
    path.run(200);
    path.loss_percent = 2;
    let mut dice = Dice(77);
    for n in 0..3000_u32 {
        path.caller.push(path.now, &[0x47; 1316]).unwrap();
        for _ in 0..20 {
            let kind = dice.next();
            let junk = match kind % 5 {
                0 => datagram(&handshake(Step::Induction)),
                1 => datagram(&Handshake { cookie: kind as u32, ..handshake(Step::Conclusion) }),
                2 => data(kind as u32, (kind >> 32) as u32),
                3 => control(Content::Shutdown, (kind >> 32) as u32),
                _ => (0..kind % 200).map(|_| dice.next() as u8).collect(),
            };
            path.listener.on_datagram(path.now, address(dice.next() % 65_536), &junk);
        }
        path.run(2);
        assert!(n < 100 || path.listener.statistics().is_connected);
    }
    path.run(1000);
    let statistics = path.listener.statistics();
    assert_eq!((statistics.connections, statistics.counts.packets, statistics.counts.dropped), (1, 3000, 0));
    assert!(statistics.unrelated > 20_000 && statistics.malformed > 5_000, "{statistics:?}");
}

/// A second caller waits, is refused after two seconds, and calls again; the first one does not notice.
#[test]
fn a_second_caller_is_refused() {
    let mut path = path(None);
    path.run(200);
    let settings = Settings::new(Direction::Send);
    let mut second = Endpoint::caller(path.now, settings, &[4; 32], listener_address());
    let mut refused_at = Vec::new();
    let begin = path.now;
    for _ in 0..3000 {
        path.caller.push(path.now, &[0x47; 1316]).unwrap();
        while let Some(transmit) = second.poll_datagram() {
            path.listener.on_datagram(path.now, address(1), &transmit.datagram);
        }
        path.run(2);
        for answer in std::mem::take(&mut path.elsewhere) {
            second.on_datagram(path.now, listener_address(), &answer);
        }
        second.handle_timeout(path.now);
        while let Some(event) = second.poll_event() {
            assert_eq!(event, Event::Refused(Refusal::BACKLOG));
            refused_at.push(path.now.since(begin).as_millis());
        }
    }
    // At the next repetition behind two seconds; then after a second it calls again.
    assert!(matches!(refused_at[..], [2000..2300, 5000..5600]), "{refused_at:?}");
    path.run(1000);
    let statistics = path.listener.statistics();
    assert_eq!((statistics.connections, statistics.counts.packets, statistics.counts.dropped), (1, 3000, 0));
}

fn data(sequence: u32, destination: u32) -> Vec<u8> {
    let sequence = Sequence::new(sequence);
    let (key, retransmitted, message, timestamp) = (KeyFlag::Plain, false, 1, 0);
    Packet::Data(Data {
        sequence,
        key,
        retransmitted,
        message,
        timestamp,
        destination,
        payload: &[0x47; 188],
    })
    .emit()
}

fn control(content: Content<'_>, destination: u32) -> Vec<u8> {
    Packet::Control(Control { timestamp: 0, destination, content }).emit()
}

#[test]
fn a_listener_answers_no_more_than_it_gets_and_keeps_nothing() {
    let mut listener = Endpoint::listener(crate::path::at(0), Settings::new(Direction::Receive), &[1; 32]);
    let now = crate::path::at(10);
    for n in 0..10_000 {
        for request in [
            datagram(&handshake(Step::Induction)),
            datagram(&Handshake { stream_id: Some("x".repeat(500)), ..handshake(Step::Induction) }),
            datagram(&handshake(Step::Conclusion)),
            datagram(&Handshake { cookie: n as u32, ..handshake(Step::Conclusion) }),
        ] {
            listener.on_datagram(now, address(n), &request);
            let answers: Vec<_> = std::iter::from_fn(|| listener.poll_datagram()).collect();
            assert!(answers.len() <= 1);
            assert!(answers.iter().all(|answer| answer.datagram.len() <= request.len()));
        }
    }
    assert_eq!((listener.statistics().connections, listener.statistics().refused), (0, 0));
    assert_eq!((listener.poll_timeout(), listener.poll_event()), (None, None));
}

/// The cookie of another address is none.
#[test]
fn a_cookie_is_of_an_address_and_does_not_last() {
    let mut listener = Endpoint::listener(crate::path::at(0), Settings::new(Direction::Receive), &[1; 32]);
    listener.on_datagram(crate::path::at(0), address(1), &datagram(&handshake(Step::Induction)));
    let answer = listener.poll_datagram().unwrap().datagram;
    let cookie = Handshake::parse(&answer[HEADER_LEN..]).unwrap().cookie;
    let conclusion = datagram(&Handshake { cookie, ..handshake(Step::Conclusion) });
    for (ms, from, is_answered) in [(0, 2, false), (0, 1, true), (119_000, 1, true), (121_000, 1, false)] {
        listener.on_datagram(crate::path::at(ms), address(from), &conclusion);
        // It is refused, as it has no session extension; without the cookie there is no answer.
        assert_eq!(listener.poll_datagram().is_some(), is_answered, "{ms} {from}");
    }
}

/// Packets of the connection with any octet changed: neither end panics, and the buffers stay bounded.
#[test]
fn changed_packets_are_survived() {
    for seed in 1..=8 {
        let mut dice = Dice(seed * 0x9e37_79b9);
        let mut path = path((seed % 2 == 0).then_some("a passphrase"));
        for _ in 0..2000 {
            let _ = path.caller.push(path.now, &[0x47; 1316]);
            let ends = [(&mut path.caller, caller_address()), (&mut path.listener, listener_address())];
            let mut flying: Vec<(usize, SocketAddr, Vec<u8>)> = Vec::new();
            for (index, (end, from)) in ends.into_iter().enumerate() {
                while let Some(transmit) = end.poll_datagram() {
                    let mut changed = transmit.datagram.clone();
                    for _ in 0..dice.next() % 3 {
                        let at = dice.next() as usize % changed.len();
                        // The destination stays, so that the packet reaches the connection.
                        if !(12..16).contains(&at) {
                            changed[at] ^= 1 << (dice.next() % 8);
                        }
                    }
                    changed.truncate(changed.len() - (dice.next() % 40 / 39) as usize);
                    flying.push((1 - index, from, changed));
                    flying.push((1 - index, from, transmit.datagram));
                }
            }
            path.now += TimeDelta::from_millis(3);
            let now = path.now;
            for (to, from, packet) in flying {
                let end = if to == 0 { &mut path.caller } else { &mut path.listener };
                end.on_datagram(now, from, &packet);
            }
            for end in [&mut path.caller, &mut path.listener] {
                end.handle_timeout(now);
                while end.poll_delivery(now).is_some() {}
                while end.poll_event().is_some() {}
            }
        }
    }
}

proptest! {
    #[test]
    fn any_octets_reach_any_state(octets: Vec<u8>) {
        exercise::endpoints(&octets);
    }

    #[test]
    fn any_packet_reaches_a_connection(
        packets in prop::collection::vec((0..12_u8, any::<[u8; 24]>(), any::<u16>()), 1..60)
    ) {
        let octets: Vec<u8> = packets
            .into_iter()
            .flat_map(|(kind, body, wait)| [&[kind, 24][..], &wait.to_be_bytes(), &body].concat())
            .collect();
        exercise::endpoints(&octets);
    }
}
