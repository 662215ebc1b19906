//! Bonding: one session over paths of different delay, of which one may fail.

mod common;

use common::*;
use seaway_session::*;
use seaway_units::{Bitrate, DataSize, TimeDelta, Timestamp};

const RATE: Bitrate = Bitrate::from_mbps(2);

/// A sender of two lanes of 2 Mbit/s with 20 and 60 ms; those of `dead` carry nothing in either direction between the instants.
fn bonded(control: &str, stripe: Stripe, dead: impl Fn(Path, usize) -> Path) -> Run {
    let mut config = SenderConfig { stripe, lanes: 2, ..config(control) };
    config.limits.start = Bitrate::from_kbps(600);
    config.limits.max = Bitrate::from_mbps(8);
    config.streams[0].max = config.limits.max;
    config.adaptive = Some(AdaptiveRepair { deadline: ms(500), fec: true });
    let mut run =
        Run::new(sender(Timestamp::ZERO, config), receiver(Timestamp::ZERO), ideal(ms(20)), ideal(ms(20)));
    run.lanes = [20, 60]
        .into_iter()
        .enumerate()
        .map(|(lane, delay)| {
            let there = dead(bottleneck(ms(delay), RATE, ms(300)), lane);
            (there, dead(ideal(ms(delay)), lane))
        })
        .collect();
    run
}

fn whole(path: Path, _: usize) -> Path {
    path
}

/// `lane` is dead from 20 to 30 s.
fn dead(lane: usize) -> impl Fn(Path, usize) -> Path {
    move |path, index| if index == lane { outage(path, at(20_000), at(30_000)) } else { path }
}

/// What arrived between two instants, bit/s.
fn rate(run: &mut Run, from: u64, to: u64) -> f64 {
    run.until(at(from));
    let before = run.receiver.statistics().received.size;
    run.until(at(to));
    let size = run.receiver.statistics().received.size - before;
    size.as_bytes() as f64 * 8000.0 / (to - from) as f64
}

/// The longest time between two pictures from an instant on.
fn longest_gap(run: &Run, from: u64) -> TimeDelta {
    let shown: Vec<_> =
        run.frames.iter().map(|(shown, _)| *shown).filter(|shown| *shown >= at(from)).collect();
    shown.windows(2).map(|pair| pair[1].since(pair[0])).max().unwrap_or(TimeDelta::MAX)
}

#[test]
fn two_lanes_carry_what_both_have() {
    for (control, part) in [("seaway", 0.9), ("scream", 0.85), ("gcc", 0.8)] {
        let mut run = bonded(control, Stripe::Packet, whole);
        run.bytes = true;
        let used = rate(&mut run, 10_000, 30_000);
        assert!(used >= part * 4e6, "{control}: {used} bit/s {:?}", run.sender.lanes());
        // Packets of one lane do not overtake each other, and those of two are not compared.
        let (sent, received) = (run.sender.statistics(), run.receiver.statistics());
        assert_eq!(received.freezes.count, 0, "{control}: {received:?}");
        assert!(sent.late == 0 && received.reordered == 0, "{control}: {sent:?} {received:?}");
    }
}

#[test]
fn a_lane_that_fails_costs_no_freeze_and_is_used_again() {
    for lane in [0, 1] {
        let mut run = bonded("seaway", Stripe::Packet, dead(lane));
        let used = rate(&mut run, 22_000, 30_000);
        assert!(used >= 0.85 * 2e6, "the other lane alone: {used} bit/s");
        let used = rate(&mut run, 35_000, 45_000);
        assert!(used >= 0.85 * 4e6, "both again: {used} bit/s {:?}", run.sender.lanes());
        let gap = longest_gap(&run, 10_000);
        assert!(gap <= ms(200), "lane {lane}: {gap}");
        let states = run.sender_events.iter().filter_map(|(_, event)| match event {
            SenderEvent::Lane { lane, state } => Some((usize::from(lane.0), *state)),
            _ => None,
        });
        let expected = [LaneState::Suspect, LaneState::Down, LaneState::Up].map(|state| (lane, state));
        assert_eq!(states.collect::<Vec<_>>(), expected);
    }
}

/// The same outage without a second lane.
#[test]
fn one_lane_alone_freezes() {
    let (there, back) = (bottleneck(ms(20), RATE, ms(300)), ideal(ms(20)));
    let [there, back] = [there, back].map(|path| outage(path, at(20_000), at(30_000)));
    let mut run = Run::new(sender(Timestamp::ZERO, config("seaway")), receiver(Timestamp::ZERO), there, back);
    run.until(at(45_000));
    assert!(longest_gap(&run, 10_000) >= ms(10_000));
}

#[test]
fn a_lane_that_never_worked_leaves_the_others_alone() {
    let mut run =
        bonded(
            "seaway",
            Stripe::Packet,
            |path, lane| {
                if lane == 1 { outage(path, at(0), at(100_000)) } else { path }
            },
        );
    let used = rate(&mut run, 10_000, 20_000);
    assert!(used >= 0.85 * 2e6, "{used} bit/s");
    assert!(longest_gap(&run, 1_000) <= ms(200));
    assert_eq!(run.sender.lanes()[1].state, LaneState::Down);
}

/// A controller that takes over allows nothing for a lane that is down.
#[test]
fn a_new_controller_leaves_out_a_lane_that_is_down() {
    let mut run = bonded("seaway", Stripe::Packet, |path, lane| match lane {
        1 => outage(path, at(0), at(5_000)),
        _ => path,
    });
    run.until(at(4_000));
    let control = "fixed(rate=1 Mbit/s)".parse().expect("a controller");
    run.sender.on_control(run.now, control).expect("one that exists");
    let allowed = |run: &Run| run.sender.controller().target().rate;
    assert_eq!(allowed(&run), Bitrate::from_mbps(1));
    run.until(at(7_000));
    assert_eq!(allowed(&run), Bitrate::from_mbps(2), "the lane is up again");
}

/// The choice of a lane allocates nothing, whatever waits.
#[test]
fn packets_are_assigned_without_allocations() {
    for stripe in [Stripe::Packet, Stripe::Gop] {
        let mut run = bonded("seaway", stripe, whole);
        run.until(at(5_000));
        let data = FrameData::Synthetic(DataSize::from_bytes(60_000));
        let frame = Frame::new(run.now, FrameKind::Key, data, ms(40));
        run.sender.handle_frame(run.now, &frame).expect("a good frame");
        let sender = &run.sender;
        let counted = allocation_counter::measure(|| assert!(sender.next_wake().is_some()));
        assert_eq!(counted.count_total, 0, "{stripe:?}");
    }
}

/// Whole frames or groups of pictures on a lane.
#[test]
fn larger_units_stay_together() {
    for stripe in [Stripe::Frame, Stripe::Gop] {
        let mut run = bonded("seaway", stripe, dead(1));
        run.source.as_mut().expect("a source").gop = 12;
        let tap = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
        // In the beginning a lane is found to be up before the other is, and takes over.
        run.until(at(2_000));
        run.tap = Some(std::rc::Rc::clone(&tap));
        run.until(at(20_000));
        let mut lanes_of = std::collections::BTreeMap::<u32, std::collections::BTreeSet<u8>>::new();
        for message in tap.borrow().iter() {
            let Message::Rtp(packet) = message else { continue };
            let source = SourceId::of(packet.ssrc, 0x5EA0_0000).expect("of the session");
            if !source.repair {
                lanes_of.entry(packet.timestamp).or_default().insert(source.subflow.0);
            }
        }
        assert!(lanes_of.values().all(|lanes| lanes.len() == 1), "{stripe:?}: a frame on two lanes");
        let lanes: std::collections::BTreeSet<_> = lanes_of.values().flatten().collect();
        // A group takes longer than the lanes' queues: the lane with the lower rate may get none, and is ready all the same.
        assert!(lanes.len() == 2 || stripe == Stripe::Gop, "{stripe:?}");
        let idle = run.sender.lanes()[1];
        assert!(idle.state == LaneState::Up && idle.rtt.is_some_and(|rtt| rtt >= ms(120)), "{idle:?}");
        run.until(at(40_000));
        let (sent, received) = (run.sender.statistics(), run.receiver.statistics());
        assert!(
            received.frames.displayed * 100 >= sent.frames.queued * 95,
            "{stripe:?}: {received:?} {sent:?}"
        );
    }
}
