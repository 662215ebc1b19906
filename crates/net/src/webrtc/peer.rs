//! A peer connection that answers an offer with our tracks.

use super::inbox::{Inbox, InboxInterceptor};
use super::{Error, Estimator, Track};
use rtc::interceptor::{Registry, Slot};
use rtc::media_stream::MediaStreamTrack;
use rtc::peer_connection::configuration::RTCConfigurationBuilder;
use rtc::peer_connection::configuration::interceptor_registry::{
    CongestionFeedback, configure_congestion_control, configure_nack, configure_rtcp_reports,
    register_default_interceptors,
};
use rtc::peer_connection::configuration::media_engine::{MIME_TYPE_H264, MediaEngine};
use rtc::peer_connection::sdp::RTCSessionDescription;
use rtc::peer_connection::transport::{CandidateConfig, CandidateHostConfig, RTCIceCandidate};
use rtc::peer_connection::{RTCPeerConnection, RTCPeerConnectionBuilder};
use rtc::rtp_transceiver::rtp_sender::{
    RTCRtpCodec, RTCRtpCodecParameters, RTCRtpCodingParameters, RTCRtpEncodingParameters, RtpCodecKind,
};
use std::net::SocketAddr;
use std::time::Instant;

/// A connection, its tracks and the RTCP that arrives for them.
pub(super) struct Answered {
    pub(super) peer: RTCPeerConnection,
    pub(super) tracks: Vec<Track>,
    pub(super) inbox: Inbox,
    /// The answer (SDP).
    pub(super) answer: String,
}

/// Answers `offer` with one H.264 track a name, reachable at `local`; the estimator gets their feedback.
pub(super) fn answer(
    now: Instant,
    local: SocketAddr,
    tracks: &[&'static str],
    estimator: Option<Estimator>,
    offer: String,
) -> Result<Answered, Error> {
    let wrong = |error: rtc::shared::error::Error| Error::Offer(error.to_string());
    let offer = RTCSessionDescription::offer(offer).map_err(wrong)?;
    let interceptor = InboxInterceptor::default();
    let inbox = interceptor.inbox();
    let mut peer = connection(now, estimator, interceptor).map_err(wrong)?;
    peer.set_remote_description(now, offer).map_err(wrong)?;
    let mut sending = Vec::new();
    for (index, name) in tracks.iter().enumerate() {
        // One peer's tracks need distinct numbers, nothing more.
        let ssrc = 0x5EA0_0000 + index as u32;
        let sender = peer.add_track(media_stream_track(name, ssrc)).map_err(wrong)?;
        sending.push(Track::new(sender, ssrc));
    }
    add_candidate(&mut peer, local).map_err(wrong)?;
    let answer = peer.create_answer(None).map_err(wrong)?;
    peer.set_local_description(now, answer).map_err(wrong)?;
    let description =
        peer.local_description().ok_or_else(|| Error::Offer("no answer came out of it".into()))?;
    Ok(Answered { peer, tracks: sending, inbox, answer: description.sdp })
}

/// The payload type that both sides agreed on for H.264 on this track.
pub(super) fn payload_type(peer: &mut RTCPeerConnection, track: &Track) -> Option<u8> {
    let mut sender = peer.rtp_sender(track.sender)?;
    let codecs = &sender.get_parameters().rtp_parameters.codecs;
    let h264 = codecs.iter().find(|codec| codec.rtp_codec.mime_type.eq_ignore_ascii_case(MIME_TYPE_H264));
    h264.map(|codec| codec.payload_type)
}

fn connection(
    now: Instant,
    estimator: Option<Estimator>,
    inbox: InboxInterceptor,
) -> rtc::shared::error::Result<RTCPeerConnection> {
    let mut media = MediaEngine::default();
    let codec = RTCRtpCodecParameters { rtp_codec: h264(), payload_type: 102 };
    media.register_codec(codec, RtpCodecKind::Video)?;
    let interceptors = match estimator {
        None => register_default_interceptors(Registry::new(), &mut media)?,
        Some(estimator) => {
            let interceptors = configure_nack(Registry::new(), &mut media);
            let interceptors = configure_rtcp_reports(interceptors);
            configure_congestion_control(interceptors, estimator, CongestionFeedback::Twcc, &mut media)?
        }
    };
    let interceptors = interceptors.with(Slot::Custom(InboxInterceptor::SLOT), inbox);
    RTCPeerConnectionBuilder::new()
        .with_configuration(RTCConfigurationBuilder::new().build())
        .with_media_engine(media)
        .with_interceptor_registry(interceptors)
        .build(now)
}

/// H.264 as every browser decodes it.
pub(super) fn h264() -> RTCRtpCodec {
    RTCRtpCodec {
        mime_type: MIME_TYPE_H264.to_owned(),
        clock_rate: 90_000,
        channels: 0,
        // Constrained baseline, level 3.1: what every browser decodes.
        sdp_fmtp_line: "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f".to_owned(),
        rtcp_feedback: vec![],
    }
}

fn media_stream_track(name: &str, ssrc: u32) -> MediaStreamTrack {
    let encoding = RTCRtpEncodingParameters {
        rtp_coding_parameters: RTCRtpCodingParameters { ssrc: Some(ssrc), ..Default::default() },
        codec: h264(),
        ..Default::default()
    };
    let named = |what| format!("{name}-{what}");
    MediaStreamTrack::new(
        named("stream"),
        named("track"),
        named("label"),
        RtpCodecKind::Video,
        vec![encoding],
    )
}

/// Says that the connection can be reached at `local`.
pub(super) fn add_candidate(
    peer: &mut RTCPeerConnection,
    local: SocketAddr,
) -> rtc::shared::error::Result<()> {
    let base_config = CandidateConfig {
        network: "udp".to_owned(),
        address: local.ip().to_string(),
        port: local.port(),
        component: 1,
        ..Default::default()
    };
    let candidate = CandidateHostConfig { base_config, ..Default::default() }.new_candidate_host()?;
    peer.add_local_candidate(RTCIceCandidate::from(&candidate).to_json()?)
}
