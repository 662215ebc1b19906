//! Traces of all formats: what parses, a link can follow or lose packets by.

#![no_main]

use libfuzzer_sys::fuzz_target;
use seaway_link::{
    DropTailConfig, Link, LinkConfig, LossConfig, LossPlace, Node, Packet, QueueConfig, Trace, TraceConfig,
};
use seaway_units::{Bitrate, DataSize, Ecn, Timestamp};

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
    for n in 0..5 {
        link.handle_packet(
            Timestamp::ZERO,
            Link::<u8>::IN,
            Packet::new(DataSize::from_bytes(1500), Ecn::NotEct, n),
        );
    }
    let mut now = Timestamp::ZERO;
    for _ in 0..2000 {
        let Some(due) = link.poll_timeout() else { break };
        assert!(due >= now);
        now = due;
        link.handle_timeout(now);
        while link.poll_packet(now).is_some() {}
    }
    let statistics = link.statistics(now);
    assert_eq!(statistics.arrivals.packets, statistics.delivered.packets + statistics.drops.total() + statistics.inside);
}
