//! Streams over a path: nothing is lost where there is time to repair it.

use crate::path::{Path, at};
use seaway_srt::{Direction, Disconnection, Event, KeyLength, Passphrase, Refusal, Settings};
use seaway_units::TimeDelta;

fn settings(direction: Direction, latency_ms: i64) -> Settings {
    Settings { latency: TimeDelta::from_millis(latency_ms), ..Settings::new(direction) }
}

fn secret(settings: Settings, text: &str) -> Settings {
    Settings { passphrase: Some(Passphrase::new(text).unwrap()), ..settings }
}

/// Payload `n`.
fn payload(n: u32) -> Vec<u8> {
    let mut payload = vec![0x47; 1316];
    payload[1..5].copy_from_slice(&n.to_be_bytes());
    payload
}

/// Sends a payload each second millisecond; returns the numbers that were delivered.
fn send(path: &mut Path, caller_sends: bool, count: u32) -> Vec<u32> {
    for n in 0..count {
        let end = if caller_sends { &mut path.caller } else { &mut path.listener };
        end.push(path.now, &payload(n)).unwrap();
        path.run(2);
    }
    path.run(1000);
    let number = |octets: &[u8]| u32::from_be_bytes(octets[1..5].try_into().unwrap());
    path.delivered.iter().map(|(_, delivery)| number(&delivery.payload)).collect()
}

#[test]
fn losses_are_repaired_within_the_latency() {
    for (caller_sends, length) in [
        (true, None),
        (false, None),
        (true, Some(KeyLength::Aes128)),
        (false, Some(KeyLength::Aes192)),
        (true, Some(KeyLength::Aes256)),
    ] {
        let directions = match caller_sends {
            true => [Direction::Send, Direction::Receive],
            false => [Direction::Receive, Direction::Send],
        };
        let [mut caller, mut listener] = directions.map(|direction| settings(direction, 120));
        listener.latency = TimeDelta::from_millis(400);
        if let Some(length) = length {
            caller =
                Settings { key_length: Some(length), key_packets: 1000, ..secret(caller, "a passphrase") };
            listener = Settings { key_packets: 1000, ..secret(listener, "a passphrase") };
        }
        let mut path = Path::new(caller, listener, 20);
        path.run(100);
        path.loss_percent = 5;
        let numbers = send(&mut path, caller_sends, 4000);
        assert_eq!(numbers, (0..4000).collect::<Vec<u32>>());
        // The larger latency counts: each payload is delivered at its distance, 400 ms behind the way of the handshake.
        let first = path.delivered[0].1.at;
        for ((now, delivery), n) in path.delivered.iter().zip(0_i64..) {
            assert_eq!(delivery.at, first + TimeDelta::from_millis(2 * n));
            assert!(now.since(delivery.at) <= TimeDelta::from_millis(1));
        }
        assert_eq!(first, at(1100 + 20 + 400));
        let [sent, received] = match caller_sends {
            true => [path.caller.statistics(), path.listener.statistics()],
            false => [path.listener.statistics(), path.caller.statistics()],
        };
        assert_eq!((sent.counts.packets, received.counts.packets, received.counts.dropped), (4000, 4000, 0));
        assert!((120..280).contains(&received.counts.lost), "{received:?}");
        assert!(sent.counts.retransmitted >= received.counts.lost, "{sent:?}");
        assert_eq!((received.counts.undecryptable, received.malformed, received.unrelated), (0, 0, 0));
        let rtt = received.rtt.unwrap();
        assert!((38..=52).contains(&rtt.as_millis()), "{rtt}");
        assert_eq!(received.latency, Some(TimeDelta::from_millis(400)));
    }
}

#[test]
fn what_can_not_be_repaired_in_time_is_dropped() {
    let mut path = Path::new(settings(Direction::Send, 120), settings(Direction::Receive, 120), 80);
    path.run(500);
    path.loss_percent = 5;
    let numbers = send(&mut path, true, 2000);
    assert!(numbers.is_sorted());
    let received = path.listener.statistics().counts;
    assert!((60..140).contains(&received.dropped), "{received:?}");
    assert_eq!(numbers.len() as u64 + received.dropped, 2000);
}

#[test]
fn a_passphrase_has_to_be_the_same() {
    for (there, expected) in [(Some("another passphrase"), Refusal::BAD_SECRET), (None, Refusal::UNSECURE)] {
        let caller = secret(settings(Direction::Send, 120), "a passphrase");
        let listener = settings(Direction::Receive, 120);
        let listener = there.map_or(listener.clone(), |text| secret(listener, text));
        let mut path = Path::new(caller, listener, 10);
        path.run(2000);
        assert_eq!(path.events[0], [Event::Refused(expected)]);
        assert!(matches!(path.events[1][..], [Event::CallerRefused { refusal, .. }] if refusal == expected));
        assert_eq!(path.caller.poll_timeout(), None);
        assert!(path.delivered.is_empty());
    }
}

#[test]
fn a_caller_asks_for_a_stream() {
    let caller = settings(Direction::Receive, 120).with_stream_id("#!::r=news").unwrap();
    let mut path = Path::new(caller, settings(Direction::Send, 120), 10);
    path.run(200);
    let Event::Connected { stream_id, is_encrypted, .. } = &path.events[1][0] else { panic!() };
    assert_eq!((stream_id.as_deref(), is_encrypted), (Some("#!::r=news"), &false));
}

#[test]
fn a_connection_is_made_again() {
    let mut path = Path::new(settings(Direction::Send, 120), settings(Direction::Receive, 120), 10);
    path.run(500);
    // A cut of six seconds: both ends notice after five.
    path.loss_percent = 100;
    path.run(6000);
    path.loss_percent = 0;
    path.run(3000);
    let over = |event: &Event| matches!(event, Event::Disconnected { cause: Disconnection::Silence, .. });
    let made = |event: &Event| matches!(event, Event::Connected { .. });
    for events in &path.events {
        assert!(made(&events[0]) && over(&events[1]), "{events:?}");
        assert!(made(events.last().unwrap()), "{events:?}");
    }
    assert_eq!(send(&mut path, true, 100).len(), 100);
    // A goodbye is noticed at once, what has come before is still delivered, and the caller calls again.
    path.caller.push(path.now, &payload(7)).unwrap();
    path.listener.close(path.now);
    path.run(100);
    assert!(matches!(
        path.events[0].last().unwrap(),
        Event::Disconnected { cause: Disconnection::Shutdown, .. }
    ));
    let before = path.events[0].len();
    path.run(5000);
    assert!(path.events[0][before..].contains(&Event::Unanswered));
}

/// A listener drops a caller whose stream it cannot use, and takes the next one.
#[test]
fn a_listener_closes_a_connection_and_takes_the_next_caller() {
    let mut path = Path::new(settings(Direction::Send, 120), settings(Direction::Receive, 120), 10);
    path.run(500);
    path.caller.push(path.now, &payload(7)).unwrap();
    path.run(50);
    path.listener.disconnect(path.now);
    path.run(100);
    let last = |events: &[Event]| events.last().cloned().unwrap();
    assert!(matches!(last(&path.events[1]), Event::Disconnected { cause: Disconnection::Closed, .. }));
    assert!(matches!(last(&path.events[0]), Event::Disconnected { cause: Disconnection::Shutdown, .. }));
    assert!(path.delivered.is_empty(), "what waited is dropped");
    // The same caller calls again after a second.
    path.run(2000);
    assert_eq!(path.listener.statistics().connections, 2);
    assert_eq!(send(&mut path, true, 50).len(), 50);
    path.caller.disconnect(path.now);
    path.run(2000);
    assert_eq!(path.caller.statistics().connections, 3);
}

/// A caller that was killed and started again has another socket: it is taken when the old one has been silent for 1.5 s.
#[test]
fn a_caller_that_starts_again_is_taken() {
    let mut path = Path::new(settings(Direction::Send, 120), settings(Direction::Receive, 120), 10);
    path.run(500);
    // Another seed gives another socket.
    let address = crate::path::listener_address();
    path.caller = seaway_srt::Endpoint::caller(path.now, settings(Direction::Send, 120), &[9; 32], address);
    path.run(900);
    assert_eq!(path.listener.statistics().connections, 1);
    path.run(1000);
    assert_eq!(path.listener.statistics().connections, 2);
    assert_eq!(send(&mut path, true, 50).len(), 50);
}
