//! ns3-rmcat's NADA.

use seaway_control::nada::{Nada, NadaConfig, Variant};
use seaway_control::{
    Fate, Feedback, FlowConfig, LocalSignal, PacketReport, PeerReport, RateController, SentPacket, Subflow,
};
use seaway_units::{Bitrate, DataSize, Ecn, RemoteTimestamp, TimeDelta, Timestamp};

const FLOW: FlowConfig = FlowConfig { packet: DataSize::from_bytes(1000), ecn: Ecn::NotEct };

/// Packet `number` of one every 10 ms from 1 s on: when it left, when it arrived, and whether it did.
fn packet(number: u64) -> (SentPacket, Timestamp, RemoteTimestamp, bool) {
    let ms = 10 * number as i64;
    let queueing = match ms {
        10_000..15_000 => (ms - 10_000) * 16,
        15_000..20_000 => 80_000,
        20_000..25_000 => (25_000 - ms) * 16,
        40_000..50_000 => 60_000,
        _ => 0,
    };
    let sent = Timestamp::ZERO + TimeDelta::from_millis(1000 + ms);
    let arrived = sent + TimeDelta::from_millis(30) + TimeDelta::from_micros(queueing);
    let lost = (30_000..50_000).contains(&ms) && number % 50 == 49;
    let packet = SentPacket { backlog: DataSize::ZERO, ..crate::packet(number, 1000) };
    (packet, sent, RemoteTimestamp::from_nanos(arrived.as_nanos()), lost)
}

/// ns3-rmcat's NADA and our draft variant: within 5 % at every update.
#[test]
fn nada_draft_follows_ns3_rmcat() {
    let mut nada = Nada::new(NadaConfig::new(Variant::Draft, FLOW));
    let (min, max) = (Bitrate::from_kbps(150), Bitrate::from_kbps(1500));
    nada.on_signal(Timestamp::ZERO, LocalSignal::Limits { min, start: min, max });
    let (mut sent, mut reported, mut compared, mut worst) = (0, 0, 0, 0.0_f64);
    for line in include_str!("logs/ns3_rmcat_nada.csv").lines() {
        let (now, expected) = line.split_once(',').unwrap();
        let now = Timestamp::from_nanos(now.parse::<u64>().unwrap() * 1000);
        while sent < 6000 && packet(sent).1 <= now {
            nada.on_sent(packet(sent).1, &packet(sent).0);
            sent += 1;
        }
        let made = RemoteTimestamp::from_nanos((now - TimeDelta::from_millis(30)).as_nanos());
        let mut reports = Vec::new();
        while reported < 6000 && packet(reported).2 <= made {
            let (packet, sent, at, lost) = packet(reported);
            let fate = if lost { Fate::Lost } else { Fate::Received { at: Some(at), ecn: Ecn::NotEct } };
            reports.push(PacketReport { packet, sent, fate });
            reported += 1;
        }
        let (requested, peer) = (&[][..], PeerReport::default());
        nada.on_feedback(
            now,
            &Feedback { subflow: Subflow(0), rtt: None, packets: &reports, requested, peer },
        );
        let (rate, expected) = (nada.target().rate.as_bps_f64(), expected.parse::<f64>().unwrap());
        let error = (rate / expected - 1.0).abs();
        assert!(error < 0.05, "{now}: {rate} bit/s, ns3-rmcat {expected}");
        worst = worst.max(error);
        compared += 1;
    }
    assert_eq!(compared, 601);
    assert!(worst < 0.01, "it was closer: {worst}");
}
