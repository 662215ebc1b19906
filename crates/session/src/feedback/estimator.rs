//! A controller for a transport that is not ours, such as a browser's, a GStreamer pipeline's or an application's own.

use super::{FeedbackAdapter, HeaderFields};
use crate::config::Limits;
use seaway_control::{
    BufferLevel, Content, ControllerPair, LocalSignal, Marking, PacketId, ProbeId, RateController,
    SentPacket, Subflow,
};
use seaway_units::{DataSize, Ecn, RemoteTimestamp, TimeDelta, Timestamp};

/// A controller with both its halves at the sender. The transport reports departures and the fate of each packet to it, in
/// whatever format that was reported; the estimator limits how much may be sent.
///
/// The driving contract is that of [`RateController`], whose outputs are read by
/// [`controller`](Self::controller) and [`controller_mut`](Self::controller_mut).
#[derive(Debug)]
pub struct BandwidthEstimator {
    controller: Box<dyn RateController>,
    feedback: FeedbackAdapter,
    now: Timestamp,
}

/// A packet as the transport sends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Departure {
    /// The connection that it leaves by.
    pub subflow: Subflow,
    /// The whole IP datagram, headers included.
    pub size: DataSize,
    /// What it carries.
    pub content: Content,
    /// The probe it belongs to.
    pub probe: Option<ProbeId>,
    /// What still waits behind it.
    pub backlog: DataSize,
    /// It is the last of its frame.
    pub ends_frame: bool,
}

impl Departure {
    /// A packet with media of a flow of one subflow, inside a frame; nothing waits behind it.
    pub const fn new(size: DataSize) -> Self {
        let packet = SentPacket::new(0, size);
        let (subflow, content, backlog) = (packet.subflow, packet.content, packet.backlog);
        Self { subflow, size, content, probe: None, backlog, ends_frame: false }
    }
}

/// The result of one packet in a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketResult {
    /// The packet.
    pub id: PacketId,
    /// How it arrived; `None` where the report lists it as lost.
    pub arrival: Option<PacketArrival>,
}

/// How a packet arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketArrival {
    /// When, on the peer's clock, where the format says so.
    pub at: Option<RemoteTimestamp>,
    /// The codepoint it arrived with.
    pub ecn: Ecn,
}

impl BandwidthEstimator {
    /// Both halves of a controller, with its limits.
    pub fn new(pair: ControllerPair, limits: Limits) -> Self {
        Self::with_detection(pair, limits, true)
    }

    /// Both halves of a controller for a transport that detects its losses itself, as QUIC does: nothing is lost but what
    /// a report lists as lost.
    pub fn with_reported_losses(pair: ControllerPair, limits: Limits) -> Self {
        Self::with_detection(pair, limits, false)
    }

    fn with_detection((mut controller, source): ControllerPair, limits: Limits, detects_loss: bool) -> Self {
        let Limits { min, start, max } = limits;
        controller.on_signal(Timestamp::ZERO, LocalSignal::Limits { min, start, max });
        Self { controller, feedback: FeedbackAdapter::new(detects_loss, Some(source)), now: Timestamp::ZERO }
    }

    /// The controller, for its target, allowance and phase.
    pub fn controller(&self) -> &dyn RateController {
        &*self.controller
    }

    /// The controller, for its probes and decisions.
    pub fn controller_mut(&mut self) -> &mut dyn RateController {
        &mut *self.controller
    }

    /// The latest instant of an input.
    pub const fn now(&self) -> Timestamp {
        self.now
    }

    /// The last sample of the round-trip time.
    pub fn last_rtt(&self) -> Option<TimeDelta> {
        self.feedback.last_rtt()
    }

    /// Packets by their fate since the start.
    pub fn counts(&self) -> super::FateCounts {
        self.feedback.counts()
    }

    fn advance(&mut self, now: Timestamp) -> Timestamp {
        self.now = self.now.max(now);
        self.now
    }

    /// What to write on the packet that leaves next, by `subflow`.
    pub fn marking(&mut self, now: Timestamp, departure: &Departure) -> Marking {
        let (now, packet) = (self.advance(now), self.packet(departure));
        self.controller.marking(now, &packet)
    }

    /// A packet left at `sent` with this marking. `sent` may be in the past if the transport reports it late. Packets are
    /// reported in the order of their departure.
    pub fn on_sent(&mut self, sent: Timestamp, departure: &Departure, marking: Marking) -> PacketId {
        let (now, packet) = (self.advance(sent), self.packet(departure));
        self.controller.on_sent(now, &packet);
        let fields = HeaderFields { tag: marking.tag, ends_frame: departure.ends_frame };
        if self.feedback.on_sent(sent, &packet, fields) {
            self.deliver(now);
        }
        packet.id
    }

    /// The next packet of its subflow.
    fn packet(&self, departure: &Departure) -> SentPacket {
        let Departure { subflow, size, content, probe, backlog, .. } = *departure;
        let (id, sequence) = (self.feedback.next_id(), self.feedback.next_sequence(subflow));
        SentPacket { id, subflow, sequence, size, content, probe, backlog }
    }

    /// A report arrived at `now`, whose sender had held its newest packet for `held`. A packet that was never sent, or long ago, is
    /// left out.
    pub fn on_report(&mut self, now: Timestamp, results: &[PacketResult], held: TimeDelta) {
        let now = self.advance(now);
        self.feedback.on_message(now);
        if let Some(interval) = self.feedback.on_feedback(now) {
            self.controller.on_signal(now, LocalSignal::FeedbackInterval(interval));
        }
        for &PacketResult { id, arrival } in results {
            let Some((_, SentPacket { subflow, .. })) = self.feedback.sent(id) else { continue };
            match arrival {
                Some(PacketArrival { at, ecn }) => {
                    self.feedback.on_received(now, Some(id), at, ecn);
                    self.feedback.on_newest(subflow, id, held);
                }
                None => self.feedback.on_lost(id),
            }
        }
        self.deliver(now);
    }

    /// The receiver's playout buffer as the next report has it.
    pub fn on_buffer(&mut self, subflow: Subflow, level: BufferLevel) {
        self.feedback.peer(subflow).buffer = Some(level);
    }

    /// Something changed on our own side.
    pub fn on_signal(&mut self, now: Timestamp, signal: LocalSignal) {
        let now = self.advance(now);
        self.controller.on_signal(now, signal);
    }

    /// When [`handle_timeout`](Self::handle_timeout) is due: a timer of the controller, or a packet that no report named.
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        self.controller.poll_timeout().into_iter().chain(self.feedback.next_loss()).min()
    }

    /// The instant named by [`poll_timeout`](Self::poll_timeout) has come.
    pub fn handle_timeout(&mut self, now: Timestamp) {
        let now = self.advance(now);
        if self.feedback.is_loss_due(now) {
            self.deliver(now);
        }
        if self.controller.poll_timeout().is_some_and(|due| due <= now) {
            self.controller.handle_timeout(now);
        }
    }

    fn deliver(&mut self, now: Timestamp) {
        self.feedback.deliver(now, |feedback| self.controller.on_feedback(now, feedback));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seaway_control::{FlowConfig, Registry};
    use seaway_units::Bitrate;

    fn estimator(spec: &str) -> BandwidthEstimator {
        let flow = FlowConfig { packet: DataSize::from_bytes(1200), ecn: Ecn::NotEct };
        let pair = Registry::builtin().build(&spec.parse().unwrap(), flow).unwrap();
        let (min, start) = (Bitrate::from_kbps(100), Bitrate::from_kbps(500));
        BandwidthEstimator::new(pair, Limits { min, start, max: Bitrate::from_mbps(10) })
    }

    /// Reports of 50 packets, 10 ms apart, over 40 ms there and back; `lose` says which are not reported. The rate then.
    fn half_second(estimator: &mut BandwidthEstimator, lose: impl Fn(u64) -> bool) -> Bitrate {
        let departure = Departure::new(DataSize::from_bytes(1200));
        let began = estimator.now();
        for batch in 0..10_i64 {
            let mut results = Vec::new();
            for packet in 0..5_i64 {
                let sent = began + TimeDelta::from_millis(batch * 50 + packet * 10);
                let marking = estimator.marking(sent, &departure);
                let id = estimator.on_sent(sent, &departure, marking);
                let at = Some(RemoteTimestamp::from_nanos(sent.as_nanos() + 3_020_000_000));
                results.push(PacketResult { id, arrival: Some(PacketArrival { at, ecn: Ecn::NotEct }) });
            }
            results.retain(|result| !lose(result.id.0));
            let now = estimator.now() + TimeDelta::from_millis(10);
            estimator.on_report(now, &results, TimeDelta::ZERO);
            while let Some(due) = estimator.poll_timeout().filter(|due| *due <= now) {
                estimator.handle_timeout(due);
            }
        }
        estimator.controller().target().rate
    }

    #[test]
    fn the_rate_follows_what_is_reported() {
        let mut estimator = estimator("nada");
        let start = estimator.controller().target().rate;
        let calm = (0..6).map(|_| half_second(&mut estimator, |_| false)).last().unwrap();
        assert!(calm > start, "{calm} after {start}");
        // The newest packet of a report left 10 ms before it came.
        assert_eq!(estimator.last_rtt(), Some(TimeDelta::from_millis(10)));
        let lossy = (0..6).map(|_| half_second(&mut estimator, |id| id % 3 == 1)).last().unwrap();
        assert!(lossy < calm, "{lossy} after {calm}");
        assert!((95..=100).contains(&estimator.counts().lost), "{:?}", estimator.counts());
    }

    /// A packet that no report names is lost once its time is over, without another report.
    #[test]
    fn silence_is_loss() {
        let mut estimator = estimator("tfrc");
        let departure = Departure::new(DataSize::from_bytes(1200));
        let marking = estimator.marking(Timestamp::ZERO, &departure);
        estimator.on_sent(Timestamp::ZERO, &departure, marking);
        while estimator.counts().lost == 0 {
            let due = estimator.poll_timeout().unwrap();
            assert!(due < Timestamp::ZERO + TimeDelta::from_secs(10), "still not lost at {due}");
            estimator.handle_timeout(due);
        }
    }

    /// A transport that reports its losses says so of each: neither three later packets nor a time make one.
    #[test]
    fn reported_losses_are_the_only_ones() {
        let flow = FlowConfig { packet: DataSize::from_bytes(1200), ecn: Ecn::NotEct };
        let pair = Registry::builtin().build(&"nada".parse().unwrap(), flow).unwrap();
        let rate = Bitrate::from_mbps(1);
        let mut estimator =
            BandwidthEstimator::with_reported_losses(pair, Limits { min: rate, start: rate, max: rate });
        half_second(&mut estimator, |id| id % 3 == 1);
        estimator.handle_timeout(estimator.now() + TimeDelta::from_secs(20));
        assert_eq!(estimator.counts().lost, 0);
        let now = estimator.now();
        estimator.on_report(now, &[PacketResult { id: PacketId(1), arrival: None }], TimeDelta::ZERO);
        assert_eq!(estimator.counts().lost, 1);
    }

    #[test]
    fn a_packet_that_was_never_sent_is_left_out() {
        let mut estimator = estimator("gcc");
        let result = PacketResult { id: PacketId(7), arrival: None };
        estimator.on_report(Timestamp::ZERO, &[result], TimeDelta::ZERO);
        assert_eq!(estimator.counts(), Default::default());
    }
}
