//! Laws that hold for the cell, whatever its constants.

use super::*;
use crate::cell_host::{CellHost, Load};
use seaway_link::{DropTailConfig, QueueConfig, Trace};
use seaway_units::{Decibels, Probability};

const STILL: Fading = Fading { mean: Bitrate::from_mbps(8), snr: Decibels::new(10.0), speed: 0.0 };
const WALKING: Fading = Fading { speed: 3.0 / 3.6, ..STILL };

/// A cell whose HARQ never fails, of users with these channels; those of others are still.
fn config(channels: &[Fading]) -> CellularPlan {
    let text = r#"
        name = "cell"
        base = { name = "enb" }
        user = [{ name = "ue1" }]
        downlink = "8 Mbit/s"
        uplink = "8 Mbit/s"
        speed = "0 m/s"
        queue = { kind = "drop-tail", packets = 100 }
        harq = { error = 0 }
        background = { intensity = 0 }
    "#;
    let cell: CellularConfig = toml::from_str(text).unwrap();
    let plan = cell.plan_with(&mut |file| Err(format!("{file}: none is named"))).unwrap();
    let user = |(index, &fading): (usize, &Fading)| User {
        name: format!("ue{}", index + 1),
        downlink: Radio::Fading(fading),
        uplink: Radio::Fading(fading),
        ..plan.users[0].clone()
    };
    CellularPlan { users: channels.iter().enumerate().map(user).collect(), ..plan.clone() }
}

type Bench = CellHost<Cellular<Load>>;

fn make(config: &CellularPlan, seed: u64) -> Bench {
    CellHost::new(Cellular::new(config, seed, "cell").unwrap())
}

impl Bench {
    /// A packet of the user at `enter` or `leave`.
    fn packet(&mut self, at: Timestamp, enter: Port, leave: Port, octets: u64) {
        self.send(at, u32::from(enter.0.max(leave.0)) - 1, enter, leave, octets);
    }

    /// Keeps the downlink queue of every user filled for so long; gives each user's rate in Mbit/s after a second.
    fn saturate(&mut self, users: u16, secs: u64) -> Vec<f64> {
        for milli in 0..secs * 1000 {
            for user in 1..=users {
                self.packet(at(milli as f64 + 0.5), Port(0), Port(user), 1250);
                self.packet(at(milli as f64 + 0.6), Port(0), Port(user), 1250);
            }
        }
        let rate = |user| {
            let received =
                self.delivered.iter().filter(|(of, _, at)| *of == user && at.as_nanos() >= 1_000_000_000);
            received.count() as f64 * 1250.0 * 8.0 / (secs - 1) as f64 / 1e6
        };
        (0..u32::from(users)).map(rate).collect()
    }
}

fn at(millis: f64) -> Timestamp {
    Timestamp::from_nanos((millis * 1e6) as u64)
}

#[test]
fn a_user_alone_has_the_whole_cell_and_the_delay_of_a_tti() {
    let rates = make(&config(&[STILL]), 1).saturate(1, 6);
    assert!((rates[0] - 8.0).abs() < 0.02, "{rates:?}");
    let mut bench = make(&config(&[STILL]), 1);
    bench.packet(at(100.3), Port(0), Port(1), 500);
    // At a TTI's own start: waits for the next.
    bench.packet(at(200.0), Port(0), Port(1), 500);
    bench.packet(at(300.3), Port(1), Port(0), 500);
    bench.run_to(at(400.0));
    let delays: Vec<f64> =
        bench.delivered.iter().map(|(_, sent, at)| (*at - *sent).as_millis_f64()).collect();
    // The uplink's first packet waits 10 ms for a grant.
    assert_eq!(delays, [4.7, 5.0, 14.7]);
}

#[test]
fn equal_users_share_equally_and_a_better_channel_gets_its_part_of_the_time() {
    let rates = make(&config(&[STILL, STILL]), 1).saturate(2, 6);
    assert!(rates.iter().all(|rate| (rate - 4.0).abs() < 0.05), "{rates:?}");
    let half = Fading { mean: Bitrate::from_mbps(4), ..STILL };
    let rates = make(&config(&[STILL, half]), 1).saturate(2, 6);
    assert!((rates[0] - 4.0).abs() < 0.1 && (rates[1] - 2.0).abs() < 0.1, "{rates:?}");
}

#[test]
fn proportional_fair_rides_on_the_peaks() {
    let driving = Fading { speed: 30.0 / 3.6, snr: Decibels::new(0.0), ..STILL };
    let channels = [driving; 6];
    let gain = |seed| make(&config(&channels), seed).saturate(6, 8).iter().sum::<f64>() / 8.0;
    let gains: Vec<f64> = (1..=3).map(gain).collect();
    // Six users who fade by themselves carry more together than one in the mean.
    assert!(gains.iter().all(|&gain| gain > 1.25), "{gains:?}");
}

#[test]
fn the_more_others_the_less_for_one() {
    let rate = |arrivals: f64| {
        let mut config = config(&[STILL]);
        config.background.arrivals = arrivals;
        let mut bench = make(&config, 1);
        bench.run_to(at(60_000.0));
        let mut sent = 60_000.0;
        while sent < 70_000.0 {
            bench.packet(at(sent), Port(0), Port(1), 1250);
            sent += 1.0;
        }
        bench.delivered.iter().filter(|(_, _, then)| *then >= at(62_000.0)).count() as f64 / 800.0
    };
    let rates: Vec<f64> = [0.0, 0.1, 0.3, 1.0].map(rate).into();
    // None, 3, 9 and 30 others in the mean at 1.52 Mbit/s each: 8 less what they ask for, then an equal part.
    assert!(
        (rates[0] - 8.0).abs() < 0.1 && rates.windows(2).all(|pair| pair[1] < pair[0] - 0.1),
        "{rates:?}"
    );
    assert!(rates[3] < 0.6, "{rates:?}");
}

#[test]
fn retransmissions_cost_time_and_capacity_and_keep_the_order() {
    let mut config = config(&[STILL]);
    config.harq.error = Probability::new(0.1).unwrap();
    let rates = make(&config, 1).saturate(1, 10);
    // 1 + 0.1 + 0.01 + … transmissions a block.
    assert!((rates[0] / (8.0 * 0.9) - 1.0).abs() < 0.01, "{rates:?}");
    let mut bench = make(&config, 1);
    for index in 0..5000 {
        bench.packet(at(100.0 * f64::from(index) + 0.3), Port(0), Port(1), 500);
    }
    bench.run_to(at(600_000.0));
    let late = |least: f64| {
        let late = bench.delivered.iter().filter(|(_, sent, at)| (*at - *sent).as_millis_f64() >= least);
        late.count() as f64 / 5000.0
    };
    assert_eq!(bench.delivered.len(), 5000);
    assert!(
        (late(12.7) - 0.1).abs() < 0.015 && (late(20.7) - 0.01).abs() < 0.005,
        "{} {}",
        late(12.7),
        late(20.7)
    );
    let mut busy = make(&config, 2);
    busy.saturate(1, 3);
    assert!(busy.delivered.windows(2).all(|pair| pair[0].1 <= pair[1].1), "out of order");
}

#[test]
fn without_acknowledged_mode_what_harq_leaves_is_lost() {
    let mut config = config(&[STILL]);
    config.harq =
        Harq { error: Probability::new(0.3).unwrap(), attempts: 2, residual: Residual::Lost, ..config.harq };
    let mut bench = make(&config, 1);
    for index in 0..5000 {
        bench.packet(at(50.0 * f64::from(index) + 0.3), Port(0), Port(1), 500);
    }
    bench.run_to(at(300_000.0));
    let lost = bench.dropped.len() as f64 / 5000.0;
    assert!((lost - 0.09).abs() < 0.012, "{lost}");
}

#[test]
fn a_trace_is_what_the_cell_carries() {
    let mut config = config(&[STILL]);
    // Two full datagrams every 5 ms: 4.8 Mbit/s.
    config.users[0].downlink = Radio::Trace(Trace::parse("2\n5\n", None, true).unwrap());
    let rates = make(&config, 1).saturate(1, 6);
    assert!((rates[0] - 4.8).abs() < 0.02, "{rates:?}");
}

#[test]
fn packets_are_conserved_and_a_replay_is_the_same() {
    let run = |seed| {
        let mut config = config(&[WALKING, WALKING, STILL]);
        config.harq = Harq {
            error: Probability::new(0.2).unwrap(),
            attempts: 2,
            residual: Residual::Lost,
            ..config.harq
        };
        config.background.arrivals = 0.3;
        let mut bench = make(&config, seed);
        let mut stream = RandomStream::new(seed, "arrivals");
        let mut sent = 0.0;
        while sent < 8000.0 {
            sent += stream.exponential(0.9);
            let user = Port((stream.bits() % 3 + 1) as u16);
            let (enter, leave) = if stream.chance(0.3) { (user, Port(0)) } else { (Port(0), user) };
            bench.packet(at(sent), enter, leave, 40 + stream.bits() % 1460);
        }
        let mut inside = 0;
        for queue in 0..6 {
            let statistics = bench.cell.statistics(queue, bench.now);
            let out = statistics.delivered.packets + statistics.drops.total() + statistics.inside;
            assert_eq!(statistics.arrivals.packets, out, "{statistics:?}");
            assert!(statistics.utilisation <= 1.0, "{statistics:?}");
            inside += statistics.inside;
        }
        assert_eq!(bench.sent as u64, (bench.delivered.len() + bench.dropped.len()) as u64 + inside);
        assert!(!bench.dropped.is_empty());
        bench.delivered
    };
    assert!(run(1) == run(1) && run(1) != run(2));
    let names = config(&[STILL, STILL]).queue_names();
    assert_eq!(names, ["ue1/up", "ue1/down", "ue2/up", "ue2/down"]);
}

#[test]
fn cells_that_cannot_be_are_refused() {
    let refusal = |change: fn(&mut CellularPlan)| {
        let mut config = config(&[STILL]);
        change(&mut config);
        Cellular::<Load>::new(&config, 1, "cell").unwrap_err().to_string()
    };
    for (refusal, expected) in [
        (refusal(|config| config.users.clear()), "`user`: found 0: expected 1 to"),
        (refusal(|config| config.harq.error = Probability::ONE), "`harq.error`: found 1: expected 0 to 0.5"),
        (refusal(|config| config.harq.attempts = 0), "`harq.attempts`: found 0"),
        (refusal(|config| config.averaging = TimeDelta::ZERO), "`averaging`: found 0 s"),
        (refusal(|config| config.background.arrivals = 1e9), "`background`:"),
        (
            refusal(|config| config.users[0].queue = QueueConfig::DropTail(DropTailConfig::packets(0))),
            "`user.0.queue`:",
        ),
    ] {
        assert!(refusal.contains(expected), "{refusal}");
    }
}
