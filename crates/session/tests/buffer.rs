//! The receiver's buffer of bytes, and controllers with windows and probes.

mod common;

use common::*;
use seaway_control::policy::Direct;
use seaway_control::*;
use seaway_session::*;
use seaway_units::{Bitrate, DataSize, Probability, Timestamp};

fn byte_receiver(capacity: u64, consume: Bitrate) -> Receiver {
    bounded(ByteBufferConfig {
        then: None,
        capacity: DataSize::from_bytes(capacity),
        consume,
        start_level: 0.2,
        socket: false,
    })
}

fn bounded(buffer: ByteBufferConfig) -> Receiver {
    Receiver::new(
        Timestamp::ZERO,
        ReceiverConfig { playout: Playout::Bytes(buffer), ..ReceiverConfig::new(1) },
    )
}

#[test]
fn what_comes_faster_than_it_is_consumed_is_refused() {
    let fast = config("fixed(rate=400 kbit/s)");
    let receiver = byte_receiver(16_384, Bitrate::from_kbps(100));
    let mut run = Run::new(sender(Timestamp::ZERO, fast), receiver, ideal(ms(20)), ideal(ms(20)));
    run.until(at(10_000));
    let statistics = run.receiver.statistics();
    let buffer = statistics.buffer.unwrap();
    assert!(buffer.refused_events > 100 && buffer.stalls == 0, "{buffer:?}");
    assert!(buffer.overflow > ms(8_000), "{buffer:?}");
    let times = buffer.overflow + buffer.stable + buffer.underflow;
    assert!(times > ms(9_800) && times <= ms(10_000), "{times}");
    assert!(statistics.held <= DataSize::from_bytes(16_384));
    assert!(statistics.frames.displayed > 230, "{:?}", statistics.frames);
}

/// A full socket causes losses for the controller, a full player none.
#[test]
fn tfrc_slows_down_for_a_full_socket_alone() {
    let received = |socket| {
        let (capacity, consume) = (DataSize::from_bytes(16_384), Bitrate::from_kbps(100));
        let receiver = bounded(ByteBufferConfig { capacity, consume, then: None, start_level: 0.2, socket });
        let mut run =
            Run::new(sender(Timestamp::ZERO, config("tfrc")), receiver, ideal(ms(20)), ideal(ms(20)));
        run.until(at(20_000));
        let statistics = run.receiver.statistics();
        assert!(statistics.buffer.unwrap().refused_events > 10, "{statistics:?}");
        statistics.received.size.over(ms(20_000)).unwrap()
    };
    let (player, socket) = (received(false), received(true));
    assert!(socket < Bitrate::from_kbps(130) && player > socket * 4, "{player}, {socket}");
}

#[test]
fn what_comes_slower_runs_dry() {
    let slow = config("fixed(rate=150 kbit/s)");
    let receiver = byte_receiver(16_384, Bitrate::from_kbps(300));
    let mut run = Run::new(sender(Timestamp::ZERO, slow), receiver, ideal(ms(20)), ideal(ms(20)));
    run.until(at(10_000));
    let buffer = run.receiver.statistics().buffer.unwrap();
    assert!(buffer.stalls > 10 && buffer.refused_events == 0, "{buffer:?}");
    assert!(buffer.stalled > ms(3_000), "{buffer:?}");
}

#[test]
fn a_buffer_aware_controller_sees_the_buffer() {
    for control in ["buffer-type1", "buffer-type2"] {
        let receiver = byte_receiver(100_000, Bitrate::from_kbps(1_000));
        let sender = sender(Timestamp::ZERO, config(control));
        let mut run = Run::new(sender, receiver, ideal(ms(20)), ideal(ms(20)));
        run.until(at(30_000));
        let statistics = run.receiver.statistics();
        let buffer = statistics.buffer.unwrap();
        assert_eq!(buffer.stalls, 0, "{control}: {buffer:?}");
        let rate = statistics.received.size.over(ms(30_000)).unwrap();
        assert!(rate > Bitrate::from_kbps(900) && rate < Bitrate::from_kbps(1_400), "{control}: {rate}");
    }
}

#[test]
fn a_window_controller_is_clocked_by_what_comes_back() {
    let there = bottleneck(ms(20), Bitrate::from_mbps(2), ms(100));
    let mut run =
        Run::new(sender(Timestamp::ZERO, config("window")), receiver(Timestamp::ZERO), there, ideal(ms(20)));
    run.until(at(20_000));
    let (sent, received) = (run.sender.statistics(), run.receiver.statistics());
    let rate = received.received.size.over(ms(20_000)).unwrap();
    assert!(
        rate > Bitrate::from_kbps(1_000) && rate < Bitrate::from_kbps(2_000),
        "{rate} {sent:#?} {received:#?}"
    );
    assert_eq!(sent.late, 0);
}

/// Sends at a constant rate and looks at the buffer levels that come back.
#[derive(Debug, Default)]
struct Listener {
    reports: u64,
    levels: u64,
    highest: DataSize,
}

impl RateController for Listener {
    fn on_sent(&mut self, _now: Timestamp, _packet: &SentPacket) {}
    fn on_feedback(&mut self, _now: Timestamp, feedback: &Feedback<'_>) {
        self.reports += 1;
        if let Some(level) = feedback.peer.buffer {
            assert_eq!(level.capacity, DataSize::from_bytes(100_000));
            self.levels += 1;
            self.highest = self.highest.max(level.held);
        }
    }
    fn handle_timeout(&mut self, _now: Timestamp) {}
    fn poll_timeout(&self) -> Option<Timestamp> {
        None
    }
    fn poll_decision(&mut self) -> Option<Decision> {
        None
    }
    fn allowance(&self, _subflow: Subflow) -> Allowance {
        Allowance::paced(Bitrate::from_kbps(500))
    }
    fn target(&self) -> Target {
        Target { rate: Bitrate::from_kbps(500), channel_loss: Probability::ZERO }
    }
    fn phase(&self) -> &'static str {
        "listening"
    }
    fn inspect(&self, visit: &mut dyn FnMut(Gauge)) {
        visit(Gauge::new("reports", self.reports as f64, ""));
        visit(Gauge::new("levels", self.levels as f64, ""));
        visit(Gauge::new("highest", self.highest.as_bytes_f64(), "B"));
    }
}

/// Every native report has the level of the buffer; RFC 8888 has no field for it.
#[test]
fn every_native_report_has_the_level() {
    for control in ["fixed", "tfrc", "nada", "scream", "gcc", "window", "buffer-type1"] {
        for feedback in [FeedbackFormat::Native, FeedbackFormat::Ccfb] {
            let config = SenderConfig { feedback, ..config(control) };
            let controller = Box::new(Listener::default());
            let sender =
                Sender::with_controller(Timestamp::ZERO, config, controller, Box::new(Direct::new()))
                    .unwrap();
            let receiver = byte_receiver(100_000, Bitrate::from_kbps(300));
            let mut run = Run::new(sender, receiver, ideal(ms(20)), ideal(ms(20)));
            run.until(at(3_000));
            let mut seen = Vec::new();
            run.sender.controller().inspect(&mut |gauge| seen.push(gauge.value));
            let [reports, levels, highest] = seen[..] else { panic!("{seen:?}") };
            if feedback == FeedbackFormat::Native {
                assert!(reports > 20.0 && levels >= reports - 2.0, "{control}: {levels} of {reports}");
                assert!(highest > 20_000.0, "{control}: {highest} B");
            } else {
                assert_eq!(levels, 0.0, "{control}");
            }
        }
    }
}

/// Sends at a constant rate and probes once.
#[derive(Debug)]
struct Prober {
    probe: Option<Probe>,
    probed: u64,
}

impl RateController for Prober {
    fn on_sent(&mut self, _now: Timestamp, packet: &SentPacket) {
        self.probed += u64::from(packet.probe == Some(ProbeId(9)));
    }
    fn on_feedback(&mut self, _now: Timestamp, _feedback: &Feedback<'_>) {}
    fn handle_timeout(&mut self, _now: Timestamp) {}
    fn poll_timeout(&self) -> Option<Timestamp> {
        None
    }
    fn poll_probe(&mut self, now: Timestamp) -> Option<Probe> {
        self.probe.take_if(|_| now >= at(1_000))
    }
    fn poll_decision(&mut self) -> Option<Decision> {
        None
    }
    fn allowance(&self, _subflow: Subflow) -> Allowance {
        Allowance::paced(Bitrate::from_kbps(500))
    }
    fn target(&self) -> Target {
        Target { rate: Bitrate::from_kbps(500), channel_loss: Probability::ZERO }
    }
    fn phase(&self) -> &'static str {
        "probing"
    }
    fn inspect(&self, visit: &mut dyn FnMut(Gauge)) {
        visit(Gauge::new("probed", self.probed as f64, ""));
    }
}

#[test]
fn padding_fills_a_probe_at_its_rate() {
    let probe = Probe {
        id: ProbeId(9),
        subflow: Subflow(0),
        rate: Bitrate::from_mbps(2),
        size: DataSize::from_bytes(10_000),
        packets: 5,
    };
    let controller = Box::new(Prober { probe: Some(probe), probed: 0 });
    let sender =
        Sender::with_controller(Timestamp::ZERO, config("fixed"), controller, Box::new(Direct::new()))
            .unwrap();
    let mut run = Run::new(sender, receiver(Timestamp::ZERO), ideal(ms(20)), ideal(ms(20)));
    run.until(at(3_000));
    let (sent, received) = (run.sender.statistics(), run.receiver.statistics());
    assert!(sent.padding.packets >= 4, "{sent:#?}");
    assert_eq!(received.padding.packets, sent.padding.packets);
    assert_eq!(received.frames.lost, 0);
    let mut probed = 0.0;
    run.sender.controller().inspect(&mut |gauge| probed = gauge.value);
    assert!((8.0..=11.0).contains(&probed), "{probed}");
    let burst: Vec<_> =
        run.departures.iter().filter(|(when, _)| (at(1_000)..at(1_060)).contains(when)).collect();
    let size: DataSize = burst.iter().map(|(_, size)| *size).sum();
    assert!(size > DataSize::from_bytes(9_000) && size < DataSize::from_bytes(14_500), "{size}");
}
