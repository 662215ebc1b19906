//! The listener's half of the handshake (draft-sharabayko-srt-01, section 4.3.1).

use crate::connection::{Agreed, Connection, timestamp};
use crate::crypto::Crypto;
use crate::handshake::{HANDSHAKE_LEN, Handshake, MAGIC, Session, Step};
use crate::playout::PlayoutClock;
use crate::random::Random;
use crate::receive::Reception;
use crate::settings::{Direction, Settings};
use crate::{Content, Control, Packet, Refusal, Sequence};
use ring::hmac;
use seaway_units::{TimeDelta, Timestamp};
use std::net::{IpAddr, SocketAddr};

/// A cookie is of one such period, and is accepted in the next one too.
const COOKIE_PERIOD: u64 = 60_000_000_000;
/// Handshakes that are computed each second, and at once.
const HANDSHAKES: u32 = 10;
/// A peer that is silent for so long gives way to another caller.
const GIVES_WAY: TimeDelta = TimeDelta::from_millis(1500);
/// A caller waits for so long before it is refused: the peer before it may have ended without a word.
const WAITS: TimeDelta = TimeDelta::from_secs(2);
/// A peer that was there within this is there.
const PRESENT: TimeDelta = TimeDelta::from_millis(300);

/// What a listener keeps beside its connection: nothing of those who have not shown a cookie.
#[derive(Debug)]
pub(crate) struct Listener {
    cookie_key: hmac::Key,
    origin: Timestamp,
    /// Handshakes that may be computed now, and when there is one more.
    allowance: u32,
    refill_at: Timestamp,
    /// A caller that waits for the peer before it, and since when.
    waiting: Option<(SocketAddr, u32, Timestamp)>,
    /// The answer to the caller of the connection, which may ask again.
    answer: Option<Vec<u8>>,
}

/// What a listener makes of a handshake.
pub(crate) enum Answer {
    /// Nothing.
    Silence,
    /// A datagram.
    Datagram(Vec<u8>),
    /// A refusal.
    Refused(Vec<u8>, Refusal),
    /// A connection, and the datagram.
    Connected(Vec<u8>, Box<Connection>, Option<String>),
}

impl Listener {
    pub(crate) fn new(now: Timestamp, random: &mut Random) -> Self {
        Self {
            cookie_key: hmac::Key::new(hmac::HMAC_SHA256, &random.octets::<32>()),
            origin: now,
            allowance: HANDSHAKES,
            refill_at: now,
            waiting: None,
            answer: None,
        }
    }

    /// A cookie is of an address and a period of time; who does not receive it can not show it.
    fn cookie(&self, from: SocketAddr, period: u64) -> u32 {
        let address = match from.ip() {
            IpAddr::V4(ip) => ip.to_ipv6_mapped(),
            IpAddr::V6(ip) => ip,
        };
        let mut context = hmac::Context::with_key(&self.cookie_key);
        context.update(&address.octets());
        context.update(&from.port().to_be_bytes());
        context.update(&period.to_be_bytes());
        let tag = context.sign();
        u32::from_be_bytes(std::array::from_fn(|index| tag.as_ref()[index])).max(1)
    }

    fn is_cookie(&self, now: Timestamp, from: SocketAddr, cookie: u32) -> bool {
        let period = now.as_nanos() / COOKIE_PERIOD;
        cookie == self.cookie(from, period) || (period > 0 && cookie == self.cookie(from, period - 1))
    }

    /// A handshake that is addressed to no socket.
    pub(crate) fn on_handshake(
        &mut self,
        now: Timestamp,
        from: SocketAddr,
        control: &Control<'_>,
        settings: &Settings,
        connection: Option<&Connection>,
        random: &mut Random,
    ) -> Answer {
        let Content::Handshake(body) = control.content else { return Answer::Silence };
        let Ok(request) = Handshake::parse(body) else { return Answer::Silence };
        if control.destination != 0 || request.socket == 0 {
            return Answer::Silence;
        }
        match request.step {
            Step::Induction => self.on_induction(now, from, request, settings),
            Step::Conclusion if self.is_cookie(now, from, request.cookie) => {
                if connection.is_some_and(|connection| connection.is_with(from, request.socket)) {
                    return self.answer.clone().map_or(Answer::Silence, Answer::Datagram);
                }
                if let Some(answer) = self.wait(now, from, &request, connection) {
                    return answer;
                }
                self.on_conclusion(now, from, control.timestamp, request, settings, random)
            }
            _ => Answer::Silence,
        }
    }

    /// As many octets come back as came: a handshake without extensions.
    fn on_induction(
        &self,
        now: Timestamp,
        from: SocketAddr,
        request: Handshake,
        settings: &Settings,
    ) -> Answer {
        let length = settings.passphrase.as_ref().map(|_| settings.key_length.unwrap_or_default());
        let answer = Handshake {
            version: 5,
            encryption: length.map_or(0, |length| (length.octets() / 8) as u16),
            extension_field: MAGIC,
            cookie: self.cookie(from, now.as_nanos() / COOKIE_PERIOD),
            peer: wire_address(from),
            ..request
        };
        let body = answer.emit(true);
        debug_assert_eq!(body.len(), HANDSHAKE_LEN, "no extensions");
        Answer::Datagram(self.datagram(now, request.socket, &body))
    }

    /// Lets a caller wait while there is another peer that may be gone.
    fn wait(
        &mut self,
        now: Timestamp,
        from: SocketAddr,
        request: &Handshake,
        connection: Option<&Connection>,
    ) -> Option<Answer> {
        let silence = connection?.silence(now);
        if silence >= GIVES_WAY {
            return None;
        }
        let same = self.waiting.filter(|(address, socket, _)| (*address, *socket) == (from, request.socket));
        let (.., since) = *self.waiting.insert(same.unwrap_or((from, request.socket, now)));
        let is_refused = silence < PRESENT && now.since(since) >= WAITS;
        Some(if is_refused { self.refuse(now, request, Refusal::BACKLOG) } else { Answer::Silence })
    }

    fn refuse(&self, now: Timestamp, request: &Handshake, refusal: Refusal) -> Answer {
        let answer = Handshake {
            step: Step::Rejection(refusal.code()),
            extension_field: 0,
            session: None,
            keys: None,
            stream_id: None,
            ..request.clone()
        };
        Answer::Refused(self.datagram(now, request.socket, &answer.emit(true)), refusal)
    }

    fn on_conclusion(
        &mut self,
        now: Timestamp,
        from: SocketAddr,
        timestamp: u32,
        request: Handshake,
        settings: &Settings,
        random: &mut Random,
    ) -> Answer {
        if !self.may_compute(now) {
            return Answer::Silence;
        }
        let (session, crypto) = match accept(now, &request, settings, random) {
            Ok(accepted) => accepted,
            Err(refusal) => return self.refuse(now, &request, refusal),
        };
        let socket = random.socket();
        let agreed = Agreed {
            peer: from,
            peer_socket: request.socket,
            socket,
            origin: self.origin,
            latency: settings.latency,
            crypto,
        };
        let latency = settings.latency_ms();
        let answer = Handshake {
            socket,
            window: crate::receive::WINDOW as u32,
            session: Some(Session {
                receive_latency_ms: latency.max(session.send_latency_ms),
                send_latency_ms: latency.max(session.receive_latency_ms),
                ..Session::with_latency(latency)
            }),
            // The keys go back as they came.
            stream_id: None,
            peer: wire_address(from),
            ..request.clone()
        };
        let answer = Handshake { extension_field: answer.extensions_present(), ..answer };
        let datagram = self.datagram(now, request.socket, &answer.emit(true));
        self.answer = Some(datagram.clone());
        self.waiting = None;
        let first = request.initial_sequence;
        let connection = connect(now, agreed, settings, session, timestamp, [first, first]);
        Answer::Connected(datagram, Box::new(connection), request.stream_id)
    }

    fn may_compute(&mut self, now: Timestamp) -> bool {
        if now >= self.refill_at {
            let second = TimeDelta::from_secs(1);
            (self.allowance, self.refill_at) = (HANDSHAKES, now + second);
        }
        let is_allowed = self.allowance > 0;
        self.allowance = self.allowance.saturating_sub(1);
        is_allowed
    }

    fn datagram(&self, now: Timestamp, destination: u32, body: &[u8]) -> Vec<u8> {
        let timestamp = timestamp(self.origin, now);
        Packet::Control(Control { timestamp, destination, content: Content::Handshake(body) }).emit()
    }
}

/// The caller's session and its keys, or why it is refused.
fn accept(
    now: Timestamp,
    request: &Handshake,
    settings: &Settings,
    random: &mut Random,
) -> Result<(Session, Option<Crypto>), Refusal> {
    if request.version != 5 {
        return Err(Refusal::VERSION);
    }
    let session = request.session.ok_or(Refusal::ROGUE)?;
    if !session.is_live() {
        return Err(Refusal::MESSAGE_API);
    }
    let crypto = match (&settings.passphrase, &request.keys) {
        (None, None) => None,
        (Some(passphrase), Some(keys)) => {
            Some(Crypto::respond(now, passphrase, keys, settings, Random::new(&random.octets()))?)
        }
        _ => return Err(Refusal::UNSECURE),
    };
    Ok((session, crypto))
}

/// The connection that a handshake has made. `firsts` are the first numbers of our packets and of the peer's.
pub(crate) fn connect(
    now: Timestamp,
    agreed: Agreed,
    settings: &Settings,
    session: Session,
    timestamp: u32,
    firsts: [Sequence; 2],
) -> Connection {
    let [ours, theirs] = firsts;
    let least = |ms: u16| settings.latency.max(TimeDelta::from_millis(ms.into()));
    match settings.direction {
        Direction::Send => {
            let agreed = Agreed { latency: least(session.receive_latency_ms), ..agreed };
            Connection::sending(now, agreed, ours)
        }
        Direction::Receive => {
            let latency = least(session.send_latency_ms);
            let clock = PlayoutClock::new(now, timestamp, latency);
            let agreed = Agreed { latency, ..agreed };
            Connection::receiving(now, agreed, theirs, Reception::new(theirs, clock))
        }
    }
}

/// An address as libsrt writes it: words of the other order.
pub(crate) fn wire_address(address: SocketAddr) -> [u8; 16] {
    let mut octets = [0; 16];
    match address.ip() {
        IpAddr::V4(ip) => octets[..4].copy_from_slice(&ip.octets()),
        IpAddr::V6(ip) => octets.copy_from_slice(&ip.octets()),
    }
    octets.chunks_exact_mut(4).for_each(<[u8]>::reverse);
    octets
}
