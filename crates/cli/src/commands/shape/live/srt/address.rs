//! The address of a live stream by SRT: `srt://host:port?mode=…&latency=…&passphrase=…&pbkeylen=…&streamid=…`.

use seaway_srt::{Direction, KeyLength, Passphrase, Settings};
use seaway_units::TimeDelta;
use std::net::{Ipv4Addr, SocketAddr, ToSocketAddrs};

/// Where the other end is, or calls.
#[derive(Debug, Clone)]
pub(in super::super) struct SrtAddress {
    pub(super) is_listener: bool,
    pub(super) socket: SocketAddr,
    latency: TimeDelta,
    passphrase: Option<Passphrase>,
    key_length: Option<KeyLength>,
    stream_id: Option<String>,
}

/// The longest latency: as for `--delay`.
const LONGEST_LATENCY_MS: i64 = 10_000;
const SCHEME: &str = "srt://";

impl SrtAddress {
    /// Reads an address; nothing for one of another scheme.
    pub(in super::super) fn parse(name: &str) -> Option<Result<SrtAddress, String>> {
        Some(parse(name.strip_prefix(SCHEME)?))
    }

    /// What messages have of an address: no passphrase.
    pub(in super::super) fn shown(name: &str) -> &str {
        match name.strip_prefix(SCHEME) {
            Some(_) => name.split('?').next().unwrap_or(name),
            None => name,
        }
    }

    pub(super) fn settings(&self, direction: Direction) -> Settings {
        Settings {
            latency: self.latency,
            passphrase: self.passphrase.clone(),
            key_length: self.key_length,
            stream_id: self.stream_id.clone(),
            ..Settings::new(direction)
        }
    }
}

fn parse(rest: &str) -> Result<SrtAddress, String> {
    let (place, options) = rest.split_once('?').unwrap_or((rest, ""));
    let place = place.trim_end_matches('/');
    let is_bare = place.starts_with(':');
    let mut address = SrtAddress {
        is_listener: is_bare,
        socket: resolve(place)?,
        latency: Settings::LATENCY,
        passphrase: None,
        key_length: None,
        stream_id: None,
    };
    for option in options.split('&').filter(|option| !option.is_empty()) {
        address.set(option)?;
    }
    address.check()
}

fn resolve(place: &str) -> Result<SocketAddr, String> {
    let whole =
        if place.starts_with(':') { format!("{}{place}", Ipv4Addr::UNSPECIFIED) } else { place.to_owned() };
    let mut found = whole.to_socket_addrs().map_err(|error| format!("{place}: {error}"))?;
    let socket = found.next().ok_or_else(|| format!("{place}: no address"))?;
    match socket.port() {
        0 => Err("expected a port from 1 to 65535".to_owned()),
        _ => Ok(socket),
    }
}

impl SrtAddress {
    fn set(&mut self, option: &str) -> Result<(), String> {
        match option.split_once('=') {
            Some(("mode", "caller")) => self.is_listener = false,
            Some(("mode", "listener")) => self.is_listener = true,
            Some(("mode", other)) => return Err(format!("mode={other}: expected caller or listener")),
            Some(("latency", text)) => self.latency = latency(text)?,
            Some(("passphrase", text)) => {
                // As it stands: FFmpeg and srt-live-transmit decode nothing here.
                self.passphrase = Some(Passphrase::new(text).map_err(|error| error.to_string())?);
            }
            Some(("pbkeylen", text)) => {
                let length = text.parse().ok().and_then(KeyLength::from_octets);
                self.key_length =
                    Some(length.ok_or_else(|| format!("pbkeylen={text}: expected 16, 24 or 32"))?);
            }
            Some(("streamid", text)) => {
                let settings = Settings::new(Direction::Receive).with_stream_id(&decoded(text)?);
                self.stream_id = settings.map_err(|error| error.to_string())?.stream_id;
            }
            // What there is anyway, as FFmpeg and srt-live-transmit name it.
            Some(("transtype", "live") | ("pkt_size" | "payload_size", "1316")) => {}
            _ => {
                let name = option.split('=').next().unwrap_or(option);
                return Err(format!("{name}: expected mode, latency, passphrase, pbkeylen or streamid"));
            }
        }
        Ok(())
    }

    fn check(self) -> Result<Self, String> {
        let refuse = |text: &str| Err(text.to_owned());
        if !self.is_listener && self.socket.ip().is_unspecified() {
            return refuse("a caller needs the host of its listener; mode=listener listens");
        }
        if self.socket.ip().is_multicast() {
            return refuse("SRT has no multicast");
        }
        if self.is_listener && self.stream_id.is_some() {
            return refuse("streamid= is for a caller");
        }
        if self.key_length.is_some() && self.passphrase.is_none() {
            return refuse("pbkeylen= is the length of a key: it needs passphrase=");
        }
        Ok(self)
    }
}

fn latency(text: &str) -> Result<TimeDelta, String> {
    let ms = text.parse().ok().filter(|ms| (0..=LONGEST_LATENCY_MS).contains(ms));
    ms.map(TimeDelta::from_millis)
        .ok_or_else(|| format!("latency={text}: expected milliseconds, 0 to {LONGEST_LATENCY_MS}"))
}

/// `%20` is a space, and so on.
fn decoded(text: &str) -> Result<String, String> {
    let mut octets = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        if *first != b'%' {
            octets.push(*first);
            continue;
        }
        let digit = |octet: u8| char::from(octet).to_digit(16);
        let pair = tail.split_at_checked(2).and_then(|(pair, tail)| {
            rest = tail;
            Some(digit(pair[0])? * 16 + digit(pair[1])?)
        });
        octets.push(pair.ok_or("two hexadecimal digits follow a %")? as u8);
    }
    String::from_utf8(octets).map_err(|_| "not UTF-8".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(name: &str) -> Result<SrtAddress, String> {
        SrtAddress::parse(name).expect("the scheme is srt")
    }

    #[test]
    fn an_address_says_who_calls_and_how() {
        let caller =
            parsed("srt://127.0.0.1:9000/?latency=400&passphrase=ten%octets&pbkeylen=32&streamid=%23!::r=a");
        let caller = caller.unwrap();
        assert!(!caller.is_listener);
        let settings = caller.settings(Direction::Send);
        assert_eq!(settings.latency, TimeDelta::from_millis(400));
        assert_eq!(settings.passphrase, Some(Passphrase::new("ten%octets").unwrap()));
        assert_eq!(settings.key_length, Some(KeyLength::Aes256));
        assert_eq!(settings.stream_id.as_deref(), Some("#!::r=a"));
        for name in ["srt://:9000", "srt://0.0.0.0:9000?mode=listener", "srt://127.0.0.1:9000?mode=listener"]
        {
            assert!(parsed(name).unwrap().is_listener, "{name}");
        }
        assert!(parsed("srt://:9000?transtype=live&pkt_size=1316").is_ok());
        assert_eq!(parsed("srt://:9000").unwrap().latency, TimeDelta::from_millis(120));
        assert!(SrtAddress::parse("udp://127.0.0.1:1").is_none());
        assert_eq!(SrtAddress::shown("srt://a:1?passphrase=secret"), "srt://a:1");
        assert_eq!(SrtAddress::shown("udp://a:1?ttl=3"), "udp://a:1?ttl=3");
    }

    #[test]
    fn a_wrong_address_is_refused_with_its_reason() {
        for (name, reason) in [
            ("srt://127.0.0.1", "127.0.0.1"),
            ("srt://127.0.0.1:0", "port"),
            ("srt://0.0.0.0:9000", "mode=listener"),
            ("srt://:9000?mode=caller", "host"),
            ("srt://:9000?mode=rendezvous", "caller or listener"),
            ("srt://239.1.1.1:9000", "multicast"),
            ("srt://a-host:1x", "a-host"),
            ("srt://:9000?latency=200000", "milliseconds"),
            ("srt://:9000?latency=-1", "milliseconds"),
            ("srt://:9000?passphrase=short", "10 to 79"),
            ("srt://127.0.0.1:9000?streamid=%2", "hexadecimal"),
            ("srt://127.0.0.1:9000?streamid=ten%ffoctets", "UTF-8"),
            ("srt://:9000?pbkeylen=16", "passphrase="),
            ("srt://:9000?passphrase=ten-octets&pbkeylen=17", "16, 24 or 32"),
            ("srt://:9000?streamid=a", "caller"),
            ("srt://:9000?transtype=file", "transtype: expected"),
            ("srt://:9000?pkt_size=188", "pkt_size: expected"),
            ("srt://:9000?ttl", "ttl: expected"),
        ] {
            let error = parsed(name).unwrap_err();
            assert!(error.contains(reason), "{name}: {error}");
        }
        let long = format!("srt://127.0.0.1:1?streamid={}", "a".repeat(513));
        assert!(parsed(&long).unwrap_err().contains("512"));
        assert!(!parsed("srt://:1?passphrase=short").unwrap_err().contains("short"));
    }
}
