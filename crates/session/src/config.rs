//! Configuration of the endpoints.

use crate::describe::{PlainRtp, StreamDescription};
use seaway_control::{ControlSpec, Registry, StreamId};
use seaway_units::{Bitrate, DataSize, Ecn, TimeDelta};
use seaway_wire::aac;
use std::time::Duration;

/// Octets of the IPv4 and UDP headers.
pub const OVERHEAD_IPV4: DataSize = DataSize::from_bytes(28);
/// Octets of the IPv6 and UDP headers.
pub const OVERHEAD_IPV6: DataSize = DataSize::from_bytes(48);

/// Configuration of a [`Sender`](crate::Sender).
#[derive(Debug, Clone)]
pub struct SenderConfig {
    /// First of the 1024 synchronisation sources of the session, which identifies it. Random on a network.
    pub session: u32,
    /// First RTP sequence number of each source.
    pub initial_sequence: u16,
    /// Media timestamp of our clock's origin, in each stream.
    pub timestamp_offset: u32,
    /// The controller.
    pub control: ControlSpec,
    /// The controllers that can be named.
    pub registry: Registry,
    /// The codepoint the controller may put on packets.
    pub ecn: Ecn,
    /// The largest packet, as an IP datagram.
    pub packet: DataSize,
    /// Octets of the IP and UDP headers.
    pub overhead: DataSize,
    /// The range of the rate.
    pub limits: Limits,
    /// The encoders, at most 8; stream n is the n-th.
    pub streams: Vec<StreamConfig>,
    /// What is kept together on a subflow.
    pub stripe: Stripe,
    /// Bonding: so many subflows take paths of their own, each with a controller, and a packet leaves by the one on which it is
    /// expected to arrive first. 1: one path. It needs feedback with arrivals.
    pub lanes: u8,
    /// How the receiver is to report.
    pub feedback: FeedbackFormat,
    /// Retransmission; `None`: requests are counted and not served.
    pub repair: Option<RepairLimits>,
    /// Repair follows the loss of the channel, inside the target. `None`: requests are served as they come.
    pub adaptive: Option<AdaptiveRepair>,
    /// The send queue.
    pub queue: QueueLimits,
    /// The time in which a picture should leave at the target rate. Where that is less than the time to the next picture, encoders get
    /// that part of their shares, but at least what the controller [holds with](seaway_control::RateController::least_used). `None`: they get all.
    pub picture_time: Option<TimeDelta>,
    /// The send burst interval, as libwebrtc has it: packets leave together that are due so long before an instant or so long
    /// behind it. A driver that is late by so much again loses nothing. Over any span the burst is one interval and the
    /// controller's credit, or two intervals where that is less. Zero: each packet leaves when it is due.
    pub send_burst_interval: TimeDelta,
    /// Encoder pushback: the delay of network queues, as estimated from the flight, beyond which encoders get smaller
    /// shares. What may be sent stays the controller's decision. It needs the arrivals of packets, so there is none where
    /// the feedback is [computed](FeedbackFormat::Computed). `None`: no pushback.
    pub pushback: Option<TimeDelta>,
    /// The receiver is none of this project: FFmpeg, GStreamer, VLC. `None`: it is one.
    pub plain: Option<PlainReceiver>,
    /// A saturated source: where no frame waits, a filler packet leaves. There are no frames and no media clock, so no
    /// sender reports leave, and the receiver must have the description beforehand.
    pub endless: bool,
}

impl SenderConfig {
    /// One stream of `format` under `control`, with the usual rest: packets of 1200 B over IPv4,
    /// native feedback, retransmission, a send queue of half a second.
    pub fn new(session: u32, control: ControlSpec, limits: Limits, format: Format) -> Self {
        Self {
            session,
            initial_sequence: 0,
            timestamp_offset: 0,
            control,
            registry: Registry::builtin(),
            ecn: Ecn::NotEct,
            packet: DataSize::from_bytes(1200),
            overhead: OVERHEAD_IPV4,
            limits,
            streams: vec![StreamConfig::new(StreamDescription::video(format), limits.max)],
            stripe: Stripe::default(),
            lanes: 1,
            feedback: FeedbackFormat::default(),
            repair: Some(RepairLimits::default()),
            adaptive: None,
            queue: QueueLimits::default(),
            picture_time: None,
            send_burst_interval: TimeDelta::ZERO,
            pushback: Some(TimeDelta::from_millis(150)),
            plain: None,
            endless: false,
        }
    }

    /// The same for frames that are shown at most so long after the least delay of the path: frames are skipped where what
    /// waits would take all of it, and a picture leaves in three tenths of it (docs/models/latency.md).
    #[must_use]
    pub fn within(mut self, latency: TimeDelta) -> Self {
        self.queue.delay = self.queue.delay.map(|delay| delay.min(latency * 2));
        self.picture_time = Some(picture_time(latency));
        self
    }

    /// As [`within`](Self::within), whatever held before; repair follows.
    pub(crate) fn change_latency(&mut self, latency: TimeDelta) {
        let usual = QueueLimits::default().delay;
        self.queue.delay = self.queue.delay.and(usual).map(|delay| delay.min(latency * 2));
        self.picture_time = Some(picture_time(latency));
        self.adaptive.iter_mut().for_each(|adaptive| adaptive.deadline = latency);
    }
}

/// The part of the latency in which a picture leaves: the rest is for the codec, for repair and for larger pictures.
fn picture_time(latency: TimeDelta) -> TimeDelta {
    latency * 3 / 10
}

/// The description of a sender of plain RTP. Its packets carry the transport-wide sequence number and no other header extension,
/// its reports are compound packets (RFC 3550 section 6.1), and it takes receiver reports for feedback until something more
/// exact comes: docs/models/feedback-formats.md, section "Receiver reports alone".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlainReceiver {
    /// Our canonical name (RFC 3550 section 6.5.1), at most 255 octets.
    pub cname: String,
    /// The time of day at the origin of our clock, since 1900 (RFC 3550 section 4), by which receivers synchronise streams.
    pub wall_clock: Duration,
    /// The stream whose packets transport-wide feedback leaves out: they have no transport-wide number, the controller does not learn of
    /// them, and they are not sent again. Its rate is taken off the target as that of any sound is.
    pub unreported: Option<StreamId>,
}

/// The range of the rate, in wire octets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Never below.
    pub min: Bitrate,
    /// The first rate, for controllers without a slow start.
    pub start: Bitrate,
    /// Never above: what the encoders could use.
    pub max: Bitrate,
}

/// One encoder.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StreamConfig {
    /// What the receiver must know of it.
    pub description: StreamDescription,
    /// Its part of the rate relative to the other streams; above zero.
    pub weight: f32,
    /// It cannot go below.
    pub min: Bitrate,
    /// It has no use for more.
    pub max: Bitrate,
}

impl StreamConfig {
    /// A stream of weight 1 that uses up to `max`.
    pub const fn new(description: StreamDescription, max: Bitrate) -> Self {
        Self { description, weight: 1.0, min: Bitrate::ZERO, max }
    }

    /// Sound of a constant `rate` on the wire, which is taken out of the target before pictures get theirs.
    pub const fn audio(description: StreamDescription, rate: Bitrate) -> Self {
        /// So much more than the rest that a weighted split gives it all it can use.
        const WEIGHT: f32 = 1000.0;
        Self { description, weight: WEIGHT, min: rate, max: rate }
    }
}

/// How frames are written into packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// Cut at the packet size, nothing added; synthetic frames mostly.
    Opaque,
    /// H.264 access units in Annex B form; RFC 6184, packetization-mode 1.
    H264,
    /// MPEG-1/2 video pictures with the headers before them; RFC 2250.
    Mpv,
    /// Opus packets of at most 120 ms, one in each RTP packet; RFC 7587.
    Opus,
    /// Frames of AAC of this configuration, in ADTS headers; RFC 3640, mode AAC-hbr.
    Aac(aac::Config),
    /// An MPEG transport stream, of which each RTP packet holds whole packets; RFC 2250 section 2. Of one that is sent a frame is what
    /// belongs to a picture; of one that is received each RTP packet is a frame.
    Mp2t,
    /// H.265 access units in Annex B form; RFC 7798. It is received from other programs.
    H265,
    /// AV1 temporal units, whose OBUs have sizes; AOM's payload format. It is received from other programs.
    Av1,
}

/// What is kept together on one subflow of a controller that has several. A larger unit takes longer: it is captured at the
/// rate of all subflows and leaves at that of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Stripe {
    /// Nothing: the subflow that is due takes the next packet.
    #[default]
    Packet,
    /// Frames; each goes to the subflow where least waits.
    Frame,
    /// Groups of pictures, to the subflows in turn (S003).
    Gop,
}

/// How a receiver reports arrivals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum FeedbackFormat {
    /// RFC 8888, and beside it what the receiving half of the controller computed.
    #[default]
    Native,
    /// RFC 8888 alone; the receiving half runs at the sender on what is reported.
    Ccfb,
    /// Transport-wide congestion control, likewise.
    Twcc,
    /// What the receiving half of the controller computed, alone, as in RFC 5348: for controllers that
    /// [require](seaway_control::Requirements) no more. The sender knows of the newest packet of each report that it arrived,
    /// and counts no loss.
    Computed,
}

impl FeedbackFormat {
    /// True where arrivals are reported packet by packet.
    pub(crate) const fn has_arrivals(self) -> bool {
        !matches!(self, Self::Computed)
    }

    /// True where the receiver runs the receiving half of the controller for the sender.
    pub(crate) const fn has_computed(self) -> bool {
        matches!(self, Self::Native | Self::Computed)
    }
}

/// Which requests for retransmission a sender serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RepairLimits {
    /// A packet is sent again at most so often.
    pub repeats: u8,
    /// And not once it left this long ago.
    pub age: TimeDelta,
}

impl Default for RepairLimits {
    fn default() -> Self {
        Self { repeats: 10, age: TimeDelta::from_secs(1) }
    }
}

/// Repair that follows the loss of the channel: the target is divided among media, retransmissions and repair packets of
/// forward error correction (docs/models/protection.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AdaptiveRepair {
    /// How long after a frame was handed over, less the least delay of the path, what repairs it is of use. It is the
    /// receiver's [`RepairRequests::deadline`]; above zero.
    pub deadline: TimeDelta,
    /// Repair packets may be sent, not retransmissions alone.
    pub fec: bool,
}

/// Bounds of the send queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueLimits {
    /// Frames that waited longer are dropped. `None`: media does not grow stale (stored files, saturation).
    pub delay: Option<TimeDelta>,
    /// Frames are refused while more than this waits, and larger ones always.
    pub size: DataSize,
}

impl Default for QueueLimits {
    fn default() -> Self {
        Self { delay: Some(TimeDelta::from_millis(500)), size: DataSize::from_bytes(8_000_000) }
    }
}

/// Configuration of a [`Receiver`](crate::Receiver).
#[derive(Debug, Clone)]
pub struct ReceiverConfig {
    /// Our synchronisation source in reports. Random where it matters.
    pub ssrc: u32,
    /// The largest datagram of reports, as an IP datagram: 500 octets at least. Without its headers none has more than 1200.
    pub packet: DataSize,
    /// Octets of the IP and UDP headers.
    pub overhead: DataSize,
    /// When frames are given out.
    pub playout: Playout,
    /// Requests for retransmission; `None`: none are made.
    pub repair: Option<RepairRequests>,
    /// The session's description. `None`: the first that comes in-band.
    pub description: Option<crate::SessionDescription>,
    /// The controllers that a sender can name.
    pub registry: Registry,
    /// Another sender is accepted once the present one was silent for this long.
    pub lock: TimeDelta,
    /// AAC is taken where the sender offers it in place of Opus.
    pub takes_aac: bool,
    /// RTP of senders that do not describe themselves is received too; `None`: it is refused.
    pub plain: Option<PlainRtp>,
    /// Our canonical name in reports to such a sender (RFC 3550 section 6.5.1), at most 255 octets. Random where it matters
    /// (RFC 7022).
    pub cname: String,
}

impl ReceiverConfig {
    /// Adaptive playout up to 500 ms, retransmission, IPv4, a lock of 1 s.
    pub fn new(ssrc: u32) -> Self {
        Self {
            ssrc,
            packet: DataSize::from_bytes(1500),
            overhead: OVERHEAD_IPV4,
            playout: Playout::default(),
            repair: Some(RepairRequests::default()),
            description: None,
            registry: Registry::builtin(),
            lock: TimeDelta::from_secs(1),
            takes_aac: false,
            plain: None,
            cname: "seaway".into(),
        }
    }
}

/// When a receiver gives frames out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Playout {
    /// Each frame at its capture time, later by the least delay seen on the path and by a playout delay that
    /// follows the lateness of frames, from `min` to `max`.
    Adaptive {
        /// Least playout delay.
        min: TimeDelta,
        /// Largest playout delay: what is not whole by then is given up.
        max: TimeDelta,
    },
    /// Each frame as soon as it is whole and those before it were given out.
    LowLatency {
        /// What is not whole so long after its earliest instant is given up.
        max: TimeDelta,
    },
    /// A buffer of bytes drained at a constant rate (S000 section 3).
    Bytes(ByteBufferConfig),
}

impl Playout {
    /// The longest that a frame which is not whole is waited for; a buffer of bytes has none.
    pub(crate) const fn set_max(&mut self, latency: TimeDelta) {
        match self {
            Self::Adaptive { max, .. } | Self::LowLatency { max } => *max = latency,
            Self::Bytes(_) => {}
        }
    }
}

impl Default for Playout {
    fn default() -> Self {
        Self::Adaptive { min: TimeDelta::ZERO, max: TimeDelta::from_millis(500) }
    }
}

/// A receiver's buffer of bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ByteBufferConfig {
    /// What it can hold; bytes beyond are refused.
    pub capacity: DataSize,
    /// How fast it is drained.
    pub consume: Bitrate,
    /// The rate that it is drained at from this time after playback began.
    pub then: Option<(TimeDelta, Bitrate)>,
    /// Playback begins when it first holds this part of the capacity, 0 to 1.
    pub start_level: f64,
    /// It is the socket's: a packet that does not fit is refused whole, below the session, which misses it as one
    /// that the network lost. Otherwise it stands behind the session and takes what fits.
    pub socket: bool,
}

/// How a receiver requests lost packets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RepairRequests {
    /// A packet is requested at most so often.
    pub repeats: u8,
    /// And only if it can be there this long after the frame could have been displayed at the earliest.
    pub deadline: TimeDelta,
    /// A request needs this much more time than the round-trip, as a part of it.
    pub margin: f64,
    /// How long a gap may be reordering where fewer than three later packets came.
    pub reorder: TimeDelta,
}

/// From the third request on each waits longer than the one before by this factor, as libwebrtc has it: a sender whose pacer
/// holds the repair up is not requested ten times for what is about to leave.
const BACKOFF: f64 = 1.25;

impl RepairRequests {
    /// How long the answer to a request may take that was made `before` times already.
    pub(crate) fn round(&self, rtt: TimeDelta, before: u8) -> TimeDelta {
        (rtt.mul_f64(1.0 + self.margin) + self.reorder)
            .mul_f64(libm::pow(BACKOFF, f64::from(before.saturating_sub(2))))
    }
}

impl Default for RepairRequests {
    fn default() -> Self {
        Self {
            repeats: 10,
            deadline: TimeDelta::from_millis(500),
            margin: 0.2,
            reorder: TimeDelta::from_millis(10),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Within 100 ms a frame waits for twice that at most, and never for longer than before; a picture leaves in three tenths.
    #[test]
    fn a_latency_bounds_the_queue_and_the_time_of_a_picture() {
        let ms = TimeDelta::from_millis;
        let limits = Limits { min: Bitrate::ZERO, start: Bitrate::from_mbps(1), max: Bitrate::from_mbps(1) };
        let config = || SenderConfig::new(1, "fixed".parse().unwrap(), limits, Format::Opaque);
        let within = |latency| {
            let config = config().within(latency);
            (config.queue.delay, config.picture_time)
        };
        assert_eq!(within(ms(100)), (Some(ms(200)), Some(ms(30))));
        assert_eq!(within(ms(400)), (Some(ms(500)), Some(ms(120))));
        // A later change begins from the usual half second, and where nothing grows stale nothing ever does.
        let mut changed = config().within(ms(100));
        changed.adaptive = Some(AdaptiveRepair { deadline: ms(100), fec: true });
        changed.change_latency(ms(200));
        assert_eq!((changed.queue.delay, changed.picture_time), (Some(ms(400)), Some(ms(60))));
        assert_eq!(changed.adaptive.map(|adaptive| adaptive.deadline), Some(ms(200)));
        changed.queue.delay = None;
        changed.change_latency(ms(100));
        assert_eq!(changed.queue.delay, None);
    }

    #[test]
    fn a_latency_is_the_longest_wait_for_a_frame() {
        let (ms, latency) = (TimeDelta::from_millis, TimeDelta::from_millis(80));
        let mut adaptive = Playout::Adaptive { min: ms(10), max: ms(500) };
        adaptive.set_max(latency);
        assert_eq!(adaptive, Playout::Adaptive { min: ms(10), max: latency });
        let mut low = Playout::LowLatency { max: ms(500) };
        low.set_max(latency);
        assert_eq!(low, Playout::LowLatency { max: latency });
    }
}
