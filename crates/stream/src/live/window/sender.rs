//! The sending machine.

use crate::live::event::SendEvent;
use crate::live::machine::RejectCounters;
use crate::live::sender_machine::{EncoderControls, SenderCommand, SenderSnapshot, SenderUpdate};
use seaway_control::policy::{Demand, TargetPolicy};
use seaway_control::window::Window;
use seaway_control::{ControlSpec, Decision, Gauge, RateController, SpecError, StreamId, Subflow};
use seaway_net::{Incoming, Machine, Outgoing, next_snapshot};
use seaway_session::window::{WindowSender, WindowSenderConfig};
use seaway_session::{
    BreakerAction, CircuitBreaker, Count, Frame, FrameData, Limits, SenderEvent, SenderStatistics, SentFrames,
};
use seaway_units::{Bitrate, DataSize, Ecn, Probability, TimeDelta, Timestamp};
use std::net::SocketAddr;
use std::sync::{Arc, mpsc};

/// The only stream.
const STREAM: StreamId = StreamId(0);

/// To and from the other threads.
#[derive(Debug)]
pub(in crate::live) struct SessionQueues {
    pub(in crate::live) commands: mpsc::Receiver<SenderCommand>,
    pub(in crate::live) updates: mpsc::Sender<SenderUpdate>,
}

/// A sender of the window transport with one socket and one destination.
#[derive(Debug)]
pub(in crate::live) struct WindowSenderMachine {
    sender: WindowSender,
    to: SocketAddr,
    policy: Box<dyn TargetPolicy>,
    limits: Limits,
    /// The rate of the source where nothing holds it back.
    full: Bitrate,
    /// The policy's latest.
    share: Bitrate,
    /// When the first frame was captured, from which presentation times count.
    began: Option<Timestamp>,
    skipped: u64,
    decisions: u64,
    answers: Count,
    /// The latest round-trip time, and the least.
    rtt: (Option<TimeDelta>, Option<TimeDelta>),
    breaker: Option<CircuitBreaker>,
    /// Nothing leaves any more.
    is_broken: bool,
    has_peer: bool,
    queues: SessionQueues,
    controls: Arc<EncoderControls>,
    next_snapshot: Timestamp,
    rejected: RejectCounters,
}

impl WindowSenderMachine {
    /// Sends to `to` in packets of `overhead` octets beside their UDP payload, beginning with the number `first`.
    ///
    /// # Errors
    /// `control` is not the window, or has an option that it lacks.
    pub(in crate::live) fn new(
        now: Timestamp,
        to: SocketAddr,
        (control, policy): (&ControlSpec, Box<dyn TargetPolicy>),
        limits: Limits,
        (overhead, first): (DataSize, u16),
        breaker: Option<CircuitBreaker>,
        queues: SessionQueues,
    ) -> Result<Self, SpecError> {
        let window = Window::configure(control, WindowSenderConfig::flow(overhead))?;
        let config = WindowSenderConfig { window, overhead, queue: DataSize::MAX, first };
        let mut machine = Self {
            sender: WindowSender::new(config),
            to,
            policy,
            full: limits.max,
            limits,
            share: Bitrate::ZERO,
            began: None,
            skipped: 0,
            decisions: 0,
            answers: Count::default(),
            rtt: (None, None),
            breaker,
            is_broken: false,
            has_peer: false,
            queues,
            controls: Arc::default(),
            next_snapshot: now,
            rejected: RejectCounters::default(),
        };
        machine.set_full_rate(now, limits.max);
        machine.controls.connect();
        Ok(machine)
    }

    /// What the source reads before each frame.
    pub(in crate::live) fn controls(&self) -> Arc<EncoderControls> {
        self.controls.clone()
    }

    /// The source uses `rate` where nothing holds it back; the send queue is as long as the policy wants it at that rate.
    fn set_full_rate(&mut self, now: Timestamp, rate: Bitrate) {
        /// Where the policy steers no queue of its own.
        const QUEUE: TimeDelta = TimeDelta::from_secs(2);
        self.full = rate.min(self.limits.max);
        self.sender.set_queue(self.full.size_in(self.policy.queue().unwrap_or(QUEUE)));
        self.steer(now);
    }

    /// Reports the send queue to the policy, and its share to the source.
    fn steer(&mut self, now: Timestamp) {
        let demand =
            Demand { backlog: self.sender.occupancy(), min: self.limits.min, ..Demand::new(self.full) };
        self.policy.on_demand(now, STREAM, demand);
        self.policy.on_target(now, self.sender.config().payload_rate(self.window_rate()), Probability::ZERO);
        if self.policy.poll_timeout().is_some_and(|at| at <= now) {
            self.policy.handle_timeout(now);
        }
        let share = self.policy.share(STREAM).media.min(self.full);
        let before = std::mem::replace(&mut self.share, share);
        if self.policy.queue().is_some() && share != before && before > Bitrate::ZERO {
            self.decide(now, before);
        }
        self.controls.set(share, self.is_broken);
    }

    /// The policy has set another rate.
    fn decide(&mut self, now: Timestamp, before: Bitrate) {
        let signal = Gauge::new("send_queue", self.sender.occupancy().as_bytes_f64(), "B");
        let threshold = self.full.size_in(self.policy.queue().unwrap_or_default()).as_bytes_f64();
        let (cause, phase, after) = ("send queue", self.sender.controller().phase(), self.share);
        self.report_decision(Decision { at: now, cause, signal, threshold, before, after, phase });
    }

    fn report_decision(&mut self, decision: Decision) {
        self.decisions += 1;
        let event = SendEvent::Session(SenderEvent::Decision(decision));
        self.update(SenderUpdate::Event(decision.at, event));
    }

    fn window_rate(&self) -> Bitrate {
        self.sender.controller().target().rate
    }

    fn update(&self, update: SenderUpdate) {
        // The session goes on if the application dropped its handle.
        let _ = self.queues.updates.send(update);
    }

    fn after_input(&mut self, now: Timestamp) {
        while let Some(decision) = self.sender.poll_decision() {
            // A window grows with each acknowledgement: growth is counted, and a reduction is reported.
            if decision.after < decision.before {
                self.report_decision(decision);
            } else {
                self.decisions += 1;
            }
        }
        self.steer(now);
    }

    fn send_frame(&mut self, now: Timestamp, frame: &Frame) {
        let FrameData::Coded(data) = &frame.data else { return };
        let began = *self.began.get_or_insert(frame.captured);
        self.sender.on_frame(now, frame.captured.since(began), data);
    }

    fn execute(&mut self, now: Timestamp, command: SenderCommand) {
        match command {
            SenderCommand::Frame(_) if self.is_broken => self.skipped += 1,
            SenderCommand::Frame(frame) => self.send_frame(now, &frame),
            SenderCommand::FrameSkipped => self.skipped += 1,
            SenderCommand::Limits(limits) => {
                self.limits = limits;
                self.set_full_rate(now, self.full);
            }
            SenderCommand::SourceRate(rate) => self.set_full_rate(now, rate),
            SenderCommand::Control(control) => {
                let event = SendEvent::ControlRejected(SpecError::new(
                    &control.to_string(),
                    "the window transport has no other controller",
                ));
                self.update(SenderUpdate::Event(now, event));
            }
            SenderCommand::Finish => self.sender.finish(),
            SenderCommand::Close => self.sender.abandon(),
            // The window opens by itself, and begins anew after a pause.
            SenderCommand::Paused(_) | SenderCommand::RouteChanged | SenderCommand::CloseChannel => {}
            // The receiver alone has one.
            SenderCommand::Latency(_) => {}
            // It carries no sound of its own.
            SenderCommand::Sound(_) => {}
        }
    }

    fn statistics(&self) -> SenderStatistics {
        let counted = self.sender.statistics();
        let sent = Count { packets: counted.sent, size: counted.size };
        let repair = Count { packets: counted.repaired, size: counted.repair_size };
        SenderStatistics {
            sent,
            media: Count { packets: sent.packets - repair.packets, size: sent.size - repair.size },
            repair,
            feedback: self.answers,
            received: counted.acknowledged,
            lost: counted.lost,
            requested: counted.repaired,
            frames: SentFrames {
                captured: counted.queued_frames + counted.refused_frames + self.skipped,
                queued: counted.queued_frames,
                skipped: counted.refused_frames + self.skipped,
                begun: counted.begun_frames,
                waited: counted.waited,
                ..SentFrames::default()
            },
            decisions: self.decisions,
            rtt: self.sender.rtt(),
            last_rtt: self.rtt.0,
            min_rtt: self.rtt.1,
            ..SenderStatistics::default()
        }
    }

    fn snapshot(&self, now: Timestamp) -> SenderSnapshot {
        let window = self.sender.controller();
        let mut gauges = Vec::new();
        window.inspect(&mut |gauge| gauges.push(gauge));
        SenderSnapshot {
            at: now,
            lanes: Vec::new(),
            statistics: self.statistics(),
            allowance: window.allowance(Subflow(0)).rate.min(self.window_rate()),
            // Before the source has said what it could use there is none.
            target: if self.began.is_some() { self.share } else { Bitrate::ZERO },
            phase: window.phase(),
            gauges,
            backlog: self.sender.occupancy(),
            is_drained: self.sender.is_drained(),
            rejected: self.rejected,
        }
    }
}

impl Machine for WindowSenderMachine {
    fn handle_datagram(&mut self, now: Timestamp, _socket: usize, datagram: &Incoming<'_>) {
        if datagram.from != self.to {
            self.rejected.unknown_source += 1;
            return;
        }
        let before = self.sender.statistics().malformed;
        self.sender.handle_answer(datagram.at.min(now), datagram.data);
        let malformed = self.sender.statistics().malformed - before;
        self.rejected.malformed += malformed;
        if malformed == 0 {
            self.answers.packets += 1;
            self.answers.size += self.sender.config().overhead + DataSize::of(datagram.data);
            self.rtt.0 = self.sender.rtt();
            self.rtt.1 = self.rtt.1.into_iter().chain(self.rtt.0).min();
            if !std::mem::replace(&mut self.has_peer, true) {
                let event = SendEvent::Session(SenderEvent::PeerAppeared { ssrc: 0 });
                self.update(SenderUpdate::Event(now, event));
            }
        }
        self.after_input(now);
    }

    fn handle_wake(&mut self, now: Timestamp) {
        while let Ok(command) = self.queues.commands.try_recv() {
            self.execute(now, command);
        }
        self.after_input(now);
    }

    fn handle_timeout(&mut self, now: Timestamp) {
        if self.sender.poll_timeout().is_some_and(|at| at <= now) {
            self.sender.handle_timeout(now);
        }
        if self.next_snapshot <= now {
            self.next_snapshot = next_snapshot(self.next_snapshot, now);
            let snapshot = Box::new(self.snapshot(now));
            let action = self.breaker.as_mut().and_then(|breaker| breaker.observe(now, &snapshot.statistics));
            self.update(SenderUpdate::Snapshot(snapshot));
            // Its window is that of TCP, so it has no lower rate to try.
            if let Some(BreakerAction::Cease(breach) | BreakerAction::Reduce(breach, _)) = action {
                (self.breaker, self.is_broken) = (None, true);
                self.update(SenderUpdate::Event(now, SendEvent::CircuitBroken(breach)));
            }
        }
        self.after_input(now);
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        let timeouts = [self.sender.poll_timeout(), self.policy.poll_timeout(), Some(self.next_snapshot)];
        timeouts.into_iter().flatten().min()
    }

    fn poll_datagram(&mut self, now: Timestamp, buffer: &mut Vec<u8>) -> Option<Outgoing> {
        if self.is_broken {
            return None;
        }
        match self.sender.poll_datagram(now, buffer) {
            Some(_) => Some(Outgoing { socket: 0, to: self.to, ecn: Ecn::NotEct }),
            None => {
                self.steer(now);
                None
            }
        }
    }
}
