//! Access control: a request needs the token, and an address that a page from elsewhere cannot have.

use super::connections::Connection;
use axum::extract::{Extension, Request, State};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use seaway_stream::fresh_key;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// Holds the token where it is to stay the same from one start to the next.
const VARIABLE: &str = "SEAWAY_WEB_TOKEN";
const SHORTEST: usize = 16;

/// The token that every request must carry, as `?token=…` or as a bearer token (RFC 6750).
#[derive(Debug, Clone)]
pub(super) struct Token(Arc<str>);

impl Token {
    /// That of the environment, else 256 fresh random bits.
    ///
    /// # Errors
    /// The one given is short or does not fit in a URL, or the system gives no random numbers.
    pub(super) fn new() -> io::Result<Self> {
        let Ok(text) = std::env::var(VARIABLE) else { return Ok(Self(fresh_key()?.to_text().into())) };
        let is_plain = text.bytes().all(|octet| octet.is_ascii_alphanumeric() || b"-_.~".contains(&octet));
        if text.len() < SHORTEST || !is_plain {
            let problem =
                format!("{VARIABLE}: expected at least {SHORTEST} of the characters a-z A-Z 0-9 - _ . ~");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
        }
        Ok(Self(text.into()))
    }

    /// The address to open.
    pub(super) fn url(&self, scheme: &str, address: SocketAddr, path: &str) -> String {
        format!("{scheme}://{address}/{path}?token={}", self.0)
    }

    fn is_shown(&self, uri: &Uri, headers: &HeaderMap) -> bool {
        let in_query =
            uri.query().unwrap_or_default().split('&').find_map(|part| part.strip_prefix("token="));
        let bearer = text(headers, header::AUTHORIZATION).and_then(|value| value.strip_prefix("Bearer "));
        in_query.or(bearer).is_some_and(|shown| self.equals(shown))
    }

    /// Takes the same time whatever the first difference is.
    fn equals(&self, shown: &str) -> bool {
        let differences = self.0.bytes().zip(shown.bytes()).map(|(a, b)| a ^ b);
        self.0.len() == shown.len() && differences.fold(0, |all, difference| all | difference) == 0
    }
}

/// The requirements of a request.
#[derive(Debug, Clone)]
pub(super) struct Access {
    pub(super) token: Token,
    /// Whether the page may be opened under any name.
    pub(super) any_name: bool,
}

/// Accepts a request, or returns the reason for a refusal. The answer cannot be embedded by another page.
pub(super) async fn guard(
    State(access): State<Access>,
    Extension(connection): Extension<Connection>,
    request: Request,
    next: Next,
) -> Response {
    let mut response = match refusal(&access, request.uri(), request.headers()) {
        Some(why) => (StatusCode::FORBIDDEN, why).into_response(),
        None => {
            connection.admit();
            next.run(request).await
        }
    };
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
    ] {
        response.headers_mut().entry(name).or_insert(HeaderValue::from_static(value));
    }
    response
}

fn refusal(access: &Access, uri: &Uri, headers: &HeaderMap) -> Option<&'static str> {
    if !access.any_name && !is_own_host(headers) {
        return Some("open the page by its IP address or as localhost");
    }
    if is_foreign(headers) {
        return Some("from another page");
    }
    (!access.token.is_shown(uri, headers))
        .then_some("the token is missing or wrong: open the address that seaway printed")
}

/// A name from elsewhere may be resolved to our address by its owner (DNS rebinding). An IP address may not.
fn is_own_host(headers: &HeaderMap) -> bool {
    let authority = text(headers, header::HOST).and_then(|host| host.parse::<Authority>().ok());
    authority.is_some_and(|authority| {
        let host = authority.host();
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        host.eq_ignore_ascii_case("localhost") || bare.parse::<IpAddr>().is_ok()
    })
}

/// Where a browser says from which page a request comes, that page must be ours.
fn is_foreign(headers: &HeaderMap) -> bool {
    let Some(origin) = text(headers, header::ORIGIN) else { return false };
    let host = text(headers, header::HOST).unwrap_or_default();
    origin.split_once("://").is_none_or(|(_, from)| from != host)
}

fn text(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(header::HeaderName, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn another_page_may_not_steer_us() {
        let from =
            |origin| is_foreign(&headers(&[(header::HOST, "127.0.0.1:8080"), (header::ORIGIN, origin)]));
        assert!(!is_foreign(&headers(&[(header::HOST, "127.0.0.1:8080")])));
        assert!(!from("http://127.0.0.1:8080"));
        assert!(from("http://127.0.0.1:9999") && from("http://example.org") && from("null"));
    }

    #[test]
    fn names_from_elsewhere_are_not_ours() {
        let own = |host| is_own_host(&headers(&[(header::HOST, host)]));
        assert!(own("127.0.0.1:8090") && own("[::1]:8090") && own("localhost:8090") && own("192.0.2.7"));
        assert!(
            !own("evil.example:8090") && !own("localhost.evil.example") && !own("127.0.0.1.evil.example")
        );
        assert!(!is_own_host(&HeaderMap::new()));
    }

    #[test]
    fn only_the_token_opens() {
        let token = Token("0123456789abcdef".into());
        let none = HeaderMap::new();
        let shown = |uri: &'static str| token.is_shown(&Uri::from_static(uri), &none);
        assert!(shown("/?token=0123456789abcdef") && shown("/api/live?a=b&token=0123456789abcdef"));
        assert!(!shown("/") && !shown("/?token=") && !shown("/?token=0123456789abcdeF"));
        assert!(!shown("/?token=0123456789abcdef0") && !shown("/?nottoken=0123456789abcdef"));
        let bearer = headers(&[(header::AUTHORIZATION, "Bearer 0123456789abcdef")]);
        assert!(token.is_shown(&Uri::from_static("/metrics"), &bearer));
        let wrong = headers(&[(header::AUTHORIZATION, "Basic 0123456789abcdef")]);
        assert!(!token.is_shown(&Uri::from_static("/metrics"), &wrong));
    }
}
