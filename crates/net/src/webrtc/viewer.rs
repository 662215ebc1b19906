//! One viewer: a socket, a peer connection, and the pictures and the sound for it.

use super::inbox::Inbox;
use super::peer::{self, Answered};
use super::reports::SenderReports;
use super::slots::{Queued, SlotId, SoundPacket};
use super::sound_track::{self, SoundTrack};
use super::stun::{reflexive_address_of, with_reflexive_candidate};
use super::{Error, Estimate, Estimator, Numbered, Shared, Track, track};
use bytes::BytesMut;
use rtc::peer_connection::RTCPeerConnection;
use rtc::peer_connection::event::RTCPeerConnectionEvent;
use rtc::peer_connection::message::{RTCMessage, TaggedRTCMessage};
use rtc::peer_connection::state::RTCPeerConnectionState;
use rtc::rtcp;
use rtc::rtcp::payload_feedbacks::full_intra_request::FullIntraRequest;
use rtc::rtcp::payload_feedbacks::picture_loss_indication::PictureLossIndication;
use rtc::sansio::Protocol;
use rtc::shared::{TaggedBytesMut, TransportContext, TransportProtocol};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::UdpSocket;
use tokio::sync::mpsc;

/// A browser that has not connected by then is forgotten.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);
/// The machine looks after itself this often even when it names no instant.
const IDLE: Duration = Duration::from_secs(1);

pub(super) struct Viewer {
    shared: Arc<Shared>,
    slot: SlotId,
    socket: UdpSocket,
    local: SocketAddr,
    peer: RTCPeerConnection,
    tracks: Vec<Track>,
    sound: Option<SoundTrack>,
    reports: SenderReports,
    inbox: Inbox,
    queue: mpsc::Receiver<Queued>,
    connected: bool,
}

/// Whether to go on.
enum Next {
    Watch,
    Leave,
}

#[expect(clippy::disallowed_methods, reason = "this drives a socket in real time")]
pub(super) fn clock() -> Instant {
    Instant::now()
}

impl Viewer {
    pub(super) async fn accept(
        shared: Arc<Shared>,
        slot: SlotId,
        local: IpAddr,
        offer: String,
        queue: mpsc::Receiver<Queued>,
    ) -> Result<(Self, String, Option<Arc<Estimate>>), Error> {
        let socket = UdpSocket::bind((local, 0)).await.map_err(Error::Socket)?;
        let local = socket.local_addr().map_err(Error::Socket)?;
        let now = clock();
        let estimator = shared.control.as_ref().map(|(control, rates)| Estimator::new(now, control, *rates));
        let estimator = estimator.transpose().map_err(|error| Error::Offer(error.to_string()))?;
        let estimate = estimator.as_ref().map(Estimator::estimate);
        let Answered { peer, tracks, sound, inbox, answer } =
            peer::answer(now, local, &shared.tracks, estimator, offer)?;
        let answer = match &shared.stun {
            // Without an answer of that server the host's own address has to do.
            Some(stun) => match reflexive_address_of(&socket, stun).await {
                Ok(mapped) => with_reflexive_candidate(&answer, local, mapped),
                Err(_) => answer,
            },
            None => answer,
        };
        let (reports, connected) = (SenderReports::default(), false);
        let viewer =
            Self { shared, slot, socket, local, peer, tracks, sound, reports, inbox, queue, connected };
        Ok((viewer, answer, estimate))
    }

    pub(super) async fn run(mut self) {
        let deadline = clock() + CONNECT_WITHIN;
        let mut datagram = vec![0; 2048];
        while self.connected || clock() < deadline {
            self.report();
            if matches!(self.drain().await, Next::Leave) {
                break;
            }
            let due = self.peer.poll_timeout().into_iter().chain(self.reports.poll_timeout());
            let wake = due.fold(clock() + IDLE, Instant::min);
            tokio::select! {
                () = tokio::time::sleep_until(wake.into()) => {
                    if self.peer.handle_timeout(clock()).is_err() {
                        break;
                    }
                }
                // An unreachable peer shows as an error of the next read; its silence ends the connection.
                read = self.socket.recv_from(&mut datagram) => if let Ok((length, from)) = read {
                    self.handle_datagram(from, &datagram[..length]);
                },
                queued = self.queue.recv() => match queued {
                    Some(Queued::Picture(picture)) => self.send(&picture),
                    Some(Queued::Sound(sound)) => self.send_sound(&sound),
                    None => break,
                },
            }
        }
        // The socket is closed with this task; a browser that misses the goodbye times out.
        let _ = self.peer.close();
        let _ = self.drain().await;
    }

    /// The output of the machine: to the network and to the application.
    async fn drain(&mut self) -> Next {
        while let Some(message) = self.peer.poll_write() {
            // A datagram that cannot be sent is a datagram lost.
            let _ = self.socket.send_to(&message.message, message.transport.peer_addr).await;
        }
        while let Some(event) = self.peer.poll_event() {
            if let RTCPeerConnectionEvent::OnConnectionStateChangeEvent(state) = event {
                match state {
                    RTCPeerConnectionState::Connected => {
                        self.connected = self.shared.slots().connect(self.slot);
                        if !self.connected {
                            return Next::Leave;
                        }
                        self.shared.request_key_frame();
                    }
                    RTCPeerConnectionState::Failed | RTCPeerConnectionState::Closed => return Next::Leave,
                    _ => {}
                }
            }
        }
        // RTP to us, which we did not offer to take.
        while self.peer.poll_read().is_some() {}
        while let Some(mut compound) = self.inbox.take() {
            let packets = rtcp::packet::unmarshal(&mut compound).unwrap_or_default();
            if packets.iter().any(|packet| requests_key_frame(packet.as_ref())) {
                self.shared.request_key_frame();
            }
        }
        Next::Watch
    }

    fn handle_datagram(&mut self, from: SocketAddr, datagram: &[u8]) {
        let transport = TransportContext {
            local_addr: self.local,
            peer_addr: from,
            ecn: None,
            transport_protocol: TransportProtocol::UDP,
        };
        let message = TaggedBytesMut { now: clock(), transport, message: BytesMut::from(datagram) };
        // What the machine refuses is not from our browser, or of no use.
        let _ = self.peer.handle_read(message);
    }

    fn send(&mut self, picture: &Numbered) {
        if !self.connected {
            return;
        }
        let Some(track) = self.tracks.get_mut(picture.track) else { return };
        let Some(payload_type) = peer::payload_type(&mut self.peer, track.sender) else { return };
        let now = clock();
        for packet in track.packets(picture, payload_type) {
            let Some(mut sender) = self.peer.rtp_sender(track.sender) else { return };
            self.reports.on_media(now, picture.unit.at, track.sent.is_nothing());
            track.sent.add(&packet);
            if sender.write_rtp(now, packet).is_err() {
                track.set_broken();
            }
        }
        if track.is_broken() {
            self.shared.request_key_frame();
        }
    }

    fn send_sound(&mut self, sound: &SoundPacket) {
        let Some(track) = self.sound.as_mut().filter(|_| self.connected) else { return };
        let Some(payload_type) = peer::payload_type(&mut self.peer, track.sender) else { return };
        let Some(mut sender) = self.peer.rtp_sender(track.sender) else { return };
        let (now, packet) = (clock(), track.packet(sound, payload_type));
        self.reports.on_media(now, sound.at, track.sent.is_nothing());
        track.sent.add(&packet);
        // What cannot be sent is lost.
        let _ = sender.write_rtp(now, packet);
    }

    /// Sends the reports that are due.
    fn report(&mut self) {
        let now = clock();
        if !self.reports.take_due(now) {
            return;
        }
        let pictures = self.tracks.iter().map(|track| (track.ssrc, track::CLOCK_RATE, track.sent));
        let sound = self.sound.iter().map(|track| (track.ssrc, sound_track::CLOCK_RATE, track.sent));
        for (ssrc, clock_rate, sent) in pictures.chain(sound) {
            let Some(report) = self.reports.report(now, ssrc, clock_rate, sent) else { continue };
            let message = RTCMessage::RtcpPacket(String::new(), vec![Box::new(report)]);
            // The next one comes in a second.
            let _ = self.peer.handle_write(TaggedRTCMessage { now, message });
        }
    }
}

fn requests_key_frame(packet: &dyn rtcp::Packet) -> bool {
    let packet = packet.as_any();
    packet.is::<PictureLossIndication>() || packet.is::<FullIntraRequest>()
}
