//! Packets that leave together: a driver that comes less often than once a packet.

use proptest::prelude::*;
use seaway_control::policy::Direct;
use seaway_session::{Format, Frame, FrameData, FrameKind, Limits, Message, Sender, SenderConfig};
use seaway_units::{Bitrate, DataSize, TimeDelta, Timestamp};

const BURST: TimeDelta = TimeDelta::from_micros(450);
const PACKET: DataSize = DataSize::from_bytes(1200);

/// A sender at a constant rate that always has something to send.
fn sender(rate: Bitrate, burst: TimeDelta) -> Sender {
    let control = "fixed".parse().expect("a controller");
    let limits = Limits { min: rate, start: rate, max: rate };
    let mut config = SenderConfig::new(1, control, limits, Format::Opaque);
    (config.endless, config.send_burst_interval) = (true, burst);
    Sender::new(Timestamp::ZERO, config, Box::new(Direct::new())).expect("a good configuration")
}

/// Departures until `end` by a driver that is late by `late` in turn, and how often it came.
fn departures(sender: &mut Sender, end: Timestamp, late: &[TimeDelta]) -> (Vec<Timestamp>, usize) {
    let (mut departures, mut message, mut wakes) = (Vec::new(), Message::default(), 0);
    let mut now = Timestamp::ZERO;
    loop {
        sender.handle_timeout(now);
        while let Some(transmit) = sender.poll_transmit(now, now, &mut message) {
            assert_eq!(transmit.at, now, "a packet leaves when the driver is there");
            if matches!(message, Message::Rtp(_)) {
                departures.push(now);
            }
        }
        let due = sender.poll_timeout().expect("more to send");
        assert!(due > now, "not drained at {now}");
        now = due + late[wakes % late.len()];
        wakes += 1;
        if now >= end {
            return (departures, wakes);
        }
    }
}

proptest! {
    /// Over every span: at most the rate times the span, three intervals' worth and one packet. Where the driver is late by no
    /// more than the interval, nothing of the rate is lost.
    #[test]
    fn bursts_are_bounded_and_lateness_is_made_up_for(
        rate in 1u64..400,
        late in prop::collection::vec(0i64..450, 1..20),
        much in any::<bool>(),
    ) {
        let rate = Bitrate::from_mbps(rate);
        let factor = if much { 10 } else { 1 };
        let late: Vec<TimeDelta> = late.into_iter().map(|late| TimeDelta::from_micros(late * factor)).collect();
        let end = Timestamp::ZERO + TimeDelta::from_millis(100);
        let (departures, _) = departures(&mut sender(rate, BURST), end, &late);
        let slack = rate.size_in(BURST * 3) + PACKET + DataSize::from_bytes(1);
        for (index, first) in departures.iter().enumerate().step_by(7) {
            for (sent, last) in departures[index..].iter().enumerate() {
                let size = PACKET * sent as u64;
                prop_assert!(size <= rate.size_in(*last - *first) + slack, "{sent} from {first} to {last}");
            }
        }
        if !much {
            let all = PACKET * departures.len() as u64 + slack;
            prop_assert!(all >= rate.size_in(end - Timestamp::ZERO - BURST * 3), "{} left", departures.len());
        }
    }
}

#[test]
fn packets_leave_in_trains_close_to_when_they_are_due() {
    // A packet each 96 µs, and one is due at the beginning.
    let rate = Bitrate::from_mbps(100);
    let end = Timestamp::ZERO + TimeDelta::from_millis(96);
    let (each, wakes) = departures(&mut sender(rate, TimeDelta::ZERO), end, &[TimeDelta::ZERO]);
    assert_eq!(each.len(), 1000);
    assert!(wakes >= 1000, "{wakes}");
    let (trains, wakes) = departures(&mut sender(rate, BURST), end, &[TimeDelta::ZERO]);
    assert!(wakes < 130, "{wakes}");
    for (due, left) in each.iter().zip(&trains) {
        let error = *left - *due;
        assert!(-BURST * 2 <= error && error <= BURST, "due at {due}, left at {left}");
    }
    // From train to train, the first is so late as the last is early.
    let errors: Vec<TimeDelta> = each.iter().zip(&trains).skip(100).map(|(due, left)| *left - *due).collect();
    let (least, most) = (errors.iter().min().unwrap(), errors.iter().max().unwrap());
    assert!(*most - *least <= BURST * 2, "{least} to {most}");
}

/// At low rates no packet could leave with another, and none waits for one.
#[test]
fn slow_streams_are_paced_packet_by_packet() {
    let (rate, end) = (Bitrate::from_mbps(5), Timestamp::ZERO + TimeDelta::from_secs(1));
    let each = departures(&mut sender(rate, TimeDelta::ZERO), end, &[TimeDelta::ZERO]).0;
    assert_eq!(departures(&mut sender(rate, BURST), end, &[TimeDelta::ZERO]).0, each);
}

/// The last packet of a frame waits for nothing behind it.
#[test]
fn the_end_of_a_frame_leaves_when_it_is_due() {
    let rate = Bitrate::from_mbps(100);
    let limits = Limits { min: rate, start: rate, max: rate };
    let mut config = SenderConfig::new(1, "fixed".parse().unwrap(), limits, Format::Opaque);
    config.send_burst_interval = BURST;
    let mut sender = Sender::new(Timestamp::ZERO, config, Box::new(Direct::new())).unwrap();
    let mut now = Timestamp::ZERO + TimeDelta::from_millis(500);
    let data = FrameData::Synthetic(DataSize::from_bytes(50_000));
    let frame = Frame::new(now, FrameKind::Key, data, TimeDelta::from_millis(40));
    sender.handle_frame(now, &frame).unwrap();
    let (began, mut message, mut last, mut size) = (now, Message::default(), now, DataSize::ZERO);
    while now < began + TimeDelta::from_millis(20) {
        sender.handle_timeout(now);
        while sender.poll_transmit(now, now, &mut message).is_some() {
            if let Message::Rtp(packet) = &message {
                size += DataSize::from_bytes(28 + Message::Rtp(packet.clone()).wire_len() as u64);
                last = now;
            }
        }
        now = sender.poll_timeout().expect("reports at least").max(now);
    }
    let took = last - began;
    let at_rate = rate.time_to_send(size).unwrap();
    assert!(took <= at_rate, "{took} for {at_rate}");
    let frames = sender.statistics().frames;
    assert_eq!((frames.begun, frames.waited, frames.sent, frames.took), (1, TimeDelta::ZERO, 1, took));
}
