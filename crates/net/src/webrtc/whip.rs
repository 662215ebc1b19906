//! WHIP (RFC 9725) and WHEP (draft-ietf-wish-whep): a session with a media server is made and ended by HTTP.

use super::answer;
use super::ice_server::{self, IceServer};
use rustls::crypto::ring::default_provider;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;
use ureq::Agent;
use ureq::http::{Response, StatusCode, header};
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};
use url::Url;

/// The time for a request and its whole answer, however slowly it comes.
const REQUEST: Duration = Duration::from_secs(10);
/// The same for the request that ends a session.
const GOODBYE: Duration = Duration::from_secs(1);
/// Redirections in a row.
const REDIRECTIONS: usize = 3;
/// Octets of the head of an answer.
const LONGEST_HEAD: usize = 16 * 1024;
/// Characters of a server's reason that are shown.
const LONGEST_REASON: usize = 200;

/// What a media server is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerProtocol {
    /// It takes a stream (RFC 9725).
    Whip,
    /// It gives a stream (draft-ietf-wish-whep).
    Whep,
}

impl ServerProtocol {
    /// What its URLs begin with.
    const fn prefix(self) -> &'static str {
        match self {
            Self::Whip => "whip+",
            Self::Whep => "whep+",
        }
    }

    /// That of a URL; `None` where it begins otherwise.
    fn of(text: &str) -> Option<Self> {
        [Self::Whip, Self::Whep].into_iter().find(|protocol| text.starts_with(protocol.prefix()))
    }
}

/// `whip+https://host/path` or `whep+https://host/path`, or with `http` on this host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerUrl {
    protocol: ServerProtocol,
    url: Url,
}

impl ServerUrl {
    /// Whether `text` is meant to be one.
    pub fn is_meant_by(text: &str) -> bool {
        ServerProtocol::of(text).is_some()
    }

    /// What the server is asked for.
    pub const fn protocol(&self) -> ServerProtocol {
        self.protocol
    }

    /// Whether the server is authenticated by TLS.
    pub fn is_secure(&self) -> bool {
        self.url.scheme() == "https"
    }

    /// The server's address.
    ///
    /// # Errors
    /// Its name has none.
    pub fn resolve(&self) -> io::Result<SocketAddr> {
        let none = || io::Error::new(io::ErrorKind::NotFound, "the name has no address");
        self.url.socket_addrs(|| None)?.into_iter().next().ok_or_else(none)
    }
}

impl FromStr for ServerUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let protocol = ServerProtocol::of(text).ok_or("expected whip+https:// or whep+https://")?;
        let prefix = protocol.prefix();
        let expected = format!("expected {prefix}https://host/path");
        let url = Url::parse(&text[prefix.len()..]).map_err(|error| format!("{expected}: {error}"))?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none_or(str::is_empty) {
            return Err(expected);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("the URL has a user name: the token goes by --token".into());
        }
        Ok(Self { protocol, url })
    }
}

impl fmt::Display for ServerUrl {
    /// Without the query, which may hold a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut url = self.url.clone();
        url.set_query(None);
        write!(f, "{}{url}", self.protocol.prefix())
    }
}

/// Why a server gave no session.
#[derive(Debug)]
pub enum WhipError {
    /// The certificates to check the server by.
    Certificates(String),
    /// The request failed: no connection, no TLS, no answer in time, or malformed HTTP.
    Request(Box<ureq::Error>),
    /// The server refused.
    Refused {
        /// The status of the answer.
        status: u16,
        /// The server's reason, where it gives one.
        reason: String,
    },
    /// The server redirects to where we do not go.
    Redirection(&'static str),
    /// The answer is of no use.
    Answer(String),
}

impl fmt::Display for WhipError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Certificates(problem) => write!(f, "certificates: {problem}"),
            Self::Request(error) => match **error {
                ureq::Error::Timeout(_) => {
                    write!(f, "no answer of the server within {} s", REQUEST.as_secs())
                }
                ureq::Error::Io(ref error) => write!(f, "no connection to the server: {error}"),
                ref error => error.fmt(f),
            },
            Self::Refused { status, reason } => {
                let name = StatusCode::from_u16(*status).ok().and_then(|status| status.canonical_reason());
                write!(f, "the server refused: {status} {}", name.unwrap_or_default())?;
                if reason.is_empty() { Ok(()) } else { write!(f, ": {reason}") }
            }
            Self::Redirection(problem) => write!(f, "the server redirects {problem}"),
            Self::Answer(problem) => write!(f, "the server's answer cannot be used: {problem}"),
        }
    }
}

impl std::error::Error for WhipError {}

impl From<ureq::Error> for WhipError {
    fn from(error: ureq::Error) -> Self {
        match error {
            ureq::Error::BodyExceedsLimit(_) => {
                Self::Answer(format!("it has more than {} octets", answer::LONGEST))
            }
            error => Self::Request(Box::new(error)),
        }
    }
}

/// What makes sessions at a server.
#[derive(Debug, Clone)]
pub struct WhipClient {
    agent: Agent,
    url: Url,
    token: Option<String>,
}

/// A session that a server gave.
#[derive(Debug)]
pub struct ServerSession {
    /// The answer (SDP) to our offer.
    pub answer: String,
    /// The servers of ICE that it names (RFC 9725 section 4.6).
    pub ice_servers: Vec<IceServer>,
    /// Ends the session.
    pub resource: WhipResource,
}

/// A session at a server, by the URL that the server gave it.
#[derive(Debug)]
pub struct WhipResource {
    client: WhipClient,
    url: Option<Url>,
}

impl WhipClient {
    /// Sessions at `url`, with a bearer token (RFC 6750). The server's certificate is checked by those in the PEM file
    /// `authorities`, else by the system's.
    ///
    /// # Errors
    /// The certificates cannot be read.
    pub fn new(
        url: &ServerUrl,
        token: Option<String>,
        authorities: Option<&Path>,
    ) -> Result<Self, WhipError> {
        let config = Agent::config_builder()
            .timeout_global(Some(REQUEST))
            .http_status_as_error(false)
            .max_redirects(0)
            .proxy(None)
            .max_idle_connections(0)
            .max_response_header_size(LONGEST_HEAD)
            .user_agent(concat!("seaway/", env!("CARGO_PKG_VERSION")));
        let config = match url.is_secure() {
            true => config.tls_config(tls(authorities)?),
            false => config,
        };
        Ok(Self { agent: config.build().new_agent(), url: url.url.clone(), token })
    }

    /// Asks for a session by an offer (SDP) and takes the answer. Blocks for ten seconds at most.
    ///
    /// # Errors
    /// The server is not reached, is not the one of the certificate, refuses, or gives no answer.
    pub fn request(&self, offer: &str) -> Result<ServerSession, WhipError> {
        let mut url = self.url.clone();
        for _ in 0..=REDIRECTIONS {
            let request = self.agent.post(url.as_str()).header(header::CONTENT_TYPE, "application/sdp");
            let request = match self.token_for(&url) {
                Some(token) => request.header(header::AUTHORIZATION, format!("Bearer {token}")),
                None => request,
            };
            let mut response = request.send(offer)?;
            match response.status().as_u16() {
                200 | 201 => {
                    let resource = self.resource(&url, &response);
                    let ice_servers = ice_servers(&response);
                    return Ok(ServerSession { answer: read_answer(&mut response)?, ice_servers, resource });
                }
                307 | 308 => url = redirection(&url, &response)?,
                status => return Err(WhipError::Refused { status, reason: reason(&mut response) }),
            }
        }
        Err(WhipError::Redirection("in a circle"))
    }

    /// The token goes to the server that the user named, and to no other.
    fn token_for(&self, url: &Url) -> Option<&str> {
        self.token.as_deref().filter(|_| url.origin() == self.url.origin())
    }

    fn resource<T>(&self, asked: &Url, response: &Response<T>) -> WhipResource {
        let url = location(asked, response).filter(|url| !is_downgrade(asked, url));
        WhipResource { client: self.clone(), url }
    }
}

impl WhipResource {
    /// Ends the session at the server. Blocks for a second at most.
    ///
    /// # Errors
    /// The server gave the session no URL, is not reached, or refuses.
    pub fn delete(self) -> Result<(), WhipError> {
        let Self { client, url } = self;
        let url = url.ok_or_else(|| WhipError::Answer("it has no Location".into()))?;
        let request = client.agent.delete(url.as_str());
        let request = match client.token_for(&url) {
            Some(token) => request.header(header::AUTHORIZATION, format!("Bearer {token}")),
            None => request,
        };
        let mut response = request.config().timeout_global(Some(GOODBYE)).build().call()?;
        let status = response.status();
        match status.is_success() {
            true => Ok(()),
            false => Err(WhipError::Refused { status: status.as_u16(), reason: reason(&mut response) }),
        }
    }
}

fn tls(authorities: Option<&Path>) -> Result<TlsConfig, WhipError> {
    let certificates = match authorities {
        Some(file) => of_file(file)?,
        None => of_system()?,
    };
    let roots = RootCerts::new_with_certs(&certificates);
    Ok(TlsConfig::builder()
        .root_certs(roots)
        .unversioned_rustls_crypto_provider(Arc::new(default_provider()))
        .build())
}

fn of_file(file: &Path) -> Result<Vec<Certificate<'static>>, WhipError> {
    let at = |problem: String| WhipError::Certificates(format!("{}: {problem}", file.display()));
    let text = std::fs::read(file).map_err(|error| at(error.to_string()))?;
    let items: Result<Vec<_>, _> = parse_pem(&text).collect();
    let certificates =
        items.map_err(|error| at(error.to_string()))?.into_iter().filter_map(|item| match item {
            PemItem::Certificate(certificate) => Some(certificate),
            _ => None,
        });
    let certificates: Vec<_> = certificates.collect();
    if certificates.is_empty() { Err(at("no certificate in PEM form".into())) } else { Ok(certificates) }
}

fn of_system() -> Result<Vec<Certificate<'static>>, WhipError> {
    let found = rustls_native_certs::load_native_certs();
    if found.certs.is_empty() {
        let problem = found.errors.first().map_or_else(|| "there are none".into(), ToString::to_string);
        return Err(WhipError::Certificates(format!(
            "this system has none to check the server by: {problem}"
        )));
    }
    Ok(found.certs.iter().map(|der| Certificate::from_der(der).to_owned()).collect())
}

/// Servers give it various types; it is checked as what it is.
fn read_answer(response: &mut Response<ureq::Body>) -> Result<String, WhipError> {
    Ok(response.body_mut().with_config().limit(answer::LONGEST as u64).read_to_string()?)
}

/// The server's words on a refusal, as far as they can be shown.
fn reason(response: &mut Response<ureq::Body>) -> String {
    let text = response.body_mut().with_config().limit(answer::LONGEST as u64).read_to_string();
    text.ok().and_then(|text| text.lines().next().map(plain)).unwrap_or_default()
}

/// What a terminal shows as it is.
fn plain(text: &str) -> String {
    text.trim().chars().filter(|letter| !letter.is_control()).take(LONGEST_REASON).collect()
}

/// Those that the answer's `Link` headers name; what is none of our kind is passed over.
fn ice_servers<T>(response: &Response<T>) -> Vec<IceServer> {
    let links = response.headers().get_all(header::LINK);
    ice_server::of_links(links.iter().filter_map(|link| link.to_str().ok()))
}

fn location<T>(asked: &Url, response: &Response<T>) -> Option<Url> {
    let location = response.headers().get(header::LOCATION)?.to_str().ok()?;
    asked.join(location).ok().filter(|url| matches!(url.scheme(), "http" | "https"))
}

fn redirection<T>(asked: &Url, response: &Response<T>) -> Result<Url, WhipError> {
    let to = location(asked, response).ok_or(WhipError::Redirection("to nowhere"))?;
    if is_downgrade(asked, &to) { Err(WhipError::Redirection("from HTTPS to plain HTTP")) } else { Ok(to) }
}

fn is_downgrade(from: &Url, to: &Url) -> bool {
    from.scheme() == "https" && to.scheme() != "https"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls() {
        let url: ServerUrl = "whip+https://example.org:8889/live/whip?secret=x".parse().unwrap();
        assert!(url.is_secure() && ServerUrl::is_meant_by("whip+https://a/b"));
        assert_eq!(url.to_string(), "whip+https://example.org:8889/live/whip");
        let url: ServerUrl = "whip+http://127.0.0.1:80/whip".parse().unwrap();
        assert_eq!((url.is_secure(), url.resolve().unwrap()), (false, "127.0.0.1:80".parse().unwrap()));
        let url: ServerUrl = "whep+https://example.org/live/whep".parse().unwrap();
        assert_eq!(
            (url.protocol(), url.to_string()),
            (ServerProtocol::Whep, "whep+https://example.org/live/whep".into())
        );
        for wrong in [
            "",
            "whep+",
            "whep+rtp://a/b",
            "https://a/b",
            "whip+rtp://a/b",
            "whip+https://",
            "whip+https://user:word@a/b",
            "whip+file:///a",
        ] {
            assert!(wrong.parse::<ServerUrl>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_token_stays_with_the_server_that_was_named() {
        let url: ServerUrl = "whip+http://127.0.0.1:80/whip".parse().unwrap();
        let client = WhipClient::new(&url, Some("secret".into()), None).unwrap();
        let to = |text: &str| client.token_for(&Url::parse(text).unwrap()).is_some();
        assert!(to("http://127.0.0.1/other"));
        assert!(
            !to("http://127.0.0.1:81/whip") && !to("https://127.0.0.1/whip") && !to("http://localhost/whip")
        );
    }
}
