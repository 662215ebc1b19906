//! Queue, server, propagation path and statistics of a link in a host.

use crate::host::{Host, at_millis};
use seaway_link::DropCause;
use seaway_units::{Ecn, TimeDelta, Timestamp};

const SLOW: &str = "rate = '1 Mbit/s'\nqueue = { kind = 'drop-tail', ";

fn slow(queue: &str) -> Host {
    Host::new(&format!("{SLOW}{queue} }}"))
}

fn burst(host: &mut Host, packets: u64, bytes: u64) {
    for _ in 0..packets {
        host.send(Timestamp::ZERO, bytes, Ecn::NotEct);
    }
}

/// `docs/models/queues.md`, section "Drop-tail": `packets(50)`, 1000 B, 1 Mbit/s.
#[test]
fn droptail_packets_counts_the_packet_in_service() {
    let mut host = slow("packets = 50");
    burst(&mut host, 51, 1000);
    assert_eq!(host.dropped.len(), 1);
    assert_eq!(host.dropped[0].cause, DropCause::Tail);
    assert_eq!(host.dropped[0].packet.payload, 50);
    host.finish();
    let longest = host.delivered.iter().map(|(_, packet)| packet.waited).max();
    assert_eq!(longest, Some(TimeDelta::from_millis(392)));
    assert_eq!(host.delivered.last().unwrap().0, at_millis(400.0));
}

#[test]
fn droptail_packets_waiting_holds_one_more() {
    let mut host = slow("packets_waiting = 50");
    burst(&mut host, 52, 1000);
    assert_eq!(host.dropped.len(), 1);
}

/// `bytes(5000)`: one in service, five waiting, the seventh refused; a small one may still fit.
#[test]
fn droptail_bytes() {
    let mut host = slow("bytes = '5000 B'");
    burst(&mut host, 7, 1000);
    assert_eq!(host.dropped.len(), 1);
    let mut host = slow("bytes = '5500 B'");
    burst(&mut host, 7, 1000);
    burst(&mut host, 1, 500);
    assert_eq!(host.dropped.len(), 1);
    let mut host = slow("bytes = '5000 B', count_in_service = true");
    burst(&mut host, 7, 1000);
    assert_eq!(host.dropped.len(), 2);
}

/// RFC 8867's 300 ms at 1 Mbit/s are 37 500 B.
#[test]
fn droptail_time_is_bytes_at_the_first_rate() {
    let mut host = slow("time = '300 ms'");
    burst(&mut host, 40, 1000);
    assert_eq!(host.dropped.len(), 40 - 1 - 37);
    let mut host = slow("time = '300 ms', count_in_service = true");
    burst(&mut host, 40, 1000);
    assert_eq!(host.dropped.len(), 40 - 37);
}

#[test]
fn droptail_live_time_follows_the_rate_and_is_full_in_an_outage() {
    let steps = "steps = [['1 s', '2 Mbit/s']]\noutage = [['2 s', '3 s']]\n";
    for (at, held) in [(0, 1 + 37), (1000, 1 + 75), (2000, 0)] {
        let mut host = Host::new(&format!("{steps}{SLOW}time = '300 ms', live = true }}"));
        for _ in 0..100 {
            host.send(at_millis(f64::from(at)), 1000, Ecn::NotEct);
        }
        assert_eq!(host.dropped.len(), 100 - held, "at {at} ms");
    }
}

#[test]
fn droptail_front_drops_the_oldest() {
    let mut host = slow("packets = 3, drop_front = true");
    burst(&mut host, 5, 1000);
    host.finish();
    let dropped: Vec<u64> = host.dropped.iter().map(|dropped| dropped.packet.payload).collect();
    let delivered: Vec<u64> = host.delivered.iter().map(|(_, packet)| packet.payload).collect();
    assert_eq!((dropped, delivered), (vec![1, 2], vec![0, 3, 4]));
}

/// A small packet would fit; a device that stops its queue while a full one would not lets none in.
#[test]
fn room_is_asked_for_whatever_the_size() {
    for (limit, delivered) in [("bytes = '5 kB'", 7), ("bytes = '5 kB', room = '1500 B'", 5)] {
        let mut host = slow(limit);
        burst(&mut host, 5, 1000);
        burst(&mut host, 5, 400);
        host.finish();
        assert_eq!(host.delivered.len(), delivered, "{limit}");
    }
}

#[test]
fn sojourn_drops_what_is_too_old_when_its_turn_comes() {
    let mut host = slow("sojourn = '20 ms'");
    burst(&mut host, 10, 1000);
    host.finish();
    // Turns come at 0, 8, 16 and 24 ms; at 24 ms all that is left is too old.
    assert_eq!(host.delivery_nanos(), [8_000_000, 16_000_000, 24_000_000]);
    assert_eq!(host.dropped.len(), 7);
    assert!(host.dropped.iter().all(|dropped| dropped.cause == DropCause::Age));
    assert!(host.dropped.iter().all(|dropped| dropped.at == at_millis(24.0)));
}

/// Rate change while queued: the packet in service finishes at the old rate, the rest at the new.
#[test]
fn a_step_spares_the_packet_in_service() {
    let mut host = Host::new(&format!("steps = [['4 ms', '2 Mbit/s']]\n{SLOW}packets = 50 }}"));
    burst(&mut host, 3, 1000);
    host.finish();
    assert_eq!(host.delivery_nanos(), [8_000_000, 12_000_000, 16_000_000]);
}

/// An outage freezes the packet in service, and it resumes.
#[test]
fn an_outage_freezes_the_packet_in_service() {
    let outage = "outage = [['4 ms', '104 ms']]\n";
    let mut host = Host::new(&format!("{outage}{SLOW}packets = 50 }}"));
    burst(&mut host, 2, 1000);
    host.send(at_millis(50.0), 1000, Ecn::NotEct);
    host.finish();
    assert_eq!(host.delivery_nanos(), [108_000_000, 116_000_000, 124_000_000]);
    let waited: Vec<i64> = host.delivered.iter().map(|(_, packet)| packet.waited.as_millis()).collect();
    assert_eq!(waited, [0, 108, 66]);
}

#[test]
fn a_packet_that_comes_in_an_outage_waits_for_its_end() {
    let mut host = Host::new(&format!("outage = [['4 ms', '104 ms']]\n{SLOW}packets = 50 }}"));
    host.send(at_millis(10.0), 1000, Ecn::NotEct);
    host.finish();
    assert_eq!(host.delivery_nanos(), [112_000_000]);
    let statistics = host.link.statistics(host.now);
    // Idle 4 ms and busy 8 ms of 12 ms with capacity.
    assert!((statistics.utilisation - 8.0 / 12.0).abs() < 1e-9, "{}", statistics.utilisation);
    // One packet waited 94 of 112 ms.
    assert!((statistics.waiting_mean - 94.0 / 112.0).abs() < 1e-9);
    assert_eq!(statistics.waiting_max, 1);
}

#[test]
fn fractions_of_a_nanosecond_are_carried_through_a_busy_period() {
    let mut host = Host::new("rate = '3 Mbit/s'\nqueue = { kind = 'drop-tail', packets = 500 }");
    burst(&mut host, 300, 1000);
    host.finish();
    // 8000 bit / 3 Mbit/s = 2 666 666.67 ns each; 300 of them are 800 ms to the nanosecond.
    assert_eq!(host.delivery_nanos()[..3], [2_666_666, 5_333_333, 8_000_000]);
    assert_eq!(host.delivered.last().unwrap().0, at_millis(800.0));
}

#[test]
fn the_pipe_delays_and_keeps_the_order() {
    let mut host = Host::new(&format!("delay = '20 ms'\n{SLOW}packets = 50 }}"));
    burst(&mut host, 2, 1000);
    host.finish();
    assert_eq!(host.delivery_nanos(), [28_000_000, 36_000_000]);
}

#[test]
fn loss_at_the_exit_uses_the_link_and_at_the_entry_does_not() {
    for (place, last) in [("exit", 32.0), ("entry", 16.0)] {
        let loss = format!("loss = {{ kind = 'periodic', every = 2, at = '{place}' }}\n");
        let mut host = Host::new(&format!("{loss}{SLOW}packets = 50 }}"));
        burst(&mut host, 5, 1000);
        host.finish();
        let statistics = host.link.statistics(host.now);
        assert_eq!((statistics.drops.channel, statistics.delivered.packets), (2, 3), "{place}");
        assert_eq!(host.dropped.iter().filter(|d| d.cause == DropCause::Channel).count(), 2);
        assert_eq!(host.delivered.last().unwrap().0, at_millis(last + 8.0));
    }
}

#[test]
fn a_window_of_statistics_carries_what_is_inside() {
    let mut host = slow("packets = 50");
    burst(&mut host, 10, 1000);
    host.run_until(at_millis(20.0));
    host.link.restart_statistics(at_millis(20.0));
    host.finish();
    let statistics = host.link.statistics(host.now);
    assert_eq!((statistics.carried_in, statistics.arrivals.packets), (8, 0));
    assert_eq!((statistics.delivered.packets, statistics.inside), (8, 0));
    assert_eq!(statistics.utilisation, 1.0);
    assert_eq!(statistics.waiting_max, 7);
}

#[test]
fn capacity_of_an_idle_link_counts() {
    let mut host = Host::new(&format!("steps = [['50 ms', '3 Mbit/s']]\n{SLOW}packets = 50 }}"));
    burst(&mut host, 5, 1000);
    host.finish();
    // 40 kbit sent of 50 kbit, and after another 50 ms of 200 kbit.
    for (millis, utilisation) in [(50.0, 0.8), (100.0, 0.2)] {
        let found = host.link.statistics(at_millis(millis)).utilisation;
        assert!((found - utilisation).abs() < 1e-9, "{found}");
    }
}

/// `docs/models/queues.md`, section "Token bucket and channel loss": 1 Mbit/s and 1500 B let three packets of 1500 B
/// go at 0, 12 and 24 ms.
#[test]
fn a_shaper_spaces_packets_by_its_tokens() {
    let shaper = "rate = '12 Mbit/s'\nshaper = { rate = '1 Mbit/s', burst = '1500 B' }\n";
    let mut host = Host::new(&format!("{shaper}queue = {{ kind = 'drop-tail', packets = 3 }}"));
    burst(&mut host, 4, 1500);
    assert_eq!(host.dropped.len(), 1);
    assert_eq!(host.link.inside(host.now), 3);
    host.finish();
    assert_eq!(host.delivery_nanos(), [1_000_000, 13_000_000, 25_000_000]);
    let waited: Vec<i64> = host.delivered.iter().map(|(_, packet)| packet.waited.as_millis()).collect();
    assert_eq!(waited, [0, 12, 24]);
    let statistics = host.link.statistics(host.now);
    assert!((statistics.waiting_mean - 36.0 / 25.0).abs() < 1e-9, "{}", statistics.waiting_mean);
    assert!((statistics.utilisation - 3.0 / 25.0).abs() < 1e-9, "{}", statistics.utilisation);
}

#[test]
fn a_policer_drops_what_finds_no_token() {
    let policer = "rate = '12 Mbit/s'\npolicer = { rate = '1 Mbit/s', burst = '3000 B' }\n";
    let mut host = Host::new(&format!("{policer}queue = {{ kind = 'drop-tail', packets = 30 }}"));
    burst(&mut host, 3, 1500);
    host.send(at_millis(11.9), 1500, Ecn::NotEct);
    host.send(at_millis(12.0), 1500, Ecn::NotEct);
    host.finish();
    let causes: Vec<DropCause> = host.dropped.iter().map(|dropped| dropped.cause).collect();
    assert_eq!(causes, [DropCause::Policer, DropCause::Policer]);
    assert_eq!(host.link.statistics(host.now).drops.policer, 2);
    assert_eq!(host.delivered.len(), 3);
}

#[test]
fn an_outage_outlasts_the_tokens() {
    let shaper = "rate = '12 Mbit/s'\nshaper = { rate = '1 Mbit/s', burst = '1500 B' }\noutage = [['5 ms', '50 ms']]\n";
    let mut host = Host::new(&format!("{shaper}queue = {{ kind = 'drop-tail', packets = 30 }}"));
    burst(&mut host, 3, 1500);
    host.finish();
    assert_eq!(host.delivery_nanos(), [1_000_000, 51_000_000, 63_000_000]);
}

#[test]
fn reordering_jitter_lets_packets_overtake() {
    let jitter = "delay = '30 ms'\njitter = { kind = 'reordering', std = '5 ms' }\n";
    let mut host =
        Host::new(&format!("{jitter}rate = '8 Mbit/s'\nqueue = {{ kind = 'drop-tail', packets = 300 }}"));
    burst(&mut host, 300, 1000);
    host.finish();
    let order: Vec<u64> = host.delivered.iter().map(|(_, packet)| packet.payload).collect();
    assert_eq!(order.len(), 300);
    assert!(!order.is_sorted());
    assert!(host.delivery_nanos().is_sorted());
    for (at, packet) in &host.delivered {
        let flown = at.as_nanos() as i64 - (packet.payload as i64 + 1) * 1_000_000;
        assert!((15_000_000..=45_000_000).contains(&flown), "{flown}");
    }
}
