//! What the protection of a packet costs, and a handshake.

#![allow(missing_docs, reason = "benchmarks have no readers of documentation")]

use divan::{Bencher, black_box};
use seaway_protect::handshake::{Answer, Caller, Initiator, Responder};
use seaway_protect::{MasterKey, Protection, SourceRange, SrtpKeys};
use seaway_session::SessionKey;
use seaway_units::Timestamp;

fn main() {
    divan::main();
}

fn protection() -> Protection {
    let key = MasterKey::new([1; 16], [2; 12]);
    let keys = SrtpKeys { send: key.clone(), receive: key };
    Protection::srtp(&keys, SourceRange { first: 0, count: 1 }).expect("a cipher")
}

/// An RTP packet of 1184 octets with a header extension.
fn packet(number: u16) -> Vec<u8> {
    let mut packet = vec![0; 1184];
    packet[..2].copy_from_slice(&[0x90, 96]);
    packet[2..4].copy_from_slice(&number.to_be_bytes());
    packet[12..16].copy_from_slice(&[0x10, 0x00, 0, 6]);
    packet
}

#[divan::bench]
fn seal(bencher: Bencher<'_, '_>) {
    let (mut protection, mut number) = (protection(), 0u16);
    let next = || {
        number = number.wrapping_add(1);
        packet(number)
    };
    bencher.with_inputs(next).bench_local_values(|mut datagram| {
        protection.seal(&mut datagram).expect("a packet");
        datagram
    });
}

#[divan::bench]
fn open(bencher: Bencher<'_, '_>) {
    let (mut near, mut far, mut number) = (protection(), protection(), 0u16);
    let next = || {
        number = number.wrapping_add(1);
        let mut datagram = packet(number);
        near.seal(&mut datagram).expect("a packet");
        datagram
    };
    bencher.with_inputs(next).bench_local_values(|datagram| far.open(&datagram).expect("authentic"));
}

/// A datagram of an attacker without the key.
#[divan::bench]
fn refuse(bencher: Bencher<'_, '_>) {
    let (mut protection, mut datagram) = (protection(), [packet(7), vec![0; 16]].concat());
    datagram[12..14].copy_from_slice(&[0xC2, 0xDE]);
    bencher.bench_local(|| protection.open(black_box(&datagram)).is_err());
}

/// The receiver's part of a handshake; it computes 200 a second at most.
#[divan::bench]
fn reply(bencher: Bencher<'_, '_>) {
    let (start, key) = (Timestamp::ZERO, SessionKey::new([3; 32]));
    let mut initiator = Initiator::new(start, Caller::Sender, &key, 1, [4; 32]).expect("a cipher");
    let hello = initiator.poll_datagram(start).expect("the first is due");
    let from = ([192, 0, 2, 7], 4000).into();
    let mut millis = 0;
    bencher.bench_local(|| {
        millis += 1;
        let now = Timestamp::from_nanos(millis * 10_000_000);
        let mut responder = Responder::new(now, Caller::Sender, key.clone(), 2, [5; 32]);
        assert!(matches!(responder.handle_datagram(now, from, &hello), Ok(Answer::Reply(_))));
    });
}
