//! str0m's estimator: ours is given its departures and what its feedback said.

use seaway_control::{Fate, Feedback, LocalSignal, PacketReport, PeerReport, SentPacket, Subflow};
use seaway_testkit::build;
use seaway_units::{Bitrate, DataSize, Ecn, RemoteTimestamp, TimeDelta, Timestamp};

struct Out {
    packet: SentPacket,
    sent: Timestamp,
    arrival: Option<Timestamp>,
}

/// Ours over str0m's estimate after each feedback.
fn replay(spec: &str, log: &str) -> Vec<f64> {
    let (mut gcc, _) = build(spec, DataSize::from_bytes(1200), Ecn::NotEct);
    let (min, start, max) = (Bitrate::from_kbps(5), Bitrate::from_mbps(1), Bitrate::from_mbps(10_000));
    gcc.on_signal(Timestamp::ZERO, LocalSignal::Limits { min, start, max });
    let (mut now, mut packets, mut ratios, mut reported) = (Timestamp::ZERO, Vec::new(), Vec::new(), 0);
    for line in log.lines() {
        let words: Vec<_> = line.split(',').collect();
        let micros = |text: &str| TimeDelta::from_micros(text.parse().unwrap());
        now += micros(words[1]);
        if words[0] == "p" {
            let packet = crate::packet(packets.len() as u64, words[3].parse().unwrap());
            let arrival = (!words[2].is_empty()).then(|| now + micros(words[2]));
            gcc.on_sent(now, &packet);
            packets.push(Out { packet, sent: now, arrival });
            continue;
        }
        // A message reports the next so many that arrived, and those missing among them.
        let (mut left, mut reports) = (words[2].parse::<usize>().unwrap(), Vec::new());
        while left > 0 {
            let out = &packets[reported];
            left -= usize::from(out.arrival.is_some());
            let fate = out.arrival.map_or(Fate::Lost, |at| Fate::Received {
                at: Some(RemoteTimestamp::from_nanos(at.as_nanos())),
                ecn: Ecn::NotEct,
            });
            reports.push(PacketReport { packet: out.packet, sent: out.sent, fate });
            reported += 1;
        }
        let (requested, peer) = (&[][..], PeerReport::default());
        gcc.on_feedback(
            now,
            &Feedback { subflow: Subflow(0), rtt: None, packets: &reports, requested, peer },
        );
        ratios.push(gcc.target().rate.as_bps_f64() / words[3].parse::<f64>().unwrap());
    }
    ratios
}

/// The share of updates within 5 %.
fn close(ratios: &[f64]) -> f64 {
    ratios.iter().filter(|ratio| (*ratio - 1.0).abs() <= 0.05).count() as f64 / ratios.len() as f64
}

/// Up to the first over-use ours is within 4 % of str0m's; after it the two remember the link's capacity by different
/// rules and grow apart until the next (`docs/controllers/gcc.md` says why; this holds its numbers).
#[test]
fn growth_and_overuse_beside_str0m() {
    let ratios = replay("gcc(probing=off)", include_str!("logs/str0m_drop.csv"));
    assert_eq!(ratios.len(), 499);
    let before = &ratios[..188];
    assert!(before.iter().all(|ratio| (ratio - 1.0).abs() < 0.04), "{before:?}");
    let found = (close(&ratios), crate::median_error(&ratios));
    assert!(found.0 > 0.5 && found.1 < 0.04, "{found:?}");
}

/// Random loss of 2 % and of 10 %: the bound for high loss is the same.
#[test]
fn random_loss_beside_str0m() {
    for (log, share, median) in [
        (include_str!("logs/str0m_loss2.csv"), 0.45, 0.06),
        (include_str!("logs/str0m_loss10.csv"), 0.55, 0.05),
    ] {
        let ratios = replay("gcc(probing=off)", log);
        let found = (close(&ratios), crate::median_error(&ratios));
        assert!(found.0 > share && found.1 < median, "{found:?}");
    }
}
