//! Servers of ICE that the page names to its viewers (RFC 9725 section 4.6): STUN, and TURN with its credentials.

use axum::http::{HeaderMap, HeaderValue, header};
use seaway_net::webrtc::IceServer;
use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

/// A value of `--ice-server` as it was given. It may hold a password, so that it is not parsed where errors repeat it.
#[derive(Clone)]
pub(super) struct Given(String);

impl FromStr for Given {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Debug for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Given(..)")
    }
}

/// The `Link` headers that name them.
#[derive(Clone, Default)]
pub(super) struct IceServers(Vec<HeaderValue>);

impl IceServers {
    pub(super) fn new(servers: &[IceServer]) -> Self {
        Self(servers.iter().filter_map(|server| link(&server.link())).collect())
    }

    /// Adds them to an answer.
    pub(super) fn add_to(&self, headers: &mut HeaderMap) {
        for link in &self.0 {
            headers.append(header::LINK, link.clone());
        }
    }
}

/// The servers that were given.
///
/// # Errors
/// There are too many, or one is no server of ICE. The reason has no part of what was given.
pub(super) fn servers(given: &[Given]) -> Result<Vec<IceServer>, String> {
    if given.len() > IceServer::MOST {
        return Err(format!("--ice-server: at most {} are of use", IceServer::MOST));
    }
    let servers = given.iter().enumerate().map(|(index, Given(text))| {
        text.parse().map_err(|why| format!("--ice-server, number {}: {why}", index + 1))
    });
    servers.collect()
}

fn link(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(text: &str) -> Option<String> {
        let server: IceServer = text.parse().ok()?;
        link(&server.link()).map(|value| value.to_str().unwrap().to_owned())
    }

    #[test]
    fn servers_are_named_as_links() {
        assert_eq!(named("stun:a.example:3478").unwrap(), "<stun:a.example:3478>; rel=\"ice-server\"");
        assert_eq!(
            named("turn:1764:me%3Ax@[2001:db8::1]:3478?transport=tcp").unwrap(),
            "<turn:[2001:db8::1]:3478?transport=tcp>; rel=\"ice-server\"; username=\"1764\"; credential=\"me:x\"; \
             credential-type=\"password\""
        );
        assert!(named("turns://a:b%22%5C@h").unwrap().contains("credential=\"b\\\"\\\\\""));
    }

    #[test]
    fn other_texts_are_refused_and_not_repeated() {
        for text in [
            "",
            "a",
            "http:a",
            "stun:",
            "stun:a:0",
            "stun:a:b@h",
            "stun:h?transport=udp",
            "turn:h",
            "turn:a@h",
            "turn::b@h",
            "turn:a:@h",
            "turn:a:b@",
            "turn:a:b@2001:db8::1",
            "turn:a:b@stun:h",
            "turn:a:b@h>;x",
            "turn:a:b@h?transport=sctp",
            "turn:a:%0d@h",
            "turn:a:%4@h",
            "turn:a:ä@h",
        ] {
            assert_eq!(named(text), None, "{text}");
        }
        assert_eq!(named(&format!("turn:a:{}@h", "b".repeat(509))), None);
        let why = servers(&[Given("turn:me:hidden".into())]).unwrap_err();
        assert!(why.contains("number 1") && !why.contains("hidden"), "{why}");
        assert!(!format!("{:?}", Given("turn:me:hidden@h".into())).contains("hidden"));
        assert!(servers(&vec![Given("stun:h".into()); IceServer::MOST + 1]).is_err());
    }
}
