//! A peer connection that answers an offer with our tracks.

use super::inbox::{Inbox, InboxInterceptor};
use super::sound_track::SoundTrack;
use super::{Error, Estimator, Track};
use rtc::interceptor::{Registry, Slot};
use rtc::media_stream::MediaStreamTrack;
use rtc::peer_connection::configuration::RTCConfigurationBuilder;
use rtc::peer_connection::configuration::interceptor_registry::{
    CongestionFeedback, configure_congestion_control, configure_nack, configure_simulcast_extension_headers,
    configure_twcc_receiver_only,
};
use rtc::peer_connection::configuration::media_engine::{MIME_TYPE_H264, MIME_TYPE_OPUS, MediaEngine};
use rtc::peer_connection::sdp::RTCSessionDescription;
use rtc::peer_connection::transport::{
    CandidateConfig, CandidateHostConfig, CandidateRelayConfig, RTCIceCandidate,
};
use rtc::peer_connection::{RTCPeerConnection, RTCPeerConnectionBuilder};
use rtc::rtp_transceiver::RTCRtpSenderId;
use rtc::rtp_transceiver::rtp_sender::{
    RTCRtpCodec, RTCRtpCodecParameters, RTCRtpCodingParameters, RTCRtpEncodingParameters, RtpCodecKind,
};
use std::net::SocketAddr;
use std::time::Instant;

/// One peer's tracks need distinct numbers, nothing more.
const FIRST_SSRC: u32 = 0x5EA0_0000;
const SOUND_SSRC: u32 = 0x5EA1_0000;

/// A connection, its tracks and the RTCP that arrives for them.
pub(super) struct Answered {
    pub(super) peer: RTCPeerConnection,
    pub(super) tracks: Vec<Track>,
    /// Where the offer takes sound.
    pub(super) sound: Option<SoundTrack>,
    pub(super) inbox: Inbox,
    /// The answer (SDP).
    pub(super) answer: String,
}

/// Answers `offer` with one H.264 track a name, and one of sound where it is wanted, reachable at `local`; the estimator gets their
/// feedback.
pub(super) fn answer(
    now: Instant,
    local: SocketAddr,
    tracks: &[&'static str],
    estimator: Option<Estimator>,
    offer: String,
) -> Result<Answered, Error> {
    let wrong = |error: rtc::shared::error::Error| Error::Offer(error.to_string());
    let takes_sound = offer.lines().any(|line| line.starts_with("m=audio "));
    let offer = RTCSessionDescription::offer(offer).map_err(wrong)?;
    let interceptor = InboxInterceptor::default();
    let inbox = interceptor.inbox();
    let mut peer = connection(now, estimator, interceptor).map_err(wrong)?;
    peer.set_remote_description(now, offer).map_err(wrong)?;
    let mut sending = Vec::new();
    for (index, name) in tracks.iter().enumerate() {
        let ssrc = FIRST_SSRC + index as u32;
        let sender = peer.add_track(picture_track(name, ssrc)).map_err(wrong)?;
        sending.push(Track::new(sender, ssrc));
    }
    let sound = match (takes_sound, tracks.last()) {
        (true, Some(name)) => {
            let sender = peer.add_track(sound_track(name)).map_err(wrong)?;
            Some(SoundTrack::new(sender, SOUND_SSRC))
        }
        _ => None,
    };
    add_candidate(&mut peer, local).map_err(wrong)?;
    let answer = peer.create_answer(None).map_err(wrong)?;
    peer.set_local_description(now, answer).map_err(wrong)?;
    let description =
        peer.local_description().ok_or_else(|| Error::Offer("no answer came out of it".into()))?;
    Ok(Answered { peer, tracks: sending, sound, inbox, answer: description.sdp })
}

/// The payload type that both sides agreed on for what `sender` sends.
pub(super) fn payload_type(peer: &mut RTCPeerConnection, sender: RTCRtpSenderId) -> Option<u8> {
    let mut sender = peer.rtp_sender(sender)?;
    let codecs = &sender.get_parameters().rtp_parameters.codecs;
    let is_ours = |mime_type: &str| {
        [MIME_TYPE_H264, MIME_TYPE_OPUS].iter().any(|own| mime_type.eq_ignore_ascii_case(own))
    };
    codecs.iter().find(|codec| is_ours(&codec.rtp_codec.mime_type)).map(|codec| codec.payload_type)
}

fn connection(
    now: Instant,
    estimator: Option<Estimator>,
    inbox: InboxInterceptor,
) -> rtc::shared::error::Result<RTCPeerConnection> {
    let mut media = MediaEngine::default();
    let codec = RTCRtpCodecParameters { rtp_codec: h264(), payload_type: 102 };
    media.register_codec(codec, RtpCodecKind::Video)?;
    let sound = RTCRtpCodecParameters { rtp_codec: opus(), payload_type: 111 };
    media.register_codec(sound, RtpCodecKind::Audio)?;
    // No reports: those to send are ours, and nothing is received that they would report.
    let interceptors = configure_nack(Registry::new(), &mut media);
    let interceptors = match estimator {
        None => {
            configure_simulcast_extension_headers(&mut media)?;
            configure_twcc_receiver_only(interceptors, &mut media)?
        }
        Some(estimator) => {
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

/// Opus in two channels, as every browser decodes it (RFC 7587 section 7).
pub(super) fn opus() -> RTCRtpCodec {
    RTCRtpCodec {
        mime_type: MIME_TYPE_OPUS.to_owned(),
        clock_rate: 48_000,
        channels: 2,
        sdp_fmtp_line: "minptime=10;useinbandfec=1;stereo=1;sprop-stereo=1".to_owned(),
        rtcp_feedback: vec![],
    }
}

fn picture_track(name: &str, ssrc: u32) -> MediaStreamTrack {
    media_stream_track(name, "track", RtpCodecKind::Video, h264(), ssrc)
}

/// Of the same stream as the pictures of this name: players synchronise them (RFC 8830).
fn sound_track(name: &str) -> MediaStreamTrack {
    media_stream_track(name, "sound", RtpCodecKind::Audio, opus(), SOUND_SSRC)
}

fn media_stream_track(
    name: &str,
    track: &str,
    kind: RtpCodecKind,
    codec: RTCRtpCodec,
    ssrc: u32,
) -> MediaStreamTrack {
    let encoding = RTCRtpEncodingParameters {
        rtp_coding_parameters: RTCRtpCodingParameters { ssrc: Some(ssrc), ..Default::default() },
        codec,
        ..Default::default()
    };
    let named = |what: &str| format!("{name}-{what}");
    MediaStreamTrack::new(named("stream"), named(track), named("label"), kind, vec![encoding])
}

/// Says that the connection can be reached at `local`.
pub(super) fn add_candidate(
    peer: &mut RTCPeerConnection,
    local: SocketAddr,
) -> rtc::shared::error::Result<()> {
    let config = CandidateHostConfig { base_config: base_config(local), ..Default::default() };
    peer.add_local_candidate(RTCIceCandidate::from(&config.new_candidate_host()?).to_json()?)
}

/// Says that the connection can be reached at the relay at `address`. By which address the server knows us is of no use to others
/// (RFC 8839 section 5.1).
pub(super) fn add_relay_candidate(
    peer: &mut RTCPeerConnection,
    address: SocketAddr,
) -> rtc::shared::error::Result<()> {
    let rel_addr = match address {
        SocketAddr::V4(_) => "0.0.0.0".to_owned(),
        SocketAddr::V6(_) => "::".to_owned(),
    };
    let config = CandidateRelayConfig { base_config: base_config(address), rel_addr, ..Default::default() };
    peer.add_local_candidate(RTCIceCandidate::from(&config.new_candidate_relay()?).to_json()?)
}

fn base_config(address: SocketAddr) -> CandidateConfig {
    CandidateConfig {
        network: "udp".to_owned(),
        address: address.ip().to_string(),
        port: address.port(),
        component: 1,
        ..Default::default()
    }
}
