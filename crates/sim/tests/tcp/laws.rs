//! Throughput against loss and marks, utilisation, and sharing.

use crate::path::{Connection, Path, Script, Setting, config};
use seaway_link::queue::{DualPi2Config, RedConfig};
use seaway_link::{DropTailConfig, QueueConfig};
use seaway_sim::tcp::{Congestion, LossRecovery, SenderConfig};
use seaway_units::{Bitrate, TimeDelta, Timestamp};

/// Send rate in segments/s under independent loss `p` (Padhye et al., full formula without a limit to the window),
/// `b` segments an acknowledgement, round trip and first timeout in seconds.
fn padhye(p: f64, b: f64, rtt: f64, timeout: f64) -> f64 {
    let c = (2.0 + b) / (3.0 * b);
    let w = c + (8.0 * (1.0 - p) / (3.0 * b * p) + c * c).sqrt();
    let survive = |n: f64| libm::pow(1.0 - p, n);
    let q = ((1.0 - survive(3.0)) * (1.0 + survive(3.0) * (1.0 - survive(w - 3.0))) / (1.0 - survive(w)))
        .min(1.0);
    let g = 1.0 + (0..6).map(|n| f64::from(1 << n) * libm::pow(p, f64::from(n + 1))).sum::<f64>();
    ((1.0 - p) / p + w + q / (1.0 - p)) / (rtt * (b * w / 2.0 + 1.0) + q * timeout * g / (1.0 - p))
}

#[test]
fn the_law_has_the_worked_values() {
    for (p, fast, slow) in [
        (0.001, 3042.5, 2989.4),
        (0.003, 1735.4, 1648.5),
        (0.01, 918.5, 785.5),
        (0.03, 489.9, 334.9),
        (0.1, 218.9, 99.4),
    ] {
        for (timeout, kbps) in [(0.2, fast), (1.0, slow)] {
            let value = padhye(p, 1.0, 0.1008, timeout) * 8.0;
            assert!((value - kbps).abs() < 0.06, "p {p}, T0 {timeout}: {value}");
        }
    }
}

fn fast_timers(recovery: LossRecovery, congestion: Congestion) -> SenderConfig {
    SenderConfig { congestion, min_rto: TimeDelta::from_millis(200), ..config(recovery) }
}

/// Mean goodput in kbit/s under independent loss.
fn goodput(config: SenderConfig, loss: f64) -> f64 {
    const SEEDS: u64 = 3;
    let run = |seed| {
        let setting = Setting { loss, seed, ..Setting::default() };
        Path::new(&setting, vec![Connection::endless(config)]).goodputs(20.0, 420.0)[0] / 1e3
    };
    (1..=SEEDS).map(run).sum::<f64>() / SEEDS as f64
}

/// Goodput stands within 10 % of the law up to p = 0.03 and within 25 % at 0.1; Reno, which the law does not know,
/// lies 4 to 16 % below NewReno from 0.01 on.
#[test]
fn goodput_under_random_loss_follows_the_law() {
    for (p, tolerance) in [(0.001, 0.1), (0.003, 0.1), (0.01, 0.1), (0.03, 0.1), (0.1, 0.25)] {
        let expected = padhye(p, 1.0, 0.1008, 0.2) * 8.0;
        let [reno, newreno, sack] = [LossRecovery::Reno, LossRecovery::NewReno, LossRecovery::Sack]
            .map(|recovery| goodput(fast_timers(recovery, Congestion::Reno), p));
        for (name, kbps) in [("newreno", newreno), ("sack", sack)] {
            assert!((kbps / expected - 1.0).abs() < tolerance, "p {p}: {name} {kbps}, the law {expected}");
        }
        if p >= 0.01 {
            assert!((0.84..0.97).contains(&(reno / newreno)), "p {p}: reno {reno}, newreno {newreno}");
        }
    }
}

/// `docs/models/tcp.md`, section "Laws", has for CUBIC over SACK 3536, 1011, 527 and 224 kbit/s.
#[test]
fn cubic_gains_where_loss_is_rare() {
    for (p, expected) in [(0.001, 3536.0), (0.01, 1011.0), (0.03, 527.0), (0.1, 224.0)] {
        let kbps = goodput(fast_timers(LossRecovery::Sack, Congestion::Cubic), p);
        let tolerance = if p < 0.1 { 0.1 } else { 0.25 };
        assert!((kbps / expected - 1.0).abs() < tolerance, "p {p}: {kbps}, expected {expected}");
    }
}

/// The queue holds a bandwidth-delay product: the window swings between one and two of them, and grows back in
/// half its top in round trips.
#[test]
fn a_queue_of_one_product_keeps_the_link_busy() {
    let setting = Setting { rate: Bitrate::from_mbps(4), ..Setting::default() };
    let queue = QueueConfig::DropTail(DropTailConfig::packets(50));
    let setting = Setting { queue, ..setting };
    for recovery in [LossRecovery::NewReno, LossRecovery::Sack] {
        let mut path = Path::new(&setting, vec![Connection::endless(config(recovery))]);
        path.run_to(40.0);
        let before = path.sender(0).statistics();
        let kbps = path.goodputs(40.0, 240.0)[0] / 1e3;
        let share = kbps / (4000.0 * 1000.0 / 1040.0);
        assert!(share > 0.99, "{recovery:?}: {share}");
        // A top near 98 segments; 49 round trips of 0.15 s in the mean: some 27 teeth in 200 s.
        let teeth = path.sender(0).statistics().recoveries - before.recoveries;
        assert!((24..=31).contains(&teeth), "{recovery:?}: {teeth}");
    }
}

fn jain(rates: &[f64]) -> f64 {
    let sum: f64 = rates.iter().sum();
    sum * sum / (rates.len() as f64 * rates.iter().map(|rate| rate * rate).sum::<f64>())
}

#[test]
fn equal_connections_share_evenly_and_a_long_way_costs() {
    let newreno = || Connection::endless(config(LossRecovery::NewReno));
    let red = QueueConfig::Red(RedConfig::default());
    let rates = Path::new(&Setting { queue: red, ..Setting::default() }, vec![newreno(), newreno()])
        .goodputs(20.0, 320.0);
    assert!(jain(&rates) > 0.98, "{rates:?}");

    // Eight of each: single connections at a full queue differ much and for long.
    let millis = [0, 1, 2, 3, 4, 5, 6, 7];
    let delayed = |detour| Connection { detour: TimeDelta::from_millis(detour), ..newreno() };
    let all = millis.map(delayed).into_iter().chain(millis.map(|more| delayed(100 + more))).collect();
    let rates = Path::new(&Setting::default(), all).goodputs(50.0, 250.0);
    let [near, far] = [&rates[..8], &rates[8..]].map(|rates| rates.iter().sum::<f64>());
    assert!((2.0..4.0).contains(&(near / far)), "{rates:?}");
}

#[test]
fn marks_cost_as_much_as_losses_and_nothing_is_sent_again() {
    let run = |config: SenderConfig, script: Script| {
        let connection = Connection { script, ..Connection::endless(config) };
        let mut path = Path::new(&Setting::default(), vec![connection]);
        let kbps = path.goodputs(50.0, 450.0)[0] / 1e3;
        (kbps, path.sender(0).statistics())
    };
    let capable = SenderConfig { ecn: true, ..config(LossRecovery::Sack) };
    let (lost, _) = run(config(LossRecovery::Sack), Script::losing_every(100));
    let (marked, statistics) = run(capable, Script::marking_every(100));
    assert_eq!((statistics.resent, statistics.timeouts), (0, 0));
    assert!((marked / lost - 1.0).abs() < 0.05, "marked {marked}, lost {lost}");
    let abe = SenderConfig { congestion: Congestion::RenoAbe, ..capable };
    let (milder, _) = run(abe, Script::marking_every(100));
    // √((1 + β) / (1 − β) / 3) at β = 0.8.
    assert!((milder / marked / 1.732 - 1.0).abs() < 0.1, "milder {milder}, marked {marked}");
}

/// A step of 1 ms lies above a seventh of the round trip of 5 ms: the queue stays short and the link busy.
#[test]
fn dctcp_keeps_a_queue_short_that_marks_by_a_step() {
    let setting = Setting {
        round_trip: TimeDelta::from_millis(5),
        rate: Bitrate::from_mbps(50),
        queue: QueueConfig::DualPi2(DualPi2Config {
            min_threshold: TimeDelta::from_millis(1),
            range: TimeDelta::from_nanos(1),
            ..DualPi2Config::default()
        }),
        ..Setting::default()
    };
    let dctcp = SenderConfig { ecn: true, congestion: Congestion::Dctcp, ..config(LossRecovery::Sack) };
    let mut path = Path::new(&setting, vec![Connection::endless(dctcp)]);
    let mbps = path.goodputs(5.0, 25.0)[0] / 1e6 * 1.04;
    assert!(mbps > 0.95 * 50.0, "{mbps}");
    let link = path.world.link(path.bottleneck).expect("a link");
    let waiting = link.statistics(Timestamp::from_nanos(25_000_000_000)).waiting_mean * 1040.0 * 8.0 / 50e6;
    assert!(waiting < 0.002, "{waiting}");
}

/// The path of RFC 9332's evaluation: 40 Mbit/s, a base round trip of 10 ms, the queue's own constants.
fn dual_queue() -> Setting {
    Setting {
        round_trip: TimeDelta::from_millis(10),
        rate: Bitrate::from_mbps(40),
        queue: QueueConfig::DualPi2(DualPi2Config::default()),
        ..Setting::default()
    }
}

fn prague() -> SenderConfig {
    SenderConfig { ecn: true, congestion: Congestion::Prague, ..config(LossRecovery::Sack) }
}

#[test]
fn prague_alone_keeps_the_queue_near_a_millisecond() {
    let mut path = Path::new(&dual_queue(), vec![Connection::endless(prague())]);
    let mbps = path.goodputs(5.0, 35.0)[0] / 1e6 * 1.04;
    assert!(mbps > 0.95 * 40.0, "{mbps}");
    let statistics = path.world.link(path.bottleneck).expect("a link").statistics(path.world.now());
    let waiting = statistics.waiting_mean * 1040.0 * 8.0 / 40e6;
    assert!((0.0001..0.0015).contains(&waiting), "{waiting}");
    assert_eq!((statistics.drops.total(), path.sender(0).statistics().resent), (0, 0));
}

/// Base round trips of 5 and 20 ms: without the bound the ratio would be about four.
#[test]
fn prague_depends_little_on_the_round_trip() {
    let setting = Setting { round_trip: TimeDelta::from_millis(5), ..dual_queue() };
    let far = Connection { detour: TimeDelta::from_millis(15), ..Connection::endless(prague()) };
    let rates = Path::new(&setting, vec![Connection::endless(prague()), far]).goodputs(10.0, 70.0);
    assert!((0.5..2.0).contains(&(rates[0] / rates[1])), "{rates:?}");
}
