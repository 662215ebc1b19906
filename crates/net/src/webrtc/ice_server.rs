//! Servers of ICE: STUN (RFC 7064), and TURN with an account (RFC 7065), as options and `Link` headers name them (RFC 9725 section
//! 4.6).

use super::stun::StunServer;
use std::fmt;
use std::str::FromStr;

/// Octets of a name or a password. A USERNAME of STUN has less than 509 (RFC 8489 section 14.3).
const LONGEST: usize = 508;
const EXPECTED: &str = "expected stun:HOST:PORT, or turn: or turns:USER:PASSWORD@HOST:PORT, then ?transport=udp or ?transport=tcp \
                        where it is to be one of them; other signs than letters and digits in names and passwords as %XX";

/// A server of ICE.
#[derive(Clone, PartialEq, Eq)]
pub struct IceServer {
    scheme: Scheme,
    /// Name and port as they were given.
    authority: String,
    host: StunServer,
    transport: Option<IceTransport>,
    account: Option<Account>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scheme {
    Stun,
    Turn,
    Turns,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IceTransport {
    Udp,
    Tcp,
}

/// A user's name and password at a TURN server: printable ASCII.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Account {
    pub(super) name: String,
    pub(super) password: String,
}

impl fmt::Debug for IceServer {
    /// Without the account.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.uri())
    }
}

impl IceServer {
    /// More would make each end wait for answers of servers that it does not need.
    pub const MOST: usize = 8;

    /// What relays by UDP, and the account there; `None` where it is another server.
    pub(super) fn relay(&self) -> Option<(&StunServer, &Account)> {
        let is_udp = self.scheme == Scheme::Turn && self.transport != Some(IceTransport::Tcp);
        self.account.as_ref().filter(|_| is_udp).map(|account| (&self.host, account))
    }

    /// Whether our own end can use it: TURN over UDP.
    pub fn is_relay(&self) -> bool {
        self.relay().is_some()
    }

    /// Whether it is TURN, over whatever.
    pub fn is_turn(&self) -> bool {
        self.scheme != Scheme::Stun
    }

    /// The value of a `Link` header (RFC 8288) that names it, with its account.
    pub fn link(&self) -> String {
        let account = self.account.as_ref().map_or_else(String::new, |Account { name, password }| {
            let (name, password) = (quoted(name), quoted(password));
            format!("; username={name}; credential={password}; credential-type=\"password\"")
        });
        format!("<{}>; rel=\"ice-server\"{account}", self.uri())
    }

    fn uri(&self) -> String {
        let scheme = match self.scheme {
            Scheme::Stun => "stun",
            Scheme::Turn => "turn",
            Scheme::Turns => "turns",
        };
        let transport = match self.transport {
            None => "",
            Some(IceTransport::Udp) => "?transport=udp",
            Some(IceTransport::Tcp) => "?transport=tcp",
        };
        format!("{scheme}:{}{transport}", self.authority)
    }

    /// That of a URI, without its account, and what stands before an `@`.
    fn of_uri(uri: &str) -> Option<(Self, Option<&str>)> {
        let (scheme, rest) = uri.split_once(':')?;
        let rest = rest.strip_prefix("//").unwrap_or(rest);
        let (rest, query) = rest.split_once('?').map_or((rest, None), |(rest, query)| (rest, Some(query)));
        let (user, authority) = rest.rsplit_once('@').map_or((None, rest), |(user, host)| (Some(user), host));
        let is_bare_ipv6 = authority.matches(':').count() > 1 && !authority.starts_with('[');
        if is_bare_ipv6 || authority.starts_with("stun:") {
            return None;
        }
        let host = authority.parse().ok()?;
        let (scheme, transport) = match (scheme, query) {
            ("stun", None) => (Scheme::Stun, None),
            ("turn", query) => (Scheme::Turn, IceTransport::of(query)?),
            ("turns", query) => (Scheme::Turns, IceTransport::of(query)?),
            _ => return None,
        };
        Some((Self { scheme, authority: authority.to_owned(), host, transport, account: None }, user))
    }

    fn with_account(self, account: Option<Account>) -> Option<Self> {
        (account.is_some() == self.is_turn()).then_some(Self { account, ..self })
    }
}

impl IceTransport {
    /// That of a query: `None` where it is none that is known.
    fn of(query: Option<&str>) -> Option<Option<Self>> {
        match query {
            None => Some(None),
            Some("transport=udp") => Some(Some(Self::Udp)),
            Some("transport=tcp") => Some(Some(Self::Tcp)),
            Some(_) => None,
        }
    }
}

impl FromStr for IceServer {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (server, user) = Self::of_uri(text).ok_or(EXPECTED)?;
        let account = match user {
            None => None,
            Some(user) => {
                let (name, password) = user.split_once(':').ok_or(EXPECTED)?;
                let (name, password) = (decoded(name).ok_or(EXPECTED)?, decoded(password).ok_or(EXPECTED)?);
                Some(Account::checked(name, password).ok_or(EXPECTED)?)
            }
        };
        server.with_account(account).ok_or(EXPECTED)
    }
}

impl Account {
    /// The reason of a refusal is not said: it would be about a password.
    fn checked(name: String, password: String) -> Option<Self> {
        let is_usable = |text: &str| {
            (1..=LONGEST).contains(&text.len()) && text.bytes().all(|octet| (b' '..=b'~').contains(&octet))
        };
        (is_usable(&name) && is_usable(&password)).then_some(Self { name, password })
    }
}

/// A part of a URL without its escapes.
fn decoded(part: &str) -> Option<String> {
    let mut text = Vec::with_capacity(part.len());
    let mut octets = part.bytes();
    while let Some(octet) = octets.next() {
        text.push(match octet {
            b'%' => {
                let mut digit = || char::from(octets.next()?).to_digit(16);
                u8::try_from(digit()? * 16 + digit()?).ok()?
            }
            _ => octet,
        });
    }
    String::from_utf8(text).ok()
}

/// A quoted string (RFC 9110 section 5.6.4).
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// The servers that `Link` headers name, the first [`IceServer::MOST`] of those that are any.
pub(super) fn of_links<'a>(headers: impl Iterator<Item = &'a str>) -> Vec<IceServer> {
    headers.flat_map(|header| cut(header, ',')).filter_map(of_link).take(IceServer::MOST).collect()
}

/// The server of one link, where it names one.
fn of_link(link: &str) -> Option<IceServer> {
    let mut parts = cut(link, ';').into_iter().map(str::trim);
    let target = parts.next()?.strip_prefix('<')?.strip_suffix('>')?;
    let (mut is_meant, mut name, mut password) = (false, None, None);
    for (key, value) in parts.filter_map(|part| part.split_once('=')) {
        let value = unquoted(value.trim());
        match key.trim().to_ascii_lowercase().as_str() {
            "rel" => is_meant |= value.split(' ').any(|rel| rel.eq_ignore_ascii_case("ice-server")),
            "username" => name = Some(value),
            "credential" => password = Some(value),
            // OAuth is for others.
            "credential-type" if !value.eq_ignore_ascii_case("password") => return None,
            _ => {}
        }
    }
    let (server, _) = IceServer::of_uri(target).filter(|(_, user)| is_meant && user.is_none())?;
    let account = match name.zip(password).filter(|_| server.is_turn()) {
        Some((name, password)) => Some(Account::checked(name, password)?),
        None => None,
    };
    server.with_account(account)
}

/// The parts of `text` between the signs `at` that stand neither in a quoted string nor in angle brackets.
fn cut(text: &str, at: char) -> Vec<&str> {
    let (mut parts, mut begin) = (Vec::new(), 0);
    let (mut is_quoted, mut is_escaped, mut is_target) = (false, false, false);
    for (index, letter) in text.char_indices() {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' if is_quoted => is_escaped = true,
            '"' if !is_target => is_quoted = !is_quoted,
            '<' if !is_quoted => is_target = true,
            '>' if !is_quoted => is_target = false,
            _ if letter == at && !is_quoted && !is_target => {
                parts.push(&text[begin..index]);
                begin = index + letter.len_utf8();
            }
            _ => {}
        }
    }
    parts.push(&text[begin..]);
    parts
}

/// A value of a parameter: a token or a quoted string.
fn unquoted(value: &str) -> String {
    let Some(inner) = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) else {
        return value.to_owned();
    };
    let mut text = String::with_capacity(inner.len());
    let mut letters = inner.chars();
    while let Some(letter) = letters.next() {
        text.extend(if letter == '\\' { letters.next() } else { Some(letter) });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_link_is_read_as_it_was_written() {
        for text in [
            "stun:a.example:3478",
            "turn:1764:me%3Ax@[2001:db8::1]:3478?transport=tcp",
            "turn:a%2Cb:c%22%5C%3B%20%3Cd@h?transport=udp",
            "turns:a:b@h",
        ] {
            let server: IceServer = text.parse().unwrap();
            let others = "</whep/1>; rel=\"other\", ";
            assert_eq!(of_links([&*format!("{others}{}", server.link())].into_iter()), [server], "{text}");
        }
    }

    #[test]
    fn links_of_other_servers_are_read() {
        // As of MediaMTX, and as RFC 9725 has them.
        let header = "<stun:stun.example.net>; rel=\"ice-server\", <turn:turn.example.net?transport=udp>; rel=\"ice-server\"; \
                      username=\"user\"; credential=\"myPassword\"; credential-type=\"password\", \
                      <turn:turn.example.net?transport=tcp>; REL=ice-server; username=user; credential=x";
        let servers = of_links([header].into_iter());
        assert_eq!(servers.len(), 3);
        let relays: Vec<_> = servers.iter().filter_map(IceServer::relay).collect();
        let [(host, account)] = relays[..] else { panic!("{servers:?}") };
        assert_eq!(host.to_string(), "turn.example.net:3478");
        assert_eq!((&*account.name, &*account.password), ("user", "myPassword"));
        assert!(!format!("{servers:?}").contains("myPassword"));
    }

    #[test]
    fn what_is_no_server_is_passed_over() {
        for header in [
            "",
            "<turn:h>",
            "<turn:h>; rel=\"ice-server\"",
            "<turn:h>; rel=\"ice-server\"; username=a",
            "<turn:h>; rel=next; username=a; credential=b",
            "<turn:h>; rel=\"ice-server\"; username=a; credential=b; credential-type=\"oauth\"",
            "<turn:h>; rel=\"ice-server\"; username=a; credential=\"\"",
            "<turn:c:d@h>; rel=\"ice-server\"; username=a; credential=b",
            "<turn:h?transport=sctp>; rel=\"ice-server\"; username=a; credential=b",
            "<turn:>; rel=\"ice-server\"; username=a; credential=b",
            "<http://h/>; rel=\"ice-server\"",
            "turn:h; rel=\"ice-server\"; username=a; credential=b",
            "<turn:h; rel=\"ice-server\"; username=a; credential=b",
            "<turn:h>; rel=\"ice-server; username=a; credential=b",
        ] {
            assert_eq!(of_links([header].into_iter()), [], "{header}");
        }
        let long = format!("<turn:h>; rel=ice-server; username=a; credential={}", "b".repeat(LONGEST + 1));
        assert_eq!(of_links([&*long].into_iter()), []);
        let many = "<stun:h>; rel=ice-server,".repeat(IceServer::MOST + 1);
        assert_eq!(of_links([&*many].into_iter()).len(), IceServer::MOST);
    }

    /// Pieces of a `Link` header in any order, with any text between them.
    fn odd_header() -> impl Strategy<Value = String> {
        const PIECES: [&str; 16] = [
            "<",
            ">",
            ";",
            ",",
            "\"",
            "\\",
            "=",
            " ",
            "turn:h",
            "stun:[::1]:9",
            "rel=ice-server",
            "username=",
            "credential=",
            "é",
            "?transport=udp",
            "<turn:h>;rel=ice-server;username=a;credential=b",
        ];
        let piece =
            prop_oneof![4 => prop::sample::select(&PIECES[..]).prop_map(str::to_owned), 1 => ".{0,3}"];
        prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn any_header_is_safe(header in odd_header()) {
            let servers = of_links([&*header].into_iter());
            prop_assert!(servers.len() <= IceServer::MOST);
            for server in servers {
                prop_assert_eq!(of_links([&*server.link()].into_iter()), [server]);
            }
        }

        #[test]
        fn any_account_is_read_as_it_was_written(name in "[ -~]{1,20}", password in "[ -~]{1,20}") {
            let account = Account::checked(name, password).expect("printable");
            let (server, _) = IceServer::of_uri("turn:h").unwrap();
            let server = server.with_account(Some(account)).unwrap();
            prop_assert_eq!(of_links([&*server.link()].into_iter()), [server]);
        }
    }
}
