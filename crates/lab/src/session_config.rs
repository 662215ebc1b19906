//! The session configuration of a media flow.

use crate::scenario::{self, MediaFlow, PlayoutMode, SourceConfig, StreamKind, StreamSource};
use seaway_control::Requirements;
use seaway_session::{
    AdaptiveRepair, FeedbackFormat, Format, Limits, Playout, QueueLimits, ReceiverConfig, RepairLimits,
    RepairRequests, SenderConfig, SessionDescription, SourceId, StreamConfig, StreamDescription, Stripe,
    payload_type,
};
use seaway_stream::source::PacketOverhead;
use seaway_units::{Bitrate, DataSize, TimeDelta};

/// The default range of a saturated flow: practically unlimited.
const UNLIMITED: Limits =
    Limits { min: Bitrate::from_bps(1), start: Bitrate::from_kbps(300), max: Bitrate::from_mbps(100_000) };
/// The default range of video.
const VIDEO: Limits =
    Limits { min: Bitrate::from_kbps(150), start: Bitrate::from_kbps(300), max: Bitrate::from_mbps(4) };

/// The sender of the flow with this number.
pub(crate) fn sender(index: usize, media: &MediaFlow) -> SenderConfig {
    let is_saturated = media.source == SourceConfig::Saturated;
    let limits = match media.rate {
        Some(rate) => Limits { min: rate.min, start: rate.start.unwrap_or(rate.min), max: rate.max },
        None if is_saturated => UNLIMITED,
        None => VIDEO,
    };
    let session = (index as u32).wrapping_mul(SourceId::COUNT);
    let is_live = matches!(media.source, SourceConfig::Clip { .. });
    let format = if is_live { Format::H264 } else { Format::Opaque };
    let mut config = SenderConfig::new(session, media.control.clone(), limits, format);
    config.registry = media.registry.clone();
    config.packet = media.packet;
    config.ecn = media.ecn.into();
    config.stripe = match media.stripe {
        Some(scenario::Stripe::Packet) => Stripe::Packet,
        Some(scenario::Stripe::Frame) => Stripe::Frame,
        Some(scenario::Stripe::Gop) => Stripe::Gop,
        None if is_saturated => Stripe::Packet,
        None => Stripe::default(),
    };
    // A controller that cannot be built is reported elsewhere.
    let needs = media.registry.requirements(&media.control).unwrap_or(Requirements::DEFAULT);
    config.feedback = match media.feedback.format {
        // Pushback of a live encoder needs the data in flight, hence per-packet feedback.
        scenario::FeedbackFormat::Native if !needs.fates && !is_live && !adapts(media) => {
            FeedbackFormat::Computed
        }
        scenario::FeedbackFormat::Native => FeedbackFormat::Native,
        scenario::FeedbackFormat::Ccfb => FeedbackFormat::Ccfb,
        scenario::FeedbackFormat::Twcc => FeedbackFormat::Twcc,
    };
    for stream in &media.stream {
        config.streams.push(sound(stream, PacketOverhead::new(config.packet, config.overhead).headers));
    }
    config.repair = repairs(media).then(RepairLimits::default);
    config.adaptive = media.repair.filter(|_| adapts(media)).map(|repair| AdaptiveRepair {
        deadline: repair.deadline.unwrap_or(RepairRequests::default().deadline),
        fec: true,
    });
    if let Some(AdaptiveRepair { deadline, .. }) = config.adaptive {
        config = config.within(deadline);
    }
    // Encoder models are used to test controller and policy as their documents describe them: no pushback.
    let has_quality = is_live || matches!(media.source, SourceConfig::Ladder { .. });
    config.pushback = config.pushback.filter(|_| has_quality);
    // Retransmission and a receive buffer need real frames.
    let plays =
        repairs(media) || adapts(media) || media.receiver.is_some_and(|receiver| receiver.buffer.is_some());
    config.endless = is_saturated && !needs.frames && !plays;
    // A stored clip waits for the network without a limit.
    if is_saturated || matches!(media.source, SourceConfig::Stored { .. }) {
        config.queue = QueueLimits { delay: None, ..QueueLimits::default() };
    }
    config
}

/// Sound, whose rate is that on the wire with so many octets of headers before each packet.
fn sound(stream: &StreamSource, headers: DataSize) -> StreamConfig {
    let StreamKind::Audio = stream.kind;
    let description = StreamDescription::audio(Format::Opaque, payload_type::OPUS, 48_000);
    let on_top = headers.over(stream.frame).unwrap_or(Bitrate::ZERO);
    StreamConfig::audio(description, stream.rate + on_top)
}

/// The receiver of the session of this description.
pub(crate) fn receiver(media: &MediaFlow, description: SessionDescription) -> ReceiverConfig {
    let mut config = ReceiverConfig::new(description.session.wrapping_add(SourceId::COUNT - 1));
    let deadline = media.repair.and_then(|repair| repair.deadline);
    config.description = Some(description);
    config.registry = media.registry.clone();
    config.repair = (repairs(media) || adapts(media)).then(|| {
        let requests = RepairRequests::default();
        let repeats = if repairs(media) { requests.repeats } else { 0 };
        RepairRequests { deadline: deadline.unwrap_or(requests.deadline), repeats, ..requests }
    });
    config.playout = playout(media, deadline);
    config
}

fn repairs(media: &MediaFlow) -> bool {
    media.repair.is_some_and(|repair| repair.retransmit)
}

/// Repair packets of forward error correction may be sent, and repair follows the loss.
fn adapts(media: &MediaFlow) -> bool {
    media.repair.is_some_and(|repair| repair.fec)
}

/// A buffer of bytes where the scenario has one; frames at once where it says so, waited for up to the playout time; a
/// constant delay; else a delay that adapts up to the deadline.
fn playout(media: &MediaFlow, deadline: Option<TimeDelta>) -> Playout {
    let adaptive = match (Playout::default(), deadline) {
        (Playout::Adaptive { min, .. }, Some(max)) => Playout::Adaptive { min, max },
        (default, _) => default,
    };
    let Some(receiver) = media.receiver else { return adaptive };
    match (receiver.byte_buffer(), receiver.mode, receiver.playout) {
        (Some(buffer), ..) => Playout::Bytes(buffer),
        (_, Some(PlayoutMode::LowLatency), most) => {
            let most = most.or(deadline).unwrap_or(RepairRequests::default().deadline);
            Playout::LowLatency { max: most }
        }
        (_, _, Some(delay)) => Playout::Adaptive { min: delay, max: delay },
        _ => adaptive,
    }
}
