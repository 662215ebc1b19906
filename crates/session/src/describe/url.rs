//! Where a session is, as a URL: `rtp://host:port`, with `?key=…` for a keyed session and `mode=caller` or `mode=listener` where the
//! receiver calls; `seaway+window://host:port` for the window transport.

use super::SessionKey;
use std::fmt;
use std::str::FromStr;

/// The address of the end that listens, and the session's key where the URL has one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionUrl {
    transport: Transport,
    authority: String,
    mode: Option<Mode>,
    key: Option<SessionKey>,
}

/// What an end does at the address of the URL, as in the URLs of SRT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// It calls the other end there.
    Caller,
    /// It listens there.
    Listener,
}

impl Mode {
    const fn name(self) -> &'static str {
        match self {
            Self::Caller => "caller",
            Self::Listener => "listener",
        }
    }
}

impl FromStr for Mode {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mode = [Self::Caller, Self::Listener].into_iter().find(|mode| mode.name() == text);
        mode.ok_or("expected mode=caller or mode=listener")
    }
}

/// How the packets of a session are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// RTP, SRTP where the session has a key.
    Rtp,
    /// S002's window transport ([`window`](crate::window)), which has no keys.
    Window,
}

impl Transport {
    const ALL: [Self; 2] = [Self::Rtp, Self::Window];

    const fn scheme(self) -> &'static str {
        match self {
            Self::Rtp => "rtp://",
            Self::Window => "seaway+window://",
        }
    }
}

impl SessionUrl {
    /// The URL of a session over RTP at `authority`, which is `host:port`.
    pub const fn new(authority: String, key: Option<SessionKey>) -> Self {
        Self { transport: Transport::Rtp, authority, mode: None, key }
    }

    /// The same with a mode.
    pub fn with_mode(self, mode: Mode) -> Self {
        Self { mode: Some(mode), ..self }
    }

    /// What the end that has the URL does there; `None`: a sender calls, a receiver listens.
    pub const fn mode(&self) -> Option<Mode> {
        self.mode
    }

    /// How its packets are made.
    pub const fn transport(&self) -> Transport {
        self.transport
    }

    /// `host:port`.
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// The session's key.
    pub const fn key(&self) -> Option<&SessionKey> {
        self.key.as_ref()
    }

    /// The whole URL, the secret included.
    pub fn to_secret_text(&self) -> String {
        let mark = if self.mode.is_some() { '&' } else { '?' };
        let key = self.key.iter().map(|key| format!("{mark}key={}", key.to_text()));
        std::iter::once(self.to_string()).chain(key).collect()
    }
}

impl FromStr for SessionUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const EXPECTED: &str = "expected rtp://host:port, such as rtp://192.0.2.7:5004 or rtp://[::1]:5004";
        let of = |transport: Transport| Some((transport, text.strip_prefix(transport.scheme())?));
        let (transport, rest) = Transport::ALL.into_iter().find_map(of).ok_or(EXPECTED)?;
        let (rest, query) = rest.split_once('?').map_or((rest, None), |(rest, query)| (rest, Some(query)));
        let authority = rest.strip_suffix('/').unwrap_or(rest);
        let (host, port) = authority.rsplit_once(':').ok_or(EXPECTED)?;
        let is_port = port.parse::<u16>().is_ok_and(|port| port > 0);
        if !is_port || host.is_empty() || host.contains('/') {
            return Err(EXPECTED.into());
        }
        let mut url = Self { transport, authority: authority.to_owned(), mode: None, key: None };
        for parameter in query.into_iter().flat_map(|query| query.split('&')) {
            match parameter.split_once('=') {
                Some(("key", key)) if url.key.is_none() => url.key = Some(key.parse()?),
                Some(("mode", mode)) if url.mode.is_none() => url.mode = Some(mode.parse()?),
                _ => return Err("expected key=… or mode=caller, each once, behind the question mark".into()),
            }
        }
        match (transport, url.key.is_some(), url.mode.is_some()) {
            (Transport::Window, true, _) => Err("the window transport has no keys".into()),
            (Transport::Window, _, true) => {
                Err("the window transport has no mode: its receiver listens".into())
            }
            _ => Ok(url),
        }
    }
}

impl fmt::Display for SessionUrl {
    /// The URL without the key, for titles and messages.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.transport.scheme(), self.authority)?;
        self.mode.map_or(Ok(()), |mode| write!(f, "?mode={}", mode.name()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        let authority = |text: &str| text.parse::<SessionUrl>().unwrap().authority().to_owned();
        assert_eq!(authority("rtp://127.0.0.1:5004"), "127.0.0.1:5004");
        assert_eq!(authority("rtp://[::1]:5004/"), "[::1]:5004");
        let window: SessionUrl = "seaway+window://[::1]:5004".parse().unwrap();
        assert_eq!((window.transport(), window.authority()), (Transport::Window, "[::1]:5004"));
        assert_eq!(window.to_string(), "seaway+window://[::1]:5004");
        for wrong in [
            "",
            "127.0.0.1:5004",
            "rtp://127.0.0.1",
            "rtp://:5004",
            "rtp://a:0",
            "rtp://a:99999",
            "udp://a:1",
            "rtp://a:1?key=",
            "rtp://a:1?key=abc",
            "rtp://a:1?name=abc",
            "rtp://a:1?mode=",
            "rtp://a:1?mode=rendezvous",
            "rtp://a:1?mode=caller&mode=caller",
            "seaway+window://a:1?mode=caller",
            "seaway+window://a:1?key=0000000000000000000000000000000000000000000000000000000000000000",
        ] {
            assert!(wrong.parse::<SessionUrl>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn modes() {
        let key = SessionKey::new([7; 32]).to_text();
        let text = format!("rtp://a:1?mode=caller&key={key}");
        let url: SessionUrl = text.parse().unwrap();
        assert_eq!((url.mode(), url.to_string()), (Some(Mode::Caller), "rtp://a:1?mode=caller".into()));
        assert_eq!(url.to_secret_text(), text);
        assert_eq!(format!("rtp://a:1?key={key}&mode=caller").parse(), Ok(url));
        let listener = SessionUrl::new("a:1".into(), None).with_mode(Mode::Listener);
        assert_eq!(listener.to_string(), "rtp://a:1?mode=listener");
        assert_eq!(listener.to_string().parse(), Ok(listener));
    }

    #[test]
    fn a_key_is_given_once_and_not_to_the_window_transport() {
        let key = SessionKey::new([7; 32]).to_text();
        for wrong in [format!("rtp://a:1?key={key}&key={key}"), format!("seaway+window://a:1?key={key}")] {
            assert!(wrong.parse::<SessionUrl>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_key_is_shown_only_where_it_is_asked_for() {
        let key = SessionKey::new([7; 32]);
        let text = format!("rtp://cam.example:5004?key={}", key.to_text());
        let url: SessionUrl = text.parse().unwrap();
        assert_eq!(url.key(), Some(&key));
        assert_eq!(url.to_secret_text(), text);
        assert_eq!(url.to_string(), "rtp://cam.example:5004");
        assert!(!format!("{url:?}").contains(&key.to_text()));
    }
}
