//! Servers of ICE that the page names to its viewers (RFC 9725 section 4.6): STUN, and TURN with its credentials.

use axum::http::{HeaderMap, HeaderValue, header};
use seaway_net::webrtc::StunServer;
use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

/// More would make each viewer wait for answers of servers that it does not need.
const MOST: usize = 8;
/// Octets of a name or a password. A USERNAME of STUN has less than 509 (RFC 8489 section 14.3).
const LONGEST: usize = 508;

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
    /// # Errors
    /// There are too many, or one is no server of ICE. The reason has no part of what was given.
    pub(super) fn new(given: &[Given]) -> Result<Self, String> {
        if given.len() > MOST {
            return Err(format!("--ice-server: at most {MOST} are of use"));
        }
        let links = given.iter().enumerate().map(|(index, Given(text))| {
            link(text).map_err(|why| format!("--ice-server, number {}: {why}", index + 1))
        });
        links.collect::<Result<_, _>>().map(Self)
    }

    /// Adds them to an answer.
    pub(super) fn add_to(&self, headers: &mut HeaderMap) {
        for link in &self.0 {
            headers.append(header::LINK, link.clone());
        }
    }
}

/// The value of a header (RFC 8288) that names the server `text`: `stun:HOST:PORT` or `turn:USER:PASSWORD@HOST:PORT?transport=udp`.
fn link(text: &str) -> Result<HeaderValue, &'static str> {
    const EXPECTED: &str = "expected stun:HOST:PORT, or turn: or turns:USER:PASSWORD@HOST:PORT, then ?transport=udp or ?transport=tcp \
                            where it is to be one of them; other signs than letters and digits in names and passwords as %XX";
    let (scheme, rest) = text.split_once(':').ok_or(EXPECTED)?;
    let rest = rest.strip_prefix("//").unwrap_or(rest);
    let (rest, query) = rest.split_once('?').map_or((rest, None), |(rest, query)| (rest, Some(query)));
    let (user, host) = rest.rsplit_once('@').map_or((None, rest), |(user, host)| (Some(user), host));
    let is_bare_ipv6 = host.matches(':').count() > 1 && !host.starts_with('[');
    if is_bare_ipv6 || host.starts_with("stun:") || host.parse::<StunServer>().is_err() {
        return Err(EXPECTED);
    }
    let mut value = match (scheme, query) {
        ("stun", None) | ("turn" | "turns", None) => format!("<{scheme}:{host}>; rel=\"ice-server\""),
        ("turn" | "turns", Some("transport=udp" | "transport=tcp")) => {
            format!("<{scheme}:{host}?{}>; rel=\"ice-server\"", query.unwrap_or_default())
        }
        _ => return Err(EXPECTED),
    };
    match (scheme, user) {
        ("stun", None) => {}
        ("turn" | "turns", Some(user)) => {
            let (name, password) = user.split_once(':').ok_or(EXPECTED)?;
            let (name, password) = (quoted(name).ok_or(EXPECTED)?, quoted(password).ok_or(EXPECTED)?);
            value += &format!("; username={name}; credential={password}; credential-type=\"password\"");
        }
        _ => return Err(EXPECTED),
    }
    let mut value = HeaderValue::from_str(&value).map_err(|_| EXPECTED)?;
    value.set_sensitive(true);
    Ok(value)
}

/// A part of a URL as a quoted string (RFC 9110 section 5.6.4): printable ASCII.
fn quoted(part: &str) -> Option<String> {
    let mut text = String::from("\"");
    let mut octets = part.bytes();
    let mut count = 0;
    while let Some(octet) = octets.next() {
        let octet = match octet {
            b'%' => {
                let mut digit = || char::from(octets.next()?).to_digit(16);
                u8::try_from(digit()? * 16 + digit()?).ok()?
            }
            _ => octet,
        };
        if !(b' '..=b'~').contains(&octet) {
            return None;
        }
        if matches!(octet, b'"' | b'\\') {
            text.push('\\');
        }
        text.push(char::from(octet));
        count += 1;
    }
    text.push('"');
    (1..=LONGEST).contains(&count).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(text: &str) -> Option<String> {
        link(text).ok().map(|value| value.to_str().unwrap().to_owned())
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
        assert_eq!(named(&format!("turn:a:{}@h", "b".repeat(LONGEST + 1))), None);
        let why = IceServers::new(&[Given("turn:me:hidden".into())]).err().unwrap();
        assert!(why.contains("number 1") && !why.contains("hidden"), "{why}");
        assert!(!format!("{:?}", Given("turn:me:hidden@h".into())).contains("hidden"));
        assert!(IceServers::new(&vec![Given("stun:h".into()); MOST + 1]).is_err());
    }
}
