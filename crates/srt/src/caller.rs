//! The caller's half of the handshake (draft-sharabayko-srt-01, section 4.3.1).

use crate::connection::{Agreed, Connection, timestamp};
use crate::crypto::Crypto;
use crate::handshake::{Handshake, MAGIC, Session, Step};
use crate::key_material::{BAD_SECRET, NO_SECRET, status};
use crate::listener::{connect, wire_address};
use crate::random::Random;
use crate::settings::{KeyLength, Settings};
use crate::{Content, Control, Packet, Refusal, Sequence};
use seaway_units::{TimeDelta, Timestamp};
use std::net::SocketAddr;

/// A request is repeated so often, as in libsrt.
const REPEAT: TimeDelta = TimeDelta::from_millis(250);
/// An attempt without an answer ends after this, as in libsrt.
const LONGEST: TimeDelta = TimeDelta::from_secs(3);

/// One attempt to make a connection.
#[derive(Debug)]
pub(crate) struct Call {
    peer: SocketAddr,
    socket: u32,
    initial_sequence: Sequence,
    /// Our timestamps count from here.
    origin: Timestamp,
    answered_at: Timestamp,
    repeat_at: Timestamp,
    /// The request that is repeated, without its header.
    request: Vec<u8>,
    /// The cookie was shown: the conclusion is asked for.
    is_concluding: bool,
    crypto: Option<Crypto>,
}

/// What has become of a call.
pub(crate) enum Progress {
    /// It goes on.
    Pending,
    /// The connection is made.
    Connected(Box<Connection>),
    /// It is refused.
    Refused(Refusal),
}

impl Call {
    pub(crate) fn new(now: Timestamp, peer: SocketAddr, random: &mut Random) -> Self {
        let mut call = Self {
            peer,
            socket: random.socket(),
            initial_sequence: Sequence::new(random.u32()),
            origin: now,
            answered_at: now,
            repeat_at: now,
            request: Vec::new(),
            is_concluding: false,
            crypto: None,
        };
        let mut induction = call.handshake(Step::Induction);
        // Section 4.3.1.1: what a listener of version 4 expects.
        (induction.version, induction.extension_field) = (4, 2);
        call.request = induction.emit(false);
        call
    }

    fn handshake(&self, step: Step) -> Handshake {
        Handshake {
            version: 5,
            encryption: 0,
            extension_field: 0,
            initial_sequence: self.initial_sequence,
            mtu: 1500,
            window: crate::receive::WINDOW as u32,
            step,
            socket: self.socket,
            cookie: 0,
            peer: wire_address(self.peer),
            session: None,
            keys: None,
            stream_id: None,
        }
    }

    pub(crate) fn poll_timeout(&self) -> Timestamp {
        self.repeat_at.min(self.answered_at + LONGEST)
    }

    /// Whether no answer came for so long that the call is over.
    pub(crate) fn is_over(&self, now: Timestamp) -> bool {
        now.since(self.answered_at) >= LONGEST
    }

    /// The request, where it is time to send it.
    pub(crate) fn poll_request(&mut self, now: Timestamp) -> Option<Vec<u8>> {
        if self.repeat_at > now {
            return None;
        }
        self.repeat_at = now + REPEAT;
        let content = Content::Handshake(&self.request);
        let timestamp = timestamp(self.origin, now);
        Some(Packet::Control(Control { timestamp, destination: 0, content }).emit())
    }

    /// An answer. Nothing where it is none to this call.
    pub(crate) fn on_answer(
        &mut self,
        now: Timestamp,
        control: &Control<'_>,
        settings: &Settings,
        random: &mut Random,
    ) -> Option<Progress> {
        let Content::Handshake(body) = control.content else { return None };
        if control.destination != self.socket {
            return None;
        }
        let answer = Handshake::parse(body).ok()?;
        match answer.step {
            Step::Induction if !self.is_concluding => Some(self.on_cookie(now, &answer, settings, random)),
            Step::Conclusion if self.is_concluding => {
                Some(self.on_conclusion(now, control.timestamp, &answer, settings))
            }
            Step::Rejection(code) if self.is_concluding => Some(Progress::Refused(Refusal::new(code))),
            _ => None,
        }
    }

    fn on_cookie(
        &mut self,
        now: Timestamp,
        answer: &Handshake,
        settings: &Settings,
        random: &mut Random,
    ) -> Progress {
        if answer.version != 5 || answer.extension_field != MAGIC {
            return Progress::Refused(Refusal::VERSION);
        }
        let advertised = KeyLength::from_octets(8 * usize::from(answer.encryption));
        let length = settings.key_length.or(advertised).unwrap_or_default();
        self.crypto = settings.passphrase.as_ref().map(|passphrase| {
            Crypto::initiate(now, passphrase, length, settings, Random::new(&random.octets()))
        });
        let mut conclusion = self.handshake(Step::Conclusion);
        conclusion.cookie = answer.cookie;
        conclusion.session = Some(Session::with_latency(settings.latency_ms()));
        conclusion.keys = self.crypto.as_ref().and_then(Crypto::material);
        conclusion.stream_id.clone_from(&settings.stream_id);
        conclusion.extension_field = conclusion.extensions_present();
        if self.crypto.is_some() {
            conclusion.encryption = (length.octets() / 8) as u16;
        }
        self.request = conclusion.emit(false);
        (self.is_concluding, self.answered_at, self.repeat_at) = (true, now, now);
        Progress::Pending
    }

    fn on_conclusion(
        &mut self,
        now: Timestamp,
        timestamp: u32,
        answer: &Handshake,
        settings: &Settings,
    ) -> Progress {
        let Some(session) = answer.session.filter(|_| answer.socket != 0) else {
            return Progress::Refused(Refusal::ROGUE);
        };
        if !session.is_live() {
            return Progress::Refused(Refusal::MESSAGE_API);
        }
        match (&self.crypto, answer.keys.as_deref()) {
            (None, _) => {}
            (Some(_), None) => return Progress::Refused(Refusal::UNSECURE),
            (Some(crypto), Some(keys)) => match status(keys) {
                Some(BAD_SECRET) => return Progress::Refused(Refusal::BAD_SECRET),
                Some(NO_SECRET) => return Progress::Refused(Refusal::UNSECURE),
                Some(_) => return Progress::Refused(Refusal::ROGUE),
                // The keys come back as they are.
                None if crypto.material().as_deref() == Some(keys) => {}
                None => return Progress::Refused(Refusal::ROGUE),
            },
        }
        let agreed = Agreed {
            peer: self.peer,
            peer_socket: answer.socket,
            socket: self.socket,
            origin: self.origin,
            latency: settings.latency,
            crypto: self.crypto.take(),
        };
        let (ours, theirs) = (self.initial_sequence, answer.initial_sequence);
        Progress::Connected(Box::new(connect(now, agreed, settings, session, timestamp, [ours, theirs])))
    }
}
