//! The handshake of version 5 as octets (draft-sharabayko-srt-01, section 3.2.1).

use crate::bytes::{Reader, put_u16, put_u32};
use crate::settings::MAX_STREAM_ID;
use crate::{Error, Sequence};

/// Octets of a handshake without extensions.
pub const HANDSHAKE_LEN: usize = 48;
/// What a listener of version 5 puts in place of the extension field of its first answer.
pub const MAGIC: u16 = 0x4a17;
/// The version of the library whose behaviour is followed.
const LIBRARY_VERSION: u32 = 0x0001_0501;
/// Timestamps both ways, encryption, too-late drop, periodic loss reports, the flag of a retransmission.
const FLAGS: u32 = 0x3f;
/// Flags that live mode needs of its peer: timestamps of data, and not the mode for files.
const TIMESTAMPS: u32 = 0x3;
const STREAM: u32 = 0x40;

/// Bits of the extension field.
const HAS_SESSION: u16 = 1;
const HAS_KEYS: u16 = 2;
const HAS_CONFIGURATION: u16 = 4;

/// Types of extensions.
const SESSION_REQUEST: u16 = 1;
const SESSION_RESPONSE: u16 = 2;
const KEY_REQUEST: u16 = 3;
const KEY_RESPONSE: u16 = 4;
const STREAM_ID: u16 = 5;

/// A handshake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handshake {
    /// 4 in the first request, 5 in everything else.
    pub version: u32,
    /// An eighth of the octets of the key; 0 where none is named.
    pub encryption: u16,
    /// Which extensions there are, or a constant by the step.
    pub extension_field: u16,
    /// The number of the first data packet.
    pub initial_sequence: Sequence,
    /// Octets of a datagram at most, with its headers.
    pub mtu: u32,
    /// Packets that may be in flight.
    pub window: u32,
    /// The step.
    pub step: Step,
    /// The socket of the sender.
    pub socket: u32,
    /// The cookie of the listener.
    pub cookie: u32,
    /// The address of the peer, as libsrt writes it.
    pub peer: [u8; 16],
    /// Both latencies.
    pub session: Option<Session>,
    /// Key material, or the status that refuses it.
    pub keys: Option<Vec<u8>>,
    /// What the caller asks for.
    pub stream_id: Option<String>,
}

/// The step of a handshake (table 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The cookie is asked for, or given.
    Induction,
    /// The connection is asked for, or made.
    Conclusion,
    /// It is refused, for this reason.
    Rejection(u32),
    /// A step of rendezvous, which is not supported.
    Other(u32),
}

impl Step {
    fn of(value: u32) -> Self {
        match value {
            1 => Step::Induction,
            u32::MAX => Step::Conclusion,
            1000..0x8000_0000 => Step::Rejection(value),
            other => Step::Other(other),
        }
    }

    fn value(self) -> u32 {
        match self {
            Step::Induction => 1,
            Step::Conclusion => u32::MAX,
            Step::Rejection(value) | Step::Other(value) => value,
        }
    }
}

/// The session extension (section 3.2.1.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Session {
    /// What the sender supports.
    pub flags: u32,
    /// The latency for what the sender of the handshake receives, ms.
    pub receive_latency_ms: u16,
    /// The least latency for what it sends, ms.
    pub send_latency_ms: u16,
}

impl Session {
    /// One latency both ways, and all that is supported.
    pub(crate) fn with_latency(latency_ms: u16) -> Self {
        Self { flags: FLAGS, receive_latency_ms: latency_ms, send_latency_ms: latency_ms }
    }

    /// Whether the peer is in live mode.
    pub(crate) fn is_live(&self) -> bool {
        self.flags & TIMESTAMPS != 0 && self.flags & STREAM == 0
    }
}

impl Handshake {
    /// Reads the body of a handshake. An extension of another type is passed over.
    pub fn parse(body: &[u8]) -> Result<Handshake, Error> {
        let mut reader = Reader::new("handshake", body);
        let mut handshake = Handshake {
            version: reader.u32()?,
            encryption: reader.u16()?,
            extension_field: reader.u16()?,
            initial_sequence: Sequence::new(reader.u32()?),
            mtu: reader.u32()?,
            window: reader.u32()?,
            step: Step::of(reader.u32()?),
            socket: reader.u32()?,
            cookie: reader.u32()?,
            peer: reader.array()?,
            session: None,
            keys: None,
            stream_id: None,
        };
        if handshake.version == 5 && handshake.step == Step::Conclusion {
            handshake.parse_extensions(reader.rest())?;
        }
        Ok(handshake)
    }

    fn parse_extensions(&mut self, data: &[u8]) -> Result<(), Error> {
        let mut reader = Reader::new("extension of a handshake", data);
        while !reader.rest().is_empty() {
            let (kind, words) = (reader.u16()?, reader.u16()?);
            let content = reader.take(4 * usize::from(words))?;
            match kind {
                SESSION_REQUEST | SESSION_RESPONSE => {
                    let mut reader = Reader::new("session extension", content);
                    let (_version, flags) = (reader.u32()?, reader.u32()?);
                    let (receive_latency_ms, send_latency_ms) = (reader.u16()?, reader.u16()?);
                    self.session = Some(Session { flags, receive_latency_ms, send_latency_ms });
                }
                KEY_REQUEST | KEY_RESPONSE => self.keys = Some(content.to_vec()),
                STREAM_ID => self.stream_id = Some(parse_stream_id(content)?),
                _ => {}
            }
        }
        Ok(())
    }

    /// The body. A response has the extensions of responses, and no stream id.
    pub fn emit(&self, is_response: bool) -> Vec<u8> {
        let mut body = Vec::with_capacity(HANDSHAKE_LEN);
        put_u32(&mut body, self.version);
        put_u16(&mut body, self.encryption);
        put_u16(&mut body, self.extension_field);
        let step = self.step.value();
        for word in [self.initial_sequence.value(), self.mtu, self.window, step, self.socket, self.cookie] {
            put_u32(&mut body, word);
        }
        body.extend_from_slice(&self.peer);
        if let Some(session) = &self.session {
            put_u16(&mut body, if is_response { SESSION_RESPONSE } else { SESSION_REQUEST });
            put_u16(&mut body, 3);
            put_u32(&mut body, LIBRARY_VERSION);
            put_u32(&mut body, session.flags);
            put_u16(&mut body, session.receive_latency_ms);
            put_u16(&mut body, session.send_latency_ms);
        }
        if let Some(keys) = &self.keys {
            put_u16(&mut body, if is_response { KEY_RESPONSE } else { KEY_REQUEST });
            put_u16(&mut body, (keys.len() / 4) as u16);
            body.extend_from_slice(keys);
        }
        if let Some(stream_id) = self.stream_id.as_ref().filter(|_| !is_response) {
            let words = swapped(stream_id.as_bytes());
            put_u16(&mut body, STREAM_ID);
            put_u16(&mut body, (words.len() / 4) as u16);
            body.extend_from_slice(&words);
        }
        body
    }

    /// The extension field for the extensions that there are.
    pub(crate) fn extensions_present(&self) -> u16 {
        let flag = |is_there: bool, bit: u16| if is_there { bit } else { 0 };
        flag(self.session.is_some(), HAS_SESSION)
            | flag(self.keys.is_some(), HAS_KEYS)
            | flag(self.stream_id.is_some(), HAS_CONFIGURATION)
    }
}

/// Each four octets in the other order, with zeros behind the last one (section 3.2.1.3).
fn swapped(text: &[u8]) -> Vec<u8> {
    text.chunks(4)
        .flat_map(|chunk| (0..4).rev().map(|index| chunk.get(index).copied().unwrap_or(0)))
        .collect()
}

fn parse_stream_id(content: &[u8]) -> Result<String, Error> {
    if content.len() > MAX_STREAM_ID {
        return Err(Error::StreamId(content.len()));
    }
    let mut text = swapped(content);
    text.truncate(text.iter().position(|&octet| octet == 0).unwrap_or(text.len()));
    Ok(String::from_utf8_lossy(&text).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn handshake() -> Handshake {
        Handshake {
            version: 5,
            encryption: 2,
            extension_field: 7,
            initial_sequence: Sequence::new(100),
            mtu: 1500,
            window: 8192,
            step: Step::Conclusion,
            socket: 11,
            cookie: 12,
            peer: [1; 16],
            session: Some(Session::with_latency(400)),
            keys: Some(vec![3; 80]),
            stream_id: Some("#!::r=news".to_owned()),
        }
    }

    #[test]
    fn extensions_are_written_and_read() {
        let handshake = handshake();
        assert_eq!(Handshake::parse(&handshake.emit(false)).unwrap(), handshake);
        assert_eq!(handshake.extensions_present(), 7);
        let response = Handshake::parse(&handshake.emit(true)).unwrap();
        assert_eq!(response, Handshake { stream_id: None, ..handshake });
    }

    /// Section 3.2.1.3: "STREAM" is sent as `ERTS` and, with padding, `..MA`.
    #[test]
    fn a_stream_id_is_in_words_of_the_other_order() {
        assert_eq!(swapped(b"STREAM"), b"ERTS\0\0MA");
        assert_eq!(parse_stream_id(b"ERTS\0\0MA").unwrap(), "STREAM");
        assert!(parse_stream_id(&[b'a'; MAX_STREAM_ID + 4]).is_err());
    }

    #[test]
    fn a_cut_off_handshake_is_refused() {
        let body = handshake().emit(false);
        // Between two extensions the rest is not missed.
        let whole = [48, 64, 148, body.len()];
        for len in 0..body.len() {
            assert_eq!(Handshake::parse(&body[..len]).is_ok(), whole.contains(&len), "{len}");
        }
    }

    proptest! {
        #[test]
        fn any_octets_are_read_or_refused(body: Vec<u8>, extensions: Vec<u8>) {
            let _ = Handshake::parse(&body);
            let mut whole = Handshake { session: None, keys: None, stream_id: None, ..handshake() }.emit(false);
            whole.extend(extensions);
            if let Ok(parsed) = Handshake::parse(&whole) {
                let _ = parsed.emit(false);
            }
        }
    }
}
