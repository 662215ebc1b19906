//! What must hold for every link and every input.

use crate::host::Host;
use proptest::prelude::*;
use seaway_units::{Ecn, TimeDelta, Timestamp};

/// What a host may do with a link.
#[derive(Debug, Clone, Copy)]
enum Operation {
    /// After this many microseconds, this many packets of this size.
    Send(u32, u8, u16, u8),
    /// After this many microseconds, a run that is not due.
    Poke(u32),
    /// Microseconds in which nothing comes.
    Rest(u32),
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        4 => (0_u32..5000, 1_u8..20, 40_u16..1501, 0_u8..4)
            .prop_map(|(after, packets, bytes, ecn)| Operation::Send(after, packets, bytes, ecn)),
        1 => (0_u32..3000).prop_map(Operation::Poke),
        1 => (0_u32..400_000).prop_map(Operation::Rest),
    ]
}

fn queue() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "kind = 'drop-tail', packets = 12",
        "kind = 'drop-tail', bytes = '9 kB', drop_front = true",
        "kind = 'drop-tail', time = '30 ms', live = true",
        "kind = 'drop-tail', sojourn = '10 ms'",
        "kind = 'drop-tail', bytes = '9 kB', room = '1500 B'",
        "kind = 'red', min = 3, max = 9, wait = false, mark = true",
        "kind = 'red', preset = 'auto', adaptive = true, byte_mode = true",
        "kind = 'codel', packets = 50",
        "kind = 'codel', mark = true, ce_threshold = '1 ms'",
        "kind = 'fq-codel', packets = 30, flows = 8",
        "kind = 'pie', mark = true",
        "kind = 'pie', measure = 'rate', cap = true",
        "kind = 'dualpi2', time = '60 ms'",
        "kind = 'dualpi2', scheduler = 'time-shifted', range = '0 ms'",
    ])
}

const IN_ORDER: &[&str] = &[
    "",
    "steps = [['20 ms', '0 bit/s'], ['60 ms', '9 Mbit/s'], ['90 ms', '300 kbit/s']]\n",
    "outage = [['5 ms', '25 ms'], ['100 ms', '150 ms']]\ndelay = '7 ms'\n",
    "loss = { kind = 'gilbert-elliott', mean = 0.1, burst = 3, per = 'ms' }\ndelay = '1 ms'\n",
    "loss = { kind = 'independent', rate = 0.3, at = 'entry' }\n",
    "jitter = { kind = 'rfc8868', std = '5 ms' }\ndelay = '20 ms'\n",
    "shaper = { rate = '500 kbit/s', burst = '4 kB' }\noutage = [['9 ms', '70 ms']]\n",
    "policer = { rate = '500 kbit/s', burst = '4 kB' }\n",
];

fn channel() -> impl Strategy<Value = &'static str> {
    let reordering = "jitter = { kind = 'reordering', std = '5 ms' }\ndelay = '20 ms'\n";
    prop::sample::select([IN_ORDER, &[reordering]].concat())
}

/// All that a host can see of a run.
fn observe(text: &str, seed: u64, operations: &[Operation], pokes: bool) -> String {
    let mut host = Host::seeded(text, seed);
    let mut now = Timestamp::ZERO;
    for &operation in operations {
        match operation {
            Operation::Send(after, packets, bytes, ecn) => {
                now += TimeDelta::from_micros(i64::from(after));
                for n in 0..packets {
                    host.send_flow(now, u64::from(bytes), Ecn::from_bits(ecn), u32::from(n % 3));
                }
            }
            Operation::Poke(after) if pokes => {
                // Before anything is due: an early timeout.
                let early = now + TimeDelta::from_micros(i64::from(after));
                host.run_until(early);
                let due = host.next();
                host.now = early;
                host.run();
                // It may have learnt that it needs the host later than it thought, never sooner.
                assert!(due.is_none_or(|due| host.next().is_none_or(|now| now >= due)));
                now = early;
            }
            Operation::Poke(after) | Operation::Rest(after) => {
                now += TimeDelta::from_micros(i64::from(after));
                host.run_until(now);
            }
        }
    }
    host.finish();
    let statistics = host.link.statistics(now.max(host.now));
    assert!((0.0..=1.0).contains(&statistics.utilisation), "{statistics:?}");
    assert_eq!(statistics.delivered.packets, host.delivered.len() as u64);
    assert_eq!(statistics.drops.total(), host.dropped.len() as u64);
    format!("{:?}\n{:?}\n{statistics:?}", host.delivered, host.dropped)
}

proptest! {
    /// Packets are conserved after every input (the host checks), time never runs back, a replay is identical, and runs
    /// that are not due change nothing.
    #[test]
    fn links_keep_their_contract(
        queue in queue(),
        channel in channel(),
        seed in 0_u64..1000,
        operations in prop::collection::vec(operation(), 1..40),
    ) {
        let text = format!("rate = '2 Mbit/s'\n{channel}queue = {{ {queue} }}");
        let first = observe(&text, seed, &operations, true);
        prop_assert_eq!(&first, &observe(&text, seed, &operations, true));
        prop_assert_eq!(&first, &observe(&text, seed, &operations, false));
    }

    /// Where nothing is reordered, packets leave in the order of their coming, and none sooner than serialisation
    /// and propagation allow.
    #[test]
    fn drop_tail_keeps_the_order(
        channel in prop::sample::select(IN_ORDER),
        gaps in prop::collection::vec((0_i64..4000, 40_u64..1501), 1..80),
    ) {
        let text = format!("rate = '2 Mbit/s'\n{channel}queue = {{ kind = 'drop-tail', packets = 20 }}");
        let mut host = Host::new(&text);
        let mut now = Timestamp::ZERO;
        let mut sent = Vec::new();
        for (gap, bytes) in gaps {
            now += TimeDelta::from_micros(gap);
            sent.push(now);
            host.send(now, bytes, Ecn::NotEct);
        }
        host.finish();
        for pair in host.delivered.windows(2) {
            prop_assert!(pair[0].0 <= pair[1].0 && pair[0].1.payload < pair[1].1.payload);
        }
        for (at, packet) in &host.delivered {
            prop_assert!(*at >= sent[packet.payload as usize] + packet.waited);
        }
    }
}

/// A host that calls late finds the same packets at the same places, only later.
#[test]
fn a_late_host_changes_nothing_but_the_delivery() {
    let text = "rate = '1 Mbit/s'\nqueue = { kind = 'codel' }\nloss = { kind = 'independent', rate = 0.1 }";
    let run = |late: bool| {
        let mut host = Host::new(text);
        for n in 0..500_u64 {
            host.send(Timestamp::from_nanos(n * 7_000_000), 1000, Ecn::NotEct);
            if late {
                host.run();
            }
        }
        // One call for all that is left.
        if late {
            host.now = Timestamp::from_nanos(60_000_000_000);
            host.run();
        }
        host.finish();
        host.delivered.iter().map(|(_, packet)| (packet.payload, packet.waited)).collect::<Vec<_>>()
    };
    assert_eq!(run(false), run(true));
}
