//! A broadcast's viewers: the fingerprints of both ends are pinned, and offers alone hold no slot.

use bytes::{Bytes, BytesMut};
use rtc::interceptor::Registry;
use rtc::peer_connection::configuration::interceptor_registry::register_default_interceptors;
use rtc::peer_connection::configuration::media_engine::{MIME_TYPE_H264, MIME_TYPE_OPUS, MediaEngine};
use rtc::peer_connection::event::RTCPeerConnectionEvent;
use rtc::peer_connection::message::{RTCMessage, TaggedRTCMessage};
use rtc::peer_connection::sdp::RTCSessionDescription;
use rtc::peer_connection::state::RTCPeerConnectionState;
use rtc::peer_connection::transport::{CandidateConfig, CandidateHostConfig, RTCIceCandidate};
use rtc::peer_connection::{RTCPeerConnection, RTCPeerConnectionBuilder};
use rtc::rtcp::payload_feedbacks::picture_loss_indication::PictureLossIndication;
use rtc::rtp_transceiver::rtp_sender::{RTCRtpCodec, RTCRtpCodecParameters, RtpCodecKind};
use rtc::rtp_transceiver::{RTCRtpTransceiverDirection, RTCRtpTransceiverInit};
use rtc::sansio::Protocol;
use rtc::shared::{TaggedBytesMut, TransportContext, TransportProtocol};
use seaway_net::webrtc::{AccessUnit, Broadcast};
use seaway_units::TimeDelta;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};
use tokio::net::UdpSocket;

/// A bound for what hangs.
const TIMEOUT: Duration = Duration::from_secs(60);

#[expect(clippy::disallowed_methods, reason = "this drives a socket in real time")]
fn now() -> Instant {
    Instant::now()
}

/// A browser, as far as the transport goes.
struct Client {
    socket: UdpSocket,
    local: SocketAddr,
    peer: RTCPeerConnection,
    state: RTCPeerConnectionState,
    packets: u64,
    sound: u64,
    /// The source of the pictures.
    ssrc: Option<u32>,
}

impl Client {
    async fn new() -> Self {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let local = socket.local_addr().unwrap();
        let mut media = MediaEngine::default();
        let rtp_codec = RTCRtpCodec {
            mime_type: MIME_TYPE_H264.to_owned(),
            clock_rate: 90_000,
            channels: 0,
            sdp_fmtp_line: "packetization-mode=1;profile-level-id=42e01f".to_owned(),
            rtcp_feedback: vec![],
        };
        media
            .register_codec(RTCRtpCodecParameters { rtp_codec, payload_type: 108 }, RtpCodecKind::Video)
            .unwrap();
        let opus = RTCRtpCodec {
            mime_type: MIME_TYPE_OPUS.to_owned(),
            clock_rate: 48_000,
            channels: 2,
            sdp_fmtp_line: String::new(),
            rtcp_feedback: vec![],
        };
        let opus = RTCRtpCodecParameters { rtp_codec: opus, payload_type: 111 };
        media.register_codec(opus, RtpCodecKind::Audio).unwrap();
        let interceptors = register_default_interceptors(Registry::new(), &mut media).unwrap();
        let builder = RTCPeerConnectionBuilder::new().with_media_engine(media);
        let mut peer = builder.with_interceptor_registry(interceptors).build(now()).unwrap();
        let direction = RTCRtpTransceiverDirection::Recvonly;
        let init = RTCRtpTransceiverInit { direction, streams: vec![], send_encodings: vec![] };
        peer.add_transceiver_from_kind(RtpCodecKind::Video, Some(init)).unwrap();
        Self { socket, local, peer, state: RTCPeerConnectionState::New, packets: 0, sound: 0, ssrc: None }
    }

    fn offer(&mut self) -> String {
        let offer = self.peer.create_offer(None).unwrap();
        let base_config = CandidateConfig {
            network: "udp".to_owned(),
            address: self.local.ip().to_string(),
            port: self.local.port(),
            component: 1,
            ..Default::default()
        };
        let candidate = CandidateHostConfig { base_config, ..Default::default() }.new_candidate_host();
        let candidate = RTCIceCandidate::from(&candidate.unwrap()).to_json().unwrap();
        self.peer.set_local_description(now(), offer).unwrap();
        self.peer.add_local_candidate(candidate).unwrap();
        self.peer.local_description().unwrap().sdp
    }

    fn accept(&mut self, answer: String) {
        let answer = RTCSessionDescription::answer(answer).unwrap();
        self.peer.set_remote_description(now(), answer).unwrap();
    }

    /// Runs the connection, while `broadcast` publishes pictures, until `is_enough` or the time is up.
    async fn watch(&mut self, broadcast: &Broadcast, time: Duration, is_enough: impl Fn(&Self) -> bool) {
        let (begin, mut datagram) = (now(), vec![0; 2048]);
        while now() - begin < time && !is_enough(self) {
            self.drain().await;
            broadcast.publish(0, &picture());
            broadcast.publish_sound(TimeDelta::ZERO, Bytes::from_static(SOUND));
            let wake = self.peer.poll_timeout().unwrap_or_else(now).max(now() + Duration::from_millis(1));
            let wake = wake.min(now() + Duration::from_millis(10));
            tokio::select! {
                () = tokio::time::sleep_until(wake.into()) => drop(self.peer.handle_timeout(now())),
                read = self.socket.recv_from(&mut datagram) => if let Ok((length, from)) = read {
                    let transport = TransportContext {
                        local_addr: self.local,
                        peer_addr: from,
                        ecn: None,
                        transport_protocol: TransportProtocol::UDP,
                    };
                    let message = BytesMut::from(&datagram[..length]);
                    drop(self.peer.handle_read(TaggedBytesMut { now: now(), transport, message }));
                },
            }
        }
    }

    async fn drain(&mut self) {
        while let Some(message) = self.peer.poll_write() {
            self.socket.send_to(&message.message, message.transport.peer_addr).await.unwrap();
        }
        while let Some(event) = self.peer.poll_event() {
            if let RTCPeerConnectionEvent::OnConnectionStateChangeEvent(state) = event {
                self.state = state;
            }
        }
        while let Some(TaggedRTCMessage { message, .. }) = self.peer.poll_read() {
            let RTCMessage::RtpPacket(_, packet) = message else { continue };
            if packet.header.payload_type == 111 {
                assert_eq!(&packet.payload[..], SOUND);
                self.sound += 1;
            } else {
                self.packets += 1;
                self.ssrc = Some(packet.header.ssrc);
            }
        }
    }

    /// Asks for a key frame.
    fn want_key_frame(&mut self) {
        let request = PictureLossIndication { sender_ssrc: 1, media_ssrc: self.ssrc.unwrap() };
        let message = RTCMessage::RtcpPacket(String::new(), vec![Box::new(request)]);
        self.peer.handle_write(TaggedRTCMessage { now: now(), message }).unwrap();
    }
}

const SOUND: &[u8] = b"an Opus packet";

fn picture() -> AccessUnit {
    let mut data = vec![0, 0, 0, 1, 0x67, 0x42, 0xe0, 0x1f, 0, 0, 0, 1, 0x65];
    data.extend([7; 500]);
    AccessUnit { data: Bytes::from(data), at: TimeDelta::ZERO, is_key: true }
}

/// The description with the first octet of its fingerprint changed.
fn with_wrong_fingerprint(description: &str) -> String {
    let at = description.find("fingerprint:sha-256 ").unwrap() + "fingerprint:sha-256 ".len();
    let wrong = if description[at..].starts_with("00") { "01" } else { "00" };
    format!("{}{wrong}{}", &description[..at], &description[at + 2..])
}

async fn answer(broadcast: &Broadcast, offer: String) -> String {
    broadcast.answer(Ipv4Addr::LOCALHOST.into(), offer).await.unwrap().0
}

#[tokio::test]
async fn pictures_reach_who_has_the_offered_certificate() {
    let broadcast = Broadcast::new(vec!["sent"]);
    let mut client = Client::new().await;
    let offer = client.offer();
    client.accept(answer(&broadcast, offer).await);
    client.watch(&broadcast, TIMEOUT, |client| client.packets > 10).await;
    assert!(client.packets > 10, "{:?}", client.state);
    assert_eq!(broadcast.viewers(), 1);
    while broadcast.take_key_frame_request() {}
    client.want_key_frame();
    let mut is_wanted = false;
    for _ in 0..600 {
        let count = client.packets;
        client.watch(&broadcast, TIMEOUT, |client| client.packets > count).await;
        is_wanted |= broadcast.take_key_frame_request();
        if is_wanted {
            break;
        }
    }
    assert!(is_wanted, "no request of the viewer arrived");
}

/// A player of others: it wants sound too, and has no use for a second picture.
#[tokio::test]
async fn a_player_of_others_gets_the_first_track_and_the_sound() {
    let broadcast = Broadcast::new(vec!["sent", "received"]);
    let mut client = Client::new().await;
    let direction = RTCRtpTransceiverDirection::Recvonly;
    let init = RTCRtpTransceiverInit { direction, streams: vec![], send_encodings: vec![] };
    client.peer.add_transceiver_from_kind(RtpCodecKind::Audio, Some(init)).unwrap();
    let offer = client.offer();
    assert!(offer.contains("m=audio"), "{offer}");
    let (answer, slot) = broadcast.answer(Ipv4Addr::LOCALHOST.into(), offer).await.unwrap();
    client.accept(answer);
    client.watch(&broadcast, TIMEOUT, |client| client.packets.min(client.sound) > 10).await;
    assert!(client.packets > 10 && client.sound > 10, "{:?}", client.state);
    assert!(broadcast.release(slot) && !broadcast.release(slot));
    assert_eq!(broadcast.viewers(), 0);
}

/// The pictures of the test above come within a fraction of this time.
const WATCH: Duration = Duration::from_secs(3);

#[tokio::test]
async fn a_viewer_with_another_certificate_gets_nothing() {
    let broadcast = Broadcast::new(vec!["sent"]);
    let mut client = Client::new().await;
    let offer = with_wrong_fingerprint(&client.offer());
    client.accept(answer(&broadcast, offer).await);
    client.watch(&broadcast, WATCH, |client| client.packets > 0).await;
    assert_eq!((client.packets, broadcast.viewers()), (0, 0));
}

#[tokio::test]
async fn a_viewer_refuses_a_server_with_another_certificate() {
    let broadcast = Broadcast::new(vec!["sent"]);
    let mut client = Client::new().await;
    let offer = client.offer();
    client.accept(with_wrong_fingerprint(&answer(&broadcast, offer).await));
    client.watch(&broadcast, WATCH, |client| client.packets > 0).await;
    assert_eq!(client.packets, 0);
    assert_ne!(client.state, RTCPeerConnectionState::Connected);
}

#[tokio::test]
async fn an_offer_without_a_fingerprint_is_refused() {
    let broadcast = Broadcast::new(vec!["sent"]);
    let offer = Client::new().await.offer();
    let bare: String =
        offer.split_inclusive('\n').filter(|line| !line.starts_with("a=fingerprint")).collect();
    assert_ne!(bare, offer);
    assert!(broadcast.answer(Ipv4Addr::LOCALHOST.into(), bare).await.is_err());
}

#[tokio::test]
async fn offers_that_do_not_connect_block_no_viewer() {
    let broadcast = Broadcast::new(vec!["sent"]);
    let offer = Client::new().await.offer();
    for _ in 0..Broadcast::VIEWERS + 2 * Broadcast::OFFERS {
        answer(&broadcast, offer.clone()).await;
    }
    assert_eq!(broadcast.viewers(), 0);
    let mut client = Client::new().await;
    let offer = client.offer();
    client.accept(answer(&broadcast, offer).await);
    client.watch(&broadcast, TIMEOUT, |client| client.packets > 0).await;
    assert!(client.packets > 0, "{:?}", client.state);
}
