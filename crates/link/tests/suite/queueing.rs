//! Links against queueing theory, and AQM as a link sees it.

use crate::host::{Host, at_millis};
use seaway_link::{DropCause, Nominal, Packet, Queue, QueueConfig, QueueCounts, RandomStream, Transmitter};
use seaway_units::{Bitrate, DataSize, Ecn, TimeDelta, Timestamp};

/// Sends `packets` with exponential gaps of this mean; sizes as `size` draws them.
fn poisson(
    host: &mut Host,
    packets: u64,
    mean_gap_secs: f64,
    mut size: impl FnMut(&mut RandomStream) -> u64,
) {
    let mut random = RandomStream::new(5, "arrivals");
    let mut at = Timestamp::ZERO;
    for _ in 0..packets {
        at += TimeDelta::from_secs_f64(random.exponential(mean_gap_secs));
        let bytes = size(&mut random);
        host.send(at, bytes, Ecn::NotEct);
    }
    host.finish();
}

/// `docs/models/queues.md`, section "Acceptance", rule 2: M/D/1 at load 0.8 waits ρ/(2(1 − ρ)) = 2.0 service times, ±
/// 3 %; and Little's law.
#[test]
fn m_d_1_waits_two_service_times() {
    const PACKETS: u64 = 400_000;
    let mut host = Host::new("rate = '8 Mbit/s'\nqueue = { kind = 'drop-tail', packets = 100000 }");
    poisson(&mut host, PACKETS, 1e-3 / 0.8, |_| 1000);
    let total: f64 = host.delivered.iter().map(|(_, packet)| packet.waited.as_secs_f64()).sum();
    let services = total / PACKETS as f64 / 1e-3;
    assert!((services - 2.0).abs() < 0.06, "{services}");
    let statistics = host.link.statistics(host.now);
    let by_little = total / host.now.as_secs_f64();
    assert!((statistics.waiting_mean - by_little).abs() < 1e-6, "{} {by_little}", statistics.waiting_mean);
    assert!((statistics.utilisation - 0.8).abs() < 0.01);
}

/// M/M/1/K with K = 10 in the system at load 1 loses 1/11.
#[test]
fn m_m_1_k_loses_one_in_eleven() {
    const PACKETS: u64 = 400_000;
    let mut host = Host::new("rate = '8 Mbit/s'\nqueue = { kind = 'drop-tail', packets = 10 }");
    // Sizes are rounded up to an octet: 0.05 % more load.
    poisson(&mut host, PACKETS, 1e-3, |random| random.exponential(1000.0).ceil() as u64);
    let lost = host.dropped.len() as f64 / PACKETS as f64;
    assert!((lost * 11.0 - 1.0).abs() < 0.03, "{lost}");
}

/// Unresponsive, twice what the link carries: the drops keep the control law's distances.
#[test]
fn codel_under_unresponsive_overload() {
    let mut host = Host::new("rate = '8 Mbit/s'\nqueue = { kind = 'codel', packets_waiting = 100000 }");
    for n in 0..4000_u32 {
        host.send(at_millis(f64::from(n) * 0.5), 1000, Ecn::NotEct);
    }
    let drops: Vec<f64> = host.dropped.iter().map(|dropped| dropped.at.as_nanos() as f64 / 1e6).collect();
    assert!(host.dropped.iter().all(|dropped| dropped.cause == DropCause::Early));
    // Dequeues are a service of 1 ms apart.
    for (drop, expected) in
        drops.iter().zip([0.0, 100.0, 170.7, 228.4, 278.4, 323.2, 364.0, 401.8, 437.1, 470.5])
    {
        assert!((drop - drops[0] - expected).abs() <= 1.0, "{drop} for {expected}");
    }
    assert!(drops[0] >= 105.0, "{}", drops[0]);
}

/// `docs/models/queues.md`, section "Acceptance", rule 7: with ECN on, capable packets are never dropped early below
/// the limits.
#[test]
fn marking_replaces_early_drops() {
    for queue in [
        "kind = 'codel', mark = true",
        "kind = 'fq-codel'",
        "kind = 'pie', mark = true",
        "kind = 'red', mark = true, mark_below = 1.0, min = 5, max = 50, wait = false",
        "kind = 'dualpi2'",
    ] {
        for ecn in [Ecn::Ect0, Ecn::Ect1] {
            let mut host = Host::new(&format!("rate = '8 Mbit/s'\nqueue = {{ {queue} }}"));
            // 35 ms stand in the queue while as much comes as leaves.
            (0..35).for_each(|_| host.send(Timestamp::ZERO, 1000, ecn));
            for millis in 1..1300_u32 {
                host.send(at_millis(f64::from(millis)), 1000, ecn);
            }
            host.finish();
            let statistics = host.link.statistics(host.now);
            assert!(statistics.marks > 0, "{queue} {ecn}");
            assert_eq!(statistics.drops.early, 0, "{queue} {ecn}: {statistics:?}");
            let ce = host.delivered.iter().filter(|(_, packet)| packet.ecn == Ecn::Ce).count() as u64;
            assert_eq!(ce, statistics.marks, "{queue} {ecn}");
        }
    }
}

/// Under 5 % more than the link carries, drop-tail stands full and PIE keeps near its target.
#[test]
fn pie_keeps_a_standing_queue_from_forming() {
    for (queue, band_ms) in
        [("kind = 'drop-tail', time = '400 ms'", 300.0..405.0), ("kind = 'pie'", 5.0..40.0)]
    {
        let mut host = Host::new(&format!("rate = '8 Mbit/s'\nqueue = {{ {queue} }}"));
        let mut random = RandomStream::new(1, "load");
        let mut at = Timestamp::ZERO;
        while at < at_millis(30_000.0) {
            // 5 % above the rate
            at += TimeDelta::from_secs_f64(random.exponential(1e-3 / 1.05));
            host.send(at, 1000, Ecn::NotEct);
        }
        host.finish();
        let late = host.delivered.iter().filter(|(at, _)| *at > at_millis(20_000.0));
        let waits: Vec<f64> = late.map(|(_, packet)| packet.waited.as_millis_f64()).collect();
        let mean = waits.iter().sum::<f64>() / waits.len() as f64;
        assert!(band_ms.contains(&mean), "{queue}: {mean}");
    }
}

/// `docs/models/queues.md`, section "Acceptance", rule 3, on a link: the drop rate at a frozen average is about 2p
/// without wait, two thirds of p with.
#[test]
fn red_realises_its_drop_rates() {
    // p_b = 0.02 at an average of 45: a weight this small freezes it where the first packets put it.
    for (wait, rate) in [(false, 1.0 / 25.0), (true, 1.0 / 74.5)] {
        let text = format!(
            "rate = '8 Mbit/s'\nqueue = {{ kind = 'red', weight = 1.0, wait = {wait}, min = 25, max = 125 }}"
        );
        let mut host = Host::new(&text);
        // 46 at once: one in service and 45 waiting; then one in for one out.
        (0..46).for_each(|_| host.send(Timestamp::ZERO, 1000, Ecn::NotEct));
        let (mut sent, mut millis) = (0_u32, 0.0);
        let before = host.dropped.len();
        while sent < 40_000 {
            millis += 1.0;
            host.run_until(at_millis(millis + 0.001));
            while host.link.waiting(host.now).0 < 45 {
                host.send(at_millis(millis + 0.001), 1000, Ecn::NotEct);
                sent += 1;
            }
        }
        let found = (host.dropped.len() - before) as f64 / f64::from(sent);
        // The queue before each of these arrivals is 44 long: p_b = 0.019.
        let expected = rate * 0.019 / 0.02;
        assert!((found / expected - 1.0).abs() < 0.06, "wait {wait}: {found} for {expected}");
    }
}

/// Each arrival is counted, also of packets that are refused, and each departure.
#[test]
fn a_queue_counts_what_it_did() {
    let config: QueueConfig = toml::from_str("kind = \"drop-tail\"\npackets = 2").unwrap();
    let (rate, now) = (Bitrate::from_mbps(1), Timestamp::ZERO);
    let nominal = Nominal { rate, delay: TimeDelta::ZERO };
    let mut queue = Queue::new(&config, nominal, RandomStream::new(1, "queue")).unwrap();
    assert!(queue.is_empty());
    for number in 0..5 {
        let packet = Packet::new(DataSize::from_bytes(1000), Ecn::NotEct, number);
        queue.enqueue(now, packet, Transmitter { in_service: None, rate });
    }
    assert!(queue.dequeue(now).is_some() && !queue.is_empty());
    let counts = QueueCounts { arrivals: 5, tail: 3, departures: 1, ..QueueCounts::default() };
    assert_eq!(
        (queue.counts(), queue.take_counts(), queue.counts()),
        (counts, counts, QueueCounts::default())
    );
}
