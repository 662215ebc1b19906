//! Random operations on a model, with invariants after each step.

use super::super::path::gauge_names;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use seaway_control::{
    Arrival, BufferLevel, Congestion, ControllerPair, Fate, Feedback, FeedbackSource, LocalSignal, PacketId,
    PacketReport, PeerReport, RateController, SentPacket, StreamId, Subflow,
};
use seaway_units::{Bitrate, DataSize, Ecn, Probability, RateRange, RemoteTimestamp, TimeDelta, Timestamp};
use std::collections::VecDeque;
use std::fmt::Debug;

/// What may happen to a controller and its receiving half.
#[derive(Debug, Clone)]
enum Operation {
    /// Time passes; timers fire on the way.
    Wait(TimeDelta),
    /// The clock jumps (the machine slept): no timer fires on the way.
    Jump(TimeDelta),
    /// A timeout that is not due.
    SpuriousTimeout,
    /// Packets leave by a subflow.
    Send { subflow: u8, size: u16, count: u8, more: bool },
    /// Feedback about the oldest packets that are out: as many, of them lost or marked by bit.
    Report { subflow: u8, count: u8, lost: u32, marked: u32, rtt: Option<TimeDelta>, peer: Peer },
    /// The last feedback once more.
    Repeat,
    /// Feedback about packets that were never sent, or far in the future.
    Invented { subflow: u8, id: u64, sequence: u64, at: u64, sent: Timestamp, fate: u8, peer: Peer },
    /// Everything that is out is acknowledged at once, by a peer that never waited for it.
    Optimistic { rtt: TimeDelta },
    /// Something changed on our side.
    Signal(LocalSignal),
    /// A packet arrives at the receiving half.
    Arrive {
        subflow: u8,
        sequence: Sequence,
        size: u16,
        ecn: u8,
        tag: Option<u16>,
        sent: u64,
        rtt: Option<TimeDelta>,
    },
    /// The receiver's buffer changed.
    Buffer(BufferLevel),
}

/// The number on an arriving packet, seen from the one before.
#[derive(Debug, Clone, Copy)]
enum Sequence {
    Next,
    Skip(u8),
    Back(u8),
    Any(u64),
}

/// What the peer computed.
#[derive(Debug, Clone, Copy)]
struct Peer(PeerReport);

/// A controller, its receiving half, and the state of the session around them.
struct Model {
    controller: Box<dyn RateController>,
    source: Box<dyn FeedbackSource>,
    now: Timestamp,
    limits: Option<RateRange>,
    out: VecDeque<(SentPacket, Timestamp)>,
    next_id: u64,
    next_sequence: Vec<u64>,
    arrived: u64,
    last: Option<(Subflow, Vec<PacketReport>, Option<TimeDelta>, PeerReport)>,
    last_decision: Timestamp,
}

/// Draws lists of operations, applies them to a controller and to another like it, and checks both.
///
/// # Panics
/// Where an invariant breaks, with the shortest operations that break it.
pub fn run(name: &str, make: &impl Fn() -> ControllerPair) {
    let config = Config { cases: 96, failure_persistence: None, max_shrink_iters: 2000, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let result = runner.run(&prop::collection::vec(operation(), 1..160), |operations| {
        let (mut model, mut replay) = (Model::new(make()), Model::new(make()));
        for (step, operation) in operations.iter().enumerate() {
            model.apply(operation)?;
            replay.apply(operation)?;
            if step % 8 == 7 || step + 1 == operations.len() {
                let before = format!("{:?}", (&model.controller, &model.source));
                same("replay", &before, &(&replay.controller, &replay.source))?;
            }
        }
        Ok(())
    });
    if let Err(failure) = result {
        panic!("{name}: {failure}");
    }
}

fn same(what: &str, one: &str, other: &impl Debug) -> Result<(), TestCaseError> {
    let other = format!("{other:?}");
    prop_assert!(one == other, "{what} differs:\n{one}\n{other}");
    Ok(())
}

impl Model {
    fn new((controller, source): ControllerPair) -> Self {
        Self {
            controller,
            source,
            now: Timestamp::ZERO + TimeDelta::from_secs(1),
            limits: None,
            out: VecDeque::new(),
            next_id: 0,
            next_sequence: vec![0; 256],
            arrived: 0,
            last: None,
            last_decision: Timestamp::ZERO,
        }
    }

    fn apply(&mut self, operation: &Operation) -> Result<(), TestCaseError> {
        match operation.clone() {
            Operation::Wait(span) => self.wait(span)?,
            Operation::Jump(span) => self.now += span,
            Operation::SpuriousTimeout => self.spurious()?,
            Operation::Send { subflow, size, count, more } => {
                for index in 0..count {
                    self.send(subflow, size, more || index + 1 < count);
                }
            }
            Operation::Report { subflow, count, lost, marked, rtt, peer } => {
                self.report(subflow, count, lost, marked, rtt, peer.0);
            }
            Operation::Repeat => {
                if let Some((subflow, packets, rtt, peer)) = self.last.clone() {
                    self.feed(subflow, &packets, rtt, peer);
                }
            }
            Operation::Invented { subflow, id, sequence, at, sent, fate, peer } => {
                let packet = SentPacket { id: PacketId(id), sequence, ..packet(subflow, 1000) };
                let at = Some(RemoteTimestamp::from_nanos(at));
                let fate = match fate % 3 {
                    0 => Fate::Received { at, ecn: Ecn::from_bits(fate >> 2) },
                    1 => Fate::Lost,
                    _ => Fate::Late { at },
                };
                self.feed(Subflow(subflow), &[PacketReport { packet, sent, fate }], None, peer.0);
            }
            Operation::Optimistic { rtt } => self.report(0, u8::MAX, 0, 0, Some(rtt), PeerReport::default()),
            Operation::Signal(signal) => {
                if let LocalSignal::Limits { min, max, .. } = signal {
                    self.limits = Some(RateRange { min, max });
                }
                self.controller.on_signal(self.now, signal);
            }
            Operation::Arrive { subflow, sequence, size, ecn, tag, sent, rtt } => {
                self.arrive(subflow, sequence, size, ecn, tag, sent, rtt);
            }
            Operation::Buffer(level) => self.source.on_buffer(self.now, level),
        }
        self.settle()
    }

    fn send(&mut self, subflow: u8, size: u16, more: bool) {
        let subflow = subflow % self.controller.subflows();
        let next = &mut self.next_sequence[usize::from(subflow)];
        let backlog = DataSize::from_bytes(if more { 5000 } else { 0 });
        let packet = SentPacket {
            id: PacketId(self.next_id),
            sequence: *next,
            backlog,
            ..packet(subflow, size.max(40))
        };
        *next += 1;
        self.next_id += 1;
        self.controller.marking(self.now, &packet);
        self.controller.on_sent(self.now, &packet);
        self.out.push_back((packet, self.now));
        // What a session would give up at last.
        self.out.truncate(4096);
    }

    fn report(
        &mut self,
        subflow: u8,
        count: u8,
        lost: u32,
        marked: u32,
        rtt: Option<TimeDelta>,
        peer: PeerReport,
    ) {
        let subflow = Subflow(subflow % self.controller.subflows());
        let mut packets = Vec::new();
        let (now, count) = (self.now, usize::from(count));
        self.out.retain(|(packet, sent)| {
            if packet.subflow != subflow || packets.len() >= count {
                return true;
            }
            let bit = 1u32.rotate_left(packets.len() as u32);
            let fate = if lost & bit != 0 {
                Fate::Lost
            } else {
                let ecn = if marked & bit != 0 { Ecn::Ce } else { Ecn::Ect1 };
                Fate::Received { at: Some(RemoteTimestamp::from_nanos(now.as_nanos() / 2)), ecn }
            };
            packets.push(PacketReport { packet: *packet, sent: *sent, fate });
            false
        });
        let echoed = packets.last().map(|report| report.packet.id).or(peer.echoed);
        self.feed(subflow, &packets, rtt, PeerReport { echoed, ..peer });
        self.last = Some((subflow, packets, rtt, peer));
    }

    fn feed(&mut self, subflow: Subflow, packets: &[PacketReport], rtt: Option<TimeDelta>, peer: PeerReport) {
        let requested: Vec<_> = packets.iter().take(2).map(|report| report.packet.id).collect();
        let feedback = Feedback { subflow, rtt, packets, requested: &requested, peer };
        self.controller.on_feedback(self.now, &feedback);
    }

    #[allow(clippy::too_many_arguments)]
    fn arrive(
        &mut self,
        subflow: u8,
        sequence: Sequence,
        size: u16,
        ecn: u8,
        tag: Option<u16>,
        sent: u64,
        rtt: Option<TimeDelta>,
    ) {
        self.arrived = match sequence {
            Sequence::Next => self.arrived.saturating_add(1),
            Sequence::Skip(count) => self.arrived.saturating_add(1 + u64::from(count)),
            Sequence::Back(count) => self.arrived.saturating_sub(u64::from(count)),
            Sequence::Any(number) => number,
        };
        let arrival = Arrival {
            subflow: Subflow(subflow),
            sequence: self.arrived,
            size: DataSize::from_bytes(u64::from(size)),
            ecn: Ecn::from_bits(ecn),
            tag,
            sent: RemoteTimestamp::from_nanos(sent),
            rtt,
            ends_frame: ecn & 4 != 0,
        };
        self.source.on_arrival(self.now, &arrival);
    }

    fn next_timer(&self) -> Option<Timestamp> {
        [self.controller.poll_timeout(), self.source.poll_timeout()].into_iter().flatten().min()
    }

    /// Lets time pass, timer by timer. A controller that is woken too often shows here.
    fn wait(&mut self, span: TimeDelta) -> Result<(), TestCaseError> {
        let end = self.now + span;
        for _ in 0..20_000 {
            match self.next_timer().filter(|due| *due <= end) {
                None => {
                    self.now = end;
                    return Ok(());
                }
                Some(due) => {
                    self.now = self.now.max(due);
                    self.settle()?;
                }
            }
        }
        Err(TestCaseError::fail("woken more than 20000 times"))
    }

    fn spurious(&mut self) -> Result<(), TestCaseError> {
        let due = |at: Option<Timestamp>| at.is_some_and(|at| at <= self.now);
        if !due(self.controller.poll_timeout()) {
            let before = format!("{:?}", self.controller);
            self.controller.handle_timeout(self.now);
            same("controller after a spurious timeout", &before, &self.controller)?;
        }
        if !due(self.source.poll_timeout()) {
            let before = format!("{:?}", self.source);
            self.source.handle_timeout(self.now);
            same("receiving half after a spurious timeout", &before, &self.source)?;
        }
        Ok(())
    }

    /// Fires what is due, drains all outputs, and checks.
    fn settle(&mut self) -> Result<(), TestCaseError> {
        let mut rounds = 0;
        while self.next_timer().is_some_and(|due| due <= self.now) {
            self.controller.handle_timeout(self.now);
            self.source.handle_timeout(self.now);
            self.drain()?;
            rounds += 1;
            prop_assert!(rounds < 64, "a timer stays due at {}", self.now);
        }
        self.drain()?;
        self.check()
    }

    fn drain(&mut self) -> Result<(), TestCaseError> {
        let mut polls = 0;
        while let Some(probe) = self.controller.poll_probe(self.now) {
            prop_assert!(probe.rate > Bitrate::ZERO && probe.packets > 0, "an empty probe");
            polls += 1;
            prop_assert!(polls < 100, "probes without end");
        }
        while let Some(decision) = self.controller.poll_decision() {
            prop_assert!(
                decision.at >= self.last_decision && decision.at <= self.now,
                "time of {decision:?}"
            );
            prop_assert!(decision.signal.value.is_finite() && decision.threshold.is_finite(), "{decision:?}");
            self.last_decision = decision.at;
            polls += 1;
            prop_assert!(polls < 1000, "decisions without end");
        }
        while let Some((subflow, report)) = self.source.poll_report(self.now) {
            let held = report.buffer.is_none_or(|buffer| buffer.held <= buffer.capacity.max(buffer.held));
            prop_assert!(held, "{subflow:?} {report:?}");
            polls += 1;
            prop_assert!(polls < 2000, "reports without end");
        }
        Ok(())
    }

    fn check(&self) -> Result<(), TestCaseError> {
        let target = self.controller.target();
        if let Some(RateRange { min, max }) = self.limits {
            prop_assert!(target.rate >= min && target.rate <= max, "{} outside {min}..{max}", target.rate);
        }
        prop_assert!(target.channel_loss.get().is_finite());
        prop_assert!(self.controller.subflows() >= 1, "no subflow");
        for subflow in 0..self.controller.subflows() {
            let allowance = self.controller.allowance(Subflow(subflow));
            prop_assert!(!allowance.gap.is_negative() && !allowance.credit.is_negative(), "{allowance:?}");
            prop_assert!(allowance.credit <= TimeDelta::from_secs(60), "{allowance:?}");
        }
        prop_assert_eq!(self.controller.poll_timeout(), self.controller.poll_timeout());
        prop_assert_eq!(self.source.poll_timeout(), self.source.poll_timeout());
        prop_assert!(!self.controller.phase().is_empty());
        let names = gauge_names(&*self.controller).map_err(TestCaseError::fail)?;
        prop_assert!(!names.is_empty(), "nothing to inspect");
        Ok(())
    }
}

fn packet(subflow: u8, size: u16) -> SentPacket {
    SentPacket { subflow: Subflow(subflow), ..SentPacket::new(0, DataSize::from_bytes(u64::from(size))) }
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        6 => (0i64..400_000).prop_map(|us| Operation::Wait(TimeDelta::from_micros(us))),
        1 => (1i64..40).prop_map(|s| Operation::Wait(TimeDelta::from_secs(s))),
        1 => (1i64..90_000).prop_map(|s| Operation::Jump(TimeDelta::from_secs(s))),
        2 => Just(Operation::SpuriousTimeout),
        6 => (any::<u8>(), 40u16..1500, 1u8..20, any::<bool>())
            .prop_map(|(subflow, size, count, more)| Operation::Send { subflow, size, count, more }),
        8 => (any::<u8>(), 0u8..24, sparse(), sparse(), rtt(), peer()).prop_map(
            |(subflow, count, lost, marked, rtt, peer)| Operation::Report { subflow, count, lost, marked, rtt, peer }
        ),
        1 => Just(Operation::Repeat),
        1 => (any::<u8>(), number(), number(), number(), number(), any::<u8>(), peer()).prop_map(
            |(subflow, id, sequence, at, sent, fate, peer)| {
                let sent = Timestamp::from_nanos(sent);
                Operation::Invented { subflow, id, sequence, at, sent, fate, peer }
            }
        ),
        1 => (0i64..1000).prop_map(|us| Operation::Optimistic { rtt: TimeDelta::from_micros(us) }),
        2 => signal().prop_map(Operation::Signal),
        8 => (0u8..3, sequence(), any::<u16>(), any::<u8>(), any::<Option<u16>>(), number(), rtt()).prop_map(
            |(subflow, sequence, size, ecn, tag, sent, rtt)| Operation::Arrive { subflow, sequence, size, ecn, tag, sent, rtt }
        ),
        1 => buffer().prop_map(Operation::Buffer),
    ]
}

/// Few bits, or many.
fn sparse() -> impl Strategy<Value = u32> {
    prop_oneof![3 => Just(0), 2 => (any::<u32>(), any::<u32>(), any::<u32>()).prop_map(|(a, b, c)| a & b & c), 1 => any::<u32>()]
}

/// A number of an honest size, or any.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![0u64..100_000, any::<u64>(), Just(u64::MAX)]
}

fn sequence() -> impl Strategy<Value = Sequence> {
    prop_oneof![
        12 => Just(Sequence::Next),
        3 => any::<u8>().prop_map(|count| Sequence::Skip(count % 12)),
        2 => any::<u8>().prop_map(|count| Sequence::Back(count % 24)),
        1 => number().prop_map(Sequence::Any),
    ]
}

fn rtt() -> impl Strategy<Value = Option<TimeDelta>> {
    prop_oneof![
        8 => (1_000i64..300_000).prop_map(|us| Some(TimeDelta::from_micros(us))),
        2 => Just(None),
        1 => any::<i64>().prop_map(|nanos| Some(TimeDelta::from_nanos(nanos))),
    ]
}

fn rate() -> impl Strategy<Value = Bitrate> {
    prop_oneof![6 => 0u64..20_000_000, 1 => any::<u64>(), 1 => Just(0)].prop_map(Bitrate::from_bps)
}

fn buffer() -> impl Strategy<Value = BufferLevel> {
    (number(), number()).prop_map(|(held, capacity)| BufferLevel {
        held: DataSize::from_bytes(held),
        capacity: DataSize::from_bytes(capacity),
    })
}

fn peer() -> impl Strategy<Value = Peer> {
    let loss = prop_oneof![Just(0.0), 0.0..1.0, Just(1.0), Just(1e-300)].prop_map(Probability::new);
    let congestion = (any::<i64>(), any::<bool>())
        .prop_map(|(nanos, ramp_up)| Congestion { delay: TimeDelta::from_nanos(nanos), ramp_up });
    (
        prop::option::of(number().prop_map(PacketId)),
        prop_oneof![loss, Just(None)],
        any::<bool>(),
        prop::option::weighted(0.8, rate()),
        any::<Option<u32>>(),
        prop::option::of(congestion),
        prop::option::of(buffer()),
        prop::option::weighted(0.1, rate()),
    )
        .prop_map(
            |(
                echoed,
                loss_event_rate,
                new_loss_event,
                receive_rate,
                ce_packets,
                congestion,
                buffer,
                limit,
            )| {
                Peer(PeerReport {
                    echoed,
                    loss_event_rate,
                    new_loss_event,
                    receive_rate,
                    ce_packets,
                    congestion,
                    buffer,
                    limit,
                })
            },
        )
}

fn signal() -> impl Strategy<Value = LocalSignal> {
    let limits = (rate(), rate(), rate()).prop_map(|(a, b, c)| {
        let mut rates = [a, b, c];
        rates.sort_unstable();
        LocalSignal::Limits { min: rates[0], start: rates[1], max: rates[2] }
    });
    prop_oneof![
        limits,
        Just(LocalSignal::Limits { min: Bitrate::ZERO, start: Bitrate::ZERO, max: Bitrate::ZERO }),
        (number(), any::<i64>()).prop_map(|(waiting, oldest)| LocalSignal::Backlog {
            waiting: DataSize::from_bytes(waiting),
            oldest: TimeDelta::from_nanos(oldest),
        }),
        (number(), number(), any::<i64>()).prop_map(|(size, target, interval)| LocalSignal::Frame {
            stream: StreamId(0),
            size: DataSize::from_bytes(size),
            target: DataSize::from_bytes(target),
            interval: TimeDelta::from_nanos(interval),
        }),
        any::<bool>().prop_map(LocalSignal::Paused),
        Just(LocalSignal::RouteChanged),
        prop_oneof![0i64..1_000_000_000, any::<i64>()]
            .prop_map(|nanos| LocalSignal::FeedbackInterval(TimeDelta::from_nanos(nanos))),
        (rate(), 0.0f32..8.0).prop_map(|(rate, attempts)| LocalSignal::LinkHint { rate, attempts }),
    ]
}
