//! Transport streams as the destination of `send`: udp:// and srt://, to players and servers of others.

use super::keys::is_loopback;
use crate::failure::{Failure, note};
use seaway_control::ControlSpec;
use seaway_media::output::FfmpegRelay;
use seaway_stream::{Carrier, Sender, SenderBuilder};
use seaway_units::{Bitrate, RateRange};
use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs};
use std::str::FromStr;

/// Where a transport stream goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TransportUrl {
    /// Datagrams to this host and port.
    Udp(String),
    /// A URL of FFmpeg's.
    Srt(String),
}

const UDP: &str = "udp://";
const SRT: &str = "srt://";
/// The largest rate where none is given.
const USUAL: Bitrate = Bitrate::from_mbps(4);
/// Routers a multicast datagram passes where nothing is given: it stays in its network.
const HOPS: u8 = 1;

impl TransportUrl {
    /// Whether `text` is meant to be one.
    pub(crate) fn is_meant_by(text: &str) -> bool {
        [UDP, SRT].iter().any(|scheme| text.starts_with(scheme))
    }

    /// The host and port.
    fn authority(&self) -> &str {
        match self {
            Self::Udp(authority) => authority,
            Self::Srt(url) => authority(url.strip_prefix(SRT).unwrap_or(url)),
        }
    }

    fn resolve(&self) -> Result<SocketAddr, Failure> {
        let unknown = |why: &dyn fmt::Display| Failure::input(&format!("{self}: {why}"));
        let mut addresses = self.authority().to_socket_addrs().map_err(|error| unknown(&error))?;
        addresses.next().ok_or_else(|| unknown(&"no address"))
    }

    /// Another program sends it.
    pub(crate) const fn is_relayed(&self) -> bool {
        matches!(self, Self::Srt(_))
    }

    /// Others on the path can read it.
    fn is_plain(&self) -> bool {
        !matches!(self, Self::Srt(url) if url.contains("passphrase="))
    }
}

/// What stands before a path or a query.
fn authority(text: &str) -> &str {
    text.split(['/', '?']).next().unwrap_or(text)
}

impl FromStr for TransportUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_address = |authority: &str| {
            let (host, port) = authority.rsplit_once(':').unwrap_or_default();
            !host.is_empty() && port.parse::<u16>().is_ok_and(|port| port > 0)
        };
        let is_text = text.chars().all(|c| c.is_ascii_graphic());
        if let Some(rest) = text.strip_prefix(UDP) {
            let rest = rest.trim_start_matches('@').trim_end_matches('/');
            if rest.contains('?') {
                return Err("expected udp://host:port and nothing behind it: --interface, --ttl and --mtu set the rest".into());
            }
            return match is_address(rest) && !rest.contains('/') {
                true => Ok(Self::Udp(rest.to_owned())),
                false => Err("expected udp://host:port, such as udp://239.1.2.3:1234".into()),
            };
        }
        match text.strip_prefix(SRT).filter(|rest| is_address(authority(rest)) && is_text) {
            Some(_) => Ok(Self::Srt(text.to_owned())),
            None => Err("expected srt://host:port, with FFmpeg's options behind it as ?mode=listener".into()),
        }
    }
}

impl fmt::Display for TransportUrl {
    /// Without the options of SRT, one of which is its passphrase.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if matches!(self, Self::Udp(_)) { UDP } else { SRT };
        write!(f, "{scheme}{}", self.authority())
    }
}

/// Options of such a destination.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Network")]
pub(crate) struct TransportOptions {
    /// The time to live of datagrams to a multicast group of udp://: so many networks they pass, 1 unless given
    #[arg(long, value_name = "HOPS", value_parser = clap::value_parser!(u8).range(1..))]
    ttl: Option<u8>,
}

impl TransportOptions {
    /// The sender to `url` at the rate `max`; `insecure` allows other hosts to read it.
    pub(crate) fn sender(
        &self,
        url: &TransportUrl,
        max: Bitrate,
        insecure: bool,
    ) -> Result<SenderBuilder, Failure> {
        let to = url.resolve()?;
        if url.is_plain() && !is_loopback(to) {
            if !insecure {
                let other = match url {
                    TransportUrl::Udp(_) => "",
                    TransportUrl::Srt(_) => "; ?passphrase=… encrypts it",
                };
                return Err(Failure::input(&format!(
                    "{url} is another host, and anyone on the path can see the video: --insecure allows it{other}"
                )));
            }
            note("INSECURE: a plain transport stream. Anyone on the path can see the video and replace it");
        }
        let builder = match url {
            TransportUrl::Udp(_) if self.ttl.is_some() && !to.ip().is_multicast() => {
                Err(Failure::input(&format!("--ttl is for a multicast group, and {url} is none")))
            }
            TransportUrl::Udp(_) => {
                let carrier = Carrier::Udp { to, hops: self.ttl.unwrap_or(HOPS) };
                Ok(Sender::to_transport(carrier).insecure(insecure))
            }
            TransportUrl::Srt(_) if self.ttl.is_some() => {
                Err(Failure::input(&"--ttl is for udp://; FFmpeg's options stand in the URL of srt://"))
            }
            TransportUrl::Srt(text) => {
                let relay = FfmpegRelay::start(text).map_err(|error| Failure::input(&error))?;
                Ok(Sender::to_transport(Carrier::Relay(relay)))
            }
        }?;
        say_rate(url, max);
        Ok(builder)
    }

    /// Refuses them for another destination.
    pub(crate) fn check_unused(&self) -> Result<(), Failure> {
        match self.ttl {
            Some(_) => Err(Failure::input(&"--ttl is for udp:// to a multicast group")),
            None => Ok(()),
        }
    }
}

/// The one rate at which a transport stream is sent. A coded stream that is copied has its own, unless `rate` is given.
pub(crate) fn rate(rate: Option<RateRange>, is_copied: bool) -> Bitrate {
    rate.map_or(if is_copied { Bitrate::MAX } else { USUAL }, |rate| rate.max)
}

/// Says what the rate is.
fn say_rate(url: &TransportUrl, max: Bitrate) {
    let what = match max {
        Bitrate::MAX => "the rate of the coded stream".to_owned(),
        max => format!("{max:.2} (--rate)"),
    };
    note(&format!("nothing comes back from {url}: the rate is {what}, whatever the network carries"));
}

/// The controller that this is.
pub(crate) fn control(max: Bitrate) -> ControlSpec {
    let fixed = |options| ControlSpec { name: "fixed".into(), options };
    match max {
        Bitrate::MAX => fixed(Vec::new()),
        max => format!("fixed(rate={} bit/s)", max.as_bps()).parse().unwrap_or_else(|_| fixed(Vec::new())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls() {
        let parsed = |text: &str| text.parse::<TransportUrl>();
        assert_eq!(parsed("udp://@239.1.2.3:1234/"), Ok(TransportUrl::Udp("239.1.2.3:1234".into())));
        assert_eq!(parsed("udp://[ff02::1]:1234"), Ok(TransportUrl::Udp("[ff02::1]:1234".into())));
        let srt = parsed("srt://192.0.2.7:7000?mode=caller&passphrase=geheimnisvoll").unwrap();
        assert_eq!(srt.to_string(), "srt://192.0.2.7:7000");
        assert!(!srt.is_plain() && parsed("srt://192.0.2.7:7000").unwrap().is_plain());
        for wrong in [
            "udp://",
            "udp://a",
            "udp://a:0",
            "udp://a:1?ttl=4",
            "udp://a:1/b",
            "srt://a",
            "srt://:1",
            "srt://a:1?b=c d",
        ] {
            assert!(parsed(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_rate_is_a_controller() {
        assert_eq!(control(Bitrate::from_mbps(3)).to_string(), "fixed(rate=3000000 bit/s)");
        assert_eq!(control(Bitrate::MAX).to_string(), "fixed");
    }
}
