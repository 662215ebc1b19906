//! What a receiver must know of a session, and its text forms.

pub(crate) mod in_band;
mod key;
mod plain;
mod sdp;
mod sdp_sound;
mod url;

pub use key::SessionKey;
pub use plain::{PlainRtp, PlainSound, PlainVideo};
pub use sdp::to_sdp;
pub use url::{Mode, SessionUrl, Transport};

use crate::config::{FeedbackFormat, Format, Stripe};
use crate::message::payload_type;
use seaway_control::ControlSpec;
use seaway_units::{DataSize, Ecn};
use seaway_wire::aac::Config;

/// What a receiver must know of a session: given beforehand, or repeated in-band by the sender.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionDescription {
    /// First of the 1024 synchronisation sources of the session.
    pub session: u32,
    /// The controller, whose receiving half the receiver is to run.
    pub control: ControlSpec,
    /// The codepoint its packets may carry.
    pub ecn: Ecn,
    /// The largest packet, as an IP datagram.
    pub packet: DataSize,
    /// How the receiver is to report.
    pub feedback: FeedbackFormat,
    /// What is kept together on a subflow.
    pub stripe: Stripe,
    /// The subflows are lanes: paths of their own, each with a controller.
    pub lanes: bool,
    /// Repair packets of forward error correction may come.
    pub fec: bool,
    /// The streams; stream n is the n-th.
    pub streams: Vec<StreamDescription>,
}

impl SessionDescription {
    /// Whether a stream is AAC. Between ends of this project it is an offer in place of Opus.
    pub(crate) fn has_aac(&self) -> bool {
        self.streams.iter().any(|stream| matches!(stream.format, Format::Aac(_)))
    }

    /// The same of a receiver that does not take AAC.
    pub(crate) fn without_aac(mut self) -> Self {
        self.streams.iter_mut().for_each(|stream| *stream = stream.without_offer());
        self
    }
}

/// One stream of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamDescription {
    /// What it carries.
    pub kind: MediaKind,
    /// How its frames are written into packets.
    pub format: Format,
    /// RTP payload type, 0 to 111 without that of [padding](payload_type::PADDING). Those from 112 carry
    /// [retransmissions](payload_type::retransmission) and [repair packets](payload_type::fec).
    pub payload_type: u8,
    /// Ticks of its media clock a second, 1 to 2^24 - 1.
    pub clock_rate: u32,
}

/// What a stream carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MediaKind {
    /// Pictures.
    Video,
    /// Sound.
    Audio,
}

impl StreamDescription {
    /// Video with the usual payload type of its format and a clock of 90 kHz.
    pub const fn video(format: Format) -> Self {
        Self { kind: MediaKind::Video, format, payload_type: payload_type::of(format), clock_rate: 90_000 }
    }

    /// Sound with this payload type and clock.
    pub const fn audio(format: Format, payload_type: u8, clock_rate: u32) -> Self {
        Self { kind: MediaKind::Audio, format, payload_type, clock_rate }
    }

    /// Opus, whose clock is 48 kHz whatever it carries (RFC 7587 section 4.1).
    pub const fn opus() -> Self {
        Self::audio(Format::Opus, payload_type::OPUS, 48_000)
    }

    /// AAC of this configuration, whose clock has its sampling rate (RFC 3640 section 4.1).
    pub fn aac(config: Config) -> Self {
        Self::audio(Format::Aac(config), payload_type::AAC, config.sample_rate())
    }

    /// What a receiver gets that does not take AAC.
    pub(crate) fn without_offer(self) -> Self {
        if matches!(self.format, Format::Aac(_)) { Self::opus() } else { self }
    }

    /// True for sound.
    pub fn is_audio(&self) -> bool {
        self.kind == MediaKind::Audio
    }

    pub(crate) fn is_valid(&self) -> bool {
        !payload_type::is_reserved(self.payload_type) && (1..1 << 24).contains(&self.clock_rate)
    }
}
