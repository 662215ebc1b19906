//! What a media server is offered to take or to give.

use super::peer::{h264, opus};
use rtc::peer_connection::configuration::media_engine::{MIME_TYPE_RTX, MediaEngine};
use rtc::rtp_transceiver::rtp_sender::{
    RTCPFeedback, RTCRtpCodec, RTCRtpCodecParameters, RTCRtpHeaderExtensionCapability, RtpCodecKind,
};
use rtc::sdp::extmap::TRANSPORT_CC_URI;
use rtc::shared::error::Result;

/// H.264 and its retransmissions, and Opus where it has a payload type, with transport-wide numbers on all.
pub(super) fn media_engine(payload_type: u8, retransmission: u8, sound: Option<u8>) -> Result<MediaEngine> {
    let mut media = MediaEngine::default();
    let codec = RTCRtpCodecParameters { rtp_codec: video(), payload_type };
    media.register_codec(codec, RtpCodecKind::Video)?;
    let rtx = RTCRtpCodec {
        mime_type: MIME_TYPE_RTX.to_owned(),
        clock_rate: 90_000,
        channels: 0,
        sdp_fmtp_line: format!("apt={payload_type}"),
        rtcp_feedback: vec![],
    };
    let rtx = RTCRtpCodecParameters { rtp_codec: rtx, payload_type: retransmission };
    media.register_codec(rtx, RtpCodecKind::Video)?;
    let transport_wide = RTCRtpHeaderExtensionCapability { uri: TRANSPORT_CC_URI.to_owned() };
    media.register_header_extension(transport_wide.clone(), RtpCodecKind::Video, None)?;
    if let Some(payload_type) = sound {
        let codec = RTCRtpCodecParameters { rtp_codec: audio(), payload_type };
        media.register_codec(codec, RtpCodecKind::Audio)?;
        media.register_header_extension(transport_wide, RtpCodecKind::Audio, None)?;
    }
    Ok(media)
}

/// H.264 with the feedback that the session understands.
pub(super) fn video() -> RTCRtpCodec {
    let feedback = [("nack", ""), ("nack", "pli"), ("transport-cc", "")];
    let rtcp_feedback = feedback
        .map(|(typ, parameter)| RTCPFeedback { typ: typ.to_owned(), parameter: parameter.to_owned() })
        .to_vec();
    RTCRtpCodec { rtcp_feedback, ..h264() }
}

/// Opus, whose lost packets are not sent again.
pub(super) fn audio() -> RTCRtpCodec {
    let feedback = RTCPFeedback { typ: "transport-cc".to_owned(), parameter: String::new() };
    RTCRtpCodec { rtcp_feedback: vec![feedback], ..opus() }
}
