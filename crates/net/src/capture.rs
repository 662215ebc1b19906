//! Datagrams as a capture file that Wireshark opens.

use crate::reactor::Observed;
use pcap_file::DataLink;
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use seaway_wire::ip::append_udp;
use std::io::{self, Write};
use std::time::Duration;

/// Writes the datagrams of a [`Reactor`](crate::Reactor) with IP and UDP headers.
#[derive(Debug)]
pub struct Capture<W: Write> {
    writer: PcapWriter<W>,
    /// The clock's origin, since the Unix epoch.
    epoch: Duration,
}

impl<W: Write> Capture<W> {
    /// Starts a capture; `epoch` is the clock's origin since the Unix epoch.
    ///
    /// # Errors
    /// `out` cannot be written.
    pub fn new(out: W, epoch: Duration) -> io::Result<Self> {
        let header = PcapHeader { datalink: DataLink::RAW, ..PcapHeader::default() };
        Ok(Self { writer: PcapWriter::with_header(out, header).map_err(io::Error::other)?, epoch })
    }

    /// Appends a datagram.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn write(&mut self, observed: &Observed) -> io::Result<()> {
        let mut packet = Vec::with_capacity(48 + observed.data.len());
        append_udp(&mut packet, observed.from, observed.to, observed.ecn, &observed.data);
        let at = self.epoch + Duration::from_nanos(observed.at.as_nanos());
        let length = packet.len() as u32;
        self.writer.write_packet(&PcapPacket::new(at, length, &packet)).map_err(io::Error::other)?;
        Ok(())
    }

    /// Flushes the output.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn finish(self) -> io::Result<()> {
        self.writer.into_writer().flush()
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
