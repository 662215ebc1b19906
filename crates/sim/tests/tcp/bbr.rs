//! BBR against what the kernel's does (docs/results/emulate.md) and what its model promises.

use crate::path::{Connection, Path, Setting};
use seaway_link::{DropTailConfig, QueueConfig};
use seaway_sim::tcp::{Congestion, LossRecovery, SenderConfig};
use seaway_units::{Bitrate, TimeDelta};

/// As the kernel has it: acknowledgements of two segments, a timer of 200 ms. `detour` in microseconds.
fn endless(congestion: Congestion, detour: i64) -> Connection {
    let recovery = match congestion {
        Congestion::Bbr => LossRecovery::Rack,
        _ => LossRecovery::Sack,
    };
    let min_rto = TimeDelta::from_millis(200);
    let config = SenderConfig { congestion, recovery, min_rto, ..SenderConfig::default() };
    let detour = TimeDelta::from_micros(detour);
    Connection { delayed_ack: true, detour, ..Connection::endless(config) }
}

/// A round trip of 50 ms and room for so many packets.
fn setting(mbps: u64, packets: u64) -> Setting {
    Setting {
        rate: Bitrate::from_mbps(mbps),
        round_trip: TimeDelta::from_millis(50),
        queue: QueueConfig::DropTail(DropTailConfig::packets(packets)),
        ..Setting::default()
    }
}

#[test]
fn alone_it_fills_the_path_and_little_waits() {
    let mut path = Path::new(&setting(10, 166), vec![endless(Congestion::Bbr, 0)]);
    let goodput = path.goodputs(20.0, 60.0)[0];
    let waits = path.waits(0, 20.0);
    assert!(goodput > 9.3e6, "{goodput}");
    assert!(waits[waits.len() / 2] < 10.0);
}

#[test]
fn random_loss_costs_little_more_than_what_is_lost() {
    for (loss, least) in [(0.01, 9.3e6), (0.05, 8.8e6), (0.1, 7.5e6)] {
        let setting = Setting { loss, ..setting(10, 166) };
        let mut path = Path::new(&setting, vec![endless(Congestion::Bbr, 0)]);
        let goodput = path.goodputs(20.0, 60.0)[0];
        let timeouts = path.sender(0).statistics().timeouts;
        assert!(goodput > least && timeouts == 0, "{loss}: {goodput}, {timeouts}");
    }
}

#[test]
fn flows_of_its_kind_share() {
    let four = [0, 700, 1400, 2100].map(|detour| endless(Congestion::Bbr, detour));
    let rates = Path::new(&setting(20, 330), four.into()).goodputs(20.0, 120.0);
    let (least, most) = rates.iter().fold((f64::MAX, 0.0_f64), |(a, b), &rate| (a.min(rate), b.max(rate)));
    assert!(most / least < 1.5, "{rates:?}");
}

/// CUBIC's share of half of the path, beside the kernel's.
#[test]
fn beside_cubic_it_takes_as_much_as_the_kernels() {
    for (mbps, packets, kernel) in [(4, 33, 0.25), (10, 41, 0.2), (10, 166, 1.0)] {
        let shares = [0, 500, 1500, 3000].map(|detour| {
            let both = vec![endless(Congestion::Cubic, 0), endless(Congestion::Bbr, detour)];
            let rates = Path::new(&setting(mbps, packets), both).goodputs(20.0, 80.0);
            2.0 * rates[0] / (rates[0] + rates[1])
        });
        let mean = shares.iter().sum::<f64>() / 4.0;
        assert!((0.85..1.15).contains(&(mean / kernel)), "{mbps} Mbit/s, {packets} packets: {shares:?}");
    }
}
