//! Traces of all formats: what parses, a link can follow or lose packets by.

#![no_main]

use libfuzzer_sys::fuzz_target;
use seaway_link::{
    DropTailConfig, Link, LinkConfig, LossConfig, LossPlace, Node, Outbox, Packet, QueueConfig, Trace, TraceConfig,
};
use seaway_units::{Bitrate, DataSize, Ecn, TimeDelta, Timestamp};

fuzz_target!(|text: &str| {
    for series in [None, Some("uplink"), Some("UL_bitrate")] {
        if Trace::parse(text, series, true).is_ok() {
            let trace = TraceConfig { file: String::new(), series: series.map(str::to_owned), repeats: true };
            drive(text, LinkConfig { trace: Some(trace), ..LinkConfig::default() });
        }
        let series = series.map(str::to_owned);
        let loss = LossConfig::Trace { file: String::new(), series, repeats: true, at: LossPlace::Exit };
        drive(
            text,
            LinkConfig { rate: Some(Bitrate::from_mbps(1)), loss: Some(loss), ..LinkConfig::default() },
        );
    }
});

/// A few packets, a few thousand events.
fn drive(text: &str, config: LinkConfig) {
    let queue = Some(QueueConfig::DropTail(DropTailConfig::packets(20)));
    let config = LinkConfig { queue, ..config };
    let Ok(plan) = config.plan_with(&mut |_| Ok(text.to_owned())) else { return };
    let mut link = Link::new(&plan, 1, "fuzz").expect("the plan was checked");
    let (mut wake, mut out) = (None, Outbox::default());
    for n in 0..5 {
        let packet = Packet::new(DataSize::from_bytes(1500), Ecn::NotEct, n);
        wake = link.on_packet(Timestamp::ZERO, Link::<u8>::IN, packet, &mut out);
    }
    let mut now = Timestamp::ZERO;
    for _ in 0..2000 {
        let Some(due) = wake.into_iter().chain(out.next_departure()).min() else { break };
        assert!(due >= now);
        now = due;
        wake = link.run(now, now + TimeDelta::from_nanos(1), &mut out);
        while out.pop_departure(now).is_some() {}
    }
    let statistics = link.statistics(now);
    assert_eq!(statistics.arrivals.packets, statistics.delivered.packets + statistics.drops.total() + statistics.inside);
}
