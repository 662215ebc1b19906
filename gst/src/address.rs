//! Where a session is and how it is protected: the properties that `seawaysink` and `seawaysrc` share.

use gst::glib;
use gst::prelude::*;
use seaway_session::{SessionKey, SessionUrl, Transport};
use seaway_units::TimeDelta;
use std::net::{SocketAddr, ToSocketAddrs};

/// Holds the key where no property does, as for `seaway send` and `seaway recv`.
const VARIABLE: &str = "SEAWAY_KEY";
/// In milliseconds.
const DEFAULT_LATENCY: u32 = 500;
const LONGEST_LATENCY: u32 = 60_000;

/// The properties.
#[derive(Clone)]
pub(crate) struct Address {
    uri: Option<String>,
    key: Option<String>,
    insecure: bool,
    latency: u32,
}

/// What a session needs of them.
pub(crate) struct Endpoint {
    pub(crate) address: SocketAddr,
    pub(crate) key: Option<SessionKey>,
    pub(crate) insecure: bool,
    pub(crate) latency: TimeDelta,
}

impl Default for Address {
    fn default() -> Self {
        Self { uri: None, key: None, insecure: false, latency: DEFAULT_LATENCY }
    }
}

impl Address {
    /// Their specifications; `uri` names the host that `what` says.
    pub(crate) fn specifications(what: &'static str) -> Vec<glib::ParamSpec> {
        vec![
            glib::ParamSpecString::builder("uri").nick("URI").blurb(what).mutable_ready().build(),
            glib::ParamSpecString::builder("key")
                .nick("Key")
                .blurb("Key of the session, 43 characters, where the URI has none; else the variable SEAWAY_KEY")
                .flags(glib::ParamFlags::WRITABLE)
                .mutable_ready()
                .build(),
            glib::ParamSpecBoolean::builder("insecure")
                .nick("Insecure")
                .blurb("Allow plain RTP with another host: anyone on the path can see the video and replace it")
                .mutable_ready()
                .build(),
            glib::ParamSpecUInt::builder("latency")
                .nick("Latency")
                .blurb("How long after the least delay of the path a picture is shown at most (ms): the deadline of repair; the same at both ends")
                .minimum(1)
                .maximum(LONGEST_LATENCY)
                .default_value(DEFAULT_LATENCY)
                .mutable_ready()
                .build(),
        ]
    }

    /// Sets a property; false if it is none of these.
    pub(crate) fn set(&mut self, name: &str, value: &glib::Value) -> bool {
        match name {
            "uri" => self.uri = value.get().unwrap_or_default(),
            "key" => self.key = value.get().unwrap_or_default(),
            "insecure" => self.insecure = value.get().unwrap_or_default(),
            "latency" => self.latency = value.get().unwrap_or(DEFAULT_LATENCY),
            _ => return false,
        }
        true
    }

    /// The value of a property that can be read, if it is one of these. The URI comes without its key: `gst-launch-1.0 -v` prints
    /// properties.
    pub(crate) fn get(&self, name: &str) -> Option<glib::Value> {
        let shown = |uri: &String| uri.split('?').next().unwrap_or_default().to_owned();
        Some(match name {
            "uri" => self.uri.as_ref().map(shown).to_value(),
            "insecure" => self.insecure.to_value(),
            "latency" => self.latency.to_value(),
            _ => return None,
        })
    }

    pub(crate) fn latency(&self) -> gst::ClockTime {
        gst::ClockTime::from_mseconds(self.latency.into())
    }

    /// The address, looked up, and the key from its first source.
    pub(crate) fn endpoint(&self) -> Result<Endpoint, String> {
        let uri = self.uri.as_deref().ok_or("uri is not set: expected rtp://host:port?key=…")?;
        let url: SessionUrl = uri.parse()?;
        if url.transport() != Transport::Rtp {
            return Err(format!("{url}: expected rtp://"));
        }
        if url.mode().is_some() {
            return Err(format!("{url}: receivers do not call here: expected no mode"));
        }
        let of_variable = || std::env::var(VARIABLE).ok().filter(|key| !key.is_empty() && !self.insecure);
        // The text of a key is secret: no error quotes it.
        let parse = |key: String| key.trim().parse::<SessionKey>().map_err(|error| format!("key: {error}"));
        let other = || self.key.clone().or_else(of_variable).map(parse).transpose();
        let key = match url.key() {
            Some(key) => Some(key.clone()),
            None => other()?,
        };
        let unknown = |error: &dyn std::fmt::Display| format!("{url}: {error}");
        let mut addresses = url.authority().to_socket_addrs().map_err(|error| unknown(&error))?;
        let address = addresses.next().ok_or_else(|| unknown(&"no address"))?;
        let latency = TimeDelta::from_millis(self.latency.into());
        Ok(Endpoint { address, key, insecure: self.insecure, latency })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

    fn endpoint(properties: &[(&str, glib::Value)]) -> Result<Endpoint, String> {
        let mut address = Address::default();
        assert!(properties.iter().all(|(name, value)| address.set(name, value)));
        address.endpoint()
    }

    #[test]
    fn a_key_comes_from_the_uri_or_the_property() {
        let of_uri = endpoint(&[("uri", format!("rtp://127.0.0.1:5004?key={KEY}").to_value())]).unwrap();
        let of_property =
            endpoint(&[("uri", "rtp://127.0.0.1:5004".to_value()), ("key", KEY.to_value())]).unwrap();
        assert_eq!(of_uri.address, of_property.address);
        assert!(of_uri.key.is_some() && of_uri.key == of_property.key);
    }

    #[test]
    fn what_is_no_address_or_key_is_refused() {
        assert!(endpoint(&[]).is_err());
        for uri in ["rtp://", "rtp://127.0.0.1", "udp://127.0.0.1:5004", "seaway+window://127.0.0.1:5004"] {
            assert!(endpoint(&[("uri", uri.to_value())]).is_err(), "{uri}");
        }
        let short = [("uri", "rtp://127.0.0.1:5004".to_value()), ("key", "secret".to_value())];
        let error = endpoint(&short).err().unwrap();
        assert!(!error.contains("secret"), "{error}");
    }

    #[test]
    fn a_key_is_not_read_back() {
        let mut address = Address::default();
        address.set("uri", &format!("rtp://127.0.0.1:5004?key={KEY}").to_value());
        address.set("key", &KEY.to_value());
        assert_eq!(address.get("uri").unwrap().get::<String>().unwrap(), "rtp://127.0.0.1:5004");
        assert!(address.get("key").is_none());
    }
}
