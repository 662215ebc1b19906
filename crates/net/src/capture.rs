//! Datagrams as a capture file that Wireshark opens.

use crate::reactor::Observed;
use pcap_file::DataLink;
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// Writes what a [`Reactor`](crate::Reactor) sent and received, each datagram behind an IP and a UDP header.
#[derive(Debug)]
pub struct Capture<W: Write> {
    writer: PcapWriter<W>,
    /// What the clock's origin is since the Unix epoch.
    epoch: Duration,
}

impl<W: Write> Capture<W> {
    /// Begins a capture; instants are counted from `epoch`, which is since the Unix epoch.
    ///
    /// # Errors
    /// Where `out` refuses.
    pub fn new(out: W, epoch: Duration) -> io::Result<Self> {
        let header = PcapHeader { datalink: DataLink::RAW, ..PcapHeader::default() };
        Ok(Self { writer: PcapWriter::with_header(out, header).map_err(io::Error::other)?, epoch })
    }

    /// Appends a datagram.
    ///
    /// # Errors
    /// Where the output refuses.
    pub fn write(&mut self, observed: &Observed) -> io::Result<()> {
        let packet = ip_packet(observed.from, observed.to, observed.ecn.bits(), &observed.data);
        let at = self.epoch + Duration::from_nanos(observed.at.as_nanos());
        let length = packet.len() as u32;
        self.writer.write_packet(&PcapPacket::new(at, length, &packet)).map_err(io::Error::other)?;
        Ok(())
    }

    /// Hands over what is still held back.
    ///
    /// # Errors
    /// Where the output refuses.
    pub fn finish(self) -> io::Result<()> {
        self.writer.into_writer().flush()
    }
}

/// An IP packet with a UDP datagram; checksums are left zero, as of a sender that offloads them.
fn ip_packet(from: SocketAddr, to: SocketAddr, ecn: u8, data: &[u8]) -> Vec<u8> {
    const UDP: u8 = 17;
    const HOPS: u8 = 64;
    let udp_length = (8 + data.len()) as u16;
    let mut packet = Vec::with_capacity(48 + data.len());
    match (from.ip(), to.ip()) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            packet.extend([0x45, ecn]);
            packet.extend((20 + udp_length).to_be_bytes());
            packet.extend([0, 0, 0x40, 0, HOPS, UDP, 0, 0]);
            packet.extend(source.octets());
            packet.extend(destination.octets());
        }
        (source, destination) => {
            packet.extend([0x60 | ecn >> 4, ecn << 4, 0, 0]);
            packet.extend(udp_length.to_be_bytes());
            packet.extend([UDP, HOPS]);
            packet.extend(as_v6(source));
            packet.extend(as_v6(destination));
        }
    }
    packet.extend(from.port().to_be_bytes());
    packet.extend(to.port().to_be_bytes());
    packet.extend(udp_length.to_be_bytes());
    packet.extend([0, 0]);
    packet.extend(data);
    packet
}

fn as_v6(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => address.octets(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seaway_units::{Ecn, Timestamp};

    #[test]
    fn a_capture_reads_back() {
        let mut file = Vec::new();
        let mut capture = Capture::new(&mut file, Duration::from_secs(1_000)).unwrap();
        for (from, to) in [("10.0.0.1:5", "10.0.0.2:6"), ("[fd00::1]:5", "[fd00::2]:6")] {
            let (from, to) = (from.parse().unwrap(), to.parse().unwrap());
            let at = Timestamp::from_nanos(1_500_000_000);
            capture.write(&Observed { at, from, to, ecn: Ecn::Ect1, data: vec![7; 10] }).unwrap();
        }
        capture.finish().unwrap();
        let mut reader = pcap_file::pcap::PcapReader::new(&file[..]).unwrap();
        let first = reader.next_packet().unwrap().unwrap().into_owned();
        assert_eq!(first.timestamp, Duration::from_millis(1_001_500));
        assert_eq!(&first.data[..4], [0x45, 1, 0, 38]);
        let second = reader.next_packet().unwrap().unwrap();
        assert_eq!((&second.data[..2], second.data.len()), (&[0x60, 0x10][..], 58));
        assert!(reader.next_packet().is_none());
    }
}
