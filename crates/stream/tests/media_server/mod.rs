//! A media server that takes WHIP: one session, its packets counted behind a link of its own.

use bytes::BytesMut;
use rtc::interceptor::{Interceptor, Packet, Registry, Slot, StreamInfo, TaggedPacket};
use rtc::peer_connection::configuration::interceptor_registry::register_default_interceptors;
use rtc::peer_connection::configuration::media_engine::{
    MIME_TYPE_H264, MIME_TYPE_OPUS, MIME_TYPE_RTX, MediaEngine,
};
use rtc::peer_connection::message::{RTCMessage, TaggedRTCMessage};
use rtc::peer_connection::sdp::RTCSessionDescription;
use rtc::peer_connection::transport::{CandidateConfig, CandidateHostConfig, RTCIceCandidate};
use rtc::peer_connection::{RTCPeerConnection, RTCPeerConnectionBuilder};
use rtc::rtcp::payload_feedbacks::picture_loss_indication::PictureLossIndication;
use rtc::rtcp::sender_report::SenderReport;
use rtc::rtp;
use rtc::rtp_transceiver::rtp_sender::{RTCRtpCodec, RTCRtpCodecParameters, RtpCodecKind};
use rtc::sansio::Protocol;
use rtc::shared::error::Error;
use rtc::shared::{TaggedBytesMut, TransportContext, TransportProtocol};
use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How the server is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Manner {
    /// It takes retransmissions.
    pub(crate) has_rtx: bool,
    /// It takes sound.
    pub(crate) has_sound: bool,
    /// Transport-wide feedback is on the sound too.
    pub(crate) reports_sound: bool,
    /// Its answer has the fingerprint of its certificate.
    pub(crate) has_own_fingerprint: bool,
}

/// What came, and what is to be done.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    /// Heads of the HTTP requests.
    requests: Mutex<Vec<String>>,
    /// Of the link before the server, bit/s; 0 is no limit.
    rate: AtomicU64,
    pub(crate) packets: AtomicU64,
    pub(crate) pictures: AtomicU64,
    pub(crate) key_pictures: AtomicU64,
    pub(crate) repaired: AtomicU64,
    /// Packets of sound.
    pub(crate) sound: AtomicU64,
    /// Their time stamps and payloads.
    pub(crate) opus: Mutex<Vec<(u32, Vec<u8>)>>,
    /// By synchronisation source the instant of the last sender report, in the sender's clock (NTP).
    pub(crate) reports: Mutex<BTreeMap<u32, u64>>,
    wants_key: AtomicBool,
    loses_one: AtomicBool,
    ends: AtomicBool,
    stop: AtomicBool,
}

/// The running server; it ends with this.
pub(crate) struct MediaServerStub {
    pub(crate) address: SocketAddr,
    pub(crate) shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl MediaServerStub {
    pub(crate) fn start(manner: Manner) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::<Shared>::default();
        let there = shared.clone();
        let thread = std::thread::spawn(move || serve(&listener, manner, &there));
        Self { address, shared, thread: Some(thread) }
    }

    /// The link carries so much from now.
    pub(crate) fn set_rate(&self, bps: u64) {
        self.shared.rate.store(bps, Ordering::Relaxed);
    }

    /// Asks for a key frame.
    pub(crate) fn want_key_frame(&self) {
        self.shared.wants_key.store(true, Ordering::Relaxed);
    }

    /// The next packet of pictures is lost.
    pub(crate) fn lose_one(&self) {
        self.shared.loses_one.store(true, Ordering::Relaxed);
    }

    /// Ends the session.
    pub(crate) fn end(&self) {
        self.shared.ends.store(true, Ordering::Relaxed);
    }

    pub(crate) fn requests(&self) -> Vec<String> {
        self.shared.requests.lock().unwrap().clone()
    }
}

impl Drop for MediaServerStub {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        // Wakes the accepting thread.
        let _ = TcpStream::connect(self.address);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn serve(listener: &TcpListener, manner: Manner, shared: &Arc<Shared>) {
    let mut media = Vec::new();
    for stream in listener.incoming() {
        if shared.stop.load(Ordering::Relaxed) {
            break;
        }
        let mut stream = stream.unwrap();
        let Some((head, body)) = read_request(&stream) else { continue };
        shared.requests.lock().unwrap().push(head.clone());
        if head.starts_with("POST ") {
            let (session, answer) = Session::answer(body, manner, shared.clone());
            write!(
                stream,
                "HTTP/1.1 201 Created\r\nContent-Type: application/sdp\r\nLocation: /session/1\r\nContent-Length: {}\r\n\
                 Connection: close\r\n\r\n{answer}",
                answer.len()
            )
            .unwrap();
            media.push(std::thread::spawn(move || session.run()));
        } else {
            write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").unwrap();
        }
    }
    media.into_iter().for_each(|thread| thread.join().unwrap());
}

/// Head and body of a request.
fn read_request(stream: &TcpStream) -> Option<(String, String)> {
    let mut reader = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line == "\r\n" {
            break;
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((head, String::from_utf8(body).ok()?))
}

#[expect(clippy::disallowed_methods, reason = "this drives a socket in real time")]
fn now() -> Instant {
    Instant::now()
}

/// The session of the server, on a socket.
struct Session {
    shared: Arc<Shared>,
    socket: UdpSocket,
    local: SocketAddr,
    peer: RTCPeerConnection,
    /// Datagrams on the link, and when they leave it.
    link: VecDeque<(Instant, SocketAddr, Vec<u8>)>,
    ssrc: Option<u32>,
    sequence: Option<u16>,
}

/// Payload type of sound: that of the offer, which an answer keeps.
const OPUS: u8 = 111;

/// What waits longer before the link is dropped.
const QUEUE: Duration = Duration::from_millis(300);

impl Session {
    fn answer(offer: String, manner: Manner, shared: Arc<Shared>) -> (Self, String) {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
        let local = socket.local_addr().unwrap();
        let mut media = MediaEngine::default();
        let h264 = "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f";
        register(&mut media, MIME_TYPE_H264, h264, 96);
        if manner.has_rtx {
            register(&mut media, MIME_TYPE_RTX, "apt=96", 97);
        }
        if manner.has_sound {
            let rtp_codec = RTCRtpCodec {
                mime_type: MIME_TYPE_OPUS.to_owned(),
                clock_rate: 48_000,
                channels: 2,
                sdp_fmtp_line: String::new(),
                rtcp_feedback: vec![],
            };
            let opus = RTCRtpCodecParameters { rtp_codec, payload_type: OPUS };
            media.register_codec(opus, RtpCodecKind::Audio).unwrap();
        }
        let interceptors = register_default_interceptors(Registry::new(), &mut media).unwrap();
        let reports = Reports { shared: shared.clone(), reads: VecDeque::new(), writes: VecDeque::new() };
        let interceptors = interceptors.with(Slot::Custom(1), reports);
        let builder = RTCPeerConnectionBuilder::new().with_media_engine(media);
        let mut peer = builder.with_interceptor_registry(interceptors).build(now()).unwrap();
        peer.set_remote_description(now(), RTCSessionDescription::offer(offer).unwrap()).unwrap();
        let base_config = CandidateConfig {
            network: "udp".to_owned(),
            address: local.ip().to_string(),
            port: local.port(),
            component: 1,
            ..Default::default()
        };
        let candidate = CandidateHostConfig { base_config, ..Default::default() }.new_candidate_host();
        peer.add_local_candidate(RTCIceCandidate::from(&candidate.unwrap()).to_json().unwrap()).unwrap();
        let answer = peer.create_answer(None).unwrap();
        peer.set_local_description(now(), answer).unwrap();
        let mut answer = peer.local_description().unwrap().sdp;
        if !manner.has_own_fingerprint {
            let at = answer.find("fingerprint:sha-256 ").unwrap() + "fingerprint:sha-256 ".len();
            let wrong = if answer[at..].starts_with("00") { "01" } else { "00" };
            answer.replace_range(at..at + 2, wrong);
        }
        if !manner.reports_sound {
            let sound = answer.find("m=audio").unwrap();
            let lines = answer.split_off(sound);
            answer.extend(lines.split_inclusive('\n').filter(|line| !line.contains("transport-wide-cc")));
        }
        let link = VecDeque::new();
        (Self { shared, socket, local, peer, link, ssrc: None, sequence: None }, answer)
    }

    fn run(mut self) {
        let mut datagram = vec![0; 2048];
        while !self.shared.stop.load(Ordering::Relaxed) {
            if let Ok((length, from)) = self.socket.recv_from(&mut datagram) {
                self.enqueue(from, datagram[..length].to_vec());
            }
            while self.link.front().is_some_and(|(due, _, _)| *due <= now()) {
                let (_, from, datagram) = self.link.pop_front().unwrap();
                self.deliver(from, &datagram);
            }
            if self.peer.poll_timeout().is_some_and(|due| due <= now()) {
                let _ = self.peer.handle_timeout(now());
            }
            if self.shared.wants_key.swap(false, Ordering::Relaxed)
                && let Some(media_ssrc) = self.ssrc
            {
                let request = PictureLossIndication { sender_ssrc: 1, media_ssrc };
                let message = RTCMessage::RtcpPacket(String::new(), vec![Box::new(request)]);
                self.peer.handle_write(TaggedRTCMessage { now: now(), message }).unwrap();
            }
            if self.shared.ends.load(Ordering::Relaxed) {
                let _ = self.peer.close();
                self.drain();
                return;
            }
            self.drain();
        }
    }

    /// A datagram reaches the link.
    fn enqueue(&mut self, from: SocketAddr, datagram: Vec<u8>) {
        let rate = self.shared.rate.load(Ordering::Relaxed);
        let free = self.link.back().map_or_else(now, |(due, _, _)| (*due).max(now()));
        if free.saturating_duration_since(now()) > QUEUE {
            return;
        }
        let bits = (datagram.len() as u64 + 28) * 8;
        let time = bits * 1_000_000_000 / rate.max(1);
        let due = if rate == 0 { now() } else { free + Duration::from_nanos(time) };
        self.link.push_back((due, from, datagram));
    }

    fn deliver(&mut self, from: SocketAddr, datagram: &[u8]) {
        let is_media = (128..192).contains(&datagram[0]) && !(192..=223).contains(&datagram[1]);
        if is_media && self.ssrc.is_some() && self.shared.loses_one.swap(false, Ordering::Relaxed) {
            return;
        }
        let transport = TransportContext {
            local_addr: self.local,
            peer_addr: from,
            ecn: None,
            transport_protocol: TransportProtocol::UDP,
        };
        let message = BytesMut::from(datagram);
        let _ = self.peer.handle_read(TaggedBytesMut { now: now(), transport, message });
    }

    fn drain(&mut self) {
        while let Some(message) = self.peer.poll_write() {
            let _ = self.socket.send_to(&message.message, message.transport.peer_addr);
        }
        while self.peer.poll_event().is_some() {}
        while let Some(TaggedRTCMessage { message, .. }) = self.peer.poll_read() {
            match message {
                RTCMessage::RtpPacket(_, packet) if packet.header.payload_type == OPUS => {
                    let opus = (packet.header.timestamp, packet.payload.to_vec());
                    self.shared.opus.lock().unwrap().push(opus);
                    self.shared.sound.fetch_add(1, Ordering::Relaxed);
                }
                RTCMessage::RtpPacket(_, packet) => self.count(&packet),
                _ => {}
            }
        }
    }

    fn count(&mut self, packet: &rtp::Packet) {
        self.ssrc = Some(packet.header.ssrc);
        self.shared.packets.fetch_add(1, Ordering::Relaxed);
        // The library gives retransmissions the number of the original.
        let number = packet.header.sequence_number;
        let is_late = self.sequence.is_some_and(|last| number.wrapping_sub(last) > 1 << 15);
        self.shared.repaired.fetch_add(u64::from(is_late), Ordering::Relaxed);
        self.sequence = self.sequence.filter(|_| is_late).or(Some(number));
        let picture = u64::from(packet.header.marker && !is_late);
        self.shared.pictures.fetch_add(picture, Ordering::Relaxed);
        self.shared.key_pictures.fetch_add(u64::from(begins_key_frame(&packet.payload)), Ordering::Relaxed);
    }
}

fn register(media: &mut MediaEngine, mime_type: &str, fmtp: &str, payload_type: u8) {
    let rtp_codec = RTCRtpCodec {
        mime_type: mime_type.to_owned(),
        clock_rate: 90_000,
        channels: 0,
        sdp_fmtp_line: fmtp.to_owned(),
        rtcp_feedback: vec![],
    };
    media.register_codec(RTCRtpCodecParameters { rtp_codec, payload_type }, RtpCodecKind::Video).unwrap();
}

/// A coded slice of an IDR picture begins here (RFC 6184 sections 5.6 and 5.8).
fn begins_key_frame(payload: &[u8]) -> bool {
    match payload {
        [indicator, header, ..] if indicator & 31 == 28 => header & 31 == 5 && header & 128 != 0,
        [header, ..] => header & 31 == 5,
        [] => false,
    }
}

/// Notes sender reports, which the library keeps; everything passes.
struct Reports {
    shared: Arc<Shared>,
    reads: VecDeque<TaggedPacket>,
    writes: VecDeque<TaggedPacket>,
}

impl Protocol<TaggedPacket, TaggedPacket, ()> for Reports {
    type Rout = TaggedPacket;
    type Wout = TaggedPacket;
    type Eout = ();
    type Error = Error;
    type Time = Instant;

    fn handle_read(&mut self, packet: TaggedPacket) -> Result<(), Error> {
        if let Packet::Rtcp(packets) = &packet.message.packet {
            let reports = packets.iter().filter_map(|packet| packet.as_any().downcast_ref::<SenderReport>());
            let mut noted = self.shared.reports.lock().unwrap();
            noted.extend(reports.map(|report| (report.ssrc, report.ntp_time)));
        }
        self.reads.push_back(packet);
        Ok(())
    }

    fn poll_read(&mut self) -> Option<TaggedPacket> {
        self.reads.pop_front()
    }

    fn handle_write(&mut self, packet: TaggedPacket) -> Result<(), Error> {
        self.writes.push_back(packet);
        Ok(())
    }

    fn poll_write(&mut self) -> Option<TaggedPacket> {
        self.writes.pop_front()
    }
}

impl Interceptor for Reports {
    fn bind_local_stream(&mut self, _info: &StreamInfo) {}
    fn unbind_local_stream(&mut self, _info: &StreamInfo) {}
    fn bind_remote_stream(&mut self, _info: &StreamInfo) {}
    fn unbind_remote_stream(&mut self, _info: &StreamInfo) {}
}
