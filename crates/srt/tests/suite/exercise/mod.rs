//! What the fuzz target and the tests do with octets: they become packets to both ends of a connection.

use seaway_srt::{Direction, Endpoint, HEADER_LEN, Packet, Passphrase, Settings};
use seaway_units::{TimeDelta, Timestamp};
use std::net::SocketAddr;

/// Each record has a kind, a length, a wait and a body: it reaches one end of a connection that is made, and two ends that have none.
pub(crate) fn endpoints(octets: &[u8]) {
    let _ = Packet::parse(octets);
    let (here, there): (SocketAddr, SocketAddr) = (([192, 0, 2, 1], 1).into(), ([192, 0, 2, 2], 2).into());
    let is_secret = octets.first().is_some_and(|octet| octet & 16 != 0);
    let settings = |direction| Settings {
        passphrase: is_secret.then(|| Passphrase::new("passphrase").expect("ten octets")),
        key_packets: 64,
        ..Settings::new(direction)
    };
    let mut now = Timestamp::ZERO;
    let mut caller = Endpoint::caller(now, settings(Direction::Send), &[1; 32], there);
    let mut listener = Endpoint::listener(now, settings(Direction::Receive), &[2; 32]);
    let mut alone = Endpoint::listener(now, settings(Direction::Send), &[3; 32]);
    // The sockets of both: what the first packets after the handshake are addressed to.
    let mut sockets = [0_u32; 2];
    let mut rest = octets;
    for round in 0.. {
        for _ in 0..4 {
            while let Some(transmit) = caller.poll_datagram() {
                note_socket(&mut sockets[1], &transmit.datagram);
                listener.on_datagram(now, here, &transmit.datagram);
            }
            while let Some(transmit) = listener.poll_datagram() {
                note_socket(&mut sockets[0], &transmit.datagram);
                caller.on_datagram(now, there, &transmit.datagram);
            }
        }
        let [kind, len, wait_high, wait_low, tail @ ..] = rest else { break };
        let (body, tail) = tail.split_at(usize::from(*len).min(tail.len()));
        rest = tail;
        let _ = caller.push(now, &[0x47; 188]);
        let to_caller = kind & 32 != 0;
        let packet = packet(*kind, body, sockets[usize::from(!to_caller)]);
        if to_caller {
            caller.on_datagram(now, there, &packet);
        } else {
            listener.on_datagram(now, here, &packet);
        }
        alone.on_datagram(now, here, &packet);
        now += TimeDelta::from_millis(i64::from(u16::from_be_bytes([*wait_high, *wait_low])) % 3000);
        for end in [&mut caller, &mut listener, &mut alone] {
            end.handle_timeout(now);
            while end.poll_delivery(now).is_some() {}
            while end.poll_event().is_some() {}
        }
        while alone.poll_datagram().is_some() {}
        assert!(round < 1 << 20);
    }
}

fn note_socket(socket: &mut u32, datagram: &[u8]) {
    if let Some(octets) = datagram.get(12..HEADER_LEN) {
        let destination = u32::from_be_bytes([octets[0], octets[1], octets[2], octets[3]]);
        if destination != 0 {
            *socket = destination;
        }
    }
}

/// A packet of one of the types, with a body of these octets, for this socket.
fn packet(kind: u8, body: &[u8], destination: u32) -> Vec<u8> {
    let (head, body) = body.split_at(8.min(body.len()));
    let mut first = [0; 8];
    first[..head.len()].copy_from_slice(head);
    match kind % 12 {
        // As it comes.
        11 => {}
        10 => first[0] &= 0x7f,
        9 => first[..4].copy_from_slice(&[0xff, 0xff, 0, 3 + (kind >> 7)]),
        control => {
            first[..2].copy_from_slice(&[0x80, control]);
        }
    }
    if kind % 12 == 10 {
        first[4] |= 0xc0;
    }
    [&first[..], &[0; 4], &destination.to_be_bytes(), body].concat()
}
