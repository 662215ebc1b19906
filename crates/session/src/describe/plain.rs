//! RTP of senders that do not describe themselves in-band: FFmpeg, GStreamer, cameras.

use super::StreamDescription;
use crate::config::{FeedbackFormat, Format};
use bytes::Bytes;

/// What a receiver knows beforehand of plain RTP, from a session description. By default it knows nothing: source and
/// payload type are learned from the packets.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PlainRtp {
    /// The video that the sender offers; `None`: learned.
    pub video: Option<PlainVideo>,
    /// The sound beside the video.
    pub sound: Option<PlainSound>,
    /// What else the description has, which is not received, for people to read.
    pub left_out: Vec<String>,
}

/// The sound of a session description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlainSound {
    /// Opus or AAC.
    pub format: Format,
    /// Its RTP payload type.
    pub payload_type: u8,
    /// The port to which it comes; `None`: that of the video (RFC 8843).
    pub port: Option<u16>,
}

impl PlainSound {
    /// What its driver adds to the payload type of a packet that comes to the [port of its own](Self::port): each port has payload
    /// types of its own (RFC 3551 section 3), and those of RTP have seven bits.
    pub const OWN_PORT: u8 = 0x80;

    /// Its payload type as packets have it in the session.
    pub(crate) fn session_type(&self) -> u8 {
        self.payload_type | if self.port.is_some() { Self::OWN_PORT } else { 0 }
    }

    /// Its stream in the session.
    pub(crate) fn description(&self) -> StreamDescription {
        match self.format {
            Format::Aac(config) => StreamDescription::aac(config),
            _ => StreamDescription::opus(),
        }
    }
}

/// The video stream of a session description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlainVideo {
    /// How its frames are written into packets.
    pub format: Format,
    /// Its RTP payload type.
    pub payload_type: u8,
    /// Ticks of its media clock a second.
    pub clock_rate: u32,
    /// The payload type of its retransmissions (RFC 4588).
    pub retransmission: Option<u8>,
    /// The sender takes negative acknowledgements (RFC 4585 section 6.2.1).
    pub nack: bool,
    /// The sender takes picture loss indications (RFC 4585 section 6.3.1).
    pub pli: bool,
    /// How arrivals are reported packet by packet, where the sender takes that.
    pub feedback: Option<FeedbackFormat>,
    /// Local identifier of the header extension with transport-wide sequence numbers.
    pub transport_id: Option<u8>,
    /// Parameter sets that stand in the description (RFC 6184 section 8.1), in Annex B form; empty where there are none.
    pub parameter_sets: Bytes,
}

impl PlainVideo {
    /// Video of this format with this payload type, of a sender that takes requests for key frames and nothing else; of a
    /// transport stream not even those.
    pub(crate) fn of(format: Format, payload_type: u8) -> Self {
        Self {
            format,
            payload_type,
            clock_rate: 90_000,
            retransmission: None,
            nack: false,
            pli: format != Format::Mp2t,
            feedback: None,
            transport_id: None,
            parameter_sets: Bytes::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seaway_wire::aac::Config;

    #[test]
    fn sound_is_a_stream_of_its_format() {
        let config = Config::parse([0x12, 0x10]).unwrap();
        let of = |format| PlainSound { format, payload_type: 97, port: None }.description();
        assert_eq!(of(Format::Aac(config)), StreamDescription::aac(config));
        assert_eq!(of(Format::Opus), StreamDescription::opus());
        assert!(of(Format::Opus).is_audio() && !StreamDescription::video(Format::H264).is_audio());
    }

    #[test]
    fn a_transport_stream_is_not_asked_for_key_frames() {
        assert!(!PlainVideo::of(Format::Mp2t, 33).pli && PlainVideo::of(Format::H264, 96).pli);
    }
}
