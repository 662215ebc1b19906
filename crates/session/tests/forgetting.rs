//! What was odd or hostile is forgotten by both endpoints: a minute later rate, delay and pictures are as if it had
//! never been. The controllers' own battery is in `seaway_testkit`.

mod common;

use bytes::Bytes;
use common::*;
use seaway_session::*;
use seaway_units::{Bitrate, DataSize, Ecn, TimeDelta, Timestamp};
use seaway_wire::List;
use seaway_wire::rtcp::Remb;

/// 200 ms at 4 Mbit/s.
const QUEUE: DataSize = DataSize::from_bytes(100_000);
/// When the disturbance comes, and what is compared.
const DISTURBED: u64 = 20_000;
const COMPARED: std::ops::Range<u64> = 80_000..110_000;

/// Controllers that are left out, and why.
const KEPT: &[(&str, &str)] = &[
    ("buffer-type1", "it answers the level of a client's buffer, which this receiver has not"),
    ("buffer-type2", "as buffer-type1"),
];

/// Packet type of a sender report (RFC 3550 section 12.1).
const SENDER_REPORT: u8 = 200;

/// What the viewer got.
#[derive(Debug)]
struct Outcome {
    shown: f64,
    /// Mean, ms.
    delay: f64,
    /// Mean, bit/s.
    rate: f64,
}

impl Outcome {
    fn assert_same(&self, undisturbed: &Self, what: &str) {
        let near = |one: f64, other: f64| (one - other).abs() <= 0.05 * other;
        let pairs =
            [(self.shown, undisturbed.shown), (self.delay, undisturbed.delay), (self.rate, undisturbed.rate)];
        assert!(pairs.iter().all(|(one, other)| near(*one, *other)), "{what}: {self:?}, not {undisturbed:?}");
    }
}

/// 4 Mbit/s, and so much later by `more` from the disturbance on.
fn there(more: TimeDelta) -> Path {
    let mut path = squeeze(ms(20), &[(0, 4000)], QUEUE);
    Box::new(move |now, size| {
        path(now, size).map(|arrival| if now >= at(DISTURBED) { arrival + more } else { arrival })
    })
}

fn run(control: &str, there: Path) -> Run {
    let mut run =
        Run::new(sender(Timestamp::ZERO, config(control)), receiver(Timestamp::ZERO), there, ideal(ms(20)));
    run.tap = Some(std::rc::Rc::default());
    run.until(at(DISTURBED));
    run
}

fn outcome(mut run: Run) -> Outcome {
    run.tap = None;
    run.until(at(COMPARED.start));
    let before = run.sender.statistics().sent.size;
    run.until(at(COMPARED.end));
    let span = at(COMPARED.end) - at(COMPARED.start);
    let rate = (run.sender.statistics().sent.size - before).over(span).unwrap_or(Bitrate::ZERO);
    let shown = run.frames.iter().zip(run.delays()).filter(|((shown, _), _)| *shown > at(COMPARED.start));
    let delays: Vec<f64> = shown.map(|(_, delay)| delay.as_millis_f64()).collect();
    let delay = delays.iter().sum::<f64>() / delays.len().max(1) as f64;
    Outcome { shown: delays.len() as f64, delay, rate: rate.as_bps_f64() }
}

/// The last media packet that left.
fn last_packet(run: &Run) -> RtpPacket {
    let crossed = run.tap.as_ref().expect("every message is kept").borrow();
    let media = crossed.iter().rev().find_map(|message| match message {
        Message::Rtp(packet) if packet.payload_type == payload_type::OPAQUE => Some(packet.clone()),
        _ => None,
    });
    media.expect("media crossed")
}

/// The last datagram that begins with a sender report.
fn last_sender_report(run: &Run) -> Vec<u8> {
    let crossed = run.tap.as_ref().expect("every message is kept").borrow();
    let report = crossed.iter().rev().find_map(|message| match message {
        Message::Rtcp(octets) if octets.get(1) == Some(&SENDER_REPORT) => Some(octets.to_vec()),
        _ => None,
    });
    report.expect("a sender report crossed")
}

fn to_receiver(run: &mut Run, mut message: Message) {
    run.receiver.handle_message(run.now, run.now, Ecn::NotEct, &mut message);
    run.drain();
}

/// Frame, packet and place are so far ahead.
fn far_frame(run: &mut Run) {
    let mut packet = last_packet(run);
    packet.sequence_number = packet.sequence_number.wrapping_add(1500);
    if let Some(marking) = &mut packet.marking {
        marking.frame = marking.frame.wrapping_add(1500) & 0xFFF;
        marking.sequence_number = marking.sequence_number.wrapping_add(1500);
    }
    to_receiver(run, Message::Rtp(packet));
}

/// A packet of an hour ahead, or before.
fn far_time(run: &mut Run, hours: i32) {
    let mut packet = last_packet(run);
    packet.sequence_number = packet.sequence_number.wrapping_add(1);
    packet.timestamp = packet.timestamp.wrapping_add_signed(hours * 3600 * 90_000);
    if let Some(control) = &mut packet.control {
        control.sent = seaway_wire::MicrosClock::from_bits(control.sent.bits().wrapping_add(1_800_000_000));
    }
    to_receiver(run, Message::Rtp(packet));
}

/// A sender report by a clock that is an hour ahead.
fn other_clock(run: &mut Run) {
    let mut octets = last_sender_report(run);
    let seconds = u32::from_be_bytes(octets[8..12].try_into().expect("four octets")) + 3600;
    octets[8..12].copy_from_slice(&seconds.to_be_bytes());
    to_receiver(run, Message::Rtcp(Bytes::from(octets)));
}

/// The receiver requests one bit a second.
fn limit(run: &mut Run) {
    let ssrcs = [last_packet(run).ssrc];
    let remb =
        Remb { sender_ssrc: 0xACE, bitrate: Bitrate::from_bps(1), media_ssrcs: List::from(&ssrcs[..]) };
    let mut octets = vec![0; remb.buffer_len()];
    remb.emit(&mut octets).expect("it fits");
    run.sender.handle_message(run.now, run.now, &Message::Rtcp(Bytes::from(octets)));
    run.drain();
}

type Disturb<'a> = &'a dyn Fn(&mut Run);

fn assert_forgets(control: &str) {
    let undisturbed = outcome(run(control, there(ms(0))));
    let disturbances: [(&str, Disturb<'_>); 5] = [
        ("frame + 1500", &far_frame),
        ("an hour ahead", &|run| far_time(run, 1)),
        ("an hour ago", &|run| far_time(run, -1)),
        ("a sender report by another clock", &other_clock),
        ("a limit of 1 bit/s", &limit),
    ];
    for (what, disturb) in disturbances {
        let mut run = run(control, there(ms(0)));
        disturb(&mut run);
        outcome(run).assert_same(&undisturbed, &format!("{control}, {what}"));
    }
    let path = outage(there(ms(0)), at(DISTURBED), at(DISTURBED + 5000));
    outcome(run(control, path)).assert_same(&undisturbed, &format!("{control}, an outage"));
}

fn assert_follows_the_route(control: &str) {
    let longer = outcome(run(control, squeeze(ms(60), &[(0, 4000)], QUEUE)));
    outcome(run(control, there(ms(40)))).assert_same(&longer, &format!("{control}, a longer route"));
}

/// All names in two parts, so that two cores share them.
fn names(part: usize) -> impl Iterator<Item = &'static str> {
    let registry = seaway_control::Registry::builtin();
    let all: Vec<_> = registry.controllers().iter().map(|info| info.name).collect();
    all.into_iter().filter(|name| KEPT.iter().all(|(kept, _)| kept != name)).skip(part).step_by(2)
}

fn assert_forget(part: usize) {
    for name in names(part) {
        assert_forgets(name);
        assert_follows_the_route(name);
    }
}

#[test]
fn with_one_half_of_the_controllers() {
    assert_forget(0);
}

#[test]
fn with_the_other_half() {
    assert_forget(1);
}
