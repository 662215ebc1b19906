//! The circuit breaker on a sender in virtual time: the rate stays below its bound under every controller, and what goes on to
//! congest the path ends with a goodbye.

mod common;

use common::*;
use seaway_control::Registry;
use seaway_session::*;
use seaway_units::{Bitrate, DataSize, TimeDelta, Timestamp};

const BOUND: Bitrate = Bitrate::from_kbps(200);

fn run(control: &str, there: Path) -> Run {
    Run::new(sender(Timestamp::ZERO, config(control)), receiver(Timestamp::ZERO), there, ideal(ms(20)))
}

/// What left from one instant to another, in milliseconds.
fn rate(run: &Run, from: u64, to: u64) -> Bitrate {
    let left = run.departures.iter().filter(|(left, _)| (at(from)..at(to)).contains(left));
    let size: DataSize = left.map(|(_, size)| *size).sum();
    size.over(at(to) - at(from)).unwrap()
}

#[test]
fn every_controller_keeps_below_the_bound_and_comes_back() {
    for info in Registry::builtin().controllers() {
        let mut run = run(info.name, squeeze(ms(20), &[(0, 4000)], DataSize::from_bytes(100_000)));
        run.until(at(10_000));
        run.sender.on_rate_bound(run.now, Some(BOUND));
        // New limits do not lift it.
        run.sender.on_limits(run.now, LIMITS);
        run.until(at(30_000));
        let bounded = rate(&run, 10_000, 30_000);
        assert!(bounded <= BOUND.mul_f64(1.02), "{}: {bounded}", info.name);
        let settled = rate(&run, 15_000, 30_000);
        assert!(settled >= BOUND.mul_f64(0.4), "{}: {settled}", info.name);
        run.sender.on_rate_bound(run.now, None);
        run.until(at(90_000));
        let free = rate(&run, 80_000, 90_000);
        assert!(free > BOUND.mul_f64(2.0), "{}: {free}", info.name);
    }
}

/// What the breaker did to a sender on a path, and when, until `end` or until it ended the transmission.
fn follow(run: &mut Run, end: Timestamp) -> Vec<(Timestamp, BreakerAction)> {
    let (mut breaker, mut actions) = (CircuitBreaker::new(true), Vec::new());
    while run.now < end {
        run.until(run.now + ms(100));
        let Some(action) = breaker.observe(run.now, &run.sender.statistics()) else { continue };
        actions.push((run.now, action));
        match action {
            BreakerAction::Reduce(_, most) => run.sender.on_rate_bound(run.now, Some(most)),
            BreakerAction::Raise(most) => run.sender.on_rate_bound(run.now, most),
            BreakerAction::Cease(_) => {
                run.sender.on_close(run.now);
                break;
            }
        }
    }
    actions
}

/// 3 Mbit/s into 0.4, with hardly a queue that would hold the encoder back: 0.3 Mbit/s passes for a minute, and what comes back after it
/// is too much again.
#[test]
fn a_constant_rate_is_reduced_to_a_tenth_and_ends_when_it_congests_again() {
    let queue = DataSize::from_bytes(3000);
    let mut run = run("fixed(rate=3 Mbit/s)", squeeze(ms(150), &[(0, 400)], queue));
    let actions = follow(&mut run, at(300_000));
    let [(reduced_at, BreakerAction::Reduce(_, most)), .., (ended_at, BreakerAction::Cease(breach))] =
        actions[..]
    else {
        panic!("{actions:?}")
    };
    // The first interval begins with the first observation.
    assert!((15_000..=15_200).contains(&(reduced_at.as_nanos() / 1_000_000)), "{reduced_at}");
    assert!((Bitrate::from_kbps(270)..=Bitrate::from_kbps(310)).contains(&most), "{most}");
    assert!(rate(&run, 16_000, 70_000) <= most);
    assert!(ended_at > reduced_at + TimeDelta::from_secs(75), "{ended_at}");
    assert!(matches!(breach, Breach::Congestion { .. }), "{breach}");
    // No media leaves any more; the goodbye does.
    run.source = None;
    let (now, mut message) = (run.now, Message::default());
    assert!(run.sender.poll_goodbye(now, &mut message).is_some());
    run.receiver.handle_message(now, now, seaway_units::Ecn::NotEct, &mut message);
    run.drain();
    assert!(run.receiver_events.iter().any(|(_, event)| *event == ReceiverEvent::SessionEnded));
    assert_eq!(run.sender.poll_goodbye(now, &mut message), None, "once");
}

#[test]
fn controllers_that_adapt_are_left_alone() {
    for control in ["gcc", "tfrc", "seaway", "scream", "nada"] {
        let steps = &[(0, 4000), (20_000, 400), (60_000, 4000)];
        let mut run = run(control, squeeze(ms(20), steps, DataSize::from_bytes(20_000)));
        assert_eq!(follow(&mut run, at(90_000)), [], "{control}");
    }
}
