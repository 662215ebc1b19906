use crate::bench::{Bench, Load, Source, ac};
use seaway_link::{Packet, Port};
use seaway_sim::wlan::{AirStatistics, Position, Standard, Station, WlanConfig};
use seaway_units::{Bitrate, DataSize, Ecn, TimeDelta, Timestamp};

/// What becomes of `packets` at once whose data frames never get through: the air, and what was given up.
fn hopeless(config: WlanConfig, packets: u64) -> (AirStatistics, u64) {
    let never = Source { start: TimeDelta::from_secs(9), ..Source::new(1, 0, 1472, Bitrate::from_mbps(1)) };
    let mut bench = Bench::new(config, 1, vec![never]);
    for number in 0..packets {
        let load = Load { to: Port(0), source: 0, number, sent: Timestamp::ZERO };
        let packet = Packet::new(DataSize::from_bytes(1500), Ecn::NotEct, load);
        bench.enter(Port(1), packet);
    }
    bench.run(TimeDelta::from_millis(700));
    (bench.air(), bench.tallies[0].mac)
}

/// `docs/models/wlan.md`, section "Acceptance", rule 9: seven transmissions, then the next frame begins anew.
#[test]
fn a_frame_alone_is_sent_seven_times() {
    let station = vec![Station::at("sta0", Position { x: 45.0, y: 0.0 })];
    let config = WlanConfig { station, ..WlanConfig::new(Standard::G) };
    let (air, given_up) = hopeless(config.clone(), 1);
    assert_eq!((air.attempts, air.acknowledged, given_up), (7, 0, 1));
    assert_eq!(hopeless(WlanConfig { retries: 4, ..config.clone() }, 1).0.attempts, 4);
    let (air, given_up) = hopeless(config, 3);
    assert_eq!((air.attempts, given_up), (21, 3));
}

/// `docs/models/wlan.md`, section "Acceptance", rule 9: an A-MPDU and a request take turns until the frames are too
/// old.
#[test]
fn an_aggregate_is_repeated_for_500_ms() {
    let config = ac(8, 20, &[46.0]);
    let (air, given_up) = hopeless(config, 8);
    assert_eq!(given_up, 8);
    assert!(air.attempts.is_multiple_of(8) && air.acknowledged == 0);
    // Data, no answer, request, answer: about 3 ms with the windows between.
    let beacons = 7;
    let rounds = air.attempts / 8;
    let ppdus = air.ppdus - beacons;
    assert!((50..400).contains(&rounds), "{air:?}");
    assert!(ppdus.abs_diff(3 * rounds) <= 3, "{air:?}");
}
