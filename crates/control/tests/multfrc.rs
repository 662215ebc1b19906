//! MULTFRC and CTFRC in a closed loop: 1 Mbit/s behind a lossy last hop, 760 B, a round-trip time of 168 ms.

use seaway_testkit::build;
use seaway_testkit::path::{Bottleneck, Path, PathRun};
use seaway_units::{Bitrate, DataSize, Ecn, TimeDelta};

const PACKET: DataSize = DataSize::from_bytes(760);
const LEAST_RTT: f64 = 0.168;
/// How many connections fit at each loss rate, by the loss events that a receiver reports: with the simple
/// equation and with the full one.
const OPTIMUM: [(f64, f64, f64); 5] =
    [(0.01, 2.12, 2.30), (0.02, 2.93, 3.42), (0.03, 3.52, 4.42), (0.04, 3.99, 5.38), (0.05, 4.40, 6.35)];
const SIMPLE: &str = "equation=simple(1.224745)";
/// Decisions every 2.5 s, so that a run of minutes settles.
const QUICK: &str = "ignored=5, averaged=10";

fn wireless(spec: &str, loss: f64, seed: u64) -> PathRun {
    let halves = build(spec, PACKET, Ecn::NotEct);
    let rate = Bitrate::from_mbps(1);
    let serialisation = rate.time_to_send(PACKET).unwrap();
    let bottleneck = Bottleneck { rate, queue: TimeDelta::from_millis(500) };
    let path = Path::new(TimeDelta::from_secs_f64(LEAST_RTT) - serialisation);
    PathRun::new(Path { packet: PACKET, bottleneck: Some(bottleneck), ..path }.losing(loss, seed), halves)
}

/// What arrived of what could, after a minute.
fn utilisation(run: &mut PathRun, loss: f64, seconds: i64) -> f64 {
    run.measure(TimeDelta::from_secs(120));
    run.receive_rate(TimeDelta::from_secs(seconds)).as_bps_f64() / (1e6 * (1.0 - loss))
}

/// Fixed connections against the oracle, within 7 %.
#[test]
fn fixed_connections_against_the_oracle() {
    for (loss, simple, full) in OPTIMUM {
        for (equation, optimum) in [(SIMPLE, simple), ("equation=full", full)] {
            for count in [1, 2, 3] {
                let mut run = wireless(&format!("tfrc(count={count}, {equation}, damping=off)"), loss, 11);
                let measured = utilisation(&mut run, loss, 600);
                let oracle = (f64::from(count) / optimum).min(1.0);
                assert!(
                    (measured / oracle - 1.0).abs() < 0.07,
                    "{equation}, p {loss}, {count}: {measured:.3} for {oracle:.3}"
                );
            }
        }
    }
}

/// It finds the number of connections that fit, or one beside it: the commonest, and three quarters of the time.
#[test]
fn finds_the_number_of_connections() {
    for (loss, optimum, _) in OPTIMUM {
        let mut run = wireless(&format!("multfrc({SIMPLE}, {QUICK})"), loss, 5);
        run.measure(TimeDelta::from_secs(120));
        let mut seconds = [0u32; 17];
        for _ in 0..900 {
            run.measure(TimeDelta::from_secs(1));
            seconds[run.gauge("subflows").unwrap() as usize] += 1;
        }
        let fits = optimum as usize;
        let commonest = (0..17).max_by_key(|count| seconds[*count]).unwrap();
        assert!(commonest.abs_diff(fits) <= 1, "p {loss}: {seconds:?} for {optimum}");
        let near: u32 = seconds[fits - 1..=fits + 1].iter().sum();
        assert!(near > 675, "p {loss}: {seconds:?} for {optimum}");
    }
}

/// Without loss one connection fills the link, and stays alone; with the least of averages too, as the first slow start
/// overflows the queue and the windows after it see it drained.
#[test]
fn stays_alone_without_loss() {
    for options in [QUICK, "rtt_min=average", "ignored=5, averaged=10, rtt_min=average"] {
        let mut run = wireless(&format!("multfrc({options})"), 0.0, 1);
        let used = utilisation(&mut run, 0.0, 300);
        assert_eq!(run.gauge("subflows"), Some(1.0), "{options}");
        assert!(used > 0.95, "{options}: {used}");
    }
}

/// CTFRC uses at least what MULTFRC does, and 95 %; its queue is what it tolerates, or less.
#[test]
fn ctfrc_fills_the_rest() {
    for (loss, ..) in OPTIMUM {
        let mut whole = wireless(&format!("multfrc({SIMPLE}, {QUICK})"), loss, 5);
        let whole = utilisation(&mut whole, loss, 600);
        let mut run = wireless(&format!("ctfrc({SIMPLE}, {QUICK})"), loss, 5);
        let combined = utilisation(&mut run, loss, 600);
        let rtt = run.counters.rtt_sum / run.counters.reports as f64;
        assert!(combined >= whole, "p {loss}: {combined:.3}, MULTFRC {whole:.3}");
        assert!(combined >= 0.95, "p {loss}: {combined:.3}");
        assert!(rtt <= 1.4 * LEAST_RTT + 0.006, "p {loss}: {rtt}");
    }
}

/// The virtual flow's loss event rate is the loss rate where losses do not crowd: within 10 % of p.
#[test]
fn virtual_flow_samples_the_loss_rate() {
    let path = Path { packet: PACKET, ..Path::new(TimeDelta::from_millis(100)) };
    let halves = build(&format!("ctfrc({SIMPLE}, max=4, {QUICK})"), PACKET, Ecn::NotEct);
    let loss = 0.02;
    let mut run = PathRun::new(path.losing(loss, 3), halves);
    run.measure(TimeDelta::from_secs(120));
    assert_eq!(run.gauge("connections"), Some(4.0));
    let (mut sent, mut inverse) = (0, 0.0);
    for _ in 0..3000 {
        sent += run.measure(TimeDelta::from_secs(1)).sent;
        inverse += 1.0 / run.gauge("loss_event_rate").unwrap();
    }
    let virtual_a_round_trip = sent as f64 / 3000.0 * 0.1 / 4.0;
    let expected = 1.0 / loss + virtual_a_round_trip;
    assert!((inverse / 3000.0 / expected - 1.0).abs() < 0.1, "{} for {expected}", inverse / 3000.0);
}

/// The other forms take their place: worth about as many connections as fit.
#[test]
fn relatives() {
    for (spec, least) in [
        (format!("multfrc(form=iimd, {SIMPLE}, {QUICK})"), 0.6),
        (format!("multfrc(form=lerd, {SIMPLE}, {QUICK})"), 0.85),
        (format!("ctfrc(form=aio, {SIMPLE}, {QUICK})"), 0.95),
        ("multfrc(form=weighted, n=6)".to_owned(), 0.85),
    ] {
        let mut run = wireless(&spec, 0.04, 5);
        let used = utilisation(&mut run, 0.04, 300);
        assert!((least..=1.01).contains(&used), "{spec}: {used}");
    }
}

/// MulTFRC of weight n takes n times the rate of one under the same loss.
#[test]
fn weight_multiplies_the_rate() {
    let rate = |n: f64| {
        let halves = build(&format!("multfrc(form=weighted, n={n})"), PACKET, Ecn::NotEct);
        let path = Path { packet: PACKET, ..Path::new(TimeDelta::from_millis(100)) };
        let mut run = PathRun::new(path.losing(0.002, 9), halves);
        run.measure(TimeDelta::from_secs(120));
        run.send_rate(TimeDelta::from_secs(600)).as_bps_f64()
    };
    let one = rate(1.0);
    for n in [0.5, 2.0, 4.0] {
        let ratio = rate(n) / one;
        assert!((ratio / n - 1.0).abs() < 0.25, "{n}: {ratio}");
    }
}
