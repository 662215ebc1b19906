//! A receiver's memory is bounded, whatever its sender sends.

use bytes::Bytes;
use seaway_session::*;
use seaway_units::{DataSize, Ecn, TimeDelta, Timestamp};
use seaway_wire::MicrosClock;
use seaway_wire::extension::FrameMarking;

/// What a session of the largest description may take.
const LIMIT: u64 = 32 << 20;
const SESSION: u32 = 1024;

fn description() -> SessionDescription {
    SessionDescription {
        session: SESSION,
        control: "multfrc(max=8)".parse().unwrap(),
        ecn: Ecn::NotEct,
        packet: DataSize::from_bytes(65_535),
        feedback: FeedbackFormat::Native,
        stripe: Stripe::Packet,
        lanes: false,
        fec: true,
        streams: vec![StreamDescription::video(Format::Opaque); 8],
    }
}

fn receiver() -> Receiver {
    let description = Some(description());
    Receiver::new(Timestamp::ZERO, ReceiverConfig { description, ..ReceiverConfig::new(2) })
}

/// A packet of the `index`-th source whose frame is never whole.
fn packet(index: u32, number: u16, place: u16, frame: u16, len: usize) -> Message {
    let control =
        ControlData { sequence_number: number.into(), sent: MicrosClock::default(), rtt: None, tag: None };
    let marking = FrameMarking { frame, sequence_number: place, ..FrameMarking::default() };
    Message::Rtp(RtpPacket {
        payload_type: payload_type::OPAQUE,
        sequence_number: number,
        timestamp: u32::from(frame) * 3600,
        ssrc: SESSION + index,
        control: Some(control),
        marking: Some(marking),
        payload: Payload::from(Bytes::from(vec![0; len])),
        ..RtpPacket::default()
    })
}

/// The most that a receiver takes while it gets these messages.
fn peak(messages: impl Iterator<Item = Message>) -> u64 {
    let mut receiver = receiver();
    let counted = allocation_counter::measure(|| {
        let (mut now, mut reply) = (Timestamp::ZERO, Message::default());
        for (mut message, count) in messages.zip(0u32..) {
            if count % 16 == 0 {
                now += TimeDelta::from_micros(1);
            }
            receiver.handle_message(now, now, Ecn::NotEct, &mut message);
            while receiver.poll_transmit(now, &mut reply).is_some() {}
            while receiver.poll_event().is_some() {}
        }
    });
    counted.bytes_max
}

#[test]
fn gaps_on_every_source() {
    // As far ahead as is accepted, first on a few sources and then on all 1024.
    let jumps = |sources: u32, step: u16| {
        (0..40u16).flat_map(move |jump| {
            (0..sources).map(move |index| packet(index, jump.wrapping_mul(step), jump, jump, 10))
        })
    };
    let peak = peak(jumps(16, 2_999).chain(jumps(SourceId::COUNT, 250)));
    assert!((1 << 20..=LIMIT).contains(&peak), "{peak} B");
}

#[test]
fn frames_that_wait() {
    // Frames behind gaps, which wait for a retransmission; and whole frames of the far future, which wait for their time.
    for (len, step) in [(10, 2), (1_200, 2), (60_000, 2), (10, 1), (1_200, 1), (60_000, 1)] {
        let messages = (0..5_000u16).flat_map(move |count| {
            (0..8u32).map(move |stream| {
                let number = count.wrapping_mul(step);
                let mut message = packet(stream << 7, number, number, count, len);
                if let (1, Message::Rtp(packet)) = (step, &mut message) {
                    let marking = packet.marking.get_or_insert_default();
                    (marking.start, marking.end, marking.independent) = (true, true, count == 0);
                    packet.timestamp = u32::from(count) * 90_000;
                }
                message
            })
        });
        let peak = peak(messages);
        assert!(peak <= LIMIT, "{len} B a packet, every {step}: {peak} B");
    }
}
