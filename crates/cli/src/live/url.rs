//! `rtp://host:port`.

use crate::failure::Failure;
use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs};
use std::str::FromStr;

/// An address as it is written on the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RtpUrl(String);

impl FromStr for RtpUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const EXPECTED: &str = "expected rtp://host:port, such as rtp://192.0.2.7:5004 or rtp://[::1]:5004";
        let rest = text.strip_prefix("rtp://").ok_or(EXPECTED)?;
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let (host, port) = rest.rsplit_once(':').ok_or(EXPECTED)?;
        let is_port = port.parse::<u16>().is_ok_and(|port| port > 0);
        if !is_port || host.is_empty() || host.contains('/') {
            return Err(EXPECTED.into());
        }
        Ok(Self(rest.to_owned()))
    }
}

impl fmt::Display for RtpUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rtp://{}", self.0)
    }
}

impl RtpUrl {
    /// The first address of the host.
    pub(crate) fn resolve(&self) -> Result<SocketAddr, Failure> {
        let unknown = |why: &dyn fmt::Display| Failure::input(&format!("{self}: {why}"));
        let mut addresses = self.0.to_socket_addrs().map_err(|error| unknown(&error))?;
        addresses.next().ok_or_else(|| unknown(&"no address"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        let resolve = |text: &str| text.parse::<RtpUrl>().unwrap().resolve().unwrap().to_string();
        assert_eq!(resolve("rtp://127.0.0.1:5004"), "127.0.0.1:5004");
        assert_eq!(resolve("rtp://[::1]:5004/"), "[::1]:5004");
        for wrong in [
            "",
            "127.0.0.1:5004",
            "rtp://127.0.0.1",
            "rtp://:5004",
            "rtp://a:0",
            "rtp://a:99999",
            "udp://a:1",
        ] {
            assert!(wrong.parse::<RtpUrl>().is_err(), "{wrong}");
        }
    }
}
