//! `[[attach]]`: connects a node of an emulated network to a device or a socket. The simulator ignores it.

use serde::de::Error;
use serde::{Deserialize, Deserializer};
use std::net::SocketAddr;

/// A node and how packets reach it from outside.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attach {
    /// The node.
    pub node: String,
    /// The name of a TUN device.
    pub tun: Option<String>,
    /// The address of a UDP socket.
    #[serde(default, deserialize_with = "socket")]
    pub udp: Option<SocketAddr>,
    /// The program behind the socket; absent: the first sender.
    #[serde(default, deserialize_with = "socket")]
    pub peer: Option<SocketAddr>,
}

fn socket<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<SocketAddr>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let refused =
        |_| D::Error::custom(format!("{text:?}: expected an address and a port, such as \"127.0.0.1:5004\""));
    text.parse().map(Some).map_err(refused)
}

/// How packets come in and go out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outlet<'a> {
    /// A TUN device of this name.
    Tun(&'a str),
    /// A UDP socket at this address, and the program behind it where it is given.
    Udp(SocketAddr, Option<SocketAddr>),
}

impl Attach {
    /// The one way given; `None` where there is none or more than one.
    pub fn outlet(&self) -> Option<Outlet<'_>> {
        match (&self.tun, self.udp) {
            (Some(tun), None) => Some(Outlet::Tun(tun)),
            (None, Some(address)) => Some(Outlet::Udp(address, self.peer)),
            _ => None,
        }
    }
}
