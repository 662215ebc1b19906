//! By which interface of this host the datagrams of a socket leave.

#[cfg(unix)]
use crate::address::ip_of;
use crate::address::unspecified;
use crate::socket::Socket;
#[cfg(target_os = "linux")]
use nix::sys::socket::{setsockopt, sockopt};
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

/// The longest name of an interface (`IFNAMSIZ` less its zero).
const LONGEST: usize = 15;

/// A network interface of this host, or one of its addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Via {
    /// An interface by its name. On Linux datagrams leave by it whatever the routes are, elsewhere from its address.
    Interface(String),
    /// An address of this host.
    Address(IpAddr),
}

impl Via {
    /// A socket on a free port whose datagrams leave this way to destinations of one family.
    ///
    /// # Errors
    /// There is no such interface or address, or the interface has no address of the family.
    pub fn bind(&self, is_ipv4: bool) -> io::Result<Socket> {
        self.bind_at(SocketAddr::new(unspecified(is_ipv4), 0))
    }

    /// A socket at `address` whose datagrams leave this way; where its host is unspecified, it may get an address of this way.
    ///
    /// # Errors
    /// There is no such interface or address, or `address` is another or of another family.
    pub fn bind_at(&self, address: SocketAddr) -> io::Result<Socket> {
        match self {
            Self::Address(_) => {
                Socket::bind(SocketAddr::new(self.address_for(address.ip())?, address.port()))
            }
            Self::Interface(name) => {
                check_exists(name)?;
                let socket = Socket::bind(address)?;
                if bind_to_device(&socket, name) {
                    return Ok(socket);
                }
                drop(socket);
                Socket::bind(SocketAddr::new(self.address_for(address.ip())?, address.port()))
            }
        }
    }

    /// The address of this way that stands for `ip`: `ip` itself unless it is unspecified.
    ///
    /// # Errors
    /// There is no such interface, it has no address of the family of `ip`, or `ip` is another address than this one.
    pub fn address_for(&self, ip: IpAddr) -> io::Result<IpAddr> {
        let invalid = |what: String| Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        match self {
            Self::Address(own) if own.is_ipv4() != ip.is_ipv4() => {
                invalid(format!("the other end is {}", if ip.is_ipv4() { "IPv4" } else { "IPv6" }))
            }
            Self::Address(own) if !ip.is_unspecified() && ip != *own => {
                invalid(format!("the local address is {ip} already"))
            }
            Self::Address(own) => Ok(*own),
            Self::Interface(_) if !ip.is_unspecified() => Ok(ip),
            Self::Interface(name) => {
                check_exists(name)?;
                let what = || format!("{name} has no address of the destination's family");
                address_of(name, ip.is_ipv4())
                    .ok_or_else(|| io::Error::new(io::ErrorKind::AddrNotAvailable, what()))
            }
        }
    }

    /// The number of the interface, by which IPv6 names it.
    ///
    /// # Errors
    /// It is an address, or there is no such interface.
    pub fn number(&self) -> io::Result<u32> {
        match self {
            Self::Interface(name) => number_of(name),
            Self::Address(address) => {
                let what = format!("{address}: expected the name of an interface, or its number");
                Err(io::Error::new(io::ErrorKind::InvalidInput, what))
            }
        }
    }
}

impl FromStr for Via {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Ok(address) = text.parse() {
            return Ok(Self::Address(address));
        }
        let is_name = |c: char| c.is_ascii_graphic() && c != '/';
        if text.is_empty() || text.len() > LONGEST || !text.chars().all(is_name) {
            return Err("expected an interface such as wlan0, or an address of this host".into());
        }
        Ok(Self::Interface(text.to_owned()))
    }
}

impl fmt::Display for Via {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Interface(name) => f.write_str(name),
            Self::Address(address) => address.fmt(f),
        }
    }
}

fn check_exists(name: &str) -> io::Result<()> {
    number_of(name).map(drop)
}

#[cfg(unix)]
fn number_of(name: &str) -> io::Result<u32> {
    let absent = |_| io::Error::new(io::ErrorKind::NotFound, format!("there is no interface {name}"));
    nix::net::if_::if_nametoindex(name).map_err(absent)
}

#[cfg(not(unix))]
fn number_of(name: &str) -> io::Result<u32> {
    let what = format!("{name}: give the address of the interface on this system");
    Err(io::Error::new(io::ErrorKind::Unsupported, what))
}

/// False where it is not permitted: before Linux 5.7 it took the capability CAP_NET_RAW.
#[cfg(target_os = "linux")]
fn bind_to_device(socket: &Socket, name: &str) -> bool {
    setsockopt(socket, sockopt::BindToDevice, &name.into()).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn bind_to_device(_: &Socket, _: &str) -> bool {
    false
}

#[cfg(unix)]
fn address_of(name: &str, is_ipv4: bool) -> Option<IpAddr> {
    let interfaces = nix::ifaddrs::getifaddrs().ok()?.filter(|interface| interface.interface_name == name);
    let mut addresses = interfaces.filter_map(|interface| ip_of(&interface.address?));
    addresses.find(|ip| ip.is_ipv4() == is_ipv4)
}

#[cfg(not(unix))]
const fn address_of(_: &str, _: bool) -> Option<IpAddr> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, Ipv6Addr};

    #[test]
    fn interfaces_and_addresses() {
        assert_eq!("wlan0".parse(), Ok(Via::Interface("wlan0".into())));
        assert_eq!("192.0.2.7".parse(), Ok(Via::Address([192, 0, 2, 7].into())));
        assert_eq!("::1".parse(), Ok(Via::Address(Ipv6Addr::LOCALHOST.into())));
        for wrong in ["", "a b", "eth0/1", "an-interface-of-a-long-name"] {
            assert!(wrong.parse::<Via>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_socket_leaves_this_way() {
        let bind = |via: &str, is_ipv4| via.parse::<Via>().unwrap().bind(is_ipv4);
        assert_eq!(bind("127.0.0.1", true).unwrap().local_address().unwrap().ip(), Ipv4Addr::LOCALHOST);
        assert_eq!(bind("127.0.0.1", false).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        assert!(bind("192.0.2.7", true).is_err(), "none of this host");
        #[cfg(unix)]
        assert!(bind("none0", true).unwrap_err().to_string().contains("none0"));
        #[cfg(target_os = "linux")]
        assert!(bind("lo", true).is_ok());
    }
}
