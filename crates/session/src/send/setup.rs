//! How a sender is made of its configuration, and what of a packet is left for its payload.

use super::numbering::Numbering;
use super::pushback::Pushback;
use super::receiver_reports::ReceiverReports;
use super::reception::Reception;
use super::repair::RepairPolicy;
use super::reports::Reports;
use super::rtcp::Peer;
use super::scheduler::Scheduler;
use super::{KeyState, ORIGINAL_SEQUENCE, ProtectedStream, Schedule, Sender};
use crate::config::{FeedbackFormat, QueueLimits, SenderConfig, StreamConfig};
use crate::describe::StreamDescription;
use crate::event::Events;
use crate::fec::{self, FecEncoder};
use crate::feedback::FeedbackAdapter;
use crate::message::RtpPacket;
use crate::source_id::SourceId;
use crate::statistics::SenderStatistics;
use seaway_control::{
    ControllerPair, FeedbackSource, FlowConfig, RateController, Share, SpecError, TargetPolicy,
};
use seaway_units::{DataSize, TimeDelta, Timestamp};

/// A steered queue holds at most so many octets.
const MOST_STEERED: f64 = 256e6;

impl Sender {
    /// A sender under the controller that the configuration names, its target split by `policy`.
    ///
    /// # Errors
    /// A controller or an option that does not exist; no streams, more than 8 or one that cannot be.
    pub fn new(
        now: Timestamp,
        config: SenderConfig,
        policy: Box<dyn TargetPolicy>,
    ) -> Result<Self, SpecError> {
        check(&config)?;
        let (controller, source) = build_controller(&config)?;
        let tagged = writes_tags(&config)?;
        Ok(Self::build(now, config, controller, source, policy, tagged))
    }

    /// A sender under a controller of the caller's own. Its configuration still names the built-in one whose
    /// receiving half serves it.
    ///
    /// # Errors
    /// A receiving half that does not exist; no streams, more than 8 or one that cannot be.
    pub fn with_controller(
        now: Timestamp,
        config: SenderConfig,
        controller: Box<dyn RateController>,
        policy: Box<dyn TargetPolicy>,
    ) -> Result<Self, SpecError> {
        check(&config)?;
        let (_, source) = config.registry.build(&config.control, flow_config(&config))?;
        Ok(Self::build(now, config, controller, source, policy, true))
    }

    fn build(
        now: Timestamp,
        mut config: SenderConfig,
        controller: Box<dyn RateController>,
        source: Box<dyn FeedbackSource>,
        policy: Box<dyn TargetPolicy>,
        tagged: bool,
    ) -> Self {
        let streams = config.streams.len();
        if let Some(time) = policy.queue() {
            config.queue = steered_queue(&config, time);
        }
        let mut sender = Self {
            controller,
            policy,
            shares: vec![Share::default(); streams],
            target: None,
            scheduler: Scheduler::new(&config),
            repair: RepairPolicy::new(config.adaptive, config.repair.is_some()),
            protected: (0..streams).map(|_| ProtectedStream::new(&config)).collect(),
            schedule: Schedule::default(),
            numbers: Numbering::new(config.initial_sequence),
            feedback: FeedbackAdapter::new(config.feedback.has_arrivals(), receiving_half(&config, source))
                .with_lanes(config.lanes),
            receiver_reports: ReceiverReports::new(now, config.limits.start),
            // The flight of all lanes says nothing of the queue of one.
            pushback: Pushback::new(
                config.pushback.filter(|_| config.feedback.has_arrivals() && config.lanes <= 1),
            ),
            peer: Peer::default(),
            reception: Reception::default(),
            reports: Reports::new(now, config.endless),
            keys: vec![KeyState::default(); streams],
            tagged,
            payloads: Vec::new(),
            events: Events::default(),
            observer: None,
            statistics: SenderStatistics::default(),
            config,
        };
        sender.feedback.expect_slow_reports(sender.config.plain.is_some());
        sender.feedback.agree_on(sender.config.registry.feedback_interval(&sender.config.control));
        sender.on_limits(now, sender.config.limits);
        sender
    }

    /// Octets before the payload of a media packet.
    pub(super) fn header_len(&self) -> usize {
        RtpPacket::header_len(self.tagged, true, self.config.feedback == FeedbackFormat::Twcc)
    }

    /// Octets of payload that fit the packet size, also in a retransmission.
    pub fn payload_limit(&self) -> usize {
        let repair = if self.config.repair.is_some() { ORIGINAL_SEQUENCE } else { 0 };
        let mut limit = self.room().saturating_sub(self.header_len() + repair);
        if has_fec(&self.config) {
            let header =
                RtpPacket::header_len(self.tagged, false, self.config.feedback == FeedbackFormat::Twcc);
            limit =
                limit.min(fec::payload_limit(self.room(), header, self.config.packet.as_bytes() as usize));
        }
        limit.max(1)
    }

    /// Octets of a datagram beside its payload, where nothing of it is sent again.
    pub fn headers(&self) -> DataSize {
        self.config.overhead + DataSize::from_bytes(self.header_len() as u64)
    }

    /// Octets of a UDP payload that fit the packet size.
    pub(super) fn room(&self) -> usize {
        self.config.packet.saturating_sub(self.config.overhead).as_bytes() as usize
    }
}

impl ProtectedStream {
    fn new(config: &SenderConfig) -> Self {
        let fec = has_fec(config).then(|| FecEncoder::new(config.packet.as_bytes() as usize));
        Self { fec, packets: 0, interval: TimeDelta::from_millis(40) }
    }
}

/// Repair packets may be sent.
pub(super) fn has_fec(config: &SenderConfig) -> bool {
    config.adaptive.is_some_and(|adaptive| adaptive.fec)
}

/// The queue of a policy that steers it: this time at the largest rate of all encoders.
fn steered_queue(config: &SenderConfig, time: TimeDelta) -> QueueLimits {
    let full = |stream: &StreamConfig| stream.max.min(config.limits.max).as_bps_f64();
    let bits = config.streams.iter().map(full).sum::<f64>() * time.as_secs_f64();
    let bytes = (bits / 8.0).min(MOST_STEERED) as u64;
    QueueLimits { delay: None, size: DataSize::from_bytes(bytes) }
}

/// The receiving half runs at the sender where the receiver reports nothing but arrivals.
pub(super) fn receiving_half(
    config: &SenderConfig,
    source: Box<dyn FeedbackSource>,
) -> Option<Box<dyn FeedbackSource>> {
    (!config.feedback.has_computed()).then_some(source)
}

/// Both halves of the controller that the configuration names, or of one a lane.
pub(super) fn build_controller(config: &SenderConfig) -> Result<ControllerPair, SpecError> {
    let SenderConfig { registry, control, lanes, .. } = config;
    match lanes {
        0 | 1 => registry.build(control, flow_config(config)),
        _ => registry.build_lanes(control, flow_config(config), *lanes),
    }
}

fn check(config: &SenderConfig) -> Result<(), SpecError> {
    let count = config.streams.len();
    if !(1..=usize::from(SourceId::STREAMS)).contains(&count) {
        let why = format!("a session has 1 to {} streams", SourceId::STREAMS);
        return Err(SpecError::new(&count.to_string(), why));
    }
    if let Some(stream) = config.streams.iter().find(|stream| !stream.description.is_valid()) {
        let StreamDescription { payload_type, clock_rate, .. } = stream.description;
        let what = format!("payload type {payload_type} at {clock_rate} Hz");
        return Err(SpecError::new(&what, "a stream has a payload type and a clock rate of its own"));
    }
    if config.lanes > 1 && !config.feedback.has_arrivals() {
        return Err(SpecError::new(&config.lanes.to_string(), "lanes need feedback with arrivals"));
    }
    Ok(())
}

pub(super) fn flow_config(config: &SenderConfig) -> FlowConfig {
    FlowConfig { packet: config.packet, ecn: config.ecn }
}

/// Whether the controller writes tags on packets.
pub(super) fn writes_tags(config: &SenderConfig) -> Result<bool, SpecError> {
    config.registry.requirements(&config.control).map(|requirements| requirements.tags)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{AdaptiveRepair, Format, Limits};
    use seaway_control::policy::Direct;
    use seaway_units::Bitrate;

    fn config(control: &str) -> SenderConfig {
        let limits =
            Limits { min: Bitrate::from_kbps(100), start: Bitrate::from_mbps(1), max: Bitrate::from_mbps(8) };
        SenderConfig::new(1, control.parse().unwrap(), limits, Format::Opaque)
    }

    fn sender(config: SenderConfig) -> Result<Sender, SpecError> {
        Sender::new(Timestamp::ZERO, config, Box::new(Direct::new()))
    }

    /// A packet of 1200 octets holds 28 of IPv4 and UDP, the RTP header with what its extensions take, two of the original number
    /// where it may be sent again, and the payload. Nothing is larger.
    #[test]
    fn a_payload_fits_the_packet_with_all_headers() {
        let header = |tagged, transport_wide| RtpPacket::header_len(tagged, true, transport_wide);
        let limit = |config: SenderConfig| sender(config).unwrap().payload_limit();
        assert_eq!(limit(config("nada")), 1200 - 28 - header(false, false) - 2);
        assert_eq!(limit(SenderConfig { repair: None, ..config("nada") }), 1200 - 28 - header(false, false));
        let twcc = SenderConfig { feedback: FeedbackFormat::Twcc, ..config("nada") };
        assert_eq!(limit(twcc.clone()), 1200 - 28 - header(false, true) - 2);
        assert_eq!(
            limit(config("tfrc(profile=ns2)")),
            1200 - 28 - header(true, false) - 2,
            "it tags packets"
        );
        let headers = |config| sender(config).unwrap().headers().as_bytes() as usize;
        assert_eq!(
            (headers(config("nada")), headers(twcc)),
            (28 + header(false, false), 28 + header(false, true))
        );
        // A repair packet holds a whole payload behind headers of its own.
        let adaptive = Some(AdaptiveRepair { deadline: TimeDelta::from_millis(200), fec: true });
        let with_fec = SenderConfig { adaptive, ..config("nada") };
        let repair = fec::payload_limit(1172, RtpPacket::header_len(false, false, false), 1200);
        assert_eq!(limit(with_fec), repair.min(1200 - 28 - header(false, false) - 2));
        let adaptive = Some(AdaptiveRepair { deadline: TimeDelta::from_millis(200), fec: false });
        assert_eq!(limit(SenderConfig { adaptive, ..config("nada") }), limit(config("nada")));
        // An octet at least, however small packets are.
        assert_eq!(limit(SenderConfig { packet: DataSize::from_bytes(20), ..config("nada") }), 1);
    }

    /// One to eight streams, each with a payload type and a clock; lanes need the arrivals of packets.
    #[test]
    fn what_cannot_be_is_refused() {
        let streams = |count| vec![config("nada").streams[0]; count];
        let with = |count| SenderConfig { streams: streams(count), ..config("nada") };
        assert_eq!([0, 1, 8, 9].map(|count| sender(with(count)).is_ok()), [false, true, true, false]);
        let error = sender(with(9)).expect_err("too many").to_string();
        assert!(error.contains("9") && error.contains("1 to 8 streams"), "{error}");
        let mut silent = config("nada");
        silent.streams[0].description.clock_rate = 0;
        let error = sender(silent).expect_err("no clock").to_string();
        assert!(error.contains("at 0 Hz"), "{error}");
        let computed = |lanes| SenderConfig { feedback: FeedbackFormat::Computed, lanes, ..config("tfrc") };
        assert_eq!([0, 1, 2].map(|lanes| sender(computed(lanes)).is_ok()), [true, true, false]);
        let lanes = SenderConfig { lanes: 2, ..config("nada") };
        assert_eq!(sender(lanes.clone()).unwrap().controller().subflows(), 2);
        assert_eq!(sender(config("nada")).unwrap().controller().subflows(), 1);
        // A controller of the caller's own does not make up for it.
        let (own, _) = build_controller(&config("nada")).unwrap();
        let own = Sender::with_controller(Timestamp::ZERO, with(9), own, Box::new(Direct::new()));
        assert!(own.is_err());
    }

    /// A steered queue holds its time at what all encoders can use: 3 Mbit/s for a tenth of a second are 37 500 octets, and never more than 256 MB.
    #[test]
    fn a_steered_queue_is_bounded() {
        let mut two = config("nada");
        two.streams = vec![two.streams[0]; 2];
        (two.streams[0].max, two.streams[1].max) = (Bitrate::from_mbps(1), Bitrate::from_mbps(2));
        let queue = steered_queue(&two, TimeDelta::from_millis(100));
        assert_eq!(queue, QueueLimits { delay: None, size: DataSize::from_bytes(37_500) });
        two.limits.max = Bitrate::from_mbps(1);
        assert_eq!(steered_queue(&two, TimeDelta::from_millis(100)).size, DataSize::from_bytes(25_000));
        assert_eq!(
            steered_queue(&two, TimeDelta::from_secs(10_000_000)).size,
            DataSize::from_bytes(256_000_000)
        );
    }

    /// The receiving half runs at the sender where the receiver only reports arrivals.
    #[test]
    fn who_runs_the_receiving_half() {
        for (feedback, is_here) in [
            (FeedbackFormat::Native, false),
            (FeedbackFormat::Computed, false),
            (FeedbackFormat::Ccfb, true),
            (FeedbackFormat::Twcc, true),
        ] {
            let config = SenderConfig { feedback, ..config("tfrc") };
            let (_, source) = build_controller(&config).unwrap();
            assert_eq!(receiving_half(&config, source).is_some(), is_here, "{feedback:?}");
        }
    }
}
