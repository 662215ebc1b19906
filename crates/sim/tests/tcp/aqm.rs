//! Active queue management with responsive connections (`docs/models/queues.md`, section "Acceptance").

use crate::path::{Connection, Path, Setting, config};
use seaway_link::QueueConfig;
use seaway_link::queue::{CoDelConfig, DualPi2Config, PieConfig};
use seaway_sim::tcp::{Congestion, LossRecovery, SenderConfig};
use seaway_units::{Bitrate, TimeDelta};

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Of values that rise: nearest rank.
fn quantile(values: &[f64], part: f64) -> f64 {
    values[((values.len() as f64 * part).ceil() as usize).clamp(1, values.len()) - 1]
}

/// `docs/models/queues.md`, section "Acceptance", rule 4: one Reno over 10 Mbit/s and 100 ms. CoDel drops once 5 ms
/// of queue have stood for 100 ms, when the window is 8 above the product of 120. It is halved to 64 and carries (64
/// + 120) / 2 in the mean for 56 round-trip times, until the link is full for 8: utilisation is 0.795.
#[test]
fn codel_keeps_the_queue_of_a_connection_short() {
    let queue = QueueConfig::CoDel(CoDelConfig::default());
    let reno = Connection::endless(config(LossRecovery::Reno));
    let mut path = Path::new(&Setting { queue, ..Setting::default() }, vec![reno]);
    let used = path.goodputs(20.0, 220.0)[0] * 1.04 / 10e6;
    let median = quantile(&path.waits(0, 20.0), 0.5);
    assert!((used - 0.795).abs() < 0.02 && median <= 10.0, "{used} of the link, {median} ms");
}

/// `docs/models/queues.md`, section "Acceptance", rule 5: twenty Reno flows over 10 Mbit/s and 100 ms wait near the
/// target of 15 ms.
#[test]
fn pie_holds_its_target_under_twenty_connections() {
    let queue = QueueConfig::Pie(PieConfig::default());
    let renos = (0..20).map(|_| Connection::endless(config(LossRecovery::Reno))).collect();
    let mut path = Path::new(&Setting { queue, ..Setting::default() }, renos);
    let used = path.goodputs(20.0, 120.0).iter().sum::<f64>() * 1.04 / 10e6;
    let waits: Vec<f64> = (0..20).flat_map(|index| path.waits(index, 20.0)).collect();
    assert!((10.0..=20.0).contains(&mean(&waits)) && used > 0.95, "{} ms, {used} of the link", mean(&waits));
}

/// `docs/models/queues.md`, section "Acceptance", rule 6: Prague beside CUBIC over 40 Mbit/s and 10 ms.
#[test]
fn a_dual_queue_keeps_one_short_and_holds_the_other_at_its_target() {
    let setting = Setting {
        round_trip: TimeDelta::from_millis(10),
        rate: Bitrate::from_mbps(40),
        queue: QueueConfig::DualPi2(DualPi2Config::default()),
        ..Setting::default()
    };
    let [prague, cubic] = [Congestion::Prague, Congestion::Cubic]
        .map(|congestion| SenderConfig { ecn: true, congestion, ..config(LossRecovery::Sack) })
        .map(Connection::endless);
    let mut path = Path::new(&setting, vec![prague, cubic]);
    let rates = path.goodputs(10.0, 70.0);
    let (low, classic) = (path.waits(0, 10.0), path.waits(1, 10.0));
    assert!((0.5..=2.0).contains(&(rates[0] / rates[1])), "{rates:?}");
    assert!(quantile(&low, 0.99) <= 3.0, "{} ms", quantile(&low, 0.99));
    assert!((10.0..=20.0).contains(&mean(&classic)), "{} ms", mean(&classic));
}
