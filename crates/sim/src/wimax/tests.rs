//! The numbers of `docs/models/wimax.md`, section "Acceptance" and the sections before it.

use super::*;
use crate::cell_host::{CellHost, Load};
use seaway_units::{Probability, TimeDelta};

const FRAME: TimeDelta = TimeDelta::from_millis(5);

fn station(name: &str) -> Station {
    Station { name: name.to_owned(), ..s003().stations[0].clone() }
}

/// S003's channel: QPSK 3/4, three stations with an equal part each.
fn s003() -> WimaxPlan {
    let text = r#"
        name = "cell"
        base = { name = "bs" }
        station = [{ name = "ss1" }, { name = "ss2" }, { name = "ss3" }]
        frame = "5 ms"
        ratio = [1, 3]
        modulation = "qpsk-3/4"
        queue = { kind = "drop-tail", packets = 50 }
    "#;
    toml::from_str::<WimaxConfig>(text).unwrap().plan().unwrap()
}

/// Flow *i* goes up from station 0 by `services[i]`.
fn opened(services: &[Service]) -> WimaxPlan {
    let open = |(flow, &service): (usize, &Service)| Connection {
        flow: flow as u32,
        station: 0,
        is_uplink: true,
        is_feedback: false,
        service,
    };
    WimaxPlan { connections: services.iter().enumerate().map(open).collect(), ..s003() }
}

type Bench = CellHost<Wimax<Load>>;

fn make(config: WimaxPlan) -> Bench {
    CellHost::new(Wimax::new(config, 1, "cell").unwrap())
}

impl Bench {
    fn up(&mut self, at: Timestamp, flow: u32, octets: u64) {
        self.send(at, flow, Port(1), Port(0), octets);
    }

    /// Delays in ms of a flow from `since` on.
    fn delays(&self, flow: u32, since: Timestamp) -> Vec<f64> {
        let of_flow = self.delivered.iter().filter(|(of, sent, _)| *of == flow && *sent >= since);
        of_flow.map(|(_, sent, at)| (*at - *sent).as_millis_f64()).collect()
    }
}

fn millis(at: f64) -> Timestamp {
    Timestamp::from_nanos((at * 1e6) as u64)
}

/// Mean, least and largest.
fn of(values: &[f64]) -> (f64, f64, f64) {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    (mean, least, values.iter().copied().fold(0.0, f64::max))
}

/// Keeps a queue of each flow full and counts whole packets a frame.
fn saturated(mut config: WimaxPlan, octets: u64, frames: u64) -> f64 {
    config.stations.truncate(1);
    let mut bench = make(config);
    for index in 0..frames {
        let at = FRAME * index as i64;
        for _ in 0..bench.cell.config.uplink_backlog(octets) {
            bench.up(Timestamp::ZERO + at, 0, octets);
        }
    }
    bench.run_to(Timestamp::ZERO + FRAME * frames as i64);
    bench.delivered.len() as f64 / frames as f64
}

impl WimaxPlan {
    /// More packets than a grant of a whole frame holds.
    fn uplink_backlog(&self, octets: u64) -> u64 {
        u64::from(self.frame.uplink_slots()) * self.stations[0].modulation.octets_per_slot() / octets + 2
    }
}

#[test]
fn section_2_saturated_counts() {
    // A full frame of 16-QAM 1/2 and of QPSK 1/2 for one station, S = 1028.
    for (modulation, rate, flat, exact) in
        [(Modulation::Qam16R12, 4968, 959.1, 957.5), (Modulation::Qpsk12, 2484, 479.5, 478.0)]
    {
        let mut config = opened(&[Service::Rtps]);
        config.stations[0].modulation = modulation;
        config.stations.truncate(1);
        let grant = config.static_grants().unwrap()[0];
        assert_eq!(grant, rate);
        let per_frame = saturated(config, 1028, 4000);
        let formula = (grant as f64 - 8.0) / 1036.0;
        assert!((formula * 200.0 - exact).abs() < 0.1 && formula * 200.0 < flat);
        assert!((per_frame / formula - 1.0).abs() < 0.001, "{per_frame} for {formula}");
    }
}

#[test]
fn section_5_equal_split_of_the_calibrated_channel() {
    assert_eq!(s003().static_grants().unwrap(), [1242, 1242, 1242]);
    let mut literal = s003();
    for station in &mut literal.stations {
        station.share = Some(Share::Rate(Bitrate::from_mbps(2)));
    }
    assert_eq!(literal.static_grants().unwrap(), [1250, 1250, 1250]);
    let mut polled = s003();
    polled.grants = Grants::Static { poll_slots: 6 };
    polled.stations[2].share = Some(Share::Slots(8));
    assert_eq!(polled.static_grants().unwrap(), [200 * 9, 200 * 9, 72]);
}

/// What the first grants carry of two queues of three packets of 1000 octets, g = 2500.
fn first_frames(services: [Service; 2], scheduler: Scheduler, ugs: u64) -> Vec<Vec<u32>> {
    let mut config = opened(&services);
    config.scheduler = scheduler;
    config.stations[0].share = Some(Share::Rate(config.frame.rate(2500)));
    config.stations[0].ugs = config.frame.rate(ugs);
    let mut bench = make(config);
    for _ in 0..3 {
        bench.up(Timestamp::ZERO, 1, 1000);
        bench.up(Timestamp::ZERO, 0, 1000);
    }
    bench.run_to(millis(20.0));
    let end = |frame: u64| Timestamp::ZERO + FRAME * frame as i64 + bench.cell.config.frame.uplink_end();
    let of_frame = |frame| {
        let here = bench.delivered.iter().filter(|(_, _, at)| *at == end(frame));
        here.map(|(flow, _, _)| *flow).collect::<Vec<_>>()
    };
    (0..3).map(of_frame).collect()
}

#[test]
fn section_12_3_scheduler() {
    use Service::{BestEffort, Ertps, Nrtps, Rtps, Ugs};
    let strict = Scheduler::default();
    // Two whole and 476 octets of the third; then 524 + 8, 1008 and 952 of the second.
    assert_eq!(first_frames([Rtps, Nrtps], strict, 0), [vec![0, 0], vec![0, 1], vec![1, 1]]);
    assert_eq!(first_frames([Nrtps, BestEffort], strict, 0), [vec![0, 0], vec![0, 1], vec![1, 1]]);
    assert_eq!(first_frames([Nrtps, Rtps], strict, 0), [vec![1, 1], vec![1, 0], vec![0, 0]]);
    // UGS first, and no more than its reservation of 1100: one and 84 octets of the second.
    assert_eq!(first_frames([Ugs, Ertps], strict, 1100)[0], [0, 1]);
    // One packet a visit.
    let visit = Scheduler { visit: Some(1), ..strict };
    assert_eq!(first_frames([Rtps, Nrtps], visit, 0)[0], [0, 1]);
}

#[test]
fn section_6_cyclic_order_stays_where_the_grant_ended() {
    let first = |order| {
        let mut config = opened(&[Service::Rtps, Service::Nrtps]);
        config.scheduler.order = order;
        let mut bench = make(config);
        // A backlog of nrtPS is in service when an rtPS packet comes.
        for _ in 0..10 {
            bench.up(Timestamp::ZERO, 1, 1000);
        }
        bench.up(millis(6.0), 0, 1000);
        bench.run_to(millis(100.0));
        bench.delivered.iter().position(|(flow, _, _)| *flow == 0).unwrap()
    };
    // In the frame at 5 ms strict serves rtPS first; cyclic when the ten are gone.
    assert_eq!(first(Order::Strict), 1);
    assert_eq!(first(Order::Cyclic), 10);
}

/// Packets of `octets` more than 20 ms apart with a phase that passes evenly through the frame.
fn apart(config: WimaxPlan, octets: u64, count: u64) -> Bench {
    let mut bench = make(config);
    for index in 0..count {
        bench.up(millis(25.0 * index as f64 + 5.0 * index as f64 / count as f64 + 0.0003), 0, octets);
    }
    bench.run_to(millis(25.0 * (count + 2) as f64));
    bench
}

#[test]
fn section_12_4_delay_of_an_empty_system() {
    let bench = apart(opened(&[Service::Rtps]), 1000, 2000);
    let (mean, least, largest) = of(&bench.delays(0, Timestamp::ZERO));
    assert!((mean - 6.20).abs() < 0.05, "mean {mean}");
    assert!(least >= 3.70 && largest <= 8.71 && largest - least > 4.95, "{least} to {largest}");
    assert_eq!(bench.delivered.len(), 2000);
}

#[test]
fn section_12_5_overload() {
    let mut bench = make(opened(&[Service::Rtps]));
    let gap = 8000.0 / 2200.0;
    let mut at = 0.7;
    while at < 60_000.0 {
        bench.up(millis(at), 0, 1000);
        at += gap;
    }
    bench.run_to(millis(60_000.0));
    let since = millis(2000.0);
    let delays = bench.delays(0, since);
    let measured = 58.0;
    let received = bench.delivered.iter().filter(|(_, _, at)| *at >= since).count() as f64;
    let throughput = received * 8000.0 / measured / 1e6;
    assert!((throughput / 1.9587 - 1.0).abs() < 0.002, "{throughput}");
    let lost = bench.dropped.iter().filter(|(_, sent)| *sent >= since).count() as f64;
    let loss = lost / (measured * 1000.0 / gap);
    assert!((loss - 0.110).abs() < 0.003, "{loss}");
    let (mean, least, largest) = of(&delays);
    assert!((mean - 205.0).abs() < 1.0, "mean {mean}");
    assert!((200.0..=209.0).contains(&least) && (200.0..=209.0).contains(&largest), "{least} to {largest}");
}

#[test]
fn section_7_cbr_alone() {
    let mut bench = make(opened(&[Service::Rtps]));
    for index in 0..3000 {
        bench.up(millis(0.123 + 16.0 / 3.0 * f64::from(index)), 0, 1000);
    }
    bench.run_to(millis(17_000.0));
    let (mean, least, largest) = of(&bench.delays(0, Timestamp::ZERO));
    assert!((mean - 6.34).abs() < 0.2, "mean {mean}");
    assert!(least > 3.7 && largest < 8.8, "{least} to {largest}");
}

#[test]
fn section_12_6_dynamic_grants() {
    let mut config = opened(&[Service::Rtps]);
    config.grants = Grants::Dynamic(Polling::default());
    let bench = apart(config.clone(), 1000, 2000);
    let (mean, least, largest) = of(&bench.delays(0, Timestamp::ZERO));
    assert!((mean - 11.2).abs() < 0.2, "mean {mean}");
    assert!(least >= 8.70 && largest <= 13.71, "{least} to {largest}");
    // A grant that comes a frame later.
    config.grants = Grants::Dynamic(Polling { map_relevance: 1, ..Polling::default() });
    let (later, ..) = of(&apart(config, 1000, 500).delays(0, Timestamp::ZERO));
    assert!((later - mean - 5.0).abs() < 0.1, "{later}");
}

#[test]
fn section_4_dynamic_grants_carry_the_whole_uplink() {
    let mut config = opened(&[Service::Rtps]);
    config.grants = Grants::Dynamic(Polling::default());
    let mut bench = make(config);
    for index in 0..4000 {
        bench.up(millis(f64::from(index)), 0, 1000);
    }
    bench.run_to(millis(4000.0));
    // 414 slots of 9 octets: (3726 − 2 − 8)/1008 packets a frame of 5 ms.
    let per_frame = bench.delivered.len() as f64 / 800.0;
    assert!((per_frame / (3716.0 / 1008.0) - 1.0).abs() < 0.01, "{per_frame}");
}

#[test]
fn section_3_every_service_is_served_by_its_own_means() {
    use Service::{BestEffort, Ertps, Nrtps, Rtps, Ugs};
    let mean = |service| {
        let mut config = opened(&[service]);
        config.grants = Grants::Dynamic(Polling::default());
        config.stations[0].ugs = Bitrate::from_mbps(2);
        config.stations[0].ertps = Bitrate::from_mbps(2);
        let bench = apart(config, 1000, 300);
        assert_eq!(bench.delivered.len(), 300, "{service:?}");
        of(&bench.delays(0, Timestamp::ZERO)).0
    };
    let (ugs, ertps, rtps) = (mean(Ugs), mean(Ertps), mean(Rtps));
    // No request to wait for; after silence an ertPS grant is the first one again.
    assert!((ugs - 6.2).abs() < 0.1 && (ertps - 6.2).abs() < 0.1, "{ugs} {ertps}");
    // Contention costs the mean backoff of a window of eight chances, two a frame, and more.
    for contended in [mean(Nrtps), mean(BestEffort)] {
        assert!(contended > rtps + 5.0 && contended < rtps + 15.0, "{contended}");
    }
}

#[test]
fn section_4_stations_that_contend_all_get_through() {
    let mut config = s003();
    config.grants = Grants::Dynamic(Polling::default());
    config.stations = (0..20).map(|index| station(&format!("ss{index}"))).collect();
    let mut bench = make(config);
    for round in 0..20 {
        for index in 0..20 {
            bench.send(millis(f64::from(round) * 200.0), 0, Port(index + 1), Port(0), 500);
        }
    }
    bench.run_to(millis(8000.0));
    assert_eq!(bench.delivered.len(), 400);
}

#[test]
fn section_9_feedback_goes_down_ahead_of_data() {
    let feedback =
        Connection { flow: 1, station: 0, is_uplink: false, is_feedback: true, service: Service::Rtps };
    let data = Connection { flow: 2, is_feedback: false, ..feedback };
    let run = |downlink| {
        let config = WimaxPlan { downlink, connections: vec![feedback, data], ..s003() };
        let mut bench = make(config);
        // 3 Mbit/s into 1.81, and feedback whose phase passes through the frame.
        for index in 0..2000 {
            let at = 2.673 * f64::from(index);
            bench.send(millis(at), 2, Port(0), Port(1), 1000);
            if index % 10 == 0 {
                bench.send(millis(at + 0.3), 1, Port(0), Port(1), 40);
            }
        }
        bench.run_to(millis(6000.0));
        let lost = bench.dropped.iter().filter(|(flow, _)| *flow == 1).count();
        (of(&bench.delays(1, millis(2000.0))), lost)
    };
    let ((mean, least, largest), lost) = run(Downlink::Priority);
    assert!((mean - 3.6).abs() < 0.3 && least >= 1.13 && largest <= 6.14 && lost == 0, "{mean}");
    let ((mean, ..), lost) = run(Downlink::Shared);
    assert!(mean > 100.0 && lost > 20, "{mean} {lost}");
    let ((mean, least, largest), lost) = run(Downlink::Fixed(TimeDelta::from_millis(6)));
    assert!(mean == 6.0 && least == 6.0 && largest == 6.0 && lost == 0);
}

#[test]
fn section_9_downlink_capacity() {
    let config = s003();
    assert_eq!(config.downlink_octets(0), 1134);
    let mut config = s003();
    config.stations.iter_mut().for_each(|station| station.modulation = Modulation::Qam16R12);
    assert!((config.frame.rate(config.downlink_octets(0)).as_bps_f64() / 2.42e6 - 1.0).abs() < 0.002);
}

#[test]
fn section_11_edges() {
    // An arrival at the cut-off itself waits for the next frame.
    let mut bench = make(opened(&[Service::Rtps]));
    let cut_off = Timestamp::ZERO + bench.cell.config.frame.uplink_start();
    bench.up(cut_off, 0, 100);
    bench.run_to(millis(20.0));
    assert_eq!(bench.delays(0, Timestamp::ZERO).len(), 1);
    assert!(bench.delays(0, Timestamp::ZERO)[0] > 8.70);
    // The queue counts a packet once however many pieces it takes, and refuses the 51st.
    let mut bench = make(opened(&[Service::Rtps]));
    for _ in 0..50 {
        bench.up(millis(0.0), 0, 4000);
    }
    // A quarter of the first has left.
    bench.up(millis(2.0), 0, 4000);
    assert_eq!(bench.dropped.len(), 1);
    bench.run_to(millis(2000.0));
    assert_eq!(bench.delivered.len(), 50);
    // A grant without room for a header and an octet.
    let mut config = s003();
    config.stations[1].share = Some(Share::Slots(0));
    let error = Wimax::<Load>::new(config, 1, "cell").unwrap_err().to_string();
    assert_eq!(error, "`station.1`: granted 0 B a frame: expected at least 9 B, a header and an octet");
}

#[test]
fn section_12_8_every_queue_conserves_packets_whatever_the_channel_loses() {
    use Service::{BestEffort, Nrtps, Rtps};
    for grants in [Grants::Static { poll_slots: 0 }, Grants::Dynamic(Polling::default())] {
        let mut config = opened(&[Rtps, Nrtps, BestEffort]);
        config.slot_loss = Probability::new(0.001).unwrap();
        config.grants = grants;
        let mut bench = make(config);
        let mut stream = RandomStream::new(7, "arrivals");
        let (mut at, mut sent) = (0.0, 0);
        while at < 20_000.0 {
            at += stream.exponential(2.5);
            bench.up(millis(at), (sent % 3) as u32, 40 + stream.bits() % 1460);
            sent += 1;
            if sent == 1000 {
                bench.cell.restart_statistics(bench.now);
            }
        }
        let mut inside = 0;
        for queue in 0..3 {
            let statistics = bench.cell.statistics(queue, bench.now);
            let out = statistics.delivered.packets + statistics.drops.total() + statistics.inside;
            assert_eq!(statistics.carried_in + statistics.arrivals.packets, out, "{statistics:?}");
            assert!(statistics.utilisation <= 1.0 && statistics.drops.channel > 0);
            inside += statistics.inside as usize;
        }
        assert_eq!(sent, bench.delivered.len() + bench.dropped.len() + inside);
        assert_eq!(bench.cell.queue_names(), ["ss1/up/rtps", "ss1/up/nrtps", "ss1/up/be"]);
    }
}
